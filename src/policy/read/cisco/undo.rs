//! Lines that take out what others said, that are missing, or that are not understood. All that is
//! kept here is what is unknown from then on. Lines about IPsec itself are read in the modules beside this one.

use super::{Block, Cisco, acl, ike, map};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::Interface;
use crate::policy::words::address;

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
        Block::Interface(name) => open(name, builder),
        Block::TransformSet(name) => {
            if let Some(set) = builder.continues().and_then(|router| router.transform_sets.get_mut(name)) {
                set.cut = true;
            }
        }
        Block::Ike(at) => {
            if let Some(policy) = builder.continues().and_then(|router| router.ike.get_mut(*at)) {
                policy.cut = true;
            }
        }
        _ => {}
    }
}

/// Further lines of an interface or a list may be missing.
pub(super) fn open(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.continues() {
        router.forwarding.open.insert(name.to_owned());
    }
}

/// `default interface NAME`: nothing of it is left.
pub(super) fn interface(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.continues() {
        router.interfaces.insert(name.to_owned(), Interface::default());
        router.forwarding.ports.remove(name);
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
        ["crypto", "isakmp", "key", rest @ ..] => {
            forwarding.other_keys = true;
            let said = rest.iter().position(|word| *word == "address").and_then(|at| address(rest.get(at + 1)?));
            router.ike_keys.retain(|key| Some(key.peer) != said);
        }
        _ => {}
    }
}

/// `no` or `default` before a line of a block.
fn within(block: &Block, words: &[&str], builder: &mut Builder) {
    let ["no" | "default", words @ ..] = words else { return };
    let Some(router) = builder.continues() else { return };
    let forwarding = &mut router.forwarding;
    let entry =
        matches!(words, ["permit" | "deny" | "sequence" | "host" | "network-object" | "group-object" | "range", ..])
            || words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    match block {
        Block::Interface(name) => {
            let interface = router.interfaces.entry(name.clone()).or_default();
            match words {
                ["tunnel", "protection", ..] => interface.protection = None,
                ["tunnel", "destination", ..] => interface.tunnel_destination = None,
                ["tunnel", "source", ..] => interface.tunnel_source = None,
                _ => {}
            }
            let port = forwarding.ports.entry(name.clone()).or_default();
            match words {
                ["shutdown" | "sh"] => port.shutdown = None,
                ["ip", "access-group", ..] | ["ipv6", "traffic-filter", ..] => port.filter_in = None,
                ["ip", "nat", ..] => port.nat_inside = None,
                ["tunnel", "key", ..] => port.tunnel_key = None,
                ["tunnel", "mode", ..] => port.tunnel_mode = None,
                _ => {}
            }
        }
        Block::Acl(name) if entry => {
            forwarding.unsure.insert(name.clone());
            acl::take_out(name, words, builder);
        }
        Block::Group(name) if entry => {
            forwarding.groups.remove(name);
        }
        _ => {}
    }
}

impl Cisco {
    /// A line that no reader understands: it may be any part of its block, so nothing that it could hold counts as missing. `indented` is given
    /// where blanks say what belongs to a block.
    pub(in crate::policy) fn unread(&mut self, text: &str, indented: Option<bool>, builder: &mut Builder) {
        let within = indented == Some(true);
        if within && let Some(left) = self.left.take() {
            self.block = left;
        }
        if !within && is_heading(text) && self.block != Block::Other {
            // What stands below it is no part of the block before.
            self.orphaned = std::mem::replace(&mut self.block, Block::Other);
        }
        // A sentence that quotes a line with a key.
        if text.contains("isakmp key ") || text.contains("pre-shared-key ") {
            ike::elsewhere(builder);
        }
        if indented == Some(false) {
            return;
        }
        let orphaned = self.block == Block::Other;
        match if orphaned { &self.orphaned } else { &self.block } {
            Block::Map(at) => map::unread(*at, text, builder),
            Block::Acl(name) if acl::may_be_entry(text) => acl::vague(name, builder),
            _ => {}
        }
    }

    /// A `!` alone precedes the next line.
    pub(in crate::policy) fn parted(&mut self) {
        (self.listed, self.cut) = (None, false);
    }

    /// The configuration ends here, and with it the present block.
    pub(in crate::policy) fn ended(&mut self) {
        self.parted();
        (self.block, self.orphaned) = (Block::None, Block::None);
    }

    /// Lines were cut out here: of the present block too, unless a `!` ended it before.
    pub(in crate::policy) fn cut_out(&mut self, parted: bool, builder: &mut Builder) {
        if parted {
            (self.block, self.orphaned) = (Block::None, Block::None);
        } else {
            cut_out(&self.block, builder);
            if let Some(list) = &self.listed {
                acl::vague(list, builder);
            }
        }
        self.cut = true;
    }

    /// The text ends within the present block: further lines of it may be missing.
    pub(in crate::policy) fn left_open(&self, builder: &mut Builder) {
        if let Some(list) = self.listed.as_ref() {
            open(list, builder);
        } else if let Block::Interface(name) | Block::Acl(name) = &self.block {
            open(name, builder);
        } else if matches!(self.block, Block::TransformSet(_) | Block::Ike(_)) {
            cut_out(&self.block, builder);
        }
    }
}

/// Whether a line that is not understood looks like one that begins a block: it has a word of such lines, or an interface's name. A
/// message of the system that interrupts a block may have one, too.
fn is_heading(text: &str) -> bool {
    let letter = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let interface = |word: &str| letter(word) && word.ends_with(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = text.split(' ').collect();
    let short = matches!(words.as_slice(), [_, name] | [_, _, name] if interface(name));
    let known = |word: &&str| matches!(*word, "interface" | "ipsec-manual" | "ipsec-isakmp" | "extended" | "standard");
    !text.contains('%') && (short || words.iter().any(known))
}
