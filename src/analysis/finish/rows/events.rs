//! What began, ended or changed.

use crate::analysis::finish::tap::{SaView, Tap};
use crate::model::report::{Event, EventKind, Report, When};
use crate::model::{FramePos, Protocol, Timestamp};

/// A new SA this soon before or after the last packet of an old one may be its successor.
const REKEY_NS: i64 = 30_000_000_000;
/// A successor's first number seen: a fresh counter begins at 1 (RFC 4303 section 3.3.3), and a few packets may have been missed.
const FRESH: u32 = 64;
/// So many SAs between two endpoints, one way, are no longer told apart as successors.
const POOL: usize = 1_000;

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    report.events.reserve_exact(2 * tap.sas.len());
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
        if let Some(old) = predecessor(tap, sa) {
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
    // An SA among very many of the same endpoints is one of a pool, not a successor.
    if tap.sas_between(&new.key).nth(POOL).is_some() {
        return None;
    }
    tap.sas_between(&new.key)
        .filter(|old| old.key.spi != new.key.spi)
        .filter_map(|old| {
            let (first, last) = (old.state.first_time().ns()?, old.state.last_time().ns()?);
            let overlap = last.saturating_sub(new_first);
            let shorter = (last.saturating_sub(first)).min(new_last.saturating_sub(new_first));
            let successive = first < new_first && last < new_last && overlap.unsigned_abs() <= REKEY_NS.unsigned_abs();
            (successive && overlap <= shorter / 10).then_some((last, old))
        })
        .max_by_key(|(last, old)| (*last, std::cmp::Reverse(old.key)))
        .map(|(_, old)| old)
}
