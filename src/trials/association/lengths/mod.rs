//! Which outer lengths the lengths of plaintext packets make, without any key: the padding rule that explains most packets.

mod lost_whole;

use std::collections::BTreeMap;

pub(super) use lost_whole::{KnownLength, lost_whole};

/// Packets by IP length.
pub(crate) type Histogram = BTreeMap<u16, u64>;

/// Least and greatest sum of all headers, trailers and the ICV that is tried, in octets.
const ADDED: std::ops::RangeInclusive<u32> = 8..=200;
/// Blocks that encrypted packets are padded to, and octets inside besides the packet, modulo the block: transport mode, GRE.
const BLOCKS: [(u32, &[u32]); 3] = [(16, &[0, 4, 8, 12]), (8, &[0, 4]), (4, &[0])];

/// How packets are made longer: the block they are filled up to, what else is in it, and all that is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PaddingRule {
    block: u32,
    inside: u32,
    added: u32,
}

impl PaddingRule {
    fn outer_of(self, size: u16) -> Option<u16> {
        let padded = (u32::from(size) + 2 + self.inside).next_multiple_of(self.block);
        u16::try_from(padded + self.added).ok()
    }

    /// The least and the greatest length that makes an outer one.
    fn inner_of(self, outer: u16) -> Option<(u16, u16)> {
        let padded = u32::from(outer).checked_sub(self.added).filter(|padded| padded.is_multiple_of(self.block))?;
        let most = u16::try_from(padded.checked_sub(2 + self.inside)?).ok()?;
        Some((most.saturating_sub(self.block as u16 - 1), most))
    }
}

/// Outer lengths by inner lengths.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Lengths {
    outer: BTreeMap<u16, u16>,
    /// The rules that explain most packets.
    rules: Vec<PaddingRule>,
    /// Inner lengths that stand for others, too, from another one on: no such packet was seen in clear.
    ranges: BTreeMap<u16, u16>,
    /// Whether any length may be any other: nothing is known.
    pub(crate) open: bool,
}

impl Lengths {
    /// Packets are seen as they are.
    pub(crate) fn outer_of(&self, inner: u16) -> Option<u16> {
        self.outer.get(&inner).copied()
    }

    /// The inner length that an outer one stands for: the greatest, where padding makes several alike.
    pub(crate) fn inner_of(&self, outer: u16) -> Option<u16> {
        self.outer.iter().rev().find(|(_, own)| **own == outer).map(|(inner, _)| *inner)
    }

    /// From packets whose both lengths are known.
    pub(crate) fn known(pairs: impl Iterator<Item = (u16, u16)>) -> Self {
        Self { outer: pairs.collect(), ..Self::default() }
    }

    /// The rule that explains most packets of both sides.
    pub(crate) fn learn(plain: &Histogram, tunnel: &Histogram) -> Self {
        let all: u64 = tunnel.values().sum();
        let (mut most, mut rules): (u64, Vec<PaddingRule>) = (0, Vec::new());
        for (block, insides) in BLOCKS {
            for inside in insides {
                for added in ADDED {
                    let rule = PaddingRule { block, inside: *inside, added };
                    let score = score(plain, tunnel, |size| rule.outer_of(size));
                    if score > most {
                        (most, rules) = (score, Vec::new());
                    }
                    if score > 0 && score == most {
                        rules.push(rule);
                    }
                }
            }
        }
        // A rule for some of the packets would make loss of the others: two SAs may have two transforms.
        match rules.first() {
            Some(rule) if most * 5 >= 4 * all.min(plain.values().sum()) => {
                let outer = plain.keys().filter_map(|size| Some((*size, rule.outer_of(*size)?))).collect();
                Self { outer, rules, ..Self::default() }
            }
            _ => Self { open: true, ..Self::default() },
        }
    }

    /// The outer length of any packet.
    pub(crate) fn ruled(&self, size: u16) -> Option<u16> {
        self.rules.first()?.outer_of(size)
    }

    /// Takes in outer lengths of packets that nobody saw in clear, if one rule explains them, too.
    pub(crate) fn add(&mut self, outer: &[u16]) {
        let explains = |rule: &PaddingRule| outer.iter().all(|outer| rule.inner_of(*outer).is_some());
        let rules: Vec<PaddingRule> = self.rules.iter().copied().filter(explains).collect();
        for outer in outer {
            let ranges = || rules.iter().filter_map(|rule| rule.inner_of(*outer));
            let (least, most) = (ranges().map(|own| own.0).min(), ranges().map(|own| own.1).max());
            let Some((least, most)) = least.zip(most) else { continue };
            let Some(size) = (least..=most).rev().find(|size| !self.outer.contains_key(size)) else { continue };
            self.outer.insert(size, *outer);
            self.ranges.insert(size, least);
        }
    }

    /// The least length that packets of this one may have, where it stands for others.
    pub(crate) fn least_of(&self, size: u16) -> Option<u16> {
        self.ranges.get(&size).copied()
    }
}

/// Packets that a rule explains.
fn score(plain: &Histogram, tunnel: &Histogram, image: impl Fn(u16) -> Option<u16>) -> u64 {
    let mut made = 0;
    let mut before: Option<(u16, u64)> = None;
    let explained = |(outer, count): (u16, u64)| tunnel.get(&outer).map_or(0, |seen| count.min(*seen));
    // Lengths grow together, so equal outer lengths are neighbours.
    for (size, count) in plain {
        let Some(outer) = image(*size) else { continue };
        before = match before {
            Some((own, sum)) if own == outer => Some((own, sum + count)),
            other => {
                made += other.map_or(0, explained);
                Some((outer, *count))
            }
        };
    }
    made + before.map_or(0, explained)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_aes_cbc_are_learnt_from_both_sides() {
        // Tunnel mode, IPv4: 20 + 8 + 16 + padded + 12.
        let outer = |inner: u16| 56 + (inner + 2).next_multiple_of(16);
        let plain: Histogram = (64..1400).step_by(7).map(|size| (size, 3)).collect();
        let mut tunnel = Histogram::new();
        for (size, count) in &plain {
            *tunnel.entry(outer(*size)).or_default() += count - 1;
        }
        let lengths = Lengths::learn(&plain, &tunnel);
        assert!(plain.keys().all(|size| lengths.outer_of(*size) == Some(outer(*size))));
        let one = Lengths::learn(&[(512, 100)].into(), &[(584, 40), (86, 10)].into());
        assert_eq!((one.outer_of(512), one.inner_of(584), one.inner_of(86)), (Some(584), Some(512), None));
    }

    #[test]
    fn what_no_rule_explains_is_left_open() {
        let plain: Histogram = [(64, 50), (512, 50), (1400, 50)].into();
        assert!(Lengths::learn(&plain, &[(1500, 150)].into()).open);
    }
}
