//! Why a direction's loss is not known, where its pairs say so themselves.

mod counted;
mod for_gateway;
mod left_over;
mod let_through;
mod offloaded;
mod past;
mod proved;
mod unrecorded;

pub(super) use self::left_over::LeftOver;
use self::past::hardly_found;
use crate::matching::Matcher;
use crate::matching::content::alike::FARTHEST_ALIKE;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::doubt;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::SaTally;
use crate::matching::measure::watch::Watch;
use crate::model::Address;
use crate::model::pairs::Undetermined;

/// Limit on guesses among pairs by order where packets are left over, as 1 in N.
const MOST_GUESSED: u64 = 8;
/// The same of pairs that may be others, where packets of both sides are left over.
const MOST_AMBIGUOUS: u64 = 4;

/// A share of the lost packets of which is not known which SA they were of, as 1 in N.
const OF_SHARED: u64 = 10;

/// Whether too many packets of either side have no counterpart: into the tunnel none appears, and out of it none. Where strangers are
/// expected in the tunnel, those count that stand beside a plaintext packet without counterpart.
fn is_adrift(sa: &SaTally, missed: u64, (partial, crossed): (bool, u64)) -> bool {
    /// Limits on unmatched packets: a number, and a share of the pairs as 1 in N.
    const FEW: u64 = 8;
    const OF: u64 = 24;
    /// The same of strangers beside lost packets, in lost packets.
    const BESIDE: u64 = 2;
    const OF_LOST: u64 = 10;
    /// A share of the pairs, as 1 in N, that is many on both sides whoever sends.
    const OF_BOTH: u64 = 16;
    /// Packets by which those of one side may be more.
    const FEW_MORE: u64 = 2;
    let (strangers, lost) = if sa.encapsulated == Some(false) { (missed, sa.alone) } else { (sa.alone, missed) };
    let many =
        if partial { crossed > BESIDE && crossed * OF_LOST > lost } else { strangers > FEW.max(sa.matched / OF) };
    let both = strangers.min(lost).saturating_mul(OF_BOTH) > sa.matched && lost > FEW;
    // They may be each other, or lost and unseen by the plain tap.
    let either = sa.encapsulated == Some(false) || sa.may_be_crossed();
    // As many of both sides may be each other: packets that overtook others, or waited longer than usual.
    let alike = strangers.saturating_mul(2) >= lost && strangers <= lost.saturating_mul(3).saturating_add(FEW_MORE);
    lost > 0 && (alike || many || both || either && are_more_than_few(strangers.min(lost), strangers.max(lost)))
}

/// Whether more numbers are missing than plaintext packets: packets that were encrypted and lost must be among the plaintext packets that
/// are taken for others, or for outside the tunnel's time.
fn is_uncounted(sa: &SaTally, missing: u64, missed: u64) -> bool {
    /// By how much they may differ at the ends: a number, and a share as 1 in N.
    const FEW: u64 = 2;
    const OF: u64 = 10;
    // Of what other networks send into the tunnel as large a share is lost.
    let own = missing.saturating_mul(sa.matched) / (sa.matched + sa.alone).max(1);
    sa.encapsulated == Some(true) && sa.uncovered == 0 && own > missed + FEW.max(own / OF)
}

/// Why a loss of `lost` packets is not known where content is hidden from pairing by content; `plain`: plaintext packets without counterpart.
fn unread(sa: &SaTally, plain: u64, lost: u64) -> Option<Undetermined> {
    // What came out of the tunnel was in it; into it other networks send, too, but these packets show that they are others.
    let tunnelled = if sa.encapsulated == Some(false) { sa.alone } else { sa.unread };
    let is_hidden = !sa.is_by_order() && are_more_than_few(plain.min(tunnelled), lost);
    is_hidden.then(|| doubt::unread(plain, tunnelled))
}

/// Why a loss is not known where packets repeat others. Those that were sent again at once are in the tunnel too: far fewer of them have no
/// counterpart.
fn repeated(repeated: u64, missed: u64) -> Option<Undetermined> {
    // Of few, each may be the copy of a packet that was found.
    let may_be_copies = are_more_than_few(repeated, missed) || missed <= repeated;
    (missed > 0 && may_be_copies && missed > repeated / 4).then(|| doubt::repeated(repeated, missed))
}

