//! Lines that a terminal or a mail program broke, joined again. Only lines with keys are long enough to be broken.

use super::super::words::{address, short_for};
use crate::policy::form::line;

/// The narrowest terminal whose breaks are looked for.
const NARROWEST: usize = 40;
/// Pieces that one line may be in.
const PIECES: usize = 12;

/// First words of lines that begin something, so that no such line goes on with the one before it.
const BEGIN: [&str; 74] = [
    "set",
    "match",
    "crypto",
    "interface",
    "ip",
    "ipv6",
    "access-list",
    "permit",
    "deny",
    "mode",
    "hostname",
    "version",
    "end",
    "exit",
    "no",
    "description",
    "reverse-route",
    "qos",
    "remark",
    "key",
    "hash",
    "encryption",
    "group",
    "lifetime",
    "authentication",
    "router",
    "line",
    "ntp",
    "logging",
    "snmp-server",
    "route-map",
    "tunnel",
    "shutdown",
    "duplex",
    "speed",
    "src",
    "dst",
    "proto",
    "auth",
    "auth-trunc",
    "enc",
    "aead",
    "sel",
    "replay-window",
    "anti-replay",
    "dir",
    "tmpl",
    "esp",
    "ah",
    "flow",
    "add",
    "spdadd",
    "flush",
    "spdflush",
    "next",
    "config",
    "edit",
    "sa",
    "proposal",
    "security",
    "acl",
    "rule",
    "sysname",
    "quit",
    "return",
    "object",
    "object-group",
    "nameif",
    "security-level",
    "service",
    "standby",
    "ospfv3",
    "area",
    "ike",
];

/// Joins the pieces of broken lines.
pub(super) fn join(lines: &mut Vec<(u32, String)>) {
    let width = lines.iter().map(|(_, line)| line.trim_end().chars().count()).max().unwrap_or(0);
    let mut joined: Vec<(u32, String)> = Vec::with_capacity(lines.len());
    // How many lines the last one was made of, and whether its last piece reached the edge.
    let (mut pieces, mut full, mut at) = (1, false, 0);
    for (number, line) in lines.drain(..) {
        let reaches = width >= NARROWEST && line.trim_end().chars().count() == width;
        if let Some((_, last)) = joined.last_mut()
            && pieces < PIECES
            // Nothing stands between pieces.
            && number == at + 1
            && let Some(between) = goes_on(last, full, &line)
        {
            if between.is_empty() {
                last.push_str(&line);
            } else {
                last.truncate(last.trim_end().len());
                last.push_str(between);
                last.push_str(line.trim_start());
            }
            (pieces, full) = (pieces + 1, reaches);
        } else {
            joined.push((number, line));
            (pieces, full) = (1, reaches);
        }
        at = number;
    }
    *lines = joined;
}

/// What stands between a line and the next where they are one: nothing where the terminal's edge broke it, a blank where words were.
fn goes_on(line: &str, full: bool, next: &str) -> Option<&'static str> {
    let first = next.split_whitespace().next()?;
    let lower = first.to_ascii_lowercase();
    let bare = lower.trim_matches(['"', '\'']);
    let begins = BEGIN.contains(&bare)
        || bare.starts_with(['!', '#', '[', '{', '}', '`', '%', '$', '<', '&'])
        || first.starts_with('"')
        || bare.contains([':', '@'])
        || address(bare).is_some();
    let prompted = line::prompt(next.trim()).is_some();
    if prompted {
        return None;
    }
    let key = session_key(line);
    if full
        && !begins
        && !next.starts_with(char::is_whitespace)
        && (key.is_some() || has_key(line))
        && completes(line, next)
    {
        return Some("");
    }
    if !begins && cut_in_key(line, next) && key.is_some() {
        return Some("");
    }
    let words = key?;
    let goes = ["cipher", "authenticator", "inbound", "outbound"].contains(&first)
        || (matches!(first, "esp" | "ah") && matches!(words.last(), Some(&("inbound" | "outbound"))))
        // The key, or the SPI, of a word that announces one.
        || (matches!(words.last(), Some(&("cipher" | "authenticator" | "esp" | "ah"))) && !begins);
    goes.then_some(" ")
}

