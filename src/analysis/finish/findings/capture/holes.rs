//! Times between the files of a rotation that no file covers.
//!
//! A pause alone proves nothing: traffic has pauses, and rotations may end a file in each of them. So a pause is compared with those within the
//! files and at the other borders, the missing sequence numbers with what the SAs would have sent in it, and the names are looked at, too.

use super::super::super::time::duration;
use super::super::{Draft, Tap, plural};
use crate::analysis::Succession;
use crate::model::Timestamp;
use crate::model::counted_name::SeriesName;
use crate::model::report::{Capture, Finding, FrameRef, Occurrence, Report, Severity};

/// Shorter pauses between files are no holes by themselves.
const HOLE_NS: i64 = 1_000_000_000;

/// Fewer missing numbers than this share of those that the SAs would have sent are lost packets.
const LEAST_SHARE: u64 = 10;

/// A pause between two files.
struct Pause<'r> {
    before: (u32, &'r Capture),
    after: (u32, &'r Capture),
    last_ns: i64,
    first_ns: i64,
    /// Between the last frame of the one and the first of the other.
    ns: i64,
    border: Option<Succession>,
    names: Names,
}

/// What the names of two files say of a file between them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// They do not count.
    Silent,
    /// There is no number between them.
    CountOn,
    /// The later file has the lower number: a ring of files began anew, or they are no series.
    Fall,
    /// A number between them is free.
    LeaveRoom,
}

/// What the sequence numbers say of a pause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// No SA goes on.
    Silent,
    /// As few are missing as are lost otherwise, or none.
    GoOn,
    /// Some are missing, fewer than would have been sent.
    Some,
    /// As many are missing as would have been sent, or as a file holds.
    Missing,
}

pub(super) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, asked: Option<u64>, report: &Report) {
    let captures: Vec<_> =
        tap.captures.iter().filter_map(|&id| Some((id, report.captures.get(id as usize)?))).collect();
    let borders = tap.borders.iter().skip(1).copied().chain(std::iter::repeat(None));
    let pauses: Vec<Pause<'_>> =
        captures.windows(2).zip(borders).filter_map(|(pair, border)| Pause::of(pair, border)).collect();
    let within = tap.stream.captures().iter().map(|capture| capture.longest_pause_ns).max().unwrap_or(0);
    // Pauses that numbers show to be holes are no measure for others.
    let mut usual: Vec<i64> =
        pauses.iter().filter(|pause| pause.numbers() != Numbers::Missing).map(|pause| pause.ns).collect();
    usual.sort_unstable();
    let longest = usual.pop();
    for pause in &pauses {
        let other = if longest == Some(pause.ns) { usual.last().copied() } else { longest };
        if pause.is_hole(asked, within, other.unwrap_or(0)) {
            findings.push(pause.finding(tap, within));
        }
    }
}

