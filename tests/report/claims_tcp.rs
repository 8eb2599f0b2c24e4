//! ESP in TCP: what the cuts of a stream hide, what TCP sends again, and streams on other ports.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};

const SPI: u32 = 0x2b5c_91d3;
const PACKETS: u32 = 60;
/// How a stream begins (RFC 9329 section 4).
const PREFIX: &[u8] = b"IKETCP";

/// A segment from R1 to R2.
fn segment(port: u16, at: usize, payload: &[u8]) -> Vec<u8> {
    let at = u32::try_from(at).expect("32 bits").to_be_bytes();
    let ports = [51_000_u16.to_be_bytes(), port.to_be_bytes()].concat();
    let header = [&ports[..], &at, &[0, 0, 0, 1, 0x50, 0x18, 0x10, 0, 0, 0, 0, 0]].concat();
    let id = u16::from_be_bytes([at[2], at[3]]);
    build::ipv4(R1, R2, 6, id, &[&header[..], payload].concat())
}

/// The messages of a stream: ESP, one number after the other.
fn messages() -> Vec<Vec<u8>> {
    let mut noise = Noise(1);
    let message = |number: u32| {
        let bytes = 4 * usize::try_from(20 + noise.below(60)).expect("a length");
        let esp = [&SPI.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(bytes)].concat();
        let length = u16::try_from(esp.len() + 2).expect("16 bits");
        [&length.to_be_bytes()[..], &esp].concat()
    };
    (1..=PACKETS).map(message).collect()
}

/// One segment a message, or as many octets as each segment holds.
fn stream(port: u16, full: Option<usize>) -> Vec<Vec<u8>> {
    let messages = messages();
    let parts: Vec<Vec<u8>> = match full {
        None => messages,
        Some(bytes) => messages.concat().chunks(bytes).map(<[u8]>::to_vec).collect(),
    };
    let mut at = PREFIX.len();
    let mut segments = vec![segment(port, 0, PREFIX)];
    for part in parts {
        segments.push(segment(port, at, &part));
        at += part.len();
        // The answer holds nothing.
        segments.push(segment(port, at, &[]));
    }
    segments
}

fn capture(test: &str, frames: Vec<Vec<u8>>) -> PathBuf {
    let frames: Vec<Out> =
        (0..).zip(frames).map(|(n, frame)| Out::whole(START + n * 1_000_000 + 1_234, frame)).collect();
    write_file(&scratch(test), "made-up.pcap", &plain_pcap(&frames))
}

fn report(capture: &Path, more: &[&str]) -> Value {
    let path = capture.to_str().expect("a path of text");
    spiglass(&[&["report", "-q", "--format", "json"], more, &[path]].concat()).expect(0).json()
}

fn finding<'r>(report: &'r Value, code: &str) -> Option<&'r Value> {
    items(report, "findings").iter().find(|finding| text(finding, "code") == code)
}

#[test]
fn whole_messages_count_and_nothing_of_the_stream_is_clear() {
    let report = report(&capture("tcp-whole", stream(4500, None)), &[]);
    assert_eq!(number(&report, "sas.0.frames"), u64::from(PACKETS));
    assert_eq!(number(&report, "sas.0.sequence.lost"), 0);
    assert_eq!(finding(&report, "clear-traffic"), None);
    assert_eq!(finding(&report, "tcp-continuation"), None);
}

#[test]
fn messages_that_a_stream_cuts_are_not_lost() {
    for bytes in [1_400, 500, 90] {
        let report = report(&capture("tcp-pieces", stream(4500, Some(bytes))), &[]);
        assert_eq!(finding(&report, "sequence-gap"), None, "{bytes}");
        for sa in items(&report, "sas") {
            assert!(at(sa, "sequence").is_null(), "{bytes}: {sa}");
            assert!(finding(&report, "tcp-continuation").is_some(), "{bytes}");
        }
    }
}

#[test]
fn a_stream_of_pieces_alone_is_ipsec() {
    let pieces = stream(4500, Some(90)).into_iter().take(20).collect();
    let report = report(&capture("tcp-pieces-alone", pieces), &[]);
    assert_eq!(finding(&report, "no-ipsec"), None);
    assert!(finding(&report, "tcp-continuation").is_some(), "{}", at(&report, "findings"));
}

#[test]
fn what_is_missing_of_whole_messages_is_counted() {
    let mut frames = stream(4500, None);
    // The segments of numbers 20 to 22.
    frames.drain(39..45);
    let report = report(&capture("tcp-missing", frames), &[]);
    assert_eq!(number(&report, "sas.0.sequence.lost"), 3);
    let gap = finding(&report, "sequence-gap").expect("a gap");
    assert!(text(gap, "cause").starts_with("TCP sends lost segments again"), "{gap}");
}

#[test]
fn segments_that_are_sent_again_are_no_replay() {
    let mut frames = stream(4500, None);
    for at in [31, 41, 51] {
        // Behind some others that came in between.
        let again = frames.get(at).cloned().expect("a segment");
        frames.insert(at + 30, again);
    }
    let report = report(&capture("tcp-again", frames), &[]);
    let again = finding(&report, "sequence-duplicate").expect("numbers that come again");
    assert_eq!(text(again, "severity"), "note", "{again}");
    assert!(text(again, "cause").contains("no replay"), "{again}");
    assert!(items(&report, "sas.0.sequence.replay_window").is_empty());
}

