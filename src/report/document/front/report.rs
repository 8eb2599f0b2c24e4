//! The front of a report.

use super::super::figures::{self, Sized};
use super::super::{View, at_tap};
use super::{Front, Merit, Sentence, Station, commands, costs, date, keeps, marks, pays, trust};
use crate::model::Protocol;
use crate::model::report::{Exactness, Finding, Report, Sa, Severity};
use crate::report::words::number::{RateUnit, count, decimal, grouped};

/// The front.
pub(in crate::report::document) fn front(report: &Report, view: &View) -> Front {
    let sized = figures::of_report(report);
    let sized = sized.as_ref();
    Front {
        subject: subject(report),
        date: date(report.captures.iter().filter_map(|capture| capture.first_ns).min(), &view.zone),
        author: String::new(),
        lede: lede(report, sized),
        marks: marks(&report.findings, report.exactness == Exactness::Exact, measured(report)),
        merits: merits(report, sized),
        stations: stations(report),
        trust: trust::of_report(report),
        commands: commands::report(report),
        captures: commands::captures(&report.captures),
        sources: vec![report.schema.to_string()],
    }
}

/// What it is about: the ends of the one tunnel, else how many there are.
fn subject(report: &Report) -> String {
    let mut ends: Vec<(&str, &str)> = report.tunnels.iter().map(|tunnel| (&*tunnel.a, &*tunnel.b)).collect();
    ends.sort_unstable();
    ends.dedup();
    let costs = if report.sizes.is_empty() { "IPsec" } else { "What IPsec costs" };
    let ipsec = report.sas.iter().any(|sa| matches!(sa.proto, Protocol::Esp | Protocol::Ah));
    match ends.as_slice() {
        [(a, b)] if ipsec => format!("{costs} between {a} and {b}"),
        [(a, b)] => format!("The tunnel between {a} and {b}"),
        [] if report.captures.is_empty() && report.taps.is_empty() => "Configurations, without a capture".to_owned(),
        [] if report.totals.frames == 0 => "Captures without frames".to_owned(),
        [] if report.sas.is_empty() => "Captures without IPsec".to_owned(),
        [] => "IPsec".to_owned(),
        several if ipsec => format!("{costs} on {} tunnels", grouped(several.len() as u64)),
        several => format!("{} tunnels", grouped(several.len() as u64)),
    }
}

fn lede(report: &Report, sized: Option<&Sized<'_>>) -> Vec<Sentence> {
    let mut lede = Vec::new();
    if report.captures.is_empty() && report.taps.is_empty() {
        lede.push(Sentence::new("No capture was read: the findings are about the configurations alone."));
    } else if report.totals.frames == 0 {
        lede.push(Sentence::new("*No frame* was read, so there is nothing to measure."));
    } else if report.sas.is_empty() && report.tunnels.is_empty() && report.sizes.is_empty() {
        let frames = count(report.totals.frames, "frame");
        lede.push(Sentence::new(&match report.has_unread_stream() {
            true => format!("IKE or ESP in TCP was seen in {frames} and *not read*."),
            false => format!("*No IPsec and no IP tunnel* was seen in {frames}."),
        }));
    }
    if let Some(sized) = sized {
        lede.extend(pays(sized));
        lede.extend(keeps(sized));
    }
    lede.extend(lost(report).map(|lost| lost.sentence()));
    lede
}

/// Numbers that a tap never saw.
struct Lost<'r> {
    tap: &'r str,
    several: bool,
    lost: u64,
    all: u64,
    sas: u64,
    /// Whether findings say that some may not have been sent, or passed while nothing was captured.
    excused: bool,
}

impl Lost<'_> {
    fn share(&self) -> f64 {
        // Far below 2^53 packets.
        self.lost as f64 / self.all as f64 * 100.0
    }

    fn sentence(&self) -> Sentence {
        let at = if self.several { at_tap(true, self.tap) } else { " at the tap".to_owned() };
        let sas = if self.sas == 1 { "the SA".to_owned() } else { count(self.sas, "SA") };
        let (lost, all) = (grouped(self.lost), grouped(self.all));
        let ending = if self.lost == 0 {
            format!("*No* sequence number of {sas} between the first and the highest is missing")
        } else {
            format!("*{lost} of {all}* sequence numbers of {sas} ({} %) were never seen", decimal(self.share(), 2))
        };
        let excused =
            if self.excused { "; some of them may not have been sent or captured (see the findings)" } else { "" };
        Sentence::new(&ending).then(&format!("{at}{excused}."))
    }
}

/// The sequence numbers of the tap with the most packets of SAs; taps are never added, they see the same packets.
fn lost(report: &Report) -> Option<Lost<'_>> {
    let of =
        |tap: &str| -> Vec<&Sa> { report.sas.iter().filter(|sa| *sa.tap == *tap && sa.sequence.is_some()).collect() };
    let frames = |sas: &[&Sa]| sas.iter().map(|sa| sa.frames).fold(0, u64::saturating_add);
    let tap = report.taps.iter().rev().max_by_key(|tap| frames(&of(&tap.name)))?;
    let sas = of(&tap.name);
    let (mut lost, mut seen) = (0_u64, 0_u64);
    for sa in &sas {
        let sequence = sa.sequence.as_ref()?;
        lost = lost.saturating_add(sequence.lost);
        seen = seen.saturating_add(sa.frames.saturating_sub(sequence.duplicate));
    }
    // A single packet has no neighbour that could be missing.
    (seen > 1).then(|| Lost {
        tap: &tap.name,
        several: report.taps.len() > 1,
        lost,
        all: lost.saturating_add(seen),
        sas: sas.len() as u64,
        excused: lost > 0 && is_excused(report, &tap.name),
    })
}

