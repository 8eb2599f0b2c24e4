//! Two sequences in the same order, with packets missing on either side: which is which?
//!
//! A pair hidden Markov model over a band: pairs cost by how unlike their times are, packets without counterpart by how rare
//! that is, and lengths that the transform cannot make never pair. The best alignment is taken, and for each pair the distance to the
//! best alignment without it says how sure it is.

mod before_first;
mod grid;

pub(in crate::matching) use self::before_first::BeforeFirst;
use self::grid::Grid;
use super::delay::Delay;

/// A plaintext packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::matching) struct Plain {
    pub(in crate::matching) ns: i64,
    pub(in crate::matching) bytes: u32,
    /// What it costs to leave it out.
    pub(in crate::matching) skip: f32,
}

/// A tunnelled packet, or the place of one whose number is missing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::matching) struct Tunnelled {
    pub(in crate::matching) ns: i64,
    /// Length that its plaintext packet must be mapped to; `None` where any will do.
    pub(in crate::matching) esp: Option<u32>,
    /// Which mapping makes it.
    pub(in crate::matching) mapping: u8,
    /// A number that no packet bears.
    pub(in crate::matching) hole: bool,
    /// What it costs to leave it out.
    pub(in crate::matching) skip: f32,
}

/// Columns on either side of the middle of the band: first, and where the best way runs along its edge.
const NARROW: usize = 32;
const WIDE: usize = 64;
/// The most that a time costs: packets do get stuck.
const DEAREST: f32 = 5.0;
const NEVER: f32 = -1.0e9;

/// The counterpart of each tunnelled packet: its index, and how much worse the best alignment without this pair is, in nats.
pub(in crate::matching) type Aligned = Vec<Option<(usize, f32)>>;

/// One state of the model: what the best way there is worth, and the difference of the timestamps of its last pair.
#[derive(Clone, Copy)]
struct Way {
    worth: f32,
    last: Option<i64>,
}

const NO_WAY: Way = Way { worth: NEVER, last: None };

/// The states after so many packets of either side.
#[derive(Clone, Copy)]
struct Cell {
    /// A pair ends here.
    pair: Way,
    /// The last packet is a plain one without counterpart.
    plain: Way,
    /// The last packet is a tunnelled one without counterpart.
    tunnelled: Way,
}

const NOWHERE: Cell = Cell { pair: NO_WAY, plain: NO_WAY, tunnelled: NO_WAY };

impl Cell {
    const fn ways(&self) -> [Way; 3] {
        [self.pair, self.plain, self.tunnelled]
    }

    fn best(&self) -> Way {
        let [pair, plain, tunnelled] = self.ways();
        let best = if plain.worth > pair.worth { plain } else { pair };
        if tunnelled.worth > best.worth { tunnelled } else { best }
    }
}

/// What it is worth to pair two packets: alone, and more behind each state of their predecessors.
#[derive(Clone, Copy)]
struct Pairing {
    alone: f32,
    after: [f32; 3],
}

const NO_PAIR: Pairing = Pairing { alone: NEVER, after: [0.0; 3] };

/// What a deviation costs against what is usual.
pub(in crate::matching) fn dear(deviation: f64, usual: f64) -> f32 {
    (0.6 * (deviation.abs() / usual.max(1.0)).sqrt() as f32).min(DEAREST)
}

/// Aligns. `makes` says whether mapping `m` makes length `esp` of a packet of these octets.
pub(in crate::matching) fn align(
    plain: &[Plain],
    tunnelled: &[Tunnelled],
    front: BeforeFirst,
    delay: Delay,
    makes: impl Fn(u8, u32, u32) -> bool,
) -> Aligned {
    let by_count = |half: usize| within(plain, tunnelled, front, delay, &makes, half);
    let centres = centres(plain, tunnelled, delay);
    // Where many packets are lost or in no tunnel, times say where the middle of the band is.
    let leaves = |half: usize| {
        let far = |(own, at): (&isize, isize)| (own - at).unsigned_abs() > half - half / 8;
        centres.as_ref().is_some_and(|centres| centres.iter().zip(front.lag..).any(far))
    };
    let narrow = by_count(NARROW);
    // Far from the edges nothing outside can be better.
    if !narrow.edge && !leaves(NARROW) {
        return narrow.aligned;
    }
    let wide = by_count(WIDE);
    if !wide.edge && !leaves(WIDE) {
        return wide.aligned;
    }
    let Some(centres) = centres else { return wide.aligned };
    let by_time = Band { plain, tunnelled, centres, front, delay, makes, half: WIDE, width: 2 * WIDE + 1 }.align();
    if by_time.worth > wide.worth { by_time.aligned } else { wide.aligned }
}

