//! What readers of makers other than Cisco share: a tunnel with manual keys that is told bit by bit, and the names of algorithms.

use std::collections::BTreeMap;

use crate::model::{Address, Protocol, Spi};
use crate::policy::Cite;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, Installed, Keying, MapEntry, Mode, SessionKey, TransformSet, Unread};
use crate::policy::facts::secret::Secret;

/// What is known of one direction.
#[derive(Clone, Default)]
pub(in crate::policy) struct Half {
    pub(in crate::policy) spi: Option<(Spi, Cite)>,
    pub(in crate::policy) cipher: Option<Secret>,
    pub(in crate::policy) authenticator: Option<Secret>,
}

/// A tunnel with manual keys. It is told to the router anew with everything that becomes known of it.
#[derive(Clone)]
pub(in crate::policy) struct Tunnel {
    pub(in crate::policy) name: String,
    pub(in crate::policy) number: u32,
    /// Typed keys, or IKE, whose peers and keys are not read.
    pub(in crate::policy) keying: Keying,
    pub(in crate::policy) cite: Cite,
    pub(in crate::policy) local: Option<(Address, Cite)>,
    pub(in crate::policy) peer: Option<(Address, Cite)>,
    /// The interface that it leaves from.
    pub(in crate::policy) interface: Option<String>,
    pub(in crate::policy) acl: Option<(String, Cite)>,
    /// Names of its transform sets, where it has such.
    pub(in crate::policy) sets: Vec<(String, Cite)>,
    /// Its own algorithms, in the words of IOS.
    pub(in crate::policy) cipher: Option<String>,
    pub(in crate::policy) integrity: Option<String>,
    pub(in crate::policy) mode: Option<Mode>,
    /// By inbound, and whether it is AH.
    pub(in crate::policy) halves: BTreeMap<(bool, bool), Half>,
}

impl Tunnel {
    pub(in crate::policy) fn new(name: &str, number: u32, cite: Cite) -> Self {
        Self {
            name: name.to_owned(),
            number,
            keying: Keying::Manual,
            cite,
            local: None,
            peer: None,
            interface: None,
            acl: None,
            sets: Vec::new(),
            cipher: None,
            integrity: None,
            mode: None,
            halves: BTreeMap::new(),
        }
    }

    /// One direction of a protocol.
    pub(in crate::policy) fn half(&mut self, inbound: bool, protocol: Protocol) -> &mut Half {
        self.halves.entry((inbound, protocol == Protocol::Ah)).or_default()
    }

    /// Tells the router of the maker's what is known so far.
    pub(in crate::policy) fn store(&self, maker: &'static str, builder: &mut Builder) {
        let Some(router) = builder.router() else { return };
        router.maker = Some(maker);
        let words: Vec<&str> = [&self.cipher, &self.integrity].into_iter().flatten().map(String::as_str).collect();
        let words = words.join(" ").trim().to_owned();
        let mut sets = self.sets.clone();
        if !words.is_empty() {
            let mode = self.mode.map(|mode| (mode, self.cite.clone()));
            router
                .transform_sets
                .insert(self.name.clone(), TransformSet { words, mode, cite: self.cite.clone(), cut: false });
            sets.push((self.name.clone(), self.cite.clone()));
        }
        if let Some(name) = &self.interface {
            let interface = router.interfaces.entry(name.clone()).or_default();
            interface.map = Some((self.name.clone(), self.cite.clone()));
            if let Some((own, cite)) = &self.local
                && interface.addresses.iter().all(|(known, _)| known != own)
            {
                interface.addresses.push((*own, cite.clone()));
            }
        }
        let keys = self.halves.iter().filter_map(|((inbound, ah), half)| {
            let (spi, cite) = half.spi.clone()?;
            let protocol = if *ah { Protocol::Ah } else { Protocol::Esp };
            let (cipher, authenticator) = (half.cipher.clone(), half.authenticator.clone());
            Some(SessionKey { inbound: *inbound, protocol, spi, cipher, authenticator, cite })
        });
        let entry = MapEntry {
            name: self.name.clone(),
            number: self.number,
            keying: self.keying,
            peers: self.peer.iter().cloned().collect(),
            keys: keys.collect(),
            transform_sets: sets,
            acl: self.acl.clone(),
            local: self.local.as_ref().map(|(own, _)| *own),
            unread: Unread { peer: self.keying == Keying::Ike, ..Unread::default() },
            replaced: Vec::new(),
            ikev2: None,
            cite: self.cite.clone(),
        };
        match router.maps.iter_mut().find(|known| known.name == self.name && known.number == self.number) {
            Some(known) => *known = entry,
            None => router.maps.push(entry),
        }
    }
}

/// Tells of an SA in force.
pub(in crate::policy) fn installed(maker: &'static str, sa: Installed, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.maker = Some(maker);
        router.installed.push(Installed { display: Display::Other, ..sa });
    }
}

/// A cipher in the words of IOS; `None` where it is not known.
pub(in crate::policy) fn cipher(name: &str) -> Option<&'static str> {
    Some(match plain(name).as_str() {
        "des" | "descbc" => "esp-des",
        "3des" | "3descbc" | "tripledes" => "esp-3des",
        "aes" | "aescbc" | "rijndaelcbc" | "rijndael" => "esp-aes",
        "aes128" | "aescbc128" | "aes128cbc" | "128aes" => "esp-aes 128",
        "aes192" | "aescbc192" | "aes192cbc" | "192aes" => "esp-aes 192",
        "aes256" | "aescbc256" | "aes256cbc" | "256aes" => "esp-aes 256",
        "null" | "none" | "simple" => "esp-null",
        _ => return None,
    })
}

/// An integrity algorithm in the words of IOS, of AH or of ESP; `None` where it is not known.
pub(in crate::policy) fn integrity(name: &str, protocol: Protocol) -> Option<&'static str> {
    let ah = protocol == Protocol::Ah;
    Some(match plain(name).as_str() {
        "md5" | "hmacmd5" | "hmacmd596" => {
            if ah {
                "ah-md5-hmac"
            } else {
                "esp-md5-hmac"
            }
        }
        "sha" | "sha1" | "hmacsha1" | "hmacsha196" => {
            if ah {
                "ah-sha-hmac"
            } else {
                "esp-sha-hmac"
            }
        }
        "sha256" | "sha2256" | "hmacsha256" | "hmacsha2256" | "hmacsha256128" => {
            if ah {
                "ah-sha256-hmac"
            } else {
                "esp-sha256-hmac"
            }
        }
        "sha384" | "sha2384" | "hmacsha384" | "hmacsha2384" => {
            if ah {
                "ah-sha384-hmac"
            } else {
                "esp-sha384-hmac"
            }
        }
        "sha512" | "sha2512" | "hmacsha512" | "hmacsha2512" => {
            if ah {
                "ah-sha512-hmac"
            } else {
                "esp-sha512-hmac"
            }
        }
        "null" | "none" => "",
        _ => return None,
    })
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A word without the quotes and the comma or semicolon around it.
pub(in crate::policy) fn bare(word: &str) -> &str {
    word.trim_end_matches([',', ';']).trim_matches(['"', '\''])
}
