//! Commands that display a part of a configuration: one interface, what a section or a line of a filter takes.

use std::collections::BTreeSet;

use super::order::{ALL, Chapter};

/// What a command displays of a configuration.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::policy) struct Filter {
    /// Chapters all lines of which it shows.
    pub(in crate::policy) shows: BTreeSet<Chapter>,
    /// Whether it shows blocks whole: with their headings, and all lines below them.
    pub(in crate::policy) whole_blocks: bool,
    /// Whether it shows all that follows the first line that it shows.
    to_the_end: bool,
    /// What lines of their own have to hold, so that all of one list or entry are shown.
    patterns: Vec<String>,
}

/// Parts of a configuration that can be displayed by their names.
const PARTS: [&str; 17] = [
    "interface",
    "crypto",
    "access-list",
    "object",
    "object-group",
    "route",
    "router",
    "nat",
    "ipsec",
    "isakmp",
    "tunnel-group",
    "group-policy",
    "policy-map",
    "class-map",
    "map-class",
    "ip",
    "ipv6",
];

/// What filters do, by the words of which the first letters are enough; the first three leave the display whole.
const KINDS: [&str; 9] = ["append", "redirect", "tee", "begin", "section", "include", "exclude", "grep", "count"];

impl Filter {
    /// Reads the words after `show running-config`; `None` if the command displays the whole configuration.
    pub(in crate::policy) fn of(rest: &str) -> Option<Self> {
        let (argument, filter) = rest.split_once('|').unwrap_or((rest, ""));
        let (argument, filter) = (argument.trim(), filter.trim());
        let (kind, pattern) = filter.split_once(' ').unwrap_or((filter, ""));
        let kind = KINDS.iter().find(|whole| !kind.is_empty() && whole.starts_with(&kind.to_ascii_lowercase()));
        let first = argument.split(' ').next().unwrap_or_default().to_ascii_lowercase();
        let part = first.len() > 1 && PARTS.iter().any(|whole| whole.starts_with(&first));
        match kind {
            Some(&"begin") if !part => {
                let mut filter = Self::blocks(pattern);
                let first = filter.shows.first().copied();
                let within = ALL.into_iter().rfind(|chapter| {
                    chapter
                        .heading()
                        .is_some_and(|heading| filter.patterns.iter().any(|text| text.starts_with(heading)))
                });
                let shown = |chapter: &Chapter| {
                    first.is_some_and(|first| *chapter >= first) || within.is_some_and(|within| *chapter > within)
                };
                filter.shows = ALL.into_iter().filter(shown).collect();
                filter.to_the_end = true;
                Some(filter)
            }
            Some(&"section") if !part => Some(Self::blocks(pattern)),
            // Lines that end blocks, and nothing else, are left out.
            Some(&"exclude") if !part && pattern.trim_matches(['!', '^', '$', ' ']).is_empty() => None,
            Some(&("section" | "begin" | "include" | "exclude" | "grep" | "count")) => {
                Some(Self { shows: BTreeSet::new(), whole_blocks: false, to_the_end: false, patterns: Vec::new() })
            }
            _ if part => Some(Self::blocks(argument)),
            _ => None,
        }
    }

    /// All blocks with a heading that has one of several texts in it.
    fn blocks(pattern: &str) -> Self {
        let texts = pattern.trim_matches(['"', '(', ')']).split('|');
        let patterns: Vec<String> = texts
            .map(|text| text.trim_start_matches('^').trim_start().to_owned())
            .filter(|text| !text.is_empty())
            .collect();
        let shown = |chapter: &Chapter| {
            chapter.heading().is_some_and(|heading| patterns.iter().any(|text| heading.contains(text.as_str())))
        };
        Self { shows: ALL.into_iter().filter(shown).collect(), whole_blocks: true, to_the_end: false, patterns }
    }

    /// Whether all lines are shown that begin with these words.
    pub(in crate::policy) fn takes(&self, words: &str) -> bool {
        self.to_the_end || self.whole_blocks && self.patterns.iter().any(|text| words.contains(text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::form::order::Chapter::{Ike, Interfaces, Lists, Maps, Policies, Routes, Sets};

    #[test]
    fn a_filter_shows_what_it_takes() {
        for whole in ["", "all", "brief", "| e !", "| redirect flash:x", "| no-more", "(old)"] {
            assert_eq!(Filter::of(whole), None, "{whole}");
        }
        let shows = |rest: &str| {
            let filter = Filter::of(rest).unwrap_or_else(|| panic!("{rest} displays a part"));
            (filter.shows.into_iter().collect::<Vec<_>>(), filter.whole_blocks)
        };
        assert_eq!(shows("| s crypto"), (vec![Policies, Ike, Sets, Maps], true));
        assert_eq!(shows("|section crypto map|interface"), (vec![Maps, Interfaces], true));
        assert_eq!(shows("| sec ^access-list"), (vec![Lists], true));
        assert_eq!(shows("| s ip access-list"), (vec![], true), "there may be lists by number, too");
        assert_eq!(shows("| i crypto"), (vec![], false));
        assert_eq!(shows("int g0/1"), (vec![], true));
        assert_eq!(shows("interface g0/1 | inc address"), (vec![], false));
        assert_eq!(shows("access-list"), (vec![Lists], true));
        assert_eq!(shows("| b interface").0.first(), Some(&Interfaces));
        assert_eq!(shows("| begin interface GigabitEthernet0/1").0.first(), Some(&Routes));
        assert!(
            Filter::of("| s access-list 101")
                .is_some_and(|one| one.takes("access-list 101") && !one.takes("access-list 102"))
        );
    }
}
