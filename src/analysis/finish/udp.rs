//! Which packets in UDP are ESP: a decision over all packets of a pair of endpoints.
//!
//! One datagram on port 4500 does not show that it is ESP. Many do: ESP has few SPIs, lengths in whole words, and numbers that grow by
//! small steps. OpenVPN, QUIC, RTP, WireGuard and games fail in at least one of these.

mod conduct;
mod fields;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use self::conduct::{Conduct, begins_with_zero, conduct, has_begun, is_high, repeats_whole, strides, strides_alike};
use self::fields::{has_a_constant, is_structured, lengths, spell_lengths, tells_the_time};
use super::tap::SaView;
use crate::analysis::StreamState;
use crate::analysis::limits::MAX_DIRECTIONS;
use crate::analysis::state::base::tables::Remap;
use crate::analysis::state::sa::bins::SaBins;
use crate::analysis::state::sa::candidates::{Candidate, FlowKey, Suspect};
use crate::analysis::state::sa::sas::SaState;
use crate::analysis::state::sa::sizes::{Cells, OpaqueKey, Sizes};
use crate::model::{Address, Protocol, SaKey, Shift, Spi};
use crate::transform::iv::IvPattern;

/// Small steps that make a flow on an unusual port ESP, both directions together.
const STEPS: u64 = 16;
/// One packet in so many may have an impossible length.
const MISFITS: u64 = 20;
/// SPIs of few packets each that two endpoints do not have at once.
const MANY_SPIS: usize = 16;
/// Random SPIs of this number share no octet.
const SHARING_SPIS: usize = 4;

/// Whether a first word spells a name: four capital letters, which one random SPI in ten thousand is.
fn is_a_name(spi: Spi) -> bool {
    spi.0.to_be_bytes().iter().all(u8::is_ascii_uppercase)
}

/// Whether this is the first word of OpenVPN data packets: operation 9, a key number, and a peer number, which servers count
/// from 0.
fn is_openvpn(spi: Spi) -> bool {
    /// Peer number of a client that has none.
    const NO_PEER: u32 = 0x00ff_ffff;
    let peer = spi.0 & 0x00ff_ffff;
    spi.0 >> 27 == 9 && (peer <= 0xffff || peer == NO_PEER)
}

/// The same with one of the first peer numbers, which one random SPI in two million is.
fn is_openvpn_of_few(spi: Spi) -> bool {
    is_openvpn(spi) && spi.0 & 0x00ff_ff00 == 0
}

/// Packets of all SPIs of one way, by conduct.
#[derive(Clone, Debug, Default)]
struct Way {
    regular: u64,
    irregular: u64,
    /// SPIs of few packets.
    few: Vec<Spi>,
    /// Of these, SPIs of one packet.
    single: usize,
    /// Of these, SAs that began just before: their numbers are the first ones.
    begun: usize,
    /// Of these, SPIs with numbers that random words have.
    high: usize,
    /// The four octets behind the numbers of each of them, where all its packets agree.
    behind: Vec<Option<u32>>,
    /// The least number of each SPI.
    least: BTreeMap<Spi, u32>,
    /// All SPIs, those that are first words of OpenVPN, of these those of servers with few peers, and those whose numbers begin with 0.
    spis: usize,
    words: BTreeSet<Spi>,
    openvpn: usize,
    openvpn_of_few: usize,
    from_zero: usize,
}

impl Way {
    fn add(&mut self, spi: Spi, state: &SaState) {
        self.spis += 1;
        self.words.insert(spi);
        self.least.extend(state.sequence.first_range().map(|(least, _)| (spi, least)));
        self.openvpn += usize::from(is_openvpn(spi));
        self.openvpn_of_few += usize::from(is_openvpn_of_few(spi));
        self.from_zero += usize::from(begins_with_zero(state));
        match conduct(state) {
            Conduct::Regular => self.regular += state.seen.count,
            Conduct::Irregular => self.irregular += state.seen.count,
            Conduct::Few => {
                self.few.push(spi);
                self.single += usize::from(state.seen.count.saturating_sub(state.copies.get().frames) <= 1);
                self.begun += usize::from(has_begun(state));
                self.high += usize::from(is_high(state));
                let mut words = state.evidence.ivs().into_iter().map(|sample| (sample.octets >> 32) as u32);
                self.behind.push(words.next().filter(|first| words.all(|word| word == *first)));
            }
        }
    }

