//! Least squares and ranks.

/// A straight line through points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Line {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
    /// Standard error of the slope.
    pub(crate) error: f64,
    /// Root mean square of what the line leaves over, by degrees of freedom.
    pub(crate) rms: f64,
}

/// The least-squares line; `None` for fewer than two points, or where all have one x.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    if points.len() < 2 {
        return None;
    }
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sxx: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    if sxx <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / sxx;
    let left: f64 = points.iter().map(|(x, y)| (y - my - slope * (x - mx)).powi(2)).sum();
    let rms = if points.len() > 2 { (left / (n - 2.0)).sqrt() } else { 0.0 };
    Some(Line { slope, intercept: my - slope * mx, error: rms / sxx.sqrt(), rms })
}

/// Events per second: slope of the least-squares line through times and their numbers. n / T would count one event too many, and the
/// ends of bursts bias (n - 1) / T.
pub(crate) fn per_second(times: &[i64]) -> Option<f64> {
    let first = *times.first()?;
    if times.len() < 3 {
        return None;
    }
    let n = times.len() as f64;
    let seconds = |t: i64| (t - first) as f64 / 1e9;
    let mx = times.iter().map(|t| seconds(*t)).sum::<f64>() / n;
    let my = (n - 1.0) / 2.0;
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for (i, t) in times.iter().enumerate() {
        let x = seconds(*t) - mx;
        sxx += x * x;
        sxy += x * (i as f64 - my);
    }
    // Times that go back say nothing.
    (sxx > 0.0 && sxy > 0.0).then(|| sxy / sxx)
}

/// The value of nearest rank (RFC 2330 section 11.3) of sorted values.
pub(crate) fn rank(sorted: &[i64], q: f64) -> Option<i64> {
    let at = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(at.max(1) - 1).copied()
}

/// Median of values: the mean of the two middle ones where they are even in number.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 {
        values.get(half).copied()
    } else {
        Some(f64::midpoint(*values.get(half.checked_sub(1)?)?, *values.get(half)?))
    }
}
