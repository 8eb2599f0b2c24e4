//! A window of copies as it is written to a state and read back.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::pattern::Pattern;
use super::{CopyWindow, Entry, HeadFrame, Older};
use crate::analysis::state::base::listed::Listed;
use crate::model::all_bits;

/// A window as it is written: the table as the digests that still matter.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(serialize_with = "all_bits")]
    tail: Vec<(Entry, Older)>,
    #[serde(serialize_with = "all_bits")]
    newest: i64,
    #[serde(serialize_with = "all_bits")]
    previous: Option<i64>,
    #[serde(serialize_with = "all_bits")]
    first: Option<i64>,
    head: Vec<HeadFrame>,
    first_epoch: bool,
    pattern: Pattern,
    settled: Listed,
    dropped: u64,
    adrift: u64,
    #[serde(serialize_with = "all_bits")]
    lowest: i64,
}

impl Serialize for CopyWindow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            tail: self.chained_tail(),
            newest: self.newest,
            previous: self.previous,
            first: self.first,
            head: self.head.clone(),
            first_epoch: self.first_epoch,
            pattern: self.pattern.clone(),
            settled: self.settled.clone(),
            dropped: self.dropped,
            adrift: self.adrift,
            lowest: self.lowest,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CopyWindow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { tail, newest, previous, first, head, first_epoch, pattern, settled, dropped, adrift, lowest } =
            Written::deserialize(deserializer)?;
        let mut window = Self {
            newest,
            previous,
            first,
            head,
            first_epoch,
            pattern,
            settled,
            dropped,
            adrift,
            lowest,
            ..Self::default()
        };
        for (entry, older) in tail {
            window.insert(entry);
            window.set_older(entry.digest, older);
        }
        Ok(window)
    }
}
