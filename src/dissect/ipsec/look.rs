//! Is an ESP payload worth the question whether it lies there in clear? A few octets of it answer for almost all that are encrypted.
//!
//! In two steps: the first looks at nothing but the octets that would be next headers, and acquits three of four payloads of random
//! octets; the second looks at what stands around those octets, and leaves one of a hundred.

use super::null::NULL_ICVS;
use super::upper::plausible;

/// What a next header would mean: nothing, an upper layer or a dummy, or an IP packet.
const NOTHING: u8 = 0;
const TRANSPORT: u8 = 1;
const TUNNEL: u8 = 2;

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse it")]
const PLAUSIBLE: [u8; 256] = {
    let mut table = [NOTHING; 256];
    let mut number = 0;
    while number < 256 {
        if plausible(number as u8) {
            table[number] = if matches!(number, 4 | 41) { TUNNEL } else { TRANSPORT };
        }
        number += 1;
    }
    table
};

/// Octets of a trailer with the longest ICV, and the one in front of it.
const TAIL: usize = 35;
/// Where in these the next header is, for each of [`NULL_ICVS`].
const NEXT_HEADERS: [usize; NULL_ICVS.len()] = [34, 22, 18, 10, 2];

/// The first step at a payload (everything behind the sequence number): whether the second one may find something.
/// `whole`: its end was captured.
#[inline(always)]
#[expect(
    clippy::indexing_slicing,
    reason = "there are 35 octets from `tail` on, and 34 at most are added to it; PLAUSIBLE has an entry for every octet"
)]
pub(in crate::dissect) fn may_be_worth_a_look(payload: &[u8], whole: bool) -> bool {
    if !whole {
        return true;
    }
    let Some(tail) = payload.len().checked_sub(TAIL) else { return true };
    // Without a branch for each: one that goes wrong for a quarter of random payloads costs more than all of this.
    NEXT_HEADERS.iter().fold(NOTHING, |found, &at| found | PLAUSIBLE[usize::from(payload[tail + at])]) != NOTHING
}

/// Whether a payload could be in clear at all, by a few single octets.
#[inline]
pub(in crate::dissect) fn worth_a_look(payload: &[u8], whole: bool) -> bool {
    may_be_worth_a_look(payload, whole) && worth_a_second_look(payload, whole)
}

/// The second step.
#[expect(
    clippy::indexing_slicing,
    reason = "`tail` has 35 octets and is asked for 34 at most and 2 at least; PLAUSIBLE has an entry for every octet"
)]
pub(in crate::dissect) fn worth_a_second_look(payload: &[u8], whole: bool) -> bool {
    if !whole {
        return begins_as_tunnel(payload);
    }
    let Some(tail) = payload.last_chunk::<TAIL>() else {
        let tunnel = begins_as_tunnel(payload);
        return NULL_ICVS.into_iter().any(|icv| trailer_plausible(payload, icv.into(), tunnel));
    };
    // Few are plausible: what is around a next header is read only where it is.
    NEXT_HEADERS.iter().any(|&at| match PLAUSIBLE[usize::from(tail[at])] {
        NOTHING => false,
        TUNNEL => begins_as_tunnel(payload),
        _ => {
            let (last, pad_bytes) = (tail[at - 2], tail[at - 1]);
            pad_bytes == 0 || last == pad_bytes || last == 0
        }
    })
}

/// Whether a payload begins like an IP packet, at once or behind eight octets of an IV.
#[inline(always)]
fn begins_as_tunnel(payload: &[u8]) -> bool {
    let begins = |index: usize| payload.get(index).is_some_and(|octet| ip_version(*octet));
    begins(0) | begins(8)
}

const fn ip_version(octet: u8) -> bool {
    (octet.wrapping_sub(0x45) <= 0x0a) | (octet >> 4 == 6)
}

/// Whether, with an ICV of `icv` octets, a trailer stands in front of it: a next header that fits a payload that
/// begins like IP or not, and padding whose last octet is its number, or zero.
fn trailer_plausible(payload: &[u8], icv: usize, tunnel: bool) -> bool {
    let Some(end) = payload.len().checked_sub(icv) else { return false };
    let Some(&[ref rest @ .., pad_bytes, next_header]) = payload.get(..end) else { return false };
    if matches!(next_header, 4 | 41) {
        return tunnel && usize::from(pad_bytes) <= rest.len();
    }
    let padded = pad_bytes == 0 || rest.last().is_some_and(|last| *last == pad_bytes || *last == 0);
    plausible(next_header) && padded && usize::from(pad_bytes) <= rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn next_headers_stand_in_front_of_each_icv() {
        assert_eq!(NEXT_HEADERS, NULL_ICVS.map(|icv| TAIL - 1 - usize::from(icv)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// The first step may acquit nothing that the second would not.
        #[test]
        fn what_the_second_step_finds_the_first_lets_through(
            mut payload in prop::collection::vec(any::<u8>(), 0..70),
            trailer in (0usize..36, 0u8..6, 0u8..150),
            whole in any::<bool>(),
        ) {
            let (icv, pad_bytes, next_header) = trailer;
            if let Some(end) = payload.len().checked_sub(icv)
                && let Some([.., pad, next]) = payload.get_mut(..end)
            {
                (*pad, *next) = (pad_bytes, next_header);
            }
            prop_assert!(may_be_worth_a_look(&payload, whole) || !worth_a_second_look(&payload, whole));
        }
    }
}
