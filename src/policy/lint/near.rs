//! Names and addresses that are a slip of the hand apart.

use crate::model::Address;

/// Changes of one character that a slip is taken to make at most.
const SLIPS: usize = 2;

/// The only one of the candidates that a name may have been meant to be.
pub(super) fn meant<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let mut close: Vec<(usize, &str)> = candidates
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| Some((distance(&folded(name), &folded(candidate))?, candidate)))
        .collect();
    close.sort_unstable();
    match close.as_slice() {
        [(_, one)] => Some(*one),
        [(first, one), (second, _), ..] if first < second => Some(*one),
        _ => None,
    }
}

/// The name itself where it is among the candidates, else the one that may be meant: so that what is wrong beside the name is found too.
pub(super) fn resolved<'c>(name: &'c str, candidates: impl Iterator<Item = &'c str> + Clone) -> Option<&'c str> {
    if candidates.clone().any(|candidate| candidate == name) { Some(name) } else { meant(name, candidates) }
}

/// A name without what is easily confused: case, and the marks between words.
fn folded(name: &str) -> Vec<u8> {
    name.bytes().map(|b| if matches!(b, b'_' | b'.' | b' ') { b'-' } else { b.to_ascii_lowercase() }).collect()
}

/// How many characters differ, are missing or too many; `None` where more than a slip makes.
fn distance(a: &[u8], b: &[u8]) -> Option<usize> {
    // Of a short name, any other is a slip.
    let most = match a.len().min(b.len()) {
        0..=1 => 0,
        2..=4 => 1,
        _ => SLIPS,
    };
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (x, i) in a.iter().zip(1..) {
        let mut next = vec![i];
        for ((y, above), left) in b.iter().zip(row.iter().skip(1)).zip(row.iter()) {
            let last = next.last().copied().unwrap_or_default();
            let substituted = left + usize::from(x != y);
            next.push(substituted.min(above + 1).min(last + 1));
        }
        row = next;
    }
    let least = row.last().copied().unwrap_or_default();
    let exchanged = a.len() == b.len() && {
        let different: Vec<_> = a.iter().zip(b).filter(|(x, y)| x != y).collect();
        matches!(different.as_slice(), [(a, b), (c, d)] if a == d && b == c)
    };
    let least = if exchanged { 1 } else { least };
    (least <= most).then_some(least)
}

/// Whether one address may be the other, mistyped: one octet or group differs, or at most two digits.
pub(super) fn mistyped(a: Address, b: Address) -> bool {
    if a == b || a.is_v4() != b.is_v4() {
        return false;
    }
    let (a, b) = (a.to_string(), b.to_string());
    let groups = |text: &str| text.split(['.', ':']).map(str::to_owned).collect::<Vec<_>>();
    let (x, y) = (groups(&a), groups(&b));
    let one = x.len() == y.len() && x.iter().zip(&y).filter(|(x, y)| x != y).count() == 1;
    one || distance(a.as_bytes(), b.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_close_and_anything_else_is_not() {
        let of = |name, all: &[&'static str]| meant(name, all.iter().copied());
        assert_eq!(of("KES-OSP", &["KES_OSP", "OTHER"]), Some("KES_OSP"));
        assert_eq!(of("TSAEL", &["TSAES"]), Some("TSAES"));
        assert_eq!(of("M12", &["M1"]), Some("M1"));
        assert_eq!(of("tsaes", &["TSAES"]), Some("TSAES"));
        assert_eq!(of("TSASE", &["TSAES"]), Some("TSAES"));
        assert_eq!(of("STRONG", &["WEAK"]), None);
        // Two that are equally close: neither is suggested.
        assert_eq!(of("SITE-C", &["SITE-A", "SITE-B"]), None);
        let mistyped = |a: &str, b: &str| {
            let address = |text: &str| Address::from(text.parse::<std::net::IpAddr>().unwrap());
            super::mistyped(address(a), address(b))
        };
        assert!(mistyped("192.0.2.118", "192.0.2.18") && mistyped("98.51.100.9", "198.51.100.9"));
        assert!(mistyped("fd00::12", "fd00::2"));
        assert!(!mistyped("203.0.113.201", "192.0.2.17") && !mistyped("10.0.0.1", "10.0.0.1"));
    }
}
