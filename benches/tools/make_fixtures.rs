//! Writes `fixtures/seeds/*` from the hex dumps in `fixtures/seeds/frames`: `cargo run --example make_fixtures`.
//!
//! The frames are real; everything around them is not: their documents give no time of capture, so the timestamps are
//! invented (one frame a second, from noon of the day the document bears), and each file holds the frames of one figure or
//! one test although they were captured among millions of others.

#[path = "../../tests/support/writer.rs"]
mod writer;

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use writer::{ETHERNET, Order, Out, Step, pcap, pcapng, plain_pcap};

/// 2014-09-16 12:00:00 UTC, the day on the document.
const NOON: u64 = 1_410_868_800_000_000_000;

/// Far enough apart that figures 22 and 24, one packet on both sides of two routers, are not taken for a TAP's copies.
const SECOND: u64 = 1_000_000_000;

/// Each capture and the hex dumps it holds, in order.
const CAPTURES: &[(&str, &[&str])] = &[
    ("plain.pcap", &["fig22-plain-40B-padded-ff", "fig24-plain-40B-repadded-00"]),
    ("test05-ah-md5.pcap", &["fig09-ah-md5"]),
    ("test06-esp-null.pcap", &["fig11-esp-null-md5"]),
    ("test06-esp-null-broken.pcap", &["fig12-esp-spi-zero"]),
    ("test06-esp-null-fixed.pcap", &["fig13-esp-spi-1002", "fig14-esp-spi-2001"]),
    ("test07-esp-des-md5.pcap", &["fig15-esp-des-md5"]),
    ("test09-ah-esp-des-md5.pcap", &["fig18-ah-esp-des-md5"]),
    ("test10-ah-esp-3des-md5.pcap", &["fig19-ah-esp-3des-md5"]),
    ("test11-ah-esp-aes-sha512.pcap", &["fig20-ah-esp-aes-sha512"]),
    ("padding-ah-40B.pcap", &["fig23-ah-40B-no-pad"]),
];

/// The capture that is written in every container as well.
const TWINS_OF: &str = "test06-esp-null-fixed.pcap";

/// Every file by its name in `fixtures/seeds`, built from the hex dumps beside it.
pub fn files(home: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (name, figures) in CAPTURES {
        let frames: Vec<Out> = figures
            .iter()
            .zip(0..)
            .map(|(figure, n)| Out::whole(NOON + n * SECOND, hex(&home.join("frames").join(format!("{figure}.hex")))))
            .collect();
        files.push(((*name).to_owned(), plain_pcap(&frames)));
        if *name == TWINS_OF {
            let stem = name.trim_end_matches(".pcap");
            files.extend([
                (format!("{stem}-be.pcap"), pcap(&frames, ETHERNET, Order::Big, Step::Micro)),
                (format!("{stem}-ns.pcap"), pcap(&frames, ETHERNET, Order::Little, Step::Nano)),
                (format!("{stem}-be-ns.pcap"), pcap(&frames, ETHERNET, Order::Big, Step::Nano)),
                (format!("{stem}.pcapng"), pcapng(&frames, Order::Little)),
                (format!("{stem}-be.pcapng"), pcapng(&frames, Order::Big)),
                (format!("{stem}.pcap.gz"), gzip(&plain_pcap(&frames))),
            ]);
        }
    }
    files
}

fn hex(path: &Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let octets: Option<Vec<u8>> = digits.chunks(2).map(octet).collect();
    octets.unwrap_or_else(|| panic!("{} is not hexadecimal", path.display()))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail")
}

#[allow(dead_code)] // a test includes this file for `files`
fn main() {
    let home = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/seeds"));
    for (name, bytes) in files(&home) {
        let path = home.join(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("{}", path.display());
    }
}
