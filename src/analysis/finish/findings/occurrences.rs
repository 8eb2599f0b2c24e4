//! The frames that show a finding: the first hundred and the last one.

use super::{Draft, SaView, Tap};
use crate::analysis::limits::FIRST_LISTED;
use crate::analysis::state::base::listed::{At, Firsts, Listed};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::sa::sequence::Edge;
use crate::analysis::state::sa::sequence::history::{Behind, History, Skipped};
use crate::analysis::state::sa::sequence::steps::Sighting;
use crate::model::report::{Capture, FrameRef, Occurrence};
use crate::model::{FramePos, Timestamp};

impl Draft {
    /// States where it was seen, with the frames that show it.
    pub(crate) fn listed(self, tap: &Tap<'_>, listed: &Listed, what: &str) -> Self {
        self.seen(tap, listed).frames(tap, listed.frames(), listed, what)
    }

    /// Lists frames: the first ones, and the last one seen.
    pub(crate) fn frames(self, tap: &Tap<'_>, first: &[At], seen: &Seen, what: &str) -> Self {
        let mut listed: Vec<Occurrence> = first.iter().map(|at| occurrence(tap, *at, 1, what.to_owned())).collect();
        if let Some(ends) = seen.ends().filter(|_| (listed.len() as u64) < seen.count && !listed.is_empty()) {
            listed.push(occurrence(tap, (ends.last, ends.last_time), 1, what.to_owned()));
        }
        let total = if listed.is_empty() { None } else { Some(seen.count) };
        self.occurring(listed, total)
    }

    /// Lists the frames of an SA that is wrong as such.
    pub(crate) fn of_suspect(self, tap: &Tap<'_>, sa: &SaView<'_>) -> Self {
        let first = sa.state.firsts.as_deref().map(Firsts::frames).unwrap_or_default();
        let what = format!("{} with SPI {}", sa.key.protocol.title(), sa.key.spi);
        self.frames(tap, first, &sa.state.seen, &what)
    }

    /// Lists some frames of an SA. Only where they are all of it, the filter of the SA shows them.
    pub(crate) fn of_some(self, tap: &Tap<'_>, sa: &SaView<'_>, some: &Listed, what: &str) -> Self {
        let all = some.count == sa.state.seen.count;
        self.listed(tap, some, what).filter(super::filter::of_sa(tap, sa).filter(|_| all))
    }

    /// Lists frames in clear, where no other frames are taken for such.
    pub(crate) fn of_clear(self, tap: &Tap<'_>, clear: &Seen) -> Self {
        let flows = &tap.stream.flows;
        if *clear != flows.clear {
            return self;
        }
        self.frames(tap, flows.clear_firsts.frames(), clear, "IP in clear")
    }

    /// Lists frames, and the first and the last of them.
    pub(crate) fn named(self, occurrences: Vec<Occurrence>, total: u64) -> Self {
        let (Some(first), Some(last)) = (occurrences.first(), occurrences.last()) else { return self };
        let place = |one: &Occurrence| FrameRef { capture: one.capture, frame: one.frame };
        let time = |one: &Occurrence| one.time_ns.map_or(Timestamp::UNKNOWN, Timestamp::from_ns);
        let (first, last) = ((place(first), time(first)), (place(last), time(last)));
        self.between(first.0, first.1, last.0, last.1).occurring(occurrences, Some(total))
    }

    /// Lists what was seen, and how often it occurred in all.
    pub(crate) fn occurring(mut self, occurrences: Vec<Occurrence>, total: Option<u64>) -> Self {
        self.finding.occurrences = occurrences;
        self.finding.occurrences_total = total;
        self
    }
}

/// One occurrence.
pub(crate) fn occurrence(tap: &Tap<'_>, (pos, time): At, count: u64, what: String) -> Occurrence {
    let FrameRef { capture, frame } = tap.frame(pos);
    Occurrence { capture, frame, time_ns: time.ns(), count, what }
}

