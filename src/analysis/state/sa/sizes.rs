//! How large packets are before and after encapsulation.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::null::NullCandidate;
use crate::analysis::limits::MAX_SIZE_CELLS;
use crate::analysis::observe::observation::{DUMMY, Observation, SaSight, TCP_LENGTH};
use crate::analysis::state::base::intern::{NONE, Quick, cache_slot, remap, remember};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Costs, Note, NullPeek, NullSupport};
use crate::model::{Encapsulation, Protocol, Shift};

/// Size cells of a span: sums over packets that agree in everything that matters to a size.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// Packets whose inner packet is visible.
    pub(crate) visible: Cells<VisibleKey>,
    /// Packets of SAs whose inner packet is hidden, by SA and outer length.
    pub(crate) opaque: Cells<OpaqueKey>,
    /// ESP packets as an ESP-NULL layout would have them; which layout holds is decided in the end.
    pub(crate) null: Cells<NullKey>,
    /// Packets in fragments as ESP-NULL would have them; whether their SA is, is decided in the end.
    pub(crate) trains: Cells<TrainKey>,
    /// Packets whose inner packet was decrypted.
    pub(crate) decrypted: Cells<DecryptedKey>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct VisibleKey {
    pub(crate) path: u32,
    pub(crate) inner_bytes: u32,
    pub(crate) outer_bytes: u32,
    /// IP fragments the packet travelled in; 1 for a whole one.
    pub(crate) fragments: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct OpaqueKey {
    pub(crate) sa: u32,
    pub(crate) outer_bytes: u32,
    pub(crate) fragments: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct NullKey {
    pub(crate) sa: u32,
    /// The outermost SA around it; the same where there is only one, [`NONE`] inside a tunnel of other endpoints.
    pub(crate) owner: u32,
    pub(crate) costs: Costs,
    pub(crate) stack: u32,
    pub(crate) direction: u32,
    pub(crate) candidate: NullCandidate,
    pub(crate) tunnel: bool,
    pub(crate) inner_bytes: u32,
    pub(crate) outer_bytes: u32,
    /// Octets of the ESP part, from its header to the ICV's end.
    pub(crate) esp_bytes: u32,
    /// Pad length with TFC padding; `u16::MAX` where the trailer was cut off.
    pub(crate) pad_bytes: u16,
    /// IP fragments the packet travelled in; 1 for a whole one.
    pub(crate) fragments: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct TrainKey {
    pub(crate) sa: u32,
    pub(crate) owner: u32,
    pub(crate) costs: Costs,
    pub(crate) stack: u32,
    pub(crate) direction: u32,
    /// The inner packet that its first fragment would begin with.
    pub(crate) peek: NullPeek,
    pub(crate) outer_bytes: u32,
    /// Octets of the ESP part, from its header to the ICV's end.
    pub(crate) esp_bytes: u32,
    pub(crate) fragments: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct DecryptedKey {
    pub(crate) path: u32,
    /// The outermost of the decrypted ESP SAs around the inner packet.
    pub(crate) sa: u32,
    /// The innermost SA around it: the same, ESP in ESP, or AH in ESP.
    pub(crate) innermost: u32,
    pub(crate) inner_bytes: u32,
    pub(crate) outer_bytes: u32,
    pub(crate) added: Added,
}

/// What all decrypted ESP around an inner packet adds to it besides headers and trailers, in octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Added {
    /// How many ESP headers.
    pub(crate) headers: u8,
    pub(crate) iv: u16,
    pub(crate) padding: u16,
    pub(crate) icv: u16,
}

/// Sums over the packets of one cell.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) seen: Seen,
    pub(crate) l1_bytes: u64,
    pub(crate) copies: u64,
    pub(crate) copies_l1_bytes: u64,
}

impl Cell {
    #[inline]
    fn add(&mut self, o: &Observation) {
        self.seen.add(o.pos, o.time);
        self.l1_bytes += o.l1_bytes();
    }

    fn add_copy(&mut self, o: &Observation) {
        self.copies += 1;
        self.copies_l1_bytes += o.l1_bytes();
    }

    fn take_copy(&mut self, o: &Observation) {
        self.copies = self.copies.saturating_sub(1);
        self.copies_l1_bytes = self.copies_l1_bytes.saturating_sub(o.l1_bytes());
    }

    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { seen, l1_bytes, copies, copies_l1_bytes } = later;
        self.seen.merge(seen, shift);
        self.l1_bytes += l1_bytes;
        self.copies += copies;
        self.copies_l1_bytes += copies_l1_bytes;
    }
}

/// A bounded map of cells with a memory for the last one used.
#[derive(Clone, Debug)]
pub(crate) struct Cells<K> {
    ids: HashMap<K, u32, RandomState>,
    cells: Vec<(K, Cell)>,
    /// Numbers of cells used lately, by the quick word of their key.
    cache: Vec<u32>,
    limit: usize,
    pub(crate) refused: u64,
}

impl<K> Default for Cells<K> {
    fn default() -> Self {
        Self { ids: HashMap::default(), cells: Vec::new(), cache: Vec::new(), limit: MAX_SIZE_CELLS, refused: 0 }
    }
}

impl<K: PartialEq> PartialEq for Cells<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells && self.refused == other.refused
    }
}

