//! Equal packets, and devices that drop by other rules than a full queue of each direction: what is stated of them is true, or it is open.

use serde_json::Value;

use crate::bench::Load;
use crate::device::{Device, Rule, Waited};
use crate::support::build::START;
use crate::support::items;
use crate::{json, reason};

const fn load(at: f64, fps: f64, seconds: f64) -> Load {
    Load { at, fps, seconds, size: 128 }
}

fn device(rule: Rule, room: usize, seed: u64) -> Device {
    Device { service: 1_000_000, wobble: 3, room, rule, delay: 200_000, told: false, seed }
}

/// Figures of latency and queue that follow from which packets were dropped.
const MODELLED: [&str; 4] = ["latency_p50_ns", "latency_p99_ns", "latency_max_ns", "backlog_max_frames"];

/// Compares each load with the truth: counts always; figures that rest on which packets were dropped are true or open. How many loads with loss
/// have them, of how many.
#[track_caller]
fn compare(report: &Value, truth: &[Waited]) -> (usize, usize) {
    let (mut stated, mut lossy) = (0, 0);
    for own in truth {
        let begin = START as f64 / 1e9 + own.at;
        let is_this = |trial: &&Value| {
            (trial["direction"] == "rev") == own.reverse
                && trial["start_ns"].as_f64().is_some_and(|start| (start / 1e9 - begin).abs() < 0.05)
        };
        let trial = items(report, "trials").iter().find(is_this).unwrap_or_else(|| panic!("no trial of {own:?}"));
        assert_eq!((&trial["sent"], &trial["received"]), (&own.sent.into(), &own.received.into()), "{trial}");
        let lost = own.sent > own.received;
        lossy += usize::from(lost);
        let frame = 1e9 / trial["forwarded_fps"].as_f64().unwrap_or(1.0);
        let wants = [own.p50, own.p99, own.max, own.backlog];
        let open = MODELLED.iter().filter(|figure| trial[**figure].is_null()).count();
        assert!(open == 0 || open == MODELLED.len(), "{trial}");
        if open > 0 {
            let why = reason(trial, "latency").expect("it says why");
            assert!(["queue-unclear", "association-unclear", "no-idle-packet"].contains(&why), "{trial}");
            assert!(why != "queue-unclear" || reason(trial, "backlog_max_frames") == Some(why), "{trial}");
            assert!(trial["latency_modelled"] == false && trial["buffer_frames"].is_null(), "{trial}");
        } else {
            stated += usize::from(lost);
            for (figure, want) in MODELLED.iter().zip(wants) {
                let got = trial[*figure].as_f64().expect("a figure");
                let backlog = *figure == "backlog_max_frames";
                let few = if backlog { 3.0 } else { 3.0 * frame };
                let share = if backlog { 0.05 } else { 0.06 };
                assert!((got - want).abs() <= few.max(share * want), "{figure} is {got}, not {want}: {trial}");
            }
        }
        let state = trial["state"].as_str().unwrap_or_default();
        assert!(!lost || ["overloaded", "undetermined"].contains(&state), "{trial}");
    }
    (stated, lossy)
}

/// Loads of both directions that begin and end together, or not, of equal rates, or not.
fn shapes() -> Vec<(&'static str, [Vec<Load>; 2])> {
    let both = |fwd: &[Load], rev: &[Load]| {
        // Loads that meet an idle device, not right behind each other.
        let with = |at: f64, own: &[Load]| {
            std::iter::once(load(at, 300.0, 1.2)).chain(own.iter().copied()).collect::<Vec<_>>()
        };
        [with(0.2, fwd), with(0.2013, rev)]
    };
    vec![
        ("same", both(&[load(3.0, 900.0, 2.0)], &[load(3.0, 900.0, 2.0)])),
        ("beat", both(&[load(3.0, 900.0, 2.0)], &[load(3.0003, 903.0, 2.0)])),
        ("unequal", both(&[load(3.0, 900.0, 2.0)], &[load(3.0, 600.0, 2.0)])),
        ("later", both(&[load(3.0, 1_200.0, 2.0)], &[load(3.7, 1_200.0, 2.0)])),
        ("within", both(&[load(3.0, 1_200.0, 3.0)], &[load(3.8, 700.0, 1.2)])),
        (
            "alone",
            both(
                &[load(3.0, 1_300.0, 1.5), load(9.0, 1_300.0, 1.5)],
                &[load(6.0, 1_300.0, 1.5), load(9.0, 1_300.7, 1.5)],
            ),
        ),
    ]
}

/// The order in which packets of both directions leave says which ones one queue let in: all figures are stated, and true.
#[test]
fn a_queue_that_both_directions_share() {
    for (name, [fwd, rev]) in shapes() {
        for (room, jitter) in [(20, 0), (60, 0), (60, 300_000)] {
            let made = device(Rule::Full, room, 3).make(
                [&fwd, &rev],
                jitter,
                &format!("trials-shared-queue-{name}-{room}-{jitter}"),
            );
            let (stated, lossy) = compare(&json(&made.0.all(), &[]), &made.1);
            assert!(lossy > 0 && stated == lossy, "{name} {room} {jitter}: {stated} of {lossy}");
        }
    }
}

