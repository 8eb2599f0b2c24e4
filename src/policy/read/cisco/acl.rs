//! Access lists: what goes into the tunnel.

mod numbers;

pub(super) use numbers::{forget, take_out};
use numbers::{numbered, ordered};

use crate::model::Address;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::forwarding::{End, Grouped, like};
use crate::policy::facts::router::{Acl, Denied};
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::Read;
use crate::policy::names;
use crate::policy::words::address;

pub(super) enum Opened {
    /// A named list begins.
    List(String),
    /// A display of a list that a configuration gives.
    Known,
    /// A numbered list's line was read.
    Line,
    Foreign,
}

pub(super) fn open(text: &str, words: &[&str], builder: &mut Builder) -> Opened {
    match words {
        // `show access-lists`
        ["Extended", "IP", "access", "list", name]
            if builder.continues().is_some_and(|router| router.acls.contains_key(*name)) =>
        {
            Opened::Known
        }
        ["Extended", "IP", "access", "list", name]
        | ["ip", "access-list", "extended" | "standard", name]
        | ["ipv6", "access-list", name] => {
            let cite = builder.cite(text);
            if let Some(router) = builder.router() {
                router.acls.entry((*name).to_owned()).or_insert_with(|| Acl {
                    permits: Vec::new(),
                    denies: Vec::new(),
                    cite,
                });
            }
            Opened::List((*name).to_owned())
        }
        // PIX and ASA.
        ["access-list", name, "extended", rest @ ..] | ["access-list", name, "line", _, "extended", rest @ ..] => {
            if line(name, text, rest, builder) == Read::Understood {
                Opened::Line
            } else {
                Opened::Foreign
            }
        }
        ["access-list", name, rest @ ..] => {
            if line(name, text, rest, builder) == Read::Understood {
                Opened::Line
            } else {
                vague(name, builder);
                Opened::Foreign
            }
        }
        _ => Opened::Foreign,
    }
}

/// `permit ip host A host B`, with or without a number before it.
pub(super) fn line(name: &str, text: &str, words: &[&str], builder: &mut Builder) -> Read {
    let (all, by_name) = (words, text.starts_with("access-list "));
    // PIX and ASA keep a line that is switched off: the list is there, the line is not.
    if by_name && words.last() == Some(&"inactive") {
        let cite = builder.cite_made(&format!("access-list {name} ... inactive"));
        if let Some(router) = builder.router() {
            let empty = || Acl { permits: Vec::new(), denies: Vec::new(), cite };
            router.acls.entry(name.to_owned()).or_insert_with(empty);
        }
        return Read::Understood;
    }
    let place = ordered(name, words, builder);
    let (_, words) = numbered(words);
    if let [how @ ("permit" | "deny"), rest @ ..] = words
        && rest.contains(&"object-group")
    {
        grouped(name, *how == "permit", rest, &all.join(" "), builder);
        return Read::Understood;
    }
    // A standard list names sources alone.
    let extended: Vec<&str>;
    let words = match words {
        [how @ ("permit" | "deny"), rest @ ..] if is_source(rest) => {
            extended = standard(how, rest);
            extended.as_slice()
        }
        words => words,
    };
    match words {
        ["remark", ..] => Read::Understood,
        ["deny", rest @ ..] => {
            let (selector, behind) =
                selector(rest, builder).map(|(selector, behind)| (Some(selector), behind)).unwrap_or_default();
            conditional(name, behind, builder);
            let shown =
                selector.as_ref().map_or_else(|| "deny".to_owned(), |selector| format!("deny {}", selector.typed()));
            let cite = builder.cite(&shown);
            if let Some(router) = builder.router() {
                let acl = router.acls.entry(name.to_owned());
                let acl = acl.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() });
                let (behind, at) = place.min((acl.permits.len(), acl.denies.len()));
                acl.denies.insert(at.min(acl.denies.len()), Denied { behind, selector, cite });
            }
            Read::Understood
        }
        ["permit", rest @ ..] => {
            permitted(name, by_name, place, all, rest, builder);
            Read::Understood
        }
        _ => Read::Foreign,
    }
}

/// Notes that a line takes less than its protocol, addresses and ports say.
fn conditional(name: &str, behind: &[&str], builder: &mut Builder) {
    if behind.first().is_none_or(|word| matches!(*word, "log" | "log-input")) {
        return;
    }
    if let Some(router) = builder.router() {
        router.forwarding.unsure.insert(name.to_owned());
    }
}

