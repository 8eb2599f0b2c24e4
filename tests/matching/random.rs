//! `spiglass match` on random loads whose truth is known: no false loss, rows above 0.9 right, intervals that hold the truth.
//!
//! `SPIGLASS_SCENARIOS=N` runs N scenarios; a failure names the seed of its scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::support::build::{self, Noise, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{at, items, number, scratch, spiglass, text, write_file};
use serde_json::Value;

const HEADER: &str = "plain_capture,plain_frame,tunnel_capture,tunnel_frame,sa,sequence,inner_bytes,outer_bytes,overhead_bytes,\
delay_ns,basis,confidence";
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 10);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 10);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 9);
const IMIX: &[u64] = &[40, 40, 40, 40, 40, 40, 40, 576, 576, 576, 576, 1_400];

/// How packets follow each other.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Every so many nanoseconds.
    Even(u64),
    /// At random, so many nanoseconds apart on the average.
    Random(u64),
    /// Eight at once.
    Bursts(u64),
}

/// How long they are.
#[derive(Clone, Copy, Debug)]
enum Size {
    One(u64),
    Imix,
    Any,
}

/// What protects them: block, IV, ICV; `None` leaves them in clear.
#[derive(Clone, Copy, Debug)]
struct Transform {
    block: u64,
    iv: u64,
    icv: u64,
    clear: bool,
}

/// What happens to packets.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    seed: u64,
    packets: u64,
    pace: Pace,
    size: Size,
    both_ways: bool,
    transform: Transform,
    delay_ns: u64,
    jitter_ns: u64,
    /// In per mille: lost in the gateway, and after it.
    lost_before: u64,
    lost_after: u64,
    /// Per mille of the packets in the tunnel that come twice.
    copies: u64,
    /// Per mille of the plaintext packets that go elsewhere.
    elsewhere: u64,
    /// Share of the time, in per mille, before and after which a side records nothing.
    plain_window: (u64, u64),
    tunnel_window: (u64, u64),
    one_clock: bool,
    ahead_ns: i64,
    drift_ppm: f64,
}

fn pick<T: Copy>(noise: &mut Noise, of: &[T]) -> T {
    of[noise.below(of.len() as u64) as usize]
}

