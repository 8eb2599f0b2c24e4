//! Lengths that disagree, frames that are cut, fragments: what is read and what is said of the rest.

use crate::headers::{ah, esp, esp_in_ipv4, ethernet, frame, ipv4, stack_of, udp};
use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, LayerKind, Limit, Note, Stack, Stop, StopCause, dissect, stack_name};
use spiglass::model::{FramePos, LinkType, Spi, Timestamp};

const A: [u8; 4] = [192, 0, 2, 1];
const B: [u8; 4] = [192, 0, 2, 2];

/// Dissects the first `captured` octets of a frame that ends with `fcs` octets of check sequence.
fn read(data: &[u8], captured: usize, fcs: u8) -> Stack {
    let whole = frame(LinkType::ETHERNET, data);
    stack_of(&Frame { data: &data[..captured], fcs_bytes: fcs, ..whole }, &DissectOptions::default())
}

fn whole(data: &[u8]) -> Stack {
    read(data, data.len(), 0)
}

#[test]
fn later_fragments_of_protocol_51_are_no_ah() {
    let mut packet = ipv4(A, B, 51, &ah(4, 1002, 1, 12, &[0x45; 64]));
    packet[6..8].copy_from_slice(&185u16.to_be_bytes());
    let stack = whole(&ethernet(0x0800, &packet));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/fragment");
    assert_eq!((stack.sas.len(), stack.ips[0].fragment_offset, stack.notes.len()), (0, 1480, 0));

    packet[6..8].copy_from_slice(&0x2000u16.to_be_bytes());
    let stack = whole(&ethernet(0x0800, &packet));
    assert!(stack_name(stack.shape).starts_with("eth/ipv4/ah/ipv4"));
    assert!(!stack.notes.iter().any(|note| matches!(note, Note::LengthMismatch { .. })), "a fragment has less");
}

#[test]
fn ah_inside_ah_is_read() {
    let packet = ipv4(A, B, 51, &ah(51, 1, 10, 12, &ah(17, 2, 20, 32, &udp(1, 2, &[]))));
    let stack = whole(&ethernet(0x0800, &packet));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/ah/ah/udp");
    assert_eq!(stack.sas.iter().map(|sa| (sa.spi.0, sa.bytes)).collect::<Vec<_>>(), [(1, 24), (2, 44)]);
}

#[test]
fn ah_cut_in_its_icv_keeps_spi_and_sequence() {
    let frame = ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1002, 77, 32, &ipv4(B, A, 59, &[]))));
    let stack = read(&frame, 14 + 20 + 12 + 3, 0);
    let sa = stack.sas[0];
    assert_eq!((sa.spi, sa.sequence, sa.sequence_seen, sa.bytes), (Spi(1002), 77, true, 44));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/ah");
    assert!(stack.flags.cut_by_snaplen && stack.notes.is_empty());
    let cause = StopCause::TooShort { needed: 20, had: 0, limit: Limit::Snaplen };
    assert_eq!(stack.stop, Some(Stop { layer: LayerKind::Ipv4, offset: 78, cause }));

    let stack = read(&frame, 14 + 20 + 9, 0);
    let sa = stack.sas[0];
    assert_eq!((sa.spi, sa.sequence, sa.sequence_seen, sa.bytes), (Spi(1002), 0, false, 44));
}

#[test]
fn esp_cut_behind_its_spi_keeps_it() {
    let frame = ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 64]));
    let stack = read(&frame, 14 + 20 + 4, 0);
    let sa = stack.sas[0];
    assert_eq!((sa.spi, sa.sequence_seen, sa.bytes), (Spi(300), false, 72));
    assert!(stack.notes.is_empty());
    let stack = read(&frame, 14 + 20 + 3, 0);
    assert!(stack.sas.is_empty());
    let cause = StopCause::TooShort { needed: 8, had: 3, limit: Limit::Snaplen };
    assert_eq!(stack.stop.map(|stop| stop.cause), Some(cause));
}

