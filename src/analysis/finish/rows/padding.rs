//! Padding of Ethernet frames, ESP and AH.

use std::collections::BTreeMap;

use super::directions::direction_name;
use crate::analysis::finish::tap::Tap;
use crate::model::report::{AhPadding, EspPadding, EthernetPadding, OverheadBasis, Pattern, Report};
use crate::transform::size::ethernet;

/// An FCS that at least this many frames end with is taken for one at the end of all.
pub(in crate::analysis::finish) const FCS_FRAMES: u64 = 16;

/// A trailer counts as borne by every frame if at most 1 frame in this many lacks it.
const UNTRAILED: u64 = 100;
/// Fewer frames with a trailer are chance, where some have none; of fewer than the other number they are in any case.
const TRAILED: u64 = 16;
const ALL_TRAILED: u64 = 4;

/// Octets that follow the packet in every frame of a direction, which a capture card or a packet broker appended.
pub(in crate::analysis::finish) fn trailer(tap: &Tap<'_>, direction: u32) -> u64 {
    tap.trailers.get(&direction).copied().unwrap_or(0)
}

/// The same, of every direction that has a trailer.
pub(in crate::analysis::finish) fn trailers(tap: &Tap<'_>) -> BTreeMap<u32, u64> {
    // A card appends to all frames; a tap of two cards may have two trailers.
    let all = trailer_of(tap, &|_| true);
    let of = |id| if all > 0 { all } else { trailer_of(tap, &|other| other == id) };
    tap.stream.rates.iter().map(|(id, _)| (id, of(id))).filter(|(_, bytes)| *bytes > 0).collect()
}

/// The octets that were appended to some frames of a direction.
pub(in crate::analysis::finish) fn appended(tap: &Tap<'_>, direction: u32, frames: u64) -> u64 {
    let bytes = trailer(tap, direction);
    let with_it = if is_fcs(tap, bytes) { cut_frames(tap, direction).min(frames) } else { frames };
    bytes.saturating_mul(with_it)
}

/// Whether a direction has frames with such a trailer and others without it, of which it is not known how many are in a time bin.
pub(in crate::analysis::finish) fn is_appended_to_some(tap: &Tap<'_>, direction: u32, frames: u64) -> bool {
    is_fcs(tap, trailer(tap, direction)) && cut_frames(tap, direction) < frames
}

/// Whether the trailer is the FCS of frames that were cut before it: in whole frames it was found, and is none.
fn is_fcs(tap: &Tap<'_>, bytes: u64) -> bool {
    bytes == u64::from(ethernet::FCS) && tap.stream.notices.fcs.count >= FCS_FRAMES
}

fn cut_frames(tap: &Tap<'_>, direction: u32) -> u64 {
    tap.stream.padding.cut().filter(|(id, _)| *id == direction).map(|(_, cut)| cut.frames).sum()
}

/// The octets that follow every packet of an SA; `None` where they are not the same in all of its directions.
pub(in crate::analysis::finish) fn trailer_of_sa(tap: &Tap<'_>, directions: u64) -> Option<u64> {
    let mut all = (0..u64::BITS).filter(|bit| directions >> bit & 1 == 1).map(|id| trailer(tap, id));
    let first = all.next().unwrap_or(0);
    all.all(|bytes| bytes == first).then_some(first)
}

/// The same, of the directions in `of`: nearly all of their frames have it, and most of these are so long that nothing fills them up.
fn trailer_of(tap: &Tap<'_>, of: &dyn Fn(u32) -> bool) -> u64 {
    let stream = tap.stream;
    let ip_frames: u64 = stream.rates.iter().filter(|(id, _)| of(*id)).map(|(_, rates)| rates.ip_frames).sum();
    let cells = || stream.padding.iter().filter(|(id, ..)| of(*id)).map(|(_, _, cell)| cell);
    let filled: u64 = stream.padding.fill().filter(|(id, ..)| of(*id)).map(|(_, _, cell)| cell.seen.count).sum();
    let cut = || stream.padding.cut().filter(|(id, _)| of(*id)).map(|(_, cut)| cut);
    let trailed: u64 = cells().map(|cell| cell.seen.count).chain(cut().map(|cut| cut.frames)).sum();
    let all = ip_frames.saturating_sub(trailed).saturating_mul(UNTRAILED) <= ip_frames;
    let shortest = cells().map(|cell| cell.shortest).chain(cut().map(|cut| cut.shortest)).min().unwrap_or(0);
    let least = if trailed == ip_frames { ALL_TRAILED } else { TRAILED };
    if all && trailed.saturating_sub(filled) >= least { u64::from(shortest) } else { 0 }
}

/// Whether what fills a direction's short frames may be a trailer: one as long as one VLAN tag, or two, ends where a frame that is
/// filled up without its tags ends.
pub(in crate::analysis::finish) fn may_be_trailer(tap: &Tap<'_>, direction: u32) -> bool {
    const TAGS: [u64; 2] = [4, 8];
    TAGS.contains(&trailer(tap, direction))
}

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    // Where a card appends to all frames, padding is what fills frames up to the minimum.
    let whole = tap.stream.padding.iter().filter(|(direction, ..)| trailer(tap, *direction) == 0);
    let is_padding = |pattern, direction| pattern != Pattern::Other || !may_be_trailer(tap, direction);
    let filled = tap
        .stream
        .padding
        .fill()
        .filter(|(direction, pattern, _)| trailer(tap, *direction) > 0 && is_padding(*pattern, *direction));
    let mut cells: Vec<_> = whole.chain(filled).collect();
    cells.sort_by_key(|(direction, ..)| *direction);
    for (direction, pattern, cell) in cells {
        report.padding.ethernet.push(EthernetPadding {
            tap: tap.name.clone(),
            direction: direction_name(tap, direction),
            frames: cell.seen.count,
            pad_bytes_min: u64::from(cell.shortest),
            pad_bytes_max: u64::from(cell.longest),
            pattern,
            examples: cell.examples.iter().map(|&pos| tap.frame(pos)).collect(),
        });
    }
    for sa in &tap.sas {
        let of_null = sa.null.map(|(_, votes)| (OverheadBasis::Visible, &votes.trailers));
        let of_keyed = sa.state.keyed.as_deref().map(|keyed| (OverheadBasis::Decrypted, &keyed.trailers));
        let of_keyed = of_keyed.filter(|(_, trailers)| !trailers.pads.is_empty());
        for (basis, trailers) in of_null.into_iter().chain(of_keyed) {
            report.padding.esp.push(EspPadding {
                tap: tap.name.clone(),
                sa: sa.name.clone(),
                basis,
                pad_lengths: trailers.pads.iter().map(|(&length, &packets)| (u32::from(length), packets)).collect(),
                monotonic: trailers.sized().saturating_sub(trailers.irregular()),
                other: trailers.irregular(),
                longer_than_needed: trailers.longer_than_needed,
            });
        }
        if let Some(tail) = sa.state.ah_padding() {
            report.padding.ah.push(AhPadding {
                tap: tap.name.clone(),
                sa: sa.name.clone(),
                frames: tail.frames,
                nonzero: tail.frames.saturating_sub(tail.zero),
            });
        }
    }
}
