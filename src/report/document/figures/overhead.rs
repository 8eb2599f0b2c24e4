//! The overhead of packets by size: what it is made of, as bars.

use super::sources::SizedRow;
use super::{BarRow, Bars, Cell, Chart, Column, Data, Figure, Ink, LegendKey, Panel, Sized, StackPart, Table};
use crate::model::report::TransformBasis;
use crate::report::document::table::Priority;
use crate::report::words::number::{count, grouped, range};

/// Bars of a figure; more sizes are in the table.
const BARS: usize = 12;

/// The figure; `None` where no size has known parts.
pub(in crate::report::document) fn figure(sized: &Sized<'_>) -> Option<Figure> {
    let rows: Vec<&SizedRow> = sized.rows.iter().filter(|row| row.parts.is_some()).collect();
    let shown = busiest(&rows);
    let full = shown.iter().map(|row| length(row)).fold(0.0, f64::max);
    if full <= 0.0 || !full.is_finite() {
        return None;
    }
    let used: Vec<StackPart> = StackPart::ALL
        .into_iter()
        .filter(|part| shown.iter().filter_map(|row| row.parts).any(|parts| part.of(&parts) > 0.0))
        .collect();
    let title = title(sized);
    let message = format!("{}. The figures are in the cells of the table.", title.trim_end_matches('.'));
    let bars = Bars {
        rows_are: Column::figures("packet", "B"),
        stacked: "parts of the overhead".to_owned(),
        columns: vec![
            Column::figures("over-\nhead", "B"),
            Column::figures("in the tunnel", "B").priority(Priority::Optional),
            Column::figures("of packet", "%").priority(Priority::Optional),
            Column::figures("circuit left", "%"),
        ],
        full,
        rows: shown.iter().map(|row| bar(row, &used)).collect(),
    };
    let mut key: Vec<LegendKey> = used.iter().map(|part| LegendKey::new(Ink::Part(*part), part.name())).collect();
    key.push(LegendKey::new(Ink::Measured, "measured"));
    Some(Figure {
        title,
        about: format!(
            "Bytes added to a packet by its IP length, {}; {}, {}.",
            sized.whose,
            count(sized.frames, sized.counted.trim_end_matches('s')),
            sized.known,
        ),
        key,
        panels: vec![Panel { caption: String::new(), message, chart: Chart::Bars(bars) }],
        note: note(sized, shown.len()),
        data: (rows.len() > shown.len()).then(|| data(&rows, &used)),
    })
}

/// The rows with the most packets, in order of size.
fn busiest<'r>(rows: &[&'r SizedRow]) -> Vec<&'r SizedRow> {
    let mut order: Vec<&SizedRow> = rows.to_vec();
    order.sort_by_key(|row| std::cmp::Reverse(row.frames));
    order.truncate(BARS);
    order.sort_by_key(|row| row.inner);
    order
}

/// How far a bar and its dots reach.
fn length(row: &SizedRow) -> f64 {
    let parts = row.parts.map_or(0.0, |parts| StackPart::ALL.iter().map(|part| part.of(&parts).max(0.0)).sum());
    // Overheads are far below 2^53 bytes.
    f64::max(parts, row.overhead.1 as f64)
}

fn bar(row: &SizedRow, used: &[StackPart]) -> BarRow {
    let parts = row.parts.map_or_else(Vec::new, |parts| used.iter().map(|part| (*part, part.of(&parts))).collect());
    let (least, most) = row.overhead;
    let mut dots = vec![least as f64];
    if most != least {
        dots.push(most as f64);
    }
    BarRow {
        name: Cell::Count(row.inner),
        parts,
        dots,
        cells: vec![
            Cell::Range(least, most),
            span(row.outer),
            Cell::decimal(row.of_inner_pct.filter(|share| share.is_finite()), 1),
            Cell::decimal(row.share(), 1),
        ],
    }
}

fn span((from, to): (u64, u64)) -> Cell {
    if from == to {
        return Cell::Count(from);
    }
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    Cell::Range(signed(from), signed(to))
}

