//! The way of packets past the taps, and what is true of it.

use super::scenario::Scenario;
use super::schedule::records;

/// What is true of one way between plain and tunnel tap.
#[derive(Default, Debug)]
pub struct Truth {
    /// Packets that the first of the two taps showed while the second was recording, and those that did not reach it.
    pub sent: u64,
    pub lost: u64,
    /// The same from the tunnel tap to the exit, of the way there.
    pub passed: u64,
    pub lost_behind: u64,
    /// Packets near the edge of a recording: they may count or not.
    pub edge: u64,
    /// Packets that did not reach the exit, near the edge of its recording, or that it alone misses.
    pub edge_behind: u64,
    /// Least and greatest time between the two taps.
    pub apart: Option<(u64, u64)>,
}

/// A packet's way past the taps.
#[derive(Clone, Copy)]
pub struct Trip {
    pub way: u32,
    pub plain: u64,
    pub tunnel: u64,
    pub exit: u64,
    pub on_plain: bool,
    pub on_tunnel: bool,
    pub on_exit: bool,
    /// Taps that miss it although it passes.
    pub missed: [bool; 3],
    /// IP packets that it is in the tunnel: a fragment is one.
    pub pieces: u64,
}

impl Trip {
    /// Whether a tap shows it, if it records.
    pub fn shows(&self, side: usize) -> bool {
        [self.on_plain, self.on_tunnel, self.on_exit][side] && !self.missed[side]
    }
}

/// What was lost among the packets that the first tap showed while the next one was recording, as far as its frames show that it was.
pub fn truth(scenario: &Scenario, span: u64, trips: &[Trip], shown: &[(u64, u64); 3]) -> Truth {
    let mut truth = Truth::default();
    // Near an edge latency decides, which differs from packet to packet.
    let slack = scenario.jitter_ns + 60_000 + scenario.step_ns + 2 * scenario.delay_ns + scenario.unusual.longest_ns();
    let sure = |side: usize, ns: u64| {
        // One that shows nothing has no first frame.
        let inside = shown[side].0.saturating_add(slack) <= ns && ns + slack <= shown[side].1;
        inside && [ns - slack, ns, ns + slack].iter().all(|ns| records(scenario, span, side, *ns))
    };
    for trip in trips {
        let (first, second, there) = match trip.way {
            1 => ((0, trip.plain), (1, trip.tunnel, trip.on_tunnel), true),
            _ => ((1, trip.tunnel), (0, trip.plain, trip.on_plain), false),
        };
        // Where packets are counted in the tunnel, each fragment is one.
        let packets = if there { 1 } else { trip.pieces };
        if trip.shows(first.0) && records(scenario, span, first.0, first.1) {
            // Of what the second tap alone misses nothing tells that it passed, unless the exit shows it.
            let untold = trip.missed[second.0] && second.2;
            let told = there && scenario.exit && trip.shows(2) && records(scenario, span, 2, trip.exit);
            if !sure(second.0, second.1) {
                truth.edge += packets * u64::from(records(scenario, span, second.0, second.1));
            } else if untold && !told {
                truth.edge += packets;
            } else {
                truth.sent += packets;
                truth.lost += packets * u64::from(!second.2);
            }
            if second.2 && !untold && records(scenario, span, second.0, second.1) {
                let apart = second.1.abs_diff(first.1);
                let (least, most) = truth.apart.unwrap_or((apart, apart));
                truth.apart = Some((least.min(apart), most.max(apart)));
            }
        }
        if there && scenario.exit && trip.shows(1) && records(scenario, span, 1, trip.tunnel) {
            if !sure(2, trip.exit) {
                truth.edge_behind += u64::from(!trip.on_exit && records(scenario, span, 2, trip.exit));
            } else if trip.missed[2] && trip.on_exit {
                truth.edge_behind += 1;
            } else {
                truth.passed += 1;
                truth.lost_behind += u64::from(!trip.on_exit);
            }
        }
    }
    truth
}
