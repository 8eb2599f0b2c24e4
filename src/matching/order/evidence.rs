//! Evidence that two sequences of packets belong together at one offset of their timestamps and at no other.
//!
//! Each packet in the tunnel has a plaintext packet of a length that the transform maps to its own, a constant time apart but for the
//! jitter of the gateway. Every offset at which many packets find such a partner is an alignment. Equal packets at a constant rate
//! have one alignment per period; which of them is true cannot be told. So the best alignment counts only if it explains far more than
//! chance would, and if each other alignment is contradicted packet by packet.

mod choice;
mod rivals;
mod shifted;
mod silences;

use super::align::{Plain, Tunnelled};
use super::delay::median;
use choice::Choice;
use rivals::{is_refuted, is_same};
use silences::holes;

/// Half widths, in nanoseconds, of the windows in which offsets are gathered.
const SCALES: [i64; 4] = [20_000, 200_000, 2_000_000, 20_000_000];
/// Pairs of packets whose offsets are compared.
const OFFSETS: usize = 1 << 18;
/// How many of them, of the rarest lengths, are looked at apart.
const RARE: usize = 1 << 12;
/// Alignments of one scale that are looked at closely.
const PEAKS: usize = 12;
/// Packets by which the best alignment is shifted to see what speaks against its neighbours.
const SHIFTS: [isize; 8] = [-1, 1, -2, 2, -3, 3, -7, 7];
/// Packets by which a rival that was looked for by its own offset may be beside its best place.
const BESIDE: isize = 2;
/// Times that the best alignment is shifted: one that turns out better has rivals of its own, which must not have less luck than it had.
const ROUNDS: usize = 4;
/// Pairs that tell the offset at the beginning.
const EARLY: usize = 32;
/// Evidence against chance, in nats, below which packets do not belong together.
pub(in crate::matching) const CERTAIN: f64 = 30.0;
/// Evidence against another alignment, in nats.
pub(in crate::matching) const DECISIVE: f64 = 16.0;

/// Both sequences. Plaintext packets are in order of time.
pub(in crate::matching) struct Streams<'s, M> {
    pub(in crate::matching) plain: &'s [Plain],
    pub(in crate::matching) tunnelled: &'s [Tunnelled],
    /// Whether mapping `m` makes length `esp` out of a packet of these bytes.
    pub(in crate::matching) makes: M,
    /// Offsets that are possible.
    pub(in crate::matching) within: (i64, i64),
}

/// What an alignment says of one packet in the tunnel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::matching) enum Partner {
    /// Its plaintext packet would have been sent before the plain capture begins or after it ends, or it is no packet.
    Unseen,
    /// It should have one and has none.
    Missing,
    /// Index of its plaintext packet, and by how much their time differs from that of the pair before.
    Found(usize, i64),
}

/// One alignment.
#[derive(Clone, Debug)]
pub(in crate::matching) struct Alignment {
    /// What tunnel timestamps are ahead of plain ones.
    pub(in crate::matching) offset: i64,
    /// By how much more or less they may be ahead.
    pub(in crate::matching) width: i64,
    /// Usual distance from the offset.
    pub(in crate::matching) spread: f64,
    pub(in crate::matching) partners: Vec<Partner>,
    /// Packets that have a partner, and that should have one.
    pub(in crate::matching) found: usize,
    pub(in crate::matching) seen: usize,
    /// How much more likely what it says of each packet is than chance, in nats.
    weights: Vec<f64>,
    /// The same of all.
    pub(in crate::matching) weight: f64,
}

impl Alignment {
    /// Index of a packet with a partner, counted from the first such; the last where there are fewer.
    fn nth_found(&self, nth: usize) -> usize {
        let found = self.partners.iter().enumerate().filter(|(_, partner)| matches!(partner, Partner::Found(..)));
        found.take(nth + 1).last().map_or(0, |(at, _)| at)
    }

    /// Index of the packet in the middle of those with a partner, where the offset is the usual one.
    fn middle(&self) -> usize {
        self.nth_found(self.found / 2)
    }
}

/// The best alignment and how many others explain the packets as well.
#[derive(Clone, Debug)]
pub(in crate::matching) struct Verdict {
    pub(in crate::matching) best: Alignment,
    pub(in crate::matching) rivals: usize,
}

impl Verdict {
    /// Whether the packets belong together in this way and in no other.
    pub(in crate::matching) fn is_decisive(&self) -> bool {
        self.rivals == 0 && self.best.weight >= CERTAIN
    }
}

