//! `spiglass match` on random loads whose truth is known: no false loss, rows above 0.9 right, intervals that hold the truth.
//!
//! `SPIGLASS_SCENARIOS=N` runs N scenarios, `SPIGLASS_SEED=S` from seed S on, each with up to `SPIGLASS_TROUBLES=T` troubles (holes in a
//! capture, an outage, a clock that is set, a new SA, ...) at once; a failure names the seed of its scenario.

mod frames;
mod holes;
mod left_open;
mod scenario;
mod schedule;
mod traffic;
mod trip;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::threads::each;
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};
use scenario::{Scenario, Transform, Unusual};
use schedule::ahead;
use serde_json::Value;
use traffic::{Made, Seen, make};
use trip::Truth;

const HEADER: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,\
delay_ns,basis,confidence,plain_time_ns,tunnel_time_ns";

/// Scenarios with a trouble in which a few pairs next to the place where the order was lost are still wrong above 0.9: one size or IMIX at a
/// random pace, whose jitter is near the distance of packets.
const OPEN: [u64; 3] = [15, 23, 105];
/// Troubles of a scenario, unless `SPIGLASS_TROUBLES` says how many.
const TROUBLES: usize = 1;

/// Scenarios beyond the usual ones, each of which brought a false claim once: equal packets seen by two clocks, timestamps of whole seconds,
/// the beginning of a direction that is not known yet, holes in the plain capture, a clock that is set, pairs before the first that is proved,
/// losses that the exit contradicts, flows called outside because of packets from before the tunnel's capture or because the tap shows one
/// direction only, holes that a shifted alignment steps over, lanes that timestamps of milliseconds do not tell apart; a shift by bursts whose
/// rivals were looked for with less luck, packets without equals among equal ones, a hole behind the first frame of a capture; holes that timestamps
/// of seconds hide, equal packets where one capture begins inside the other, flows of which few packets were found, a hole that only the exit proves,
/// lost packets that were paired with packets from before the plain capture, equal packets at random that were called copies.
const ONCE_FALSE: [u64; 130] = [
    1_070_105, 1_110_459, 10052, 10098, 10212, 10355, 10534, 10602, 10704, 10716, 20069, 20171, 20189, 20272, 20325,
    30012, 30204, 30313, 60116, 60200, 60261, 60267, 60282, 60416, 60428, 60537, 60595, 60609, 60671, 60795, 60798,
    70165, 200329, 200335, 201254, 201264, 300079, 300125, 300286, 300551, 300766, 300987, 300999, 301570, 302424,
    303385, 320033, 320326, 321255, 404185, 405477, 405862, 406164, 408198, 408237, 409322, 409612, 410406, 410563,
    410727, 411478, 411487, 411787, 412411, 400233, 500753, 500792, 500956, 502355, 502907, 503225, 503609, 504219,
    607766, 607951, 608978, 610595, 602797, 604288, 611908, 615996, 602516, 604351, 605635, 610755, 612327, 613466,
    614037, 700430, 700575, 702554, 703049, 711805, 713181, 715275, 808589, 900034, 900068, 900207, 909999, 920963,
    921816, 922256, 923604, 925454, 925464, 709180, 709260, 923108, 925715, 931316, 932454, 705975, 921617, 960660,
    952114, 961192, 970274, 970799, 961557, 981919, 990871, 990364, 992340, 1_700_410, 1_703_903, 1_962_046, 1_964_189,
    1_964_815, 1_990_525,
];
/// Unusual scenarios in which pairs above 0.9 are wrong, of directions whose loss is undetermined: packets of one size at a random pace, some of which
/// overtake others before they are numbered.
const OVERTAKEN: [u64; 1] = [63];

/// Scenarios that were written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// The captures of a scenario.
struct Files {
    plain: PathBuf,
    tunnel: PathBuf,
    exit: PathBuf,
}

