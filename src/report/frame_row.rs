//! One row per frame: the `frames` output as CSV or as one JSON object per line.
//!
//! `docs/columns.md` says what each column means.
//!
//! With keys, what was decrypted is visible; a packet that fails its ICV stays hidden, and one that cannot be checked (no integrity
//! algorithm, or cut by the snapshot length) is shown where what was decrypted holds together. In transport mode the inner packet has no
//! addresses of its own: `inner_*` stay empty, `overhead_bytes` does not.
//!
//! Absent is empty in CSV and `null` in JSON. In JSON single numbers are numbers; joined values are strings.

pub(super) mod cells;

use std::io::{self, Write};

use cells::{AddressTexts, FrameCells};

use crate::capture::Frame;
use crate::dissect::{LayerKind, Limit, Shape, Stack, Stop, StopCause, stack_name};
use crate::model::Address;
use crate::report::table::frames::NAMES;
use crate::report::words::escape;
use crate::report::words::harmless::Harmless;

/// The columns, in order.
pub const COLUMNS: [&str; 24] = NAMES;

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// CSV with a header row.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

/// Writes rows, a buffer at a time.
#[derive(Debug)]
pub struct FrameRows<W: Write> {
    out: W,
    format: RowFormat,
    buffer: Vec<u8>,
    column: usize,
    capture: Vec<u8>,
    /// Names of recent shapes, most recent last.
    stacks: Vec<(Shape, Vec<u8>)>,
    addresses: AddressTexts<Vec<u8>>,
}

/// The buffer goes out when it holds this many octets.
const FLUSH: usize = 64 * 1024;
/// Captures have few shapes; beyond this many, names are made anew.
const STACKS: usize = 64;

impl<W: Write> FrameRows<W> {
    /// A writer of rows to `out`; CSV begins with its header row.
    pub fn new(out: W, format: RowFormat) -> Self {
        let mut buffer = Vec::with_capacity(FLUSH + 4096);
        if format == RowFormat::Csv {
            buffer.extend_from_slice(COLUMNS.join(",").as_bytes());
            buffer.push(b'\n');
        }
        Self { out, format, buffer, column: 0, capture: Vec::new(), stacks: Vec::new(), addresses: AddressTexts::new() }
    }

    /// The capture that the next rows belong to, as it was named.
    pub fn set_capture(&mut self, name: &str) {
        self.capture = encode(name, self.format);
    }

    /// Writes the row of one frame.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn write(&mut self, frame: &Frame<'_>, stack: &Stack) -> io::Result<()> {
        self.column = 0;
        cells::fill(self, frame, stack);
        self.buffer.extend_from_slice(if self.format == RowFormat::Csv { b"\n" } else { b"}\n" });
        if self.buffer.len() >= FLUSH { self.flush_buffer() } else { Ok(()) }
    }

    /// Hands out what is still held.
    ///
    /// # Errors
    /// Whatever the output fails with.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_buffer()?;
        self.out.flush()
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.buffer);
        self.buffer.clear();
        written
    }

    /// What stands before a cell.
    fn begin(&mut self) {
        if self.format == RowFormat::Csv {
            if self.column > 0 {
                self.buffer.push(b',');
            }
        } else {
            self.buffer.extend_from_slice(if self.column == 0 { b"{\"" } else { b",\"" });
            // A row has exactly as many cells as there are columns.
            self.buffer.extend_from_slice(COLUMNS.get(self.column).copied().unwrap_or_default().as_bytes());
            self.buffer.extend_from_slice(b"\":");
        }
        self.column += 1;
    }

    /// An already encoded cell.
    fn raw(&mut self, encoded: &[u8]) {
        self.begin();
        self.buffer.extend_from_slice(encoded);
    }

    fn quote(&mut self) {
        if self.format == RowFormat::Ndjson {
            self.buffer.push(b'"');
        }
    }
}

impl<W: Write> FrameCells for FrameRows<W> {
    fn capture(&mut self) {
        let capture = std::mem::take(&mut self.capture);
        self.raw(&capture);
        self.capture = capture;
    }

    fn stack(&mut self, shape: Shape) {
        if !self.stacks.iter().rev().any(|(known, _)| *known == shape) {
            if self.stacks.len() == STACKS {
                self.stacks.remove(0);
            }
            self.stacks.push((shape, encode(&stack_name(shape), self.format)));
        }
        let stacks = std::mem::take(&mut self.stacks);
        match stacks.iter().rev().find(|(known, _)| *known == shape) {
            Some((_, name)) => self.raw(name),
            None => self.absent(),
        }
        self.stacks = stacks;
    }

    fn absent(&mut self) {
        self.begin();
        if self.format == RowFormat::Ndjson {
            self.buffer.extend_from_slice(b"null");
        }
    }

    fn number(&mut self, n: u64) {
        self.begin();
        self.buffer.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    }

    fn signed(&mut self, n: i64) {
        self.begin();
        self.buffer.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    }

    fn text(&mut self, text: &str) {
        let encoded = encode(text, self.format);
        self.raw(&encoded);
    }

    fn address(&mut self, address: Address) {
        self.begin();
        self.quote();
        if let Some(text) = self.addresses.of(address, String::into_bytes) {
            self.buffer.extend_from_slice(text);
        }
        self.quote();
    }

    fn word(&mut self, word: &'static str) {
        self.begin();
        self.quote();
        self.buffer.extend_from_slice(word.as_bytes());
        self.quote();
    }

    fn joined(&mut self, numbers: impl Iterator<Item = Option<u32>> + Clone) {
        if numbers.clone().all(|number| number.is_none()) {
            self.absent();
            return;
        }
        self.begin();
        let several = numbers.clone().count() > 1;
        if several {
            self.quote();
        }
        for (i, number) in numbers.enumerate() {
            if i > 0 {
                self.buffer.push(b';');
            }
            if let Some(number) = number {
                self.buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            }
        }
        if several {
            self.quote();
        }
    }
}

