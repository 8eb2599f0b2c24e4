//! Interfaces: addresses, the crypto map, the tunnel.

use super::{forwarding, interface_name, link};
use crate::model::Address;
use crate::policy::Cite;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::Interface;
use crate::policy::facts::selector::Net;
use crate::policy::form::paste::Read;
use crate::policy::words::address;

/// The name of an interface; its number may stand apart: `interface GigabitEthernet 0/0`.
pub(super) fn name(first: &str, rest: &[&str]) -> String {
    let number = rest.first().filter(|word| word.len() < 12 && word.starts_with(|c: char| c.is_ascii_digit()));
    interface_name(&format!("{first}{}", number.unwrap_or(&"")))
}

/// Interfaces of one range.
const RANGE: u32 = 64;

/// The interfaces of `interface range GigabitEthernet0/1 - 3 , Gi0/5`.
pub(super) fn range(words: &[&str]) -> Vec<String> {
    let all = words.concat();
    let mut names = Vec::new();
    for part in all.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, ""));
        let first = interface_name(first);
        let digits = first.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (stem, from) = first.split_at(first.len() - digits);
        let Ok(from) = from.parse::<u32>() else { continue };
        let ends = last.bytes().rev().take_while(u8::is_ascii_digit).count();
        let to = last.get(last.len() - ends..).and_then(|to| to.parse::<u32>().ok()).unwrap_or(from);
        names.extend((from..=to.min(from.saturating_add(RANGE))).map(|number| format!("{stem}{number}")));
    }
    names
}

/// `crypto map M` below an interface.
pub(super) fn carry(interface: &str, map: &str, text: &str, builder: &mut Builder) -> Read {
    let cite = builder.cite(text);
    edit(interface, builder, |interface| interface.map = Some((map.to_owned(), cite)));
    Read::Understood
}

/// `crypto map M interface outside` of PIX and ASA, where interfaces go by the name that `nameif` gives them.
pub(super) fn carries(called: &str, map: &str, builder: &mut Builder) -> Read {
    let cite = builder.cite(&format!("crypto map {map} interface {called}"));
    if let Some(router) = builder.router() {
        let known = router.interfaces.iter_mut().find(|(_, one)| one.called.as_deref() == Some(called));
        match known {
            Some((_, interface)) => interface.map = Some((map.to_owned(), cite)),
            None => router.interfaces.entry(called.to_owned()).or_default().map = Some((map.to_owned(), cite)),
        }
    }
    Read::Understood
}

/// PIX before release 7: `nameif ethernet0 outside security0` and `ip address outside 10.0.0.1 255.0.0.0`, outside of any block.
pub(super) fn named(words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["nameif", interface, called, _] => {
            let called = (*called).to_owned();
            edit(&interface_name(interface), builder, |interface| interface.called = Some(called));
        }
        ["ip", "address", called, own, mask] => {
            let (Some(own), Some(mask)) = (address(own), mask_of(mask)) else { return Read::Foreign };
            let cite = builder.cite(&format!("ip address {called} {own}"));
            let Some(router) = builder.router() else { return Read::Understood };
            let known = router.interfaces.iter().find(|(_, one)| one.called.as_deref() == Some(*called));
            let interface = known.map_or_else(|| (*called).to_owned(), |(name, _)| name.clone());
            edit(&interface, builder, |interface| add(interface, own, mask, cite));
        }
        _ => return Read::Foreign,
    }
    Read::Understood
}

fn add(interface: &mut Interface, own: Address, mask: u128, cite: Cite) {
    interface.networks.push(Net::masked(own, mask));
    interface.addresses.push((own, cite));
}

fn mask_of(word: &str) -> Option<u128> {
    word.parse::<std::net::Ipv4Addr>().ok().map(|mask| u128::from(mask.to_bits()))
}

/// `nameif outside` below an interface: PIX since release 7, and ASA.
fn name_of_asa(on: &str, called: &str, builder: &mut Builder) {
    let called = called.to_owned();
    edit(on, builder, |interface| interface.called = Some(called));
    set_asa(builder);
}

