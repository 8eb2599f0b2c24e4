//! Outer packets that were fragmented behind the gateway: one tunnelled packet in several frames.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::identity;
use super::ledger::{Ledger, Serial, Tunnelled};
use super::limits::{MAX_TRAINS, TRAIN_NS};
use super::tunnel::Sight;
use crate::dissect::IpHeader;
use crate::model::Timestamp;

/// Fragments whose packet is not complete.
#[derive(Debug, Default)]
pub(super) struct Trains {
    trains: HashMap<u64, Train, FixedState>,
    /// Fragments that could not be kept.
    pub(super) refused: u64,
}

/// Fragments of one packet.
#[derive(Debug)]
struct Train {
    /// The packet, once its first fragment was seen.
    serial: Option<Serial>,
    time: Timestamp,
    /// Octets behind the IP header: begin and end of each fragment.
    pieces: Vec<(u32, u32)>,
    /// Octets of the IP headers of all.
    headers: u32,
    /// Where the last one ends.
    end: Option<u32>,
}

/// Fragments of a packet that are kept; the longest packet has fewer on any usual link.
const MAX_PIECES: usize = 128;

impl Trains {
    /// The first fragment of a packet.
    pub(super) fn first(&mut self, ledger: &mut Ledger, outer: &IpHeader, serial: Serial, time: Timestamp) {
        self.add(ledger, outer, Some(serial), time);
    }

    /// A later one.
    pub(super) fn piece(&mut self, ledger: &mut Ledger, sight: Sight<'_>) {
        if let Some(outer) = sight.stack.outer() {
            self.add(ledger, outer, None, sight.frame.time);
        }
    }

    fn add(&mut self, ledger: &mut Ledger, outer: &IpHeader, serial: Option<Serial>, time: Timestamp) {
        let key = identity::train(outer.src, outer.dst, outer.protocol, outer.identification);
        if self.trains.len() >= MAX_TRAINS && !self.trains.contains_key(&key) {
            self.trains.retain(|_, train| time.since(train.time).is_none_or(|age| age <= TRAIN_NS));
            if self.trains.len() >= MAX_TRAINS {
                self.refused += 1;
                return;
            }
        }
        let new = || Train { serial: None, time, pieces: Vec::new(), headers: 0, end: None };
        let train = self.trains.entry(key).or_insert_with(new);
        let stale = time.since(train.time).is_none_or(|age| age > TRAIN_NS);
        if stale || (serial.is_some() && train.serial.is_some()) {
            *train = new();
        }
        train.time = time;
        train.serial = train.serial.or(serial);
        let begin = outer.fragment_offset;
        let payload = outer.total_bytes.saturating_sub(outer.header_bytes);
        let end = begin.saturating_add(payload);
        if train.pieces.len() >= MAX_PIECES || train.pieces.contains(&(begin, end)) {
            return;
        }
        train.pieces.push((begin, end));
        train.headers += outer.header_bytes;
        if !outer.more_fragments {
            train.end = Some(end);
        }
        if train.is_whole()
            && let Some(train) = self.trains.remove(&key)
            && let Some(packet) = train.serial.and_then(|serial| ledger.tunnel.get_mut(serial))
        {
            train.complete(packet);
        }
    }

    /// Nothing more comes.
    pub(super) fn end(&mut self, _: &mut Ledger) {
        self.trains.clear();
    }
}

impl Train {
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
