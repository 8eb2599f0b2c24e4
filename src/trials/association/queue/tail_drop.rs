//! Which arrivals of a full first-in-first-out queue left it.

use crate::trials::limits::CLOCKS_APART;

/// Arrivals that a queue with room for `room` packets lets in, as many as came out at most, and how many found room but nothing that left
/// for them; none leaves sooner than `least` after it came. `room`: for each arrival.
fn admitted(arrivals: &[i64], departures: &[i64], room: impl Fn(usize) -> usize, least: i64) -> (Vec<usize>, usize) {
    let mut inside = Vec::new();
    let (mut gone, mut left_over) = (0, 0);
    for (at, t) in arrivals.iter().enumerate() {
        while departures.get(gone).is_some_and(|d| d <= t) {
            gone += 1;
        }
        if inside.len().saturating_sub(gone) >= room(at) {
            continue;
        }
        if departures.get(inside.len()).is_some_and(|d| d - t >= least) {
            inside.push(at);
        } else {
            left_over += 1;
        }
    }
    (inside, left_over)
}

/// What a queue that drops what finds no room let through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LetThrough {
    /// Places of the arrivals that left.
    pub(crate) chosen: Vec<usize>,
    /// Whether all of them can have taken the least time or longer.
    pub(crate) all: bool,
    /// Whether it makes no difference to latencies if there is room for one packet less most of the time.
    pub(crate) firm: bool,
}

/// Places of the arrivals that left, if the queue drops what finds no room: the least room that lets in as many as came out.
pub(crate) fn tail_drop(arrivals: &[i64], departures: &[i64], least: i64) -> LetThrough {
    // Where not all that left can have taken so long, nothing is known of it.
    let all = admitted(arrivals, departures, |_| arrivals.len(), least).0.len() >= departures.len();
    let least = if all { least } else { i64::MIN / 2 };
    let (mut low, mut high) = (1, arrivals.len().max(1));
    while low < high {
        let middle = low.midpoint(high);
        if admitted(arrivals, departures, |_| middle, least).0.len() >= departures.len() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let (mut best, mut over) = admitted(arrivals, departures, |_| low, least);
    let mut firm = true;
    // One more than came out: it would be missing where the queue is empty again, in a load that lost none. Whether the packet that is
    // being sent takes room may change, so for a part of the time there is room for one less.
    for first in [true, false] {
        if low == 1 {
            break;
        }
        let with = |more: usize| {
            let is_more = |at: usize| if first { at < more } else { at >= arrivals.len() - more };
            admitted(arrivals, departures, |at| if is_more(at) { low } else { low - 1 }, least)
        };
        let (mut few, mut many) = (0, arrivals.len());
        while few < many {
            let middle = few.midpoint(many);
            if with(middle).0.len() >= departures.len() { many = middle } else { few = middle + 1 }
        }
        let own = with(few);
        if own.0.len() == best.len() {
            firm &= are_alike(arrivals, departures, (&best, &own.0));
            if own.1 < over {
                (best, over) = own;
            }
        }
    }
    LetThrough { chosen: best, all, firm }
}

/// Whether latencies are the same whichever arrivals left: to a few packets or a small part of them.
fn are_alike(arrivals: &[i64], departures: &[i64], (one, other): (&[usize], &[usize])) -> bool {
    let late = |chosen: &[usize]| {
        let own = chosen.iter().zip(departures).filter_map(|(at, d)| Some(d - arrivals.get(*at)?));
        let mut late: Vec<i64> = own.collect();
        late.sort_unstable();
        late
    };
    let (one, other) = (late(one), late(other));
    let span = departures.last().zip(departures.first()).map_or(0, |(last, first)| last - first);
    let few = ALIKE_PACKETS * span / (departures.len() as i64).max(1);
    [50, 99, 100].into_iter().all(|part| {
        let of =
            |late: &[i64]| late.get((late.len() * part / 100).min(late.len().saturating_sub(1))).copied().unwrap_or(0);
        (of(&one) - of(&other)).abs() <= few.max(of(&one) / ALIKE_OF)
    })
}

/// Packets, on average, and a part of a latency by which it may differ.
const ALIKE_PACKETS: i64 = 3;
const ALIKE_OF: i64 = 16;

/// Places of arrivals that departures follow at their pace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Paced {
    /// These alone.
    One(Vec<usize>),
    /// These, or others as well: a latency that is longer by some packets fits as well.
    Several(Vec<usize>),
    /// None.
    No,
}

