//! Which plaintext packet became which tunnelled packet.
//!
//! A pass over two streams with a bounded horizon, no mergeable state: what is first in the one and first in the other depends on
//! everything before. Each side's packets wait in a [`packets::ledger`] until they are paired or too old. What is visible or was decrypted is
//! paired by identity ([`content`]); opaque ESP by lengths, order and times ([`order`]). Settled packets leave the ledger in the order of
//! the tunnel's capture and are held back until the clocks can be compared ([`measure::clock`]); only then times mean anything.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "packets are counted in 64 bits and those that wait are bounded by `limits`; differences of times saturate and their sums have \
              128 bits; lengths are those of IP packets, unwrapped numbers those of 32 bits, and confidences and worths are floats"
)]

mod bins;
mod content;
mod figures;
mod given;
mod intake;
mod limits;
mod measure;
pub(crate) mod occurrences;
mod order;
mod packets;
pub(crate) mod report;
mod spread;
mod unsettled;

use std::collections::BTreeMap;

use crate::matching::content::alike::Usual;
use crate::matching::content::beside::Beside;
use crate::matching::content::ends::EndToEnd;
use crate::matching::content::index::Index;
use crate::matching::content::repeats::Repeats;
use crate::matching::intake::again::KnownHeaders;
pub(crate) use crate::matching::measure::checks::Checks;
use crate::matching::measure::clock::Differences;
use crate::matching::measure::doubt::Jumps;
pub(crate) use crate::matching::measure::doubt::Silent;
use crate::matching::measure::tally::Tally;
use crate::matching::measure::watch::Watch;
use crate::matching::order::pairs::Order;
use crate::matching::order::shifts::{PlacedPair, Proof};
use crate::matching::packets::ledger::{Ledger, Tunnelled, TunnelledFate};
use crate::matching::packets::numbers::Numbers;
use crate::matching::packets::progress::Progress;
use crate::matching::packets::reach::Reach;
use crate::matching::packets::trains::Trains;
pub(crate) use crate::matching::packets::trains::Whole;
pub(crate) use crate::matching::packets::tunnel::Role;
pub(crate) use figures::Read;
pub(crate) use given::Given;
use limits::{HELD_PAIRS, HOPELESS, HORIZON_NS};

use crate::keys::Sight;
use crate::model::pairs::Pair;
use crate::model::{Address, SaKey};
use crate::transform::Esp;
use crate::transform::size::path::Mode;

/// What pairing is asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PairSettings {
    /// Both sides are stamped by one clock: they are in one capture, or the user says so.
    pub one_clock: bool,
    /// Timestamps are of the first bit of a frame, not of its last.
    pub stamped_at_start: bool,
    /// Rate of the link in bits per second.
    pub link_rate_bps: Option<u64>,
    /// Transform and mode of the SAs that no policy names, where they are known: lengths are then not guessed.
    pub transform: Option<(Esp, Mode)>,
}

/// A side to read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Plain,
    Tunnel,
    Exit,
}

/// On which plaintext sides copies are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Once {
    pub(crate) plain: bool,
    pub(crate) exit: bool,
}

/// What was counted so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FirstLook {
    /// Packets of the plain side and of the far one that repeat one seen shortly before.
    pub(crate) repeated: [u64; 2],
    /// Plaintext packets that were found in the tunnel.
    pub(crate) pairs: u64,
    /// Those that were found on the far side.
    pub(crate) arrived: u64,
    /// Packets in the tunnel, and those of the plain side.
    pub(crate) read: [u64; 2],
}

/// A number that a tunnel has here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum TunnelKey {
    /// An SA.
    Sa(SaKey),
    /// A tunnel without: protocol number and endpoints.
    Bare(u8, Address, Address),
}

impl TunnelKey {
    /// From which gateway to which.
    const fn ends(self) -> (Address, Address) {
        match self {
            Self::Sa(sa) => (sa.src, sa.dst),
            Self::Bare(_, src, dst) => (src, dst),
        }
    }
}

