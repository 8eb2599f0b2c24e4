//! What a block shows before it is aligned: stretches that one of both sides lacks, and whether lengths tell its packets apart.

use super::{AROUND, OUTAGE};
use crate::matching::order::align;
use crate::matching::order::delay::Delay;
use crate::matching::order::lane::SKIP_UNKNOWN;

/// By how much a packet may be early or late before it is out of time.
pub(super) fn slack(delay: Delay) -> i64 {
    (32.0 * delay.spread.max(delay.jitter)).clamp(1e6, 1e9) as i64
}

/// When the packets of a block were sent, by the plain tap's clock.
pub(in crate::matching::order) struct SentTimes {
    sent: Vec<i64>,
    slack: i64,
}

impl SentTimes {
    /// `None` where clocks are unknown.
    pub(in crate::matching::order) fn of(rows: &[align::Tunnelled], delay: Delay) -> Option<Self> {
        let base = delay.base? as i64;
        let own = rows.iter().filter(|packet| !packet.hole);
        let mut sent: Vec<i64> = own.map(|packet| packet.ns.saturating_sub(base)).collect();
        sent.sort_unstable();
        Some(Self { sent, slack: slack(delay) })
    }

    /// Whether none of them was sent about this time.
    pub(in crate::matching::order) fn is_alone(&self, ns: i64) -> bool {
        let after = self.sent.partition_point(|sent| *sent < ns.saturating_sub(self.slack));
        self.sent.get(after).is_none_or(|sent| *sent > ns.saturating_add(self.slack))
    }
}

/// How many places there are before the plaintext side goes on for long without the tunnel. Packets that most likely are in no tunnel do not count: there may
/// be many between any two that are.
pub(super) fn outage(plain: &[align::Plain], rows: &[align::Tunnelled], delay: Delay) -> usize {
    let Some(base) = delay.base else { return rows.len() };
    let mut before: Option<usize> = None;
    let mut at = 0;
    let mut likely = 0;
    for (row, packet) in rows.iter().enumerate() {
        if packet.hole {
            before = before.map(|before| before + 1);
            continue;
        }
        let sent = packet.ns.saturating_sub(base as i64);
        let ahead = plain.get(at..).unwrap_or_default().iter().take_while(|own| own.ns < sent);
        for own in ahead {
            at += 1;
            likely += usize::from(own.skip >= SKIP_UNKNOWN);
        }
        if before.is_some_and(|before| likely > before + 1 + OUTAGE) {
            return row;
        }
        before = Some(likely);
    }
    rows.len()
}

/// A stretch in which the tunnel goes on without the plaintext side.
pub(super) struct Unseen {
    /// Places before it.
    pub(super) rows: usize,
    /// Plaintext packets before it.
    pub(super) seen: usize,
    /// When the plaintext side goes on, by the tunnel's clock.
    pub(super) until: i64,
}

/// The first stretch in which the tunnel goes on for long without the plaintext side.
pub(super) fn unseen(plain: &[align::Plain], rows: &[align::Tunnelled], delay: Delay) -> Option<Unseen> {
    let base = delay.base? as i64;
    let slack = slack(delay);
    let mut found: Option<(usize, usize, usize)> = None;
    for (row, packet) in rows.iter().enumerate().filter(|(_, packet)| !packet.hole) {
        let sent = packet.ns.saturating_sub(base);
        let next = plain.partition_point(|own| own.ns < sent);
        let (Some(before), Some(after)) = (next.checked_sub(1).and_then(|at| plain.get(at)), plain.get(next)) else {
            continue;
        };
        if sent.saturating_sub(before.ns) <= slack || after.ns.saturating_sub(sent) <= slack {
            continue;
        }
        let (first, count) =
            found.filter(|(_, at, _)| *at == next).map_or((row, 0), |(first, _, count)| (first, count));
        if count >= OUTAGE {
            let until = after.ns.saturating_add(base).saturating_sub(slack);
            return Some(Unseen { rows: first, seen: next, until });
        }
        found = Some((first, next, count + 1));
    }
    None
}

/// Whether packets have so many lengths that a few in a row are like no others.
pub(super) fn is_diverse(tunnelled: &[align::Tunnelled]) -> bool {
    /// Packets that are looked at, and the lengths that they must have at least.
    const PACKETS: usize = 2 * AROUND;
    const LENGTHS: usize = 4;
    let mut lengths: Vec<u32> = tunnelled.iter().take(PACKETS).filter_map(|packet| packet.esp).collect();
    lengths.sort_unstable();
    // One that is rare does not help.
    lengths.chunk_by(|a, b| a == b).filter(|same| same.len() * 4 < PACKETS && same.len() > 1).count() >= LENGTHS
}
