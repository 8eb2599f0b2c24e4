//! How long the packets of a pair were on their way.

use super::SaTally;
use crate::matching::PairSettings;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::forwarding::last_to_first;
use crate::matching::measure::quantiles::Bucketed;
use crate::matching::packets::ledger::{PairedPlain, Tunnelled};

impl SaTally {
    /// Takes in the time of a pair between the taps: the latency that counts.
    pub(super) fn time(
        &mut self,
        delay: i64,
        packet: &Tunnelled,
        plain: &PairedPlain,
        settings: &PairSettings,
    ) -> Bucketed {
        let (first, last) = both(delay, packet, plain, settings, self.encapsulated != Some(false));
        // No packet leaves before it came: what the clocks and the step of the timestamps make of it is none.
        self.bounded += u64::from(last < 0);
        let last = last.max(0);
        let latency = Bucketed::of(last);
        self.times.add_bucketed(latency);
        if let Some(first) = first {
            self.cut_through.add(first.max(0));
            let out = if self.encapsulated == Some(false) { plain.frame_bytes } else { packet.frame_bytes };
            let rate = settings.link_rate_bps.unwrap_or(0);
            self.store_and_forward.add(last_to_first(last, out, rate));
        }
        latency
    }

    /// Time between the taps, clocks compared.
    pub(super) fn delay(&self, packet: &Tunnelled, plain: &PairedPlain, clock: &Clock) -> Option<i64> {
        let (p, t) = (plain.time.ns()?, packet.time.ns()?);
        let later = t.saturating_sub(clock.ahead(p)).saturating_sub(p);
        let delay = if self.encapsulated == Some(false) { later.saturating_neg() } else { later };
        (clock.basis != Basis::Unknown).then_some(delay)
    }
}

impl SaTally {
    /// Whether a time is not one of this SA's, as far as its sure pairs tell: the counterpart was lost, and a later packet of the same length stands
    /// in its place.
    pub(super) const fn is_far(&self, delay: i64) -> bool {
        /// Sure pairs that tell what is usual.
        const ENOUGH: u64 = 32;
        /// How many times as long as the longest of them.
        const TIMES: i64 = 32;
        self.matched - self.ambiguous > ENOUGH && delay / TIMES > self.longest
    }
}

/// A time as it was measured, as first bit in to first bit out (where it is known) and as last to last.
fn both(
    delay: i64,
    packet: &Tunnelled,
    plain: &PairedPlain,
    settings: &PairSettings,
    encapsulated: bool,
) -> (Option<i64>, i64) {
    let Some(rate) = settings.link_rate_bps.filter(|rate| *rate > 0) else { return (None, delay) };
    // Preamble, SFD and FCS travel too.
    let on_wire = |bytes: u32| {
        let bits = (u64::from(bytes.max(60)) + 12) * 8;
        (bits as f64 * 1e9 / rate as f64).round() as i64
    };
    let (near, far) = (on_wire(plain.frame_bytes), on_wire(packet.frame_bytes));
    let (first, second) = if encapsulated { (near, far) } else { (far, near) };
    if settings.stamped_at_start {
        (Some(delay), delay.saturating_add(second - first))
    } else {
        (Some(delay.saturating_add(first - second)), delay)
    }
}
