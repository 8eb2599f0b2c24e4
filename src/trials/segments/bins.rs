//! Frames counted in bins of time, and how much the counts vary.

use crate::trials::limits::{AROUND, BIN_FRAMES, BIN_NS};

/// Counts of whole bins from the first frame on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bins {
    /// Width in nanoseconds: 1, 2 or 5 times a power of ten.
    pub(super) width: i64,
    pub(super) counts: Vec<f64>,
}

impl Bins {
    /// Bins of at least 16 frames on average; `None` for no frames.
    pub(super) fn of(part: &[i64]) -> Option<Self> {
        let (first, last) = (*part.first()?, *part.last()?);
        let width = Self::width(last - first, part.len() as f64)?;
        let mut counts = vec![0.0; usize::try_from((last - first) / width).ok()?];
        for t in part {
            if let Some(count) = usize::try_from((t - first) / width).ok().and_then(|at| counts.get_mut(at)) {
                *count += 1.0;
            }
        }
        Some(Self { width, counts })
    }

    fn width(length: i64, frames: f64) -> Option<i64> {
        let want = (BIN_FRAMES * length as f64 / (frames - 1.0).max(1.0)).max(BIN_NS as f64);
        (6..18).flat_map(|k| [1, 2, 5].map(|m| m * 10_i64.pow(k))).find(|width| *width as f64 >= want)
    }

    /// The same of records that stand for others, which passed evenly between them. `sums`: frames up to each.
    pub(super) fn of_sums(part: &[i64], sums: &[f64]) -> Option<Self> {
        let (first, last) = (*part.first()?, *part.last()?);
        // What passed between two records is not seen: bins of few of them would vary less than the load does.
        let width = Self::width(last - first, part.len().min(*sums.last()? as usize) as f64)?;
        let mut counts = Vec::new();
        let (mut next, mut before) = (0, 0.0);
        for bin in 1..=(last - first) / width {
            let edge = first + bin * width;
            while part.get(next).is_some_and(|t| *t < edge) {
                next += 1;
            }
            let known = |at: usize| Some((*part.get(at)?, *sums.get(at)?));
            let (from, low) = next.checked_sub(1).and_then(known).unwrap_or((first, 0.0));
            let part = known(next).map_or(0.0, |(to, high)| {
                (high - 1.0 - low).max(0.0) * (edge - from) as f64 / (to - from).max(1) as f64
            });
            counts.push(low + part - before);
            before = low + part;
        }
        Some(Self { width, counts })
    }
}

/// The middle value, or the mean of the two middle ones.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    middle(values)
}

/// The median of values in order.
fn middle(values: &[f64]) -> f64 {
    let half = values.len() / 2;
    let at = |at: usize| values.get(at).copied().unwrap_or(0.0);
    if values.len() % 2 == 1 { at(half) } else { f64::midpoint(at(half.saturating_sub(1)), at(half)) }
}

/// The median of each bin and of `around` bins on both sides of it, or fewer at the ends.
fn medians(counts: &[f64], around: usize) -> impl Iterator<Item = f64> {
    let mut window: Vec<f64> = Vec::new();
    let place = |window: &[f64], count: f64| window.partition_point(|own| own.total_cmp(&count).is_lt());
    let insert = move |window: &mut Vec<f64>, count: f64| window.insert(place(window, count), count);
    counts.iter().take(around).for_each(|count| insert(&mut window, *count));
    (0..counts.len()).map(move |at| {
        if let Some(next) = counts.get(at + around) {
            insert(&mut window, *next);
        }
        if let Some(gone) = at.checked_sub(around + 1).and_then(|at| counts.get(at)) {
            window.remove(place(&window, *gone));
        }
        middle(&window)
    })
}

/// Which bins belong to no short dip or spike: over half off the median around them, for less than a silence that ends a trial.
/// One bin beside them does not count either.
pub(super) fn calm(width: i64, counts: &[f64], gap: i64) -> Vec<bool> {
    // A dip that is shorter than the half of what is looked at does not make its median.
    let around = usize::try_from(gap / width.max(1)).unwrap_or(usize::MAX).clamp(AROUND, counts.len().max(AROUND));
    let mut odd: Vec<bool> = counts
        .iter()
        .zip(medians(counts, around))
        .map(|(count, middle)| (count - middle).abs() > 0.5 * middle)
        .collect();
    let mut at = 0;
    while at < odd.len() {
        if !odd.get(at).copied().unwrap_or(false) {
            at += 1;
            continue;
        }
        let end = (at..odd.len()).find(|at| !odd.get(*at).copied().unwrap_or(false)).unwrap_or(odd.len());
        let long = (end - at) as i64 * width >= gap;
        let (from, to) = if long { (at, end) } else { (at.saturating_sub(1), (end + 1).min(odd.len())) };
        odd.get_mut(from..to).into_iter().flatten().for_each(|odd| *odd = !long);
        at = if long { end } else { end + 1 };
    }
    odd.into_iter().map(|odd| !odd).collect()
}

/// Noise of one bin, from neighbours `lag` apart.
pub(super) fn noise(counts: &[f64], lag: usize) -> f64 {
    let mut steps: Vec<f64> = counts.iter().zip(counts.iter().skip(lag)).map(|(a, b)| (b - a).abs()).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let middle = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    (1.4826 * middle / std::f64::consts::SQRT_2).max(0.5)
}

/// The same for means of many bins: counts that are rounded and do not wander differ less in sums of four than single bins say.
pub(super) fn noise_of_means(counts: &[f64]) -> f64 {
    let sums: Vec<f64> = counts.windows(4).map(|four| four.iter().sum()).collect();
    noise(counts, 1).min(noise(&sums, 4) / 2.0)
}
