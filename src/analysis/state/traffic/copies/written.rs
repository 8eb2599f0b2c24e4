//! A window of copies as it is written to a state and read back.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::archive::Archive;
use super::chain::NONE_OLDER;
use super::pattern::Pattern;
use super::{CopyWindow, Entry, HeadFrame, Older};
use crate::analysis::state::base::listed::Listed;
use crate::model::all_bits;

/// A window as it is written: the table as the digests that still matter.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(serialize_with = "all_bits")]
    tail: Vec<Entry>,
    /// Of those of them that have one: the chain before the latest frame.
    #[serde(serialize_with = "all_bits")]
    chains: Vec<(u64, Older)>,
    archive: Archive,
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
            tail: self.tail(),
            chains: self
                .chained_tail()
                .into_iter()
                .filter(|(_, older)| *older != NONE_OLDER)
                .map(|(entry, older)| (entry.digest, older))
                .collect(),
            archive: self.archived(),
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
        let Written {
            tail,
            chains,
            archive,
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
        } = Written::deserialize(deserializer)?;
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
        tail.into_iter().for_each(|entry| {
            window.insert(entry);
        });
        chains.into_iter().for_each(|(digest, older)| window.set_older(digest, older));
        window.recent.set_archive(archive.trimmed());
        Ok(window)
    }
}
