//! The figures of one direction, from sums to ratios and words.

use crate::matching::bins::buckets;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::known::Known;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::quantiles::Quantiles;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::ledger::PairBasis;
use crate::matching::{PairSettings, TunnelKey};
use crate::model::pairs::{self, Direction, Latency, Times, TunnelWay, Undetermined};

/// What is known of an SA besides its pairs.
pub(super) struct Found<'l> {
    pub(super) losses: &'l Losses,
    /// Numbers that the tunnel's tap did not see.
    pub(super) missing: u64,
    /// It did not see others in a silence, which may have been a hole in its capture or an outage.
    pub(super) unseen: bool,
    /// Plaintext packets without counterpart that may be its own.
    pub(super) around: u64,
    pub(super) open: Option<Undetermined>,
    /// Nothing but the missing numbers was lost.
    pub(super) counted: bool,
    /// Packets are missing in a silence that may have been a hole in a capture or an outage.
    pub(super) doubted: bool,
    /// Nothing tells which tap the packets passed first.
    pub(super) guessed: bool,
    pub(super) at: u32,
}

pub(super) fn direction(
    sa: &SaTally,
    found: Found<'_>,
    clock: &Clock,
    settings: &PairSettings,
    step: Option<f64>,
    known: &Known,
) -> Direction {
    let (src, dst) = match sa.key {
        TunnelKey::Sa(key) => (key.src, key.dst),
        TunnelKey::Bare(_, src, dst) => (src, dst),
    };
    let Found { losses, missing, unseen, around, open, counted, doubted, guessed, at } = found;
    let missed = losses.missed.get(&at).copied().unwrap_or(0);
    let paired = sa.matched > 0;
    let lost = match sa.encapsulated {
        // By order, and of packets that are alike, plaintext packets of its traffic without a tunnelled one came through the tunnel too: these
        // were not lost.
        Some(false) if sa.is_by_order() || sa.is_alike() => sa.alone.saturating_sub(around),
        Some(false) => sa.alone,
        // As many packets that have no plaintext one are among those that were missed.
        _ if sa.may_be_crossed() => missed.saturating_sub(sa.alone),
        _ => missed,
    };
    let loss_pct = if counted {
        Some(missing as f64 * 100.0 / (sa.alone + sa.uncovered + missing).max(1) as f64)
    } else {
        (paired && !doubted).then(|| lost as f64 * 100.0 / (sa.matched + lost) as f64)
    };
    let (before, behind, ends) = match sa.encapsulated.filter(|_| !guessed) {
        Some(false) => {
            ((!unseen).then_some(missing), (paired && !doubted).then_some(lost), losses.behind(at, None, None).0)
        }
        Some(true) => {
            let before = (paired && !doubted).then_some(lost);
            let (ends, behind) = losses.behind(at, None, before);
            (before, behind.filter(|behind| !sa.may_be_before(*behind)), ends)
        }
        None => (counted.then_some(missing), None, losses.behind(at, None, None).0),
    };
    Direction {
        sa: sa.name.clone(),
        src: src.to_string(),
        dst: dst.to_string(),
        inner_src: sa.src.map(|prefix| prefix.show()),
        inner_dst: sa.dst.map(|prefix| prefix.show()),
        way: match sa.encapsulated.filter(|_| !guessed) {
            Some(true) => TunnelWay::Encapsulated,
            Some(false) => TunnelWay::Decapsulated,
            None => TunnelWay::Unknown,
        },
        matched: sa.matched,
        ambiguous: sa.ambiguous,
        unmatched_plain: missed,
        unmatched_tunnel: if paired || open.is_none() { sa.alone } else { 0 },
        repeated_tunnel: sa.repeated,
        uncovered_plain: losses.uncovered.get(&at).copied().unwrap_or(0),
        uncovered_tunnel: sa.uncovered,
        lost_before_tunnel: before,
        lost_behind_tunnel: behind,
        lost_end_to_end: ends,
        undetermined: open,
        loss_pct,
        reordered: sa.reordered,
        confidence: (sa.matched > 0).then(|| (sa.confidence / sa.matched as f64 * 1_000.0).round() / 1_000.0),
        basis: PairBasis::of_most(&sa.basis),
        transform: known.report.clone(),
        mode: known.mode,
        clock: clock.report(),
        latency_ns: latency(sa, settings, step, clock),
        latency_sf_ns: times(&sa.store_and_forward),
        latency_ct_ns: times(&sa.cut_through),
        latency_buckets: buckets(&sa.times),
        bins_why: None,
        latency_why: None,
        header: sa.header.sums(),
    }
    .if_clocks_tell(sa)
}

