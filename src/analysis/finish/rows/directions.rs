//! Rates per direction, PAUSE, and the time series.

pub(in crate::analysis::finish) mod copied;
pub(in crate::analysis::finish) mod goodput;

use std::collections::{BTreeMap, BTreeSet};

use self::copied::shows_others_again;
use self::goodput::{goodput_bytes, hidden_goodput, shows_packets_twice};
use super::{carried, padding};
use crate::analysis::finish::hidden::is_more_than_stray;
use crate::analysis::finish::several::is_on_interfaces;
use crate::analysis::finish::tap::Tap;
use crate::analysis::finish::tcp;
use crate::analysis::finish::time::{bits_per_second, per_second};
use crate::analysis::limits::REPORTED_DIRECTIONS;
use crate::analysis::settings::Settings;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::{DirectionKey, GROUP, PathKey};
use crate::analysis::state::traffic::notices::CutShort;
use crate::analysis::state::traffic::rates::{Again, BinSums, Direction, Sums};
use crate::model::report::{Bin, DirectionRate, GoodputRange, LengthBasis, PauseRate, Peak, Report, TimeBasis};

/// A direction with its group traffic folded in.
struct Folded {
    key: DirectionKey,
    /// Whether its frames bear a trailer that is left out.
    trailed: bool,
    /// Whether some of its frames do: by how much the others of a time bin are shorter is not known.
    partly_trailed: bool,
    /// Numbers of the directions in it.
    ids: Vec<u32>,
    seen: Seen,
    sums: Sums,
    assumed: u64,
    /// All frames, and those of IP.
    all_frames: u64,
    ip_frames: u64,
    /// What a gateway may show a second time.
    again: Again,
    bins: BTreeMap<i64, BinSums>,
}

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>, settings: &Settings) {
    let width = tap.stream.rates.bin_ns();
    for direction in folded(tap) {
        let index = report.rates.directions.len() as u32;
        let mut row = rate_row(tap, &direction, settings, width);
        carried::state(&mut row, tap, &direction.ids);
        let visible = !hides_goodput(tap, &direction);
        report.rates.directions.push(row);
        // The verdict on ESP-NULL comes after the bins were filled: their goodput is complete only without such SAs.
        let complete = visible && !carries(tap, &direction, |sa| sa.null.is_some());
        let bins = direction.bins.iter().filter(|_| !shows_others_again(tap, &direction));
        for (&bin, sums) in bins {
            let all = tap.on_the_wire(&sums.all, &sums.copies, &sums.again);
            let copies = if tap.copying { sums.copies_goodput_bytes } else { 0 };
            let again = tap.decapsulated.surely_of(&sums.again).in_tunnels.inner_bytes;
            report.rates.bins.push(Bin {
                direction: index,
                start_ns: bin.saturating_mul(width),
                frames: all.frames,
                l1_bytes: all.l1_bytes,
                l2_bytes: all.l2_bytes,
                l3_bytes: all.l3_bytes,
                goodput_bytes: complete.then(|| sums.goodput_bytes.saturating_sub(copies).saturating_sub(again)),
                control_frames: all.control_frames,
            });
        }
    }
    for (&(direction, class), pauses) in &tap.stream.notices.pause {
        report.rates.pause.push(PauseRate {
            tap: tap.name.clone(),
            direction: direction_name(tap, direction),
            class,
            frames: pauses.seen.count,
            quanta: pauses.quanta,
            stopped_ns: pauses.stopped_ns(settings.link_rate_bps),
        });
    }
}

/// `from > to` of a direction number.
pub(crate) fn direction_name(tap: &Tap<'_>, id: u32) -> String {
    let key = tap.stream.tables.directions.get(id).copied().unwrap_or(DirectionKey::Other);
    let (from, to) = ends(key);
    format!("{from} > {to}")
}

fn ends(key: DirectionKey) -> (String, String) {
    match key {
        DirectionKey::Mac(src, GROUP) => (mac(src), "*".into()),
        DirectionKey::Mac(src, dst) => (mac(src), mac(dst)),
        DirectionKey::Ip(src, dst) => (src.to_string(), dst.to_string()),
        DirectionKey::Unknown => ("unknown".into(), "unknown".into()),
        DirectionKey::Other => ("other".into(), "other".into()),
    }
}

fn mac(octets: [u8; 6]) -> String {
    let [a, b, c, d, e, f] = octets;
    format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
}

