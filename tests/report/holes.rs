//! What a pause between two files of a tap shows, and what it does not.

use std::path::PathBuf;

use crate::support::build::{Noise, R1, R2, START, esp, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, write_file};
use spiglass::capture::Source;
use spiglass::engine::{Input, Quiet, Settings, run};
use spiglass::model::report::{Report, Severity};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A file: its name, and its frames with their times.
type File = (String, Vec<(u64, Vec<u8>)>);

fn report(folder: &str, files: Vec<File>) -> Report {
    let dir = scratch(&format!("holes-{folder}"));
    let write = |(name, frames): File| -> Input {
        let out: Vec<Out> = frames.into_iter().map(|(at, data)| Out::whole(START + at, data)).collect();
        let path: PathBuf = write_file(&dir, &name, &plain_pcap(&out));
        Input { source: Source::Path(path), tap: None }
    };
    let inputs: Vec<Input> = files.into_iter().map(write).collect();
    run(&inputs, &Settings::default(), 1, &Quiet).report
}

/// The same of two files of which the first one ends in the middle of its last record; the finding about the missing numbers of an SA.
fn missing_after_a_cut(
    folder: &str,
    frames: [Vec<(u64, Vec<u8>)>; 2],
    spi: u32,
    link_rate_bps: Option<u64>,
) -> (Severity, String) {
    let dir = scratch(&format!("holes-{folder}"));
    let inputs = frames.into_iter().enumerate().map(|(at, frames)| {
        let out: Vec<Out> = frames.into_iter().map(|(at, data)| Out::whole(START + at, data)).collect();
        let mut file = plain_pcap(&out);
        file.truncate(file.len() - if at == 0 { 10 } else { 0 });
        Input { source: Source::Path(write_file(&dir, &counted(at as u64), &file)), tap: None }
    });
    let settings = Settings { link_rate_bps, ..Settings::default() };
    let report = run(&inputs.collect::<Vec<_>>(), &settings, 1, &Quiet).report;
    let of_spi = |sa: &str| sa.ends_with(&format!("{spi:#010x}"));
    let gap =
        report.findings.into_iter().find(|own| own.code == "sequence-gap" && own.sa.as_deref().is_some_and(of_spi));
    gap.map(|gap| (gap.severity, gap.evidence)).expect("numbers are missing")
}

/// The severity and evidence of each hole.
fn holes(report: &Report) -> Vec<(Severity, &str)> {
    let holes = report.findings.iter().filter(|finding| finding.code == "capture-hole");
    holes.map(|hole| (hole.severity, hole.evidence.as_str())).collect()
}

fn counted(at: u64) -> String {
    format!("cap_{:05}.pcap", at + 1)
}

fn timed(at: u64) -> String {
    format!("cap-20261126{:06}.pcap", at * 5)
}

fn packet(spi: u32, n: u32) -> Vec<u8> {
    esp(R1, R2, spi, n, &Noise(u64::from(n)).bytes(64))
}

/// Bursts of 100 packets, one a millisecond, with pauses of 2 to 4 seconds; `of` makes the packet of a burst and a place in it.
fn bursts(count: u64, of: impl Fn(u64, u32) -> Option<Vec<u8>>) -> Vec<Vec<(u64, Vec<u8>)>> {
    let begin = |burst: u64| burst * 3 * SECOND + burst % 2 * SECOND;
    let frames = |burst| (0..100u32).map(move |n| (n, burst));
    (0..count)
        .map(|burst| {
            let frames = frames(burst).filter_map(|(n, burst)| Some((begin(burst) + u64::from(n) * MS, of(burst, n)?)));
            frames.collect()
        })
        .collect()
}