/// How many plain packets were sent before each tunnelled one and with it, by the times; before the first of all, too. `None` where clocks are unknown.
fn centres(plain: &[Plain], tunnelled: &[Tunnelled], delay: Delay) -> Option<Vec<isize>> {
    let base = delay.base? as i64;
    let sent = |packet: &Tunnelled| plain.partition_point(|own| own.ns <= packet.ns.saturating_sub(base)) as isize;
    let mut centres = vec![tunnelled.first().map_or(0, sent)];
    for packet in tunnelled {
        let before = centres.last().copied().unwrap_or(0);
        centres.push(if packet.hole { before } else { sent(packet).max(before) });
    }
    Some(centres)
}

/// Aligns in a band of `half` columns to either side of its middle, which goes from the plain packet at the front's `lag` on by one with each tunnelled packet.
fn within(
    plain: &[Plain],
    tunnelled: &[Tunnelled],
    front: BeforeFirst,
    delay: Delay,
    makes: &impl Fn(u8, u32, u32) -> bool,
    half: usize,
) -> BandAligned {
    // The band must begin and end on the plaintext packets: what lies before or behind has no counterpart there.
    let before = usize::try_from(-front.lag).unwrap_or(0).saturating_sub(half / 2).min(tunnelled.len());
    let lag = front.lag + before as isize;
    let rows = tunnelled.get(before..).unwrap_or_default();
    let reach = usize::try_from(plain.len() as isize - lag + half as isize).unwrap_or(0).min(rows.len());
    let rows = rows.get(..reach).unwrap_or_default();
    let mut aligned: Aligned = vec![None; before];
    let centres = (0..=rows.len() as isize).map(|i| i + lag).collect();
    let found = Band { plain, tunnelled: rows, centres, front, delay, makes, half, width: 2 * half + 1 }.align();
    aligned.extend(found.aligned);
    aligned.resize(tunnelled.len(), None);
    BandAligned { aligned, ..found }
}

/// The best alignment within a band.
struct BandAligned {
    aligned: Aligned,
    /// Whether its way runs along an edge of the band: a wider one may have a better one.
    edge: bool,
    worth: f32,
}

struct Band<'p, M> {
    plain: &'p [Plain],
    tunnelled: &'p [Tunnelled],
    /// The plain packets that the middle of each row has consumed.
    centres: Vec<isize>,
    front: BeforeFirst,
    delay: Delay,
    makes: M,
    half: usize,
    width: usize,
}

