//! What fits into a link: the largest packet that needs no fragments, TCP's segment size, and fragments.

use super::layers::{IpVersion, Layers};

/// TCP header without options, in octets.
const TCP: u64 = 20;

/// The longest IP packet (its length field has 16 bits), in octets.
pub const LONGEST: u64 = 65_535;

/// Length of the largest inner packet whose outer packet is at most `mtu` octets; `None` if none fits.
#[must_use]
pub fn largest_inner(layers: &Layers, mtu: u64) -> Option<u64> {
    let fits = |inner: &u64| layers.lengths(*inner).is_some_and(|lengths| lengths.outer <= mtu);
    let least = IpVersion::V4.header();
    // The outer length never falls when the inner one grows, so the fitting sizes are one range.
    let (mut low, mut high) = (least, LONGEST);
    fits(&least).then_some(())?;
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(&middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

/// The segment size that TCP must keep to so that its packets are at most `inner` octets, without TCP options.
#[must_use]
pub const fn tcp_mss(inner: u64, version: IpVersion) -> Option<u64> {
    inner.checked_sub(version.header() + TCP)
}

/// An outer packet cut into fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragments {
    /// How many.
    pub count: u64,
    /// IP lengths of all of them together, in octets.
    pub total: u64,
}

/// Cuts a packet for a link (RFC 791 section 3.2; RFC 8200 section 4.5: each fragment has an extension header of 8 octets).
/// `None` where the link is too narrow for any fragment.
#[must_use]
pub fn fragments(outer: u64, version: IpVersion, mtu: u64) -> Option<Fragments> {
    if outer <= mtu {
        return Some(Fragments { count: 1, total: outer });
    }
    let header = version.header() + if version == IpVersion::V6 { 8 } else { 0 };
    let each = mtu.checked_sub(header)? / 8 * 8;
    let payload = outer.checked_sub(version.header())?;
    // The last fragment need not end at a multiple of eight.
    let rest = payload.saturating_sub(mtu - header);
    let count = 1 + (each > 0).then(|| rest.div_ceil(each))?;
    Some(Fragments { count, total: payload + count * header })
}
