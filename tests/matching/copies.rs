//! TAPs that show plaintext packets twice, and senders that send them twice.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::word;
use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{items, number, scratch, spiglass, spiglass_with_input, text, write_file};

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);
const PACKETS: u64 = 1_500;
/// Time from packet to packet, through each gateway, and from a packet to its copy.
const GAP: u64 = 400_000;
const WAY: u64 = 40_000;
const COPIED: u64 = 3_000;

/// What the taps show: the near side, the tunnel, the far side.
struct Taps([Vec<Out>; 3]);

/// Packets of random sizes one way. `sent`: how often each is sent; `lost`: those that are lost before the tunnel, by number.
fn taps(sent: impl Fn(u64) -> u64, lost: &BTreeSet<u64>) -> Taps {
    let mut noise = Noise(9);
    let [mut near, mut tunnel, mut far]: [Vec<Out>; 3] = Default::default();
    let (mut number, mut sequence) = (0, 0);
    for packet in 0..PACKETS {
        let bytes = 40 + noise.below(900) as usize;
        let clear = build::udp(NEAR, FAR, (5_001, 5_201), packet as u16, &noise.bytes(bytes));
        for again in 0..sent(packet) {
            let at = START + packet * GAP + again * COPIED;
            near.push(Out::whole(at, clear.clone()));
            number += 1;
            if lost.contains(&number) {
                continue;
            }
            sequence += 1;
            let hidden = noise.bytes(16 + (28 + bytes + 2).next_multiple_of(16) + 12);
            tunnel.push(Out::whole(at + WAY, build::esp(R1, R2, 0x1001, sequence, &hidden)));
            far.push(Out::whole(at + 2 * WAY, build::one_hop_further(&clear)));
        }
    }
    Taps([near, tunnel, far])
}

/// The same with copies of some frames, and how many these are.
fn copied(frames: &[Out], is_copied: impl Fn(u64) -> bool) -> (Vec<Out>, u64) {
    let both = frames.iter().zip(0..).flat_map(|(frame, at)| {
        let copy = is_copied(at).then(|| Out::whole(frame.time_ns + COPIED, frame.data.clone()));
        std::iter::once(Out::whole(frame.time_ns, frame.data.clone())).chain(copy)
    });
    let all: Vec<Out> = both.collect();
    let copies = (all.len() - frames.len()) as u64;
    (all, copies)
}

fn file(name: &str, frames: &[Out]) -> PathBuf {
    write_file(&scratch("match-copies"), &format!("{name}.pcap"), &plain_pcap(frames))
}

