//! Which frame of one tap became which of another, direction by direction.

mod back;
mod busy;
pub(crate) mod clock;
mod clocks;
mod copies;
pub(crate) mod lengths;
mod order;
mod pair;
pub(crate) mod row;
pub(crate) mod stepped;
mod tail_drop;

pub(crate) use back::from_last;
pub(crate) use busy::joined;
pub(crate) use clocks::Clocks;
pub(crate) use pair::{Span, TapTimes, pair};
pub(crate) use row::{FrameRow, MISSING};
