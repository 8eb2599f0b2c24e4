//! The directions at the tap that an SA, or a flow, was seen in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::analysis::state::base::intern::NONE;
use crate::model::all_bits;

/// Numbers of directions. Hardly an SA has more than one, among the first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DirectionSet {
    /// The first 64 directions, one bit each: those that are reported.
    #[serde(serialize_with = "all_bits")]
    first: u64,
    /// Later ones, which may be among the first of a longer span.
    later: BTreeSet<u32>,
}

impl DirectionSet {
    #[inline]
    pub(crate) fn add(&mut self, direction: u32) {
        if direction < u64::BITS {
            self.first |= 1 << direction;
        } else if direction != NONE {
            self.later.insert(direction);
        }
    }

    /// Takes in those of a later span, whose numbers are `directions` here.
    pub(crate) fn merge(&mut self, later: Self, directions: &[u32]) {
        let Self { first, later } = later;
        let bits = (0..u64::BITS).filter(|bit| first >> bit & 1 == 1);
        for way in bits.chain(later) {
            self.add(directions.get(way as usize).copied().unwrap_or(NONE));
        }
    }

    /// Those among the first 64, one bit each.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// How many there are beyond the first 64.
    pub(crate) fn beyond(&self) -> usize {
        self.later.len()
    }
}