fn set_asa(builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.is_asa = true;
    }
}

/// Takes note of a line outside of interfaces that PIX has since release 7, and ASA.
pub(super) fn note_asa(words: &[&str], builder: &mut Builder) {
    let is_one = matches!(
        words,
        ["tunnel-group", ..]
            | ["crypto", "ikev1", ..]
            | ["crypto", "ipsec", "ikev1", ..]
            | ["crypto", "map", _, _, "set", "ikev1", ..]
    );
    if is_one {
        set_asa(builder);
    }
}

/// A line below an interface.
pub(super) fn line(on: &str, words: &[&str], builder: &mut Builder) -> Read {
    // The words that each arm reads, and none behind them.
    let first = |count: usize| words.iter().take(count).copied().collect::<Vec<_>>().join(" ");
    let cite = builder.cite(&first(if words.starts_with(&["tunnel", "protection"]) { 5 } else { 4 }));
    match words {
        ["ip", "address", word, mask, ..] if !matches!(*word, "dhcp" | "negotiated") => {
            match (address(word), mask_of(mask)) {
                (Some(own), Some(mask)) => edit(on, builder, |interface| add(interface, own, mask, cite)),
                _ => no_address(on, builder),
            }
        }
        ["ipv6", "address", word, ..] => {
            let prefix = word.split_once('/').and_then(|(word, prefix)| Some((address(word)?, prefix.parse().ok()?)));
            if let Some((own, prefix)) = prefix {
                let cite = Cite { text: first(3).into(), ..cite };
                edit(on, builder, |interface| {
                    interface.networks.extend(Net::prefix(own, prefix));
                    interface.addresses.push((own, cite));
                });
            } else if !words.contains(&"link-local") {
                lent(on, builder);
            }
        }
        ["tunnel", "source", source, rest @ ..] => {
            let source = name(source, rest);
            edit(on, builder, |interface| interface.tunnel_source = Some(source));
        }
        ["tunnel", "destination", word, ..] => match address(word) {
            Some(far) => {
                let cite = Cite { text: first(3).into(), ..cite };
                edit(on, builder, |interface| interface.tunnel_destination = Some((far, cite)));
            }
            None => builder.wrong("a tunnel destination that is no address"),
        },
        ["tunnel", "protection", "ipsec", "profile", profile, ..] => {
            edit(on, builder, |interface| interface.protection = Some(((*profile).to_owned(), cite)));
        }
        ["ipv6", "crypto", "map", map] | ["crypto", "map", "ipv6", map] => {
            return carry(on, map, &format!("ipv6 crypto map {map}"), builder);
        }
        ["no", "crypto", "map"] => edit(on, builder, |interface| interface.map = None),
        ["no", "crypto", "map", name] => edit(on, builder, |interface| {
            interface.map = interface.map.take().filter(|(map, _)| map != name);
        }),
        ["nameif", called] => name_of_asa(on, called, builder),
        ["authentication" | "encryption" | "ospfv3", ..] | ["ipv6", "ospf", "authentication" | "encryption", ..] => {
            return link::line(Some(on), words, builder);
        }
        _ if forwarding::interface_line(on, words, builder) == Read::Understood => {}
        ["ip" | "ipv6", "access-list" | "route" | "default-gateway" | "default-network", ..] => return Read::Foreign,
        ["tunnel", "protection", ..] => return Read::Foreign,
        ["ip" | "ipv6" | "tunnel", ..] => {}
        _ => return Read::Foreign,
    }
    Read::Understood
}

fn no_address(name: &str, builder: &mut Builder) {
    builder.wrong("an interface address that is no address with a mask");
    lent(name, builder);
}

/// An interface has an address that is not known.
fn lent(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.ports.entry(name.to_owned()).or_default().leased = true;
    }
}

fn edit(name: &str, builder: &mut Builder, change: impl FnOnce(&mut Interface)) {
    if let Some(router) = builder.router() {
        change(router.interfaces.entry(name.to_owned()).or_default());
    }
}