impl Scenario {
    fn random(seed: u64) -> Self {
        let mut noise = Noise(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let n = &mut noise;
        let one_clock = n.below(3) == 0;
        let window = |n: &mut Noise| {
            if n.below(3) > 0 { (0, 1_000) } else { (n.below(300), 1_000 - n.below(300)) }
        };
        let gap = pick(n, &[100_000, 600_000, 1_000_000, 4_000_000, 20_000_000]);
        Self {
            seed,
            packets: 150 + n.below(650),
            pace: pick(n, &[Pace::Even(gap), Pace::Random(gap), Pace::Bursts(gap)]),
            size: pick(n, &[Size::One(200), Size::One(1_400), Size::Imix, Size::Any, Size::Any]),
            both_ways: n.below(2) == 0,
            transform: pick(
                n,
                &[
                    Transform { block: 16, iv: 16, icv: 12, clear: false },
                    Transform { block: 16, iv: 16, icv: 16, clear: false },
                    Transform { block: 8, iv: 8, icv: 12, clear: false },
                    Transform { block: 4, iv: 8, icv: 16, clear: false },
                    Transform { block: 4, iv: 0, icv: 12, clear: true },
                ],
            ),
            delay_ns: pick(n, &[20_000, 55_000, 270_000, 3_000_000, 20_000_000]),
            jitter_ns: pick(n, &[1_000, 8_000, 30_000, 300_000]),
            lost_before: pick(n, &[0, 0, 0, 10, 50]),
            lost_after: pick(n, &[0, 0, 0, 10, 50]),
            copies: pick(n, &[0, 0, 0, 30]),
            elsewhere: pick(n, &[0, 0, 0, 200]),
            plain_window: window(n),
            tunnel_window: window(n),
            one_clock,
            ahead_ns: if one_clock { 0 } else { pick(n, &[0, 1_500_000_000, -7_000_000_000, 3_600_000_000_000]) },
            drift_ppm: if one_clock { 0.0 } else { pick(n, &[0.0, 20.0, -50.0]) },
        }
    }

    fn lossless(&self) -> bool {
        self.lost_before == 0 && self.lost_after == 0
    }
}

/// A frame of one side, and the packet that it is.
struct Seen {
    ns: u64,
    data: Vec<u8>,
    packet: (u32, u64),
}

/// Both captures, and what is true of them.
#[derive(Default)]
struct Made {
    plain: Vec<Seen>,
    tunnel: Vec<Seen>,
    /// By SPI: packets that were lost between the taps.
    lost: BTreeMap<u32, u64>,
    sent: BTreeMap<u32, u64>,
}

/// UDP between ports that no protocol has, and noise.
fn inner_payload(noise: &mut Noise, bytes: u64) -> Vec<u8> {
    let length = u16::try_from(bytes - 20).expect("a datagram").to_be_bytes();
    let header = [&20_001_u16.to_be_bytes()[..], &20_002_u16.to_be_bytes(), &length, &[0, 0]].concat();
    [header, noise.bytes(bytes as usize - 28)].concat()
}

fn direction(scenario: &Scenario, noise: &mut Noise, spi: u32, encrypts: bool, made: &mut Made) {
    let (from, to) = if encrypts { (NEAR, FAR) } else { (FAR, NEAR) };
    let (gateway, peer) = if encrypts { (build::R1, build::R2) } else { (build::R2, build::R1) };
    let mut clock = START + 1_000_000 + noise.below(1_000_000);
    let mut number = 0;
    let first = noise.below(60_000) as u16;
    // A queue does not let packets overtake each other.
    let mut out = 0;
    for at in 0..scenario.packets {
        clock += match scenario.pace {
            Pace::Even(gap) => gap + noise.below(2_000),
            Pace::Random(gap) => {
                ((gap as f64) * -(1.0 - noise.below(1 << 30) as f64 / f64::from(1 << 30)).ln()) as u64 + 700
            }
            Pace::Bursts(gap) => {
                if at % 8 == 0 {
                    gap * 8
                } else {
                    12_000
                }
            }
        };
        let bytes = match scenario.size {
            Size::One(bytes) => bytes,
            Size::Imix => pick(noise, IMIX),
            Size::Any => 40 + noise.below(1_360),
        };
        let payload = inner_payload(noise, bytes);
        let id = first.wrapping_add(at as u16);
        let fresh = build::ipv4(from, to, 17, id, &payload);
        let routed = build::one_hop_further(&fresh);
        let packet = (spi, at);
        if encrypts && noise.below(1_000) < scenario.elsewhere {
            let beside = build::ipv4(from, ELSEWHERE, 17, id, &payload);
            made.plain.push(Seen { ns: clock, data: beside, packet: (0, at) });
            continue;
        }
        let jitter = noise.below(scenario.jitter_ns + 1);
        out = (clock + scenario.delay_ns + jitter).max(out + 1_000);
        let before = noise.below(1_000) < scenario.lost_before;
        let after = noise.below(1_000) < scenario.lost_after;
        let Transform { block, iv, icv, clear } = scenario.transform;
        let inner = if encrypts { &routed } else { &fresh };
        let pad = (block - (bytes + 2) % block) % block;
        let body = if clear {
            let pads: Vec<u8> = (1..=pad as u8).collect();
            [&inner[14..], &pads, &[pad as u8, 4], &noise.bytes(icv as usize)].concat()
        } else {
            noise.bytes((iv + bytes + pad + 2 + icv) as usize)
        };
        // Encrypting: plain tap, gateway (drops before it numbers), wire (drops after), tunnel tap. Decrypting the other way round.
        if encrypts && before {
            made.plain.push(Seen { ns: clock, data: fresh, packet });
            *made.lost.entry(spi).or_default() += 1;
            continue;
        }
        number += 1;
        let esp = build::esp(gateway, peer, spi, number, &body);
        let (plain_ns, tunnel_ns) = if encrypts { (clock, out) } else { (out, clock) };
        *made.sent.entry(spi).or_default() += 1;
        let (on_plain, on_tunnel) = if encrypts { (true, !after) } else { (!(before || after), true) };
        *made.lost.entry(spi).or_default() += u64::from(!(on_plain && on_tunnel));
        if on_plain {
            made.plain.push(Seen { ns: plain_ns, data: if encrypts { fresh } else { routed }, packet });
        }
        if on_tunnel {
            if noise.below(1_000) < scenario.copies {
                made.tunnel.push(Seen { ns: tunnel_ns + 300, data: esp.clone(), packet: (0, at) });
            }
            made.tunnel.push(Seen { ns: tunnel_ns, data: esp, packet });
        }
    }
}

fn make(scenario: &Scenario) -> Made {
    let mut noise = Noise(scenario.seed ^ 0x5ce0_a210);
    let mut made = Made::default();
    direction(scenario, &mut noise, 0x1001, true, &mut made);
    if scenario.both_ways {
        direction(scenario, &mut noise, 0x2001, false, &mut made);
    }
    for (side, window) in [(&mut made.plain, scenario.plain_window), (&mut made.tunnel, scenario.tunnel_window)] {
        side.sort_by_key(|seen| seen.ns);
        let (first, last) = (side[0].ns, side[side.len() - 1].ns);
        let place = |share: u64| first + (last - first) / 1_000 * share;
        let (from, to) = (place(window.0), if window.1 == 1_000 { last } else { place(window.1) });
        side.retain(|seen| (from..=to).contains(&seen.ns));
    }
    made
}

fn write(scenario: &Scenario, made: &Made) -> (PathBuf, PathBuf) {
    let dir = scratch(&format!("claims-random-{}", scenario.seed % 64));
    let frames = |side: &[Seen], ahead: &dyn Fn(u64) -> i64| -> Vec<Out> {
        side.iter().map(|seen| Out::whole((seen.ns as i64 + ahead(seen.ns)) as u64, seen.data.clone())).collect()
    };
    let ahead = |ns: u64| scenario.ahead_ns + ((ns - START) as f64 * scenario.drift_ppm / 1e6).round() as i64;
    let capture =
        |name: &str, frames: &[Out]| write_file(&dir, name, &pcap(frames, ETHERNET, Order::Little, Step::Nano));
    (capture("plain.pcap", &frames(&made.plain, &|_| 0)), capture("tunnel.pcap", &frames(&made.tunnel, &ahead)))
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

fn words<'w>(scenario: &Scenario, plain: &'w Path, tunnel: &'w Path) -> Vec<&'w str> {
    let path = |path: &'w Path| path.to_str().expect("a path of text");
    let mut words = vec!["match", "-q", "--plain", path(plain), "--tunnel", path(tunnel)];
    if scenario.one_clock {
        words.push("--one-clock");
    }
    words
}

/// The claims about one direction that are false.
fn false_claims(scenario: &Scenario, made: &Made, report: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for own in items(report, "directions") {
        let spi = if text(own, "sa").ends_with("0x00001001") { 0x1001 } else { 0x2001 };
        let lost = made.lost.get(&spi).copied().unwrap_or(0);
        let sent = made.sent.get(&spi).copied().unwrap_or(0).max(1);
        if let Some(claimed) = own["loss_pct"].as_f64() {
            let truth = lost as f64 * 100.0 / (sent + lost) as f64;
            // A window shows a part of what was lost; what is lost at its edges may count or not.
            let (least, most) = if scenario.lossless() { (0.0, 0.0) } else { (truth * 0.3 - 1.0, truth * 2.0 + 1.5) };
            if claimed < least || claimed > most {
                wrong.push(format!("{spi:#x}: {claimed} % lost, {truth} % are"));
            }
        }
        let clock = &own["clock"];
        if let (Some(offset), Some(within)) = (clock["offset_ns"].as_i64(), clock["uncertainty_ns"].as_i64())
            && clock["basis"] == "both-directions"
        {
            let span = made.plain.last().map_or(0.0, |last| (last.ns - START) as f64);
            let drifted = (span * scenario.drift_ppm / 1e6) as i64;
            let (low, high) = (scenario.ahead_ns + drifted.min(0), scenario.ahead_ns + drifted.max(0));
            if offset + within + 2_000 < low || offset - within - 2_000 > high {
                wrong.push(format!("{spi:#x}: offset {offset} +- {within}, it is {low} to {high}"));
            }
        }
        if let (Some(ppm), Some(within)) = (clock["drift_ppm"].as_f64(), clock["drift_uncertainty_ppm"].as_f64())
            && clock["basis"] != "one-clock"
            && (ppm - scenario.drift_ppm).abs() > within + 0.5
        {
            wrong.push(format!("{spi:#x}: drift {ppm} +- {within}, it is {}", scenario.drift_ppm));
        }
        let within = clock["uncertainty_ns"].as_i64().unwrap_or(0);
        if let Some(least) = own["latency_ns"]["min"].as_i64().filter(|least| *least < -within - 2_000) {
            wrong.push(format!("{spi:#x}: latency {least} +- {within}"));
        }
    }
    let findings = items(report, "findings").iter().filter(|finding| finding["code"] == "match-loss");
    wrong.extend(findings.filter(|_| scenario.lossless()).map(|finding| text(finding, "evidence").to_owned()));
    wrong
}

/// How many scenarios stated anything at all about loss.
#[test]
fn random_loads_bring_no_false_claim() {
    let scenarios = std::env::var("SPIGLASS_SCENARIOS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let first = std::env::var("SPIGLASS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut rows, mut wrong, mut silent) = (Rows::default(), Vec::new(), BTreeSet::new());
    for seed in first..first + scenarios {
        let scenario = Scenario::random(seed);
        let made = make(&scenario);
        let (plain, tunnel) = write(&scenario, &made);
        let words = words(&scenario, &plain, &tunnel);
        let report = spiglass(&[&words[..], &["--format", "json"]].concat()).expect(0).json();
        wrong.extend(
            false_claims(&scenario, &made, &report).into_iter().map(|claim| format!("{claim}\n    {scenario:?}")),
        );
        if number(&report, "pairs.matched") == 0 {
            silent.insert(seed);
        }
        assert!(at(&report, "pairs.undetermined_plain").is_u64());
        for row in spiglass(&[&words[..], &["--format", "csv"]].concat()).expect(0).csv(HEADER) {
            let frame = |column: &str| row.get(column).parse::<usize>().expect("a frame") - 1;
            let (near, far) = (&made.plain[frame("plain_frame")], &made.tunnel[frame("tunnel_frame")]);
            // A copy is the same packet.
            let right = near.packet == far.packet || (far.packet.0 == 0 && near.packet.1 == far.packet.1);
            rows.add(row.get("confidence").parse().expect("a confidence"), right);
        }
    }
    println!("{scenarios} scenarios, {} without pairs; {:?}", silent.len(), rows.classes);
    assert!(wrong.is_empty(), "{} false claims:\n{}", wrong.len(), wrong.join("\n"));
    for (class, least) in [("> 0.9", 0.995), ("> 0.7", 0.7), ("> 0.5", 0.5)] {
        let share = rows.share(class);
        assert!(share.is_none_or(|share| share >= least), "{class}: {share:?} of the rows are right");
    }
    // Saying nothing is no way out: sizes that differ decide.
    assert!(silent.len() as u64 * 2 <= scenarios, "{} of {scenarios} have no pairs", silent.len());
}
