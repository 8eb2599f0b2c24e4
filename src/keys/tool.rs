//! What a key is used with: the packets of one SA checked, and decrypted to something that holds together.

use crate::decrypt::{AhVerifier, Decryptor, Icv, Inner, KeyBytes, Keys, Packet, Padding, Trailer};
use crate::dissect::OpenedEsp;
use crate::model::Protocol;
use crate::policy::{Mode, Secret, Stated};
use crate::transform::{Esp, Integrity, KeyLengths};
use crate::wire::checksum::Sum;
use crate::wire::ipsec;

/// What a key is used with.
#[derive(Clone, Debug)]
pub(crate) enum Tool {
    Esp(EspTool),
    Ah(AhVerifier, &'static Integrity),
}

impl Tool {
    /// Expects payloads of every protocol, not tunnelled packets alone.
    pub(super) const fn take_any_mode(&mut self) {
        if let Self::Esp(tool) = self {
            tool.mode = None;
        }
    }

    /// Name of the transform.
    pub(crate) fn transform(&self) -> String {
        match self {
            Self::Esp(tool) => tool.esp.to_string(),
            Self::Ah(_, integrity) => integrity.name.to_owned(),
        }
    }

    /// Octets of the ICV.
    pub(crate) const fn icv_bytes(&self) -> u32 {
        match self {
            Self::Esp(tool) => tool.esp.icv(),
            Self::Ah(_, integrity) => integrity.iv + integrity.icv,
        }
    }
}

/// A decryptor and what is known of what it decrypts.
#[derive(Clone, Debug)]
pub(crate) struct EspTool {
    decryptor: Decryptor,
    esp: Esp,
    iv_bytes: u8,
    icv_bytes: u8,
    block: u8,
    mode: Option<Mode>,
}

/// What checks and opens the packets of an SA; `None` where it has no key, or one that was made unreadable before it was pasted.
pub(super) fn tool(stated: &Stated) -> Option<Result<Tool, String>> {
    let suite = stated.suite?;
    let unreadable = |key: &Option<Secret>| key.as_ref().is_some_and(|key| key.bits().is_none());
    if unreadable(&stated.cipher) || unreadable(&stated.authenticator) {
        return None;
    }
    match stated.protocol {
        Protocol::Esp => esp_tool(&suite.esp?, stated),
        Protocol::Ah => ah_tool(suite.ah?, stated.authenticator.as_ref()?),
        Protocol::IpComp => None,
    }
}

fn esp_tool(esp: &Esp, stated: &Stated) -> Option<Result<Tool, String>> {
    // IOS wants keys typed where the transform takes none; those are not used.
    let cipher = stated.cipher.as_ref().filter(|_| esp.cipher.keys != KeyLengths::None);
    let authenticator = stated.authenticator.as_ref().filter(|_| esp.integrity.is_some());
    let keyless = cipher.is_none() && (esp.cipher.keys != KeyLengths::None || authenticator.is_none());
    if keyless {
        return None;
    }
    let made = || -> Result<Tool, String> {
        let keys = Keys { encryption: octets(cipher)?, authentication: octets(authenticator)? };
        let decryptor = Decryptor::new(esp, &keys).map_err(|error| error.to_string())?;
        let tool = EspTool::new(decryptor, esp, stated.mode).ok_or_else(|| "lengths of no transform".to_owned())?;
        Ok(Tool::Esp(tool))
    };
    Some(made())
}

fn ah_tool(integrity: &'static Integrity, key: &Secret) -> Option<Result<Tool, String>> {
    let made = || AhVerifier::new(integrity, &octets(Some(key))?).map_err(|error| error.to_string());
    Some(made().map(|verifier| Tool::Ah(verifier, integrity)))
}

/// The octets of a key.
pub(super) fn octets(key: Option<&Secret>) -> Result<KeyBytes, String> {
    let Some(key) = key else { return Ok(KeyBytes::default()) };
    key.octets()
        .map(KeyBytes::from)
        .ok_or_else(|| format!("a key of {} bits is no whole number of bytes", key.bits().unwrap_or_default()))
}

/// The places of high halves in the order they are tried: the latest that verified, then the others.
fn order(count: usize, latest: usize) -> impl Iterator<Item = usize> {
    std::iter::once(latest).chain((0..count).filter(move |at| *at != latest))
}

/// Checks an AH packet under the high halves, and which one was tried last: that under which it verifies, where it does.
pub(super) fn verify(
    verifier: &AhVerifier,
    packet: &[u8],
    highs: &[Option<u32>],
    latest: &mut usize,
) -> (Icv, Option<u32>) {
    let mut icv = Icv::Failed;
    let mut last = None;
    for at in order(highs.len(), *latest) {
        let Some(&high) = highs.get(at) else { continue };
        last = high;
        icv = verifier.verify(packet, high);
        if icv == Icv::Verified {
            *latest = at;
        }
        if icv != Icv::Failed {
            break;
        }
    }
    (icv, last)
}

impl EspTool {
    /// A decryptor of a transform; `None` where its lengths are those of no transform.
    pub(super) fn new(decryptor: Decryptor, esp: &Esp, mode: Option<Mode>) -> Option<Self> {
        let small = |bytes: u32| u8::try_from(bytes).ok();
        let (iv_bytes, icv_bytes) = (small(esp.cipher.iv)?, small(esp.icv())?);
        let block = small(esp.cipher.alignment.max(4))?;
        Some(Self { decryptor, esp: *esp, iv_bytes, icv_bytes, block, mode })
    }

