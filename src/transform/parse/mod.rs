//! Reads the name of a transform as people and tools write it.
//!
//! The vocabularies barely overlap, so words of all of them are understood without saying whose they are. Case and
//! the separators `-` and `_` do not matter. What follows a protocol's name (`ah`, `esp`, `ipcomp`) belongs to it;
//! without one it is ESP.

mod error;
mod phrase;
mod vocabulary;

pub use error::ParseError;

use std::str::FromStr;

use super::{Cipher, Compression, Esp, Integrity, Suite};
use crate::transform::algorithm::integrity::Place;
use crate::transform::algorithm::{cipher, integrity};
use vocabulary::{Proto, Word};

/// The longest text that is looked at, in octets: no name of a transform comes near.
const LONGEST: usize = 400;

impl FromStr for Suite {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.len() > LONGEST {
            return Err(ParseError::too_long());
        }
        let words = phrase::words(text);
        let mut read = Reading { words: &words, at: 0, suite: Draft::default() };
        while read.at < words.len() {
            read.word()?;
        }
        read.suite.finish()
    }
}

/// The walk over the words.
struct Reading<'a> {
    words: &'a [String],
    at: usize,
    suite: Draft,
}

impl Reading<'_> {
    /// Takes one word and the numbers that belong to it.
    fn word(&mut self) -> Result<(), ParseError> {
        let Some(word) = self.words.get(self.at) else { return Ok(()) };
        self.at += 1;
        let Some(meaning) = vocabulary::meaning(word) else {
            // A strongSwan proposal, or names joined with hyphens: every piece must be a word.
            let pieces: Vec<&str> = word.split('-').filter(|piece| !piece.is_empty()).collect();
            let understood: Option<Vec<Word>> = pieces.iter().map(|piece| vocabulary::meaning(piece)).collect();
            let Some(understood) = understood.filter(|_| pieces.len() > 1) else {
                let unknown = pieces.iter().find(|piece| vocabulary::meaning(piece).is_none());
                let whole = pieces.len() < 2 || vocabulary::is_prefixed(word);
                return Err(ParseError::unknown(if whole {
                    word
                } else {
                    unknown.map_or(word.as_str(), |piece| piece)
                }));
            };
            return understood.into_iter().try_for_each(|meaning| self.take(meaning, word));
        };
        self.take(meaning, word)
    }

    fn take(&mut self, meaning: Word, word: &str) -> Result<(), ParseError> {
        match meaning {
            Word::Nothing => Ok(()),
            Word::Protocol(protocol) => {
                self.suite.protocol = Some(protocol);
                Ok(())
            }
            Word::Cipher(proto, cipher, bits) => {
                let bits = bits.or_else(|| {
                    self.number(|bits| cipher.keyed_name.is_some() && cipher.keys.accept(bits) == Some(true))
                });
                // `esp-aes 128 ctr`, as MDS NX-OS writes it.
                let ctr = cipher.name == "AES-CBC" && self.words.get(self.at).is_some_and(|word| word == "ctr");
                self.at += usize::from(ctr);
                let cipher = if ctr { cipher::named("AES-CTR").unwrap_or(cipher) } else { cipher };
                self.suite.cipher(proto, cipher, bits, word)
            }
            Word::LinuxCipher(name) => {
                let icv = self.number(|bits| cipher::linux(name, Some(bits)).is_some_and(|cipher| cipher.icv > 0));
                let cipher = cipher::linux(name, icv).ok_or_else(|| ParseError::unknown(word))?;
                self.suite.cipher(None, cipher, None, word)
            }
            Word::LinuxIntegrity(name) => {
                let bits = self.number(|bits| integrity::linux(name, Some(bits)).is_some());
                let integrity = integrity::linux(name, bits).ok_or_else(|| ParseError::unknown(word))?;
                self.suite.integrity(None, integrity, word)
            }
            Word::Integrity(proto, integrity) => self.suite.integrity(proto, integrity, word),
            Word::Compression(compression) => self.suite.compression(compression, word),
            Word::Null => self.suite.null(word),
        }
    }

    /// The number that comes next (behind `trunc` or `icv`, which only announce it), if it makes sense here.
    fn number(&mut self, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let announced = self.words.get(self.at).is_some_and(|word| matches!(word.as_str(), "trunc" | "icv" | "key"));
        let at = self.at + usize::from(announced);
        let bits = self.words.get(at)?.parse().ok().filter(|bits| fits(*bits))?;
        self.at = at + 1;
        Some(bits)
    }
}

