//! Packets found by what is in them: an index of those that wait.

use hashbrown::HashTable;

use super::identity::Identity;
use super::ledger::Serial;

/// Packets by the key of their identity. Several may have the same.
#[derive(Debug, Default)]
pub(super) struct Index {
    table: HashTable<(u64, Serial)>,
}

/// Packets with one key that are looked at: packets that are alike in their first octets and were not wholly captured.
const LOOKED_AT: usize = 64;

impl Index {
    pub(super) fn insert(&mut self, identity: Identity, serial: Serial) {
        self.table.insert_unique(identity.key, (identity.key, serial), |(key, _)| *key);
    }

    pub(super) fn remove(&mut self, identity: Identity, serial: Serial) {
        if let Ok(entry) = self.table.find_entry(identity.key, |entry| *entry == (identity.key, serial)) {
            entry.remove();
        }
    }

    /// The earliest packet that `agrees`, and whether there is more than one.
    pub(super) fn find(&self, identity: Identity, agrees: impl Fn(Serial) -> bool) -> Option<(Serial, bool)> {
        let found = self.table.iter_hash(identity.key).take(LOOKED_AT);
        let mut fitting =
            found.filter(|(key, serial)| *key == identity.key && agrees(*serial)).map(|(_, serial)| *serial);
        let first = fitting.next()?;
        let (least, more) = fitting.fold((first, false), |(least, _), serial| (least.min(serial), true));
        Some((least, more))
    }
}