/// Words of commands with keys that are neither numbers nor addresses nor names of algorithms.
const WORDS: [&str; 48] = [
    "set",
    "session-key",
    "inbound",
    "outbound",
    "esp",
    "ah",
    "cipher",
    "authenticator",
    "ip",
    "xfrm",
    "state",
    "add",
    "update",
    "src",
    "dst",
    "proto",
    "spi",
    "reqid",
    "mode",
    "tunnel",
    "transport",
    "replay-window",
    "flag",
    "esn",
    "af-unspec",
    "auth",
    "auth-trunc",
    "enc",
    "aead",
    "encap",
    "espinudp",
    "sel",
    "if_id",
    "mark",
    "mask",
    "dir",
    "in",
    "out",
    "sport",
    "dport",
    "comp",
    "offload",
    "dev",
    "type",
    "addr",
    "extra-flag",
    "output-mark",
    "crypto",
];

/// Words behind which a name stands.
const NAMING: [&str; 10] = ["enc", "auth", "auth-trunc", "aead", "comp", "dev", "type", "addr", "flag", "extra-flag"];

/// Whether a line is the rest of one that the edge of a terminal broke: its first word, put to the last of the line before, makes a
/// key, a number, an address or a word of such a command, and what follows is of that kind too. Another command, and a note, is not.
fn completes(line: &str, next: &str) -> bool {
    let last =
        if line.ends_with(char::is_whitespace) { "" } else { line.split_whitespace().last().unwrap_or_default() };
    let first = next.split_whitespace().next().unwrap_or_default();
    let glued = format!("{last}{first}");
    // A piece of a key can hardly be anything else.
    if is_hex(&glued) && first.len() >= SURE && first.bytes().any(|b| b.is_ascii_digit()) {
        return true;
    }
    let known = |word: &str| {
        let word = word.trim_end_matches([';', ',']).trim_matches(['"', '\'']);
        let algorithm =
            word.contains(['(', '-', ':']) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"()-:_".contains(&b));
        let net = word.split('/').next().unwrap_or_default();
        is_hex(word) || algorithm || WORDS.contains(&word) || word == "\\" || address(net).is_some()
    };
    let before = line.split_whitespace().rev().nth(usize::from(!last.is_empty())).unwrap_or_default();
    let behind = std::iter::once(glued.as_str()).chain(next.split_whitespace().skip(1));
    let mut pairs = std::iter::once(before).chain(behind.clone()).zip(behind);
    pairs.all(|(before, word)| known(word) || NAMING.contains(&before))
}

/// Digits that keys of algorithms have.
const KEYS: [usize; 10] = [16, 32, 40, 48, 56, 64, 72, 80, 96, 128];

/// Whether a line ends within a key and the next begins with the rest: only together do they have the digits of a key.
fn cut_in_key(line: &str, next: &str) -> bool {
    let mut before = line.split(' ').rev();
    let (last, announcing) = (before.next().unwrap_or_default(), before.next().unwrap_or_default());
    let first = next.split_whitespace().next().unwrap_or_default();
    let whole = last.len() + first.len();
    matches!(announcing, "cipher" | "authenticator")
        && !next.starts_with(char::is_whitespace)
        && first.len() >= SURE
        && is_hex(last)
        && is_hex(first)
        && KEYS.contains(&whole)
        && !KEYS.contains(&last.len())
}

/// Digits that a piece of a key has at least where nothing else is looked at.
const SURE: usize = 6;

fn is_hex(word: &str) -> bool {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    digits.trim_end_matches(';').bytes().all(|b| b.is_ascii_hexdigit())
}

/// The words of a session-key command, with or without the map before it.
fn session_key(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [set, key] if *set == "set" && short_for(key, "session-key", 3)))?;
    Some(words.get(at..)?.to_vec())
}

/// Whether a line has hex digits that only a key has.
fn has_key(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let digits = word.trim_start_matches("0x");
        digits.len() >= 14 && digits.bytes().all(|b| b.is_ascii_hexdigit())
    })
}
