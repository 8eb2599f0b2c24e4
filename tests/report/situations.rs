//! Situations in which a report could claim what is not so: for each rule one in which it holds, and one in which it must not.

use crate::support;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::support::build::{Noise, R1, R2, START, esp, ipv4, one_hop_further, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, spiglass, write_file};
use spiglass::engine::{Input, Quiet, Settings, run};
use spiglass::model::report::{Finding, Report, Sa, Severity, TimeBasis};
use spiglass::{capture::Source, model::report::Exactness};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A capture of made-up frames, each with its time after the first in nanoseconds.
fn capture(name: &str, frames: &[(u64, Vec<u8>)]) -> PathBuf {
    let out: Vec<Out> = frames.iter().map(|(after, data)| Out::whole(START + after, data.clone())).collect();
    write_file(&scratch("situations"), name, &plain_pcap(&out))
}

fn report_of(files: &[PathBuf]) -> Report {
    let inputs: Vec<Input> = files.iter().map(|file| Input { source: Source::Path(file.clone()), tap: None }).collect();
    let outcome = run(&inputs, &Settings::default(), 1, &Quiet);
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    outcome.report
}

fn report(name: &str, frames: &[(u64, Vec<u8>)]) -> Report {
    report_of(&[capture(name, frames)])
}

fn finding<'r>(report: &'r Report, code: &str) -> Option<&'r Finding> {
    report.findings.iter().find(|finding| finding.code == code)
}

/// None of these codes, whatever its severity.
fn silent(report: &Report, codes: &[&str]) {
    let said: Vec<_> = report.findings.iter().filter(|finding| codes.contains(&&*finding.code)).collect();
    assert!(said.is_empty(), "{said:?}");
}

fn lost(sa: &Sa) -> u64 {
    sa.sequence.as_ref().expect("numbers").lost
}

fn noise(n: u32, bytes: usize) -> Vec<u8> {
    Noise(u64::from(n) * 77 + 5).bytes(bytes).into_iter().map(|octet| octet | 0x80).collect()
}

/// ESP with these numbers, one every `step` nanoseconds.
fn numbered(numbers: impl IntoIterator<Item = u32>, step: u64) -> Vec<(u64, Vec<u8>)> {
    numbers.into_iter().zip(0..).map(|(n, at)| (at * step, esp(R1, R2, 7, n, &noise(n, 64)))).collect()
}

#[test]
fn a_counter_that_falls_and_goes_on_is_a_restart_and_loses_nothing() {
    let report = report("restart.pcap", &numbered((90_000..90_500).chain(1..500), 10 * MS));
    assert_eq!((lost(&report.sas[0]), report.sas[0].sequence.as_ref().unwrap().restarts), (0, 1));
    silent(&report, &["sequence-gap", "sequence-late", "sequence-jump", "sequence-duplicate"]);
    // Copied by a SPAN port, it is one restart all the same.
    let twice: Vec<_> = numbered((90_000..90_100).chain(1..100), 10 * MS)
        .into_iter()
        .flat_map(|(at, data)| [(at, data.clone()), (at + 2 * US, data)])
        .collect();
    let report = self::report("restart-span.pcap", &twice);
    assert_eq!((lost(&report.sas[0]), report.sas[0].sequence.as_ref().unwrap().restarts), (0, 1));
    silent(&report, &["sequence-gap", "sequence-late", "sequence-duplicate"]);
}

/// Numbers of several counters, the next one of each in turns of this length; every 50th packet is lost.
fn in_turns(begins: &[u32], turn: u32, turns: u32) -> Vec<u32> {
    let of_turn = |at: u32| begins.iter().flat_map(move |begin| begin + at * turn..begin + (at + 1) * turn);
    (0..turns).flat_map(of_turn).enumerate().filter(|(at, _)| at % 50 != 49).map(|(_, n)| n).collect()
}

#[test]
fn several_counters_on_one_spi_lose_nothing_that_is_known() {
    let counters: [&[u32]; 4] = [&[1, 900_000], &[1, 3_000], &[1, 30_000_000], &[1, 6_000, 20_000]];
    for begins in counters {
        for turn in [1, 3, 20] {
            let numbers = in_turns(begins, turn, 900 / turn);
            let report = report("counters.pcap", &numbered(numbers.iter().copied(), MS));
            assert!(report.sas[0].sequence.is_none(), "{begins:?} {turn}");
            silent(
                &report,
                &["sequence-gap", "sequence-late", "sequence-restart", "sequence-jump", "sequence-outlier"],
            );
            let said = finding(&report, "sequence-interleaved").expect("it is said");
            assert_eq!(said.count, begins.len() as u64, "{begins:?} {turn}: {}", said.evidence);
        }
    }
}

#[test]
fn one_counter_out_of_order_is_not_several() {
    // Every tenth block of a hundred comes after the next block; two paths, one of them 500 packets late; one packet in 20
    // comes 200 later; the same packets from two taps, one of them 300 packets late.
    let blocks = (0..40_u32).flat_map(|at| {
        if at % 10 == 1 {
            at + 1..at + 2
        } else if at % 10 == 2 {
            at - 1..at
        } else {
            at..at + 1
        }
    });
    let blocks: Vec<u32> = blocks.flat_map(|block| block * 100 + 1..block * 100 + 101).collect();
    let paths: Vec<u32> = (0..2_000).flat_map(|n| [n * 2 + 1_001, n * 2 + 2]).collect();
    let mut late: Vec<(u32, u32)> = (1..4_000).map(|n| (if n % 20 == 0 { n + 200 } else { n }, n)).collect();
    late.sort_by_key(|(place, _)| *place);
    let again: Vec<u32> = (301..2_300).flat_map(|n| [n, n - 300]).collect();
    for (name, numbers) in
        [("blocks", blocks), ("paths", paths), ("late", late.into_iter().map(|(_, n)| n).collect()), ("again", again)]
    {
        let report = report(&format!("one-{name}.pcap"), &numbered(numbers, MS));
        assert!(report.sas[0].sequence.is_some(), "{name}");
        silent(&report, &["sequence-interleaved"]);
    }
}