/// Queues of their own that one processor serves in turn keep the figures of a full queue each, where the rate does not change in between.
#[test]
fn queues_of_their_own_that_one_processor_serves() {
    for (name, [fwd, rev]) in shapes() {
        let made = device(Rule::Rings, 60, 3).make([&fwd, &rev], 0, &format!("trials-rings-{name}"));
        let (stated, lossy) = compare(&json(&made.0.all(), &[]), &made.1);
        let all = ["same", "beat", "unequal", "alone"].contains(&name);
        assert!(lossy > 0 && stated > 0 && (!all || stated == lossy), "{name}: {stated} of {lossy}");
    }
}

/// Between the ends alone it is not known when packets of both directions are at the device: what does not fit is left open.
#[test]
fn a_queue_that_both_directions_share_without_a_tap_between() {
    for (name, [fwd, rev]) in shapes() {
        let (made, truth) =
            device(Rule::Full, 60, 3).make([&fwd, &rev], 200_000, &format!("trials-shared-ends-{name}"));
        let path = |path: &std::path::Path| path.to_str().expect("text").to_owned();
        let args =
            ["trials", "--format", "json", "--one-clock", "--in", &path(&made.plain), "--out", &path(&made.exit)];
        compare(&json(&args.map(str::to_owned), &[]), &truth);
    }
}

/// A device that drops at random holds another number of packets at the end of each load. Which of equal packets it dropped, nothing says.
#[test]
fn a_device_that_drops_at_random() {
    for seed in 1..=6 {
        for (name, to, weight) in [("wide", 120.0, 0.01), ("narrow", 60.0, 0.002), ("at-once", 90.0, 1.0)] {
            let rule = Rule::Random { from: 40.0, to, weight };
            let loads =
                [load(0.2, 500.0, 2.0), load(3.0, 1_250.0, 2.0), load(7.0, 1_500.0, 2.0), load(11.0, 1_900.0, 2.0)];
            let name = format!("trials-red-{name}-{seed}");
            let (made, truth) = device(rule, 200, seed).make([&loads, &[]], 0, &name);
            let report = json(&made.all(), &[]);
            let (stated, lossy) = compare(&report, &truth);
            assert_eq!((stated, lossy), (0, 3), "{name}: {:#}", report["trials"]);
            for trial in items(&report, "trials").iter().filter(|trial| trial["lost"] != 0) {
                // That it was overloaded, what it forwarded and how long it sent on is known without.
                assert_eq!(trial["state"], "overloaded", "{trial}");
                assert!(trial["drain_seconds"].is_number() && trial["latency_min_ns"].is_number(), "{trial}");
                assert_eq!(reason(trial, "buffer_frames"), Some("queue-unclear"), "{trial}");
            }
            let row = &report["throughput"][0];
            assert!(row["service_fps"].is_number() && row["equilibrium_bracket_fps"][1].is_number(), "{row}");
            assert_eq!(reason(row, "buffer_frames"), Some("queue-unclear"), "{row}");
            assert_eq!(reason(&report["buffers"][0], "unit"), Some("queue-unclear"), "{:#}", report["buffers"]);
        }
    }
}

/// The same in both directions at once.
#[test]
fn a_device_that_drops_packets_of_both_directions_at_random() {
    for seed in 1..=4 {
        let rule = Rule::Random { from: 40.0, to: 90.0, weight: 0.05 };
        let fwd = [load(0.2, 300.0, 1.2), load(3.0, 900.0, 2.0), load(7.0, 700.0, 2.0)];
        let rev = [load(0.2, 300.0, 1.2), load(3.0, 600.0, 2.0), load(7.0, 1_100.0, 1.8)];
        let (made, truth) = device(rule, 200, seed).make([&fwd, &rev], 100_000, &format!("trials-red-both-{seed}"));
        compare(&json(&made.all(), &[]), &truth);
        // Content tells which packets came out, whatever is in doubt at the tap between.
        let told = Device { told: true, ..device(rule, 200, seed) };
        let (made, truth) = told.make([&fwd, &rev], 100_000, &format!("trials-red-told-{seed}"));
        let (stated, lossy) = compare(&json(&made.all(), &[]), &truth);
        assert!(lossy > 0 && stated == lossy, "{seed}: {stated} of {lossy}");
    }
}

/// A full queue has one room, whatever the load: its figures stay.
#[test]
fn a_full_queue_under_several_loads() {
    for (room, wobble, jitter) in [(12, 0, 0), (60, 3, 300_000), (150, 30, 0), (400, 5, 800_000)] {
        let loads =
            [load(0.2, 500.0, 1.2), load(3.0, 1_080.0, 8.0), load(13.0, 1_300.0, 2.5), load(17.0, 1_900.0, 2.5)];
        let own = Device { wobble, ..device(Rule::Full, room, 5) };
        let (made, truth) = own.make([&loads, &[]], jitter, &format!("trials-one-room-{room}"));
        for loads in [made.all(), made.near()] {
            let report = json(&loads, &[]);
            for trial in items(&report, "trials").iter().skip(1) {
                assert!(trial["latency_max_ns"].is_number() && trial["backlog_max_frames"].is_number(), "{trial}");
            }
        }
        let (stated, lossy) = compare(&json(&made.all(), &[]), &truth);
        assert!(lossy >= 2 && stated == lossy, "{room}: {stated} of {lossy}");
    }
}
