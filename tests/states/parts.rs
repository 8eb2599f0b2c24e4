//! Large files divided among threads: parts that fit together hold exactly what one reader reads, and a file that lures a
//! part to begin in the middle of a record is read as one.

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::build::{Noise, esp};
use crate::support::writer::{Order, Out, pcapng, plain_pcap};
use crate::support::{fixture, scratch, shared, spiglass, write_file};
use spiglass::capture::{CaptureReader, Chunk, Part, Source};
use spiglass::model::Timestamp;

type Read = Vec<(u64, Timestamp, u32, Vec<u8>)>;

fn read(reader: &mut CaptureReader, frames: &mut Read) {
    let mut chunk = Chunk::new();
    let before = frames.len() as u64;
    while reader.next_chunk(&mut chunk) {
        frames.extend(chunk.frames().map(|f| (before + f.pos.number(), f.time, f.wire_bytes, f.data.to_vec())));
    }
}

/// Reads a capture in `count` parts and as one; whether it could be divided and the parts fitted.
fn divided(path: &Path, count: usize) -> bool {
    let source = Source::Path(path.into());
    let Some(parts) = Part::split(&source, count) else { return false };
    assert_eq!(parts.len(), count);
    let mut frames = Read::new();
    let mut reader: Option<CaptureReader> = None;
    for mut part in parts {
        read(&mut part.reader, &mut frames);
        if let Some(before) = &reader {
            if !part.follows(before) {
                return false;
            }
            part.reader.continue_from(before);
        }
        reader = Some(part.reader);
    }
    let reader = reader.expect("there is a part");
    let mut whole = CaptureReader::open(&source, 0).expect("it could be read before");
    let mut expected = Read::new();
    read(&mut whole, &mut expected);
    assert!(frames == expected, "{}: {count} parts hold other frames than the whole", path.display());
    let (got, want) = (reader.info(), whole.info());
    assert_eq!(got.frames, want.frames, "{}", path.display());
    assert_eq!(got.bytes_read, want.bytes_read, "{}", path.display());
    assert_eq!(got.bytes_consumed, want.bytes_consumed, "{}", path.display());
    assert_eq!(got.damage, want.damage, "{}", path.display());
    assert_eq!(got.interfaces, want.interfaces, "{}", path.display());
    assert_eq!(got.link_types, want.link_types, "{}", path.display());
    true
}

fn captures(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the folder can be read").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|e| ["pcap", "pcapng", "cap"].iter().any(|known| e == *known)) {
            found.push(path);
        }
    }
}

#[test]
fn a_real_capture_in_parts_is_the_capture() {
    for count in 2..6 {
        assert!(divided(&fixture("lab/ah-sha256-tunnel.pcap"), count), "{count} parts");
        assert!(divided(&fixture("lab/loss-before-tap-tunnel.pcap"), count), "{count} parts");
    }
}

#[test]
fn every_lab_and_corpus_capture_in_parts_is_the_capture_or_cannot_be_divided() {
    for (folder, least) in [("lab", 100), ("corpus", 40)] {
        let Some(folder) = shared(folder) else { return };
        let mut found = Vec::new();
        captures(&folder, &mut found);
        let could = found.iter().filter(|path| divided(path, 3)).count();
        assert!(could >= least, "only {could} of {} captures could be divided", found.len());
    }
}

#[test]
fn pcapng_in_both_byte_orders_can_be_divided() {
    let mut noise = Noise(5);
    let dir = scratch("parts-pcapng");
    let frames: Vec<Out> = (0..3_000_u32)
        .map(|n| {
            let size = 64 + noise.below(1_200) as usize;
            let (a, b) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            Out::whole(1_700_000_000_000_000_000 + u64::from(n) * 1_000, esp(a, b, 0x1000, n + 1, &noise.bytes(size)))
        })
        .collect();
    for (name, order) in [("le.pcapng", Order::Little), ("be.pcapng", Order::Big)] {
        assert!(divided(&write_file(&dir, name, &pcapng(&frames, order)), 4), "{name}");
    }
}