/// A line that permits what it selects; `all` are its words, `numbered` where the list's name stood before them.
fn permitted(
    name: &str,
    numbered: bool,
    place: (usize, usize),
    all: &[&str],
    selecting: &[&str],
    builder: &mut Builder,
) {
    let Some((selector, behind)) = selector(selecting, builder) else {
        vague(name, builder);
        builder.wrong("an access list line that cannot be read: addresses with wildcard, host, any or a prefix");
        return;
    };
    if unknown(&selector) {
        vague(name, builder);
        builder.wrong("a protocol or port by a name that is not known: the access list is not compared");
    }
    conditional(name, behind, builder);
    // Only what was read is cited: another command, with a key, may stand behind it.
    let read = all.get(..all.len() - behind.len()).unwrap_or_default().join(" ");
    let prefix = if numbered { format!("access-list {name} ") } else { String::new() };
    let cite = builder.cite(&format!("{prefix}{read}"));
    if let Some(router) = builder.router() {
        let acl = router.acls.entry(name.to_owned());
        let acl = acl.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() });
        let at = place.0.min(acl.permits.len());
        for denied in acl.denies.iter_mut().skip(place.1) {
            denied.behind += 1;
        }
        acl.permits.insert(at, (selector, cite));
    }
}

/// Whether a line begins with a source in place of a protocol: `permit 10.0.0.0 0.255.255.255`, `permit host 10.0.0.1`, `permit any`.
fn is_source(words: &[&str]) -> bool {
    match words {
        ["any" | "host", ..] => true,
        [first, ..] => address(first).is_some(),
        [] => false,
    }
}

/// The line of a standard list in the words of an extended one.
fn standard<'w>(how: &'w str, words: &[&'w str]) -> Vec<&'w str> {
    let source: Vec<&str> = match words {
        ["any", ..] => vec!["any"],
        ["host", host, ..] => vec!["host", host],
        [base, wildcard, ..] if address(wildcard).is_some() => vec![base, wildcard],
        [host, ..] => vec!["host", host],
        [] => Vec::new(),
    };
    [how, "ip"].into_iter().chain(source).chain(["any"]).collect()
}

/// Whether the number of a protocol or port is not known.
fn unknown(selector: &Selector) -> bool {
    let ports = [&selector.src_port, &selector.dst_port];
    names::protocol(&selector.protocol).is_none() || ports.iter().any(|port| names::ports(port).is_none())
}

/// Whether a line that is not understood may be one of a list: it has a word of such lines, or two addresses.
pub(super) fn may_be_entry(text: &str) -> bool {
    // A note.
    if text.starts_with(['!', '#', '^', ';', '/', '*', '(']) {
        return false;
    }
    let words = || text.split(' ');
    let first = words().next().unwrap_or_default();
    if like(first, "remark") {
        return false;
    }
    if matches!(first, "evaluate" | "dynamic" | "include") {
        return true;
    }
    let numbered = !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit());
    let end = |word: &str| matches!(word, "any" | "host" | "object-group" | "object") || address(word).is_some();
    let ends = words().filter(|word| end(word)).count();
    let near = |word: &str| {
        let begins = word.len() <= 6 && (word.starts_with("per") || word.starts_with("den"));
        begins || like(word, "permit") || like(word, "deny")
    };
    numbered || ends >= 2 || words().take(2).any(near)
}

/// Notes that a list selects what is not known here.
pub(super) fn vague(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.vague.insert(name.to_owned());
    }
}

/// A line that names groups of networks, which may be defined further on.
fn grouped(name: &str, permits: bool, words: &[&str], text: &str, builder: &mut Builder) {
    let cite = builder.cite(text);
    let mut read = || {
        let (protocol, rest) = words.split_first().filter(|(protocol, _)| plain(protocol))?;
        let v4 = !is_v6(words);
        let (src, rest) = end(rest, v4, builder)?;
        let (src_port, rest) = port(rest);
        let (dst, rest) = end(rest, v4, builder)?;
        let (dst_port, _) = port(rest);
        let protocol = if *protocol == "ipv6" { "ip".to_owned() } else { (*protocol).to_owned() };
        let frame = Selector { protocol, src: Net::any(v4), src_port, dst: Net::any(v4), dst_port };
        Some((frame, [src, dst]))
    };
    let read = read();
    let Some(router) = builder.router() else { return };
    let acl = router.acls.entry(name.to_owned());
    let acl = acl.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() });
    let behind = (acl.permits.len(), acl.denies.len());
    match read {
        Some((frame, ends)) => {
            let list = name.to_owned();
            router.forwarding.grouped.push(Grouped { list, behind, permits, frame, ends, cite });
        }
        None => {
            router.forwarding.vague.insert(name.to_owned());
        }
    }
}

