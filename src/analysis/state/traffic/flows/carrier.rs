//! Which tunnel a flow inside tunnels is in.

use serde::{Deserialize, Serialize};

use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::tables::{Remap, Tables};
use crate::dissect::{LayerKind, Shape};
use crate::model::Address;

/// The tunnel that carries a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Carrier {
    /// How its first packet was encapsulated.
    path: u32,
    /// Whether a later packet was in a tunnel of other ends.
    has_others: bool,
    /// Whether one of its packets shows a TCP header.
    shows_tcp: bool,
}

impl Default for Carrier {
    fn default() -> Self {
        Self { path: NONE, has_others: false, shows_tcp: false }
    }
}

impl Carrier {
    /// Takes in a packet of the flow.
    #[inline]
    pub(super) fn add(&mut self, path: u32, tables: &Tables) {
        if path != self.path {
            self.change(path, tables);
        }
    }

    #[cold]
    fn change(&mut self, path: u32, tables: &Tables) {
        let Some(key) = tables.paths.get(path) else { return };
        self.shows_tcp |= tables.stacks.get(key.stack).is_some_and(ends_with_tcp);
        if self.path == NONE {
            self.path = path;
        } else {
            self.has_others |= tables.paths.get(self.path).is_none_or(|own| own.pair != key.pair);
        }
    }

    /// Appends what later packets of the flow show.
    pub(super) fn merge(&mut self, later: Self, map: &Remap, tables: &Tables) {
        let Self { path, has_others, shows_tcp } = later;
        self.add(remap(&map.paths, path), tables);
        self.has_others |= has_others;
        self.shows_tcp |= shows_tcp;
    }

    /// The outer source and destination, where all packets have the same.
    pub(crate) fn ends(&self, tables: &Tables) -> Option<(Address, Address)> {
        let path = tables.paths.get(self.path).filter(|_| !self.has_others)?;
        tables.pair_of(path)
    }

    pub(crate) const fn shows_tcp(&self) -> bool {
        self.shows_tcp
    }
}

/// Whether the innermost layer is TCP.
const fn ends_with_tcp(shape: &Shape) -> bool {
    shape.layers & 0x3f == LayerKind::Tcp as u128
}