/// Why a loss of `lost` packets is not known where packets are equal to others; `again`: plaintext packets that repeat one; `edge`: packets that
/// may be inside the time of both captures or not.
fn among_equals(sa: &SaTally, (missed, lost): (u64, u64), again: u64, edge: u64) -> Option<Undetermined> {
    // Where nothing is left over, only packets that others overtook may have been lost and sent again: a queue keeps their order.
    /// Of guesses a few change places, as 1 in N pairs.
    const OF_CHANGED: u64 = 64;
    /// Packets of both sides that order alone leaves over, at most.
    const MOST_CROSSED: u64 = 2;
    let sent_again = sa.strays.max(sa.guessed).min(sa.reordered);
    let strays = if lost > 0 || sent_again * OF_CHANGED <= sa.matched { sa.strays } else { sent_again };
    // Guesses that were made before the usual time was known leave others over; where nothing is, they are as many as they should be.
    let strays = if lost > 0 { strays.max(sa.far_guesses) } else { strays };
    if !sa.is_by_order() && are_more_than_few(strays, lost) {
        return Some(doubt::far_apart(strays, lost));
    }
    let is_guessed = !sa.is_by_order() && sa.is_guessed();
    // Where most have equals more than two of both sides may be each other, or the plain tap missed some; of few equals, as many.
    let both = missed.min(sa.alone);
    let is_crossed = sa.is_alike() && both > MOST_CROSSED || both > 0 && both * 2 >= lost;
    let is_crossed = !sa.is_by_order() && sa.ambiguous > 0 && is_crossed;
    if is_crossed || is_guessed && are_more_than_few(both, missed.max(sa.alone)) {
        return Some(doubt::equal_on_both_sides(missed, sa.alone));
    }
    if is_guessed && are_more_than_few(edge, lost) {
        return Some(doubt::equal_at_an_edge(edge));
    }
    // Of those that the tunnel's capture covers, at most each second one repeats another.
    repeated(again.min((sa.matched + missed) / 2), missed)
}

/// Whether packets that contradict a loss are more than an edge or a stray pair explains.
fn are_more_than_few(count: u64, lost: u64) -> bool {
    /// A number, and a share of the lost ones as 1 in N.
    const FEW: u64 = 2;
    const OF: u64 = 10;
    count > FEW.max(lost / OF)
}

impl Matcher {
    /// Whether the way of an SA past the taps is a guess: that of pairs that are mostly guesses and whose times contradict each other, or that are in
    /// doubt while the packets that answer them fit in several ways, as they may fit this one.
    pub(super) fn is_way_doubted(&self, at: u32, sa: &SaTally, doubted: bool, clock: &Clock) -> bool {
        let is_contradicted = sa.is_guessed() && self.contradicted(clock);
        let is_alone = sa.is_guessed() || !self.settings.one_clock;
        is_contradicted || doubted && is_alone && self.order.is_answer_open(at) || self.order.is_way_guessed(at)
    }

