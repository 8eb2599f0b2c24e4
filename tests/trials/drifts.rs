//! Plans of loads between clocks that drift or do not: what is stated of a clock contains the truth, and no latency is less than no time.

use serde_json::Value;

use crate::bench::{Bench, Load, Made, Truth};
use crate::json;
use crate::support::items;

/// Loads of some sizes and rates, one every so many seconds.
fn plan(sizes: &[usize], rates: &[f64], every: f64) -> Vec<Load> {
    let each = sizes.iter().flat_map(|size| rates.iter().map(|fps| (*size, *fps)));
    each.zip(0_u32..).map(|((size, fps), k)| Load { at: 0.5 + f64::from(k) * every, fps, seconds: 2.0, size }).collect()
}

/// Sizes with rising loads each, one size with a load of another long after, and rising sizes of one rate.
fn plans() -> [(&'static str, Vec<Load>); 3] {
    let later = Load { at: 320.0, fps: 400.0, seconds: 2.0, size: 1_400 };
    [
        ("rising", plan(&[64, 512, 1_400], &[150.0, 450.0, 1_350.0], 12.0)),
        ("later", [plan(&[64], &[300.0, 900.0, 2_700.0], 8.0), vec![later]].concat()),
        ("sizes", plan(&[64, 128, 256, 512, 1_024, 1_280, 1_400], &[500.0], 8.0)),
    ]
}

/// A device that is faster the busier it is, as processors that sleep and network cards that wait for more packets are.
fn device(loads: &[Load], drift: u64) -> Bench {
    let bench = Bench {
        per_packet: 120_000,
        per_octet: 8,
        quicker: 25_000,
        wobble: 3,
        delay: 20_000,
        drift,
        ..Bench::default()
    };
    // Even times would be coarse stamps.
    let bench = Bench { jitter: 30_000, ..bench };
    Bench { loads: loads.to_vec(), offsets: [0, 3_000_000], ..bench }
}

fn later(loads: &[Load], by: f64) -> Vec<Load> {
    loads.iter().map(|load| Load { at: load.at + by, ..*load }).collect()
}

/// By how much the times of the exit may be wrong, where what is stated of its clock contains the truth.
#[track_caller]
fn stated(report: &Value, drift: u64, case: &str) -> f64 {
    let exit = &report["taps"][2];
    let told = exit["clock_drift_ppm"].as_f64().unwrap_or_else(|| panic!("{case}: {exit:#}"));
    let error = exit["clock_drift_uncertainty_ppm"].as_f64().expect("an error");
    assert!((told - drift as f64).abs() <= error && error < 1.5, "{case}: {told} ppm, to within {error}");
    assert_eq!(items(exit, "undetermined").len(), 0, "{case}: {exit:#}");
    exit["clock_uncertainty_ns"].as_f64().expect("an uncertainty")
}

/// Latencies of a direction against the truth; `more`: what the clocks make of it.
#[track_caller]
fn latencies(report: &Value, direction: &str, truth: &[Truth], more: f64, (within, case): (f64, &str)) {
    let trials: Vec<&Value> = items(report, "trials").iter().filter(|own| own["direction"] == direction).collect();
    assert_eq!(trials.len(), truth.len(), "{case}: {:#?}", report["trials"]);
    for (trial, truth) in trials.iter().zip(truth) {
        let figure =
            |name: &str| trial[name].as_f64().unwrap_or_else(|| panic!("{case}: {name}: {}", trial["undetermined"]));
        assert!(figure("latency_min_ns") >= -within - 1_000.0, "{case}: {}", trial["latency_min_ns"]);
        let p50 = figure("latency_p50_ns");
        assert!((p50 - truth.p50 - more).abs() <= within + 6_000.0, "{case}: {p50}, not {}", truth.p50 + more);
    }
}

/// The least latency of all packets of a direction.
fn least(report: &Value) -> f64 {
    let all = items(report, "trials").iter().filter_map(|trial| trial["latency_min_ns"].as_f64());
    all.fold(f64::INFINITY, f64::min)
}

#[test]
fn clocks_under_loads_of_both_directions() {
    for (name, loads) in plans() {
        for (drift, shift) in [(0, 1.3e-5), (5, 0.02), (20, 1.3e-5), (50, 0.02)] {
            let case = format!("{name}, {drift} ppm, both ways, {shift} s");
            let back = Bench { reverse: true, ..device(&later(&loads, shift), drift) };
            let (made, truth): (Made, Vec<Truth>) =
                device(&loads, drift).with(&back, &format!("trials-drift-both-{name}-{drift}"));
            let report = json(&made.clocks(), &[]);
            let within = stated(&report, drift, &case);
            latencies(&report, "fwd", &made.truth, 0.0, (within, &case));
            latencies(&report, "rev", &truth, 0.0, (within, &case));
        }
    }
}

#[test]
fn clocks_under_loads_of_one_direction() {
    for (name, loads) in plans() {
        for (drift, constant) in [(0, false), (0, true), (5, true), (20, false), (50, true)] {
            let case = format!("{name}, {drift} ppm, one way, {constant}");
            let bench = Bench { constant, ..device(&loads, drift) };
            let made = bench.make(&format!("trials-drift-one-{name}-{drift}-{constant}"));
            let report = json(&made.clocks(), &[]);
            let within = stated(&report, drift, &case);
            assert!(least(&report) < 1_000.0 + within, "{case}");
            // The least latency is taken for zero: that of an awake device, without the wobble.
            let fastest = made.truth.iter().map(|own| own.p50).fold(f64::INFINITY, f64::min);
            latencies(&report, "fwd", &made.truth, -fastest, (within, &case));
        }
    }
}

/// Loads at the rate of a link, and a next link that is some ppm slower: a queue grows at one pace in each of them, and is empty behind it. Sizes of one
/// rate, sizes that fill the link, rising as tests go through them, and one load three times.
#[test]
fn loads_at_the_rate_of_a_link_are_no_drift() {
    /// Of 2 Mbit/s, and of any size.
    const LINKS: [(u64, u64); 2] = [(280_000, 4_000), (1_000_000, 0)];
    let sizes = [64, 512, 1_400];
    let mut cases = vec![("equal", LINKS[1], vec![512; 3], 15.0, 3.000_137)];
    for every in [4.000_137, 12.000_137] {
        cases.extend([
            ("sizes", LINKS[1], sizes.to_vec(), 30.0, every),
            ("rising", LINKS[0], sizes.to_vec(), 30.0, every),
        ]);
    }
    for (case, (per_packet, per_octet), sizes, ppm, every) in cases {
        let load = |(k, size): (u32, usize)| {
            let fps = 1e9 / (per_packet + per_octet * size as u64) as f64 * (1.0 + ppm * 1e-6);
            Load { at: 0.5 + f64::from(k) * every, fps, seconds: every.min(5.0) - 1.0, size }
        };
        let loads = (0_u32..).zip(sizes).map(load).collect();
        let bench = Bench { loads, per_packet, per_octet, room: 1_000, delay: 20_000, ..Bench::default() };
        let report = json(&bench.make("trials-drift-line").clocks(), &[]);
        let exit = &report["taps"][2];
        let (told, error) = (exit["clock_drift_ppm"].as_f64(), exit["clock_drift_uncertainty_ppm"].as_f64());
        assert!(told.is_none_or(|told| told.abs() <= error.unwrap_or(0.0)), "{case} {every}: {exit:#}");
    }
}

/// Packets that are faster all along each load, and slow again in the next: that pace is the device's, and first packets tell the clock's.
#[test]
fn a_device_that_becomes_faster_in_each_load() {
    let (_, loads) = &plans()[0];
    for drift in [0, 20] {
        let case = format!("{drift} ppm");
        let made = Bench { warms: 10_000, ..device(loads, drift) }.make(&format!("trials-drift-warms-{drift}"));
        let report = json(&made.clocks(), &[]);
        let within = stated(&report, drift, &case);
        let fastest = made.truth.iter().map(|own| own.p50).fold(f64::INFINITY, f64::min);
        latencies(&report, "fwd", &made.truth, -fastest, (within + 20_000.0, &case));
    }
}