    pub(super) const fn icv_bytes(&self) -> u8 {
        self.icv_bytes
    }

    /// Checks and decrypts an ESP packet under one high half.
    pub(super) fn open_one(
        &self,
        packet: Packet<'_>,
        high: Option<u32>,
        plain: &mut Vec<u8>,
    ) -> (Icv, Option<OpenedEsp>) {
        let opened = self.decryptor.open(packet, high, plain);
        let verified = opened.icv == Icv::Verified;
        let found = opened.inner.ok().and_then(|inner| self.layout(&inner, packet.bytes(), plain, verified));
        (opened.icv, found)
    }

    /// Checks and decrypts an ESP packet into `plain`, which holds everything between IV and ICV then; what stands in it is told where it
    /// verifies, or could not be checked and holds together. The high half is that which was tried last.
    pub(super) fn open(
        &self,
        packet: Packet<'_>,
        highs: &[Option<u32>],
        latest: &mut usize,
        plain: &mut Vec<u8>,
    ) -> (Icv, Option<u32>, Option<OpenedEsp>) {
        for at in order(highs.len(), *latest) {
            let Some(&high) = highs.get(at) else { continue };
            match self.open_one(packet, high, plain) {
                (Icv::Failed, _) => continue,
                (Icv::Verified, found) => {
                    *latest = at;
                    return (Icv::Verified, high, found);
                }
                // Unchecked packets must not depend on those before them.
                (Icv::NotChecked(_), _) if at > 0 => {
                    let first = highs.first().copied().flatten();
                    let (icv, found) = self.open_one(packet, first, plain);
                    return (icv, first, found);
                }
                (icv, found) => return (icv, high, found),
            }
        }
        plain.clear();
        (Icv::Failed, None, None)
    }

    /// What stands where in a decrypted packet of `bytes` octets. An AEAD that verifies vouches for all of it; otherwise it must hold
    /// together by itself: that the ICV verifies says nothing of a cipher's key beside it.
    fn layout(&self, inner: &Inner, bytes: usize, plain: &[u8], verified: bool) -> Option<OpenedEsp> {
        let payload = plain.get(inner.payload.clone())?;
        let Self { iv_bytes, icv_bytes, block, .. } = *self;
        let base = OpenedEsp { iv_bytes, icv_bytes, block, ..OpenedEsp::default() };
        let Some(trailer) = inner.trailer else {
            let fixed = ipsec::Esp::BYTES + usize::from(iv_bytes) + usize::from(icv_bytes) + 2;
            let (next_header, payload_bytes) = packet_begins(payload, bytes.checked_sub(fixed)?)?;
            return Some(OpenedEsp { next_header, payload_bytes, ..base });
        };
        let vouched = verified && self.esp.cipher.is_combined();
        if trailer.padding == Padding::Beyond || !(vouched || self.holds_together(&trailer, payload, verified)) {
            return None;
        }
        Some(OpenedEsp {
            next_header: trailer.next_header,
            payload_bytes: u32::try_from(payload.len()).ok()?,
            tfc_bytes: u32::try_from(trailer.tfc.unwrap_or(0)).ok()?,
            pad_bytes: Some(trailer.pad_length),
            pad_counting: trailer.padding == Padding::Counting,
            ..base
        })
    }

