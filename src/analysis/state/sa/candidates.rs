//! UDP flows on unusual ports that may carry ESP.
//!
//! Whether a flow does is decided in the end (`finish/udp.rs`), from what its packets would be as SAs and from the datagrams of the same
//! flow that cannot be ESP.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use std::collections::BTreeMap;
use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::bins::SaBins;
use super::sas::SaState;
use super::sizes::{Cells, OpaqueKey};
use crate::analysis::limits::{MAX_FLOW_SPIS, MAX_SUSPECT_BINS, MAX_UDP_CANDIDATES, MAX_UDP_MISFITS};
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::tables::Remap;
use crate::analysis::state::traffic::copies::CopyWindow;
use crate::analysis::state::traffic::copies::archive::Archive;
use crate::dissect::{Note, Stack};
use crate::model::report::SaMode;
use crate::model::{Address, Encapsulation, FramePos, Protocol, Shift, Spi};

/// Octets of the ESP header in front of the IV (RFC 4303 section 2).
const ESP_HEADER: usize = 8;

/// Candidate flows of a span.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Candidates {
    flows: HashMap<FlowKey, Candidate, RandomState>,
    /// Datagrams that cannot be ESP, by flow.
    misfits: HashMap<FlowKey, u64, RandomState>,
    /// Packets of flows beyond the limit.
    pub(crate) refused: u64,
    /// Datagrams that cannot be ESP, of flows beyond the limit.
    pub(crate) misfits_refused: u64,
    /// Width of a time bin asked for, of the settings.
    bin_ns: u64,
}

/// A UDP flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct FlowKey {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) ports: (u16, u16),
}

impl FlowKey {
    /// The flow of the answers.
    pub(crate) fn reverse(&self) -> Self {
        Self { src: self.dst, dst: self.src, ports: (self.ports.1, self.ports.0) }
    }
}

/// What a candidate flow would be as SAs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Candidate {
    /// By what would be the SPI. Empty where there were too many: nothing further is kept then.
    pub(crate) sas: BTreeMap<Spi, Suspect>,
    /// More first words than [`MAX_FLOW_SPIS`]: no ESP.
    pub(crate) mixed: bool,
}

/// What the packets of one first word would be as an SA.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Suspect {
    pub(crate) state: Box<SaState>,
    pub(crate) sizes: Cells<OpaqueKey>,
    /// Its traffic over time, as that of SA 0.
    pub(crate) bins: SaBins,
    /// Packets in fragments, of which only the first one was read.
    pub(crate) torn: u64,
}

impl Suspect {
    fn new(bin_ns: u64) -> Self {
        let bins = SaBins::of_at_most(MAX_SUSPECT_BINS, bin_ns);
        Self { state: Box::default(), sizes: Cells::default(), bins, torn: 0 }
    }
}

impl Candidates {
    pub(crate) fn new(bin_ns: u64) -> Self {
        Self { bin_ns, ..Self::default() }
    }

