use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::analysis::limits::{FIRST_STEPS, MAX_INTERVALS};

pub(super) fn state(frames: &[(u32, i64)]) -> SequenceState {
    let mut state = SequenceState::default();
    for (at, &(seq, ms)) in frames.iter().enumerate() {
        state.observe(seq, FramePos::new(0, at as u64 + 1), Timestamp::from_ns(ms * 1_000_000));
    }
    state
}

pub(super) fn numbers(seqs: &[u32]) -> SequenceFigures {
    let frames: Vec<_> = seqs.iter().enumerate().map(|(at, &s)| (s, at as i64)).collect();
    state(&frames).finish(0).unwrap()
}

#[test]
fn counts_losses_gaps_duplicates_and_lateness() {
    let f = numbers(&[1, 2, 5, 4, 4, 9, 10]);
    assert_eq!((f.lost, f.gaps, f.longest_gap), (4, 2, 3));
    assert_eq!((f.duplicate, f.late), (1, 1));
    assert_eq!((f.first, f.last, f.highest), (1, 10, 10));
    assert_eq!(f.would_drop[0], 1);
}

/// What an SA had sent before its first frame here passed by unseen; it is only told as lost where most of it came late.
#[test]
fn numbers_before_the_first_one_are_not_lost() {
    let late = |number: u32| (3_000..4_000).chain([number]).chain(4_000..5_000).collect::<Vec<u32>>();
    for number in [2_950, 2_000, 1] {
        let figures = numbers(&late(number));
        assert_eq!((figures.lost, figures.gaps, figures.late), (0, 0, 1), "{number}");
    }
    let figures = numbers(&[4, 1, 3, 5, 6]);
    assert_eq!((figures.lost, figures.gaps, figures.late), (1, 1, 2));
}

/// What is folded into counters counts as it did before.
#[test]
fn gaps_that_are_folded_are_counted_exactly() {
    let groups = MAX_INTERVALS as u32 + 20_000;
    let sent = (0..groups).flat_map(|group| [20 * group + 1, 20 * group + 2]);
    let mut state = SequenceState::default();
    for (at, number) in (1..).zip(sent) {
        state.observe(number, FramePos::new(0, at), Timestamp::from_ns(at as i64 * 1_000));
    }
    assert!(state.runs.iter().any(|run| run.folded.get().below.is_some()), "something was folded");
    let figures = state.finish(0).unwrap();
    let gaps = u64::from(groups) - 1;
    assert_eq!((figures.gaps, figures.longest_gap, figures.lost), (gaps, 18, 18 * gaps));
    assert_eq!((figures.duplicate, figures.late), (0, 0));
}

/// Groups of two numbers with eighteen missing between them, from the group `from` on.
fn groups(from: u32, count: u32, first: &mut u64) -> SequenceState {
    let mut state = SequenceState::default();
    for number in (from..from + count).flat_map(|group| [20 * group + 1, 20 * group + 2]) {
        state.observe(number, FramePos::new(0, *first), Timestamp::from_ns(*first as i64 * 1_000));
        *first += 1;
    }
    state
}

/// Two states that have both folded their beginnings; only one of them; and a number between them that fills up what was folded.
#[test]
fn merged_states_count_folded_gaps_exactly() {
    let many = MAX_INTERVALS as u32 + 20_000;
    let folded = |state: &SequenceState| state.runs.iter().any(|run| run.folded.get().below.is_some());
    for (first, second) in [(many, many), (many, 3), (3, many), (40_000, 40_000)] {
        let mut at = 1;
        let mut own = groups(0, first, &mut at);
        let later = groups(first, second, &mut at);
        assert_eq!((folded(&own), folded(&later)), (first == many, second == many));
        own.merge(later, Shift::default());
        assert!(folded(&own), "{first} {second}");
        let figures = own.finish(0).unwrap();
        let gaps = u64::from(first + second) - 1;
        assert_eq!((figures.gaps, figures.longest_gap, figures.lost), (gaps, 18, 18 * gaps), "{first} {second}");
        assert_eq!((figures.duplicate, figures.late, figures.highest), (0, 0, u64::from(20 * (first + second) - 18)));
    }
}

