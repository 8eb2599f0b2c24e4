//! Which packets go into a tunnel.

use std::fmt;
use std::net::IpAddr;

use serde::Serialize;

use crate::model::Address;
use crate::policy::names;

/// A set of addresses: those that agree with one in all bits of a mask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Net {
    v4: bool,
    bits: u128,
    mask: u128,
}

impl Net {
    /// One address.
    #[must_use]
    pub fn host(address: Address) -> Self {
        Self::masked(address, u128::MAX)
    }

    /// The addresses that share the first `prefix` bits; `None` where there are not so many.
    #[must_use]
    pub fn prefix(address: Address, prefix: u32) -> Option<Self> {
        let width: u32 = if address.is_v4() { 32 } else { 128 };
        let free = width.checked_sub(prefix)?;
        Some(Self::masked(address, u128::MAX.checked_shl(free).unwrap_or(0)))
    }

    /// Every address of IPv4, or of IPv6.
    #[must_use]
    pub const fn any(v4: bool) -> Self {
        Self { v4, bits: 0, mask: 0 }
    }

    /// The addresses that agree with `address` where `mask` has ones (IPv4: its low 32 bits count).
    pub(in crate::policy) fn masked(address: Address, mask: u128) -> Self {
        let (bits, mask) = match address.to_ip() {
            IpAddr::V4(ip) => (u128::from(ip.to_bits()), mask & u128::from(u32::MAX)),
            IpAddr::V6(ip) => (ip.to_bits(), mask),
        };
        Self { v4: address.is_v4(), bits: bits & mask, mask }
    }

    /// The set of the same size that an address is in.
    #[must_use]
    pub fn beside(&self, address: Address) -> Self {
        Self::masked(address, self.mask)
    }

    /// The mask as an interface of IOS has it; IPv4 only.
    pub(in crate::policy) fn netmask(&self) -> Option<std::net::Ipv4Addr> {
        self.v4.then(|| std::net::Ipv4Addr::from_bits(self.mask as u32))
    }

    /// Whether the address is one of them.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        let bits = match address.to_ip() {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        self.v4 == address.is_v4() && bits & self.mask == self.bits
    }

    /// Whether all addresses of another set are among them.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.v4 == other.v4 && self.mask & other.mask == self.mask && other.bits & self.mask == self.bits
    }

    /// Whether its addresses are of IPv4.
    pub(in crate::policy) const fn is_v4(&self) -> bool {
        self.v4
    }

    /// Whether it is every address.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.mask == 0
    }

    /// Whether it is one address.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.mask == if self.v4 { u128::from(u32::MAX) } else { u128::MAX }
    }

    /// Whether it has room for the two ends of a link and no more.
    pub(in crate::policy) fn is_link(&self) -> bool {
        let width: u32 = if self.v4 { 32 } else { 128 };
        let free = width.saturating_sub(self.mask.count_ones());
        self.cidr().is_some() && (1..=2).contains(&free)
    }

    /// Whether a netmask stands where a wildcard belongs: the bits that are looked at are the last ones.
    #[must_use]
    pub const fn is_netmask_for_wildcard(&self) -> bool {
        let mask = self.mask as u32;
        self.v4
            && mask != 0
            && mask != u32::MAX
            && mask.leading_ones() == 0
            && mask.trailing_ones() == mask.count_ones()
    }

    /// The two halves of a network; `None` of one address, or where the mask has holes.
    fn halves(&self) -> Option<[Self; 2]> {
        let width: u32 = if self.v4 { 32 } else { 128 };
        let ones = self.mask.count_ones();
        let next = 1u128.checked_shl(width.checked_sub(ones)?.checked_sub(1)?)?;
        self.cidr()?;
        Some([self.bits, self.bits | next].map(|bits| Self { v4: self.v4, bits, mask: self.mask | next }))
    }

    /// Whether an address is one of both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.v4 == other.v4 && (self.bits ^ other.bits) & self.mask & other.mask == 0
    }
}

impl Net {
    fn first(&self) -> IpAddr {
        if self.v4 {
            std::net::Ipv4Addr::from_bits(self.bits as u32).into()
        } else {
            std::net::Ipv6Addr::from_bits(self.bits).into()
        }
    }

    /// The set as an access list of a router has it: `host A`, `any`, an address with a wildcard, or an IPv6 prefix.
    pub(in crate::policy) fn typed(&self) -> String {
        let host = if self.v4 { u128::from(u32::MAX) } else { u128::MAX };
        match self.mask {
            0 => "any".to_owned(),
            mask if mask == host => format!("host {}", self.first()),
            mask if self.v4 => format!("{} {}", self.first(), std::net::Ipv4Addr::from_bits(!(mask as u32))),
            mask => format!("{}/{}", self.first(), mask.leading_ones()),
        }
    }
}

impl Net {
    /// The set as an address with a prefix length; `None` for a wildcard with holes.
    pub(in crate::policy) fn cidr(&self) -> Option<String> {
        let leading = if self.v4 { (self.mask as u32).leading_ones() } else { self.mask.leading_ones() };
        (leading == self.mask.count_ones()).then(|| format!("{}/{leading}", self.first()))
    }

