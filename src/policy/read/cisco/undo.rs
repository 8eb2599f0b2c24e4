//! Lines that take out what others said. Only that it is not known any more is noted; what they say of IPsec itself is told elsewhere.

use super::{Block, acl, map};
use crate::policy::facts::builder::Builder;

/// A line that may begin with `no`.
pub(super) fn line(block: &Block, words: &[&str], builder: &mut Builder) {
    global(words, builder);
    within(block, words, builder);
}

/// Lines were cut out within a block.
pub(super) fn cut_out(block: &Block, builder: &mut Builder) {
    match block {
        Block::Map(at) => map::cut_out(*at, builder),
        Block::Acl(name) => acl::vague(name, builder),
        _ => {}
    }
}

/// `no` before a command of the configuration at large, wherever it stands.
fn global(words: &[&str], builder: &mut Builder) {
    let ["no", words @ ..] = words else { return };
    let Some(router) = builder.continues() else { return };
    let forwarding = &mut router.forwarding;
    match words {
        ["ip", "nat", "inside", "source", ..] => forwarding.other_nat = true,
        ["ip" | "ipv6", "route", ..] => forwarding.other_routes = true,
        ["ip", "access-list", _, name, ..] | ["ipv6", "access-list", name, ..] | ["access-list", name, ..] => {
            forwarding.unsure.insert((*name).to_owned());
        }
        ["object-group", _, name, ..] => {
            forwarding.groups.remove(*name);
        }
        ["crypto", "isakmp", "key", ..] => forwarding.other_keys = true,
        _ => {}
    }
}

/// `no` before a line of a block.
fn within(block: &Block, words: &[&str], builder: &mut Builder) {
    let ["no", words @ ..] = words else { return };
    let Some(router) = builder.continues() else { return };
    let forwarding = &mut router.forwarding;
    let entry =
        matches!(words, ["permit" | "deny" | "sequence" | "host" | "network-object" | "group-object" | "range", ..])
            || words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match block {
        Block::Interface(name) => {
            let port = forwarding.ports.entry(name.clone()).or_default();
            match words {
                ["ip", "access-group", ..] | ["ipv6", "traffic-filter", ..] => port.filter_in = None,
                ["ip", "nat", ..] => port.nat_inside = None,
                ["tunnel", "key", ..] => port.tunnel_key = None,
                ["tunnel", "mode", ..] => port.tunnel_mode = None,
                _ => {}
            }
        }
        Block::Acl(name) if entry => {
            forwarding.unsure.insert(name.clone());
        }
        Block::Group(name) if entry => {
            forwarding.groups.remove(name);
        }
        _ => {}
    }
}