/// Pairs the packets of two or three streams.
#[derive(Debug)]
pub(crate) struct Matcher {
    settings: PairSettings,
    ledger: Ledger,
    /// Plaintext packets by content; `None` until something is looked for by content.
    plain_index: Option<Index>,
    tunnel_index: Index,
    beside: Beside,
    order: Order,
    trains: Trains,
    numbers: Numbers<TunnelKey>,
    plain: Progress,
    tunnel: Progress,
    exit: Progress,
    /// Whether packets in the tunnel carry others in a tunnel of their own.
    nested: bool,
    /// Copies on the plain side and on the far one.
    copies: [Repeats; 2],
    /// Whether they are left out.
    once: Once,
    ends: Option<EndToEnd>,
    /// Difference of the clocks as far as it is known from pairs.
    ahead: Option<i64>,
    /// What it is taken for before the first pair.
    supposed: i64,
    differences: Differences,
    tally: Tally,
    checks: Checks,
    given: Given,
    /// Numbers of each SA.
    watches: Vec<Watch>,
    /// Numbers that SAs skip over silences of the tunnel's tap.
    jumps: Jumps,
    /// Of each SA, the usual difference of the timestamps of pairs that content makes.
    usual: Vec<Option<Usual>>,
    /// Packets that have equals and waited until the usual difference was known.
    hesitated: u32,
    /// Which pairs by order are proved, by lane.
    proofs: [Proof; 2],
    /// Room for the pairs by order of each lane among those that are held.
    members: [Vec<PlacedPair>; 2],
    /// Rows of pairs that are ready, where they are wanted.
    rows: Option<Vec<Pair>>,
    known: KnownHeaders,
}

impl Matcher {
    /// `supposed`: by how much the tunnel's clock is taken to be ahead until there are pairs. `rows`: whether single pairs are wanted.
    pub(crate) fn new(settings: PairSettings, supposed: i64, rows: bool, exit: bool) -> Self {
        Self {
            settings,
            ledger: Ledger::new(exit, settings.one_clock),
            plain_index: None,
            tunnel_index: Index::default(),
            beside: Beside::default(),
            order: Order::new(settings.one_clock),
            trains: Trains::default(),
            numbers: Numbers::default(),
            plain: Progress::default(),
            tunnel: Progress::default(),
            exit: Progress { ended: !exit, ..Progress::default() },
            nested: false,
            copies: Default::default(),
            once: Once::default(),
            ends: exit.then(|| EndToEnd::new(settings.one_clock)),
            ahead: settings.one_clock.then_some(0),
            supposed,
            differences: Differences::default(),
            tally: Tally::default(),
            checks: Checks::default(),
            given: Given::default(),
            watches: Vec::new(),
            jumps: Jumps::default(),
            usual: Vec::new(),
            hesitated: 0,
            proofs: Default::default(),
            members: Default::default(),
            rows: rows.then(Vec::new),
            known: KnownHeaders::default(),
        }
    }

    /// The transforms of SAs, where they were said: lengths are then not guessed, unless none of the packets has them. `of` answers
    /// with block, IV and ICV, whether it is transport mode, and up to which length the sender fills up.
    pub(crate) fn expect(&mut self, given: Given) {
        self.given = given;
    }

    /// Copies of plaintext packets are left out: the tunnel carries them once.
    pub(crate) const fn leave_out_copies(&mut self, once: Once) {
        self.once = once;
    }

    /// Frames of the plain side and of the far one so far.
    pub(crate) const fn frames(&self) -> [u64; 2] {
        [self.plain.frames, self.exit.frames]
    }

    /// What was counted so far.
    pub(crate) fn counted(&self) -> FirstLook {
        let pairs = self.ledger.flows.iter().map(|(_, flow)| flow.matched).sum();
        let arrived = self.ends.as_ref().map_or(0, EndToEnd::matched);
        let read = [self.tunnel.packets, self.plain.packets];
        FirstLook { repeated: self.copies.each_ref().map(Repeats::count), pairs, arrived, read }
    }

    /// Packets in fragments are put together for keys that may open them.
    pub(crate) fn keep_fragments(&mut self) {
        self.trains.keyed = true;
    }

