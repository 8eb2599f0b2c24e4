//! Whether a plaintext side shows packets again that were sent once.

use super::{PairInputs, Run, Supposed, Until};
use crate::engine::input::{Quiet, Settings};
use crate::matching::{FirstLook, Once, PairSettings};

/// Frames of a side that are looked at.
const LOOKED_AT: u64 = 16_384;
/// Repeated packets that are worth a second look, at least, and as a share of all frames: as of a copying TAP in reports. Fewer may be packets
/// that were sent again because they were lost.
const REPEATED: u64 = 8;
const REPEATED_OF: u64 = 5;
/// Pairs that tell anything.
const FEWEST_PAIRS: u64 = 16;
/// Pairs that may be missing without the copies, as a share of all and of the copies: those at the end of the look.
const MISSING_OF: u64 = 50;

/// On which sides copies are to be left out: the beginning of the captures has as many pairs without them. Packets that were sent twice at
/// once are in the tunnel twice, and at its far end.
pub(super) fn left_out(inputs: &PairInputs, settings: &Settings, pairing: PairSettings, attempts: &[i64]) -> Once {
    let one = inputs.plain == inputs.tunnel;
    let run = |supposed: i64| Run::new(inputs, settings, pairing, Supposed::ahead(supposed), false, one, &Quiet);
    let mut alone = run(0);
    alone.look_at_plain(LOOKED_AT);
    let counts = alone.matcher.frames().into_iter().zip(alone.matcher.counted().repeated);
    let mut many = counts.map(|(frames, repeated)| repeated >= REPEATED.max(frames / REPEATED_OF));
    let asked = Once { plain: many.next() == Some(true), exit: many.next() == Some(true) };
    if !asked.plain && !asked.exit {
        return Once::default();
    }
    let look = |supposed: i64, once: Once| -> Option<FirstLook> {
        let mut run = run(supposed);
        run.matcher.leave_out_copies(once);
        run.read(Until::Frames(LOOKED_AT), &mut None).ok()?;
        Some(run.matcher.counted())
    };
    // By clocks that are not set as supposed a few packets may be paired by chance.
    let looks = attempts.iter().filter_map(|supposed| Some((*supposed, look(*supposed, Once::default())?)));
    let Some((supposed, mut all)) = looks.max_by_key(|(_, all)| all.pairs) else { return Once::default() };
    // A few pairs may be chance. Where the tunnel's capture is the shorter one, or the near side's, there are no more than its packets.
    let [tunnelled, clear] = all.read;
    let [near, far] = all.repeated;
    let is_told = |pairs: u64, copies: u64, read: u64| pairs >= FEWEST_PAIRS.max(copies.min(read) / 2);
    let is_as_much = |own: u64, all: u64, copies: u64| own.saturating_add(copies.min(all) / MISSING_OF) >= all;
    let mut once = Once::default();
    let plain = asked.plain && is_told(all.pairs, near, tunnelled);
    let plain = plain.then(|| look(supposed, Once { plain: true, ..once })).flatten();
    if let Some(own) = plain.filter(|own| is_as_much(own.pairs, all.pairs, near)) {
        (once.plain, all) = (true, own);
    }
    let exit = asked.exit && is_told(all.arrived, far, clear);
    let exit = exit.then(|| look(supposed, Once { exit: true, ..once })).flatten();
    once.exit = exit.is_some_and(|own| is_as_much(own.arrived, all.arrived, far));
    once
}
