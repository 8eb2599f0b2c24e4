//! Sections, interfaces and packets of pcapng.

use super::*;

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

/// Each packet may say how many were lost before it.
#[test]
fn drops_that_packets_state_are_summed() {
    for pen in [LE, BE] {
        let packet = |id, lost: u64| pen.packet(id, 1, b"abcd", &pen.option(4, &pen.u64(lost)));
        let statistics = pen.block(5, &[&pen.u32(1)[..], &[0; 8], &pen.option(5, &pen.u64(4))].concat());
        let bytes = [
            pen.section(&[]),
            pen.interface(1, 0, &[]),
            pen.interface(1, 0, &[]),
            packet(0, 3),
            packet(1, 9),
            packet(0, 0),
            packet(0, 2),
            statistics,
        ];
        let (frames, info) = read(&bytes.concat());
        assert_eq!(frames.len(), 4);
        let lost: Vec<_> = info.interfaces.iter().map(|own| (own.packet_drops, own.lost())).collect();
        assert_eq!(lost, [(5, Some(5)), (9, Some(9))]);
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

/// A file of blocks that a small generator picks: packets of described, damaged and unknown interfaces, whole and lying, with options and without.
fn picked(pen: Pen, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = move |n: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    };
    let mut out = [
        pen.section(&[]),
        pen.interface(1, 64, &[]),
        pen.interface(101, 0, &[pen.option(9, &[9]), pen.option(14, &pen.u64(7))].concat()),
        pen.interface(1, 0, &pen.option(9, &[0x80 | 20])),
        pen.interface(1, 0, &pen.option(13, &[4])),
    ]
    .concat();
    for n in 0..60 {
        let (id, size) = (below(5) as u32, below(90) as usize);
        let data = vec![n as u8; size];
        let ticks = if below(20) == 0 { u64::MAX - below(9) } else { 1_000_000 + n };
        let options = if below(4) == 0 { pen.option(2, &pen.u32(0x80)) } else { Vec::new() };
        let id = if below(3) > 0 { 0 } else { id };
        let mut block = match below(14) {
            0 => pen.lying_packet(id, ticks, size as u32 + below(200) as u32, &data, &[]),
            1 => pen.block(3, &[&pen.u32(size as u32)[..], &data].concat()),
            2 => pen.block(0x0bad, &data),
            3 => pen.section(&[]),
            4 => pen.interface(1, 0, &[]),
            _ => pen.packet(id, ticks, &data, &options),
        };
        if below(60) == 0 {
            let end = block.len() - 4;
            block[end..].copy_from_slice(&pen.u32(12));
        }
        out.extend(block);
    }
    out
}

/// Blocks of the usual kind have a way of their own, in files whose octet of least weight comes first; others have none.
#[test]
fn the_short_way_reads_what_the_long_one_reads() {
    let (mut damaged, mut frames) = (0, 0);
    for seed in 1..=400 {
        let ((short, info), (long, told)) = (read(&picked(LE, seed)), read(&picked(BE, seed)));
        assert_eq!(short, long, "seed {seed}");
        assert_eq!(info.damage, told.damage, "seed {seed}");
        assert_eq!((info.frames, info.unread_options), (told.frames, told.unread_options), "seed {seed}");
        damaged += usize::from(info.damage.is_some());
        frames += info.frames;
    }
    assert!(damaged > 100 && frames > 4_000, "{damaged} {frames}");
}
