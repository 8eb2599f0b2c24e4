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
/// Pairs that may be missing without the copies, as a share of these: those at the end of the look.
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
    let [near, far] = all.repeated;
    let mut once = Once::default();
    let plain = (asked.plain && all.pairs >= near / 2).then(|| look(supposed, Once { plain: true, ..once })).flatten();
    if let Some(own) = plain.filter(|own| own.pairs.saturating_add(near / MISSING_OF) >= all.pairs) {
        (once.plain, all) = (true, own);
    }
    let exit = (asked.exit && all.arrived >= far / 2).then(|| look(supposed, Once { exit: true, ..once })).flatten();
    once.exit = exit.is_some_and(|own| own.arrived.saturating_add(far / MISSING_OF) >= all.arrived);
    once
}
