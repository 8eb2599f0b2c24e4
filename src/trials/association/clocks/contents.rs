//! What contents that tell packets apart say of a clock.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::Both;
use super::clock::Clock;
use super::loads::MetPacket;
use crate::trials::association::row::At;
use crate::trials::limits::ANCHOR_NS;
use crate::trials::read::Place;
use crate::trials::read::tap::ContentDigest;

/// By how much the clock of a tap is ahead of that of the reference, where contents tell packets apart and hardly any of them agrees with
/// what the clocks are taken for, and when it is.
pub(super) fn told(both: &Both, [reference, place]: [Place; 2], clock: &Clock) -> Option<(i64, i64)> {
    let [fwd, rev] = both;
    // Of packets that came in at the other tap, the time on the way is subtracted.
    let ways = [(fwd, reference, place, 1), (rev, place, reference, -1)];
    ways.into_iter().find_map(|(seen, from, to, sign)| {
        let met = by_content(seen, from, to)?;
        let time = |(t, d, _): &MetPacket| if sign > 0 { (*t, *d) } else { (*d, *t) };
        let agrees = |own: &&MetPacket| {
            let (near, other) = time(own);
            (clock.map(other) - near).abs() < ANCHOR_NS
        };
        if met.iter().filter(agrees).count() * AGREE_OF > met.len() {
            return None;
        }
        let mut late: Vec<(i64, i64)> = met.iter().map(|own| (own.1 - own.0, time(own).0)).collect();
        late.sort_unstable();
        // What a few packets share that are another's is no offset.
        let shared = |at: &usize| {
            late.get(at + late.len() / AGREE_OF)
                .zip(late.get(*at))
                .is_some_and(|((more, _), (least, _))| more - least < ANCHOR_NS)
        };
        let at = (0..late.len()).find(shared)?;
        late.get(at).map(|(late, at)| (sign * late, *at))
    })
}

/// Of so many packets one is as fast as those that meet an idle device.
const AGREE_OF: usize = 100;

/// Packets that two taps both show, paired by their content, in order of time.
pub(super) fn by_content(seen: &[(Place, At)], from: Place, to: Place) -> Option<Vec<MetPacket>> {
    let at = |place: Place| seen.iter().find(|(own, _)| *own == place).map(|(_, at)| at);
    let (here, there) = (at(from)?, at(to)?);
    let mut known: HashMap<ContentDigest, Option<(i64, u16)>, FixedState> = HashMap::default();
    for frame in here.frames.iter().filter(|frame| frame.key != ContentDigest::NONE) {
        known.entry(frame.key).and_modify(|time| *time = None).or_insert(Some((frame.t, frame.size)));
    }
    let met = there.frames.iter().filter_map(|frame| {
        let (t, size) = known.get(&frame.key).copied()??;
        Some((t, frame.t, size))
    });
    let mut met: Vec<MetPacket> = met.collect();
    met.sort_unstable();
    (met.len() * 2 > here.frames.len().min(there.frames.len())).then_some(met)
}
