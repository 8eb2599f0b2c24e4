//! Octets as one or two captures, paired: two octets (little endian) say how many of the rest are the plain side's; 0 is one capture with
//! both sides. Every form of output.
#![no_main]

use std::io::Cursor;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use spiglass::matching::PairSettings;
use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::engine::{Input, PairInputs, Quiet, Settings, pair};
use spiglass::model::pairs::Pair;
use spiglass::report::{document, json, markdown, text};

/// Unpacked octets beyond which an input is left to the other targets.
const ENOUGH: u64 = 1 << 20;

fn fits(data: &[u8]) -> bool {
    let Ok(mut reader) = CaptureReader::from_reader(Path::new("f"), Box::new(Cursor::new(data.to_vec())), 0) else {
        return true;
    };
    let mut chunk = Chunk::new();
    while reader.next_chunk(&mut chunk) {
        if reader.info().bytes_read > ENOUGH {
            return false;
        }
    }
    true
}

fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("spiglass-fuzz-{name}-{}", std::process::id()));
    std::fs::write(&path, data).unwrap();
    path
}

fuzz_target!(|data: &[u8]| {
    let [low, high, rest @ ..] = data else { return };
    let share = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
    let (plain, tunnel) = rest.split_at(share);
    if !fits(plain) || !fits(tunnel) {
        return;
    }
    let input = |path: PathBuf| vec![Input { source: Source::Path(path), tap: None }];
    let tunnel = input(file("tunnel", tunnel));
    let plain = if share == 0 { tunnel.clone() } else { input(file("plain", plain)) };
    let inputs = PairInputs { plain, tunnel, exit: Vec::new() };
    let pairing = PairSettings { one_clock: data.len() % 3 == 0, ..PairSettings::default() };
    let mut taken = 0_u64;
    let mut sink = |_: &Pair| {
        taken += 1;
        Ok(())
    };
    let Ok(matched) = pair(&inputs, &Settings::default(), &pairing, Some(&mut sink), &Quiet) else { return };
    let mut out = Vec::new();
    json::write_pairs(&matched.report, &mut out).unwrap();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    let harmless = |page: String| assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
    let document = document::pairs(&matched.report, &document::View::default());
    harmless(text::render(&document, &text::TextOptions::default()));
    harmless(markdown::render(&document));
});
