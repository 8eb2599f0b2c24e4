//! A finding never claims more than the capture shows: made-up captures at the edges of what may be said.

use crate::support;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Order, Out, Step, pcap, plain_pcap};
use crate::support::{at, items, number, text};

const MILLISECOND: u64 = 1_000_000;

/// A capture of frames one millisecond apart.
fn capture(test: &str, frames: Vec<Vec<u8>>) -> PathBuf {
    let frames: Vec<Out> =
        frames.into_iter().zip(0..).map(|(frame, n)| Out::whole(START + n * MILLISECOND, frame)).collect();
    support::write_file(&support::scratch(test), "made-up.pcap", &plain_pcap(&frames))
}

fn report(path: &Path, options: &[&str]) -> Value {
    let mut args = vec!["report", "--format", "json"];
    args.extend(options);
    args.push(path.to_str().expect("UTF-8"));
    support::spiglass(&args).expect(0).json()
}

/// Code, severity and count of every finding, notes about weak transforms left out.
fn findings(report: &Value) -> Vec<(&str, &str, u64)> {
    items(report, "findings")
        .iter()
        .filter(|finding| text(finding, "code") != "weak-transform")
        .map(|finding| (text(finding, "code"), text(finding, "severity"), number(finding, "count")))
        .collect()
}

fn above_note(report: &Value) -> Vec<(&str, &str, u64)> {
    findings(report).into_iter().filter(|(_, severity, _)| *severity != "note").collect()
}

/// Both directions of a tunnel: frames of `(from R1, SPI, sequence)`, each with noise of one length.
fn esp_frames(noise: &mut Noise, numbers: impl IntoIterator<Item = (bool, u32, u32)>) -> Vec<Vec<u8>> {
    numbers
        .into_iter()
        .map(|(from_r1, spi, sequence)| {
            let (src, dst) = if from_r1 { (R1, R2) } else { (R2, R1) };
            build::esp(src, dst, spi, sequence, &noise.bytes(104))
        })
        .collect()
}

#[test]
fn one_spi_in_both_directions_is_two_associations_and_at_most_a_note() {
    let mut noise = Noise(1);
    // Each direction has a counter of its own, far apart from the other: as one stream this would be chaos.
    let numbers = (0..500).flat_map(|n| [(true, 1002, 1 + n), (false, 1002, 900_000 + n)]);
    let path = capture("shared-spi", esp_frames(&mut noise, numbers));
    let report = report(&path, &[]);
    let rows: Vec<(&str, u64, u64, u64)> = items(&report, "sas")
        .iter()
        .map(|sa| (text(sa, "id"), number(sa, "frames"), number(sa, "sequence.lost"), number(sa, "sequence.duplicate")))
        .collect();
    assert_eq!(
        rows,
        [("esp/192.168.1.1/192.168.1.2/0x000003ea", 500, 0, 0), ("esp/192.168.1.2/192.168.1.1/0x000003ea", 500, 0, 0),]
    );
    assert_eq!(above_note(&report), []);
    assert!(findings(&report).iter().any(|(code, severity, _)| (*code, *severity) == ("spi-shared", "note")));
}