#[test]
fn packets_that_are_sent_again_are_no_restart() {
    // One packet far behind, and a block of forty, between packets in order.
    for block in [1, 2, 40] {
        let numbers = (90_000..90_500).chain(80_000..80_000 + block).chain(90_500..91_000);
        let report = report("replay.pcap", &numbered(numbers, 10 * MS));
        let sequence = report.sas[0].sequence.as_ref().unwrap();
        assert_eq!((sequence.lost, sequence.restarts), (0, 0), "{block}");
        silent(&report, &["sequence-restart", "sequence-gap", "sequence-jump"]);
    }
    // Ten thousand behind, and all of them had been seen.
    let numbers = (1..20_000).chain(5_000..5_040).chain(20_000..20_100);
    let report = report("replay-seen.pcap", &numbered(numbers, MS));
    let sequence = report.sas[0].sequence.as_ref().unwrap();
    assert_eq!((sequence.lost, sequence.restarts, sequence.duplicate), (0, 0, 40));
}

#[test]
fn a_jump_is_no_loss_and_says_whether_it_fits_the_pause() {
    let jumped = |by: u32| numbered((1..500).chain(500 + by..1_000 + by), 10 * MS);
    for by in [1 << 21, 5_000_000, 20_000_000, 1_000_000_000] {
        let report = report("jump.pcap", &jumped(by));
        assert_eq!(lost(&report.sas[0]), 0, "{by}");
        let jump = finding(&report, "sequence-jump").expect("it is said");
        assert_eq!((jump.count, jump.severity), (1, Severity::Warning));
        assert!(
            jump.evidence.contains("only 1 packet fits") && jump.evidence.contains(&by.to_string()),
            "{}",
            jump.evidence
        );
        silent(&report, &["sequence-gap", "sequence-restart"]);
    }
    // A hundred thousand at once are counted, and nobody is accused of losing them, unless they fit into the pause.
    for (pause, severity) in [(0, Severity::Note), (1_000 * SECOND, Severity::Warning)] {
        let mut frames = jumped(100_000);
        frames.iter_mut().skip(499).for_each(|frame| frame.0 += pause);
        let report = report("gap.pcap", &frames);
        assert_eq!(lost(&report.sas[0]), 100_000);
        silent(&report, &["sequence-jump"]);
        let gap = finding(&report, "sequence-gap").expect("it is said");
        let is_leap = gap.evidence.contains("100000 of them are skipped by leaps") && gap.cause.contains("set ahead");
        assert_eq!((gap.severity, is_leap), (severity, pause == 0), "{}", gap.evidence);
    }
    // Across 2^32.
    let report =
        self::report("jump-across.pcap", &numbered((0xffff_0000..0xffff_0100).chain(5_000_000..5_000_100), MS));
    assert_eq!(lost(&report.sas[0]), 0);
    assert!(finding(&report, "sequence-jump").is_some() && finding(&report, "sequence-restart").is_none());
    // A damaged header is neither.
    let report = self::report("outlier.pcap", &numbered((1..100).chain([4_000_000]).chain(100..200), MS));
    assert_eq!(lost(&report.sas[0]), 0);
    silent(&report, &["sequence-jump", "sequence-restart", "sequence-gap"]);
    let outlier = finding(&report, "sequence-outlier").expect("it is said");
    assert_eq!((outlier.count, outlier.severity), (1, Severity::Note));
    let said =
        "1 of 200 sequence numbers is more than 4,096 from the previous and the next. It does not count as loss.";
    assert!(outlier.evidence.ends_with(said), "{}", outlier.evidence);
}

/// Numbers without any order are no count that lost nothing: it is said.
#[test]
fn numbers_without_order_are_told() {
    let mut noise = Noise(17);
    let numbers: Vec<u32> = (0..200).map(|_| noise.word() as u32).collect();
    let report = report("no-order.pcap", &numbered(numbers, MS));
    let outlier = finding(&report, "sequence-outlier").expect("it is said");
    assert!(
        outlier.count > 150 && outlier.evidence.contains("of 200 sequence numbers are more than 4,096 from"),
        "{}",
        outlier.evidence
    );
}

/// A counter that goes to and fro between two ranges does not begin anew, and past 2^32 the first number need not be 0.
#[test]
fn what_a_counter_did_is_told_as_it_was() {
    let back = numbered((1..300).chain(1 << 27..(1 << 27) + 40).chain(300..600), 10 * MS);
    let report = report("to-and-fro.pcap", &back);
    let fell = finding(&report, "sequence-restart").expect("it is said");
    assert!(
        fell.evidence.contains("first from 300 (frame 340)") && !fell.evidence.contains("anew"),
        "{}",
        fell.evidence
    );
    let past = numbered((0xffff_ff00..=0xffff_ffff).chain(1..300), 10 * MS);
    let report = self::report("past.pcap", &past);
    let wrap = finding(&report, "sequence-wrap").expect("it is said");
    assert!(!wrap.evidence.contains("to 0 "), "{}", wrap.evidence);
}

