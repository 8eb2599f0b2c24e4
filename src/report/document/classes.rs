//! Folding many packet sizes into the size classes of RFC 2544.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::model::report::{OuterSize, Size};

/// Up to this many sizes are shown as they are.
pub const EXACT_ROWS: usize = 24;

/// Of more sizes than that, the most frequent that are shown as they are.
const FREQUENT: usize = 12;

/// Upper ends of the classes as IP lengths: the frame sizes of RFC 2544 section 9.1 (64 to 1518 with FCS) less 18 bytes of
/// Ethernet.
const ENDS: [u64; 7] = [46, 110, 238, 494, 1006, 1262, 1500];

/// Number of the last class, which has no upper end.
pub const LAST: usize = ENDS.len();

/// One row of the overhead table: a size, or a class of sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// `64`, or `47-110`.
    pub label: String,
    /// Packets.
    pub frames: u64,
    /// Packets per second; `None` for a class, whose sizes have times of their own.
    pub frames_per_s: Option<f64>,
    /// Smallest and largest outer IP length.
    pub outer_bytes: (i64, i64),
    /// Smallest and largest overhead.
    pub overhead_bytes: (i64, i64),
    /// Overhead of the inner bytes.
    pub overhead_of_inner_pct: f64,
    /// Layer 1 bytes of the plain packet, mean.
    pub l1_plain_bytes: f64,
    /// Layer 1 bytes of the tunnelled packet, mean.
    pub l1_tunnel_bytes: f64,
    /// End-to-end layer 1 rate; `None` for a class.
    pub l1_plain_bps: Option<f64>,
    /// Circuit layer 1 rate; `None` for a class.
    pub l1_tunnel_bps: Option<f64>,
    /// Plain of tunnelled layer 1 bytes.
    pub circuit_share_pct: f64,
}

/// Sizes of one row: one size, or those of a class.
pub(super) enum Bin {
    /// The size at this place of the list.
    One(usize),
    /// A class, and the places of its sizes.
    Class(String, Vec<usize>),
}

/// How a list of sizes becomes rows, in order of size. `sizes` are bytes and frames, ascending. Up to 24 sizes are rows of
/// their own; of more, the most frequent 12 are, and the others are summed up in the classes of RFC 2544.
pub(super) fn bins(sizes: &[(u64, u64)], all: bool) -> Vec<Bin> {
    if all || sizes.len() <= EXACT_ROWS {
        return (0..sizes.len()).map(Bin::One).collect();
    }
    let mut order: Vec<(usize, &(u64, u64))> = sizes.iter().enumerate().collect();
    order.sort_by_key(|(_, (_, frames))| Reverse(*frames));
    let alone: BTreeSet<usize> = order.iter().take(FREQUENT).map(|(at, _)| *at).collect();
    let mut rows: Vec<(usize, Bin)> = alone.iter().map(|at| (*at, Bin::One(*at))).collect();
    for class in 0..=LAST {
        let members: Vec<usize> = order
            .iter()
            .filter(|(at, (bytes, _))| !alone.contains(at) && class_of(*bytes) == class)
            .map(|(at, _)| *at)
            .collect();
        match members.as_slice() {
            [] => {}
            [one] => rows.push((*one, Bin::One(*one))),
            _ => rows.push((members.iter().copied().min().unwrap_or(0), Bin::Class(label(class), members))),
        }
    }
    rows.sort_by_key(|(first, _)| *first);
    rows.into_iter().map(|(_, bin)| bin).collect()
}

/// The rows of sizes, which ascend.
#[must_use]
pub fn rows(sizes: &[&Size], all: bool) -> Vec<Row> {
    let keys: Vec<(u64, u64)> = sizes.iter().map(|size| (size.inner_bytes, size.frames)).collect();
    let member = |at: &usize| sizes.get(*at).copied();
    bins(&keys, all)
        .into_iter()
        .filter_map(|bin| match bin {
            Bin::One(at) => member(&at).map(exact),
            Bin::Class(label, members) => Some(folded(label, &members.iter().filter_map(member).collect::<Vec<_>>())),
        })
        .collect()
}

fn exact(size: &Size) -> Row {
    Row {
        label: size.inner_bytes.to_string(),
        frames: size.frames,
        frames_per_s: size.frames_per_s,
        outer_bytes: (signed(size.outer_bytes_min), signed(size.outer_bytes_max)),
        overhead_bytes: (size.overhead_min_bytes, size.overhead_max_bytes),
        overhead_of_inner_pct: size.overhead_of_inner_pct,
        l1_plain_bytes: size.l1_plain_bytes as f64,
        l1_tunnel_bytes: size.l1_tunnel_bytes,
        l1_plain_bps: size.l1_plain_bps,
        l1_tunnel_bps: size.l1_tunnel_bps,
        circuit_share_pct: size.circuit_share_pct,
    }
}