#[test]
fn random_payloads_are_never_taken_for_null_encryption() {
    let mut noise = Noise(2);
    let frames: Vec<Vec<u8>> = (0..100_000_u32)
        .map(|n| {
            let (src, dst, spi) = if n % 2 == 0 { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
            // Every length that ESP can have, so that every length of ICV and IV can be supposed.
            let bytes = 20 + 4 * usize::try_from(noise.below(40)).expect("small");
            build::esp(src, dst, spi, 1 + n / 2, &noise.bytes(bytes))
        })
        .collect();
    let path = capture("random-payloads", frames);
    let report = report(&path, &[]);
    assert_eq!(number(&report, "totals.frames"), 100_000);
    assert_eq!(items(&report, "sizes").len(), 0, "no inner packet is visible: {}", at(&report, "sizes.0"));
    for sa in items(&report, "sas") {
        assert_ne!(text(sa, "overhead.basis"), "visible");
        let name = at(sa, "transform.name").as_str().unwrap_or_default().to_lowercase();
        assert!(!name.contains("null"), "{name}");
        assert_eq!((number(sa, "frames"), number(sa, "sequence.lost")), (50_000, 0));
    }
    assert_eq!(above_note(&report), []);
    for row in support::frames(&path) {
        assert_eq!((row.get("inner_bytes"), row.get("esp_pad_bytes")), ("", ""), "frame {}", row.get("frame"));
    }
}

#[test]
fn random_datagrams_are_never_taken_for_esp_in_udp() {
    let mut noise = Noise(3);
    let frames: Vec<Vec<u8>> = (0..2_000_u16)
        .map(|n| build::udp(R1, R2, (40_000, 40_001), n, &noise.bytes(100)))
        .chain((0..2_000_u16).map(|n| {
            // One flow whose first word is fixed, as an SPI would be, and whose second is noise.
            let mut payload = vec![0x12, 0x34, 0x56, 0x78];
            payload.extend(Noise(u64::from(n)).bytes(96));
            build::udp(R2, R1, (50_000, 50_001), n, &payload)
        }))
        .collect();
    let report = report(&capture("random-datagrams", frames), &[]);
    assert_eq!(items(&report, "sas").len(), 0, "{}", at(&report, "sas"));
    assert_eq!(above_note(&report), []);
}

#[test]
fn a_thousand_frames_captured_twice_are_one_finding() {
    let mut noise = Noise(4);
    let numbers = (0..500).flat_map(|n| [(true, 0x1001, 1 + n), (false, 0x2001, 1 + n)]);
    let twice: Vec<Out> = esp_frames(&mut noise, numbers)
        .into_iter()
        .zip(0..)
        .flat_map(|(frame, n)| {
            // A SPAN session copies a frame within microseconds, and the copy may be one hop further.
            let copy = build::one_hop_further(&frame);
            let at = START + n * MILLISECOND;
            [Out::whole(at, frame), Out::whole(at + 3_000, copy)]
        })
        .collect();
    let path = support::write_file(&support::scratch("captured-twice"), "twice.pcap", &plain_pcap(&twice));
    let report = report(&path, &[]);
    assert_eq!(number(&report, "totals.frames"), 2_000, "totals never change");
    assert_eq!(findings(&report), [("tap-copies", "note", 1_000)]);
    for sa in items(&report, "sas") {
        assert_eq!(number(sa, "copies_removed"), 500);
        for field in ["lost", "duplicate", "late", "restarts"] {
            assert_eq!(number(sa, &format!("sequence.{field}")), 0, "{field} of {}", text(sa, "id"));
        }
        assert_eq!(at(sa, "sequence.replay_window"), &Value::Array(Vec::new()));
    }
    let frames: u64 = items(&report, "outer_sizes").iter().map(|row| number(row, "frames")).sum();
    assert_eq!(frames, 1_000, "sizes are given without the copies");
    support::spiglass(&["check", path.to_str().expect("UTF-8")]).expect(0);
}

#[test]
fn a_few_frames_that_come_twice_are_duplicates_of_unknown_source() {
    let mut noise = Noise(5);
    let mut frames = esp_frames(&mut noise, (0..200).flat_map(|n| [(true, 0x1001, 1 + n), (false, 0x2001, 1 + n)]));
    // Twenty of R1's frames again, each right behind itself.
    for n in (0..20_usize).rev() {
        let at = n * 10;
        frames.insert(at + 1, frames[at].clone());
    }
    let report = report(&capture("few-duplicates", frames), &[]);
    assert_eq!(above_note(&report), [("sequence-duplicate", "warning", 20)]);
    let duplicates: Vec<u64> = items(&report, "sas").iter().map(|sa| number(sa, "sequence.duplicate")).collect();
    assert_eq!(duplicates, [20, 0]);
}

#[test]
fn loss_is_a_warning_only_above_the_tolerated_share() {
    let mut noise = Noise(6);
    let mut with_holes = |test: &str, holes: &[u32]| {
        let sent = (0..2_000).filter(|n| !holes.contains(n)).map(|n| (true, 0x1001, 1 + n));
        let back = (0..20).map(|n| (false, 0x2001, 1 + n));
        let frames = esp_frames(&mut noise, back.chain(sent));
        capture(test, frames)
    };
    let one = with_holes("one-of-2000", &[1_000]);
    assert_eq!(findings(&report(&one, &[])), [("sequence-gap", "note", 1)]);
    let five = with_holes("five-of-2000", &[100, 200, 300, 400, 500]);
    assert_eq!(findings(&report(&five, &[])), [("sequence-gap", "warning", 5)]);
    let said = report(&five, &[]);
    let evidence = text(&items(&said, "findings")[0], "evidence").to_owned();
    assert!(evidence.contains(": 5 of 2000 numbers never seen at this TAP ("), "{evidence}");
    assert!(evidence.contains("), 5 gaps, longest 1."), "{evidence}");
    assert!(evidence.ends_with("First gap after sequence 100 (between frames 120 and 121)."), "{evidence}");
    assert_eq!(findings(&report(&five, &["--max-loss", "1"])), [("sequence-gap", "note", 5)]);
}

#[test]
fn a_reserved_spi_is_a_warning() {
    let mut noise = Noise(7);
    let frames = esp_frames(&mut noise, (0..50).flat_map(|n| [(true, 255, 1 + n), (false, 256, 1 + n)]));
    let report = report(&capture("reserved-spi", frames), &[]);
    assert_eq!(above_note(&report), [("spi-reserved", "warning", 50)]);
    let finding =
        items(&report, "findings").iter().find(|finding| text(finding, "code") == "spi-reserved").expect("just seen");
    assert_eq!(at(finding, "sa").as_str(), Some("esp/192.168.1.1/192.168.1.2/0x000000ff"));
}

#[test]
fn one_way_needs_ten_frames_and_an_answer_of_another_kind() {
    let mut noise = Noise(8);
    let mut mixed = |test: &str, protected: u32, answers: u16| {
        let mut frames = esp_frames(&mut noise, (0..protected).map(|n| (true, 0x1001, 1 + n)));
        frames.extend((0..answers).map(|n| build::ipv4(R2, R1, 254, n, &[0xff; 100])));
        report(&capture(test, frames), &[])
    };
    let codes = |report: &Value| -> Vec<String> {
        findings(report).iter().map(|(code, severity, _)| format!("{severity} {code}")).collect()
    };
    assert!(codes(&mixed("ten-one-way", 10, 5)).contains(&"note sa-one-way".to_owned()));
    assert!(!codes(&mixed("nine-one-way", 9, 5)).contains(&"note sa-one-way".to_owned()));
    let all = codes(&mixed("all-one-way", 50, 0));
    assert_eq!(all, ["note capture-one-direction"]);
}

#[test]
fn a_clock_that_steps_back_is_told_and_order_stays_as_captured() {
    let mut noise = Noise(9);
    let frames = esp_frames(&mut noise, (0..100).flat_map(|n| [(true, 0x1001, 1 + n), (false, 0x2001, 1 + n)]));
    let frames: Vec<Out> = frames
        .into_iter()
        .zip(0..)
        // Half a second back in the middle.
        .map(|(frame, n)| {
            Out::whole(
                START + 2_000 * MILLISECOND + n * MILLISECOND - if n < 100 { 0 } else { 500 * MILLISECOND },
                frame,
            )
        })
        .collect();
    let path = support::write_file(&support::scratch("clock-back"), "made-up.pcap", &plain_pcap(&frames));
    let report = report(&path, &[]);
    assert_eq!(findings(&report), [("capture-clock-back", "note", 1)]);
    let finding = at(&report, "findings.0");
    assert_eq!(number(finding, "first_frame.frame"), 101);
    for sa in items(&report, "sas") {
        assert_eq!(
            (number(sa, "sequence.lost"), number(sa, "sequence.late")),
            (0, 0),
            "order is capture order, not time"
        );
    }
}

#[test]
fn a_quoted_packet_is_no_observation() {
    // R2 quotes an ESP packet in an ICMP error: fragmentation needed, next-hop MTU 1400.
    let quoted = build::esp(R1, R2, 0x1001, 77, &[0; 8]);
    let mut icmp = vec![3, 4, 0, 0, 0, 0];
    icmp.extend(1_400_u16.to_be_bytes());
    icmp.extend(&quoted[14..14 + 28]);
    let router = Ipv4Addr::new(10, 0, 0, 1);
    let frames = vec![build::ipv4(router, R1, 1, 1, &icmp), build::ipv4(router, R1, 1, 2, &icmp)];
    let report = report(&capture("quoted", frames), &[]);
    assert_eq!(items(&report, "sas").len(), 0);
    let stacks: Vec<(&str, u64)> =
        items(&report, "layers").iter().map(|row| (text(row, "stack"), number(row, "frames"))).collect();
    assert_eq!(stacks, [("eth/ipv4/icmp", 2)]);
    assert_eq!(above_note(&report), [("pmtu-icmp", "warning", 2)]);
    let finding =
        items(&report, "findings").iter().find(|finding| text(finding, "code") == "pmtu-icmp").expect("just seen");
    let evidence = text(finding, "evidence");
    assert!(
        evidence.contains("1400") && evidence.contains("0x00001001"),
        "the MTU and the quoted SA are told: {evidence}"
    );
}

/// A clock that steps back an hour, seen first at a frame that no copy rule looks at: the copies behind it are still copies.
#[test]
fn copies_are_recognised_behind_a_clock_step_that_an_arp_frame_shows() {
    use crate::support::build::{Noise, esp};
    use crate::support::writer::{Out, plain_pcap};
    let mut noise = Noise(8);
    let hour = 3_600_000_000_000_u64;
    let start = support::build::START + hour;
    let mut frames = Vec::new();
    for n in 0..2_000_u64 {
        let time = start + n * 1_000_000 - if n >= 200 { hour } else { 0 };
        if n == 200 {
            let mut arp = vec![0xff; 6];
            arp.extend([2, 0, 0, 0, 0, 1, 0x08, 0x06]);
            arp.extend([0; 46]);
            frames.push(Out::whole(time - 1_000, arp));
        }
        let frame = esp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 0x1000, n as u32 + 1, &noise.bytes(64));
        frames.push(Out::whole(time, frame.clone()));
        frames.push(Out::whole(time + 20_000, frame));
    }
    let path = support::write_file(&support::scratch("clock-step-copies"), "copies.pcap", &plain_pcap(&frames));
    let report = support::report(&[&path]).json();
    let codes: Vec<&str> =
        support::items(&report, "findings").iter().map(|finding| support::text(finding, "code")).collect();
    assert!(codes.contains(&"tap-copies") && !codes.contains(&"sequence-duplicate"), "{codes:?}");
}

