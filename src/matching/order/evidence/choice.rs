//! Which plaintext packet of those in a window a packet in the tunnel is paired with.

use super::Search;

/// Packets of one length next to a time that are looked through for one that has no partner yet.
const NEAR: usize = 4;
/// Packets of one length in a window that are looked through for the first that has no partner yet.
const CROWD: usize = 64;
/// Packets that a window holds by chance at most, where packets are paired in order.
const MOST_BY_CHANCE: f64 = 0.5;

/// Which of the plaintext packets in the window is a packet's partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// The nearest to its time: right where packets are further apart than delays vary.
    Nearest,
    /// The first that has none yet behind the anchor, the last before it.
    InOrder,
}

impl<M: Fn(u8, u32, u32) -> bool> Search<'_, M> {
    /// The nearest plaintext packet of a fitting length that has no partner yet. `from`: where each length was looked at last.
    pub(super) fn nearest(
        &self,
        tunnelled: usize,
        target: i64,
        width: i64,
        used: &[bool],
        from: &mut [usize],
    ) -> Option<usize> {
        let mut best: Option<(i64, usize)> = None;
        for length in self.places(tunnelled) {
            let (Some(own), Some(from)) = (self.lengths.get(*length), from.get_mut(*length)) else { continue };
            *from = own.earlier(target, *from);
            let mut look = |at: usize| {
                let (Some(plain), Some(ns)) = (own.at.get(at), own.ns.get(at)) else { return true };
                let apart = ns.saturating_sub(target).saturating_abs();
                let nearer = apart <= width && best.is_none_or(|(least, _)| apart < least);
                if nearer && !used.get(*plain).copied().unwrap_or(true) {
                    best = Some((apart, *plain));
                }
                // Those behind it are further away.
                !nearer
            };
            let _ = (*from..*from + NEAR).any(&mut look);
            let _ = (from.saturating_sub(NEAR)..*from).rev().any(&mut look);
        }
        best.map(|(_, plain)| plain)
    }

    /// The first plaintext packet of a fitting length in the window that has no partner yet, or the last: where packets keep their order, more
    /// than the nearest ones find one, because none takes that of a neighbour.
    pub(super) fn outermost(
        &self,
        tunnelled: usize,
        window: (i64, i64),
        is_first: bool,
        used: &[bool],
        from: &mut [usize],
    ) -> Option<usize> {
        let mut best: Option<(i64, usize)> = None;
        for length in self.places(tunnelled) {
            let (Some(own), Some(from)) = (self.lengths.get(*length), from.get_mut(*length)) else { continue };
            let bound = if is_first { window.0 } else { window.1.saturating_add(1) };
            *from = own.earlier(bound, *from);
            let mut look = |at: usize| {
                let (Some(plain), Some(ns)) = (own.at.get(at), own.ns.get(at)) else { return true };
                let further = best.is_some_and(|(before, _)| if is_first { *ns >= before } else { *ns <= before });
                if further || *ns < window.0 || *ns > window.1 {
                    return true;
                }
                let free = !used.get(*plain).copied().unwrap_or(true);
                if free {
                    best = Some((*ns, *plain));
                }
                free
            };
            let _ = if is_first {
                (*from..*from + CROWD).any(&mut look)
            } else {
                (from.saturating_sub(CROWD)..*from).rev().any(&mut look)
            };
        }
        best.map(|(_, plain)| plain)
    }

    /// Whether windows hold many packets wherever they lie, or packets share their timestamps: nearly all find one in order then, in any
    /// alignment.
    pub(super) fn is_crowded(&self, width: i64) -> bool {
        let plain = self.streams.plain;
        let by_chance = 2.0 * width as f64 * plain.len() as f64 / self.span;
        let shared = plain.windows(2).filter(|two| matches!(two, [a, b] if a.ns == b.ns)).count();
        by_chance > MOST_BY_CHANCE || shared * 2 >= plain.len()
    }
}
