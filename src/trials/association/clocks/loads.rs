//! How fast a clock is by the packets of loads, which are known at both of two taps.

use std::collections::BTreeMap;

use super::clock::STAMP;
use super::drift::{DriftInterval, Late};
use super::paces::{Bunch, within};
use crate::trials::limits::{FEWEST, FORWARD_NS};
use crate::trials::segments::silences;

/// A packet at both of two taps: its time at either, and its length.
pub(super) type MetPacket = (i64, i64, u16);

/// The frames of both directions at the first tap: when, and how many until then.
#[derive(Clone, Default, Debug)]
pub(super) struct Traffic {
    way: [Vec<(i64, u64)>; 2],
}

impl Traffic {
    /// Of the times of frames and how many each stands for.
    pub(super) fn of(frames: [Vec<(i64, u32)>; 2]) -> Self {
        Self {
            way: frames.map(|mut own| {
                own.sort_unstable();
                let mut all = 0;
                let until = |(t, frames): (i64, u32)| {
                    all += u64::from(frames);
                    (t, all)
                };
                own.into_iter().map(until).collect()
            }),
        }
    }

    /// Frames a second of either direction between two times.
    fn rates(&self, from: i64, to: i64) -> [f64; 2] {
        self.way.each_ref().map(|own| {
            let until = |t: i64| {
                let at = own.partition_point(|(own, _)| *own < t);
                at.checked_sub(1).and_then(|at| own.get(at)).map_or(0, |(_, all)| *all)
            };
            (until(to) - until(from)) as f64 * 1e9 / (to - from).max(1) as f64
        })
    }
}

/// The fastest packet of one length in one load.
#[derive(Clone, Copy, Debug)]
struct Fastest {
    size: u16,
    late: i64,
    t: i64,
    /// Loads of about the same rates both ways.
    alike: usize,
}

/// The packets of one direction that two taps show, load by load.
pub(super) struct Loads<'m> {
    bunches: Vec<Bunch<'m>>,
    fastest: Vec<Fastest>,
}

impl<'m> Loads<'m> {
    /// `met`: packets in order of time where they come in. `traffic`: at the first tap. `back`: whether that is where they go out.
    pub(super) fn of(met: &'m [MetPacket], gap: i64, traffic: &Traffic, back: bool) -> Self {
        let of = |own: &MetPacket| if back { own.1 } else { own.0 };
        let times: Vec<i64> = met.iter().map(|(t, ..)| *t).collect();
        let pieces = silences(&times, gap).into_iter().filter_map(|(from, to)| met.get(from..to));
        let bunches: Vec<&[MetPacket]> = pieces.filter(|own| own.len() >= FEWEST).collect();
        let rates: Vec<[f64; 2]> = bunches
            .iter()
            .map(|own| {
                let ends = own.first().zip(own.last());
                ends.map_or([0.0; 2], |(first, last)| traffic.rates(of(first), of(last)))
            })
            .collect();
        let each = bunches.into_iter().zip(rates.iter().zip(alike(&rates)));
        let bunch = |(packets, ([there, here], alike)): (&'m [MetPacket], (&[f64; 2], usize))| Bunch {
            packets,
            back,
            fps: if back { *here } else { *there },
            alike,
        };
        let bunches: Vec<Bunch<'_>> = each.map(bunch).collect();
        Self { fastest: bunches.iter().flat_map(|own| fastest_of(own.packets, own.alike)).collect(), bunches }
    }

    /// By how much the fastest packets of each length in loads of each rate are late; `sign`: less than none where they go the other way.
    fn lates(&self, sign: f64) -> Vec<Late<(bool, u16, usize)>> {
        let Some(first) = self.fastest.first() else { return Vec::new() };
        let point = |own: &Fastest| {
            let late = sign * (own.late - first.late) as f64 / 1e9;
            ((sign < 0.0, own.size, own.alike), (own.t - first.t) as f64 / 1e9, late)
        };
        self.fastest.iter().map(point).collect()
    }

    /// Whether packets of a length take far longer in one load than in another: a clock that was set, or a path that became longer, is no drift.
    fn is_set(&self, drift: f64) -> bool {
        let mut sizes: BTreeMap<u16, (i64, i64)> = BTreeMap::new();
        for (size, rest) in self.fastest.iter().map(|own| (own.size, self.rest(own, drift))) {
            let (least, most) = sizes.entry(size).or_insert((i64::MAX, i64::MIN));
            (*least, *most) = (rest.min(*least), rest.max(*most));
        }
        sizes.values().any(|(least, most)| most - least >= FORWARD_NS)
    }

