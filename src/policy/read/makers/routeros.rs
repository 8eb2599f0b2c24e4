//! RouterOS: `/ip ipsec manual-sa` and the policies that use it.

use std::collections::BTreeMap;

use super::foreign::{Tunnel, bare, cipher, integrity};
use crate::model::{Protocol, Spi};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{InForce, Mode, Way};
use crate::policy::facts::secret::Secret;
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::{Read, Reader};
use crate::policy::words::{address, hex};

const MAKER: &str = "MikroTik";
/// Templates of SAs that are kept.
const TEMPLATES: usize = 4_096;

/// Reads an export.
#[derive(Default)]
pub(in crate::policy) struct RouterOs {
    menu: String,
    /// Words of a command that a backslash continues.
    command: Vec<String>,
    templates: BTreeMap<String, Tunnel>,
}

impl Reader for RouterOs {
    fn open(&mut self, _: &str, words: &[&str], builder: &mut Builder) -> Read {
        let [first, rest @ ..] = words else { return Read::Foreign };
        if !matches!(*first, "/ip" | "/system" | "/interface" | "/routing" | "/ipv6") {
            return Read::Foreign;
        }
        let end = rest.iter().position(|word| matches!(*word, "add" | "set" | "print")).unwrap_or(rest.len());
        let (menu, command) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        self.menu = format!("{first} {}", menu.join(" ")).trim().to_owned();
        self.command.clear();
        self.take(command, builder);
        Read::Understood
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            [first, ..]
                if self.command.is_empty() && !matches!(*first, "add" | "set" | "print") && !first.starts_with('#') =>
            {
                self.open(text, words, builder)
            }
            [first, ..] if first.starts_with('#') && self.command.is_empty() => Read::Understood,
            _ => {
                self.take(words, builder);
                Read::Understood
            }
        }
    }
}

impl RouterOs {
    fn take(&mut self, words: &[&str], builder: &mut Builder) {
        let more = words.last().is_some_and(|word| word.ends_with('\\'));
        self.command.extend(words.iter().take(64).map(|word| word.trim_end_matches('\\').to_owned()));
        if more && self.command.len() < 64 {
            return;
        }
        let command = std::mem::take(&mut self.command);
        let fields: BTreeMap<&str, &str> =
            command.iter().filter_map(|word| word.split_once('=')).map(|(name, value)| (name, bare(value))).collect();
        match (self.menu.as_str(), command.first().map(String::as_str)) {
            ("/system identity", Some("set")) => {
                if let Some(name) = fields.get("name") {
                    builder.hostname(name, &format!("set name={name}"));
                }
            }
            (
                "/ip ipsec peer" | "/ip ipsec profile" | "/ip ipsec proposal" | "/ip ipsec identity",
                Some("add" | "set"),
            ) => {
                builder.wrong(
                    "IKE in these words (peers, profiles, proposals and identities of RouterOS) is not compared",
                );
            }
            ("/ip ipsec manual-sa", Some("add")) => self.template(&fields, builder),
            ("/ip ipsec policy", Some("add")) => self.policy(&fields, builder),
            ("/ip address", Some("add")) => {
                if let (Some(own), Some(interface)) =
                    (fields.get("address").and_then(|word| address(word.split('/').next()?)), fields.get("interface"))
                {
                    let cite = builder.cite_made(&format!("add address={own} interface={interface}"));
                    if let Some(router) = builder.router() {
                        router.interfaces.entry((*interface).to_owned()).or_default().addresses.push((own, cite));
                    }
                }
            }
            _ => {}
        }
    }

