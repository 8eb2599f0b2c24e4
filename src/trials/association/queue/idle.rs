//! How long packets of loads that lost none were on the way.

use std::collections::BTreeMap;

use super::leaving::Leaving;

/// Time on the way of packets of trials that lost none: the least, and the least and greatest of the trial in which it varied least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OnTheWay {
    pub(super) least: i64,
    pub(super) quiet: (i64, i64),
}

/// The same by the lengths of the packets: from the first tap, and from the tap before.
#[derive(Default)]
pub(in crate::trials::association) struct Idle<'a> {
    pub(super) way: BTreeMap<IdleKey<'a>, OnTheWay>,
    pub(super) hop: BTreeMap<IdleKey<'a>, OnTheWay>,
}

/// Lengths, and the flow where flows are told apart.
pub(super) type IdleKey<'a> = (&'a [u16], Option<u16>);

impl<'a> Idle<'a> {
    /// Of all that lost none.
    pub(in crate::trials::association) fn of(all: &'a [Leaving<'_, '_>]) -> Self {
        let mut idle = Self::default();
        for own in all.iter().filter(|own| own.left.len() == own.came.len() && !own.early) {
            put(&mut idle.way, own.idle_key(), own.came.iter().zip(&own.left).map(|(t, (_, d))| d - t));
        }
        for own in all.iter().filter(|own| own.left.len() == own.wire.len()) {
            put(&mut idle.hop, own.idle_key(), own.wire.iter().zip(&own.left).map(|((t, _), (_, d))| d - t));
        }
        idle
    }

    /// The least time on the way of packets of these lengths, from where they wait for room.
    pub(in crate::trials::association) fn least(&self, own: &Leaving<'_, '_>) -> Option<i64> {
        let known = if own.waits().is_some() { &self.hop } else { &self.way };
        known.get(&own.idle_key()).map(|way| way.least)
    }
}

fn put<'a>(known: &mut BTreeMap<IdleKey<'a>, OnTheWay>, made: IdleKey<'a>, times: impl Iterator<Item = i64> + Clone) {
    let (Some(least), Some(most)) = (times.clone().min(), times.max()) else { return };
    let own = known.entry(made).or_insert(OnTheWay { least, quiet: (least, most) });
    own.least = own.least.min(least);
    if most - least < own.quiet.1 - own.quiet.0 {
        own.quiet = (least, most);
    }
}
