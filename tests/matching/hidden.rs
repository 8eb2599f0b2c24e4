//! What captures leave open: content that pairing cannot read, a plain tap that shows a part of the traffic, a service that a policy keeps out of
//! the tunnel, equal packets in bursts, clocks that do not run evenly. Each beside the same without the trouble, where the figure is wanted.

mod fragments;
mod gateways;
mod heartbeats;
mod missed;
mod polls;
mod strangers;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{at, items, number, scratch, text, write_file};
use crate::{json, pairs, run};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
/// A host that the plain tap does not see.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 1);
/// Packets each way, the time from one to the next, and through the gateway.
const PACKETS: u64 = 400;
const GAP: u64 = 2_000_000;
const WAY: u64 = 40_000;

/// How the tunnel shows a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// ESP-NULL.
    Clear,
    /// In ESP-NULL, but compressed.
    Compressed,
    /// Encrypted.
    Opaque,
    /// ESP-NULL, of which the capture holds no more than the headers in front.
    Cut,
    /// Not at all: the capture of the tunnel had not begun.
    TooEarly,
}

/// A packet on its way.
#[derive(Clone)]
struct Sent {
    /// Into the tunnel, or out of it.
    there: bool,
    ns: u64,
    clear: Vec<u8>,
    shown: Shown,
    on_plain: bool,
    /// Lost between the taps.
    lost: bool,
    delay: u64,
}

/// Datagrams of random sizes both ways.
fn load(noise: &mut Noise, shown: Shown) -> Vec<Sent> {
    let mut sent = Vec::new();
    for packet in 0..PACKETS {
        for there in [true, false] {
            let bytes = 40 + noise.below(900) as usize;
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(bytes));
            let ns = START + packet * GAP + noise.below(GAP / 2) + if there { 0 } else { GAP / 2 };
            let delay = WAY + noise.below(5_000);
            sent.push(Sent { there, ns, clear, shown, on_plain: true, lost: false, delay });
        }
    }
    sent
}

/// What ESP carries behind SPI and number.
fn body(noise: &mut Noise, own: &Sent) -> Vec<u8> {
    let inner = &own.clear[14..];
    match own.shown {
        Shown::Clear | Shown::Cut | Shown::TooEarly => {
            let pad = (4 - (inner.len() + 2) % 4) % 4;
            let pads: Vec<u8> = (1..=pad as u8).collect();
            [inner, &pads, &[pad as u8, 4], &noise.bytes(12)].concat()
        }
        Shown::Compressed => {
            // IPComp: next header, flags, CPI (RFC 3173).
            let content = [&[4, 0, 0, 2][..], &noise.bytes(inner.len() / 2 / 4 * 4 + 2)].concat();
            [&content[..], &[0, 108], &noise.bytes(12)].concat()
        }
        Shown::Opaque => noise.bytes(16 + (inner.len() + 2).next_multiple_of(16) + 12),
    }
}

/// The captures, the tunnel's by a clock.
fn captures(name: &str, sent: Vec<Sent>, clock: impl Fn(u64) -> u64) -> (PathBuf, PathBuf) {
    captures_with(name, sent, clock, |frame| vec![frame])
}

