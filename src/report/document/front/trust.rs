//! How sure the figures are: completeness, how overheads are known, pairs, clocks, time stamps.

use crate::model::pairs::{MatchReport, Side};
use crate::model::report::{Capture, Exactness, LengthBasis, OverheadBasis, Report};
use crate::report::words::number::{count, decimal, duration, grouped};

type Rows = Vec<(String, String)>;

fn say(rows: &mut Rows, word: &str, sentence: String) {
    if !sentence.is_empty() {
        rows.push((word.to_owned(), sentence));
    }
}

pub(super) fn of_report(report: &Report) -> Rows {
    let mut rows = Rows::new();
    say(&mut rows, "Completeness", completeness(report.captures.iter(), report.exactness));
    if report.totals.truncated_by_snaplen > 0 {
        let cut = grouped(report.totals.truncated_by_snaplen);
        say(&mut rows, "Snapshot length", format!("{cut} of {} are cut.", count(report.totals.frames, "frame")));
    }
    say(&mut rows, "Overhead", bases(report));
    if report.sas.iter().any(|sa| sa.sequence.is_some()) {
        let sentence = "Lost means never seen at this tap. Whether a packet was dropped before the tap or not captured, the \
                        capture alone does not decide.";
        say(&mut rows, "Loss", sentence.to_owned());
    }
    if report.rates.directions.iter().any(|rate| rate.l1_basis == LengthBasis::Assumed) {
        let sentence = "Lengths on the wire are assumed for some frames: the link is not Ethernet, segmentation offload made \
                        the frames, or they were sliced.";
        say(&mut rows, "Layer 1", sentence.to_owned());
    }
    rows
}

/// How the overheads of SAs are known.
fn bases(report: &Report) -> String {
    let of = |basis: OverheadBasis| report.sas.iter().filter(|sa| sa.overhead.basis == basis).count() as u64;
    let words = [
        (OverheadBasis::Visible, "visible in the capture"),
        (OverheadBasis::Decrypted, "measured on decrypted packets"),
        (OverheadBasis::Matched, "measured on pairs"),
        (OverheadBasis::Modelled, "calculated from the transform"),
        (OverheadBasis::Unknown, "not determined"),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter(|(basis, _)| of(*basis) > 0)
        .map(|(basis, words)| format!("{words} of {}", count(of(*basis), "SA")))
        .collect();
    if parts.is_empty() { String::new() } else { format!("Overhead is {}.", parts.join(", ")) }
}

/// `2 captures, all complete; all figures exact.`
fn completeness<'c>(captures: impl Iterator<Item = &'c Capture>, exactness: Exactness) -> String {
    let captures: Vec<&Capture> = captures.collect();
    let broken = captures.iter().filter(|capture| !capture.complete).count() as u64;
    let whole = match (captures.len(), broken) {
        (0, _) => "No capture".to_owned(),
        (1, 0) => "1 capture, complete".to_owned(),
        (1, _) => "1 capture, not complete".to_owned(),
        (n, 0) => format!("{}, all complete", count(n as u64, "capture")),
        (n, broken) => format!("{}, {} not complete", count(n as u64, "capture"), grouped(broken)),
    };
    let exact = if exactness == Exactness::Exact {
        "no limit was hit"
    } else {
        "not exact: a limit was hit or an input is missing"
    };
    format!("{whole}; {exact}.")
}

pub(super) fn of_pairs(report: &MatchReport) -> Rows {
    let mut rows = Rows::new();
    let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()];
    let captures = sides.iter().flatten().flat_map(|side| side.captures.iter());
    say(&mut rows, "Completeness", completeness(captures, report.exactness));
    say(&mut rows, "Pairing", pairing(report));
    let open = report.directions.iter().filter_map(|direction| direction.undetermined.as_ref()).count() as u64;
    if open > 0 {
        let sentence =
            "several alignments explain the packets equally well: no loss, latency or overhead is given for it.";
        say(&mut rows, "Not determined", format!("{}: {sentence}", count(open, "direction")));
    }
    let steps = sides.iter().flatten().filter_map(|side: &&Side| side.timestamp_step_ns);
    if let Some(step) = steps.reduce(f64::max).filter(|step| *step >= 1.0) {
        // Steps are at most seconds.
        say(&mut rows, "Time stamps", format!("In steps of {} or less.", duration(step.round() as u64)));
    }
    if report.pairs.unmatched_plain > 0 && open == 0 {
        let sentence = "Lost means not seen at the tap of the tunnel. Whether the gateway or its queue dropped a packet, \
                        captures alone do not decide.";
        say(&mut rows, "Loss", sentence.to_owned());
    }
    rows
}

/// `452 pairs: 452 by order; mean confidence 0.99; 3 ambiguous.`
fn pairing(report: &MatchReport) -> String {
    let pairs = &report.pairs;
    if pairs.matched == 0 {
        return "No packet was paired.".to_owned();
    }
    let bases = [
        (pairs.by_basis.content, "by content"),
        (pairs.by_basis.decrypted, "by decryption"),
        (pairs.by_basis.order, "by order of lengths, numbers and times"),
    ];
    let bases: Vec<String> =
        bases.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{} {words}", grouped(*n))).collect();
    let sure: Vec<f64> = report.directions.iter().filter_map(|direction| direction.confidence).collect();
    let least = sure.into_iter().reduce(f64::min);
    let sure = least.map_or_else(String::new, |least| {
        format!("; mean confidence at least {} in every direction", decimal(least, 2))
    });
    let ambiguous =
        if pairs.ambiguous > 0 { format!("; {} ambiguous", grouped(pairs.ambiguous)) } else { String::new() };
    format!("{}: {}{sure}{ambiguous}.", count(pairs.matched, "pair"), bases.join(", "))
}
