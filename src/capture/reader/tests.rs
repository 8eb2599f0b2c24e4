//! The reader on crafted captures: every defect of other readers that was met, and the promises of this one.

use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use super::super::craft::{BE, Dribble, LE, Pen};
use super::super::limits::{CHUNK_BYTES, MAX_INTERFACES, MAX_RECORD};
use super::super::{CaptureInfo, CaptureReader, Chunk};
use crate::model::{Damage, DamageKind, Error, LinkType};

mod damage;
mod input;
mod pcap;
mod pcapng;

/// A frame without its borrow.
#[derive(PartialEq, Eq, Debug, Clone)]
struct Seen {
    number: u64,
    ns: Option<i64>,
    wire: u32,
    data: Vec<u8>,
    link: LinkType,
    interface: u32,
    fcs: u8,
}

fn drain(mut reader: CaptureReader) -> (Vec<Seen>, CaptureInfo) {
    let (mut seen, mut chunk) = (Vec::new(), Chunk::new());
    while reader.next_chunk(&mut chunk) {
        let before = seen.len() as u64;
        assert_eq!(chunk.first_frame(), before + 1);
        chunk.frames().for_each(|frame| {
            seen.push(Seen {
                number: frame.pos.number(),
                ns: frame.time.ns(),
                wire: frame.wire_bytes,
                data: frame.data.to_vec(),
                link: frame.link,
                interface: frame.interface,
                fcs: frame.fcs_bytes,
            });
        });
        assert_eq!(seen.len() as u64, before + chunk.frame_count(), "the walker and the frames disagree");
        assert_eq!(chunk.frames().count() as u64, chunk.frame_count());
    }
    assert_eq!(reader.info().frames, seen.len() as u64);
    (seen, reader.info().clone())
}

fn open(input: impl Read + Send + 'static) -> Result<CaptureReader, Error> {
    CaptureReader::from_reader(Path::new("test"), Box::new(input), 0)
}

fn read(bytes: &[u8]) -> (Vec<Seen>, CaptureInfo) {
    drain(open(Cursor::new(bytes.to_vec())).expect("the header is sound"))
}

fn refused(bytes: &[u8]) -> String {
    open(Cursor::new(bytes.to_vec())).err().expect("this should be refused").to_string()
}

/// A pcap of `n` records of growing size.
fn a_pcap(pen: Pen, n: u32) -> Vec<u8> {
    let mut out = pen.pcap(0xa1b2_c3d4, 65_535);
    for i in 1..=n {
        out.extend(pen.record(i, 7, i, 1000 + i));
        out.extend(vec![i as u8; i as usize]);
    }
    out
}

/// A pcapng of one section, one interface and `n` packets of growing size.
fn a_pcapng(pen: Pen, n: u32) -> Vec<u8> {
    let mut out = [pen.section(&[]), pen.interface(1, 0, &[])].concat();
    for i in 1..=n {
        out.extend(pen.packet(0, u64::from(i), &vec![i as u8; i as usize], &[]));
    }
    out
}