/// RFC 4303 section 2.4 and RFC 4302 section 2.2: ESP ends at a word, and the length field of AH has room for its own header.
#[test]
fn headers_that_cannot_be_are_counted() {
    let mut noise = Noise(21);
    let mut frames = esp_frames(&mut noise, (1..=10).map(|n| (true, 0x1111_0001, n)));
    frames.extend((11..=13).map(|n| build::esp(R1, R2, 0x1111_0001, n, &noise.bytes(61))));
    let path = capture("bad-esp-lengths", frames);
    assert_eq!(above_note(&report(&path, &[])), [("esp-length-invalid", "warning", 3)]);

    let ah = |n: u32, words: u8| {
        let mut header = vec![17, words, 0, 0];
        header.extend(0x2222_0001_u32.to_be_bytes());
        header.extend(n.to_be_bytes());
        header.extend([0xa5; 12]);
        header.extend([0x9c, 0x40, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4]);
        build::ipv4(R1, R2, 51, 1, &header)
    };
    let path = capture("bad-ah-lengths", (1..=10).map(|n| ah(n, if n > 8 { 200 } else { 4 })).collect());
    let report = report(&path, &[]);
    assert_eq!(above_note(&report), [("ah-length-invalid", "warning", 2)]);
    let finding = items(&report, "findings").iter().find(|finding| text(finding, "code") == "ah-length-invalid");
    let evidence = text(finding.expect("just seen"), "evidence");
    assert!(evidence.contains("lengths seen: 24, 808 bytes; it must be a multiple of 4"), "{evidence}");
}