impl<K: Copy + Eq + Hash + Quick> Cells<K> {
    #[inline]
    fn cell(&mut self, key: K) -> Option<&mut Cell> {
        let slot = cache_slot(key.quick());
        let mut id = self.cache.get(slot).copied().unwrap_or(NONE);
        if self.cells.get(id as usize).is_none_or(|(known, _)| *known != key) {
            id = self.find(key)?;
            remember(&mut self.cache, slot, id);
        }
        self.cells.get_mut(id as usize).map(|(_, cell)| cell)
    }

    #[inline(never)]
    fn find(&mut self, key: K) -> Option<u32> {
        if self.ids.len() < self.cells.len() {
            self.ids = self.cells.iter().enumerate().map(|(id, (key, _))| (*key, id as u32)).collect();
        }
        if let Some(&id) = self.ids.get(&key) {
            return Some(id);
        }
        if self.cells.len() >= self.limit {
            self.refused += 1;
            return None;
        }
        let id = self.cells.len() as u32;
        self.cells.push((key, Cell::default()));
        self.ids.insert(key, id);
        Some(id)
    }

    /// Whether a key has a cell.
    pub(crate) fn has(&self, key: &K) -> bool {
        let cached = self.cache.get(cache_slot(key.quick())).and_then(|id| self.cells.get(*id as usize));
        cached.is_some_and(|(known, _)| known == key) || self.ids.contains_key(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, Cell)> {
        self.cells.iter()
    }

    /// Takes out the cells of these keys.
    fn take_out(&mut self, of: impl Fn(&K) -> bool) {
        self.cells.retain(|(key, _)| !of(key));
        // Numbers have changed; made again when the next cell is looked for.
        (self.ids, self.cache) = (HashMap::default(), Vec::new());
    }

    fn settle(&mut self)
    where
        K: Ord,
    {
        self.cells.sort_unstable_by_key(|(key, _)| *key);
        self.cells.shrink_to_fit();
        // Made again when the next cell is looked for.
        self.ids = HashMap::default();
        self.cache = Vec::new();
    }

    pub(crate) fn add(&mut self, key: K, o: &Observation) {
        if let Some(cell) = self.cell(key) {
            cell.add(o);
        }
    }

    #[inline]
    /// Adds a frame to the copies, or takes it back.
    pub(crate) fn count_copy(&mut self, key: K, o: &Observation, copy: bool) {
        self.apply(key, o, if copy { Op::Copy } else { Op::NoCopy });
    }

    fn apply(&mut self, key: K, o: &Observation, op: Op) {
        if let Some(cell) = self.cell(key) {
            match op {
                Op::Add => cell.add(o),
                Op::Copy => cell.add_copy(o),
                Op::NoCopy => cell.take_copy(o),
            }
        }
    }

    /// Adds packets of one size.
    pub(crate) fn add_many(&mut self, key: K, seen: &Seen, l1_bytes: u64) {
        if let Some(cell) = self.cell(key) {
            cell.seen.join(seen);
            cell.l1_bytes += l1_bytes;
        }
    }

    /// Adds the sums of a cell.
    pub(crate) fn add_cell(&mut self, key: K, sums: &Cell) {
        if let Some(cell) = self.cell(key) {
            cell.seen.join(&sums.seen);
            cell.l1_bytes += sums.l1_bytes;
        }
    }

    /// Adds a whole packet that was put together from fragments: first seen with its first fragment.
    pub(crate) fn add_train(&mut self, key: K, seen: Seen, l1_bytes: u64) {
        if let Some(cell) = self.cell(key) {
            cell.seen.count += 1;
            let mut ends = seen;
            ends.count = 0;
            cell.seen.join(&ends);
            cell.l1_bytes += l1_bytes;
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: impl Fn(K) -> K) {
        let Self { ids: _, cells, cache: _, limit: _, refused } = later;
        self.refused += refused;
        for (key, theirs) in cells {
            if let Some(cell) = self.cell(map(key)) {
                cell.merge(theirs, shift);
            }
        }
    }
}

impl Sizes {
    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs) {
        // A fragment is not a packet; whole trains are added when they are complete.
        if o.class.fragment {
            return;
        }
        self.each_key(o, sights, notes, costs, Op::Add);
    }

    /// Adds a frame to the copies, or takes it back.
    pub(crate) fn count_copy(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs, copy: bool) {
        if o.class.fragment {
            return;
        }
        self.each_key(o, sights, notes, costs, if copy { Op::Copy } else { Op::NoCopy });
    }

    #[inline]
    fn each_key(&mut self, o: &Observation, sights: &[SaSight], notes: &[Note], costs: Costs, op: Op) {
        if let Some(key) = decrypted_key(o, sights) {
            self.decrypted.apply(key, o, op);
            self.each_opaque(o, sights, op);
            return;
        }
        // ESP-NULL packets are sized by the verdict over the whole SA, below; ESP-NULL inside somebody else's tunnel is not.
        let by_verdict = o.class.null_read && sights.iter().any(|s| s.protocol == Protocol::Esp && encloses(o, s));
        if o.path != NONE && !by_verdict {
            let key = VisibleKey { path: o.path, inner_bytes: o.inner_bytes, outer_bytes: o.l3_bytes, fragments: 1 };
            self.visible.apply(key, o, op);
        }
        self.each_opaque(o, sights, op);
        for note in notes {
            if let Note::Null { sa, support } = note
                && let Some(sight) = sights.get(usize::from(*sa))
                && let Some(key) = null_key(o, sights, sight, support, costs)
            {
                self.null.apply(key, o, op);
            }
        }
    }

    #[inline]
    fn each_opaque(&mut self, o: &Observation, sights: &[SaSight], op: Op) {
        for sight in sights.iter().filter(|s| s.opaque) {
            let key = OpaqueKey { sa: sight.sa, outer_bytes: sight.outer_bytes, fragments: 1 };
            self.opaque.apply(key, o, op);
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        let Self { visible, opaque, null, trains, decrypted } = later;
        self.visible.merge(visible, shift, |k| VisibleKey { path: remap(&map.paths, k.path), ..k });
        self.opaque.merge(opaque, shift, |k| OpaqueKey { sa: remap(&map.sas, k.sa), ..k });
        self.null.merge(null, shift, |k| NullKey {
            sa: remap(&map.sas, k.sa),
            owner: remap(&map.sas, k.owner),
            stack: remap(&map.stacks, k.stack),
            direction: remap(&map.directions, k.direction),
            ..k
        });
        self.trains.merge(trains, shift, |k| TrainKey {
            sa: remap(&map.sas, k.sa),
            owner: remap(&map.sas, k.owner),
            stack: remap(&map.stacks, k.stack),
            direction: remap(&map.directions, k.direction),
            ..k
        });
        self.decrypted.merge(decrypted, shift, |k| DecryptedKey {
            path: remap(&map.paths, k.path),
            sa: remap(&map.sas, k.sa),
            innermost: remap(&map.sas, k.innermost),
            ..k
        });
    }

    /// Orders the cells by key, so that equal states are equal whatever order cells were first used in.
    /// Takes out what was put together from fragments, of the SAs for which `of` holds; `sa_of` is the SA of a path.
    pub(crate) fn withdraw(&mut self, of: impl Fn(u32) -> bool, sa_of: impl Fn(u32) -> u32) {
        self.visible.take_out(|key| key.fragments > 1 && of(sa_of(key.path)));
        self.opaque.take_out(|key| key.fragments > 1 && of(key.sa));
        self.trains.take_out(|key| of(key.sa));
    }

    pub(crate) fn settle(&mut self) {
        self.visible.settle();
        self.opaque.settle();
        self.null.settle();
        self.trains.settle();
        self.decrypted.settle();
    }

    /// Admits no further sizes.
    pub(crate) fn close(&mut self) {
        self.visible.limit = self.visible.cells.len();
        self.opaque.limit = self.opaque.cells.len();
        self.null.limit = self.null.cells.len();
        self.trains.limit = self.trains.cells.len();
        self.decrypted.limit = self.decrypted.cells.len();
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        let Self { visible, opaque, null, trains, decrypted } = self;
        visible.cells.len() + opaque.cells.len() + null.cells.len() + trains.cells.len() + decrypted.cells.len()
    }

    /// `full`: it was the memory that had no room.
    pub(crate) fn refusals(&self, full: bool) -> Option<String> {
        let refused = self.visible.refused
            + self.opaque.refused
            + self.null.refused
            + self.trains.refused
            + self.decrypted.refused;
        let limit = if full { "the memory limit".to_owned() } else { format!("{MAX_SIZE_CELLS} cells") };
        (refused > 0).then(|| format!("{refused} packets of sizes beyond {limit} are in no size table"))
    }
}

#[derive(Clone, Copy)]
enum Op {
    Add,
    Copy,
    /// It was taken for a copy and is none.
    NoCopy,
}

/// Whether the header of `sight` stands outside the encapsulated packet that was read in this frame: it is part of the
/// tunnel and not of what the tunnel carries.
fn encloses(o: &Observation, sight: &SaSight) -> bool {
    o.path != NONE && sight.outer_bytes > o.inner_bytes
}

/// The cell of a packet that was decrypted; `None` where nothing was, or where what was carries no packet that shows itself.
#[inline]
fn decrypted_key(o: &Observation, sights: &[SaSight]) -> Option<DecryptedKey> {
    if o.path == NONE {
        return None;
    }
    let mut key: Option<DecryptedKey> = None;
    for (sight, esp) in sights.iter().filter(|s| encloses(o, s)).filter_map(|s| Some((s, s.added?))) {
        let key = key.get_or_insert(DecryptedKey {
            path: o.path,
            sa: sight.sa,
            innermost: sight.sa,
            inner_bytes: o.inner_bytes,
            outer_bytes: o.l3_bytes,
            added: Added::default(),
        });
        key.added.headers = key.added.headers.saturating_add(1);
        key.added.iv = key.added.iv.saturating_add(esp.iv.into());
        key.added.padding = key.added.padding.saturating_add(esp.padding);
        key.added.icv = key.added.icv.saturating_add(esp.icv.into());
    }
    let innermost = sights.iter().rfind(|s| encloses(o, s)).map_or(NONE, |s| s.sa);
    key.map(|key| DecryptedKey { innermost, ..key })
}

/// Octets of the headers between IP and ESP, which are no part of the packet that transport mode protects: those that carry ESP in UDP or TCP,
/// and AH of the same IP packet.
fn carrier_bytes(sights: &[SaSight], sight: &SaSight, costs: Costs) -> u32 {
    let is_around = |own: &&SaSight| own.protocol == Protocol::Ah && own.outer_bytes == sight.outer_bytes;
    let in_front = sights.iter().take_while(|own| !std::ptr::eq(*own, sight));
    let authenticated: u32 = in_front.filter(is_around).map(|own| own.bytes).sum();
    authenticated
        + match sight.encapsulation {
            Encapsulation::Native => 0,
            Encapsulation::Udp | Encapsulation::Tcp | Encapsulation::Wesp => {
                u32::from(costs.udp) + u32::from(costs.tcp)
            }
        }
}

/// The cell of an ESP packet that is consistent with a layout; `None` for dummy packets, which have no inner packet to
/// size (RFC 4303 section 2.6), and for the second of two ESP headers around one packet.
fn null_key(
    o: &Observation,
    sights: &[SaSight],
    sight: &SaSight,
    support: &NullSupport,
    costs: Costs,
) -> Option<NullKey> {
    if support.next_header == DUMMY {
        return None;
    }
    let tunnel = matches!(support.next_header, 4 | 41);
    let mut key = NullKey {
        sa: sight.sa,
        owner: sights.first().map_or(sight.sa, |s| s.sa),
        costs,
        stack: o.stack,
        direction: o.direction,
        candidate: NullCandidate { icv_bytes: support.icv_bytes, iv_bytes: support.iv_bytes },
        tunnel,
        // In transport mode the inner packet is the IP packet without what ESP added.
        inner_bytes: if tunnel {
            u32::from(support.inner_bytes)
        } else {
            let around = sight.outer_bytes.saturating_sub(sight.bytes);
            around.saturating_sub(carrier_bytes(sights, sight, costs)) + u32::from(support.inner_bytes)
        },
        outer_bytes: sight.outer_bytes,
        esp_bytes: sight.bytes,
        pad_bytes: support.pad_bytes.map_or(u16::MAX, |pad| u16::from(pad).saturating_add(support.tfc_bytes)),
        fragments: 1,
    };
    let alone = sights.iter().find(|s| s.encapsulation == sight.encapsulation).is_none_or(|s| std::ptr::eq(s, sight));
    if sight.encapsulation == Encapsulation::Tcp && !alone {
        // The first message of a TCP segment pays for its headers.
        key.costs = Costs { udp: TCP_LENGTH as u16, ..Costs::default() };
    }
    if encloses(o, sight) {
        // Transport ESP around GRE, or around AH, is one tunnel with what it protects.
        if o.class.null_read {
            let first = sights.iter().find(|s| s.protocol == Protocol::Esp)?;
            if !std::ptr::eq(first, sight) {
                return None;
            }
            key.inner_bytes = o.inner_bytes;
            key.outer_bytes = o.l3_bytes;
        }
    } else if o.path != NONE {
        // Deeper inside: the traffic of the tunnel's customer.
        key.owner = NONE;
    }
    Some(key)
}

impl Quick for VisibleKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.path) << 40 ^ u64::from(self.inner_bytes) << 20 ^ u64::from(self.outer_bytes)
    }
}

impl Quick for OpaqueKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.sa) << 32 ^ u64::from(self.outer_bytes)
    }
}

impl Quick for DecryptedKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.path) << 40 ^ u64::from(self.inner_bytes) << 20 ^ u64::from(self.outer_bytes)
    }
}

impl Quick for TrainKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.sa) << 40 ^ u64::from(self.peek.inner_bytes) << 20 ^ u64::from(self.outer_bytes)
    }
}

impl Quick for NullKey {
    #[inline]
    fn quick(&self) -> u64 {
        u64::from(self.sa) << 40
            ^ u64::from(self.inner_bytes) << 20
            ^ u64::from(self.outer_bytes)
            ^ u64::from(self.candidate.icv_bytes) << 36
    }
}

impl<K: Serialize> Serialize for Cells<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.cells, self.refused).serialize(serializer)
    }
}

impl<'de, K: Copy + Eq + Hash + Deserialize<'de>> Deserialize<'de> for Cells<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (cells, refused) = <(Vec<(K, Cell)>, u64)>::deserialize(deserializer)?;
        Ok(Self { cells, refused, ..Self::default() })
    }
}
