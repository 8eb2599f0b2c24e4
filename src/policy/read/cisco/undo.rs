//! Lines that take out what others said, that are missing, or that are not understood. All that is
//! kept here is what is unknown from then on. Lines about IPsec itself are read in the modules beside this one.

use super::{Block, Cisco, acl, ike, map};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Interface, MapEntry};
use crate::policy::form::paste::Read;
use crate::policy::words::{address, short_for};

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
                policy.unsure = [true; 4];
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
        ["ip", "access-list", "extended" | "standard", name]
        | ["ipv6", "access-list", name]
        | ["access-list", name] => {
            acl::forget(name, builder);
        }
        ["access-list", name, "line", _, "extended", line @ ..] | ["access-list", name, "extended", line @ ..] => {
            without_line(name, line, builder);
        }
        // Of a list by number, IOS takes out all lines.
        ["access-list", name, "permit" | "deny", ..] => acl::forget(name, builder),
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

/// `no access-list NAME extended permit ...` of ASA: a list without lines is none.
fn without_line(name: &str, line: &[&str], builder: &mut Builder) {
    let known = acl::take_out(name, line, builder);
    let Some(router) = builder.continues() else { return };
    if !known {
        router.forwarding.unsure.insert(name.to_owned());
    } else if router.acls.get(name).is_some_and(|list| list.permits.is_empty() && list.denies.is_empty()) {
        acl::forget(name, builder);
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
                ["tunnel", "vrf", ..] => port.tunnel_vrf = None,
                ["vrf", "forwarding", ..] | ["ip", "vrf", ..] => port.vrf = None,
                _ => {}
            }
        }
        Block::Acl(name) if entry => {
            let by_number = matches!(words, [first, ..] if first.bytes().all(|b| b.is_ascii_digit()))
                || words.starts_with(&["sequence"]);
            let known = acl::take_out(name, words, builder);
            if let Some(router) = builder.continues().filter(|_| !known) {
                let list = if by_number { &mut router.forwarding.vague } else { &mut router.forwarding.unsure };
                list.insert(name.clone());
            }
        }
        Block::Group(name) if entry => {
            forwarding.groups.remove(name);
        }
        _ => {}
    }
}

impl Cisco {
    /// Commands that take out a part of IPsec, and commands that are known and not followed: that is said.
    pub(super) fn undone(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["crypto", "keyring", ..]
            | ["crypto", "ikev2", "keyring", ..]
            | ["crypto", "ikev1", "policy", ..]
            | ["tunnel-group", _, "ipsec-attributes"] => {
                if matches!(words, ["crypto", "keyring", ..]) {
                    ike::keyrings(builder);
                }
                builder.wrong("IKE in these words (keyrings, policies and tunnel groups of ASA) is not compared");
                ike::elsewhere(builder);
                self.block = Block::Other;
            }
            ["no", "crypto", "map", name, number, rest @ ..] if number.parse::<u32>().is_ok() => {
                self.entry_undone(name, number, rest, builder);
            }
            // An interface has one map and no entry: with a number the command is one of the configuration at large.
            ["no", "crypto", "map", name, rest @ ..] if !matches!(self.block, Block::Interface(_)) => {
                let used = builder.continues().is_some_and(|router| {
                    router.interfaces.values().any(|one| one.map.as_ref().is_some_and(|(map, _)| map == name))
                });
                // A map that an interface carries stays.
                if used || !rest.is_empty() {
                    builder.wrong(map::NOT_UNDONE);
                } else if let Some(router) = builder.continues() {
                    router.maps.retain(|entry| entry.name != **name || entry.number == 0);
                    self.ended();
                }
            }
            ["no", "crypto", "isakmp", "policy", number] => {
                if let Some(router) = builder.continues() {
                    router.ike.retain(|policy| policy.version != 1 || policy.name != **number);
                }
                self.ended();
            }
            ["no", "crypto", "isakmp", "enable"] => {
                let cite = builder.cite("no crypto isakmp enable");
                if let Some(router) = builder.router() {
                    router.forwarding.ike_off = Some(cite);
                }
            }
            ["no", "crypto", "ipsec", "transform-set", ..] => builder.wrong(map::NOT_UNDONE),
            // ASA
            ["clear", configure, list, name]
                if short_for(configure, "configure", 4) && short_for(list, "access-list", 8) =>
            {
                acl::forget(name, builder);
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    /// `no crypto map M 10`, and on ASA `no crypto map M 10 set peer A`.
    fn entry_undone(&mut self, name: &str, number: &str, rest: &[&str], builder: &mut Builder) {
        let same = |entry: &MapEntry| entry.name == name && number.parse() == Ok(entry.number);
        let Some(router) = builder.continues() else { return };
        match rest {
            [] | ["ipsec-manual" | "ipsec-isakmp" | "gdoi"] => {
                router.maps.retain(|entry| !same(entry));
                self.ended();
            }
            ["set" | "match", ..] => {
                let Some(at) = router.maps.iter().rposition(same) else { return };
                let all: Vec<&str> = std::iter::once("no").chain(rest.iter().copied()).collect();
                let _read = map::line(at, &all, builder);
            }
            _ => builder.wrong(map::NOT_UNDONE),
        }
    }

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
            Block::Ike(at) => ike::unread(*at, text, builder),
            _ => {}
        }
    }

    /// A `!` alone precedes the next line.
    pub(in crate::policy) fn parted(&mut self) {
        (self.listed, self.entry, self.cut) = (None, None, false);
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
            if let Some(at) = self.entry {
                map::cut_out(at, builder);
            }
        }
        self.cut = true;
    }

    /// A display of single lines leaves the block of the line before, of which it need not show all lines.
    pub(in crate::policy) fn left_behind(&mut self, builder: &mut Builder) {
        if let Some(list) = &self.listed {
            acl::vague(list, builder);
        }
        if self.piece != self.block {
            cut_out(&self.piece, builder);
        }
        self.piece = self.block.clone();
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
