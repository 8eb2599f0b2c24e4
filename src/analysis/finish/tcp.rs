//! ESP in TCP (RFC 9329): what its sequence numbers say nothing about.
//!
//! TCP sends again what is lost, puts in order what comes late, and cuts its stream where it likes. Messages that do not begin and end in one
//! segment are not read, and their numbers look as if they were missing.

use super::rows::sas::encapsulation;
use super::tap::SaView;
use crate::analysis::state::traffic::notices::Notices;
use crate::model::Encapsulation;

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
