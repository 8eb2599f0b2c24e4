//! The reader on crafted captures: every defect of other readers that was met, and the promises of this one.

use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use super::super::craft::{BE, Dribble, LE, Pen};
use super::super::limits::{CHUNK_BYTES, MAX_INTERFACES, MAX_RECORD};
use super::super::{CaptureInfo, CaptureReader, Chunk};
use crate::model::{Damage, DamageKind, Error, LinkType};

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
fn pcap(pen: Pen, n: u32) -> Vec<u8> {
    let mut out = pen.pcap(0xa1b2_c3d4, 65_535);
    for i in 1..=n {
        out.extend(pen.record(i, 7, i, 1000 + i));
        out.extend(vec![i as u8; i as usize]);
    }
    out
}

/// A pcapng of one section, one interface and `n` packets of growing size.
fn pcapng(pen: Pen, n: u32) -> Vec<u8> {
    let mut out = [pen.section(&[]), pen.interface(1, 0, &[])].concat();
    for i in 1..=n {
        out.extend(pen.packet(0, u64::from(i), &vec![i as u8; i as usize], &[]));
    }
    out
}

#[test]
fn pcap_fields_arrive_in_both_byte_orders_and_resolutions() {
    for pen in [LE, BE] {
        for (magic, ns) in [(0xa1b2_c3d4, 5_000_007_000), (0xa1b2_3c4d, 5_000_000_007)] {
            let bytes = [pen.pcap(magic, 96), pen.record(5, 7, 3, 60), b"abc".to_vec()].concat();
            let (seen, info) = read(&bytes);
            let expected = Seen {
                number: 1,
                ns: Some(ns),
                wire: 60,
                data: b"abc".to_vec(),
                link: LinkType::ETHERNET,
                interface: 0,
                fcs: 0,
            };
            assert_eq!(seen, [expected]);
            assert_eq!((info.format, info.snaplen, info.damage), ("pcap", Some(96), None));
            assert_eq!(info.bytes_read, bytes.len() as u64);
        }
    }
}

