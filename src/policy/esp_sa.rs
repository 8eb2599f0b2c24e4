//! Wireshark's `esp_sa` table, written from what policies state: the one place where keys leave the program, on request alone.

use std::collections::BTreeSet;

use super::{Policies, Secret, Stated};
use crate::model::Protocol;
use crate::transform::Esp;

/// What was written, and what could not be.
#[derive(Clone, Default)]
pub struct EspSaTable {
    /// The table, with keys.
    pub text: String,
    /// SAs in it.
    pub sas: usize,
    /// SAs that are not, each with the reason, without keys.
    pub left_out: Vec<String>,
}

impl std::fmt::Debug for EspSaTable {
    /// Nothing of the keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EspSaTable").field("sas", &self.sas).field("left_out", &self.left_out).finish_non_exhaustive()
    }
}

/// The ESP SAs with both ends and all keys, one a line, each once.
#[must_use]
pub fn esp_sa(policies: &Policies) -> EspSaTable {
    let mut table = EspSaTable::default();
    let (mut rows, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for stated in policies.view().stated.iter().filter(|one| one.used && one.protocol == Protocol::Esp) {
        match row(stated) {
            Ok(row) => {
                rows.insert(row);
            }
            Err(why) => {
                left_out.insert(format!("ESP 0x{:08x}: {why}", stated.spi.0));
            }
        }
    }
    table.sas = rows.len();
    table.text = rows.into_iter().collect();
    table.left_out = left_out.into_iter().collect();
    table
}

fn row(stated: &Stated) -> Result<String, &'static str> {
    let (Some(src), Some(dst)) = (stated.src, stated.dst) else { return Err("its addresses are not stated") };
    let esp = stated.suite.as_ref().and_then(|suite| suite.esp).ok_or("its transform is not stated")?;
    let encryption = encryption(&esp).ok_or("Wireshark does not decrypt its cipher")?;
    let authentication = authentication(&esp).ok_or("Wireshark has no ICV of that length")?;
    let cipher = key(stated.cipher.as_ref(), encryption == "NULL")?;
    let checked = !matches!(authentication, "NULL") && !authentication.starts_with("ANY");
    let authenticator = key(stated.authenticator.as_ref().filter(|_| checked), !checked)?;
    let version = if src.is_v4() { "IPv4" } else { "IPv6" };
    let spi = stated.spi.0;
    Ok(format!(
        "\"{version}\",\"{src}\",\"{dst}\",\"0x{spi:08x}\",\"{encryption}\",\"{cipher}\",\"{authentication}\",\"{authenticator}\"\n"
    ))
}

/// A key in hex digits; empty where none is needed.
fn key(secret: Option<&Secret>, needless: bool) -> Result<String, &'static str> {
    let Some(octets) = secret.and_then(Secret::octets) else {
        return if needless { Ok(String::new()) } else { Err("a key is missing or not in hex digits") };
    };
    Ok(octets.iter().fold("0x".to_owned(), |digits, octet| digits + &format!("{octet:02x}")))
}

/// Wireshark's name of a cipher.
fn encryption(esp: &Esp) -> Option<&'static str> {
    Some(match esp.cipher.name {
        "NULL" => "NULL",
        "AES-CBC" => "AES-CBC [RFC3602]",
        "3DES-CBC" => "TripleDES-CBC [RFC2451]",
        "DES-CBC" => "DES-CBC [RFC2405]",
        "AES-CTR" => "AES-CTR [RFC3686]",
        "AES-GCM-16" => "AES-GCM with 16 octet ICV [RFC4106]",
        "AES-GCM-12" => "AES-GCM with 12 octet ICV [RFC4106]",
        "AES-GCM-8" => "AES-GCM with 8 octet ICV [RFC4106]",
        _ => return None,
    })
}

/// Wireshark's name of an integrity algorithm; one that it does not know is left unchecked.
fn authentication(esp: &Esp) -> Option<&'static str> {
    let Some(integrity) = esp.integrity else { return Some("NULL") };
    Some(match (integrity.name, integrity.icv) {
        ("HMAC-SHA1-96", _) => "HMAC-SHA-1-96 [RFC2404]",
        ("HMAC-MD5-96", _) => "HMAC-MD5-96 [RFC2403]",
        ("HMAC-SHA2-256-128", _) => "HMAC-SHA-256-128 [RFC4868]",
        ("HMAC-SHA2-256-96", _) => "HMAC-SHA-256-96 [draft-ietf-ipsec-ciph-sha-256-00]",
        ("HMAC-SHA2-384-192", _) => "HMAC-SHA-384-192 [RFC4868]",
        ("HMAC-SHA2-512-256", _) => "HMAC-SHA-512-256 [RFC4868]",
        ("HMAC-RIPEMD160-96", _) => "MAC-RIPEMD-160-96 [RFC2857]",
        (_, 8) => "ANY 64 bit authentication [no checking]",
        (_, 12) => "ANY 96 bit authentication [no checking]",
        (_, 16) => "ANY 128 bit authentication [no checking]",
        (_, 24) => "ANY 192 bit authentication [no checking]",
        (_, 32) => "ANY 256 bit authentication [no checking]",
        _ => return None,
    })
}
