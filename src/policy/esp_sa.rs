//! Wireshark's `esp_sa` table: one SA a line, columns in quotes.

use super::builder::Builder;
use super::paste::Read;
use super::router::{Display, Installed};
use super::secret::Secret;
use super::words::{address, spi};
use crate::model::Protocol;

/// `"IPv4","192.168.1.1","192.168.1.2","0x000003ea","AES-CBC [RFC3602]","0x...","HMAC-SHA-1-96 [RFC2404]","0x..."`.
pub(super) fn line(text: &str, builder: &mut Builder) -> Read {
    if text.starts_with("# ") && text.contains("esp_sa") {
        return Read::Understood;
    }
    if !text.starts_with("\"IPv4\"") && !text.starts_with("\"IPv6\"") && !text.starts_with("\"Any\"") {
        return Read::Foreign;
    }
    let columns: Vec<&str> = text.split(',').map(|column| column.trim().trim_matches('"')).collect();
    let [_, src, dst, index, encryption, encryption_key, authentication, authentication_key, ..] = columns.as_slice()
    else {
        builder.wrong("a row of esp_sa needs eight columns");
        return Read::Understood;
    };
    // `*` and patterns stand for any address or SPI.
    let Some(spi) = spi(index) else {
        builder.wrong("a row of esp_sa whose SPI is no single number is left out");
        return Read::Understood;
    };
    let key = |word: &str| (!matches!(word, "" | "0x")).then(|| Secret::new(word));
    let cite =
        builder.cite(&format!("\"{src}\",\"{dst}\",\"{index}\",\"{encryption}\",<KEY>,\"{authentication}\",<KEY>"));
    let plain = |word: &str| word.split_once(" [").map_or(word, |(name, _)| name).to_owned();
    let sa = Installed {
        display: Display::EspSa,
        protocol: Protocol::Esp,
        way: None,
        src: address(src),
        dst: address(dst),
        spi,
        words: format!("{} {}", plain(encryption), plain(authentication)),
        mode: None,
        cipher: key(encryption_key),
        authenticator: key(authentication_key),
        udp: false,
        map: None,
        cites: vec![cite],
    };
    if let Some(router) = builder.router() {
        router.installed.push(sa);
    }
    Read::Understood
}