    /// The address, if it is one.
    #[must_use]
    pub fn as_host(&self) -> Option<Address> {
        self.is_host().then(|| self.first().into())
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.v4 { u128::from(u32::MAX) } else { u128::MAX };
        let ones = self.mask.count_ones();
        let leading = if self.v4 { (self.mask as u32).leading_ones() } else { self.mask.leading_ones() };
        if self.mask == 0 {
            f.write_str("any")
        } else if self.mask == host {
            write!(f, "{}", self.first())
        } else if leading == ones {
            write!(f, "{}/{ones}", self.first())
        } else {
            // A wildcard with holes has no prefix length.
            f.write_str(&self.typed())
        }
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Packets of a protocol from somewhere to somewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Selector {
    /// The protocol's word or number; `ip` is any.
    pub protocol: String,
    /// Where from.
    pub src: Net,
    /// From which ports, as it was written; empty is any.
    pub src_port: String,
    /// Where to.
    pub dst: Net,
    /// To which ports.
    pub dst_port: String,
}

impl Selector {
    /// What the other router must select: source and destination exchanged.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self {
            protocol: self.protocol.clone(),
            src: self.dst,
            src_port: self.dst_port.clone(),
            dst: self.src,
            dst_port: self.src_port.clone(),
        }
    }

    /// The selector as a router takes it.
    pub(in crate::policy) fn typed(&self) -> String {
        let blank = |port: &str| if port.is_empty() { String::new() } else { format!(" {port}") };
        let Self { protocol, src, src_port, dst, dst_port } = self;
        let protocol = if protocol == "ip" && !src.v4 { "ipv6" } else { protocol };
        format!("{protocol} {}{} {}{}", src.typed(), blank(src_port), dst.typed(), blank(dst_port))
    }

    /// The protocol's number; `None` for a word that is not known. In IPv6, `icmp` is ICMPv6.
    pub(in crate::policy) fn protocol_number(&self) -> Option<u8> {
        match names::protocol(&self.protocol) {
            Some(1) if !self.src.v4 => Some(58),
            number => number,
        }
    }

    /// Whether every packet of another selector is selected.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.src.covers(&other.src)
            && self.dst.covers(&other.dst)
            && (self.protocol == "ip" || self.is_of_protocol(other))
            && covered(&self.src_port, &other.src_port)
            && covered(&self.dst_port, &other.dst_port)
    }

    /// Whether there may be packets that both select.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.src.overlaps(&other.src)
            && self.dst.overlaps(&other.dst)
            && (self.protocol == "ip" || other.protocol == "ip" || self.is_of_protocol(other))
            && shared(&self.src_port, &other.src_port)
            && shared(&self.dst_port, &other.dst_port)
    }

    /// Whether several selectors together take all packets of it: one of them, or each its part.
    pub(in crate::policy) fn is_covered_by(&self, others: &[Self]) -> bool {
        let near: Vec<Self> = others.iter().filter(|other| other.overlaps(self)).cloned().collect();
        if near.is_empty() || near.iter().any(|other| other.covers(self)) {
            return !near.is_empty();
        }
        // Each half is looked at only where something narrower is to be found.
        let narrower =
            |net: fn(&Self) -> &Net| near.iter().any(|other| net(self) != net(other) && net(self).covers(net(other)));
        if narrower(|one| &one.src)
            && let Some(halves) = self.src.halves()
        {
            return halves.into_iter().all(|src| Self { src, ..self.clone() }.is_covered_by(&near));
        }
        if narrower(|one| &one.dst)
            && let Some(halves) = self.dst.halves()
        {
            return halves.into_iter().all(|dst| Self { dst, ..self.clone() }.is_covered_by(&near));
        }
        false
    }

    fn is_of_protocol(&self, other: &Self) -> bool {
        self.protocol == other.protocol
            || self.protocol_number().is_some_and(|number| other.protocol_number() == Some(number))
    }

    /// Whether every packet between the two addresses is selected, whatever it carries.
    #[must_use]
    pub fn takes_all(&self, src: Address, dst: Address) -> bool {
        let all = self.protocol == "ip" && self.src_port.is_empty() && self.dst_port.is_empty();
        all && self.src.contains(src) && self.dst.contains(dst)
    }
}

/// Whether all ports that `theirs` selects are among those of `own`.
fn covered(own: &str, theirs: &str) -> bool {
    let within = |part: &(u16, u16), own: &[(u16, u16)]| own.iter().any(|(from, to)| *from <= part.0 && part.1 <= *to);
    own.is_empty()
        || own == theirs
        || !theirs.is_empty()
            && names::ports(own)
                .zip(names::ports(theirs))
                .is_some_and(|(own, theirs)| theirs.iter().all(|part| within(part, &own)))
}

/// Whether there may be ports that both select.
fn shared(own: &str, theirs: &str) -> bool {
    let (Some(one), Some(other)) = (names::ports(own), names::ports(theirs)) else { return true };
    let meets = |part: &(u16, u16)| other.iter().any(|(from, to)| part.0 <= *to && *from <= part.1);
    own.is_empty() || theirs.is_empty() || one.iter().any(meets)
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = |port: &str| if port.is_empty() { String::new() } else { format!(" {port}") };
        let Self { protocol, src, src_port, dst, dst_port } = self;
        write!(f, "{protocol} {src}{} > {dst}{}", ports(src_port), ports(dst_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse::<IpAddr>().map(Address::from).unwrap()
    }

    #[test]
    fn sets_of_addresses_contain_and_print() {
        let net = Net::prefix(address("192.168.2.9"), 24).unwrap();
        assert!(net.contains(address("192.168.2.2")) && !net.contains(address("192.168.3.2")));
        assert_eq!(net.to_string(), "192.168.2.0/24");
        assert_eq!(Net::prefix(address("fd00:2::1"), 64).unwrap().to_string(), "fd00:2::/64");
        assert_eq!(Net::host(address("10.0.0.1")).to_string(), "10.0.0.1");
        assert_eq!(Net::any(true).to_string(), "any");
        assert!(!Net::any(true).contains(address("fd00::1")));
        assert!(Net::prefix(address("10.0.0.1"), 33).is_none());
        assert_eq!(Net::prefix(address("10.0.0.1"), 0), Some(Net::any(true)));
        assert!(Net::prefix(address("::1"), 0).unwrap().contains(address("fd00::1")));
    }
}
