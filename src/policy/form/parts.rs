//! Which lines of a text belong together, as far as that must be known before they are read: whose access lists have netmasks, and
//! where another configuration without a name begins.

use std::collections::{BTreeMap, BTreeSet};

use super::line;
use crate::policy::form::Line;
use crate::policy::read::cisco::whole;

/// The first two letters of lines that are looked at.
const BEGIN: [&str; 13] = ["cr", "in", "ip", "ve", "ho", "sy", "na", "ac", "ob", "se", "as", "pi", "no"];
/// Words of a line that are looked at.
const WORDS: usize = 8;
/// Lines that may begin a configuration, or tell one from another, that are kept.
const MARKS: usize = 65_536;

/// The parts of a text.
#[derive(Default, Debug)]
pub(in crate::policy) struct Parts {
    /// Lines (their places, not their numbers) at which an unnamed configuration begins that another one stands before.
    begins: BTreeSet<usize>,
    /// For each stretch, where it begins and whether its access lists have netmasks, as PIX and ASA write them.
    netmasks: BTreeMap<usize, bool>,
}

impl Parts {
    pub(in crate::policy) fn of(lines: &[Line]) -> Self {
        let mut parts = Self::default();
        let (mut start, mut masks, mut host, mut named) = (0, false, None::<String>, false);
        let mut marks: Vec<(usize, Mark)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.as_deref().unwrap_or_default();
            let (prompt, text) = line::prompt(text).map_or((None, text), |(prompt, rest)| (prompt.host, rest));
            if prompt.is_some() && prompt != host {
                parts.netmasks.insert(start, masks);
                (start, masks, named) = (at, false, true);
                host = prompt;
            }
            if !BEGIN.iter().any(|begin| text.get(..2).is_some_and(|first| first.eq_ignore_ascii_case(begin))) {
                continue;
            }
            let words = whole(&text.split(' ').take(WORDS).collect::<Vec<_>>());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if matches!(words.as_slice(), ["hostname" | "sysname", ..]) {
                parts.netmasks.insert(start, masks);
                (start, masks, named) = (at, false, true);
            }
            masks |= has_netmasks(&words);
            if let Some(mark) = Mark::of(&words).filter(|_| !named && marks.len() < MARKS) {
                marks.push((at, mark));
            }
        }
        parts.netmasks.insert(start, masks);
        if !named {
            parts.begins = beginnings(&marks);
        }
        parts
    }

    /// Whether another configuration begins at a line.
    pub(in crate::policy) fn begins(&self, at: usize) -> bool {
        self.begins.contains(&at)
    }

    /// Whether the access list entries of a line have netmasks.
    pub(in crate::policy) fn netmasks(&self, at: usize) -> bool {
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

/// A line that tells configurations apart.
enum Mark {
    /// It opens a block; two blocks of one configuration never have the same heading.
    Heading(String),
    /// It names a peer.
    Peer(String),
}

impl Mark {
    fn of(words: &[&str]) -> Option<Self> {
        match words {
            ["crypto", "map", _, _, "ipsec-manual" | "ipsec-isakmp", ..]
            | ["crypto", "ipsec", "transform-set", _, ..]
            | ["crypto", "isakmp", "policy", _]
            | ["ip", "access-list", _, _]
            | ["interface", _, ..] => Some(Self::Heading(words.iter().take(4).copied().collect::<Vec<_>>().join(" "))),
            ["version", _] => Some(Self::Heading("version".to_owned())),
            ["set", "peer", peer, ..] => Some(Self::Peer((*peer).to_owned())),
            _ => None,
        }
    }
}

/// Where configurations begin that repeat an entry of the one before them with another peer: no router is its own peer's peer.
fn beginnings(marks: &[(usize, Mark)]) -> BTreeSet<usize> {
    let peer = |n: usize| match marks.get(n + 1) {
        Some((_, Mark::Peer(peer))) => Some(peer),
        _ => None,
    };
    let mut begins = BTreeSet::new();
    // For each heading, its place among the marks.
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    // The first heading behind the last new entry that had been there before, and its place among the marks.
    let mut again: Option<(usize, usize)> = None;
    for (n, (at, mark)) in marks.iter().enumerate() {
        let Mark::Heading(heading) = mark else { continue };
        let entry = heading.starts_with("crypto map ");
        if let Some(before) = known.get(heading.as_str()).copied() {
            let (begin, from) = *again.get_or_insert((*at, n));
            if entry
                && let (Some(old), Some(new)) = (peer(before), peer(n))
                && old != new
            {
                begins.insert(begin);
                let since = marks.iter().enumerate().take(n).skip(from);
                known = since
                    .filter_map(|(n, (_, mark))| match mark {
                        Mark::Heading(heading) => Some((heading.as_str(), n)),
                        Mark::Peer(_) => None,
                    })
                    .collect();
                again = None;
            }
        } else if entry {
            again = None;
        }
        known.insert(heading, n);
    }
    begins
}
