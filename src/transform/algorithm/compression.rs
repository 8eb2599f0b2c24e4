//! IPComp algorithms (RFC 3173).

/// Length of the IPComp header, in octets (RFC 3173 section 3).
pub const HEADER: u32 = 4;

/// A compression algorithm. How much it saves depends on the content, so only its header is arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compression {
    /// Name in every output.
    pub name: &'static str,
    /// Words that mean it, lower case without separators.
    pub words: &'static [&'static str],
    /// Well-known CPI (RFC 3173 section 3.3).
    pub cpi: u16,
    /// Where it is defined.
    pub rfc: &'static str,
}

/// The algorithms with a well-known CPI.
pub static COMPRESSIONS: &[Compression] = &[
    Compression { name: "DEFLATE", words: &["deflate", "compdeflate"], cpi: 2, rfc: "RFC2394" },
    Compression { name: "LZS", words: &["lzs", "complzs"], cpi: 3, rfc: "RFC2395" },
    Compression { name: "LZJH", words: &["lzjh", "complzjh"], cpi: 4, rfc: "RFC3051" },
];
