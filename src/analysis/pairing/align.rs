//! Two sequences in the same order, with packets missing on either side: which is which?
//!
//! A pair hidden Markov model over a band: pairs cost by how unlike their times are, packets without counterpart by how rare
//! that is, and lengths that the transform cannot make never pair. The best alignment is taken, and for each pair the distance to the
//! best alignment without it says how sure it is.

/// A plaintext packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Plain {
    pub(super) ns: i64,
    pub(super) bytes: u32,
    /// What it costs to leave it out.
    pub(super) skip: f32,
}

/// A tunnelled packet, or the place of one whose number is missing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tunnelled {
    pub(super) ns: i64,
    /// Length that its plaintext packet must be mapped to; `None` where any will do.
    pub(super) esp: Option<u32>,
    /// Which mapping makes it.
    pub(super) mapping: u8,
    /// A number that no packet bears.
    pub(super) hole: bool,
    /// What it costs to leave it out.
    pub(super) skip: f32,
}

/// What is known of the times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Delay {
    /// The usual difference between the two timestamps; `None` while it is not known.
    pub(super) base: Option<f64>,
    /// How much differences vary, in nanoseconds.
    pub(super) spread: f64,
    /// How much they vary from one packet to the next.
    pub(super) jitter: f64,
}

/// Columns on either side of the middle of the band.
const HALF: usize = 64;
const WIDTH: usize = 2 * HALF + 1;
/// The most that a time costs: packets do get stuck.
const DEAREST: f32 = 7.0;
const NEVER: f32 = -1.0e9;

/// The counterpart of each tunnelled packet: its index, and how much worse the best alignment without this pair is, in nats.
pub(super) type Aligned = Vec<Option<(usize, f32)>>;

/// States of the model.
#[derive(Clone, Copy)]
struct Cell {
    /// A pair ends here.
    pair: f32,
    /// The last packet is a plain one without counterpart.
    plain: f32,
    /// The last packet is a tunnelled one without counterpart.
    tunnelled: f32,
}

const NOWHERE: Cell = Cell { pair: NEVER, plain: NEVER, tunnelled: NEVER };

impl Cell {
    const fn best(self) -> f32 {
        self.pair.max(self.plain).max(self.tunnelled)
    }
}

/// What a deviation costs against what is usual.
pub(super) fn dear(deviation: f64, usual: f64) -> f32 {
    (0.6 * (deviation.abs() / usual.max(1.0)).sqrt() as f32).min(DEAREST)
}

/// Aligns. `makes` says whether mapping `m` makes length `esp` of a packet of these octets. The first tunnelled packet is looked for around the plain one
/// at `lag`. Plain packets in front of the first pair cost `lead` each.
pub(super) fn align(
    plain: &[Plain],
    tunnelled: &[Tunnelled],
    lag: isize,
    lead: f32,
    delay: Delay,
    makes: impl Fn(u8, u32, u32) -> bool,
) -> Aligned {
    Band { plain, tunnelled, lag, lead, delay, makes }.align()
}

struct Band<'p, M> {
    plain: &'p [Plain],
    tunnelled: &'p [Tunnelled],
    lag: isize,
    lead: f32,
    delay: Delay,
    makes: M,
}

