//! Which frame of one tap became which of another, direction by direction.

pub(crate) mod clock;
mod clocks;
pub(crate) mod lengths;
mod pair;
pub(crate) mod row;
pub(crate) mod stepped;
mod tail_drop;

pub(crate) use clocks::Clocks;
pub(crate) use pair::{Span, pair};
pub(crate) use row::{FrameRow, MISSING};