/// pcap-parser does not know the big-endian modified magic.
#[test]
fn kuznetsov_and_ixia_records_are_found() {
    for pen in [LE, BE] {
        let extra = [0, 0, 0, 2, 8, 0, 4, 0];
        let mut bytes = pen.pcap(0xa1b2_cd34, 0);
        for i in 1..=2 {
            bytes.extend([pen.record(i, 0, 1, 1), extra.to_vec(), vec![i as u8]].concat());
        }
        let (seen, info) = read(&bytes);
        assert_eq!(seen.iter().map(|f| f.data[0]).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(info.damage, None);
        let bytes = [pen.pcap(0x1c00_01ac, 0), vec![9; 4], pen.record(1, 3, 1, 1), vec![42]].concat();
        let (seen, _) = read(&bytes);
        assert_eq!((seen[0].ns, seen[0].data[0]), (Some(1_000_000_003), 42));
    }
}

#[test]
fn old_pcap_versions_have_their_lengths_the_other_way_round() {
    let mut bytes = [LE.pcap(0xa1b2_c3d4, 0), LE.record(1, 0, 60, 2), vec![1, 2]].concat();
    bytes[6] = 3;
    let (seen, _) = read(&bytes);
    assert_eq!((seen[0].wire, seen[0].data.len()), (60, 2), "version 2.3: the smaller is the captured one");
    bytes[6] = 2;
    assert_eq!(read(&bytes).0, seen);
}

/// pcap-parser reads once when it is built: a pipe that first delivers less than a header is "not recognized", as is a
/// section header longer than the first read. It does not retry interrupted reads either.
#[test]
fn short_and_interrupted_reads_change_nothing() {
    let long_header = [LE.section(&LE.option(1, &[b'x'; 60_000])), pcapng(LE, 40)].concat();
    for bytes in [pcap(LE, 50), pcap(BE, 50), pcapng(LE, 50), pcapng(BE, 50), long_header] {
        let whole = read(&bytes);
        assert!(whole.0.len() >= 40 && whole.1.damage.is_none());
        for step in [1, 3, 23, 4096] {
            let (seen, info) = drain(open(Dribble::new(&bytes, step)).unwrap());
            assert_eq!(seen, whole.0, "{step} octets at a time");
            assert_eq!(info.damage, None);
        }
    }
}

#[test]
fn a_live_input_delivers_what_is_complete_before_more_arrives() {
    struct Live(Vec<Vec<u8>>);
    impl Read for Live {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "nothing more would arrive for a long time");
            let piece = self.0.remove(0);
            buffer[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }
    for bytes in [pcap(LE, 3), pcapng(LE, 3)] {
        let half = bytes.len() - 10;
        let pieces = vec![bytes[..half].to_vec(), bytes[half..].to_vec()];
        let mut reader = open(Live(pieces)).unwrap();
        let mut chunk = Chunk::new();
        assert!(reader.next_chunk(&mut chunk));
        assert_eq!(chunk.frame_count(), 2, "read ahead with the header");
        assert!(reader.next_chunk(&mut chunk));
        assert_eq!(chunk.frames().next().map(|frame| frame.pos.number()), Some(3));
    }
}

/// pcap-parser's I/O errors have no payload.
#[test]
fn a_read_error_half_way_is_damage_with_its_text() {
    let bytes = pcap(LE, 3);
    let mut input = Dribble::new(&bytes[..bytes.len() - 1], 64);
    input.failure = Some("the disk is on fire");
    let (seen, info) = drain(open(input).unwrap());
    assert_eq!(seen.len(), 2);
    let damage = info.damage.unwrap();
    assert_eq!((damage.kind, damage.frame, damage.offset), (DamageKind::Read, 3, 24 + 17 + 18));
    assert!(damage.what.contains("on fire"), "{}", damage.what);
}

/// One malformed block made pcap-parser swallow the whole rest of the file: 3,000 packets were lost behind it.
#[test]
fn good_packets_behind_a_malformed_block_are_not_lost() {
    for pen in [LE, BE] {
        let mut bytes = pcapng(pen, 3);
        let bad = bytes.len() as u64;
        bytes.extend(pen.lying_packet(0, 1, 100_000, b"short", &[]));
        bytes.extend(pen.lying_packet(0, 1, u32::MAX - 15, b"short", &[]));
        bytes.extend(pen.packet(7, 1, b"no such interface", &[]));
        bytes.extend(pen.block(6, &[0; 12]));
        for _ in 0..3000 {
            bytes.extend(pen.packet(0, 9, b"good", &[]));
        }
        let (seen, info) = read(&bytes);
        assert_eq!(seen.len(), 3003);
        assert!(seen[3..].iter().all(|frame| frame.data == b"good"));
        let damage = info.damage.unwrap();
        assert_eq!((damage.kind, damage.offset, damage.frame, damage.further), (DamageKind::Corrupt, bad, 4, 3));
        assert_eq!(damage.what, "the packet claims 100000 bytes, its block has 40");
    }
}

/// pcap-parser fails on a record exactly as large as its buffer, and gives an honest large record and a hostile length
/// the same error.
#[test]
fn records_of_any_honest_size_are_read_and_hostile_ones_cost_nothing() {
    for size in [CHUNK_BYTES - 17, CHUNK_BYTES - 16, CHUNK_BYTES - 15, CHUNK_BYTES, 5 * CHUNK_BYTES + 3] {
        let data: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let mut bytes = LE.pcap(0xa1b2_c3d4, 16 << 20);
        for i in 0..3 {
            bytes.extend([LE.record(i + 1, 0, size as u32, size as u32), data.clone(), LE.record(i, 1, 0, 9)].concat());
        }
        for step in [usize::MAX, 65_537] {
            let (seen, info) = drain(open(Dribble::new(&bytes, step)).unwrap());
            assert_eq!((seen.len(), info.damage), (6, None), "{size}");
            assert!(seen.iter().step_by(2).all(|frame| frame.data == data));
        }
        let ng =
            [LE.section(&[]), LE.interface(1, 16 << 20, &[]), LE.packet(0, 1, &data, &[]), LE.packet(0, 1, b"x", &[])];
        let (seen, info) = read(&ng.concat());
        assert_eq!((seen.len(), info.damage), (2, None), "{size}");
    }
    let mut reader = open(Cursor::new([pcap(LE, 2), LE.record(1, 1, 0xffff_fff0, 60), vec![0; 100]].concat())).unwrap();
    let mut chunk = Chunk::new();
    while reader.next_chunk(&mut chunk) {}
    assert!(chunk.buffer.len() < 2 * CHUNK_BYTES);
    let expected = Damage {
        kind: DamageKind::Corrupt,
        offset: 24 + 17 + 18,
        frame: 3,
        what: "the record claims 4294967280 bytes, the limit is 262144".into(),
        further: 0,
    };
    assert_eq!(reader.info().damage, Some(expected));
}

#[test]
fn a_larger_snaplen_raises_the_record_limit() {
    let size = MAX_RECORD + 1;
    let record = [LE.record(1, 0, size, size), vec![0; size as usize]].concat();
    let (seen, info) = read(&[LE.pcap(0xa1b2_c3d4, 262_144), record.clone()].concat());
    assert_eq!((seen.len(), info.damage.map(|damage| damage.kind)), (0, Some(DamageKind::Corrupt)));
    let (seen, info) = read(&[LE.pcap(0xa1b2_c3d4, 1 << 20), record].concat());
    assert_eq!((seen.len(), info.damage), (1, None));
}

/// pcap-parser: binary `if_tsresol` is unknown, `if_tsoffset` of a big-endian section is read little-endian.
#[test]
fn interface_clocks_are_read_in_the_byte_order_of_their_section() {
    for pen in [LE, BE] {
        let binary = [pen.option(9, &[0x80 | 20]), pen.option(14, &pen.u64(1)), pen.option(0, &[])].concat();
        let negative = pen.option(14, &pen.u64((-2_i64).cast_unsigned()));
        let bytes = [
            pen.section(&[]),
            pen.interface(1, 0, &binary),
            pen.interface(101, 0, &negative),
            pen.packet(0, (3 << 20) | (1 << 19), b"a", &[]),
            pen.packet(1, 5_000_001, b"b", &[]),
        ];
        let (seen, info) = read(&bytes.concat());
        assert_eq!(seen.iter().map(|f| f.ns).collect::<Vec<_>>(), [Some(4_500_000_000), Some(3_000_001_000)]);
        assert_eq!((seen[1].link, seen[1].interface), (LinkType::RAW, 1));
        assert_eq!(info.link_types, [LinkType::ETHERNET, LinkType::RAW]);
    }
}

#[test]
fn sections_of_either_byte_order_follow_each_other() {
    let name = LE.option(2, b"eth0");
    let bytes = [
        LE.section(&[]),
        LE.interface(1, 0, &name),
        LE.interface(1, 0, &[]),
        LE.packet(1, 1, b"little", &[]),
        BE.section(&[]),
        BE.packet(0, 1, b"before its interface", &[]),
        BE.interface(101, 0, &[]),
        BE.packet(0, 2, b"big", &[]),
        LE.section(&[]),
        LE.packet(1, 1, b"interfaces end with their section", &[]),
        LE.interface(113, 0, &[]),
        LE.packet(0, 3, b"little again", &[]),
    ];
    let (seen, info) = read(&bytes.concat());
    let datas: Vec<_> = seen.iter().map(|f| (f.data.as_slice(), f.link, f.number)).collect();
    assert_eq!(
        datas,
        [
            (&b"little"[..], LinkType::ETHERNET, 1),
            (b"big", LinkType::RAW, 2),
            (b"little again", LinkType::LINUX_SLL, 3)
        ]
    );
    assert_eq!(
        info.interfaces.iter().map(|i| (i.section, i.index)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (1, 0), (2, 0)]
    );
    assert_eq!(info.interfaces[0].name.as_deref(), Some("eth0"));
    assert_eq!(info.damage.unwrap().further, 1);
}

#[test]
fn simple_and_obsolete_packets_are_frames_and_other_blocks_are_not() {
    for pen in [LE, BE] {
        let obsolete =
            [&pen.u16(0)[..], &pen.u16(0xffff), &pen.u32(0), &pen.u32(8), &pen.u32(3), &pen.u32(60), b"old\0"];
        let bytes = [
            pen.section(&[]),
            pen.interface(1, 6, &[]),
            pen.block(0x0bad, b"custom or unknown"),
            pen.block(0, b"reserved"),
            pen.block(3, &[&pen.u32(100)[..], b"simple"].concat()),
            pen.block(3, &[&pen.u32(3)[..], b"abc"].concat()),
            pen.block(2, &obsolete.concat()),
            pen.block(3, &[&pen.u32(3)[..], b"too much"].concat()),
        ];
        let (seen, info) = read(&bytes.concat());
        assert_eq!(seen.iter().map(|f| (f.ns, f.wire)).collect::<Vec<_>>(), [(None, 100), (None, 3), (Some(8000), 60)]);
        assert_eq!(seen.iter().map(|f| f.data.as_slice()).collect::<Vec<_>>(), [&b"simple"[..], b"abc", b"old"]);
        assert_eq!(info.damage.unwrap().frame, 4);
    }
}

#[test]
fn the_fcs_is_stated_by_the_interface_or_by_the_packet() {
    for pen in [LE, BE] {
        let flags = [pen.option(1, b"comment"), pen.option(2, &pen.u32(2 << 5)), pen.option(0, &[])].concat();
        let bytes = [
            pen.section(&[]),
            pen.interface(1, 0, &pen.option(13, &[32])),
            pen.interface(1, 0, &pen.option(13, &[4])),
            pen.interface(1, 0, &[]),
            pen.packet(0, 1, b"abc", &[]),
            pen.packet(1, 1, b"abc", &pen.option(0, &[])),
            pen.packet(2, 1, b"abc", &flags),
            pen.packet(2, 1, b"abc", &[]),
        ];
        let (seen, info) = read(&bytes.concat());
        assert_eq!(seen.iter().map(|f| f.fcs).collect::<Vec<_>>(), [4, 4, 2, 0]);
        assert!(seen.iter().all(|f| f.data == b"abc") && info.damage.is_none());
    }
}

#[test]
fn drops_are_those_of_the_last_statistics() {
    for pen in [LE, BE] {
        let statistics = |id, drops, os| {
            let options = [pen.option(5, &pen.u64(drops)), pen.option(7, &pen.u64(os))].concat();
            pen.block(5, &[&pen.u32(id)[..], &[0; 8], &options].concat())
        };
        let bytes = [
            pen.section(&[]),
            pen.interface(1, 0, &[]),
            pen.interface(1, 0, &[]),
            statistics(1, 3, 1),
            statistics(1, 10, 0),
            statistics(9, 99, 99),
        ];
        let (_, info) = read(&bytes.concat());
        assert_eq!(
            info.interfaces.iter().map(|i| (i.drops, i.os_drops)).collect::<Vec<_>>(),
            [(None, None), (Some(10), Some(0))]
        );
    }
}

#[test]
fn a_damaged_description_keeps_the_numbers_of_later_interfaces() {
    let bytes = [
        LE.section(&[]),
        LE.block(1, &[0; 4]),
        LE.interface(101, 0, &[]),
        LE.packet(0, 1, b"undescribed", &[]),
        LE.packet(1, 1, b"fine", &[]),
    ];
    let (seen, info) = read(&bytes.concat());
    assert_eq!((seen.len(), seen[0].link), (1, LinkType::RAW));
    assert_eq!(info.damage.unwrap().further, 1);
}

#[test]
fn interfaces_are_bounded() {
    let mut bytes = LE.section(&[]);
    for _ in 0..MAX_INTERFACES + 3 {
        bytes.extend(LE.interface(1, 0, &[]));
    }
    bytes.extend(LE.packet(MAX_INTERFACES as u32 - 1, 1, b"last", &[]));
    bytes.extend(LE.packet(MAX_INTERFACES as u32, 1, b"beyond", &[]));
    let (seen, info) = read(&bytes);
    assert_eq!((seen.len(), info.interfaces.len()), (1, MAX_INTERFACES));
    assert_eq!(info.damage.unwrap().further, 3);
}

/// pcap-parser delivers endless empty packets from a zero-filled tail of a pcap, and a bare `Verify` error in pcapng.
#[test]
fn a_zero_filled_tail_is_damage_and_one_empty_record_is_not() {
    for zeros in [32, 33, 4096, 3 * CHUNK_BYTES] {
        for pen in [LE, BE] {
            for step in [usize::MAX, 7] {
                let bytes = [pcap(pen, 5), vec![0; zeros]].concat();
                let (seen, info) = drain(open(Dribble::new(&bytes, step)).unwrap());
                let damage = info.damage.expect("zeros are damage");
                assert_eq!((seen.len(), damage.kind, damage.frame), (5, DamageKind::Corrupt, 6));
                assert_eq!(damage.offset as usize, bytes.len() - zeros);
                assert!(damage.what.starts_with("zeros"), "{}", damage.what);
                let (seen, info) = drain(open(Dribble::new(&[pcapng(pen, 5), vec![0; zeros]].concat(), step)).unwrap());
                assert_eq!(seen.len(), 5);
                assert!(info.damage.is_some_and(|damage| damage.what.starts_with("zeros")));
            }
        }
    }
    let (seen, info) =
        read(&[pcap(LE, 1), LE.record(9, 9, 0, 0), LE.record(0, 0, 0, 0), LE.record(9, 9, 0, 0)].concat());
    assert_eq!((seen.len(), info.damage), (4, None));
    let (seen, info) = read(&[pcap(LE, 1), LE.record(0, 0, 0, 0)].concat());
    assert_eq!((seen.len(), info.damage), (2, None));
}

/// pcap-parser answers `UnexpectedEof` for a cut tail. Here every cut at every octet delivers what is whole and is named.
#[test]
fn every_cut_delivers_all_whole_records_and_names_where() {
    for (bytes, header, name) in [(pcap(LE, 6), 24, "pcap"), (pcapng(BE, 6), 28 + 20, "pcapng")] {
        let (all, _) = read(&bytes);
        let mut ends = vec![header];
        for frame in &all {
            let size = if name == "pcap" { 16 + frame.data.len() } else { 32 + frame.data.len().next_multiple_of(4) };
            ends.push(ends[ends.len() - 1] + size);
        }
        assert_eq!(ends[all.len()], bytes.len());
        for cut in header..=bytes.len() {
            let (seen, info) = read(&bytes[..cut]);
            let whole = ends.iter().rposition(|&end| end <= cut).unwrap();
            assert_eq!(seen, all[..whole], "{name} cut at {cut}");
            match info.damage {
                None => assert_eq!(cut, ends[whole]),
                Some(damage) => {
                    assert_eq!((damage.kind, damage.frame), (DamageKind::Cut, whole as u64 + 1));
                    assert_eq!(damage.offset as usize, ends[whole], "{}", damage.what);
                }
            }
        }
    }
    let bytes = pcap(LE, 6);
    assert_eq!(read(&bytes[..bytes.len() - 2]).1.damage.unwrap().what, "the record claims 6 bytes, 4 are left");
}

#[test]
fn blocks_whose_length_fields_disagree_end_the_reading() {
    let mut bytes = pcapng(LE, 4);
    let last = bytes.len();
    bytes[last - 4] ^= 0x40;
    bytes.extend(LE.packet(0, 1, b"behind", &[]));
    let (seen, info) = read(&bytes);
    assert_eq!(seen.len(), 3);
    assert_eq!(info.damage.unwrap().what, "the block's two length fields are 36 and 100");
    for length in [0_u32, 4, 11, 0x0100_0000 + 131_072 + 4, u32::MAX] {
        let bytes = [pcapng(LE, 2), LE.u32(6).to_vec(), LE.u32(length).to_vec(), vec![1; 64]].concat();
        let (seen, info) = read(&bytes);
        assert_eq!((seen.len(), info.damage.map(|damage| damage.kind)), (2, Some(DamageKind::Corrupt)), "{length}");
    }
}

/// Some early writers state block lengths without the padding that they write.
#[test]
fn block_lengths_without_their_padding_are_read() {
    let mut bytes = [LE.section(&[]), LE.interface(1, 0, &[])].concat();
    for i in 0..2 {
        let mut block = LE.packet(0, i, b"abcde", &[]);
        let length = LE.u32(block.len() as u32 - 3);
        let end = block.len() - 4;
        block[4..8].copy_from_slice(&length);
        block[end..].copy_from_slice(&length);
        bytes.extend(block);
    }
    let (seen, info) = read(&bytes);
    assert_eq!((seen.len(), seen[1].data.as_slice(), info.damage), (2, &b"abcde"[..], None));
}

#[test]
fn a_section_of_an_unknown_version_ends_the_reading_where_it_stands() {
    let mut section = BE.section(&[]);
    section[13] = 2;
    assert!(refused(&section).contains("pcapng version 2.0"));
    let (seen, info) = read(&[pcapng(LE, 3), section].concat());
    assert_eq!((seen.len(), info.damage.unwrap().frame), (3, 4));
}

#[test]
fn what_is_no_capture_is_refused_in_words() {
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"\xd4\xc3\xb2\xa1\x02").contains("5 of 24"));
    assert!(refused(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04").contains("snoop"));
    assert!(refused(b"ab").contains("text"));
    assert!(refused(&LE.u32(0xa12b_3c4d)).contains("Navtel"));
    assert!(refused(b"\x1f\x8b\x08garbage....").contains("gzip"));
    let mut version = pcap(LE, 1);
    version[4] = 7;
    assert_eq!(refused(&version), "test: this is pcap version 7.4; versions 2.x are read");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_captures_are_read_and_their_damage_is_named() {
    let bytes = pcap(LE, 200);
    let packed = gzip(&bytes);
    for step in [1, 1000, usize::MAX] {
        let (seen, info) = drain(open(Dribble::new(&packed, step)).unwrap());
        assert_eq!((seen.len(), info.compression, info.damage), (200, Some("gzip"), None));
        assert_eq!((info.bytes_read, info.bytes_consumed), (bytes.len() as u64, packed.len() as u64));
    }
    let (seen, info) = read(&packed[..packed.len() - 9]);
    assert_eq!((seen.len(), info.damage.unwrap().kind), (200, DamageKind::Cut), "cut in the gzip trailer");
    let (seen, info) = read(&[packed.clone(), b"garbage behind".to_vec()].concat());
    let damage = info.damage.unwrap();
    assert_eq!((seen.len(), damage.kind, damage.frame), (200, DamageKind::Read, 201), "{}", damage.what);
    assert_eq!(read(&[packed.clone(), gzip(&pcap(LE, 3)[24..])].concat()).0.len(), 203, "two members");
    assert!(refused(&gzip(&packed)).contains("gzip inside gzip"));
    assert!(refused(&gzip(b"")).contains("holds nothing"));
}

/// Random damage never panics, never hangs, and is the same whatever the pieces in which the input arrives.
#[test]
fn random_damage_is_read_alike_in_any_pieces() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mixed = [pcapng(LE, 9), pcapng(BE, 9), LE.block(3, &[&LE.u32(4)[..], b"simp"].concat())].concat();
    let captures = [pcap(LE, 20), pcap(BE, 20), mixed];
    for round in 0..6000 {
        let mut bytes = captures[round % captures.len()].clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            bytes[at] = [0, 1, 0xff, bytes[at] ^ 1 << random(8), random(256) as u8][random(5)];
        }
        bytes.truncate(bytes.len() - random(3) * random(40));
        let Ok(whole) = open(Cursor::new(bytes.clone())).map(drain) else { continue };
        let pieces = drain(open(Dribble::new(&bytes, 1 + random(60))).expect("it opened before"));
        assert_eq!(pieces.0, whole.0);
        assert_eq!(pieces.1.damage, whole.1.damage);
    }
}
