//! Chapters of which lines may be cut out of a text. IOS writes its configuration in one order: lines that are missing at a place
//! belong to the chapters from that of the line before to that of the line after.

use std::collections::{BTreeMap, BTreeSet};

use super::{Line, Pasted, line, snip};
use crate::policy::read::cisco::whole;

/// Chapters of a configuration, in the order in which IOS writes them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::policy) enum Chapter {
    /// Version, services, name, users.
    Head,
    /// Keyrings, proposals and policies of IKE.
    Policies,
    /// Pre-shared keys of IKE, and what else there is of it.
    Ike,
    /// Transform sets and profiles.
    Sets,
    /// Crypto maps.
    Maps,
    Interfaces,
    /// Routes, routing protocols and NAT.
    Routes,
    /// Access lists.
    Lists,
    /// Route maps, lines, banners.
    End,
}

use Chapter::{End, Head, Ike, Interfaces, Lists, Maps, Policies, Routes, Sets};

/// All of them.
pub(in crate::policy) const ALL: [Chapter; 9] = [Head, Policies, Ike, Sets, Maps, Interfaces, Routes, Lists, End];

/// Words of a line that are looked at.
const WORDS: usize = 5;

/// Beginnings of lines of the first and of the last chapter.
const HEAD: [&str; 7] = ["version", "ASA", "hostname", "service", "aaa", "boot-start-marker", "username"];
const LAST: [&str; 7] = ["route-map", "snmp-server", "control-plane", "line", "banner", "ntp", "end"];

impl Chapter {
    /// What all headings of a chapter have in common, where they have.
    pub(in crate::policy) const fn heading(self) -> Option<&'static str> {
        match self {
            Policies | Ike => Some("crypto "),
            Sets => Some("crypto ipsec "),
            Maps => Some("crypto map "),
            Interfaces => Some("interface "),
            Lists => Some("access-list "),
            Head | Routes | End => None,
        }
    }

    /// The chapter that a line of a configuration begins or belongs to; `None` for lines within blocks.
    fn of(text: &str) -> Option<Self> {
        let words = whole(&text.split(' ').take(WORDS).collect::<Vec<_>>());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["crypto", "isakmp", "policy", ..] | ["crypto", "keyring" | "ikev1" | "ikev2", ..] => Some(Policies),
            ["crypto", "isakmp", ..] => Some(Ike),
            ["crypto", "ipsec", "transform-set" | "profile" | "ikev1" | "ikev2", ..] => Some(Sets),
            ["crypto", "map" | "dynamic-map", _, _, ..] => Some(Maps),
            ["interface", _, ..] => Some(Interfaces),
            ["ip" | "ipv6", "route", ..]
            | ["ip", "nat", "inside" | "outside", "source", ..]
            | ["ip", "nat", "pool", ..]
            | ["router", _, ..] => Some(Routes),
            ["ip" | "ipv6", "access-list", ..] | ["access-list", _, ..] => Some(Lists),
            [first, ..] if LAST.contains(first) => Some(End),
            [":", "end"] => Some(End),
            [first, ..] if HEAD.contains(first) => Some(Head),
            _ => None,
        }
    }
}

/// Chapters that lack lines: by the place of the mark, and at the end of the text.
#[derive(Default, Debug)]
pub(in crate::policy) struct Missing {
    marks: BTreeMap<usize, Vec<Chapter>>,
    /// Marks in what follows a prompt, where nothing of a configuration does.
    outputs: BTreeSet<usize>,
    /// Chapters that a configuration lacks that ends, before its end, where a prompt or another configuration begins.
    before: BTreeMap<usize, Vec<Chapter>>,
    /// Chapters that a text lacks that ends before its configuration.
    pub(in crate::policy) tail: Option<Vec<Chapter>>,
}

