//! Things that are said about tunnels: ICMP errors, IKE notifications, PAUSE frames.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use crate::analysis::limits::MAX_NOTICES;
use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::remap;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::seen::Seen;
use crate::dissect::{IpHeader, LayerKind, Limit, Note, Stack, StopCause};
use crate::model::{Address, Protocol, Shift, Spi, all_bits};

/// Notices of a span.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notices {
    pub(crate) too_big: BTreeMap<TooBig, Listed>,
    pub(crate) ike: BTreeMap<IkeNotice, Listed>,
    pub(crate) pause: BTreeMap<(u32, Option<u8>), Pauses>,
    pub(crate) ike_endpoints: BTreeMap<(Address, u16), ()>,
    /// Addresses that sent IKE, and the addresses they sent it to.
    pub(crate) ike_ways: BTreeMap<(Address, Address), ()>,
    /// Frames shorter than their outermost IP packet states.
    pub(crate) sliced: Listed,
    /// Frames with a header that cannot be read or that contradicts the one around it, by that header.
    pub(crate) malformed: BTreeMap<LayerKind, Listed>,
    /// Segments of TCP that are read as messages and do not begin and end with whole ones, from one address to another.
    pub(crate) tcp_continuations: BTreeMap<(Address, Address), Listed>,
    /// By direction, how many of them there are.
    pub(crate) tcp_pieces: BTreeMap<u32, u64>,
    /// Beginnings of streams of IKE and ESP in TCP, by the endpoint that they go to.
    pub(crate) tcp_streams: BTreeMap<(Address, u16), Listed>,
    pub(crate) too_deep: Seen,
    /// Frames that end in their CRC-32 though no FCS is declared, and frames with four octets more than they need that are none.
    pub(crate) fcs: Listed,
    pub(crate) fcs_absent: u64,
    /// By direction, frames whose end the snapshot length cut off before anything told what they carry.
    pub(crate) cut_short: BTreeMap<u32, CutShort>,
    pub(crate) refused: u64,
}

/// Frames of which too little was captured.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CutShort {
    /// Frames of which it is not known what they carry.
    pub(crate) frames: u64,
    /// Of these, frames of which it is not known either whether that is in clear.
    pub(crate) open: u64,
    /// Of these, frames that were cut before IP.
    pub(crate) without_ip: u64,
    /// Of these, frames that may be of an SA whose number was not read.
    pub(crate) unnumbered: u64,
}

impl CutShort {
    /// A frame, if it is one of these.
    fn of(stack: &Stack) -> Option<Self> {
        // Behind AH stands what it carries, in clear; what is in ESP has figures of its own.
        let in_clear = stack.sas.iter().all(|sa| sa.protocol == Protocol::Ah) && stack.encapsulated.is_none();
        let layer = stack.cut_at().filter(|_| in_clear)?;
        let (open, without_ip) = match layer {
            LayerKind::Pause | LayerKind::Macsec => return None,
            _ if stack.ips.is_empty() => (true, true),
            LayerKind::Udp | LayerKind::Ipv6Options | LayerKind::Ipv6Fragment => (true, false),
            LayerKind::Esp => (stack.is_cut_in_udp(), false),
            LayerKind::Ah
            | LayerKind::Gre
            | LayerKind::IpComp
            | LayerKind::Wesp
            | LayerKind::EtherIp
            | LayerKind::L2tp
            | LayerKind::Ipv4
            | LayerKind::Ipv6 => (false, false),
            _ => return None,
        };
        // What follows a tunnel's header, or an AH whose number was read, says nothing of numbers.
        let hides_number = !matches!(
            layer,
            LayerKind::Gre
                | LayerKind::IpComp
                | LayerKind::EtherIp
                | LayerKind::L2tp
                | LayerKind::Ipv4
                | LayerKind::Ipv6
        );
        let unnumbered = without_ip || stack.sas.is_empty() && hides_number;
        Some(Self {
            frames: 1,
            open: u64::from(open),
            without_ip: u64::from(without_ip),
            unnumbered: u64::from(unnumbered),
        })
    }

    fn join(&mut self, other: Self) {
        let Self { frames, open, without_ip, unnumbered } = other;
        self.frames += frames;
        self.open += open;
        self.without_ip += without_ip;
        self.unnumbered += unnumbered;
    }
}

/// An ICMP error that says a packet was too big, by what it quotes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct TooBig {
    pub(crate) router: Address,
    pub(crate) mtu: u32,
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) sa: Option<(Protocol, Spi)>,
}

/// An IKE notification seen in clear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct IkeNotice {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) kind: IkeKind,
    pub(crate) spi: Option<Spi>,
}

/// Which notification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum IkeKind {
    InvalidSpi,
    Delete,
}