/// The sum of a class.
fn folded(label: String, members: &[&Size]) -> Row {
    let frames: u64 = members.iter().map(|size| size.frames).sum();
    // Sums of bytes: exact far beyond any capture.
    let sum = |bytes: fn(&Size) -> f64| members.iter().map(|size| bytes(size) * size.frames as f64).sum::<f64>();
    let plain = sum(|size| size.l1_plain_bytes as f64);
    let tunnel = sum(|size| size.l1_tunnel_bytes);
    let inner = sum(|size| size.inner_bytes as f64);
    let overhead = sum(|size| size.overhead_mean_bytes);
    let ends = |pick: fn(&Size) -> (i64, i64)| {
        members.iter().map(|size| pick(size)).fold((i64::MAX, i64::MIN), |(min, max), (a, b)| (min.min(a), max.max(b)))
    };
    Row {
        label,
        frames,
        frames_per_s: None,
        outer_bytes: ends(|size| (signed(size.outer_bytes_min), signed(size.outer_bytes_max))),
        overhead_bytes: ends(|size| (size.overhead_min_bytes, size.overhead_max_bytes)),
        overhead_of_inner_pct: if inner > 0.0 { overhead / inner * 100.0 } else { f64::NAN },
        l1_plain_bytes: plain / frames as f64,
        l1_tunnel_bytes: tunnel / frames as f64,
        l1_plain_bps: None,
        l1_tunnel_bps: None,
        circuit_share_pct: if tunnel > 0.0 { plain / tunnel * 100.0 } else { f64::NAN },
    }
}

/// Outer sizes, which ascend, as rows: what they are, and their packets.
#[must_use]
pub fn outer_rows(sizes: &[&OuterSize], all: bool) -> Vec<(String, u64)> {
    let keys: Vec<(u64, u64)> = sizes.iter().map(|size| (size.outer_bytes, size.frames)).collect();
    let member = |at: usize| sizes.get(at).map_or((0, 0), |size| (size.outer_bytes, size.frames));
    bins(&keys, all)
        .into_iter()
        .map(|bin| match bin {
            Bin::One(at) => (member(at).0.to_string(), member(at).1),
            Bin::Class(label, members) => (label, members.into_iter().map(|at| member(at).1).sum()),
        })
        .collect()
}

/// The class of an IP length, counted from 0 to [`LAST`].
#[must_use]
pub fn class_of(ip_bytes: u64) -> usize {
    ENDS.iter().position(|end| ip_bytes <= *end).unwrap_or(ENDS.len())
}

/// A class as its range of lengths: `47-110`.
#[must_use]
pub fn label(class: usize) -> String {
    let below = class.checked_sub(1).and_then(|before| ENDS.get(before)).map_or(0, |end| end + 1);
    match ENDS.get(class) {
        Some(end) => format!("{below}-{end}"),
        None => format!("over {}", below.saturating_sub(1)),
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn classes_keep_packets_and_means() {
        let sizes: Vec<Size> = (40..140).map(|inner| Size { frames: 2, ..sample::size(inner, 56) }).collect();
        let sizes: Vec<&Size> = sizes.iter().collect();
        let rows = rows(&sizes, false);
        // The first twelve of equally frequent sizes stand alone: 40 to 51.
        let labels: Vec<&str> = rows.iter().skip(FREQUENT).map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["47-110", "111-238"]);
        assert_eq!(rows.iter().map(|row| row.frames).sum::<u64>(), 200);
        assert_eq!(rows[FREQUENT].outer_bytes, (52 + 56, 110 + 56));
        assert!((rows[FREQUENT].overhead_of_inner_pct - 56.0 / 81.0 * 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_most_frequent_sizes_stand_alone_wherever_they_are() {
        let sizes: Vec<Size> = (0..100)
            .map(|n| Size { frames: if n % 25 == 7 { 1_000 } else { 1 }, ..sample::size(40 + n * 10, 56) })
            .collect();
        let sizes: Vec<&Size> = sizes.iter().collect();
        let folded = rows(&sizes, false);
        for frequent in ["110", "360", "610", "860"] {
            assert!(folded.iter().any(|row| row.label == frequent && row.frames == 1_000), "{frequent}: {folded:?}");
        }
        assert!(folded.len() <= EXACT_ROWS, "{}", folded.len());
        assert_eq!(folded.iter().map(|row| row.frames).sum::<u64>(), 4_096);
        assert_eq!(rows(&sizes, true).len(), 100);
    }

    #[test]
    fn jumbo_packets_have_a_class() {
        assert_eq!(label(class_of(9_000)), "over 1500");
        assert_eq!(label(class_of(1_500)), "1263-1500");
    }
}
