//! Findings of a run of `trials`.

use std::collections::BTreeSet;

use crate::analysis::finish::CaptureFacts;
use crate::analysis::finish::findings::occurrences::keep_first_and_last;
use crate::analysis::finish::findings::{Draft, capture, percent, plural, sort};
use crate::model::report::{Finding, Occurrence, Rfc3339};
use crate::model::trials::{Direction, Kind, State, Trial, TrialsReport};
use crate::trials::shown::{FrameAt, ShownTrial};
use crate::trials::{Figured, SHORT_SECONDS};

/// Why there is no trial where nothing else tells.
const NONE_CAME: &str = "No packet of a test load was seen where packets come in.";
/// Trials that are named in one finding.
const NAMED: usize = 12;

/// What is wrong or worth knowing. `offsets`: where in `captures` those of each place begin. `wrong_tap`: the tap given as the tunnel's shows no IPsec, and the plain one does.
pub(crate) fn trial_findings(
    report: &TrialsReport,
    figured: &Figured,
    captures: &[CaptureFacts],
    wrong_tap: bool,
    offsets: [u32; 3],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    capture::add(&mut findings, captures);
    if wrong_tap {
        let evidence = "The capture given as the tunnel shows no IPsec packet, the one given as plain does.";
        findings.push(Draft::new("taps-swapped", evidence.to_owned()).done());
    }
    for (direction, came, left) in &figured.swapped {
        let evidence = format!(
            "{} of the test load came in at the first tap and {} went out at the last ({}).",
            plural(*came, "packet"),
            plural(*left, "packet"),
            direction.name()
        );
        findings.push(Draft::new("taps-swapped", evidence).of(direction.name()).count(left - came).done());
    }
    only_out(report, &mut findings);
    let shown = ShownTrials { trials: &figured.shown, offsets };
    for trial in &report.trials {
        match trial.state {
            State::Stalled => findings.push(stalled(trial, &shown)),
            State::Lossy => findings.push(lossy(trial, &shown)),
            _ => {}
        }
    }
    for row in report.throughput.iter().filter(|row| !row.monotone) {
        let clean = row.rfc1242.map_or_else(String::new, |rates| format!(" up to {:.1}/s", rates.fps));
        let evidence = format!(
            "{} {}: loads passed without loss{clean}, but a lower load lost packets.",
            class(&row.size_class),
            row.direction.name()
        );
        let draft = Draft::new("loss-not-monotone", evidence).of(row.size_class.as_str());
        let is_below = |own: &&Trial| own.lost > own.lost_error && own.offered_fps < row.rfc1242.map(|rates| rates.fps);
        let of_row = |own: &&Trial| own.direction == row.direction && own.size_class == row.size_class;
        let lossy =
            report.trials.iter().filter(of_row).filter(is_below).filter(|own| !row.left_out.contains(&own.trial));
        findings.push(shown.begins(draft, lossy).done());
    }
    findings.extend(short(report, &shown));
    findings.extend(carried_in(report, figured, &shown));
    if report.trials.is_empty() {
        let evidence = match (report.segments.len(), report.transfers.len()) {
            (0, 0) => figured.missed.clone().unwrap_or_else(|| NONE_CAME.to_owned()),
            (0, transfers) => format!("{} over TCP, no other load.", plural(transfers as u64, "transfer")),
            (segments, _) => format!("{}, none of them a trial.", plural(segments as u64, "segment")),
        };
        findings.push(Draft::new("trials-none", evidence).done());
    }
    sort(&mut findings);
    findings
}

/// Trials that began while packets of the one before were inside.
fn carried_in(report: &TrialsReport, figured: &Figured, shown: &ShownTrials<'_>) -> Option<Finding> {
    let numbers: BTreeSet<u64> = figured.carried_in.iter().map(|(number, _)| *number).collect();
    if numbers.is_empty() {
        return None;
    }
    let named: Vec<String> = numbers.iter().take(NAMED).map(u64::to_string).collect();
    let count = numbers.len() as u64;
    let evidence =
        format!("{} began while packets of the one before were inside: {}.", plural(count, "trial"), named.join(", "));
    let trials = report.trials.iter().filter(|own| figured.carried_in.contains(&(own.trial, own.direction)));
    Some(shown.begins(Draft::new("trial-carried-in", evidence).count(count), trials).done())
}

/// Trials that are too short to be one of RFC 2544.
fn short(report: &TrialsReport, shown: &ShownTrials<'_>) -> Option<Finding> {
    let short: Vec<&Trial> =
        report.trials.iter().filter(|t| t.kind == Kind::Trial && t.seconds < SHORT_SECONDS).collect();
    if let (Some(least), Some(most)) =
        (short.iter().map(|t| t.seconds).min_by(f64::total_cmp), short.iter().map(|t| t.seconds).max_by(f64::total_cmp))
    {
        let (least, most) = (format!("{least:.2}"), format!("{most:.2}"));
        let range = if least == most { least } else { format!("{least} to {most}") };
        let verb = if short.len() == 1 { "lasts" } else { "last" };
        let evidence = format!("{} {verb} {range} s.", plural(short.len() as u64, "trial"));
        let draft = Draft::new("trial-short", evidence).count(short.len() as u64);
        return Some(shown.begins(draft, short.iter().copied()).done());
    }
    None
}

