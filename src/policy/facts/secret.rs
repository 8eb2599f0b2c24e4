//! A key. It can be compared and measured, and never be printed.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::Address;
use crate::policy::{Cite, Net};

/// Words that stand in place of a key.
const MASKS: [&str; 14] = [
    "removed",
    "redacted",
    "hidden",
    "masked",
    "omitted",
    "snip",
    "snipped",
    "deleted",
    "sanitized",
    "sanitised",
    "censored",
    "stripped",
    "obfuscated",
    "anonymized",
];

/// Words in capitals that people write where a key was.
const PLACES: [&str; 9] =
    ["KEY", "SECRET", "PSK", "PASSWORD", "PRESHAREDKEY", "PRE-SHARED-KEY", "PRESHARED", "IKEKEY", "MYKEY"];

/// Digits from which on one and the same digit is no key by chance.
const ONE_DIGIT: usize = 16;

/// A key as it was typed. No output, error or debug text shows anything of it; it has no other use than comparison.
#[derive(Clone)]
pub struct Secret {
    /// Hex digits in lower case without `0x`; other text as it stood.
    text: Box<str>,
    hex: bool,
    /// Whether it is text that a device makes its keys of.
    phrase: bool,
}

impl Secret {
    /// A key from hex digits, with or without `0x`; other text is kept as a pass phrase.
    #[must_use]
    pub fn new(typed: &str) -> Self {
        let digits = typed.strip_prefix("0x").or_else(|| typed.strip_prefix("0X")).unwrap_or(typed);
        let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let text = if hex { digits.to_ascii_lowercase() } else { typed.to_owned() };
        Self { text: text.into(), hex, phrase: false }
    }

    /// A key that stands encrypted: it cannot be compared with any other.
    #[must_use]
    pub fn encrypted(typed: &str) -> Self {
        Self { text: typed.into(), hex: false, phrase: false }
    }

    /// Text that a device makes its keys of. Two devices of a maker make the same of the same text.
    #[must_use]
    pub fn phrase(typed: &str) -> Self {
        Self { text: typed.into(), hex: false, phrase: true }
    }

    /// Whether it stands as it is, so that another one that differs is another key. What is not in hex digits was made unreadable
    /// before it was pasted, or mistyped, or stands encrypted, unless it is a phrase.
    #[must_use]
    pub const fn comparable(&self) -> bool {
        self.hex || self.phrase
    }

    /// Whether it is a placeholder in place of a key: `********`, `<removed>`, `xxxx`.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        let text = self.text.trim_matches(['"', '\'']);
        let enclosed = [("<", ">"), ("[", "]"), ("{", "}")]
            .iter()
            .any(|(open, close)| text.starts_with(open) && text.ends_with(close));
        let mut octets = text.bytes();
        let first = octets.next();
        let one = first.is_some_and(|first| b"*xX.#-_?".contains(&first)) && octets.all(|b| Some(b) == first);
        // Characters of which none is a letter or a digit, as an ellipsis or bullets.
        let foreign = !text.is_empty() && text.chars().all(|c| !c.is_ascii() && !c.is_alphanumeric());
        let named = PLACES.contains(&text);
        enclosed || one || foreign || named || MASKS.contains(&text.to_ascii_lowercase().as_str())
    }

    /// Whether it is certainly another key than `other`: both can be compared. A phrase says nothing of the key that is made of it.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let replaced = self.is_one_digit() != other.is_one_digit();
        self.comparable() && other.comparable() && self.hex == other.hex && !replaced && self != other
    }

    /// Whether it is one digit over and over, as keys are that were replaced before a text was given away: beside another key it says
    /// nothing of what was there.
    #[must_use]
    pub fn is_one_digit(&self) -> bool {
        let mut digits = self.text.bytes();
        let first = digits.next();
        self.hex && self.text.len() >= ONE_DIGIT && digits.all(|digit| Some(digit) == first)
    }

    /// Whether two keys of DES are one: the last bit of each octet is for parity, and not used (FIPS 46-3).
    #[must_use]
    pub fn same_but_parity(&self, other: &Self) -> bool {
        let used = |key: &Self| key.octets().map(|octets| octets.iter().map(|octet| octet | 1).collect::<Vec<u8>>());
        used(self).is_some() && used(self) == used(other)
    }

    /// Length in bits, where it stood in hex.
    #[must_use]
    pub fn bits(&self) -> Option<u32> {
        self.hex.then(|| u32::try_from(self.text.len()).unwrap_or(u32::MAX).saturating_mul(4))
    }

    /// Whether it is `other` with digits missing at its end or beginning.
    #[must_use]
    pub fn is_part_of(&self, other: &Self) -> bool {
        let (part, whole) = (&*self.text, &*other.text);
        self.hex && other.hex && part.len() < whole.len() && (whole.starts_with(part) || whole.ends_with(part))
    }

    /// The octets, where it stood in hex with an even number of digits.
    #[must_use]
    pub fn octets(&self) -> Option<Vec<u8>> {
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let pairs = self.text.as_bytes().chunks_exact(2);
        if !self.hex || !pairs.remainder().is_empty() {
            return None;
        }
        pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.last()?)?)).collect()
    }
}