impl<'r> Pause<'r> {
    fn of(pair: &[(u32, &'r Capture)], border: Option<Succession>) -> Option<Self> {
        let [before, after] = pair else { return None };
        let (last_ns, first_ns) = (before.1.last_ns?, after.1.first_ns?);
        let (own, next) = (SeriesName::of(&before.1.path), SeriesName::of(&after.1.path));
        let names = match own.step_to(&next) {
            Some(step) if step.leaves_room => Names::LeaveRoom,
            Some(step) if step.is_next => Names::CountOn,
            None if next.step_to(&own).is_some() => Names::Fall,
            _ => Names::Silent,
        };
        let ns = first_ns.saturating_sub(last_ns);
        Some(Self { before: *before, after: *after, last_ns, first_ns, ns, border, names })
    }

    /// What the numbers say. A number that is missing proves nothing: it may be lost.
    fn numbers(&self) -> Numbers {
        let border = self.border.unwrap_or_default();
        match border.missing {
            0 if border.joined > 0 => Numbers::GoOn,
            0 => Numbers::Silent,
            missing => {
                let sent = self.would_have_sent();
                // Where each file holds one burst, the pauses between them are no time in which numbers are sent.
                let file = border.numbers_before.max(border.numbers_after);
                if missing >= sent.min(file).div_ceil(2) || self.names == Names::LeaveRoom {
                    Numbers::Missing
                } else if missing >= sent.div_ceil(LEAST_SHARE) {
                    Numbers::Some
                } else {
                    Numbers::GoOn
                }
            }
        }
    }

    /// Numbers that the SAs which go on would have sent in the pause, at the rate of the slower of both files.
    fn would_have_sent(&self) -> u64 {
        let border = self.border.unwrap_or_default();
        let sent = |capture: &Capture, numbers: u64| {
            let lasts = capture.last_ns?.checked_sub(capture.first_ns?).filter(|ns| *ns > 0)?;
            let sent = i128::from(numbers).saturating_mul(self.ns.max(0).into()).checked_div(lasts.into())?;
            u64::try_from(sent).ok()
        };
        let (own, next) = (sent(self.before.1, border.numbers_before), sent(self.after.1, border.numbers_after));
        own.into_iter().chain(next).min().unwrap_or(0)
    }

    /// `within`: the longest pause in any file; `other`: the longest one at another border.
    fn is_hole(&self, asked: Option<u64>, within: i64, other: i64) -> bool {
        /// Fewer numbers may be lost at once.
        const MANY: u64 = 32;
        let (numbers, border) = (self.numbers(), self.border.unwrap_or_default());
        // Without --hole, any pause at which sequence numbers are missing may be a hole where a file may be missing: files of a fast link last
        // less than a second.
        let is_short =
            matches!(numbers, Numbers::Missing | Numbers::Some) && !matches!(self.names, Names::CountOn | Names::Fall);
        let usually = if is_short { 0 } else { HOLE_NS };
        let least = asked.map_or(usually, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
        // One frame has no pace.
        let Some(pace) = self.pace_ns() else { return false };
        let unusual = |than: i64| self.ns >= than.saturating_mul(2);
        let shown = match numbers {
            Numbers::GoOn => false,
            Numbers::Missing => true,
            Numbers::Some => unusual(other),
            Numbers::Silent => match self.names {
                Names::CountOn | Names::Fall => false,
                Names::LeaveRoom => true,
                Names::Silent => unusual(other),
            },
        };
        // Traffic in bursts pauses for long; but no burst of loss lies just between two files and is as long as half of one.
        let between = numbers == Numbers::Missing && is_short && border.missing >= MANY;
        shown && self.ns >= least && self.ns >= pace.saturating_mul(10) && (unusual(within) || between)
    }

    /// How often a frame came on average before the pause.
    fn pace_ns(&self) -> Option<i64> {
        let (_, before) = self.before;
        let steps = before.frames.checked_sub(1).filter(|steps| *steps > 0)?;
        Some(self.last_ns.saturating_sub(before.first_ns?) / i64::try_from(steps).unwrap_or(i64::MAX))
    }

    fn finding(&self, tap: &Tap<'_>, within: i64) -> Finding {
        let ((before_id, before), (after_id, after)) = (self.before, self.after);
        let mut evidence = format!(
            "{} between the last frame of {} and the first of {}; on average a frame came every {}, the longest pause within a file is {}.",
            duration(self.ns),
            before.path,
            after.path,
            duration(self.pace_ns().unwrap_or(0)),
            duration(within)
        );
        evidence.push_str(&self.said());
        let what = format!("the first frame after {}", duration(self.ns));
        let after_hole = Occurrence { capture: after_id, frame: 1, time_ns: Some(self.first_ns), count: 1, what };
        let shown = self.numbers() != Numbers::Silent || self.names == Names::LeaveRoom;
        Draft::new("capture-hole", evidence)
            .at(tap)
            .severity(if shown { Severity::Warning } else { Severity::Note })
            .between(
                FrameRef { capture: before_id, frame: before.frames },
                Timestamp::from_ns(self.last_ns),
                FrameRef { capture: after_id, frame: 1 },
                Timestamp::from_ns(self.first_ns),
            )
            .occurring(vec![after_hole], Some(1))
            .done()
    }

    /// What numbers and names say, in words.
    fn said(&self) -> String {
        let border = self.border.unwrap_or_default();
        if border.missing > 0 {
            let numbers = plural(border.missing, "sequence number");
            let are = if border.missing == 1 { "is" } else { "are" };
            let mut said = format!(
                " {numbers} {are} missing at this border; about {} would have been sent in this time at the rate of the slower file.",
                self.would_have_sent()
            );
            match self.names {
                Names::CountOn => said.push_str(
                    " The names of the two files count on: no file is missing between them. The capture stopped, or the packets were lost.",
                ),
                Names::Fall => said.push_str(
                    " The later file has the lower number: its name does not tell whether a file is missing between them.",
                ),
                Names::LeaveRoom => said.push_str(" The names of the two files leave a number free."),
                Names::Silent if self.ns < HOLE_NS => said.push_str(" A file is missing, or the packets were lost."),
                Names::Silent => {}
            }
            return said;
        }
        let why = match self.border {
            None => "the sequence numbers at this border were not compared",
            Some(border) if border.shared > 0 => "the sequence numbers of the SAs in both files begin anew",
            Some(_) => "no SA goes on from one file to the other",
        };
        let names = if self.names == Names::LeaveRoom {
            "the names of the two files leave a number free"
        } else {
            "their names do not count"
        };
        format!(" Whether packets are missing there is not determined: {why}; {names}.")
    }
}