    /// Whether a decrypted packet is what a right key gives. Where the ICV verifies, padding may be anything.
    fn holds_together(&self, trailer: &Trailer, payload: &[u8], verified: bool) -> bool {
        let padded = verified || trailer.padding == Padding::Counting;
        match trailer.next_header {
            4 => trailer.tfc.is_some() && (verified || ipv4_header_verifies(payload)),
            41 => trailer.tfc.is_some() && padded,
            59 => padded,
            1 | 2 | 6 | 17 | 46 | 47 | 50 | 51 | 58 | 88 | 89 | 103 | 108 | 112 | 115 | 132 => {
                // Where the ICV verifies, the mode may be another than the stated one.
                padded && (self.mode != Some(Mode::Tunnel) || verified && trailer.padding == Padding::Counting)
            }
            // Rarer protocols: of rubbish without padding, one packet in 4,000 names one.
            33 | 94 | 97 | 98 | 136 | 137 | 139 | 140..=144 => verified && trailer.padding == Padding::Counting,
            _ => verified && trailer.padding == Padding::Counting && trailer.pad_length > 0,
        }
    }
}

/// Next header and length of the packet whose beginning this is, where it is IP and has room.
fn packet_begins(payload: &[u8], room: usize) -> Option<(u8, u32)> {
    let word = |at: usize| payload.get(at..)?.first_chunk().map(|octets| u16::from_be_bytes(*octets));
    let (next_header, bytes) = match payload.first()? >> 4 {
        4 if ipv4_header_verifies(payload) => (4, u32::from(word(2)?)),
        6 if payload.len() >= 40 => (41, 40 + u32::from(word(4)?)),
        _ => return None,
    };
    let left = room.checked_sub(bytes as usize)?;
    // Of IPv6 no checksum says that it is one: it must fill the packet but for padding.
    (next_header == 4 || left <= usize::from(u8::MAX)).then_some((next_header, bytes))
}

fn ipv4_header_verifies(packet: &[u8]) -> bool {
    let header_bytes = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    header_bytes >= 20 && packet.get(..header_bytes).is_some_and(|header| Sum::default().octets(header).verifies())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_half_that_verified_last_is_tried_first_and_none_twice() {
        assert_eq!(order(4, 2).collect::<Vec<_>>(), [2, 0, 1, 3]);
        assert_eq!(order(1, 0).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_packet_that_was_cut_begins_where_its_length_has_room() {
        let mut six = [0u8; 40];
        (six[0], six[5]) = (0x60, 20);
        let begins = |packet: &[u8], rooms: &[usize]| -> Vec<_> {
            rooms.iter().map(|room| packet_begins(packet, *room)).collect()
        };
        // Of IPv6 nothing but padding, 255 octets at most, may follow.
        let found = Some((41, 60));
        assert_eq!(begins(&six, &[59, 60, 61, 315, 316]), [None, found, found, found, None]);
        assert_eq!(begins(&six[..39], &[60]), [None]);
        // The checksum of an IPv4 header says that it is one: whatever follows is padding against traffic analysis.
        let mut four = [0x45, 0, 0, 60, 0, 1, 0, 0, 64, 17, 0x66, 0xae, 10, 0, 0, 1, 10, 0, 0, 2];
        let found = Some((4, 60));
        assert_eq!(begins(&four, &[59, 60, 316]), [None, found, found]);
        assert_eq!(begins(&four[..19], &[60]), [None]);
        four[8] -= 1;
        assert_eq!(begins(&four, &[60]), [None]);
    }
}