/// Every size with its parts.
fn data(rows: &[&SizedRow], used: &[StackPart]) -> Data {
    let fixed = [Column::figures("packet", "B"), Column::counts("frames"), Column::figures("overhead", "B")];
    let parts = used.iter().map(|part| Column::figures(part.name(), "B"));
    let last = [Column::figures("in the tunnel", "B"), Column::figures("circuit left", "%")];
    let mut table = Table::new(fixed.into_iter().chain(parts).chain(last));
    for row in rows {
        let (least, most) = row.overhead;
        let fixed = [Cell::Count(row.inner), Cell::Count(row.frames), Cell::Range(least, most)];
        let parts = row.parts;
        let parts = used.iter().map(|part| parts.map_or(Cell::Unknown, |parts| Cell::mean(part.of(&parts))));
        let last = [span(row.outer), Cell::decimal(row.share(), 1)];
        table.row(fixed.into_iter().chain(parts).chain(last));
    }
    Data { caption: "Parts of the overhead at every size".to_owned(), table }
}

/// `Packets of 40 to 1 500 bytes pay 58 to 73 bytes; padding is what varies`.
fn title(sized: &Sized<'_>) -> String {
    let Some((least, most)) = ends(sized) else { return "Overhead by packet size".to_owned() };
    let sizes = sizes(&sized.rows);
    if least < 0 {
        return format!("{sizes} change by {} bytes", range(least, most));
    }
    let one = sized.rows.len() == 1;
    let subject = match sized.rows.first() {
        Some(row) if one => format!("A {}-byte packet pays", grouped(row.inner)),
        _ => format!("{sizes} pay"),
    };
    let varies = varying(&sized.rows).map_or_else(String::new, |part| format!("; {} is what varies", part.name()));
    let same = if least == most && !one { ", whatever their size" } else { "" };
    format!("{subject} {} bytes{same}{varies}", range(least, most))
}

/// The least and the greatest overhead of a direction.
pub(in crate::report::document) fn ends(sized: &Sized<'_>) -> Option<(i64, i64)> {
    let least = sized.rows.iter().map(|row| row.overhead.0).min()?;
    Some((least, sized.rows.iter().map(|row| row.overhead.1).max()?))
}

/// `Packets of 40 to 1 500 bytes`.
pub(in crate::report::document) fn sizes(rows: &[SizedRow]) -> String {
    match (rows.first(), rows.last()) {
        (Some(first), Some(last)) if first.inner != last.inner => {
            format!("Packets of {} to {} bytes", grouped(first.inner), grouped(last.inner))
        }
        (Some(one), _) => format!("Packets of {} bytes", grouped(one.inner)),
        _ => "Packets".to_owned(),
    }
}

/// The only part that differs between sizes; `None` where several do, none does, or packets of one size differ.
pub(in crate::report::document) fn varying(rows: &[SizedRow]) -> Option<StackPart> {
    let parts: Vec<_> = rows.iter().map(|row| row.parts.filter(|_| row.overhead.0 == row.overhead.1)).collect();
    let parts: Vec<_> = parts.into_iter().collect::<Option<_>>()?;
    let mut varying = StackPart::ALL.into_iter().filter(|part| {
        let bytes = parts.iter().map(|parts| part.of(parts));
        let (least, most) =
            bytes.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), n| (least.min(n), most.max(n)));
        most - least >= 0.05
    });
    varying.next().filter(|_| varying.next().is_none())
}

/// What the bars rest on, and what is not shown.
fn note(sized: &Sized<'_>, shown: usize) -> String {
    let mut sentences = Vec::new();
    let predicted: Option<Vec<bool>> =
        sized.rows.iter().map(|row| row.predicted.map(|bytes| row.overhead == (bytes, bytes))).collect();
    if let Some(equal) = predicted.filter(|equal| !equal.is_empty()) {
        let same = equal.iter().filter(|equal| **equal).count();
        let transform = sized
            .transform
            .map_or("", |transform| if transform.basis == TransformBasis::Inferred { "inferred " } else { "" });
        let of = if same == equal.len() { format!("all {same}") } else { format!("{same} of {}", equal.len()) };
        let sizes = if equal.len() == 1 { "the only size".to_owned() } else { format!("{of} sizes") };
        if same > 0 {
            sentences
                .push(format!("The measured overhead equals the prediction of the {transform}transform at {sizes}."));
        }
    }
    let rows = sized.rows.iter().filter(|row| row.parts.is_some()).count();
    if rows > shown {
        sentences.push(format!("The {shown} sizes with the most {}, of {rows}.", sized.counted));
    }
    if sized.others > 0 {
        sentences.push(format!("The busiest of {} directions; the tables have all.", sized.others + 1));
    }
    sentences.join(" ")
}
