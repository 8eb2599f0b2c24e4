//! How one SPI becomes another by a slip of the hand.

use crate::model::Spi;

/// What makes `seen` of `meant`, in words; `None` where no common slip does.
#[must_use]
pub fn slip(meant: Spi, seen: Spi) -> Option<&'static str> {
    if meant == seen {
        return None;
    }
    let hex_of_decimal = |spi: Spi| u32::from_str_radix(&spi.0.to_string(), 16).ok();
    let decimal_of_hex = |spi: Spi| format!("{:x}", spi.0).parse::<u32>().ok();
    if meant.0.swap_bytes() == seen.0 {
        return Some("its bytes in reverse order (host instead of network order)");
    }
    if hex_of_decimal(meant) == Some(seen.0) {
        return Some("its decimal digits read as hex");
    }
    if decimal_of_hex(meant) == Some(seen.0) {
        return Some("its hex digits read as decimal");
    }
    let (decimal, hex) =
        ((meant.0.to_string(), seen.0.to_string()), (format!("{:x}", meant.0), format!("{:x}", seen.0)));
    if [&decimal, &hex].into_iter().any(|(a, b)| swapped(a.as_bytes(), b.as_bytes())) {
        return Some("two neighbouring digits exchanged");
    }
    if one_differs(decimal.0.as_bytes(), decimal.1.as_bytes()) {
        return Some("one decimal digit of it changed");
    }
    if one_differs(hex.0.as_bytes(), hex.1.as_bytes()) {
        return Some("one hex digit of it changed");
    }
    if one_missing(&decimal.0, &decimal.1) || one_missing(&decimal.1, &decimal.0) {
        return Some("one digit of it missing or too many");
    }
    None
}

fn one_differs(a: &[u8], b: &[u8]) -> bool {
    // Of one or two digits, any number is a slip of any other.
    a.len() == b.len() && a.len() > 2 && a.iter().zip(b).filter(|(x, y)| x != y).count() == 1
}

fn swapped(a: &[u8], b: &[u8]) -> bool {
    let Some(at) = a.iter().zip(b).position(|(x, y)| x != y).filter(|_| a.len() == b.len()) else { return false };
    let crossed = a.get(at) == b.get(at + 1) && a.get(at + 1) == b.get(at) && a.get(at + 1).is_some();
    crossed && a.get(at + 2..) == b.get(at + 2..)
}

/// Whether `short` is `long` without one of its digits.
fn one_missing(long: &str, short: &str) -> bool {
    if long.len() != short.len() + 1 || short.len() < 2 {
        return false;
    }
    let same = long.bytes().zip(short.bytes()).take_while(|(x, y)| x == y).count();
    long.get(same + 1..) == short.get(same..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_slips_are_recognised() {
        let of = |meant, seen| slip(Spi(meant), Spi(seen)).unwrap_or("none");
        assert!(of(1002, 0xea03_0000).contains("reverse"));
        assert!(of(1002, 0x1002).contains("decimal digits read as hex"));
        assert!(of(0x1002, 1002).contains("hex digits read as decimal"));
        assert!(of(2001, 2010).contains("exchanged"));
        assert!(of(1001, 1002).contains("one decimal digit"));
        assert!(of(0x0123_4567, 0x0123_c567).contains("one hex digit"));
        assert!(of(1002, 10002).contains("missing or too many"));
        assert!(of(10002, 1002).contains("missing or too many"));
        for (meant, seen) in [(1002, 1002), (1002, 2001), (0x521d_2524, 1002), (7, 9)] {
            assert_eq!(of(meant, seen), "none", "{meant} {seen}");
        }
    }
}
