//! An IP address in the form the hot path wants: two words, one comparison.

use serde::{Deserialize, Serialize};

use std::fmt;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::all_bits;

/// An IPv4 or IPv6 address.
///
/// IPv4 is held as its IPv4-mapped IPv6 form (RFC 4291 section 2.5.5.2), which never travels as a source or
/// destination on the wire, so the two families cannot collide. `Ord` sorts IPv4 before almost all IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Address {
    #[serde(serialize_with = "all_bits")]
    high: u64,
    #[serde(serialize_with = "all_bits")]
    low: u64,
}

const MAPPED: u64 = 0x0000_ffff_0000_0000;

impl Address {
    /// An IPv4 address from its four octets in wire order.
    #[inline]
    #[must_use]
    pub const fn v4(octets: [u8; 4]) -> Self {
        Self { high: 0, low: MAPPED | u32::from_be_bytes(octets) as u64 }
    }

    /// An IPv6 address from its sixteen octets in wire order.
    #[inline]
    #[must_use]
    pub const fn v6(octets: [u8; 16]) -> Self {
        let value = u128::from_be_bytes(octets);
        Self { high: (value >> 64) as u64, low: value as u64 }
    }

    /// Whether this is an IPv4 address.
    #[inline]
    #[must_use]
    pub const fn is_v4(self) -> bool {
        self.high == 0 && self.low >> 32 == 0xffff
    }

    /// The first address of the network of so many bits that this one is in; 32 bits at most for IPv4, 128 for IPv6.
    #[must_use]
    pub const fn network(self, bits: u8) -> Self {
        let bits = if self.is_v4() { bits as u32 + 96 } else { bits as u32 };
        let value = (self.high as u128) << 64 | self.low as u128;
        let mask = if bits >= 128 { u128::MAX } else { !(u128::MAX >> bits) };
        let value = value & mask;
        Self { high: (value >> 64) as u64, low: value as u64 }
    }

    /// Whether this is a link-local address of IPv6: fe80::/10 (RFC 4291 section 2.5.6).
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        self.high >> 54 == 0x3fa
    }

    /// Whether this is a group or broadcast address: 224.0.0.0/4, 255.255.255.255 or ff00::/8
    /// (RFC 1112 section 4, RFC 919 section 7, RFC 4291 section 2.7).
    #[inline]
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        if self.is_v4() {
            (self.low as u32) >> 28 == 0xe || self.low as u32 == u32::MAX
        } else {
            self.high >> 56 == 0xff
        }
    }

    /// Whether this is a group that routers forward packets to: 224.0.1.0 to 239.255.255.255 (RFC 5771 section 4 keeps 224.0.0.0/24 on the link), or
    /// a group of IPv6 whose scope is wider than the link (RFC 4291 section 2.7).
    #[must_use]
    pub const fn is_routed_group(self) -> bool {
        if self.is_v4() {
            (self.low as u32) >> 28 == 0xe && (self.low as u32) >> 8 != 0x00e0_0000
        } else {
            self.high >> 56 == 0xff && self.high >> 48 & 0xf > 2
        }
    }

    /// The two words of the address, high first: a cheap input for a hash.
    #[inline]
    #[must_use]
    pub const fn words(self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// The address as the standard library's type.
    #[must_use]
    pub const fn to_ip(self) -> IpAddr {
        if self.is_v4() {
            IpAddr::V4(Ipv4Addr::from_bits(self.low as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from_bits(((self.high as u128) << 64) | self.low as u128))
        }
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => Self::v4(ip.octets()),
            IpAddr::V6(ip) => Self::v6(ip.octets()),
        }
    }
}

impl FromStr for Address {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map(Self::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A report of many SAs has tens of thousands of addresses: four numbers are written faster than they are formatted.
        match self.to_ip() {
            IpAddr::V4(address) if f.width().is_none() && f.precision().is_none() => {
                let [a, b, c, d] = address.octets();
                let mut number = itoa::Buffer::new();
                f.write_str(number.format(a))?;
                for octet in [b, c, d] {
                    f.write_str(".")?;
                    f.write_str(number.format(octet))?;
                }
                Ok(())
            }
            address => fmt::Display::fmt(&address, f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart_and_print_as_usual() {
        let v4 = Address::v4([192, 168, 1, 2]);
        assert!(v4.is_v4());
        assert_eq!(v4.to_string(), "192.168.1.2");
        let v6: Address = "fd00:1::2".parse::<IpAddr>().map(Address::from).unwrap();
        assert!(!v6.is_v4());
        assert_eq!(v6.to_string(), "fd00:1::2");
    }

    #[test]
    fn groups_and_broadcast_are_multicast() {
        assert!(Address::v4([224, 0, 0, 5]).is_multicast());
        assert!(Address::v4([255; 4]).is_multicast());
        assert!(!Address::v4([192, 168, 1, 255]).is_multicast());
        assert!(Address::from("ff02::1".parse::<IpAddr>().unwrap()).is_multicast());
        assert!(!Address::from("fe80::1".parse::<IpAddr>().unwrap()).is_multicast());
        for (group, routed) in [
            ("224.0.0.5", false),
            ("224.0.1.1", true),
            ("239.1.2.3", true),
            ("255.255.255.255", false),
            ("192.0.2.1", false),
            ("ff02::1", false),
            ("ff15::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(Address::from(group.parse::<IpAddr>().unwrap()).is_routed_group(), routed, "{group}");
        }
    }
}
