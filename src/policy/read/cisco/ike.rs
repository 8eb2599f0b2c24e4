//! IKE policies, proposals and pre-shared keys.

use crate::policy::Net;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::forwarding::like;
use crate::policy::facts::router::{IkeKey, IkePolicy};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::limits::MAX_BLOCKS;
use crate::policy::words::{address, short_for};

pub(super) enum Opened {
    /// A policy begins: its place among the router's.
    Policy(usize),
    /// A policy of IKEv2 begins.
    Proposals,
    /// The line stands for itself.
    Line,
    Foreign,
}

pub(super) fn open(text: &str, words: &[&str], builder: &mut Builder) -> Opened {
    match words {
        ["crypto", "isakmp", "policy", number] => begin(1, number, text, builder),
        ["crypto", "ikev2", "proposal", name] => begin(2, name, text, builder),
        ["crypto", "ikev2", "policy", _] => {
            elsewhere(builder);
            Opened::Proposals
        }
        ["crypto", "isakmp", "profile", ..] => {
            keyrings(builder);
            elsewhere(builder);
            Opened::Foreign
        }
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

/// Notes that entries choose among keyrings, which are not read.
pub(super) fn keyrings(builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.keyrings = true;
    }
}

/// A line of a policy of IKEv2: the proposals that it offers.
pub(super) fn attached(words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["proposal", name] => {
            if let Some(router) = builder.router() {
                router.forwarding.attached.insert((*name).to_owned());
            }
            Read::Understood
        }
        ["no", "proposal", name] => {
            if let Some(router) = builder.router() {
                router.forwarding.attached.remove(*name);
            }
            Read::Understood
        }
        ["match", "fvrf" | "address", ..] => Read::Understood,
        _ => Read::Foreign,
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
        prf: Vec::new(),
        authentication: None,
        cites: vec![cite],
        unsure: [false; 4],
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
    let (key, peer, rest) = match words {
        [key, place, peer, rest @ ..] if short_for(place, "address", 1) => (key, peer, rest),
        _ => {
            builder.wrong("a pre-shared key without `address PEER` is not read");
            elsewhere(builder);
            return;
        }
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
    number || METHODS.contains(&word) || (word.len() <= 18 && starts.iter().any(|start| word.starts_with(start)))
}

/// How the ends of IKEv1 prove who they are.
const METHODS: [&str; 4] = ["pre-share", "rsa-sig", "rsa-encr", "ecdsa-sig"];

/// The lines of a policy, in the order of `IkePolicy::unsure`.
const LINES: [&str; 4] = ["encryption", "hash", "group", "authentication"];

/// What an IKEv1 policy has in one of its lines; `None` where that is not known.
fn value(line: &str, words: &[&str]) -> Option<String> {
    let [first, rest @ ..] = words else { return None };
    let known = match line {
        "encryption" => match (*first, rest.first()) {
            ("aes", Some(bits)) if bits.bytes().all(|b| b.is_ascii_digit()) => {
                return matches!(*bits, "128" | "192" | "256").then(|| format!("aes {bits}"));
            }
            (cipher, _) => matches!(cipher, "des" | "3des" | "aes"),
        },
        "hash" => matches!(*first, "md5" | "sha" | "sha256" | "sha384" | "sha512"),
        "group" => first.len() <= 2 && first.bytes().all(|b| b.is_ascii_digit()),
        _ => {
            let mut fitting = METHODS.iter().filter(|method| method.starts_with(first));
            let only = fitting.next().filter(|_| fitting.next().is_none());
            return only.map(|method| (*method).to_owned());
        }
    };
    known.then(|| (*first).to_owned())
}

/// A line of a policy or proposal.
pub(super) fn line(at: usize, words: &[&str], builder: &mut Builder) -> Read {
    let ["encr" | "encryption" | "hash" | "integrity" | "group" | "authentication" | "lifetime" | "prf", values @ ..] =
        words
    else {
        return Read::Foreign;
    };
    if values.is_empty() {
        return Read::Foreign;
    }
    match builder.router().and_then(|router| router.ike.get(at)).map(|policy| policy.version) {
        Some(1) => line_of_policy(at, words, builder),
        Some(_) => line_of_proposal(at, words, builder),
        None => Read::Foreign,
    }
}

fn line_of_policy(at: usize, words: &[&str], builder: &mut Builder) -> Read {
    let [first, values @ ..] = words else { return Read::Foreign };
    if *first == "lifetime" {
        return Read::Understood;
    }
    let Some(number) = LINES.iter().position(|line| line.starts_with(first)) else { return Read::Foreign };
    let line = LINES.get(number).copied().unwrap_or_default();
    let value = value(line, values);
    // What stands behind the words of such lines may be another command, with a key.
    let shown = value.as_ref().map_or_else(|| line.to_owned(), |value| format!("{first} {value}"));
    let cite = builder.cite_made(&shown);
    if value.is_none() {
        builder.wrong("a value in an IKE policy that is not known: it is not compared");
    }
    let Some(policy) = builder.router().and_then(|router| router.ike.get_mut(at)) else { return Read::Foreign };
    if let Some(unsure) = policy.unsure.get_mut(number) {
        *unsure = value.is_none();
    }
    match line {
        "encryption" => policy.encryption = value.into_iter().collect(),
        "hash" => policy.hash = value.into_iter().collect(),
        "group" => policy.group = value.into_iter().collect(),
        _ => policy.authentication = value,
    }
    policy.cites.push(cite);
    Read::Understood
}

fn line_of_proposal(at: usize, words: &[&str], builder: &mut Builder) -> Read {
    // What stands behind the words of such lines may be another command, with a key.
    let words: Vec<&str> =
        words.iter().enumerate().take_while(|(at, word)| *at == 0 || known(word)).map(|(_, word)| *word).collect();
    let cite = builder.cite_made(&words.join(" "));
    let Some(policy) = builder.router().and_then(|router| router.ike.get_mut(at)) else { return Read::Foreign };
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match words.as_slice() {
        ["encr" | "encryption", ciphers @ ..] => policy.encryption.extend(list(ciphers)),
        ["integrity", hashes @ ..] => policy.hash.extend(list(hashes)),
        ["group", groups @ ..] => policy.group.extend(list(groups)),
        ["prf", functions @ ..] => policy.prf.extend(list(functions)),
        ["lifetime", ..] => return Read::Understood,
        _ => return Read::Foreign,
    }
    policy.cites.push(cite);
    Read::Understood
}

/// A line of a policy that is not understood: what its first word speaks of is there and not known.
pub(super) fn unread(at: usize, text: &str, builder: &mut Builder) {
    let first = text.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let Some(policy) = builder.continues().and_then(|router| router.ike.get_mut(at)) else { return };
    for (unsure, line) in policy.unsure.iter_mut().zip(LINES) {
        *unsure |= like(&first, line) || line == "encryption" && like(&first, "encr");
    }
}