impl Missing {
    pub(in crate::policy) fn of(text: &Pasted) -> Self {
        let mut missing = Self::default();
        let lines = &text.lines;
        let marked = lines.iter().any(is_mark);
        // Only a text that says where its configuration begins is known to lack its end.
        let begun = text.paged || lines.iter().any(|line| plain(line).is_some_and(begins));
        if !marked && !begun {
            return missing;
        }
        let mut placed: Vec<Placed> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some(said) = line.text.as_deref() else { continue };
            let (prompted, rest) = line::prompt(said).map_or((false, said), |(own, rest)| (!own.configuring, rest));
            let chapter = Chapter::of(rest).filter(|_| !prompted && !is_mark(line));
            let last = placed.last().and_then(|one| one.chapter);
            // Another configuration begins, or the output of a command.
            let anew = prompted || chapter == Some(Head) && last.is_some_and(|last| last > Head);
            if anew || chapter.is_some() {
                let ends = matches!(rest, "end" | ": end");
                placed.push(Placed { at, chapter, anew, ends });
            }
        }
        for at in (0..lines.len()).filter(|at| lines.get(*at).is_some_and(is_mark)) {
            missing.marks.insert(at, around(lines, &placed, at));
            if in_output(&placed, at) {
                missing.outputs.insert(at);
            }
        }
        let mut starts: Vec<usize> = placed.iter().enumerate().filter(|(_, one)| one.anew).map(|(n, _)| n).collect();
        if starts.first() != Some(&0) {
            starts.insert(0, 0);
        }
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(placed.len());
            let part = placed.get(*start..end).unwrap_or_default();
            let from = part.first().map_or(0, |one| if n == 0 { 0 } else { one.at });
            let next = placed.get(end).map(|one| one.at);
            let to = next.unwrap_or(lines.len());
            let paged = text.paged && next.is_none();
            let begun = paged || lines.get(from..to).unwrap_or_default().iter().filter_map(plain).any(begins);
            let open = part.iter().any(|one| one.chapter > Some(Head)) && !part.iter().any(|one| one.ends);
            if begun && open {
                let chapters = between(&placed, to);
                match next {
                    Some(next) if lines.get(next).is_some_and(leaves) => {
                        missing.before.insert(next, chapters);
                    }
                    Some(_) => {}
                    None => missing.tail = Some(chapters),
                }
            }
        }
        missing
    }

    /// Whether a cut mark lies in the output of a command, and not in a configuration.
    pub(in crate::policy) fn is_output(&self, mark: usize) -> bool {
        self.outputs.contains(&mark)
    }

    /// The chapters that the configuration before a line lacks.
    pub(in crate::policy) fn before(&self, line: usize) -> Option<&[Chapter]> {
        self.before.get(&line).map(Vec::as_slice)
    }

    /// The chapters of which lines may have stood where a mark is.
    pub(in crate::policy) fn at(&self, mark: usize) -> &[Chapter] {
        self.marks.get(&mark).map_or(&ALL, Vec::as_slice)
    }
}

/// A line of a chapter, or one that begins another text.
struct Placed {
    at: usize,
    chapter: Option<Chapter>,
    anew: bool,
    ends: bool,
}

fn is_mark(line: &Line) -> bool {
    line.text.as_deref() == Some(snip::MARK)
}

fn plain(line: &Line) -> Option<&str> {
    let text = line.text.as_deref()?;
    Some(line::prompt(text).map_or(text, |(_, rest)| rest))
}

/// Lines of a block that its heading is looked for in.
const BLOCK: usize = 64;

/// The chapters of which lines may have stood where a mark is.
fn around(lines: &[Line], placed: &[Placed], mark: usize) -> Vec<Chapter> {
    let mut hidden = between(placed, mark);
    let mut before = lines.get(..mark).unwrap_or_default().iter().rev().take(BLOCK);
    let heading = before.find(|line| !line.indented && !is_mark(line)).and_then(plain);
    // A mark within a block of another kind hides lines of that block: nothing parts it from them, and no other block goes on behind it.
    let parted = |at: usize| lines.get(at).is_some_and(|line| line.parted);
    let next = lines.get(mark + 1).and_then(plain);
    let within = !parted(mark) && (parted(mark + 1) || next.is_some_and(|next| Chapter::of(next).is_none()));
    if within && heading.and_then(Chapter::of) != Some(Policies) {
        hidden.retain(|chapter| *chapter != Policies);
    }
    hidden
}

/// Whether a cut mark follows a prompt, and no line between this prompt and the next one is of a configuration.
fn in_output(placed: &[Placed], mark: usize) -> bool {
    let split = placed.partition_point(|one| one.at < mark);
    let (before, after) = placed.split_at_checked(split).unwrap_or_default();
    let mut since = before.iter().rev().take_while(|one| !one.anew).chain(after.iter().take_while(|one| !one.anew));
    let prompt = before.iter().rfind(|one| one.anew).is_some_and(|one| one.chapter.is_none());
    prompt && since.all(|one| one.chapter.is_none())
}