/// PAUSE frames of one direction and class.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pauses {
    pub(crate) seen: Listed,
    pub(crate) quanta: u64,
    /// Time stopped by all but the last: each until its quanta end or the next one comes.
    #[serde(serialize_with = "all_bits")]
    stopped_ns: u64,
    last_quanta: u16,
}

impl Pauses {
    fn add(&mut self, quanta: u16, o: &Observation, link_rate_bps: Option<u64>) {
        if let Some(ends) = self.seen.ends() {
            self.stopped_ns =
                self.stopped_ns.saturating_add(stopped(self.last_quanta, o.time.since(ends.last_time), link_rate_bps));
        }
        self.seen.add(o.pos, o.time);
        self.quanta += u64::from(quanta);
        self.last_quanta = quanta;
    }

    fn merge(&mut self, later: Self, shift: Shift, link_rate_bps: Option<u64>) {
        let Self { seen, quanta, stopped_ns, last_quanta } = later;
        if let (Some(own), Some(theirs)) = (self.seen.ends(), seen.ends()) {
            self.stopped_ns = self.stopped_ns.saturating_add(stopped(
                self.last_quanta,
                theirs.first_time.since(own.last_time),
                link_rate_bps,
            ));
        }
        if seen.count > 0 {
            self.last_quanta = last_quanta;
        }
        self.seen.merge(seen, shift);
        self.quanta += quanta;
        self.stopped_ns = self.stopped_ns.saturating_add(stopped_ns);
    }

    /// Time stopped in all, the last PAUSE taken at its word.
    pub(crate) fn stopped_ns(&self, link_rate_bps: Option<u64>) -> Option<u64> {
        link_rate_bps?;
        Some(self.stopped_ns.saturating_add(stopped(self.last_quanta, None, link_rate_bps)))
    }
}

/// What one PAUSE stops: its quanta of 512 bit times, at most until the next one.
fn stopped(quanta: u16, until_next: Option<i64>, link_rate_bps: Option<u64>) -> u64 {
    let Some(rate) = link_rate_bps.filter(|&r| r > 0) else { return 0 };
    let bits = u128::from(quanta) * u128::from(crate::transform::size::ethernet::QUANTUM_BITS);
    let full = u64::try_from(bits * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX);
    until_next.map_or(full, |ns| full.min(u64::try_from(ns).unwrap_or(0)))
}

impl Notices {
    /// Whether IKE was sent between two addresses, either way.
    pub(crate) fn speak_ike(&self, one: Address, other: Address) -> bool {
        self.ike_ways.contains_key(&(one, other)) || self.ike_ways.contains_key(&(other, one))
    }

    #[inline]
    pub(crate) fn observe(&mut self, o: &Observation, stack: &Stack, link_rate_bps: Option<u64>) {
        if stack.flags.tcp_continuation {
            self.continuation(o, stack);
        }
        if stack.flags.fcs_found {
            self.fcs.add(o.pos, o.time);
        }
        self.fcs_absent += u64::from(stack.flags.fcs_absent);
        if stack.stop.is_some() || !stack.notes.is_empty() || stack.flags.sliced {
            self.judge(o, stack);
        }
        for note in &stack.notes {
            self.note(note, o, stack, link_rate_bps);
        }
    }

    #[cold]
    fn continuation(&mut self, o: &Observation, stack: &Stack) {
        let Some(outer) = stack.ips.last() else { return };
        *self.tcp_pieces.entry(o.direction).or_default() += 1;
        if let Some(seen) = bounded(&mut self.tcp_continuations, (outer.src, outer.dst), &mut self.refused) {
            seen.add(o.pos, o.time);
        }
    }

    /// Counts a frame by what is wrong with its headers, if anything is.
    #[cold]
    fn judge(&mut self, o: &Observation, stack: &Stack) {
        if stack.stop.is_some_and(|stop| matches!(stop.cause, StopCause::TooDeep)) {
            self.too_deep.add(o.pos, o.time);
        }
        if let Some(cut) = CutShort::of(stack) {
            self.cut_short.entry(o.direction).or_default().join(cut);
        }
        if stack.flags.sliced {
            self.sliced.add(o.pos, o.time);
        } else if let Some(layer) = malformed(stack) {
            self.malformed.entry(layer).or_default().add(o.pos, o.time);
        }
    }

