//! The floor under any reader of a pcap file: reads it in 1 MiB pieces to a page-aligned address and hops from record
//! header to record header, touching nothing else.
//!
//!     cargo run --release --example walk -- esp.pcap
//!
//! No analysis of the same file can be faster; what it takes beyond this is its own.

use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Instant;

const PIECE: usize = 1 << 20;

const PAGE: usize = 4096;

const FILE_HEADER: usize = 24;

const RECORD_HEADER: usize = 16;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: walk CAPTURE.pcap");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    match File::open(&path).and_then(|mut file| walk(&mut file)) {
        Ok((frames, bytes)) => {
            let seconds = begun.elapsed().as_secs_f64();
            let rate = |count: u64| count as f64 / seconds / 1e6;
            println!(
                "{frames} frames, {bytes} bytes in {seconds:.3} s: {:.1} million frames/s, {:.0} MB/s",
                rate(frames),
                rate(bytes)
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", path.to_string_lossy());
            ExitCode::from(2)
        }
    }
}

/// Frames and bytes of a pcap file.
fn walk(file: &mut impl Read) -> io::Result<(u64, u64)> {
    // A vector gives no aligned memory: take a page more and begin where a page begins.
    let mut memory = vec![0; PIECE + PAGE];
    let start = memory.as_ptr().align_offset(PAGE);
    let buffer = &mut memory[start..start + PIECE];

    let mut header = Vec::with_capacity(FILE_HEADER);
    let mut big_endian = None;
    let (mut frames, mut bytes) = (0, 0);
    // Octets to pass over before the next record header; may lead beyond the piece at hand.
    let mut skip = 0_usize;
    loop {
        let read = file.read(buffer)?;
        if read == 0 {
            return Ok((frames, bytes));
        }
        bytes += read as u64;
        let piece = &buffer[..read];
        let mut at = 0;
        while at < read {
            let pass = skip.min(read - at);
            (at, skip) = (at + pass, skip - pass);
            let wanted = if big_endian.is_none() { FILE_HEADER } else { RECORD_HEADER };
            // The common case: the whole header lies in this piece.
            let whole = if header.is_empty() { piece.get(at..at + wanted) } else { None };
            let found: &[u8] = match whole {
                Some(found) => {
                    at += wanted;
                    found
                }
                None => {
                    let take = (wanted - header.len()).min(read - at);
                    header.extend_from_slice(&piece[at..at + take]);
                    at += take;
                    if header.len() < wanted {
                        break;
                    }
                    &header
                }
            };
            match big_endian {
                None => big_endian = Some(order(found)?),
                Some(big) => {
                    let captured: [u8; 4] = found[8..12].try_into().expect("four octets");
                    skip = if big { u32::from_be_bytes(captured) } else { u32::from_le_bytes(captured) } as usize;
                    frames += 1;
                }
            }
            header.clear();
        }
    }
}

/// Whether a pcap file is big-endian.
fn order(header: &[u8]) -> io::Result<bool> {
    match header[..4] {
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => Ok(true),
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => Ok(false),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a pcap file")),
    }
}
