//! The transform of opaque ESP SAs, as far as lengths and IVs tell.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::finish::hidden::is_more_than_stray;
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::sa::sizes::{Cell, OpaqueKey};
use crate::model::report::Name;
use crate::model::{Address, FramePos, Protocol, SaKey};
use crate::transform::inference::{Catalogue, Inference, are_chosen, are_walked};
use crate::transform::iv::IvPattern;

/// With so few sizes, four ICVs fit the length that an IV would spell once in some hundred SAs at the most.
const FEW_SIZES: usize = 8;

/// What is inferred of one SA.
pub(crate) struct Inferred {
    pub(crate) known: Arc<Known>,
    /// Octets of the inner packets, at least and at most, without TFC padding and dummy packets beyond what was stated. In transport
    /// mode the inner packet has the outer IP header too; where the mode is unknown that is the upper limit. GRE between the same ends
    /// may stand around it.
    pub(crate) goodput_bytes: (u64, u64),
    /// Opaque packets that these are without: fragments of them were not seen, or a limit left no room for their size.
    pub(crate) packets_without_size: u64,
    /// Whether a policy states how the SA pads, so that the range holds as it is.
    pub(crate) stated: bool,
}

/// An inference, with its words as the report has them. SAs that look alike share one.
pub(crate) struct Known {
    pub(crate) inference: Inference,
    pub(crate) name: Option<Name>,
    pub(crate) candidates: Arc<[Name]>,
    pub(crate) evidence: Name,
}

/// Inferences by lengths, IVs, and whether the sizes were chosen.
type Cache = BTreeMap<(Vec<u32>, IvPattern, bool), Option<Arc<Known>>>;

/// Octets of an IPv6 header, and of its fragment header (RFC 8200 sections 3 and 4.5).
const V6_HEADER: u32 = 40;
const FRAGMENT_HEADER: u32 = 8;

/// One size of an SA.
#[derive(Clone, Copy)]
struct Sized {
    outer_bytes: u32,
    fragments: u32,
    packets: u64,
    first: Option<FramePos>,
}

impl Sized {
    fn of(sa: &SaView<'_>, key: &OpaqueKey, cell: &Cell) -> Self {
        Self {
            outer_bytes: key.outer_bytes,
            fragments: key.fragments,
            packets: sa.counted(cell).0,
            first: cell.seen.ends().map(|ends| ends.first),
        }
    }
}

/// Infers the transform of every opaque ESP SA of a tap.
pub(in crate::analysis::finish) fn add(tap: &mut Tap<'_>) {
    let opaque = |sa: &SaView<'_>| sa.key.protocol == Protocol::Esp && sa.is_opaque();
    if !tap.sas.iter().any(opaque) {
        return;
    }
    let sizes = sizes(tap);
    let sa_flows = flow_sizes(tap);
    let catalogue = Catalogue::new();
    let mut cache = Cache::new();
    let is_cut = tap.stream.totals.snaplen.count > 0 || tap.stream.notices.sliced.count > 0;
    for sa in tap.sas.iter_mut().filter(|sa| opaque(sa)) {
        let sized = if sa.id == NONE { sa_flows.get(&sa.key) } else { sizes.get(&sa.id) };
        let copies = sa.left_out().frames;
        sa.inferred = sized.and_then(|sizes| inferred(sa, sizes, is_cut, &catalogue, &mut cache));
        if let (Some(inferred), Some(sizes)) = (&mut sa.inferred, sized) {
            let with_size: u64 = sizes.iter().map(|sized| sized.packets).sum();
            inferred.packets_without_size = sa.state.opaque.saturating_sub(copies).saturating_sub(with_size);
        }
        // Packets in fragments have their size here, though nothing shows what they carry.
        if let (Some(sums), Some(sizes)) = (&mut sa.fragments, sized) {
            let fragmented = sizes.iter().filter(|sized| sized.fragments > 1).map(|sized| sized.packets);
            sums.unsized_packets = sums.unsized_packets.saturating_sub(fragmented.sum());
        }
    }
}

