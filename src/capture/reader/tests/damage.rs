//! Damage: what is delivered around it and how it is named.

use super::*;

/// One malformed block made pcap-parser swallow the whole rest of the file: 3,000 packets were lost behind it.
#[test]
fn good_packets_behind_a_malformed_block_are_not_lost() {
    for pen in [LE, BE] {
        let mut bytes = a_pcapng(pen, 3);
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
    let mut reader =
        open(Cursor::new([a_pcap(LE, 2), LE.record(1, 1, 0xffff_fff0, 60), vec![0; 100]].concat())).unwrap();
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
fn a_second_file_header_is_damage_and_not_a_frame() {
    for pen in [LE, BE] {
        let (seen, info) = read(&[a_pcap(pen, 4), a_pcap(LE, 4)].concat());
        assert_eq!((seen.len(), info.damage.as_ref().map(|damage| damage.frame)), (4, Some(5)));
        assert!(info.damage.is_some_and(|damage| damage.what.contains("mergecap")));
    }
    let (seen, info) = read(&[a_pcapng(LE, 4), a_pcapng(BE, 4)].concat());
    assert_eq!((seen.len(), info.damage), (8, None), "pcapng may be joined");
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
                let bytes = [a_pcap(pen, 5), vec![0; zeros]].concat();
                let (seen, info) = drain(open(Dribble::new(&bytes, step)).unwrap());
                let damage = info.damage.expect("zeros are damage");
                assert_eq!((seen.len(), damage.kind, damage.frame), (5, DamageKind::Corrupt, 6));
                assert_eq!(damage.offset as usize, bytes.len() - zeros);
                assert!(damage.what.starts_with("zeros"), "{}", damage.what);
                let (seen, info) =
                    drain(open(Dribble::new(&[a_pcapng(pen, 5), vec![0; zeros]].concat(), step)).unwrap());
                assert_eq!(seen.len(), 5);
                assert!(info.damage.is_some_and(|damage| damage.what.starts_with("zeros")));
            }
        }
    }
    let (seen, info) =
        read(&[a_pcap(LE, 1), LE.record(9, 9, 0, 0), LE.record(0, 0, 0, 0), LE.record(9, 9, 0, 0)].concat());
    assert_eq!((seen.len(), info.damage), (4, None));
    let (seen, info) = read(&[a_pcap(LE, 1), LE.record(0, 0, 0, 0)].concat());
    assert_eq!((seen.len(), info.damage), (2, None));
}

/// pcap-parser answers `UnexpectedEof` for a cut tail. Here every cut at every octet delivers what is whole and is named.
#[test]
fn every_cut_delivers_all_whole_records_and_names_where() {
    for (bytes, header, name) in [(a_pcap(LE, 6), 24, "pcap"), (a_pcapng(BE, 6), 28 + 20, "pcapng")] {
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
    let bytes = a_pcap(LE, 6);
    assert_eq!(read(&bytes[..bytes.len() - 2]).1.damage.unwrap().what, "the record claims 6 bytes, 4 are left");
}

#[test]
fn blocks_whose_length_fields_disagree_end_the_reading() {
    let mut bytes = a_pcapng(LE, 4);
    let last = bytes.len();
    bytes[last - 4] ^= 0x40;
    bytes.extend(LE.packet(0, 1, b"behind", &[]));
    let (seen, info) = read(&bytes);
    assert_eq!(seen.len(), 3);
    assert_eq!(info.damage.unwrap().what, "the block's two length fields are 36 and 100");
    for length in [0_u32, 4, 11, 0x0100_0000 + 131_072 + 4, u32::MAX] {
        let bytes = [a_pcapng(LE, 2), LE.u32(6).to_vec(), LE.u32(length).to_vec(), vec![1; 64]].concat();
        let (seen, info) = read(&bytes);
        assert_eq!((seen.len(), info.damage.map(|damage| damage.kind)), (2, Some(DamageKind::Corrupt)), "{length}");
    }
}

#[test]
fn a_section_of_an_unknown_version_ends_the_reading_where_it_stands() {
    let mut section = BE.section(&[]);
    section[13] = 2;
    assert!(refused(&section).contains("pcapng version 2.0"));
    let (seen, info) = read(&[a_pcapng(LE, 3), section].concat());
    assert_eq!((seen.len(), info.damage.unwrap().frame), (3, 4));
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
    let mixed = [a_pcapng(LE, 9), a_pcapng(BE, 9), LE.block(3, &[&LE.u32(4)[..], b"simp"].concat())].concat();
    let captures = [a_pcap(LE, 20), a_pcap(BE, 20), mixed];
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
