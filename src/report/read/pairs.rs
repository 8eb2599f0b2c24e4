//! Rows of `match --table pairs --format csv`, read back.

use std::io::Read;

use serde::Deserialize;

use crate::model::pairs::{Pair, PairBasis};
use crate::model::report::FrameRef;

/// One row: a pair, and the captures of its frames as `match` was told them.
#[derive(Clone, PartialEq, Debug)]
pub struct PairRecord {
    /// The plaintext capture.
    pub plain: String,
    /// The tunnel's capture.
    pub tunnel: String,
    /// The pair; its frames are of these two, whatever the index of the capture.
    pub pair: Pair,
}

/// The columns. Others are passed over; those that later versions appended may be absent.
#[derive(Deserialize)]
struct Columns {
    plain_capture: String,
    plain_frame: u64,
    tunnel_capture: String,
    tunnel_frame: u64,
    sa: String,
    sequence: Option<u32>,
    inner_bytes: u64,
    outer_bytes: Option<u64>,
    overhead_bytes: Option<i64>,
    delay_ns: Option<i64>,
    basis: PairBasis,
    confidence: f64,
    #[serde(default)]
    plain_time_ns: Option<i64>,
    #[serde(default)]
    tunnel_time_ns: Option<i64>,
}

/// Reads rows one after the other.
///
/// # Errors
/// One sentence each, where a row is none or columns are missing.
pub fn rows(input: impl Read) -> impl Iterator<Item = Result<PairRecord, String>> {
    let reader = csv::ReaderBuilder::new().from_reader(input);
    reader
        .into_deserialize()
        .map(|row: Result<Columns, csv::Error>| row.map(PairRecord::from).map_err(|error| said(&error)))
}

impl From<Columns> for PairRecord {
    fn from(row: Columns) -> Self {
        Self {
            plain: named(&row.plain_capture),
            tunnel: named(&row.tunnel_capture),
            pair: Pair {
                plain: FrameRef { capture: 0, frame: row.plain_frame },
                tunnel: FrameRef { capture: 0, frame: row.tunnel_frame },
                sa: row.sa.into(),
                sequence: row.sequence,
                inner_bytes: row.inner_bytes,
                outer_bytes: row.outer_bytes,
                overhead_bytes: row.overhead_bytes,
                delay_ns: row.delay_ns,
                basis: row.basis,
                confidence: row.confidence,
                plain_time_ns: row.plain_time_ns,
                tunnel_time_ns: row.tunnel_time_ns,
            },
        }
    }
}

/// A name without the apostrophe that keeps a text from being a formula.
fn named(cell: &str) -> String {
    let own = cell.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t', '\r']));
    own.unwrap_or(cell).to_owned()
}

fn said(error: &csv::Error) -> String {
    let line = error.position().map_or_else(String::new, |position| format!("line {}: ", position.line()));
    let what = match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { .. } => "another number of columns than the header".to_owned(),
        csv::ErrorKind::Utf8 { .. } => "no UTF-8 text".to_owned(),
        _ => error.to_string(),
    };
    format!("{line}no row of `match --table pairs --format csv`: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,delay_ns,basis,confidence";

    #[test]
    fn rows_are_pairs() {
        let text =
            format!("{HEADER},later_column\n'=a.pcap,4,\"b,c.pcap\",7,esp/a/b/0x1,9,100,152,52,-300,content,1.0,x\n");
        let rows: Vec<PairRecord> = rows(text.as_bytes()).collect::<Result<_, _>>().expect("rows");
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.plain.as_str(), row.tunnel.as_str()), ("=a.pcap", "b,c.pcap"));
        assert_eq!((row.pair.plain.frame, row.pair.tunnel.frame, row.pair.delay_ns), (4, 7, Some(-300)));
    }

    #[test]
    fn what_is_no_row_is_said() {
        for (text, words) in [
            ("a,b\n1,2\n".to_owned(), "missing field"),
            (format!("{HEADER}\na,x,b,7,sa,,100,,,,order,0.5\n"), "line 2"),
            (format!("{HEADER}\na,1\n"), "columns"),
            (format!("{HEADER}\na,1,b,2,sa,,100,,,,guess,0.5\n"), "line 2"),
        ] {
            let error = rows(text.as_bytes()).find_map(Result::err).expect("an error");
            assert!(error.contains(words), "{error}");
        }
    }
}
