//! One table of the report as CSV. Columns carry the names of the JSON report, members of members joined with `_`; lists are
//! joined with `;`. The header row is always there. No text cell begins a formula.

mod pairs;
mod trials;

use std::fmt::Write as _;
use std::io::{self, Write};

pub use pairs::{PairRows, PairTable, write_pairs};
pub use trials::{TrialsTable, write_trials};

use crate::model::report::{
    AhPadding, Capture, DirectionRate, EspPadding, EthernetPadding, Finding, FrameRef, Layer, Report, Rfc3339, Sa, Size,
};
use crate::report::words::escape;

/// The tables that CSV can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Table {
    /// `findings[]`
    Findings,
    /// `sas[]`
    Sas,
    /// `tunnels[]`
    Tunnels,
    /// `sizes[]`
    Sizes,
    /// `padding`: all three kinds, told apart by the column `kind`
    Padding,
    /// `rates.directions[]`
    Rates,
    /// `layers[]`
    Layers,
    /// `captures[]`
    Captures,
}

impl Table {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Findings,
        Self::Sas,
        Self::Tunnels,
        Self::Sizes,
        Self::Padding,
        Self::Rates,
        Self::Layers,
        Self::Captures,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Findings => "findings",
            Self::Sas => "sas",
            Self::Tunnels => "tunnels",
            Self::Sizes => "sizes",
            Self::Padding => "padding",
            Self::Rates => "rates",
            Self::Layers => "layers",
            Self::Captures => "captures",
        }
    }
}

/// Writes one table.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(report: &Report, table: Table, out: &mut dyn Write) -> io::Result<()> {
    match table {
        Table::Findings => rows(out, FINDINGS, &report.findings),
        Table::Sas => rows(out, SAS, &report.sas),
        Table::Tunnels => rows(out, TUNNELS, &report.tunnels),
        Table::Sizes => rows(out, SIZES, &report.sizes),
        Table::Padding => {
            let padding = &report.padding;
            let all = padding.ethernet.iter().cloned().map(PaddingRow::Ethernet);
            let all = all.chain(padding.esp.iter().cloned().map(PaddingRow::Esp));
            let all = all.chain(padding.ah.iter().cloned().map(PaddingRow::Ah));
            rows(out, PADDING, &all.collect::<Vec<_>>())
        }
        Table::Rates => rows(out, RATES, &report.rates.directions),
        Table::Layers => rows(out, LAYERS, &report.layers),
        Table::Captures => rows(out, CAPTURES, &report.captures),
    }
}

