//! Frames that contradict themselves, and frames without a time: what can be known of them is said, what cannot is in no table, and a
//! finding says how many there are. The frame is figure 9 of the seeds (AH over a packet of 64 octets), changed.

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::build::{R1, R2, START, esp, ipv4};
use crate::support::writer::{Order, Out, pcapng, plain_pcap};
use crate::support::{at, fixture, items, number, scratch, spiglass, text, write_file};
use serde_json::Value;
use spiglass::capture::{CaptureReader, Chunk, Source};

const SECOND: u64 = 1_000_000_000;
/// Where the frame has the outer IPv4 header, the AH and the inner IPv4 header.
const OUTER: usize = 14;
const INNER: usize = 58;

/// The octets of figure 9.
fn figure_9() -> Vec<u8> {
    let mut reader = CaptureReader::open(&Source::Path(fixture("seeds/test05-ah-md5.pcap")), 0).unwrap();
    let mut chunk = Chunk::default();
    assert!(reader.next_chunk(&mut chunk));
    let data = chunk.frames().next().expect("one frame").data.to_vec();
    assert_eq!(data.len(), 122);
    data
}

/// Three times the same frame but for its sequence number, a second apart; of each `kept` octets, `wire` on the wire.
fn three(frame: &[u8], kept: usize, wire: usize) -> Vec<Out> {
    let one = |n: u8| {
        let mut data = frame.to_vec();
        data[OUTER + 28..OUTER + 32].copy_from_slice(&u32::from(n).to_be_bytes());
        data.truncate(kept);
        Out { time_ns: START + u64::from(n) * SECOND, data, wire_bytes: u32::try_from(wire).unwrap() }
    };
    (1..=3).map(one).collect()
}

fn file(name: &str, frames: &[Out]) -> PathBuf {
    write_file(&scratch("contradictions"), name, &plain_pcap(frames))
}

fn report(path: &Path) -> Value {
    spiglass(&["report", "--format", "json", path.to_str().unwrap()]).expect(0).json()
}

/// Count and evidence of a finding; nothing if there is none of the code.
fn finding(report: &Value, code: &str) -> Option<(u64, String)> {
    let of_code: Vec<_> = items(report, "findings").iter().filter(|finding| text(finding, "code") == code).collect();
    assert!(of_code.len() <= 1, "{of_code:?}");
    of_code.first().map(|finding| (number(finding, "count"), text(finding, "evidence").to_owned()))
}

#[test]
fn a_whole_frame_has_nothing_to_say() {
    let report = report(&file("whole.pcap", &three(&figure_9(), 122, 122)));
    for code in ["capture-sliced", "header-invalid", "capture-untimed", "capture-snaplen"] {
        assert_eq!(finding(&report, code), None);
    }
    assert_eq!((number(&report, "sizes.0.inner_bytes"), number(&report, "totals.l1_bytes")), (64, 3 * 146));
    assert_eq!(text(&report, "rates.directions.0.l1_basis"), "measured");
}

/// A packet broker cuts frames and forgets how long they were: the IP lengths are still there, and agree.
#[test]
fn sliced_frames_are_as_long_as_their_packets_say() {
    let report = report(&file("sliced.pcap", &three(&figure_9(), 96, 96)));
    let (count, evidence) = finding(&report, "capture-sliced").expect("a finding");
    assert_eq!(count, 3);
    assert!(
        evidence.starts_with("In 3 of 3 frames (100.0 %) the packet states more bytes than the frame has."),
        "{evidence}"
    );
    let sizes = &items(&report, "sizes")[0];
    assert_eq!((number(sizes, "inner_bytes"), number(sizes, "overhead_min_bytes")), (64, 44));
    assert_eq!(at(sizes, "l1_tunnel_bytes").as_f64(), Some(146.0));
    assert_eq!(number(&report, "totals.l1_bytes"), 3 * 146);
    assert_eq!(number(&report, "totals.wire_bytes"), 3 * 96);
    assert_eq!(text(&report, "rates.directions.0.l1_basis"), "assumed");
    assert_eq!(finding(&report, "header-invalid"), None);
}

