//! Frames near the begin of a span, which may be copies of what came before it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::chain::{Rank, VACANT};
use super::sights::KeptSights;
use super::{CopyWindow, HORIZON_NS};
use crate::analysis::observe::observation::Observation;
use crate::analysis::state::base::intern::{NONE, remap};
use crate::analysis::state::base::listed::{At, Listed};
use crate::analysis::state::base::tables::Remap;
use crate::dissect::{Costs, Note};
use crate::model::Shift;

/// A frame that may turn out to be a copy of something in an earlier span, with all that counting it takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HeadFrame {
    pub(crate) observation: Observation,
    pub(crate) sights: KeptSights,
    pub(crate) notes: Box<[Note]>,
    pub(crate) costs: Costs,
    /// Whether it is a copy, by what is known of the span.
    pub(crate) copy: bool,
    /// Its place among equal frames, by the same.
    pub(super) place: Rank,
    /// The time of the frame whose chain it continues; [`VACANT`] where it begins one.
    #[serde(with = "optional_time")]
    pub(super) chained: i64,
    /// Where there is none: whether the span holds an equal frame all the same, further away.
    pub(super) apart: bool,
}

impl PartialEq for HeadFrame {
    /// Whether an equal frame further away is remembered depends on when it was forgotten.
    fn eq(&self, other: &Self) -> bool {
        let Self { observation, sights, notes, costs, copy, place, chained, apart: _ } = self;
        *observation == other.observation
            && *sights == other.sights
            && *notes == other.notes
            && *costs == other.costs
            && *copy == other.copy
            && *place == other.place
            && *chained == other.chained
    }
}

impl HeadFrame {
    /// Another frame of the same SA with a new sequence number, where nothing else was observed that differs but its digest and type of service.
    pub(super) fn like(&self, (pos, time): At, (digest, tos, sequence): (u64, u8, u32)) -> Self {
        let observation = Observation { pos, time, digest, tos, ..self.observation };
        let (copy, place, chained, apart) = (false, Rank::default(), VACANT, false);
        let mut frame = Self { observation, copy, place, chained, apart, ..self.clone() };
        frame.sights.iter_mut().for_each(|sight| sight.sequence = Some(sequence));
        frame
    }

    /// Adds it to a list.
    pub(super) fn list(&self, listed: &mut Listed) {
        listed.add(self.observation.pos, self.observation.time);
    }

    pub(super) fn chained(&self) -> Option<i64> {
        Some(self.chained).filter(|time| *time != VACANT)
    }

    pub(super) fn remapped(mut self, shift: Shift, map: &Remap) -> Self {
        let o = &mut self.observation;
        o.pos = o.pos.shifted(shift);
        o.stack = remap(&map.stacks, o.stack);
        o.direction = remap(&map.directions, o.direction);
        if o.lane != 0 {
            o.lane = if o.direction == NONE { NONE } else { o.direction + 1 };
        }
        o.path = remap(&map.paths, o.path);
        o.flow = remap(&map.flows, o.flow);
        for sight in self.sights.iter_mut() {
            sight.sa = remap(&map.sas, sight.sa);
        }
        self
    }
}

impl CopyWindow {
    /// Frames of the head that can be copies of what came before: those of chains that begin within the horizon.
    pub(super) fn agreed_head(&self) -> impl Iterator<Item = &HeadFrame> {
        let limit = self.first.map(|first| first.saturating_add(HORIZON_NS));
        // Of each digest: the latest frame and where its chain began. A chain without its beginning began beyond the horizon.
        let mut roots: HashMap<u64, (Option<i64>, Option<i64>)> = HashMap::new();
        self.head.iter().filter(move |frame| {
            let (digest, time) = (frame.observation.digest, frame.observation.time.ns());
            let root = match (frame.chained(), roots.get(&digest)) {
                (None, _) => time,
                (before, Some((latest, root))) if before == *latest => *root,
                _ => None,
            };
            roots.insert(digest, (time, root));
            root.is_some_and(|root| Some(root) <= limit)
        })
    }
}

/// A time that may be vacant, as it is written.
mod optional_time {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::VACANT;
    use crate::model::all_bits;

    pub(super) fn serialize<S: Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        all_bits(&Some(*time).filter(|time| *time != VACANT), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        Option::deserialize(deserializer).map(|time| time.unwrap_or(VACANT))
    }
}