/// A late number that touches what was folded makes no gap of its own.
#[test]
fn a_late_number_at_the_edge_of_what_was_folded_makes_no_gap() {
    let many = MAX_INTERVALS as u32 + 20_000;
    let mut at = 1;
    let mut state = groups(0, many, &mut at);
    let edge = state.runs.iter().find_map(|run| run.folded.get().below).expect("something was folded");
    state.observe(u32::try_from(edge).unwrap(), FramePos::new(0, at), Timestamp::from_ns(at as i64 * 1_000));
    at += 1;
    // More behind it, so that it is folded, too.
    state.merge(groups(many, many, &mut at), Shift::default());
    let below = state.runs.iter().filter_map(|run| run.folded.get().below).max().expect("more was folded");
    let figures = state.finish(0).unwrap();
    assert!(below > edge + 1);
    // The way back from it is a step of more than 2^20: the numbers skipped there are a jump's, not lost.
    let gaps = u64::from(2 * many) - 2;
    assert_eq!((figures.gaps, figures.lost, figures.late), (gaps, 18 * gaps - 1, 1));
}

#[test]
fn a_wrap_is_not_a_loss() {
    let f = numbers(&[0xffff_fffe, 0xffff_ffff, 0, 1]);
    assert_eq!((f.lost, f.wraps, f.restarts().len()), (0, 1, 0));
    assert_eq!(f.highest, 0x1_0000_0001);
}

#[test]
fn a_step_back_after_silence_is_a_restart_and_without_it_a_replay() {
    let mut frames: Vec<(u32, i64)> = (1..=200).map(|s| (s, i64::from(s))).collect();
    frames.extend((1..=260).map(|s| (s, 13_500 + i64::from(s))));
    let f = state(&frames).finish(0).unwrap();
    assert_eq!((f.lost, f.duplicate, f.restarts().len(), f.highest), (0, 0, 1, 260));
    let mut frames: Vec<(u32, i64)> = (1..=200).map(|s| (s, i64::from(s))).collect();
    frames.extend((6..=45).map(|s| (s, 500 + i64::from(s))));
    let f = state(&frames).finish(0).unwrap();
    assert_eq!((f.lost, f.duplicate, f.restarts().len()), (0, 40, 0));
}

#[test]
fn one_far_number_is_an_outlier_that_loses_nothing() {
    let f = numbers(&[1, 2, 3, 0x8000_0000, 4, 5, 7]);
    assert_eq!((f.lost, f.outliers, f.restarts().len(), f.highest), (1, 1, 0, 7));
    // Nor are the copies of a TAP another count.
    let f = numbers(&[1, 1, 2, 2, 0x8000_0000, 0x8000_0000, 3, 3, 4, 4]);
    assert_eq!((f.lost, f.outliers, f.restarts().len(), f.jumps().len(), f.duplicate), (0, 1, 0, 0, 5));
}

/// A number that a damaged header shows may be near enough for loss: what counts is that the numbers go on without it.
#[test]
fn one_number_ahead_of_all_others_is_an_outlier() {
    for ahead in [5_000_u32, 70_000, 1 << 20, 1 << 22, 1 << 25] {
        let mut seqs: Vec<u32> = (1..=300).chain([300 + ahead]).chain(302..=600).collect();
        let f = numbers(&seqs);
        assert_eq!((f.lost, f.outliers, f.restarts().len(), f.jumps().len()), (1, 1, 0, 0), "{ahead}");
        assert_eq!((f.duplicate, f.late, f.highest, f.last), (0, 0, 600, 600), "{ahead}");
        assert_eq!(f.outlier_edges().iter().map(|edge| edge.raw).collect::<Vec<_>>(), [300 + ahead]);
        // The packets behind it may have changed places, and a TAP may copy all of them.
        seqs.swap(301, 302);
        assert_eq!((numbers(&seqs).lost, numbers(&seqs).outliers, numbers(&seqs).late), (1, 1, 1), "{ahead}");
        let f = numbers(&(1..=300).chain([300 + ahead]).chain(302..=600).flat_map(|n| [n, n]).collect::<Vec<_>>());
        assert_eq!((f.lost, f.outliers, f.restarts().len(), f.duplicate), (1, 1, 0, 600), "{ahead}");
    }
    // Two of them one after the other are a count of their own.
    let f = numbers(&(1..=300).chain([70_300, 70_301]).chain(301..=600).collect::<Vec<_>>());
    assert_eq!((f.outliers, f.restarts().len()), (0, 1));
}

