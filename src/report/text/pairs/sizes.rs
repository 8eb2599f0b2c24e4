//! Overhead by packet size, measured beside what the transform predicts.

use std::collections::BTreeMap;

use super::super::overhead::{parts_line, plain_range};
use super::super::page::Page;
use super::super::table::{Column, Fit, Table};
use super::words::{short, time};
use crate::model::pairs::{Direction, MatchReport, Size};
use crate::model::report::Parts;
use crate::report::classes;
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{count, decimal, grouped};

/// At most this many SAs; the rest is for JSON and CSV.
const SAS: usize = 32;

pub(super) fn print(page: &mut Page<'_>, report: &MatchReport) {
    if report.sizes.is_empty() {
        return;
    }
    page.heading("Overhead by packet size");
    let mut groups: BTreeMap<(&str, &str), Vec<&Size>> = BTreeMap::new();
    for size in &report.sizes {
        groups.entry((&size.sa, size.basis)).or_default().push(size);
    }
    let all = groups.len();
    for (n, ((sa, basis), mut group)) in groups.into_iter().take(SAS).enumerate() {
        if n > 0 {
            page.blank();
        }
        group.sort_by_key(|size| size.inner_bytes);
        one(page, report, sa, basis, &group);
    }
    if all > SAS {
        let more = grouped((all - SAS) as u64);
        page.wrapped(2, 2, &format!("and {more} more SAs; `--format csv --table sizes` lists all."));
    }
}

fn one(page: &mut Page<'_>, report: &MatchReport, sa: &str, basis: &str, group: &[&Size]) {
    let ends = names::sa_parts(sa).map_or_else(|| printable(sa).into_owned(), |(_, _, direction)| direction);
    let predicted = predicted_by(report.directions.iter().find(|direction| *direction.sa == *sa));
    page.wrapped(2, 6, &format!("{ends}, {}: {}{predicted}", short(sa), known(basis)));
    let parts: Vec<Parts> = group.iter().filter_map(|size| size.parts).collect();
    if parts.len() == group.len() {
        page.wrapped(2, 6, &parts_line(&parts));
    }
    let folded = group.len() > classes::EXACT_ROWS;
    let rows = if folded { fold(group) } else { group.iter().map(|size| exact(size)).collect() };
    let mut table = Table::new(vec![
        Column::right("inner\nB"),
        Column::right("frames"),
        Column::right("outer\nB"),
        Column::right("over-\nhead\nB"),
        Column::right("of\ninner\n%"),
        Column::right("pre-\ndicted\nB"),
        Column::right("differ-\nence\nB"),
        Column::right("loss\n%"),
        Column::right("latency\np50"),
        Column::left("").fit(Fit::Remark),
    ]);
    for row in rows {
        table.row(row);
    }
    table.print(page);
    if folded {
        let sizes = count(group.len() as u64, "size");
        page.wrapped(
            2,
            6,
            &format!(
                "{sizes} folded into the classes of RFC 2544; `--format csv --table sizes` lists each with its latency."
            ),
        );
    }
}

/// How the pairs behind the figures are known.
fn known(basis: &str) -> &'static str {
    match basis {
        "content" => "measured, the inner packets are visible",
        "decrypted" => "measured, the packets were decrypted",
        _ => "measured, packets paired by order",
    }
}

/// What the prediction rests on.
fn predicted_by(direction: Option<&Direction>) -> String {
    let Some(direction) = direction.filter(|direction| direction.transform.basis != "unknown") else {
        return String::new();
    };
    match direction.transform.basis {
        "inferred" => "; predicted by the transform that these lengths themselves suggest".to_owned(),
        basis => format!("; predicted by the transform ({})", printable(basis)),
    }
}

fn exact(size: &Size) -> [String; 10] {
    [
        size.inner_bytes.to_string(),
        grouped(size.frames),
        size.outer_bytes_min
            .zip(size.outer_bytes_max)
            .map(|(a, b)| plain_range((signed(a), signed(b))))
            .unwrap_or_default(),
        size.overhead_min_bytes.zip(size.overhead_max_bytes).map(plain_range).unwrap_or_default(),
        size.overhead_of_inner_pct.map(|share| decimal(share, 1)).unwrap_or_default(),
        size.predicted_bytes.map(|octets| octets.to_string()).unwrap_or_default(),
        size.difference_bytes.map(difference).unwrap_or_default(),
        size.loss_pct.map(|loss| decimal(loss, 2)).unwrap_or_default(),
        size.latency_ns.map(|times| time(times.p50)).unwrap_or_default(),
        remark(size),
    ]
}