/// Occurrences at edges of runs.
pub(crate) fn of_edges<'e>(
    tap: &Tap<'_>,
    edges: impl Iterator<Item = &'e Edge>,
    what: impl Fn(&Edge) -> String,
) -> Vec<Occurrence> {
    let mut all: Vec<Occurrence> = edges.map(|edge| occurrence(tap, (edge.pos, edge.time), 1, what(edge))).collect();
    keep_first_and_last(&mut all);
    all
}

/// The holes that gaps leave: numbers that never came. They are as many as the SA's figures count.
pub(crate) fn of_gaps(tap: &Tap<'_>, history: &History, captures: &[Capture]) -> Vec<Occurrence> {
    let holes = |gap: &Skipped| -> Vec<Occurrence> {
        let between = between(tap, gap, captures);
        let parts = gap.missing.iter().flatten();
        parts
            .map(|&(start, end)| {
                let what = format!("{} missing, between {between}", numbers(start, end));
                occurrence(tap, at(gap.after), start.abs_diff(end), what)
            })
            .collect()
    };
    let mut all: Vec<Occurrence> = history.gaps.iter().flat_map(holes).take(FIRST_LISTED).collect();
    append_last(&mut all, history.last_gap.iter().flat_map(|gap| holes(gap).pop()));
    all
}

/// Frames that came late.
pub(crate) fn of_late(tap: &Tap<'_>, history: &History) -> Vec<Occurrence> {
    let row = |behind: &Behind| {
        let (number, highest) = (behind.number() as u32, behind.highest as u32);
        let others = match behind.count {
            1 => String::new(),
            count => format!(", with the {} that follow", count.saturating_sub(1)),
        };
        occurrence(tap, at(behind.at), behind.count, format!("number {number} after {highest}{others}"))
    };
    listed(&history.late, history.last_late.as_ref(), row)
}

/// Frames with numbers that had been seen.
pub(crate) fn of_repeats(tap: &Tap<'_>, history: &History) -> Vec<Occurrence> {
    let row = |behind: &Behind| {
        let others = match behind.count {
            1 => String::new(),
            count => format!(" and the {} that follow", count.saturating_sub(1)),
        };
        occurrence(tap, at(behind.at), behind.count, format!("number {}{others} again", behind.number() as u32))
    };
    listed(&history.again, history.last_again.as_ref(), row)
}

fn listed(all: &[Behind], last: Option<&Behind>, row: impl Fn(&Behind) -> Occurrence) -> Vec<Occurrence> {
    let mut rows: Vec<Occurrence> = all.iter().take(FIRST_LISTED).map(&row).collect();
    append_last(&mut rows, last.map(row));
    rows
}

fn append_last(rows: &mut Vec<Occurrence>, last: impl IntoIterator<Item = Occurrence>) {
    let last = last.into_iter().next().filter(|last| rows.last() != Some(last));
    rows.extend(last);
}

/// Leaves the first hundred and the last one.
pub(crate) fn keep_first_and_last(all: &mut Vec<Occurrence>) {
    if all.len() > FIRST_LISTED.saturating_add(1) {
        let last = all.pop();
        all.truncate(FIRST_LISTED);
        all.extend(last);
    }
}

/// `frames 347 and 348`, with the captures where they differ.
pub(crate) fn between(tap: &Tap<'_>, gap: &Skipped, captures: &[Capture]) -> String {
    let (before, after) = (tap.frame(gap.before.pos), tap.frame(gap.after.pos));
    if before.capture == after.capture {
        return format!("frames {} and {}", before.frame, after.frame);
    }
    let of = |frame: FrameRef| {
        let path = captures.get(frame.capture as usize).map_or("", |capture| capture.path.as_str());
        format!("frame {} of {path}", frame.frame)
    };
    format!("{} and {}", of(before), of(after))
}

/// `number 331`, `numbers 331-333`: as packets bear them.
fn numbers(start: i64, end: i64) -> String {
    let last = end.saturating_sub(1);
    if start == last { format!("number {}", start as u32) } else { format!("numbers {}-{}", start as u32, last as u32) }
}

fn at(mark: Sighting) -> (FramePos, Timestamp) {
    (mark.pos, mark.time)
}
