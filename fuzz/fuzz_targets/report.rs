//! Octets as a capture, through everything: a report in all its forms, rows of frames, and the merge law.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use spiglass::analysis::{self, Observer, StreamState};
use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::engine::{Input, Quiet, Settings, TimeBound, run};
use spiglass::report::frame_row::{FrameRows, RowFormat};
use spiglass::report::{csv, document, json, markdown, text};

const TABLES: [csv::Table; 8] = [
    csv::Table::Findings,
    csv::Table::Sas,
    csv::Table::Tunnels,
    csv::Table::Sizes,
    csv::Table::Padding,
    csv::Table::Rates,
    csv::Table::Layers,
    csv::Table::Captures,
];

/// Unpacked octets beyond which an input is left to the other targets.
const ENOUGH: u64 = 1 << 20;

/// Settings that depend on the input, so that one corpus reaches them all.
fn settings(data: &[u8]) -> Settings {
    let choice = data.len() % 8;
    Settings {
        bin_ns: [1_000_000_000, 1_000_000, 1, 60_000_000_000][choice % 4],
        from: (choice == 5).then_some(TimeBound::Relative(1_000_000)),
        overlay: choice & 1 == 1,
        link_rate_bps: (choice & 2 == 2).then_some(1_000_000_000),
        ..Settings::default()
    }
}

/// How many octets and frames there are unpacked; `None` where they are too many.
fn fits(data: &[u8]) -> Option<usize> {
    let mut reader = CaptureReader::from_reader(Path::new("f"), Box::new(Cursor::new(data.to_vec())), 0).ok()?;
    let mut chunk = Chunk::new();
    while reader.next_chunk(&mut chunk) {
        if reader.info().bytes_read > ENOUGH {
            return None;
        }
    }
    usize::try_from(reader.info().frames).ok()
}

/// The states of the frames from each of `bounds` to the next, merged and settled, and rows of all frames.
fn observed(data: &[u8], bounds: &[usize]) -> Option<(StreamState, Vec<u8>)> {
    let settings = analysis::Settings { bin_ns: 1_000_000, ..analysis::Settings::default() };
    let mut reader = CaptureReader::from_reader(Path::new("f"), Box::new(Cursor::new(data.to_vec())), 0).ok()?;
    let (mut chunk, mut stack, mut written) = (Chunk::new(), spiglass::dissect::Stack::default(), Vec::new());
    let mut rows = FrameRows::new(&mut written, RowFormat::Ndjson);
    let mut pieces = vec![Observer::new(&settings)];
    while reader.next_chunk(&mut chunk) {
        for frame in chunk.frames() {
            let mut frame = frame;
            if bounds.contains(&(frame.pos.number() as usize)) {
                let mut piece = Observer::new(&settings);
                piece.continue_capture();
                pieces.push(piece);
            }
            spiglass::dissect::dissect(&frame, &spiglass::dissect::DissectOptions::default(), &mut stack);
            rows.write(&frame, &stack).unwrap();
            // Positions are the piece's own.
            let piece = pieces.last_mut().unwrap();
            let before = bounds.iter().filter(|at| **at <= frame.pos.number() as usize).max().copied().unwrap_or(1);
            frame.pos = spiglass::model::FramePos::new(0, frame.pos.number() - before as u64 + 1);
            piece.observe(&frame);
        }
    }
    rows.flush().unwrap();
    drop(rows);
    let mut whole = pieces.into_iter().map(|piece| piece.finish(1)).reduce(|a, b| a.merge(b).unwrap()).unwrap();
    whole.settle();
    Some((whole, written))
}

/// Nothing that a terminal would act on.
fn harmless(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

fuzz_target!(|data: &[u8]| {
    let Some(frames) = fits(data) else { return };
    let path = std::env::temp_dir().join(format!("spiglass-fuzz-{}", std::process::id()));
    std::fs::write(&path, data).unwrap();
    let input = Input { source: Source::Path(path), tap: None };
    let outcome = run(&[input], &settings(data), 1, &Quiet);
    let report = &outcome.report;
    assert_eq!(report.totals.frames <= frames as u64, true);
    let mut out = Vec::new();
    json::write(report, &mut out).unwrap();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    out.clear();
    json::write_lines(report, &mut out).unwrap();
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        serde_json::from_slice::<serde_json::Value>(line).unwrap();
    }
    for table in TABLES {
        out.clear();
        csv::write(report, table, &mut out).unwrap();
        harmless(std::str::from_utf8(&out).unwrap());
    }
    let document = document::report(report, &document::View::default());
    harmless(&text::render(&document, &text::TextOptions::default()));
    harmless(&markdown::render(&document));
    let Some((whole, rows)) = observed(data, &[]) else { return };
    harmless(std::str::from_utf8(&rows).unwrap());
    if frames > 1 && whole.is_exact() {
        let cut = 2 + data.len() % (frames - 1);
        let (merged, _) = observed(data, &[cut]).unwrap();
        assert_eq!(merged.difference(&whole), None, "cut at frame {cut} of {frames}");
    }
});
