//! Mergeable accumulators over observations, and what follows from them.
//!
//! Fix the settings and one stream; order is capture order, not timestamp. Every accumulator obeys
//!
//! * *homomorphism*: for every split `s = a ++ b`, the state of `a` merged with the state of `b` is the state of `s`;
//! * *identity*: the empty state on either side changes nothing;
//! * *associativity*: any bracketing gives the same state. It is not commutative: the argument is the later span.
//!
//! So every figure is defined by a set, a sum, an absolute time bin, an adjacent pair or a bounded window, never by
//! "the state so far". States hold integers; ratios are computed in `finish`. Positions are relative to the span and
//! move when a span is appended. Nothing here reads files, clocks or the environment, starts threads or prints.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts stay below 2^56 in every state, read ones included (`sound`), so sums of all states that fit in memory stay \
              below 2^64; sequence numbers are 32 bits unwrapped and stay within 2^48 when they are read; differences of figures that \
              a state keeps apart, and products with them, saturate; times saturate; the rest is bytes of one frame"
)]

pub mod finish;
pub(crate) mod limits;
mod observe;
mod settings;
pub(crate) mod state;

pub use crate::analysis::state::base::likeness::Likeness;
pub use crate::analysis::state::base::span::CaptureSpan;
pub use crate::analysis::state::base::succession::{Border, Succession};
pub use crate::keys::Keyring;
pub use crate::keys::expectation::Expectation;
pub use limits::MEMORY_LIMIT;
pub use observe::observer::Observer;
pub use settings::Settings;
pub use state::stream::{MergeError, StreamState};