    /// Whether SPIs of few packets each are fields of another protocol: more than endpoints have, or not random.
    fn is_a_field(&self) -> bool {
        let Some(first) = self.few.first() else { return false };
        let differ = self.few.iter().fold(0, |differ, spi| differ | (spi.0 ^ first.0));
        let shares_an_octet = differ.to_be_bytes().contains(&0);
        self.few.len() - self.begun.min(self.few.len()) >= MANY_SPIS
            || self.few.len() >= SHARING_SPIS && shares_an_octet
            || self.shares_a_source()
    }

    /// Whether first words count, and the numbers of each but the first begin anew at 0 with a format in the octet before them: pictures of a camera
    /// (GigE Vision) or other blocks. An SA begins with number 1 (RFC 4303 section 3.3.3), and passes 2^24 at any number.
    fn counts_blocks(&self) -> bool {
        /// Of fewer it may be chance.
        const LEAST: usize = 3;
        /// Number of the first packet of a block that was captured from its beginning, with some packets missing.
        const BEGIN: u32 = 16;
        let (Some((first, _)), Some((last, _))) = (self.least.first_key_value(), self.least.last_key_value()) else {
            return false;
        };
        let are_near = ((last.0 - first.0) as usize) < self.least.len() * 2;
        let begins = |least: u32| least >> 24 != 0 && least & 0x00ff_ffff < BEGIN;
        self.least.len() >= LEAST && are_near && self.least.values().skip(1).all(|least| begins(*least))
    }

    /// Whether the packets of several SPIs have one word behind the number, as RTP has its source there (RFC 3550 section 5.1). IVs share none
    /// but zeros.
    fn shares_a_source(&self) -> bool {
        let first = self.behind.first().copied().flatten();
        self.behind.len() > 1 && first.is_some_and(|word| word != 0) && self.behind.iter().all(|word| *word == first)
    }
}

/// Whether two ways have a first word of letters and digits in common: an SPI is its receiver's choice, and one that was written by hand for both
/// ways is a number.
fn have_a_common_word([there, back]: &[Way; 2]) -> bool {
    let is_text = |spi: &&Spi| spi.0.to_be_bytes().iter().all(u8::is_ascii_alphanumeric);
    there.words.intersection(&back.words).any(|spi| is_text(&spi))
}

/// Whether packets of one pair of endpoints, on the ports of ESP in UDP, are ESP.
fn is_esp(ways: &[Way]) -> bool {
    // One random SPI in 8,192 is such a word; two of two are none by chance.
    if ways.iter().all(|way| way.spis > 0 && way.spis == way.openvpn) {
        return false;
    }
    if ways.iter().any(|way| way.spis > 0 && way.spis == way.openvpn_of_few) {
        return false;
    }
    // The first packet of ESP is number 1 (RFC 4303 section 3.3.3); of one way it may be one past 2^32.
    if ways.len() > 1 && ways.iter().all(|way| way.spis > 0 && way.spis == way.from_zero) {
        return false;
    }
    let regular: u64 = ways.iter().map(|way| way.regular).sum();
    let (few, high): (usize, usize) = ways.iter().fold((0, 0), |sum, way| (sum.0 + way.few.len(), sum.1 + way.high));
    if regular == 0 && few > 1 && high * 4 >= few * 3 {
        return false;
    }
    // A single packet, that is not the first one of an SA, shows nothing that any datagram would not: a scanner sends such.
    let (single, begun) = ways.iter().fold((0, 0), |sum, way| (sum.0 + way.single, sum.1 + way.begun));
    if regular == 0 && few == 1 && single == 1 && begun == 0 {
        return false;
    }
    if ways.iter().any(Way::counts_blocks) {
        return false;
    }
    // A counter in the place of the SPI one way says what the other way is.
    if ways.iter().any(|way| way.is_a_field() && way.few.len() as u64 * 2 >= regular) {
        return false;
    }
    let irregular: u64 = ways.iter().map(|way| way.irregular).sum();
    if regular > 0 { regular >= irregular } else { irregular == 0 }
}

