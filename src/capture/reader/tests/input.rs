//! Inputs that deliver badly, compressed ones, and what is no capture.

use super::*;

/// pcap-parser reads once when it is built: a pipe that first delivers less than a header is "not recognized", as is a
/// section header longer than the first read. It does not retry interrupted reads either.
#[test]
fn short_and_interrupted_reads_change_nothing() {
    let long_header = [LE.section(&LE.option(1, &[b'x'; 60_000])), a_pcapng(LE, 40)].concat();
    for bytes in [a_pcap(LE, 50), a_pcap(BE, 50), a_pcapng(LE, 50), a_pcapng(BE, 50), long_header] {
        let whole = read(&bytes);
        assert!(whole.0.len() >= 40 && whole.1.damage.is_none());
        for step in [1, 3, 23, 4096] {
            let (seen, info) = drain(open(Dribble::new(&bytes, step)).unwrap());
            assert_eq!(seen, whole.0, "{step} bytes at a time");
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
    for bytes in [a_pcap(LE, 3), a_pcapng(LE, 3)] {
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
    let bytes = a_pcap(LE, 3);
    let mut input = Dribble::new(&bytes[..bytes.len() - 1], 64);
    input.failure = Some("the disk is on fire");
    let (seen, info) = drain(open(input).unwrap());
    assert_eq!(seen.len(), 2);
    let damage = info.damage.unwrap();
    assert_eq!((damage.kind, damage.frame, damage.offset), (DamageKind::Read, 3, 24 + 17 + 18));
    assert!(damage.what.contains("on fire"), "{}", damage.what);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn what_is_no_capture_is_refused_in_words() {
    assert!(refused(b"").contains("empty"));
    assert!(refused(b"\xd4\xc3\xb2\xa1\x02").contains("5 of 24"));
    assert!(refused(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04").contains("snoop"));
    assert!(refused(b"ab").contains("text"));
    assert!(refused(&LE.u32(0xa12b_3c4d)).contains("Navtel"));
    assert!(refused(b"\x1f\x8b\x08garbage....").contains("gzip"));
    // Broken, but what it is no part of shows before that.
    let broken = include_bytes!("../../../../fixtures/crashes/report-zstd-broken-behind-its-beginning.zst");
    assert!(refused(broken).contains("neither pcap nor pcapng"), "{}", refused(broken));
    let mut version = a_pcap(LE, 1);
    version[4] = 7;
    assert_eq!(refused(&version), "test: this is pcap version 7.4; versions 2.x are read");
}

#[test]
fn compressed_captures_are_read_and_their_damage_is_named() {
    let bytes = a_pcap(LE, 200);
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
    assert_eq!(read(&[packed.clone(), gzip(&a_pcap(LE, 3)[24..])].concat()).0.len(), 203, "two members");
    assert!(refused(&gzip(&packed)).contains("gzip inside gzip"));
    assert!(refused(&gzip(b"")).contains("holds nothing"));
}
