//! Pre-shared keys of IKEv1 that are missing, or there for another address than the peer's.

use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::facts::router::{Keying, MapEntry, Router};
use crate::policy::lint::{Facing, near};
use crate::policy::{Problem, View, fix};

/// Words of lines that could not be read of which any may give a key.
const GIVING: [&str; 6] = ["key", "isakmp", "keyring", "pre-shared-key", "pre-share", "ike"];

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for (here, there) in facing.iter().flat_map(|pair| pair.both_ways()) {
        let (Some(entry), Some(far)) = (view.entry(here.0, here.1), view.entry(there.0, there.1)) else { continue };
        let second = [here, there].iter().any(|at| super::ike::version(view, *at) == Some(2));
        if entry.keying == Keying::Ike && far.keying == Keying::Ike && !second {
            let found = missing(view, here.0, entry, there);
            problems.extend(found.filter(|new| problems.iter().all(|old| old.subject != new.subject)));
        }
    }
    problems
}

/// Whether a router authenticates with pre-shared keys only, all of which were read.
pub(super) fn relies_on_keys(router: &Router) -> bool {
    let pre_shared = |policy: &crate::policy::IkePolicy| {
        policy.version == 1 && policy.authentication.as_deref() == Some("pre-share")
    };
    let hidden = router.forwarding.other_keys || GIVING.iter().any(|word| router.forwarding.mentions(word));
    router.maker.is_none() && !hidden && !router.ike.is_empty() && router.ike.iter().all(pre_shared)
}

/// The line that enters a key for a peer, where a router that authenticates by keys has none for it.
pub(super) fn line_for(router: &Router, peer: Address) -> Option<String> {
    let lacks = relies_on_keys(router) && !router.ike_keys.is_empty();
    let covered = router.ike_keys.iter().any(|key| key.covers.contains(peer));
    (lacks && !covered).then(|| format!("crypto isakmp key <KEY> address {peer}"))
}

fn missing(view: &View<'_>, at: usize, entry: &MapEntry, there: (usize, usize)) -> Option<Problem> {
    let (router, far) = (view.policies.routers.get(at)?, view.policies.routers.get(there.0)?);
    let covered = |router: &Router, peer| router.ike_keys.iter().any(|key| key.covers.contains(peer));
    if !relies_on_keys(router) || entry.unread.peer || entry.peers.iter().any(|(peer, _)| covered(router, *peer)) {
        return None;
    }
    // The key is for the end that the other router has: the line with the peer is at fault.
    if view.local(there.0, there.1).is_some_and(|end| covered(router, end)) {
        return None;
    }
    // Where no keys were pasted at all, they may have been left out of the paste.
    let pasted = !router.ike_keys.is_empty();
    if !pasted && !router.addresses().any(|own| covered(far, own)) {
        return None;
    }
    // An address that the other router does not have is mistyped, or what a NAT makes of it: the key is for the right one.
    let (peer, cite) = entry.peers.iter().find(|(peer, _)| far.addresses().any(|own| own == *peer))?;
    let (name, theirs) = (&router.name, &far.name);
    let mut evidence = format!(
        "{name} authenticates with pre-shared keys (`authentication pre-share`) and has none for its peer {peer} ({theirs}): main mode \
         fails, and no SA comes up"
    );
    let known = |peer: &Address| {
        view.owners.contains_key(peer) || router.maps.iter().any(|entry| entry.peers.iter().any(|(own, _)| own == peer))
    };
    let slipped = router.ike_keys.iter().find(|key| !known(&key.peer) && near::mistyped(key.peer, *peer));
    if let Some(key) = slipped {
        evidence.push_str(&format!("; it has one for {}, which is that address mistyped", key.peer));
    }
    evidence.push('.');
    if !pasted {
        evidence
            .push_str(" No key of it was given at all, so the lines with its keys may only be missing from the text.");
    }
    // Nothing is typed at a router whose keys were only left out of the text.
    let lines = if pasted {
        let mut lines = fix::global(None, vec![format!("crypto isakmp key <KEY> address {peer}")]);
        lines.push("clear crypto isakmp".to_owned());
        lines
    } else {
        Vec::new()
    };
    let cites =
        router.ike_keys.iter().map(|key| &key.cite).chain([cite]).chain(router.ike.iter().flat_map(|one| &one.cites));
    let severity = if pasted { Severity::Error } else { Severity::Note };
    Some(
        Problem::new("config-key-missing", evidence)
            .severity(severity)
            .about(format!("{name} > {peer}"))
            .lines(view.policies, at, cites)
            .fix(name, lines),
    )
}