/// A TAP's copy of the last packet before a jump comes after the first packet behind it.
#[test]
fn a_copy_from_before_a_jump_is_not_late() {
    let far = 1 << 21;
    let mut seqs: Vec<u32> = (1..100).flat_map(|n| [n, n]).collect();
    let last = seqs.len() - 1;
    seqs.insert(last, far);
    seqs.extend([far, far + 1, far + 1, far + 2, far + 2]);
    let f = numbers(&seqs);
    assert_eq!((f.late, f.lost, f.duplicate, f.outliers), (0, 0, 102, 0));
    assert_eq!((f.jumps().len(), f.restarts().len()), (1, 0));
}

/// Every second number comes one frame late: as many late numbers as there are pairs, however long the capture is.
#[test]
fn late_numbers_without_end_are_counted_and_not_kept() {
    let pairs = 3 * MAX_INTERVALS as u32;
    let observe = |pairs: std::ops::Range<u32>| {
        let mut state = SequenceState::default();
        for (at, raw) in (1..).zip(pairs.flat_map(|pair| [2 * pair + 2, 2 * pair + 1])) {
            state.observe(raw, FramePos::new(0, at), Timestamp::from_ns(i64::from(raw) * 1_000));
        }
        state
    };
    let whole = observe(0..pairs);
    let kept = whole.runs[0].late.as_ref().unwrap()[0].intervals();
    assert!(kept <= MAX_INTERVALS + 1, "{kept}");
    let mut merged = observe(0..pairs / 2);
    merged.merge(observe(pairs / 2..pairs), Shift { captures: 0, frames: u64::from(pairs) });
    for figures in [whole.finish(0).unwrap(), merged.finish(0).unwrap()] {
        assert_eq!((figures.late, figures.lost, figures.duplicate), (u64::from(pairs), 0, 0));
        assert_eq!(figures.would_drop, [0; WINDOWS.len()]);
    }
}

