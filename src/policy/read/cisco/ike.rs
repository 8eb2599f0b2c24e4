//! IKE policies, proposals and pre-shared keys.

use crate::policy::Net;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{IkeKey, IkePolicy};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::limits::MAX_BLOCKS;
use crate::policy::words::address;

pub(super) enum Opened {
    /// A policy begins: its place among the router's.
    Policy(usize),
    /// The line stands for itself.
    Line,
    Foreign,
}

pub(super) fn open(text: &str, words: &[&str], builder: &mut Builder) -> Opened {
    match words {
        ["crypto", "isakmp", "policy", number] => begin(1, number, text, builder),
        ["crypto", "ikev2", "proposal", name] => begin(2, name, text, builder),
        ["crypto", "isakmp", "key", rest @ ..] => {
            pre_shared(rest, builder);
            Opened::Line
        }
        ["crypto", "isakmp", "enable", ..] => {
            if let Some(router) = builder.router() {
                router.forwarding.ike_off = None;
            }
            Opened::Line
        }
        ["crypto", "isakmp", "keepalive" | "identity" | "nat" | "invalid-spi-recovery" | "aggressive-mode", ..] => {
            Opened::Line
        }
        _ => {
            elsewhere(builder);
            Opened::Foreign
        }
    }
}

/// Notes that pre-shared keys may come from lines that are not read.
pub(super) fn elsewhere(builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.other_keys = true;
    }
}

fn begin(version: u8, name: &str, text: &str, builder: &mut Builder) -> Opened {
    let cite = builder.cite(text);
    let Some(router) = builder.router() else { return Opened::Line };
    let (encryption, hash, group) = (Vec::new(), Vec::new(), Vec::new());
    let policy = IkePolicy {
        version,
        name: name.to_owned(),
        encryption,
        hash,
        group,
        authentication: None,
        cites: vec![cite],
        cut: false,
    };
    match router.ike.iter().position(|old| old.version == version && old.name == name) {
        Some(at) => Opened::Policy(at),
        None if router.ike.len() >= MAX_BLOCKS => {
            builder.beyond(&format!("more than {MAX_BLOCKS} IKE policies of one router; the rest is left out"));
            Opened::Line
        }
        None => {
            router.ike.push(policy);
            Opened::Policy(router.ike.len() - 1)
        }
    }
}

/// `key [0|6] KEY address PEER`.
fn pre_shared(words: &[&str], builder: &mut Builder) {
    let (encrypted, words) = match words {
        ["0", rest @ ..] if rest.len() >= 3 => (false, rest),
        ["6" | "7", rest @ ..] if rest.len() >= 3 => (true, rest),
        words => (false, words),
    };
    let [key, "address", peer, rest @ ..] = words else {
        builder.wrong("a pre-shared key without `address PEER` is not read");
        elsewhere(builder);
        return;
    };
    let Some(peer) = address(peer) else {
        builder.wrong("a pre-shared key for something that is no address");
        elsewhere(builder);
        return;
    };
    let mask = rest.first().and_then(|mask| mask.parse::<std::net::Ipv4Addr>().ok());
    // 0.0.0.0 is any peer, with and without a mask.
    let mask = mask.map_or(u128::MAX, |mask| u128::from(mask.to_bits()));
    let covers = Net::masked(peer, if peer.to_ip().is_unspecified() { 0 } else { mask });
    let cite = builder.cite_made(&format!("crypto isakmp key <KEY> address {peer}"));
    let key = (!encrypted).then(|| Secret::new(key));
    if let Some(router) = builder.router() {
        router.ike_keys.push(IkeKey { peer, covers, key, cite });
    }
}

/// A line of `show crypto isakmp key`: `default 10.0.0.1 KEY`.
pub(super) fn shown(words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["default", peer, key] if address(peer).is_some() => {
            pre_shared(&[key, "address", peer], builder);
            Read::Understood
        }
        // Keys of keyrings, networks and host names.
        [_, _, _] | [_, _, _, _] => {
            elsewhere(builder);
            Read::Understood
        }
        _ => Read::Foreign,
    }
}

/// Whether a word names an algorithm, a group or a method of IKE.
fn known(word: &str) -> bool {
    let starts = ["des", "3des", "aes", "md5", "sha", "seal", "null", "rsa-", "ecdsa-", "chacha20"];
    let number = word.len() <= 3 && word.bytes().all(|b| b.is_ascii_digit());
    number || word == "pre-share" || (word.len() <= 18 && starts.iter().any(|start| word.starts_with(start)))
}

/// A line of a policy or proposal.
pub(super) fn line(at: usize, words: &[&str], builder: &mut Builder) -> Read {
    // What stands behind the words of such lines may be another command, with a key.
    let words: Vec<&str> =
        words.iter().enumerate().take_while(|(at, word)| *at == 0 || known(word)).map(|(_, word)| *word).collect();
    let words = words.as_slice();
    let cite = builder.cite_made(&words.join(" "));
    let Some(policy) = builder.router().and_then(|router| router.ike.get_mut(at)) else { return Read::Foreign };
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match (policy.version, words) {
        (1, ["encr" | "encryption", cipher @ ..]) => policy.encryption = vec![cipher.join(" ")],
        (1, ["hash", hash, ..]) => policy.hash = vec![(*hash).to_owned()],
        (1, ["authentication", method, ..]) => policy.authentication = Some((*method).to_owned()),
        (1, ["group", group, ..]) => policy.group = vec![(*group).to_owned()],
        (2, ["encryption", ciphers @ ..]) => policy.encryption.extend(list(ciphers)),
        (2, ["integrity", hashes @ ..]) => policy.hash.extend(list(hashes)),
        (2, ["group", groups @ ..]) => policy.group.extend(list(groups)),
        (_, ["lifetime" | "prf", ..]) => return Read::Understood,
        _ => return Read::Foreign,
    }
    policy.cites.push(cite);
    Read::Understood
}