#[test]
fn check_sequences_are_neither_padding_nor_payload() {
    let mut frame = ethernet(0x0800, &ipv4(A, B, 59, &[]));
    frame.resize(60, 0);
    frame.extend([1, 2, 3, 4]);
    let stack = read(&frame, 64, 4);
    assert_eq!((stack.frame_bytes, stack.trailer_bytes, stack.captured_bytes), (60, 26, 60));
    assert!(!stack.flags.cut_by_snaplen);
    // Two octets of the check sequence were captured: the frame itself is whole.
    let stack = read(&frame, 62, 4);
    assert_eq!((stack.frame_bytes, stack.captured_bytes, stack.flags.cut_by_snaplen), (60, 60, false));
    let stack = read(&frame, 40, 4);
    assert_eq!((stack.trailer_bytes, stack.trailer.map(|span| span.bytes)), (26, Some(6)));
}

#[test]
fn an_ip_length_beyond_the_frame_is_said_and_survived() {
    let mut frame = ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 64]));
    frame.truncate(80);
    let stack = whole(&frame);
    // The header's checksum is right: it is the frame that was sliced, and the packet says how long it was.
    assert!(stack.flags.sliced && stack.notes.is_empty(), "{:?}", stack.notes);
    assert_eq!((stack.sas[0].bytes, stack.ips[0].total_bytes), (72, 92));
    frame[25] ^= 1;
    let stack = whole(&frame);
    assert_eq!(stack.notes, [Note::LengthMismatch { layer: LayerKind::Ipv4, claims: 92, has: 66 }]);
    assert_eq!((stack.sas[0].bytes, stack.ips[0].total_bytes), (46, 92));
}

#[test]
fn an_ip_length_of_zero_is_offloading() {
    let mut frame = ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 64]));
    frame[16..18].fill(0);
    let stack = whole(&frame);
    assert!(stack.flags.offloaded && stack.notes.is_empty());
    assert_eq!((stack.ips[0].total_bytes, stack.sas[0].bytes), (92, 72));
    let long = ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 9600]));
    assert!(whole(&long).flags.offloaded);
}

#[test]
fn impossible_lengths_are_named() {
    for bytes in [0usize, 3] {
        let stack = whole(&ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 64][..bytes])));
        assert_eq!(stack.notes, [Note::EspLength { sa: 0 }], "{bytes}");
    }
    assert_eq!(whole(&ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 61]))).notes, [Note::EspLength { sa: 0 }]);

    let mut short = ah(4, 1002, 1, 12, &[]);
    short[1] = 0;
    let stack = whole(&ethernet(0x0800, &ipv4(A, B, 51, &short)));
    assert_eq!((stack.notes.as_slice(), stack.sas[0].bytes), (&[Note::AhLength { sa: 0 }][..], 8));
    let mut long = ah(4, 1002, 1, 12, &[]);
    long[1] = 200;
    let stack = whole(&ethernet(0x0800, &ipv4(A, B, 51, &long)));
    assert_eq!((stack.notes.as_slice(), stack.sas[0].spi), (&[Note::AhLength { sa: 0 }][..], Spi(1002)));

    let mut header = ipv4(A, B, 50, &esp(300, 1, &[0; 8]));
    header[3] = 19;
    let stack = whole(&ethernet(0x0800, &header));
    assert!(matches!(stack.stop.map(|stop| stop.cause), Some(StopCause::BadValue { field: "total length", .. })));
}

#[test]
fn a_capture_that_holds_more_than_the_wire_is_believed_about_its_octets() {
    let data = ethernet(0x0800, &esp_in_ipv4(300, 7, &[0x9c; 64]));
    let mut stack = Stack::default();
    let frame = Frame {
        pos: FramePos::new(0, 1),
        time: Timestamp::UNKNOWN,
        wire_bytes: 0,
        data: &data,
        link: LinkType::ETHERNET,
        interface: 0,
        fcs_bytes: 0,
        snap_bytes: u32::MAX,
    };
    dissect(&frame, &DissectOptions::default(), &mut stack);
    assert_eq!((stack.frame_bytes as usize, stack.sas.len()), (data.len(), 1));
}

#[test]
fn ipv4_options_that_are_not_there_leave_the_addresses() {
    let mut packet = ipv4(A, B, 59, &[]);
    packet[0] = 0x46;
    packet[3] = 24;
    let stack = whole(&ethernet(0x0800, &packet));
    assert_eq!((stack.ips.len(), stack.ips[0].src), (1, spiglass::model::Address::v4(A)));
    let cause = StopCause::TooShort { needed: 24, had: 20, limit: Limit::Frame };
    assert_eq!(stack.stop, Some(Stop { layer: LayerKind::Ipv4, offset: 14, cause }));
}
