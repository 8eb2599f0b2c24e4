//! Outer packets that were fragmented behind the gateway: one tunnelled packet in several frames.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::ledger::{Ledger, Serial, Tunnelled, TunnelledFate};
use crate::dissect::IpHeader;
use crate::keys::Sight;
use crate::matching::content::identity;
use crate::matching::limits::{MAX_KEPT, MAX_PIECES, MAX_TRAINS, SWEEP_NS, TRAIN_NS};
use crate::model::{FramePos, Timestamp};

/// Fragments whose packet is not complete.
#[derive(Debug, Default)]
pub(in crate::matching) struct Trains {
    trains: HashMap<u64, Train, FixedState>,
    /// Octets that are kept.
    kept: usize,
    /// Time of the fragment at which those that waited too long were dropped.
    swept: Option<Timestamp>,
    whole: Vec<Whole>,
    /// Fragments of packets, or of one packet, beyond the limit: the size of their packet is not known.
    pub(in crate::matching) refused: u64,
    /// Fragments whose octets found no room: their packet is not decrypted.
    pub(in crate::matching) unkept: u64,
    /// Keys may open packets that are put together again.
    pub(in crate::matching) keyed: bool,
}

/// A packet put together again: from its IP header on, as if it had never been fragmented.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) serial: Serial,
    pub(crate) octets: Vec<u8>,
    pub(crate) pos: FramePos,
    pub(crate) time: Timestamp,
}

/// Fragments of one packet.
#[derive(Debug)]
struct Train {
    /// The packet, once its first fragment was seen.
    serial: Option<Serial>,
    time: Timestamp,
    /// Octets behind the IP header: begin and end of each fragment.
    pieces: Vec<(u32, u32)>,
    /// What they hold, by place, where it is kept; the IP header of the first.
    octets: Vec<(u32, Vec<u8>)>,
    header: Vec<u8>,
    /// Octets of the IP headers of all.
    headers: u32,
    /// Where the last one ends.
    end: Option<u32>,
    /// Its first fragment shows nothing of what it carries, and no key may open it.
    opaque: bool,
}

impl Trains {
    /// The first fragment of a packet.
    pub(in crate::matching) fn first(
        &mut self,
        ledger: &mut Ledger,
        outer: &IpHeader,
        serial: Serial,
        sight: &Sight<'_>,
    ) {
        self.add(ledger, outer, Some(serial), sight);
    }

    /// Packets that were put together since the last time.
    pub(in crate::matching) fn take_whole(&mut self) -> Vec<Whole> {
        std::mem::take(&mut self.whole)
    }

    /// Whether a packet is a later fragment of one in the tunnel whose first fragment was seen: of ESP in UDP or TCP only that one shows
    /// what it is.
    pub(in crate::matching) fn awaits(&self, outer: &IpHeader) -> bool {
        let key = || identity::train(outer.src, outer.dst, outer.protocol, outer.identification);
        outer.fragment_offset > 0 && self.trains.contains_key(&key())
    }

    /// A later one.
    pub(in crate::matching) fn piece(&mut self, ledger: &mut Ledger, sight: Sight<'_>) {
        if let Some(outer) = sight.stack.outer() {
            self.add(ledger, outer, None, &sight);
        }
    }

