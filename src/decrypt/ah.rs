//! AH of one SA: the ICV is checked (RFC 4302 section 3.4.4).

use std::fmt;
use std::sync::Arc;

use super::key::{KeyBytes, KeyError};
use super::mutable::{self, Covered};
use super::opened::{Icv, Unchecked};
use crate::decrypt::algorithm::mac;
use crate::decrypt::algorithm::mac::Mac;
use crate::transform::Integrity;
use crate::transform::size::ah::{Alignment, header_bytes};
use crate::wire::ipsec;

/// Checks the AH packets of one SA. A clone shares its key.
#[derive(Clone)]
pub struct AhVerifier {
    integrity: &'static Integrity,
    mac: Arc<dyn Mac>,
}

impl AhVerifier {
    /// The verifier of an SA with this algorithm and this key.
    ///
    /// # Errors
    /// A key of a length that the algorithm does not take, or an algorithm that is not implemented.
    pub fn new(integrity: &'static Integrity, key: &KeyBytes) -> Result<Self, KeyError> {
        Ok(Self { integrity, mac: mac::keyed(integrity, key)? })
    }

    /// The verifier of this algorithm under a key that was given for another one, whatever its length.
    ///
    /// # Errors
    /// An algorithm that is not implemented, or that takes no key of this length.
    pub fn with_key_of_another(integrity: &'static Integrity, key: &KeyBytes) -> Result<Self, KeyError> {
        Ok(Self { integrity, mac: mac::of_any_length(integrity, key.octets())? })
    }

    /// Checks the ICV of the first AH of an IP packet, which begins with its IP header and is not a fragment.
    ///
    /// Fields that change on the way count as zero (section 3.3.3.1), padding of the ICV counts as it is. `high` is the high half of
    /// the sequence number where the SA has extended ones; it is not on the wire and comes last in the ICV (section 3.3.3.2.2). What is
    /// there behind the length of the packet (an Ethernet trailer) does not count.
    #[must_use]
    pub fn verify(&self, packet: &[u8], high: Option<u32>) -> Icv {
        match self.check(packet, high) {
            Ok(true) => Icv::Verified,
            Ok(false) => Icv::Failed,
            Err(why) => Icv::NotChecked(why),
        }
    }

    /// Like [`verify`](Self::verify) with one high half after the other until the ICV verifies, and which one that was. `None` among
    /// them stands for sequence numbers that are not extended.
    #[must_use]
    pub fn verify_esn(
        &self,
        packet: &[u8],
        highs: impl IntoIterator<Item = Option<u32>>,
    ) -> (Option<Option<u32>>, Icv) {
        let mut last = Icv::NotChecked(Unchecked::NoAh);
        for high in highs {
            last = self.verify(packet, high);
            match last {
                Icv::Verified => return (Some(high), last),
                Icv::Failed => {}
                Icv::NotChecked(_) => break,
            }
        }
        (None, last)
    }

    fn check(&self, packet: &[u8], high: Option<u32>) -> Result<bool, Unchecked> {
        let Covered { mut headers, ah, bytes } = mutable::covered(packet)?;
        let ipv6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
        let expected =
            [Alignment::Rfc, Alignment::Eight].map(|alignment| header_bytes(self.integrity, ipv6, alignment));
        if !expected.iter().any(|expected| usize::try_from(*expected) == Ok(ah.len())) {
            return Err(Unchecked::OtherLength);
        }
        let rest = packet.get(ah.end..bytes).ok_or(Unchecked::Cut)?;
        let start = ah.start + ipsec::Ah::BYTES;
        let field = headers.get_mut(start..start + self.integrity.icv as usize).ok_or(Unchecked::OtherLength)?;
        let icv = field.to_vec();
        field.fill(0);
        let high = high.map(u32::to_be_bytes);
        Ok(self.mac.verifies(&[&headers, rest, high.as_ref().map_or(&[], |high| high)], &icv))
    }
}

impl fmt::Debug for AhVerifier {
    /// The algorithm, nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AhVerifier({})", self.integrity.name)
    }
}