/// Every packet carries the records of a capture of its own, so that the middle of the file looks like a beginning.
#[test]
fn records_within_records_do_not_mislead() {
    let mut noise = Noise(3);
    let dir = scratch("parts-lure");
    let time = |n: u64| 1_700_000_000_000_000_000 + n * 1_000_000;
    let frames: Vec<Out> = (0..24_001_u64)
        .map(|n| {
            let within: Vec<Out> = (0..24).map(|_| Out::whole(time(n), noise.bytes(40))).collect();
            let mut payload = noise.bytes(16);
            payload.extend(plain_pcap(&within).split_off(24));
            Out::whole(time(n), esp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 0x1000, n as u32 + 1, &payload))
        })
        .collect();
    let path = write_file(&dir, "lure.pcap", &plain_pcap(&frames));
    assert!(std::fs::metadata(&path).expect("just written").len() > 32 << 20, "large enough for two threads");
    assert!(!divided(&path, 2), "the test's file does not mislead");
    let path = path.to_str().expect("UTF-8");
    let one = spiglass(&["report", "--format", "json", "--jobs", "1", path]);
    assert_eq!(support::number(&one.json(), "totals.frames"), 24_001);
    for jobs in ["2", "5"] {
        assert!(spiglass(&["report", "--format", "json", "--jobs", jobs, path]).stdout == one.stdout, "--jobs {jobs}");
    }
}

/// A cut, zeros, and garbage behind good records, with one thread and with several.
#[test]
fn damage_is_the_same_whatever_the_number_of_threads() {
    let mut noise = Noise(4);
    let dir = scratch("parts-damage");
    let frames: Vec<Out> = (0..25_000_u32)
        .map(|n| {
            let time = 1_700_000_000_000_000_000 + u64::from(n) * 1_000_000;
            Out::whole(time, esp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 0x1000, n + 1, &noise.bytes(1_372)))
        })
        .collect();
    let sound = plain_pcap(&frames);
    assert!(sound.len() > 34 << 20);
    let mut spoiled: Vec<(&str, Vec<u8>)> = vec![("cut", sound.get(..sound.len() - 7).unwrap_or_default().to_vec())];
    for (name, at) in [("early", sound.len() / 5), ("late", sound.len() * 4 / 5)] {
        let mut zeros = sound.clone();
        zeros[at..at + 5_000].fill(0);
        spoiled.push((name, zeros));
        let mut garbage = sound.clone();
        garbage[at..at + 5_000].fill(0xee);
        spoiled.push((name, garbage));
    }
    for (name, bytes) in spoiled {
        let path = write_file(&dir, name, &bytes);
        let path = path.to_str().expect("UTF-8");
        let one = spiglass(&["report", "--format", "json", "--jobs", "1", path]);
        assert!(!support::at(&one.json(), "captures.0.damage").is_null(), "{name}");
        for jobs in ["2", "3"] {
            let run = spiglass(&["report", "--format", "json", "--jobs", jobs, path]);
            assert!(run.stdout == one.stdout, "{name}: --jobs {jobs} says something else");
        }
    }
}

/// A damaged block that can be skipped, and behind it packets that look like a file of their own.
#[test]
fn a_skipped_block_does_not_hide_that_a_part_began_wrong() {
    let mut noise = Noise(6);
    let dir = scratch("parts-skipped");
    let time = |n: u64| 1_700_000_000_000_000_000 + n * 1_000_000;
    let within: Vec<Out> = (0..120).map(|n| Out::whole(time(n), noise.bytes(40))).collect();
    // The section and interface blocks in front of the packets stay behind.
    let blocks = pcapng(&within, Order::Little).split_off(28 + 32);
    let frames: Vec<Out> = (0..4_001_u64)
        .map(|n| {
            let mut payload = noise.bytes(16);
            payload.extend(&blocks);
            Out::whole(time(n), esp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 0x1000, n as u32 + 1, &payload))
        })
        .collect();
    let mut file = pcapng(&frames, Order::Little);
    assert!(file.len() > 32 << 20, "large enough for two threads: {}", file.len());
    // The captured length of a packet early in the file claims more than its block has.
    let block = (file.len() - 60) / frames.len();
    let at = 60 + 1_000 * block + 20;
    file[at..at + 4].copy_from_slice(&200_000_u32.to_le_bytes());
    let path = write_file(&dir, "skipped.pcapng", &file);
    let path = path.to_str().expect("UTF-8");
    let one = spiglass(&["report", "--format", "json", "--jobs", "1", path]);
    assert_eq!(support::number(&one.json(), "totals.frames"), 4_000);
    for jobs in ["2", "3"] {
        assert!(spiglass(&["report", "--format", "json", "--jobs", jobs, path]).stdout == one.stdout, "--jobs {jobs}");
    }
}
