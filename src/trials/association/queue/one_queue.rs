//! One queue that packets of two directions wait in: which of them left it.
//!
//! A full queue lets in the next packet that comes after one has left, whichever way it goes, and what it let in leaves in that order. So the
//! order in which packets of both directions left says whether one queue held them: of queues of their own, every second packet that finds
//! room in this one contradicts it.

/// A packet that came or left: when, and whether it goes the second of two ways.
pub(crate) type Passing = (i64, bool);

/// What one queue makes of packets of both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OneQueue {
    /// It explains which left: of each direction, the places of arrivals among those of the direction, and how many packets it holds.
    Explains([Vec<usize>; 2], usize),
    /// Nearly.
    Open,
    /// It does not.
    Refuted,
    /// Too few were lost while both directions came.
    Untold,
}

/// Losses while both directions came that a verdict needs.
const FEWEST_LOST: usize = 8;
/// Of so many losses one may contradict a queue that explains them.
const CONTRADICTED_OF: usize = 50;
/// Where one of so many does, it is refuted.
const REFUTED_OF: usize = 8;

/// Loads are in step where of so many packets one direction has not one more than the other.
const IN_STEP_OF: usize = 100;

/// How a queue with a certain room fits.
#[derive(Default)]
struct QueueFit {
    chosen: Vec<usize>,
    /// Packets that found room and did not leave in their turn.
    contradicted: Vec<usize>,
}

/// Packets as they came; of two directions at once, the one first that is to leave first.
struct InOrder<'p> {
    came: &'p [Passing],
    at: usize,
    held: Option<usize>,
    apart: i64,
}

impl InOrder<'_> {
    fn next(&mut self, next: Option<bool>) -> Option<(usize, Passing)> {
        let mut at = self.held.take().unwrap_or(self.at);
        let (t, way) = *self.came.get(at)?;
        if at == self.at {
            self.at += 1;
            let other = self.came.get(self.at).filter(|(other, _)| other - t <= self.apart);
            if other.is_some_and(|(_, other)| *other != way && Some(*other) == next) {
                self.held = Some(at);
                at = self.at;
                self.at += 1;
            }
        }
        Some((at, *self.came.get(at)?))
    }
}

/// A queue with this room, filled with what came, emptied as packets left. `apart`: by how much times of what came and of what left may be
/// wrong: a packet that comes so shortly before or after one has left may have found room or not.
fn filled(came: &[Passing], left: &[Passing], room: usize, apart: i64) -> QueueFit {
    let mut fit = QueueFit::default();
    let (mut surely, mut perhaps) = (0, 0);
    // The last packet of each direction that found room while one of the other direction was to leave next.
    let mut skipped: [Option<usize>; 2] = [None; 2];
    let mut order = InOrder { came, at: 0, held: None, apart };
    while let Some((at, (t, way))) = order.next(left.get(fit.chosen.len()).map(|(_, next)| *next)) {
        while left.get(surely).is_some_and(|(d, _)| d + apart <= t) {
            surely += 1;
        }
        while left.get(perhaps).is_some_and(|(d, _)| d - apart <= t) {
            perhaps += 1;
        }
        // What has left by now came before.
        while let Some((_, next)) = left.get(fit.chosen.len()).filter(|(d, _)| d + apart < t) {
            let Some(own) = skipped.get_mut(usize::from(*next)).and_then(Option::take) else { return fit };
            fit.chosen.push(own);
        }
        let Some((_, next)) = left.get(fit.chosen.len()) else { break };
        let finds_room = |gone: usize| fit.chosen.len().saturating_sub(gone) < room;
        let (may, must) = (finds_room(perhaps), finds_room(surely));
        if let Some(skipped) = skipped.get_mut(usize::from(way)).filter(|_| may) {
            *skipped = (*next != way).then_some(at);
        }
        if may && *next == way {
            fit.chosen.push(at);
        } else if must {
            fit.contradicted.push(at);
        }
    }
    while let Some((_, next)) = left.get(fit.chosen.len()) {
        let Some(own) = skipped.get_mut(usize::from(*next)).and_then(Option::take) else { break };
        fit.chosen.push(own);
    }
    fit.chosen.sort_unstable();
    fit
}

