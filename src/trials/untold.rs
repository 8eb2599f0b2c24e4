//! Loads of which nothing tells in which direction of the tunnel they are: what is known of them all the same.

use super::association::Clocks;
use super::association::row::At;
use super::finish::Found;
use super::read::skipped::missing;
use super::read::{Place, Taps};

/// What is known of a load in the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum InTunnelTold {
    /// Which direction it is in.
    #[default]
    Way,
    /// That either direction has as many frames at the same times.
    Alike,
    /// Nothing: the directions differ.
    Nothing,
}

/// What is known of a load between two times, where it may be in either direction of the tunnel. `slack`: by how much frames in the tunnel
/// may seem to precede arrivals; `following`: when the next load begins.
pub(super) fn in_either(
    taps: &Taps,
    clocks: &Clocks,
    seen: &[(Place, At)],
    (begin, end, following): (i64, i64, i64),
    slack: i64,
) -> InTunnelTold {
    let Some((place, at)) = seen.iter().find(|(_, at)| at.open) else { return InTunnelTold::Way };
    // Up to the end of each quarter of the load, and in all.
    let until = [1, 2, 3, 4].map(|part| begin + (end - begin) / 4 * part);
    let (mut all, mut early) = ([0_u64; 2], [[0_u64; 4]; 2]);
    for own in &taps.place(*place).tunnelled.records {
        let t = clocks.map(*place, own.t);
        let way = usize::from(at.sas.get(usize::from(own.stream)) != Some(&true));
        let frames = u64::from(own.share.frames);
        if (begin - slack..following - slack).contains(&t)
            && let Some(all) = all.get_mut(way)
        {
            *all += frames;
        }
        for (early, until) in early.get_mut(way).into_iter().flatten().zip(until) {
            *early += if (begin - slack..=until).contains(&t) { frames } else { 0 };
        }
    }
    let skips = |own: bool| {
        let sas: Vec<bool> =
            (0..taps.place(*place).sas.len()).map(|sa| (at.sas.get(sa) == Some(&true)) == own).collect();
        missing(&taps.place(*place).skipped.of(&sas, |t| clocks.map(*place, t)), begin, following)
    };
    let [own, other] = all;
    let [early, others_early] = early;
    let apart = early.iter().zip(others_early).map(|(early, other)| early.abs_diff(other)).max();
    // Of a load of which a part waits, one direction shows the load and the other one what became of it.
    let alike = own == other && apart <= Some(2) && skips(true) == skips(false);
    if alike { InTunnelTold::Alike } else { InTunnelTold::Nothing }
}

/// Why a load is no trial that is in clear at one tap alone, and in the tunnel in one direction or the other. `taps`: those that its packets pass.
pub(super) fn untold(found: &Found, taps: &[Place]) -> Option<String> {
    (found.told == InTunnelTold::Nothing && taps.len() == 2).then(|| {
        let missing = if taps.contains(&Place::Near) { "the exit (--exit)" } else { "the plain side (--plain)" };
        format!(
            "Both directions are loaded, and nothing tells which direction of the tunnel carries which: counts of packets and times fit either \
             way. A capture at {missing}, keys, or a load of one direction alone would tell."
        )
    })
}
