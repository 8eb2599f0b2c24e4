//! Room for packets that wait, and whether it counts packets or octets.

use std::collections::{BTreeMap, BTreeSet};

use super::throughput::{queue_unclear, same_way};
use crate::model::trials::{Buffer, BufferOfSize, Figure, OpenFigure, Reason, State, Throughput, Trial, Unit};

/// Sizes this far apart tell packets from octets.
const APART: f64 = 2.0;
/// What agrees to this is one figure.
const AGREE: f64 = 1.15;

/// A row for each direction.
pub(crate) fn buffers(table: &[Throughput], trials: &[Trial]) -> Vec<Buffer> {
    let keys: BTreeSet<_> = table.iter().map(|t| (t.direction, t.ways)).collect();
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_by_key(|(direction, ways)| (direction.name(), ways.name()));
    keys.into_iter()
        .map(|(direction, ways)| {
            let mine: Vec<&Trial> = trials.iter().filter(|t| same_way(t, (direction, ways))).collect();
            // Of each size: the greatest room, and the mean lengths.
            let mut by: BTreeMap<&str, (f64, f64, u64)> = BTreeMap::new();
            for trial in &mine {
                let (Some(frames), Some(bytes)) = (trial.buffer_frames, trial.inner_bytes) else { continue };
                let own = by.entry(&trial.size_class).or_insert((0.0, 0.0, 0));
                *own = (own.0.max(frames), own.1 + bytes, own.2 + 1);
            }
            let by_size: Vec<BufferOfSize> = by
                .iter()
                .map(|(class, (frames, bytes, n))| BufferOfSize {
                    size_class: (*class).to_owned(),
                    frames: *frames,
                    octets: frames * bytes / *n as f64,
                })
                .collect();
            let waited = mine.iter().filter(|t| t.state == State::Overloaded).filter_map(|t| t.waited_frames);
            let unit = unit(&by_size);
            let mut undetermined = Vec::new();
            if unit == Unit::Undetermined {
                let reason = match by_size.as_slice() {
                    [] => mine.iter().find_map(|trial| queue_unclear(trial)).unwrap_or(Reason::NotOverloaded),
                    sizes if spread(sizes.iter().map(|s| s.octets / s.frames)) < APART => Reason::SizesTooClose,
                    _ => Reason::NeitherAgrees,
                };
                undetermined.push(OpenFigure { figure: Figure::Unit, reason });
            }
            let frames_at_least = if by_size.is_empty() { waited.max_by(f64::total_cmp) } else { None };
            Buffer { direction, ways, unit, frames_at_least, by_size, undetermined }
        })
        .collect()
}

fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(0.0, f64::max);
    let least = values.fold(f64::INFINITY, f64::min);
    most / least
}

fn unit(sizes: &[BufferOfSize]) -> Unit {
    if sizes.is_empty() || spread(sizes.iter().map(|s| s.octets / s.frames)) < APART {
        Unit::Undetermined
    } else if spread(sizes.iter().map(|s| s.frames)) <= AGREE {
        Unit::Frames
    } else if spread(sizes.iter().map(|s| s.octets)) <= AGREE {
        Unit::Octets
    } else {
        Unit::Undetermined
    }
}
