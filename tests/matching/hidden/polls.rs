//! Questions and answers that are equal byte for byte, while the plain capture lies within the tunnel's.

use super::{FAR, NEAR, Sent, Shown, WAY, captures, direction};
use crate::support::build::{self, Noise, START};
use crate::support::{number, text};
use crate::{json, pairs};

const SECOND: u64 = 1_000_000_000;

/// 20 s of datagrams both ways, all different, of which one in 100 is lost behind the tunnel, and a question and its answer every `period`. The plain
/// capture begins 3.1 s later and ends 5 s earlier. And how many are lost while it lasts.
fn polls(period: u64) -> (Vec<Sent>, u64) {
    const EVERY: u64 = 10_000_000;
    let mut noise = Noise(41);
    let mut sent = Vec::new();
    let is_seen = |ns: u64| (START + 31 * SECOND / 10..START + 15 * SECOND).contains(&ns);
    let mut lost_in_time = 0;
    for packet in 0..20 * SECOND / EVERY {
        for there in [true, false] {
            let (src, dst) = if there { (NEAR, FAR) } else { (FAR, NEAR) };
            let clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &noise.bytes(160));
            let ns = START + packet * EVERY + noise.below(EVERY / 2) + if there { 0 } else { EVERY / 2 };
            let lost = !there && packet % 100 == 57;
            lost_in_time += u64::from(lost && is_seen(ns));
            let delay = WAY + noise.below(25_000);
            sent.push(Sent { there, ns, clear, shown: Shown::Clear, on_plain: is_seen(ns), lost, delay });
        }
    }
    for poll in 0..20 * SECOND / period {
        for there in [true, false] {
            let (src, dst, ports) = if there { (NEAR, FAR, (40_000, 502)) } else { (FAR, NEAR, (502, 40_000)) };
            let clear = build::udp(src, dst, ports, 0, &[7; 36]);
            let ns = START + SECOND / 5 + poll * period + if there { 0 } else { 4_000_000 };
            let delay = WAY + noise.below(25_000);
            sent.push(Sent { there, ns, clear, shown: Shown::Clear, on_plain: is_seen(ns), lost: false, delay });
        }
    }
    (sent, lost_in_time)
}

#[test]
fn polls_of_other_times_are_not_each_other() {
    for period in [SECOND, 2 * SECOND] {
        let (sent, lost) = polls(period);
        let seen = |there: bool| sent.iter().filter(|own| own.there == there && own.on_plain && !own.lost).count();
        let seen = [true, false].map(|there| seen(there) as u64);
        let (plain, tunnel) = captures(&format!("polls-{}", period / SECOND), sent, |ns| ns + SECOND / 5);
        let report = json(&plain, &tunnel, &[]);
        let (own, back) = (direction(&report, true), direction(&report, false));
        assert_eq!([number(own, "matched"), number(back, "matched")], seen, "{:#}", report["directions"]);
        assert_eq!(back["lost_behind_tunnel"].as_u64(), Some(lost), "{back:#}");
        assert_eq!(number(own, "unmatched_tunnel"), 0, "{own:#}");
        assert_eq!(text(back, "way"), "decapsulated");
        let unsure = pairs(&plain, &tunnel, &[]).iter().filter(|(.., confidence)| *confidence < 0.7).count();
        assert_eq!(unsure, 0, "times tell which of equal packets they are");
    }
}
