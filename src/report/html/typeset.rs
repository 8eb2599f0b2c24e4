//! Our own sentences as they are set: thousands and units kept together by narrow spaces, minus signs, micro signs.

/// Between thousands and before a unit, where no line may end.
const NARROW: char = '\u{202f}';

/// Units that stay with their number.
const UNITS: [&str; 21] = [
    "B", "kB", "MB", "GB", "%", "ns", "us", "ms", "s", "min", "h", "d", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "ppm",
    "bytes", "kbyte", "packets", "frames",
];

/// A sentence or figure of ours. Names from outside in it stay as they are but for such spaces.
pub(super) fn typeset(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<&str> = None;
    for word in text.split(' ') {
        if let Some(last) = before {
            let number = ends_in_digit(last);
            let thousands =
                number && last.chars().rev().take_while(char::is_ascii_digit).count() <= 3 && is_group(word);
            let unit = number && UNITS.contains(&bare(word));
            out.push(if thousands || unit { NARROW } else { ' ' });
        }
        let micro = before.is_some_and(ends_in_digit) && bare(word) == "us";
        match (micro, word.strip_prefix('-')) {
            (true, _) => out.push_str(&word.replacen("us", "\u{b5}s", 1)),
            (_, Some(rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                out.push('\u{2212}');
                out.push_str(rest);
            }
            _ => out.push_str(word),
        }
        before = Some(word);
    }
    out
}

fn ends_in_digit(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit())
}

/// Three digits, a fraction or a mark after them.
fn is_group(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let rest = word.get(digits..).unwrap_or_default();
    digits == 3 && !rest.starts_with(|c: char| c.is_alphabetic() || c == ':' || c == '/')
}

/// A word without the marks after it.
fn bare(word: &str) -> &str {
    word.trim_end_matches(['.', ',', ';', ':', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_thousands_and_units() {
        assert_eq!(typeset("1 545 frames in 15.02 s."), "1\u{202f}545\u{202f}frames in 15.02\u{202f}s.");
        assert_eq!(typeset("12 345 678-byte"), "12\u{202f}345\u{202f}678-byte");
        assert_eq!(typeset("-20 to 30 bytes; 22 us"), "\u{2212}20 to 30\u{202f}bytes; 22\u{202f}\u{b5}s");
        assert_eq!(typeset("2026 100 x  y us"), "2026 100 x  y us");
        assert_eq!(typeset("port 4500 192.168.1.1"), "port 4500 192.168.1.1");
        assert_eq!(typeset(""), "");
    }
}