impl PartialEq for Secret {
    /// Looks at every octet whatever the first ones are, so that the time taken says nothing but the length.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.text.as_bytes(), other.text.as_bytes());
        let differences = a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y));
        a.len() == b.len() && differences == 0
    }
}

impl Eq for Secret {}

impl Serialize for Secret {
    /// Nothing of it: what holds keys is written to be told apart by everything else.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<KEY>")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<KEY>")
    }
}

/// A pre-shared key of IKE.
#[derive(Clone, Debug, Serialize)]
pub struct IkeKey {
    /// The peer it is for.
    pub peer: Address,
    /// All peers it is for.
    pub covers: Net,
    /// The key, unless it stands encrypted.
    pub key: Option<Secret>,
    /// Where it stands.
    pub cite: Cite,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_in_place_of_a_key_differ_from_none() {
        let (zeros, key) = (Secret::new(&"0".repeat(40)), Secret::new("00112233445566778899aabbccddeeff00112233"));
        assert!(!zeros.differs(&key) && !key.differs(&zeros));
        assert!(zeros.differs(&Secret::new(&"1".repeat(40))) && !zeros.differs(&zeros));
        assert!(Secret::new("00000000").differs(&Secret::new("00000001")));
    }

    #[test]
    fn a_key_is_compared_and_measured_but_never_shown() {
        let key = Secret::new("0xA1b2");
        assert_eq!(key, Secret::new("a1B2"));
        assert_ne!(key, Secret::new("a1b3"));
        assert_ne!(Secret::new("00"), Secret::new("0000"));
        assert_eq!((key.bits(), Secret::new("0").bits(), Secret::new("CISCO!").bits()), (Some(16), Some(4), None));
        assert_eq!((key.octets(), Secret::new("abc").octets()), (Some(vec![0xa1, 0xb2]), None));
        assert!(
            Secret::new("1110").same_but_parity(&Secret::new("1011"))
                && !Secret::new("11").same_but_parity(&Secret::new("13"))
        );
        let masked = |text| Secret::new(text).is_masked();
        assert!(
            ["********", "<removed>", "xxxx", "[hidden]", "REDACTED", "\u{2026}", "...", "SECRET"]
                .into_iter()
                .all(masked)
        );
        assert!(!["cisco123", "aaaa", "a1b2", "XyX", "secret", "Key"].into_iter().any(masked));
        assert_eq!(serde_json::to_string(&key).unwrap(), "null");
        for shown in [format!("{key}"), format!("{key:?}"), format!("{:?}", Some(vec![key]))] {
            assert!(!shown.to_lowercase().contains("a1b2") && !shown.contains('1'), "{shown}");
        }
    }
}
