//! The order of the parts of a stream that were numbered: the numbers stand above the times.

use std::collections::HashMap;

use crate::engine::rotation::stream::Stream;

/// Puts the numbered parts of each stream in the order of their numbers; all else keeps its place. Streams of one part, and those without
/// a number, stay in the order of their times.
pub(super) fn in_order(streams: Vec<Stream>) -> Vec<Stream> {
    let mut places: HashMap<String, Vec<(Option<u32>, usize)>> = HashMap::new();
    for (at, stream) in streams.iter().enumerate() {
        if let (Some(tap), Some(_)) = (&stream.tap, stream.part) {
            places.entry(tap.clone()).or_default().push((stream.part, at));
        }
    }
    let mut slots: Vec<Option<Stream>> = streams.into_iter().map(Some).collect();
    for places in places.into_values() {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        let parts: Vec<Option<Stream>> =
            sorted.iter().map(|(_, at)| slots.get_mut(*at).and_then(Option::take)).collect();
        for ((_, at), part) in places.iter().zip(parts) {
            if let Some(slot) = slots.get_mut(*at) {
                *slot = part;
            }
        }
    }
    slots.into_iter().flatten().collect()
}