fn latency(sa: &SaTally, settings: &PairSettings, step: Option<f64>, clock: &Clock) -> Latency {
    Latency {
        definition: definition(sa, settings, step).into(),
        depends_on_offset: clock.basis != Basis::OneClock,
        times: times(&sa.times),
        cut_through: times(&sa.cut_through),
    }
}

fn definition(sa: &SaTally, settings: &PairSettings, step: Option<f64>) -> String {
    let (from, to) = if sa.encapsulated == Some(false) { ("tunnel", "plain") } else { ("plain", "tunnel") };
    let bits = match (settings.stamped_at_start, settings.link_rate_bps) {
        (true, None) => "first bit to first bit",
        _ => "last bit to last bit",
    };
    let step = step.map_or(String::new(), |ns| format!(", timestamps in steps of {} us", ns / 1_000.0));
    let bounded = if sa.bounded > 0 { format!(", {} below 0 counted as 0", sa.bounded) } else { String::new() };
    format!("{bits}, from the {from} tap to the {to} tap{step}{bounded}")
}

impl Clock {
    fn report(&self) -> pairs::Clock {
        let known = self.basis != Basis::Unknown;
        pairs::Clock {
            offset_ns: known.then(|| self.offset_ns.round() as i64),
            drift_ppm: (known && self.drift_uncertainty.is_some()).then_some(self.drift * 1e6),
            uncertainty_ns: self.uncertainty_ns.map(|ns| ns.round() as i64),
            drift_uncertainty_ppm: self.drift_uncertainty.map(|ppm| ppm * 1e6),
            basis: self.basis,
        }
    }
}

impl Direction {
    /// Takes back what rests on pairs none of which is proved: how well offset and drift are known; where times contradict each other, the
    /// latencies too.
    pub(super) fn leave_open(&mut self, impossible: bool) {
        let one_clock = self.clock.basis == Basis::OneClock;
        if impossible || !one_clock {
            (self.clock.drift_ppm, self.clock.drift_uncertainty_ppm, self.clock.uncertainty_ns) = (None, None, None);
        }
        // Between both directions the offset lies in an interval, and without the interval it says nothing. From one direction alone it is stated with the
        // delay in it, and says so.
        if self.clock.basis == Basis::BothDirections {
            self.clock.offset_ns = None;
        }
        if impossible {
            self.clock.offset_ns = None;
            self.without_latency(if one_clock {
                "by one clock packets arrive before they were sent: each capture has a clock of its own, or packets are paired wrongly"
            } else {
                "the times of the pairs contradict one offset and drift of the clocks: a clock was set, or the path of one direction changed"
            });
        }
    }

    /// Without latencies that are shorter than the clocks and the steps of the timestamps tell.
    fn if_clocks_tell(mut self, sa: &SaTally) -> Self {
        /// One time in so many may be below 0 and count as 0; with more, the others say too much.
        const MOST_BELOW: u64 = 16;
        if sa.bounded.saturating_mul(MOST_BELOW) > sa.times.count() {
            self.without_latency(
                "it is shorter than the clocks and the steps of the timestamps tell: many times are below 0",
            );
        }
        self
    }

    /// Takes away the time between the taps, and says why.
    pub(super) fn without_latency(&mut self, why: &'static str) {
        self.latency_why = Some(why.into());
        (self.latency_ns.times, self.latency_ns.cut_through) = (None, None);
        (self.latency_sf_ns, self.latency_ct_ns, self.latency_buckets) = (None, None, None);
    }

    /// Says why there is no time between the taps, where nothing has said so.
    pub(super) fn explain_latency(&mut self) {
        if self.latency_ns.times.is_some() || self.latency_why.is_some() {
            return;
        }
        let why = match self.clock.basis {
            _ if self.matched == 0 => "no packet was paired",
            Basis::Unknown => "the clocks could not be compared",
            _ => "no pair is sure enough: other packets are equal, or fit as well by length and time",
        };
        self.latency_why = Some(why.into());
    }

    /// Whether many of its pairs may be others, because the order was lost or nearly all packets have equals: their times are not those of
    /// packets, and the few that are sure may be strays.
    pub(super) fn is_guesswork(&self) -> bool {
        let most = if self.basis == Some(PairBasis::Order) { 0.9 } else { 0.5 };
        self.undetermined.is_some() && self.confidence.is_some_and(|mean| mean < most)
    }
}

/// A distribution in the words of the report.
pub(super) fn times(times: &Quantiles) -> Option<Times> {
    (!times.is_empty()).then(|| Times {
        min: times.least(),
        p50: times.at(0.5),
        p90: times.at(0.9),
        p99: times.at(0.99),
        max: times.most(),
        mean: times.mean(),
    })
}
