//! The front of a report of pairs.

use super::super::View;
use super::super::figures::{self, Sized};
use super::{Front, Merit, Sentence, Station, commands, costs, date, keeps, marks, pays, time_of, trust};
use crate::model::pairs::{ClockBasis, Direction, MatchReport, Side, TunnelWay};
use crate::model::report::Exactness;
use crate::report::words::number::{count, decimal, duration, grouped};

/// The front.
pub(in crate::report::document) fn front(report: &MatchReport, view: &View) -> Front {
    let sized = figures::of_match(report);
    let sized = sized.as_ref();
    let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()].into_iter().flatten();
    let first = [report.plain.first_ns, report.tunnel.first_ns].into_iter().flatten().min();
    Front {
        subject: subject(report),
        date: date(first, &view.zone),
        author: String::new(),
        lede: lede(report, sized),
        marks: marks(&report.findings, report.exactness == Exactness::Exact, true),
        merits: merits(report, sized),
        stations: stations(report),
        trust: trust::of_pairs(report),
        commands: commands::pairs(report),
        captures: commands::captures(sides.flat_map(|side| &side.captures)),
        sources: vec![report.schema.to_string()],
    }
}

/// The two ends where all directions have the same.
fn ends(report: &MatchReport) -> Option<(&str, &str)> {
    let mut ends: Vec<(&str, &str)> = report
        .directions
        .iter()
        .map(|direction| {
            let (a, b) = (direction.src.as_str(), direction.dst.as_str());
            if a <= b { (a, b) } else { (b, a) }
        })
        .collect();
    ends.sort_unstable();
    ends.dedup();
    match ends.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

fn subject(report: &MatchReport) -> String {
    match ends(report) {
        Some((a, b)) => format!("What the tunnel between {a} and {b} costs"),
        None if report.directions.is_empty() => "Two captures, without a packet in common".to_owned(),
        None => "What the tunnels cost".to_owned(),
    }
}

fn lede(report: &MatchReport, sized: Option<&Sized<'_>>) -> Vec<Sentence> {
    let mut lede = Vec::new();
    if report.pairs.matched == 0 {
        let (plain, tunnel) = (count(report.plain.packets, "packet"), count(report.tunnel.packets, "packet"));
        lede.push(Sentence::new(&format!("*No packet was paired*: {plain} in clear and {tunnel} in the tunnel.")));
    }
    if let Some(sized) = sized {
        lede.extend(pays(sized));
        lede.extend(keeps(sized));
    }
    lede.extend(latency(report));
    lede.extend(loss(report).map(|loss| loss.sentence()));
    lede
}

/// The direction with the most pairs that has a latency whose offset is known.
fn timed(report: &MatchReport) -> Option<(&Direction, i64, i64)> {
    let known = |direction: &&Direction| {
        matches!(direction.clock.basis, ClockBasis::OneClock | ClockBasis::BothDirections)
            && direction.undetermined.is_none()
    };
    let busiest = report.directions.iter().filter(known).rev().max_by_key(|direction| direction.matched)?;
    let times = busiest.latency_ns.times?;
    Some((busiest, times.p50, times.p99))
}

fn latency(report: &MatchReport) -> Option<Sentence> {
    let (direction, median, high) = timed(report)?;
    let text = |ns: i64| {
        let (number, unit) = time_of(ns);
        format!("{number} {unit}").trim_end().to_owned()
    };
    let several = report.directions.iter().filter(|own| own.latency_ns.times.is_some()).count() > 1;
    let whose = if several { format!("From {} to {} the", direction.src, direction.dst) } else { "The".to_owned() };
    let (median, high) = (text(median), text(high));
    Some(Sentence::new(&format!("{whose} median packet takes *{median}* from tap to tap, 99 % take at most *{high}*.")))
}

/// Packets that did not reach the tap of the tunnel, over all directions that were encapsulated between the taps.
pub(in crate::report::document) struct LossSum {
    pub(in crate::report::document) lost: u64,
    pub(in crate::report::document) all: u64,
}

impl LossSum {
    fn share(&self) -> f64 {
        // Far below 2^53 packets.
        self.lost as f64 / self.all as f64 * 100.0
    }

    fn sentence(&self) -> Sentence {
        let all = count(self.all, "plaintext packet");
        if self.lost == 0 {
            return Sentence::new(&format!("*None* of {all} was lost on the way to the tap of the tunnel."));
        }
        let share = decimal(self.share(), 2);
        let lost = grouped(self.lost);
        Sentence::new(&format!("*{lost} of {all}* ({share} %) were lost on the way to the tap of the tunnel."))
    }
}

/// `None` where the loss of a direction is not determined, or none was encapsulated.
pub(in crate::report::document) fn loss(report: &MatchReport) -> Option<LossSum> {
    let ways = || report.directions.iter().filter(|direction| direction.way == TunnelWay::Encapsulated);
    if report.directions.iter().any(|direction| direction.undetermined.is_some() || direction.way == TunnelWay::Unknown)
    {
        return None;
    }
    let lost: Option<u64> = ways().map(|direction| direction.lost_before_tunnel).sum();
    let lost = lost?;
    let all = ways().map(|direction| direction.matched).fold(lost, u64::saturating_add);
    (all > 0).then_some(LossSum { lost, all })
}

fn merits(report: &MatchReport, sized: Option<&Sized<'_>>) -> Vec<Merit> {
    let mut merits = Vec::new();
    if let Some(sized) = sized {
        costs(sized, &mut merits);
    }
    if let Some((direction, median, high)) = timed(report) {
        let (figure, unit) = time_of(median);
        let (high, high_unit) = time_of(high);
        let within = direction.clock.uncertainty_ns.filter(|_| direction.latency_ns.depends_on_offset);
        let within = within.map_or_else(String::new, |ns| format!("\u{b1} {}; ", duration(ns.unsigned_abs())));
        merits.push(Merit {
            figure,
            unit,
            what: "median from tap to tap".to_owned(),
            detail: format!("{within}99 % within {high} {high_unit}").trim_end().to_owned(),
        });
    }
    if let Some(loss) = loss(report) {
        merits.push(Merit {
            figure: grouped(loss.lost),
            unit: format!("of {}", grouped(loss.all)),
            what: "packets lost before the tunnel tap".to_owned(),
            detail: format!("{} %", decimal(loss.share(), 2)),
        });
    }
    if merits.is_empty() {
        merits.push(Merit {
            figure: grouped(report.pairs.matched),
            unit: String::new(),
            what: "pairs".to_owned(),
            detail: format!("of {}", count(report.plain.packets, "plaintext packet")),
        });
    }
    merits
}

/// Plain tap, gateway, tunnel tap, gateway, exit tap: the way of the packets, where all go one way between the same ends.
fn stations(report: &MatchReport) -> Vec<Station> {
    let tap =
        |name: &str, side: &Side| Station { tapped: true, name: name.to_owned(), seen: count(side.frames, "frame") };
    let gateway = |address: &str, seen: String| Station { tapped: false, name: format!("Gateway {address}"), seen };
    let encapsulated: Vec<&Direction> =
        report.directions.iter().filter(|direction| direction.way == TunnelWay::Encapsulated).collect();
    let mut near: Vec<(&str, &str)> = encapsulated.iter().map(|own| (own.src.as_str(), own.dst.as_str())).collect();
    near.sort_unstable();
    near.dedup();
    let (Some(_), [(a, b)]) = (ends(report), near.as_slice()) else {
        let mut taps = vec![tap("Plain tap", &report.plain), tap("Tunnel tap", &report.tunnel)];
        taps.extend(report.exit.as_ref().map(|side| tap("Exit tap", side)));
        return taps;
    };
    let paired = format!("{} on both sides", count(report.pairs.matched, "packet"));
    let mut way = vec![tap("Plain tap", &report.plain), gateway(a, paired), tap("Tunnel tap", &report.tunnel)];
    match report.exit.as_ref() {
        Some(side) => way.extend([gateway(b, String::new()), tap("Exit tap", side)]),
        None => way.push(gateway(b, "no tap behind it".to_owned())),
    }
    way
}
