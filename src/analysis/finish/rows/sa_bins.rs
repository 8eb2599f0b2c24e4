//! Traffic of SAs over time.

use super::padding::trailer_of_sa;
use crate::analysis::finish::copying::CopiesAre;
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::limits::{REPORTED_SA_BINS, REPORTED_SA_BINS_OF};
use crate::analysis::state::sa::bins::{SaBin, halved};
use crate::model::report::{Report, SaTimeBin};

/// Adds the bins of the SAs with the most frames; the last rows of the SAs are those of the tap.
pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    let first = report.sas.len().saturating_sub(tap.sas.len());
    let frames = |at: &usize| report.sas.get(first.saturating_add(*at)).map_or(0, |sa| sa.frames);
    let mut places: Vec<usize> = (0..tap.sas.len()).collect();
    places.sort_by_key(|at| std::cmp::Reverse(frames(at)));
    places.truncate(REPORTED_SA_BINS_OF);
    places.sort_unstable();
    let width = |sa: &SaView<'_>| sa.flow_bins.unwrap_or(&tap.stream.sa_bins).bin_ns();
    let mut series: Vec<(usize, i64, Vec<SaBin>)> = places
        .into_iter()
        .filter_map(|at| Some((at, tap.sas.get(at)?)))
        .map(|(at, sa)| (at, width(sa), on_the_wire(tap, sa)))
        .collect();
    // Times are 64 bits: this ends.
    while series.iter().map(|(.., bins)| bins.len()).sum::<usize>() > REPORTED_SA_BINS {
        for (_, width, bins) in &mut series {
            *bins = halved(bins);
            *width = width.saturating_mul(2);
        }
    }
    for (at, width, bins) in series {
        let sa = u32::try_from(first.saturating_add(at)).unwrap_or(u32::MAX);
        report.rates.sa_bins.extend(bins.into_iter().map(|bin| SaTimeBin {
            sa,
            start_ns: bin.index.saturating_mul(width),
            bin_ns: u64::try_from(width).unwrap_or(0),
            frames: bin.sums.frames,
            l1_bytes: bin.sums.l1_bytes,
            l3_bytes: bin.sums.l3_bytes,
        }));
    }
}

/// The bins of an SA, without copies of the TAP and without its packets as they were sent on.
fn on_the_wire(tap: &Tap<'_>, sa: &SaView<'_>) -> Vec<SaBin> {
    // Flows that turned out to be ESP have bins of their own.
    let (bins, id) = sa.flow_bins.map_or((&tap.stream.sa_bins, sa.id), |bins| (bins, 0));
    let trailer = trailer_of_sa(tap, sa.state.directions.first()).unwrap_or(0);
    let without_copies = |bin: &SaBin| {
        let copies = if sa.copies_are != CopiesAre::Open { bins.copies_of(id, bin.index) } else { Default::default() };
        let mut sums = bin.sums.without(&copies);
        sums.l1_bytes = sums.l1_bytes.saturating_sub(sums.frames.saturating_mul(trailer));
        SaBin { sums, ..*bin }
    };
    bins.of(id).iter().map(without_copies).filter(|bin| bin.sums.frames > 0).collect()
}
