//! Manual keys that the transform set does not use, and keys that it lacks.

use super::super::router::{Keying, MapEntry, Router};
use super::super::stated::{sets, uses};
use super::super::{Problem, View, fix};
use crate::model::Protocol;
use crate::transform::Suite;

pub(super) fn problems(view: &View<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, router) in view.policies.routers.iter().enumerate() {
        for entry in router.maps.iter().filter(|entry| entry.keying == Keying::Manual) {
            problems.extend(entry_problem(view, at, router, entry));
        }
    }
    problems
}

fn entry_problem(view: &View<'_>, at: usize, router: &Router, entry: &MapEntry) -> Option<Problem> {
    let sets = sets(router, entry);
    let set = *sets.first()?;
    let suite: Option<Suite> = set.words.parse().ok();
    let unused: Vec<_> = entry.keys.iter().filter(|key| !uses(&set.words, key.protocol)).collect();
    // Where no keys were pasted at all, a part of the configuration is missing, not a key.
    let lacking: Vec<(Protocol, bool)> =
        [(Protocol::Esp, true), (Protocol::Esp, false), (Protocol::Ah, true), (Protocol::Ah, false)]
            .into_iter()
            .filter(|_| !entry.keys.is_empty())
            .filter(|(protocol, _)| uses(&set.words, *protocol))
            .filter(|(protocol, inbound)| {
                !entry.keys.iter().any(|key| key.protocol == *protocol && key.inbound == *inbound)
            })
            .collect();
    if unused.is_empty() && lacking.is_empty() {
        return None;
    }
    let name = &router.name;
    let map = format!("crypto map {} {}", entry.name, entry.number);
    let mut evidence = format!("{name}: {map} uses transform set {} ({})", set_name(entry), set.words);
    if !unused.is_empty() {
        let listed: Vec<String> =
            unused.iter().map(|key| format!("{} {} {}", way(key.inbound), key.protocol.title(), key.spi.0)).collect();
        evidence.push_str(&format!(", and has session keys that it does not use: {}", listed.join(", ")));
    }
    if !lacking.is_empty() {
        let listed: Vec<String> =
            lacking.iter().map(|(protocol, inbound)| format!("{} {}", way(*inbound), protocol.title())).collect();
        evidence.push_str(&format!("; keys that it needs are missing: {}", listed.join(", ")));
    }
    evidence.push('.');
    if lacking.iter().any(|(_, inbound)| !inbound) {
        evidence.push_str(" Packets leave with SPI 0 and the peer drops them, while the SAs are shown as active.");
    }
    let silent = router.counters.iter().filter(|counters| counters.encapsulated > 0 && counters.decapsulated == 0);
    let mut cited: Vec<&super::super::Cite> = unused.iter().map(|key| &key.cite).collect();
    for counters in silent.take(1) {
        evidence.push_str(&format!(
            " Its own counters agree: it encrypts, never decrypts ({} packets encapsulated, 0 decapsulated).",
            counters.encapsulated
        ));
        cited.extend(&counters.cites);
    }
    let mut lines: Vec<String> = Vec::new();
    for key in &unused {
        lines.push(format!("no set session-key {} {}", way(key.inbound), key.protocol.name()));
    }
    for (protocol, inbound) in &lacking {
        // The SPI that was meant stands in the line that is not used.
        let spi = unused.iter().find(|key| key.inbound == *inbound).map(|key| key.spi);
        lines.push(fix::session_key(*inbound, *protocol, spi, suite.as_ref()));
    }
    let set_lines = std::iter::once(&set.cite).chain(entry.transform_sets.iter().map(|(_, cite)| cite));
    let problem = Problem::new("config-unused-key", evidence)
        .about(format!("{name} {map}"))
        .lines(view.policies, at, cited)
        .lines(view.policies, at, set_lines)
        .fix(name, fix::in_map(entry, lines));
    Some(problem)
}

fn set_name(entry: &MapEntry) -> &str {
    entry.transform_sets.first().map_or("", |(name, _)| name)
}

fn way(inbound: bool) -> &'static str {
    if inbound { "inbound" } else { "outbound" }
}
