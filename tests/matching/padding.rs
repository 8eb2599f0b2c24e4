//! Figures 22 to 24 of the Cisco 892 document: a short packet as the tester padded it, in the tunnel, and as the last router padded it
//! again.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::writer::{Out, plain_pcap};
use crate::support::{at, fixture, items, number, scratch, spiglass, write_file};
use crate::word;

const START: u64 = 1_410_868_800_000_000_000;

/// A printed frame.
fn figure(name: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(fixture(&format!("seeds/frames/{name}.hex"))).expect("a fixture");
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16).expect("a byte"))
        .collect()
}

/// A capture of one frame, in a directory of its own for each test: they run at once.
fn capture(test: &str, name: &str, at_us: u64, frame: Vec<u8>) -> PathBuf {
    write_file(
        &scratch(&format!("pairing-padding-{test}")),
        name,
        &plain_pcap(&[Out::whole(START + at_us * 1_000, frame)]),
    )
}

fn report(name: &str, within: Vec<u8>) -> (Value, String) {
    let plain = capture(name, "fig22.pcap", 0, figure("fig22-plain-40B-padded-ff"));
    let tunnel = capture(name, "fig23.pcap", 60, within);
    let exit = capture(name, "fig24.pcap", 130, figure("fig24-plain-40B-repadded-00"));
    let words = ["match", "--plain", word(&plain), "--tunnel", word(&tunnel), "--exit", word(&exit)];
    let json = spiglass(&[&words[..], &["--format", "json"]].concat()).expect(0).json();
    (json, spiglass(&words).expect(0).text().to_owned())
}

/// The frame of figure 23 is of the other direction: it is no frame of this packet.
#[test]
fn the_frames_as_they_were_printed() {
    let (report, text) = report("fig23", figure("fig23-ah-40B-no-pad"));
    assert_eq!((number(&report, "pairs.matched"), number(&report, "pairs.unmatched_tunnel")), (0, 1), "{report:#}");
    let [end] = items(&report, "ends") else { panic!("{:#}", report["ends"]) };
    assert_eq!((&end["matched"], &end["way"]), (&1.into(), &"plain-to-exit".into()));
    assert_eq!((&end["src"], &end["dst"]), (&"192.168.2.2".into(), &"192.168.3.2".into()));
    let [example] = items(&report, "padding.examples") else { panic!("{:#}", report["padding"]) };
    assert_eq!((&example["plain_pattern"], &example["exit_pattern"]), (&"ff".into(), &"zero".into()));
    assert!(example["tunnel"].is_null(), "{example:#}");
    assert_eq!(
        (at(&report, "padding.rewritten"), at(&report, "padding.carried_into_tunnel")),
        (&true.into(), &false.into())
    );
    assert!(text.contains("plain frame 1 (0xff) > exit frame 1 (0x00)"), "{text}");
}

/// The same frame in the direction of the others, its inner packet that of figure 22 behind the first router.
#[test]
fn the_frames_of_one_direction() {
    let mut within = figure("fig23-ah-40B-no-pad");
    let source = within[26..30].to_vec();
    within.copy_within(30..34, 26);
    within[30..34].copy_from_slice(&source);
    let inner = within.len() - 40;
    within[inner..].copy_from_slice(&figure("fig22-plain-40B-padded-ff")[14..54]);
    // One hop further: the TTL is less by one, and the checksum knows.
    within[inner + 8] -= 1;
    let checksum = u16::from_be_bytes([within[inner + 10], within[inner + 11]]) + 0x100;
    within[inner + 10..inner + 12].copy_from_slice(&checksum.to_be_bytes());

    let (report, text) = report("fig23-mirrored", within);
    assert_eq!((number(&report, "pairs.matched"), number(&report, "pairs.by_basis.content")), (1, 1), "{report:#}");
    assert_eq!(number(&report, "pairs.unmatched_tunnel"), 0);
    let [end] = items(&report, "ends") else { panic!("{:#}", report["ends"]) };
    assert_eq!((&end["matched"], &end["way"]), (&1.into(), &"plain-to-exit".into()));
    let [size] = items(&report, "sizes") else { panic!("{:#}", report["sizes"]) };
    assert_eq!((&size["inner_bytes"], &size["overhead_min_bytes"]), (&40.into(), &44.into()));

    let padding = &report["padding"];
    for (side, frames, octets, of) in [("plain_ethernet", 1, 6, "ff"), ("exit_ethernet", 1, 6, "zero")] {
        assert_eq!(
            (number(padding, &format!("{side}.frames")), number(padding, &format!("{side}.{of}"))),
            (frames, frames)
        );
        assert_eq!(number(padding, &format!("{side}.pad_bytes_max")), octets, "{padding:#}");
    }
    assert_eq!(number(padding, "tunnel_ethernet.frames"), 0);
    assert_eq!((&padding["carried_into_tunnel"], &padding["rewritten"]), (&false.into(), &true.into()));
    let [example] = items(padding, "examples") else { panic!("{padding:#}") };
    assert_eq!(
        (&example["plain_pattern"], &example["carried"], &example["exit_pattern"]),
        (&"ff".into(), &false.into(), &"zero".into())
    );
    assert!(text.contains("0xff in, none in the tunnel, 0x00 out."), "{text}");
    assert!(text.contains("plain frame 1 (0xff) > tunnel frame 1 (none) > exit frame 1 (0x00)"), "{text}");
}
