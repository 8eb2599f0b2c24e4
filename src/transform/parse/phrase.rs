//! From text to words: lower case, without what only decorates a name.

/// The words of a text. Parentheses hold a word together, brackets and quotes are decoration, and phrases that stand
/// for one name (`AES-GCM with 16 octet ICV`) become that name.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut depth, mut bracket) = (0_u32, false);
    for c in text.chars().chain([' ']) {
        let c = c.to_ascii_lowercase();
        match c {
            '[' => bracket = true,
            ']' => bracket = false,
            _ if bracket => {}
            '(' => {
                depth += 1;
                word.push(c);
            }
            ')' => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            '"' | '\'' | '`' | '!' => {}
            _ if depth == 0 && (c.is_whitespace() || matches!(c, '+' | '/' | ',' | ';' | ':' | '=' | '{' | '}')) => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c if c.is_whitespace() => {}
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    joined(&words)
}

/// Makes one word of a phrase.
fn joined(words: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = |n: usize| words.get(at + n).map_or("", String::as_str);
        let number = |n: usize| next(n).parse::<u32>().is_ok();
        if word == "with" && number(1) && matches!(next(2), "octet" | "byte") && next(3) == "icv" {
            if let Some(last) = found.last_mut() {
                last.push('-');
                last.push_str(next(1));
            }
            at += 4;
        } else if word == "with" && next(1) == "poly1305" {
            if let Some(last) = found.last_mut() {
                last.push_str("-poly1305");
            }
            at += 2;
        } else if word == "any" && number(1) && next(2) == "bit" && next(3) == "authentication" {
            found.push(format!("any-{}", next(1)));
            at += 4;
        } else {
            found.push(word.clone());
            at += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoration_goes_and_phrases_become_names() {
        assert_eq!(words("AES-CBC [RFC3602]"), ["aes-cbc"]);
        assert_eq!(words("\"AES-GCM with 16 octet ICV [RFC4106]\""), ["aes-gcm-16"]);
        assert_eq!(words("ANY 96 bit authentication [no checking]"), ["any-96"]);
        assert_eq!(words("ChaCha20 with Poly1305 [RFC7634]"), ["chacha20-poly1305"]);
        assert_eq!(words("rfc7539esp(chacha20, poly1305) 128"), ["rfc7539esp(chacha20,poly1305)", "128"]);
        assert_eq!(words("{ esp-aes 256 esp-sha-hmac }"), ["esp-aes", "256", "esp-sha-hmac"]);
        assert_eq!(words(" with 16 octet icv"), <[&str; 0]>::default());
        assert_eq!(words("cbc(aes"), ["cbc(aes"]);
    }
}