/// Places of the arrivals that left, where departures are as far apart as arrivals and each comes as late after one as the first does:
/// no queue was full, and what is missing was lost on its own. A full queue empties at its own pace. Where the first ones may be among the
/// lost, several latencies fit; the one that is near `least`, the latency of an idle device, is the one.
pub(crate) fn paced(arrivals: &[i64], departures: &[i64], least: Option<i64>) -> Paced {
    let (Some(period), Some(pace)) = (median_gap(arrivals), median_gap(departures)) else { return Paced::No };
    let Some(first_out) = departures.first().filter(|_| (period - pace).abs() * 20 <= period) else {
        return Paced::No;
    };
    if let Some(least) = least {
        let first = arrivals.partition_point(|t| *t < first_out - least - period / 2);
        return following(arrivals, departures, first, period).map_or(Paced::No, Paced::One);
    }
    let lost = arrivals.len().saturating_sub(departures.len()).min(OTHERS);
    let mut fitting = (0..=lost).filter_map(|first| following(arrivals, departures, first, period));
    match (fitting.next(), fitting.next()) {
        (Some(chosen), None) => Paced::One(chosen),
        (Some(chosen), Some(_)) => Paced::Several(chosen),
        (None, _) => Paced::No,
    }
}

/// Arrivals that may have been the first to leave, beside the first one.
const OTHERS: usize = 16;

/// Places of the departures that arrivals became, where there are others among them: each as late after its arrival as the first one.
/// `slack`: by how much departures may seem to precede arrivals.
pub(crate) fn subset(arrivals: &[i64], departures: &[i64], least: Option<i64>, slack: i64) -> Option<Vec<usize>> {
    let (period, came) = (median_gap(arrivals)?, *arrivals.first()?);
    let others = departures.len().checked_sub(arrivals.len())?;
    if others > OTHERS && least.is_none() {
        return None;
    }
    let late = |first: usize| departures.get(first).map(|d| d - came);
    let may_be = |first: &usize| {
        late(*first).is_some_and(|late| match least {
            Some(least) => (late - least).abs() <= period / 2,
            None => late >= -slack,
        })
    };
    let mut fitting = (0..=others).filter(may_be).filter_map(|first| following(departures, arrivals, first, period));
    let chosen = fitting.next()?;
    fitting.next().is_none().then_some(chosen)
}

/// Places of the arrivals that left, where each departure comes as late after one as trials that lost none show: between the least and
/// the greatest latency of the quietest of them. Times need not be even, but no two arrivals may be that close to each other as a rule.
pub(crate) fn within_latency(arrivals: &[i64], departures: &[i64], (least, most): (i64, i64)) -> Option<Vec<usize>> {
    if (most - least).saturating_mul(2) > median_gap(arrivals)? {
        return None;
    }
    let mut next = 0;
    let mut chosen = Vec::with_capacity(departures.len());
    for d in departures {
        while arrivals.get(next).is_some_and(|t| d - t > most + EXACT_NS) {
            next += 1;
        }
        arrivals.get(next).filter(|t| d - *t >= least - EXACT_NS)?;
        chosen.push(next);
        next += 1;
    }
    Some(chosen)
}

/// The same where the clocks have drifted apart since: each departure comes as late after one arrival as the first does, and one latency alone
/// fits that is about as long as `quiet`.
pub(crate) fn within_drifted(arrivals: &[i64], departures: &[i64], quiet: (i64, i64)) -> Option<Vec<usize>> {
    let (first, last) = (*departures.first()?, *departures.last()?);
    let wide = quiet.1 - quiet.0 + (last - first) / QUARTZ_OF;
    let usual = quiet.0.midpoint(quiet.1);
    let from = arrivals.partition_point(|t| first - t > usual + DRIFTED_NS);
    let near = arrivals.get(from..)?.iter().take_while(|t| first - **t >= usual - DRIFTED_NS);
    let mut fitting = near.filter_map(|t| within_latency(arrivals, departures, (first - t - wide, first - t + wide)));
    let chosen = fitting.next()?;
    fitting.next().is_none().then_some(chosen)
}

/// Two clocks drift apart by less than one part of so many.
const QUARTZ_OF: i64 = 10_000;
/// How far clocks may have drifted apart between two loads, in nanoseconds.
const DRIFTED_NS: i64 = 4 * CLOCKS_APART;

/// Times are rounded to microseconds, in nanoseconds.
const EXACT_NS: i64 = 1_000;

/// The arrivals that departures follow as the first departure follows arrival `first`.
fn following(arrivals: &[i64], departures: &[i64], first: usize, period: i64) -> Option<Vec<usize>> {
    let late = departures.first()? - arrivals.get(first)?;
    let mut chosen = Vec::with_capacity(departures.len());
    let mut next = first;
    for d in departures {
        let came = d - late;
        while arrivals.get(next).is_some_and(|t| *t < came - period / 8) {
            next += 1;
        }
        arrivals.get(next).filter(|t| **t <= came + period / 8)?;
        chosen.push(next);
        next += 1;
    }
    Some(chosen)
}

