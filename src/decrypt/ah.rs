//! AH of one SA: the ICV is checked (RFC 4302 section 3.4.4).

use std::fmt;
use std::sync::Arc;

use super::key::{KeyBytes, KeyError};
use super::mac::{self, Mac};
use super::mutable::{self, Covered};
use super::opened::{Icv, Unchecked};
use crate::transform::Integrity;
use crate::transform::ah::{Alignment, header_bytes};
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
