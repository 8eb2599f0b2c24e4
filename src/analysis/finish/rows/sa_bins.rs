//! Traffic of SAs over time.

use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::limits::{REPORTED_SA_BINS, REPORTED_SA_BINS_OF};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::sa::bins::{SaBin, halved};
use crate::model::report::{Report, SaTimeBin};

/// Adds the bins of the SAs with the most frames; the last rows of the SAs are those of the tap.
pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    let first = report.sas.len().saturating_sub(tap.sas.len());
    let frames = |at: &usize| report.sas.get(first.saturating_add(*at)).map_or(0, |sa| sa.frames);
    // Of flows that turned out to be ESP there are none: their packets looked like others when they were counted.
    let mut places: Vec<usize> =
        (0..tap.sas.len()).filter(|at| tap.sas.get(*at).is_some_and(|sa| sa.id != NONE)).collect();
    places.sort_by_key(|at| std::cmp::Reverse(frames(at)));
    places.truncate(REPORTED_SA_BINS_OF);
    places.sort_unstable();
    let mut series: Vec<(usize, Vec<SaBin>)> =
        places.into_iter().filter_map(|at| Some((at, on_the_wire(tap, tap.sas.get(at)?)))).collect();
    let mut width = tap.stream.sa_bins.bin_ns();
    // Times are 64 bits: this ends.
    while series.iter().map(|(_, bins)| bins.len()).sum::<usize>() > REPORTED_SA_BINS {
        series.iter_mut().for_each(|(_, bins)| *bins = halved(bins));
        width = width.saturating_mul(2);
    }
    for (at, bins) in series {
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

/// The bins of an SA, without copies of the TAP.
fn on_the_wire(tap: &Tap<'_>, sa: &SaView<'_>) -> Vec<SaBin> {
    let bins = &tap.stream.sa_bins;
    let without_copies = |bin: &SaBin| {
        let copies = if tap.copying { bins.copies_of(sa.id, bin.index) } else { Default::default() };
        SaBin { sums: bin.sums.without(&copies), ..*bin }
    };
    bins.of(sa.id).iter().map(without_copies).filter(|bin| bin.sums.frames > 0).collect()
}
