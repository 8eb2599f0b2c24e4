//! Tables as Parquet: the columns of CSV with types that databases read. Whole numbers are INT64, numbers DOUBLE, moments
//! TIMESTAMP in nanoseconds of UTC, lists strings joined with `;`; absent is null. Nothing is nested, and pages are compressed with Snappy.

mod columns;
mod frames;
mod pairs;
mod parts;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use twox_hash::XxHash3_64;

use crate::model::report::{Report, Rfc3339};
use crate::report::csv::{SheetVisitor, Table, visit};
use crate::report::table::{Sheet, Value};
use columns::write_rows;

pub use frames::FrameTables;
pub use pairs::PairTables;

/// Where the rows of one tap go: `sas/dt=2026-11-22/stream=west/0123456789abcdef.parquet`. The name of the file is a digest of the captures of
/// the tap, so that the same run writes the same files over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Partition {
    /// Name of the table.
    pub table: &'static str,
    /// Day of the tap's first frame in UTC, `unknown` where no frame has a time.
    pub day: String,
    /// The tap, in characters that every file system takes; `none` for rows of no tap.
    pub stream: String,
    /// Digest of the tap's captures.
    pub digest: u64,
}

impl Partition {
    /// The path below the folder of all tables, in parts.
    #[must_use]
    pub fn path(&self) -> [String; 4] {
        [
            self.table.to_owned(),
            format!("dt={}", self.day),
            format!("stream={}", self.stream),
            format!("{:016x}.parquet", self.digest),
        ]
    }
}

/// Writes all tables of a report; `open` makes the file of a partition, `done` takes it when it is complete. Tables without rows make no file.
///
/// # Errors
/// Whatever `open`, `done` or the files fail with.
pub fn write<W: Write + Send>(
    report: &Report,
    mut open: impl FnMut(&Partition) -> io::Result<W>,
    mut done: impl FnMut(W) -> io::Result<()>,
) -> io::Result<()> {
    for table in Table::ALL {
        let mut files = Files { report, table: *table, open: &mut open, done: &mut done };
        visit(report, *table, &mut files)?;
    }
    Ok(())
}

struct Files<'f, O, D> {
    report: &'f Report,
    table: Table,
    open: &'f mut O,
    done: &'f mut D,
}

impl<W: Write + Send, O, D> SheetVisitor for Files<'_, O, D>
where
    O: FnMut(&Partition) -> io::Result<W>,
    D: FnMut(W) -> io::Result<()>,
{
    fn rows<R: 'static>(&mut self, sheet: &Sheet<R>, rows: &mut dyn Iterator<Item = &R>) -> io::Result<()> {
        let tap = sheet.fields.iter().find(|field| field.name == "tap");
        let mut of_tap = BTreeMap::<String, Vec<&R>>::new();
        for row in rows {
            let name = match tap.map(|field| (field.value)(row)) {
                Some(Value::Text(name)) => name.into_owned(),
                _ => String::new(),
            };
            of_tap.entry(name).or_default().push(row);
        }
        for (name, rows) in of_tap {
            let file = (self.open)(&partition(self.report, self.table, &name))?;
            (self.done)(write_rows(file, sheet, &rows)?)?;
        }
        Ok(())
    }
}

fn partition(report: &Report, table: Table, tap: &str) -> Partition {
    let captures = || report.captures.iter().filter(|capture| tap.is_empty() || capture.tap == tap);
    let first = captures().filter_map(|capture| capture.first.as_deref()).min();
    let day = first.and_then(|first| first.get(..10)).unwrap_or("unknown").to_owned();
    let known = captures()
        .map(|capture| format!("{} {} {:?} {:?}\n", capture.path, capture.frames, capture.first_ns, capture.last_ns));
    let options = report.filters.iter().chain(&report.settings).cloned();
    let of: String = known.chain(options).collect();
    Partition { table: table.name(), day, stream: folder(tap), digest: digest(&format!("{tap}\n{of}")) }
}

/// A name as the name of a folder.
fn folder(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let folder: String = name.chars().map(plain).take(100).collect();
    if folder.is_empty() { "none".to_owned() } else { folder }
}