/// Cut inside the inner header, by a snapshot length or a slice, the length of the inner packet is not known: it is not what AH leaves,
/// for AH says that there is a tunnel.
#[test]
fn a_tunnel_cut_before_its_inner_header_has_no_size() {
    for (name, wire, code) in [("cut.pcap", 122, "capture-snaplen"), ("slice.pcap", 64, "capture-sliced")] {
        let report = report(&file(name, &three(&figure_9(), 64, wire)));
        assert_eq!(finding(&report, code).expect(code).0, 3);
        assert!(items(&report, "sizes").is_empty(), "{}", at(&report, "sizes"));
        assert_eq!(text(&report, "sas.0.overhead.basis"), "unknown");
        assert_eq!(number(&report, "sas.0.sequence.highest"), 3);
        assert_eq!(finding(&report, "header-invalid"), None, "a slice is no invalid header");
        assert_eq!(finding(&report, "clear-traffic"), None);
    }
}

#[test]
fn an_inner_packet_longer_than_the_outer_has_no_size() {
    let mut frame = figure_9();
    frame[INNER + 2..INNER + 4].copy_from_slice(&65_280_u16.to_be_bytes());
    let path = file("inner.pcap", &three(&frame, 122, 122));
    let report = report(&path);
    assert_eq!(
        finding(&report, "header-invalid"),
        Some((
            3,
            "3 frames with a header that has a value or length that cannot be: ipv4 (3). The rest of the frame was not read, or has no size."
                .into()
        ))
    );
    assert!(items(&report, "sizes").is_empty());
    assert_eq!(text(&report, "sas.0.overhead.basis"), "unknown");
    assert!(
        support::frames(&path)
            .iter()
            .all(|row| row.get("inner_bytes") == "65280" && row.get("overhead_bytes").is_empty())
    );
}