    #[cold]
    fn note(&mut self, note: &Note, o: &Observation, stack: &Stack, link_rate_bps: Option<u64>) {
        let Some(outer) = stack.ips.last() else {
            if let Note::Pause { class, quanta } = note {
                self.pause.entry((o.direction, *class)).or_default().add(*quanta, o, link_rate_bps);
            }
            return;
        };
        match *note {
            Note::TooBig { mtu, src, dst, sa } => {
                let key = TooBig { router: outer.src, mtu, src, dst, sa };
                if let Some(seen) = bounded(&mut self.too_big, key, &mut self.refused) {
                    seen.add(o.pos, o.time);
                }
            }
            Note::Ike { invalid_spi, delete, .. } => {
                bounded(&mut self.ike_ways, (outer.src, outer.dst), &mut self.refused);
                for (kind, spi) in [(IkeKind::InvalidSpi, invalid_spi), (IkeKind::Delete, delete)] {
                    let Some(spi) = spi else { continue };
                    let key = IkeNotice { src: outer.src, dst: outer.dst, kind, spi };
                    if let Some(seen) = bounded(&mut self.ike, key, &mut self.refused) {
                        seen.add(o.pos, o.time);
                    }
                }
            }
            Note::TcpStream { port } => {
                if let Some(seen) = bounded(&mut self.tcp_streams, (outer.dst, port), &mut self.refused) {
                    seen.add(o.pos, o.time);
                }
            }
            Note::IkeEndpoint { address, port } => {
                bounded(&mut self.ike_endpoints, (address, port), &mut self.refused);
            }
            _ => {}
        }
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, directions: &[u32], link_rate_bps: Option<u64>) {
        let Self {
            too_big,
            ike,
            pause,
            ike_endpoints,
            ike_ways,
            sliced,
            malformed,
            tcp_continuations,
            tcp_pieces,
            tcp_streams,
            too_deep,
            fcs,
            fcs_absent,
            cut_short,
            refused,
        } = later;
        for (direction, theirs) in cut_short {
            self.cut_short.entry(remap(directions, direction)).or_default().join(theirs);
        }
        for (direction, count) in tcp_pieces {
            *self.tcp_pieces.entry(remap(directions, direction)).or_default() += count;
        }
        self.refused += refused;
        self.fcs.merge(fcs, shift);
        self.fcs_absent += fcs_absent;
        merge_listed(&mut self.too_big, too_big, shift, &mut self.refused);
        merge_listed(&mut self.ike, ike, shift, &mut self.refused);
        for ((direction, class), pauses) in pause {
            let key = (remap(directions, direction), class);
            self.pause.entry(key).or_default().merge(pauses, shift, link_rate_bps);
        }
        for (key, ()) in ike_endpoints {
            bounded(&mut self.ike_endpoints, key, &mut self.refused);
        }
        for (key, ()) in ike_ways {
            bounded(&mut self.ike_ways, key, &mut self.refused);
        }
        self.sliced.merge(sliced, shift);
        for (layer, seen) in malformed {
            self.malformed.entry(layer).or_default().merge(seen, shift);
        }
        merge_listed(&mut self.tcp_continuations, tcp_continuations, shift, &mut self.refused);
        merge_listed(&mut self.tcp_streams, tcp_streams, shift, &mut self.refused);
        self.too_deep.merge(too_deep, shift);
    }
}

/// The header that is malformed, if one is: a length field beyond what encloses it, a value that cannot be, or a header that has
/// no room on the wire. AH and ESP with impossible lengths have findings of their own; what a snapshot length cut is not malformed, and
/// a first fragment may end in the middle of a header.
fn malformed(stack: &Stack) -> Option<LayerKind> {
    if stack.notes.iter().any(|note| matches!(note, Note::AhLength { .. } | Note::EspLength { .. })) {
        return None;
    }
    let contradicted = stack.notes.iter().find_map(|note| match note {
        Note::LengthMismatch { layer, .. } => Some(*layer),
        _ => None,
    });
    contradicted.or_else(|| {
        let stop = stack.stop?;
        let fragment = || stack.ips.iter().any(IpHeader::is_fragment);
        match stop.cause {
            StopCause::BadValue { .. } => Some(stop.layer),
            StopCause::TooShort { limit: Limit::Frame | Limit::Length(_), .. } if !fragment() => Some(stop.layer),
            _ => None,
        }
    })
}

/// Adds the notices of the span that follows.
fn merge_listed<K: Ord>(own: &mut BTreeMap<K, Listed>, later: BTreeMap<K, Listed>, shift: Shift, refused: &mut u64) {
    for (key, theirs) in later {
        if let Some(seen) = bounded(own, key, refused) {
            seen.merge(theirs, shift);
        }
    }
}

/// The value of `key`, made if there is room.
fn bounded<'m, K: Ord, V: Default>(map: &'m mut BTreeMap<K, V>, key: K, refused: &mut u64) -> Option<&'m mut V> {
    if map.len() >= MAX_NOTICES && !map.contains_key(&key) {
        *refused += 1;
        return None;
    }
    Some(map.entry(key).or_default())
}