/// Why measured and predicted differ, and what became of lost packets.
fn remark(size: &Size) -> String {
    let why = size.difference_why.map(|why| format!("differs: {why}"));
    let mtu = size.icmp_mtu_bytes.map(|mtu| format!("longer than the MTU of {mtu} B that ICMP errors state"));
    let behind = size.lost_behind_tunnel.filter(|lost| *lost > 0);
    let behind = behind.map(|lost| format!("{} lost after the tunnel tap", grouped(lost)));
    [why, mtu, behind].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A mean difference: whole where it is, with its sign.
fn difference(octets: f64) -> String {
    let text = decimal(octets, if (octets - octets.round()).abs() < 0.05 { 0 } else { 1 });
    if octets > 0.05 { format!("+{text}") } else { text }
}

/// Sizes summed into the classes of RFC 2544. Medians do not add up, so classes have none.
fn fold(group: &[&Size]) -> Vec<[String; 10]> {
    let mut rows = Vec::new();
    for class in 0..=classes::LAST {
        let members: Vec<&&Size> = group.iter().filter(|size| classes::class_of(size.inner_bytes) == class).collect();
        let frames: u64 = members.iter().map(|size| size.frames).sum();
        if members.is_empty() {
            continue;
        }
        let ends = |pick: fn(&Size) -> Option<(i64, i64)>| {
            let known = members.iter().filter_map(|size| pick(size));
            let spanned = known.reduce(|(a, b), (min, max)| (a.min(min), b.max(max)));
            spanned.map(plain_range).unwrap_or_default()
        };
        // Sums of octets: exact far beyond any capture.
        let sum = |of: fn(&Size) -> f64| members.iter().map(|size| of(size) * size.frames as f64).sum::<f64>();
        let inner = sum(|size| size.inner_bytes as f64);
        let overhead = sum(|size| size.overhead_of_inner_pct.unwrap_or(0.0) * size.inner_bytes as f64);
        let seen = || members.iter().filter(|size| size.frames > 0);
        let predicted: Option<Vec<i64>> = seen().map(|size| size.predicted_bytes).collect();
        let predicted = predicted.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
        let differ: Option<f64> = seen().map(|size| Some(size.difference_bytes? * size.frames as f64)).sum();
        let mut why: Vec<&str> = members.iter().filter_map(|size| size.difference_why).collect();
        why.sort_unstable();
        why.dedup();
        let loss: Option<f64> = members.iter().map(|size| lost(size)).sum();
        let share = loss.map(|lost| lost / (lost + frames as f64) * 100.0);
        rows.push([
            classes::label(class),
            grouped(frames),
            ends(|size| Some((signed(size.outer_bytes_min?), signed(size.outer_bytes_max?)))),
            ends(|size| Some((size.overhead_min_bytes?, size.overhead_max_bytes?))),
            if inner > 0.0 { decimal(overhead / inner, 1) } else { String::new() },
            predicted.map(plain_range).unwrap_or_default(),
            differ.filter(|_| frames > 0).map(|sum| difference(sum / frames as f64)).unwrap_or_default(),
            share.map(|loss| decimal(loss, 2)).unwrap_or_default(),
            String::new(),
            if why.is_empty() { String::new() } else { format!("differs: {}", why.join("; ")) },
        ]);
    }
    rows
}

/// How many packets of a size were lost, out of the share.
fn lost(size: &Size) -> Option<f64> {
    if let Some(lost) = size.lost_before_tunnel {
        return Some(lost as f64);
    }
    let share = size.loss_pct?;
    (share < 100.0).then(|| (size.frames as f64 * share / (100.0 - share)).round())
}

fn signed(octets: u64) -> i64 {
    i64::try_from(octets).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::pairs::size;

    #[test]
    fn classes_keep_packets_losses_and_differences() {
        let sizes: Vec<Size> =
            (40..140).map(|inner| Size { frames: 98, loss_pct: Some(2.0), ..size(inner, 56) }).collect();
        let rows = fold(&sizes.iter().collect::<Vec<_>>());
        let labels: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(labels, ["0-46", "47-110", "111-238"]);
        assert_eq!(rows[0][1], "686");
        assert_eq!((rows[0][2].as_str(), rows[0][3].as_str(), rows[0][7].as_str()), ("96-102", "56", "2.00"));
        assert_eq!(rows[0][6], "0");
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!([difference(0.0), difference(8.0), difference(-0.25)], ["0", "+8", "-0.2"]);
    }
}
