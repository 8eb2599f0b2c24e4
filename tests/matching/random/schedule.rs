//! When packets are sent, when taps record, and what their clocks show.

use super::scenario::{Pace, Part, Scenario, Unusual};
use crate::support::build::{Noise, START};

/// Time of a share of the scenario.
pub fn place(span: u64, share: u64) -> u64 {
    START + span / 1_000 * share
}

pub fn within(span: u64, part: Option<Part>, ns: u64) -> bool {
    part.is_some_and(|(from, to)| (place(span, from)..place(span, to)).contains(&ns))
}

/// Whether a side records at this time.
pub fn records(scenario: &Scenario, span: u64, side: usize, ns: u64) -> bool {
    let (from, to) = scenario.windows[side];
    let open = (from == 0 || ns >= place(span, from)) && (to == 1_000 || ns <= place(span, to));
    open && !within(span, scenario.holes[side], ns)
}

/// Times of the packets of one way.
pub fn times(scenario: &Scenario, noise: &mut Noise, back: bool) -> Vec<u64> {
    let share = if back { scenario.back } else { scenario.there };
    let stretch = |gap: u64| gap * 8 / share.max(1);
    let mut clock = START + 1_000_000 + noise.below(1_000_000);
    (0..scenario.packets * share / 8)
        .map(|at| {
            clock += match scenario.pace {
                Pace::Even(gap) => stretch(gap) + noise.below(2_000),
                Pace::Random(gap) => {
                    let draw = -(1.0 - noise.below(1 << 30) as f64 / f64::from(1 << 30)).ln();
                    (stretch(gap) as f64 * draw) as u64 + 700
                }
                Pace::Bursts(gap) => {
                    if at % 8 == 0 {
                        stretch(gap) * 8
                    } else {
                        12_000
                    }
                }
                // Between two spurts nothing is sent for up to 3 s.
                Pace::Voice(gap) if noise.below(60) == 0 => gap * (5 + noise.below(150)),
                Pace::Voice(gap) => gap + noise.below(2_000),
            };
            clock
        })
        .collect()
}

/// What the tunnel's clock shows more than the plain one.
pub fn ahead(scenario: &Scenario, span: u64, ns: u64) -> i64 {
    let set = scenario.set.map_or(0, |(at, by)| if ns >= place(span, at) { by } else { 0 });
    let slewed = match scenario.unusual {
        Unusual::Slewed(at, ppm) => ns.saturating_sub(place(span, at)) as i64 * ppm / 1_000_000,
        _ => 0,
    };
    scenario.ahead_ns + ((ns - START) as f64 * scenario.drift_ppm / 1e6).round() as i64 + set + slewed
}