/// One UDP packet that a generator sends over and over.
fn generated() -> Vec<u8> {
    udp(R1, R2, (5_000, 5_001), 0, &[0xa5; 100])
}

#[test]
fn identical_packets_of_a_generator_are_no_copies() {
    for period in [20 * US, MS, 3 * MS, 9 * MS] {
        let frames: Vec<_> = (0..600).map(|n| (n * period, generated())).collect();
        let report = report("generator.pcap", &frames);
        silent(&report, &["tap-copies"]);
        let row = &report.rates.directions[0];
        assert_eq!(row.frames, 600, "{period}");
        let rate = row.frames_per_s.expect("a rate");
        let wanted = 1e9 / period as f64;
        assert!((rate / wanted - 1.0).abs() < 0.01, "{rate} {wanted}");
    }
    // At random times.
    let mut random = Noise(3);
    let mut time = 0;
    let frames: Vec<_> = (0..4_000)
        .map(|_| {
            time += random.below(2 * MS);
            (time, generated())
        })
        .collect();
    let report = report("generator-random.pcap", &frames);
    silent(&report, &["tap-copies"]);
    assert_eq!(report.rates.directions[0].frames, 4_000);
}

#[test]
fn a_span_port_doubles_a_generator_too() {
    let frames: Vec<_> =
        (0..600).flat_map(|n| [(n * MS, generated()), (n * MS + 2 * US, one_hop_further(&generated()))]).collect();
    let report = report("generator-span.pcap", &frames);
    assert!(finding(&report, "tap-copies").is_some());
    assert_eq!(report.rates.directions[0].frames, 600);
}

#[test]
fn copies_are_found_at_any_short_distance_and_multiplicity() {
    for (copies, apart) in [(2, US), (2, 200 * US), (2, 5 * MS), (3, 20 * US), (4, US)] {
        let frames: Vec<_> = (1..200u32)
            .flat_map(|n| {
                (0..copies).map(move |copy| (u64::from(n) * 30 * MS + copy * apart, esp(R1, R2, 7, n, &noise(n, 64))))
            })
            .collect();
        let report = report("span.pcap", &frames);
        let sa = &report.sas[0];
        assert_eq!((sa.frames, sa.copies_removed), (199, 199 * (copies - 1)), "{copies} {apart}");
        assert!(finding(&report, "tap-copies").is_some());
        silent(&report, &["sequence-duplicate", "sequence-late"]);
    }
}

#[test]
fn a_third_copy_is_found_behind_two_of_one_timestamp() {
    for apart in [[0, 5 * US], [0, 20 * US], [7, 10 * US], [5 * US, 5 * US], [0, 0]] {
        let sightings = |n: u32| {
            let first = u64::from(n) * MS;
            [0, apart[0], apart[1]].map(|later| (first + later, esp(R1, R2, 7, n, &noise(n, 64))))
        };
        let report = report("span-of-three.pcap", &(1..200).flat_map(sightings).collect::<Vec<_>>());
        let sa = &report.sas[0];
        assert_eq!((sa.frames, sa.copies_removed), (199, 398), "{apart:?}");
        silent(&report, &["sequence-duplicate", "sequence-late"]);
    }
}

/// The fragments of an IP packet of this payload: octets behind the IP header in each but the last.
fn fragments(id: u16, protocol: u8, payload: &[u8], each: usize) -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = payload.chunks(each).collect();
    let last = pieces.len() - 1;
    let fragment = |(at, piece): (usize, &&[u8])| {
        let offset = u16::try_from(at * each / 8).expect("an offset") | if at < last { 0x2000 } else { 0 };
        let mut frame = ipv4(R1, R2, protocol, id, piece);
        frame[20..22].copy_from_slice(&offset.to_be_bytes());
        frame[24..26].fill(0);
        let sum: u32 = frame[14..34].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[24..26].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        frame
    };
    pieces.iter().enumerate().map(fragment).collect()
}

/// An ESP packet.
fn esp_payload(n: u32, bytes: usize) -> Vec<u8> {
    [&7u32.to_be_bytes()[..], &n.to_be_bytes(), &noise(n, bytes)].concat()
}

#[test]
fn an_identification_that_never_changes_makes_one_packet_of_each_train() {
    for (ids, reverse) in [(1, false), (7, false), (60_000, false), (60_000, true)] {
        let frames: Vec<_> = (1..300u32)
            .flat_map(|n| {
                let mut pieces = fragments((n % ids) as u16, 50, &esp_payload(n, 1_000 + n as usize * 4), 800);
                if reverse {
                    pieces.reverse();
                }
                pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
            })
            .collect();
        let bytes: u64 = frames.iter().map(|(_, data)| data.len() as u64 - 14).sum();
        let report = report("ids.pcap", &frames);
        let sa = &report.sas[0];
        assert_eq!((sa.frames, sa.fragments, sa.outer_bytes), (299, frames.len() as u64 - 299, bytes), "{ids}");
        assert_eq!(sa.fragments_uncertain, 0, "{ids}");
        let said = finding(&report, "outer-fragmentation").expect("it is said");
        assert!(said.count == 299 && !said.evidence.contains("not seen"), "{}", said.evidence);
    }
}

