//! Entries of crypto maps.

use super::ike;
use super::known::KNOWN;
use crate::model::{Protocol, Spi};
use crate::policy::Cite;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::forwarding::like;
use crate::policy::facts::redact;
use crate::policy::facts::router::{Keying, MapEntry, Quoted, SessionKey, Unread};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::limits::MAX_BLOCKS;
use crate::policy::words::{address, is_masked, short_for, spi as number};

/// Replaced session keys of an entry that are kept.
const MAX_REPLACED: usize = 8;

/// What is said of a line that takes a part of IPsec out of a configuration.
pub(super) const NOT_UNDONE: &str =
    "a `no` command that is not followed: what it takes out is compared as if it were there";

/// What is said of the group of the keys that IKE makes anew.
pub(super) const PFS: &str = "the group of `set pfs` is not compared";

/// Begins an entry, or goes on with one that was begun before; its place among the router's.
pub(super) fn open(name: &str, number: &str, kind: &[&str], builder: &mut Builder) -> Option<usize> {
    let (kind, keying) = match kind {
        ["ipsec-manual", ..] => ("ipsec-manual", Keying::Manual),
        ["ipsec-isakmp", ..] => ("ipsec-isakmp", Keying::Ike),
        // The kind of an entry that is there is known.
        [] => {
            let number: u32 = number.parse().ok()?;
            let maps = &builder.continues()?.maps;
            return maps.iter().rposition(|entry| entry.number == number && entry.name == name);
        }
        _ => return None,
    };
    let cite = builder.cite_made(&format!("crypto map {name} {number} {kind}"));
    let at = entry(name, number, keying, builder)?;
    if let Some(entry) = builder.router().and_then(|router| router.maps.get_mut(at)) {
        entry.keying = keying;
        if entry.keys.is_empty() && entry.peers.is_empty() {
            entry.cite = cite;
        }
    }
    Some(at)
}

/// The place of an entry among the router's; it begins if it is not there.
pub(in crate::policy) fn entry(name: &str, number: &str, keying: Keying, builder: &mut Builder) -> Option<usize> {
    let cite = builder.cite_made(&format!("crypto map {name} {number}"));
    let Ok(number) = number.parse::<u32>() else {
        builder.wrong("a crypto map entry whose number is no number");
        return None;
    };
    let router = builder.router()?;
    if let Some(at) = router.maps.iter().rposition(|entry| entry.number == number && entry.name == name) {
        return Some(at);
    }
    if router.maps.len() >= MAX_BLOCKS {
        builder.beyond(&format!("more than {MAX_BLOCKS} crypto map entries of one router; the rest is left out"));
        return None;
    }
    router.maps.push(MapEntry {
        name: name.to_owned(),
        number,
        keying,
        peers: Vec::new(),
        keys: Vec::new(),
        transform_sets: Vec::new(),
        acl: None,
        local: None,
        unread: Unread::default(),
        replaced: Vec::new(),
        ikev2: None,
        cite,
    });
    Some(router.maps.len() - 1)
}

