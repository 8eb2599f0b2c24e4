//! An SPI in every reading that a slip could make of it.

use super::super::text::page::{Page, Tone};
use crate::model::Spi;

/// An SPI as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Written {
    pub(super) spi: Spi,
    /// Whether it stood in hex.
    pub(super) hex: bool,
}

impl Written {
    /// Decimal, `0x` hex, hex that shows by its letters, or what routers print: `0x3EA(1002)`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let word = word.trim().trim_start_matches("spi=").trim_start_matches("SPI=");
        let word = word.split_once('(').map_or(word, |(hex, _)| hex).trim();
        if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            return Some(Self { spi: hex(digits)?, hex: true });
        }
        if word.bytes().all(|b| b.is_ascii_digit()) {
            return Some(Self { spi: Spi(word.parse().ok()?), hex: false });
        }
        // `3ea` can be nothing but hex; a word of letters alone (`dead`) is more likely a word, unless it is as long as an SPI.
        let digits = word.bytes().any(|b| b.is_ascii_digit()) || word.len() == 8;
        (digits && word.len() <= 8).then(|| hex(word)).flatten().map(|spi| Self { spi, hex: true })
    }
}

/// An SPI in decimal or with `0x` in hex.
#[must_use]
pub fn parse_spi(word: &str) -> Option<Spi> {
    let plain = word.bytes().all(|b| b.is_ascii_digit()) || word.starts_with("0x") || word.starts_with("0X");
    (plain && !word.is_empty()).then(|| Written::parse(word)).flatten().map(|written| written.spi)
}

fn hex(digits: &str) -> Option<Spi> {
    let proper = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    proper.then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(Spi)
}

pub(super) fn print(page: &mut Page<'_>, written: &Written) {
    let spi = written.spi;
    page.styled(Tone::Heading, 0, &format!("SPI {} = {spi}", spi.0));
    page.wrapped(2, 2, kind(spi));
    let readings = readings(spi);
    if !readings.is_empty() {
        page.heading("If it was mistyped, the number meant may be");
    }
    for (reading, meant) in readings {
        page.indented(2, &format!("{:>10} = {meant}  {reading}", meant.0));
    }
    page.blank();
    page.wrapped(
        2,
        2,
        "The receiver chooses the SPI: the inbound SPI of one router must be the outbound SPI of its peer, for each protocol. \
         Cisco IOS takes manual SPIs in decimal and shows both, as 0x3EA(1002); Linux takes hex with 0x, decimal without.",
    );
    page.blank();
    page.wrapped(2, 2, &format!("To see who sends it: `spiglass report --spi {} CAPTURE`.", spi.0));
}

/// What kind of number it is.
pub(super) const fn kind(spi: Spi) -> &'static str {
    match spi.0 {
        0 => {
            "Zero is for local use and must never be sent on the wire (RFC 4302 section 2.4, RFC 4303 section 2.1). \
             `spiglass explain spi-zero` says what makes a router send it. In UDP on port 4500, four zero bytes in this place are \
             not an SPI but mark an IKE message (RFC 3948)."
        }
        1 => "1 is reserved (IANA spi-numbers: once assigned to SKIP). No ordinary SA may use it.",
        2 => {
            "2 is reserved: in UDP on port 4500 it marks Wrapped ESP (WESP, RFC 5840), and the real SPI follows the WESP header. \
             Tools that do not know WESP show it as an SPI."
        }
        3..=255 => {
            "3 to 255 are reserved by IANA (RFC 4302 section 2.4, RFC 4303 section 2.1). No ordinary SA may use them; choose 256 or above."
        }
        _ => {
            "An ordinary SPI. It means something only together with destination, protocol and, for manual keys, source."
        }
    }
}

/// What the number becomes by common slips; only readings that differ from it.
fn readings(spi: Spi) -> Vec<(&'static str, Spi)> {
    let mut readings = vec![("bytes in reverse (host instead of network order)", Spi(spi.0.swap_bytes()))];
    if let Ok(value) = u32::from_str_radix(&spi.0.to_string(), 16) {
        readings.push(("its decimal digits read as hex", Spi(value)));
    }
    let digits = format!("{:x}", spi.0);
    if let Ok(value) = digits.parse() {
        readings.push(("its hex digits read as decimal", Spi(value)));
    }
    if spi.0 > 0xffff && spi.0 & 0xffff == 0 {
        readings.push(("its upper half alone", Spi(spi.0 >> 16)));
    }
    readings.retain(|(_, meant)| *meant != spi);
    readings
}