/// The end of one packet and the beginning of the one before it fit together: none of them has a size, and none is said to lack a fragment.
#[test]
fn fragments_that_come_last_first_under_one_identification_are_not_said_to_be_missing() {
    for ids in [1, 7] {
        let frames: Vec<_> = (1..300u32)
            .flat_map(|n| {
                let pieces = fragments((n % ids) as u16, 50, &esp_payload(n, 1_000 + n as usize * 4), 800);
                pieces.into_iter().rev().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
            })
            .collect();
        let report = report("last-first.pcap", &frames);
        let said = finding(&report, "outer-fragmentation").expect("it is said");
        assert!(report.sas[0].fragments_uncertain > 0, "{ids}");
        assert!(said.count <= 299 && report.sas[0].fragments_uncertain <= 299, "{ids}: {}", said.evidence);
        let claimed = said.evidence.contains("some fragments were not seen.");
        assert!(!claimed && said.evidence.contains("share an identification"), "{}", said.evidence);
    }
}

#[test]
fn fragments_that_fit_in_two_ways_are_counted_and_have_no_size() {
    // Two packets of one identification, fragment by fragment in turns.
    let (a, b) = (fragments(9, 50, &esp_payload(1, 1_200), 800), fragments(9, 50, &esp_payload(2, 1_300), 800));
    let frames = [(0, &a[0]), (10, &b[0]), (20, &a[1]), (30, &b[1])].map(|(at, data)| (at * US, data.clone()));
    let report = report("turns.pcap", &frames);
    let sa = &report.sas[0];
    assert_eq!((sa.frames, sa.fragments_uncertain), (2, 2));
    assert!(report.outer_sizes.is_empty(), "{:?}", report.outer_sizes);
    // With identifications of their own they are certain.
    let b = fragments(10, 50, &esp_payload(2, 1_300), 800);
    let frames = [(0, &a[0]), (10, &b[0]), (20, &a[1]), (30, &b[1])].map(|(at, data)| (at * US, data.clone()));
    let report = self::report("turns-ids.pcap", &frames);
    assert_eq!((report.sas[0].fragments_uncertain, report.outer_sizes.len()), (0, 2));
}

#[test]
fn fragments_that_fit_in_no_way_make_no_more_packets_than_there_are() {
    let frames: Vec<_> = (1..=200u32)
        .flat_map(|n| {
            let mut pieces = fragments(n as u16, 50, &esp_payload(n, 1_200), 800);
            // The second begins where the first has not ended.
            pieces[1] = fragments(n as u16, 50, &esp_payload(n, 1_200), 792).swap_remove(1);
            pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
        })
        .collect();
    let report = report("overlap.pcap", &frames);
    let said = finding(&report, "outer-fragmentation").expect("it is said");
    assert_eq!((report.sas[0].frames, report.sas[0].fragments, said.count), (200, 200, 200));
    assert_eq!(report.sas[0].fragments_uncertain, 200);
    assert!(said.evidence.starts_with("200 of 200 packets"), "{}", said.evidence);
    assert!(report.outer_sizes.is_empty());
}

#[test]
fn a_fragment_that_overlaps_or_comes_again_changes_no_size() {
    let pieces = fragments(9, 50, &esp_payload(1, 1_200), 800);
    let again: Vec<_> =
        [0, 0, 1, 1].into_iter().zip([0, 50, 100, 150]).map(|(at, ms)| (ms * MS, pieces[at].clone())).collect();
    let report = report("again.pcap", &again);
    assert_eq!(report.outer_sizes.len(), 1);
    assert_eq!(report.outer_sizes[0].outer_bytes, 1_248);
    // A missing one is said to be missing.
    let report = self::report("missing.pcap", &[(0, pieces[0].clone())]);
    assert!(finding(&report, "outer-fragmentation").expect("it is said").evidence.contains("not seen"));
}

/// ESP-NULL in tunnel mode with an ICV of twelve octets.
fn null_payload(n: u32, inner: usize) -> Vec<u8> {
    let packet =
        &udp(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), (1_000, 2_000), n as u16, &noise(n, inner - 28))
            [14..];
    let pad = (4 - (packet.len() + 2) % 4) % 4;
    let padding: Vec<u8> = (1..=pad as u8).collect();
    [&7u32.to_be_bytes()[..], &n.to_be_bytes(), packet, &padding, &[pad as u8, 4], &noise(n, 12)].concat()
}

/// One packet of hundreds in fragments does not hide what all carry.
#[test]
fn opaque_packets_in_fragments_leave_goodput_its_bounds() {
    let frames: Vec<_> = (1..=600u32)
        .flat_map(|n| {
            let payload = esp_payload(n, 100 + 4 * (n as usize * 7 % 200));
            let pieces = if n == 300 {
                fragments(9, 50, &esp_payload(n, 1_900), 800)
            } else {
                vec![ipv4(R1, R2, 50, n as u16, &payload)]
            };
            pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
        })
        .collect();
    let report = report("one-in-fragments.pcap", &frames);
    let row = &report.rates.directions[0];
    assert!(row.goodput_min_bps.is_some() || row.if_no_tfc.is_some(), "{row:?}");
}

