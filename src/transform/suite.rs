//! What protects a packet: AH, ESP and IPComp with their algorithms.

use std::fmt;

use super::{Cipher, Compression, Integrity};

/// What protects a packet, from the outside in: AH, ESP, IPComp. Each may be absent.
///
/// Read from text with [`str::parse`]: Cisco transform sets, strongSwan proposals, names of Linux XFRM and of
/// Wireshark, and the name that [`Display`](fmt::Display) gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Suite {
    /// Integrity algorithm of the AH header around everything else.
    pub ah: Option<&'static Integrity>,
    /// ESP.
    pub esp: Option<Esp>,
    /// Compression, inside ESP.
    pub ipcomp: Option<&'static Compression>,
}

/// What ESP protects with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Esp {
    /// The cipher; NULL where nothing is encrypted.
    pub cipher: &'static Cipher,
    /// Key length in bits, without salt, where it was said and there is a choice.
    pub key_bits: Option<u32>,
    /// The integrity algorithm; none with ciphers that have their own, or where there is none.
    pub integrity: Option<&'static Integrity>,
}

impl Esp {
    /// The whole ICV, in octets: the cipher's own or the integrity algorithm's.
    #[must_use]
    pub const fn icv(&self) -> u32 {
        match self.integrity {
            Some(integrity) => self.cipher.icv + integrity.icv,
            None => self.cipher.icv,
        }
    }
}

/// Something about a suite that should not be used any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weakness {
    /// The algorithm, or `ESP` where it is the combination.
    pub algorithm: &'static str,
    /// Why.
    pub why: &'static str,
}

impl Suite {
    /// Only ESP.
    #[must_use]
    pub const fn esp(cipher: &'static Cipher, integrity: Option<&'static Integrity>) -> Self {
        Self { ah: None, esp: Some(Esp { cipher, key_bits: None, integrity }), ipcomp: None }
    }

    /// Only AH.
    #[must_use]
    pub const fn ah(integrity: &'static Integrity) -> Self {
        Self { ah: Some(integrity), esp: None, ipcomp: None }
    }

    /// What of it is weak: algorithms that the RFCs tell not to use, and encryption that nothing authenticates
    /// (RFC 8221 section 4).
    #[must_use]
    pub fn weaknesses(&self) -> Vec<Weakness> {
        let mut weak = Vec::new();
        let mut add = |algorithm, why: Option<&'static str>| weak.extend(why.map(|why| Weakness { algorithm, why }));
        if let Some(ah) = self.ah {
            add(ah.name, ah.weak);
        }
        if let Some(esp) = &self.esp {
            add(esp.cipher.name, esp.cipher.weak);
            if let Some(integrity) = esp.integrity.filter(|integrity| self.ah != Some(*integrity)) {
                add(integrity.name, integrity.weak);
            }
            if esp.icv() == 0 && self.ah.is_none() {
                let why = if esp.cipher.encrypts() {
                    "nothing authenticates the packets: they can be changed in transit; MUST NOT be used (RFC 8221 section 4)"
                } else {
                    "neither encrypted nor authenticated; MUST NOT be used (RFC 4303 section 3.2)"
                };
                add("ESP", Some(why));
            }
        }
        weak
    }
}

impl fmt::Display for Esp {
    /// `AES-256-CBC/HMAC-SHA1-96`; NULL without integrity is `NULL`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cipher.keyed(self.key_bits))?;
        match self.integrity {
            Some(integrity) => write!(f, "/{}", integrity.name),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Suite {
    /// The one name in every output: `AH HMAC-MD5-96 + ESP DES-CBC/HMAC-MD5-96`. It can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ah = self.ah.map(|ah| format!("AH {}", ah.name));
        let esp = self.esp.map(|esp| format!("ESP {esp}"));
        let ipcomp = self.ipcomp.map(|ipcomp| format!("IPCOMP {}", ipcomp.name));
        let parts: Vec<String> = [ah, esp, ipcomp].into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "none".into() } else { parts.join(" + ") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weak(text: &str) -> Vec<&'static str> {
        let suite: Suite = text.parse().expect(text);
        suite.weaknesses().iter().map(|weakness| weakness.algorithm).collect()
    }

    #[test]
    fn weak_is_what_the_rfcs_say_and_encryption_without_integrity() {
        assert_eq!(weak("esp-aes 256 esp-sha256-hmac"), <[&str; 0]>::default());
        assert_eq!(weak("esp-gcm 256"), <[&str; 0]>::default());
        assert_eq!(weak("esp-des esp-md5-hmac"), ["DES-CBC", "HMAC-MD5-96"]);
        assert_eq!(weak("esp-3des"), ["3DES-CBC", "ESP"]);
        assert_eq!(weak("ah-md5-hmac esp-des"), ["HMAC-MD5-96", "DES-CBC"]);
        assert_eq!(weak("ah-md5-hmac esp-null esp-md5-hmac"), ["HMAC-MD5-96"]);
        assert_eq!(weak("esp-null"), ["ESP"]);
    }
}