/// Packets that only leave the tunnel at the tap that was given as the first.
fn only_out(report: &TrialsReport, findings: &mut Vec<Finding>) {
    let rev = report.trials.iter().filter(|t| t.direction == Direction::Rev).count();
    let given = report.taps.iter().any(|tap| tap.name == "out");
    if given && rev == report.trials.len() && rev > 0 && findings.iter().all(|f| f.code != "taps-swapped") {
        let evidence = "Every trial passes the tap given as --out before the one given as --in.".to_owned();
        findings.push(Draft::new("taps-swapped", evidence).done());
    }
}

fn class(size: &str) -> String {
    if size.parse::<u64>().is_ok() { format!("{size}-byte packets") } else { format!("Sizes {size}") }
}

/// The frames of trials, and where in the captures of the run those of each place begin.
struct ShownTrials<'s> {
    trials: &'s [ShownTrial],
    offsets: [u32; 3],
}

impl ShownTrials<'_> {
    fn of(&self, trial: &Trial) -> Option<&ShownTrial> {
        self.trials.iter().find(|own| (own.trial, own.direction) == (trial.trial, trial.direction))
    }

    /// The first frame of a trial.
    fn begin(&self, trial: &Trial) -> Option<Occurrence> {
        let own = self.of(trial)?;
        Some(self.occurrence(own, own.begin?, format!("trial {} begins", trial.trial)))
    }

    /// The first frame of each of some trials; none where one of them is not known.
    fn begins<'t>(&self, draft: Draft, trials: impl Iterator<Item = &'t Trial>) -> Draft {
        let begun = trials.map(|trial| self.begin(trial)).collect::<Option<Vec<_>>>();
        self.list(draft, begun.unwrap_or_default())
    }

    /// The packets that a trial lost, and how many they are; its first frame where it is not known which they are.
    fn lost(&self, draft: Draft, trial: &Trial) -> Draft {
        match self.of(trial) {
            Some(own) if !own.lost.is_empty() => {
                let rows = own.lost.iter().map(|at| self.occurrence(own, *at, "lost".to_owned())).collect();
                draft.occurring(rows, Some(trial.lost))
            }
            _ => self.list(draft, self.begin(trial).into_iter().collect()),
        }
    }

    /// Lists some frames, all that there are of their kind.
    fn list(&self, draft: Draft, mut rows: Vec<Occurrence>) -> Draft {
        let total = (!rows.is_empty()).then_some(rows.len() as u64);
        keep_first_and_last(&mut rows);
        draft.occurring(rows, total)
    }

    fn occurrence(&self, own: &ShownTrial, (pos, time): FrameAt, what: String) -> Occurrence {
        let offset = self.offsets.get(own.place as usize).copied().unwrap_or(0);
        let capture = pos.capture().saturating_add(offset);
        Occurrence { capture, frame: pos.number(), time_ns: time.ns(), count: 1, what }
    }
}

fn of(trial: &Trial, code: &'static str, evidence: String, shown: &ShownTrials<'_>) -> Finding {
    let mut finding = shown.lost(Draft::new(code, evidence).of(trial.size_class.as_str()), trial).done();
    finding.first_ns = Some(trial.start_ns);
    finding.first = Some(Rfc3339(trial.start_ns).to_string());
    finding
}

fn stalled(trial: &Trial, shown: &ShownTrials<'_>) -> Finding {
    let evidence = format!(
        "Trial {} ({}, {}, {:.1}/s): no packet came out for {:.3} s; {} of {} were lost ({}).",
        trial.trial,
        class(&trial.size_class),
        trial.direction.name(),
        trial.offered_fps.unwrap_or(0.0),
        trial.stall_seconds.unwrap_or(0.0),
        trial.lost,
        plural(trial.sent, "packet"),
        percent(trial.lost, trial.sent)
    );
    of(trial, "trial-stalled", evidence, shown)
}

/// On which side of the tunnel's tap packets were lost, where both sides were seen.
fn lost_where(trial: &Trial) -> String {
    let missing = trial.sequence_lost.unwrap_or(0);
    match (trial.lost_before_tunnel, trial.lost_behind_tunnel) {
        // What bears a number was encrypted before it was lost, or the tap's capture missed it.
        (Some(before), _) if before > 0 && missing > 0 => {
            format!(", {before} of them not seen at the tunnel's tap, where {missing} sequence numbers are missing")
        }
        (Some(0), Some(_)) => ", all of them behind the tunnel's tap".to_owned(),
        (Some(_), Some(0)) => ", all of them before the tunnel's tap".to_owned(),
        (Some(before), Some(behind)) => format!(", {before} of them before the tunnel's tap, {behind} behind it"),
        _ => String::new(),
    }
}

fn lossy(trial: &Trial, shown: &ShownTrials<'_>) -> Finding {
    let evidence = format!(
        "Trial {} ({}, {}, {:.1}/s): {} of {} lost ({}){}, {:.1} packets waited by the median.",
        trial.trial,
        class(&trial.size_class),
        trial.direction.name(),
        trial.offered_fps.unwrap_or(0.0),
        trial.lost,
        plural(trial.sent, "packet"),
        percent(trial.lost, trial.sent),
        lost_where(trial),
        trial.waiting_frames.unwrap_or(0.0)
    );
    of(trial, "trial-lossy", evidence, shown)
}
