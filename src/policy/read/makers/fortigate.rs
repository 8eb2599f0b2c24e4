//! FortiGate: `config vpn ipsec manualkey` and `manualkey-interface`.

use super::foreign::{Tunnel, bare, cipher, integrity};
use crate::model::{Protocol, Spi};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::{Read, Reader};
use crate::policy::words::{address, hex};

const MAKER: &str = "Fortinet";

/// Reads the configuration.
#[derive(Default)]
pub(in crate::policy) struct FortiGate {
    /// What `config` opened, innermost last.
    configs: Vec<String>,
    tunnel: Option<Tunnel>,
    /// The interface that is told of.
    interface: Option<String>,
}

impl Reader for FortiGate {
    fn open(&mut self, _: &str, words: &[&str], _: &mut Builder) -> Read {
        let ["config", "vpn" | "system" | "firewall" | "router" | "user" | "log", rest @ ..] = words else {
            return Read::Foreign;
        };
        if rest.is_empty() {
            return Read::Foreign;
        }
        *self = Self { configs: vec![words.get(1..).unwrap_or_default().join(" ")], ..Self::default() };
        Read::Understood
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["config", ..] if self.configs.is_empty() => return self.open(text, words, builder),
            ["config", what @ ..] => {
                if self.configs.len() < 16 {
                    self.configs.push(what.join(" "));
                }
            }
            ["end"] => {
                self.configs.pop();
                self.tunnel = None;
            }
            ["next"] => self.tunnel = None,
            _ if self.configs.is_empty() => return Read::Foreign,
            ["edit", name] => self.edit(bare(name), builder),
            ["set", field, value @ ..] => self.set(field, value, builder),
            ["unset", ..] => {}
            _ => return Read::Foreign,
        }
        Read::Understood
    }
}

impl FortiGate {
    fn within(&self, what: &str) -> bool {
        self.configs.last().is_some_and(|config| config == what)
    }

    fn edit(&mut self, name: &str, builder: &mut Builder) {
        if self.within("vpn ipsec manualkey") || self.within("vpn ipsec manualkey-interface") {
            let tunnel = Tunnel::new(name, 0, builder.cite_made(&format!("edit \"{name}\"")));
            tunnel.store(MAKER, builder);
            self.tunnel = Some(tunnel);
        } else if self.within("system interface") {
            self.interface = Some(name.to_owned());
        }
    }

    fn set(&mut self, field: &str, value: &[&str], builder: &mut Builder) {
        let first = bare(value.first().copied().unwrap_or_default());
        if self.within("system global") && field == "hostname" {
            builder.hostname(first, &format!("set hostname {first}"));
        }
        if let (true, Some(name), "ip", Some(own)) =
            (self.within("system interface"), &self.interface, field, address(first))
        {
            let cite = builder.cite_made(&format!("set ip {own}"));
            if let Some(router) = builder.router() {
                let interface = router.interfaces.entry(name.clone()).or_default();
                if interface.addresses.iter().all(|(known, _)| *known != own) {
                    interface.addresses.push((own, cite));
                }
            }
        }
        let Some(tunnel) = &mut self.tunnel else { return };
        match field {
            "interface" => tunnel.interface = Some(first.to_owned()),
            "remote-gw" | "remote-gw6" | "local-gw" | "local-gw6" => match address(first) {
                Some(end) => {
                    let cite = builder.cite_made(&format!("set {field} {end}"));
                    let place = if field.starts_with("remote") { &mut tunnel.peer } else { &mut tunnel.local };
                    *place = Some((end, cite));
                }
                None => builder.wrong("a gateway that is no address"),
            },
            "authentication" | "auth-alg" => match integrity(first, Protocol::Esp) {
                Some(words) => tunnel.integrity = Some(words.to_owned()),
                None => builder.wrong("an authentication algorithm that is not known"),
            },
            "encryption" | "enc-alg" => match cipher(first) {
                Some(words) => tunnel.cipher = Some(words.to_owned()),
                None => builder.wrong("an encryption algorithm that is not known"),
            },
            "authkey" | "auth-key" | "enckey" | "enc-key" => {
                let secret = key(value);
                for inbound in [true, false] {
                    let half = tunnel.half(inbound, Protocol::Esp);
                    let place = if field.starts_with("auth") { &mut half.authenticator } else { &mut half.cipher };
                    *place = Some(secret.clone());
                }
            }
            // The manual: the local SPI is that of packets that leave, and the peer's remote SPI.
            "localspi" | "local-spi" | "remotespi" | "remote-spi" => match spi(first) {
                Some(spi) => {
                    let cite = builder.cite_made(&format!("set {field} 0x{:x}", spi.0));
                    tunnel.half(field.starts_with("remote"), Protocol::Esp).spi = Some((spi, cite));
                }
                None => builder.wrong("an SPI that is no hex number of at most eight digits"),
            },
            _ => return,
        }
        tunnel.store(MAKER, builder);
    }
}

/// SPIs are hex, with or without `0x`.
fn spi(word: &str) -> Option<Spi> {
    hex(word.trim_start_matches("0x").trim_start_matches("0X"))
}

/// A key in groups of sixteen digits; `ENC ...` stands encrypted.
fn key(words: &[&str]) -> Secret {
    match words {
        ["ENC", rest @ ..] => Secret::encrypted(&rest.concat()),
        words => Secret::new(&bare(&words.concat()).replace('-', "")),
    }
}
