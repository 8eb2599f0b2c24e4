//! Folding many packet sizes into the size classes of RFC 2544.

use crate::model::report::{OuterSize, Size};

/// Up to this many sizes are shown as they are.
pub const EXACT_ROWS: usize = 24;

/// Upper ends of the classes as IP lengths: the frame sizes of RFC 2544 section 9.1 (64 to 1518 with FCS) less 18 octets of
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
    /// Overhead of the inner octets.
    pub overhead_of_inner_pct: f64,
    /// Layer 1 octets of the plain packet, mean.
    pub l1_plain_bytes: f64,
    /// Layer 1 octets of the tunnelled packet, mean.
    pub l1_tunnel_bytes: f64,
    /// End-to-end layer 1 rate; `None` for a class.
    pub l1_plain_bps: Option<f64>,
    /// Circuit layer 1 rate; `None` for a class.
    pub l1_tunnel_bps: Option<f64>,
    /// Plain of tunnelled layer 1 octets.
    pub circuit_share_pct: f64,
}

/// Each size as a row of its own.
#[must_use]
pub fn exact(sizes: &[&Size]) -> Vec<Row> {
    sizes
        .iter()
        .map(|size| Row {
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
        })
        .collect()
}

/// Sizes summed into classes; classes without packets are left out.
#[must_use]
pub fn fold(sizes: &[&Size]) -> Vec<Row> {
    let mut rows = Vec::new();
    for class in 0..=ENDS.len() {
        let members: Vec<&&Size> = sizes.iter().filter(|size| class_of(size.inner_bytes) == class).collect();
        let frames: u64 = members.iter().map(|size| size.frames).sum();
        if frames == 0 {
            continue;
        }
        // Sums of octets: exact far beyond any capture.
        let sum = |octets: fn(&Size) -> f64| members.iter().map(|size| octets(size) * size.frames as f64).sum::<f64>();
        let plain = sum(|size| size.l1_plain_bytes as f64);
        let tunnel = sum(|size| size.l1_tunnel_bytes);
        let inner = sum(|size| size.inner_bytes as f64);
        let overhead = sum(|size| size.overhead_mean_bytes);
        let ends = |pick: fn(&Size) -> (i64, i64)| {
            members
                .iter()
                .map(|size| pick(size))
                .fold((i64::MAX, i64::MIN), |(min, max), (a, b)| (min.min(a), max.max(b)))
        };
        rows.push(Row {
            label: label(class),
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
        });
    }
    rows
}

/// Outer sizes summed into classes.
#[must_use]
pub fn fold_outer(sizes: &[&OuterSize]) -> Vec<(String, u64)> {
    (0..=ENDS.len())
        .map(|class| {
            let members = sizes.iter().filter(|size| class_of(size.outer_bytes) == class);
            (label(class), members.map(|size| size.frames).sum())
        })
        .filter(|(_, frames)| *frames > 0)
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
        None => format!("{below} up"),
    }
}

fn signed(octets: u64) -> i64 {
    i64::try_from(octets).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn classes_keep_packets_and_means() {
        let sizes: Vec<Size> = (40..140).map(|inner| Size { frames: 2, ..sample::size(inner, 56) }).collect();
        let sizes: Vec<&Size> = sizes.iter().collect();
        let rows = fold(&sizes);
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["0-46", "47-110", "111-238"]);
        assert_eq!(rows.iter().map(|row| row.frames).sum::<u64>(), 200);
        assert_eq!(rows[0].outer_bytes, (96, 102));
        assert!((rows[0].overhead_of_inner_pct - 56.0 / 43.0 * 100.0).abs() < 1e-9);
    }

    #[test]
    fn jumbo_packets_have_a_class() {
        let jumbo = sample::size(9000, 56);
        assert_eq!(fold(&[&jumbo])[0].label, "1501 up");
    }
}
