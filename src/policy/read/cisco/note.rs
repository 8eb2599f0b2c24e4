//! Notes that people put after a command, and commands that a note quotes.

use super::{Cisco, map};
use crate::policy::facts::builder::Builder;
use crate::policy::form::paste::Read;

/// Words before a value: whatever follows one of them is that value, written in any way, and no note.
const VALUED: [&str; 22] = [
    "cipher",
    "authenticator",
    "esp",
    "ah",
    "peer",
    "address",
    "transform-set",
    "inbound",
    "outbound",
    "0",
    "6",
    "7",
    "set",
    "match",
    "map",
    "interface",
    "ip",
    "ipv6",
    "host",
    "no",
    "profile",
    "hostname",
];

/// Commands of which any part may begin like a note: texts and passwords.
const TEXTS: [&str; 8] = ["key", "password", "secret", "description", "remark", "banner", "pre-shared-key", "nat"];

/// Beginnings of words that no command has.
const MARKS: [&str; 14] = ["!", "#", ";", "(", "[", "{", "/*", "//", "**", "--", "<", "->", "=>", "..."];

/// The words of a command without the note that follows it: `match address 101 ! to be checked`.
pub(super) fn without<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    if words.iter().any(|word| TEXTS.contains(word)) {
        return words;
    }
    // A placeholder such as `<seq>` stands for a word of the command.
    let placeholder = |word: &str| word.starts_with('<') && word.ends_with('>');
    // What stands in place of further transforms is no note.
    let cut = |word: &str| word.starts_with("...") || word.starts_with('\u{2026}');
    let transforms = words.iter().any(|word| ["esp-", "ah-"].iter().any(|start| word.starts_with(start)));
    let mark = |word: &str| {
        if transforms && cut(word) {
            return false;
        }
        let marked = MARKS.iter().any(|mark| word.starts_with(mark)) && !placeholder(word);
        marked || !word.starts_with(|c: char| c.is_ascii())
    };
    let begins =
        words.windows(2).position(|pair| matches!(pair, [before, word] if mark(word) && !VALUED.contains(before)));
    words.get(..begins.map_or(words.len(), |at| at + 1)).unwrap_or(words)
}

impl Cisco {
    /// A session-key command that running text quotes between backticks.
    pub(in crate::policy) fn quoted(&mut self, text: &str, builder: &mut Builder) -> Read {
        let mut read = Read::Foreign;
        for quoted in text.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = quoted.split(' ').collect();
            if map::quoted(&words, builder) {
                read = Read::Understood;
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(line: &str) -> String {
        without(&line.split(' ').collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn notes_are_taken_off_and_values_are_not() {
        for note in [
            "! look",
            "!look",
            "# look",
            "// look",
            "; look",
            "(look)",
            "*** look",
            "-- look",
            "[1]",
            "/* look */",
            "<== look",
            "\u{2190} look",
            "-> look",
        ] {
            assert_eq!(left(&format!("match address 101 {note}")), "match address 101");
            assert_eq!(
                left(&format!("set session-key inbound esp 256 cipher AB {note}")),
                "set session-key inbound esp 256 cipher AB"
            );
        }
        for whole in [
            "set session-key inbound esp 256 cipher <removed> authenticator [removed]",
            "set session-key outbound esp <SPI> cipher **** authenticator ****",
            "crypto isakmp key !x# address 10.0.0.1",
            "description to R2 (old)",
            "set peer <address>",
        ] {
            assert_eq!(left(whole), whole);
        }
    }
}
