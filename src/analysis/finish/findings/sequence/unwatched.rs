//! Missing numbers that may have passed uncaptured, in a hole between two files, among packets that the capturing host dropped or in frames that
//! were cut too short, and those that may not have been sent.

use super::super::{SaView, Tap, plural};
use crate::analysis::limits::RESTART_FALL;
use crate::analysis::settings::Settings;
use crate::analysis::state::sa::sequence::history::Skipped;
use crate::model::report::{Capture, Finding};

/// Of the numbers that an SA misses, those that may have passed while nothing was captured.
pub(super) struct Unwatched {
    lost: u64,
    in_holes: u64,
    /// Of these, how many the SA would have sent at the pace that was seen; nothing where all of them fit it.
    at_pace: Option<u64>,
    /// Whether the link cannot have carried all numbers of a gap in the hole in it.
    is_bounded: bool,
    /// Packets that the capturing host says it dropped, of all traffic.
    dropped: u64,
    /// Frames of its directions that were cut off before anything told which SA and number they are of.
    cut: u64,
    /// Those of leaps ahead into whose time they do not fit.
    leapt: u64,
}

/// The bit rate of a link of which none is given: no faster one carries an SA.
const FASTEST_LINK_BPS: u64 = 100_000_000_000;
/// Octets on layer 1 of the shortest Ethernet frame.
const SHORTEST: i128 = 84;
/// Times the rate of an SA that packets may have had which were lost at once.
const FASTER: i128 = 10;
/// Packets that a sender makes at once of what it is given: 64 KiB in segments of 1,448 bytes. They follow each other by a microsecond or more.
const AT_ONCE: i128 = 45;
const APART_NS: i128 = 1_000;

/// A hole between two files of a tap, or what the first of them lacks because it is cut or damaged: the captures before and after it, and its time.
pub(super) struct HoleSpan {
    captures: (u32, u32),
    times: (i64, i64),
    /// Whether the file before it was cut or damaged. Then frames are missing, even where the pause between the files is short.
    is_cut: bool,
    /// The bit rate of the link.
    link_bps: u64,
}

/// How many of the missing numbers of a gap may have passed in a hole.
#[derive(Clone, Copy, Default)]
struct Room {
    /// As many as the link may carry.
    most: u64,
    /// As many as the SA is known to send, but somewhat faster or at once.
    likely: u64,
    /// As many as it is known to send in that time.
    at_pace: u64,
}

impl Room {
    fn join(self, other: Self, missing: u64) -> Self {
        let sum = |one: u64, other: u64| one.saturating_add(other).min(missing);
        let Self { most, likely, at_pace } = other;
        Self { most: sum(self.most, most), likely: sum(self.likely, likely), at_pace: sum(self.at_pace, at_pace) }
    }
}

impl HoleSpan {
    /// The holes of a tap that were found, and those behind files that are not complete.
    pub(super) fn of(findings: &[Finding], tap: &Tap<'_>, captures: &[Capture], settings: &Settings) -> Vec<Self> {
        let link_bps = settings.link_rate_bps.unwrap_or(FASTEST_LINK_BPS);
        let own = findings.iter().filter(|finding| finding.code == "capture-hole" && finding.tap == tap.name);
        let span = |finding: &Finding| {
            let captures = (finding.first_frame?.capture, finding.last_frame?.capture);
            Some(Self { captures, times: (finding.first_ns?, finding.last_ns?), is_cut: false, link_bps })
        };
        let pairs = tap.captures.iter().copied().zip(tap.captures.iter().skip(1).copied());
        let behind = pairs.filter_map(|(own, next)| {
            let (cut, after) = (captures.get(own as usize)?, captures.get(next as usize)?);
            let times = (cut.last_ns?, after.first_ns?);
            let span = Self { captures: (own, next), times, is_cut: true, link_bps };
            (!cut.complete && times.0 <= times.1).then_some(span)
        });
        own.filter_map(span).chain(behind).collect()
    }

    /// How many of the `missing` numbers of a gap may have passed while the capture had a hole. The SA is known to send `packets` in `ns` nanoseconds at
    /// its fastest. All of them, where the hole lasts for most of the gap.
    fn room(&self, gap: &Skipped, missing: u64, (packets, ns): (u64, i64), tap: &Tap<'_>) -> Room {
        let (before, after) = (tap.frame(gap.before.pos).capture, tap.frame(gap.after.pos).capture);
        if !(before <= self.captures.0 && self.captures.1 <= after) {
            return Room::default();
        }
        let lasts = gap.after.time.since(gap.before.time).unwrap_or(i64::MAX);
        let hole = self.times.1.saturating_sub(self.times.0);
        if hole >= lasts / 2 {
            return Room { most: missing, likely: missing, at_pace: missing };
        }
        if !self.is_cut {
            return Room::default();
        }
        let hole = i128::from(hole.max(0));
        let sent =
            |faster: i128| i128::from(packets).saturating_mul(hole).saturating_mul(faster) / i128::from(ns.max(1));
        let at_once = AT_ONCE.min(hole / APART_NS);
        let carried = i128::from(self.link_bps).saturating_mul(hole) / (SHORTEST * 8 * 1_000_000_000);
        let [most, likely, at_pace] = [carried, sent(FASTER).max(at_once), sent(1)]
            .map(|packets| u64::try_from(packets.max(1)).unwrap_or(u64::MAX).min(missing));
        Room { most, likely: likely.min(most), at_pace: at_pace.min(most) }
    }
}

