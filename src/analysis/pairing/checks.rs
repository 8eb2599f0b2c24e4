//! What came of the ICVs of keyed SAs.

use std::collections::BTreeMap;

use crate::analysis::keyring::Check;
use crate::decrypt::{Icv, Unchecked};
use crate::model::{FramePos, SaKey, Timestamp};

/// One SA.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckTally {
    /// Packets that verified, by the number of the key.
    pub(crate) verified: BTreeMap<u16, u64>,
    pub(crate) failed: u64,
    pub(crate) unchecked: u64,
    /// Of these, packets whose SA has no integrity algorithm.
    pub(crate) without: u64,
    /// The first and the last that failed.
    pub(crate) failures: Option<((FramePos, Timestamp), (FramePos, Timestamp))>,
}

/// All keyed SAs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) sas: BTreeMap<SaKey, CheckTally>,
}

impl Checks {
    pub(super) fn add(&mut self, frame: FramePos, time: Timestamp, check: &Check) {
        let tally = self.sas.entry(check.sa).or_default();
        match check.icv {
            Icv::Verified => *tally.verified.entry(check.by.unwrap_or(0)).or_default() += 1,
            Icv::Failed => {
                tally.failed += 1;
                let here = (frame, time);
                tally.failures = Some((tally.failures.map_or(here, |(first, _)| first), here));
            }
            Icv::NotChecked(why) => {
                tally.unchecked += 1;
                tally.without += u64::from(why == Unchecked::NoIntegrity);
            }
        }
    }
}
