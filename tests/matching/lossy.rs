//! Tunnels that lose much, and gateways with long queues: what the captures tell is said, for these are the tunnels that are asked about.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{items, number, scratch, text, write_file};
use crate::{json, pairs};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
/// Packets into the tunnel, the longest time from one to the next, and by how much the tunnel's clock is ahead.
const PACKETS: u64 = 800;
const LONGEST_GAP: u64 = 4_000_000;
const AHEAD: u64 = 700_000_000;
/// Octets of content of a load of six sizes.
const SIX: [u64; 6] = [36, 100, 172, 484, 972, 1_272];

/// Where a packet is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    No,
    /// Before the gateway gives it a number, or behind.
    Unnumbered,
    Numbered,
    /// It passes, while the tunnel's tap does not record.
    Unrecorded,
}

/// The captures of a load, and the plaintext frame of each frame in the tunnel.
struct Load {
    plain: PathBuf,
    tunnel: PathBuf,
    partners: Vec<u64>,
    lost: u64,
}

impl Load {
    /// `bytes`: of the content of a packet; `busy`: how long the gateway is busy with a packet of so many octets, in nanoseconds; `lost`: what becomes of a
    /// packet, by its number and how long it waits.
    fn new(
        name: &str,
        bytes: impl Fn(&mut Noise) -> u64,
        busy: impl Fn(u64) -> u64,
        lost: impl Fn(&mut Noise, u64, u64) -> Lost,
    ) -> Self {
        let mut noise = Noise(name.bytes().map(u64::from).sum());
        let (mut plain, mut tunnel, mut partners) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ns, mut free, mut sequence) = (START, 0, 0);
        for packet in 0..PACKETS {
            ns += noise.below(LONGEST_GAP) + 1;
            let own = bytes(&mut noise);
            let clear = build::udp(NEAR, FAR, (5_000, 5_001), packet as u16, &noise.bytes(own as usize));
            let inner = clear.len() - 14;
            plain.push(Out::whole(ns, clear));
            let begins = free.max(ns + 150_000);
            // The first and the last packet show what both captures cover.
            let is_end = packet == 0 || packet + 1 == PACKETS;
            let fate = lost(&mut noise, packet, begins - ns);
            let fate = if is_end && fate != Lost::Unrecorded { Lost::No } else { fate };
            if fate == Lost::Unnumbered {
                continue;
            }
            sequence += 1;
            if fate == Lost::Numbered {
                continue;
            }
            free = begins + busy(own);
            if fate == Lost::Unrecorded {
                continue;
            }
            let esp = noise.bytes(16 + (inner + 2).next_multiple_of(16) + 12);
            let at = free + noise.below(20_000) + AHEAD;
            tunnel.push(Out::whole(at, build::esp(R1, R2, 0x1001, sequence, &esp)));
            partners.push(packet + 1);
        }
        let file = |side: &str, frames: &[Out]| {
            let bytes = pcap(frames, ETHERNET, Order::Little, Step::Nano);
            write_file(&scratch("match-lossy"), &format!("{name}-{side}.pcap"), &bytes)
        };
        let lost = PACKETS - partners.len() as u64;
        Self { plain: file("plain", &plain), tunnel: file("tunnel", &tunnel), partners, lost }
    }

    fn report(&self) -> Value {
        json(&self.plain, &self.tunnel, &[])
    }

    /// Shares of the packets in the tunnel that have their plaintext packet, and of the pairs that are right.
    fn right(&self) -> (f64, f64) {
        let pairs = pairs(&self.plain, &self.tunnel, &[]);
        let is_right = |(tunnelled, plain, _): &&(u64, u64, f64)| self.partners[*tunnelled as usize - 1] == *plain;
        let right = pairs.iter().filter(is_right).count() as f64;
        (right / self.partners.len() as f64, right / pairs.len().max(1) as f64)
    }
}

/// The packets that a report says were lost before the tunnel's tap; the finding says the same.
fn told(report: &Value) -> u64 {
    let own = &items(report, "directions")[0];
    assert!(own["undetermined"].is_null(), "{own:#}");
    let found = items(report, "findings").iter().find(|finding| text(finding, "code") == "match-loss");
    let found = found.unwrap_or_else(|| panic!("no loss: {:#}", report["findings"]));
    assert_eq!(number(found, "count"), number(own, "lost_before_tunnel"), "{found:#}");
    number(own, "lost_before_tunnel")
}

