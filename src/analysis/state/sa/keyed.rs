//! What came of the packets of an SA that has keys: sums over verdicts and over what decryption showed.
//!
//! A verdict depends on the packet and the keys alone (see [`keyring`](crate::keys)), so sums of them merge.

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::pads::{SeenTrailer, Trailers};
use super::sas::Sas;
use crate::analysis::observe::observation::{Observation, SaSight};
use crate::analysis::state::base::listed::Listed;
use crate::decrypt::{Icv, Unchecked};
use crate::dissect::{OpenedEsp, Stack};
use crate::keys::{Check, Fit, Hint};
use crate::model::{FramePos, Protocol, Shift, Timestamp};

/// Verdicts on the packets of one SA.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Keyed {
    /// Packets that verify, by number of the key among those of the SA, and how. Of keys nothing is kept but this number.
    pub(crate) verified: BTreeMap<(u16, Fit), u64>,
    /// Packets that fail under every key.
    pub(crate) failed: Listed,
    /// Packets that could not be checked and were decrypted to something that holds together, by number of the key.
    pub(crate) unverified: BTreeMap<u16, u64>,
    /// Packets that were tried with other transforms and other keys.
    pub(crate) probed: u64,
    /// Of these, packets that one of them suits.
    pub(crate) hints: BTreeMap<Hint, u64>,
    /// Packets that could not be checked.
    pub(crate) unchecked: BTreeMap<Reason, u64>,
    /// ESP packets that verify and decrypt to nothing that holds together.
    pub(crate) rubbish: u64,
    /// Packets that were decrypted.
    pub(crate) opened: u64,
    pub(crate) trailers: Trailers,
}

/// Why packets could not be checked, as it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Reason {
    /// The capture does not hold the whole packet.
    Cut,
    /// There is nothing to check: no integrity algorithm, or none that is named.
    NoIntegrity,
    /// The packet is in fragments.
    Fragment,
    /// Lengths do not fit the transform, or headers hide the packet.
    Unfit,
}

impl Keyed {
    /// Takes in what came of one header of the frame at `pos`.
    pub(crate) fn add(&mut self, pos: FramePos, time: Timestamp, check: &Check, opened: Option<&OpenedEsp>) {
        match check.icv {
            Icv::Verified => *self.verified.entry((check.by.unwrap_or(u16::MAX), check.fit)).or_default() += 1,
            Icv::Failed => self.failed.add(pos, time),
            Icv::NotChecked(why) => {
                *self.unchecked.entry(reason(why)).or_default() += 1;
                if let Some(key) = check.by.filter(|_| check.opened) {
                    *self.unverified.entry(key).or_default() += 1;
                }
            }
        }
        self.probed += u64::from(check.probed);
        if let Some(hint) = check.hint {
            *self.hints.entry(hint).or_default() += 1;
        }
        let Some(opened) = opened else {
            self.rubbish += u64::from(check.icv == Icv::Verified && check.header.protocol == Protocol::Esp);
            return;
        };
        self.opened += 1;
        let trailer = SeenTrailer {
            next_header: opened.next_header,
            pad_bytes: opened.pad_bytes,
            is_counting: opened.pad_counting,
            is_longer: opened.padded_further(),
            has_tfc: opened.tfc_bytes > 0,
        };
        self.trailers.add((pos, time), trailer);
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift) {
        let Self { verified, failed, unverified, probed, hints, unchecked, rubbish, opened, trailers } = later;
        for (key, packets) in verified {
            *self.verified.entry(key).or_default() += packets;
        }
        self.failed.merge(failed, shift);
        for (key, packets) in unverified {
            *self.unverified.entry(key).or_default() += packets;
        }
        self.probed += probed;
        for (hint, packets) in hints {
            *self.hints.entry(hint).or_default() += packets;
        }
        for (reason, packets) in unchecked {
            *self.unchecked.entry(reason).or_default() += packets;
        }
        self.rubbish += rubbish;
        self.opened += opened;
        self.trailers.merge(trailers, shift);
    }

    /// Packets that verify under some key.
    pub(crate) fn verified(&self) -> u64 {
        self.verified.values().sum()
    }

    /// Packets that verify under one of the keys.
    pub(crate) fn verified_by(&self, key: u16) -> u64 {
        self.verified.iter().filter(|((by, _), _)| *by == key).map(|(_, packets)| packets).sum()
    }

    /// Packets whose ICV was checked.
    pub(crate) fn checked(&self) -> u64 {
        self.verified() + self.failed.count
    }
}

const fn reason(why: Unchecked) -> Reason {
    match why {
        Unchecked::Cut => Reason::Cut,
        Unchecked::NoIntegrity | Unchecked::LengthOnly => Reason::NoIntegrity,
        Unchecked::Fragment => Reason::Fragment,
        Unchecked::Short | Unchecked::OtherLength | Unchecked::NoAh => Reason::Unfit,
    }
}

impl Sas {
    /// Takes in what came of the headers of a frame that have keys. `stack` is the one that `sights` were read off.
    pub(in crate::analysis) fn observe_checks(
        &mut self,
        o: &Observation,
        stack: &Stack,
        sights: &[SaSight],
        checks: &[Check],
    ) {
        for check in checks {
            let same = |sa: &crate::dissect::SaHeader| {
                (sa.offset, sa.protocol) == (check.header.offset, check.header.protocol)
            };
            let sight = stack.sas.iter().position(same).and_then(|at| sights.get(at));
            if let Some(state) = sight.and_then(|sight| self.state_mut(sight.sa)) {
                let opened = stack.opened(&check.header).filter(|_| check.opened);
                state.keyed.get_or_insert_default().add(o.pos, o.time, check, opened);
            }
        }
    }
}