/// A column: its name and how a row fills its cell.
type Column<T> = (&'static str, fn(&T, &mut Cell));

/// A cell being filled; empty is absent.
#[derive(Default)]
struct Cell(String);

impl Cell {
    fn text(&mut self, text: &str) {
        self.0.push_str(&escape::cell(text));
    }

    fn optional_time(&mut self, time: Option<Rfc3339>) {
        if let Some(time) = time {
            self.text(&time.to_string());
        }
    }

    fn optional_text(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn list<S: std::borrow::Borrow<str>>(&mut self, texts: &[S]) {
        // Each is a cell of its own where a semicolon separates cells.
        let cells: Vec<_> = texts.iter().map(|text| escape::cell(text.borrow())).collect();
        self.text(&cells.join(";"));
    }

    fn number(&mut self, number: impl Into<Option<i128>>) {
        if let Some(number) = number.into() {
            // Writing to a String cannot fail.
            let _ = write!(self.0, "{number}");
        }
    }

    fn real(&mut self, number: impl Into<Option<f64>>) {
        if let Some(number) = number.into().filter(|number| number.is_finite()) {
            let _ = write!(self.0, "{number}");
        }
    }

    fn yes(&mut self, yes: bool) {
        self.0.push_str(if yes { "true" } else { "false" });
    }

    fn frame_capture(&mut self, frame: Option<FrameRef>) {
        self.number(frame.map(|frame| frame.capture.into()));
    }

    fn frame_number(&mut self, frame: Option<FrameRef>) {
        self.number(frame.map(|frame| frame.frame.into()));
    }
}

fn wide(n: Option<impl Into<i128>>) -> Option<i128> {
    n.map(Into::into)
}

fn rows<T>(out: &mut dyn Write, columns: &[Column<T>], rows: &[T]) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().from_writer(out);
    writer.write_record(columns.iter().map(|(name, _)| name)).map_err(io::Error::from)?;
    let mut cell = Cell::default();
    for row in rows {
        for (_, fill) in columns {
            cell.0.clear();
            fill(row, &mut cell);
            writer.write_field(&cell.0).map_err(io::Error::from)?;
        }
        writer.write_record(None::<&[u8]>).map_err(io::Error::from)?;
    }
    writer.flush()
}

const FINDINGS: &[Column<Finding>] = &[
    ("code", |r, c| c.text(r.code)),
    ("severity", |r, c| c.text(r.severity.name())),
    ("title", |r, c| c.text(&r.title)),
    ("tap", |r, c| c.text(&r.tap)),
    ("sa", |r, c| c.optional_text(r.sa.as_deref())),
    ("count", |r, c| c.number(i128::from(r.count))),
    ("first_frame_capture", |r, c| c.frame_capture(r.first_frame)),
    ("first_frame_frame", |r, c| c.frame_number(r.first_frame)),
    ("last_frame_capture", |r, c| c.frame_capture(r.last_frame)),
    ("last_frame_frame", |r, c| c.frame_number(r.last_frame)),
    ("first", |r, c| c.optional_text(r.first.as_deref())),
    ("last", |r, c| c.optional_text(r.last.as_deref())),
    ("first_ns", |r, c| c.number(wide(r.first_ns))),
    ("last_ns", |r, c| c.number(wide(r.last_ns))),
    ("evidence", |r, c| c.text(&r.evidence)),
    ("cause", |r, c| c.text(&r.cause)),
    ("remedy", |r, c| c.text(&r.remedy)),
];

const SAS: &[Column<Sa>] = &[
    ("id", |r, c| c.text(&r.id)),
    ("tap", |r, c| c.text(&r.tap)),
    ("proto", |r, c| c.text(r.proto)),
    ("spi", |r, c| c.number(i128::from(r.spi))),
    ("spi_hex", |r, c| c.text(&r.spi_hex.to_string())),
    ("src", |r, c| c.text(&r.src.to_string())),
    ("dst", |r, c| c.text(&r.dst.to_string())),
    ("encapsulation", |r, c| c.text(r.encapsulation)),
    ("mode", |r, c| c.text(r.mode)),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("fragments", |r, c| c.number(i128::from(r.fragments))),
    ("outer_bytes", |r, c| c.number(i128::from(r.outer_bytes))),
    ("copies_removed", |r, c| c.number(i128::from(r.copies_removed))),
    ("first", |r, c| c.optional_time(r.first)),
    ("last", |r, c| c.optional_time(r.last)),
    ("first_ns", |r, c| c.number(wide(r.first_ns))),
    ("last_ns", |r, c| c.number(wide(r.last_ns))),
    ("first_frame_capture", |r, c| c.frame_capture(Some(r.first_frame))),
    ("first_frame_frame", |r, c| c.frame_number(Some(r.first_frame))),
    ("last_frame_capture", |r, c| c.frame_capture(Some(r.last_frame))),
    ("last_frame_frame", |r, c| c.frame_number(Some(r.last_frame))),
    ("sequence_first", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.first)))),
    ("sequence_last", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.last)))),
    ("sequence_highest", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.highest)))),
    ("sequence_lost", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.lost)))),
    ("sequence_gaps", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.gaps)))),
    ("sequence_longest_gap", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.longest_gap)))),
    ("sequence_duplicate", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.duplicate)))),
    ("sequence_late", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.late)))),
    ("sequence_restarts", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.restarts)))),
    ("sequence_wraps", |r, c| c.number(wide(r.sequence.as_ref().map(|s| s.wraps)))),
    // `size:would_drop`, one per window that would drop.
    ("sequence_replay_window", |r, c| {
        let windows = r.sequence.iter().flat_map(|s| &s.replay_window);
        c.list(&windows.map(|window| format!("{}:{}", window.size, window.would_drop)).collect::<Vec<_>>());
    }),
    ("transform_basis", |r, c| c.text(r.transform.basis)),
    ("transform_name", |r, c| c.optional_text(r.transform.name.as_deref())),
    ("transform_candidates", |r, c| c.list(&r.transform.candidates)),
    ("transform_evidence", |r, c| c.optional_text(r.transform.evidence.as_deref())),
    ("icv_bytes", |r, c| c.number(wide(r.icv_bytes))),
    ("rate_frames_per_s", |r, c| c.real(r.rate.frames_per_s)),
    ("rate_l1_bps", |r, c| c.real(r.rate.l1_bps)),
    ("protection_bytes_min", |r, c| c.number(wide(r.protection_bytes.map(|p| p.min)))),
    ("protection_bytes_max", |r, c| c.number(wide(r.protection_bytes.map(|p| p.max)))),
    ("overhead_basis", |r, c| c.text(r.overhead.basis)),
    ("overhead_min_bytes", |r, c| c.number(wide(r.overhead.min_bytes))),
    ("overhead_max_bytes", |r, c| c.number(wide(r.overhead.max_bytes))),
    ("overhead_mean_bytes", |r, c| c.real(r.overhead.mean_bytes)),
    // Published columns stay where they are.
    ("fragments_uncertain", |r, c| c.number(i128::from(r.fragments_uncertain))),
];