fn report(plain: &Path, tunnel: &Path, exit: Option<&Path>) -> Value {
    let mut words = vec!["match", "-q", "--format", "json", "--plain", word(plain), "--tunnel", word(tunnel)];
    words.extend(exit.iter().flat_map(|exit| ["--exit", word(exit)]));
    spiglass(&words).expect(0).json()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// What the copies are is told by the tunnel: all frames come twice, or those of some moments.
#[test]
fn copies_of_a_tap_are_left_out() {
    let lost = (1..=PACKETS).filter(|n| n % 40 == 7).collect();
    let Taps([near, tunnel, far]) = taps(|_| 1, &lost);
    let (tunnel, once, far_once) = (file("tunnel", &tunnel), file("once", &near), file("far", &far));
    let want = report(&once, &tunnel, Some(&far_once));
    for name in ["all", "bursts"] {
        let pattern = |at: u64| name == "all" || (at / 50).is_multiple_of(3);
        let (near, near_copies) = copied(&near, pattern);
        let (far, far_copies) = copied(&far, pattern);
        let (near, far) = (file(&format!("near-{name}"), &near), file(&format!("far-{name}"), &far));
        for exit in [&far_once, &far] {
            let got = report(&near, &tunnel, Some(exit));
            let exit_copies = if exit == &far { far_copies } else { 0 };
            assert_eq!((number(&got, "plain.copies"), number(&got, "exit.copies")), (near_copies, exit_copies));
            assert_eq!(number(&got, "plain.packets"), PACKETS);
            for part in ["pairs", "ends", "sizes"] {
                assert_eq!(got[part], want[part], "{name} {part}");
            }
            let loss = |report: &Value| report["directions"][0]["lost_before_tunnel"].as_u64();
            assert_eq!(loss(&got), loss(&want), "{name}: {}", got["directions"]);
            assert_eq!(loss(&got), Some(lost.len() as u64), "{name}");
            let notes: Vec<&str> = codes(&got).into_iter().filter(|code| *code == "tap-copies").collect();
            assert_eq!(notes.len(), 1 + usize::from(exit_copies > 0), "{name}: {:?}", codes(&got));
        }
    }
}

/// A tunnel's capture that shows a tenth of the plain one's time tells what copies are all the same.
#[test]
fn copies_are_told_by_a_short_capture_of_the_tunnel() {
    let Taps([near, mut tunnel, _]) = taps(|_| 1, &BTreeSet::new());
    let (near, copies) = copied(&near, |_| true);
    let near = file("long-near", &near);
    tunnel.retain(|frame| (500..650).contains(&((frame.time_ns - START) / GAP)));
    let got = report(&near, &file("short-tunnel", &tunnel), None);
    assert_eq!((number(&got, "plain.copies"), codes(&got)), (copies, vec!["tap-copies"]));
    assert_eq!(number(&got["directions"][0], "lost_before_tunnel"), 0, "{}", got["directions"]);
    assert_eq!(number(&got["directions"][0], "matched"), tunnel.len() as u64, "{}", got["directions"]);
}

/// What is in the tunnel twice was sent twice.
#[test]
fn packets_that_are_sent_twice_are_no_copies() {
    let lost = (1..=PACKETS).filter(|n| n % 60 == 8).collect();
    let Taps([near, tunnel, far]) = taps(|n| 1 + u64::from(n % 5 == 2), &lost);
    let got = report(&file("twice-near", &near), &file("twice-tunnel", &tunnel), Some(&file("twice-far", &far)));
    assert_eq!(number(&got, "plain.copies"), 0);
    assert!(!codes(&got).contains(&"tap-copies"), "{:?}", codes(&got));
    let direction = &got["directions"][0];
    let loss = direction["lost_before_tunnel"].as_u64();
    assert!(loss.is_none_or(|loss| loss == lost.len() as u64), "{direction}");
    assert!(number(direction, "matched") + 3 >= tunnel.len() as u64, "{direction}");
}

/// A few packets that repeat others may be copies, or have been sent again because the first one was lost; one, too.
#[test]
fn a_few_copies_leave_the_loss_open() {
    let patterns: [fn(u64) -> bool; 2] = [|at| at % 10 == 3, |at| at == 700];
    for pattern in patterns {
        let Taps([near, tunnel, _]) = taps(|_| 1, &BTreeSet::new());
        let (near, _) = copied(&near, pattern);
        let got = report(&file("few-near", &near), &file("few-tunnel", &tunnel), None);
        assert_eq!(number(&got, "plain.copies"), 0);
        assert_eq!(codes(&got), ["match-undetermined"]);
        assert!(got["directions"][0]["lost_before_tunnel"].is_null(), "{}", got["directions"]);
    }
    // One that was sent twice, and more that were lost.
    let Taps([near, tunnel, _]) = taps(|n| 1 + u64::from(n == 700), &BTreeSet::from([100, 300, 900, 1_200]));
    let got = report(&file("sent-near", &near), &file("sent-tunnel", &tunnel), None);
    assert_eq!(number(&got["directions"][0], "lost_before_tunnel"), 4, "{}", got["directions"]);
}

/// A pipe is read once: what repeats others and has no counterpart is left open.
#[test]
fn copies_in_a_pipe_are_no_loss() {
    let Taps([near, tunnel, _]) = taps(|_| 1, &BTreeSet::new());
    let tunnel = file("piped-tunnel", &tunnel);
    let patterns: [fn(u64) -> bool; 3] = [|_| true, |at| at % 10 == 3, |at| (at / 50).is_multiple_of(4)];
    for pattern in patterns {
        let (near, _) = copied(&near, pattern);
        let words = ["match", "-q", "--format", "json", "--plain", "-", "--tunnel", word(&tunnel)];
        let got = spiglass_with_input(&words, Some(&plain_pcap(&near))).expect(0).json();
        assert!(codes(&got).iter().all(|code| *code == "match-undetermined"), "{:?}", codes(&got));
        assert!(got["directions"][0]["lost_before_tunnel"].is_null(), "{}", got["directions"]);
    }
}