/// Puts the checksum of an IPv4 header right.
fn check(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The outer packet states what neither the frame nor the packets in it have: a damaged length, if the checksum says so, and then it
/// makes no frame longer; else a slice whose sizes do not agree.
#[test]
fn an_outer_packet_longer_than_its_parts_has_no_size() {
    let mut frame = figure_9();
    frame[OUTER + 2..OUTER + 4].copy_from_slice(&400_u16.to_be_bytes());
    let damaged = report(&file("outer.pcap", &three(&frame, 122, 122)));
    assert_eq!(finding(&damaged, "header-invalid").expect("a finding").0, 3);
    assert_eq!(finding(&damaged, "capture-sliced"), None);
    assert_eq!(number(&damaged, "totals.l1_bytes"), 3 * 146);
    assert_eq!(text(&damaged, "rates.directions.0.l1_basis"), "measured");
    check(&mut frame[OUTER..OUTER + 20]);
    let sliced = report(&file("outer-checked.pcap", &three(&frame, 122, 122)));
    assert_eq!(finding(&sliced, "capture-sliced").expect("a finding").0, 3);
    assert_eq!(number(&sliced, "totals.l1_bytes"), 3 * (14 + 400 + 24));
    assert!(items(&damaged, "sizes").is_empty() && items(&sliced, "sizes").is_empty());
    // More than any frame has.
    frame[OUTER + 2..OUTER + 4].copy_from_slice(&65_000_u16.to_be_bytes());
    check(&mut frame[OUTER..OUTER + 20]);
    let long = report(&file("outer-long.pcap", &three(&frame, 122, 122)));
    assert_eq!((finding(&long, "capture-sliced"), number(&long, "totals.l1_bytes")), (None, 3 * 146));
    assert_eq!(finding(&long, "header-invalid").expect("a finding").0, 3);
}

/// Two fragments, all there; the packet inside states more than they hold together.
#[test]
fn an_inner_packet_longer_than_all_fragments_has_no_size() {
    let mut packet = figure_9()[OUTER + 20..].to_vec();
    let fragments = |packet: &[u8]| -> Vec<Out> {
        [(0, 56), (56, packet.len())]
            .into_iter()
            .map(|(from, to)| {
                let mut frame = ipv4(R1, R2, 51, 77, &packet[from..to]);
                let place = u16::try_from(from / 8).unwrap() | if to < packet.len() { 0x2000 } else { 0 };
                frame[OUTER + 6..OUTER + 8].copy_from_slice(&place.to_be_bytes());
                check(&mut frame[OUTER..OUTER + 20]);
                Out::whole(START + from as u64 * 1_000, frame)
            })
            .collect()
    };
    let whole = report(&file("train.pcap", &fragments(&packet)));
    assert_eq!((number(&whole, "sizes.0.inner_bytes"), number(&whole, "sizes.0.outer_bytes_min")), (64, 128));
    packet[26..28].copy_from_slice(&65_000_u16.to_be_bytes());
    let broken = report(&file("train-broken.pcap", &fragments(&packet)));
    assert!(items(&broken, "sizes").is_empty(), "{}", at(&broken, "sizes"));
}

/// AH in front of a tunnel's header whose packet was not reached, or is none: no transport mode, and no size.
#[test]
fn a_tunnel_behind_ah_that_is_cut_or_holds_no_packet_has_no_size() {
    let ah = |next: u8, behind: &[u8]| -> Vec<u8> {
        let mut header = vec![next, 4, 0, 0, 0, 0, 3, 0xea, 0, 0, 0, 1];
        header.extend([0xa5; 12]);
        header.extend(behind);
        ipv4(R1, R2, 51, 5, &header)
    };
    // GRE with NHRP; GRE with MPLS that is cut; EtherIP with a VLAN tag that is cut; L2TPv3.
    let ethernet = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0];
    let cases = [
        ("nhrp", ah(47, &[&[0, 0, 0x20, 1][..], &[0; 40]].concat()), 0),
        ("mpls", ah(47, &[0, 0, 0x88, 0x47, 0, 1]), 80),
        ("vlan", ah(97, &[&[0x30, 0][..], &ethernet].concat()), 80),
        ("l2tpv3", ah(115, &[&[0, 0, 0, 9][..], &ethernet].concat()), 80),
    ];
    for (name, frame, more) in cases {
        let wire_bytes = u32::try_from(frame.len() + more).unwrap();
        let mut frame = frame;
        let total = u16::try_from(wire_bytes - 14).unwrap();
        frame[OUTER + 2..OUTER + 4].copy_from_slice(&total.to_be_bytes());
        check(&mut frame[OUTER..OUTER + 20]);
        let report = report(&file(&format!("{name}.pcap"), &[Out { time_ns: START, data: frame, wire_bytes }]));
        assert!(items(&report, "sizes").is_empty(), "{name}: {}", at(&report, "sizes"));
        assert_eq!(number(&report, "sas.0.frames"), 1, "{name}");
        assert_eq!(finding(&report, "clear-traffic"), None, "{name}");
    }
}

/// A slice hides nothing that is said of whole frames.
#[test]
fn a_sliced_frame_that_is_too_deep_is_still_said_to_be() {
    let mut packet = ipv4(R1, R2, 17, 1, &[0; 12])[14..].to_vec();
    for _ in 0..24 {
        packet = ipv4(R1, R2, 4, 1, &packet)[14..].to_vec();
    }
    let mut frame = ipv4(R1, R2, 4, 1, &packet);
    let total = u16::try_from(frame.len() - 14 + 4).unwrap();
    frame[OUTER + 2..OUTER + 4].copy_from_slice(&total.to_be_bytes());
    check(&mut frame[OUTER..OUTER + 20]);
    let report = report(&file("deep.pcap", &[Out::whole(START, frame)]));
    assert_eq!(text(&report, "exactness"), "degraded");
    assert_eq!(finding(&report, "capture-sliced").expect("a finding").0, 1);
}

