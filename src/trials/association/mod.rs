//! Which frame of one tap became which of another, direction by direction.

mod at_device;
mod back;
mod beside;
mod both_ways;
mod clocks;
mod copies;
pub(crate) mod lengths;
mod order;
mod pair;
mod queue;
pub(crate) mod row;
pub(crate) mod stepped;
mod undrained;

pub(crate) use back::from_last;
pub(crate) use beside::packets_beside;
pub(crate) use both_ways::both_ways;
pub(crate) use clocks::{ClockFigures, Clocks, vote};
pub(crate) use copies::shown_once;
pub(crate) use pair::{Span, TapTimes, pair};
pub(crate) use queue::{at_pauses, joined};
pub(crate) use row::{FrameRow, MISSING};
pub(crate) use undrained::drained;
