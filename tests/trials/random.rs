//! Benches drawn at random: what is stated of a load is true of it, or it is open with a reason. Where nothing disturbs a bench, it is stated.

use serde_json::Value;

use crate::bench::{Bench, Carrier, Load, Truth};
use crate::support::build::{Noise, START};
use crate::support::items;
use crate::{json, reason};

const BENCHES: u64 = 24;
/// Benches beside them that nothing disturbs.
const CLEAN: u64 = 12;

fn drawn(seed: u64) -> Bench {
    let mut noise = Noise(seed);
    let mut one_of = |choices: &[u64]| choices[noise.below(choices.len() as u64) as usize];
    let size = one_of(&[64, 128, 300, 512]) as usize;
    let short = one_of(&[0, 0, 1]) == 1;
    let mut loads: Vec<Load> = Vec::new();
    let mut at = 0.2;
    for _ in 0..2 + one_of(&[0, 1, 2]) {
        let before = loads.last().map_or(0.0, |load: &Load| load.fps);
        let fps = loop {
            let fps = one_of(&[60, 200, 400, 700, 900, 1_080, 1_300, 1_600]) as f64;
            if (fps - before).abs() >= 0.15 * before {
                break fps;
            }
        };
        let seconds = one_of(&[14, 20, 31]) as f64 / 10.0;
        loads.push(Load { at, fps, seconds, size });
        at += seconds + if short { one_of(&[40, 200, 410]) } else { one_of(&[620, 900, 1_700]) } as f64 / 1_000.0;
    }
    let carriers = [Carrier::Esp, Carrier::Esp6, Carrier::AhEsp, Carrier::NatT, Carrier::Ah, Carrier::Ipip];
    Bench {
        loads,
        carrier: carriers[one_of(&[0, 0, 0, 1, 2, 3, 4, 5]) as usize],
        constant: one_of(&[0, 1, 1]) == 1,
        room: one_of(&[20, 60, 400, 2_000]) as usize,
        delay: one_of(&[20_000, 200_000, 5_000_000]),
        jitter: one_of(&[0, 0, 100_000, 900_000]),
        groups: one_of(&[1, 1, 1, 8]),
        wobble: one_of(&[0, 0, 5, 30]),
        loss: [one_of(&[0, 0, 0, 2_000, 20_000]), one_of(&[0, 0, 0, 2_000, 20_000])],
        late: [None, None, Some((97, 1_500_000))][one_of(&[0, 1, 2]) as usize],
        background: one_of(&[0, 1]) == 1,
        snap: [None, Some(60), Some(96)][one_of(&[0, 1, 2]) as usize],
        ports: one_of(&[1, 1, 8, 1_000]),
        micro: one_of(&[0, 1]) == 1,
        vlan: one_of(&[0, 0, 1]) == 1,
        ..Bench::default()
    }
}

/// The same without what leaves open what became of its packets.
fn undisturbed(seed: u64) -> Bench {
    let mut bench = Bench { loss: [0; 2], late: None, groups: 1, ..drawn(seed) };
    for k in 1..bench.loads.len() {
        let (before, at) = (bench.loads[k - 1], bench.loads[k].at);
        bench.loads[k].at = at.max(before.at + before.seconds + 0.62);
    }
    bench
}

/// Whether a figure is within a share of the truth, or within an amount of it.
fn is_near(found: &Value, want: f64, share: f64, amount: f64) -> bool {
    found.as_f64().is_some_and(|got| (got - want).abs() <= (share * want).max(amount))
}

/// What is false of a trial.
fn wrong(trial: &Value, truth: &Truth, bench: &Bench, short: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let lost = truth.sent - truth.received;
    let (counts, many) = if short { (0.02, 20.0) } else { (0.002, 2.0) };
    for (what, want) in [("received", truth.received), ("tunnelled", truth.tunnelled)] {
        if !trial[what].is_null() && !is_near(&trial[what], want as f64, counts, many) {
            wrong.push(format!("{what} is not {want}"));
        }
    }
    let even = if bench.groups > 1 || bench.jitter > 0 { 0.02 } else { 0.003 };
    if !is_near(&trial["offered_fps"], truth.fps, even, 0.5) {
        wrong.push(format!("offered_fps is not {}", truth.fps));
    }
    let forwarded = trial["forwarded_fps"].as_f64().unwrap_or(0.0).max(1.0);
    let (share, amount) = if lost > 0 { (0.06, 3e9 / forwarded) } else { (0.01, 1e5) };
    // Queues that are left inside are modelled.
    let (share, amount) = if short { (0.1, amount.max(6e9 / forwarded)) } else { (share, amount) };
    for (what, want) in [("latency_p50_ns", truth.p50), ("latency_max_ns", truth.max)] {
        if trial[what].is_null() {
            if reason(trial, "latency").is_none() {
                wrong.push(format!("{what} is open without a reason"));
            }
        } else if !is_near(&trial[what], want, share, amount) {
            wrong.push(format!("{what} is not {want}"));
        }
    }
    let state = trial["state"].as_str().unwrap_or_default();
    let random = bench.loss.iter().any(|part| *part > 0);
    if ["stalled", "silent"].contains(&state)
        || state == "lossy" && !random
        || state == "equal" && truth.fps > 1_020.0
        || state == "overloaded" && truth.fps < 900.0
    {
        wrong.push("its state".to_owned());
    }
    wrong
}

