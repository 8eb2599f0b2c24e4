//! Packets at the tunnel tap as the last tap shows them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::clocks::Clocks;
use super::pair::{AskedLengths, Span, is_exact, leaving};
use super::row::{At, FrameRow, MISSING};
use crate::trials::read::Place;
use crate::trials::read::tap::{ContentDigest, Outer};

/// Where contents tell packets apart at the last tap but not in the tunnel, and as many frames passed the tunnel as came out, the k-th frame
/// of the tunnel is the k-th that came out. What the first tap missed then takes no other packet's place.
pub(crate) fn from_last(
    row: &mut FrameRow,
    (middle, wire): (Place, &At),
    (last, exit): (Place, &At),
    records: &[Outer],
    clocks: &Clocks,
    spans: &[Span],
    slack: i64,
) {
    if row.thin.is_some() || !wire.tunnel || wire.visible || exit.tunnel || !is_exact(row, exit) {
        return;
    }
    let mut known: HashMap<ContentDigest, usize, FixedState> = HashMap::default();
    for (i, key) in row.key.iter().enumerate() {
        known.entry(*key).or_insert(i);
    }
    let times = |place: Place, at: &At| -> Vec<i64> { at.frames.iter().map(|f| clocks.map(place, f.t)).collect() };
    let (passed, out) = (times(middle, wire), times(last, exit));
    for span in spans {
        let asked = AskedLengths::of(row, wire, span);
        let mut left = leaving(wire, &passed, span, slack, |frame| asked.may_be(frame));
        let came_out = leaving(exit, &out, span, slack, |_| true);
        if left.is_empty() || left.len() != came_out.len() {
            continue;
        }
        left.sort_by_key(|(_, t)| *t);
        if let Some(own) = row.middle.get_mut(span.from..span.to) {
            own.fill((MISSING, 0));
        }
        for ((frame, t), (out, _)) in left.iter().zip(&came_out) {
            let at = known.get(&out.key).copied().filter(|i| (span.from..span.to).contains(i));
            if let Some(slot) = at.and_then(|i| row.middle.get_mut(i)) {
                *slot = (*t, records.get(frame.record as usize).map_or(0, |own| own.detail.l1));
            }
        }
        row.unclear.retain(|own| own.place != middle || own.from >= span.to || own.to <= span.from);
    }
}