    fn add(&mut self, ledger: &mut Ledger, outer: &IpHeader, serial: Option<Serial>, sight: &Sight<'_>) {
        let time = sight.frame.time;
        let key = identity::train(outer.src, outer.dst, outer.protocol, outer.identification);
        if self.trains.len() >= MAX_TRAINS && !self.trains.contains_key(&key) {
            // Looking through all of them helps only when some time has passed.
            if self.swept.is_none_or(|at| time.since(at).is_some_and(|age| age.unsigned_abs() >= SWEEP_NS)) {
                self.swept = Some(time);
                self.trains.retain(|_, train| time.since(train.time).is_none_or(|age| age <= TRAIN_NS));
                self.kept = self.trains.values().map(Train::kept).sum();
            }
            if self.trains.len() >= MAX_TRAINS {
                self.refused += 1;
                return;
            }
        }
        let new = || Train {
            serial: None,
            time,
            pieces: Vec::new(),
            octets: Vec::new(),
            header: Vec::new(),
            headers: 0,
            end: None,
            opaque: false,
        };
        let train = self.trains.entry(key).or_insert_with(new);
        let stale = time.since(train.time).is_none_or(|age| age > TRAIN_NS);
        if let Some(serial) = serial.filter(|_| !stale && train.serial.is_some())
            && ledger.tunnel.get(serial).is_some_and(|packet| packet.again)
        {
            // A copy of the first fragment, while the others are still to come.
            ledger.leave(serial, TunnelledFate::Repeated);
            return;
        }
        if stale || (serial.is_some() && train.serial.is_some()) {
            self.kept = self.kept.saturating_sub(train.kept());
            *train = new();
        }
        train.time = time;
        train.serial = train.serial.or(serial);
        let begin = outer.fragment_offset;
        let payload = outer.total_bytes.saturating_sub(outer.header_bytes);
        let end = begin.saturating_add(payload);
        if train.pieces.contains(&(begin, end)) {
            return;
        }
        if train.pieces.len() >= MAX_PIECES {
            self.refused += 1;
            return;
        }
        train.pieces.push((begin, end));
        if serial.is_some() {
            train.opaque = !self.keyed && sight.stack.peeks.is_empty();
        }
        if train.opaque {
            // Reassembled it would show no more than its fragments do.
            self.kept = self.kept.saturating_sub(train.kept());
            train.octets.clear();
        } else if self.kept < MAX_KEPT {
            self.kept += train.keep(sight, outer, begin);
        } else {
            self.unkept += 1;
        }
        train.headers += outer.header_bytes;
        if !outer.more_fragments {
            train.end = Some(end);
        }
        if train.is_whole()
            && let Some(train) = self.trains.remove(&key)
        {
            self.kept = self.kept.saturating_sub(train.kept());
            if let Some(serial) = train.serial
                && let Some(packet) = ledger.tunnel.get_mut(serial)
            {
                train.complete(packet);
                let (pos, time) = (packet.pos, packet.time);
                self.whole.extend(train.reassembled().map(|octets| Whole { serial, octets, pos, time }));
            }
        }
    }

    /// Nothing more comes.
    pub(in crate::matching) fn end(&mut self) {
        self.trains.clear();
    }
}

impl Train {
    fn kept(&self) -> usize {
        self.octets.iter().map(|(_, octets)| octets.len()).sum()
    }

    /// Keeps what a fragment holds; how many octets that are.
    fn keep(&mut self, sight: &Sight<'_>, outer: &IpHeader, begin: u32) -> usize {
        let start = outer.offset as usize;
        let header = start + outer.header_bytes as usize;
        let captured = sight.octets.get(header..start + outer.total_bytes as usize);
        let Some(payload) = captured else { return 0 };
        if begin == 0 {
            self.header = sight.octets.get(start..header).unwrap_or_default().to_vec();
        }
        self.octets.push((begin, payload.to_vec()));
        payload.len()
    }

    /// The packet with an IPv4 header that says so; `None` where a part was not captured.
    fn reassembled(&self) -> Option<Vec<u8>> {
        let end = self.end? as usize;
        let mut octets = self.header.clone();
        if octets.first().is_none_or(|first| first >> 4 != 4) {
            return None;
        }
        let header = octets.len();
        octets.resize(header + end, 0);
        let mut covered = 0;
        for (begin, payload) in &self.octets {
            let from = header + *begin as usize;
            octets.get_mut(from..from + payload.len())?.copy_from_slice(payload);
            covered += payload.len();
        }
        let total = u16::try_from(octets.len()).ok()?.to_be_bytes();
        octets.get_mut(2..4)?.copy_from_slice(&total);
        // No flags, no offset; the checksum is not looked at.
        octets.get_mut(6..8)?.fill(0);
        (covered >= end).then_some(octets)
    }

    fn is_whole(&self) -> bool {
        let Some(end) = self.end.filter(|_| self.serial.is_some()) else { return false };
        let mut pieces = self.pieces.clone();
        pieces.sort_unstable();
        pieces.iter().fold(0, |reached, (from, to)| if *from <= reached { reached.max(*to) } else { reached }) == end
    }

    fn complete(&self, packet: &mut Tunnelled) {
        let payload = self.end.unwrap_or(0);
        packet.outer_bytes = payload + self.headers;
        packet.pieces = u16::try_from(self.pieces.len()).unwrap_or(u16::MAX);
        packet.complete = true;
        // The first fragment's share of ESP, and all that came in the others.
        let begun = self.pieces.iter().find(|(from, _)| *from == 0).map_or(0, |(_, to)| *to);
        packet.esp = packet.esp.map(|esp| esp + payload.saturating_sub(begun));
    }
}