/// Sizes of the opaque packets, by SA number.
fn sizes(tap: &Tap<'_>) -> BTreeMap<u32, Vec<Sized>> {
    let mut sizes: BTreeMap<u32, Vec<Sized>> = BTreeMap::new();
    for (key, cell) in tap.sizes.opaque.iter() {
        let Some(sa) = tap.sa(key.sa) else { continue };
        sizes.entry(key.sa).or_default().push(Sized::of(sa, key, cell));
    }
    sizes
}

/// Sizes of SAs on unusual UDP ports, which have no number.
fn flow_sizes(tap: &Tap<'_>) -> BTreeMap<SaKey, Vec<Sized>> {
    let of_sa = |sa: &SaView<'_>| {
        let cells = sa.flow_sizes.iter().flat_map(|cells| cells.iter());
        cells.map(|(key, cell)| Sized::of(sa, key, cell)).collect()
    };
    tap.sas.iter().filter(|sa| !sa.flow_sizes.is_empty()).map(|sa| (sa.key, of_sa(sa))).collect()
}

/// Lengths of ESP packets with their number. What is no multiple of four is damaged, or no ESP (RFC 4303 section 2.4).
fn lengths(sizes: &[Sized], around: u32, header: u32) -> impl Iterator<Item = (u32, u64)> {
    sized(sizes, around, header).map(|(length, sized)| (length, sized.packets))
}

/// The same, with all that is known of each size.
fn sized(sizes: &[Sized], around: u32, header: u32) -> impl Iterator<Item = (u32, &Sized)> {
    let all = sizes.iter().filter(|sized| sized.packets > 0).map(move |sized| {
        // Every further fragment has an IP header of its own; of IPv6, each of them a fragment header too (RFC 8200 section 4.5).
        let further = header.saturating_mul(sized.fragments.saturating_sub(1));
        let is_v6 = sized.fragments > 1 && header == V6_HEADER;
        let own = if is_v6 { FRAGMENT_HEADER.saturating_mul(sized.fragments) } else { 0 };
        let headers = around.saturating_add(further).saturating_add(own);
        (sized.outer_bytes.saturating_sub(headers), sized)
    });
    all.filter(|(length, _)| length.is_multiple_of(4))
}

/// `is_cut`: packets were cut, so that no trailer tells ESP-NULL.
fn inferred(
    sa: &SaView<'_>,
    sizes: &[Sized],
    is_cut: bool,
    catalogue: &Catalogue,
    cache: &mut Cache,
) -> Option<Inferred> {
    let around = sa.state.evidence.around()?;
    // ESP-NULL that was not recognised, on unusual UDP ports or because packets are cut. An IV that follows the sequence number is no
    // IPv4 header, whose last octets stay what they are.
    let (ivs, header) = (sa.state.evidence.ivs(), ip_header(sa.key.src));
    let pattern = IvPattern::of(&ivs);
    let is_length = |length| lengths(sizes, around, header).any(|(own, _)| own == length);
    let is_clear = match pattern {
        IvPattern::SequenceXor => false,
        IvPattern::Random => IvPattern::is_clear(&ivs) || IvPattern::is_clear_udp(&ivs, is_length),
        // Behind ports and a length that stay what they are, a checksum moves less than an IV may. Among many lengths one fits an IV by chance,
        // and that counts one way.
        IvPattern::Counter => {
            let is_udp = || IvPattern::is_clear_udp(&ivs, is_length);
            let is_checksum = sizes.len() <= FEW_SIZES || IvPattern::moves_both_ways(&ivs);
            IvPattern::is_clear(&ivs) || is_checksum && is_udp() || is_cut && IvPattern::is_clear_tcp(&ivs)
        }
        IvPattern::Unclear | IvPattern::Repeated => {
            let is_tcp = is_cut && IvPattern::is_clear_tcp(&ivs);
            IvPattern::is_clear(&ivs) || IvPattern::is_clear_udp(&ivs, is_length) || is_tcp
        }
    };
    // Packets that were read without keys were not encrypted.
    let read = sa.state.tunnel.saturating_add(sa.state.transport);
    if is_clear
        || sa.state.evidence.is_of_a_protocol()
        || sa.state.keyed.is_none() && is_more_than_stray(read, sa.state.opaque)
    {
        return None;
    }
    let mut counted: BTreeMap<u32, u64> = BTreeMap::new();
    let mut firsts: BTreeMap<u32, FramePos> = BTreeMap::new();
    for (length, sized) in sized(sizes, around, header) {
        *counted.entry(length).or_default() += sized.packets;
        let first = sized.first.into_iter().chain(firsts.get(&length).copied()).min();
        firsts.extend(first.map(|first| (length, first)));
    }
    let chosen = are_chosen(&counted.iter().map(|(length, packets)| (*length, *packets)).collect::<Vec<_>>())
        || are_walked(&firsts.into_values().collect::<Vec<_>>());
    let distinct: Vec<u32> = counted.into_keys().collect();
    let known = cache.entry((distinct, pattern, chosen)).or_insert_with_key(|(lengths, pattern, chosen)| {
        let inference = catalogue.infer_from(lengths, *pattern, *chosen)?;
        Some(Arc::new(Known {
            name: inference.name().map(Name::from),
            candidates: inference.candidates.iter().map(|esp| esp.to_string().into()).collect(),
            evidence: inference.evidence.as_str().into(),
            inference,
        }))
    });
    let known = Arc::clone(known.as_ref()?);
    let stated = Stated { protection: known.inference.protection, transport: None, padding: false };
    let goodput_bytes = goodput_bytes(sizes, around, header, stated);
    Some(Inferred { goodput_bytes, packets_without_size: 0, stated: false, known })
}