/// A cell's octets in the output format.
fn encode(text: &str, format: RowFormat) -> Vec<u8> {
    match format {
        RowFormat::Csv => {
            let cell = escape::cell(text);
            if cell.contains(['"', ',']) {
                format!("\"{}\"", cell.replace('"', "\"\"")).into_bytes()
            } else {
                cell.into_owned().into_bytes()
            }
        }
        RowFormat::Ndjson => {
            let mut json = Vec::new();
            // Serialising a string into memory cannot fail.
            match serde_json::to_writer(Harmless(&mut json), text) {
                Ok(()) => json,
                Err(_) => b"null".to_vec(),
            }
        }
    }
}

/// Where and why dissection ended, in one clause.
#[must_use]
pub fn stop_text(stop: &Stop) -> String {
    let layer = stop.layer.name();
    match stop.cause {
        StopCause::TooShort { needed, had, limit } => {
            format!("{layer}: needs {needed} bytes, had {had} ({})", limit_text(limit))
        }
        StopCause::BadValue { field, expected, actual } => format!("{layer}: {field} must be {expected}, is {actual}"),
        StopCause::TooDeep => format!("{layer}: more than {} layers", crate::dissect::MAX_LAYERS),
        StopCause::Unknown { number } if matches!(stop.layer, LayerKind::Ethernet | LayerKind::InnerEthernet) => {
            format!("{layer}: unknown ethertype 0x{number:04x}")
        }
        StopCause::Unknown { number } => format!("{layer}: unknown number {number}"),
    }
}

fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::Snaplen => "snaplen".to_owned(),
        Limit::Frame => "end of frame".to_owned(),
        Limit::Length(layer) => format!("{} length", layer.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dissect::{DissectOptions, dissect};
    use crate::model::{FramePos, LinkType, Timestamp};

    /// Ethernet, IPv4 192.168.1.1 > 192.168.1.2, AH (SPI 1002, sequence 7, 12-octet ICV), ESP (SPI 2001, sequence 8), 40 octets.
    fn bundle() -> Vec<u8> {
        let mut bytes = vec![0x50, 0x57, 0xa8, 0xbb, 0x55, 0x6d, 0xe0, 0x5f, 0xb9, 0x90, 0xac, 0x43, 0x08, 0x00];
        bytes.extend([0x45, 0, 0, 92, 0, 1, 0, 0, 64, 51, 0, 0, 192, 168, 1, 1, 192, 168, 1, 2]);
        bytes.extend([50, 4, 0, 0, 0, 0, 0x03, 0xea, 0, 0, 0, 7]);
        bytes.extend([0; 12]);
        bytes.extend([0, 0, 0x07, 0xd1, 0, 0, 0, 8]);
        bytes.extend((0..40).map(|i: u8| i.wrapping_mul(37)));
        bytes
    }

    fn rows(data: &[u8], format: RowFormat) -> String {
        let frame = Frame {
            pos: FramePos::new(0, 3),
            time: Timestamp::from_ns(1_000_000_007),
            wire_bytes: 106,
            data,
            link: LinkType::ETHERNET,
            interface: 1,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        let mut stack = Stack::default();
        dissect(&frame, &DissectOptions::default(), &mut stack);
        let mut out = Vec::new();
        let mut rows = FrameRows::new(&mut out, format);
        rows.set_capture("=a,b.pcap");
        rows.write(&frame, &stack).unwrap();
        rows.flush().unwrap();
        drop(rows);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_bundle_has_both_headers_in_one_row() {
        let text = rows(&bundle(), RowFormat::Csv);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        assert!(header.iter().eq(COLUMNS));
        let row = reader.records().next().unwrap().unwrap();
        let cell = |name: &str| &row[header.iter().position(|column| column == name).unwrap()];
        assert_eq!(cell("capture"), "'=a,b.pcap");
        assert_eq!(cell("frame"), "3");
        assert_eq!(cell("time_ns"), "1000000007");
        assert_eq!(cell("stack"), "eth/ipv4/ah/esp");
        assert_eq!(cell("outer_bytes"), "92");
        assert_eq!((cell("ah_spi"), cell("ah_sequence"), cell("ah_bytes")), ("1002", "7", "24"));
        assert_eq!((cell("esp_spi"), cell("esp_sequence")), ("2001", "8"));
        assert_eq!(cell("encapsulation"), "native");
        assert_eq!((cell("inner_src"), cell("overhead_bytes"), cell("stop")), ("", "", ""));
    }

    #[test]
    fn a_cut_frame_says_where_it_stopped() {
        let text = rows(&bundle()[..40], RowFormat::Csv);
        assert!(text.trim_end().ends_with("(snaplen)\""), "{text}");
    }

    #[test]
    fn json_rows_have_the_same_fields() {
        let text = rows(&bundle(), RowFormat::Ndjson);
        let row: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!(row.as_object().unwrap().len(), COLUMNS.len());
        assert_eq!(row["capture"], "=a,b.pcap");
        assert_eq!(row["ah_spi"], 1002);
        assert_eq!(row["outer_src"], "192.168.1.1");
        assert!(row["inner_src"].is_null());
    }

    #[test]
    fn stops_read_like_a_sentence() {
        let stop = Stop {
            layer: LayerKind::Ah,
            offset: 34,
            cause: StopCause::TooShort { needed: 24, had: 12, limit: Limit::Snaplen },
        };
        assert_eq!(stop_text(&stop), "ah: needs 24 bytes, had 12 (snaplen)");
    }
}
