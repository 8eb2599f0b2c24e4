//! Wireshark's `esp_sa` table: one SA a line, columns in quotes.

use crate::model::Protocol;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, Installed};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::words::{address, spi};

/// `"IPv4","192.168.1.1","192.168.1.2","0x000003ea","AES-CBC [RFC3602]","0x...","HMAC-SHA-1-96 [RFC2404]","0x..."`.
pub(in crate::policy) fn line(text: &str, builder: &mut Builder) -> Read {
    if text.starts_with("# ") && text.contains("esp_sa") {
        return Read::Understood;
    }
    if !text.starts_with("\"IPv4\"") && !text.starts_with("\"IPv6\"") && !text.starts_with("\"Any\"") {
        return Read::Foreign;
    }
    let columns = columns(text);
    let [_, src, dst, index, encryption, encryption_key, authentication, authentication_key, rest @ ..] =
        columns.as_slice()
    else {
        builder.wrong("a row of esp_sa needs eight columns");
        return Read::Understood;
    };
    // A column too few moves the keys: only known names stand where algorithms are.
    let (Some(encryption), Some(authentication)) = (algorithm(encryption), algorithm(authentication)) else {
        builder.wrong("a row of esp_sa whose algorithms are not known is left out");
        return Read::Understood;
    };
    if rest.len() > 1 {
        builder.wrong("a row of esp_sa has more than nine columns");
    }
    // `*` and patterns stand for any address or SPI.
    let Some(spi) = spi(index) else {
        builder.wrong("a row of esp_sa whose SPI is no single number is left out");
        return Read::Understood;
    };
    let key = |word: &str| (!matches!(word, "" | "0x")).then(|| Secret::new(word));
    // `*` and patterns of addresses have no key in them; other words are not shown.
    let end = |word: &str| address(word).map_or_else(|| "*".to_owned(), |end| end.to_string());
    let cite = builder.cite_made(&format!(
        "\"{}\",\"{}\",\"0x{:08x}\",\"{encryption}\",<KEY>,\"{authentication}\",<KEY>",
        end(src),
        end(dst),
        spi.0
    ));
    let sa = Installed {
        src: address(src),
        dst: address(dst),
        words: format!("{} {}", plain(encryption), plain(authentication)),
        cipher: key(encryption_key),
        authenticator: key(authentication_key),
        ..Installed::listed(Display::EspSa, Protocol::Esp, spi, cite)
    };
    if let Some(router) = builder.router() {
        router.installed.push(sa);
    }
    Read::Understood
}

/// The columns of a row; commas in quotes belong to a column, and a quote in one is written twice.
fn columns(row: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    for c in row.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(String::new()),
            c => columns.last_mut().into_iter().for_each(|column| column.push(c)),
        }
    }
    columns.iter().map(|column| column.trim().to_owned()).collect()
}

/// An algorithm without the document that defines it: `AES-CBC [RFC3602]`. `None` for what names none.
fn plain(word: &str) -> &str {
    word.split_once(" [").map_or(word, |(name, _)| name)
}

/// The column, where it names an algorithm.
fn algorithm(word: &str) -> Option<&str> {
    const STARTS: [&str; 12] = [
        "NULL",
        "AES-",
        "TripleDES-CBC",
        "DES-CBC",
        "CAST5-CBC",
        "BLOWFISH-CBC",
        "TWOFISH-CBC",
        "ChaCha20",
        "HMAC-",
        "MAC-RIPEMD-160",
        "ANY ",
        "AES-XCBC-MAC",
    ];
    let known = word.len() <= 64 && STARTS.iter().any(|start| word.starts_with(start));
    let redacted = crate::policy::facts::redact::redacted(word) == word;
    (known && redacted).then_some(word)
}
