//! What the pairs add up to, by SA and by size.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::clock::{Clock, Difference};
use super::flows::FlowId;
use super::ledger::{Inner, PairBasis, Pairing, Tunnelled, TunnelledFate};
use super::limits::{MAX_EXAMPLES, MAX_SIZES, MAX_TIMED_SIZES};
use super::mapping::Mapping;
use super::quantiles::Quantiles;
use super::{PairSettings, TunnelKey, id};
use crate::analysis::padding::Pattern;
use crate::model::pairs::{EthernetPad, HeaderCopy, Pair};
use crate::model::report::{FrameRef, Name};
use crate::model::{Address, FramePos};

/// A pair that is less sure is ambiguous.
const SURE: f32 = 0.9;

/// Addresses by the shortest prefix that covers all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Prefix {
    address: Address,
    bits: u8,
}

impl Prefix {
    pub(super) const fn of(address: Address) -> Self {
        Self { address, bits: 128 }
    }

    pub(super) fn cover(&mut self, address: Address) {
        let ((a, b), (c, d)) = (self.address.words(), address.words());
        let common = match (a ^ c).leading_zeros() {
            64 => 64 + (b ^ d).leading_zeros(),
            fewer => fewer,
        };
        self.bits = self.bits.min(common.min(128) as u8);
    }

    pub(super) fn show(self) -> String {
        let bits = if self.address.is_v4() { self.bits.saturating_sub(96) } else { self.bits };
        let whole = if self.address.is_v4() { 32 } else { 128 };
        if bits >= whole { self.address.to_string() } else { format!("{}/{bits}", self.address.network(bits)) }
    }
}

/// Ethernet padding of one side.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Pads(pub(super) EthernetPad);

impl Pads {
    pub(super) fn add(&mut self, bytes: u32, pattern: Option<Pattern>) {
        let Some(pattern) = pattern.filter(|_| bytes > 0) else { return };
        let pad = &mut self.0;
        pad.pad_bytes_min = if pad.frames == 0 { bytes } else { pad.pad_bytes_min.min(bytes) };
        pad.pad_bytes_max = pad.pad_bytes_max.max(bytes);
        pad.frames += 1;
        *match pattern {
            Pattern::Zero => &mut pad.zero,
            Pattern::Ff => &mut pad.ff,
            Pattern::Repeated => &mut pad.repeated,
            Pattern::Other => &mut pad.other,
        } += 1;
    }
}

/// Sums of the parts of overheads.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PartSums {
    pub(super) outer_ip: u64,
    pub(super) udp: u64,
    pub(super) tcp: u64,
    pub(super) gre: u64,
    pub(super) ah: u64,
    pub(super) esp_header: u64,
    pub(super) iv: u64,
    pub(super) esp_pad: u64,
    pub(super) esp_trailer: u64,
    pub(super) icv: u64,
    pub(super) fragmentation: u64,
}

/// One size of one SA.
#[derive(Clone, Debug, Default)]
pub(super) struct SizeTally {
    pub(super) frames: u64,
    pub(super) outer: (u64, u64),
    pub(super) overhead: (i64, i64),
    pub(super) overhead_sum: i64,
    pub(super) parts: PartSums,
    /// Lengths of opaque ESP, and of it, least.
    pub(super) esp: Option<(u32, u32)>,
    pub(super) predicted_sum: i64,
    pub(super) predicted: u64,
    pub(super) carried: u64,
    pub(super) padded_further: u64,
    pub(super) times: Quantiles,
    /// There was no room for its times.
    untimed: bool,
    pub(super) basis: [u64; 3],
}