/// Whether findings of the tap explain missing numbers otherwise than by loss: holes between files, files that are cut, drops of the capturing host,
/// leaps ahead, or a loss that is but noted although it is large.
fn is_excused(report: &Report, tap: &str) -> bool {
    /// Codes of what explains them.
    const OTHERWISE: [&str; 5] = ["capture-hole", "capture-cut", "capture-damaged", "capture-drops", "sequence-jump"];
    /// A loss of one packet in this many, or more, is large.
    const LARGE: u64 = 100;
    let is_large = |finding: &Finding| {
        let sa = report.sas.iter().find(|sa| *sa.tap == *tap && finding.sa.as_ref().is_some_and(|own| *own == sa.id));
        let lost = |sa: &Sa| sa.sequence.as_ref().map_or(0, |sequence| sequence.lost);
        sa.is_some_and(|sa| lost(sa).saturating_mul(LARGE) > sa.frames)
    };
    report.findings.iter().filter(|finding| *finding.tap == *tap || finding.tap.is_empty()).any(|finding| {
        let is_noted = &*finding.code == "sequence-gap" && finding.severity == Severity::Note;
        OTHERWISE.contains(&&*finding.code) || is_noted && is_large(finding)
    })
}

fn merits(report: &Report, sized: Option<&Sized<'_>>) -> Vec<Merit> {
    let mut merits = Vec::new();
    if let Some(sized) = sized {
        costs(sized, &mut merits);
    } else {
        merits.extend(modelled(report));
    }
    if let Some(lost) = lost(report) {
        let at = if lost.several { at_tap(true, lost.tap) } else { " at the tap".to_owned() };
        merits.push(Merit {
            figure: grouped(lost.lost),
            unit: format!("of {}", grouped(lost.all)),
            what: "sequence numbers never seen".to_owned(),
            detail: format!(
                "{} %{at}{}",
                decimal(lost.share(), 2),
                if lost.excused { ", see the findings" } else { "" }
            ),
        });
    }
    let rates = report.rates.directions.iter().filter_map(|rate| Some((rate, rate.peak?)));
    // Another direction may carry more on average, without a whole time bin.
    let is_highest =
        |peak: f64| report.rates.directions.iter().all(|rate| rate.l1_bps.is_none_or(|mean| peak * 1.01 >= mean));
    if let Some((rate, peak)) = rates.max_by(|(_, a), (_, b)| a.l1_bps.total_cmp(&b.l1_bps))
        && is_highest(peak.l1_bps)
    {
        let unit = RateUnit::for_rates([Some(peak.l1_bps)]);
        let mean = rate.l1_bps.map_or_else(String::new, |bps| format!("; {} on average", unit.show(Some(bps))));
        merits.push(Merit {
            figure: unit.show(Some(peak.l1_bps)),
            unit: unit.name.to_owned(),
            what: "at most on layer 1, one way".to_owned(),
            detail: format!("in {}{mean}", figures::load::width(report.rates.bin_ns)),
        });
    }
    if merits.is_empty() && report.totals.frames > 0 {
        merits.push(Merit {
            figure: grouped(report.totals.frames),
            unit: if report.totals.frames == 1 { "frame" } else { "frames" }.to_owned(),
            what: format!("{} with IPsec", grouped(report.totals.ipsec_frames)),
            detail: String::new(),
        });
    }
    merits.truncate(4);
    merits
}

/// What the transform of the busiest SA adds, where no packet was measured.
fn modelled(report: &Report) -> Option<Merit> {
    let sa = report.sas.iter().rev().max_by_key(|sa| sa.frames)?;
    let (least, most) = sa.overhead.min_bytes.zip(sa.overhead.max_bytes).filter(|(least, _)| *least >= 0)?;
    let figure = if least == most { grouped(least.unsigned_abs()) } else { format!("{least}\u{2013}{most}") };
    let (what, detail) = (
        "added to a packet".to_owned(),
        format!("{} {}: {}", sa.proto.name().to_uppercase(), sa.spi_hex, sa.overhead.basis),
    );
    Some(Merit { figure, unit: "B".to_owned(), what, detail })
}

/// Taps, and the ends of the tunnel where there is one tunnel and one tap.
fn stations(report: &Report) -> Vec<Station> {
    let seen = |n: u64| count(n, "frame");
    let tap = |tap: &crate::model::report::Tap| {
        let captures = tap.captures.iter().filter_map(|at| report.captures.get(*at as usize));
        Station {
            tapped: true,
            name: format!("Tap {}", tap.name),
            seen: seen(captures.map(|capture| capture.frames).fold(0, u64::saturating_add)),
        }
    };
    match (report.tunnels.as_slice(), report.taps.as_slice()) {
        ([tunnel], [one]) => {
            let end = |address: &str| Station {
                tapped: false,
                name: address.to_owned(),
                seen: "end of the tunnel".to_owned(),
            };
            vec![end(&tunnel.a), tap(one), end(&tunnel.b)]
        }
        // More taps than a line holds are in the table of captures.
        (_, taps) if (2..=4).contains(&taps.len()) => taps.iter().map(tap).collect(),
        _ => Vec::new(),
    }
}

/// Whether there was anything to judge: frames, or configurations alone.
fn measured(report: &Report) -> bool {
    report.captures.is_empty() || report.totals.frames > 0
}
