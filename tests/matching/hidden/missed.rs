//! Captures that miss frames while packets are lost, too, or most of each frame.

use std::path::{Path, PathBuf};

use super::{FAR, GAP, NEAR, PACKETS, Sent, Shown, WAY, captures, direction, has_loss, load};
use crate::json;
use crate::support::build::{self, Noise, START};
use crate::support::{items, number, scratch, text, write_file};

/// The capture without every so many frames.
fn thinned(capture: &Path, every: usize, name: &str) -> PathBuf {
    let octets = std::fs::read(capture).expect("a capture");
    let (header, mut rest) = octets.split_at(24);
    let mut kept = header.to_vec();
    for at in 1.. {
        let Some(bytes) = rest.get(8..12) else { break };
        let bytes = 16 + u32::from_le_bytes(bytes.try_into().expect("four octets")) as usize;
        let (record, behind) = rest.split_at(bytes);
        if at % every > 0 {
            kept.extend_from_slice(record);
        }
        rest = behind;
    }
    write_file(&scratch("match-hidden"), &format!("{name}.pcap"), &kept)
}

/// A short snap length is the reason why nothing is paired, not the tunnel or its taps.
#[test]
fn cut_packets_are_not_said_to_have_nothing_in_common() {
    let (plain, tunnel) = captures("cut", load(&mut Noise(3), Shown::Cut), |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let codes: Vec<&str> = items(&report, "findings").iter().map(|finding| text(finding, "code")).collect();
    assert_eq!(codes, ["match-undetermined"; 2], "{:#}", report["findings"]);
    for there in [true, false] {
        let reason = text(direction(&report, there), "undetermined.reason");
        assert!(reason.contains("400 of its 400 packets were captured only in part"), "{reason}");
    }
}

/// The tunnel's capture misses frames: numbers that are missing are no loss, and packets that are left over out of the tunnel were lost.
#[test]
fn what_the_tunnel_tap_missed_is_not_lost() {
    let mut sent = load(&mut Noise(6), Shown::Opaque);
    sent.iter_mut().filter(|own| !own.there).skip(9).step_by(80).for_each(|own| own.lost = true);
    let lost = sent.iter().filter(|own| own.lost).count() as u64;
    let (plain, tunnel) = captures("tunnel-misses", sent, |ns| ns);
    let report = json(&plain, &thinned(&tunnel, 50, "tunnel-misses-some"), &["--one-clock"]);
    let back = direction(&report, false);
    assert!(number(back, "matched") * 10 > PACKETS * 9, "{back:#}");
    let told = back["lost_behind_tunnel"].as_u64();
    assert!(
        told.is_none_or(|told| told == lost) && back["lost_before_tunnel"].as_u64().is_none_or(|n| n == 0),
        "{back:#}"
    );
    assert!(
        direction(&report, true)["lost_before_tunnel"].as_u64().is_none_or(|n| n == 0),
        "{:#}",
        report["directions"]
    );
    assert!(!has_loss(&report) || told == Some(lost), "{:#}", report["findings"]);
}

/// The plain capture misses some of a stream of equal packets, of which some are lost: those that are left over on both sides are not each other.
#[test]
fn equal_packets_that_the_plain_tap_missed_hide_no_losses() {
    let mut sent = load(&mut Noise(8), Shown::Clear);
    for packet in 0..PACKETS * 2 {
        let clear = build::udp(NEAR, FAR, (3_784, 3_784), 0, &[1; 32]);
        let ns = START + packet * GAP / 2 + 90_000;
        sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost: false, delay: WAY });
    }
    sent.iter_mut().filter(|own| own.there).skip(5).step_by(30).for_each(|own| own.lost = true);
    sent.iter_mut().filter(|own| own.there).skip(11).step_by(70).for_each(|own| own.on_plain = false);
    let lost = sent.iter().filter(|own| own.lost).count() as u64;
    let (plain, tunnel) = captures("plain-misses", sent, |ns| ns);
    let own = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&own, true);
    let seen = own["lost_before_tunnel"].as_u64();
    assert!(seen.is_none_or(|seen| seen == lost), "{lost}: {own:#}");
}