/// Which packets left, if one queue held those of both directions. `came`, `left`: in order of time. `apart`: by how much times of both may be
/// wrong against each other.
pub(crate) fn one_queue(came: &[Passing], left: &[Passing], apart: i64) -> OneQueue {
    let span = |way: bool| {
        let mut own = came.iter().filter(|(_, own)| *own == way).map(|(t, _)| *t);
        let first = own.next()?;
        Some((first, own.next_back().unwrap_or(first)))
    };
    let (Some(one), Some(other)) = (span(false), span(true)) else { return OneQueue::Untold };
    let together = one.0.max(other.0)..=one.1.min(other.1);
    let came_together = |way: bool| came.iter().filter(|(t, own)| *own == way && together.contains(t)).count();
    let during = |at: &usize| came.get(*at).is_some_and(|(t, _)| together.contains(t));
    let (mut low, mut high) = (1, came.len());
    while low < high {
        let middle = low.midpoint(high);
        if filled(came, left, middle, apart).chosen.len() >= left.len() { high = middle } else { low = middle + 1 }
    }
    // Whether the packet that is being sent takes room depends on which of two times is a little wrong.
    let few = |room: usize| Some(filled(came, left, room, apart)).filter(|fit| fit.chosen.len() >= left.len());
    let all = [low, low + 1].into_iter().filter_map(few).min_by_key(|fit| fit.contradicted.len()).unwrap_or_default();
    if all.chosen.len() < left.len() {
        return OneQueue::Refuted;
    }
    let mut lost = vec![true; came.len()];
    for at in &all.chosen {
        if let Some(lost) = lost.get_mut(*at) {
            *lost = false;
        }
    }
    let lost_together = lost.iter().enumerate().filter(|(at, lost)| **lost && during(at)).count();
    if lost_together < FEWEST_LOST {
        return OneQueue::Untold;
    }
    let contradicted = all.contradicted.len();
    if contradicted <= 2.max((came.len() - left.len()) / CONTRADICTED_OF) {
        // Packets of both directions that keep coming one right behind the other fit any rule, if times may be a little wrong.
        let in_step = came_together(false).abs_diff(came_together(true)) * IN_STEP_OF <= came_together(false);
        let explains = apart == 0 || !in_step;
        return if explains { OneQueue::Explains(by_way(came, &all.chosen), low) } else { OneQueue::Open };
    }
    let together = all.contradicted.iter().filter(|at| during(at)).count();
    let refuted = together * REFUTED_OF > lost_together && !is_in_order(came, left);
    if refuted { OneQueue::Refuted } else { OneQueue::Open }
}

/// Whether, before the first one was lost, packets left in the order in which those of both directions came: they waited in one queue, whatever
/// it drops. Queues of their own that are served in turn send no two packets of a direction while the other one waits.
fn is_in_order(came: &[Passing], left: &[Passing]) -> bool {
    let ahead =
        |way: bool| came.iter().enumerate().filter(move |(_, (_, own))| *own == way).map(|(at, (t, _))| (at, *t));
    let mut ahead = [ahead(false).peekable(), ahead(true).peekable()];
    let mut runs = 0;
    let mut before = None;
    for (j, ((_, way), (d, next))) in came.iter().zip(left).enumerate() {
        if way != next {
            break;
        }
        let both_wait = ahead.iter_mut().all(|own| {
            while own.next_if(|(at, _)| *at < j).is_some() {}
            own.peek().is_some_and(|(_, t)| t < d)
        });
        runs += usize::from(both_wait && before == Some(next));
        before = Some(next);
    }
    runs >= RUNS
}

/// Packets of a direction that leave right behind another one of it while the other direction waits.
const RUNS: usize = 8;

