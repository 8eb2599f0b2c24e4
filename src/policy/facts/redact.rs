//! Lines without what may be a key. Pasting loses line breaks, so that a command with a key may stand behind any other.

use crate::policy::words::short_for;

/// Text that a command that holds a key has, wherever it stands in a word.
const KEYWORDS: [&str; 8] =
    ["session-key", "authenticator", "cipher", "pre-share", "preshare", "password", "secret", "key-string"];
/// The same, as whole words.
const WORDS: [&str; 8] = ["key", "psk", "keys", "auth", "auth-trunc", "enc", "aead", "session"];
/// Hex digits that are no SPI, address or count any more.
const LONG: usize = 14;

/// A line of which everything behind a word that announces a key is left out, and every long number in hex.
pub(in crate::policy) fn redacted(line: &str) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for word in line.split(' ') {
        if long_hex(word) {
            shown.push("<KEY>");
            continue;
        }
        shown.push(word);
        if announces(word) {
            shown.push("<KEY>");
            break;
        }
    }
    shown.join(" ")
}

fn announces(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let word = word.as_str();
    KEYWORDS.iter().any(|keyword| word.contains(keyword)) || WORDS.contains(&word) || short_for(word, "session-key", 4)
}

fn long_hex(word: &str) -> bool {
    let digits = word.trim_start_matches("0x").trim_matches(|c: char| !c.is_ascii_alphanumeric());
    digits.len() >= LONG && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The words at the beginning that a router takes as transforms: what stands behind them may be anything.
pub(in crate::policy) fn transforms<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let known = |word: &&&str| {
        let name = ["esp-", "ah-", "comp-"].iter().find_map(|start| word.strip_prefix(start));
        matches!(**word, "128" | "192" | "256")
            || name.is_some_and(|name| {
                name.len() <= 16
                    && name.split('-').all(|part| part.len() <= 8 && part.bytes().all(|b| b.is_ascii_alphanumeric()))
            })
    };
    words.iter().take_while(known).copied().collect()
}

/// The names at the beginning of a list of names: another command may stand behind them.
pub(in crate::policy) fn names<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let another =
        |word: &str| matches!(word, "set" | "match" | "crypto" | "isakmp" | "ikev2" | "interface" | "ip" | "no");
    words.iter().take_while(|word| !another(word) && !announces(word) && !long_hex(word)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_behind_a_word_that_announces_a_key_is_left() {
        let line = "ip address 10.0.0.1 255.0.0.0 set session-key inbound esp 1 cipher ABCD";
        assert_eq!(redacted(line), "ip address 10.0.0.1 255.0.0.0 set session-key <KEY>");
        assert_eq!(redacted("set peer 10.0.0.1 00112233445566778899"), "set peer 10.0.0.1 <KEY>");
        assert_eq!(redacted("spi: 0x3EA(1002)"), "spi: 0x3EA(1002)");
        assert_eq!(transforms(&["esp-aes", "256", "esp-sha-hmac", "ator", "ABCD"]), ["esp-aes", "256", "esp-sha-hmac"]);
    }
}