/// Whether a line belongs to the configuration before it in no case: it has a prompt, or stands at the beginning of another one.
fn leaves(line: &Line) -> bool {
    let prompted = line.text.as_deref().is_some_and(|text| line::prompt(text).is_some());
    prompted || plain(line).is_some_and(begins)
}

/// Whether a line stands at the beginning of a whole configuration.
fn begins(text: &str) -> bool {
    let number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    text.strip_prefix("version ").is_some_and(number)
        || text.strip_prefix("ASA Version ").is_some_and(number)
        || text.starts_with("Current configuration")
        || text.starts_with("Building configuration")
}

/// Chapters that others name: where none of one is given, its place in the text is not known.
const NAMED: [Chapter; 3] = [Sets, Maps, Lists];

/// The chapters from the one before a place to the one after it, and those that are given nowhere; all where a configuration is not
/// in the order of IOS.
fn between(placed: &[Placed], at: usize) -> Vec<Chapter> {
    let split = placed.partition_point(|one| one.at < at);
    let (before, after) = placed.split_at_checked(split).unwrap_or_default();
    let first = before.iter().rposition(|one| one.anew).unwrap_or(0);
    let before = before.get(first..).unwrap_or_default();
    let last = after.iter().position(|one| one.anew).unwrap_or(after.len());
    let after = after.get(..last).unwrap_or_default();
    let chapters = || before.iter().chain(after).filter_map(|one| one.chapter);
    if !chapters().zip(chapters().skip(1)).all(|(one, next)| one <= next) {
        return ALL.to_vec();
    }
    let from = before.iter().rev().find_map(|one| one.chapter).unwrap_or(Head);
    let to = after.iter().find_map(|one| one.chapter).unwrap_or(End);
    let given = |chapter: &Chapter| chapters().any(|one| one == *chapter);
    let lacks = |chapter: &Chapter| NAMED.contains(chapter) && !given(chapter);
    ALL.into_iter().filter(|chapter| (from..=to).contains(chapter) || lacks(chapter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::form;

    fn hidden(text: &str) -> (Vec<Vec<Chapter>>, Option<Vec<Chapter>>) {
        let text = form::pasted(text.as_bytes());
        let missing = Missing::of(&text);
        (missing.marks.into_values().collect(), missing.tail)
    }

    #[test]
    fn a_configuration_that_a_prompt_ends_lacks_its_tail() {
        let before = |text: &str| Missing::of(&form::pasted(text.as_bytes())).before;
        let text = "R1#show run\nversion 15.7\nhostname R1\ninterface Gi0/0\n ip address 10.0.0.1 255.0.0.0\n";
        let hidden: Vec<Vec<Chapter>> = before(&format!("{text}R1#\n")).into_values().collect();
        assert_eq!(hidden, [vec![Sets, Maps, Interfaces, Routes, Lists, End]]);
        assert!(before(&format!("{text}end\nR1#\n")).is_empty());
        assert!(before("R1#show clock\nR1#\n").is_empty());
    }

    #[test]
    fn what_was_cut_out_is_of_the_chapters_beside_the_mark() {
        let (marks, tail) = hidden(
            "version 15.7\n<snip>\nhostname R1\n!\ncrypto ipsec transform-set T esp-aes\ncrypto map M 10 ipsec-isakmp\n set peer 10.0.0.1\n!\n...\n!\ninterface Gi0/0\n\
             ip route 0.0.0.0 0.0.0.0 10.0.0.1\n<omitted>\naccess-list 101 permit ip any any\nend\n",
        );
        assert_eq!(marks, [vec![Head], vec![Maps, Interfaces], vec![Routes, Lists]]);
        assert_eq!(tail, None);
        let (marks, tail) = hidden("hostname R1\ninterface Gi0/0\n<snip>\ncrypto map M 10 ipsec-isakmp\n");
        assert_eq!((marks, tail), (vec![ALL.to_vec()], None), "lines in another order than that of IOS");
        let (_, tail) = hidden("version 15.7\nhostname R1\ninterface Gi0/0\n ip address 10.0.0.1 255.0.0.0\n");
        assert_eq!(tail, Some(vec![Sets, Maps, Interfaces, Routes, Lists, End]));
        let (_, tail) = hidden("hostname R1\ninterface Gi0/0\n ip address 10.0.0.1 255.0.0.0\n --More-- \n");
        assert_eq!(tail, Some(vec![Sets, Maps, Interfaces, Routes, Lists, End]));
    }
}
