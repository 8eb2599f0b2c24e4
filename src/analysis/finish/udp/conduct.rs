//! How the packets of one SPI in UDP follow each other: as those of ESP do, or not.

use super::MISFITS;
use crate::analysis::state::sa::sas::SaState;

/// At most 1 in N steps of the sequence number is irregular.
const ODD: u64 = 10;
/// Irregular steps that a short capture may have: a burst of loss, a restart.
const FEW_ODD: u64 = 2;
/// Largest number of packets of an SA that shows no behaviour.
const FEW: u64 = 3;

/// How the packets of one SPI behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Conduct {
    /// As ESP does.
    Regular,
    /// There are too few packets to tell.
    Few,
    /// As ESP does not.
    Irregular,
}

pub(super) fn conduct(state: &SaState) -> Conduct {
    let steps = state.steps.get();
    // The second sighting of a copied packet is no step, however much later it was seen.
    let is_doubled = steps.still.saturating_mul(2) <= steps.packets && state.evidence.repeats_packets();
    let copies = if is_doubled { steps.still } else { state.copies.get().frames.min(steps.still) };
    let still = steps.still - copies;
    let total = steps.packets.saturating_sub(1).saturating_sub(copies);
    let odd = total.saturating_sub(steps.small);
    let irregular = state.bad_lengths().saturating_mul(MISFITS) > state.seen.count
        || still.saturating_mul(4) > total
        || steps.far.saturating_mul(ODD) > total
        || odd.saturating_mul(ODD) > total && odd > FEW_ODD && !is_whole(state);
    match total {
        _ if irregular => Conduct::Irregular,
        // Two or three numbers that are all far apart are no count.
        1.. if steps.small == 0 && !repeats_whole(state) => Conduct::Irregular,
        total if total < FEW => Conduct::Few,
        _ => Conduct::Regular,
    }
}

/// Whether most numbers of the range are there, nearly all once, in any order. So counts ESP whose packets a queue or parallel paths put out
/// of order; by steps alone it is denied, as each late packet makes two odd ones.
fn is_whole(state: &SaState) -> bool {
    /// Fewer numbers may lie side by side by chance.
    const LEAST: u64 = 64;
    /// At most 1 in N numbers is missing; 1 in 4 if late packets repeat the content of earlier ones.
    const LOST: u64 = 10;
    const LOST_OF_REPEATED: u64 = 4;
    /// At most one number in four comes twice; all may, where they come with the same packets, late: a path that delivers twice, or a replay.
    const TWICE: u64 = 4;
    let copies = state.copies.get().frames;
    let (twice, lost) = if state.evidence.repeats_packets() { (1, LOST_OF_REPEATED) } else { (TWICE, LOST) };
    state.sequence.finish(copies).is_some_and(|figures| {
        let numbers = state.seen.count.saturating_sub(copies).saturating_sub(figures.duplicate);
        numbers >= LEAST
            && figures.lost.saturating_mul(lost) <= numbers
            && figures.duplicate.saturating_mul(twice) <= numbers
            && (figures.restarts().len() as u64).saturating_mul(LEAST) <= numbers
            && figures.jumps().is_empty()
    })
}

/// Whether they are, and come again with the same content: of packets that come twice no step need be small. Blocks of a file in any order do not.
pub(super) fn repeats_whole(state: &SaState) -> bool {
    state.evidence.repeats_packets() && is_whole(state)
}

/// Whether more than half of the numbers are followed by a gap, and gaps are longer than load sharing makes them: counters of time or bytes
/// behave so. A sampled capture of ESP looks the same, so this does not count against ESP on ports 500 and 4500 and those of `--udp-port`.
pub(super) fn strides(state: &SaState) -> bool {
    /// Links that share the packets of an SA, at most.
    const LINKS: u64 = 8;
    /// Fewer gaps show no habit.
    const LEAST: u64 = 8;
    let copies = state.copies.get().frames;
    state.sequence.finish(copies).is_some_and(|figures| {
        let numbers = state.seen.count.saturating_sub(copies).saturating_sub(figures.duplicate);
        figures.gaps >= LEAST
            && figures.gaps.saturating_mul(2) > numbers
            && figures.lost >= figures.gaps.saturating_mul(LINKS)
    })
}

/// Whether numbers leap from packet to packet, and the packets are one content over and over: a load generator or a probe, with its clock where
/// ESP has the number. A sampled capture of ESP has such numbers, too, and other ciphertext in each packet.
pub(super) fn strides_alike(state: &SaState) -> bool {
    state.evidence.is_one_content() && strides(state)
}

/// Whether all numbers are among the first of an SA: of protocols that have something else there, one packet in 2^26 is so.
pub(super) fn has_begun(state: &SaState) -> bool {
    /// The last of the first numbers.
    const EARLY: u64 = 64;
    state.sequence.finish(0).is_some_and(|figures| (1..=EARLY).contains(&figures.highest))
}

/// Whether the lowest number is 0.
pub(super) fn begins_with_zero(state: &SaState) -> bool {
    state.sequence.first_range().is_some_and(|(least, _)| least == 0)
}

/// Whether the numbers are among the last of 2^32: random words mostly are, and numbers of working SAs hardly ever.
pub(super) fn is_high(state: &SaState) -> bool {
    const HIGH: u32 = 1 << 28;
    state.sequence.first_range().is_some_and(|(least, _)| least >= HIGH)
}