    /// Values in pairs are for packets that arrive and packets that leave.
    fn template(&mut self, fields: &BTreeMap<&str, &str>, builder: &mut Builder) {
        let name = fields.get("name").copied().unwrap_or_default();
        let mut tunnel = Tunnel::new(name, 0, builder.cite_made(&format!("manual-sa add name={name}")));
        for (protocol, word) in [(Protocol::Esp, "esp"), (Protocol::Ah, "ah")] {
            let of = |field: &str| fields.get(format!("{word}-{field}").as_str()).copied();
            // `print` shows the SPIs of protocols that are not used, too.
            let is_null = |field: &str| of(field) == Some("null");
            if protocol == Protocol::Ah && is_null("algorithm") || is_null("auth-algorithm") && is_null("enc-algorithm")
            {
                continue;
            }
            let pair = |value: Option<&str>| -> [Option<String>; 2] {
                let value = value.filter(|value| !value.is_empty());
                let mut both = value.into_iter().flat_map(|value| value.split('/')).map(str::to_owned);
                let first = both.next();
                let second = both.next().or_else(|| first.clone());
                [first, second]
            };
            let authentication = if protocol == Protocol::Ah { "key" } else { "auth-key" };
            let keys = (pair(of(authentication)), pair(of("enc-key")));
            for (n, value) in pair(of("spi")).into_iter().enumerate() {
                let Some(value) = value else { continue };
                let Some(spi) = number(&value) else {
                    builder.wrong("an SPI that is no hex number of at most eight digits");
                    continue;
                };
                if spi.0 == 0 {
                    continue;
                }
                let cite = builder.cite_made(&format!("{word}-spi 0x{:x}", spi.0));
                let half = tunnel.half(n == 0, protocol);
                half.spi = Some((spi, cite));
                half.authenticator = keys.0.get(n).cloned().flatten().map(|key| Secret::new(&key));
                half.cipher = keys.1.get(n).cloned().flatten().map(|key| Secret::new(&key));
            }
            let field = if protocol == Protocol::Ah { "algorithm" } else { "auth-algorithm" };
            if let Some(name) = of(field).filter(|name| *name != "null") {
                tunnel.integrity = integrity(name, protocol).map(str::to_owned);
            }
        }
        tunnel.cipher = fields.get("esp-enc-algorithm").and_then(|name| cipher(name)).map(str::to_owned);
        if self.templates.len() < TEMPLATES {
            self.templates.insert(name.to_owned(), tunnel.clone());
        }
        tunnel.store(MAKER, builder);
    }

    fn policy(&self, fields: &BTreeMap<&str, &str>, builder: &mut Builder) {
        if fields.get("disabled") == Some(&"yes") {
            builder.wrong("a policy that is disabled: no packet is put into its tunnel, and nothing of it is compared");
            return;
        }
        if fields.get("action").is_some_and(|action| *action != "encrypt") {
            return;
        }
        let end = |field: &str| fields.get(field).and_then(|word| address(word));
        let (local, remote) = (end("sa-src-address"), end("sa-dst-address"));
        let net = |field: &str| -> Option<Net> {
            let word = fields.get(field)?;
            let (base, prefix) = word.split_once('/')?;
            Net::prefix(address(base)?, prefix.split(':').next()?.parse().ok()?)
        };
        if let (Some(src), Some(dst)) = (net("src-address"), net("dst-address")) {
            let selector =
                Selector { protocol: "ip".to_owned(), src, src_port: String::new(), dst, dst_port: String::new() };
            let cite = builder.cite_made(&format!("policy add {selector}"));
            if let Some(router) = builder.router() {
                router.maker = Some(MAKER);
                router.selectors.push(InForce { selector, way: Some(Way::Out), local, remote, cite });
            }
        }
        let used = fields.get("manual-sa").and_then(|name| self.templates.get(*name));
        if let Some(template) = used {
            let mut tunnel = template.clone();
            let cite = |what: &str, end| builder.cite_made(&format!("{what}={end}"));
            tunnel.local = local.map(|own| (own, cite("sa-src-address", own)));
            tunnel.peer = remote.map(|far| (far, cite("sa-dst-address", far)));
            tunnel.mode = match fields.get("tunnel") {
                Some(&"yes") => Some(Mode::Tunnel),
                Some(&"no") => Some(Mode::Transport),
                _ => None,
            };
            tunnel.store(MAKER, builder);
        }
    }
}

/// SPIs are hex, with or without `0x`.
fn number(word: &str) -> Option<Spi> {
    hex(word.trim_start_matches("0x").trim_start_matches("0X"))
}
