//! What the pairs add up to: sizes, latency, clocks, losses.

pub(super) mod checks;
pub(super) mod clock;
pub(super) mod doubt;
mod forwarding;
pub(super) mod known;
pub(super) mod losses;
pub(super) mod quantiles;
pub(super) mod silence;
pub(super) mod sizes;
pub(super) mod tally;
pub(super) mod watch;
