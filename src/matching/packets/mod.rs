//! The packets of all sides that are not settled yet, and what is taken from a frame.

pub(super) mod flows;
pub(super) mod ledger;
pub(super) mod links;
pub(super) mod mapping;
pub(super) mod numbers;
pub(super) mod prefix;
pub(super) mod progress;
pub(super) mod reach;
pub(super) mod retire;
pub(super) mod trains;
pub(super) mod tunnel;
