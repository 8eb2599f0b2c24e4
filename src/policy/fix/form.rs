//! Transform sets in the words of the system that takes them.

/// The transforms of words as Cisco IOS takes them, of displays and of PIX and ASA too; `None` where IOS has no such word.
pub(in crate::policy) fn ios_set(words: &str) -> Option<String> {
    let mut typed = Vec::new();
    for word in words.split(' ').filter(|word| *word != "esp-none") {
        let (name, bits) = keyed(word);
        typed.push(match (name, bits) {
            ("esp-aes", Some(bits)) => format!("esp-aes {bits}"),
            ("esp-gcm" | "esp-gmac", Some(bits)) => format!("{name} {bits}"),
            (_, Some(_)) => return None,
            _ if matches!(word, "128" | "192" | "256") => word.to_owned(),
            _ if IOS.contains(&word) => word.to_owned(),
            _ => return None,
        });
    }
    (!typed.is_empty()).then(|| typed.join(" "))
}

/// The same as PIX and ASA take them with IKEv1: ESP, with MD5 and SHA-1 only; before release 7 AH, too.
pub(in crate::policy) fn asa_set(words: &str, has_ah: bool) -> Option<String> {
    let whole = ios_set(words)?.replace("esp-aes 128", "esp-aes").replace("esp-aes ", "esp-aes-");
    let whole = whole.replace("esp-aes-esp-", "esp-aes esp-");
    let known = |word: &str| ASA.contains(&word) || has_ah && matches!(word, "ah-md5-hmac" | "ah-sha-hmac");
    whole.split(' ').all(known).then_some(whole)
}

/// `esp-aes-256` and `esp-256-aes`: the name and the length of the key.
fn keyed(word: &str) -> (&str, Option<&str>) {
    let bits = ["128", "192", "256"].into_iter().find(|bits| word.split('-').any(|part| part == *bits));
    let name = ["aes", "gcm", "gmac"].into_iter().find(|name| word.split('-').any(|part| part == *name));
    match (bits, name) {
        (Some(bits), Some("aes")) => ("esp-aes", Some(bits)),
        (Some(bits), Some("gcm")) => ("esp-gcm", Some(bits)),
        (Some(bits), Some("gmac")) => ("esp-gmac", Some(bits)),
        _ => (word, None),
    }
}

/// Transforms of IOS that say no length.
const IOS: [&str; 19] = [
    "esp-des",
    "esp-3des",
    "esp-aes",
    "esp-gcm",
    "esp-gmac",
    "esp-seal",
    "esp-null",
    "esp-md5-hmac",
    "esp-sha-hmac",
    "esp-sha256-hmac",
    "esp-sha384-hmac",
    "esp-sha512-hmac",
    "ah-md5-hmac",
    "ah-sha-hmac",
    "ah-sha256-hmac",
    "ah-sha384-hmac",
    "ah-sha512-hmac",
    "comp-lzs",
    "ah-rfc1828",
];

/// Transforms of every release of PIX and ASA.
const ASA: [&str; 8] =
    ["esp-des", "esp-3des", "esp-aes", "esp-aes-192", "esp-aes-256", "esp-null", "esp-md5-hmac", "esp-sha-hmac"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_in_the_words_of_the_system_that_takes_it() {
        assert_eq!(ios_set("esp-aes-256 esp-sha-hmac").as_deref(), Some("esp-aes 256 esp-sha-hmac"));
        assert_eq!(ios_set("esp-192-aes esp-sha-hmac").as_deref(), Some("esp-aes 192 esp-sha-hmac"));
        assert_eq!(ios_set("esp-aes 256 esp-none").as_deref(), Some("esp-aes 256"));
        assert_eq!(ios_set("esp-chacha20").as_deref(), None);
        assert_eq!(asa_set("esp-aes 256 esp-sha-hmac", false).as_deref(), Some("esp-aes-256 esp-sha-hmac"));
        assert_eq!(asa_set("esp-aes esp-sha-hmac", false).as_deref(), Some("esp-aes esp-sha-hmac"));
        assert_eq!(asa_set("esp-aes 128 esp-md5-hmac", true).as_deref(), Some("esp-aes esp-md5-hmac"));
        assert_eq!(asa_set("esp-aes 256 esp-sha256-hmac", true), None);
        assert_eq!(asa_set("ah-sha-hmac esp-3des", false), None);
        assert_eq!(asa_set("ah-sha-hmac esp-3des", true).as_deref(), Some("ah-sha-hmac esp-3des"));
        assert_eq!(asa_set("ah-sha256-hmac esp-3des", true), None);
    }
}
