//! The form that a text was pasted in: what terminals, mail programs and editors add is taken off before a reader sees a line.

pub(in crate::policy) mod filter;
pub(super) mod line;
mod marks;
pub(in crate::policy) mod order;
pub(super) mod parts;
pub(super) mod paste;
mod renew;
pub(super) mod snip;
mod wrap;

use std::borrow::Cow;

use super::limits::MAX_LINE;
use crate::policy::read::xfrm;

/// Octets that a line has at most with what a terminal added to it.
const LONGEST_RAW: usize = 16 * MAX_LINE;

/// A line of the text as it was meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// The line of the input that it begins on, from 1.
    pub(super) number: u32,
    /// Its words with one blank between them; `None` where the line is too long to be read.
    pub(super) text: Option<String>,
    /// Whether blanks stood before it.
    pub(super) indented: bool,
    /// Whether a `!` alone, which ends a block, stands between it and the line before.
    pub(super) parted: bool,
}

/// A text, line by line.
#[derive(Default, Debug)]
pub(super) struct Pasted {
    /// The lines that say something, without what pasting added.
    pub(super) lines: Vec<Line>,
    /// Whether a `!` alone follows the last of them.
    pub(super) parted: bool,
    /// Whether the text ends where a pager waited.
    pub(super) paged: bool,
    /// Whether its last line does not end.
    pub(super) broken: bool,
}

/// The octets in UTF-8: UTF-16 of either order of octets, with or without a byte order mark, is converted.
pub(super) fn decode(octets: &[u8]) -> Cow<'_, [u8]> {
    let (pairs, little) = match octets {
        [0xff, 0xfe, rest @ ..] => (rest, true),
        [0xfe, 0xff, rest @ ..] => (rest, false),
        [0xef, 0xbb, 0xbf, rest @ ..] => return rest.into(),
        _ => match sixteen(octets) {
            Some(little) => (octets, little),
            None => return octets.into(),
        },
    };
    let units = pairs.chunks_exact(2).map(|pair| {
        let pair = [pair.first().copied().unwrap_or_default(), pair.last().copied().unwrap_or_default()];
        if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    });
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.into_bytes().into()
}

/// Whether text without a byte order mark is UTF-16, and of which order: every other octet of Latin letters is zero.
fn sixteen(octets: &[u8]) -> Option<bool> {
    let sample = octets.get(..octets.len().min(4096) & !1)?;
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|octet| **octet == 0).count();
    let (even, odd, units) = (zeros(0), zeros(1), sample.len() / 2);
    if units < 4 {
        None
    } else if odd * 10 >= units * 8 && even * 10 < units {
        Some(true)
    } else if even * 10 >= units * 8 && odd * 10 < units {
        Some(false)
    } else {
        None
    }
}

/// The lines that say something, without what pasting added.
pub(super) fn pasted(text: &[u8]) -> Pasted {
    // Old editors end lines with CR alone.
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    let mut raw: Vec<(u32, String)> = Vec::new();
    // Lines that end a block, the first after each line that says something.
    let mut ends: Vec<u32> = Vec::new();
    let mut last: &[u8] = b"";
    // What ends the banner that was begun.
    let mut banner: Option<u8> = None;
    for (number, octets) in (1u32..).zip(text.split(|b| *b == end)) {
        // Most lines of the largest inputs say nothing.
        let trimmed = octets.trim_ascii();
        let ends_banner = banner.is_some_and(|delimiter| trimmed.contains(&delimiter));
        banner = snip::delimiter(trimmed).or(banner.filter(|_| !ends_banner));
        if matches!(trimmed, b"" | b"!" | b"#") && !ends_banner {
            let known = ends.last() >= raw.last().map(|(number, _)| number);
            if trimmed == b"!" && !known {
                ends.push(number);
            }
            // An empty line ends a command that a backslash continues.
            if raw.last().is_some_and(|(_, line)| line.trim_end().ends_with('\\')) {
                raw.push((number, String::new()));
            }
            continue;
        }
        last = octets;
        // Nothing that a terminal adds makes a line so long: it is told as one, without copies of it.
        if octets.len() > LONGEST_RAW {
            raw.push((number, "x".repeat(MAX_LINE + 1)));
            continue;
        }
        for line in marks::overwritten(&String::from_utf8_lossy(octets)) {
            raw.push((number, line));
        }
    }
    let paged = marks::is_pager(&String::from_utf8_lossy(last.get(..LONGEST_RAW).unwrap_or(last)));
    marks::take_off(&mut raw);
    marks::take_out_refused(&mut raw);
    // In quoted mail, too.
    ends.extend(raw.iter().filter(|(_, line)| line.trim() == "!").map(|(number, _)| *number));
    ends.sort_unstable();
    snip::take_out_banners(&mut raw);
    let cuts = snip::take_out(&mut raw);
    let mut raw = xfrm::logical(raw);
    wrap::join(&mut raw);
    let mut lines: Vec<Line> = raw.into_iter().filter_map(|(number, text)| meant(number, &text)).collect();
    for number in cuts {
        let at = lines.partition_point(|line| line.number < number);
        lines.insert(at, Line { number, text: Some(snip::MARK.to_owned()), indented: false, parted: false });
    }
    let parted = part(&mut lines, &ends);
    Pasted { lines, parted, paged, broken: !text.ends_with(&[end]) }
}

