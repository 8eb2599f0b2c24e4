//! Findings name the frames that show them: the first hundred, the last one, and how many there are. What is an absence names none.

use crate::support;
use std::net::Ipv4Addr;

use crate::support::build::{R1, R2, START, esp, in_fragments, ipv4, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, write_file};
use spiglass::capture::Source;
use spiglass::engine::{Input, Quiet, Settings, run};
use spiglass::model::report::{Finding, Report};

const MS: u64 = 1_000_000;

/// The report of frames, one each millisecond, of one file and of two that follow each other.
fn report(name: &str, frames: &[Out]) -> Report {
    let folder = scratch("occurrences");
    let file = |name: &str, frames: &[Out]| write_file(&folder, name, &plain_pcap(frames));
    let read = |files: &[std::path::PathBuf]| {
        let input = |file: &std::path::PathBuf| Input { source: Source::Path(file.clone()), tap: Some("tap".into()) };
        let outcome = run(&files.iter().map(input).collect::<Vec<_>>(), &Settings::default(), 1, &Quiet);
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        outcome.report
    };
    let whole = read(&[file(&format!("{name}.pcap"), frames)]);
    let (one, two) = frames.split_at(frames.len() / 2);
    let parts = read(&[file(&format!("{name}-1.pcap"), one), file(&format!("{name}-2.pcap"), two)]);
    // The same frames, wherever the capture was cut.
    let listed = |report: &Report, before: u64| -> Vec<(String, Vec<u64>, Option<u64>)> {
        let frame = |capture: u32, frame: u64| if capture == 0 { frame } else { frame + before };
        let rows = report.findings.iter().filter(|finding| finding.code != "tap-layout");
        rows.map(|finding| {
            let frames = finding.occurrences.iter().map(|one| frame(one.capture, one.frame)).collect();
            (finding.code.to_string(), frames, finding.occurrences_total)
        })
        .collect()
    };
    assert_eq!(listed(&parts, one.len() as u64), listed(&whole, 0), "{name}");
    whole
}

fn timed(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<Out> {
    frames.into_iter().zip(0..).map(|(data, at)| Out::whole(START + at * MS, data)).collect()
}

fn found<'r>(report: &'r Report, code: &str) -> &'r Finding {
    let codes: Vec<_> = report.findings.iter().map(|finding| &finding.code).collect();
    report.findings.iter().find(|finding| finding.code == code).unwrap_or_else(|| panic!("{code} is in {codes:?}"))
}

/// The frames that a finding lists, and how many there are in all; the first one is where the finding begins.
fn frames(report: &Report, code: &str) -> (Vec<u64>, Option<u64>) {
    let found = found(report, code);
    assert_eq!(found.first_frame.map(|first| first.frame), found.occurrences.first().map(|one| one.frame));
    (found.occurrences.iter().map(|one| one.frame).collect(), found.occurrences_total)
}

/// The first hundred of these, and the last.
fn first_and_last(all: impl Iterator<Item = u64>) -> (Vec<u64>, Option<u64>) {
    let all: Vec<u64> = all.collect();
    let mut listed: Vec<u64> = all.iter().copied().take(100).collect();
    if all.len() > listed.len() {
        listed.extend(all.last());
    }
    (listed, Some(all.len() as u64))
}

fn noise(n: u32, bytes: usize) -> Vec<u8> {
    support::build::Noise(u64::from(n) * 77 + 5).bytes(bytes).into_iter().map(|octet| octet | 0x80).collect()
}

#[test]
fn frames_that_the_snapshot_length_cut() {
    // The first ones whole, so that the SA is in flow when the cut ones begin; each third of them whole again.
    let is_cut = |n: u32| n > 200 && !n.is_multiple_of(3);
    let cut = |n: u32, mut frame: Out| {
        if is_cut(n) {
            frame.data.truncate(96);
        }
        frame
    };
    let numbers = || 1..1_000_u32;
    let frames_of = timed(numbers().map(|n| esp(R1, R2, 7, n, &noise(n, 200))));
    let all: Vec<Out> = frames_of.into_iter().zip(numbers()).map(|(frame, n)| cut(n, frame)).collect();
    let report = report("snaplen", &all);
    let cut = numbers().filter(|n| is_cut(*n)).map(u64::from);
    assert_eq!(frames(&report, "capture-snaplen"), first_and_last(cut));
}