/// Tunnels that carry frames: what is around the inner packet besides the outer IP header is the tunnel's.
#[test]
fn frames_in_a_tunnel_cost_their_own_header_too() {
    let (host, far) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
    let inner = build::ipv4(host, far, 254, 1, &[0x61; 80]);
    let bridged = [&[0, 0, 0x65, 0x58][..], &inner].concat();
    // L2TP version 2, then PPP with address and control.
    let l2tp = [&[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21][..], &inner[14..]].concat();
    let cases = [
        ("bridged-gre", [1, 2, 3].map(|id| build::ipv4(R1, R2, 47, id, &bridged)), ("gre", 4 + 14)),
        ("l2tp", [1, 2, 3].map(|id| build::udp(R1, R2, (1701, 1701), id, &l2tp)), ("udp", 8 + 6 + 4)),
    ];
    for (name, frames, (part, octets)) in cases {
        let report = report(&capture(name, frames.to_vec()), &[]);
        let [size] = items(&report, "sizes") else { panic!("{:#}", report["sizes"]) };
        assert_eq!((number(size, "inner_bytes"), number(size, "frames")), (100, 3), "{size:#}");
        assert_eq!(at(size, "overhead_mean_bytes").as_f64(), Some(f64::from(20 + octets)), "{size:#}");
        for (name, want) in [("outer_ip", 20), (part, octets), ("ah", 0), ("fragmentation", 0)] {
            assert_eq!(at(size, &format!("parts.{name}")).as_f64(), Some(f64::from(want)), "{name}: {size:#}");
        }
    }
}