proptest! {
    #[test]
    fn merging_any_split_equals_the_whole(
        steps in prop::collection::vec((prop_oneof![8 => Just(1i64), 2 => -20i64..40, 1 => -5000i64..5000, 1 => any::<i32>().prop_map(i64::from)], prop_oneof![20 => 0i64..50, 1 => 9_000i64..12_000]), 1..120),
        start in prop_oneof![Just(1u32), Just(0xffff_fff0), any::<u32>()],
        cuts in prop::collection::vec(0usize..121, 0..4),
    ) {
        let (mut seq, mut ms) = (start, 0);
        let frames: Vec<(u32, i64)> = steps.iter().map(|&(step, wait)| {
            seq = seq.wrapping_add(step as u32);
            ms += wait;
            (seq, ms)
        }).collect();
        let whole = state(&frames);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(frames.len())).chain([0, frames.len()]).collect();
        cuts.sort_unstable();
        let mut merged = SequenceState::default();
        for pair in cuts.windows(2) {
            merged.merge(state(&frames[pair[0]..pair[1]]), Shift { captures: 0, frames: pair[0] as u64 });
        }
        prop_assert_eq!(&merged, &whole);
        prop_assert_eq!(merged.finish(0), whole.finish(0));
    }

    #[test]
    fn the_history_has_all_that_the_figures_count(
        steps in prop::collection::vec((prop_oneof![8 => Just(1i64), 3 => -20i64..40, 1 => -6000i64..5000, 1 => any::<i32>().prop_map(i64::from)], prop_oneof![20 => 0i64..50, 1 => 9_000i64..12_000]), 1..160),
        start in prop_oneof![Just(1u32), Just(0xffff_fff0), any::<u32>()],
    ) {
        let (mut seq, mut ms) = (start, 0);
        let frames: Vec<(u32, i64)> = steps.iter().map(|&(step, wait)| {
            seq = seq.wrapping_add(step as u32);
            ms += wait;
            (seq, ms)
        }).collect();
        let state = state(&frames);
        let (figures, history) = (state.finish(0).unwrap(), state.history(0));
        prop_assert!(history.is_whole && history.is_whole_again);
        let holes = || history.gaps.iter().flat_map(|gap| gap.missing.iter().flatten());
        prop_assert_eq!(holes().map(|(from, to)| from.abs_diff(*to)).sum::<u64>(), figures.lost);
        prop_assert_eq!(holes().map(|(from, to)| from.abs_diff(*to)).max().unwrap_or(0), figures.longest_gap);
        prop_assert_eq!(holes().count() as u64, figures.gaps);
        prop_assert_eq!(history.late.iter().map(|behind| behind.count).sum::<u64>(), figures.late);
        prop_assert_eq!(history.again.iter().map(|behind| behind.count).sum::<u64>(), figures.duplicate);
        for gap in &history.gaps {
            let number = |mark: super::steps::Sighting| frames[mark.pos.number() as usize - 1].0;
            prop_assert_eq!(number(gap.before).wrapping_add(1), gap.numbers.0 as u32);
            prop_assert_eq!(number(gap.after), (gap.numbers.1 as u32).wrapping_add(1));
        }
    }

    #[test]
    fn windows_drop_what_an_rfc_4303_receiver_would(
        steps in prop::collection::vec(prop_oneof![6 => Just(1i64), 3 => -100i64..120, 1 => -3000i64..3000], 1..300),
    ) {
        let mut n = 10_000i64;
        let seqs: Vec<u32> = steps.iter().map(|s| { n = (n + s).max(1); n as u32 }).collect();
        let figures = numbers(&seqs);
        for (at, window) in WINDOWS.iter().enumerate() {
            let (mut max, mut got, mut dropped) = (0i64, BTreeSet::new(), 0u64);
            for &s in &seqs {
                let s = i64::from(s);
                if s <= max - i64::from(*window) || !got.insert(s) {
                    dropped += 1;
                    got.insert(s);
                }
                max = max.max(s);
            }
            prop_assert_eq!(figures.would_drop[at], dropped, "window {}", window);
        }
    }
}

/// Gaps, late numbers and repeated ones of one SA: `count` numbers.
fn ragged(seed: u64, count: u32) -> Vec<(u32, i64)> {
    let mut word = seed;
    (0..count)
        .flat_map(|n| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = 10 + 3 * n;
            match word >> 60 {
                0 => vec![number],
                1 => vec![number + 1, number],
                _ => vec![number, number + 1],
            }
        })
        .enumerate()
        .map(|(at, number)| (number, at as i64))
        .collect()
}

/// What is kept of each run is a matter of memory: the figures are the same, however the states are grouped. Only a number that comes
/// late across a border is not known to be late where the later state has summed its beginning.
#[test]
fn the_newest_intervals_and_counters_give_the_figures_of_all() {
    for seed in 1..30 {
        let frames = ragged(seed, 200);
        let whole = state(&frames).finish(0).unwrap();
        for kept in [1, 7, 64, 500] {
            let mut cuts = [0, 90 + seed as usize, 211, frames.len()];
            cuts.sort_unstable();
            let folded = |pair: &[usize]| {
                let mut part = state(&frames[pair[0]..pair[1]]);
                part.keep_newest(kept);
                part
            };
            let parts: Vec<SequenceState> = cuts.windows(2).map(folded).collect();
            let shift = |at: usize| Shift { captures: 0, frames: cuts[at] as u64 };
            let [a, b, c] = <[SequenceState; 3]>::try_from(parts).unwrap();
            let mut left = a.clone();
            left.merge(b.clone(), shift(1));
            left.keep_newest(kept);
            left.merge(c.clone(), shift(2));
            let mut right = b;
            right.merge(c, Shift { captures: 0, frames: (cuts[2] - cuts[1]) as u64 });
            right.keep_newest(kept);
            let mut grouped = a;
            grouped.merge(right, shift(1));
            for mut merged in [left, grouped] {
                merged.keep_newest(kept);
                assert!(merged.intervals() <= 9 * kept);
                let figures = merged.finish(0).unwrap();
                let summed =
                    |f: &SequenceFigures| (f.lost, f.gaps, f.longest_gap, f.duplicate, f.highest, f.first, f.last);
                if merged.beyond_horizon() == 0 {
                    assert_eq!(summed(&figures), summed(&whole), "seed {seed}, {kept}");
                    let borders = 2;
                    assert!((whole.late - borders..=whole.late).contains(&figures.late), "seed {seed}, {kept}");
                } else {
                    assert!(figures.degraded().is_some() && kept < 7, "seed {seed}, {kept}");
                }
            }
        }
    }
}

