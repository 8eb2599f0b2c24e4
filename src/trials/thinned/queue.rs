//! A first-in-first-out queue that drops what finds no room, filled and emptied as curves say.

use super::Curve;

/// What such a queue lets in of arrivals, up to each: the least room that lets in as many as came out.
pub(super) fn let_in(arrivals: &[(i64, f64)], left: &Curve) -> Vec<f64> {
    let gone: Vec<f64> = arrivals.iter().map(|(t, _)| left.at(*t)).collect();
    let total = left.total();
    let (mut low, mut high) = (1.0, arrivals.iter().map(|(_, frames)| frames).sum::<f64>().max(1.0));
    for _ in 0..48 {
        let room = f64::midpoint(low, high);
        if admitted(arrivals, &gone, total, room, |_| {}) >= total - 1e-6 { high = room } else { low = room }
    }
    let mut sums = Vec::with_capacity(arrivals.len());
    admitted(arrivals, &gone, total, high, |sum| sums.push(sum));
    sums
}

/// How many a queue with this room lets in, of `total` at most.
fn admitted(arrivals: &[(i64, f64)], gone: &[f64], total: f64, room: f64, mut each: impl FnMut(f64)) -> f64 {
    let mut sum = 0.0;
    for ((_, frames), gone) in arrivals.iter().zip(gone) {
        // A record stands for packets that came since the one before it, while the queue was served.
        let space = room - (sum - gone);
        sum += frames.min(space).min(total - sum).max(0.0);
        each(sum);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::PassedFrames;
    use super::*;

    #[test]
    fn a_full_queue_delays_by_its_room() {
        // A frame per 10 ns, served one per 20, room for 50: a full queue is 1,000 ns long.
        let arrivals: Vec<(i64, f64)> =
            (0..10_000).map(|i| (i * 10, 1.0)).filter(|(t, _)| t % 80 == 0).map(|(t, _)| (t, 8.0)).collect();
        let departures: Vec<PassedFrames> =
            (1..=5_050).filter(|k| k % 4 == 0).map(|k| PassedFrames { stream: 0, t: k * 20, frames: 4.0 }).collect();
        let left = Curve::of(&departures);
        let sums = let_in(&arrivals, &left);
        let late: Vec<i64> =
            arrivals.iter().zip(&sums).skip(600).filter_map(|((t, _), sum)| Some(left.when(*sum)? - t)).collect();
        let mean = late.iter().sum::<i64>() as f64 / late.len() as f64;
        assert!((mean - 1_000.0).abs() < 100.0, "{mean}");
    }
}
