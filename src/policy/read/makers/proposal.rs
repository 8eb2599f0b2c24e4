//! Proposals of Huawei and H3C (`ipsec proposal NAME`): which algorithms a policy uses.

use super::foreign::{cipher, integrity};
use super::huawei::MAKER;
use crate::model::Protocol;
use crate::policy::Cite;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Mode, TransformSet};
use crate::policy::form::paste::Read;

/// Algorithms of a proposal.
pub(super) struct Proposal {
    name: String,
    cite: Cite,
    ah: bool,
    esp: bool,
    cipher: Option<&'static str>,
    esp_integrity: Option<&'static str>,
    ah_integrity: Option<&'static str>,
    mode: Option<Mode>,
}

impl Proposal {
    /// A proposal of which nothing is said yet.
    pub(super) fn begin(name: &str, builder: &mut Builder) -> Self {
        let cite = builder.cite_made(&format!("ipsec proposal {name}"));
        let proposal = Self {
            name: name.to_owned(),
            cite,
            ah: false,
            esp: true,
            cipher: None,
            esp_integrity: None,
            ah_integrity: None,
            mode: None,
        };
        proposal.store(builder);
        proposal
    }

    pub(super) fn line(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["transform" | "protocol", which] => {
                self.ah = which.starts_with("ah");
                self.esp = which.contains("esp");
            }
            ["encapsulation-mode", "transport"] => self.mode = Some(Mode::Transport),
            ["encapsulation-mode", "tunnel" | "auto"] => self.mode = Some(Mode::Tunnel),
            ["esp", "encryption-algorithm", name, bits @ ..] => {
                let name = format!("{name}{}", bits.concat());
                self.cipher = known(cipher(&name), builder);
            }
            ["esp", "authentication-algorithm", name, ..] => {
                self.esp_integrity = known(integrity(name, Protocol::Esp), builder);
            }
            ["ah", "authentication-algorithm", name, ..] => {
                self.ah_integrity = known(integrity(name, Protocol::Ah), builder);
            }
            ["pfs" | "esn" | "description", ..] => {}
            _ => return Read::Foreign,
        }
        self.store(builder);
        Read::Understood
    }

    /// Tells the router of it. What a proposal leaves out is the release's (ESP: SHA2-256 and AES-256, MD5 and DES before, and on H3C):
    /// of such a one only that it is there is known.
    fn store(&self, builder: &mut Builder) {
        let whole = (!self.esp || self.cipher.is_some() && self.esp_integrity.is_some())
            && (!self.ah || self.ah_integrity.is_some());
        let esp = [self.cipher, self.esp_integrity].into_iter().filter(|_| self.esp);
        let words: Vec<&str> =
            esp.chain([self.ah_integrity.filter(|_| self.ah)]).flatten().filter(|w| !w.is_empty()).collect();
        let set = TransformSet {
            words: words.join(" "),
            // Tunnel mode is what every release takes where nothing is said.
            mode: Some((self.mode.unwrap_or(Mode::Tunnel), self.cite.clone())),
            cite: self.cite.clone(),
            cut: false,
        };
        let Some(router) = builder.router() else { return };
        router.maker = Some(MAKER);
        if whole {
            router.forwarding.vague_sets.remove(&self.name);
            router.transform_sets.insert(self.name.clone(), set);
        } else {
            router.transform_sets.remove(&self.name);
            router.forwarding.vague_sets.insert(self.name.clone());
        }
    }
}

fn known(words: Option<&'static str>, builder: &mut Builder) -> Option<&'static str> {
    if words.is_none() {
        builder.wrong("an algorithm that is not known");
    }
    words
}