/// A line of an entry.
pub(super) fn line(at: usize, words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["set", "peer", all @ ..] if !all.is_empty() => peers(at, all, builder),
        ["set", session, rest @ ..] if short_for(session, "session-key", 4) => keyed(at, rest, builder),
        ["no", "set", session, way, protocol, ..] if short_for(session, "session-key", 4) => {
            unkeyed(at, way, protocol, builder);
        }
        ["set", "transform-set", sets @ ..]
            if !sets.is_empty() && redact::names(sets).iter().all(|set| is_name(set)) =>
        {
            let cite = sets_cite(sets, builder);
            edit(at, builder, |entry| {
                entry.transform_sets.extend(redact::names(sets).iter().map(|set| ((*set).to_owned(), cite.clone())));
            });
        }
        ["match", "address", acl] => {
            let cite = builder.cite(&format!("match address {acl}"));
            edit(at, builder, |entry| entry.acl = Some(((*acl).to_owned(), cite)));
        }
        ["set", "ikev1", rest @ ("transform-set" | "phase1-mode"), sets @ ..] => {
            return if *rest == "transform-set" {
                let all: Vec<&str> = ["set", rest].into_iter().chain(sets.iter().copied()).collect();
                line(at, &all, builder)
            } else {
                Read::Understood
            };
        }
        ["no", "set", "peer", peer] if address(peer).is_some() => {
            let gone = address(peer);
            edit(at, builder, |entry| entry.peers.retain(|(peer, _)| Some(*peer) != gone));
        }
        ["no", "set", "transform-set", ..] => edit(at, builder, |entry| entry.transform_sets.clear()),
        ["no", "match", "address", ..] => edit(at, builder, |entry| entry.acl = None),
        ["no", "set", "peer", ..] => builder.wrong(NOT_UNDONE),
        ["set", "ikev2", "ipsec-proposal", proposals @ ..] if !proposals.is_empty() => {
            builder.wrong("proposals of IKEv2 (`ikev2 ipsec-proposal`) are not compared");
            edit(at, builder, |entry| entry.unread.proposals = true);
        }
        ["set", "pfs", ..] => builder.wrong(PFS),
        ["set", "security-association", "inbound" | "outbound", ..] => {
            builder.wrong("`set security-association` with a direction is no command: is `set session-key` meant?");
            edit(at, builder, |entry| entry.unread.keys = true);
        }
        ["set", "ikev2-profile", name] => {
            let cite = builder.cite(&format!("set ikev2-profile {name}"));
            edit(at, builder, |entry| entry.ikev2 = Some(cite));
        }
        ["no", "set", "ikev2-profile", ..] => edit(at, builder, |entry| entry.ikev2 = None),
        ["set", "isakmp-profile", ..] => ike::keyrings(builder),
        ["set", known, ..] if KNOWN.contains(known) => {}
        // It makes routes to the networks of the peer.
        ["reverse-route", ..] => builder.router().into_iter().for_each(|router| router.forwarding.other_routes = true),
        ["qos", ..] => {}
        _ => return Read::Foreign,
    }
    Read::Understood
}

/// `no set session-key ...` of an entry.
fn unkeyed(at: usize, way: &str, protocol: &str, builder: &mut Builder) {
    let (inbound, protocol) = (way_in(way), protocol_of(protocol));
    edit(at, builder, |entry| {
        entry.keys.retain(|key| Some(key.inbound) != inbound || Some(key.protocol) != protocol);
    });
}

/// `set session-key ...` of an entry.
fn keyed(at: usize, words: &[&str], builder: &mut Builder) {
    let key = match session_key(words, builder) {
        Ok(key) => key,
        Err(what) => {
            builder.wrong(what);
            edit(at, builder, |entry| entry.unread.keys = true);
            return;
        }
    };
    if [&key.cipher, &key.authenticator].into_iter().flatten().any(|key| key.bits().is_none()) {
        builder.wrong("a session key is not in hex digits: its SPI is read, the key is not compared");
    }
    edit(at, builder, |entry| {
        entry.keying = Keying::Manual;
        let same = |old: &SessionKey| old.inbound == key.inbound && old.protocol == key.protocol;
        if let Some(at) = entry.keys.iter().position(same) {
            let old = entry.keys.remove(at);
            if old.spi != key.spi && entry.replaced.len() < MAX_REPLACED {
                entry.replaced.push(old);
            }
        }
        entry.keys.push(key);
    });
}

/// `set peer A`, on ASA with backups behind it (`set peer A B`); IOS takes a host name too, and `default` or `dynamic` behind it.
fn peers(at: usize, words: &[&str], builder: &mut Builder) {
    for (place, word) in words.iter().enumerate() {
        match address(word) {
            Some(peer) => {
                let cite = builder.cite_made(&format!("set peer {peer}"));
                edit(at, builder, |entry| {
                    if entry.peers.iter().all(|(known, _)| *known != peer) {
                        entry.peers.push((peer, cite));
                    }
                });
            }
            None if place > 0 && matches!(*word, "default" | "dynamic") => {}
            None if place == 0 && (is_masked(word) || is_host_name(word)) => {
                let what = if is_masked(word) { "that was made unreadable" } else { "by its name" };
                builder.wrong(&format!("a peer {what}: its address is not known, and not compared"));
                edit(at, builder, |entry| entry.unread.peer = true);
            }
            None => {
                if place == 0 {
                    builder.wrong("a peer that is no address");
                }
                break;
            }
        }
    }
}