fn write(scenario: &Scenario, made: &Made) -> Files {
    // Tests run at the same time.
    let dir = scratch(&format!("claims-random-{}", WRITTEN.fetch_add(1, Ordering::Relaxed) % 64));
    let capture = |name: &str, side: &[Seen], ahead: &dyn Fn(u64) -> i64| capture(scenario, &dir, name, side, ahead);
    Files {
        plain: capture("plain.pcap", &made.plain, &|_| 0),
        tunnel: capture("tunnel.pcap", &made.tunnel, &|ns| ahead(scenario, made.span, ns)),
        exit: capture("exit.pcap", &made.exit, &|_| 0),
    }
}

/// One capture file, by a clock that is ahead.
fn capture(scenario: &Scenario, dir: &Path, name: &str, side: &[Seen], ahead: &dyn Fn(u64) -> i64) -> PathBuf {
    let step = scenario.step_ns;
    let stamp = |ns: u64| (ns as i64 + ahead(ns)) as u64 / step * step;
    let frames: Vec<Out> = side.iter().map(|seen| Out::whole(stamp(seen.ns), seen.data.clone())).collect();
    write_file(dir, name, &pcap(&frames, ETHERNET, Order::Little, Step::Nano))
}

/// What rows of pairs come to.
#[derive(Default, Debug)]
struct Rows {
    /// By class of confidence: rows, and right ones.
    classes: BTreeMap<&'static str, (u64, u64)>,
}

impl Rows {
    fn add(&mut self, confidence: f64, right: bool) {
        let class = match confidence {
            above if above > 0.9 => "> 0.9",
            above if above > 0.7 => "> 0.7",
            above if above > 0.5 => "> 0.5",
            _ => "<= 0.5",
        };
        let (rows, good) = self.classes.entry(class).or_default();
        *rows += 1;
        *good += u64::from(right);
    }

    fn share(&self, class: &str) -> Option<f64> {
        self.classes.get(class).filter(|(rows, _)| *rows >= 200).map(|(rows, right)| *right as f64 / *rows as f64)
    }
}

fn words<'w>(scenario: &Scenario, files: &'w Files) -> Vec<&'w str> {
    let path = |path: &'w Path| path.to_str().expect("a path of text");
    let (plain, tunnel) = if scenario.swapped { (&files.tunnel, &files.plain) } else { (&files.plain, &files.tunnel) };
    let mut words = vec!["match", "-q", "--plain", path(plain), "--tunnel", path(tunnel)];
    if scenario.exit {
        words.extend(["--exit", path(&files.exit)]);
    }
    if scenario.one_clock {
        words.push("--one-clock");
    }
    words
}

/// Way of an SA: 1 there, 2 back.
fn way(direction: &Value) -> u32 {
    let sa = text(direction, "sa");
    let spi = sa.rsplit_once("0x").and_then(|(_, spi)| u32::from_str_radix(spi, 16).ok()).unwrap_or(0);
    spi >> 12
}

/// Whether a number of lost packets is what was lost, give or take those of which either may be said.
fn holds(claimed: f64, lost: u64, edge: u64) -> bool {
    let slack = if lost == 0 && edge == 0 { 0.0 } else { 2.0 + 0.1 * lost as f64 };
    claimed >= lost as f64 - slack && claimed <= (lost + edge) as f64 + slack
}

