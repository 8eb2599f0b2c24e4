//! The frames that show a finding of `match`: packets that were lost, and ICVs that do not verify.

use crate::analysis::finish::findings::Listed;
use crate::analysis::limits::FIRST_LISTED;
use crate::matching::measure::tally::{Alone, AloneFrame, frame};
use crate::model::pairs::{LossPlace, Lost, MatchReport};
use crate::model::report::{FrameRef, Name, Occurrence};
use crate::model::{FramePos, Timestamp};

/// Packets of a run that findings name.
#[derive(Debug, Default)]
pub(crate) struct NamedFrames {
    /// The direction of each lost packet of the report, where it is known.
    pub(crate) lost_ways: Vec<Option<Name>>,
    /// Frames of the tunnel that the plain tap did not show after decapsulation, by direction.
    pub(crate) alone: Vec<(Name, Alone)>,
}

impl NamedFrames {
    /// Plaintext packets of a direction that were lost at a place. None where they are more than were counted: some of them were not lost.
    pub(crate) fn lost(&self, report: &MatchReport, sa: &Name, place: LossPlace, count: u64) -> Vec<Occurrence> {
        let of_it = report
            .lost
            .iter()
            .zip(&self.lost_ways)
            .filter(|(lost, way)| lost.verdict == place && way.as_ref().is_some_and(|way| way == sa));
        let mut rows: Vec<Occurrence> = of_it.map(|(lost, _)| packet(lost)).collect();
        if rows.len() as u64 > count {
            return Vec::new();
        }
        if rows.len() > FIRST_LISTED.saturating_add(1) {
            let last = rows.pop();
            rows.truncate(FIRST_LISTED);
            rows.extend(last);
        }
        rows
    }

    /// Packets of the tunnel that did not come out; none where they are not as many as were counted.
    pub(crate) fn not_out(&self, report: &MatchReport, sa: &Name, alone: u64, lost: u64) -> Vec<Occurrence> {
        let Some((_, frames)) = self.alone.iter().find(|(name, _)| name == sa).filter(|_| alone == lost) else {
            return Vec::new();
        };
        let offset = tunnel_offset(report);
        let row = |(pos, time, sequence): &AloneFrame| {
            let number = sequence.map(|number| format!("number {number} ")).unwrap_or_default();
            let FrameRef { capture, frame } = frame(*pos);
            let what = format!("{number}not seen at the plain tap");
            Occurrence { capture: capture.saturating_add(offset), frame, time_ns: time.ns(), count: 1, what }
        };
        frames.first.iter().chain(&frames.last).map(row).collect()
    }
}

/// A lost packet.
pub(crate) fn packet(lost: &Lost) -> Occurrence {
    let Lost { frame: FrameRef { capture, frame }, time, sequence, confidence, verdict, .. } = lost;
    let tap = match verdict {
        LossPlace::BeforeTunnel => "tunnel",
        LossPlace::BehindTunnel | LossPlace::EndToEnd => "exit",
    };
    let number = sequence.map(|number| format!("; number {number} of the SA is missing")).unwrap_or_default();
    let what = format!("not seen at the {tap} tap{number} (confidence {confidence:.2})");
    Occurrence { capture: *capture, frame: *frame, time_ns: time.map(|time| time.0), count: 1, what }
}

/// Where captures of the tunnel's side begin among those of all sides, as findings count them. A capture that serves as both sides is one.
pub(crate) fn tunnel_offset(report: &MatchReport) -> u32 {
    let one = report.plain.captures == report.tunnel.captures;
    if one { 0 } else { u32::try_from(report.plain.captures.len()).unwrap_or(u32::MAX) }
}

/// Frames that were counted one by one, of the tunnel's side.
pub(crate) fn of_tunnel(report: &MatchReport, listed: &Listed, what: &str) -> Vec<Occurrence> {
    let offset = tunnel_offset(report);
    let row = |(pos, time): (FramePos, Timestamp)| {
        let FrameRef { capture, frame } = frame(pos);
        let capture = capture.saturating_add(offset);
        Occurrence { capture, frame, time_ns: time.ns(), count: 1, what: what.to_owned() }
    };
    let first = listed.frames();
    let last = listed.ends().map(|ends| (ends.last, ends.last_time)).filter(|_| (first.len() as u64) < listed.count);
    first.iter().copied().chain(last).map(row).collect()
}