    /// Whether the time bins can be those of a state with these settings.
    pub(crate) fn is_sound(&self, settings: &Settings) -> bool {
        let mut suspects = self.flows.values().flat_map(|candidate| candidate.sas.values());
        suspects.all(|suspect| suspect.bins.is_sound(MAX_SUSPECT_BINS, settings))
    }

    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack, data: &[u8], copies: &CopyWindow) {
        for note in &stack.notes {
            let Some(ip) = stack.outer() else { return };
            match *note {
                Note::UdpCandidate { spi, sequence, ports, bytes, offset, missing } => {
                    let key = FlowKey { src: ip.src, dst: ip.dst, ports };
                    let behind = data.get(offset as usize + ESP_HEADER..).unwrap_or_default();
                    let seen = Sighted { spi, sequence, bytes, outer_bytes: ip.total_bytes, missing, behind };
                    self.add(key, &seen, (o, copies));
                }
                Note::UdpOther { ports } => self.add_misfits(FlowKey { src: ip.src, dst: ip.dst, ports }, 1),
                _ => {}
            }
        }
    }

    /// Adds a frame to the copies, or takes it back. `ends`: addresses of its flow.
    pub(crate) fn count_copy(&mut self, o: &Observation, notes: &[Note], ends: (Address, Address), copy: bool) {
        for note in notes {
            let Note::UdpCandidate { spi, ports, bytes, missing, .. } = *note else { continue };
            let key = FlowKey { src: ends.0, dst: ends.1, ports };
            let suspect = self.flows.get_mut(&key).and_then(|candidate| candidate.sas.get_mut(&spi));
            if let Some(suspect) = suspect {
                let sight = sight_of(None, bytes, o.l3_bytes);
                suspect.state.count_copy(o, &sight, copy);
                suspect.bins.count_copy(o, &[sight], copy);
                let outer_bytes = o.l3_bytes.saturating_add(missing);
                suspect.sizes.count_copy(OpaqueKey { sa: 0, outer_bytes, fragments: 1 }, o, copy);
            }
        }
    }

    fn add(&mut self, key: FlowKey, seen: &Sighted<'_>, here: (&Observation, &CopyWindow)) {
        if self.flows.len() >= MAX_UDP_CANDIDATES && !self.flows.contains_key(&key) {
            self.refused += 1;
            return;
        }
        self.flows.entry(key).or_default().add(seen, here, self.bin_ns);
    }

    fn add_misfits(&mut self, key: FlowKey, count: u64) {
        if self.misfits.len() >= MAX_UDP_MISFITS && !self.misfits.contains_key(&key) {
            self.misfits_refused += count;
            return;
        }
        *self.misfits.entry(key).or_default() += count;
    }

    /// Looks marked packets up in the span before, of which `known` are the candidates. The first packet of a suspect is not looked up: a damaged
    /// one that is equal to it but for its lengths may have shown no suspect there.
    pub(crate) fn look_up(&mut self, before: &Archive, known: &Self) {
        for (key, candidate) in &mut self.flows {
            let known = known.flows.get(key);
            for (spi, suspect) in &mut candidate.sas {
                match known.is_some_and(|known| known.sas.contains_key(spi)) {
                    true => suspect.state.sequence.look_up(before),
                    false => suspect.state.sequence.look_up_rest(before),
                }
            }
        }
    }

    /// Flows, in the order of their keys.
    pub(crate) fn flows(&self) -> BTreeMap<FlowKey, &Candidate> {
        self.flows.iter().map(|(key, candidate)| (*key, candidate)).collect()
    }

    /// Datagrams of a flow that cannot be ESP.
    pub(crate) fn misfits(&self, key: &FlowKey) -> u64 {
        self.misfits.get(key).copied().unwrap_or(0)
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) {
        // In order of first appearance, so that the limit admits the same flows as in one pass.
        let Self { flows, misfits, refused, misfits_refused, bin_ns: _ } = later;
        self.refused += refused;
        self.misfits_refused += misfits_refused;
        let mut flows: Vec<_> = flows.into_iter().collect();
        flows.sort_by_key(|(key, candidate)| (candidate.first(), *key));
        for (key, theirs) in flows {
            if self.flows.len() >= MAX_UDP_CANDIDATES && !self.flows.contains_key(&key) {
                // Of a flow that is no SA only that there was one is known.
                self.refused += theirs.packets().max(1);
                continue;
            }
            self.flows.entry(key).or_default().merge(theirs, shift, map, self.bin_ns);
        }
        let mut misfits: Vec<_> = misfits.into_iter().collect();
        misfits.sort_unstable();
        misfits.into_iter().for_each(|(key, count)| self.add_misfits(key, count));
    }
}

/// A datagram read as ESP.
struct Sighted<'d> {
    spi: Spi,
    sequence: u32,
    bytes: u32,
    outer_bytes: u32,
    /// Octets in other fragments.
    missing: u32,
    behind: &'d [u8],
}