/// The claims of a report that are false.
fn false_claims(scenario: &Scenario, made: &Made, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut claimed: BTreeMap<u32, (f64, f64, bool)> = BTreeMap::new();
    for own in items(report, "directions") {
        let way = way(own);
        let sum = claimed.entry(way).or_default();
        match own["loss_pct"].as_f64() {
            Some(loss) => {
                let matched = number(own, "matched") as f64;
                // Without pairs the numbers alone say what was lost.
                sum.0 += if matched > 0.0 {
                    loss * matched / (100.0 - loss).max(1e-9)
                } else {
                    own["lost_before_tunnel"].as_f64().unwrap_or(0.0)
                };
                sum.1 += own["lost_behind_tunnel"].as_f64().filter(|_| way == 1).unwrap_or(0.0);
            }
            None => sum.2 = true,
        }
        wrong.extend(clock_claims(scenario, made, own).into_iter().map(|claim| format!("{way}: {claim}")));
        wrong.extend(latency_claim(scenario, made, own));
        if scenario.unusual == Unusual::Unrelated && !own["loss_pct"].is_null() {
            wrong.push(format!("{way}: a loss of packets that have nothing to do with the tunnel"));
        }
        // What is absent has its reason, and only that.
        if own["latency_ns"]["p50"].is_null() == own["latency_why"].is_null() {
            wrong.push(format!("{way}: latency {} for the reason {}", own["latency_ns"], own["latency_why"]));
        }
        let told = text(own, "way");
        if (told == "encapsulated" && way == 2) || (told == "decapsulated" && way != 2) {
            wrong.push(format!("{way}: {told}"));
        }
    }
    // Only one flow goes elsewhere.
    let inside = |row: &&Value| !text(row, "dst").ends_with(".0.9") && !text(row, "dst").ends_with("::9");
    for row in items(report, "outside").iter().filter(inside).filter(|row| number(row, "packets") > 8) {
        wrong.push(format!("outside the tunnel: {row}"));
    }
    let none = Truth::default();
    for (way, (lost, behind, open)) in claimed {
        let truth = made.truth.get(&way).unwrap_or(&none);
        if !open && !holds(lost, truth.lost, truth.edge) {
            wrong.push(format!("{way}: {lost:.1} lost, {} of {} are", truth.lost, truth.sent));
        }
        if open && lost > (truth.lost + truth.edge) as f64 * 1.1 + 2.0 {
            wrong.push(format!("{way}: {lost:.1} lost and others open, {} are", truth.lost));
        }
        if scenario.exit && !open && behind > (truth.lost_behind + truth.edge + truth.edge_behind) as f64 * 1.1 + 2.0 {
            wrong.push(format!("{way}: {behind} lost behind, {} of {} are", truth.lost_behind, truth.passed));
        }
    }
    wrong.extend(transform_claims(scenario, report));
    wrong.extend(named_claim(made, report));
    let drops = scenario.lost_before + scenario.lost_after + scenario.lost_behind > 0 || scenario.outage.is_some();
    let lossless = !drops && made.truth.values().all(|truth| truth.lost == 0 && truth.edge == 0);
    let findings = items(report, "findings").iter().filter(|finding| text(finding, "code").starts_with("match-loss"));
    wrong.extend(findings.filter(|_| lossless).map(|finding| text(finding, "evidence").to_owned()));
    wrong
}

/// Packets that are named as lost before the tunnel although its capture shows most of them.
fn named_claim(made: &Made, report: &Value) -> Option<String> {
    /// A few next to a place where the order was lost, as of rows above 0.9 (301570, 604351).
    const FEW: u64 = 4;
    let shown: BTreeSet<(u32, u64)> = made.tunnel.iter().map(|seen| seen.packet).collect();
    let sure = items(report, "lost")
        .iter()
        .filter(|lost| lost["verdict"] == "before-tunnel" && lost["confidence"].as_f64().expect("a confidence") > 0.9);
    let (mut all, mut wrong) = (0, 0);
    for lost in sure {
        let packet = made.plain[number(lost, "frame.frame") as usize - 1].packet;
        all += 1;
        wrong += u64::from(packet.0 > 0 && shown.contains(&packet));
    }
    (wrong > FEW && wrong * 2 > all).then(|| format!("{wrong} of {all} packets named as lost are in the tunnel"))
}