/// Plaintext packets of one length.
struct Lengths {
    bytes: u32,
    /// Their indexes, in order of time, and their times.
    at: Vec<usize>,
    ns: Vec<i64>,
}

impl Lengths {
    /// How many are earlier than a time; `from`: where to begin to look.
    fn earlier(&self, target: i64, from: usize) -> usize {
        let is_earlier = |at: usize| self.ns.get(at).is_some_and(|ns| *ns < target);
        let (mut low, mut high, mut step) = (from, from, 1);
        while is_earlier(high) {
            (low, high, step) = (high + 1, high + step, step * 2);
        }
        step = 1;
        while low > 0 && !is_earlier(low - 1) {
            (low, high, step) = (low.saturating_sub(step), low - 1, step * 2);
        }
        let between = self.ns.get(low..high.min(self.ns.len())).unwrap_or_default();
        low + between.partition_point(|ns| *ns < target)
    }
}

/// The streams with what is needed to find partners fast.
pub(in crate::matching) struct Search<'s, M> {
    streams: Streams<'s, M>,
    lengths: Vec<Lengths>,
    /// Mapping and ESP length, the places in `lengths` that make it, and how many packets these are.
    kinds: Vec<((u8, u32), Vec<usize>, usize)>,
    /// Kind of each packet in the tunnel.
    kind: Vec<Option<usize>>,
    span: f64,
    /// Times in which the plain side shows nothing for so long that its tap may not have recorded.
    holes: Vec<(i64, i64)>,
}

impl<'s, M: Fn(u8, u32, u32) -> bool> Search<'s, M> {
    pub(in crate::matching) fn new(streams: Streams<'s, M>) -> Self {
        let mut order: Vec<usize> = (0..streams.plain.len()).collect();
        order.sort_by_key(|at| streams.plain.get(*at).map_or(0, |packet| packet.bytes));
        let mut lengths: Vec<Lengths> = Vec::new();
        for at in order {
            let (bytes, ns) = streams.plain.get(at).map_or((0, 0), |packet| (packet.bytes, packet.ns));
            if lengths.last().is_none_or(|last| last.bytes != bytes) {
                lengths.push(Lengths { bytes, at: Vec::new(), ns: Vec::new() });
            }
            if let Some(last) = lengths.last_mut() {
                last.at.push(at);
                last.ns.push(ns);
            }
        }
        let mut kinds: Vec<((u8, u32), Vec<usize>, usize)> = Vec::new();
        let mut known = std::collections::BTreeMap::new();
        let mut kind = Vec::with_capacity(streams.tunnelled.len());
        for packet in streams.tunnelled {
            let Some(esp) = packet.esp.filter(|_| !packet.hole) else {
                kind.push(None);
                continue;
            };
            let key = (packet.mapping, esp);
            let number = *known.entry(key).or_insert_with(|| {
                let makes = |own: &Lengths| (streams.makes)(packet.mapping, own.bytes, esp);
                let fitting: Vec<usize> =
                    lengths.iter().enumerate().filter(|(_, own)| makes(own)).map(|(at, _)| at).collect();
                let count = fitting.iter().filter_map(|at| lengths.get(*at)).map(|own| own.at.len()).sum();
                kinds.push((key, fitting, count));
                kinds.len() - 1
            });
            kind.push(Some(number));
        }
        let span = match (streams.plain.first(), streams.plain.last()) {
            (Some(first), Some(last)) => last.ns.saturating_sub(first.ns).max(1_000) as f64,
            _ => 1_000.0,
        };
        let holes = holes(streams.plain);
        Self { streams, lengths, kinds, kind, span, holes }
    }

    /// Places of the lengths that fit a packet in the tunnel.
    fn places(&self, tunnelled: usize) -> &[usize] {
        let kind = self.kind.get(tunnelled).copied().flatten().and_then(|kind| self.kinds.get(kind));
        kind.map_or(&[], |(_, fitting, _)| fitting.as_slice())
    }

    fn fitting(&self, tunnelled: usize) -> impl Iterator<Item = &Lengths> {
        self.places(tunnelled).iter().filter_map(|at| self.lengths.get(*at))
    }

    fn choices(&self, tunnelled: usize) -> usize {
        self.kind.get(tunnelled).copied().flatten().and_then(|kind| self.kinds.get(kind)).map_or(0, |kind| kind.2)
    }