/// What a datagram would be as ESP.
const fn sight_of(sequence: Option<u32>, bytes: u32, outer_bytes: u32) -> SaSight {
    SaSight {
        sa: 0,
        protocol: Protocol::Esp,
        sequence,
        bytes,
        outer_bytes,
        encapsulation: Encapsulation::Udp,
        mode: SaMode::Unknown,
        opaque: true,
        null_checked: false,
        ah_tail: None,
        added: None,
    }
}

impl Candidate {
    fn add(&mut self, seen: &Sighted<'_>, (o, copies): (&Observation, &CopyWindow), bin_ns: u64) {
        let Some(suspect) = self.suspect(seen.spi, bin_ns) else { return };
        let sight = sight_of(Some(seen.sequence), seen.bytes, seen.outer_bytes);
        suspect.state.observe(o, &sight, o.l1_bytes());
        suspect.state.sequence.mark(o.pos, |is_first| copies.mark(o, is_first));
        suspect.bins.observe(o, &[sight]);
        // A fragmented packet is as long as its header says, without the IP headers of further fragments.
        let outer_bytes = seen.outer_bytes.saturating_add(seen.missing);
        let is_torn = seen.missing > 0;
        suspect.torn += u64::from(is_torn);
        suspect.state.evidence.add_around(outer_bytes.saturating_sub(seen.bytes));
        suspect.state.evidence.add(seen.sequence, seen.behind, if is_torn { u32::MAX } else { seen.bytes });
        suspect.sizes.add(OpaqueKey { sa: 0, outer_bytes, fragments: 1 }, o);
    }

    /// What a first word would be the SPI of; `None` where the flow has too many.
    fn suspect(&mut self, spi: Spi, bin_ns: u64) -> Option<&mut Suspect> {
        if !self.mixed && self.sas.len() >= MAX_FLOW_SPIS && !self.sas.contains_key(&spi) {
            self.give_up();
        }
        if self.mixed { None } else { Some(self.sas.entry(spi).or_insert_with(|| Suspect::new(bin_ns))) }
    }

    fn give_up(&mut self) {
        self.mixed = true;
        self.sas = BTreeMap::new();
    }

    /// Its first packet, where one is kept.
    fn first(&self) -> Option<FramePos> {
        self.sas.values().filter_map(|suspect| suspect.state.seen.ends()).map(|ends| ends.first).min()
    }

    fn packets(&self) -> u64 {
        self.sas.values().map(|suspect| suspect.state.seen.count).sum()
    }

    fn merge(&mut self, later: Self, shift: Shift, map: &Remap, bin_ns: u64) {
        let Self { sas, mixed } = later;
        if mixed {
            self.give_up();
        }
        for (spi, theirs) in sas {
            let Some(own) = self.suspect(spi, bin_ns) else { return };
            let Suspect { state, sizes, bins, torn } = theirs;
            own.torn += torn;
            own.bins.merge(bins, &Remap { sas: vec![0], ..Remap::default() });
            own.state.merge(*state, shift, &map.directions);
            own.sizes.merge(sizes, shift, |key| key);
        }
    }
}

impl Serialize for Candidates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_unstable_by_key(|(key, _)| **key);
        let mut misfits: Vec<_> = self.misfits.iter().collect();
        misfits.sort_unstable();
        (flows, misfits, self.refused, self.misfits_refused).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Candidates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        type Written = (Vec<(FlowKey, Candidate)>, Vec<(FlowKey, u64)>, u64, u64);
        let (flows, misfits, refused, misfits_refused) = Written::deserialize(deserializer)?;
        let (flows, misfits) = (flows.into_iter().collect(), misfits.into_iter().collect());
        Ok(Self { flows, misfits, refused, misfits_refused, bin_ns: 0 })
    }
}