/// The longest GRE header in use: checksum, key and sequence number (RFC 2784 section 2, RFC 2890 section 2).
const GRE: u64 = 16;

/// Octets of the inner packets, at least and at most. In transport mode the inner packet has the outer IP header too; where the mode
/// is unknown that is the upper limit. The lower one leaves room for GRE between the ends of the SA: in tunnel mode with its own IP
/// header.
fn goodput_bytes(sizes: &[Sized], around: u32, header: u32, stated: Stated) -> (u64, u64) {
    let (least, most) = stated.protection;
    let header = u64::from(header);
    let tunnel = stated.transport != Some(true);
    let gre = GRE + if tunnel { header } else { 0 };
    let own = if stated.transport == Some(false) { 0 } else { header };
    lengths(sizes, around, u32::try_from(header).unwrap_or(0)).fold((0, 0), |sums, (length, packets)| {
        let length = u64::from(length);
        let (fewest, greatest) = (length.saturating_sub(most + gre), length.saturating_sub(least) + own);
        (sums.0.saturating_add(fewest.saturating_mul(packets)), sums.1.saturating_add(greatest.saturating_mul(packets)))
    })
}

/// What is expected of an SA's transform: octets that protection adds, at least and at most, and whether the outer IP header is the
/// inner packet's own (transport mode) or not; `None` where the mode is unknown.
#[derive(Clone, Copy)]
pub(in crate::analysis::finish) struct Stated {
    pub(in crate::analysis::finish) protection: (u64, u64),
    pub(in crate::analysis::finish) transport: Option<bool>,
    /// Whether it says how the sender pads.
    pub(in crate::analysis::finish) padding: bool,
}

/// Narrows the goodput of the SAs at these places to what their stated transforms leave.
pub(in crate::analysis::finish) fn narrow(tap: &mut Tap<'_>, stated: &BTreeMap<usize, Stated>) {
    if stated.is_empty() {
        return;
    }
    let sizes = sizes(tap);
    for (&at, stated) in stated {
        let Some(sa) = tap.sas.get_mut(at) else { continue };
        let Some((sizes, around)) = sizes.get(&sa.id).zip(sa.state.evidence.around()) else { continue };
        let goodput = goodput_bytes(sizes, around, ip_header(sa.key.src), *stated);
        if let Some(inferred) = &mut sa.inferred {
            inferred.goodput_bytes = goodput;
            inferred.stated = stated.padding;
        }
    }
}

/// Octets of an IP header without options.
fn ip_header(address: Address) -> u32 {
    if address.is_v4() { 20 } else { V6_HEADER }
}
