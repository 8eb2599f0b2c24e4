//! How large packets are before and after encapsulation.

mod cells;

use serde::{Deserialize, Serialize};

use self::cells::Op;
pub(crate) use self::cells::{Cell, Cells};
use super::null::NullCandidate;
use crate::analysis::limits::MAX_SIZE_CELLS;
use crate::analysis::observe::observation::{DUMMY, Observation, SaSight, TCP_LENGTH};
use crate::analysis::state::base::intern::{NONE, Quick, remap};
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Costs, Note, NullPeek, NullSupport, Within};
use crate::model::{Encapsulation, Protocol, Shift};

/// Octets of the header and the trailer of ESP, without padding (RFC 4303 section 2).
const NULL_FRAME_BYTES: u32 = 10;

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
        self.visible.close();
        self.opaque.close();
        self.null.close();
        self.trains.close();
        self.decrypted.close();
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        let Self { visible, opaque, null, trains, decrypted } = self;
        visible.len() + opaque.len() + null.len() + trains.len() + decrypted.len()
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
/// size (RFC 4303 section 2.6), for a tunnel of the same ends of which too little was captured to tell how long the packet in it is, and for
/// the second of two ESP headers around one packet.
fn null_key(
    o: &Observation,
    sights: &[SaSight],
    sight: &SaSight,
    support: &NullSupport,
    costs: Costs,
) -> Option<NullKey> {
    if support.next_header == DUMMY || support.within == Within::Unknown {
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
    if let Within::Further { bytes, gre } = support.within {
        // The headers of the tunnel inside are no padding.
        let padding =
            sight.bytes.saturating_sub(NULL_FRAME_BYTES + u32::from(support.iv_bytes) + u32::from(support.inner_bytes));
        key.pad_bytes = u16::try_from(padding.saturating_sub(u32::from(support.icv_bytes))).unwrap_or(u16::MAX);
        key.inner_bytes = u32::from(bytes);
        key.costs.gre = key.costs.gre.saturating_add(gre);
    }
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