/// Whether an SA was seen in UDP only.
fn may_be_foreign(sa: &SaView<'_>) -> bool {
    let [native, udp, tcp, wesp] = sa.state.encapsulations;
    sa.key.protocol == Protocol::Esp && udp > 0 && native + tcp + wesp == 0
}

/// Takes SAs in UDP out that are none. What IKE between the endpoints, a policy, a key or a readable payload shows is one.
pub(super) fn take_foreign<'a>(
    sas: &mut Vec<SaView<'a>>,
    (stream, sizes): (&StreamState, &Sizes),
    stated: &BTreeSet<SaKey>,
) -> Vec<SaView<'a>> {
    let ordered = |key: &SaKey| (key.src.min(key.dst), key.src.max(key.dst));
    let lengths = lengths(sas, sizes);
    let is_cut = stream.totals.snaplen.count > 0 || stream.notices.sliced.count > 0;
    let mut pairs: BTreeMap<(Address, Address), [Way; 2]> = BTreeMap::new();
    let ike = stream.notices.ike_ways.keys();
    let mut proved: BTreeSet<(Address, Address)> = ike.map(|(src, dst)| (*src.min(dst), *src.max(dst))).collect();
    let mut constant: BTreeSet<(Address, Address)> = BTreeSet::new();
    let is_shown = |sa: &SaView<'_>| {
        let verified = sa.state.keyed.as_deref().is_some_and(|keyed| keyed.verified() > 0);
        verified || sa.null.is_some() || stated.contains(&sa.key)
    };
    for sa in sas.iter().filter(|sa| may_be_foreign(sa)) {
        let pair = ordered(&sa.key);
        if is_shown(sa) {
            proved.insert(pair);
        }
        let own = lengths.get(&(sa.key.src, sa.key.dst)).and_then(|spis| spis.get(&sa.key.spi));
        let around = sa.state.evidence.around().unwrap_or(0);
        // Of packets in fragments that were not put together the length is not known, only that none of the others is as long.
        let is_torn = sa.fragments.as_ref().is_some_and(|sums| sums.incomplete + sums.uncertain > 0);
        let is_length = |length: u32| {
            let outer = length.saturating_add(around);
            own.is_some_and(|(_, all)| all.contains(&outer) || is_torn && all.last().is_none_or(|last| outer > *last))
        };
        if has_a_constant(sa.state, is_length)
            || is_structured(sa.state, is_length, is_cut)
            || strides_alike(sa.state)
            || tells_the_time(sa.key.spi, sa.state)
        {
            constant.insert(pair);
        }
        let [there, back] = pairs.entry(pair).or_default();
        if sa.key.src == pair.0 { there.add(sa.key.spi, sa.state) } else { back.add(sa.key.spi, sa.state) }
    }
    let foreign = |sa: &SaView<'_>| {
        let pair = ordered(&sa.key);
        let with_length = || {
            let ways = [(pair.0, pair.1), (pair.1, pair.0)];
            let mut known = ways.iter().filter_map(|way| lengths.get(way)).peekable();
            known.peek().is_some() && known.all(spell_lengths)
        };
        // What begins with zeros is IKE for a receiver (RFC 3948 section 2.1): few packets with a first word that no SPI has are no SA.
        let reserved = || sa.key.spi.0 < 256 && conduct(sa.state) != Conduct::Regular;
        let ways = pairs.get(&pair).filter(|_| !proved.contains(&pair));
        let is_other =
            |ways: &[Way; 2]| !is_esp(ways) || have_a_common_word(ways) || with_length() || constant.contains(&pair);
        may_be_foreign(sa) && !is_shown(sa) && (reserved() || ways.is_some_and(is_other))
    };
    let (out, kept): (Vec<SaView<'a>>, Vec<SaView<'a>>) = std::mem::take(sas).into_iter().partition(foreign);
    *sas = kept;
    out
}

