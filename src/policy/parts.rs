//! Which lines of a text belong together, as far as that must be known before they are read: whose access lists have netmasks, and
//! where another configuration without a name begins.

use std::collections::{BTreeMap, BTreeSet};

use super::cisco::whole;
use super::form::Line;
use super::line;

/// The parts of a text.
#[derive(Default, Debug)]
pub(super) struct Parts {
    /// Lines (their places, not their numbers) at which an unnamed configuration begins that another one stands before.
    begins: BTreeSet<usize>,
    /// For each stretch, where it begins and whether its access lists have netmasks, as PIX and ASA write them.
    netmasks: BTreeMap<usize, bool>,
}

impl Parts {
    pub(super) fn of(lines: &[Line]) -> Self {
        let mut parts = Self::default();
        let (mut start, mut masks, mut host, mut named) = (0, false, None::<String>, false);
        let mut commands: Vec<Vec<String>> = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.as_deref().unwrap_or_default();
            let (prompt, text) = line::prompt(text).map_or((None, text), |(prompt, rest)| (prompt.host, rest));
            let words = whole(&text.split(' ').collect::<Vec<_>>());
            let named_here = words.first().is_some_and(|first| matches!(first.as_str(), "hostname" | "sysname"));
            named |= named_here || prompt.is_some();
            if named_here || (prompt.is_some() && prompt != host) {
                parts.netmasks.insert(start, masks);
                (start, masks) = (at, false);
                host = prompt.or(host);
            }
            masks |= has_netmasks(&words.iter().map(String::as_str).collect::<Vec<_>>());
            commands.push(words);
        }
        parts.netmasks.insert(start, masks);
        if !named {
            parts.begins = beginnings(&commands);
        }
        parts
    }

    /// Whether another configuration begins at a line.
    pub(super) fn begins(&self, at: usize) -> bool {
        self.begins.contains(&at)
    }

    /// Whether the access list entries of a line have netmasks.
    pub(super) fn netmasks(&self, at: usize) -> bool {
        self.netmasks.range(..=at).next_back().is_some_and(|(_, masks)| *masks)
    }
}

/// Lines that only PIX and ASA have.
fn has_netmasks(words: &[&str]) -> bool {
    matches!(
        words,
        ["nameif", ..]
            | ["crypto", "map", _, _, "set" | "match", ..]
            | ["crypto", "map", _, "interface", _]
            | ["access-list", _, "extended" | "line", ..]
            | ["object", "network", _]
            | ["ASA" | "PIX", "Version", ..]
    )
}

/// What a line opens: two blocks of one configuration never have the same.
fn heading(words: &[String]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["crypto", "map", _, _, "ipsec-manual" | "ipsec-isakmp", ..]
        | ["crypto", "ipsec", "transform-set", _, ..]
        | ["crypto", "isakmp", "policy", _]
        | ["ip", "access-list", _, _]
        | ["interface", _, ..] => Some(words.iter().take(4).copied().collect::<Vec<_>>().join(" ")),
        ["version", _] => Some("version".to_owned()),
        _ => None,
    }
}

/// Where configurations begin that repeat an entry of the one before them with another peer: no router is its own peer's peer.
fn beginnings(commands: &[Vec<String>]) -> BTreeSet<usize> {
    let peer = |at: usize| {
        let body = commands.iter().skip(at + 1).take_while(|words| heading(words).is_none());
        body.into_iter().find_map(|words| match words.as_slice() {
            [set, peer, address, ..] if set == "set" && peer == "peer" => Some(address.as_str()),
            _ => None,
        })
    };
    let mut begins = BTreeSet::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    // The first heading behind the entries read so far that had been there before.
    let mut again: Option<usize> = None;
    for (at, words) in commands.iter().enumerate() {
        let Some(heading) = heading(words) else { continue };
        let entry = heading.starts_with("crypto map ");
        if let Some(before) = known.get(&heading).copied() {
            let begin = *again.get_or_insert(at);
            if entry
                && let (Some(old), Some(new)) = (peer(before), peer(at))
                && old != new
            {
                begins.insert(begin);
                known = commands
                    .iter()
                    .enumerate()
                    .take(at)
                    .skip(begin)
                    .filter_map(|(at, words)| Some((self::heading(words)?, at)))
                    .collect();
                again = None;
            }
        } else if entry {
            again = None;
        }
        known.insert(heading, at);
    }
    begins
}