    /// How late a packet is but for the drift.
    fn rest(&self, own: &Fastest, drift: f64) -> i64 {
        let origin = self.fastest.first().map_or(0, |own| own.t);
        own.late - (drift * (own.t - origin) as f64).round() as i64
    }

    /// The packet that is the fastest but for the drift: how late it is, and when it comes in.
    pub(super) fn least(&self, drift: f64) -> Option<(i64, i64)> {
        self.fastest.iter().min_by_key(|own| self.rest(own, drift)).map(|own| (own.late, own.t))
    }
}

/// What loads of both directions say: packets of a length, in loads of the same rates, take as long at all times; and latencies that grow at one
/// pace in loads of any rate, and from load to load, do so by the clock. How fast packets are in loads of other rates says nothing: a device may be
/// faster the busier it is.
pub(super) fn say(fwd: &Loads<'_>, rev: &Loads<'_>) -> Vec<DriftInterval> {
    let fastest = DriftInterval::of(&[fwd.lates(1.0), rev.lates(-1.0)].concat(), STAMP);
    let said = [fastest, within(fwd.bunches.iter().chain(&rev.bunches))];
    said.into_iter().flatten().filter(|own| !fwd.is_set(own.slope) && !rev.is_set(-own.slope)).collect()
}

/// Which loads have about the same rates both ways: a number for each load.
fn alike(rates: &[[f64; 2]]) -> Vec<usize> {
    let mut classes: Vec<[f64; 2]> = Vec::new();
    let mut number = |own: &[f64; 2]| {
        let same = |class: &[f64; 2]| {
            let most = ALIKE * class.iter().sum::<f64>();
            class.iter().zip(own).all(|(a, b)| (a - b).abs() <= most)
        };
        classes.iter().position(same).unwrap_or_else(|| {
            classes.push(*own);
            classes.len() - 1
        })
    };
    rates.iter().map(&mut number).collect()
}

/// By what part of all packets the rates of loads differ that are alike.
pub(super) const ALIKE: f64 = 0.02;

/// The fastest packet of each length of a bunch; of all where hardly two have the same.
fn fastest_of(bunch: &[MetPacket], alike: usize) -> Vec<Fastest> {
    let mut sizes: BTreeMap<u16, (usize, (i64, i64))> = BTreeMap::new();
    for (t, d, size) in bunch {
        let (count, fastest) = sizes.entry(*size).or_insert((0, (d - t, *t)));
        (*count, *fastest) = (*count + 1, (*fastest).min((d - t, *t)));
    }
    let usual = || sizes.iter().filter(|(_, (count, _))| *count >= FEWEST);
    if usual().count() == 0 {
        let fastest = sizes.values().map(|(_, own)| *own).min();
        return fastest.into_iter().map(|(late, t)| Fastest { size: 0, late, t, alike }).collect();
    }
    usual().map(|(size, (_, (late, t)))| Fastest { size: *size, late: *late, t: *t, alike }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads of so many packets a second, each 10 s after the last, whose packets take so many nanoseconds.
    fn met(loads: &[(i64, i64)]) -> Vec<MetPacket> {
        let packet = |begin: i64, (fps, late): (i64, i64), k: i64| {
            let t = begin + k * 1_000_000_000 / fps;
            // One in seven waited.
            (t, t + late + if k % 7 == 3 { 900 } else { 0 }, 512)
        };
        let load = |(n, own): (i64, &(i64, i64))| {
            let own = *own;
            (0..2 * own.0).map(move |k| packet(n * 10_000_000_000, own, k)).collect::<Vec<MetPacket>>()
        };
        (0..).zip(loads).flat_map(load).collect()
    }

    fn fastest(loads: &[(i64, i64)]) -> Option<DriftInterval> {
        let met = met(loads);
        let traffic = Traffic::of([met.iter().map(|(t, ..)| (*t, 1)).collect(), Vec::new()]);
        DriftInterval::of(&Loads::of(&met, 500_000_000, &traffic, false).lates(1.0), STAMP)
    }

    #[test]
    fn loads_of_other_rates_say_nothing_of_a_clock() {
        assert_eq!(fastest(&[(100, 90_000), (200, 70_000), (300, 60_000), (400, 50_000)]), None);
        // 20 ns more each second.
        let loads = [(100, 90_000), (200, 70_200), (100, 90_400), (200, 70_600), (101, 90_800), (200, 71_000)];
        let told = fastest(&loads).expect("a drift");
        assert!((told.slope - 20e-9).abs() < 1e-12, "{told:?}");
    }
}
