//! One tap's state with the verdicts that need all of it.

mod in_clear;
mod sa_view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::sa_view::SaView;

use super::TapState;
use super::clock::Clock;
use super::copying::{CopiesAre, is_copying};
use super::group::{self, GroupSa};
use super::hidden::{Hidden, Loose};
use super::several::take_segmented;
use super::tcp;
use super::twice::Twice;
use super::udp::{self, Found};
use crate::analysis::finish::rows::directions::goodput::unsized_null;
use crate::analysis::finish::rows::fragmented;
use crate::analysis::finish::rows::inferred;
use crate::analysis::finish::rows::padding;
use crate::analysis::limits::MAX_UDP_MISFITS;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::tables;
use crate::analysis::state::base::tables::{DirectionKey, GROUP};
use crate::analysis::state::sa::sizes::{Cell, Sizes};
use crate::analysis::state::traffic::rates::{Again, Sums};
use crate::analysis::{StreamState, Succession};
use crate::dissect::MAX_LAYERS;
use crate::model::report::{FrameRef, Name, TapRole};
use crate::model::{FramePos, Protocol, SaKey, Spi};

/// SAs whose numbers are not exact that are named; the others are counted.
const NAMED_SAS: usize = 100;

/// A tap, its verdicts reached.
pub(crate) struct Tap<'a> {
    pub(crate) name: Name,
    pub(crate) captures: Vec<u32>,
    pub(crate) stream: &'a StreamState,
    /// Copies are so many that the TAP or SPAN makes them: figures leave them out.
    pub(crate) copying: bool,
    /// How each capture goes on from the one before it.
    pub(crate) borders: Vec<Option<Succession>>,
    /// What was assumed about which captures belong together.
    pub(crate) assumed: Vec<String>,
    /// Paths of other inputs of the run.
    pub(crate) also_given: &'a [String],
    /// Its clock, where that stepped back.
    pub(crate) clock: Clock,
    /// With all fragments put together.
    pub(crate) sizes: Cow<'a, Sizes>,
    /// In the order of their keys.
    pub(crate) sas: Vec<SaView<'a>>,
    /// Numbers of SAs of ESP-NULL with packets whose size inside is not known.
    pub(crate) unsized_null: BTreeSet<u32>,
    /// Packets that a gateway's own capture shows twice, decapsulated: on the wire was only the first.
    pub(crate) decapsulated: Twice,
    /// SAs of which many pairs of addresses are one, with one counter.
    pub(crate) groups: Vec<GroupSa>,
    /// Octets behind the packet in every frame, by direction.
    pub(crate) trailers: BTreeMap<u32, u64>,
    /// What looked like SAs in UDP packet by packet and is another protocol.
    pub(crate) foreign: Vec<SaView<'a>>,
    /// What hides packets from the reader.
    pub(crate) hidden: Hidden,
    /// Fragments that no SA carries.
    pub(crate) loose: Loose,
    /// Where in `sas` each SA number and each key is.
    places: BTreeMap<u32, usize>,
    keys: BTreeMap<SaKey, usize>,
    /// SPIs of more than one SA.
    shared_spis: BTreeSet<(Protocol, Spi)>,
}