/// What is missing between two files, or what the capturing host dropped, was not looked for.
#[test]
fn numbers_that_are_missing_between_two_files_are_no_warning() {
    let all = numbered(1..=900, MS);
    let (first, rest) = all.split_at(300);
    let files = [("part_00001.pcap", first), ("part_00003.pcap", &rest[300..])];
    let report = report_of(&files.map(|(name, frames)| capture(name, frames)));
    let said = finding(&report, "sequence-gap").expect("it is said");
    assert_eq!((said.severity, said.count), (Severity::Note, 300), "{}", said.evidence);
    assert!(said.evidence.contains("300 of them are missing in a hole between"), "{}", said.evidence);
    assert!(finding(&report, "capture-hole").is_some());
    // What is missing between two files that join was lost.
    let (first, rest) = all.split_at(300);
    let joined = report_of(&[capture("joined_00001.pcap", first), capture("joined_00002.pcap", &rest[5..])]);
    assert_eq!(finding(&joined, "sequence-gap").expect("it is said").severity, Severity::Warning);
    // What is missing within a file still is.
    let lossy: Vec<_> = all.iter().enumerate().filter(|(at, _)| at % 50 != 7).map(|(_, frame)| frame.clone()).collect();
    let report = self::report("lossy.pcap", &lossy);
    assert_eq!(finding(&report, "sequence-gap").expect("it is said").severity, Severity::Warning);
}

/// What stands behind an EtherType that nobody reads may be more of the same traffic; signalling is not.
#[test]
fn frames_that_are_not_read_leave_goodput_open() {
    let with = |number: Option<u16>| {
        let frame = |n: u32| {
            let mut frame = ipv4(R1, R2, 50, n as u16, &null_payload(n, 300));
            if let Some(number) = number.filter(|_| n.is_multiple_of(2)) {
                frame[12..14].copy_from_slice(&number.to_be_bytes());
            }
            (u64::from(n) * MS, frame)
        };
        report("unread.pcap", &(1..200).map(frame).collect::<Vec<_>>())
    };
    assert!(with(None).rates.directions[0].goodput_bps.is_some());
    assert!(with(Some(0x893f)).rates.directions[0].goodput_bps.is_none());
    // The length of an LLC frame.
    assert!(with(Some(300)).rates.directions[0].goodput_bps.is_some());
}

#[test]
fn esp_null_in_fragments_has_sizes_and_goodput() {
    // Some packets whole and some in fragments; all of them in fragments.
    for whole in [true, false] {
        let frames: Vec<_> = (1..100u32)
            .flat_map(|n| {
                let inner = if whole && n % 2 == 0 { 300 } else { 1_400 + n as usize };
                let pieces = fragments(n as u16, 50, &null_payload(n, inner), 800);
                pieces.into_iter().zip(0..).map(move |(data, at)| (u64::from(n) * MS + at * 10 * US, data))
            })
            .collect();
        let inner: u64 = (1..100u64).map(|n| if whole && n % 2 == 0 { 300 } else { 1_400 + n }).sum();
        let report = report("null.pcap", &frames);
        assert_eq!(report.sizes.iter().map(|size| size.frames * size.inner_bytes).sum::<u64>(), inner, "{whole}");
        let row = &report.rates.directions[0];
        let goodput = row.goodput_bps.expect("all is visible") * row.seconds.unwrap() / 8.0;
        assert!((goodput - inner as f64).abs() < 1.0, "{goodput} {inner}");
    }
    // Encrypted packets in fragments are not taken for it.
    let frames: Vec<_> = (1..100u32)
        .flat_map(|n| {
            fragments(n as u16, 50, &esp_payload(n, 1_400), 800).into_iter().map(move |data| (u64::from(n) * MS, data))
        })
        .collect();
    let report = report("opaque.pcap", &frames);
    assert!(report.sizes.is_empty() && report.rates.directions[0].goodput_bps.is_none());
}

/// CRC-32, bit by bit: another way than the program's.
fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

fn with_fcs(mut data: Vec<u8>, fill: u8) -> Vec<u8> {
    data.resize(data.len().max(60), fill);
    let fcs = crc(&data).to_le_bytes();
    data.extend(fcs);
    data
}

#[test]
fn an_undeclared_fcs_is_no_padding_and_not_counted_twice() {
    let packets = || (1..60u32).map(|n| esp(R1, R2, 7, n, &noise(n, 8 + 4 * (n as usize % 20))));
    let bare: Vec<_> = packets().zip(0..).map(|(data, at)| (at * MS, data)).collect();
    let held: Vec<_> = packets().zip(0..).map(|(data, at)| (at * MS, with_fcs(data, 0))).collect();
    let (bare, held) = (report("bare.pcap", &bare), report("fcs.pcap", &held));
    assert_eq!(held.rates.directions[0].l1_bps, bare.rates.directions[0].l1_bps);
    silent(&held, &["ethernet-padding-leak"]);
    assert_eq!(finding(&held, "capture-fcs").expect("it is said").count, 59);
    silent(&bare, &["capture-fcs"]);
    // A leak behind short packets is one with an FCS, too.
    let leak: Vec<_> = packets().zip(0..).map(|(data, at)| (at * MS, with_fcs(data, 0xa7))).collect();
    let leak = report("fcs-leak.pcap", &leak);
    assert!(finding(&leak, "ethernet-padding-leak").is_some());
    // Four octets that are no CRC, behind long packets: a trailer, no padding.
    let trailer: Vec<_> = packets()
        .map(|data| [data, vec![0; 60], vec![1, 2, 3, 4]].concat())
        .zip(0..)
        .map(|(d, at)| (at * MS, d))
        .collect();
    silent(&report("trailer.pcap", &trailer), &["capture-fcs"]);
}

#[test]
fn time_stamps_of_a_capture_card_are_no_padding() {
    // Sixteen octets behind every frame, also behind those that are filled up to sixty.
    let frames: Vec<_> = (1..60u32)
        .map(|n| {
            let mut data = esp(R1, R2, 7, n, &noise(n, 8 + 4 * (n as usize % 20)));
            data.resize(data.len().max(60), 0);
            data.extend(noise(n + 1_000, 16));
            (u64::from(n) * MS, data)
        })
        .collect();
    silent(&report("card.pcap", &frames), &["ethernet-padding-leak", "capture-fcs"]);
}

