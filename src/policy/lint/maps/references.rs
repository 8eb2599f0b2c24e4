//! Names that nothing has, and entries that lack a part without which they protect nothing.
//!
//! A part of a configuration that was not pasted is no fault: a name dangles only where others of its kind were given.

use std::collections::BTreeSet;

use super::acl::is_standard;
use super::placement::{configures_interfaces, in_use};
use super::sets;
use crate::model::report::Severity;
use crate::policy::facts::router::{Acl, Keying, MapEntry, Router};
use crate::policy::form::order::Chapter;
use crate::policy::lint::{Facing, near};
use crate::policy::{Problem, View, fix};

/// An entry with what is known around it.
struct Subject<'v> {
    view: &'v View<'v>,
    at: (usize, usize),
    router: &'v Router,
    entry: &'v MapEntry,
    /// The entry of the other router that faces it.
    there: Option<(usize, usize)>,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        problems.extend(interfaces(view, at, router));
        for (number, entry) in router.maps.iter().enumerate().filter(|(_, entry)| entry.number > 0) {
            let there = facing.iter().flat_map(|pair| pair.both_ways()).find(|(here, _)| *here == (at, number));
            let subject = Subject { view, at: (at, number), router, entry, there: there.map(|(_, there)| there) };
            let found = [subject.list(), subject.set(), subject.peer()].into_iter().flatten();
            problems.extend(found.map(|problem| in_use(view, (at, number), facing, problem)));
        }
    }
    problems
}

/// Whether a name is the one that may be meant, mistyped.
fn is_slip(name: &str, meant: Option<&str>) -> bool {
    meant.is_some_and(|meant| near::meant(name, std::iter::once(meant)).is_some())
}

/// Interfaces that carry a crypto map that does not exist.
fn interfaces(view: &View<'_>, at: usize, router: &Router) -> Vec<Problem> {
    let maps: BTreeSet<&str> =
        router.maps.iter().filter(|entry| entry.number > 0).map(|entry| entry.name.as_str()).collect();
    let carried: BTreeSet<&str> =
        router.interfaces.values().filter_map(|interface| Some(interface.map.as_ref()?.0.as_str())).collect();
    let mut problems = Vec::new();
    for (name, interface) in &router.interfaces {
        let Some((map, cite)) = interface.map.as_ref().filter(|(map, _)| !maps.contains(map.as_str())) else {
            continue;
        };
        if maps.is_empty() || router.forwarding.mentions(map) {
            continue;
        }
        let idle: Vec<&str> = maps.iter().copied().filter(|map| !carried.contains(map)).collect();
        let only = if let [one] = idle.as_slice() { Some(*one) } else { None };
        let slip = near::meant(map, idle.iter().copied());
        // A map of this name may have been cut out, unless it is one that is there, mistyped.
        if slip.is_none() && router.forwarding.hidden.contains(&Chapter::Maps) {
            continue;
        }
        let meant = slip.or(only);
        let mut evidence = format!("{}: interface {name} names crypto map {map}, which does not exist", router.name);
        if let Some(meant) = meant {
            evidence.push_str(&format!("; crypto map {meant} exists and is on no interface"));
        }
        let is_shut = router.forwarding.ports.get(name).is_some_and(|port| port.shutdown.is_some());
        if is_shut {
            evidence.push_str(&format!(". {name} is shut down (`shutdown`), so this concerns no packet."));
            let problem = Problem::new("config-reference-missing", evidence).severity(Severity::Note);
            problems.push(problem.about(format!("{} {name}", router.name)).lines(view.policies, at, [cite]));
            continue;
        }
        evidence.push_str(". Nothing is protected.");
        let lines = meant.map(|meant| {
            let entry = router.maps.iter().find(|entry| entry.name == meant);
            let peer = entry.and_then(|entry| entry.peers.first()).map(|(peer, _)| *peer);
            let lines =
                vec![format!("interface {name}"), format!(" no crypto map {map}"), format!(" crypto map {meant}")];
            fix::global(peer, lines)
        });
        problems.push(
            Problem::new("config-reference-missing", evidence)
                .about(format!("{} {name}", router.name))
                .lines(view.policies, at, [cite])
                .fix(&router.name, lines.unwrap_or_default()),
        );
    }
    problems
}