    fn ns(&self, plain: usize) -> i64 {
        self.streams.plain.get(plain).map_or(0, |packet| packet.ns)
    }

    /// Differences of timestamps of packets that fit by length, sorted: of all packets, and of those of the rarest lengths. The former show where
    /// captures have most in common; the latter, where all fit of what they have in common, however little that is.
    fn differences(&self) -> [Vec<i64>; 2] {
        let mut order: Vec<usize> = (0..self.kind.len()).filter(|at| self.choices(*at) > 0).collect();
        order.sort_by_key(|at| self.choices(*at));
        let mut differences = Vec::new();
        let (least, most) = self.streams.within;
        for at in order {
            if differences.len() >= OFFSETS {
                break;
            }
            let Some(packet) = self.streams.tunnelled.get(at) else { continue };
            for own in self.fitting(at) {
                let from = own.ns.partition_point(|plain| packet.ns.saturating_sub(*plain) > most);
                let tail = own.ns.get(from..).unwrap_or_default();
                let offsets = tail.iter().map(|plain| packet.ns.saturating_sub(*plain));
                differences.extend(offsets.take_while(|offset| *offset >= least));
            }
        }
        let mut rare = differences.get(..RARE).unwrap_or(&differences).to_vec();
        rare.sort_unstable();
        differences.sort_unstable();
        [differences, rare]
    }