/// The suite so far.
#[derive(Default)]
struct Draft {
    protocol: Option<Proto>,
    ah: Option<&'static Integrity>,
    cipher: Option<(&'static Cipher, Option<u32>)>,
    integrity: Option<&'static Integrity>,
    /// An integrity algorithm in Cisco's words makes ESP without a cipher ESP-NULL.
    null_understood: bool,
    no_integrity: bool,
    ipcomp: Option<&'static Compression>,
}

impl Draft {
    fn cipher(
        &mut self,
        proto: Option<Proto>,
        cipher: &'static Cipher,
        bits: Option<u32>,
        word: &str,
    ) -> Result<(), ParseError> {
        if proto.or(self.protocol) == Some(Proto::Ah) {
            // AES-GMAC is a cipher's name in ESP and an integrity algorithm's in AH.
            return match integrity::named("AES-GMAC").filter(|_| cipher.name == "NULL-AUTH-AES-GMAC") {
                Some(gmac) => self.integrity(Some(Proto::Ah), gmac, word),
                None => Err(ParseError::misplaced(word, "AH has no cipher")),
            };
        }
        if self.cipher.is_some() {
            return Err(ParseError::misplaced(word, "there is a cipher already"));
        }
        self.cipher = Some((cipher, bits));
        Ok(())
    }

    fn integrity(&mut self, proto: Option<Proto>, integrity: &'static Integrity, word: &str) -> Result<(), ParseError> {
        self.null_understood |= proto == Some(Proto::Esp);
        let place = if proto.or(self.protocol) == Some(Proto::Ah) { &mut self.ah } else { &mut self.integrity };
        if place.is_some() {
            return Err(ParseError::misplaced(word, "there is an integrity algorithm already"));
        }
        *place = Some(integrity);
        Ok(())
    }

    fn compression(&mut self, compression: &'static Compression, word: &str) -> Result<(), ParseError> {
        if self.ipcomp.replace(compression).is_some() {
            return Err(ParseError::misplaced(word, "there is a compression already"));
        }
        Ok(())
    }

    /// `NULL` is a cipher, and behind a cipher it says that there is no integrity algorithm.
    fn null(&mut self, word: &str) -> Result<(), ParseError> {
        match (self.cipher, cipher::named("NULL")) {
            (None, Some(null)) => self.cipher(None, null, None, word),
            _ => {
                self.no_integrity = true;
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<Suite, ParseError> {
        let null = cipher::named("NULL").filter(|_| self.null_understood).map(|null| (null, None));
        let esp = match (self.cipher.or(null), self.integrity) {
            (Some((cipher, key_bits)), integrity) => Some(esp(cipher, key_bits, integrity)?),
            (None, Some(integrity)) => return Err(ParseError::no_cipher(integrity.name)),
            (None, None) => None,
        };
        if self.no_integrity && self.integrity.is_some() {
            return Err(ParseError::misplaced("null", "there is an integrity algorithm"));
        }
        let suite = Suite { ah: self.ah, esp, ipcomp: self.ipcomp };
        if suite == Suite::default() { Err(ParseError::empty()) } else { Ok(suite) }
    }
}

fn esp(
    cipher: &'static Cipher,
    key_bits: Option<u32>,
    integrity: Option<&'static Integrity>,
) -> Result<Esp, ParseError> {
    match integrity {
        Some(integrity) if integrity.place == Place::Ah => {
            Err(ParseError::misplaced(integrity.name, "it is for AH; in ESP it is the cipher NULL-AUTH-AES-GMAC"))
        }
        // Wireshark's former `AES-GCM [RFC4106]` left the length of the ICV to the second name.
        Some(integrity) if cipher.is_combined() && integrity.place == Place::Unnamed => {
            let cipher = cipher::with_icv(cipher, integrity.icv)
                .ok_or_else(|| ParseError::misplaced(integrity.name, "the cipher has no ICV of this length"))?;
            Ok(Esp { cipher, key_bits, integrity: None })
        }
        Some(integrity) if cipher.is_combined() => {
            Err(ParseError::misplaced(integrity.name, &format!("{} has integrity of its own", cipher.name)))
        }
        integrity => Ok(Esp { cipher, key_bits, integrity }),
    }
}

#[cfg(test)]
mod tests;
