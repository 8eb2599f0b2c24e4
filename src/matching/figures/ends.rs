//! What both plaintext sides say, by way.

use std::collections::BTreeSet;

use super::direction::times;
use crate::matching::Matcher;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::packets::prefix::Prefix;
use crate::model::pairs::{Direction, Ends, EndsWay, Times, TunnelWay};

impl Matcher {
    pub(super) fn ends(&self, losses: &Losses, step: Option<f64>) -> Vec<Ends> {
        let (Some(ends), Some(lost)) = (&self.ends, &losses.ends) else { return Vec::new() };
        // Pairs that do not say which way they went: that of all their flows, by the tunnel, where it is one.
        let untold = ends.ways.get(&0);
        let sole = untold.and_then(|untold| match lost.matched.first_key_value() {
            Some((way, matched)) if *matched == untold.matched && ends.ways.len() == 1 => Some(*way),
            _ => None,
        });
        let known = ends.ways.keys().map(|way| sole.unwrap_or(*way));
        let ways: BTreeSet<i8> = known.chain(lost.ways.keys().copied()).collect();
        let row = |way: i8| {
            let tally = ends.ways.get(&way).or(untold.filter(|_| sole == Some(way)));
            let (gone, addresses) = lost.ways.get(&way).map_or((0, &[][..]), |(gone, all)| (*gone, all.as_slice()));
            let mut prefixes = tally.map(|tally| (tally.src, tally.dst));
            for (src, dst) in addresses {
                let (from, to) = prefixes.get_or_insert((Prefix::of(*src), Prefix::of(*dst)));
                from.cover(*src);
                to.cover(*dst);
            }
            let (src, dst) = prefixes?;
            let matched = tally.map_or(0, |tally| tally.matched);
            Some(Ends {
                src: src.show(),
                dst: dst.show(),
                way: match way {
                    1 => EndsWay::PlainToExit,
                    -1 => EndsWay::ExitToPlain,
                    _ => EndsWay::Unknown,
                },
                matched,
                lost: gone,
                loss_pct: (way != 0 && !lost.open_ways.contains_key(&way) && (tally.is_some() || untold.is_none()))
                    .then(|| gone as f64 * 100.0 / (matched + gone).max(1) as f64),
                // Times of a way that was not known are those from the plain side to the exit.
                latency_ns: tally
                    .filter(|_| sole != Some(-1) && !super::is_impossible(&ends.clock, step))
                    .and_then(|tally| times(&tally.times))
                    .filter(|times| are_possible(times, &ends.clock)),
                depends_on_offset: ends.clock.basis != Basis::OneClock,
            })
        };
        ways.into_iter().rev().filter_map(row).collect()
    }
}

/// Whether no packet arrives before it was sent, as well as the clocks are known; nothing is known of clocks that were not compared.
fn are_possible(times: &Times, clock: &Clock) -> bool {
    clock.basis != Basis::Unknown && times.min as f64 >= -clock.uncertainty_ns.unwrap_or(0.0) - Clock::STEP
}

/// By how many more numbers than packets may be missing at the ends of the captures.
const FEW: u64 = 8;

/// Takes back what missing numbers say of SAs whose packets could not be paired, where both plaintext sides show that fewer packets were lost: the
/// tunnel's tap missed frames.
fn unpaired(ends: &[Ends], directions: &mut [Direction], tunnelled: u64) {
    let Some(lost) = ends.iter().map(|end| end.loss_pct.map(|_| end.lost)).sum::<Option<u64>>() else { return };
    let matched: u64 = ends.iter().map(|end| end.matched).sum();
    let is_open = |own: &Direction| own.matched == 0 && own.undetermined.is_some();
    let numbers = |own: &Direction| own.undetermined.as_ref().map_or(0, |open| open.missing_numbers);
    let missing: u64 = directions
        .iter()
        .filter(|own| is_open(own))
        .map(|own| own.lost_before_tunnel.unwrap_or(0).max(numbers(own)))
        .sum();
    // The exit must cover most of what is in the tunnel.
    if missing <= lost.saturating_mul(2).saturating_add(FEW) || matched.saturating_mul(2) <= tunnelled {
        return;
    }
    for own in directions.iter_mut().filter(|own| is_open(own)) {
        (own.lost_before_tunnel, own.loss_pct) = (None, None);
        own.undetermined.iter_mut().for_each(|open| open.missing_numbers = 0);
    }
}

/// Takes back losses before the tunnel's tap that missing numbers say, where both plaintext sides show that fewer packets were lost on all of their way.
/// `tunnelled`: packets in the tunnel of which is not known which plaintext packets they are.
pub(super) fn against(ends: Vec<Ends>, directions: &mut [Direction], tunnelled: u64) -> Vec<Ends> {
    /// The share of packets that the exit may not cover, as 1 in N.
    const OF: u64 = 100;
    unpaired(&ends, directions, tunnelled);
    let Some(end) = ends.iter().find(|end| end.way == EndsWay::ExitToPlain && end.loss_pct.is_some()) else {
        return ends;
    };
    let own = || directions.iter().filter(|own| own.way == TunnelWay::Decapsulated);
    let missing: u64 = own().filter_map(|own| own.lost_before_tunnel).sum();
    let matched: u64 = own().map(|own| own.matched).sum();
    if missing <= end.lost.saturating_mul(2).saturating_add(FEW) || matched > end.matched + end.matched / OF {
        return ends;
    }
    for own in directions.iter_mut().filter(|own| own.way == TunnelWay::Decapsulated) {
        if let Some(missing) = own.lost_before_tunnel.take_if(|missing| *missing > 0) {
            own.undetermined.get_or_insert_with(|| doubt::uncounted(missing, end.lost));
        }
    }
    ends
}
