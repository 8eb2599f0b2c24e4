//! Padding of Ethernet frames, ESP and AH.

use super::directions::direction_name;
use super::tap::Tap;
use crate::model::report::{AhPadding, EspPadding, EthernetPadding, Report};

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    for (direction, pattern, cell) in tap.partial.padding.iter() {
        report.padding.ethernet.push(EthernetPadding {
            tap: tap.name.clone(),
            direction: direction_name(tap, direction),
            frames: cell.seen.count,
            pad_bytes_min: u64::from(cell.shortest),
            pad_bytes_max: u64::from(cell.longest),
            pattern: pattern.name(),
            examples: cell.examples.iter().map(|&pos| tap.frame(pos)).collect(),
        });
    }
    for sa in &tap.sas {
        if let Some((_, votes)) = sa.null {
            let pad_lengths: std::collections::BTreeMap<u32, u64> =
                votes.pads.iter().map(|(&length, &frames)| (u32::from(length), frames)).collect();
            let sized: u64 = pad_lengths.values().sum();
            report.padding.esp.push(EspPadding {
                tap: tap.name.clone(),
                sa: sa.name.clone(),
                basis: "visible",
                pad_lengths,
                monotonic: votes.monotonic,
                other: sized.saturating_sub(votes.monotonic),
                longer_than_needed: votes.longer_than_needed,
            });
        }
        if let Some(keyed) = sa.state.keyed.as_deref().filter(|keyed| !keyed.pads.is_empty()) {
            let sized: u64 = keyed.pads.values().sum();
            report.padding.esp.push(EspPadding {
                tap: tap.name.clone(),
                sa: sa.name.clone(),
                basis: "decrypted",
                pad_lengths: keyed.pads.iter().map(|(&length, &packets)| (u32::from(length), packets)).collect(),
                monotonic: keyed.monotonic,
                other: sized.saturating_sub(keyed.monotonic),
                longer_than_needed: keyed.longer_than_needed,
            });
        }
        let tail = sa.state.ah_tail.get();
        if tail.is_padding() {
            report.padding.ah.push(AhPadding {
                tap: tap.name.clone(),
                sa: sa.name.clone(),
                frames: tail.frames,
                nonzero: tail.frames.saturating_sub(tail.zero),
            });
        }
    }
}
