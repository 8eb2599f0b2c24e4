use super::*;

const MS: i64 = 1_000_000;

/// A tap with a frame every millisecond but from `from` to `to`, and where `others` are; the packets in between are missing.
fn tap(from: i64, to: i64, others: &[i64]) -> Silences {
    let mut silences = Silences::default();
    for at in 0..1_000 {
        if !(from..to).contains(&at) {
            silences.see(at * MS, 0);
            silences.pair(0, at * MS);
        } else if others.contains(&at) {
            silences.see(at * MS + MS / 2, 0);
        }
    }
    for at in from..to {
        let ns = at * MS;
        silences.miss(7, 100, Expected { least: ns - 50_000, usual: ns, most: ns + 50_000 });
    }
    silences
}

fn verdict(silences: &Silences, passed: bool, skipped: Option<u64>) -> Vec<Verdict> {
    let known = Known {
        way: |_| Some(0),
        passed: [passed, false],
        skipped: |_, _, _| skipped,
        pairs: [900, 0],
        beyond: [0; WAYS],
        crossed: false,
    };
    silences.judge(&known).values().map(|own| own.verdicts[0]).collect()
}

#[test]
fn a_silent_tap_lost_nothing_where_packets_must_have_passed_it() {
    let silent = tap(300, 400, &[]);
    assert_eq!(verdict(&silent, true, None), [Verdict::Hole]);
    assert_eq!(verdict(&silent, true, Some(100)), [Verdict::Hole]);
}

#[test]
fn numbers_that_go_on_prove_an_outage() {
    assert_eq!(verdict(&tap(300, 400, &[]), false, Some(0)), []);
}

#[test]
fn a_silence_without_evidence_stays_open() {
    assert_eq!(verdict(&tap(300, 400, &[]), false, None), [Verdict::Open]);
    assert_eq!(verdict(&tap(300, 400, &[]), false, Some(30)), [Verdict::Open]);
    // A wire between gateway and tap that is down takes numbers with it, too.
    assert_eq!(verdict(&tap(300, 400, &[]), false, Some(100)), [Verdict::Open]);
}

#[test]
fn any_other_frame_proves_that_the_tap_was_recording() {
    for others in [&[350][..], &[390], &[310, 320, 330], &[303]] {
        assert_eq!(verdict(&tap(300, 400, others), true, Some(100)), [], "{others:?}");
    }
}

#[test]
fn one_missing_packet_is_a_loss() {
    assert_eq!(verdict(&tap(300, 301, &[]), true, Some(1)), []);
    assert_eq!(verdict(&tap(300, 302, &[]), true, Some(2)), []);
}

#[test]
fn the_longest_silences_are_kept() {
    let mut silences = Silences::default();
    let mut ns = 0;
    for at in 0..5 * MAX_SILENCES as i64 {
        for _ in 0..8 {
            ns += 10_000;
            silences.see(ns, 0);
        }
        ns += MS + at;
        silences.see(ns, 0);
    }
    let from = ns + 20_000;
    silences.see(from, 0);
    silences.see(from + 1_000 * MS, 0);
    assert!(silences.list.len() < 2 * MAX_SILENCES);
    assert!(silences.list.is_sorted_by_key(|own| own.from));
    assert_eq!(silences.between(from, from + 1_000 * MS), Some(from));
}

/// Bursts of 16 packets with pauses of 20 ms; of one the last three packets are missing, or the capture shows nothing from there on for longer.
fn bursts(until: i64) -> Silences {
    let (mut silences, mut missing) = (Silences::default(), Vec::new());
    for at in 0..960_i64 {
        let (burst, place) = (at / 16, at % 16);
        let ns = burst * 20 * MS + place * 12_000;
        let from = 30 * 20 * MS + 13 * 12_000;
        if (from..until).contains(&ns) {
            missing.push(ns);
        } else {
            silences.see(ns, 0);
            silences.pair(0, ns);
        }
    }
    for ns in missing {
        let silence = silences.miss(7, 100, Expected { least: ns - 50_000, usual: ns, most: ns + 50_000 });
        assert!(silence.is_some(), "it is expected while the tap is silent");
    }
    silences
}

#[test]
fn the_end_of_a_burst_is_lost_and_not_hidden_by_the_pause_behind_it() {
    assert_eq!(verdict(&bursts(31 * 20 * MS), false, Some(3)), []);
    // A silence that is longer than the pauses may be a hole, and one that packets must have passed is.
    assert_eq!(verdict(&bursts(34 * 20 * MS), false, Some(51)), [Verdict::Open]);
    assert_eq!(verdict(&bursts(31 * 20 * MS), true, None), [Verdict::Hole]);
}

/// The two ports of a TAP as two files take turns: only where the second one begins may something be missing. The files of a rotation have a border each.
#[test]
fn files_that_take_turns_have_no_borders() {
    let borders = |file: fn(i64) -> u32| {
        let mut silences = Silences::default();
        (0..1_000).for_each(|at| silences.see(at * MS, file(at)));
        silences.settle();
        silences.list.len()
    };
    assert_eq!(borders(|at| u32::from(at % 3 == 1)), 1);
    assert_eq!(borders(|at| (at / 100) as u32), 9);
}
