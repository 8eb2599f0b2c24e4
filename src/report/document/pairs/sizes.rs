//! Overhead by packet size, measured beside what the transform predicts.

use std::collections::BTreeMap;

use super::super::classes::{self, Bin};
use super::super::table::{Cell, Column, Table};
use super::super::{Section, View, figures};
use super::words::short;
use crate::model::pairs::{Direction, MatchReport, PairBasis, Size};
use crate::model::report::{Parts, TransformBasis};
use crate::report::words::names;
use crate::report::words::number::{count, grouped};

pub(super) fn section(report: &MatchReport, view: &View) -> Section {
    let mut section = Section::titled("Overhead by packet size");
    if let Some(sized) = figures::of_match(report) {
        section.figure(figures::overhead::figure(&sized));
        section.figure(figures::share::figure(&sized));
    }
    let mut groups: BTreeMap<(&str, PairBasis), Vec<&Size>> = BTreeMap::new();
    for size in &report.sizes {
        groups.entry((&size.sa, size.basis)).or_default().push(size);
    }
    let all = groups.len();
    for ((sa, basis), mut group) in groups.into_iter().take(view.shown(all)) {
        group.sort_by_key(|size| size.inner_bytes);
        one(&mut section, report, view, (sa, basis), &group);
    }
    section.more(view, all, "SAs", "--format csv --table sizes");
    section
}

fn one(section: &mut Section, report: &MatchReport, view: &View, (sa, basis): (&str, PairBasis), group: &[&Size]) {
    let ends = names::sa_parts(sa).map_or_else(|| sa.to_owned(), |(_, _, direction)| direction);
    let predicted = predicted_by(report.directions.iter().find(|direction| *direction.sa == *sa));
    section.caption(format!("{ends}, {}: {}{predicted}", short(sa), known(basis)));
    let parts: Vec<Parts> = group.iter().filter_map(|size| size.parts).collect();
    if parts.len() == group.len() {
        section.parts(&parts);
    }
    let mut table = Table::new([
        Column::figures("inner", "B"),
        Column::counts("frames"),
        Column::figures("outer", "B"),
        Column::figures("over-\nhead", "B"),
        Column::figures("of\ninner", "%"),
        Column::figures("pre-\ndicted", "B"),
        Column::figures("differ-\nence", "B"),
        Column::figures("loss", "%"),
        Column::counts("latency\np50"),
        Column::remark(),
    ]);
    let keys: Vec<(u64, u64)> = group.iter().map(|size| (size.inner_bytes, size.frames)).collect();
    let bins = classes::bins(&keys, view.all);
    let rows = bins.len();
    for bin in bins {
        match bin {
            Bin::One(at) => table.row(group.get(at).map(|size| exact(size)).into_iter().flatten()),
            Bin::Class(label, members) => {
                let members: Vec<&Size> = members.iter().filter_map(|at| group.get(*at).copied()).collect();
                table.row(folded(label, &members));
            }
        }
    }
    section.table(table);
    if rows < group.len() {
        section.say(format!(
            "{} in {}: the most frequent alone, the rest in classes of RFC 2544; `--format csv --table sizes` lists each with its \
             latency.",
            count(group.len() as u64, "size"),
            count(rows as u64, "row"),
        ));
    }
}

/// How the pairs behind the figures are known.
fn known(basis: PairBasis) -> &'static str {
    match basis {
        PairBasis::Content => "measured, the inner packets are visible",
        PairBasis::Decrypted => "measured, the packets were decrypted",
        PairBasis::Order => "measured, packets paired by order",
    }
}

/// What the prediction rests on.
fn predicted_by(direction: Option<&Direction>) -> String {
    let Some(direction) = direction.filter(|direction| direction.transform.basis != TransformBasis::Unknown) else {
        return String::new();
    };
    match direction.transform.basis {
        TransformBasis::Inferred => "; predicted with the transform inferred from these same pairs".to_owned(),
        basis => format!("; predicted with the transform ({basis})"),
    }
}

fn exact(size: &Size) -> [Cell; 10] {
    let outer = size.outer_bytes_min.zip(size.outer_bytes_max);
    [
        Cell::text(size.inner_bytes.to_string()),
        Cell::Count(size.frames),
        span(outer.map(|(a, b)| (signed(a), signed(b)))),
        span(size.overhead_min_bytes.zip(size.overhead_max_bytes)),
        size.overhead_of_inner_pct.map_or(Cell::Blank, |share| Cell::Decimal(share, 1)),
        size.predicted_bytes.map_or(Cell::Blank, Cell::Signed),
        size.difference_bytes.map_or(Cell::Blank, difference),
        size.loss_pct.map_or(Cell::Blank, |loss| Cell::Decimal(loss, 2)),
        size.latency_ns.map_or(Cell::Blank, |times| Cell::Time(times.p50)),
        Cell::text(remark(size)),
    ]
}