/// An SA found in flows on unusual ports; several flows where a NAT changed its port.
pub(crate) struct Found<'a> {
    pub(crate) key: SaKey,
    /// The first of its flows.
    pub(crate) flow: FlowKey,
    /// What all flows show of it.
    pub(crate) state: Cow<'a, SaState>,
    /// Sizes, by flow.
    pub(crate) sizes: Vec<&'a Cells<OpaqueKey>>,
    /// Traffic over time, of all flows.
    pub(crate) bins: Cow<'a, SaBins>,
    /// Packets in fragments, of which only the first one was read.
    pub(crate) torn: u64,
}

/// The SAs of flows on unusual ports. `stated`: SAs that policies state; a first word between these ends that is the SPI by chance is one of 2^32.
pub(super) fn found<'s>(stream: &'s StreamState, stated: &BTreeSet<SaKey>) -> Vec<Found<'s>> {
    let candidates = &stream.candidates;
    let flows = candidates.flows();
    let speaks_ike = |address, port| stream.notices.ike_endpoints.contains_key(&(address, port));
    let packets = |key: &FlowKey| -> u64 {
        flows.get(key).into_iter().flat_map(|c| c.sas.values()).map(|s| s.state.seen.count).sum()
    };
    let clean = |key: &FlowKey| candidates.misfits(key).saturating_mul(MISFITS) <= packets(key);
    // Answers that cannot be ESP speak against both ways, also where no answer could be.
    let answered = |key: &FlowKey| {
        candidates.misfits(&key.reverse()).saturating_mul(MISFITS)
            <= packets(&key.reverse()).saturating_add(packets(key))
    };
    let is_stated = |key: &FlowKey, spi: Spi, suspect: &Suspect| {
        let sa = SaKey { protocol: Protocol::Esp, src: key.src, dst: key.dst, spi };
        stated.contains(&sa) && conduct(&suspect.state) != Conduct::Irregular
    };
    let accepted = |key: &FlowKey, candidate: &Candidate, sa: &SaKey| {
        let back = flows.get(&key.reverse());
        let ike = speaks_ike(key.src, key.ports.0) || speaks_ike(key.dst, key.ports.1);
        let fits = clean(key) && answered(key) && !candidate.mixed;
        let named = || candidate.sas.get(&sa.spi).is_some_and(|suspect| is_stated(key, sa.spi, suspect));
        fits && (ike || behaves(candidate, back.copied())) || named()
    };
    let mut sas: BTreeMap<SaKey, Vec<(FlowKey, &Suspect)>> = BTreeMap::new();
    let mut add = |wanted: &dyn Fn(&FlowKey, &Candidate, &SaKey) -> bool| {
        let known: BTreeSet<SaKey> = sas.keys().copied().collect();
        for (flow, candidate) in &flows {
            for (spi, suspect) in &candidate.sas {
                let key = SaKey { protocol: Protocol::Esp, src: flow.src, dst: flow.dst, spi: *spi };
                let here = sas.get(&key).is_some_and(|parts| parts.iter().any(|(own, _)| own == flow));
                if !here && wanted(flow, candidate, &key) || !here && known.contains(&key) && clean(flow) {
                    sas.entry(key).or_default().push((*flow, suspect));
                }
            }
        }
    };
    add(&accepted);
    // A NAT that gives the sender another port makes another flow of the same SA, which may be short.
    add(&|_, _, _| false);
    let found = sas.into_iter().filter_map(|(key, mut parts)| {
        parts.sort_by_key(|(flow, suspect)| (suspect.state.seen.ends().map(|ends| ends.first), *flow));
        let (flow, _) = parts.first()?;
        let mut states = parts.iter().map(|(_, suspect)| &*suspect.state);
        let mut state = states.next().map(Cow::Borrowed)?;
        // All flows of a tap number positions and directions alike.
        let directions: Vec<u32> = (0..MAX_DIRECTIONS as u32).collect();
        states.for_each(|later| state.to_mut().merge(later.clone(), Shift::default(), &directions));
        let sizes = parts.iter().map(|(_, suspect)| &suspect.sizes).collect();
        let mut all = parts.iter().map(|(_, suspect)| &suspect.bins);
        let mut bins = all.next().map(Cow::Borrowed)?;
        all.for_each(|later| bins.to_mut().merge(later.clone(), &Remap { sas: vec![0], ..Remap::default() }));
        let torn = parts.iter().map(|(_, suspect)| suspect.torn).sum();
        Some(Found { key, flow: *flow, state, sizes, bins, torn })
    });
    found.collect()
}