fn end<'w>(words: &'w [&'w str], v4: bool, builder: &mut Builder) -> Option<(End, &'w [&'w str])> {
    match words {
        ["object-group", name, rest @ ..] => Some((End::Group((*name).to_owned()), rest)),
        words => net(words, v4, builder).map(|(net, rest)| (End::Net(net), rest)),
    }
}

/// What a line selects, and the words behind it.
fn selector<'w>(words: &'w [&'w str], builder: &mut Builder) -> Option<(Selector, &'w [&'w str])> {
    let (protocol, rest) = words.split_first()?;
    if !plain(protocol) {
        return None;
    }
    let v4 = !is_v6(words);
    let (src, rest) = net(rest, v4, builder)?;
    let (src_port, rest) = port(rest);
    let (dst, rest) = net(rest, v4, builder)?;
    let (dst_port, rest) = port(rest);
    let protocol = if *protocol == "ipv6" { "ip" } else { protocol };
    let selector = Selector { protocol: protocol.to_owned(), src, src_port, dst, dst_port };
    Some((selector, rest))
}

/// `subnet 10.0.0.0 255.0.0.0` or `host 10.0.0.1` below `object network NAME` of ASA.
pub(super) fn object(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let held = match words {
        ["subnet", base, mask] => address(base)
            .zip(mask.parse::<std::net::Ipv4Addr>().ok())
            .map(|(base, mask)| Net::masked(base, u128::from(mask.to_bits()))),
        ["subnet", prefix] => {
            prefix.split_once('/').and_then(|(base, prefix)| Net::prefix(address(base)?, prefix.parse().ok()?))
        }
        ["host", word] => address(word).map(Net::host),
        ["range" | "fqdn" | "description" | "nat", ..] => return Read::Understood,
        _ => return Read::Foreign,
    };
    match held {
        Some(held) => {
            if let Some(router) = builder.router() {
                router.objects.insert(name.to_owned(), held);
            }
        }
        None => builder.wrong("a network object that is no network with a mask and no host"),
    }
    Read::Understood
}

fn net<'w>(words: &'w [&'w str], v4: bool, builder: &mut Builder) -> Option<(Net, &'w [&'w str])> {
    match words {
        ["object", name, rest @ ..] => {
            let held = builder.router()?.objects.get(*name).copied()?;
            Some((held, rest))
        }
        ["any", rest @ ..] => Some((Net::any(v4), rest)),
        ["any4", rest @ ..] => Some((Net::any(true), rest)),
        ["any6", rest @ ..] => Some((Net::any(false), rest)),
        ["host", word, rest @ ..] => Some((Net::host(address(word)?), rest)),
        [word, rest @ ..] if word.contains('/') => {
            let (base, prefix) = word.split_once('/')?;
            Some((Net::prefix(address(base)?, prefix.parse().ok()?)?, rest))
        }
        [base, wildcard, rest @ ..] => {
            let typed: std::net::Ipv4Addr = wildcard.parse().ok()?;
            let mask = if builder.netmasks() { typed.to_bits() } else { !typed.to_bits() };
            let base = address(base).filter(|base: &Address| base.is_v4())?;
            Some((Net::masked(base, u128::from(mask)), rest))
        }
        _ => None,
    }
}

/// Whether the packets of a line are IPv6: its protocol says so, or one of its networks.
fn is_v6(words: &[&str]) -> bool {
    let ends = words.iter().map(|word| word.split('/').next().unwrap_or_default());
    words.first() == Some(&"ipv6") || ends.filter_map(address).any(|end| !end.is_v4())
}

/// A name of a protocol or port, or a number of at most five digits.
fn plain(word: &str) -> bool {
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    let name = || word.len() <= 18 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if digits { word.len() <= 5 } else { name() && !word.starts_with(|c: char| c.is_ascii_digit()) }
}

/// IOS takes several ports behind `eq` and `neq`.
fn port<'w>(words: &'w [&'w str]) -> (String, &'w [&'w str]) {
    match words {
        [how @ ("eq" | "neq"), first, rest @ ..] if plain(first) => {
            let more = rest.iter().take_while(|word| plain(word) && names::port(word).is_some()).count();
            let (more, rest) = rest.split_at(more);
            let all: Vec<&str> = std::iter::once(*how).chain([*first]).chain(more.iter().copied()).collect();
            (all.join(" "), rest)
        }
        [how @ ("gt" | "lt"), port, rest @ ..] if plain(port) => (format!("{how} {port}"), rest),
        ["range", from, to, rest @ ..] if plain(from) && plain(to) => (format!("range {from} {to}"), rest),
        _ => (String::new(), words),
    }
}
