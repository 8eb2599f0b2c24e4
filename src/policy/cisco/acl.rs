//! Access lists: what goes into the tunnel.

use super::super::builder::Builder;
use super::super::paste::Read;
use super::super::router::{Acl, Denied};
use super::super::selector::{Net, Selector};
use super::super::words::address;
use crate::model::Address;

pub(super) enum Opened {
    /// A named list begins.
    List(String),
    /// A numbered list's line was read.
    Line,
    Foreign,
}

pub(super) fn open(text: &str, words: &[&str], builder: &mut Builder) -> Opened {
    match words {
        ["ip", "access-list", "extended" | "standard", name] | ["ipv6", "access-list", name] => {
            let cite = builder.cite(text);
            if let Some(router) = builder.router() {
                router.acls.entry((*name).to_owned()).or_insert_with(|| Acl {
                    permits: Vec::new(),
                    denies: Vec::new(),
                    cite,
                });
            }
            Opened::List((*name).to_owned())
        }
        ["access-list", name, rest @ ..] => {
            if line(name, text, rest, builder) == Read::Understood {
                Opened::Line
            } else {
                Opened::Foreign
            }
        }
        _ => Opened::Foreign,
    }
}

/// `permit ip host A host B`, with or without a number before it.
pub(super) fn line(name: &str, text: &str, words: &[&str], builder: &mut Builder) -> Read {
    let words = match words {
        ["sequence", _, rest @ ..] => rest,
        [number, rest @ ..] if number.bytes().all(|b| b.is_ascii_digit()) => rest,
        words => words,
    };
    match words {
        ["remark", ..] => Read::Understood,
        ["deny", rest @ ..] => {
            let selector = selector(rest);
            let shown =
                selector.as_ref().map_or_else(|| "deny".to_owned(), |selector| format!("deny {}", selector.typed()));
            let cite = builder.cite(&shown);
            if let Some(router) = builder.router() {
                let acl = router.acls.entry(name.to_owned());
                let acl = acl.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() });
                acl.denies.push(Denied { behind: acl.permits.len(), selector, cite });
            }
            Read::Understood
        }
        ["permit", rest @ ..] => {
            let cite = builder.cite(text);
            match selector(rest) {
                Some(selector) => {
                    if let Some(router) = builder.router() {
                        let acl = router.acls.entry(name.to_owned());
                        acl.or_insert_with(|| Acl { permits: Vec::new(), denies: Vec::new(), cite: cite.clone() })
                            .permits
                            .push((selector, cite));
                    }
                }
                None => builder
                    .wrong("an access list line that cannot be read: addresses with wildcard, host, any or a prefix"),
            }
            Read::Understood
        }
        _ => Read::Foreign,
    }
}

fn selector(words: &[&str]) -> Option<Selector> {
    let (protocol, rest) = words.split_first()?;
    let (src, rest) = net(rest)?;
    let (src_port, rest) = port(rest);
    let (dst, rest) = net(rest)?;
    let (dst_port, _) = port(rest);
    let protocol = if *protocol == "ipv6" { "ip" } else { protocol };
    Some(Selector { protocol: protocol.to_owned(), src, src_port, dst, dst_port })
}

fn net<'w>(words: &'w [&'w str]) -> Option<(Net, &'w [&'w str])> {
    match words {
        ["any" | "any4", rest @ ..] => Some((Net::any(true), rest)),
        ["any6", rest @ ..] => Some((Net::any(false), rest)),
        ["host", word, rest @ ..] => Some((Net::host(address(word)?), rest)),
        [word, rest @ ..] if word.contains('/') => {
            let (base, prefix) = word.split_once('/')?;
            Some((Net::prefix(address(base)?, prefix.parse().ok()?)?, rest))
        }
        [base, wildcard, rest @ ..] => {
            let wildcard: std::net::Ipv4Addr = wildcard.parse().ok()?;
            let base = address(base).filter(|base: &Address| base.is_v4())?;
            Some((Net::masked(base, u128::from(!wildcard.to_bits())), rest))
        }
        _ => None,
    }
}

fn port<'w>(words: &'w [&'w str]) -> (String, &'w [&'w str]) {
    match words {
        [how @ ("eq" | "gt" | "lt" | "neq"), port, rest @ ..] => (format!("{how} {port}"), rest),
        ["range", from, to, rest @ ..] => (format!("range {from} {to}"), rest),
        _ => (String::new(), words),
    }
}