/// One SA or tunnel.
#[derive(Clone, Debug)]
pub(super) struct SaTally {
    pub(super) key: TunnelKey,
    pub(super) name: Name,
    pub(super) matched: u64,
    pub(super) ambiguous: u64,
    pub(super) alone: u64,
    pub(super) repeated: u64,
    pub(super) basis: [u64; 3],
    pub(super) confidence: f64,
    /// Packets whose TTL says that the plain tap saw them first, less those that it saw last.
    votes: i64,
    /// Difference of the timestamps of its first pair: the later direction of two has the greater one.
    first_difference: Option<i64>,
    pub(super) encapsulated: Option<bool>,
    furthest: Option<FramePos>,
    pub(super) reordered: u64,
    pub(super) src: Option<Prefix>,
    pub(super) dst: Option<Prefix>,
    pub(super) times: Quantiles,
    pub(super) cut_through: Quantiles,
    pub(super) header: HeaderCopy,
    pub(super) sizes: BTreeMap<u32, SizeTally>,
    pub(super) mapping: Option<Mapping>,
    pub(super) ah_bytes: Option<u16>,
    pub(super) transport: Option<bool>,
}

/// Padding of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct PadExample {
    pub(super) plain: FramePos,
    pub(super) pattern: Pattern,
    pub(super) tunnel: FramePos,
    pub(super) carried: Option<bool>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sas: Vec<SaTally>,
    pub(super) refused_sas: u64,
    pub(super) refused_sizes: u64,
    /// Pairs of sizes whose times are not kept.
    pub(super) untimed: u64,
    sizes: usize,
    pub(super) flow_sa: HashMap<FlowId, u32, FixedState>,
    last_flow: Option<(FlowId, u32)>,
    pub(super) plain_pads: Pads,
    pub(super) tunnel_pads: Pads,
    pub(super) carried: u64,
    pub(super) carried_known: u64,
    pub(super) examples: Vec<PadExample>,
    pub(super) incomplete: u64,
    pairs: u64,
}

impl Tally {
    pub(super) const fn has_pairs(&self) -> bool {
        self.pairs > 0
    }

    pub(super) fn name(&mut self, key: TunnelKey) {
        self.sas.push(SaTally {
            key,
            name: id(key).into(),
            matched: 0,
            ambiguous: 0,
            alone: 0,
            repeated: 0,
            basis: [0; 3],
            confidence: 0.0,
            votes: 0,
            first_difference: None,
            encapsulated: None,
            furthest: None,
            reordered: 0,
            src: None,
            dst: None,
            times: Quantiles::default(),
            cut_through: Quantiles::default(),
            header: HeaderCopy::default(),
            sizes: BTreeMap::new(),
            mapping: None,
            ah_bytes: None,
            transport: None,
        });
    }

    /// What a pair says about which tap saw it first.
    pub(super) fn vote(&mut self, packet: &Tunnelled, by_order: Option<bool>) {
        let TunnelledFate::Paired(Pairing { plain, .. }) = packet.fate else { return };
        let Some(sa) = self.sas.get_mut(packet.sa as usize) else { return };
        if let (Some(p), Some(t)) = (plain.time.ns(), packet.time.ns()) {
            sa.first_difference.get_or_insert(t.saturating_sub(p));
        }
        match (by_order, packet.inner) {
            (_, Some(inner)) => sa.votes += i64::from(plain.marks.ttl.cmp(&inner.marks.ttl) as i8),
            (Some(encapsulated), None) => sa.votes += if encapsulated { 1 } else { -1 },
            (None, None) => {}
        }
    }

    /// Decides which tap saw the packets of each SA first.
    pub(super) fn decide(&mut self, one_clock: bool) {
        let ends = |key: TunnelKey| match key {
            TunnelKey::Sa(sa) => (sa.src, sa.dst),
            TunnelKey::Bare(_, src, dst) => (src, dst),
        };
        // By endpoints: what SAs with votes say, and the differences of those without.
        let mut known: BTreeMap<(Address, Address), i64> = BTreeMap::new();
        let mut differences: BTreeMap<(Address, Address), i64> = BTreeMap::new();
        for sa in &self.sas {
            let (src, dst) = ends(sa.key);
            *known.entry((src, dst)).or_default() += sa.votes;
            *known.entry((dst, src)).or_default() -= sa.votes;
            if let Some(difference) = sa.first_difference {
                differences.entry((src, dst)).or_insert(difference);
            }
        }
        for sa in self.sas.iter_mut().filter(|sa| sa.encapsulated.is_none() && sa.first_difference.is_some()) {
            let (src, dst) = ends(sa.key);
            let votes = if sa.votes == 0 { known.get(&(src, dst)).copied().unwrap_or(0) } else { sa.votes };
            let by_time = || {
                let own = sa.first_difference?;
                match differences.get(&(dst, src)) {
                    Some(other) if *other != own => Some(own > *other),
                    // With one direction and two clocks the sign says nothing; most taps stand in front of the gateway.
                    _ if one_clock => Some(own >= 0),
                    _ => Some(true),
                }
            };
            sa.encapsulated = if votes == 0 { by_time() } else { Some(votes > 0) };
        }
    }