    /// Packets that were put together since the last time.
    pub(crate) fn take_whole(&mut self) -> Vec<Whole> {
        self.trains.take_whole()
    }

    /// Whether any pair was found.
    pub(crate) fn has_begun(&self) -> bool {
        self.tally.has_pairs()
            || self.order.has_begun()
            || self.ledger.tunnel.held().iter().any(is_pair)
            || self.ahead.is_some_and(|_| !self.settings.one_clock)
    }

    /// Whether the plain side may show what is further inside: nothing was paired, and packets in the tunnel carry a tunnel of their own, which another
    /// device than the gateway may end.
    pub(crate) fn may_be_further_inside(&self) -> bool {
        self.nested && !self.has_begun()
    }

    /// Whether so much was read in vain that this beginning is hopeless.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.tunnel.packets > HOPELESS && self.plain.packets > HOPELESS && !self.has_begun()
    }

    /// Which side is to be read next, so that both advance together; `None` at the end of all.
    pub(crate) fn wanted(&self) -> Option<Side> {
        let ahead = self.ahead.unwrap_or(self.supposed);
        let at = |progress: &Progress, ahead: i64| {
            (!progress.ended)
                .then(|| if progress.frames == 0 { i64::MIN } else { progress.latest.saturating_sub(ahead) })
        };
        let sides = [
            (at(&self.plain, 0), Side::Plain),
            (at(&self.tunnel, ahead), Side::Tunnel),
            (at(&self.exit, self.ends.as_ref().map_or(0, EndToEnd::ahead)), Side::Exit),
        ];
        sides.into_iter().filter_map(|(at, side)| Some((at?, side))).min_by_key(|(at, _)| *at).map(|(_, side)| side)
    }

    /// A side has no more frames.
    pub(crate) fn end(&mut self, side: Side) {
        match side {
            Side::Plain => self.plain.ended = true,
            Side::Tunnel => self.tunnel.ended = true,
            Side::Exit => self.exit.ended = true,
        }
    }

    /// Settles what can be settled with what has been read.
    pub(crate) fn advance(&mut self) {
        let end = self.plain.ended && self.tunnel.ended;
        self.cover();
        self.recognize_early(end);
        self.order.advance(&mut self.ledger, self.plain.until(), self.tunnel.until(), HORIZON_NS, end);
        if self.ahead.is_none() {
            self.ahead = self.order.usual().map(|ns| ns as i64);
        }
        if end {
            self.trains.end();
        }
        self.expire(end);
        self.retire();
        if self.ledger.tunnel.held().len() >= HELD_PAIRS || (end && self.exit.ended) {
            self.flush();
        }
    }

    /// Takes in what came of the ICVs of a frame, of which `stack` is the dissection with what was opened.
    pub(crate) fn checked(&mut self, sight: &Sight<'_>) {
        self.checks.add(sight.frame.pos, sight.frame.time, sight.checks, sight.decrypted());
    }

    /// What came of all ICVs.
    pub(crate) fn take_checks(&mut self) -> Checks {
        std::mem::take(&mut self.checks)
    }

    /// Packets of each SA.
    pub(crate) fn packets(&self) -> BTreeMap<SaKey, u64> {
        let packets = self.tally.sas.iter().filter_map(|sa| match sa.key {
            TunnelKey::Sa(key) => Some((key, sa.matched + sa.alone + sa.repeated)),
            TunnelKey::Bare(..) => None,
        });
        packets.collect()
    }

    /// Rows of pairs that are ready.
    pub(crate) fn take_rows(&mut self) -> Vec<Pair> {
        self.rows.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

fn is_pair(packet: &Tunnelled) -> bool {
    matches!(packet.fate, TunnelledFate::Paired(_))
}

/// The name that an SA or tunnel has in every output.
fn id(key: TunnelKey) -> String {
    match key {
        TunnelKey::Sa(sa) => sa.to_string(),
        TunnelKey::Bare(protocol, src, dst) => {
            let name = match protocol {
                4 | 41 => "ipip",
                47 => "gre",
                _ => "tunnel",
            };
            format!("{name}/{src}/{dst}")
        }
    }
}