fn six(noise: &mut Noise) -> u64 {
    SIX[noise.below(6) as usize]
}

/// One packet in so many hundred.
fn of_hundred(noise: &mut Noise, share: u64, how: Lost) -> Lost {
    if noise.below(100) < share { how } else { Lost::No }
}

/// A policer, or a gateway that is overloaded: a fifth of the packets has no number.
#[test]
fn a_fifth_that_is_lost_without_a_number_is_counted() {
    let fast = |bytes: u64| bytes * 8;
    for share in [10, 20] {
        for (kind, bytes) in [("six", six as fn(&mut Noise) -> u64), ("any", |noise| 30 + noise.below(1_300))] {
            let load = Load::new(&format!("unnumbered-{kind}-{share}"), bytes, fast, |noise, _, _| {
                of_hundred(noise, share, Lost::Unnumbered)
            });
            assert!(load.lost * 150 > share * PACKETS, "{}", load.lost);
            let (found, right) = load.right();
            assert!(found > 0.98 && right > 0.995, "{kind} {share}: {found} {right}");
            assert_eq!(told(&load.report()), load.lost, "{kind} {share}");
        }
    }
}

/// A queue before the numbers holds packets for longer than they are apart, and loses some: the succession of lengths finds them all the same.
#[test]
fn what_waits_long_and_is_lost_at_times_is_found() {
    // 800 octets take nine tenths of the time from one packet to the next.
    let slow = |bytes: u64| bytes * 3_500;
    let load = Load::new("queue", six, slow, |noise, _, _| of_hundred(noise, 2, Lost::Unnumbered));
    let (found, right) = load.right();
    assert!(load.lost > 5 && found > 0.97 && right > 0.98, "{found} {right}");
    let report = load.report();
    assert!(items(&report, "findings").iter().all(|finding| text(finding, "code") != "match-nothing"));
    // Of equal packets nothing is found.
    let load = Load::new("queue-of-one-size", |_| 484, slow, |noise, _, _| of_hundred(noise, 2, Lost::Unnumbered));
    let report = load.report();
    assert_eq!(number(&report, "pairs.matched"), 0, "{:#}", report["pairs"]);
}

/// A bottleneck behind the numbers, whose queue overflows: as many numbers are missing as plaintext packets have no counterpart.
#[test]
fn what_a_full_queue_drops_behind_the_numbers_is_counted() {
    for (kind, bytes) in [("six", six as fn(&mut Noise) -> u64), ("any", |noise| 30 + noise.below(1_300))] {
        let load = Load::new(
            &format!("full-{kind}"),
            bytes,
            |bytes| bytes * 4_000,
            |_, _, waited| {
                if waited > 12_000_000 { Lost::Numbered } else { Lost::No }
            },
        );
        let (found, right) = load.right();
        assert!(load.lost > 20 && found > 0.98 && right > 0.98, "{kind}: {} {found} {right}", load.lost);
        assert_eq!(told(&load.report()), load.lost, "{kind}");
    }
}

