//! What began, ended or changed.

use std::collections::HashMap;

use crate::analysis::finish::tap::{SaView, Tap};
use crate::model::report::{Event, EventKind, Report, When};
use crate::model::{FramePos, Protocol, SaKey, Timestamp};

/// A new SA this soon before or after the last packet of an old one may be its successor.
const REKEY_NS: i64 = 30_000_000_000;
/// A successor's first number seen: a fresh counter begins at 1 (RFC 4303 section 3.3.3), and a few packets may have been missed.
const FRESH: u32 = 64;
/// Of two SAs that could be the one replaced, the other ended this much further away.
const CLEAR_NS: u64 = 1_000_000_000;
/// So many SAs between two endpoints, one way, are no longer told apart as successors.
const POOL: usize = 1_000;

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    report.events.reserve_exact(2 * tap.sas.len());
    let mut pools = HashMap::new();
    let mut is_pool = |key: &SaKey| {
        let way = (key.protocol, key.src, key.dst);
        *pools.entry(way).or_insert_with(|| tap.sas_between(*key).nth(POOL).is_some())
    };
    let mut push = |what, sa: &SaView<'_>, from: Option<&SaView<'_>>, pos: FramePos, time: Timestamp| {
        report.events.push(Event {
            when: When(time),
            tap: tap.name.clone(),
            what,
            sa: sa.name.clone(),
            from_sa: from.map(|from| from.name.clone()),
            frame: tap.frame(pos),
        });
    };
    for sa in &tap.sas {
        let Some(ends) = sa.state.seen.ends() else { continue };
        push(EventKind::SaStart, sa, None, ends.first, ends.first_time);
        push(EventKind::SaStop, sa, None, ends.last, ends.last_time);
        // An SA among very many of the same endpoints is one of a pool, not a successor.
        if !is_pool(&sa.key)
            && let Some(old) = predecessor(tap, sa)
        {
            push(EventKind::Rekey, sa, Some(old), ends.first, ends.first_time);
        }
        for restart in sa.sequence.iter().flat_map(|s| s.restarts()) {
            push(EventKind::Restart, sa, None, restart.pos, restart.time);
        }
        for wrap in sa.sequence.iter().flat_map(|s| s.wrap_edges()) {
            push(EventKind::Wrap, sa, None, wrap.pos, wrap.time);
        }
    }
}

/// The SA that `new` replaced: same protocol and endpoints, older, and silent (but for stragglers) once `new` talks.
pub(crate) fn predecessor<'t, 'a>(tap: &'t Tap<'a>, new: &SaView<'_>) -> Option<&'t SaView<'a>> {
    if new.key.protocol == Protocol::IpComp || new.sequence.as_ref().is_none_or(|s| s.first > FRESH) {
        return None;
    }
    let (new_first, new_last) = (new.state.first_time().ns()?, new.state.last_time().ns()?);
    let candidates = tap.sas_between(new.key).filter(|old| old.key.spi != new.key.spi).filter_map(|sa| {
        let (first, last) = (sa.state.first_time().ns()?, sa.state.last_time().ns()?);
        let overlap = last.saturating_sub(new_first);
        let shorter = (last.saturating_sub(first)).min(new_last.saturating_sub(new_first));
        let successive = first < new_first && last < new_last && overlap.unsigned_abs() <= REKEY_NS.unsigned_abs();
        (successive && overlap <= shorter / 10).then_some(Old { sa, first, last, apart: overlap.unsigned_abs() })
    });
    let mut candidates: Vec<Old<'t, 'a>> = candidates.collect();
    let newest = candidates.iter().map(|old| (old.last, std::cmp::Reverse(old.sa.key))).max()?.1.0;
    let (first, last) = candidates.iter().find(|old| old.sa.key == newest).map(|old| (old.first, old.last))?;
    // SAs that carried traffic side by side: the one that ended as this one began, if that is one alone.
    candidates.retain(|old| old.sa.key == newest || old.runs_beside(first, last));
    candidates.sort_by_key(|old| (old.apart, old.sa.key));
    match candidates.as_slice() {
        [one] => Some(one.sa),
        [one, another, ..] if another.apart > one.apart.saturating_mul(4).saturating_add(CLEAR_NS) => Some(one.sa),
        _ => None,
    }
}

/// An SA that may have been replaced: first and last packet, and how far the last is from the first of the new SA.
struct Old<'t, 'a> {
    sa: &'t SaView<'a>,
    first: i64,
    last: i64,
    apart: u64,
}

impl Old<'_, '_> {
    /// Whether it carried packets for more than half of the shorter of both lives together with one of these times.
    fn runs_beside(&self, first: i64, last: i64) -> bool {
        let together = self.last.min(last).saturating_sub(self.first.max(first));
        let shorter = self.last.saturating_sub(self.first).min(last.saturating_sub(first));
        together.saturating_mul(2) > shorter
    }
}