#[test]
fn a_clock_that_is_set_back_does_not_change_rates() {
    let frames = |set_back: &dyn Fn(u64) -> u64| -> Vec<_> {
        (0..1_000u32)
            .map(|n| (10 * SECOND + u64::from(n) * 10 * MS - set_back(n.into()), esp(R1, R2, 7, n + 1, &noise(n, 64))))
            .collect()
    };
    for (name, set_back) in [
        ("once", (&|n: u64| if n >= 500 { 3 * SECOND } else { 0 }) as &dyn Fn(u64) -> u64),
        ("far", &|n: u64| if n >= 300 { 9 * SECOND } else { 0 }),
        ("twice", &|n: u64| [0, 2 * SECOND, 4 * SECOND][(n / 400) as usize]),
        // One frame alone bears a time out of order.
        ("late", &|n: u64| if n == 500 { SECOND } else { 0 }),
    ] {
        let report = report("clock.pcap", &frames(set_back));
        assert!(finding(&report, "capture-clock-back").is_some(), "{name}");
        let row = &report.rates.directions[0];
        let rate = row.frames_per_s.expect("a rate");
        assert!((98.0..102.0).contains(&rate), "{name}: {rate}");
        let rate = report.sas[0].rate.frames_per_s.expect("a rate");
        assert!((98.0..102.0).contains(&rate), "{name}: {rate}");
        assert_eq!(row.basis, if name == "late" { TimeBasis::CaptureClock } else { TimeBasis::ClockStepped });
        assert!(row.peak.is_none_or(|peak| peak.frames_per_s < 105.0), "{name}: {:?}", row.peak);
    }
}

/// Frames of a rotation, cut after `cut` of them; the second file's clock is `back` nanoseconds behind.
fn rotated(name: &str, cut: usize, back: u64) -> Vec<PathBuf> {
    let frames = numbered(1..1_001, 10 * MS);
    let later: Vec<_> = frames[cut..].iter().map(|(at, data)| (at - back, data.clone())).collect();
    vec![capture(&format!("{name}_1.pcap"), &frames[..cut]), capture(&format!("{name}_2.pcap"), &later)]
}

#[test]
fn files_that_overlap_a_little_are_one_rotation() {
    for back in [0, 10 * MS + US, 15 * MS, 19 * MS] {
        let report = report_of(&rotated("little", 500, back));
        assert_eq!((report.taps.len(), lost(&report.sas[0])), (1, 0), "{back}");
        silent(&report, &["tap-layout", "capture-hole", "sequence-gap"]);
    }
    // Two taps of the same packets hold the same numbers.
    let frames = numbered(1..101, 100 * US);
    let shifted: Vec<_> = frames.iter().map(|(at, data)| (at + 6 * MS, data.clone())).collect();
    let report = report_of(&[capture("east.pcap", &frames), capture("west.pcap", &shifted)]);
    assert_eq!(report.taps.len(), 2);
    // Without numbers nothing decides: it is said.
    let clear = |from: u64| -> Vec<_> {
        (0..500u16).map(|n| (from + u64::from(n) * 10 * MS, udp(R1, R2, (1, 2), n + 1, &from.to_be_bytes()))).collect()
    };
    let report = report_of(&[capture("clear_1.pcap", &clear(0)), capture("clear_2.pcap", &clear(4_985 * MS))]);
    assert_eq!(report.taps.len(), 1);
    assert_eq!(finding(&report, "tap-layout").expect("it is said").severity, Severity::Note);
}

#[test]
fn the_same_capture_twice_counts_once() {
    let frames = numbered(1..101, MS);
    let report = report_of(&[capture("same.pcap", &frames), capture("again.pcap", &frames)]);
    assert_eq!((report.taps.len(), report.totals.frames), (1, 100));
    assert!(finding(&report, "tap-layout").expect("it is said").evidence.contains("same frames"));
}

#[test]
fn a_pause_between_two_files_is_a_hole_only_where_something_is_missing() {
    let at = |numbers: std::ops::Range<u32>, from: u64| -> Vec<_> {
        numbered(numbers, 10 * MS).into_iter().map(|(at, data)| (at + from, data)).collect()
    };
    // The numbers go on: nobody sent.
    let report = report_of(&[capture("on_1.pcap", &at(1..200, 0)), capture("on_2.pcap", &at(200..400, 30 * SECOND))]);
    silent(&report, &["capture-hole", "sequence-gap"]);
    // Numbers are missing.
    let report =
        report_of(&[capture("off_1.pcap", &at(1..200, 0)), capture("off_2.pcap", &at(900..1_100, 30 * SECOND))]);
    assert!(
        finding(&report, "capture-hole").expect("it is said").evidence.contains("700 sequence numbers are missing")
    );
    // A pause of 28 s is no hole where one must be longer, which merged states are asked for, too.
    let dir = scratch("situations-holes");
    let states = ["off_1", "off_2"].map(|name| {
        let (capture, state) = (scratch("situations").join(format!("{name}.pcap")), dir.join(format!("{name}.state")));
        spiglass(&["partial".into(), "-o".into(), state.clone().into_os_string(), capture.into_os_string()]).expect(0);
        state.into_os_string()
    });
    for (hole, said) in [("28s", true), ("29s", false), ("1s", true)] {
        let words = ["merge", "-q", "--format", "json", "--hole", hole].map(std::ffi::OsString::from);
        let json = spiglass(&[&words[..], &states[..]].concat()).expect(0).json();
        let codes = support::items(&json, "findings").iter().map(|finding| support::text(finding, "code"));
        assert_eq!(codes.filter(|code| *code == "capture-hole").count(), usize::from(said), "{hole}");
        assert_eq!(support::items(&json, "settings").len(), 1, "{hole}");
    }
    // Bursts of clear packets with pauses of their own.
    let burst = |from: u64| {
        (0..50u16).map(move |n| (from + u64::from(n) * MS, udp(R1, R2, (1, 2), n + 1, &from.to_be_bytes())))
    };
    let bursts = |from: u64| -> Vec<_> { (0..4).flat_map(|n| burst(from + n * 20 * SECOND)).collect() };
    let report = report_of(&[capture("burst_1.pcap", &bursts(0)), capture("burst_2.pcap", &bursts(85 * SECOND))]);
    silent(&report, &["capture-hole"]);
}