fn span(ends: Option<(i64, i64)>) -> Cell {
    ends.map_or(Cell::Blank, |(from, to)| Cell::Range(from, to))
}

/// Why measured and predicted differ, and what became of lost packets.
fn remark(size: &Size) -> String {
    let why = size.difference_why.as_ref().map(|why| format!("differs: {why}"));
    let mtu = size.icmp_mtu_bytes.map(|mtu| format!("longer than the MTU of {mtu} B that ICMP errors state"));
    let behind = size.lost_behind_tunnel.filter(|lost| *lost > 0);
    let behind = behind.map(|lost| format!("{} lost after the tunnel tap", grouped(lost)));
    [why, mtu, behind].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A mean difference: whole where it is, with its sign.
fn difference(bytes: f64) -> Cell {
    let cell = Cell::mean(bytes);
    if bytes > 0.05 { Cell::text(format!("+{}", cell.show())) } else { cell }
}

/// A class of sizes. Medians do not add up, so it has none.
fn folded(label: String, members: &[&Size]) -> [Cell; 10] {
    let frames: u64 = members.iter().map(|size| size.frames).sum();
    let ends = |pick: fn(&Size) -> Option<(i64, i64)>| {
        let known = members.iter().filter_map(|size| pick(size));
        span(known.reduce(|(a, b), (min, max)| (a.min(min), b.max(max))))
    };
    // Sums of bytes: exact far beyond any capture.
    let sum = |of: fn(&Size) -> f64| members.iter().map(|size| of(size) * size.frames as f64).sum::<f64>();
    let inner = sum(|size| size.inner_bytes as f64);
    let overhead = sum(|size| size.overhead_of_inner_pct.unwrap_or(0.0) * size.inner_bytes as f64);
    let seen = || members.iter().filter(|size| size.frames > 0);
    let predicted: Option<Vec<i64>> = seen().map(|size| size.predicted_bytes).collect();
    let predicted = predicted.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
    let differ: Option<f64> = seen().map(|size| Some(size.difference_bytes? * size.frames as f64)).sum();
    let mut why: Vec<&str> = members.iter().filter_map(|size| size.difference_why.as_deref()).collect();
    why.sort_unstable();
    why.dedup();
    let loss: Option<f64> = members.iter().map(|size| lost(size)).sum();
    let share = loss.map(|lost| lost / (lost + frames as f64) * 100.0);
    [
        Cell::text(label),
        Cell::Count(frames),
        ends(|size| Some((signed(size.outer_bytes_min?), signed(size.outer_bytes_max?)))),
        ends(|size| Some((size.overhead_min_bytes?, size.overhead_max_bytes?))),
        if inner > 0.0 { Cell::Decimal(overhead / inner, 1) } else { Cell::Blank },
        span(predicted),
        differ.filter(|_| frames > 0).map_or(Cell::Blank, |sum| difference(sum / frames as f64)),
        share.map_or(Cell::Blank, |loss| Cell::Decimal(loss, 2)),
        Cell::Blank,
        Cell::text(if why.is_empty() { String::new() } else { format!("differs: {}", why.join("; ")) }),
    ]
}

/// How many packets of a size were lost, out of the share.
fn lost(size: &Size) -> Option<f64> {
    if let Some(lost) = size.lost_before_tunnel {
        return Some(lost as f64);
    }
    let share = size.loss_pct?;
    (share < 100.0).then(|| (size.frames as f64 * share / (100.0 - share)).round())
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::pairs::size;

    #[test]
    fn classes_keep_packets_losses_and_differences() {
        let sizes: Vec<Size> =
            (40..46).map(|inner| Size { frames: 98, loss_pct: Some(2.0), ..size(inner, 56) }).collect();
        let row = folded("0-46".to_owned(), &sizes.iter().collect::<Vec<_>>()).map(|cell| cell.show());
        assert_eq!((row[0].as_str(), row[1].as_str()), ("0-46", "588"));
        assert_eq!((row[2].as_str(), row[3].as_str(), row[7].as_str()), ("96-101", "56", "2.00"));
        assert_eq!(row[6], "0");
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!([0.0, 8.0, -0.25].map(|bytes| difference(bytes).show()), ["0", "+8", "-0.2"]);
    }
}