const TUNNELS: &[Column<crate::model::report::Tunnel>] = &[
    ("tap", |r, c| c.text(&r.tap)),
    ("a", |r, c| c.text(&r.a)),
    ("b", |r, c| c.text(&r.b)),
    ("sas_a_to_b", |r, c| c.list(&r.sas_a_to_b)),
    ("sas_b_to_a", |r, c| c.list(&r.sas_b_to_a)),
    ("first_ns", |r, c| c.number(wide(r.first_ns))),
    ("last_ns", |r, c| c.number(wide(r.last_ns))),
];

const SIZES: &[Column<Size>] = &[
    ("tap", |r, c| c.text(&r.tap)),
    ("direction", |r, c| c.text(&r.direction)),
    ("sa", |r, c| c.optional_text(r.sa.as_deref())),
    ("encapsulation", |r, c| c.text(&r.encapsulation)),
    ("inner_bytes", |r, c| c.number(i128::from(r.inner_bytes))),
    ("outer_bytes_min", |r, c| c.number(i128::from(r.outer_bytes_min))),
    ("outer_bytes_max", |r, c| c.number(i128::from(r.outer_bytes_max))),
    ("outer_bytes_mean", |r, c| c.real(r.outer_bytes_mean)),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("frames_per_s", |r, c| c.real(r.frames_per_s)),
    ("overhead_min_bytes", |r, c| c.number(i128::from(r.overhead_min_bytes))),
    ("overhead_max_bytes", |r, c| c.number(i128::from(r.overhead_max_bytes))),
    ("overhead_mean_bytes", |r, c| c.real(r.overhead_mean_bytes)),
    ("overhead_of_inner_pct", |r, c| c.real(r.overhead_of_inner_pct)),
    ("overhead_of_l1_pct", |r, c| c.real(r.overhead_of_l1_pct)),
    ("circuit_share_pct", |r, c| c.real(r.circuit_share_pct)),
    ("l1_plain_bytes", |r, c| c.number(i128::from(r.l1_plain_bytes))),
    ("l1_tunnel_bytes", |r, c| c.real(r.l1_tunnel_bytes)),
    ("l1_plain_bps", |r, c| c.real(r.l1_plain_bps)),
    ("l1_tunnel_bps", |r, c| c.real(r.l1_tunnel_bps)),
    ("parts_outer_ip", |r, c| c.real(r.parts.outer_ip)),
    ("parts_udp", |r, c| c.real(r.parts.udp)),
    ("parts_tcp", |r, c| c.real(r.parts.tcp)),
    ("parts_gre", |r, c| c.real(r.parts.gre)),
    ("parts_ah", |r, c| c.real(r.parts.ah)),
    ("parts_esp_header", |r, c| c.real(r.parts.esp_header)),
    ("parts_iv", |r, c| c.real(r.parts.iv)),
    ("parts_esp_pad", |r, c| c.real(r.parts.esp_pad)),
    ("parts_esp_trailer", |r, c| c.real(r.parts.esp_trailer)),
    ("parts_icv", |r, c| c.real(r.parts.icv)),
    ("parts_fragmentation", |r, c| c.real(r.parts.fragmentation)),
    ("basis", |r, c| c.text(r.basis)),
    ("parts_link", |r, c| c.real(r.parts.link)),
];

/// A row of any kind of padding.
enum PaddingRow {
    Ethernet(EthernetPadding),
    Esp(EspPadding),
    Ah(AhPadding),
}