    /// The two timestamps of a pair that is sure enough to compare clocks by.
    pub(super) fn difference(&self, packet: &Tunnelled) -> Option<Difference> {
        let TunnelledFate::Paired(Pairing { plain, confidence, .. }) = packet.fate else { return None };
        let (plain_ns, tunnel_ns) = (plain.time.ns()?, packet.time.ns()?);
        let encapsulated = self.sas.get(packet.sa as usize)?.encapsulated?;
        let later_ns = tunnel_ns.saturating_sub(plain_ns);
        (confidence >= SURE).then_some(Difference { plain_ns, later_ns, encapsulated })
    }

    /// Counts a settled packet; a row where it is a pair.
    pub(super) fn count(
        &mut self,
        packet: &Tunnelled,
        clock: &Clock,
        settings: &PairSettings,
        mapping: Option<Mapping>,
    ) -> Option<Pair> {
        let sa = self.sas.get_mut(packet.sa as usize)?;
        let pairing = match packet.fate {
            TunnelledFate::Paired(pairing) => pairing,
            TunnelledFate::Repeated => {
                sa.repeated += 1;
                return None;
            }
            TunnelledFate::Alone => {
                sa.alone += 1;
                return None;
            }
            TunnelledFate::Waiting | TunnelledFate::Part => return None,
        };
        let Pairing { plain, basis, confidence } = pairing;
        self.pairs += 1;
        sa.matched += 1;
        sa.confidence += f64::from(confidence);
        sa.ambiguous += u64::from(confidence < SURE);
        if let Some(count) = sa.basis.get_mut(basis as usize) {
            *count += 1;
        }
        if mapping.is_some() {
            sa.mapping = mapping;
        }
        if packet.costs.ah > 0 {
            sa.ah_bytes = Some(packet.costs.ah);
        }
        if let Some(inner) = packet.inner {
            sa.transport = Some(packet.costs.outer_ip == 0 || inner.bytes > packet.outer_bytes.saturating_sub(20));
        }
        if sa.furthest.is_some_and(|furthest| plain.pos < furthest) {
            sa.reordered += 1;
        }
        sa.furthest = sa.furthest.max(Some(plain.pos));
        let delay = sa.delay(packet, &plain, clock);
        if let Some(delay) = delay {
            let (first, last) = both(delay, packet, &plain, settings, sa.encapsulated != Some(false));
            sa.times.add(last);
            if let Some(first) = first {
                sa.cut_through.add(first);
            }
        }
        headers(&mut sa.header, packet, &plain);
        // Neighbours are mostly of one flow.
        if self.last_flow != Some((plain.flow, packet.sa)) {
            self.flow_sa.insert(plain.flow, packet.sa);
            self.last_flow = Some((plain.flow, packet.sa));
        }
        self.plain_pads.add(plain.pad_bytes, plain.pattern);
        self.tunnel_pads.add(packet.pad_bytes, packet.pattern);
        let carried = carried(packet, &plain, mapping);
        if let Some(pattern) = plain.pattern.filter(|_| plain.pad_bytes > 0) {
            self.carried_known += u64::from(carried.is_some());
            self.carried += u64::from(carried == Some(true));
            if self.examples.len() < MAX_EXAMPLES {
                self.examples.push(PadExample { plain: plain.pos, pattern, tunnel: packet.pos, carried });
            }
        }
        let known = packet.complete;
        self.incomplete += u64::from(!known);
        if known {
            let new = !sa.sizes.contains_key(&plain.bytes);
            if new && self.sizes >= MAX_SIZES {
                self.refused_sizes += 1;
            } else {
                self.sizes += usize::from(new);
                let size = sa.sizes.entry(plain.bytes).or_default();
                size.add(packet, plain.bytes, basis, mapping, carried);
                // A size has the times of all of its packets or of none.
                size.untimed |= new && self.sizes > MAX_TIMED_SIZES;
                if size.untimed {
                    self.untimed += u64::from(delay.is_some());
                } else if let Some(delay) = delay {
                    size.times.add(both(delay, packet, &plain, settings, sa.encapsulated != Some(false)).1);
                }
            }
        }
        let outer = u64::from(packet.outer_bytes);
        Some(Pair {
            plain: frame(plain.pos),
            tunnel: frame(packet.pos),
            sa: sa.name.clone(),
            sequence: packet.sequence,
            inner_bytes: plain.bytes.into(),
            outer_bytes: known.then_some(outer),
            overhead_bytes: known.then(|| outer as i64 - i64::from(plain.bytes)),
            delay_ns: delay,
            basis: basis.name(),
            confidence: (f64::from(confidence) * 1_000.0).round() / 1_000.0,
        })
    }

