//! Lines typed at a router: the reader of its system takes them in, as the router itself would.

use super::System;
use crate::model::Protocol;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Acl, Keying, MapEntry, Router};
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::read::cisco::Cisco;

/// What became of lines that were typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Typed {
    /// The facts are those after the lines.
    Known,
    /// What the lines do is not known here: the facts are as they were.
    Unknown,
}

/// A line that cannot be typed as it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Untypable;

/// Types lines at a router.
pub(super) fn typed(router: &mut Router, lines: &[String]) -> Result<Typed, Untypable> {
    match super::system(router) {
        System::Ios => ios(router, lines),
        System::Linux => linux(router, lines),
        System::Other => Ok(Typed::Unknown),
    }
}

/// Types `ip xfrm` commands. Until they are read, such lines are printed unverified.
#[expect(clippy::unnecessary_wraps, reason = "the signature of the readers of typed lines")]
fn linux(_router: &mut Router, _lines: &[String]) -> Result<Typed, Untypable> {
    Ok(Typed::Unknown)
}

/// The section that typed lines belong to.
enum Section {
    Global,
    Map(usize),
    Interface(String),
    List(String),
}

fn ios(router: &mut Router, lines: &[String]) -> Result<Typed, Untypable> {
    let name = router.name.clone();
    let taken = std::mem::replace(router, Router::new(name, true));
    let mut builder = Builder::typing_at(taken);
    let mut reader = Cisco::default();
    let mut section = Section::Global;
    let mut outcome = Ok(Typed::Known);
    for line in lines {
        if outcome.is_ok() {
            outcome = ios_line(line.trim(), &mut section, &mut reader, &mut builder).map(|()| Typed::Known);
        }
    }
    if let Some(typed) = builder.routers.pop() {
        *router = typed;
    }
    outcome
}

/// Commands outside the configuration.
const EXEC: [&str; 6] = ["configure", "end", "exit", "clear", "!", "do"];

fn ios_line(text: &str, section: &mut Section, reader: &mut Cisco, builder: &mut Builder) -> Result<(), Untypable> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.first().is_none_or(|first| EXEC.contains(first)) {
        return Ok(());
    }
    if text.contains("<SPI>") {
        return Err(Untypable);
    }
    let router = builder.router().ok_or(Untypable)?;
    if let ["no", rest @ ..] = words.as_slice() {
        return undo(rest, section, router);
    }
    enter(&words, section, router)?;
    if !before(&words, section, router)? {
        return Ok(());
    }
    let mode = match words.as_slice() {
        ["crypto", "ipsec", "transform-set", name, ..] => {
            router.transform_sets.get(*name).and_then(|set| set.mode.clone()).map(|mode| ((*name).to_owned(), mode))
        }
        _ => None,
    };
    if reader.go_on(&words, builder) == Read::Foreign && reader.open(&words, builder) == Read::Foreign {
        return Err(Untypable);
    }
    // What is wrong with a line with placeholders is that they are no keys.
    if !text.contains("<KEY>") && builder.files.iter().any(|file| !file.remarks.is_empty()) {
        return Err(Untypable);
    }
    builder.files.iter_mut().for_each(|file| file.remarks.clear());
    // A set that is typed again keeps its mode.
    if let Some((name, mode)) = mode
        && let Some(set) = builder.router().and_then(|router| router.transform_sets.get_mut(&name))
    {
        set.mode = Some(mode);
    }
    if let (["crypto", "map", name, number, ..], Some(router)) = (words.as_slice(), builder.router()) {
        *section = place(router, name, number).map_or(Section::Global, Section::Map);
    }
    Ok(())
}

fn place(router: &Router, name: &str, number: &str) -> Option<usize> {
    let number: u32 = number.parse().ok()?;
    router.maps.iter().rposition(|entry| entry.number == number && entry.name == name)
}

