//! The frames that show what findings say of a trial: its first one, and those that were lost, where it is known which.

use super::association::{FrameRow, MISSING};
use super::finish::Found;
use super::read::{Place, Taps};
use crate::analysis::limits::FIRST_LISTED;
use crate::model::trials::{Basis, Direction, Trial};
use crate::model::{FramePos, Timestamp};

/// A frame and its time.
pub(crate) type FrameAt = (FramePos, Timestamp);

/// The frames of a trial at the tap where its packets come in.
#[derive(Clone, Debug)]
pub(crate) struct ShownTrial {
    /// Number and direction of the trial.
    pub(crate) trial: u64,
    pub(crate) direction: Direction,
    pub(crate) place: Place,
    /// The first packet; `None` where one record counts several packets.
    pub(crate) begin: Option<FrameAt>,
    /// The first ones of those that were lost, and the last; none where it is not known which were, or not of all.
    pub(crate) lost: Vec<FrameAt>,
}

impl ShownTrial {
    /// What is known of the frames of a trial that was measured.
    pub(super) fn of(taps: &Taps, row: &FrameRow, found: &Found, trial: &Trial) -> Option<Self> {
        let place = row.first()?;
        let mut own = Self {
            trial: trial.trial,
            direction: trial.direction,
            place,
            begin: frame(taps, row, found.stretch.from),
            lost: Vec::new(),
        };
        let known = found.basis == Basis::Content && row.thin.is_none();
        let unclear = row.last().and_then(|last| row.unclear(last, (found.stretch.from, found.stretch.to)));
        if known && unclear.is_none() {
            let is_lost = |at: &usize| row.out.get(*at) == Some(&MISSING);
            let lost: Vec<usize> = (found.stretch.from..found.stretch.to).filter(is_lost).collect();
            if lost.len() as u64 == trial.lost {
                let last = lost.last().filter(|_| lost.len() > FIRST_LISTED);
                let listed = lost.iter().take(FIRST_LISTED).chain(last);
                own.lost = listed.filter_map(|at| frame(taps, row, *at)).collect();
            }
        }
        Some(own)
    }
}

/// The frame of a packet where it came in; `None` where one record counts several packets.
fn frame(taps: &Taps, row: &FrameRow, at: usize) -> Option<FrameAt> {
    let tap = taps.place(row.first()?);
    let record = *row.spots.get(at)? as usize;
    let (t, pos, share) = if row.is_from_tunnel() {
        tap.tunnelled.records.get(record).map(|own| (own.t, own.pos, own.share))?
    } else {
        tap.plain.records.get(record).map(|own| (own.t, own.pos, own.share))?
    };
    (share.frames == 1).then(|| (pos, Timestamp::from_ns(tap.raw(t))))
}