/// The highest rate of an SA in a time bin, or that of all its time: packets and nanoseconds.
fn fastest(tap: &Tap<'_>, sa: &SaView<'_>, lasted: Option<i64>) -> (u64, i64) {
    let (bins, id) = sa.flow_bins.map_or((&tap.stream.sa_bins, sa.id), |bins| (bins, 0));
    let most = bins.of(id).iter().map(|bin| bin.sums.frames).max().unwrap_or(0);
    let (packets, ns) = (sa.state.seen.count, lasted.unwrap_or(i64::MAX).max(1));
    let of_bin = i128::from(most) * i128::from(ns) >= i128::from(packets) * i128::from(bins.bin_ns());
    if of_bin { (most, bins.bin_ns()) } else { (packets, ns) }
}

impl Unwatched {
    /// `unread`: frames of the SA that were cut off before their number.
    pub(super) fn of(
        tap: &Tap<'_>,
        holes: &[HoleSpan],
        sa: &SaView<'_>,
        (lost, unread): (u64, u64),
        captures: &[Capture],
    ) -> Self {
        let gaps = sa.history.as_deref().map_or(&[][..], |history| &history.gaps);
        let missing = |gap: &Skipped| {
            let parts = gap.missing.iter().flatten();
            parts.map(|(start, end)| start.abs_diff(*end)).sum::<u64>()
        };
        let lasted = tap.clock.duration_ns(&sa.state.seen, tap.interfaces_of(sa.state.directions.first()));
        let pace = fastest(tap, sa, lasted);
        let room = |gap: &Skipped| {
            let missing = missing(gap);
            let rooms = holes.iter().map(|hole| hole.room(gap, missing, pace, tap));
            rooms.fold(Room::default(), |all, room| all.join(room, missing))
        };
        let all = gaps.iter().fold(Room::default(), |all, gap| all.join(room(gap), lost));
        let is_bounded = gaps.iter().any(|gap| (1..missing(gap)).contains(&room(gap).most));
        let is_leap = |gap: &&Skipped| {
            let room = gap.after.time.since(gap.before.time).zip(lasted).map(|(pause, lasted)| {
                // At the rate of the time beside the leap.
                let beside = i128::from(lasted.saturating_sub(pause).max(1));
                i128::from(sa.state.seen.count) * i128::from(pause.max(0)) * FASTER / beside
            });
            missing(gap) > RESTART_FALL.unsigned_abs().into()
                && room.is_some_and(|room| i128::from(missing(gap)) > room)
        };
        let leapt = gaps.iter().filter(is_leap).map(|gap| missing(gap) - room(gap).most).sum::<u64>();
        // Whoever rotates files counts on in the next one.
        let drops =
            |capture: &Capture| capture.interfaces.iter().filter_map(|own| own.drops).fold(0, u64::saturating_add);
        let own = tap.captures.iter().filter_map(|id| captures.get(*id as usize));
        let directions = sa.state.directions.first();
        let cut_short = tap.stream.notices.cut_short.iter();
        let cut =
            cut_short.filter(|(id, _)| **id < u64::BITS && directions >> **id & 1 == 1).map(|(_, cut)| cut.unnumbered);
        Self {
            lost,
            in_holes: all.most,
            at_pace: (all.likely < all.most).then_some(all.at_pace),
            is_bounded,
            dropped: own.map(drops).max().unwrap_or(0),
            cut: cut.sum::<u64>() + unread,
            leapt: leapt.min(lost - all.most),
        }
    }

    /// Whether most are of leaps ahead.
    pub(super) fn is_mostly_leapt(&self) -> bool {
        self.leapt.saturating_mul(2) > self.lost
    }

    /// Whether most may be numbers of frames that were cut.
    pub(super) fn is_mostly_cut(&self) -> bool {
        self.cut.saturating_mul(2) > self.lost
    }

    /// Those that were sent and are missing although the capture was looking, as far as it says.
    pub(super) fn watched(&self) -> u64 {
        let within = self.lost.saturating_sub(self.in_holes).saturating_sub(self.leapt);
        if self.dropped.saturating_add(self.cut) >= within { 0 } else { within }
    }

    /// What is said of the others, to follow a sentence.
    pub(super) fn said(&self) -> String {
        let mut said = String::new();
        if self.in_holes > 0 {
            let are = match (self.at_pace.is_some() || self.is_bounded, self.in_holes) {
                (true, _) => "may be",
                (false, 1) => "is",
                (false, _) => "are",
            };
            said = format!(
                " {} of them {are} missing in a hole between two files, or in the rest of one that is cut.",
                self.in_holes
            );
            if let Some(packets) = self.at_pace {
                let packets = plural(packets, "packet");
                said.push_str(&format!(
                    " At the highest rate of the SA that was seen, its time has room for about {packets}: the others were sent faster, or lost."
                ));
            }
            if self.is_bounded {
                said.push_str(" The link cannot carry more in its time.");
            }
        }
        if self.leapt > 0 {
            said.push_str(&format!(
                " {} of them are skipped by leaps into whose time they do not fit at {FASTER} times the rate of the SA: they were not sent, or a burst \
                 was lost.",
                self.leapt
            ));
        }
        if self.dropped > 0 {
            let dropped = plural(self.dropped, "packet");
            said.push_str(&format!(" The capturing host dropped {dropped}, which may be among them."));
        }
        if self.cut > 0 {
            let (frames, were) = (plural(self.cut, "frame"), if self.cut == 1 { "was" } else { "were" });
            said.push_str(&format!(
                " {frames} of this direction {were} cut off before the sequence number: missing numbers may be theirs."
            ));
        }
        said
    }
}
