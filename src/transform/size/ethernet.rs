//! Ethernet wire constants (IEEE 802.3 clauses 3 and 4) and the lengths computed from them.

/// Destination, source and type, in octets.
pub const HEADER: u32 = 14;
/// Frame check sequence, in octets; captures normally lack it.
pub const FCS: u32 = 4;
/// The shortest frame without FCS, in octets: shorter packets are padded to it.
pub const MINIMUM_WITHOUT_FCS: u32 = 60;
/// Preamble and start frame delimiter (8) and the interframe gap (12), in octets of layer 1.
pub const PREAMBLE_AND_IFG: u64 = 20;
/// One PAUSE quantum, in bit times (IEEE 802.3 annex 31B).
pub const QUANTUM_BITS: u64 = 512;
/// The longest frame taken to have been on the wire, in octets; longer ones come from segmentation offload.
pub const LONGEST_ON_WIRE: u32 = 9_600;

/// Layer 1 octets of an IP packet in an untagged Ethernet frame.
#[must_use]
pub const fn l1_of_packet(ip_bytes: u64) -> u64 {
    let frame = HEADER as u64 + ip_bytes;
    let frame = if frame < MINIMUM_WITHOUT_FCS as u64 { MINIMUM_WITHOUT_FCS as u64 } else { frame };
    frame + FCS as u64 + PREAMBLE_AND_IFG
}

/// Layer 1 octets of an IP packet in an Ethernet frame that carries `more` octets beside it: 4 for each 802.1Q tag,
/// a MACsec tag and its ICV.
#[must_use]
pub const fn l1_of_packet_with(ip_bytes: u64, more: u64) -> u64 {
    l1_of_packet(ip_bytes.saturating_add(more))
}

/// The most frames per second that a link carries: `rate` in bits per second, `l1` octets of layer 1 each.
#[must_use]
// As floats: figures for people: rates and lengths are far below 2^53.
pub fn frames_per_s(rate: u64, l1: f64) -> f64 {
    rate as f64 / (l1 * 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64_byte_packet_takes_102_octets_of_layer_1() {
        assert_eq!(l1_of_packet(64), 102);
        assert_eq!(l1_of_packet(40), 84);
        assert_eq!(l1_of_packet(46), 84);
    }
}
