//! Which flows are the test load.

use std::collections::{BTreeMap, BTreeSet};

use super::flows::Flow;
use super::ways::{Ways, is_asked};
use super::{Place, Taps};
use crate::model::trials::Direction;
use crate::trials::limits::BACKGROUND;
use crate::trials::settings::TrialsSettings;

/// Flows of a direction that are the test load. Background never reaches a twentieth of the busiest second of the busiest flow; nor do,
/// where a tester spreads its load over very many flows, all flows of its addresses together one of that of the busiest addresses. Where each
/// flow of the load is small, a flow that goes on through its pauses is none of it.
pub(crate) fn test_flows(
    taps: &Taps,
    ways: &Ways,
    direction: Direction,
    place: Place,
    settings: &TrialsSettings,
) -> Vec<bool> {
    let peak = |flow: Option<&Flow>| flow.and_then(|flow| flow.at.get(place as usize)).map_or(0, |at| at.peak);
    // What a generator of random ports sends is one load.
    let busy = |flow: usize| peak(taps.flows.all.get(flow)).max(peak(taps.flows.shared(flow)));
    let mine = |flow: usize| {
        taps.flows.all.get(flow).is_some_and(|own| {
            !own.transfer
                && ways.lane.get(own.lane) == Some(&direction)
                && is_asked((own.key.src, own.key.dst), settings.flow)
        })
    };
    // Of addresses beyond the limit nothing is known for themselves.
    let all_of = |flow: usize| {
        let lane = taps.flows.all.get(flow).map(|own| own.lane).filter(|lane| !taps.flows.is_shared_lane(*lane))?;
        taps.flows.lane.get(lane)?.busy.get(place as usize).map(|own| own.peak)
    };
    let own = || (0..taps.flows.all.len()).filter(|flow| mine(*flow));
    let most = own().map(busy).max().unwrap_or(0);
    let most_of_all = own().filter_map(all_of).max().unwrap_or(0);
    let reaches = |own: u64, most: u64| own > 0 && own as f64 >= BACKGROUND * most as f64;
    let is_load = |flow: usize| all_of(flow).is_none_or(|own| reaches(own, most_of_all));
    let tests: Vec<bool> =
        (0..taps.flows.all.len()).map(|flow| mine(flow) && reaches(busy(flow), most) && is_load(flow)).collect();
    let beside = going_on(taps, place, &tests, i64::try_from(settings.gap_ns).unwrap_or(i64::MAX));
    tests.iter().enumerate().map(|(flow, test)| *test && !beside.contains(&flow)).collect()
}

/// A flow of which it is asked whether it goes on where the load pauses.
#[derive(Default)]
struct SteadyFlow {
    times: Vec<i64>,
    /// Packets in pauses of the load, and beside the load.
    alone: usize,
    beside: usize,
    second: i64,
    count: u64,
    peak: u64,
}

impl SteadyFlow {
    fn see(&mut self, t: i64, frames: u64, alone: bool) {
        let second = t.div_euclid(1_000_000_000);
        if second != self.second {
            (self.second, self.count) = (second, 0);
        }
        self.count += frames;
        self.peak = self.peak.max(self.count);
        self.times.push(t);
        *(if alone { &mut self.alone } else { &mut self.beside }) += 1;
    }

    /// Whether its packets come at one pace, in pauses as well as beside the load.
    fn goes_on(&self) -> bool {
        let mut gaps: Vec<i64> = self.times.iter().zip(self.times.iter().skip(1)).map(|(a, b)| b - a).collect();
        gaps.sort_unstable();
        let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
        self.alone >= 2 && self.beside >= 1 && gaps.last().is_some_and(|most| *most <= 3 * usual)
    }
}

/// Flows that go on at their pace where all others pause, and that are a small part of all. `gap`: a longer silence ends a load.
fn going_on(taps: &Taps, place: Place, tests: &[bool], gap: i64) -> BTreeSet<usize> {
    let is_test = |stream: u16| tests.get(usize::from(stream)) == Some(&true);
    let records = || taps.place(place).plain.records.iter().filter(|own| is_test(own.stream));
    let mut all = SteadyFlow::default();
    records().for_each(|own| all.see(own.t, u64::from(own.share.frames), false));
    let least = BACKGROUND * all.peak as f64;
    let few = (least * gap as f64 / 1e9).max(1.0) as usize;
    let mut flows: BTreeMap<usize, SteadyFlow> = BTreeMap::new();
    let (mut from, mut to) = (0, 0);
    for own in records() {
        while all.times.get(from).is_some_and(|t| *t < own.t - gap / 2) {
            from += 1;
        }
        while all.times.get(to).is_some_and(|t| *t <= own.t + gap / 2) {
            to += 1;
        }
        let flow = flows.entry(usize::from(own.stream)).or_default();
        flow.see(own.t, u64::from(own.share.frames), to - from <= few);
    }
    flows.retain(|_, flow| (flow.peak as f64) < least && flow.goes_on());
    // Were it the load itself, it would be all there is.
    let together: u64 = flows.values().map(|flow| flow.peak).sum();
    if together as f64 >= least { BTreeSet::new() } else { flows.into_keys().collect() }
}