/// Notes the section that a line begins. The kind of an entry that exists cannot be changed.
fn enter(words: &[&str], section: &mut Section, router: &Router) -> Result<(), Untypable> {
    match words {
        ["crypto", "map", _, "local-address", _] => *section = Section::Global,
        ["crypto", "map", name, number, rest @ ..] => {
            let keying = match rest.first() {
                Some(&"ipsec-manual") => Some(Keying::Manual),
                Some(&"ipsec-isakmp") => Some(Keying::Ike),
                _ => None,
            };
            let old = place(router, name, number).and_then(|at| router.maps.get(at)).map(|entry| entry.keying);
            if keying.is_none() || old.is_some_and(|old| Some(old) != keying) {
                return Err(Untypable);
            }
        }
        ["interface", name, ..] => *section = Section::Interface((*name).to_owned()),
        ["ip", "access-list", _, name] | ["ipv6", "access-list", name] => *section = Section::List((*name).to_owned()),
        ["crypto", "map", _] | ["permit" | "deny" | "set" | "match" | "shutdown", ..] => {}
        ["ip" | "ipv6", "address" | "access-group", ..] | ["tunnel", ..] => {}
        _ => *section = Section::Global,
    }
    Ok(())
}

/// What a line replaces goes first; whether the line is still to be read.
fn before(words: &[&str], section: &Section, router: &mut Router) -> Result<bool, Untypable> {
    match (section, words) {
        (Section::Map(at), words) => before_in_map(words, router.maps.get_mut(*at).ok_or(Untypable)?),
        (Section::List(name), ["permit" | "deny", ..]) => {
            let there = router.acls.get(name).is_some_and(|list| lists(list, words));
            Ok(!there)
        }
        // The address of an interface takes the place of the one that it has.
        (Section::Interface(name), ["ip", "address", _, _]) => {
            let interface = router.interfaces.get_mut(name).ok_or(Untypable)?;
            interface.addresses.clear();
            interface.networks.clear();
            Ok(true)
        }
        (_, ["crypto", "isakmp", "key", .., "address", peer]) => {
            router.ike_keys.retain(|key| key.peer.to_string() != *peer);
            Ok(true)
        }
        (_, ["crypto", "ikev2", "proposal", name]) => {
            router.ike.retain(|policy| policy.version != 2 || policy.name != *name);
            Ok(true)
        }
        _ => Ok(true),
    }
}

fn before_in_map(words: &[&str], entry: &mut MapEntry) -> Result<bool, Untypable> {
    match words {
        ["set", "peer", peer] => {
            let same = entry.peers.iter().any(|(old, _)| old.to_string() == *peer);
            if entry.keying == Keying::Manual && !same && !entry.peers.is_empty() {
                // A manual entry has one peer; the old one must be taken out first.
                return Err(Untypable);
            }
            Ok(!same)
        }
        ["set", "transform-set", ..] => {
            entry.transform_sets.clear();
            Ok(true)
        }
        _ => Ok(true),
    }
}

/// Whether an access list has a line already; IOS does not take it twice.
fn lists(list: &Acl, words: &[&str]) -> bool {
    let text = words.join(" ");
    let permits = list.permits.iter().map(|(selector, _)| format!("permit {}", selector.typed()));
    let denies = list.denies.iter().filter_map(|denied| Some(format!("deny {}", denied.selector.as_ref()?.typed())));
    permits.chain(denies).any(|line| line == text)
}

/// Takes a `no ...` line.
fn undo(words: &[&str], section: &mut Section, router: &mut Router) -> Result<(), Untypable> {
    match (&*section, words) {
        (_, ["access-list", name]) => {
            router.acls.remove(*name);
            *section = Section::Global;
        }
        (_, ["ip", "access-list", _, name]) => {
            router.acls.remove(*name);
            *section = Section::Global;
        }
        (_, ["crypto", "map", name, "local-address", ..]) => {
            router.map_sources.remove(*name);
            *section = Section::Global;
        }
        (Section::Interface(interface), ["shutdown"]) => {
            router.forwarding.ports.get_mut(interface).ok_or(Untypable)?.shutdown = None;
        }
        (Section::Interface(interface), ["tunnel", "protection", ..]) => {
            router.interfaces.get_mut(interface).ok_or(Untypable)?.protection = None;
        }
        (Section::Interface(interface), ["crypto", "map", ..]) => {
            router.interfaces.get_mut(interface).ok_or(Untypable)?.map = None;
        }
        (Section::Map(at), words) => undo_in_map(words, router.maps.get_mut(*at).ok_or(Untypable)?)?,
        (Section::List(name), words) => undo_in_list(words, router.acls.get_mut(name).ok_or(Untypable)?)?,
        _ => return Err(Untypable),
    }
    Ok(())
}