    /// Notes the addresses of a pair's flow.
    pub(super) fn addresses(&mut self, sa: u32, src: Address, dst: Address) {
        if let Some(sa) = self.sas.get_mut(sa as usize) {
            sa.src.get_or_insert(Prefix::of(src)).cover(src);
            sa.dst.get_or_insert(Prefix::of(dst)).cover(dst);
        }
    }
}

pub(super) fn frame(pos: FramePos) -> FrameRef {
    FrameRef { capture: pos.capture(), frame: pos.number() }
}

impl PairBasis {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Decrypted => "decrypted",
            Self::Order => "order",
        }
    }
}

impl SaTally {
    /// Time between the taps, clocks compared.
    fn delay(&self, packet: &Tunnelled, plain: &super::ledger::Plain, clock: &Clock) -> Option<i64> {
        let (p, t) = (plain.time.ns()?, packet.time.ns()?);
        let later = t.saturating_sub(clock.ahead(p)).saturating_sub(p);
        Some(if self.encapsulated == Some(false) { later.saturating_neg() } else { later })
    }
}

/// A time as it was measured, as first bit in to first bit out (where it is known) and as last to last.
fn both(
    delay: i64,
    packet: &Tunnelled,
    plain: &super::ledger::Plain,
    settings: &PairSettings,
    encapsulated: bool,
) -> (Option<i64>, i64) {
    let Some(rate) = settings.link_rate_bps.filter(|rate| *rate > 0) else { return (None, delay) };
    // Preamble, SFD and FCS travel too.
    let on_wire = |bytes: u32| {
        let bits = u64::from(bytes.max(60) + 12) * 8;
        (bits as f64 * 1e9 / rate as f64).round() as i64
    };
    let (near, far) = (on_wire(plain.frame_bytes), on_wire(packet.frame_bytes));
    let (first, second) = if encapsulated { (near, far) } else { (far, near) };
    if settings.stamped_at_start {
        (Some(delay), delay - first + second)
    } else {
        (Some(delay + first - second), delay)
    }
}

/// Whether the padding of the plaintext frame is in the tunnel; `None` where both ways make the same length, or nothing is known.
fn carried(packet: &Tunnelled, plain: &super::ledger::Plain, mapping: Option<Mapping>) -> Option<bool> {
    if plain.pad_bytes == 0 {
        return None;
    }
    if let Some(Inner { carried_pad, .. }) = packet.inner {
        return packet.complete.then_some(carried_pad > 0);
    }
    let (esp, mapping) = (packet.esp.filter(|_| packet.complete)?, mapping?);
    let (without, with) = (mapping.esp(plain.bytes)?, mapping.esp(plain.bytes + plain.pad_bytes)?);
    if without == with {
        None
    } else if esp == without {
        Some(false)
    } else {
        (esp == with).then_some(true)
    }
}

