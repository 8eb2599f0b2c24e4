//! One packet tried with the keys that it may have.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::alternatives::Alternatives;
use super::lock::{Lock, Locks};
use super::tool::{self, Tool};
use crate::decrypt::{Icv, Packet, Unchecked};
use crate::dissect::OpenedEsp;
use crate::model::SaKey;

/// Sequence numbers up to which every packet that fails is tried with other transforms and other keys, and every how many after that:
/// packets of a wrong key are many, and a part of them tells as much as all.
const PROBED_UP_TO: u32 = 4_096;
const PROBED_EVERY: u32 = 16;

/// Keys of one SA that other transforms are tried with.
const ALTERED: usize = 8;

/// How a packet verifies under a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Fit {
    /// With a sequence number of 32 bits.
    Plain,
    /// With an extended sequence number.
    Extended,
    /// With an ICV of another length than the transform's: the place of the integrity algorithm in the catalogue.
    Length(u16),
}

/// What a packet that fails under its keys would verify or decrypt with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Hint {
    /// The authentication key of a key of the SA with another integrity algorithm: its place in the catalogue.
    Algorithm {
        /// Number of the key among those of the SA.
        key: u16,
        /// Place of the algorithm in the catalogue.
        algorithm: u16,
    },
    /// A key of another SA between the same ends: its number among all keys.
    Other(u32),
    /// The cipher and key of a key of the SA, if the ICV has this many octets.
    Decrypts {
        /// Number of the key among those of the SA.
        key: u16,
        /// Octets of the ICV.
        icv: u8,
    },
}

/// What came of one packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) icv: Icv,
    pub(super) by: Option<u16>,
    pub(super) fit: Fit,
    pub(super) opened: Option<OpenedEsp>,
    pub(super) probed: bool,
    pub(super) hint: Option<Hint>,
}

impl Attempt {
    pub(super) const fn unchecked(why: Unchecked) -> Self {
        Self { icv: Icv::NotChecked(why), by: None, fit: Fit::Plain, opened: None, probed: false, hint: None }
    }

    const fn verified(by: u16, fit: Fit, opened: Option<OpenedEsp>) -> Self {
        Self { icv: Icv::Verified, by: Some(by), fit, opened, probed: false, hint: None }
    }

    /// What several keys that do not open a packet say together: that one verifies it, that all fail, that it cannot be checked.
    fn worse(before: Option<Self>, icv: Icv, by: u16, fit: Fit) -> Self {
        let failed = Self { icv: Icv::Failed, ..Self::unchecked(Unchecked::Short) };
        match (before, icv) {
            (Some(one @ Self { icv: Icv::Verified, .. }), _) => one,
            (_, Icv::Verified) => Self::verified(by, fit, None),
            (_, Icv::Failed) => failed,
            (Some(one), Icv::NotChecked(_)) => one,
            (None, Icv::NotChecked(why)) => Self::unchecked(why),
        }
    }
}

const fn fit(high: Option<u32>) -> Fit {
    if high.is_some() { Fit::Extended } else { Fit::Plain }
}

const fn is_probed(sequence: u32) -> bool {
    sequence <= PROBED_UP_TO || sequence.is_multiple_of(PROBED_EVERY)
}

/// What is remembered from packet to packet to be quick. No verdict depends on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// By number of the lock: which of its high halves verified last.
    pub(super) latest: Vec<usize>,
    alternatives: HashMap<usize, Alternatives>,
}

impl Memory {
    pub(super) fn new(locks: &Locks) -> Self {
        Self { latest: vec![0; locks.len()], alternatives: HashMap::new() }
    }

    fn alternatives(&mut self, lock: &Lock) -> &Alternatives {
        self.alternatives.entry(lock.number()).or_insert_with(|| Alternatives::of(lock))
    }
}

/// Tries the keys of an ESP packet; its plaintext is in `plain` where there is one. `None` where no key is stated for the SA, and
/// none of those for other addresses verifies.
pub(super) fn esp(
    locks: &Locks,
    memory: &mut Memory,
    sa: &SaKey,
    packet: Packet<'_>,
    plain: &mut Vec<u8>,
) -> Option<Attempt> {
    let mut answer: Option<Attempt> = None;
    // Under which key without a check a packet comes out that holds together.
    let mut unverified: Option<(u16, &Lock)> = None;
    for (by, candidate) in (0..).zip(locks.of(sa)) {
        let Tool::Esp(tool) = candidate.lock.tool() else { continue };
        let Some(latest) = memory.latest.get_mut(candidate.lock.number()) else { continue };
        let (icv, high, opened) = tool.open(packet, candidate.lock.highs(), latest, plain);
        if icv == Icv::Verified && opened.is_some() {
            return Some(Attempt::verified(by, fit(high), opened));
        }
        if opened.is_some() && unverified.is_none() {
            unverified = Some((by, candidate.lock));
        }
        if candidate.own || icv == Icv::Verified {
            answer = Some(Attempt::worse(answer, icv, by, fit(high)));
        }
    }
    if let Some((by, lock)) = unverified.filter(|_| answer.is_none_or(|answer| answer.icv != Icv::Verified))
        && let Tool::Esp(tool) = lock.tool()
        && let Some(latest) = memory.latest.get_mut(lock.number())
    {
        let (icv, _, opened) = tool.open(packet, lock.highs(), latest, plain);
        return Some(Attempt { icv, by: Some(by), opened, ..Attempt::unchecked(Unchecked::Short) });
    }
    let failing = matches!(answer.map(|answer| answer.icv), Some(Icv::Failed | Icv::NotChecked(Unchecked::Short)));
    let authenticated = !matches!(answer.map(|answer| answer.icv), Some(Icv::NotChecked(Unchecked::NoIntegrity)));
    if (failing || !authenticated) && packet.is_whole() {
        if let Some(found) = esp_of_other_length(locks, memory, sa, packet, plain) {
            return Some(found);
        }
        if let Some(answer) = &mut answer
            && packet.header().is_some_and(|header| is_probed(header.sequence()))
        {
            answer.probed = true;
            answer.hint = esp_hint(locks, memory, sa, packet, plain);
        }
    }
    plain.clear();
    answer
}