/// Whether a word may be a name: a rule or a bar that separates columns is none.
fn is_name(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// Beginnings of the words that lines of each part have: peer, list, sets, keys.
const PARTS: [&[&str]; 4] = [
    &["peer"],
    &["address"],
    &["transform-set", "transform"],
    &["session-key", "key", "inbound", "outbound", "cipher", "authenticator"],
];

/// Words after `match` in other blocks than entries.
const OTHERS: [&str; 6] = ["interface", "identity", "ip", "vrf", "policy", "certificate"];

/// A line of an entry that is not understood. If it begins like a line of an entry, the part that its words speak of is there and not
/// known; a command of which nothing is known says nothing of the others.
pub(super) fn unread(at: usize, text: &str, builder: &mut Builder) {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(' ').filter(|word| *word != "no");
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let begins = |word: &str| PARTS.map(|part| part.iter().any(|whole| like(word, whole) || word.starts_with(whole)));
    let slip = ["se", "st", "et", "sett", "ste", "est", "seet", "aet", "wet", "det", "ser", "sey"].contains(&first);
    let command = slip || ["set", "match"].iter().any(|whole| like(first, whole));
    let speaks = |words: &[&str]| command && words.iter().any(|word| text.contains(word));
    let names_peer = command && words.clone().chain([second]).any(|word| address(word).is_some());
    let [first_part, second_part] = [begins(first), if command { begins(second) } else { [false; 4] }];
    let matches = like(first, "match");
    let said = [
        speaks(&["peer"]) || names_peer,
        speaks(&["addr"]) || matches && !OTHERS.contains(&second),
        speaks(&["transform"]),
        speaks(&["key", "inb", "outb", "cipher", "auth"]),
    ];
    let parts: Vec<bool> =
        said.iter().zip(first_part).zip(second_part).map(|((said, first), second)| *said || first || second).collect();
    let part = |number: usize| parts.get(number) == Some(&true);
    unknown(at, [part(0), part(1), part(2), part(3)], builder);
}

/// Lines of an entry were cut out: any part of which nothing was read may have been among them.
pub(super) fn cut_out(at: usize, builder: &mut Builder) {
    unknown(at, [true; 4], builder);
}

/// Whether an entry has what a line says already, or comes to its end before: IOS writes its list last.
pub(super) fn repeats(at: usize, words: &[&str], builder: &mut Builder) -> bool {
    let Some(entry) = builder.continues().and_then(|router| router.maps.get(at)) else { return false };
    match words {
        ["set", "peer", ..] if !entry.peers.is_empty() => true,
        ["set", "transform-set", ..] if !entry.transform_sets.is_empty() => true,
        ["set", ..] | ["match", "address", ..] => entry.acl.is_some(),
        _ => false,
    }
}

/// Parts of an entry that may be there, if nothing of them was read.
fn unknown(at: usize, [peer, list, sets, keys]: [bool; 4], builder: &mut Builder) {
    edit(at, builder, |entry| {
        let known = entry.unread;
        let both = [true, false].iter().all(|way| entry.keys.iter().any(|key| key.inbound == *way));
        entry.unread = Unread {
            peer: known.peer || peer && entry.peers.is_empty(),
            list: known.list || list && entry.acl.is_none(),
            sets: known.sets || sets && entry.transform_sets.is_empty(),
            keys: known.keys || keys && !both,
            ..known
        };
    });
}

/// A name that a router may look up: letters, not only digits and dots, which are an address that was mistyped.
fn is_host_name(word: &str) -> bool {
    let legal = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'));
    // Of four parts that are nearly all numbers, a letter slipped in.
    let parts: Vec<&str> = word.split('.').collect();
    let begins_with_digit = parts.iter().filter(|part| part.starts_with(|c: char| c.is_ascii_digit())).count();
    let mistyped = parts.len() == 4 && begins_with_digit >= 3 && parts.iter().all(|part| part.len() <= 3);
    legal && !mistyped && word.len() <= 253 && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// A command that running text quotes; whether it is one.
pub(super) fn quoted(words: &[&str], builder: &mut Builder) -> bool {
    let ["set", session, rest @ ..] = words else { return false };
    if !short_for(session, "session-key", 4) {
        return false;
    }
    let Ok(key) = session_key(rest, builder) else { return false };
    let Some(router) = builder.continues() else { return false };
    router.quoted.push(Quoted { key });
    true
}

fn edit(at: usize, builder: &mut Builder, change: impl FnOnce(&mut MapEntry)) {
    if let Some(entry) = builder.router().and_then(|router| router.maps.get_mut(at)) {
        change(entry);
    }
}

/// `set transform-set A`: further names may be another command, with a key, that lost its line break.
pub(super) fn sets_cite(sets: &[&str], builder: &Builder) -> Cite {
    let more = if sets.len() > 1 { " ..." } else { "" };
    builder.cite(&format!("set transform-set {}{more}", sets.first().copied().unwrap_or_default()))
}

fn way_in(word: &str) -> Option<bool> {
    if short_for(word, "inbound", 2) {
        Some(true)
    } else if short_for(word, "outbound", 3) {
        Some(false)
    } else {
        None
    }
}

fn protocol_of(word: &str) -> Option<Protocol> {
    match word {
        "ah" => Some(Protocol::Ah),
        "esp" => Some(Protocol::Esp),
        _ => None,
    }
}

/// What follows `set session-key`. The messages never quote the line: any of its words may be a key.
fn session_key(words: &[&str], builder: &Builder) -> Result<SessionKey, &'static str> {
    let [way, protocol, spi, keys @ ..] = words else {
        return Err("a session key needs inbound or outbound, ah or esp, an SPI and a key");
    };
    let inbound = way_in(way).ok_or("a session key is neither inbound nor outbound")?;
    let protocol = protocol_of(protocol).ok_or("a session key is neither for ah nor for esp")?;
    // IOS takes decimal; people write hex, too, and mean the same number.
    let spi = number(spi).ok_or("the SPI of a session key is no number up to 4294967295")?;
    let (cipher, authenticator) = match protocol {
        Protocol::Ah => match key(keys) {
            Some((key, [])) => (None, Some(key)),
            _ => return Err("an AH session key has one key after its SPI"),
        },
        _ => esp_keys(keys).ok_or("an ESP session key has `cipher KEY`, `authenticator KEY` or both after its SPI")?,
    };
    let text = shown(inbound, protocol, spi, cipher.is_some(), authenticator.is_some());
    Ok(SessionKey { inbound, protocol, spi, cipher, authenticator, cite: builder.cite_made(&text) })
}

fn esp_keys(words: &[&str]) -> Option<(Option<Secret>, Option<Secret>)> {
    let (cipher, rest) = match words {
        ["cipher", rest @ ..] => key(rest).map(|(key, rest)| (Some(key), rest))?,
        rest => (None, rest),
    };
    match rest {
        [] if cipher.is_some() => Some((cipher, None)),
        ["authenticator", rest @ ..] => match key(rest)? {
            (authenticator, []) => Some((cipher, Some(authenticator))),
            _ => None,
        },
        _ => None,
    }
}

/// A key, with or without its type before it (`0` as it is, `6` and `7` encrypted), and the words behind it.
pub(super) fn key<'w>(words: &'w [&'w str]) -> Option<(Secret, &'w [&'w str])> {
    match words {
        ["6" | "7", key, rest @ ..] if *key != "authenticator" => Some((Secret::encrypted(key), rest)),
        ["0", key, rest @ ..] if *key != "authenticator" => Some((Secret::new(key), rest)),
        [key, rest @ ..] => Some((Secret::new(key), rest)),
        [] => None,
    }
}

/// The command with placeholders for its keys.
pub(in crate::policy) fn shown(
    inbound: bool,
    protocol: Protocol,
    spi: Spi,
    cipher: bool,
    authenticator: bool,
) -> String {
    let way = if inbound { "inbound" } else { "outbound" };
    let keys = match (protocol, cipher, authenticator) {
        (Protocol::Ah, _, _) => " <KEY>",
        (_, true, true) => " cipher <KEY> authenticator <KEY>",
        (_, true, false) => " cipher <KEY>",
        (_, false, _) => " authenticator <KEY>",
    };
    format!("set session-key {way} {} {}{keys}", protocol.name(), spi.0)
}