/// Notes between which lines a block ends; whether one ends after the last.
fn part(lines: &mut [Line], ends: &[u32]) -> bool {
    let mut ends = ends.iter().copied().peekable();
    for line in lines {
        while ends.next_if(|end| *end < line.number).is_some() {
            line.parted = true;
        }
    }
    ends.next().is_some()
}

fn meant(number: u32, text: &str) -> Option<Line> {
    if text.len() > MAX_LINE {
        return Some(Line { number, text: None, indented: false, parted: false });
    }
    let indented = text.starts_with(char::is_whitespace);
    line::clean(text).map(|text| Line { number, text: Some(text), indented, parted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(u32, String)> {
        pasted(text.as_bytes()).lines.into_iter().map(|line| (line.number, line.text.unwrap_or_default())).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        read(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn sixteen_bits_a_character_are_found_with_and_without_a_mark() {
        let text = "crypto map M 10 ipsec-manual\n set peer 10.0.0.1\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for octets in [
            [b"\xff\xfe".as_slice(), &little].concat(),
            little,
            [b"\xfe\xff".as_slice(), &big].concat(),
            big,
            [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat(),
            text.as_bytes().to_vec(),
        ] {
            assert_eq!(String::from_utf8_lossy(&decode(&octets)), text);
        }
        assert_eq!(&*decode(b"\0\0\0"), b"\0\0\0");
    }

    #[test]
    fn what_terminals_and_mail_add_is_taken_off() {
        let plain = ["set peer 10.0.0.1", "match address 101"];
        for text in [
            "set peer 10.0.0.1\r\n match address 101\r\n",
            "set peer 10.0.0.1\rmatch address 101\r",
            "> set peer 10.0.0.1\n>  match address 101\n",
            ">> set peer 10.0.0.1\n>> match address 101\n",
            "> > set peer 10.0.0.1\n> > match address 101\n",
            "| set peer 10.0.0.1\n| match address 101\n",
            " set peer 10.0.0.1\n --More-- \x08\x08\x08\x08\x08\x08\x08\x08\x08        \x08\x08\x08\x08\x08\x08\x08\x08\x08 match address 101\n",
            " set peer 10.0.0.1\n --More-- \r         \r match address 101\n",
            " set peer 10.0.0.1\n<--- More --->\r              \rmatch address 101\n",
            " set peer 10.0.0.1\n  ---- More ----\x1b[42D                       \x1b[42D match address 101\n",
            "set peer 10.0.0.1\n--More--\nmatch address 101\n",
            "\u{a0}set\u{a0}peer 10.0.0.1\n\tmatch\taddress 101\u{200b}\n",
        ] {
            assert_eq!(texts(text), plain, "{text:?}");
        }
        let numbered: String =
            (1..6).map(|n| format!("{n:>4}  line {n}\n")).chain(["   6: last\n".to_owned()]).collect();
        assert_eq!(texts(&numbered), ["line 1", "line 2", "line 3", "line 4", "line 5", "last"]);
        let list = "10 permit ip any any\n20 permit ip any any\n30 deny ip any any\n";
        assert_eq!(texts(list)[0], "10 permit ip any any", "entries of a list keep their numbers");
        let diff = "--- a/r1\n+++ b/r1\n@@ -1,3 +1,3 @@\n hostname R1\n- set peer 10.0.0.2\n+ set peer 10.0.0.1\n";
        assert_eq!(texts(diff), ["hostname R1", "set peer 10.0.0.1"]);
        let logged = "Nov 22 02:03:04.123: %PARSER-5-CFGLOG_LOGGEDCMD: User:console  logged command:set peer 10.0.0.1 \n\
                      Nov 22 02:03:05 gw1 root[812]: match address 101\n";
        assert_eq!(texts(logged), plain);
    }

    #[test]
    fn commands_that_the_device_refused_are_not_in_force() {
        let text = "set peer 10.0.0.1\nset pear 10.0.0.2\n       ^\n% Invalid input detected at '^' marker.\n\nset\n% Incomplete command.\n\nmatch address 101\n";
        let left = texts(text);
        assert_eq!(left.first().map(String::as_str), Some("set peer 10.0.0.1"));
        assert_eq!(left.last().map(String::as_str), Some("match address 101"));
        assert!(!left.iter().any(|line| line == "set" || line.contains("pear")), "{left:?}");
    }

    #[test]
    fn lines_that_a_terminal_broke_are_joined() {
        let long = "set session-key inbound esp 5310 cipher 5b1fa3c58d5fb1714da52707876bdb79 authenticator a16587617b978d7b6b0b71c7a585d3c9031171c9";
        let (a, b) = long.split_at(80);
        assert_eq!(
            read(&format!("set peer 10.0.0.1\n{a}\n{b}\nset transform-set T\n"))[1..],
            [(2, long.to_owned()), (4, "set transform-set T".to_owned())]
        );
        let soft = long.replace(" authenticator", "\n    authenticator");
        assert_eq!(texts(&format!("{soft}\nmatch address 101\n")), [long, "match address 101"]);
        let soft = long.replace(" cipher", " cipher\n").replace("\n ", "\n");
        assert_eq!(texts(&format!("{soft}\nmatch address 101\n")), [long, "match address 101"]);
        // A whole line of the greatest width is followed by another command.
        assert_eq!(texts(&format!("{long}\nreverse-route\n")), [long, "reverse-route"]);
    }
}