/// The tap that a capture is of, where nothing names one: as reports call it.
fn stream_of(capture: &str) -> String {
    let name = Path::new(capture).file_name().map_or(capture, |name| name.to_str().unwrap_or(capture));
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    folder(if stem == "-" { "stdin" } else { stem })
}

/// The day of a moment in UTC.
fn day_of(ns: Option<i64>) -> String {
    let moment = ns.map(|ns| Rfc3339(ns).to_string());
    moment.as_deref().and_then(|moment| moment.get(..10)).unwrap_or("unknown").to_owned()
}

fn digest(of: &str) -> u64 {
    XxHash3_64::oneshot(of.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn written(report: &Report) -> Vec<(Partition, Vec<u8>)> {
        let mut files = Vec::new();
        let places = std::cell::RefCell::new(Vec::new());
        let open = |partition: &Partition| {
            places.borrow_mut().push(partition.clone());
            Ok(Vec::new())
        };
        write(report, open, |file| {
            files.push(file);
            Ok(())
        })
        .unwrap();
        places.into_inner().into_iter().zip(files).collect()
    }

    #[test]
    fn every_table_with_rows_is_a_file_of_its_tap() {
        let files = written(&sample::two_taps());
        assert!(files.iter().all(|(_, file)| file.starts_with(b"PAR1") && file.ends_with(b"PAR1")));
        let sas: Vec<&str> =
            files.iter().filter(|(place, _)| place.table == "sas").map(|(place, _)| place.stream.as_str()).collect();
        assert_eq!(sas, ["far", "tunnel"]);
        let paths: std::collections::BTreeSet<[String; 4]> = files.iter().map(|(place, _)| place.path()).collect();
        assert_eq!(paths.len(), files.len(), "no file takes the place of another");
        assert!(
            written(&sample::empty()).iter().all(|(place, _)| place.table == "captures" || place.table == "layers")
        );
        assert_eq!(written(&sample::two_taps()), files, "a second run writes the same files");
    }

    #[test]
    fn pairs_without_end_go_to_several_files() {
        let pair = |at: u64| crate::model::pairs::Pair {
            plain: crate::model::report::FrameRef { capture: 0, frame: at },
            tunnel: crate::model::report::FrameRef { capture: 0, frame: at },
            sa: "esp/1".into(),
            sequence: None,
            inner_bytes: at,
            outer_bytes: None,
            overhead_bytes: None,
            delay_ns: Some(-1),
            basis: crate::model::pairs::PairBasis::Order,
            confidence: 0.5,
            plain_time_ns: None,
            tunnel_time_ns: Some(1_795_000_000_000_000_000),
        };
        let (mut places, mut files) = (Vec::new(), Vec::new());
        let open = |place: &Partition| {
            places.push(place.clone());
            Ok(Vec::new())
        };
        let done = |file: Vec<u8>| {
            files.push(file);
            Ok(())
        };
        let names = |name: &str| vec![name.to_owned()];
        let mut pairs = PairTables::new(names("a/lan.pcap"), names("a/wan.pcap"), "", open, done).unwrap();
        (1..=9).try_for_each(|at| pairs.write(&pair(at))).unwrap();
        pairs.finish().unwrap();
        assert_eq!(files.len(), 2, "two groups of four rows are a file");
        assert!(files.iter().all(|file| file.starts_with(b"PAR1") && file.ends_with(b"PAR1")));
        let [first, second] = places.as_slice() else { panic!("{places:?}") };
        assert_eq!((first.table, &*first.day, &*first.stream), ("pairs", "2026-11-18", "wan"));
        assert!(first.digest != second.digest);
        let none = |_: &Partition| -> io::Result<Vec<u8>> { panic!("no rows, no file") };
        PairTables::new(names("a"), names("b"), "", none, |_| Ok(())).unwrap().finish().unwrap();
    }

    #[test]
    fn names_of_taps_are_names_of_folders() {
        for (place, _) in written(&sample::hostile()) {
            assert!(place.path().iter().all(|part| !part.contains(['/', '\\', '\0', '\n'])), "{place:?}");
        }
    }
}
