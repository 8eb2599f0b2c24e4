//! Pairs by lengths, order and times.

pub(super) mod align;
pub(super) mod beginning;
pub(super) mod delay;
pub(super) mod evidence;
pub(super) mod lane;
pub(super) mod lengths;
pub(super) mod pairs;
pub(super) mod settle;
pub(super) mod shifts;