/// Places among the arrivals of each direction.
fn by_way(came: &[Passing], chosen: &[usize]) -> [Vec<usize>; 2] {
    let mut ways: [Vec<usize>; 2] = Default::default();
    let mut next = [0; 2];
    let mut chosen = chosen.iter().peekable();
    for (at, (_, way)) in came.iter().enumerate() {
        let is_chosen = chosen.next_if_eq(&&at).is_some();
        if let (Some(own), Some(next)) = (ways.get_mut(usize::from(*way)), next.get_mut(usize::from(*way))) {
            if is_chosen {
                own.push(*next);
            }
            *next += 1;
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of both ways, the second one from a time on and a little slower.
    fn both() -> Vec<Passing> {
        let mut came: Vec<Passing> = (0..3_000).map(|i| (i * 1_000, false)).collect();
        came.extend((0..1_500).map(|i| (700_000 + i * 1_370, true)));
        came.sort_unstable();
        came
    }

    /// What leaves queues of some room, one for both ways or one for each, served in turn: which came, and when it left.
    fn served(came: &[Passing], room: usize, apart: bool) -> Vec<(i64, usize)> {
        let queue = |way: bool| usize::from(apart && way);
        let mut inside: [std::collections::VecDeque<usize>; 2] = Default::default();
        let (mut left, mut free, mut last): (Vec<(i64, usize)>, i64, usize) = (Vec::new(), 0, 1);
        let mut serve = |until: i64, inside: &mut [std::collections::VecDeque<usize>; 2]| {
            while free <= until {
                let turn = if inside[1 - last].is_empty() { last } else { 1 - last };
                let Some(at) = inside[turn].pop_front() else { break };
                (last, free) = (turn, free.max(came[at].0) + 900);
                left.push((free, at));
            }
        };
        for (at, (t, way)) in came.iter().enumerate() {
            serve(*t, &mut inside);
            let own = &mut inside[queue(*way)];
            if own.len() < room {
                own.push_back(at);
            }
        }
        serve(i64::MAX / 2, &mut inside);
        left
    }

    #[test]
    fn one_queue_explains_what_left_it() {
        let came = both();
        let out = served(&came, 40, false);
        let left: Vec<Passing> = out.iter().map(|(d, at)| (*d, came[*at].1)).collect();
        let OneQueue::Explains(ways, _) = one_queue(&came, &left, 0) else { panic!("it is one queue") };
        for way in [false, true] {
            let own: Vec<usize> = (0..came.len()).filter(|at| came[*at].1 == way).collect();
            let mut want: Vec<usize> = out.iter().map(|(_, at)| *at).filter(|at| came[*at].1 == way).collect();
            want.sort_unstable();
            assert_eq!(ways[usize::from(way)].iter().map(|at| own[*at]).collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn packets_that_come_at_once_may_have_come_in_either_order() {
        // Both directions at the same times, the second one first in the queue; then as many as it cannot hold.
        let mut came: Vec<Passing> = (0..200).flat_map(|i| [(i * 5_000, false), (i * 5_000, true)]).collect();
        came.extend((0..2_000).map(|i| (1_000_000 + i * 700, i % 3 == 0)));
        let order: Vec<Passing> = came.chunks(2).flat_map(|two| [two[1], two[0]]).take(400).collect();
        let order = [order, came[400..].to_vec()].concat();
        let left: Vec<Passing> = served(&order, 20, false).iter().map(|(d, at)| (*d, order[*at].1)).collect();
        assert!(matches!(one_queue(&came, &left, 0), OneQueue::Open | OneQueue::Explains(..)));
        assert_ne!(one_queue(&came[400..], &left[400..], 0), OneQueue::Refuted);
    }

    #[test]
    fn queues_of_their_own_refute_it() {
        let came = both();
        let left: Vec<Passing> = served(&came, 40, true).iter().map(|(d, at)| (*d, came[*at].1)).collect();
        assert!(left.len() < came.len());
        assert_eq!(one_queue(&came, &left, 0), OneQueue::Refuted);
        assert_eq!(one_queue(&came[..500], &left[..400], 0), OneQueue::Untold, "one way alone");
    }
}