/// The later of two files has the lower number: whether one is missing between them, the names do not tell.
#[test]
fn names_that_fall_prove_nothing() {
    let frames = |from: u64, number: u64| -> Vec<(u64, Vec<u8>)> {
        (0..200).map(|n| (from + n * 100 * MS, packet(7, (number + n) as u32))).collect()
    };
    let files = |first: &str, second: &str| {
        vec![(first.to_owned(), frames(0, 1)), (second.to_owned(), frames(80 * SECOND, 801))]
    };
    for (folder, first, second) in [("fall", "f9.pcap", "f1.pcap"), ("rise", "f1.pcap", "f2.pcap")] {
        let report = report(folder, files(first, second));
        let [(Severity::Warning, evidence)] = holes(&report)[..] else { panic!("{folder}: {:?}", holes(&report)) };
        assert!(evidence.contains("600 sequence numbers are missing"), "{evidence}");
        let on = evidence.contains("count on: no file is missing");
        assert_eq!((on, evidence.contains("has the lower number")), (folder == "rise", folder == "fall"), "{evidence}");
    }
}

#[test]
fn a_rotation_of_bursts_has_no_holes() {
    let number = |burst: u64, n: u32| burst as u32 * 100 + n + 1;
    type Of<'o> = &'o dyn Fn(u64, u32) -> Option<Vec<u8>>;
    let kinds: [(&str, Of<'_>); 3] = [
        // A few packets at the ends of bursts are lost.
        ("lossy", &|burst, n| (n < 98 || burst % 2 == 0).then(|| packet(7, number(burst, n)))),
        ("rekeyed", &|burst, n| Some(packet(7 + burst as u32, n + 1))),
        ("clear", &|burst, n| Some(udp(R1, R2, (1, 2), number(burst, n) as u16, &[burst as u8; 60]))),
    ];
    for (kind, of) in kinds {
        for name in [counted, timed] {
            let files = (0..).map(name).zip(bursts(7, of)).collect();
            let report = report(kind, files);
            assert_eq!((report.taps.len(), holes(&report)), (1, vec![]), "{kind}");
        }
    }
}

#[test]
fn a_burst_that_is_missing_is_a_hole() {
    let of = |burst: u64, n: u32| Some(packet(7, burst as u32 * 100 + n + 1));
    for name in [counted, timed] {
        let mut files: Vec<File> = (0..).map(name).zip(bursts(7, of)).collect();
        files.remove(3);
        let report = report("burst-missing", files);
        let found = holes(&report);
        assert!(
            matches!(found[..], [(Severity::Warning, evidence)] if evidence.contains("100 sequence numbers are missing")),
            "{found:?}"
        );
    }
}

/// Bursts in pauses that are as long as the time of the missing file: its numbers are missing between two files and nowhere else.
#[test]
fn numbers_missing_just_between_two_files_are_a_hole_in_bursts_too() {
    let files = |missing: u64| -> Vec<File> {
        let all = bursts(24, |burst, n| Some(packet(7, burst as u32 * 100 + n + 1)));
        let all: Vec<Vec<(u64, Vec<u8>)>> = all.chunks(4).map(|bursts| bursts.concat()).collect();
        let kept = all.into_iter().enumerate().filter(|(at, _)| *at as u64 != missing);
        kept.map(|(at, frames)| (timed(at as u64), frames)).collect()
    };
    let mut close = files(3);
    // The file behind it begins soon: the sender had paused, not the capture alone.
    for (_, frames) in close.iter_mut().skip(3) {
        frames.iter_mut().for_each(|(time, _)| *time -= 10 * SECOND);
    }
    let report = report("bursts-between", close);
    let found = holes(&report);
    assert!(
        matches!(found[..], [(Severity::Warning, evidence)] if evidence.contains("400 sequence numbers are missing")),
        "{found:?}"
    );
    let gap = report.findings.iter().find(|finding| finding.code == "sequence-gap").expect("numbers are missing");
    assert_eq!(gap.severity, Severity::Note, "{}", gap.evidence);
}

/// A frame a millisecond of each of two SAs, without some of the first.
fn steady(numbers: std::ops::Range<u32>, from: u64, without: u32) -> Vec<(u64, Vec<u8>)> {
    let both = numbers.flat_map(|n| [(7, n), (8, n)]).filter(|(spi, n)| *spi != 7 || *n != without);
    both.map(|(spi, n)| (from + u64::from(n) * MS, packet(spi, n))).collect()
}

#[test]
fn a_lost_packet_beside_a_pause_is_no_hole() {
    // At this rate 3,000 numbers would be missing.
    let files = vec![(counted(0), steady(1..500, 0, 0)), (counted(1), steady(500..1_000, 3 * SECOND, 500))];
    assert_eq!(holes(&report("pause", files)), []);
    let files = vec![("a.pcap".to_owned(), steady(1..500, 0, 0)), ("b.pcap".to_owned(), steady(3_500..4_000, 0, 0))];
    let report = report("steady", files);
    let found = holes(&report);
    assert!(
        matches!(found[..], [(Severity::Warning, evidence)] if evidence.contains("6000 sequence numbers are missing")),
        "{found:?}"
    );
}

#[test]
fn a_pause_alone_proves_nothing() {
    let rekeyed = |from: u64| (0..500u32).map(|n| (from + u64::from(n) * MS, packet(9, n + 1))).collect::<Vec<_>>();
    let night = 8 * 3_600 * SECOND;
    // Names that count on: no file is missing.
    let files = vec![(counted(0), steady(1..500, 0, 0)), (counted(1), rekeyed(night))];
    assert_eq!(holes(&report("night-counted", files)), []);
    // Nothing says whether one is: neither does the report.
    let files = vec![("dusk.pcap".to_owned(), steady(1..500, 0, 0)), ("dawn.pcap".to_owned(), rekeyed(night))];
    let said = report("night", files);
    let found = holes(&said);
    assert!(
        matches!(found[..], [(Severity::Note, evidence)] if evidence.contains("is not determined: no SA goes on")),
        "{found:?}"
    );
    // The clock was set back in the middle of a rotation in clear.
    let clear = |at: u64| {
        (0..200u64).map(move |n| (at * 2 * SECOND + n * 10 * MS, udp(R1, R2, (1, 2), n as u16 + 1, &[at as u8; 60])))
    };
    let back = |at: u64| if at > 0 { 0 } else { 10 * SECOND };
    let files =
        (0..3).map(|at| (counted(at), clear(at).map(|(time, data)| (time + back(at), data)).collect())).collect();
    assert_eq!(holes(&report("clock", files)), []);
}

/// What a cut file lacks is as long as the pause behind it. Numbers that are missing beside it for much longer may have been sent in it at once: what is
/// lost for certain is what the link cannot have carried in that time.
#[test]
fn a_cut_file_excuses_what_the_link_may_carry_in_its_time() {
    /// A packet of another SA each millisecond until the end of the first file and on, with one missing in a pause of so long.
    fn watched(pause: u64) -> [Vec<(u64, Vec<u8>)>; 2] {
        let other = |from: u64, numbers: std::ops::Range<u64>| -> Vec<(u64, Vec<u8>)> {
            numbers.map(|n| (from + n * MS, packet(9, n as u32))).collect()
        };
        [other(0, 1..1_002), other(pause, 1_002..2_000)]
    }
    // Of the SA in question: its packets until the cut, from the next file on, the numbers that are missing, whether that is loss, and what is said.
    type Own = Vec<(u64, u32)>;
    let even = |from: u64, numbers: std::ops::Range<u32>, step: u64| -> Own {
        (0..).zip(numbers).map(|(at, n)| (from + at * step, n)).collect()
    };
    type Case<'a> = (&'a str, u64, [Own; 2], Option<u64>, &'a str);
    let cases: [Case<'_>; 7] = [
        // 70 of them for 350 ms, of which the capture lacks 7.
        (
            "even",
            5 * MS,
            [even(5 * MS, 1..190, 5 * MS), even(1_300 * MS, 260..400, 5 * MS)],
            None,
            "70 of them may be missing in a hole between two files, or in the rest of one that is cut. At the highest rate of the SA that was seen, its \
             time has room for about 1 packet: the others were sent faster, or lost.",
        ),
        // The same on a link of 1 Mbit/s.
        (
            "slow-link",
            5 * MS,
            [even(5 * MS, 1..190, 5 * MS), even(1_300 * MS, 260..400, 5 * MS)],
            Some(1_000_000),
            " 10 of them may be missing in a hole between two files, or in the rest of one that is cut. The link cannot carry more in its time.",
        ),
        // A keepalive each half second, and a file of 1,500 packets in the hole.
        (
            "burst",
            200 * MS,
            [even(0, 1..3, 500 * MS), even(1_500 * MS, 1_503..1_505, 500 * MS)],
            None,
            "1500 of them may be missing",
        ),
        ("few", 5 * MS, [even(5 * MS, 1..200, 5 * MS), even(1_015 * MS, 202..400, 5 * MS)], None, "2 of them are"),
        // One packet in ten seconds.
        ("slow", 100 * MS, [even(0, 1..2, MS), even(1_990 * MS, 3..5, MS)], None, "1 of them is"),
        // Bursts of 40 packets each 200 ms, one of them in the hole.
        (
            "bursts",
            5 * MS,
            [
                (0..5)
                    .flat_map(|burst| even(u64::from(burst) * 200 * MS + MS, burst * 40 + 1..burst * 40 + 41, 20_000))
                    .collect(),
                even(1_200 * MS, 241..281, 20_000),
            ],
            None,
            "40 of them are",
        ),
        // All the time between the two packets.
        ("long", 900 * MS, [even(5 * MS, 1..200, 5 * MS), even(1_905 * MS, 380..400, 5 * MS)], None, "180 of them are"),
    ];
    for (name, pause, [first, second], link, says) in cases {
        let mut files = watched(pause);
        for (file, own) in files.iter_mut().zip([first, second]) {
            // The last record is the one that is cut.
            own.into_iter().for_each(|(at, n)| file.push((at, packet(7, n))));
            file.sort_by_key(|(at, _)| *at);
        }
        let (own, evidence) = missing_after_a_cut(&format!("cut-{name}"), files, 7, link);
        assert!(evidence.contains(says), "{name}: {evidence}");
        let severity = if link.is_some() { Severity::Warning } else { Severity::Note };
        assert_eq!(own, severity, "{name}: {evidence}");
    }
}

/// A second capture that was begun before the first one was ended: no network duplicates what both hold.
#[test]
fn frames_that_two_files_hold_are_no_duplicates_of_the_network() {
    for both in [6_u64, 60] {
        let frames = |numbers: std::ops::Range<u64>| numbers.map(|n| (n * MS, packet(0x1007, n as u32))).collect();
        let files = vec![(counted(0), frames(1..2_001)), (counted(1), frames(2_001 - both..4_001))];
        let report = report("both", files);
        let repeats = report.findings.iter().find(|finding| finding.code == "sequence-duplicate");
        let repeats = repeats.expect("they are counted");
        assert_eq!((repeats.count, repeats.severity), (both, Severity::Note), "{}", repeats.evidence);
        assert!(repeats.evidence.contains("files that overlap"), "{}", repeats.evidence);
        assert!(report.findings.iter().all(|finding| finding.severity == Severity::Note));
    }
    // Packets that are sent again at the beginning of the next file are in both, too, but the files do not overlap.
    let frames = |numbers: std::ops::Range<u64>, late: u64| -> Vec<(u64, Vec<u8>)> {
        numbers.map(|n| ((n + late) * MS, packet(0x1007, n as u32))).collect()
    };
    let next = [frames(1_981..2_001, 20), frames(2_001..4_001, 20)].concat();
    let report = report("again", vec![(counted(0), frames(1..2_001, 0)), (counted(1), next)]);
    let repeats = report.findings.iter().find(|finding| finding.code == "sequence-duplicate").expect("they are said");
    assert_eq!((repeats.count, repeats.severity), (20, Severity::Warning), "{}", repeats.evidence);
    assert!(!repeats.evidence.contains("overlap"), "{}", repeats.evidence);
}
