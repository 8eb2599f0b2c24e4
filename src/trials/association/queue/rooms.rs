//! How many packets a queue held when it dropped others: the same in every load, if it drops what finds no room.

use super::{Assigned, Leaving};

/// What a queue held when it dropped packets, or the most that it held where none was lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct QueueRoom {
    /// By the median of the packets that were lost.
    pub(crate) frames: f64,
    /// By how much it varies: between the tenth and the ninetieth of a hundred.
    pub(crate) spread: f64,
    /// Whether packets were lost: else it may have had room for more.
    pub(crate) lost: bool,
}

impl QueueRoom {
    /// Of packets of one length, in the order in which they came. `None` where a full queue is not what tells which left. `idle`: the least
    /// time on the way of a device that holds nothing else.
    pub(in crate::trials::association) fn of(
        own: &Leaving<'_, '_>,
        assigned: &Assigned<'_>,
        idle: Option<i64>,
    ) -> Option<Self> {
        let lost = assigned.chosen.len() < own.came.len();
        let known = assigned.queued && assigned.unclear.is_empty() || !lost && own.left.len() == own.came.len();
        if !known
            || own.early
            || !own.spots.is_empty()
            || own.asked.made.len() != 1
            || assigned.chosen.len() != own.left.len()
        {
            return None;
        }
        let mut gone: Vec<i64> = own.left.iter().map(|(_, t)| *t).collect();
        gone.sort_unstable();
        // What is on its way behind the device waits no longer.
        let behind = idle.map_or(0, |idle| (idle - pace(&gone)).max(0));
        gone.iter_mut().for_each(|t| *t -= behind);
        let mut chosen: Vec<usize> = assigned.chosen.iter().map(|(i, _)| *i).collect();
        chosen.sort_unstable();
        let (mut left, mut next) = (0, 0);
        let mut inside: Vec<usize> = Vec::new();
        let waits = own.waits();
        for (at, t) in waits.as_deref().unwrap_or(&own.came).iter().enumerate() {
            while gone.get(left).is_some_and(|d| d <= t) {
                left += 1;
            }
            let is_in = chosen.get(next) == Some(&at);
            next += usize::from(is_in);
            if is_in != lost {
                inside.push(next.saturating_sub(left));
            }
        }
        inside.sort_unstable();
        let rank = |part: usize| inside.get(inside.len().saturating_sub(1) * part / 10).map(|own| *own as f64);
        let frames = if lost { rank(5)? } else { rank(10)? };
        Some(Self { frames, spread: if lost { rank(9)? - rank(1)? } else { 0.0 }, lost })
    }

    /// Whether one queue that drops what finds no room cannot have had this room and another one. `apart`: packets by which rooms vary.
    pub(crate) fn contradicts(&self, other: &Self, apart: f64) -> bool {
        let more = APART + apart;
        let over = |most: &Self, least: &Self| least.lost && most.frames - least.frames >= more;
        over(self, other) || over(other, self)
    }
}

/// Packets by which rooms may differ: the one that is being sent takes room in some devices, and the last one lost may have come just before it
/// would have found some.
const APART: f64 = 2.0;

/// How far packets leave apart, by the median.
fn pace(left: &[i64]) -> i64 {
    let mut gaps: Vec<i64> = left.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(0)
}