/// The same; `shows`: the frames that the plain tap shows of a packet.
fn captures_with(
    name: &str,
    mut sent: Vec<Sent>,
    clock: impl Fn(u64) -> u64,
    shows: impl Fn(Vec<u8>) -> Vec<Vec<u8>>,
) -> (PathBuf, PathBuf) {
    let mut noise = Noise(77);
    let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
    let mut numbers = [0_u32; 2];
    sent.sort_by_key(|own| if own.there { own.ns + own.delay } else { own.ns });
    for own in &sent {
        let clear = if own.there { own.clear.clone() } else { build::one_hop_further(&own.clear) };
        let (near, far) = if own.there { (own.ns, own.ns + own.delay) } else { (own.ns + own.delay, own.ns) };
        if own.on_plain && (own.there || !own.lost) {
            plain
                .extend(shows(clear).into_iter().zip((near..).step_by(2_000)).map(|(frame, ns)| Out::whole(ns, frame)));
        }
        if own.lost && own.there {
            continue;
        }
        let (from, to, spi) = if own.there { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
        let next = &mut numbers[usize::from(own.there)];
        // Numbers are given in the order in which packets leave the gateway.
        *next += 1;
        let sequence = *next;
        if own.shown == Shown::TooEarly {
            continue;
        }
        let inside =
            Sent { clear: if own.there { build::one_hop_further(&own.clear) } else { own.clear.clone() }, ..*own };
        let mut frame = Out::whole(clock(far), build::esp(from, to, spi, sequence, &body(&mut noise, &inside)));
        if own.shown == Shown::Cut {
            frame.data.truncate(64);
        }
        tunnel.push(frame);
    }
    let file = |side: &str, mut frames: Vec<Out>| {
        frames.sort_by_key(|frame| frame.time_ns);
        let bytes = pcap(&frames, ETHERNET, Order::Little, Step::Nano);
        write_file(&scratch("match-hidden"), &format!("{name}-{side}.pcap"), &bytes)
    };
    (file("plain", plain), file("tunnel", tunnel))
}

/// The direction into the tunnel, or out of it.
fn direction(report: &Value, there: bool) -> &Value {
    let end = if there { "00001001" } else { "00002001" };
    items(report, "directions").iter().find(|own| text(own, "sa").ends_with(end)).expect("a direction")
}

fn has_loss(report: &Value) -> bool {
    items(report, "findings").iter().any(|finding| finding["code"] == "match-loss")
}

/// Content that cannot be read is not lost.
#[test]
fn compressed_packets_are_not_lost() {
    let mut sent = load(&mut Noise(1), Shown::Clear);
    sent.iter_mut().filter(|own| own.clear.len() > 500).for_each(|own| own.shown = Shown::Compressed);
    let (plain, tunnel) = captures("compressed", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    for there in [true, false] {
        let own = direction(&report, there);
        assert!(own["loss_pct"].is_null() && number(own, "matched") > 100, "{own:#}");
        assert!(text(own, "undetermined.reason").contains("compressed"), "{own:#}");
    }
    assert!(!has_loss(&report), "{:#}", report["findings"]);

    // The same without compression, with losses.
    let mut sent = load(&mut Noise(1), Shown::Clear);
    sent.iter_mut().skip(7).step_by(40).for_each(|own| own.lost = true);
    let (plain, tunnel) = captures("clear", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert!([true, false].iter().all(|there| direction(&report, *there)["loss_pct"].is_number()), "{report:#}");
    assert!(has_loss(&report));
}

/// Nearly all packets are compressed: their flow is not outside the tunnel.
#[test]
fn flows_of_compressed_packets_are_not_outside() {
    let mut sent = load(&mut Noise(2), Shown::Compressed);
    sent.iter_mut().take(4).for_each(|own| own.shown = Shown::Clear);
    let (plain, tunnel) = captures("mostly", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(items(&report, "outside").len(), 0, "{:#}", report["outside"]);
    assert!(!has_loss(&report), "{:#}", report["findings"]);
}

/// Where the plain tap does not show what goes into the tunnel, it need not show what comes out of it.
#[test]
fn packets_to_hosts_elsewhere_are_not_lost() {
    for shown in [Shown::Clear, Shown::Opaque] {
        let mut noise = Noise(3);
        let mut sent = load(&mut noise, shown);
        for packet in 0..PACKETS / 4 {
            for there in [true, false] {
                let (src, dst) = if there { (ELSEWHERE, FAR) } else { (FAR, ELSEWHERE) };
                let bytes = 40 + noise.below(900) as usize;
                let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(bytes));
                let ns = START + packet * 4 * GAP + noise.below(3 * GAP);
                sent.push(Sent { there, ns, clear, shown, on_plain: false, lost: false, delay: WAY });
            }
        }
        let (plain, tunnel) = captures("elsewhere", sent, |ns| ns);
        let report = json(&plain, &tunnel, &["--one-clock"]);
        let own = direction(&report, false);
        assert!(own["loss_pct"].is_null() && number(own, "matched") > 300, "{own:#}");
        assert!(!has_loss(&report), "{:#}", report["findings"]);
    }
    // The plain tap shows all that goes into the tunnel.
    let mut sent = load(&mut Noise(3), Shown::Opaque);
    sent.iter_mut().filter(|own| !own.there).skip(9).step_by(20).for_each(|own| own.lost = true);
    let (plain, tunnel) = captures("everything", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(direction(&report, false), "lost_behind_tunnel"), 20, "{report:#}");
}

/// A host that the plain tap never shows may be one that it does not see: packets for it are not lost.
#[test]
fn packets_for_hosts_out_of_sight_are_not_lost() {
    let with_answers = |seen: bool| {
        let mut noise = Noise(7);
        let mut sent = load(&mut noise, Shown::Clear);
        for packet in 0..PACKETS {
            let bytes = 40 + noise.below(900) as usize;
            let clear = build::udp(FAR, ELSEWHERE, (20_001, 20_002), packet as u16, &noise.bytes(bytes));
            let ns = START + packet * GAP + noise.below(GAP);
            let lost = !seen || packet % 4 == 0;
            sent.push(Sent { there: false, ns, clear, shown: Shown::Clear, on_plain: seen, lost, delay: WAY });
        }
        sent
    };
    let (plain, tunnel) = captures("out-of-sight", with_answers(false), |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, false);
    assert!(own["loss_pct"].is_null() && number(own, "matched") == PACKETS, "{own:#}");
    assert!(text(own, "undetermined.reason").contains("addresses that the plain tap never showed"), "{own:#}");
    assert!(!has_loss(&report), "{:#}", report["findings"]);

    // The plain tap shows the host.
    let (plain, tunnel) = captures("in-sight", with_answers(true), |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(direction(&report, false), "lost_behind_tunnel"), PACKETS / 4, "{report:#}");

    // It shows what the host sends, and nothing of what it should receive.
    let mut sent = with_answers(false);
    let asks = build::udp(ELSEWHERE, FAR, (20_002, 20_001), 1, &[0x33; 50]);
    for packet in 0..5 {
        let (ns, clear) = (START + packet * 40 * GAP + 333_333, asks.clone());
        sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost: false, delay: WAY });
    }
    let (plain, tunnel) = captures("asks", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(direction(&report, false), "lost_behind_tunnel"), PACKETS, "{report:#}");
}

/// Few packets in a long time wait for one another until they tell what belongs together: both ways, or one beside a busy one.
#[test]
fn few_packets_in_a_long_time_are_paired() {
    for (gap_there, gap_back) in [(2_000_000_000, 3_000_000_000), (2_000_000_000, 50_000_000)] {
        for clock in [0_u64, 7_000_000] {
            let mut noise = Noise(8);
            let mut sent = Vec::new();
            for (there, gap) in [(true, gap_there), (false, gap_back)] {
                for packet in 0..200_000_000_000 / gap {
                    let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
                    let bytes = 40 + noise.below(900) as usize;
                    let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(bytes));
                    let (ns, delay) = (START + packet * gap + noise.below(gap / 2), WAY + noise.below(5_000));
                    let lost = packet % 20 == 9;
                    sent.push(Sent { there, ns, clear, shown: Shown::Opaque, on_plain: true, lost, delay });
                }
            }
            let (plain, tunnel) = captures("sparse", sent, |ns| ns + clock);
            let report = json(&plain, &tunnel, if clock == 0 { &["--one-clock"] } else { &[] });
            for (there, gap, lost) in [(true, gap_there, "lost_before_tunnel"), (false, gap_back, "lost_behind_tunnel")]
            {
                let (own, all) = (direction(&report, there), 200_000_000_000 / gap);
                assert_eq!(number(own, "matched"), all - all / 20, "{own:#}");
                assert_eq!(own[lost].as_u64(), Some(all / 20), "{own:#}");
            }
        }
    }
}

