//! Frames for the benches: made-up ones and the twelve real ones of the fixtures.
#![allow(dead_code)] // each bench uses a part of it

#[allow(dead_code)] // included for `generate`
#[path = "../tools/generate.rs"]
mod generate;

use std::path::Path;

use clap::Parser;
use criterion::Throughput;
use spiglass::capture::Frame;
use spiglass::model::{FramePos, LinkType, Timestamp};

/// Octets of the file header and of each record header of a pcap file.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// A pcap file of `count` ESP frames of 134 octets in `sas` associations, one a microsecond.
pub fn esp_file(count: u64, sas: u32) -> Vec<u8> {
    let words = format!("generate --frames {count} --size 134 --sas {sas} -o -");
    let mut octets = Vec::new();
    let options = generate::Options::parse_from(words.split_whitespace());
    let made = generate::generate(&options, &mut octets).expect("writing to memory does not fail");
    assert_eq!((made.frames, made.lost), (count, 0));
    octets
}

/// A stream of Ethernet frames in memory.
pub struct Stream {
    octets: Vec<u8>,
    /// Time, and where the octets are.
    frames: Vec<(Timestamp, std::ops::Range<usize>)>,
}

impl Stream {
    /// `count` ESP frames of 134 octets in `sas` associations, one a microsecond.
    pub fn esp(count: u64, sas: u32) -> Self {
        let octets = esp_file(count, sas);
        let mut frames = Vec::new();
        let mut at = FILE_HEADER;
        while let Some(header) = octets.get(at..at + RECORD_HEADER) {
            let word = |n: usize| u32::from_le_bytes(header[n..n + 4].try_into().expect("four octets"));
            let time = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4));
            let start = at + RECORD_HEADER;
            at = start + word(8) as usize;
            frames.push((Timestamp::from_ns(time), start..at));
        }
        Self { octets, frames }
    }

    /// The frames whose hex dumps are in `fixtures/seeds/frames`, a second apart.
    pub fn seeds() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/seeds/frames");
        let mut paths: Vec<_> =
            std::fs::read_dir(&folder).expect("the fixtures are there").map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        let mut octets = Vec::new();
        let mut frames = Vec::new();
        for (path, second) in paths.iter().zip(1..) {
            let text = std::fs::read_to_string(path).expect("a hex dump");
            let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
            let start = octets.len();
            octets.extend(digits.chunks(2).map(|pair| {
                let pair: String = pair.iter().collect();
                u8::from_str_radix(&pair, 16).expect("hexadecimal")
            }));
            frames.push((Timestamp::from_ns(second * 1_000_000_000), start..octets.len()));
        }
        Self { octets, frames }
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames from number `from` on, up to and without number `to`; the first is number 0.
    pub fn frames(&self, from: usize, to: usize) -> impl Iterator<Item = Frame<'_>> {
        self.frames[from..to].iter().zip(1..).map(|((time, range), number)| Frame {
            pos: FramePos::new(0, number),
            time: *time,
            wire_bytes: range.len() as u32,
            data: &self.octets[range.clone()],
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        })
    }

    /// All frames.
    pub fn all(&self) -> impl Iterator<Item = Frame<'_>> {
        self.frames(0, self.len())
    }

    /// What one pass over the stream is measured by: its frames and the octets in them.
    pub fn throughput(&self) -> Throughput {
        let bytes = self.frames.iter().map(|(_, range)| range.len() as u64).sum();
        Throughput::ElementsAndBytes { elements: self.len() as u64, bytes }
    }
}
