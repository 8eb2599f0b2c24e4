//! What the first octets say the input is, and the names of what is refused.

use crate::capture::pcap::Magic;

/// The container of the (decompressed) stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Pcap(Magic),
    Pcapng,
}

impl Format {
    /// From the first octets; four are enough.
    pub(crate) fn sniff(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            return Some(Self::Pcapng);
        }
        Magic::sniff(bytes).map(Self::Pcap)
    }
}

/// Octets that [`refusal`] likes to see.
pub(crate) const REFUSAL_BYTES: usize = 16;

/// Why an input that is neither a capture nor compressed is refused: what it is where that is known, and what to do.
pub(crate) fn refusal(bytes: &[u8]) -> String {
    const CONVERT: &str = "convert it with `editcap -F pcapng IN OUT`";
    const UNPACK: &str = "unpack it and name the capture inside";
    let known: &[(&[u8], &str, &str)] = &[
        (b"snoop\0\0\0", "a Solaris snoop capture (RFC 1761)", CONVERT),
        (b"TRSNIFF data    \x1a", "a Sniffer capture (DOS)", CONVERT),
        (b"TRSNIFF data", "a Sniffer capture (DOS)", CONVERT),
        (b"XCP\0", "a NetXray or Sniffer capture (Windows)", CONVERT),
        (b"VL\0\0", "a NetXray 1.0 capture", CONVERT),
        (b"GMBU", "a Microsoft Network Monitor 2 capture", CONVERT),
        (b"RTSS", "a Microsoft Network Monitor 1 capture", CONVERT),
        (b"btsnoop\0", "a Bluetooth btsnoop capture", "there is no IPsec in it"),
        (b"iptrace 1.0", "an AIX iptrace capture", CONVERT),
        (b"iptrace 2.0", "an AIX iptrace capture", CONVERT),
        (
            b"\xa1\x2b\x3c\x4d",
            "a Navtel capture (reserved pcap magic a12b3c4d, layout not published)",
            "export it as pcap",
        ),
        (
            b"\x4d\x3c\x2b\xa1",
            "a Navtel capture (reserved pcap magic a12b3c4d, layout not published)",
            "export it as pcap",
        ),
        (
            b"\xa1\xb2\x34\xcd",
            "a capture with the reserved pcap magic a1b234cd, layout not published",
            "export it as pcap",
        ),
        (
            b"\xcd\x34\xb2\xa1",
            "a capture with the reserved pcap magic a1b234cd, layout not published",
            "export it as pcap",
        ),
        (b"\x02\x21\x4c\x18", "a legacy lz4 stream", "unpack it with `lz4 -dc IN | spiglass report -`"),
        (b"\x1f\x9d", "compressed with compress(1)", "unpack it with `gzip -dc IN | spiglass report -`"),
        (b"\x1f\x8b", "a gzip stream with an unknown method", "unpack it"),
        (b"\x89LZO", "an lzop stream", "unpack it with `lzop -dc IN | spiglass report -`"),
        (b"PK\x03\x04", "a zip archive", UNPACK),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
        (b"Rar!", "a RAR archive", UNPACK),
        (b"\xff\xd8\xff", "a JPEG image", "name a capture"),
        (b"\x89PNG", "a PNG image", "name a capture"),
        (b"%PDF", "a PDF document", "name a capture"),
    ];
    if let Some((_, what, remedy)) = known.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return format!("this is {what}, not pcap or pcapng; {remedy}");
    }
    let shown = bytes.get(..bytes.len().min(REFUSAL_BYTES)).unwrap_or_default();
    if !shown.is_empty() && shown.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e)) {
        return "this is text, not pcap or pcapng; name a capture file".into();
    }
    if !shown.is_empty() && shown.iter().all(|&b| b == 0) {
        return "this begins with zeros, not as pcap or pcapng do; its writer was interrupted, or it is another format"
            .into();
    }
    let hex: Vec<String> = shown.iter().take(4).map(|b| format!("{b:02x}")).collect();
    format!(
        "this is neither pcap nor pcapng (it begins with {}); name a capture, or convert it with `editcap -F pcapng IN OUT`",
        hex.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_refused_by_name() {
        assert!(refusal(b"snoop\0\0\0\0\0\0\x02").contains("snoop"));
        assert!(refusal(b"XCP\x002.2").contains("NetXray"));
        assert!(refusal(&[0x4d, 0x3c, 0x2b, 0xa1, 2, 0, 4, 0]).contains("Navtel"));
        assert!(refusal(b"hostname R1\ncrypto").contains("text"));
        assert!(refusal(&[0; 16]).contains("zeros"));
        assert!(refusal(&[0, 0x47, 0x2f, 0]).contains("00 47 2f 00"));
    }
}
