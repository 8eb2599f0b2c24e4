//! ESP of one SA: the ICV is checked, then the packet is decrypted (RFC 4303 section 3.4.4).

use std::fmt;
use std::sync::Arc;

use super::key::{KeyBytes, KeyError, Keys};
use super::opened::{Closed, Icv, Inner, Opened, Unchecked};
use super::trailer;
use crate::decrypt::algorithm::aead;
use crate::decrypt::algorithm::aead::Aead;
use crate::decrypt::algorithm::cipher;
use crate::decrypt::algorithm::cipher::Cipher;
use crate::decrypt::algorithm::mac;
use crate::decrypt::algorithm::mac::Mac;
use crate::transform::algorithm::cipher::Family;
use crate::transform::algorithm::integrity::Place;
use crate::transform::{Esp, Integrity};
use crate::wire::ipsec;

/// Octets of an ESP packet: SPI to ICV, as far as they were captured.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    octets: &'a [u8],
    bytes: usize,
}

impl<'a> Packet<'a> {
    /// A packet that is there from its first octet to its last.
    #[must_use]
    pub const fn whole(octets: &'a [u8]) -> Self {
        Self { octets, bytes: octets.len() }
    }

    /// A packet of `bytes` octets, as the headers around it say, of which `octets` are there. What is there beyond them (an Ethernet
    /// trailer) does not count.
    #[must_use]
    pub fn captured(octets: &'a [u8], bytes: usize) -> Self {
        Self { octets: octets.get(..bytes).unwrap_or(octets), bytes }
    }

    /// Whether the capture holds all of it.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.octets.len() >= self.bytes
    }

    /// Octets of the packet, captured or not.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// SPI and sequence number; none where they were not captured.
    #[must_use]
    pub fn header(&self) -> Option<ipsec::Esp<'a>> {
        ipsec::Esp::read(self.octets)
    }
}

/// Makes the MAC of an integrity algorithm under a key.
type MakeMac = fn(&Integrity, &KeyBytes) -> Result<Arc<dyn Mac>, KeyError>;

/// Checks and decrypts the ESP packets of one SA. A clone shares its keys.
#[derive(Clone)]
pub struct Decryptor {
    esp: Esp,
    keyed: Keyed,
    /// Octets of the IV on the wire.
    iv: usize,
    /// Octets of the ICV.
    icv: usize,
}

#[derive(Clone)]
enum Keyed {
    /// A cipher whose ciphertext is a multiple of `block` octets, and an integrity algorithm or why there is none.
    Apart { cipher: Arc<dyn Cipher>, block: usize, integrity: Result<Arc<dyn Mac>, Unchecked> },
    /// A cipher with an ICV of its own.
    Combined(Arc<dyn Aead>),
}

impl Decryptor {
    /// The decryptor of an SA with this transform and these keys. Where only a length is known of the integrity algorithm
    /// (`ANY-96` and its like), nothing is checked, and it needs no key.
    ///
    /// # Errors
    /// A key of a length that its algorithm does not take, an algorithm that is not implemented, or an integrity algorithm beside a
    /// cipher that has its own.
    pub fn new(esp: &Esp, keys: &Keys) -> Result<Self, KeyError> {
        Self::made(esp, keys, mac::keyed)
    }

    /// The decryptor of a transform with an authentication key that was given for another integrity algorithm, whatever its length.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) but for the length of the authentication key, unless the algorithm is a block cipher's.
    pub fn with_key_of_another(esp: &Esp, keys: &Keys) -> Result<Self, KeyError> {
        Self::made(esp, keys, |integrity, key| mac::of_any_length(integrity, key.octets()))
    }

    fn made(esp: &Esp, keys: &Keys, keyed_mac: MakeMac) -> Result<Self, KeyError> {
        let Esp { cipher, key_bits, integrity } = *esp;
        if let Some(integrity) = integrity.filter(|_| cipher.is_combined()) {
            return Err(KeyError::TwoIcvs { cipher: cipher.name, integrity: integrity.name });
        }
        let keyed = if cipher.is_combined() {
            no_authentication_key(cipher.name, keys)?;
            Keyed::Combined(aead::keyed(cipher, key_bits, &keys.encryption)?)
        } else {
            let block = if cipher.family == Family::Cbc { cipher.alignment } else { 1 };
            let cipher = cipher::keyed(cipher, key_bits, &keys.encryption)?;
            let integrity = match integrity {
                None => {
                    no_authentication_key("ESP without integrity algorithm", keys)?;
                    Err(Unchecked::NoIntegrity)
                }
                Some(integrity) if integrity.place == Place::Unnamed => Err(Unchecked::LengthOnly),
                Some(integrity) => Ok(keyed_mac(integrity, &keys.authentication)?),
            };
            Keyed::Apart { cipher, block: block as usize, integrity }
        };
        Ok(Self { esp: *esp, keyed, iv: cipher.iv as usize, icv: esp.icv() as usize })
    }