#[test]
fn packets_in_fragments() {
    // Of an SA, each tenth packet in two fragments.
    let mut all = Vec::new();
    let mut expected = Vec::new();
    for n in 1..1_500_u32 {
        let mut packet = esp(R1, R2, 7, n, &noise(n, 800));
        packet[18..20].copy_from_slice(&(n as u16).to_be_bytes());
        if n.is_multiple_of(10) {
            expected.extend([1, 2].map(|n| all.len() as u64 + n));
            all.extend(in_fragments(&packet, 400));
        } else {
            all.push(packet);
        }
    }
    let report = report("fragments", &timed(all));
    assert_eq!(frames(&report, "outer-fragmentation"), first_and_last(expected.into_iter()));
    assert_eq!(found(&report, "outer-fragmentation").count, 149);
}

#[test]
fn frames_with_an_fcs_that_is_not_declared() {
    let with_fcs = |mut data: Vec<u8>| {
        let crc = !data.iter().fold(u32::MAX, |crc, octet| {
            (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
        });
        data.extend(crc.to_le_bytes());
        data
    };
    let all = (1..300_u32).map(|n| with_fcs(esp(R1, R2, 7, n, &noise(n, 64))));
    assert_eq!(frames(&report("fcs", &timed(all)), "capture-fcs"), first_and_last(1..300));
}

/// ESP-NULL in tunnel mode with an ICV of twelve octets: padding of these octets, and TFC padding before it.
fn null(n: u32, counting: bool, tfc: usize) -> Vec<u8> {
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut packet = udp(a, b, (1_000, 2_000), n as u16, &noise(n, 100)).split_off(14);
    packet.extend(vec![0; tfc]);
    let pad = (4 - (packet.len() + 2) % 4) % 4 + 4;
    let padding: Vec<u8> = (1..=pad as u8).map(|octet| if counting { octet } else { 0 }).collect();
    esp(R1, R2, 7, n, &[&packet[..], &padding, &[pad as u8, 4], &noise(n, 12)].concat())
}

#[test]
fn padding_that_does_not_count_and_padding_that_hides_lengths() {
    let irregular = |n: u32| n.is_multiple_of(2);
    let tfc = |n: u32| n.is_multiple_of(3);
    let all = (1..400_u32).map(|n| null(n, !irregular(n), if tfc(n) { 40 } else { 0 }));
    let report = report("padding", &timed(all));
    let numbers = || 1..400_u32;
    let expected = first_and_last(numbers().filter(|n| irregular(*n)).map(u64::from));
    assert_eq!(frames(&report, "esp-padding-irregular"), expected);
    let hidden = found(&report, "tfc-padding");
    assert_eq!(frames(&report, "tfc-padding"), first_and_last(numbers().filter(|n| tfc(*n)).map(u64::from)));
    assert_eq!((hidden.count, hidden.first_frame.map(|frame| frame.frame)), (133, Some(3)));
    // A part of the SA: its filter would show more.
    assert!(hidden.filter.as_deref().is_some_and(|filter| filter.starts_with("frame.number in {3, 6,")), "{hidden:?}");
}

#[test]
fn datagrams_that_are_no_esp() {
    // A protocol of two channels on port 4500, whose second words are no sequence numbers.
    let datagram = |n: u32| {
        let word = n.wrapping_mul(0x9e37_79b9).to_be_bytes();
        udp(R1, R2, (4500, 4500), n as u16, &[&[0x41, 0, 0, (n % 2) as u8][..], &word, &noise(n, 33)].concat())
    };
    let other = |n: u32| ipv4(R2, R1, 6, n as u16, &[0; 40]);
    let all = (1..600_u32).map(|n| if n.is_multiple_of(5) { other(n) } else { datagram(n) });
    let report = report("foreign", &timed(all));
    let expected = first_and_last((1..600_u64).filter(|n| !n.is_multiple_of(5)));
    assert_eq!(frames(&report, "udp-not-esp"), expected);
}

#[test]
fn packets_that_a_gateway_shows_again() {
    let clear = |n: u32| {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        udp(a, b, (1_000, 2_000), n as u16, &noise(n, 100 + n as usize % 60))
    };
    let tunnelled = |n: u32| {
        let packet = clear(n).split_off(14);
        esp(R1, R2, 7, n, &noise(n, packet.len().next_multiple_of(16) + 28))
    };
    let all: Vec<Out> = (1..400_u32)
        .flat_map(|n| {
            let (tunnelled, mut clear) = (tunnelled(n), clear(n));
            // In the same direction.
            clear[..12].copy_from_slice(&tunnelled[..12]);
            [tunnelled, clear].map(|data| (n, data))
        })
        .zip(0..2_000_u64)
        .map(|((n, data), at)| Out::whole(START + u64::from(n) * MS + at % 2 * 50_000, data))
        .collect();
    assert_eq!(frames(&report("gateway", &all), "gateway-view"), first_and_last((1..400).map(|n| 2 * n)));
}

#[test]
fn packets_of_one_length_come_out_of_no_packets_of_several() {
    let clear = |n: u32| {
        let (a, b) = (Ipv4Addr::new(10, 7, 0, 1), Ipv4Addr::new(10, 7, 0, 2));
        let mut frame = udp(a, b, (9, 9), n as u16, &noise(n, 40));
        frame[..12].copy_from_slice(&esp(R1, R2, 7, n, &[0; 16])[..12]);
        frame
    };
    let frames_of = |lengths: usize| -> Vec<Out> {
        let tunnelled = |n: u32| esp(R1, R2, 7, n, &noise(n, 92 + 16 * (n as usize % lengths)));
        let all = (1..400_u32).flat_map(|n| [(n, 0, tunnelled(n)), (n, 50_000, clear(n))]);
        all.map(|(n, later, data)| Out::whole(START + u64::from(n) * 5 * MS + later, data)).collect()
    };
    let apart = report("apart", &frames_of(4));
    assert!(apart.findings.iter().all(|finding| finding.code != "gateway-view"), "{:?}", apart.findings);
    // Of one length both, it may be so.
    assert_eq!(found(&report("one-length", &frames_of(1)), "gateway-view").count, 399);
}

#[test]
fn copies_of_a_span_port() {
    // As many that half of the frames end between a packet and its copy.
    for packets in [301_u32, 21] {
        let copied =
            |(data, n): (Vec<u8>, u64)| [0, 3_000].map(|later| Out::whole(START + n * MS + later, data.clone()));
        let all: Vec<Out> = (1..=packets).map(|n| esp(R1, R2, 7, n, &noise(n, 64))).zip(0..).flat_map(copied).collect();
        let report = report(&format!("copies-{packets}"), &all);
        assert_eq!(frames(&report, "tap-copies"), first_and_last((1..=u64::from(packets)).map(|n| 2 * n)));
        assert_eq!(found(&report, "tap-copies").count, u64::from(packets));
    }
}

#[test]
fn a_number_far_from_its_neighbours() {
    let numbers = (1..100_u32).chain([4_000_000]).chain(100..200).chain([0x7000_0000]).chain(200..300);
    let report = report("outlier", &timed(numbers.map(|n| esp(R1, R2, 7, n, &noise(n, 64)))));
    assert_eq!(frames(&report, "sequence-outlier"), (vec![100, 201], Some(2)));
    let outliers = found(&report, "sequence-outlier");
    assert_eq!(outliers.filter.as_deref(), Some("esp.spi == 0x00000007 && esp.sequence in {4000000, 1879048192}"));
}

#[test]
fn an_absence_has_no_frames() {
    // ESP one way, IP the other: no ESP came back.
    let all = (1..100_u32).map(|n| {
        if n.is_multiple_of(4) { ipv4(R2, R1, 6, n as u16, &[0; 40]) } else { esp(R1, R2, 7, n - n / 4, &noise(n, 64)) }
    });
    let report = report("one-way", &timed(all));
    let missing = found(&report, "sa-one-way");
    assert!(missing.occurrences.is_empty() && missing.occurrences_total.is_none());
}
