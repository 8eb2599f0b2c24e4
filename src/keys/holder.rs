//! Who states a key, and for which ends.

use std::sync::Arc;

use serde::Serialize;

use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::{Cite, Numbering, Way};

/// Who states a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Number of the router among those of the policies.
    pub router: usize,
    /// Its name.
    pub name: Arc<str>,
    /// The line that names the SPI, keys removed.
    pub cite: Option<Cite>,
    /// The ends it states.
    pub ends: Ends,
    /// Which way the SA goes, seen from the router.
    pub way: Option<Way>,
    /// Whether sequence numbers are extended, as far as it says.
    pub numbering: Numbering,
    /// Whether it is a list, which receives no packets.
    pub listed: bool,
}

impl Holder {
    /// Whether another one says the same of the SA, in whatever line.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        (self.router, self.ends, self.way, self.numbering) == (other.router, other.ends, other.way, other.numbering)
    }
}

/// The ends of an SA, as far as they are stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Ends {
    /// Where from.
    pub src: Option<Address>,
    /// Where to.
    pub dst: Option<Address>,
}

impl Ends {
    /// Whether these may be the ends of an SA of the wire.
    #[must_use]
    pub fn fit(&self, sa: &SaKey) -> bool {
        self.src.is_none_or(|src| src == sa.src) && self.dst.is_none_or(|dst| dst == sa.dst)
    }

    /// Whether both are stated and are those of an SA of the wire.
    #[must_use]
    pub fn are(&self, sa: &SaKey) -> bool {
        self.src == Some(sa.src) && self.dst == Some(sa.dst)
    }

    /// Whether both are stated and are the ends of an SA of the wire the other way round.
    #[must_use]
    pub fn are_reversed(&self, sa: &SaKey) -> bool {
        self.src == Some(sa.dst) && self.dst == Some(sa.src)
    }

    /// Whether what is stated of them is nothing but the ends of an SA of the wire, either way.
    pub(super) fn are_among(&self, sa: &SaKey) -> bool {
        let mut stated = [self.src, self.dst].into_iter().flatten().peekable();
        stated.peek().is_some() && stated.all(|end| end == sa.src || end == sa.dst)
    }

    /// Whether the addresses of an SA of the wire may be what becomes of these: both are stated, of one version, and it is not the other
    /// direction.
    pub(super) fn may_be_translated_to(&self, sa: &SaKey) -> bool {
        let (Some(src), Some(dst)) = (self.src, self.dst) else { return false };
        let turned = src == sa.dst || dst == sa.src;
        src.is_v4() == sa.src.is_v4() && !turned
    }
}

/// A key that cannot be used: the ICV is not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable {
    /// The protocol of its SA.
    pub protocol: Protocol,
    /// The SPI of its SA.
    pub spi: Spi,
    /// Source of the SA, where known.
    pub src: Option<Address>,
    /// Destination of the SA, where known.
    pub dst: Option<Address>,
    /// Who states it.
    pub holder: Holder,
    /// Why, a clause without a full stop; it says lengths, nothing of the key.
    pub why: String,
}