/// Files of a tap, ten frames each, a second after the other, with the sequence numbers that follow `numbers`.
fn counted(folder: &str, names: &[&str], numbers: &dyn Fn(u32) -> u32) -> Vec<PathBuf> {
    let dir = scratch(&format!("situations-counted-{folder}"));
    let file = |(at, name): (u32, &&str)| {
        let frames: Vec<Out> = (0..10u32)
            .map(|n| {
                let (time, number) = (u64::from(at) * SECOND + u64::from(n) * 100 * MS, numbers(at) + n);
                Out::whole(START + time, esp(R1, R2, 7, number, &noise(number, 64)))
            })
            .collect();
        write_file(&dir, name, &plain_pcap(&frames))
    };
    (0u32..).zip(names).map(file).collect()
}

#[test]
fn a_number_that_is_missing_among_file_names_is_said() {
    let on = |at: u32| 10 * at + 1;
    let cases: &[(&str, &[&str], &str, u64)] = &[
        ("filled", &["cap_00001.pcap", "cap_00003.pcap"], "No file with number 2 given (between", 1),
        ("dumpcap", &["c_00001_20240101120000.pcap", "c_00003_20240101120200.pcap"], "number 2 ", 1),
        ("tcpdump", &["t.pcap", "t.pcap2"], "number 1 given (between", 1),
        ("tcpdump-9", &["t.pcap9", "t.pcap12"], "No files with numbers 10 to 11 given (between", 1),
        ("counted", &["run1.pcap", "run2.pcap", "run3.pcap", "run5.pcap"], "number 4 given (between", 1),
        ("twice", &["cap_00001.pcap", "cap_00003.pcap", "cap_00006.pcap"], "number 2 given (between", 2),
    ];
    for (folder, names, what, count) in cases {
        let report = report_of(&counted(folder, names, &on));
        let found = finding(&report, "capture-file-missing").unwrap_or_else(|| panic!("{folder} is said"));
        assert!(found.evidence.contains(what), "{folder}: {}", found.evidence);
        assert!(found.evidence.contains("of the SA in both files go on without a gap"), "{}", found.evidence);
        assert_eq!((found.count, found.severity), (*count, Severity::Note), "{folder}");
        assert_eq!(found.occurrences[0].frame, 1, "{folder}");
    }
    // Numbers of the SA are missing there, too.
    let off = |at: u32| 300 * at + 1;
    let names = ["cap_00001.pcap", "cap_00002.pcap", "cap_00003.pcap", "cap_00005.pcap"];
    for (folder, names, severity) in
        [("off", &names[..], Severity::Warning), ("off-two", &["cap_00001.pcap", "cap_00003.pcap"], Severity::Note)]
    {
        let report = report_of(&counted(folder, names, &off));
        let found = finding(&report, "capture-file-missing").expect("it is said");
        assert!(found.evidence.contains("290 sequence numbers are missing at this border"), "{}", found.evidence);
        // Two files alone may be numbered by something else.
        assert_eq!(found.severity, severity, "{folder}");
    }
    // No SA is in both files.
    let dir = scratch("situations-counted-apart");
    let file = |name: &str, at: u64, spi: u32| {
        let frame = |n: u32| Out::whole(START + at + u64::from(n) * 100 * MS, esp(R1, R2, spi, n + 1, &noise(n, 64)));
        write_file(&dir, name, &plain_pcap(&(0..10).map(frame).collect::<Vec<_>>()))
    };
    let report = report_of(&[file("cap_00001.pcap", 0, 7), file("cap_00003.pcap", SECOND, 8)]);
    let found = finding(&report, "capture-file-missing").expect("it is said");
    assert!(found.evidence.contains("is not determined: no SA goes on"), "{}", found.evidence);
}