/// The directions that are reported: those with the most octets.
fn busiest(tap: &Tap<'_>) -> BTreeSet<u32> {
    let octets = |direction: &Direction| direction.sums.l1_bytes.saturating_add(direction.sums.control_l1_bytes);
    let mut all: Vec<_> =
        tap.stream.rates.iter().map(|(id, direction)| (std::cmp::Reverse(octets(direction)), id)).collect();
    all.sort_unstable();
    all.into_iter().take(REPORTED_DIRECTIONS).map(|(_, id)| id).collect()
}

/// Directions in the order of their keys, each sender's group traffic added to its busiest direction.
fn folded(tap: &Tap<'_>) -> Vec<Folded> {
    let busiest = busiest(tap);
    let key = |id| match tap.stream.tables.directions.get(id) {
        Some(key) if busiest.contains(&id) => *key,
        _ => DirectionKey::Other,
    };
    let mut rows: Vec<(u32, DirectionKey, &Direction)> =
        tap.stream.rates.iter().map(|(id, direction)| (id, key(id), direction)).collect();
    rows.sort_by_key(|(id, key, _)| (*key, *id));
    let is_group = |key: &DirectionKey| matches!(key, DirectionKey::Mac(_, GROUP));
    let mut folded: Vec<Folded> = Vec::new();
    for (id, key, direction) in rows.iter().filter(|(_, key, _)| !is_group(key)) {
        match folded.last_mut() {
            // All that is beyond the limit sorts together.
            Some(other) if *key == DirectionKey::Other && other.key == *key => other.take_in(tap, *id, direction),
            _ => folded.push(Folded::new(tap, *id, *key, direction)),
        }
    }
    for (id, key, direction) in rows.iter().filter(|(_, key, _)| is_group(key)) {
        let DirectionKey::Mac(sender, _) = *key else { continue };
        let own = folded
            .iter_mut()
            .filter(|f| matches!(f.key, DirectionKey::Mac(src, dst) if src == sender && dst != GROUP))
            .max_by_key(|f| f.sums.frames);
        match own {
            Some(own) => own.take_in(tap, *id, direction),
            None => folded.push(Folded::new(tap, *id, *key, direction)),
        }
    }
    folded
}

impl Folded {
    fn new(tap: &Tap<'_>, id: u32, key: DirectionKey, direction: &Direction) -> Self {
        let mut row = Self {
            key,
            trailed: false,
            partly_trailed: false,
            ids: Vec::new(),
            seen: Seen::default(),
            sums: Sums::default(),
            assumed: 0,
            all_frames: 0,
            ip_frames: 0,
            again: Again::default(),
            bins: BTreeMap::new(),
        };
        row.take_in(tap, id, direction);
        row
    }

    fn take_in(&mut self, tap: &Tap<'_>, id: u32, direction: &Direction) {
        self.ids.push(id);
        self.seen.join(&direction.seen);
        let trailer = padding::trailer(tap, id);
        self.trailed |= trailer > 0;
        let sums = tap.on_the_wire(&direction.sums, &direction.copies, &direction.again);
        let frames = sums.frames.saturating_sub(sums.control_frames);
        self.partly_trailed |= padding::is_appended_to_some(tap, id, frames);
        self.sums.join(&sums.shortened(padding::appended(tap, id, frames)));
        self.assumed += direction.assumed;
        self.all_frames += direction.sums.frames;
        self.ip_frames += direction.ip_frames;
        self.again.join(&direction.again);
        for (bin, sums) in &direction.bins {
            let mut sums = *sums;
            sums.all = sums.all.without_trailer(trailer);
            sums.copies = sums.copies.without_trailer(trailer);
            sums.again = sums.again.without_trailer(trailer);
            self.bins.entry(*bin).or_default().join(&sums);
        }
    }
}

