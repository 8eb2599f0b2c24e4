//! Security associations and tunnels.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::inferred::Inferred;
use super::padding::trailer_of_sa;
use super::sizes::{OverheadSum, overheads};
use crate::analysis::finish::findings::may_be_shown_twice;
use crate::analysis::finish::several::is_on_interfaces;
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::finish::time::{bits_per_second, moment, per_second};
use crate::analysis::state::sa::sequence::{SequenceFigures, WINDOWS};
use crate::model::report::{
    FrameRef, IcvChecks, MinMax, Name, Overhead, OverheadBasis, ReplayWindow, Report, Sa, SaMode, SaRate, Sequence,
    Shown, TransformBasis, TransformReport, Tunnel,
};
use crate::model::{Address, Encapsulation, Protocol, Timestamp};
use crate::transform::algorithm::cipher;
use crate::transform::algorithm::integrity::{INTEGRITIES, Place};
use crate::transform::{Esp, Integrity};

/// Octets of the AH header in front of its ICV field (RFC 4302 section 2).
const AH_FIXED: u32 = 12;

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    let overheads = overheads(tap);
    report.sas.reserve_exact(tap.sas.len());
    for sa in &tap.sas {
        report.sas.push(sa_row(tap, sa, overheads.get(&sa.id).filter(|_| sa.flow.is_none())));
    }
    add_tunnels(report, tap);
}

fn sa_row(tap: &Tap<'_>, sa: &SaView<'_>, overhead: Option<&OverheadSum>) -> Sa {
    let state = sa.state;
    let copies = sa.left_out();
    let duration = tap.clock.duration_ns(&state.seen, tap.interfaces_of(state.directions.first()));
    let duration = duration.filter(|_| !is_on_interfaces(tap, sa));
    let frames = state.seen.count.saturating_sub(copies.frames);
    let later = sa.fragments.as_ref().map_or((0, 0), |f| (f.later, f.later_bytes));
    let later_l1 = sa.fragments.as_ref().map_or(0, |f| f.later_l1_bytes);
    let l1_bytes = trailer_of_sa(tap, state.directions.first()).map(|trailer| {
        let all = state.l1_bytes.saturating_sub(copies.l1_bytes) + later_l1;
        all.saturating_sub((frames + later.0).saturating_mul(trailer))
    });
    let (first, last) = (state.first_time(), state.last_time());
    let nowhere = FrameRef { capture: 0, frame: 0 };
    Sa {
        id: sa.name.clone(),
        tap: tap.name.clone(),
        proto: sa.key.protocol,
        spi: sa.key.spi.0,
        spi_hex: Shown(sa.key.spi),
        src: Shown(sa.key.src),
        dst: Shown(sa.key.dst),
        encapsulation: encapsulation(sa),
        mode: mode(sa),
        frames,
        fragments: later.0,
        fragments_uncertain: sa.fragments.as_ref().map_or(0, |f| f.uncertain),
        outer_bytes: state.outer_bytes.saturating_sub(copies.outer_bytes) + later.1,
        copies_removed: copies.frames,
        first: moment(first),
        last: moment(last),
        first_ns: first.ns(),
        last_ns: last.ns(),
        first_frame: state.seen.ends().map_or(nowhere, |e| tap.frame(e.first)),
        last_frame: state.seen.ends().map_or(nowhere, |e| tap.frame(e.last)),
        sequence: sa.sequence.as_ref().map(|figures| sequence_row(figures, may_be_shown_twice(tap, sa))),
        transform: transform(sa),
        icv_bytes: icv_bytes(sa),
        icv_checks: state.keyed.as_deref().map(|keyed| IcvChecks {
            verified: keyed.verified(),
            failed: keyed.failed.count,
            not_checked: keyed.unchecked.values().sum(),
            decrypted: keyed.opened,
        }),
        rate: SaRate {
            frames_per_s: per_second(frames, duration),
            l1_bps: l1_bytes.and_then(|bytes| bits_per_second(bytes, duration)),
        },
        protection_bytes: sa.inferred.as_ref().map(|inferred| {
            let (min, max) = inferred.known.inference.protection;
            MinMax { min, max }
        }),
        overhead: overhead_row(overhead),
    }
}