#[cfg(test)]
mod tests {
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::Sha256;

    use super::*;
    use crate::transform::algorithm::integrity;

    const KEY: [u8; 32] = [0x0b; 32];

    /// A packet of IPv4, AH padded to 8 octets, and four octets, with the ICV that belongs to it and this high half.
    fn packet(high: Option<u32>) -> Vec<u8> {
        let ah = [4, 6, 0, 0, 0, 0, 3, 0xe9, 0, 0, 0, 5];
        let tail = [0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4];
        let header = |tos, flags, ttl, sum| {
            [0x45, tos, 0, 56, 0x12, 0x34, flags, 0, ttl, 51, sum, sum, 10, 0, 0, 1, 10, 0, 0, 2]
        };
        let covered = [&header(0, 0, 0, 0)[..], &ah, &[0; 16], &tail].concat();
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&KEY).expect("any key").chain_update(covered);
        let high = high.map(u32::to_be_bytes);
        let code = mac.chain_update(high.as_ref().map_or(&[][..], |high| high)).finalize().into_bytes();
        [&header(0xb8, 0x40, 61, 0x77)[..], &ah, &code[..16], &tail].concat()
    }

    fn verifier() -> AhVerifier {
        AhVerifier::new(integrity::named("HMAC-SHA2-256-128").expect("known"), &KEY.to_vec().into()).expect("256 bits")
    }

    #[test]
    fn what_may_change_changes_nothing_and_everything_else_fails() {
        let good = packet(None);
        let verifier = verifier();
        assert_eq!(verifier.verify(&good, None), Icv::Verified);
        for at in 0..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            let expected = match at {
                1 | 8 | 10 | 11 => Icv::Verified,
                // The lowest bits of flags and fragment offset make a fragment of it.
                6 | 7 => Icv::NotChecked(Unchecked::Fragment),
                // Header length, total length, protocol.
                0 => Icv::NotChecked(Unchecked::NoAh),
                2 | 3 => Icv::NotChecked(Unchecked::Cut),
                9 => Icv::NotChecked(Unchecked::NoAh),
                // An AH of 36 octets, where 28 and 32 are what the algorithm makes.
                21 => Icv::NotChecked(Unchecked::OtherLength),
                _ => Icv::Failed,
            };
            let got = verifier.verify(&changed, None);
            assert_eq!(got, expected, "byte {at}");
        }
    }

    #[test]
    fn the_high_half_comes_last() {
        let (verifier, extended) = (verifier(), packet(Some(7)));
        assert_eq!(verifier.verify(&extended, Some(7)), Icv::Verified);
        assert_eq!(verifier.verify(&extended, Some(8)), Icv::Failed);
        assert_eq!(verifier.verify(&extended, None), Icv::Failed);
        assert_eq!(verifier.verify_esn(&extended, [None, Some(6), Some(7)]), (Some(Some(7)), Icv::Verified));
        assert_eq!(verifier.verify_esn(&packet(None), [Some(0), None]), (Some(None), Icv::Verified));
        assert_eq!(verifier.verify_esn(&extended, [Some(0)]), (None, Icv::Failed));
    }

    #[test]
    fn an_ethernet_trailer_does_not_count_and_a_cut_packet_is_not_checked() {
        let (verifier, good) = (verifier(), packet(None));
        assert_eq!(verifier.verify(&[&good[..], &[9; 6]].concat(), None), Icv::Verified);
        for cut in 1..good.len() {
            assert_eq!(verifier.verify(&good[..cut], None), Icv::NotChecked(Unchecked::Cut), "cut at {cut}");
        }
        assert_eq!(verifier.verify(&[], None), Icv::NotChecked(Unchecked::NoAh));
    }

    #[test]
    fn an_icv_field_of_another_length_is_another_algorithms() {
        let other = AhVerifier::new(integrity::named("HMAC-SHA2-512-256").expect("known"), &vec![0x0b; 64].into());
        let got = other.expect("512 bits").verify(&packet(None), None);
        assert_eq!(got, Icv::NotChecked(Unchecked::OtherLength));
    }
}