/// Whether an SA for which `what` holds was seen in the direction.
fn carries(
    tap: &Tap<'_>,
    direction: &Folded,
    what: impl Fn(&crate::analysis::finish::tap::SaView<'_>) -> bool,
) -> bool {
    let bits = direction.ids.iter().filter(|&&id| id < 64).fold(0, |bits, id| bits | 1u64 << id);
    tap.sas.iter().any(|sa| sa.state.directions.first() & bits != 0 && what(sa))
}

/// Whether it may carry packets that are not read: in MACsec, in GTP-U, in unknown protocols, in streams of TCP, or cut off by the snapshot length.
fn is_hidden(tap: &Tap<'_>, direction: &Folded) -> bool {
    is_in_doubt(tap, direction)
        || is_cut(tap, direction, |cut| cut.frames)
        || tcp::hides(tap, (&direction.ids, direction.sums.clear_bytes))
}

/// The same, where it is not known either whether they are in clear.
fn is_in_doubt(tap: &Tap<'_>, direction: &Folded) -> bool {
    is_without_ip(tap, direction) || tap.hidden.gtp && direction.ip_frames > 0 || is_cut(tap, direction, |cut| cut.open)
}

/// Whether IP may be in frames of which it is not seen.
fn is_without_ip(tap: &Tap<'_>, direction: &Folded) -> bool {
    let others = direction.all_frames.saturating_sub(direction.ip_frames);
    let unread = tap.hidden.unread && is_more_than_stray(others, direction.all_frames);
    tap.hidden.macsec && others > 0 || unread || is_cut(tap, direction, |cut| cut.without_ip)
}

/// Whether more than a stray one of these frames was cut before anything told what it carries.
fn is_cut(tap: &Tap<'_>, direction: &Folded, of: fn(&CutShort) -> u64) -> bool {
    let cut: u64 = direction.ids.iter().filter_map(|id| tap.stream.notices.cut_short.get(id)).map(of).sum();
    is_more_than_stray(cut, direction.all_frames)
}

/// Whether which SAs travel in it is not kept, as of the 65th direction to appear and later ones.
fn is_unknown(direction: &Folded) -> bool {
    direction.key == DirectionKey::Other || direction.ids.iter().any(|&id| id >= u64::BITS)
}

/// Whether packets of tunnels without SA may be among fragments that fit together in more than one way.
fn is_torn(tap: &Tap<'_>, direction: &Folded) -> bool {
    let here = |path: &PathKey| path.sa == NONE && direction.ids.contains(&path.direction);
    tap.loose.is_torn && tap.stream.tables.paths.iter().any(|(_, path)| here(path))
}

/// Whether some of what it carries is not known in octets.
fn hides_goodput(tap: &Tap<'_>, direction: &Folded) -> bool {
    is_unknown(direction)
        || direction.key == DirectionKey::Unknown
        || is_torn(tap, direction)
        || is_hidden(tap, direction)
        || carries(tap, direction, |sa| {
            let is_sized = !sa.has_unsized_fragments() && sa.packets_without_size() == 0;
            sa.is_opaque() || !is_sized || tap.unsized_null.contains(&sa.id)
        })
}

fn rate_row(tap: &Tap<'_>, direction: &Folded, settings: &Settings, width: i64) -> DirectionRate {
    let (from, to) = ends(direction.key);
    let interfaces = tap.stream.interfaces.seen_on(direction.ids.iter().copied());
    // What may have been on the wire once or twice has no rate.
    let doubled = interfaces.count_ones() > 1 && carries(tap, direction, |sa| is_on_interfaces(tap, sa));
    let doubtful = doubled || shows_others_again(tap, direction) || tap.decapsulated.doubts(&direction.again);
    let stepped = tap.clock.stepped(&direction.seen, interfaces);
    let ns = tap.clock.duration_ns(&direction.seen, interfaces).filter(|_| !doubtful);
    let sums = &direction.sums;
    let unknown = is_unknown(direction);
    let visible = goodput_bytes(tap, direction);
    let unsized_packets = is_torn(tap, direction)
        || is_hidden(tap, direction)
        || carries(tap, direction, |sa| sa.has_unsized_fragments() || tap.unsized_null.contains(&sa.id));
    let twice = shows_packets_twice(tap, direction);
    // Of frames that were not understood nothing is known but their length.
    let unread = direction.key == DirectionKey::Unknown;
    let goodput = if hides_goodput(tap, direction) { None } else { bits_per_second(visible, ns) };
    // Opaque SAs of known transforms leave a range, but for packets whose size is not known.
    let bounded = !unknown && !unsized_packets && !twice && !unread;
    let range = bounded.then(|| hidden_goodput(tap, direction)).flatten();
    let limit = |hidden: u64| bits_per_second(visible.saturating_add(hidden), ns);
    let bounds =
        range.map(|hidden| GoodputRange { goodput_min_bps: limit(hidden.least), goodput_max_bps: limit(hidden.most) });
    let (plain, if_no_tfc) = if range.is_some_and(|hidden| hidden.stated) { (bounds, None) } else { (None, bounds) };
    let [l1_bps, with_control] = [0, sums.control_l1_bytes].map(|control| bits_per_second(sums.l1_bytes + control, ns));
    DirectionRate {
        tap: tap.name.clone(),
        direction: format!("{from} > {to}"),
        from,
        to,
        seconds: ns.map(|ns| ns as f64 / 1e9),
        frames: sums.frames,
        frames_per_s: per_second(sums.frames, ns),
        l1_bps,
        l1_with_control_bps: with_control,
        l2_bps: bits_per_second(sums.l2_bytes, ns),
        l3_bps: bits_per_second(sums.l3_bytes, ns).filter(|_| !unread && !is_without_ip(tap, direction)),
        goodput_bps: goodput,
        goodput_min_bps: plain.and_then(|range| range.goodput_min_bps),
        goodput_max_bps: plain.and_then(|range| range.goodput_max_bps),
        if_no_tfc,
        clear_bps: bits_per_second(clear_bytes(tap, direction), ns).filter(|_| !unread && !is_in_doubt(tap, direction)),
        control_l1_bps: bits_per_second(sums.control_l1_bytes, ns),
        utilisation_pct: settings
            .link_rate_bps
            .filter(|&rate| rate > 0 && !tap.has_one_mac_pair())
            .and_then(|rate| with_control.map(|bps| 100.0 * bps / rate as f64)),
        // Where the clock was set back, a bin holds frames of two times.
        peak: (!stepped && !direction.partly_trailed && !tap.clock.is_coarse(&direction.seen) && !doubtful)
            .then(|| peak(tap, direction, width))
            .flatten()
            .filter(|peak| l1_bps.is_none_or(|mean| is_peak(peak, mean, sums.frames, width))),
        basis: if stepped { TimeBasis::ClockStepped } else { TimeBasis::CaptureClock },
        l1_basis: if direction.assumed > 0 || direction.trailed { LengthBasis::Assumed } else { LengthBasis::Measured },
        sas: Vec::new(),
        sas_total: None,
        endpoints: Vec::new(),
    }
}

/// Whether the fullest of the whole time bins is no lower than the mean: else a bin that is not whole holds more. The mean is over one interval less
/// than frames, and a frame more or less falls into a bin by chance.
fn is_peak(peak: &Peak, mean_bps: f64, frames: u64, width: i64) -> bool {
    // Far below 2^53 frames.
    let frames = frames.max(1) as f64;
    let of_one_frame = peak.l1_bps / (peak.frames_per_s * width as f64 / 1e9).max(1.0);
    peak.l1_bps + of_one_frame >= mean_bps * (frames - 1.0) / frames
}

/// IP octets in clear, without those of SAs that only all of their frames together showed.
fn clear_bytes(tap: &Tap<'_>, direction: &Folded) -> u64 {
    let here = |sa: &&crate::analysis::finish::tap::SaView<'_>| {
        let bits = sa.state.directions.first();
        bits.is_power_of_two() && direction.ids.contains(&bits.trailing_zeros())
    };
    let hidden: u64 = tap.sas.iter().filter(here).map(|sa| sa.taken_for_clear().1).sum();
    let foreign: u64 = tap.foreign.iter().filter(here).map(|sa| sa.state.outer_bytes).sum();
    let ike: u64 = direction.ids.iter().filter_map(|id| tap.loose.ike.get(id)).map(|(_, octets)| octets).sum();
    let headless = tap.headless_of_tunnels().filter(|(id, _)| {
        let bits = tap.stream.flows.marks(*id).map_or(0, |marks| marks.directions());
        bits.is_power_of_two() && direction.ids.contains(&bits.trailing_zeros())
    });
    let headless: u64 = headless.map(|(_, (_, octets))| octets).sum();
    direction.sums.clear_bytes.saturating_sub(hidden).saturating_sub(ike).saturating_sub(headless) + foreign
}

/// The highest of the bins that lie wholly between the first and the last frame.
fn peak(tap: &Tap<'_>, direction: &Folded, width: i64) -> Option<Peak> {
    let ends = direction.seen.ends()?;
    let (first, last) = (ends.first_time.ns()?, ends.last_time.ns()?);
    direction
        .bins
        .iter()
        .map(|(bin, sums)| (bin.saturating_mul(width), sums))
        .filter(|(start, _)| *start >= first && start.saturating_add(width) <= last)
        .map(|(start, sums)| (start, tap.on_the_wire(&sums.all, &sums.copies, &sums.again)))
        .max_by_key(|(start, sums)| (sums.l1_bytes, std::cmp::Reverse(*start)))
        .map(|(start_ns, sums)| Peak {
            start_ns,
            l1_bps: sums.l1_bytes as f64 * 8e9 / width as f64,
            frames_per_s: sums.frames as f64 * 1e9 / width as f64,
        })
}