/// Modes and parts of the overhead that no packet has.
fn transform_claims(scenario: &Scenario, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mode = if scenario.transport { "transport" } else { "tunnel" };
    for own in items(report, "directions") {
        let told = text(own, "mode");
        if told != "unknown" && told != mode && scenario.unusual != Unusual::Unrelated {
            wrong.push(format!("{}: {told} mode: {}", way(own), own["transform"]));
        }
    }
    let transforms = [Some(scenario.transform), scenario.unusual.rekeyed()];
    for row in items(report, "sizes").iter().filter(|row| !row["parts"].is_null()) {
        let part = |name: &str| row["parts"][name].as_f64().expect("a part of the overhead");
        let is_own = |own: &Transform| part("iv") == own.iv as f64 && part("icv") == own.icv as f64;
        if part("esp_header") > 0.0 && !transforms.iter().flatten().any(is_own) {
            wrong.push(format!("{}: parts {}", way(row), row["parts"]));
        }
    }
    let whole = [Unusual::Nothing, Unusual::Translated, Unusual::Voice];
    let plain = scenario.mtu.is_none() && (whole.contains(&scenario.unusual) || scenario.unusual.rekeyed().is_some());
    for row in items(report, "sizes").iter().filter(|row| plain && !row["overhead_min_bytes"].is_null()) {
        let makes = |told: i64| {
            transforms.iter().flatten().any(|own| own.overhead(scenario, number(row, "inner_bytes")) == told)
        };
        let told = ["overhead_min_bytes", "overhead_max_bytes"].map(|name| row[name].as_i64().expect("octets"));
        if !told.into_iter().all(makes) {
            wrong.push(format!("{}: overhead {row}", way(row)));
        }
    }
    wrong
}

/// False claims about the clocks, and times before the cause.
fn clock_claims(scenario: &Scenario, made: &Made, own: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let clock = &own["clock"];
    let step = scenario.step_ns as i64 + 2_000;
    if let Some(offset) = clock["offset_ns"].as_i64().filter(|_| clock["basis"] == "both-directions") {
        // Stated without its uncertainty it claims to be exact.
        let within = clock["uncertainty_ns"].as_i64().unwrap_or(0);
        let shown = (0..=1_000).map(|share| ahead(scenario, made.span, schedule::place(made.span, share)));
        let (low, high) = shown.fold((i64::MAX, i64::MIN), |(low, high), own| (low.min(own), high.max(own)));
        if offset + within + step < low || offset - within - step > high {
            wrong.push(format!("offset {offset} +- {within}, it is {low} to {high}"));
        }
    }
    if let (Some(ppm), Some(within)) = (clock["drift_ppm"].as_f64(), clock["drift_uncertainty_ppm"].as_f64())
        && clock["basis"] != "one-clock"
        && scenario.set.is_none()
    {
        let slewed = if let Unusual::Slewed(_, more) = scenario.unusual { more as f64 } else { 0.0 };
        let (low, high) = (scenario.drift_ppm + slewed.min(0.0), scenario.drift_ppm + slewed.max(0.0));
        if ppm + within + 0.5 < low || ppm - within - 0.5 > high {
            wrong.push(format!("drift {ppm} +- {within}, it is {low} to {high}"));
        }
    }
    let within = clock["uncertainty_ns"].as_i64().unwrap_or(0);
    if let Some(least) = own["latency_ns"]["min"].as_i64().filter(|least| *least < -within - step) {
        wrong.push(format!("latency {least} +- {within}"));
    }
    wrong
}

/// A latency that no packet had.
fn latency_claim(scenario: &Scenario, made: &Made, own: &Value) -> Option<String> {
    let clock = &own["clock"];
    let known = clock["basis"] == "one-clock" || clock["basis"] == "both-directions";
    let within = clock["uncertainty_ns"].as_i64().filter(|_| known)? + 2 * scenario.step_ns as i64 + 2_000;
    let (least, most) = made.truth.get(&way(own))?.apart?;
    let claimed = own["latency_ns"]["p50"].as_i64()?;
    // Quantiles are known to one part in 256.
    let within = within + claimed.abs() / 256;
    let is_right = claimed >= least as i64 - within && claimed <= most as i64 + within;
    (!is_right).then(|| format!("{}: latency {claimed} +- {within}, it is {least} to {most}", way(own)))
}