impl<'a> Tap<'a> {
    /// `found`: SAs of UDP flows on unusual ports. `stated`: SAs that policies state.
    pub(crate) fn new(state: &TapState<'a>, found: &'a [Found<'a>], stated: &BTreeSet<SaKey>) -> Self {
        let stream = state.stream;
        let copying = is_copying(stream);
        let copies = CopiesAre::of(stream, copying);
        let mut sizes = Cow::Borrowed(&stream.sizes);
        let fragments = fragmented::certain(stream, &mut sizes);
        let loose = Loose::of(&fragments);
        let votes = fragmented::votes(&fragments, &sizes);
        let known = stream.tables.sas.iter().filter_map(|(id, &key)| Some((id, key, stream.sas.get(id)?)));
        let mut known: Vec<_> = known.filter(|(_, _, state)| state.seen.count > 0).collect();
        // In order before they are views, which are large.
        known.sort_unstable_by_key(|(_, key, _)| *key);
        let mut sas: Vec<SaView<'a>> = Vec::with_capacity(known.len());
        sas.extend(known.into_iter().map(|(id, key, state)| {
            let null = state.null_verdict(votes.get(&id));
            SaView::new(id, key, state, copies(&key, state), null, fragments.get(&id).cloned().map(Box::new))
        }));
        let mut foreign = udp::take_foreign(&mut sas, (stream, &sizes), stated);
        foreign.extend(tcp::take_foreign(&mut sas, stream));
        fragmented::add_sizes(&mut sas, &mut sizes);
        sas.extend(found.iter().map(|found| SaView::found(found, copies(&found.key, &found.state))));
        fragmented::add_later(&mut sas, &fragments, stream);
        take_segmented(&mut sas, &sizes);
        sas.sort_by(|a, b| (&a.key, &a.flow).cmp(&(&b.key, &b.flow)));
        let groups = group::take(&mut sas, stream);
        tcp::take(&mut sas, &stream.notices);
        let places = sas.iter().enumerate().filter(|(_, sa)| sa.id != NONE).map(|(at, sa)| (sa.id, at)).collect();
        let keys = sas.iter().enumerate().map(|(at, sa)| (sa.key, at)).collect();
        let mut spis = BTreeSet::new();
        let mut again = |spi| if spis.insert(spi) { None } else { Some(spi) };
        let shared_spis = sas.iter().filter_map(|sa| again((sa.key.protocol, sa.key.spi))).collect();
        let (name, captures) = (state.name.as_str().into(), state.captures.clone());
        let clock = Clock::of(stream, &state.borders);
        let (borders, assumed) = (state.borders.clone(), state.assumed.clone());
        let mut tap = Self {
            name,
            captures,
            stream,
            copying,
            borders,
            assumed,
            also_given: state.also_given,
            clock,
            sizes,
            sas,
            unsized_null: BTreeSet::new(),
            decapsulated: Twice::default(),
            groups,
            trailers: BTreeMap::new(),
            foreign,
            hidden: Hidden::of(stream),
            loose,
            places,
            keys,
            shared_spis,
        };
        tap.look_further();
        tap
    }

    /// Finds what only all SAs, sizes and directions together show.
    fn look_further(&mut self) {
        self.trailers = padding::trailers(self);
        self.unsized_null = unsized_null(self);
        self.decapsulated = Twice::of(self);
        inferred::add(self);
    }

    /// The interfaces that the first 64 directions were seen on, both one bit each.
    pub(crate) fn interfaces_of(&self, directions: u64) -> u64 {
        self.stream.interfaces.seen_on((0..u64::BITS).filter(|bit| directions >> bit & 1 == 1))
    }

    /// Sums of frames that were on the wire once: without copies of the TAP, and without what a gateway shows decapsulated.
    pub(crate) fn on_the_wire(&self, all: &Sums, copies: &Sums, again: &Again) -> Sums {
        let sums = if self.copying { all.without(copies) } else { *all };
        sums.without(&self.decapsulated.surely_of(again).sums())
    }

    /// Whether directions are kept apart by MAC addresses.
    pub(crate) fn has_macs(&self) -> bool {
        self.stream.tables.directions.iter().any(|(_, key)| matches!(key, DirectionKey::Mac(..)))
    }

    /// Whether frames of both directions bear one pair of MAC addresses: a mirror that writes its own.
    pub(crate) fn has_one_mac_pair(&self) -> bool {
        let tables = &self.stream.tables;
        let with_ip = self.stream.rates.iter().filter(|(_, direction)| direction.ip_frames > 0);
        let mut pairs = with_ip.filter_map(|(id, _)| match *tables.directions.get(id)? {
            DirectionKey::Mac(_, GROUP) => None,
            key => Some(key),
        });
        let one = matches!((pairs.next(), pairs.next()), (Some(DirectionKey::Mac(..)), None));
        one && self.has_answers()
    }

    /// Whether IP packets run both ways between any two endpoints. MAC addresses cannot tell: a virtual router (HSRP, VRRP) receives at an
    /// address that it never sends from.
    pub(crate) fn has_answers(&self) -> bool {
        let tables = &self.stream.tables;
        let answered = |sa: &SaView<'_>| {
            let back = SaKey { src: sa.key.dst, dst: sa.key.src, ..sa.key };
            sa.key.src != sa.key.dst && self.sas_between(back).next().is_some()
        };
        // A packet to its own source answers nothing.
        let flows = || tables.flows.iter().filter(|(_, flow)| !flow.inner && flow.src != flow.dst);
        let back = |flow: &tables::FlowKey| tables::FlowKey { src: flow.dst, dst: flow.src, inner: false };
        self.sas.iter().any(answered) || flows().any(|(_, flow)| tables.flows.find(&back(flow)).is_some())
    }