/// Without MACs the addresses tell whether a tap sees both ways.
#[test]
fn one_direction_is_told_of_captures_without_ethernet_too() {
    let mut noise = Noise(22);
    let mut raw = |test: &str, answers: u32| {
        let frames = esp_frames(&mut noise, (1..=200).map(|n| (n > answers, 0x3333_0001, n)));
        let frames: Vec<Out> =
            (0..).zip(frames).map(|(n, frame)| Out::whole(START + n * MILLISECOND, frame[14..].to_vec())).collect();
        let file = pcap(&frames, 101, Order::Little, Step::Micro);
        report(&support::write_file(&support::scratch(test), "raw.pcap", &file), &[])
    };
    let one_way = |report: &Value| findings(report).iter().any(|(code, ..)| *code == "capture-one-direction");
    assert!(one_way(&raw("raw-one-way", 0)));
    assert!(!one_way(&raw("raw-both-ways", 60)));
}

/// RFC 4303 section 2: what is too short for a header, or cut within it, is ESP all the same.
#[test]
fn esp_of_which_too_little_is_there_is_not_in_clear() {
    let mut noise = Noise(33);
    let mut frames = esp_frames(&mut noise, (1..=50).map(|n| (n % 2 == 0, 0x1111_0001, n)));
    frames.extend((1..=50).map(|n| build::ipv4(R1, R2, 50, n, &[1, 2, 3])));
    let whole = report(&capture("short-esp", frames.clone()), &[]);
    let cut: Vec<Out> = (0..)
        .zip(frames)
        .map(|(n, frame)| {
            let wire_bytes = frame.len() as u32;
            let data = if n < 50 { frame } else { frame[..34].to_vec() };
            Out { time_ns: START + n * MILLISECOND, data, wire_bytes }
        })
        .collect();
    let path = support::write_file(&support::scratch("cut-esp"), "made-up.pcap", &plain_pcap(&cut));
    for report in [whole, report(&path, &[])] {
        assert!(!findings(&report).iter().any(|(code, ..)| *code == "clear-traffic"), "{:?}", findings(&report));
        for direction in items(&report, "rates.directions") {
            assert_eq!(at(direction, "clear_bps"), 0.0, "{direction}");
        }
    }
}