/// An ICV of another length under a key of the SA.
fn esp_of_other_length(
    locks: &Locks,
    memory: &mut Memory,
    sa: &SaKey,
    packet: Packet<'_>,
    plain: &mut Vec<u8>,
) -> Option<Attempt> {
    for (by, candidate) in (0..).zip(locks.of(sa)).filter(|(_, candidate)| candidate.own).take(ALTERED) {
        let high = candidate.lock.highs().first().copied().flatten();
        for (at, tool) in memory.alternatives(candidate.lock).lengths() {
            let Tool::Esp(tool) = tool else { continue };
            if let (Icv::Verified, opened) = tool.open_one(packet, high, plain) {
                return Some(Attempt::verified(by, Fit::Length(*at), opened));
            }
        }
    }
    None
}

/// What a packet would verify or decrypt with, that fails under its keys.
fn esp_hint(locks: &Locks, memory: &mut Memory, sa: &SaKey, packet: Packet<'_>, plain: &mut Vec<u8>) -> Option<Hint> {
    let own = || (0..).zip(locks.of(sa)).filter(|(_, candidate)| candidate.own).take(ALTERED);
    for (key, candidate) in own() {
        let high = candidate.lock.highs().first().copied().flatten();
        for (at, tool) in memory.alternatives(candidate.lock).algorithms() {
            let Tool::Esp(tool) = tool else { continue };
            if tool.open_one(packet, high, plain).0 == Icv::Verified {
                return Some(Hint::Algorithm { key, algorithm: *at });
            }
        }
    }
    for other in locks.others(sa) {
        let Tool::Esp(tool) = other.tool() else { continue };
        let latest = memory.latest.get_mut(other.number())?;
        if tool.open(packet, other.highs(), latest, plain).0 == Icv::Verified {
            return u32::try_from(other.number()).ok().map(Hint::Other);
        }
    }
    own().find_map(|(key, candidate)| {
        let icv = memory.alternatives(candidate.lock).length_of_icv(packet, plain)?;
        Some(Hint::Decrypts { key, icv })
    })
}

/// Tries the keys of an AH packet, which begins with its IP header.
pub(super) fn ah(locks: &Locks, memory: &mut Memory, sa: &SaKey, sequence: u32, packet: &[u8]) -> Attempt {
    let mut answer = None;
    for (by, candidate) in (0..).zip(locks.of(sa)) {
        let Tool::Ah(verifier, _) = candidate.lock.tool() else { continue };
        let Some(latest) = memory.latest.get_mut(candidate.lock.number()) else { continue };
        let (icv, high) = tool::verify(verifier, packet, candidate.lock.highs(), latest);
        if icv == Icv::Verified {
            return Attempt::verified(by, fit(high), None);
        }
        answer = Some(Attempt::worse(answer, icv, by, Fit::Plain));
    }
    let mut answer = answer.unwrap_or(Attempt::unchecked(Unchecked::NoAh));
    if !matches!(answer.icv, Icv::Failed | Icv::NotChecked(Unchecked::OtherLength)) {
        return answer;
    }
    let probed = is_probed(sequence);
    for (key, candidate) in (0..).zip(locks.of(sa)).take(ALTERED) {
        let high = candidate.lock.highs().first().copied().flatten();
        let alternatives = memory.alternatives(candidate.lock);
        let verifies = |(at, tool): &(u16, Tool)| match tool {
            Tool::Ah(verifier, _) => (verifier.verify(packet, high) == Icv::Verified).then_some(*at),
            Tool::Esp(_) => None,
        };
        if let Some(at) = alternatives.lengths().iter().find_map(verifies) {
            return Attempt::verified(key, Fit::Length(at), None);
        }
        if probed && let Some(algorithm) = alternatives.algorithms().iter().find_map(verifies) {
            answer.hint = Some(Hint::Algorithm { key, algorithm });
        }
    }
    answer.probed = probed;
    if probed && answer.hint.is_none() {
        let verifies = |other: &&Lock| match other.tool() {
            Tool::Ah(verifier, _) => {
                let latest = memory.latest.get_mut(other.number());
                latest.is_some_and(|latest| tool::verify(verifier, packet, other.highs(), latest).0 == Icv::Verified)
            }
            Tool::Esp(_) => false,
        };
        let other = locks.others(sa).into_iter().find(verifies);
        answer.hint = other.and_then(|other| u32::try_from(other.number()).ok()).map(Hint::Other);
    }
    answer
}
