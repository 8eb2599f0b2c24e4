//! What `trials` is asked for.

use super::limits::MAX_RECORDS;
use super::segments::GivenTrial;

/// Layer at which a load counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RateLayer {
    /// With preamble and gap.
    #[default]
    L1,
    /// Frames with FCS.
    L2,
    /// IP packets.
    L3,
    /// UDP or TCP payload.
    L4,
}

impl RateLayer {
    /// The word used in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::L4 => "l4",
        }
    }
}

/// What is asked for besides the captures.
#[derive(Clone, PartialEq, Debug)]
pub struct TrialsSettings {
    /// All captures were stamped by one clock.
    pub one_clock: bool,
    /// The taps are the ends of a device without a tunnel between them: the direction is given.
    pub ends: bool,
    /// Rate of the testers' links.
    pub link_rate_bps: Option<u64>,
    /// Rate of the tunnel's link.
    pub tunnel_rate_bps: Option<u64>,
    /// A longer silence ends a trial, in nanoseconds.
    pub gap_ns: u64,
    /// What is shorter is a burst, in nanoseconds.
    pub least_ns: u64,
    /// By which share the forwarded rate may be below the offered one and still be equal.
    pub equal: f64,
    /// The beginning of each trial that does not count, in nanoseconds.
    pub skip_start_ns: u64,
    /// Trials by their times, instead of those that the load shows.
    pub given: Option<Vec<GivenTrial>>,
    /// The one flow that is the test load: source and destination address.
    pub flow: Option<(crate::model::Address, crate::model::Address)>,
    /// Layer at which loads of the search count.
    pub rate_layer: RateLayer,
    /// The search to replay.
    pub search: Option<SearchSettings>,
    /// Records of packets that are kept in memory, of all taps; of more packets, a part is kept.
    pub records: usize,
}

impl Default for TrialsSettings {
    fn default() -> Self {
        Self {
            one_clock: false,
            ends: false,
            link_rate_bps: None,
            tunnel_rate_bps: None,
            gap_ns: 500_000_000,
            least_ns: 500_000_000,
            equal: 0.001,
            skip_start_ns: 0,
            given: None,
            flow: None,
            rate_layer: RateLayer::L1,
            search: None,
            records: MAX_RECORDS,
        }
    }
}

/// A search for the equilibrium throughput (Tisovsky, figure 10).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchSettings {
    /// First load, in bit/s.
    pub start_bps: f64,
    /// First step, in bit/s.
    pub step_bps: f64,
    /// Share of the load below which a step ends the search.
    pub tolerance: f64,
    /// Iterations, at most.
    pub limit: u64,
}