/// Packets that wait in the gateway while others pass are left on both sides: as many there may be each other.
#[test]
fn packets_that_were_overtaken_are_not_lost() {
    for seed in 0..12 {
        let mut noise = Noise(seed);
        let mut sent: Vec<Sent> = load(&mut noise, Shown::Opaque).into_iter().filter(|own| own.there).collect();
        for own in &mut sent {
            own.lost = noise.below(16) == 0;
            own.delay += if noise.below(14) == 0 { 20 * GAP } else { 0 };
        }
        let truth = sent.iter().filter(|own| own.lost).count() as u64;
        let (plain, tunnel) = captures(&format!("overtaken-{seed}"), sent, |ns| ns);
        let report = json(&plain, &tunnel, &["--one-clock"]);
        let own = direction(&report, true);
        let told = own["lost_before_tunnel"].as_u64();
        assert!(own["loss_pct"].is_null() || told.is_some_and(|told| told <= truth + 2), "{seed}: {truth} {own:#}");
    }
}

/// A port of which nothing is in the tunnel may go another way.
#[test]
fn a_port_outside_the_tunnel_is_not_lost() {
    for shown in [Shown::Clear, Shown::Opaque] {
        let with_queries = |found: bool| {
            let mut noise = Noise(4);
            let mut sent = load(&mut noise, shown);
            for packet in 0..PACKETS / 8 {
                let client = 30_000 + packet as u16;
                let payload = noise.bytes(30 + packet as usize % 9);
                let clear = build::udp(NEAR, FAR, (client, 53), packet as u16, &payload);
                let ns = START + packet * 8 * GAP + 700_000;
                let lost = !found || packet % 4 == 0;
                sent.push(Sent { there: true, ns, clear, shown, on_plain: true, lost, delay: WAY });
            }
            sent
        };
        let (plain, tunnel) = captures("port", with_queries(false), |ns| ns);
        let report = json(&plain, &tunnel, &["--one-clock"]);
        let own = direction(&report, true);
        assert!(own["loss_pct"].is_null(), "{own:#}");
        assert!(text(own, "undetermined.reason").contains("port 53"), "{own:#}");
        assert!(!has_loss(&report), "{:#}", report["findings"]);

        let (plain, tunnel) = captures("port-lossy", with_queries(true), |ns| ns);
        let report = json(&plain, &tunnel, &["--one-clock"]);
        let lost = number(direction(&report, true), "lost_before_tunnel");
        assert!((12..=14).contains(&lost), "{lost}");
    }
}

