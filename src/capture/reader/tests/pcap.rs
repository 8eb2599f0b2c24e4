//! The records of pcap and its variants.

use super::*;

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

#[test]
fn a_larger_snaplen_raises_the_record_limit() {
    let size = MAX_RECORD + 1;
    let record = [LE.record(1, 0, size, size), vec![0; size as usize]].concat();
    let (seen, info) = read(&[LE.pcap(0xa1b2_c3d4, 262_144), record.clone()].concat());
    assert_eq!((seen.len(), info.damage.map(|damage| damage.kind)), (0, Some(DamageKind::Corrupt)));
    let (seen, info) = read(&[LE.pcap(0xa1b2_c3d4, 1 << 20), record].concat());
    assert_eq!((seen.len(), info.damage), (1, None));
}
