//! The keys of a span, numbered: stacks, directions, SAs, paths and pairs of addresses.

use serde::{Deserialize, Serialize};

use super::intern::{Interner, NONE, Quick, remap};
use crate::analysis::limits::{MAX_DIRECTIONS, MAX_FLOWS, MAX_PATHS, MAX_SAS, MAX_STACKS};
use crate::dissect::{Costs, Shape};
use crate::model::{Address, SaKey};

/// A direction of traffic at a tap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum DirectionKey {
    /// Source MAC to destination MAC; group destinations are all [`GROUP`].
    Mac([u8; 6], [u8; 6]),
    /// Source address to destination address, on links without MACs.
    Ip(Address, Address),
    /// Frames without MAC and without IP.
    Unknown,
    /// Everything beyond the limit on directions.
    Other,
}

/// Stands for every group and broadcast destination of a sender.
pub(crate) const GROUP: [u8; 6] = [0xff; 6];

/// One way a packet is encapsulated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct PathKey {
    /// Outermost SA around the encapsulated packet, or [`NONE`].
    pub(crate) sa: u32,
    /// Outer source and destination, as a number of `pairs`.
    pub(crate) pair: u32,
    /// Direction at the tap.
    pub(crate) direction: u32,
    /// The whole stack of the frame.
    pub(crate) stack: u32,
    /// Which of its IP headers is the encapsulated packet; 0 where it is the outer packet itself (transport mode).
    pub(crate) encapsulated: u8,
    /// Octets of the visible encapsulating headers.
    pub(crate) costs: Costs,
}

/// Two addresses that talk, inside a tunnel or in clear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct FlowKey {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    /// Whether it was seen inside an encapsulation.
    pub(crate) inner: bool,
}

/// All numbered keys of a span.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Tables {
    pub(crate) stacks: Interner<Shape>,
    pub(crate) directions: Interner<DirectionKey>,
    pub(crate) sas: Interner<SaKey>,
    pub(crate) pairs: Interner<(Address, Address)>,
    pub(crate) paths: Interner<PathKey>,
    pub(crate) flows: Interner<FlowKey>,
    /// The limit on memory, in octets, that was reached; 0 while none was.
    pub(crate) full: u64,
}

/// How a later span's numbers translate after [`Tables::absorb`].
#[derive(Default)]
pub(crate) struct Remap {
    pub(crate) stacks: Vec<u32>,
    pub(crate) directions: Vec<u32>,
    pub(crate) sas: Vec<u32>,
    pub(crate) paths: Vec<u32>,
    pub(crate) flows: Vec<u32>,
}

impl Remap {
    /// How lanes translate: lane 0 is the whole tap, lane `n + 1` is direction `n`.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u32> {
        std::iter::once(0).chain(self.directions.iter().map(|&id| if id == NONE { NONE } else { id + 1 }))
    }
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            stacks: Interner::new(MAX_STACKS),
            directions: Interner::new(MAX_DIRECTIONS),
            sas: Interner::new(MAX_SAS),
            pairs: Interner::new(MAX_PATHS),
            paths: Interner::new(MAX_PATHS),
            flows: Interner::new(MAX_FLOWS),
            full: 0,
        }
    }
}

impl Tables {
    /// Gives the room of caches back.
    pub(crate) fn settle(&mut self) {
        let Self { stacks, directions, sas, pairs, paths, flows, full: _ } = self;
        stacks.settle();
        directions.settle();
        sas.settle();
        pairs.settle();
        paths.settle();
        flows.settle();
    }