fn median_gap(times: &[i64]) -> Option<i64> {
    let mut gaps: Vec<i64> = times.windows(2).filter_map(|two| Some(two.last()? - two.first()?)).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().filter(|gap| *gap > 0)
}

/// Where lengths or flows differ, what left is what came with some left out: of all such ways the one nearest to `chosen`. Entries of `left` tell
/// them apart, 0 where a packet is known by its number alone. `None` where no such way is found nearby.
pub(crate) fn by_length(chosen: &[usize], came: &[u32], left: &[u32], cells: usize) -> Option<Vec<usize>> {
    let mut reach = 64;
    loop {
        if let Some(found) = within(chosen, came, left, reach, cells) {
            return Some(found);
        }
        reach *= 4;
        if reach > came.len().max(64) * 4 || chosen.len().saturating_mul(2 * reach + 1) > cells {
            return None;
        }
    }
}

/// The same, no arrival further than `reach` from the chosen one.
fn within(chosen: &[usize], came: &[u32], left: &[u32], reach: usize, cells: usize) -> Option<Vec<usize>> {
    let width = 2 * reach + 1;
    if chosen.is_empty() || chosen.len().saturating_mul(width) > cells {
        return None;
    }
    // Of departure j, cell k is arrival chosen[j] - reach + k; its least cost, and the cell of j - 1 that it follows.
    let mut before: Vec<(usize, u64)> = Vec::new();
    let mut from: Vec<u32> = Vec::with_capacity(chosen.len() * width);
    for (j, (aim, size)) in chosen.iter().zip(left).enumerate() {
        let low = aim.saturating_sub(reach);
        let mut row: Vec<(usize, u64)> = Vec::with_capacity(width);
        let mut best: Option<(u64, u32)> = (j == 0).then_some((0, 0));
        let mut next = 0;
        for k in 0..width {
            let i = low + k;
            // The cheapest way that ends before arrival i.
            while let Some((_, cost)) = before.get(next).filter(|(at, _)| *at < i) {
                if *cost < u64::MAX && best.is_none_or(|(least, _)| *cost < least) {
                    best = Some((*cost, next as u32));
                }
                next += 1;
            }
            let fits = came.get(i).is_some_and(|own| *size == 0 || own == size);
            let (cost, back) = match best {
                Some((cost, back)) if fits => (cost + i.abs_diff(*aim) as u64, back),
                _ => (u64::MAX, u32::MAX),
            };
            row.push((i, cost));
            from.push(back);
        }
        before = row;
    }
    let (mut k, _) = before.iter().enumerate().map(|(k, (_, cost))| (k, *cost)).min_by_key(|(_, cost)| *cost)?;
    if before.get(k).is_none_or(|(_, cost)| *cost == u64::MAX) {
        return None;
    }
    let mut out = Vec::with_capacity(chosen.len());
    for (j, aim) in chosen.iter().enumerate().rev() {
        out.push(aim.saturating_sub(reach) + k);
        k = *from.get(j * width + k)? as usize;
    }
    out.reverse();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer lets uneven packets through at once; its clock ran away from the other one since the load that lost none.
    #[test]
    fn packets_between_clocks_that_drifted_apart() {
        let gap = |k: i64| 400_000 + (k * 7_919 % 31) * 150_000;
        let came: Vec<i64> = (0..300)
            .scan(0, |t, k| {
                *t += gap(k);
                Some(*t)
            })
            .collect();
        let kept: Vec<usize> = (0..300).filter(|k| k % 7 != 3 && k % 11 != 5).collect();
        let left: Vec<i64> =
            kept.iter().map(|k| came[*k] + 130_000 - 300_000 + came[*k] / 30_000 + (*k as i64 % 5) * 9_000).collect();
        assert_eq!(within_latency(&came, &left, (110_000, 170_000)), None);
        assert_eq!(within_drifted(&came, &left, (110_000, 170_000)), Some(kept));
    }

    #[test]
    fn a_queue_with_room_for_two_lets_in_what_it_can() {
        // One packet per 10, served one per 20: the queue fills and every second packet is dropped.
        let arrivals: Vec<i64> = (0..10).map(|i| i * 10).collect();
        let departures = [25, 45, 65, 85, 105, 125];
        let LetThrough { chosen: in_, all, .. } = tail_drop(&arrivals, &departures, 0);
        assert!(all);
        assert_eq!(in_.len(), departures.len());
        assert!(in_.iter().zip(departures).all(|(at, d)| arrivals[*at] < d), "{in_:?}");
        assert_eq!(tail_drop(&[], &[], 0), LetThrough { chosen: Vec::new(), all: true, firm: true });
        // More left by a time than had come.
        let LetThrough { chosen: in_, all, .. } = tail_drop(&[0, 100, 200, 300], &[10, 20, 310], 0);
        assert_eq!((in_.len(), all), (3, false));
    }

    #[test]
    fn what_is_lost_on_its_own_delays_nothing() {
        let arrivals: Vec<i64> = (0..100).map(|i| i * 1_000).collect();
        let kept: Vec<usize> = (0..100).filter(|i| !(40..60).contains(i) && *i != 77).collect();
        let left: Vec<i64> = kept.iter().filter_map(|i| Some(arrivals.get(*i)? + 300)).collect();
        assert_eq!(paced(&arrivals, &left, None), Paced::One(kept.clone()));
        assert_eq!(paced(&arrivals, &left, Some(250)), Paced::One(kept));
        // Whether the first ten were lost or all are later by ten only an idle device tells.
        let late: Vec<i64> = arrivals.iter().skip(10).map(|t| t + 300).collect();
        assert!(matches!(paced(&arrivals, &late, None), Paced::Several(_)));
        assert_eq!(paced(&arrivals, &late, Some(310)), Paced::One((10..100).collect()));
        assert_eq!(paced(&arrivals, &late, Some(10_290)), Paced::One((0..90).collect()));
        // One hundredth more than is served: the queue is full, and departures slip against arrivals.
        let slower: Vec<i64> = (0..90).map(|i| 300 + i * 1_010).collect();
        assert_eq!(paced(&arrivals, &slower, None), Paced::No);
    }

    #[test]
    fn uneven_arrivals_are_told_by_their_latency() {
        let arrivals: Vec<i64> = (0..100).map(|i| i * 50_000 + (i * i % 7) * 4_000).collect();
        let kept: Vec<usize> = (0..100).filter(|i| i % 9 != 4).collect();
        let left: Vec<i64> =
            kept.iter().filter_map(|i| Some(arrivals.get(*i)? + 130_000 + (*i as i64 % 3) * 500)).collect();
        assert_eq!(within_latency(&arrivals, &left, (130_000, 131_000)), Some(kept));
        // A queue that grows is later.
        let queued: Vec<i64> = (0..90).map(|i| 130_000 + i * 55_000).collect();
        assert_eq!(within_latency(&arrivals, &queued, (130_000, 131_000)), None);
        // Latencies that vary by as much as packets are apart say nothing.
        assert_eq!(within_latency(&arrivals, &left, (130_000, 190_000)), None);
    }

    #[test]
    fn others_among_what_left_are_left_out_where_one_latency_fits() {
        let arrivals: Vec<i64> = (0..100).map(|i| i * 1_000).collect();
        let mut left: Vec<(i64, bool)> = arrivals.iter().map(|t| (t + 300, true)).collect();
        left.extend((0..5).map(|k| (11_650 + k * 17_000, false)));
        left.sort_unstable();
        let times: Vec<i64> = left.iter().map(|(t, _)| *t).collect();
        let own: Vec<usize> = left.iter().enumerate().filter(|(_, (_, own))| *own).map(|(at, _)| at).collect();
        assert_eq!(subset(&arrivals, &times, None, 0), Some(own));
        // A tap that missed the fifth packet: the same latency fits, and a longer one does not.
        let missed: Vec<i64> = arrivals.iter().copied().filter(|t| *t != 5_000).collect();
        let all: Vec<i64> = arrivals.iter().map(|t| t + 300).collect();
        assert_eq!(subset(&missed, &all, None, 0), Some((0..100).filter(|i| *i != 5).collect()));
        // One that missed the last: all may be later by one.
        let missed: Vec<i64> = arrivals.iter().copied().filter(|t| *t != 99_000).collect();
        assert_eq!(subset(&missed, &all, None, 0), None);
        assert_eq!(subset(&missed, &all, Some(310), 0), Some((0..99).collect()));
    }

    #[test]
    fn lengths_move_the_choice_to_the_nearest_that_fits() {
        let came = [64, 1500, 64, 64, 1500, 64];
        assert_eq!(by_length(&[0, 2, 3], &came, &[64, 1500, 64], 1 << 20), Some(vec![0, 1, 3]));
        assert_eq!(by_length(&[0, 2, 3], &came, &[64, 0, 1500], 1 << 20), Some(vec![0, 2, 4]));
        assert_eq!(by_length(&[0, 1], &came, &[576, 64], 1 << 20), None);
    }
}