    /// Why it is not known how many packets of a direction were lost, as far as its pairs say so themselves.
    pub(super) fn unsettled(
        &self,
        at: u32,
        sa: &SaTally,
        missing: u64,
        losses: &Losses,
        clock: &Clock,
        left: &LeftOver,
    ) -> Option<Undetermined> {
        let missed = losses.missed.get(&at).copied().unwrap_or(0);
        if let Some(own) = self.disordered(at, sa, (missing, missed, losses), clock) {
            return Some(own);
        }
        if let Some(own) = hardly_found(at, sa, missed, losses) {
            return Some(own);
        }
        // Windows cannot be compared without a clock.
        let uncovered = losses.uncovered.get(&at).copied().unwrap_or(0) + sa.uncovered;
        let aside = losses.aside.get(&at).copied().unwrap_or(0);
        let left_over = missed > 0 || sa.alone > 0 || uncovered > 0 || aside > 0;
        let timed = clock.basis == Basis::OneClock || (clock.basis != Basis::Unknown && sa.is_anchored());
        if !timed && sa.matched > 0 && left_over {
            return Some(doubt::timeless());
        }
        let lost = if sa.encapsulated == Some(false) { sa.alone } else { missed };
        if let Some(own) = self.unseen(at, sa, (missed, missed + aside, lost), losses) {
            return Some(own);
        }
        let again = losses.repeated.get(&at).copied().unwrap_or(0);
        // Each packet in the tunnel has a plaintext packet, and each missing number one without: that is all, where none lies beyond an edge.
        let is_closed = uncovered == 0 && self.is_closed(sa, missing, missed + aside);
        let unproved = self.unproved(at, sa, (missed, lost)).filter(|_| !is_closed && (left_over || missing > 0));
        if let Some(own) = unproved.or_else(|| among_equals(sa, (missed, lost), again, self.edge(sa, uncovered))) {
            return Some(own);
        }
        // Where many pairs are guesses, what is left over is one, too; most of all where packets of both sides are.
        let unsure = sa.guessed.saturating_mul(MOST_GUESSED) > sa.matched && (missed > 0 || sa.alone > 0)
            || sa.ambiguous.saturating_mul(MOST_AMBIGUOUS) > sa.matched
                && self.missed_beside(at, losses) > 0
                && sa.alone > 0;
        if sa.is_by_order() && unsure && !is_closed && !self.is_within(at, sa, missed) {
            return Some(doubt::guessed(sa.guessed.max(sa.ambiguous), sa.matched));
        }
        if sa.is_by_order() {
            let beside = self.ledger.sas.get(at as usize).and_then(|(_, way)| left.beside.get(*way)).copied();
            let beside = beside.filter(|count| lost > 0 && are_more_than_few(*count, lost));
            if let Some(count) = beside.or_else(|| self.lost_behind_silence(at, sa, left)) {
                return Some(doubt::beside_silence(count, lost));
            }
        }
        let restarted = || self.restarted(at, sa, missed);
        let uncounted = || is_uncounted(sa, missing, missed).then(|| doubt::uncounted(missing, missed));
        let edges = || self.beside_edges(at, sa, lost, left);
        if let Some(own) = restarted().or_else(uncounted).or_else(edges) {
            return Some(own);
        }
        let arrived = losses.arrived(at, sa);
        let is_half = arrived > 0 && arrived * 2 >= missed;
        (is_half || are_more_than_few(arrived, missed)).then(|| doubt::arrived(arrived, missed))
    }

    /// Why numbers that were there before may be those of an SA that counts anew: a replay has no plaintext packet, and one of these has.
    fn restarted(&self, at: u32, sa: &SaTally, missed: u64) -> Option<Undetermined> {
        if !self.watches.get(at as usize).is_some_and(Watch::fell) || sa.repeated == 0 {
            return None;
        }
        let are_alike = are_more_than_few(sa.repeated, missed) && missed.saturating_mul(2) >= sa.repeated;
        if are_alike && missed > 0 {
            return Some(doubt::restarted(sa.repeated, missed));
        }
        // Into the tunnel what has a number was not lost before it.
        let pairs = self.ledger.anew.get(&at).copied().filter(|_| sa.encapsulated == Some(false)).unwrap_or(0);
        are_more_than_few(pairs, sa.repeated).then(|| doubt::recounted(sa.repeated, pairs))
    }

    /// Why packets near the edges of the captures contradict what these seem to cover.
    fn beside_edges(&self, at: u32, sa: &SaTally, lost: u64, left: &LeftOver) -> Option<Undetermined> {
        /// Packets of both sides beyond the same end: a number, and a share of the pairs as 1 in N.
        const FEW: u64 = 8;
        const OF: u64 = 16;
        let tunnel = self.tunnel_of(at).filter(|_| sa.matched > 0)?;
        let between = left.between.get(&tunnel).copied().unwrap_or(0);
        if are_more_than_few(between, lost) {
            return Some(doubt::between(between));
        }
        let beyond = left.beyond.get(&tunnel).copied().filter(|_| !self.settings.one_clock)?;
        (beyond > FEW && beyond * OF > sa.matched).then(|| doubt::beyond(beyond))
    }