#[test]
fn a_stream_on_another_port_is_named_and_read_when_asked() {
    let capture = capture("tcp-port", stream(443, None));
    let unread = report(&capture, &[]);
    assert_eq!(finding(&unread, "no-ipsec"), None, "there is IPsec");
    let told = finding(&unread, "tcp-stream-unread").expect("the stream");
    assert!(text(told, "evidence").contains("--tcp-port 443"), "{told}");
    let page = spiglass(&["report", "-q", capture.to_str().expect("text")]);
    assert!(!page.text().contains("No IPsec"), "{}", page.text());

    let read = report(&capture, &["--tcp-port", "443"]);
    assert_eq!(number(&read, "sas.0.frames"), u64::from(PACKETS));
    assert_eq!(finding(&read, "tcp-stream-unread"), None);
    assert_eq!(finding(&read, "clear-traffic"), None);
}

#[test]
fn ordinary_tcp_is_no_stream_of_esp() {
    // Messages with the same lengths in front, and no prefix.
    let frames: Vec<Vec<u8>> = stream(443, None).into_iter().skip(1).collect();
    let report = report(&capture("tcp-other", frames), &[]);
    assert_eq!(finding(&report, "tcp-stream-unread"), None);
    assert!(items(&report, "sas").is_empty());
}

/// What segments cut is not read, so what the tunnel carries is not known: neither as a figure nor as a range.
#[test]
fn goodput_of_messages_that_a_stream_cuts_is_not_determined() {
    for full in [None, Some(536), Some(1_448)] {
        let report = report(&capture("tcp-goodput", stream(4500, full)), &[]);
        let rows = items(&report, "rates.directions");
        let row = rows.iter().find(|row| number(row, "frames") > 0).expect("a direction");
        let (exact, range) = (at(row, "goodput_bps"), at(row, "if_no_tfc"));
        assert!(exact.is_null(), "{full:?}: {exact}");
        assert_eq!(range.is_null(), full.is_some(), "{full:?}: {range}");
        if full.is_some() {
            let said = text(finding(&report, "tcp-continuation").expect("a note"), "evidence");
            assert!(said.contains("goodput"), "{said}");
        }
    }
    // A stream on a port that is not read counts as clear; what it carries is not known.
    let report = report(&capture("tcp-unread", stream(10_443, None)), &[]);
    assert!(finding(&report, "tcp-stream-unread").is_some());
    let rows = items(&report, "rates.directions");
    assert!(rows.iter().all(|row| at(row, "goodput_bps").is_null()), "{rows:?}");
}

/// A NAT keepalive behind its length is a whole message, and the octet of a keepalive of TCP no part of one.
#[test]
fn keepalives_hide_nothing() {
    let all = stream(4500, None);
    let goodput = |more: &[&[u8]], test: &str| {
        let mut frames = all.clone();
        for (part, place) in more.iter().zip([7, 21]) {
            frames.insert(place, segment(4500, 900, part));
        }
        let report = report(&capture(test, frames), &[]);
        let rows = items(&report, "rates.directions");
        let row = rows.iter().find(|row| number(row, "frames") > 0).expect("a direction");
        (finding(&report, "tcp-continuation").is_some(), at(row, "if_no_tfc").is_null())
    };
    assert_eq!(goodput(&[&[0, 3, 0xff], &[0]], "tcp-keepalives"), (false, false));
    assert_eq!(goodput(&[&[0, 3, 0xfe]], "tcp-other-octet"), (true, true));
    assert_eq!(goodput(&[&[0, 90]], "tcp-two-octets"), (true, true));
}

/// A protocol with a length before each message, as DNS has in TCP: its first words are no SPIs.
#[test]
fn messages_with_a_length_are_no_esp() {
    let mut noise = Noise(4);
    let mut at = 0;
    let frames = (0..200).map(|_| {
        let bytes = usize::try_from(40 + noise.below(400)).expect("a length");
        let message = [&u16::try_from(bytes + 2).expect("16 bits").to_be_bytes()[..], &noise.bytes(bytes)].concat();
        at += message.len();
        segment(4500, at - message.len(), &message)
    });
    let report = report(&capture("tcp-other", frames.collect()), &[]);
    assert!(items(&report, "sas").is_empty(), "{}", items(&report, "sas").len());
    assert_eq!(finding(&report, "esp-length-invalid"), None);
    // Many SAs of some packets each are SAs.
    let many = (1..=20_u32).flat_map(|number| (0..12_u32).map(move |spi| (spi, number)));
    let frames = many.map(|(spi, number)| {
        let esp =
            [&(0x2b5c_0001 + spi * 0x10_0101).to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(80)].concat();
        let message = [&u16::try_from(esp.len() + 2).expect("16 bits").to_be_bytes()[..], &esp].concat();
        at += message.len();
        segment(4500, at - message.len(), &message)
    });
    let report = self::report(&capture("tcp-many", frames.collect()), &[]);
    assert_eq!(items(&report, "sas").len(), 12);
}