/// Rows of pairs of a scenario, and which of them are right.
fn count_rows(rows: &mut Rows, made: &Made, words: &[&str]) {
    for row in spiglass(&[words, &["--format", "csv"]].concat()).expect(0).csv(HEADER) {
        let frame = |column: &str| row.get(column).parse::<usize>().expect("a frame") - 1;
        let (near, far) = (&made.plain[frame("plain_frame")], &made.tunnel[frame("tunnel_frame")]);
        let right = near.packet == far.packet && near.packet.0 > 0;
        if std::env::var_os("SPIGLASS_ROWS").is_some() {
            println!(
                "ROW {:?} {:?} {} {} {}",
                near.packet,
                far.packet,
                row.get("confidence"),
                row.get("inner_bytes"),
                far.ns - near.ns.min(far.ns)
            );
        }
        rows.add(row.get("confidence").parse().expect("a confidence"), right);
    }
}

/// What a number of scenarios come to.
#[derive(Default)]
struct Outcome {
    rows: Rows,
    /// False claims.
    wrong: Vec<String>,
    scenarios: u64,
    /// Scenarios whose packets differ enough, and those of them without pairs.
    clear_cut: u64,
    silent: BTreeSet<u64>,
}

impl Outcome {
    fn of(seeds: &[u64], scenario: impl Fn(u64) -> Scenario + Sync) -> Self {
        let mut all = Self::default();
        for own in each(seeds, |seed| {
            let mut own = Self::default();
            own.add(&scenario(*seed));
            own
        }) {
            all.wrong.extend(own.wrong);
            all.silent.extend(own.silent);
            all.scenarios += own.scenarios;
            all.clear_cut += own.clear_cut;
            for (class, (rows, right)) in own.rows.classes {
                let sum = all.rows.classes.entry(class).or_default();
                *sum = (sum.0 + rows, sum.1 + right);
            }
        }
        all
    }

    fn add(&mut self, scenario: &Scenario) {
        self.scenarios += 1;
        let (seed, verbose) = (scenario.seed, std::env::var_os("SPIGLASS_VERBOSE").is_some());
        let made = make(scenario);
        let files = write(scenario, &made);
        let words = words(scenario, &files);
        let report = spiglass(&[&words[..], &["--format", "json"]].concat()).expect(0).json();
        if scenario.swapped {
            let named = items(&report, "findings").iter().any(|finding| finding["code"] == "match-swapped");
            if number(&report, "pairs.matched") > 0 || !(named || made.plain.is_empty() || made.tunnel.is_empty()) {
                self.wrong.push(format!("swapped sides make pairs or are not named\n    {scenario:?}"));
            }
            return;
        }
        let mut own = false_claims(scenario, &made, &report);
        self.clear_cut += u64::from(scenario.is_clear_cut());
        if number(&report, "pairs.matched") == 0 && scenario.is_clear_cut() {
            self.silent.insert(seed);
        }
        assert!(at(&report, "pairs.undetermined_plain").is_u64());
        let mut few = Rows::default();
        count_rows(&mut few, &made, &words);
        for (class, (all, right)) in few.classes {
            if verbose && class != "<= 0.5" && right < all {
                println!("seed {seed}: {right} of {all} rows {class}");
            }
            let least =
                if OVERTAKEN.contains(&seed) && matches!(scenario.unusual, Unusual::Priority(..)) { 85 } else { 98 };
            if class == "> 0.9" && right * 100 < all * least && !(OPEN.contains(&seed) && right + 8 > all) {
                own.push(format!("{right} of {all} rows above 0.9 are right"));
            }
            let sum = self.rows.classes.entry(class).or_default();
            *sum = (sum.0 + all, sum.1 + right);
        }
        if verbose {
            own.iter().for_each(|claim| println!("seed {seed}: {claim}"));
            let told =
                |own: &Value| format!("{}:{}", way(own), if own["loss_pct"].is_null() { "open" } else { "told" });
            let directions: Vec<String> = items(&report, "directions").iter().map(told).collect();
            println!("seed {seed}: {} {:?}", directions.join(" "), scenario.unusual);
        }
        self.wrong.extend(own.into_iter().map(|claim| format!("{claim}\n    {scenario:?}")));
    }

