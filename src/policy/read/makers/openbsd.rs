//! `ipsec.conf` with manual keys and `ipsecctl -sa` of OpenBSD.

use std::collections::BTreeMap;

use super::foreign::{bare, cipher, installed, integrity};
use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, InForce, Installed, Mode, Way};
use crate::policy::facts::secret::Secret;
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::{Read, Reader};
use crate::policy::words::{address, spi};

const MAKER: &str = "OpenBSD";
/// Macros that are kept.
const MACROS: usize = 256;

/// Reads rules and displays.
#[derive(Default)]
pub(in crate::policy) struct OpenBsd {
    macros: BTreeMap<String, String>,
    /// A rule that a backslash continues, and its first line.
    rule: Vec<String>,
    begun: u32,
}

impl Reader for OpenBsd {
    fn open(&mut self, _: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["FLOWS:"] | ["SAD:"] => Read::Understood,
            [name, "=", value] if value.starts_with('"') && value.ends_with('"') => {
                if self.macros.len() < MACROS {
                    self.macros.insert((*name).to_owned(), bare(value).to_owned());
                }
                Read::Understood
            }
            ["esp" | "ah", next, ..] if matches!(*next, "from" | "tunnel" | "transport" | "proto" | "in" | "out") => {
                self.take(words, builder)
            }
            ["flow", "esp" | "ah" | "from", ..] => self.take(words, builder),
            ["flow", "proto", ..] | ["ike", ..] if words.contains(&"from") => Read::Understood,
            _ => Read::Foreign,
        }
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if !self.rule.is_empty() {
            return self.take(words, builder);
        }
        match words {
            [first, ..] if first.starts_with('#') => Read::Understood,
            ["No", "flows"] | ["No", "entries"] => Read::Understood,
            _ => self.open(text, words, builder),
        }
    }
}

impl OpenBsd {
    fn take(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let more = words.last() == Some(&"\\");
        if self.rule.is_empty() {
            self.begun = builder.number;
        }
        for word in words.iter().filter(|word| **word != "\\").take(64) {
            let value = word.strip_prefix('$').and_then(|name| self.macros.get(name)).cloned();
            self.rule.push(value.unwrap_or_else(|| (*word).to_owned()));
        }
        if !more || self.rule.len() > 64 {
            let rule = std::mem::take(&mut self.rule);
            let words: Vec<&str> = rule.iter().map(String::as_str).collect();
            let here = std::mem::replace(&mut builder.number, self.begun);
            match words.as_slice() {
                ["flow", ..] => flow(&words, builder),
                _ => association(&words, builder),
            }
            builder.number = here;
        }
        Read::Understood
    }
}

/// The word behind a keyword.
fn behind<'w>(words: &[&'w str], keyword: &str) -> Option<&'w str> {
    let at = words.iter().position(|word| *word == keyword)?;
    words.get(at + 1).copied()
}

/// `esp tunnel from A to B spi 0x1001:0x1002 auth hmac-sha1 enc aes authkey 0x..:0x.. enckey 0x..:0x..`. The second of two values
/// is for the packets that come back.
fn association(words: &[&str], builder: &mut Builder) {
    let protocol = if words.first() == Some(&"ah") { Protocol::Ah } else { Protocol::Esp };
    let end = |keyword| behind(words, keyword).and_then(address);
    let (Some(a), Some(b)) = (end("from"), end("to")) else {
        builder.wrong("an SA whose ends are no addresses");
        return;
    };
    let Some(number) = behind(words, "spi") else {
        builder.wrong("an SA without an SPI");
        return;
    };
    let mode = if words.contains(&"transport") { Mode::Transport } else { Mode::Tunnel };
    let named = |keyword: &str, read: &dyn Fn(&str) -> Option<&'static str>| behind(words, keyword).map(read);
    let ciphers = named("enc", &|name| cipher(name));
    // `ipsecctl` takes HMAC-SHA2-256 where a rule with a key for it names no algorithm (`validate_sa`, ipsec.conf(5)).
    let unnamed = !words.contains(&"auth") && words.contains(&"authkey");
    let integrities =
        if unnamed { Some(integrity("sha2-256", protocol)) } else { named("auth", &|name| integrity(name, protocol)) };
    if ciphers == Some(None) || integrities == Some(None) {
        builder.wrong("an algorithm that is not known");
    }
    // The cipher that is taken where none is named was another one in older releases.
    let open = protocol == Protocol::Esp && !words.contains(&"enc") && words.contains(&"enckey");
    if open {
        builder.wrong("an SA without `enc`: its cipher is the release's, and not compared");
    }
    let names: Vec<&str> =
        [ciphers, integrities].into_iter().flatten().flatten().filter(|name| !name.is_empty()).collect();
    let keys = |keyword: &str| {
        let word = behind(words, keyword).filter(|word| *word != "file");
        let mut both = word.into_iter().flat_map(|word| word.split(':'));
        let mut next = || both.next().map(|key| Secret::new(bare(key)));
        (next(), next())
    };
    let (authenticators, ciphers) = (keys("authkey"), keys("enckey"));
    let mut numbers = number.split(':').map(spi);
    let there = (numbers.next().flatten(), a, b, ciphers.0, authenticators.0);
    let back = numbers.next().map(|spi| (spi, b, a, ciphers.1, authenticators.1));
    let paired = back.is_some();
    for (n, (spi, src, dst, cipher, authenticator)) in std::iter::once(there).chain(back).enumerate() {
        let Some(spi) = spi else {
            builder.wrong("an SPI that is no number up to 0xffffffff");
            continue;
        };
        let cite = builder.cite_made(&format!("{} from {src} to {dst} spi {spi}", protocol.name()));
        // A rule with both is written by the end that sends the first.
        let way = paired.then_some(if n == 0 { Way::Out } else { Way::In });
        let sa = Installed {
            way,
            src: Some(src),
            dst: Some(dst),
            mode: Some(mode),
            words: if open { String::new() } else { names.join(" ") },
            cipher,
            authenticator,
            ..Installed::listed(Display::Other, protocol, spi, cite)
        };
        installed(MAKER, sa, builder);
    }
}

/// `flow esp out from 10.0.1.0/24 to 10.0.2.0/24 local A peer B type require`.
fn flow(words: &[&str], builder: &mut Builder) {
    let net = |word: &str| match word.split_once('/') {
        Some((base, prefix)) => Net::prefix(address(base)?, prefix.parse().ok()?),
        None => Some(Net::host(address(word)?)),
    };
    let end = |keyword| behind(words, keyword).and_then(net);
    let (Some(src), Some(dst)) = (end("from"), end("to")) else {
        builder.wrong("a flow whose ends are no networks");
        return;
    };
    let inbound = words.contains(&"in");
    let gateway = |keyword| -> Option<Address> { behind(words, keyword).and_then(address) };
    let selector = Selector { protocol: "ip".to_owned(), src, src_port: String::new(), dst, dst_port: String::new() };
    let selector = if inbound { selector.mirrored() } else { selector };
    let cite = builder.cite_made(&format!("flow {selector}"));
    let way = Some(if inbound { Way::In } else { Way::Out });
    let (local, remote) = (gateway("local"), gateway("peer"));
    if let Some(router) = builder.router() {
        router.maker = Some(MAKER);
        router.selectors.push(InForce { selector, way, local, remote, cite });
    }
}