/// A number that arrives where a state has only counters is counted as that, also where it comes with a later state.
#[test]
fn numbers_behind_what_is_kept_are_beyond_the_horizon_of_a_merged_state_too() {
    let frames: Vec<(u32, i64)> =
        (0..100).map(|n| (1_000 + 2 * n, i64::from(n))).chain([(1_001, 100), (1_200, 101)]).collect();
    let mut own = state(&frames[..100]);
    own.keep_newest(4);
    own.merge(state(&frames[100..]), Shift { captures: 0, frames: 100 });
    assert_eq!(own.beyond_horizon(), 1);
    let figures = own.finish(0).unwrap();
    assert_eq!((figures.lost, figures.gaps, figures.duplicate), (100, 100, 0));
    assert!(figures.degraded().is_some());
}

/// More steps than are listed, of pieces with and without shortened lists: the first and last ones are those of the whole.
#[test]
fn of_too_many_steps_the_first_and_the_last_are_listed_wherever_the_stream_is_cut() {
    let lossy: Vec<(u32, i64)> = (0..5_000).map(|n| (10 + 3 * n, i64::from(n))).collect();
    for frames in [lossy, ragged(7, 4_000)] {
        for level in [0, 2, 6, 12] {
            let mut whole = state(&frames);
            whole.truncate_lists(level);
            for cut in [1, 100, 300, 1_200, frames.len() - 20] {
                let mut merged = state(&frames[..cut]);
                let mut later = state(&frames[cut..]);
                later.truncate_lists(level.min(3));
                merged.truncate_lists(level.min(1));
                merged.merge(later, Shift { captures: 0, frames: cut as u64 });
                merged.truncate_lists(level);
                assert_eq!(merged, whole, "level {level}, cut at {cut}");
            }
            let history = whole.history(0);
            assert!(!history.is_whole);
        }
    }
    let whole = state(&(0..5_000).map(|n| (10 + 3 * n, i64::from(n))).collect::<Vec<_>>()).history(0);
    assert_eq!((whole.gaps.len(), whole.gaps[0].numbers), (FIRST_STEPS, (11, 12)));
    let last = whole.last_gap.expect("the last of them is listed too");
    assert_eq!((last.numbers, last.before.pos.number(), last.after.pos.number()), ((15_005, 15_006), 4_999, 5_000));
    assert_eq!(last.filled_late(), Some(0));
}

/// What is lost behind a restart does not hide it.
#[test]
fn a_restart_may_be_followed_by_loss() {
    for next in [65, 102, 1_500] {
        let f = numbers(&(100_000..100_500).chain([1]).chain(next..next + 300).collect::<Vec<_>>());
        assert_eq!((f.restarts().len(), f.late, f.lost), (1, 0, u64::from(next) - 2), "{next}");
    }
    // One old packet is none.
    let f = numbers(&(1..9_000).chain([2_000]).chain(9_000..9_500).collect::<Vec<_>>());
    assert_eq!((f.restarts().len(), f.duplicate, f.lost), (0, 1, 0));
}
