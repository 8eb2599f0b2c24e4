//! Equal packets at a constant pace out of the tunnel, as of BFD, while the capture of the tunnel begins later: those of before may not take the place of
//! later ones.

use super::{FAR, NEAR, Sent, Shown, WAY, captures, captures_with, direction, has_loss};
use crate::json;
use crate::support::build::{self, Noise, START};
use crate::support::{number, text};

const SECOND: u64 = 1_000_000_000;

/// How packets are sent.
#[derive(Clone, Copy)]
struct Beats {
    /// Streams of equal packets, and the time from one packet of each to the next.
    streams: u64,
    period: u64,
    /// The time from one to the next of the others, which are all different, each way.
    others: u64,
    jitter: u64,
    seconds: u64,
    /// When the capture of the tunnel begins.
    begins: u64,
    /// One equal packet in so many is lost behind the tunnel.
    lost: u64,
}

/// The packets, and how many were lost of those that the tunnel's capture shows.
fn packets(beats: Beats) -> (Vec<Sent>, u64) {
    let mut noise = Noise(43);
    let mut sent: Vec<Sent> = Vec::new();
    let mut lost_in_time = 0;
    let end = beats.seconds * SECOND;
    let mut send = |there: bool, at: u64, clear: Vec<u8>, delay: u64, lost: bool| {
        let shown = if at < beats.begins { Shown::TooEarly } else { Shown::Clear };
        lost_in_time += u64::from(lost && shown == Shown::Clear);
        sent.push(Sent { there, ns: START + at, clear, shown, on_plain: true, lost, delay });
    };
    for packet in 0..end / beats.others {
        for there in [true, false] {
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(160));
            let at = packet * beats.others + noise.below(beats.others / 2) + if there { 0 } else { beats.others / 3 };
            send(there, at, clear, WAY + noise.below(beats.jitter), false);
        }
    }
    for stream in 0..beats.streams {
        for beat in 0..end / beats.period {
            let clear = build::udp(FAR, NEAR, (3_784 + stream as u16, 3_784), 0, &[7; 24]);
            let at = beat * beats.period + stream * 1_300_000;
            let lost = noise.below(beats.lost) == 0;
            send(false, at, clear, WAY + noise.below(beats.jitter), lost);
        }
    }
    (sent, lost_in_time)
}

/// More equal packets wait from before than are compared.
#[test]
fn heartbeats_that_came_before_the_other_capture_make_no_loss() {
    let of = |period: u64| Beats {
        streams: 1,
        period,
        others: 20_000_000,
        jitter: 200_000,
        seconds: 14,
        begins: 3 * SECOND,
        lost: u64::MAX,
    };
    for period in [20_000_000, 10_000_000] {
        let (sent, _) = packets(of(period));
        let shown = sent.iter().filter(|own| !own.there && own.shown == Shown::Clear).count() as u64;
        // The tunnel's clock is slower by 30 ppm.
        let (plain, tunnel) = captures(&format!("heartbeats-{period}"), sent, |ns| ns - (ns - START) * 3 / 100_000);
        let report = json(&plain, &tunnel, &[]);
        let back = direction(&report, false);
        assert_eq!(back["lost_behind_tunnel"].as_u64(), Some(0), "{back:#}");
        assert_eq!(number(back, "matched"), shown, "{back:#}");
        assert!(!has_loss(&report), "{:#}", report["findings"]);
    }
}

/// A lost packet is not one from before, where its time tells; where it does not, the loss is open.
#[test]
fn heartbeats_that_were_lost_are_none_that_came_before() {
    let beats = Beats {
        streams: 4,
        period: 20_000_000,
        others: SECOND / 4,
        jitter: 2_000_000,
        seconds: 10,
        begins: SECOND,
        lost: 90,
    };
    let (sent, lost) = packets(beats);
    let (plain, tunnel) = captures("heartbeats-lost", sent, |ns| ns);
    let report = json(&plain, &tunnel, &[]);
    let back = direction(&report, false);
    assert!(lost > 10);
    assert_eq!(back["lost_behind_tunnel"].as_u64(), Some(lost), "{back:#}");

    // Too few others tell how much delays vary.
    let (sent, lost) = packets(Beats { others: 2 * SECOND, ..beats });
    let (plain, tunnel) = captures("heartbeats-untold", sent, |ns| ns);
    let report = json(&plain, &tunnel, &[]);
    let back = direction(&report, false);
    assert!(lost > 10 && back["lost_behind_tunnel"].is_null(), "{back:#}");
    assert!(text(back, "undetermined.reason").contains("equal to others"), "{back:#}");
}

/// Two that leave a queue at once look like a packet and the copy of a TAP: what is left out as a copy is not lost.
#[test]
fn heartbeats_at_once_are_no_loss_beside_copies() {
    let beats = Beats {
        streams: 1,
        period: 10_000_000,
        others: 5_000_000,
        jitter: 20_000,
        seconds: 8,
        begins: 0,
        lost: u64::MAX,
    };
    let (mut sent, _) = packets(beats);
    for (beat, own) in sent.iter_mut().filter(|own| own.clear.len() < 100).enumerate() {
        // One in 50 waits for the next.
        if beat % 50 == 20 {
            own.ns += beats.period - 1_000;
            own.delay = WAY;
        } else if beat % 50 == 21 {
            own.delay = WAY + 80_000;
        }
    }
    let (plain, tunnel) = captures_with("heartbeats-at-once", sent, |ns| ns, |frame| vec![frame.clone(), frame]);
    let report = json(&plain, &tunnel, &[]);
    let back = direction(&report, false);
    assert!(!has_loss(&report) && back["lost_behind_tunnel"].as_u64().unwrap_or(0) == 0, "{:#}", report["findings"]);
    assert!(text(back, "undetermined.reason").contains("copies of the TAP"), "{back:#}");
}

/// Equal packets right behind each other (acknowledgements that repeat, keepalives sent thrice) that both captures cover: whichever is which, the others' loss
/// is known.
#[test]
fn equal_packets_that_are_all_covered_leave_the_loss_of_others_known() {
    let mut noise = Noise(47);
    let mut sent: Vec<Sent> = Vec::new();
    for packet in 0..1_000_u64 {
        let ns = START + packet * 4_000_000 + noise.below(1_000_000);
        for there in [true, false] {
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(200));
            let lost = there && packet % 250 == 77;
            let delay = WAY + noise.below(20_000);
            sent.push(Sent { there, ns, clear, shown: Shown::Clear, on_plain: true, lost, delay });
        }
        for again in (0..3).filter(|_| packet % 25 == 9) {
            let clear = build::udp(NEAR, FAR, (3_784, 3_784), 0, &[7; 24]);
            let (ns, delay) = (ns + 2_000_000 + again * 200_000, WAY + noise.below(900_000));
            sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost: false, delay });
        }
    }
    let (plain, tunnel) = captures("heartbeats-thrice", sent, |ns| ns + 3 * SECOND);
    let report = json(&plain, &tunnel, &[]);
    let own = direction(&report, true);
    assert_eq!((own["lost_before_tunnel"].as_u64(), number(own, "uncovered_plain")), (Some(4), 0), "{own:#}");
}