#[test]
fn numbers_of_file_names_that_do_not_count_files_are_left_alone() {
    let on = |at: u32| 10 * at + 1;
    let cases: &[(&str, &[&str])] = &[
        ("single", &["cap_00003.pcap"]),
        ("complete", &["cap_00001.pcap", "cap_00002.pcap", "cap_00003.pcap"]),
        ("seconds", &["cap_1700000000.pcap", "cap_1700000060.pcap", "cap_1700000180.pcap"]),
        ("days", &["cap-20261120.pcap", "cap-20261121.pcap", "cap-20261122.pcap", "cap-20261124.pcap"]),
        ("month", &["cap-20261130.pcap", "cap-20261201.pcap"]),
        ("dashes", &["cap-2026-11-20.pcap", "cap-2026-11-21.pcap", "cap-2026-11-22.pcap", "cap-2026-11-24.pcap"]),
        ("day-first", &["20-11-2026.pcap", "21-11-2026.pcap", "22-11-2026.pcap", "24-11-2026.pcap"]),
        ("short", &["cap261120.pcap", "cap261121.pcap", "cap261122.pcap", "cap261124.pcap"]),
        ("minutes", &["c-20261122-1000.pcap", "c-20261122-1005.pcap", "c-20261122-1015.pcap"]),
        ("hours", &["c0057.pcap", "c0058.pcap", "c0059.pcap", "c0100.pcap"]),
        ("days-and-times", &["c_20261122_235900.pcap", "c_20261123_000000.pcap"]),
        ("years", &["2021.pcap", "2022.pcap", "2023.pcap", "2025.pcap"]),
        // Nothing shows that they count.
        ("two", &["run1.pcap", "run3.pcap"]),
        ("tens", &["run10.pcap", "run20.pcap", "run30.pcap", "run40.pcap"]),
        ("texts", &["west_00001.pcap", "east_00003.pcap"]),
        // A ring that began again.
        ("ring", &["cap_00008.pcap", "cap_00009.pcap", "cap_00000.pcap", "cap_00001.pcap"]),
    ];
    for (folder, names) in cases {
        let report = report_of(&counted(folder, names, &on));
        assert_eq!(report.captures.len(), names.len(), "{folder}");
        silent(&report, &["capture-file-missing"]);
    }
    // What was given is not missing: a capture of another tap, a copy, an input that is no capture.
    let files = counted("given", &["cap_00001.pcap", "cap_00003.pcap"], &on);
    let dir = scratch("situations-counted-given");
    let other: Vec<Out> =
        (0..20u32).map(|n| Out::whole(START + u64::from(n) * 100 * MS, esp(R2, R1, 9, n + 1, &noise(n, 64)))).collect();
    for (what, content) in [
        ("tap", plain_pcap(&other)),
        ("copy", std::fs::read(&files[0]).expect("it is there")),
        ("empty", plain_pcap(&[])),
        ("damaged", b"no capture".to_vec()),
    ] {
        let path = write_file(&dir, "cap_00002.pcap", &content);
        let inputs: Vec<Input> =
            [&files[0], &path, &files[1]].map(|file| Input { source: Source::Path(file.clone()), tap: None }).into();
        let outcome = run(&inputs, &Settings::default(), 1, &Quiet);
        assert_eq!(outcome.errors.len(), usize::from(what == "damaged"), "{what}");
        silent(&outcome.report, &["capture-file-missing"]);
    }
}

/// Every state that `partial` writes is one that `merge` takes: many directions, SAs and taps.
#[test]
fn every_state_that_is_written_can_be_merged() {
    let dir = scratch("situations-states");
    for seed in 1..=12u64 {
        let mut random = Noise(seed * 7_919);
        let directions = 1 + random.below(if seed % 2 == 0 { 300 } else { 80 });
        let mut time = 0;
        let frames: Vec<_> = (0..600u32)
            .map(|n| {
                time += random.below(5 * MS);
                let host = random.below(directions) as u16;
                let [a, b] = host.to_be_bytes();
                let src = Ipv4Addr::new(10, 1, a, b);
                let data = match random.below(4) {
                    0 => udp(src, R2, (500, 500), n as u16, &noise(n, 40)),
                    1 => fragments(n as u16, 50, &esp_payload(n, 1_000), 800).swap_remove(random.below(2) as usize),
                    _ => esp(src, R2, 1 + u32::from(host), random.word() as u32, &noise(n, 64)),
                };
                (time, data)
            })
            .collect();
        let file = capture(&format!("many-{seed}.pcap"), &frames);
        let state = dir.join(format!("{seed}.state"));
        spiglass(&["partial", "-o", state.to_str().unwrap(), file.to_str().unwrap()]).expect(0);
        let merged = spiglass(&["merge", "--format", "json", state.to_str().unwrap()]).expect(0);
        let whole = spiglass(&["report", "--format", "json", file.to_str().unwrap()]);
        assert!(merged.stdout == whole.stdout, "seed {seed}: {merged}");
    }
}

#[test]
fn one_bad_state_does_not_stop_a_merge_and_is_missed() {
    let dir = scratch("situations-bad-state");
    let file = capture("good.pcap", &numbered(1..101, MS));
    let (good, bad) = (
        dir.join("good.state"),
        write_file(&dir, "bad.state", b"no state at all, but long enough to be looked at as one"),
    );
    spiglass(&["partial", "-o", good.to_str().unwrap(), file.to_str().unwrap()]).expect(0);
    let run = spiglass(&["merge", "--format", "json", bad.to_str().unwrap(), good.to_str().unwrap()]).expect(2);
    let report = run.json();
    assert_eq!(support::number(&report, "totals.frames"), 100);
    assert_eq!(support::text(&report, "exactness"), "degraded");
    assert!(support::text(&report, "degraded_why.0").contains("bad.state"), "{report}");
    // What a run could not read is missed in the merged report, too.
    let missing = dir.join("missing.pcap");
    spiglass(&["partial", "-o", good.to_str().unwrap(), file.to_str().unwrap(), missing.to_str().unwrap()]).expect(2);
    let report = spiglass(&["merge", "--format", "json", good.to_str().unwrap()]).json();
    assert!(support::text(&report, "degraded_why.0").contains("missing.pcap"), "{report}");
}

#[test]
fn a_report_of_whole_captures_is_exact() {
    assert_eq!(report("exact.pcap", &numbered(1..101, MS)).exactness, Exactness::Exact);
}