fn headers(header: &mut HeaderCopy, packet: &Tunnelled, plain: &super::ledger::Plain) {
    let (outer, inner) = (packet.marks, plain.marks);
    let same = |mask: u8| outer.tos & mask == inner.tos & mask;
    let (dscp, ecn) = (0xfc, 0x03);
    *if same(dscp) { &mut header.dscp_same } else { &mut header.dscp_other } += 1;
    *if same(ecn) { &mut header.ecn_same } else { &mut header.ecn_other } += 1;
    if inner.tos & dscp != 0 {
        header.dscp_marked += 1;
        header.dscp_marked_same += u64::from(same(dscp));
    }
    if let (Some(outer), Some(inner)) = (outer.dont_fragment, inner.dont_fragment) {
        *match (inner, outer) {
            (true, true) => &mut header.df_copied,
            (false, true) => &mut header.df_set,
            (true, false) => &mut header.df_cleared,
            (false, false) => &mut header.df_unset,
        } += 1;
    }
    let copied = outer.ttl == inner.ttl || outer.ttl == inner.ttl.saturating_sub(1);
    *if copied { &mut header.ttl_copied } else { &mut header.ttl_own } += 1;
    header.outer_ttl_min = Some(header.outer_ttl_min.map_or(outer.ttl, |least| least.min(outer.ttl)));
    header.outer_ttl_max = Some(header.outer_ttl_max.map_or(outer.ttl, |most| most.max(outer.ttl)));
}

impl SizeTally {
    fn add(
        &mut self,
        packet: &Tunnelled,
        inner: u32,
        basis: PairBasis,
        mapping: Option<Mapping>,
        carried: Option<bool>,
    ) {
        let outer = u64::from(packet.outer_bytes);
        let overhead = outer as i64 - i64::from(inner);
        let first = self.frames == 0;
        self.outer = if first { (outer, outer) } else { (self.outer.0.min(outer), self.outer.1.max(outer)) };
        self.overhead =
            if first { (overhead, overhead) } else { (self.overhead.0.min(overhead), self.overhead.1.max(overhead)) };
        self.frames += 1;
        self.overhead_sum += overhead;
        if let Some(count) = self.basis.get_mut(basis as usize) {
            *count += 1;
        }
        self.carried += u64::from(carried == Some(true));
        let costs = packet.costs;
        let pieces = u64::from(packet.pieces.saturating_sub(1));
        let header = if packet.marks.dont_fragment.is_some() { 20 } else { 48 };
        let sums = &mut self.parts;
        sums.outer_ip += u64::from(costs.outer_ip);
        sums.udp += u64::from(costs.udp);
        sums.tcp += u64::from(costs.tcp);
        sums.gre += u64::from(costs.gre) + u64::from(costs.link) + u64::from(costs.ipcomp);
        sums.ah += u64::from(costs.ah);
        sums.fragmentation += pieces * header;
        let around = u64::from(costs.outer_ip)
            + u64::from(costs.udp)
            + u64::from(costs.tcp)
            + u64::from(costs.gre)
            + u64::from(costs.ah)
            + u64::from(costs.ipcomp)
            + u64::from(costs.link)
            + pieces * header;
        let predicted = match packet.inner {
            Some(visible) => {
                let esp = visible.esp;
                sums.esp_header += u64::from(esp.header);
                sums.iv += u64::from(esp.iv);
                sums.esp_pad += u64::from(esp.pad);
                sums.esp_trailer += u64::from(esp.trailer);
                sums.icv += u64::from(esp.icv);
                let fixed = esp.header + esp.iv + esp.trailer + esp.icv;
                // No more padding than the block needs.
                let pad = if esp.block > 0 { esp.pad % esp.block } else { 0 };
                self.padded_further += u64::from(esp.block > 0 && esp.pad >= esp.block);
                (costs.ipcomp == 0).then(|| around + u64::from(fixed + pad))
            }
            None => packet.esp.zip(mapping.and_then(|mapping| mapping.esp(inner))).map(|(seen, made)| {
                let (least, most) = self.esp.unwrap_or((seen, seen));
                self.esp = Some((least.min(seen), most.max(seen)));
                (outer + u64::from(made)).saturating_sub(u64::from(seen) + u64::from(inner))
            }),
        };
        if let Some(predicted) = predicted {
            self.predicted += 1;
            self.predicted_sum += predicted as i64;
        }
    }
}