/// Equal packets that follow each other faster than delays vary, some of them lost: their times tell nothing.
#[test]
fn equal_packets_in_bursts_are_guesses() {
    let equal = |apart: u64| {
        let mut noise = Noise(5);
        let mut sent: Vec<Sent> = load(&mut noise, Shown::Clear).into_iter().filter(|own| own.there).collect();
        let clear = build::udp(NEAR, FAR, (20_001, 20_002), 0, &[0x55; 80]);
        for packet in 0..PACKETS {
            let ns = START + packet / 8 * 8 * GAP + packet % 8 * apart + GAP / 3;
            let (lost, delay) = (packet % 11 == 3, WAY + noise.below(30_000));
            sent.push(Sent { there: true, ns, clear: clear.clone(), shown: Shown::Clear, on_plain: true, lost, delay });
        }
        // Packets do not overtake each other.
        sent.iter_mut().for_each(|own| own.delay = WAY + noise.below(30_000));
        sent.sort_by_key(|own| own.ns);
        let mut last = 0;
        for own in &mut sent {
            last = (own.ns + own.delay).max(last + 1_000);
            own.delay = last - own.ns;
        }
        sent
    };
    let rows = |name: &str, apart: u64| {
        let (plain, tunnel) = captures(name, equal(apart), |ns| ns);
        let rows = pairs(&plain, &tunnel, &["--one-clock"]);
        let equal = rows.iter().filter(|(.., confidence)| (0.7..0.9).contains(confidence)).count();
        (equal, json(&plain, &tunnel, &["--one-clock"]))
    };
    let (equal, report) = rows("burst", 3_000);
    assert_eq!(equal, 0, "{report:#}");
    let least = at(direction(&report, true), "latency_ns.min").as_i64().expect("other packets tell the latency");
    assert!(least >= 40_000, "{least}");
    let (equal, _) = rows("apart", 500_000);
    assert!(equal > 300, "{equal} equal packets are told apart by time");
}

/// A clock that is slewed in the middle fits no offset and drift.
#[test]
fn a_slewed_clock_makes_no_latency() {
    let slew = |ns: u64| {
        let (begin, end) = (START + PACKETS * GAP / 3, START + PACKETS * GAP * 2 / 3);
        ns + 7_000_000 + (ns.clamp(begin, end) - begin) / 2_000
    };
    for shown in [Shown::Clear, Shown::Opaque] {
        let (plain, tunnel) = captures("slewed", load(&mut Noise(6), shown), slew);
        let report = json(&plain, &tunnel, &[]);
        for there in [true, false] {
            let own = direction(&report, there);
            assert!(own["clock"]["offset_ns"].is_null() && own["latency_ns"]["p50"].is_null(), "{own:#}");
            assert!(!own["latency_why"].is_null(), "{own:#}");
        }
        let words = run(&plain, &tunnel, &[]);
        let said = words.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("The offset of the clocks is not known: ") && !said.contains("uncertain by"), "{said}");
        let (plain, tunnel) = captures("even", load(&mut Noise(6), shown), |ns| ns + 7_000_000 + (ns - START) / 10_000);
        let report = json(&plain, &tunnel, &[]);
        let own = direction(&report, true);
        assert!(at(own, "latency_ns.p50").is_i64() && at(own, "clock.offset_ns").is_i64(), "{own:#}");
    }
}