/// Whether datagrams of so many octets, without their headers, are among those of one first word.
fn has_length(suspect: &Suspect, length: u32) -> bool {
    let around = suspect.state.evidence.around().unwrap_or(0);
    suspect.sizes.iter().any(|(key, _)| key.outer_bytes.checked_sub(around) == Some(length))
}

/// Whether a flow on unusual ports and its answers behave as ESP.
fn behaves(candidate: &Candidate, back: Option<&Candidate>) -> bool {
    if back.is_some_and(|back| back.mixed) {
        return false;
    }
    let both = || candidate.sas.iter().chain(back.into_iter().flat_map(|back| &back.sas));
    let mut ways = [Way::default(), Way::default()];
    let [there, answers] = &mut ways;
    candidate.sas.iter().for_each(|(spi, suspect)| there.add(*spi, &suspect.state));
    back.into_iter().flat_map(|back| &back.sas).for_each(|(spi, suspect)| answers.add(*spi, &suspect.state));
    let small: u64 = both().map(|(_, suspect)| suspect.state.steps.get().small).sum();
    let irregular = ways.iter().any(|way| way.irregular > 0) || both().any(|(_, suspect)| strides(&suspect.state));
    // Protocols with a constant behind their counter have no IV there; ESP-NULL has what it carries.
    let repeats = both().any(|(_, suspect)| {
        let samples = suspect.state.evidence.ivs();
        IvPattern::of(&samples) == IvPattern::Repeated
            && !IvPattern::is_clear(&samples)
            && !IvPattern::is_clear_udp(&samples, |length| has_length(suspect, length))
            && !suspect.state.evidence.is_of_a_protocol()
    });
    let constant = both().any(|(spi, suspect)| {
        let is_length = |length| has_length(suspect, length);
        has_a_constant(&suspect.state, is_length)
            || is_structured(&suspect.state, is_length, true)
            || tells_the_time(*spi, &suspect.state)
    });
    // An SPI is its receiver's choice: one word both ways is an identifier of another protocol. ESP counts from 1.
    let shared = back.is_some_and(|back| back.sas.keys().any(|spi| candidate.sas.contains_key(spi)));
    let foreign = both().any(|(spi, suspect)| begins_with_zero(&suspect.state) || is_a_name(*spi));
    // OpenVPN names the peer both ways.
    let foreign = foreign || both().all(|(spi, _)| is_openvpn(*spi));
    (small >= STEPS || both().any(|(_, suspect)| repeats_whole(&suspect.state)))
        && !shared
        && !foreign
        && !irregular
        && !repeats
        && !constant
        && is_esp(&ways)
}
