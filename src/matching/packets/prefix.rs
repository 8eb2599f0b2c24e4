//! Addresses by the shortest prefix that covers them.

use crate::model::Address;

/// Addresses by the shortest prefix that covers all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::matching) struct Prefix {
    address: Address,
    bits: u8,
}

impl Prefix {
    pub(in crate::matching) const fn of(address: Address) -> Self {
        Self { address, bits: 128 }
    }

    /// Whether this address is the only one.
    pub(in crate::matching) fn is(self, address: Address) -> bool {
        self.bits == 128 && self.address == address
    }

    pub(in crate::matching) fn cover(&mut self, address: Address) {
        let ((a, b), (c, d)) = (self.address.words(), address.words());
        let common = match (a ^ c).leading_zeros() {
            64 => 64 + (b ^ d).leading_zeros(),
            fewer => fewer,
        };
        self.bits = self.bits.min(common.min(128) as u8);
    }

    /// The network that hosts of one site share, at the least: 24 bits of IPv4, 64 of IPv6.
    pub(in crate::matching) fn site(self) -> Self {
        let most = if self.address.is_v4() { 96 + 24 } else { 64 };
        Self { bits: self.bits.min(most), ..self }
    }

    /// Whether an address is among those that begin so.
    pub(in crate::matching) fn covers(self, address: Address) -> bool {
        let mut both = self;
        both.cover(address);
        both == self
    }

    pub(in crate::matching) fn show(self) -> String {
        let bits = if self.address.is_v4() { self.bits.saturating_sub(96) } else { self.bits };
        let whole = if self.address.is_v4() { 32 } else { 128 };
        if bits >= whole { self.address.to_string() } else { format!("{}/{bits}", self.address.network(bits)) }
    }
}
