//! Keys, and what is wrong with one.

use std::fmt;

use crate::transform::KeyLengths;

/// The octets of a key. They cannot be printed.
#[derive(Clone, Default)]
pub struct KeyBytes(Box<[u8]>);

impl KeyBytes {
    /// Length in bits, a salt included.
    #[must_use]
    pub const fn bits(&self) -> usize {
        self.0.len() * 8
    }

    /// The octets, for the algorithms of this floor alone.
    pub(super) const fn octets(&self) -> &[u8] {
        &self.0
    }
}

impl<Octets: Into<Vec<u8>>> From<Octets> for KeyBytes {
    fn from(octets: Octets) -> Self {
        Self(octets.into().into())
    }
}

impl fmt::Debug for KeyBytes {
    /// Neither octets nor length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBytes(..)")
    }
}

/// The keys of an ESP SA.
#[derive(Clone, Default, Debug)]
pub struct Keys {
    /// Key material of the cipher: the key, and behind it the salt of counter modes and AEADs, as RFC 3686, RFC 4106, RFC 4309,
    /// RFC 4543 and RFC 7634 order it and as `ip xfrm state` prints it. Empty for NULL.
    pub encryption: KeyBytes,
    /// Key of the integrity algorithm; empty where there is none.
    pub authentication: KeyBytes,
}

/// Why keys cannot be used. What it says is about lengths and names, never about the octets of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KeyError {
    /// The algorithm takes no key of this length.
    Length {
        /// The algorithm, by its name in the catalogue.
        algorithm: &'static str,
        /// Lengths it takes, in bits, salt included; 0 where it has no key.
        wanted: Vec<u32>,
        /// How many of these bits, at the end, are a salt.
        salt: u32,
        /// Length that was given, in bits.
        given: usize,
    },
    /// There is no implementation of the algorithm here.
    Unsupported {
        /// The algorithm, by its name in the catalogue.
        algorithm: &'static str,
    },
    /// The cipher has an ICV of its own, and an integrity algorithm was named besides.
    TwoIcvs {
        /// The cipher.
        cipher: &'static str,
        /// The integrity algorithm.
        integrity: &'static str,
    },
}

impl fmt::Display for KeyError {
    /// One clause without a full stop: `AES-CBC takes a key of 128, 192 or 256 bits, but 120 bits were given`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { algorithm, wanted, salt, given } => {
                match wanted.as_slice() {
                    [] | [0] => write!(f, "{algorithm} takes no key")?,
                    [one] => write!(f, "{algorithm} takes a key of {one} bits")?,
                    [some @ .., last] => {
                        let some: Vec<String> = some.iter().map(u32::to_string).collect();
                        write!(f, "{algorithm} takes a key of {} or {last} bits", some.join(", "))?;
                    }
                }
                if *salt > 0 {
                    write!(f, ", the last {salt} of them salt")?;
                }
                write!(f, ", but {given} bits were given")
            }
            Self::Unsupported { algorithm } => write!(f, "{algorithm} can be neither checked nor decrypted here"),
            Self::TwoIcvs { cipher, integrity } => {
                write!(f, "{cipher} has an ICV of its own, {integrity} does not belong to it")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// Splits key material into key and salt.
///
/// # Errors
/// [`KeyError::Length`] unless the material is one of the lengths that the algorithm takes (the one of `exactly`, in bits without
/// salt, where that is said), followed by the salt.
pub(super) fn split<'a>(
    algorithm: &'static str,
    lengths: KeyLengths,
    exactly: Option<u32>,
    salt: u32,
    material: &'a KeyBytes,
) -> Result<(&'a [u8], &'a [u8]), KeyError> {
    let wanted: Vec<u32> = match lengths {
        KeyLengths::OneOf(bits) => {
            bits.iter().copied().filter(|bits| exactly.is_none_or(|only| only == *bits)).collect()
        }
        KeyLengths::None => vec![0],
        KeyLengths::Between(..) | KeyLengths::Unknown => return Err(KeyError::Unsupported { algorithm }),
    };
    let wanted: Vec<u32> = wanted.into_iter().map(|bits| bits + salt).collect();
    let given = material.bits();
    let fits = wanted.iter().any(|bits| usize::try_from(*bits) == Ok(given));
    let key =
        given.checked_sub(salt as usize).filter(|_| fits).and_then(|bits| material.octets().split_at_checked(bits / 8));
    key.ok_or(KeyError::Length { algorithm, wanted, salt, given })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AES: KeyLengths = KeyLengths::OneOf(&[128, 192, 256]);

    #[test]
    fn material_is_a_key_and_a_salt() {
        let material = KeyBytes::from((0..20).collect::<Vec<u8>>());
        let (key, salt) = split("AES-GCM-16", AES, None, 32, &material).expect("128 + 32 bits");
        assert_eq!((key.len(), salt), (16, &[16, 17, 18, 19][..]));
    }

    #[test]
    fn a_wrong_length_is_said_in_bits_and_nothing_of_the_key() {
        let said = |algorithm, lengths, exactly, salt, octets: usize| {
            let error = split(algorithm, lengths, exactly, salt, &vec![0xab; octets].into()).map(|_| ());
            error.expect_err("a wrong length").to_string()
        };
        assert_eq!(
            said("AES-CBC", AES, None, 0, 15),
            "AES-CBC takes a key of 128, 192 or 256 bits, but 120 bits were given"
        );
        assert_eq!(said("AES-CBC", AES, Some(256), 0, 16), "AES-CBC takes a key of 256 bits, but 128 bits were given");
        assert_eq!(
            said("AES-GCM-16", AES, None, 32, 16),
            "AES-GCM-16 takes a key of 160, 224 or 288 bits, the last 32 of them salt, but 128 bits were given"
        );
        assert_eq!(said("NULL", KeyLengths::None, None, 0, 1), "NULL takes no key, but 8 bits were given");
        let keys = Keys { encryption: vec![0xab; 15].into(), authentication: vec![171].into() };
        assert_eq!(format!("{keys:?}"), "Keys { encryption: KeyBytes(..), authentication: KeyBytes(..) }");
    }
}