/// Whether nothing of a bench leaves open what became of its packets: none is lost but by a full queue, none overtakes another, and loads
/// are apart.
fn is_clean(bench: &Bench, short: bool) -> bool {
    bench.loss == [0, 0] && bench.late.is_none() && bench.groups == 1 && !short
}

/// Whether all that a clean bench shows of a load is stated.
fn is_stated(trial: &Value) -> bool {
    let figures = ["forwarded_fps", "latency_min_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns", "ratio"];
    figures.iter().all(|figure| trial[*figure].is_number()) && trial["state"] != "undetermined"
}

/// What is false of the throughput of a clean bench.
fn wrong_throughput(report: &Value, bench: &Bench) -> Option<String> {
    let passes = |load: &&Load| load.fps < 950.0;
    let best = bench.loads.iter().filter(passes).map(|load| load.fps).max_by(f64::total_cmp)?;
    let rows = items(report, "throughput").iter().filter(|row| row["trial_seconds"].is_number());
    let found = rows.filter_map(|row| row["equilibrium"]["fps"].as_f64()).max_by(f64::total_cmp);
    let above = found.is_some_and(|found| found > 1.02 * best && found < 1_020.0);
    let near = found.is_some_and(|found| (found - best).abs() <= 0.02 * best);
    (!near && !above).then(|| format!("the equilibrium is {found:?}, not {best}"))
}

/// Whether a segment that is no trial, and says why, holds the middle of a load.
fn is_segment(report: &Value, begin: f64, seconds: f64) -> bool {
    items(report, "segments").iter().any(|own| {
        let (start, length) = (own["start_ns"].as_f64().unwrap_or(0.0) / 1e9, own["seconds"].as_f64().unwrap_or(0.0));
        (start..=start + length).contains(&(begin + seconds / 2.0))
            && own["why"].as_str().is_some_and(|why| !why.is_empty())
    })
}

#[test]
fn what_is_stated_of_benches_at_random_is_true() {
    let (mut all, mut left) = (Vec::new(), 0);
    let (mut clean, mut stated) = (0, 0);
    for seed in 1..=BENCHES + CLEAN {
        let bench = if seed <= BENCHES { drawn(seed) } else { undisturbed(seed) };
        let made = bench.make(&format!("trials-random-{seed}"));
        let report = json(&made.all(), &[]);
        let trials = items(&report, "trials");
        let mut false_of = |what: String| all.push(format!("{seed}: {what} ({bench:?})"));
        let short = bench.loads.windows(2).any(|two| two[1].at - two[0].at - two[0].seconds < 0.5);
        let is_clean = is_clean(&bench, short);
        if is_clean && let Some(what) = wrong_throughput(&report, &bench) {
            false_of(what);
        }
        clean += bench.loads.len() * usize::from(is_clean);
        for (load, truth) in bench.loads.iter().zip(&made.truth) {
            let begin = START as f64 / 1e9 + load.at;
            let is_this = |own: &&Value| {
                own["start_ns"].as_f64().is_some_and(|start| (start / 1e9 - begin).abs() < 0.1)
                    && is_near(&own["seconds"], load.seconds, 0.03, 0.1)
            };
            match trials.iter().find(is_this) {
                Some(trial) => {
                    stated += usize::from(is_clean && is_stated(trial));
                    for what in wrong(trial, truth, &bench, short) {
                        false_of(format!("{what}: {trial}"));
                    }
                }
                // No trial is an answer, too, where it says why.
                None if is_segment(&report, begin, load.seconds) => left += 1,
                None => false_of(format!("{load:?} was not found: {:#?}", report["segments"])),
            }
        }
        for trial in trials {
            let is_of = |load: &Load| {
                (trial["start_ns"].as_f64().unwrap_or(0.0) / 1e9 - START as f64 / 1e9 - load.at).abs() < 0.1
            };
            if !bench.loads.iter().any(is_of) {
                false_of(format!("no load began with {trial}"));
            }
        }
    }
    assert!(left <= 3, "{left} loads are no trials");
    // Going silent is no way to be right.
    assert!(clean >= 20 && stated * 20 >= clean * 19, "of {clean} loads {stated} have their figures");
    assert!(all.is_empty(), "{} false: {}", all.len(), all.join("\n"));
}