impl<M: Fn(u8, u32, u32) -> bool> Band<'_, M> {
    /// Plain packets consumed in column `k` of row `i`; `None` outside.
    fn column(&self, i: usize, k: usize) -> Option<usize> {
        let j = self.centre(i) + k as isize - self.half as isize;
        usize::try_from(j).ok().filter(|j| *j <= self.plain.len())
    }

    fn centre(&self, i: usize) -> isize {
        self.centres.get(i).copied().unwrap_or(0)
    }

    /// By how many plain packets the middle of the next row is ahead of that of row `i`.
    fn shift(&self, i: usize) -> isize {
        self.centre(i + 1) - self.centre(i)
    }

    /// The column that is so far from column `k`; `None` outside.
    fn aside(&self, k: usize, by: isize) -> Option<usize> {
        k.checked_add_signed(by).filter(|k| *k < self.width)
    }

    /// What it is worth that tunnelled packet `i` is plain packet `j`, behind the states of `from`, and the difference of their timestamps.
    fn pair(&self, i: usize, j: usize, from: &Cell) -> Option<(Pairing, Option<i64>)> {
        let (a, b) = (self.plain.get(j)?, self.tunnelled.get(i)?);
        if b.hole {
            return Some((Pairing { alone: -0.3, after: [0.0; 3] }, None));
        }
        if let Some(esp) = b.esp
            && !(self.makes)(b.mapping, a.bytes, esp)
        {
            return None;
        }
        let difference = b.ns.saturating_sub(a.ns);
        let edge = self.delay.edge.map_or(
            0.0,
            |(edge, above)| {
                if above { edge - difference as f64 } else { difference as f64 - edge }
            },
        );
        let alone = if edge > 0.0 { -dear(edge, self.delay.jitter) } else { 0.0 };
        // Only what changes counts: a queue that fills delays a hundred packets alike.
        let after =
            |way: Way| way.last.map_or(0.0, |last| -dear(difference.saturating_sub(last) as f64, self.delay.jitter));
        Some((Pairing { alone, after: from.ways().map(after) }, Some(difference)))
    }

    fn align(&self) -> BandAligned {
        let rows = self.tunnelled.len();
        let mut forward = Grid::new(NOWHERE, rows + 1, self.width);
        let mut pairs = Grid::new(NO_PAIR, rows + 1, self.width);
        for i in 0..=rows {
            for k in 0..self.width {
                let Some(j) = self.column(i, k) else { continue };
                let mut cell = NOWHERE;
                if i == 0 {
                    // What was sent before the first tunnelled packet.
                    let lead = |plain: &Plain| plain.skip.min(self.front.lead);
                    let worth = -self.plain.iter().take(j).map(lead).sum::<f32>();
                    cell.plain = Way { worth, last: self.front.usual.map(|usual| usual as i64) };
                } else {
                    // Where the row before has consumed one plain packet less, and as many.
                    let shift = self.shift(i - 1);
                    let (one_less, as_many) = (self.aside(k, shift - 1), self.aside(k, shift));
                    let from = one_less.map_or(NOWHERE, |k| forward.at(i - 1, k));
                    if let Some(j) = j.checked_sub(1)
                        && let Some((pairing, last)) = self.pair(i - 1, j, &from)
                    {
                        pairs.set(i, k, pairing);
                        let (at, worth) = entry(&from, &pairing);
                        let before = from.ways().get(at).and_then(|way| way.last);
                        cell.pair = Way { worth: worth + pairing.alone, last: last.or(before) };
                    }
                    let skip = self.tunnelled.get(i - 1).map_or(0.0, |packet| packet.skip);
                    if let Some(k) = as_many {
                        let Way { worth, last } = forward.at(i - 1, k).best();
                        cell.tunnelled = Way { worth: worth - skip, last };
                    }
                    if let (Some(k), Some(packet)) =
                        (k.checked_sub(1), j.checked_sub(1).and_then(|j| self.plain.get(j)))
                    {
                        let Way { worth, last } = forward.at(i, k).best();
                        cell.plain = Way { worth: worth - packet.skip, last };
                    }
                }
                forward.set(i, k, cell);
            }
        }
        let mut found = self.trace(&forward, &pairs);
        if !found.edge || self.half == WIDE {
            self.weigh(&forward, &pairs, &mut found.aligned);
        }
        found
    }

    /// The best way through all cells. Plain packets behind the last tunnelled one belong to the next block.
    fn trace(&self, forward: &Grid<Cell>, pairs: &Grid<Pairing>) -> BandAligned {
        let mut i = self.tunnelled.len();
        let mut aligned: Aligned = vec![None; i];
        let worth = |k: &usize| forward.at(i, *k).best().worth;
        let best = (0..self.width).max_by(|a, b| worth(a).total_cmp(&worth(b)));
        let Some(mut k) = best.filter(|k| worth(k) > NEVER / 2.0) else {
            return BandAligned { aligned, edge: true, worth: NEVER };
        };
        let (mut edge, worth) = (false, worth(&k));
        // Which state the way behind came from; at the end the best one.
        let mut state = None;
        while i > 0 {
            edge |= k < 2 || k + 2 >= self.width;
            let cell = forward.at(i, k);
            let [pair, plain, tunnelled] = cell.ways().map(|way| way.worth);
            let at = state.take().unwrap_or(if pair >= plain && pair >= tunnelled {
                0
            } else if plain >= tunnelled {
                1
            } else {
                2
            });
            match at {
                0 => {
                    let Some(j) = self.column(i, k).and_then(|j| j.checked_sub(1)) else { break };
                    let pairing = pairs.at(i, k);
                    i -= 1;
                    if let Some(found) = aligned.get_mut(i) {
                        *found = Some((j, 0.0));
                    }
                    let Some(before) = self.aside(k, self.shift(i) - 1) else { break };
                    k = before;
                    state = Some(entry(&forward.at(i, k), &pairing).0);
                }
                1 => match k.checked_sub(1) {
                    Some(before) => k = before,
                    None => break,
                },
                _ => match self.aside(k, self.shift(i - 1)) {
                    Some(before) => (i, k) = (i - 1, before),
                    None => break,
                },
            }
        }
        BandAligned { aligned, edge, worth }
    }

    /// How much worse the best alignment without each pair is: from the end back, what remains behind each cell.
    fn weigh(&self, forward: &Grid<Cell>, pairs: &Grid<Pairing>, aligned: &mut Aligned) {
        let rows = self.tunnelled.len();
        // What follows each state of a cell at best.
        let mut later: Vec<[f32; 3]> =
            (0..self.width).map(|k| if self.column(rows, k).is_some() { [0.0; 3] } else { [NEVER; 3] }).collect();
        let mut now = vec![[NEVER; 3]; self.width];
        let of = |row: &[[f32; 3]], k: usize| row.get(k).copied().unwrap_or([NEVER; 3]);
        for i in (0..rows).rev() {
            // Row i + 1: totals of every pair and every gap of tunnelled packet i.
            let own = aligned.get(i).copied().flatten().map(|(j, _)| j + 1);
            let (mut chosen, mut other) = (NEVER, NEVER);
            for k in 0..self.width {
                let cell = forward.at(i + 1, k);
                let [behind_pair, _, behind_gap] = of(&later, k);
                let total = cell.pair.worth + behind_pair;
                if own.is_some() && self.column(i + 1, k) == own {
                    chosen = total;
                } else {
                    other = other.max(total);
                }
                other = other.max(cell.tunnelled.worth + behind_gap);
            }
            if let Some(Some((_, gap))) = aligned.get_mut(i) {
                *gap = chosen - other;
            }
            // Row i from row i + 1.
            let skip = self.tunnelled.get(i).map_or(0.0, |packet| packet.skip);
            let (shift, lead) = (self.shift(i), if i == 0 { self.front.lead } else { f32::MAX });
            let mut right = [NEVER; 3];
            for k in (0..self.width).rev() {
                let mut own = [NEVER; 3];
                if let Some(j) = self.column(i, k) {
                    let paired = self.aside(k, 1 - shift);
                    let Pairing { alone, after } = paired.map_or(NO_PAIR, |k| pairs.at(i + 1, k));
                    let by_gap = self.aside(k, -shift).map_or(NEVER, |k| of(&later, k)[2] - skip);
                    let by_plain = self.plain.get(j).map_or(NEVER, |plain| right[1] - plain.skip.min(lead));
                    let rest = by_gap.max(by_plain);
                    let pair = paired.map_or(NEVER, |k| of(&later, k)[0]) + alone;
                    own = after.map(|after| rest.max(pair + after));
                }
                if let Some(place) = now.get_mut(k) {
                    *place = own;
                }
                right = own;
            }
            std::mem::swap(&mut later, &mut now);
        }
    }
}

/// The state that leads to a pair at best, and what it is worth with what the pair adds behind it.
fn entry(from: &Cell, pairing: &Pairing) -> (usize, f32) {
    let mut best = (0, NEVER);
    for (at, (way, after)) in from.ways().into_iter().zip(pairing.after).enumerate() {
        if way.worth + after > best.1 {
            best = (at, way.worth + after);
        }
    }
    best
}

#[cfg(test)]
mod tests;