    /// Admits the keys of the span that follows, in its order.
    pub(crate) fn absorb(&mut self, later: &Self) -> Remap {
        let Self { stacks, directions, sas, pairs, paths, flows, full } = later;
        self.full = self.full.max(*full);
        let stacks = self.stacks.absorb(stacks, |k| k);
        let directions = self.directions.absorb(directions, |k| k);
        let sas = self.sas.absorb(sas, |k| k);
        let pairs = self.pairs.absorb(pairs, |k| k);
        let paths = self.paths.absorb(paths, |k| PathKey {
            sa: remap(&sas, k.sa),
            pair: remap(&pairs, k.pair),
            direction: remap(&directions, k.direction),
            stack: remap(&stacks, k.stack),
            ..k
        });
        let flows = self.flows.absorb(flows, |k| k);
        Remap { stacks, directions, sas, paths, flows }
    }

    /// Admits no further keys: the memory that the analysis may take is full.
    pub(crate) fn close(&mut self, limit: u64) {
        let Self { stacks, directions, sas, pairs, paths, flows, full } = self;
        stacks.close();
        directions.close();
        sas.close();
        pairs.close();
        paths.close();
        flows.close();
        *full = (*full).max(limit);
    }

    /// Whether the memory has no room for more keys.
    pub(crate) const fn is_full(&self) -> bool {
        self.full > 0
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        let Self { stacks, directions, sas, pairs, paths, flows, full: _ } = self;
        stacks.len() + directions.len() + sas.len() + pairs.len() + paths.len() + flows.len()
    }

    /// What was refused for lack of room, one sentence a table.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let mut why = Vec::new();
        if self.full > 0 {
            why.push(format!(
                "the analysis reached its memory limit of {} MiB (--memory-limit): SAs, encapsulations, address pairs and sizes that \
                 came later were counted, not analysed",
                self.full >> 20
            ));
        }
        let beyond = |limit: usize| if self.full > 0 { "the memory limit".to_owned() } else { limit.to_string() };
        for (refused, what) in [
            (self.sas.refused, format!("headers of security associations beyond {}", beyond(MAX_SAS))),
            (self.paths.refused, format!("packets on encapsulations beyond {}", beyond(MAX_PATHS))),
            (self.pairs.refused, format!("packets of endpoint pairs beyond {}", beyond(MAX_PATHS))),
            (self.stacks.refused, format!("frames with stacks beyond {}", beyond(MAX_STACKS))),
            (self.flows.refused, format!("packets of address pairs beyond {}", beyond(MAX_FLOWS))),
        ] {
            if refused > 0 {
                why.push(format!("{refused} {what} were counted, not analysed"));
            }
        }
        why
    }

    pub(crate) fn pair_of(&self, path: &PathKey) -> Option<(Address, Address)> {
        if path.pair == NONE { None } else { self.pairs.get(path.pair).copied() }
    }
}

impl Quick for Shape {
    #[inline]
    fn quick(&self) -> u64 {
        self.layers as u64 ^ (self.layers >> 64) as u64 ^ u64::from(self.shell)
    }
}

impl Quick for DirectionKey {
    #[inline]
    fn quick(&self) -> u64 {
        let word = |m: &[u8; 6]| u64::from_le_bytes([m[0], m[1], m[2], m[3], m[4], m[5], 0, 0]);
        match self {
            Self::Mac(src, dst) => word(src) ^ word(dst).rotate_left(17),
            Self::Ip(src, dst) => (*src, *dst).quick(),
            Self::Unknown => 1,
            Self::Other => 2,
        }
    }
}

impl Quick for (Address, Address) {
    #[inline]
    fn quick(&self) -> u64 {
        let ((a, b), (c, d)) = (self.0.words(), self.1.words());
        a ^ b ^ c.rotate_left(7) ^ d.rotate_left(17)
    }
}

impl Quick for SaKey {
    #[inline]
    fn quick(&self) -> u64 {
        (self.src, self.dst).quick() ^ u64::from(self.spi.0).rotate_left(32) ^ self.protocol as u64
    }
}

impl Quick for PathKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.sa) | u64::from(self.pair).rotate_left(32) ^ u64::from(self.stack).rotate_left(48)
    }
}

impl Quick for FlowKey {
    #[inline]
    fn quick(&self) -> u64 {
        (self.src, self.dst).quick() ^ u64::from(self.inner)
    }
}