    /// The offsets at which most differences lie, for windows of this half width.
    fn peaks(differences: &[i64], half: i64) -> Vec<i64> {
        // Neighbouring classes overlap by half, so that no peak is cut in two.
        let mut classes: Vec<(usize, i64)> = Vec::new();
        let mut from = 0;
        while let Some(first) = differences.get(from) {
            let end = first.saturating_add(2 * half);
            let count = differences.get(from..).unwrap_or_default().partition_point(|own| *own <= end);
            let middle = differences.get(from + count / 2).copied().unwrap_or(*first);
            classes.push((count, middle));
            let next = first.saturating_add(half);
            from += differences.get(from..).unwrap_or_default().partition_point(|own| *own <= next).max(1);
        }
        classes.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.abs().cmp(&b.1.abs())));
        let mut peaks: Vec<i64> = Vec::new();
        for (_, middle) in classes {
            if peaks.len() >= PEAKS {
                break;
            }
            if peaks.iter().all(|own| own.saturating_sub(middle).saturating_abs() > 2 * half) {
                peaks.push(middle);
            }
        }
        peaks
    }

    /// The alignment at this offset, which it follows slowly both ways from packet `anchor` on: clocks drift and queues fill.
    fn align(&self, offset: i64, width: i64, anchor: usize, choice: Choice) -> Alignment {
        let mut used = vec![false; self.streams.plain.len()];
        let mut from = vec![0; self.lengths.len()];
        let mut partners = vec![Partner::Unseen; self.kind.len()];
        let (first, last) = (self.ns(0), self.ns(self.streams.plain.len().saturating_sub(1)));
        let anchor = anchor.min(self.kind.len());
        let mut seen = 0;
        let mut running = offset as f64;
        for at in (anchor..self.kind.len()).chain((0..anchor).rev()) {
            if at.checked_add(1) == Some(anchor) {
                running = offset as f64;
            }
            let (Some(packet), Some(own)) = (self.streams.tunnelled.get(at), partners.get_mut(at)) else { continue };
            let target = packet.ns.saturating_sub(running as i64);
            if self.kind.get(at).copied().flatten().is_none()
                || target.saturating_sub(width) < first
                || target.saturating_add(width) > last
                || self.is_in_hole(target, width)
            {
                continue;
            }
            seen += 1;
            *own = Partner::Missing;
            let window = (target.saturating_sub(width), target.saturating_add(width));
            let found = match choice {
                Choice::Nearest => self.nearest(at, target, width, &used, &mut from),
                Choice::InOrder => self.outermost(at, window, at >= anchor, &used, &mut from),
            };
            let Some(plain) = found else { continue };
            if let Some(place) = used.get_mut(plain) {
                *place = true;
            }
            *own = Partner::Found(plain, 0);
            running += 0.2 * (packet.ns.saturating_sub(self.ns(plain)) as f64 - running);
        }
        let mut differences = Vec::with_capacity(seen);
        for (packet, partner) in self.streams.tunnelled.iter().zip(&mut partners) {
            if let Partner::Found(plain, change) = partner {
                let difference = packet.ns.saturating_sub(self.ns(*plain));
                *change = differences.last().map_or(0, |before| difference.saturating_sub(*before).saturating_abs());
                differences.push(difference);
            }
        }
        let found = differences.len();
        let middle = median(differences.clone()).unwrap_or(offset);
        let apart = differences.iter().map(|own| own.saturating_sub(middle).saturating_abs()).collect();
        let spread = median(apart).unwrap_or(0).max(1_000) as f64;
        let mut alignment =
            Alignment { offset: middle, width, spread, partners, found, seen, weights: Vec::new(), weight: 0.0 };
        alignment.weights = self.weights(&alignment);
        alignment.weight = alignment.weights.iter().sum();
        alignment
    }

    /// Whether no plaintext packet is due near a time because the plain side shows none at all.
    fn is_in_hole(&self, target: i64, width: i64) -> bool {
        let at = self.holes.partition_point(|(_, to)| *to <= target);
        let (least, most) = (target.saturating_sub(width), target.saturating_add(width));
        self.holes.get(at).is_some_and(|(from, to)| *from < least && most < *to)
    }

    /// How much more likely each packet's partner, or that it has none, is than by chance, in nats.
    fn weights(&self, alignment: &Alignment) -> Vec<f64> {
        let missing = alignment.seen - alignment.found;
        let lost = ((missing as f64 + 1.0) / (alignment.seen as f64 + 2.0)).clamp(0.01, 0.99);
        let weight = |(at, partner): (usize, &Partner)| {
            let expected = 2.0 * alignment.width as f64 * self.choices(at) as f64 / self.span;
            let chance = (1.0 - (-expected).exp()).clamp(1e-4, 0.98);
            match partner {
                Partner::Unseen => 0.0,
                Partner::Found(..) => ((1.0 - lost) / chance).ln(),
                // To have none where chance would give one speaks for nothing.
                Partner::Missing => (lost / (1.0 - chance)).ln().min(0.0),
            }
        };
        alignment.partners.iter().enumerate().map(weight).collect()
    }

    /// The alignment near an offset, in a window as narrow as its jitter allows.
    fn refine(&self, offset: i64, half: i64) -> Alignment {
        let rough = self.align(offset, half.saturating_mul(2), 0, Choice::Nearest);
        let fitting = ((rough.spread * 8.0) as i64).max(4_000);
        if fitting == rough.width {
            return self.in_order(rough);
        }
        let fine = self.align(rough.offset, fitting, rough.middle(), Choice::Nearest);
        self.in_order(if fine.weight > rough.weight { fine } else { rough })
    }

    /// The same alignment with packets in order, where more of them then have a partner.
    fn in_order(&self, alignment: Alignment) -> Alignment {
        if alignment.found == alignment.seen || self.is_crowded(alignment.width) {
            return alignment;
        }
        let ordered = self.align(alignment.offset, alignment.width, alignment.middle(), Choice::InOrder);
        if ordered.weight > alignment.weight { ordered } else { alignment }
    }

    /// The best alignment and what speaks for others; `None` where no two packets fit.
    pub(in crate::matching) fn verdict(&self) -> Option<Verdict> {
        let differences = self.differences();
        let mut all: Vec<Alignment> = Vec::new();
        for half in SCALES {
            for offset in differences.iter().flat_map(|some| Self::peaks(some, half)) {
                let alignment = self.refine(offset, half);
                let same = |own: &Alignment| is_same(own, &alignment);
                match all.iter_mut().find(|own| same(own)) {
                    Some(own) if own.weight < alignment.weight => *own = alignment,
                    Some(_) => {}
                    None => all.push(alignment),
                }
            }
            // A finer scale tells more alignments apart; a coarser one would add none.
            if all.iter().any(|own| own.weight >= CERTAIN && own.found * 10 >= own.seen * 8) {
                break;
            }
        }
        all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        for _ in 0..ROUNDS {
            let best = all.first()?.clone();
            all.extend(self.shifts_of(&best, &all));
            all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            if all.first().is_none_or(|now| is_same(now, &best)) {
                break;
            }
        }
        let best = all.first()?.clone();
        let mut rivals: Vec<&Alignment> = Vec::new();
        for own in all.iter().skip(1).filter(|own| !is_same(own, &best) && !is_refuted(own, &best)) {
            if !rivals.iter().any(|rival| is_same(rival, own)) {
                rivals.push(own);
            }
        }
        let rivals = rivals.len();
        Some(Verdict { best, rivals })
    }
}

#[cfg(test)]
mod tests;