    /// Where in `sas` an SA number is.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The SA of a key.
    pub(crate) fn sa_of(&self, key: &SaKey) -> Option<&SaView<'a>> {
        self.sas.get(*self.keys.get(key)?)
    }

    /// Whether no other SA of the protocol has the SPI.
    pub(crate) fn has_spi_once(&self, key: &SaKey) -> bool {
        !self.shared_spis.contains(&(key.protocol, key.spi))
    }

    /// SAs of one protocol between two endpoints, one way.
    pub(crate) fn sas_between(&self, key: SaKey) -> impl Iterator<Item = &SaView<'a>> {
        let ends = (key.protocol, key.src, key.dst);
        let first = self.sas.partition_point(|sa| (sa.key.protocol, sa.key.src, sa.key.dst) < ends);
        let rest = self.sas.get(first..).unwrap_or_default();
        rest.iter().take_while(move |sa| (sa.key.protocol, sa.key.src, sa.key.dst) == ends)
    }

    /// Where a frame stands in the run's captures.
    pub(crate) fn frame(&self, pos: FramePos) -> FrameRef {
        FrameRef { capture: self.captures.get(pos.capture() as usize).copied().unwrap_or(0), frame: pos.number() }
    }

    /// `plain`, `tunnel`, `mixed` or `unknown`, by what its IP frames are.
    pub(crate) fn role(&self) -> TapRole {
        let ip = self.stream.totals.sums.ip_frames;
        let clear = self.clear().count;
        let tunnelled = self.tunnelled_frames();
        match (tunnelled, clear) {
            _ if ip == 0 => TapRole::Unknown,
            (0, 0) => TapRole::Unknown,
            (0, _) => TapRole::Plain,
            (t, c) if c.saturating_mul(10) <= t => TapRole::Tunnel,
            _ => TapRole::Mixed,
        }
    }

    /// Frames that carry IPsec or a tunnel.
    pub(crate) fn tunnelled_frames(&self) -> u64 {
        let tunnels: u64 = self
            .sizes
            .visible
            .iter()
            .filter(|(key, _)| self.stream.tables.paths.get(key.path).is_some_and(|p| p.sa == NONE))
            .map(|(_, cell)| cell.seen.count)
            .sum();
        self.ipsec_frames() + tunnels
    }

    /// Frames with IPsec headers, those of flows that turned out to be ESP in UDP included.
    pub(crate) fn ipsec_frames(&self) -> u64 {
        let flows: u64 = self.sas.iter().filter(|sa| sa.flow.is_some()).map(|sa| sa.state.seen.count).sum();
        let foreign: u64 = self.foreign.iter().map(|sa| sa.state.seen.count).sum();
        (self.stream.totals.sums.ipsec_frames + flows).saturating_sub(foreign)
    }

    pub(crate) fn sa(&self, id: u32) -> Option<&SaView<'a>> {
        self.sas.get(self.place(id)?)
    }

    /// Packets of a cell that were on the link, and their layer 1 octets.
    pub(crate) fn counted(&self, cell: &Cell) -> (u64, u64) {
        if self.copying { cell.without_copies() } else { (cell.seen.count, cell.l1_bytes) }
    }

    /// The same of the packets of an SA: without those that a router sent on.
    pub(crate) fn counted_of(&self, sa: u32, cell: &Cell) -> (u64, u64) {
        self.sa(sa).map_or_else(|| self.counted(cell), |sa| sa.counted(cell))
    }

    pub(crate) fn degraded(&self) -> Vec<String> {
        let mut why = self.stream.degraded();
        let too_deep = self.stream.notices.too_deep.count;
        if too_deep > 0 {
            why.push(format!("{too_deep} frames have more than {MAX_LAYERS} layers; deeper layers were not read"));
        }
        let misfits = self.stream.candidates.misfits_refused;
        if misfits > 0 && self.sas.iter().any(|sa| sa.flow.is_some()) {
            why.push(format!(
                "{misfits} datagrams of UDP flows beyond {MAX_UDP_MISFITS} were not weighed against ESP on unusual ports"
            ));
        }
        // Where all SAs together had too many intervals, one sentence says so of all.
        let summed = self.stream.sas.degraded().is_some();
        let inexact = || {
            let figures = self.sas.iter().filter_map(|sa| Some((&sa.name, sa.sequence.as_ref()?)));
            figures
                .filter(|(_, own)| !(summed && own.is_folded()))
                .filter_map(|(name, own)| Some((name, own.degraded()?)))
        };
        why.extend(inexact().take(NAMED_SAS).map(|(name, reason)| format!("{name}: {reason}")));
        if let Some(more) = inexact().count().checked_sub(NAMED_SAS).filter(|more| *more > 0) {
            why.push(format!("the same holds for {more} more SAs"));
        }
        why
    }
}