    /// Checks the ICV, then decrypts into `out`, whose octets are replaced.
    ///
    /// `high` is the high half of the sequence number where the SA has extended ones: it takes part in the ICV (RFC 4303 section
    /// 2.2.1, RFC 4106 section 5) and is not on the wire. Where the ICV fails nothing is decrypted. A packet that the capture cut is
    /// decrypted as far as it is there, and not checked.
    pub fn open(&self, packet: Packet<'_>, high: Option<u32>, out: &mut Vec<u8>) -> Opened {
        out.clear();
        let Packet { octets, bytes } = packet;
        let body = ipsec::Esp::BYTES + self.iv;
        let needed = body + trailer::BYTES + self.icv;
        let cut = octets.len() < bytes;
        // A cut that takes of the ICV alone leaves the trailer.
        let trailed = octets.len() >= bytes.saturating_sub(self.icv);
        let end = bytes.saturating_sub(self.icv).min(octets.len());
        let parts = (packet.header(), octets.get(ipsec::Esp::BYTES..body), octets.get(body..end));
        let (Some(header), Some(iv), Some(ciphertext), true) = (parts.0, parts.1, parts.2, bytes >= needed) else {
            let had = if bytes < needed { bytes } else { octets.len() };
            let unchecked = if bytes < needed { Unchecked::Short } else { Unchecked::Cut };
            return Opened { icv: Icv::NotChecked(unchecked), inner: Err(Closed::Short { needed, had }) };
        };
        out.extend_from_slice(ciphertext);
        let covered = octets.get(..end).unwrap_or_default();
        let icv = octets.get(end..bytes).unwrap_or_default();
        let icv = match &self.keyed {
            Keyed::Apart { integrity: Err(why), .. } => Icv::NotChecked(*why),
            Keyed::Apart { .. } if cut => Icv::NotChecked(Unchecked::Cut),
            Keyed::Apart { integrity: Ok(mac), .. } => {
                let high = high.map(u32::to_be_bytes);
                verdict(mac.verifies(&[covered, high.as_ref().map_or(&[], |high| high)], icv))
            }
            Keyed::Combined(aead) if cut => {
                aead.unchecked(&nonce(iv, header, high), out);
                Icv::NotChecked(Unchecked::Cut)
            }
            Keyed::Combined(aead) => {
                let (octets, count) = associated(header, high);
                let associated = octets.get(..count).unwrap_or_default();
                verdict(aead.open(&nonce(iv, header, high), associated, out, icv))
            }
        };
        let inner = if icv == Icv::Failed { Err(Closed::IcvFailed) } else { self.decrypt(iv, trailed, out) };
        if inner.is_err() {
            out.clear();
        }
        Opened { icv, inner }
    }

    /// Like [`open`](Self::open) with one high half after the other until the ICV verifies, and which one that was. `None` among them
    /// stands for sequence numbers that are not extended. Where the ICV cannot be checked, the first is taken and none is named.
    pub fn open_esn(
        &self,
        packet: Packet<'_>,
        highs: impl IntoIterator<Item = Option<u32>>,
        out: &mut Vec<u8>,
    ) -> (Option<Option<u32>>, Opened) {
        let mut highs = highs.into_iter();
        let mut high = highs.next().flatten();
        loop {
            let opened = self.open(packet, high, out);
            match (opened.icv, highs.next()) {
                (Icv::Verified, _) => return (Some(high), opened),
                (Icv::Failed, Some(next)) => high = next,
                (Icv::Failed | Icv::NotChecked(_), _) => return (None, opened),
            }
        }
    }

    /// Decrypts what no AEAD has decrypted yet, and reads the trailer.
    fn decrypt(&self, iv: &[u8], trailed: bool, out: &mut Vec<u8>) -> Result<Inner, Closed> {
        if let Keyed::Apart { cipher, block, .. } = &self.keyed {
            let rest = out.len() % block;
            if rest > 0 && trailed {
                return Err(Closed::Blocks { bytes: out.len(), block: *block });
            }
            out.truncate(out.len() - rest);
            cipher.decrypt(iv, out);
        }
        let whole = if trailed { trailer::read(out) } else { None };
        Ok(whole.unwrap_or(Inner { payload: 0..out.len(), trailer: None }))
    }
}

impl fmt::Debug for Decryptor {
    /// The transform, nothing of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decryptor({})", self.esp)
    }
}

/// An authentication key where nothing takes one is a mistake in the keys, not something to pass over.
fn no_authentication_key(algorithm: &'static str, keys: &Keys) -> Result<(), KeyError> {
    let given = keys.authentication.bits();
    if given == 0 { Ok(()) } else { Err(KeyError::Length { algorithm, wanted: vec![0], salt: 0, given }) }
}

const fn verdict(verified: bool) -> Icv {
    if verified { Icv::Verified } else { Icv::Failed }
}

/// The explicit part of the nonce: the IV, or the sequence number where there is none (RFC 8750 section 4).
fn nonce(iv: &[u8], header: ipsec::Esp<'_>, high: Option<u32>) -> [u8; aead::IV] {
    let number = u64::from(high.unwrap_or(0)) << 32 | u64::from(header.sequence());
    iv.try_into().unwrap_or_else(|_| number.to_be_bytes())
}

/// Associated data of an AEAD: SPI and sequence number, extended or not (RFC 4106 section 5), and how many octets they are.
fn associated(header: ipsec::Esp<'_>, high: Option<u32>) -> ([u8; 12], usize) {
    let words = match high {
        Some(high) => [header.spi(), high, header.sequence()],
        None => [header.spi(), header.sequence(), 0],
    };
    let mut octets = [0; 12];
    for (slot, octet) in octets.iter_mut().zip(words.iter().flat_map(|word| word.to_be_bytes())) {
        *slot = octet;
    }
    (octets, if high.is_some() { 12 } else { 8 })
}