impl Subject<'_> {
    fn problem(&self, code: &'static str, what: &str) -> Problem {
        let Self { router, entry, .. } = self;
        let map = format!("crypto map {} {}", entry.name, entry.number);
        Problem::new(code, format!("{}: {map} {what}", router.name)).about(format!("{} {map}", router.name))
    }

    fn typed(&self, problem: Problem, lines: Option<Vec<String>>) -> Problem {
        match lines {
            Some(lines) => problem.fix(&self.router.name, fix::in_map(self.entry, lines)),
            None => problem,
        }
    }

    /// Whether the entry is one that IKE fills for peers not known before (`dynamic`), or of which nothing was pasted.
    fn is_bare(&self) -> bool {
        let MapEntry { peers, keys, transform_sets, acl, .. } = self.entry;
        let parts = [!peers.is_empty(), !keys.is_empty(), !transform_sets.is_empty(), acl.is_some()];
        parts.iter().filter(|part| **part).count() < 2
    }

    /// The access list that may be meant: the only unused one that mirrors the peer's; else the one whose name is a slip away.
    fn meant_list(&self, name: Option<&str>) -> Option<String> {
        let used: BTreeSet<&str> =
            self.router.maps.iter().filter_map(|entry| Some(entry.acl.as_ref()?.0.as_str())).collect();
        let filters: BTreeSet<&str> = self
            .router
            .forwarding
            .ports
            .values()
            .filter_map(|port| port.filter_in.as_ref().map(|(list, _)| list.as_str()))
            .collect();
        let unused = || {
            self.router.acls.iter().filter(|(list, acl)| {
                let extended = !is_standard(list);
                extended && !used.contains(list.as_str()) && !filters.contains(list.as_str()) && !acl.permits.is_empty()
            })
        };
        let theirs = self.there.and_then(|there| {
            let (name, _) = self.view.entry(there.0, there.1)?.acl.as_ref()?;
            self.view.policies.routers.get(there.0)?.acls.get(name)
        });
        let mirrors = |acl: &Acl| {
            theirs.is_some_and(|theirs| {
                let far: BTreeSet<_> = theirs.permits.iter().map(|(selector, _)| selector.mirrored()).collect();
                acl.permits.iter().map(|(selector, _)| selector.clone()).collect::<BTreeSet<_>>() == far
            })
        };
        let mirroring: Vec<&str> = unused().filter(|(_, acl)| mirrors(acl)).map(|(list, _)| list.as_str()).collect();
        let close = name.and_then(|name| {
            near::meant(name, mirroring.iter().copied())
                .or_else(|| near::meant(name, unused().map(|(list, _)| list.as_str())))
                .or_else(|| {
                    near::meant(
                        name,
                        self.router
                            .acls
                            .keys()
                            .map(String::as_str)
                            .filter(|list| !is_standard(list) && !used.contains(list)),
                    )
                })
        });
        match mirroring.as_slice() {
            [one] => Some((*one).to_owned()),
            _ => close.map(str::to_owned),
        }
    }

    fn list(&self) -> Option<Problem> {
        let given = !self.router.acls.is_empty();
        match &self.entry.acl {
            Some((name, cite)) => {
                let known = self.router.acls.contains_key(name) || self.router.forwarding.mentions(name);
                if known || !(given || configures_interfaces(self.router)) {
                    return None;
                }
                let meant = self.meant_list(Some(name));
                // A list of this name may have been cut out, unless it is one that is there, mistyped.
                if self.router.forwarding.hidden.contains(&Chapter::Lists) && !is_slip(name, meant.as_deref()) {
                    return None;
                }
                let mut what = format!("names access list {name} (`match address`), which does not exist");
                if let Some(meant) = &meant {
                    what.push_str(&format!("; access list {meant} exists and may be meant"));
                }
                let problem = self.problem("config-reference-missing", &(what + ".")).lines(
                    self.view.policies,
                    self.at.0,
                    [cite],
                );
                // Where no access list was given at all, this one may only not have been pasted.
                let problem = if given { problem } else { problem.severity(Severity::Warning) };
                let lines =
                    meant.map(|meant| vec![format!("no match address {name}"), format!("match address {meant}")]);
                Some(self.typed(problem, lines))
            }
            None if self.entry.unread.list || self.is_bare() || !(given || configures_interfaces(self.router)) => None,
            None => {
                let meant = self.meant_list(None);
                let mut what = "has no access list (`match address`), so the entry is incomplete".to_owned();
                if let Some(meant) = &meant {
                    what.push_str(&format!("; access list {meant} mirrors the peer's and is used nowhere"));
                }
                let problem = self.problem("config-entry-incomplete", &(what + ".")).lines(
                    self.view.policies,
                    self.at.0,
                    [&self.entry.cite],
                );
                Some(self.typed(problem, meant.map(|meant| vec![format!("match address {meant}")])))
            }
        }
    }

    /// The transform set that may be meant: one that agrees with the peer's; else the one whose name is a slip away, or the only one.
    fn meant_set(&self, name: Option<&str>) -> Option<String> {
        let there = self.there.and_then(|there| {
            let router = self.view.policies.routers.get(there.0)?;
            Some(crate::policy::facts::stated::sets(router, self.view.entry(there.0, there.1)?))
        });
        let agreeing = |words: &str| {
            there
                .as_ref()
                .is_none_or(|theirs| theirs.is_empty() || theirs.iter().any(|set| sets::same(&set.words, words)))
        };
        let known = || {
            let all = self.router.transform_sets.iter().filter(|(_, set)| agreeing(&set.words));
            all.map(|(name, _)| name.as_str())
        };
        let close = name.and_then(|name| {
            near::meant(name, known())
                .or_else(|| near::meant(name, self.router.transform_sets.keys().map(String::as_str)))
        });
        let all: Vec<&str> = known().collect();
        close.or(if let [one] = all.as_slice() { Some(*one) } else { None }).map(str::to_owned)
    }

    fn set(&self) -> Option<Problem> {
        let given = !self.router.transform_sets.is_empty();
        let whole = configures_interfaces(self.router) && !self.router.acls.is_empty();
        if !given && !whole {
            return None;
        }
        let Router { transform_sets, forwarding, .. } = self.router;
        let has = |name: &str| transform_sets.contains_key(name) || sets::is_of_release(self.router, name);
        let missing = self.entry.transform_sets.iter().find(|(name, _)| !has(name) && !forwarding.mentions(name));
        let named = missing.map(|(name, _)| name.as_str());
        let only = self.entry.transform_sets.len() <= 1;
        // Of other makers, what IKE may choose from is not kept.
        let unread = self.entry.unread.sets
            || self.entry.unread.proposals
            || self.router.maker.is_some() && self.entry.keying == Keying::Ike;
        if named.is_none() && (!self.entry.transform_sets.is_empty() || unread || self.is_bare()) {
            return None;
        }
        let meant = self.meant_set(named);
        let hidden = named.is_some_and(|name| !is_slip(name, meant.as_deref()));
        if hidden && forwarding.hidden.contains(&Chapter::Sets) {
            return None;
        }
        let (code, mut what) = match named {
            Some(name) => (
                "config-reference-missing",
                format!("names transform set {name} (`set transform-set`), which does not exist"),
            ),
            None => (
                "config-entry-incomplete",
                "has no transform set (`set transform-set`), so the entry is incomplete".to_owned(),
            ),
        };
        if let Some(meant) = &meant {
            what.push_str(&format!("; transform set {meant} exists"));
        }
        let cite = missing.map_or(&self.entry.cite, |(_, cite)| cite);
        let problem = self.problem(code, &(what + ".")).lines(self.view.policies, self.at.0, [cite]);
        // One set that exists is enough, and what follows it may be a note.
        if self.entry.transform_sets.iter().any(|(name, _)| has(name)) {
            return Some(problem.severity(Severity::Note));
        }
        Some(self.typed(problem, meant.filter(|_| only).map(|meant| vec![format!("set transform-set {meant}")])))
    }

    fn peer(&self) -> Option<Problem> {
        if !self.entry.peers.is_empty() || self.entry.unread.peer || self.is_bare() {
            return None;
        }
        let far = self.there.and_then(|there| Some((self.view.name(there.0), self.view.local(there.0, there.1)?)));
        let mut what = "has no peer (`set peer`), so the entry is incomplete and never used".to_owned();
        if let Some((name, address)) = far {
            what.push_str(&format!("; the entry of {name} that faces it leaves from {address}"));
        }
        let problem = self.problem("config-entry-incomplete", &(what + ".")).lines(
            self.view.policies,
            self.at.0,
            [&self.entry.cite],
        );
        // An entry of a negotiated map may take its peers from elsewhere (`dynamic`, tunnel endpoint discovery).
        let problem = if self.entry.keying == Keying::Ike { problem.severity(Severity::Warning) } else { problem };
        let Some((_, address)) = far else { return Some(problem) };
        let lines = fix::in_map_to(self.entry, Some(address), vec![format!("set peer {address}")]);
        Some(problem.fix(&self.router.name, lines))
    }
}