fn overhead_row(sum: Option<&OverheadSum>) -> Overhead {
    match sum {
        Some(OverheadSum { packets, sum, range: Some((low, high)), decrypted }) => Overhead {
            basis: if *decrypted { OverheadBasis::Decrypted } else { OverheadBasis::Visible },
            min_bytes: Some(*low),
            max_bytes: Some(*high),
            mean_bytes: Some(*sum as f64 / *packets as f64),
        },
        _ => Overhead { basis: OverheadBasis::Unknown, min_bytes: None, max_bytes: None, mean_bytes: None },
    }
}

/// `shown_twice`: numbers may come again because the capture shows packets twice. Then windows would drop what came late, as far as is known.
fn sequence_row(figures: &SequenceFigures, shown_twice: bool) -> Sequence {
    let shown = if shown_twice { figures.duplicate } else { 0 };
    Sequence {
        first: figures.first,
        last: figures.last,
        highest: figures.highest,
        lost: figures.lost,
        gaps: figures.gaps,
        longest_gap: figures.longest_gap,
        duplicate: figures.duplicate,
        late: figures.late,
        restarts: figures.restarts().len() as u64,
        wraps: figures.wraps,
        replay_window: WINDOWS
            .iter()
            .zip(figures.would_drop.map(|would_drop| would_drop.saturating_sub(shown)))
            .filter(|(_, would_drop)| *would_drop > 0)
            .map(|(&size, would_drop)| ReplayWindow { size, would_drop })
            .collect(),
    }
}

/// The encapsulation most frames of the SA had.
pub(crate) fn encapsulation(sa: &SaView<'_>) -> Encapsulation {
    let kinds = [Encapsulation::Native, Encapsulation::Udp, Encapsulation::Tcp, Encapsulation::Wesp];
    let counts = sa.state.encapsulations;
    kinds.into_iter().zip(counts).rev().max_by_key(|(_, count)| *count).map_or(Encapsulation::Native, |(kind, _)| kind)
}

/// `tunnel`, `transport` or `unknown`, as the packets show it.
fn mode(sa: &SaView<'_>) -> SaMode {
    let (tunnel, transport) = match sa.null {
        Some((_, votes)) => {
            (votes.tunnel, votes.frames.saturating_sub(votes.tunnel).saturating_sub(votes.trailers.dummy))
        }
        None => (sa.state.tunnel, sa.state.transport),
    };
    match (tunnel, transport) {
        (0, 0) => SaMode::Unknown,
        (t, p) if t >= p => SaMode::Tunnel,
        _ => SaMode::Transport,
    }
}

/// Octets by which the ICV of AH is padded in IPv6, where the header would end in the middle of eight (RFC 4302 section 3.3.3.2.1).
const AH_PADDING: u32 = 4;

/// ICV octets: of AH without known padding, of ESP-NULL by the verdict, of opaque ESP where lengths decide it.
pub(crate) fn icv_bytes(sa: &SaView<'_>) -> Option<u32> {
    if let Some((candidate, _)) = sa.null {
        return Some(u32::from(candidate.icv_bytes));
    }
    if let Some(inferred) = &sa.inferred {
        return inferred.known.inference.icv;
    }
    let (&header, _) = sa.state.ah_lengths.iter().max_by_key(|(_, count)| **count)?;
    let field = header.checked_sub(AH_FIXED)?;
    let is_known = |bytes: u32| integrity(bytes, true).next().is_some();
    let unpadded = field.saturating_sub(AH_PADDING);
    // Where the snapshot length cut the padding off, no algorithm has such an ICV.
    let padded = sa.state.ah_padding().is_some() || !is_known(field) && is_known(unpadded);
    (padded || !is_open(field)).then_some(if padded { unpadded } else { field })
}

/// Whether an AH ICV field of `field` bytes without visible padding fits two ICV lengths: the full field, or a shorter ICV with random padding.
fn is_open(field: u32) -> bool {
    let is_known = |bytes: u32| integrity(bytes, true).next().is_some();
    is_known(field) && field.checked_sub(AH_PADDING).is_some_and(is_known) && (AH_FIXED + field).is_multiple_of(8)
}