/// Equal packets at an even pace both ways, by one clock, which cannot be paired. What is lost between the taps is told by the numbers; what was lost before
/// both of them, on its way to the gateway, is none of it.
#[test]
fn numbers_that_were_lost_on_their_way_to_the_gateway_are_no_loss_between_the_taps() {
    let mut noise = Noise(31);
    let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
    for packet in 0..400_u64 {
        let sent = START + packet * 2_000_000;
        let esp = |noise: &mut Noise, from, to, spi| {
            build::esp(from, to, spi, packet as u32 + 1, &noise.bytes(16 + 208 + 12))
        };
        let datagram =
            |noise: &mut Noise, src, dst| build::udp(src, dst, (5_000, 5_001), packet as u16, &noise.bytes(172));
        plain.push(Out::whole(sent, datagram(&mut noise, NEAR, FAR)));
        let is_end = !(5..395).contains(&packet);
        if is_end || noise.below(40) > 0 {
            tunnel.push(Out::whole(sent + 60_000, esp(&mut noise, R1, R2, 0x1001)));
        }
        if is_end || noise.below(25) > 0 {
            let back = sent + 700_000;
            tunnel.push(Out::whole(back, esp(&mut noise, R2, R1, 0x2001)));
            plain.push(Out::whole(back + 55_000, build::one_hop_further(&datagram(&mut noise, FAR, NEAR))));
        }
    }
    let lost = 400 - tunnel.iter().filter(|frame| frame.data[36] == 0x10).count() as u64;
    let file = |side: &str, frames: &[Out]| {
        let bytes = pcap(frames, ETHERNET, Order::Little, Step::Nano);
        write_file(&scratch("match-lossy"), &format!("even-{side}.pcap"), &bytes)
    };
    let report = json(&file("plain", &plain), &file("tunnel", &tunnel), &["--one-clock"]);
    assert_eq!(number(&report, "pairs.matched"), 0, "{:#}", report["pairs"]);
    let said = items(&report, "findings").iter().filter(|finding| text(finding, "code") == "match-loss");
    let said: Vec<(bool, u64)> =
        said.map(|finding| (text(finding, "sa").ends_with("1001"), number(finding, "count"))).collect();
    assert!(lost > 4 && said == [(true, lost)], "{lost}: {:#}", report["findings"]);
}

/// Nothing is lost that the tunnel's tap may not have recorded: neither a figure nor a finding says so.
fn assert_no_loss(report: &Value, what: &str) {
    let own = &items(report, "directions")[0];
    let lost = own["lost_before_tunnel"].as_u64().unwrap_or(0);
    let findings = items(report, "findings");
    assert!(lost == 0 && findings.iter().all(|own| text(own, "code") != "match-loss"), "{what}: {own:#} {findings:#?}");
}

/// The tunnel's capture has a hole while the gateway's queue is long: what passed meanwhile is not lost, however late it is.
#[test]
fn a_hole_while_packets_wait_is_no_loss() {
    for from in [200, 400, 600] {
        let load = Load::new(
            &format!("hole-{from}"),
            six,
            |bytes| bytes * 3_700,
            |_, packet, _| {
                if (from..from + 12).contains(&packet) { Lost::Unrecorded } else { Lost::No }
            },
        );
        assert_no_loss(&load.report(), &format!("hole from {from}"));
    }
}

/// Two runs of one test send the same lengths: the plaintext of the one is not in the tunnel of the other.
#[test]
fn two_runs_of_one_schedule_are_not_each_other() {
    let run = |name: &str| {
        let schedule = std::cell::RefCell::new(Noise(5));
        let bytes = move |_: &mut Noise| six(&mut schedule.borrow_mut());
        Load::new(name, bytes, |bytes| bytes * 8, |noise, _, _| of_hundred(noise, 2, Lost::Numbered))
    };
    let (one, other) = (run("run-one"), run("run-two"));
    assert!(one.right().0 > 0.98);
    let sure = pairs(&one.plain, &other.tunnel, &[]).iter().filter(|(.., confidence)| *confidence > 0.5).count();
    let report = json(&one.plain, &other.tunnel, &[]);
    assert!(
        sure == 0 && items(&report, "directions").iter().all(|own| own["loss_pct"].is_null()),
        "{sure}: {report:#}"
    );
}

/// Guesses among pairs that are proved: which packets were lost is not known everywhere, how many is.
#[test]
fn guesses_between_proved_pairs_leave_the_loss_known() {
    let any = |noise: &mut Noise| 30 + noise.below(1_300);
    let told = (0..8).filter(|n| {
        let load = Load::new(
            &format!("guesses-{n}"),
            any,
            |bytes| bytes * 2_700,
            |noise, _, _| of_hundred(noise, 2, Lost::Unnumbered),
        );
        let report = load.report();
        let own = &items(&report, "directions")[0];
        // One that was lost near the end may lie outside the time that both captures cover for sure.
        let is_right =
            |lost: &u64| assert!(*lost == load.lost || lost + 1 == load.lost, "{n}: {lost} of {}", load.lost);
        own["lost_before_tunnel"].as_u64().inspect(is_right).is_some()
    });
    let told = told.count();
    assert!(told > 3, "{told}");
}
