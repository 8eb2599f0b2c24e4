//! What an alignment knows of the time before its first packet.

use crate::matching::order::delay::Delay;

/// What is known of the time before the first tunnelled packet.
#[derive(Clone, Copy)]
pub(in crate::matching) struct BeforeFirst {
    /// The plain packet around which the first tunnelled one is looked for.
    pub(super) lag: isize,
    /// What each plain packet in front of the first pair costs, unless it costs less than that anywhere.
    pub(super) lead: f32,
    /// The usual difference of the timestamps, which that of the first pair is compared with.
    pub(super) usual: Option<f64>,
}

impl BeforeFirst {
    /// Nothing: it is not known what of the plain side is in the tunnel.
    pub(in crate::matching) const fn unknown(lag: isize) -> Self {
        Self { lag, lead: 0.1, usual: None }
    }

    /// Pairs came before, whose differences are these.
    pub(in crate::matching) const fn usual(delay: Delay) -> Self {
        Self { lag: 0, lead: f32::MAX, usual: delay.base }
    }
}