fn undo_in_map(words: &[&str], entry: &mut MapEntry) -> Result<(), Untypable> {
    match words {
        ["set", "peer", peer] => entry.peers.retain(|(old, _)| old.to_string() != *peer),
        ["set", "peer"] => entry.peers.clear(),
        ["set", "transform-set", name] => entry.transform_sets.retain(|(old, _)| old != name),
        ["set", "transform-set"] => entry.transform_sets.clear(),
        ["match", "address", ..] => entry.acl = None,
        ["set", "session-key", way @ ("inbound" | "outbound"), protocol @ ("esp" | "ah"), ..] => {
            let protocol = if *protocol == "ah" { Protocol::Ah } else { Protocol::Esp };
            entry.keys.retain(|key| key.inbound != (*way == "inbound") || key.protocol != protocol);
        }
        _ => return Err(Untypable),
    }
    Ok(())
}

fn undo_in_list(words: &[&str], list: &mut Acl) -> Result<(), Untypable> {
    let text = words.join(" ");
    let before = (list.permits.len(), list.denies.len());
    if let Some(at) = list.permits.iter().position(|(selector, _)| format!("permit {}", selector.typed()) == text) {
        list.permits.remove(at);
        for denied in list.denies.iter_mut().filter(|denied| denied.behind > at) {
            denied.behind -= 1;
        }
    } else {
        list.denies.retain(|denied| {
            denied.selector.as_ref().is_none_or(|selector| format!("deny {}", selector.typed()) != text)
        });
    }
    if before == (list.permits.len(), list.denies.len()) { Err(Untypable) } else { Ok(()) }
}

/// Gives placeholders for keys the value that the other end has for the same SA: that is what an operator types there.
pub(super) fn fill(routers: &mut [Router]) {
    let blank = Secret::new("<KEY>");
    let held: Vec<(usize, super::super::SessionKey)> = routers
        .iter()
        .enumerate()
        .flat_map(|(at, router)| router.maps.iter().flat_map(|entry| &entry.keys).map(move |key| (at, key.clone())))
        .collect();
    let readable = |key: &Option<Secret>| key.clone().filter(|key| key.bits().is_some());
    for (at, router) in routers.iter_mut().enumerate() {
        for key in router.maps.iter_mut().flat_map(|entry| &mut entry.keys) {
            let other = held.iter().find(|(other, theirs)| {
                let same = (theirs.protocol, theirs.spi) == (key.protocol, key.spi) && theirs.inbound != key.inbound;
                *other != at && same
            });
            let Some((_, other)) = other else { continue };
            if key.cipher.as_ref() == Some(&blank) {
                key.cipher = readable(&other.cipher).or(key.cipher.take());
            }
            if key.authenticator.as_ref() == Some(&blank) {
                key.authenticator = readable(&other.authenticator).or(key.authenticator.take());
            }
        }
    }
    fill_pre_shared(routers, &blank);
}

/// A pre-shared key is typed as the peer has it for this router.
fn fill_pre_shared(routers: &mut [Router], blank: &Secret) {
    let known: Vec<Vec<_>> = routers.iter().map(|router| router.addresses().collect()).collect();
    let held: Vec<Vec<_>> = routers.iter().map(|router| router.ike_keys.clone()).collect();
    for (at, router) in routers.iter_mut().enumerate() {
        let own = known.get(at).cloned().unwrap_or_default();
        for key in router.ike_keys.iter_mut().filter(|key| key.key.as_ref() == Some(blank)) {
            let peer = known.iter().position(|addresses| addresses.contains(&key.peer));
            let theirs = peer.and_then(|peer| held.get(peer)).into_iter().flatten();
            key.key = theirs.filter(|theirs| own.contains(&theirs.peer)).find_map(|theirs| theirs.key.clone());
        }
    }
}