/// The transform of AH whose ICV field is open.
fn open_ah(sa: &SaView<'_>) -> Option<TransformReport> {
    let (&header, _) = sa.state.ah_lengths.iter().max_by_key(|(_, count)| **count)?;
    let field = header.checked_sub(AH_FIXED).filter(|field| is_open(*field))?;
    let named = |bytes| integrity(bytes, true).map(|one| Name::from(one.name));
    Some(TransformReport {
        basis: TransformBasis::Unknown,
        candidates: named(field - AH_PADDING).chain(named(field)).collect(),
        evidence: Some(
            format!(
                "The ICV field of {field} bytes is an ICV of {} bits, or one of {} bits and {AH_PADDING} bytes of padding that differ in each packet: which, the \
                 packets do not show.",
                field * 8,
                (field - AH_PADDING) * 8
            )
            .into(),
        ),
        ..TransformReport::default()
    })
}

fn transform(sa: &SaView<'_>) -> TransformReport {
    let unknown = TransformReport { candidates: Arc::new([]), ..TransformReport::default() };
    if let Some(Inferred { known, .. }) = &sa.inferred {
        return TransformReport {
            basis: if known.inference.decided { TransformBasis::Inferred } else { TransformBasis::Unknown },
            name: known.name.clone(),
            candidates: Arc::clone(&known.candidates),
            evidence: Some(Name::clone(&known.evidence)),
            ..TransformReport::default()
        };
    }
    match (sa.key.protocol, sa.null, icv_bytes(sa)) {
        (Protocol::Esp, Some((candidate, _)), _) => {
            let null = |integrity| {
                cipher::named("NULL").map(|cipher| Name::from(Esp { cipher, key_bits: None, integrity }.to_string()))
            };
            let candidates: Vec<Name> = match (candidate.iv_bytes, candidate.icv_bytes) {
                (0, 0) => null(None).into_iter().collect(),
                (0, icv) => integrity(u32::from(icv), false).filter_map(|one| null(Some(one))).collect(),
                _ => vec!["NULL-AUTH-AES-GMAC".into()],
            };
            let name = match (candidate.iv_bytes, candidate.icv_bytes) {
                (0, 0) => Name::from("NULL, no ICV"),
                (0, icv) => format!("NULL, {}-bit ICV", u32::from(icv) * 8).into(),
                _ => "NULL-AUTH-AES-GMAC".into(),
            };
            TransformReport {
                basis: TransformBasis::Visible,
                name: Some(name),
                candidates: candidates.into(),
                ..TransformReport::default()
            }
        }
        (Protocol::Ah, _, Some(icv)) => TransformReport {
            basis: TransformBasis::Visible,
            name: Some(format!("{}-bit ICV", icv * 8).into()),
            candidates: integrity(icv, true).map(|one| Name::from(one.name)).collect(),
            ..TransformReport::default()
        },
        (Protocol::Ah, _, None) => open_ah(sa).unwrap_or(unknown),
        _ => unknown,
    }
}

/// Integrity algorithms whose ICV field has so many octets.
fn integrity(icv_bytes: u32, ah: bool) -> impl Iterator<Item = &'static Integrity> {
    let place = move |one: &&Integrity| one.place == Place::Both || ah && one.place == Place::Ah;
    INTEGRITIES.iter().filter(place).filter(move |one| one.iv + one.icv == icv_bytes)
}

/// SA ids of the two directions, earliest and latest time.
type Ends = (Vec<Name>, Vec<Name>, Option<i64>, Option<i64>);

fn add_tunnels(report: &mut Report, tap: &Tap<'_>) {
    let mut tunnels: BTreeMap<(Address, Address), Ends> = BTreeMap::new();
    for sa in &tap.sas {
        let (a, b) = (sa.key.src.min(sa.key.dst), sa.key.src.max(sa.key.dst));
        let (a_to_b, b_to_a, first, last) = tunnels.entry((a, b)).or_default();
        if sa.key.src == a {
            a_to_b.push(sa.name.clone())
        } else {
            b_to_a.push(sa.name.clone())
        }
        let earlier = |own: Option<i64>, t: Timestamp| [own, t.ns()].into_iter().flatten().min();
        let later = |own: Option<i64>, t: Timestamp| [own, t.ns()].into_iter().flatten().max();
        *first = earlier(*first, sa.state.first_time());
        *last = later(*last, sa.state.last_time());
    }
    report.tunnels.extend(tunnels.into_iter().map(|((a, b), (a_to_b, b_to_a, first_ns, last_ns))| Tunnel {
        tap: tap.name.clone(),
        a: a.to_string(),
        b: b.to_string(),
        sas_a_to_b: a_to_b,
        sas_b_to_a: b_to_a,
        first_ns,
        last_ns,
    }));
}