impl PaddingRow {
    const fn ethernet(&self) -> Option<&EthernetPadding> {
        if let Self::Ethernet(row) = self { Some(row) } else { None }
    }

    const fn esp(&self) -> Option<&EspPadding> {
        if let Self::Esp(row) = self { Some(row) } else { None }
    }
}

const PADDING: &[Column<PaddingRow>] = &[
    ("kind", |r, c| {
        c.text(match r {
            PaddingRow::Ethernet(_) => "ethernet",
            PaddingRow::Esp(_) => "esp",
            PaddingRow::Ah(_) => "ah",
        });
    }),
    ("tap", |r, c| {
        c.text(match r {
            PaddingRow::Ethernet(row) => &row.tap,
            PaddingRow::Esp(row) => &row.tap,
            PaddingRow::Ah(row) => &row.tap,
        });
    }),
    ("direction", |r, c| c.optional_text(r.ethernet().map(|row| row.direction.as_str()))),
    ("sa", |r, c| {
        c.text(match r {
            PaddingRow::Ethernet(_) => "",
            PaddingRow::Esp(row) => &row.sa,
            PaddingRow::Ah(row) => &row.sa,
        });
    }),
    ("frames", |r, c| {
        c.number(Some(i128::from(match r {
            PaddingRow::Ethernet(row) => row.frames,
            PaddingRow::Esp(row) => row.pad_lengths.values().sum(),
            PaddingRow::Ah(row) => row.frames,
        })));
    }),
    ("pad_bytes_min", |r, c| c.number(wide(r.ethernet().map(|row| row.pad_bytes_min)))),
    ("pad_bytes_max", |r, c| c.number(wide(r.ethernet().map(|row| row.pad_bytes_max)))),
    ("pattern", |r, c| c.optional_text(r.ethernet().map(|row| row.pattern))),
    // `capture:frame`.
    ("examples", |r, c| {
        let examples = r.ethernet().map(|row| row.examples.as_slice()).unwrap_or_default();
        c.list(&examples.iter().map(|frame| format!("{}:{}", frame.capture, frame.frame)).collect::<Vec<_>>());
    }),
    ("basis", |r, c| c.optional_text(r.esp().map(|row| row.basis))),
    // `length:frames`.
    ("pad_lengths", |r, c| {
        let lengths = r.esp().into_iter().flat_map(|row| &row.pad_lengths);
        c.list(&lengths.map(|(length, frames)| format!("{length}:{frames}")).collect::<Vec<_>>());
    }),
    ("monotonic", |r, c| c.number(wide(r.esp().map(|row| row.monotonic)))),
    ("other", |r, c| c.number(wide(r.esp().map(|row| row.other)))),
    ("longer_than_needed", |r, c| c.number(wide(r.esp().map(|row| row.longer_than_needed)))),
    ("nonzero", |r, c| {
        if let PaddingRow::Ah(row) = r {
            c.number(i128::from(row.nonzero));
        }
    }),
];

const RATES: &[Column<DirectionRate>] = &[
    ("tap", |r, c| c.text(&r.tap)),
    ("direction", |r, c| c.text(&r.direction)),
    ("from", |r, c| c.text(&r.from)),
    ("to", |r, c| c.text(&r.to)),
    ("seconds", |r, c| c.real(r.seconds)),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("frames_per_s", |r, c| c.real(r.frames_per_s)),
    ("l1_bps", |r, c| c.real(r.l1_bps)),
    ("l1_with_control_bps", |r, c| c.real(r.l1_with_control_bps)),
    ("l2_bps", |r, c| c.real(r.l2_bps)),
    ("l3_bps", |r, c| c.real(r.l3_bps)),
    ("goodput_bps", |r, c| c.real(r.goodput_bps)),
    ("goodput_min_bps", |r, c| c.real(r.goodput_min_bps)),
    ("goodput_max_bps", |r, c| c.real(r.goodput_max_bps)),
    ("clear_bps", |r, c| c.real(r.clear_bps)),
    ("control_l1_bps", |r, c| c.real(r.control_l1_bps)),
    ("utilisation_pct", |r, c| c.real(r.utilisation_pct)),
    ("peak_start_ns", |r, c| c.number(wide(r.peak.map(|peak| peak.start_ns)))),
    ("peak_l1_bps", |r, c| c.real(r.peak.map(|peak| peak.l1_bps))),
    ("peak_frames_per_s", |r, c| c.real(r.peak.map(|peak| peak.frames_per_s))),
    ("l1_basis", |r, c| c.text(r.l1_basis)),
    ("basis", |r, c| c.text(r.basis)),
    ("if_no_tfc_goodput_min_bps", |r, c| c.real(r.if_no_tfc.and_then(|range| range.goodput_min_bps))),
    ("if_no_tfc_goodput_max_bps", |r, c| c.real(r.if_no_tfc.and_then(|range| range.goodput_max_bps))),
];

