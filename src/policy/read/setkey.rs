//! `setkey.conf`, `setkey -D` and `setkey -DP` of the BSDs and ipsec-tools.

use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, InForce, Installed, Mode, Way};
use crate::policy::facts::secret::Secret;
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::{Read, Reader};
use crate::policy::read::makers::foreign::{bare, cipher, installed, integrity};
use crate::policy::words::{address, spi};

pub(in crate::policy) const MAKER: &str = "setkey";
/// Words of one command.
const MAX_WORDS: usize = 64;

/// Reads commands and displays.
#[derive(Default)]
pub(in crate::policy) struct Setkey {
    /// Words of a command whose semicolon did not come yet.
    command: Vec<String>,
    /// The line of its first word.
    begun: u32,
    /// The ends of the SA that a display tells of, and its mode.
    ends: Option<(Address, Address)>,
    /// The selector that a display tells of, and its way.
    selector: Option<(Selector, Option<Way>)>,
}

impl Reader for Setkey {
    fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        *self = Self::default();
        match words {
            ["add", rest @ ..] if is_add(rest) => self.take(words, builder),
            ["spdadd", ..] => self.take(words, builder),
            ["delete" | "deleteall", _, _, "esp" | "ah", ..] => self.take(words, builder),
            ["flush;" | "spdflush;"] | ["flush;", "spdflush;"] | ["setkey", ..] => {}
            _ if text.starts_with("#!") && text.contains("setkey") => {}
            [src, dst] => match (address(src), address(dst)) {
                (Some(src), Some(dst)) => self.ends = Some((src, dst)),
                _ => return Read::Foreign,
            },
            [src, dst, protocol] if src.ends_with(']') && dst.ends_with(']') => {
                let (Some(src), Some(dst)) = (net(src), net(dst)) else { return Read::Foreign };
                self.selector = Some((selector(src, dst, protocol), None));
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if !self.command.is_empty() {
            self.take(words, builder);
            return Read::Understood;
        }
        match words {
            [protocol @ ("esp" | "ah"), rest @ ..] if self.ends.is_some() => self.state(protocol, rest, builder),
            ["E:", name, digits @ ..] => {
                let words = cipher(name);
                edit(builder, |sa| {
                    sa.words = format!("{} {}", words.unwrap_or_default(), sa.words).trim().to_owned();
                    sa.cipher = key(digits);
                });
            }
            ["A:", name, digits @ ..] => edit(builder, |sa| {
                let words = integrity(name, sa.protocol).unwrap_or_default();
                sa.words = format!("{} {words}", sa.words).trim().to_owned();
                sa.authenticator = key(digits);
            }),
            [way @ ("in" | "out" | "fwd"), ..] if self.selector.is_some() => {
                if let Some((_, known)) = &mut self.selector {
                    *known = way_of(way);
                }
            }
            [template] if template.starts_with("esp/") || template.starts_with("ah/") => {
                self.template(template, builder)
            }
            [first, ..]
                if first.starts_with('#')
                    || first.contains('=')
                    || first.ends_with(':')
                    || matches!(*first, "No" | "lifetime" | "spid=0") => {}
            _ => return self.open(text, words, builder),
        }
        Read::Understood
    }
}

impl Setkey {
    /// Words of a command; at its semicolon it is read.
    fn take(&mut self, words: &[&str], builder: &mut Builder) {
        for word in words {
            if word.starts_with('#') {
                break;
            }
            if self.command.is_empty() {
                self.begun = builder.number;
            }
            if self.command.len() < MAX_WORDS {
                // A key in quotes is the octets themselves.
                let quoted = word.starts_with('"');
                self.command.push(if quoted { word.trim_end_matches(';').to_owned() } else { bare(word).to_owned() });
            }
            if word.ends_with(';') {
                let command = std::mem::take(&mut self.command);
                let words: Vec<&str> = command.iter().map(String::as_str).collect();
                let words = without_flags(&words);
                let here = std::mem::replace(&mut builder.number, self.begun);
                match words.as_slice() {
                    ["add", src, dst, protocol, number, rest @ ..] => add(src, dst, protocol, number, rest, builder),
                    ["spdadd", rest @ ..] => self.policy(rest, builder),
                    ["delete", src, dst, protocol, number] => delete(src, dst, protocol, spi(number), builder),
                    ["deleteall", src, dst, protocol] => delete(src, dst, protocol, None, builder),
                    ["flush" | "spdflush" | "dump" | "spddump", ..] => {}
                    _ => builder.wrong("a setkey command that is not read"),
                }
                builder.number = here;
            }
        }
    }

    fn state(&mut self, protocol: &str, words: &[&str], builder: &mut Builder) {
        let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
        let (Some((src, dst)), Some(spi)) = (self.ends, value("spi=").and_then(spi)) else {
            builder.wrong("an SA without an SPI");
            return;
        };
        let mode = value("mode=").map(mode_of);
        let cite = builder.cite_made(&format!("{protocol} spi={}({spi})", spi.0));
        let listed = Installed::listed(Display::Other, named(protocol), spi, cite);
        installed(MAKER, Installed { src: Some(src), dst: Some(dst), mode, ..listed }, builder);
    }

    /// `10.0.1.0/24 10.0.2.0/24 any -P out ipsec esp/tunnel/A-B/require`.
    fn policy(&mut self, words: &[&str], builder: &mut Builder) {
        let [src, dst, protocol, rest @ ..] = words else { return };
        let (Some(src), Some(dst)) = (net(src), net(dst)) else {
            builder.wrong("a policy whose ends are no networks");
            return;
        };
        let way = rest.iter().find_map(|word| way_of(word));
        self.selector = Some((selector(src, dst, protocol), way));
        for template in rest.iter().filter(|word| word.starts_with("esp/") || word.starts_with("ah/")) {
            self.template(template, builder);
        }
    }