    /// Why it is not known how many packets of a direction were lost, where the order of packets was not found or was lost. `missing`: numbers;
    /// `missed`: plaintext packets.
    fn disordered(
        &self,
        at: u32,
        sa: &SaTally,
        (missing, missed, losses): (u64, u64, &Losses),
        clock: &Clock,
    ) -> Option<Undetermined> {
        // Out of the tunnel, one SA's plaintext packet may have been taken for another's.
        let beside =
            if sa.encapsulated == Some(false) && sa.is_by_order() { self.missed_beside(at, losses) } else { 0 };
        let around = self.left_around(at, sa, losses).max(beside);
        if (self.contradicted(clock) || sa.is_untimely()) && sa.is_by_order() {
            return Some(doubt::untimely(self.settings.one_clock));
        }
        if sa.is_by_order() && self.order.is_way_guessed(at) && (missed > 0 || sa.alone > 0 || missing > 0) {
            return Some(doubt::undirected(missed, sa.alone, missing));
        }
        if sa.is_hardly_found() {
            return Some(doubt::unfound(missing));
        }
        // Packets without counterpart on both sides: the order was lost.
        if sa.is_by_order() && is_adrift(sa, around, self.order.strangers(at)) {
            return Some(doubt::adrift(around, sa.alone));
        }
        // Numbers are missing: what came out of the tunnel without them may be what its tap did not see, and what is left over lost; or they are
        // each other.
        if sa.encapsulated == Some(false) && sa.is_by_order() && around.min(sa.alone).min(missing) > 0 {
            return Some(doubt::missed_or_adrift(around, sa.alone, missing));
        }
        // They may be lost packets and others where more is lost.
        let lost = if sa.encapsulated == Some(false) { sa.alone } else { missed };
        if lost > 0 && are_more_than_few(sa.overtaken, lost) {
            return Some(doubt::adrift(around + sa.overtaken, sa.alone + sa.overtaken));
        }
        let fitting = self.order.lane_at(at).map_or(0, |lane| lane.fitting);
        if lost > 0 && sa.is_by_order() && are_more_than_few(fitting, 0) && fitting * 2 >= lost {
            return Some(doubt::fitting(fitting));
        }
        if let Some((plain, tunnelled)) = losses.left_out.get(&at) {
            return Some(doubt::left_out(*plain, *tunnelled));
        }
        let torn = self.order.torn(at).filter(|_| sa.is_by_order() && (missed > 0 || sa.alone > 0));
        torn.map(|(plain, tunnelled)| doubt::adrift(plain, tunnelled))
    }

    /// How many packets of an SA may be inside the time of both captures or not, where their pairs are guesses that do not say how long they are
    /// on their way. `uncovered`: packets that are taken to be outside.
    fn edge(&self, sa: &SaTally, uncovered: u64) -> u64 {
        let [(from, to), _] = self.ledger.recorded;
        let span = to.saturating_sub(from).max(1) as f64;
        if uncovered == 0 { 0 } else { (FARTHEST_ALIKE as f64 / span * sa.matched as f64).min(uncovered as f64) as u64 }
    }

    /// Why packets without counterpart may have passed where pairing does not see them. `plain`: plaintext packets without counterpart, lost or not.
    fn unseen(
        &self,
        at: u32,
        sa: &SaTally,
        (missed, plain, lost): (u64, u64, u64),
        losses: &Losses,
    ) -> Option<Undetermined> {
        if let Some(count) = losses.torn.get(&at) {
            return Some(doubt::torn(*count));
        }
        // What an ICMP error explains is dropped for its size, not kept out for its port.
        let unfound = losses.unfound.get(&at).filter(|_| !losses.mtus.contains_key(&at));
        if let Some((port, count)) = unfound.filter(|(_, count)| are_more_than_few(*count, missed)) {
            return Some(doubt::unserved(*port, *count));
        }
        let shared = losses.shared.get(&at).copied().filter(|_| sa.encapsulated != Some(false)).unwrap_or(0);
        if are_more_than_few(shared, 0) || missed > 0 && shared * OF_SHARED > missed {
            return Some(doubt::shared(shared));
        }
        let strange = losses.strange.get(&at).copied().filter(|_| sa.encapsulated == Some(false)).unwrap_or(0);
        if are_more_than_few(strange, lost) {
            return Some(doubt::strange(strange));
        }
        if let Some((mtu, count)) = losses.refused.filter(|(mtu, _)| sa.encapsulated == Some(true) && sa.fits(*mtu)) {
            return Some(doubt::refused(mtu, count));
        }
        if let Some(count) = losses.offloaded.get(&at).filter(|_| lost > 0) {
            return Some(doubt::offloaded(*count));
        }
        let told = unread(sa, plain, lost).or_else(|| self.partial(at, sa, (lost, losses)));
        let told = told.or_else(|| self.unshown(at, sa, (lost, losses))).or_else(|| self.for_gateway(at, sa, lost));
        told.or_else(|| self.let_through(at, sa, lost, losses))
    }