#[test]
fn invalid_headers_are_counted_by_their_kind_and_are_not_in_clear() {
    let inner = ipv4(R2, R1, 17, 7, &[0; 20]);
    let long = {
        let mut packet = inner[14..].to_vec();
        packet[2..4].copy_from_slice(&600_u16.to_be_bytes());
        packet
    };
    let frames = [
        // A UDP header that states more than its packet has, one without room, GRE without room, IP in IP that is too long.
        ipv4(R1, R2, 17, 1, &[0x13, 0x88, 0x13, 0x89, 0, 200, 0, 0, 1, 2, 3, 4]),
        ipv4(R1, R2, 17, 2, &[0x13, 0x88, 0x13]),
        ipv4(R1, R2, 47, 3, &[0, 0]),
        ipv4(R1, R2, 4, 4, &long),
    ];
    let out: Vec<Out> = frames.into_iter().map(|frame| Out::whole(START, frame)).collect();
    let report = report(&file("kinds.pcap", &out));
    let (count, evidence) = finding(&report, "header-invalid").expect("a finding");
    assert_eq!(count, 4);
    assert!(evidence.contains("cannot be: udp (2), gre (1), ipv4 (1)."), "{evidence}");
    assert!(items(&report, "sizes").is_empty(), "{}", at(&report, "sizes"));
}

/// A time beyond 64 bits of nanoseconds, as a wrong resolution makes it; frames with a time keep theirs.
#[test]
fn frames_without_a_time_are_counted_and_said() {
    let frames: Vec<Out> =
        (1..=4).map(|n| Out::whole(START + u64::from(n) * SECOND, esp(R1, R2, 9, n, &[0xa5; 32]))).collect();
    let mut bytes = pcapng(&frames, Order::Little);
    let mut at_block = 0;
    let mut packets = 0;
    while at_block < bytes.len() {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (kind, length) = (word(at_block), word(at_block + 4) as usize);
        if kind == 6 {
            packets += 1;
            if packets == 4 {
                bytes[at_block + 12..at_block + 20].fill(0xff);
            }
        }
        at_block += length;
    }
    let path = write_file(&scratch("contradictions"), "untimed.pcapng", &bytes);
    let report = report(&path);
    let (count, evidence) = finding(&report, "capture-untimed").expect("a finding");
    assert_eq!(count, 1);
    assert!(evidence.starts_with("1 of 4 frames (25.0 %)"), "{evidence}");
    assert_eq!(number(&report, "sas.0.frames"), 4);
    assert!(at(&report, "sas.0.last").is_null() && at(&report, "sas.0.rate.l1_bps").is_null());
    assert_eq!(text(&report, "captures.0.last").get(..10), text(&report, "captures.0.first").get(..10));
}

/// The new counts obey the merge law: the report of two files is that of their merged states.
#[test]
fn merged_states_say_the_same() {
    let mut frame = figure_9();
    let sliced = three(&frame, 96, 96);
    frame[INNER + 2..INNER + 4].copy_from_slice(&65_280_u16.to_be_bytes());
    let broken = three(&frame, 122, 122);
    let later = |frames: &[Out], seconds: u64| -> Vec<Out> {
        frames.iter().map(|out| Out { time_ns: out.time_ns + seconds * SECOND, ..out.clone() }).collect()
    };
    let files = [
        file("merge-a.pcap", &[sliced.clone(), later(&broken, 10)].concat()),
        file("merge-b.pcap", &[later(&broken, 20), later(&sliced, 30)].concat()),
    ];
    let names: Vec<&str> = files.iter().map(|path| path.to_str().unwrap()).collect();
    let whole = spiglass(&["report", "--format", "json", names[0], names[1]]).expect(0);
    let states: Vec<String> = names.iter().map(|name| format!("{name}.state")).collect();
    for (name, state) in names.iter().zip(&states) {
        spiglass(&["partial", name, "-o", state]).expect(0);
    }
    let merged = spiglass(&["merge", "--format", "json", &states[0], &states[1]]).expect(0);
    assert_eq!(whole.text(), merged.text());
    let report = whole.json();
    assert_eq!(finding(&report, "capture-sliced").expect("a finding").0, 6);
    assert_eq!(finding(&report, "header-invalid").expect("a finding").0, 6);
}
