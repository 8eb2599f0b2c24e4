//! Findings of a run of `trials`.

use crate::analysis::finish::CaptureFacts;
use crate::analysis::finish::findings::{Draft, capture, percent, plural, sort};
use crate::model::report::{Finding, Rfc3339};
use crate::model::trials::{Direction, Kind, State, Trial, TrialsReport};
use crate::trials::{Figured, SHORT_SECONDS};

/// Trials that are named in one finding.
const NAMED: usize = 12;

/// What is wrong or worth knowing. `wrong_tap`: the tap given as the tunnel's shows no IPsec, and the plain one does.
pub(crate) fn trial_findings(
    report: &TrialsReport,
    figured: &Figured,
    captures: &[CaptureFacts],
    wrong_tap: bool,
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
    for trial in &report.trials {
        match trial.state {
            State::Stalled => findings.push(stalled(trial)),
            State::Lossy => findings.push(lossy(trial)),
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
        findings.push(Draft::new("loss-not-monotone", evidence).of(row.size_class.as_str()).done());
    }
    let short: Vec<&Trial> =
        report.trials.iter().filter(|t| t.kind == Kind::Trial && t.seconds < SHORT_SECONDS).collect();
    if let (Some(least), Some(most)) =
        (short.iter().map(|t| t.seconds).min_by(f64::total_cmp), short.iter().map(|t| t.seconds).max_by(f64::total_cmp))
    {
        let (least, most) = (format!("{least:.2}"), format!("{most:.2}"));
        let range = if least == most { least } else { format!("{least} to {most}") };
        let verb = if short.len() == 1 { "lasts" } else { "last" };
        let evidence = format!("{} {verb} {range} s.", plural(short.len() as u64, "trial"));
        findings.push(Draft::new("trial-short", evidence).count(short.len() as u64).done());
    }
    if !figured.carried_in.is_empty() {
        let named: Vec<String> = figured.carried_in.iter().take(NAMED).map(u64::to_string).collect();
        let count = figured.carried_in.len() as u64;
        let evidence = format!(
            "{} began while packets of the one before were inside: {}.",
            plural(count, "trial"),
            named.join(", ")
        );
        findings.push(Draft::new("trial-carried-in", evidence).count(count).done());
    }
    if report.trials.is_empty() {
        let evidence = match (report.segments.len(), report.transfers.len()) {
            (0, 0) => "No packet of a test load was seen where packets come in.".to_owned(),
            (0, transfers) => format!("{} over TCP, no other load.", plural(transfers as u64, "transfer")),
            (segments, _) => format!("{}, none of them a trial.", plural(segments as u64, "segment")),
        };
        findings.push(Draft::new("trials-none", evidence).done());
    }
    sort(&mut findings);
    findings
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

fn of(trial: &Trial, code: &'static str, evidence: String) -> Finding {
    let mut finding = Draft::new(code, evidence).of(trial.size_class.as_str()).done();
    finding.first_ns = Some(trial.start_ns);
    finding.first = Some(Rfc3339(trial.start_ns).to_string());
    finding
}

fn stalled(trial: &Trial) -> Finding {
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
    of(trial, "trial-stalled", evidence)
}

/// On which side of the tunnel's tap packets were lost, where both sides were seen.
fn lost_where(trial: &Trial) -> String {
    match (trial.lost_before_tunnel, trial.lost_behind_tunnel) {
        (Some(0), Some(_)) => ", all of them behind the tunnel's tap".to_owned(),
        (Some(_), Some(0)) => ", all of them before the tunnel's tap".to_owned(),
        (Some(before), Some(behind)) => format!(", {before} of them before the tunnel's tap, {behind} behind it"),
        _ => String::new(),
    }
}

fn lossy(trial: &Trial) -> Finding {
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
    of(trial, "trial-lossy", evidence)
}