    fn template(&mut self, template: &str, builder: &mut Builder) {
        let Some((selector, way)) = self.selector.take() else { return };
        let ends = template.split('/').nth(2).and_then(|ends| ends.split_once('-'));
        let ends = ends.and_then(|(a, b)| Some((address(a)?, address(b)?)));
        // An inbound policy stands the other way round.
        let inbound = way == Some(Way::In);
        let (local, remote) = match ends {
            Some((a, b)) if inbound => (Some(b), Some(a)),
            Some((a, b)) => (Some(a), Some(b)),
            None => (None, None),
        };
        let selector = if inbound { selector.mirrored() } else { selector };
        let cite = builder.cite_made(&format!("{selector} {}", if inbound { "in" } else { "out" }));
        if let Some(router) = builder.router() {
            router.maker = Some(MAKER);
            router.selectors.push(InForce { selector, way, local, remote, cite });
        }
    }
}

/// `-4`, `-6`, `-n` and `-46n` behind `add` and `spdadd` say how names are looked up.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.is_empty() && flags.bytes().all(|b| b"46n".contains(&b)))
}

fn is_add(words: &[&str]) -> bool {
    let start = words.iter().take_while(|word| is_flag(word)).count();
    matches!(words.get(start..), Some([src, dst, "esp" | "ah", ..]) if address(src).is_some() && address(dst).is_some())
}

fn without_flags<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let (first, rest) = words.split_at(words.len().min(1));
    first.iter().chain(rest.iter().skip_while(|word| is_flag(word))).copied().collect()
}

/// A key in hex digits, or in quotes as text whose octets are the key.
fn typed(word: &str) -> Secret {
    match word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(text) => Secret::new(&text.bytes().map(|b| format!("{b:02x}")).collect::<String>()),
        None => Secret::new(bare(word)),
    }
}

/// `add A B esp 0x1001 -m tunnel -E aes-cbc 0x... -A hmac-sha1 0x...`.
fn add(src: &str, dst: &str, protocol: &str, number: &str, rest: &[&str], builder: &mut Builder) {
    let (Some(src), Some(dst), Some(spi)) = (address(src), address(dst), spi(number)) else {
        builder.wrong("an SA whose ends are no addresses, or whose SPI is no number");
        return;
    };
    let cite = builder.cite_made(&format!("add {src} {dst} {protocol} 0x{:x}", spi.0));
    let protocol = named(protocol);
    let mut sa = Installed::listed(Display::Other, protocol, spi, cite);
    (sa.src, sa.dst) = (Some(src), Some(dst));
    let mut names = Vec::new();
    let mut words = rest;
    while let [first, more @ ..] = words {
        words = match (*first, more) {
            ("-m", [mode, more @ ..]) => {
                sa.mode = Some(mode_of(mode));
                more
            }
            ("-E", [name, key, more @ ..]) => {
                names.extend(known(cipher(name), builder));
                sa.cipher = Some(typed(key));
                more
            }
            ("-A", [name, key, more @ ..]) => {
                names.extend(known(integrity(name, protocol), builder));
                sa.authenticator = Some(typed(key));
                more
            }
            _ => more,
        };
    }
    sa.words = names.join(" ");
    installed(MAKER, sa, builder);
}

fn known(words: Option<&'static str>, builder: &mut Builder) -> Option<&'static str> {
    if words.is_none() {
        builder.wrong("an algorithm that is not known");
    }
    words.filter(|words| !words.is_empty())
}

/// An SA is taken out, or all between two ends.
fn delete(src: &str, dst: &str, protocol: &str, number: Option<crate::model::Spi>, builder: &mut Builder) {
    let (src, dst, protocol) = (address(src), address(dst), named(protocol));
    if let Some(router) = builder.continues() {
        router.installed.retain(|sa| {
            let meant = (sa.protocol, sa.src, sa.dst) == (protocol, src, dst) && number.is_none_or(|spi| spi == sa.spi);
            sa.display != Display::Other || !meant
        });
    }
}

fn named(protocol: &str) -> Protocol {
    if protocol.starts_with("ah") { Protocol::Ah } else { Protocol::Esp }
}

fn mode_of(word: &str) -> Mode {
    if word == "transport" { Mode::Transport } else { Mode::Tunnel }
}

fn way_of(word: &str) -> Option<Way> {
    match word {
        "in" => Some(Way::In),
        "out" => Some(Way::Out),
        _ => None,
    }
}

/// Keys are shown in groups of eight digits.
fn key(digits: &[&str]) -> Option<Secret> {
    let all = digits.concat();
    (!all.is_empty()).then(|| Secret::new(&all))
}

fn selector(src: Net, dst: Net, protocol: &str) -> Selector {
    // KAME's IPSEC_ULPROTO_ANY is 255.
    let protocol = if matches!(protocol, "any" | "255") { "ip" } else { protocol };
    Selector { protocol: protocol.to_owned(), src, src_port: String::new(), dst, dst_port: String::new() }
}

/// `10.0.1.0/24[any]`.
fn net(word: &str) -> Option<Net> {
    let bare = word.split_once('[').map_or(word, |(bare, _)| bare);
    match bare.split_once('/') {
        Some((base, prefix)) => Net::prefix(address(base)?, prefix.parse().ok()?),
        None => Some(Net::host(address(bare)?)),
    }
}

fn edit(builder: &mut Builder, change: impl FnOnce(&mut Installed)) {
    if let Some(sa) = builder.router().and_then(|router| router.installed.last_mut()) {
        change(sa);
    }
}
