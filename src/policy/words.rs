//! Words of a line as values.

use std::net::IpAddr;

use crate::model::{Address, Spi};

/// An IPv4 or IPv6 address.
pub(super) fn address(word: &str) -> Option<Address> {
    word.trim_end_matches([',', ';']).parse::<IpAddr>().ok().map(Address::from)
}

/// The address of a word without its port: `192.168.1.1[4500]`, `192.168.1.2:500`, `192.168.1.1/4500`.
pub(super) fn endpoint(word: &str) -> Option<Address> {
    let word = word.trim_end_matches([',', '.']);
    let bare = word.split_once(['[', '/', '(']).map_or(word, |(bare, _)| bare);
    address(bare).or_else(|| bare.rsplit_once(':').and_then(|(bare, _)| address(bare)))
}

/// An SPI in decimal, or in hex with `0x`; `0x3EA(1002)` is hex.
pub(super) fn spi(word: &str) -> Option<Spi> {
    let word = word.split_once('(').map_or(word, |(hex, _)| hex).trim_end_matches(',');
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => hex(digits),
        None => decimal(word),
    }
}

/// An SPI in hex without `0x`.
pub(super) fn hex(digits: &str) -> Option<Spi> {
    let proper = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    proper.then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(Spi)
}

/// An SPI in decimal.
pub(super) fn decimal(word: &str) -> Option<Spi> {
    let proper = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    proper.then(|| word.parse().ok()).flatten().map(Spi)
}

/// Whether a word is a number in decimal digits.
pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word is the beginning of a keyword, as a router takes it, at least `least` letters.
pub(super) fn short_for(word: &str, keyword: &str, least: usize) -> bool {
    word.len() >= least && keyword.starts_with(word)
}

/// Whether a word stands in place of an address that was made unreadable: `<PEER>`, `203.0.113.x`, `x.x.x.x`, `***`.
pub(super) fn is_masked(word: &str) -> bool {
    let enclosed = [("<", ">"), ("[", "]"), ("{", "}"), ("(", ")")];
    let hidden = |part: &str| {
        let letters = part.bytes().all(|b| b"xXyYzZ*#?_-".contains(&b)) || part.chars().all(|c| !c.is_ascii());
        !part.is_empty() && letters
    };
    let parts: Vec<&str> = word.split('.').collect();
    let number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let address = parts.len() == 4 && parts.iter().all(|part| hidden(part) || number(part));
    enclosed.iter().any(|(open, close)| word.starts_with(open) && word.ends_with(close))
        || word.chars().all(|c| c == '.')
        || address && parts.iter().any(|part| hidden(part))
        || hidden(word)
}
