//! Back-to-back frames (RFC 2544 section 26.4) and the buffer they show (RFC 9004 section 5.4).

use std::collections::BTreeSet;

use crate::model::trials::{BackToBack, Figure, Kind, OpenFigure, Reason, State, Trial};
use crate::trials::figures::fit::median;
use crate::trials::limits::{FEWEST, WAYS};

/// A row for each direction, size and rate of the bursts.
pub(crate) fn back_to_back(trials: &[Trial]) -> Vec<BackToBack> {
    let bursts: Vec<&Trial> = trials.iter().filter(|t| t.kind == Kind::Burst).collect();
    let keys: BTreeSet<_> = bursts.iter().map(|t| (t.direction, t.size_class.as_str())).collect();
    keys.into_iter()
        .flat_map(|(direction, class)| {
            let mine =
                bursts.iter().copied().filter(|t| (t.direction, t.size_class.as_str()) == (direction, class)).collect();
            of_one_rate(mine).into_iter().map(move |mine| ((direction, class), mine))
        })
        .map(|((direction, class), mine)| {
            let clean = mine.iter().filter(|t| t.lost == 0).map(|t| t.sent).max();
            let lossy =
                mine.iter().filter(|t| t.lost > 0 && clean.is_none_or(|clean| t.sent > clean)).map(|t| t.sent).min();
            let fps = median(mine.iter().filter_map(|t| t.offered_fps));
            let service = trials.iter().filter(|t| {
                t.kind == Kind::Trial
                    && t.state == State::Overloaded
                    && (t.direction, t.size_class.as_str()) == (direction, class)
            });
            // A burst of which packets waited and were lost is forwarded at that rate, too; a policer lets none wait.
            let full = mine
                .iter()
                .filter(|t| t.state == State::Overloaded && t.lost > 0 && t.received >= FEWEST as u64)
                .filter_map(|t| t.forwarded_fps);
            let service = median(service.filter_map(|t| t.forwarded_fps)).or_else(|| median(full));
            let room = clean.zip(service).zip(fps).map(|((clean, service), fps)| clean as f64 * (1.0 - service / fps));
            // A burst that the device keeps up with fills no queue.
            let (room, keeps_up) = (room.filter(|room| *room > 0.0), room.is_some_and(|room| room <= 0.0));
            let mut undetermined = Vec::new();
            let mut because = |figure, reason| undetermined.push(OpenFigure { figure, reason });
            if clean.is_none() {
                because(Figure::Lossless, Reason::NoLosslessBurst);
            }
            if lossy.is_none() {
                because(Figure::Lossy, Reason::NoLossyBurst);
            }
            if room.is_none() {
                let reason = match clean {
                    None => Reason::NoLosslessBurst,
                    Some(_) if keeps_up => Reason::NotOverloaded,
                    Some(_) => Reason::NoOverload,
                };
                because(Figure::Buffer, reason);
            }
            BackToBack {
                direction,
                size_class: class.to_owned(),
                burst_fps: fps,
                bursts: mine.len() as u64,
                longest_lossless_frames: clean,
                shortest_lossy_frames: lossy,
                buffer_frames: room,
                undetermined,
            }
        })
        .collect()
}

/// Bursts of one rate each: how many packets a queue takes depends on how fast they come. Those too short for a rate are apart.
fn of_one_rate(mut bursts: Vec<&Trial>) -> Vec<Vec<&Trial>> {
    let fps = |burst: &Trial| burst.offered_fps.unwrap_or(0.0);
    bursts.sort_by(|one, other| fps(one).total_cmp(&fps(other)));
    let mut rates: Vec<Vec<&Trial>> = Vec::new();
    for burst in bursts {
        // Each against the slowest of its row: of rates in small steps, neighbours are alike and the ends are not.
        let is_same =
            |own: &&mut Vec<&Trial>| own.first().is_some_and(|slowest| fps(burst) <= (1.0 + WAYS) * fps(slowest));
        match rates.last_mut().filter(is_same) {
            Some(own) => own.push(burst),
            None => rates.push(vec![burst]),
        }
    }
    rates
}
