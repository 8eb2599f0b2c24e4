//! Sequence numbers that an SA skipped, frame by frame.

use std::collections::HashMap;

use crate::trials::limits::JUMP;
use crate::trials::read::tap::Outer;

/// Numbers missing before a frame, counted at the frame before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Skip {
    /// Time of the frame before.
    pub(crate) after: i64,
    /// Numbers.
    pub(crate) missing: u64,
}

/// An SA on its way.
#[derive(Clone, Debug)]
struct Run {
    high: i64,
    last: i64,
    /// Skips that late packets may still fill: first number, behind the last, place in the list.
    open: Vec<(i64, i64, usize)>,
}

/// Skips of all SAs, in order of time; packets that came late are not missing.
pub(crate) fn skips<'o>(frames: impl Iterator<Item = (i64, &'o Outer)>) -> Vec<Skip> {
    let mut runs: HashMap<u16, Run> = HashMap::new();
    let mut found: Vec<Skip> = Vec::new();
    for (t, frame) in frames {
        let raw = i64::from(frame.sequence);
        let Some(run) = runs.get_mut(&frame.sa) else {
            runs.insert(frame.sa, Run { high: raw, last: t, open: Vec::new() });
            continue;
        };
        let step = i64::from(frame.sequence.wrapping_sub(run.high as u32) as i32);
        let number = run.high + step;
        if step > 1 && step <= JUMP {
            found.push(Skip { after: run.last, missing: (step - 1) as u64 });
            run.open.push((run.high + 1, number, found.len() - 1));
            if run.open.len() > 64 {
                run.open.remove(0);
            }
        }
        if !(-JUMP..=0).contains(&step) {
            run.high = number;
        } else if let Some((_, _, at)) = run.open.iter().find(|(from, to, _)| (*from..*to).contains(&number)) {
            if let Some(skip) = found.get_mut(*at) {
                skip.missing = skip.missing.saturating_sub(1);
            }
        } else if step < -4_096 {
            // The counter was reset.
            run.high = number;
            run.open.clear();
        }
        run.last = t;
    }
    found.sort_by_key(|skip| skip.after);
    found
}

/// Numbers missing between two times.
pub(crate) fn missing(skips: &[Skip], from: i64, to: i64) -> u64 {
    let at = skips.partition_point(|skip| skip.after < from);
    skips.get(at..).unwrap_or_default().iter().take_while(|skip| skip.after < to).map(|skip| skip.missing).sum()
}