const LAYERS: &[Column<Layer>] = &[
    ("tap", |r, c| c.text(&r.tap)),
    ("stack", |r, c| c.text(&r.stack)),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("wire_bytes", |r, c| c.number(i128::from(r.wire_bytes))),
];

const CAPTURES: &[Column<Capture>] = &[
    ("path", |r, c| c.text(&r.path)),
    ("tap", |r, c| c.text(&r.tap)),
    ("format", |r, c| c.text(&r.format)),
    ("compression", |r, c| c.optional_text(r.compression.as_deref())),
    ("link_types", |r, c| c.list(&r.link_types)),
    ("interfaces", |r, c| {
        let names = r.interfaces.iter().map(|interface| interface.name.clone().unwrap_or_default());
        c.list(&names.collect::<Vec<_>>());
    }),
    ("frames", |r, c| c.number(i128::from(r.frames))),
    ("bytes", |r, c| c.number(i128::from(r.bytes))),
    ("first", |r, c| c.optional_text(r.first.as_deref())),
    ("last", |r, c| c.optional_text(r.last.as_deref())),
    ("first_ns", |r, c| c.number(wide(r.first_ns))),
    ("last_ns", |r, c| c.number(wide(r.last_ns))),
    ("complete", |r, c| c.yes(r.complete)),
    ("damage_offset", |r, c| c.number(wide(r.damage.as_ref().map(|damage| damage.offset)))),
    ("damage_frame", |r, c| c.number(wide(r.damage.as_ref().map(|damage| damage.frame)))),
    ("damage_what", |r, c| c.optional_text(r.damage.as_ref().map(|damage| damage.what.as_str()))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const ALL: [Table; 8] = [
        Table::Findings,
        Table::Sas,
        Table::Tunnels,
        Table::Sizes,
        Table::Padding,
        Table::Rates,
        Table::Layers,
        Table::Captures,
    ];

    fn csv(report: &Report, table: Table) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        write(report, table, &mut out).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(out.as_slice());
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn the_header_is_always_there_and_rows_are_as_wide() {
        for table in ALL {
            let empty = csv(&sample::empty(), table);
            assert!(!empty.is_empty(), "{table:?}");
            let full = csv(&sample::report(), table);
            assert_eq!(full[0], empty[0]);
            assert!(full.len() > 1, "{table:?}");
            assert!(full.iter().all(|row| row.len() == full[0].len()));
        }
    }

    #[test]
    fn names_and_values_are_those_of_the_json() {
        let report = sample::report();
        for (table, pointer) in
            [(Table::Sas, "/sas/1"), (Table::Sizes, "/sizes/0"), (Table::Rates, "/rates/directions/0")]
        {
            let json = serde_json::to_value(&report).unwrap();
            let object = json.pointer(pointer).unwrap().as_object().unwrap();
            let header = &csv(&report, table)[0];
            for (name, value) in object {
                let found = match value {
                    serde_json::Value::Object(members) => {
                        members.keys().all(|member| header.contains(&format!("{name}_{member}")))
                    }
                    _ => header.contains(name),
                };
                assert!(found, "{table:?}: {name}");
            }
        }
        let sas = csv(&report, Table::Sas);
        let column = |name: &str| sas[0].iter().position(|cell| cell == name).unwrap();
        assert_eq!(sas[2][column("sequence_lost")], "15");
        assert_eq!(sas[2][column("sequence_replay_window")], "32:3;64:1");
        assert_eq!(sas[2][column("spi")], "1001");
    }

    #[test]
    fn strangers_write_no_formulas() {
        for table in ALL {
            for cell in csv(&sample::hostile(), table).into_iter().flatten() {
                assert!(!cell.starts_with(['=', '+', '@']), "{cell}");
                assert!(!cell.chars().any(char::is_control), "{cell}");
            }
        }
    }
}