/// A snapshot length may leave nothing that tells one packet from the next; then none of them is a copy.
#[test]
fn packets_cut_before_anything_that_tells_them_apart_are_no_copies() {
    let mut noise = Noise(34);
    // ESP cut behind its SPI, and UDP without identification cut behind its header.
    let esp: Vec<Vec<u8>> = (1..=40).map(|n| build::esp(R1, R2, 0x1111_0001, n, &noise.bytes(80))).collect();
    let udp: Vec<Vec<u8>> = (0..40).map(|_| build::udp(R1, R2, (1_000, 2_000), 0, &noise.bytes(80))).collect();
    for (name, frames, snaplen) in [("cut-copies-esp", esp, 38), ("cut-copies-udp", udp, 42)] {
        let cut: Vec<Out> = (0..)
            .zip(frames)
            .map(|(n, frame)| Out {
                time_ns: START + n * 100_000,
                wire_bytes: frame.len() as u32,
                data: frame[..snaplen].to_vec(),
            })
            .collect();
        let path = support::write_file(&support::scratch(name), "made-up.pcap", &plain_pcap(&cut));
        let report = report(&path, &[]);
        assert!(!findings(&report).iter().any(|(code, ..)| *code == "tap-copies"), "{name}: {:?}", findings(&report));
    }
}

/// A file of one frame says nothing of how often frames come.
#[test]
fn one_frame_makes_no_hole() {
    let mut noise = Noise(35);
    let dir = support::scratch("one-frame-hole");
    let mut out = |first: u64, count: u32| {
        let frames = (0..count).map(|n| {
            let time = START + (first + u64::from(n)) * 1_000 * MILLISECOND;
            Out::whole(time, build::esp(R1, R2, 0x1111_0001, first as u32 + n + 1, &noise.bytes(80)))
        });
        plain_pcap(&frames.collect::<Vec<_>>())
    };
    let one = support::write_file(&dir, "one.pcap", &out(0, 1));
    let two = support::write_file(&dir, "two.pcap", &out(60, 20));
    let run = support::report(&[&one, &two]).json();
    assert!(!findings(&run).iter().any(|(code, ..)| *code == "capture-hole"), "{:?}", findings(&run));
}

/// A clock that is set back and later forward again: the second step is no time that went by.
#[test]
fn a_clock_that_is_set_back_and_forward_again_leaves_no_rate() {
    let report = |forward: bool| {
        let mut noise = Noise(5);
        let frames: Vec<Out> = (0..1_000_u32)
            .map(|n| {
                let set = if n < 400 || forward && n >= 700 { 0 } else { 3_000_000_000 };
                Out::whole(START + u64::from(n) * 10_000_000 - set, build::esp(R1, R2, 7, n + 1, &noise.bytes(100)))
            })
            .collect();
        let path = support::write_file(&support::scratch("claims-set-twice"), "set-twice.pcap", &plain_pcap(&frames));
        support::report(&[&path]).json()
    };
    let rate = |report: &Value| at(report, "rates.directions.0.frames_per_s").as_f64();
    assert_eq!(rate(&report(true)), None);
    let once = rate(&report(false)).expect("the forward steps tell");
    assert!((once - 100.0).abs() < 1.0, "{once}");
}