    fn expect_no_false_claim(&self) {
        let Self { rows, wrong, scenarios, clear_cut, silent } = self;
        println!(
            "{scenarios} scenarios, {} false claims, {} of {clear_cut} without pairs {silent:?}; {:?}",
            wrong.len(),
            silent.len(),
            rows.classes
        );
        assert!(wrong.is_empty(), "{} false claims:\n{}", wrong.len(), wrong.join("\n"));
        for (class, least) in [("> 0.9", 0.995), ("> 0.7", 0.7), ("> 0.5", 0.5)] {
            let share = rows.share(class);
            assert!(share.is_none_or(|share| share >= least), "{class}: {share:?} of the rows are right");
        }
    }
}

/// Unusual loads that once brought a false claim: addresses that are translated and packets that are fragmented before encryption, so that the exit
/// shows others; dummies in clear, packets sent again, several SAs, whose numbers were given to the last one; priorities, queues that fill, and frames
/// out of order, whose pairs or lost packets were too sure; one size both ways through queues that fill at the same time.
const UNUSUAL_ONCE_FALSE: [u64; 64] = [
    1_040_120, 950086, 950196, 950213, 950389, 950769, 951213, 951217, 951549, 951586, 951659, 951875, 952035, 952051,
    952067, 960225, 961258, 961502, 961563, 961838, 962000, 962115, 962170, 962346, 962403, 962439, 950008, 950275,
    950898, 950954, 951117, 951128, 951553, 951664, 951727, 951825, 952030, 952146, 952453, 952473, 970034, 970453,
    970549, 970551, 970807, 970850, 971011, 971268, 971624, 971774, 971840, 980202, 980514, 980573, 980728, 981582,
    981676, 990759, 1000789, 1_400_708, 1_610_637, 1_923_026, 1_970_214, 1_981_552,
];

/// A number from the environment.
fn wanted(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

#[test]
fn random_loads_bring_no_false_claim() {
    let (scenarios, first) = (wanted("SPIGLASS_SCENARIOS").unwrap_or(200), wanted("SPIGLASS_SEED").unwrap_or(1));
    let troubles = wanted("SPIGLASS_TROUBLES").map_or(TROUBLES, |troubles| troubles as usize);
    let once_false = ONCE_FALSE.into_iter().filter(|_| first == 1);
    let seeds: Vec<u64> = (first..first + scenarios).chain(once_false).collect();
    let outcome = Outcome::of(&seeds, |seed| Scenario::random(seed, troubles));
    outcome.expect_no_false_claim();
    // Saying nothing is no way out: sizes that differ decide.
    let Outcome { clear_cut, silent, .. } = outcome;
    assert!(silent.len() as u64 * 5 <= clear_cut.max(5), "{} of {clear_cut} have no pairs: {silent:?}", silent.len());
}

#[test]
fn unusual_loads_bring_no_false_claim() {
    let (scenarios, first) = (wanted("SPIGLASS_SCENARIOS").unwrap_or(68), wanted("SPIGLASS_SEED").unwrap_or(1));
    let once_false = UNUSUAL_ONCE_FALSE.into_iter().filter(|_| first == 1);
    let seeds: Vec<u64> = (first..first + scenarios).chain(once_false).collect();
    let outcome = Outcome::of(&seeds, Scenario::unusual);
    outcome.expect_no_false_claim();
}
