//! The order of an access list's lines by their numbers, and lines that are taken out of it.

use super::selector;
use crate::policy::facts::builder::Builder;
use crate::policy::limits::MAX_BLOCKS;

/// The place behind all lines of a list.
const AT_END: (usize, usize) = (usize::MAX, usize::MAX);

/// Where a line of a list stands: how many lines that permit, and how many that deny, stand before it. Notes where lines are not in
/// force as they stand: at certain times only, or under a number that is there.
pub(super) fn ordered(name: &str, words: &[&str], builder: &mut Builder) -> (usize, usize) {
    let (number, words) = numbered(words);
    let timed = words.iter().any(|word| matches!(*word, "time-range" | "inactive" | "fragments"));
    let permits = match words.first() {
        Some(&"permit") if !words.contains(&"object-group") => Some(true),
        Some(&"deny") if !words.contains(&"object-group") => Some(false),
        _ => None,
    };
    if !matches!(words, ["permit" | "deny" | "remark", ..]) {
        return AT_END;
    }
    let Some(router) = builder.router() else { return AT_END };
    let known = router.acls.get(name).map_or((0, 0), |acl| (acl.permits.len(), acl.denies.len()));
    let lines = router.forwarding.sequence.entry(name.to_owned()).or_default();
    // The first line without a number is line 10, each further one is the last number plus 10.
    let own = number.unwrap_or_else(|| lines.last().map_or(0, |(last, _)| *last).saturating_add(10));
    let at = lines.partition_point(|(number, _)| *number < own);
    if at == lines.len() {
        lines.push((own, permits));
        if timed {
            router.forwarding.unsure.insert(name.to_owned());
        }
        return AT_END;
    }
    // Lists of more lines are read in the order in which they stand.
    if lines.len() > MAX_BLOCKS {
        router.forwarding.unsure.insert(name.to_owned());
        return AT_END;
    }
    let (all, before) = (counts(lines), counts(lines.get(..at).unwrap_or_default()));
    let doubtful = all != known || lines.iter().any(|(number, permits)| *number == own || permits.is_none());
    lines.insert(at, (own, permits));
    if timed || doubtful {
        router.forwarding.unsure.insert(name.to_owned());
    }
    if doubtful { AT_END } else { before }
}

/// The number before a line of a list, and the line.
pub(super) fn numbered<'w>(words: &'w [&'w str]) -> (Option<u32>, &'w [&'w str]) {
    match words {
        ["sequence", number, rest @ ..] => (number.parse().ok(), rest),
        [number, rest @ ..] if number.bytes().all(|b| b.is_ascii_digit()) => (number.parse().ok(), rest),
        words => (None, words),
    }
}

/// How many lines permit, and how many deny.
fn counts(lines: &[(u32, Option<bool>)]) -> (usize, usize) {
    let of = |how: bool| lines.iter().filter(|(_, permits)| *permits == Some(how)).count();
    (of(true), of(false))
}

/// `no permit ip ...`, `no 10`: the line is gone from its list. Whether it is known which one it was.
pub(in crate::policy::read::cisco) fn take_out(name: &str, words: &[&str], builder: &mut Builder) -> bool {
    let (number, words) = numbered(words);
    let Some(router) = builder.continues() else { return false };
    let (Some(acl), Some(lines)) = (router.acls.get(name), router.forwarding.sequence.get(name)) else { return false };
    if lines.len() > MAX_BLOCKS || counts(lines) != (acl.permits.len(), acl.denies.len()) {
        return false;
    }
    let place = if let Some(number) = number {
        // Whether a note has a number of its own depends on the release.
        let noted = lines.iter().any(|(_, permits)| permits.is_none());
        lines.iter().position(|(own, _)| *own == number).filter(|_| !noted)
    } else {
        let [how @ ("permit" | "deny"), rest @ ..] = words else { return false };
        let Some((selector, _)) = selector(rest, builder) else { return false };
        let Some(acl) = builder.continues().and_then(|router| router.acls.get(name)) else { return false };
        let permits = *how == "permit";
        let nth = if permits {
            acl.permits.iter().position(|(permit, _)| *permit == selector)
        } else {
            acl.denies.iter().position(|denied| denied.selector.as_ref() == Some(&selector))
        };
        let lines = builder.continues().and_then(|router| router.forwarding.sequence.get(name));
        let same = lines.into_iter().flatten().enumerate().filter(|(_, (_, how))| *how == Some(permits));
        nth.and_then(|nth| same.map(|(at, _)| at).nth(nth))
    };
    place.is_some_and(|place| remove(name, place, builder))
}

/// Takes a line out of a list.
fn remove(name: &str, place: usize, builder: &mut Builder) -> bool {
    let Some(router) = builder.continues() else { return false };
    let (Some(acl), Some(lines)) = (router.acls.get_mut(name), router.forwarding.sequence.get_mut(name)) else {
        return false;
    };
    let (permits, denies) = counts(lines.get(..place).unwrap_or_default());
    match lines.get(place) {
        Some((_, Some(true))) if permits < acl.permits.len() => {
            acl.permits.remove(permits);
            for denied in acl.denies.iter_mut().filter(|denied| denied.behind > permits) {
                denied.behind -= 1;
            }
        }
        Some((_, Some(false))) if denies < acl.denies.len() => {
            acl.denies.remove(denies);
        }
        _ => return false,
    }
    lines.remove(place);
    true
}

/// `no ip access-list extended NAME`: nothing is left of it.
pub(in crate::policy::read::cisco) fn forget(name: &str, builder: &mut Builder) {
    let Some(router) = builder.continues() else { return };
    router.acls.remove(name);
    let forwarding = &mut router.forwarding;
    forwarding.sequence.remove(name);
    forwarding.grouped.retain(|line| line.list != name);
    for of in [&mut forwarding.vague, &mut forwarding.unsure, &mut forwarding.open] {
        of.remove(name);
    }
}