impl<M: Fn(u8, u32, u32) -> bool> Band<'_, M> {
    /// Plain packets consumed in column `k` of row `i`; `None` outside.
    fn column(&self, i: usize, k: usize) -> Option<usize> {
        let j = i as isize + self.lag + k as isize - HALF as isize;
        usize::try_from(j).ok().filter(|j| *j <= self.plain.len())
    }

    /// What it is worth that tunnelled packet `i` is plain packet `j`, and what it is worth more behind a pair of their predecessors.
    fn pair(&self, i: usize, j: usize) -> Option<(f32, f32)> {
        let (a, b) = (self.plain.get(j)?, self.tunnelled.get(i)?);
        if b.hole {
            return Some((-0.3, 0.0));
        }
        if let Some(esp) = b.esp
            && !(self.makes)(b.mapping, a.bytes, esp)
        {
            return None;
        }
        let difference = b.ns.saturating_sub(a.ns) as f64;
        // Where one difference is like the one before, a hundred of them say little more than one.
        let weight = 0.5 * (self.delay.jitter / self.delay.spread).min(1.0) as f32;
        let alone = self.delay.base.map_or(0.0, |base| -weight * dear(difference - base, self.delay.spread));
        let before = i.checked_sub(1).and_then(|i| self.tunnelled.get(i)).filter(|b| !b.hole);
        let after = before
            .zip(j.checked_sub(1).and_then(|j| self.plain.get(j)))
            .map_or(-1.0, |(b, a)| -dear(difference - b.ns.saturating_sub(a.ns) as f64, self.delay.jitter));
        Some((alone, after))
    }

    fn align(&self) -> Aligned {
        let rows = self.tunnelled.len();
        let mut forward = vec![[NOWHERE; WIDTH]; rows + 1];
        let mut worth = vec![[(NEVER, 0.0); WIDTH]; rows + 1];
        for i in 0..=rows {
            for k in 0..WIDTH {
                let Some(j) = self.column(i, k) else { continue };
                let mut cell = NOWHERE;
                if i == 0 {
                    // What was sent before the first tunnelled packet.
                    cell.plain = -self.lead * j as f32;
                } else {
                    if let Some(j) = j.checked_sub(1)
                        && let Some((alone, after)) = self.pair(i - 1, j)
                    {
                        let from = forward[i - 1][k];
                        // Behind a gap the time of the predecessor says little.
                        cell.pair = alone + (from.pair + after).max(from.plain.max(from.tunnelled) - 1.0);
                        worth[i][k] = (alone, after);
                    }
                    if let Some(from) = forward[i - 1].get(k + 1) {
                        cell.tunnelled = from.best() - self.tunnelled[i - 1].skip;
                    }
                    if let (Some(k), Some(j)) = (k.checked_sub(1), j.checked_sub(1)) {
                        cell.plain = forward[i][k].best() - self.plain[j].skip;
                    }
                }
                forward[i][k] = cell;
            }
        }
        self.trace(&forward, &worth)
    }

    /// From the end back: what remains behind each cell, and so what each pair is worth in all.
    fn trace(&self, forward: &[[Cell; WIDTH]], worth: &[[(f32, f32); WIDTH]]) -> Aligned {
        let rows = self.tunnelled.len();
        let mut aligned: Aligned = vec![None; rows];
        // What follows a cell at best: behind a pair, and behind anything else.
        let mut later = [(NEVER, NEVER); WIDTH];
        for (k, later) in later.iter_mut().enumerate() {
            // Plain packets behind the last tunnelled one belong to the next block.
            if self.column(rows, k).is_some() {
                *later = (0.0, 0.0);
            }
        }
        for i in (0..rows).rev() {
            // Row i + 1: totals of every pair and every gap of tunnelled packet i.
            let (mut best, mut second, mut at) = (NEVER, NEVER, None);
            let mut consider = |total: f32, column: Option<usize>| {
                if total > best {
                    (second, best, at) = (best, total, column);
                } else if total > second {
                    second = total;
                }
            };
            for k in 0..WIDTH {
                let cell = forward[i + 1][k];
                consider(cell.pair + later[k].0, Some(k));
            }
            let gap = (0..WIDTH).map(|k| forward[i + 1][k].tunnelled + later[k].1).fold(NEVER, f32::max);
            consider(gap, None);
            if let Some(j) = at.and_then(|k| self.column(i + 1, k)).and_then(|j| j.checked_sub(1))
                && best > NEVER / 2.0
            {
                aligned[i] = Some((j, best - second));
            }
            // Row i from row i + 1.
            let mut now = [(NEVER, NEVER); WIDTH];
            for k in (0..WIDTH).rev() {
                let Some(j) = self.column(i, k) else { continue };
                let (alone, after) = worth[i + 1][k];
                let pair = later[k].0 + alone;
                let by_gap = k.checked_sub(1).map_or(NEVER, |k| later[k].1 - self.tunnelled[i].skip);
                let by_plain = match (now.get(k + 1), self.plain.get(j)) {
                    (Some(next), Some(plain)) => next.1 - if i == 0 { self.lead } else { plain.skip },
                    _ => NEVER,
                };
                let rest = by_gap.max(by_plain);
                now[k] = (rest.max(pair + after), rest.max(pair - 1.0));
            }
            later = now;
        }
        aligned
    }
}