    /// Why packets out of the tunnel that the plain tap did not show may not be lost: into the same tunnel go packets that it did not show either, so
    /// that it sees a part of the traffic only, or misses frames.
    fn partial(&self, at: u32, sa: &SaTally, (lost, losses): (u64, &Losses)) -> Option<Undetermined> {
        let (src, dst) = self.tunnel_of(at).filter(|_| sa.encapsulated == Some(false) && lost > 0)?;
        let (mut unseen, mut pairs) = (0, 0);
        let into =
            |other: u32, own: &SaTally| own.encapsulated != Some(false) && self.tunnel_of(other) == Some((dst, src));
        for (other, own) in (0..).zip(&self.tally.sas).filter(|(other, own)| into(*other, own)) {
            let missed = match own.encapsulated {
                // Without pairs any plaintext packet that was not found may be one of them.
                None => losses.in_no_sa + losses.unmatched_plain,
                // By order these may be the plaintext packets without counterpart.
                _ if own.is_by_order() || own.is_alike() => losses.missed.get(&other).copied().unwrap_or(0),
                _ => 0,
            };
            unseen += own.alone.saturating_sub(missed);
            pairs += own.matched;
        }
        // As large a share of the packets of this direction, or as many: what gateways send each other does not grow with the traffic.
        let expected = (unseen.saturating_mul(sa.matched) / pairs.max(1)).max(unseen.min(1));
        let expected = if sa.is_by_order() && unseen * 2 >= lost { expected.max(lost) } else { expected };
        (expected * 2 >= lost || are_more_than_few(expected, lost)).then(|| doubt::partial(unseen, lost))
    }

    /// Endpoints of the tunnel that an SA belongs to.
    fn tunnel_of(&self, sa: u32) -> Option<(Address, Address)> {
        self.order.sas.get(sa as usize).map(|info| (info.src, info.dst))
    }

    /// Why an SA has no pairs. Of its missing numbers only those count that were lost between the taps.
    pub(super) fn open(&self, at: u32, sa: &SaTally, missing: u64, losses: &Losses) -> Option<Undetermined> {
        if sa.matched > 0 {
            return None;
        }
        if let Some(unseen) = self.missed_beside_tap(at, (sa.alone + sa.uncovered, missing), losses) {
            return self.unpaired(at, sa, 0).map(|open| doubt::unseen_numbers(open, missing, unseen));
        }
        let between = if missing > 0 { self.is_lost_between(at, sa, missing) } else { Some(true) };
        let open = self.unpaired(at, sa, if between == Some(true) { missing } else { 0 })?;
        Some(match between {
            Some(true) => open,
            Some(false) => doubt::before_both(open, missing),
            None => doubt::somewhere(open, missing),
        })
    }

    /// The same, with the missing numbers that count.
    fn unpaired(&self, at: u32, sa: &SaTally, missing: u64) -> Option<Undetermined> {
        let cut = self.order.sas.get(at as usize).map_or(0, |info| info.cut);
        if cut * 2 > sa.alone + sa.uncovered {
            return Some(doubt::cut(cut, sa.alone + sa.uncovered, missing));
        }
        let alignments = self.order.open_of(at);
        // Where nothing was paired at all, the captures may have nothing in common.
        if alignments == 0 {
            /// Fewer packets may be on their way at the edges of captures.
            const ENOUGH: u64 = 16;
            return match () {
                () if sa.alone == 0 || !self.tally.has_pairs() => None,
                () if self.order.is_elsewhere(at) => Some(doubt::elsewhere(missing)),
                () if self.order.is_unfound(at) => Some(doubt::unfound(missing)),
                () if sa.alone >= ENOUGH => Some(doubt::absent(sa.alone, missing)),
                () => None,
            };
        }
        Some(Undetermined {
            alignments: alignments as u64,
            reason: format!(
                "packets of equal length at an even pace: at least {alignments} alignments explain lengths, numbers and times equally well"
            )
            .into(),
            decide: "packets of different sizes in the load, one marker packet, uneven gaps between packets, or the keys (--config)".into(),
            missing_numbers: missing,
        })
    }
}
