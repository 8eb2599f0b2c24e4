//! What equal frames look like as a whole: what a TAP copies differs from packet to packet, and each packet is there as often as the
//! others. A generator sends one packet over and over, in bursts as long as it likes.

use serde::{Deserialize, Serialize};

use super::chain::Rank;
use crate::model::all_bits;

/// Contents that are remembered, those with the lowest digests: all of them where there are fewer.
const KEPT: usize = 64;
/// As many copies as that for each content, and the contents come again and again.
const OFTEN: u64 = 4;
/// Fewer clusters than this may be the first packets of a generator that sends the same ones again.
const ENOUGH: u64 = 20;

/// How many frames have which place in clusters of equal ones, and how many contents they have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pattern {
    /// Frames that are second, third, fourth and further in their cluster, and rounds in a loop.
    places: [u64; 5],
    /// The lowest digests of frames that follow an equal one, in order, each with the classes of service it was seen in.
    #[serde(serialize_with = "all_bits")]
    contents: Vec<(u64, u64)>,
}

impl Pattern {
    /// Takes in a frame that follows an equal one.
    pub(super) fn add(&mut self, place: Rank, digest: u64, tos: u8) {
        self.count(place);
        self.see(digest, 1 << (tos >> 2));
    }

    /// Notes that a frame that continues an earlier span's has another place than was thought.
    pub(super) fn move_to(&mut self, before: Rank, place: Rank, digest: u64, tos: u8) {
        if let Some(count) = self.slot(before) {
            *count = count.saturating_sub(1);
        }
        self.add(place, digest, tos);
    }

    fn count(&mut self, place: Rank) {
        if let Some(count) = self.slot(place) {
            *count += 1;
        }
    }

    fn slot(&mut self, place: Rank) -> Option<&mut u64> {
        let at = match place {
            Rank::Alone => return None,
            Rank::Second => 0,
            Rank::Third => 1,
            Rank::Fourth => 2,
            Rank::Further => 3,
            Rank::Round => 4,
        };
        self.places.get_mut(at)
    }

    fn see(&mut self, digest: u64, classes: u64) {
        match self.contents.binary_search_by_key(&digest, |(own, _)| *own) {
            Ok(at) => {
                if let Some((_, own)) = self.contents.get_mut(at) {
                    *own |= classes;
                }
            }
            Err(at) if at < KEPT => {
                self.contents.insert(at, (digest, classes));
                self.contents.truncate(KEPT);
            }
            Err(_) => {}
        }
    }

    pub(super) fn merge(&mut self, later: Self) {
        let Self { places, contents } = later;
        self.places.iter_mut().zip(places).for_each(|(own, later)| *own += later);
        contents.into_iter().for_each(|(digest, classes)| self.see(digest, classes));
    }

    /// How many contents equal frames have, about.
    fn distinct(&self) -> u64 {
        match self.contents.get(KEPT - 1) {
            // Digests are spread evenly: how far the last one kept is says how many there are.
            Some((last, _)) => {
                u64::try_from(u128::from(u64::MAX) * KEPT as u128 / u128::from(*last).max(1)).unwrap_or(u64::MAX)
            }
            None => self.contents.len() as u64,
        }
    }

    /// Whether the same few packets come again and again.
    pub(crate) fn recurs(&self) -> bool {
        let [second, ..] = self.places;
        second > self.distinct().saturating_mul(OFTEN)
    }

    /// Whether packets that bear sequence numbers come again more often than a TAP shows them.
    pub(crate) const fn loops(&self) -> bool {
        let [second, .., rounds] = self.places;
        rounds.saturating_mul(OFTEN) > second
    }

    /// How many copies packets have at most, but for a tenth of those that have any; of many about twice as many as on average.
    pub(crate) fn most_copies(&self) -> u64 {
        let [second, third, more @ ..] = self.places;
        let more: u64 = more.iter().sum();
        let is_common = |frames: u64| frames.saturating_mul(10) > second;
        match (is_common(third), is_common(more)) {
            (_, true) => 2 + more.div_ceil(second.max(1)).saturating_mul(2),
            (true, false) => 2,
            (false, false) => 1,
        }
    }

    /// Whether there are too few clusters to tell whether the same packets come again.
    pub(crate) const fn is_short(&self) -> bool {
        let [second, ..] = self.places;
        second < ENOUGH
    }

    /// Whether each cluster is a pair of a packet of its own.
    pub(crate) fn has_only_pairs(&self) -> bool {
        let [second, third, ..] = self.places;
        third == 0 && second == self.distinct()
    }

    /// Whether clusters can be those of a TAP: they do not go on, and where the same packets come again and again, each is there twice, and
    /// in one class of service.
    pub(crate) fn is_of_a_tap(&self) -> bool {
        let [second, third, _, further, rounds] = self.places;
        let ends = (further + rounds).saturating_mul(OFTEN) <= second;
        let pairs =
            third.saturating_mul(10) <= second && self.contents.iter().all(|(_, classes)| classes.count_ones() == 1);
        // Keepalives alone, which are in no pattern, do not tell.
        second > 0 && ends && (pairs || !self.recurs())
    }
}
