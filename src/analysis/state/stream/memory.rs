//! How much memory a state takes, and what it does where there is no more.

use super::StreamState;
use crate::analysis::limits::{ENTRY_BYTES, SA_BIN_BYTES, STATE_BYTES};

impl StreamState {
    /// Takes in no new keys: what is new is summed.
    pub(super) fn close(&mut self) {
        self.tables.close(self.settings.memory_limit);
        self.sizes.close();
    }

    pub(super) fn weight_with(&self, intervals: usize) -> u64 {
        let entries = self.tables.len() + self.sizes.len() + self.rates.bins();
        let bins = self.sa_bins.len() * SA_BIN_BYTES;
        self.sas.weight(intervals) + (STATE_BYTES + entries * ENTRY_BYTES + bins + self.copies.weight()) as u64
    }

    /// Octets of memory that the settled state takes, about.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weight_with(self.sas.intervals())
    }

    /// Sets the memory that this state may take of the limit for all, in octets. A state that was read from a file knows no limit.
    pub fn limit_memory(&mut self, room: u64, limit: u64) {
        self.settings.memory_limit = limit;
        self.upkeep.room = room;
        if self.weight() > room {
            self.close();
        }
    }
}
