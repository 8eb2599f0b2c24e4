//! What came of the ICVs of keyed SAs.

use std::collections::BTreeMap;

use crate::analysis::state::sa::keyed::Keyed;
use crate::dissect::Stack;
use crate::keys::Check;
use crate::model::{FramePos, SaKey, Timestamp};

/// All keyed SAs, and how many packets others had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    pub(crate) sas: BTreeMap<SaKey, Keyed>,
}

impl Checks {
    /// Takes in what came of the headers of a frame; `stack` is that of the opened frame, where it was opened.
    #[inline]
    pub(in crate::matching) fn add(&mut self, pos: FramePos, time: Timestamp, checks: &[Check], stack: Option<&Stack>) {
        for check in checks {
            let opened = stack.and_then(|stack| stack.opened(&check.header)).filter(|_| check.opened);
            self.sas.entry(check.sa).or_default().add(pos, time, check, opened);
        }
    }
}
