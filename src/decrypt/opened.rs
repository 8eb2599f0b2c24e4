//! What came of checking and decrypting one packet.

use std::ops::Range;

/// What came of one ESP packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    /// The integrity check.
    pub icv: Icv,
    /// The decrypted packet, whose octets are in the buffer given; or why there is none.
    pub inner: Result<Inner, Closed>,
}

/// An integrity check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Icv {
    /// The ICV is that of these octets under this key.
    Verified,
    /// It is not: another key, another algorithm with an ICV of the same length, another high half of the sequence number, or
    /// octets that changed on the way.
    Failed,
    /// It could not be checked.
    NotChecked(Unchecked),
}

/// Why an ICV could not be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unchecked {
    /// The capture does not hold the whole packet.
    Cut,
    /// The SA has no integrity algorithm.
    NoIntegrity,
    /// Of the integrity algorithm only the length of its ICV was said.
    LengthOnly,
    /// Lengths do not leave the octets that header, IV, trailer and ICV need.
    Short,
    /// AH: the ICV field has not the length that the algorithm makes, aligned to 4 or to 8 octets.
    OtherLength,
    /// The packet is a fragment. The ICV is that of the whole packet (RFC 4302 section 3.4.1, RFC 4303 section 3.4.1).
    Fragment,
    /// AH: there is none among the headers of the packet, or a header in front of it cannot be read.
    NoAh,
}

/// Why a packet was not decrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Closed {
    /// Its ICV failed: what is in it is not what the sender sent, or not under this key.
    IcvFailed,
    /// It is too short for this transform.
    Short {
        /// Octets that SPI to ICV need at least.
        needed: usize,
        /// Octets there are.
        had: usize,
    },
    /// The ciphertext is not a whole number of blocks.
    Blocks {
        /// Octets of ciphertext.
        bytes: usize,
        /// Octets of a block.
        block: usize,
    },
}

/// A decrypted packet. Ranges are of the buffer it was decrypted into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inner {
    /// What ESP carries, without trailer and without TFC padding as far as that is known. Where the capture cut the packet: the
    /// octets that could be decrypted, which may go on into the padding.
    pub payload: Range<usize>,
    /// The trailer; none where the capture cut it.
    pub trailer: Option<Trailer>,
}

/// The ESP trailer (RFC 4303 sections 2.4 to 2.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trailer {
    /// Protocol number of what ESP carries: 4 and 41 in tunnel mode, 59 for a dummy packet.
    pub next_header: u8,
    /// Pad length, in octets, as its field says.
    pub pad_length: u8,
    /// What the padding is made of.
    pub padding: Padding,
    /// Octets of TFC padding between payload and padding, where the payload says its own length (IPv4, IPv6, UDP) or is none at all
    /// (next header 59); none where it does not, or contradicts itself.
    pub tfc: Option<usize>,
}

/// What ESP padding is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Padding {
    /// 1, 2, 3, ... as RFC 4303 section 2.4 has it; no padding at all is that too.
    Counting,
    /// Something else.
    Other,
    /// The field says more than there is: a wrong key where no ICV was checked.
    Beyond,
}
