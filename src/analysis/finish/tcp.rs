//! ESP in TCP (RFC 9329): what its sequence numbers say nothing about.
//!
//! TCP sends again what is lost, puts in order what comes late, and cuts its stream where it likes. Messages that do not begin and end in one
//! segment are not read, and their numbers look as if they were missing.

use std::collections::BTreeMap;

use super::rows::sas::encapsulation;
use super::tap::{SaView, Tap};
use crate::analysis::StreamState;
use crate::analysis::settings::Settings;
use crate::analysis::state::traffic::notices::Notices;
use crate::model::{Address, Encapsulation};

/// The TCP port whose streams are read as IKE and ESP anyway.
pub(super) const NAT_TRAVERSAL: u16 = 4500;

/// Whether TCP from or to this port is read as IKE and ESP.
pub(super) fn is_read(port: u16, settings: &Settings) -> bool {
    port == NAT_TRAVERSAL || settings.tcp_ports.contains(&port)
}

/// Whether a direction carries ESP in TCP that is not read: messages that its segments cut, or, where it carries packets in clear, a stream on another port.
pub(super) fn hides(tap: &Tap<'_>, (ids, clear_bytes): (&[u32], u64)) -> bool {
    let notices = &tap.stream.notices;
    let settings = tap.stream.settings();
    let is_esp = !notices.tcp_streams.is_empty() || tap.sas.iter().any(SaView::in_tcp);
    let in_pieces = || ids.iter().any(|id| notices.tcp_pieces.contains_key(id));
    let unread = || notices.tcp_streams.keys().any(|(_, port)| !is_read(*port, settings));
    is_esp && in_pieces() || clear_bytes > 0 && unread()
}

/// Takes SAs in TCP out that are none: most first words of messages on the port come once, as those of any protocol with a length before its messages
/// do. IKE between the ends, the prefix of a stream, a key or a readable payload shows that they are SAs.
pub(super) fn take_foreign<'a>(sas: &mut Vec<SaView<'a>>, stream: &StreamState) -> Vec<SaView<'a>> {
    /// SPIs that two endpoints do not have at once, with a packet each.
    const FEWEST: usize = 64;
    let pair = |sa: &SaView<'_>| (sa.key.src.min(sa.key.dst), sa.key.src.max(sa.key.dst));
    let begins = |address| stream.notices.tcp_streams.keys().any(|(own, _)| *own == address);
    let is_shown = |sa: &SaView<'_>| {
        sa.null.is_some()
            || sa.state.keyed.is_some()
            || stream.notices.speak_ike(sa.key.src, sa.key.dst)
            || begins(sa.key.src)
            || begins(sa.key.dst)
    };
    let may_be = |sa: &SaView<'_>| encapsulation(sa) == Encapsulation::Tcp && !is_shown(sa);
    let mut spis: BTreeMap<(Address, Address), (usize, usize)> = BTreeMap::new();
    for sa in sas.iter().filter(|sa| may_be(sa)) {
        let (all, single) = spis.entry(pair(sa)).or_default();
        let packets = sa.state.seen.count.saturating_sub(sa.state.copies.get().frames);
        (*all, *single) = (*all + 1, *single + usize::from(packets <= 1));
    }
    let is_other = |(all, single): &(usize, usize)| *all >= FEWEST && single * 4 >= all * 3;
    let foreign = |sa: &SaView<'_>| may_be(sa) && spis.get(&pair(sa)).is_some_and(is_other);
    let (out, kept) = std::mem::take(sas).into_iter().partition(foreign);
    *sas = kept;
    out
}

/// Takes the figures that are not those of the SA from the SAs that TCP carries.
pub(super) fn take(sas: &mut [SaView<'_>], notices: &Notices) {
    for sa in sas.iter_mut().filter(|sa| encapsulation(sa) == Encapsulation::Tcp) {
        let has_pieces = notices.refused > 0 || notices.tcp_continuations.contains_key(&(sa.key.src, sa.key.dst));
        if has_pieces && sa.sequence.as_ref().is_some_and(|figures| figures.lost > 0) {
            (sa.sequence, sa.history) = (None, None);
        }
        // The receiver gets each octet once and in order.
        if let Some(figures) = &mut sa.sequence {
            figures.would_drop = Default::default();
        }
    }
}
