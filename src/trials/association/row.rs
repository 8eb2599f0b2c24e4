//! The frames of one direction at each tap, in order of time on one clock.

use std::collections::BTreeSet;

use super::beside::PacketBeside;
use super::both_ways::QueuedSpan;
use super::copies;
use super::lengths::{Histogram, KnownLength, Lengths, lost_whole};
use super::pair::Span;
use crate::model::trials::Direction;
use crate::trials::read::load_flows::test_flows;
use crate::trials::read::skipped::Skip;
use crate::trials::read::tap::{ContentDigest, Outer, SaId, Tap, TapPacket};
use crate::trials::read::ways::Ways;
use crate::trials::read::{Place, Taps};
use crate::trials::settings::TrialsSettings;
use crate::trials::thinned::{Thin, between, sums};

/// The time of a packet that was not seen.
pub(crate) const MISSING: i64 = i64::MIN;

/// A frame at a tap: its time, what it is known by, and its place in the records of the tap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighted {
    pub(crate) t: i64,
    pub(crate) key: ContentDigest,
    /// IP length; the outer one where the packet is encrypted.
    pub(crate) size: u16,
    pub(crate) record: u32,
    /// How many frames this record stands for.
    pub(crate) frames: u32,
    /// Flow or SA.
    pub(crate) stream: u16,
    /// Whether it is of the test load; in the tunnel, nobody knows.
    pub(crate) test: bool,
}

/// Frames of one direction at one tap.
#[derive(Debug, Default)]
pub(crate) struct At {
    pub(crate) frames: Vec<Sighted>,
    /// Frames of the same way that are no test load, where packets come in in clear.
    pub(crate) others: Vec<Sighted>,
    /// SAs of this direction, where they are in the tunnel.
    pub(crate) sas: Vec<bool>,
    /// Whether they are in the tunnel.
    pub(crate) tunnel: bool,
    /// Whether what is inside is visible or was decrypted.
    pub(crate) visible: bool,
    /// Whether nothing tells that this direction of the tunnel is not the other one.
    pub(crate) open: bool,
}

/// One direction: the packets that came in, and where they were seen.
#[derive(Debug)]
pub(crate) struct FrameRow {
    pub(crate) direction: Direction,
    /// Taps in the order in which this direction passes them.
    pub(crate) places: Vec<Place>,
    /// Time at the first of them.
    pub(crate) t: Vec<i64>,
    /// IP length of the packet.
    pub(crate) size: Vec<u16>,
    pub(crate) key: Vec<ContentDigest>,
    /// Flow, where the first tap shows packets in clear.
    pub(crate) flow: Vec<u16>,
    /// Place of the record at the first tap.
    pub(crate) spots: Vec<u32>,
    /// The same, where the first tap is the tunnel's.
    pub(crate) record: Vec<u32>,
    /// Outer IP length, where packets come in encrypted: padding makes several inner ones alike.
    pub(crate) outer: Vec<u16>,
    /// Time at the last tap.
    pub(crate) out: Vec<i64>,
    /// Time and octets at layer 1 at a tap between.
    pub(crate) middle: Vec<(i64, u16)>,
    pub(crate) lengths: Lengths,
    /// Sequence numbers that were skipped at the tunnel tap.
    pub(crate) skips: Vec<Skip>,
    /// Whether the lengths of packets inside are not known.
    pub(crate) opaque: bool,
    /// What the records stand for, where not every one was kept.
    pub(crate) thin: Option<Thin>,
    /// Packets of which it is not known which frame of a tap they are.
    pub(crate) unclear: Vec<Unclear>,
    /// By how much departures may seem to precede arrivals.
    pub(crate) slack: i64,
    /// Packets that left and that the first tap missed, as gaps of equal packets show.
    pub(crate) missed: u64,
    /// Times at the last tap of all frames of the load.
    pub(crate) leaving: Vec<i64>,
    /// Time of the first frame of any kind at the first tap.
    pub(crate) recording: Option<i64>,
    /// Time of the last frame of any kind at the last tap.
    pub(crate) recorded: Option<i64>,
    /// The last packet, where a full queue would have held fewer packets than in other loads because the captures end before it drained.
    pub(crate) undrained: Option<usize>,
    /// Packets that may have shared a queue.
    pub(crate) spans: Vec<Span>,
    /// What queues did with them, where they are equal.
    pub(crate) queued: Vec<QueuedSpan>,
    /// Packets beside the load that the first tap shows and that go into the tunnel as well.
    pub(crate) beside: Vec<PacketBeside>,
}

/// Packets that several frames of a tap may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unclear {
    pub(crate) place: Place,
    /// First packet.
    pub(crate) from: usize,
    /// Behind the last packet.
    pub(crate) to: usize,
    /// Whether the tap shows more frames than packets came in.
    pub(crate) more: bool,
    /// Whether a queue that dropped what it had no room for may have let these through, and does not explain every loss.
    pub(crate) queued: bool,
}

impl FrameRow {
    /// No packet yet.
    pub(super) fn of_places(direction: Direction, places: Vec<Place>, lengths: Lengths, thinned: bool) -> Self {
        Self {
            direction,
            places,
            t: Vec::new(),
            size: Vec::new(),
            key: Vec::new(),
            flow: Vec::new(),
            spots: Vec::new(),
            record: Vec::new(),
            outer: Vec::new(),
            out: Vec::new(),
            middle: Vec::new(),
            lengths,
            skips: Vec::new(),
            opaque: false,
            thin: thinned.then(Thin::default),
            unclear: Vec::new(),
            slack: 0,
            missed: 0,
            leaving: Vec::new(),
            recording: None,
            recorded: None,
            undrained: None,
            spans: Vec::new(),
            queued: Vec::new(),
            beside: Vec::new(),
        }
    }

    /// Packets that came in, of some records.
    pub(crate) fn count(&self, from: usize, to: usize) -> u64 {
        match &self.thin {
            Some(thin) => between(&thin.sent, from, to).round() as u64,
            None => to.saturating_sub(from) as u64,
        }
    }

    pub(crate) fn first(&self) -> Option<Place> {
        self.places.first().copied()
    }

    pub(crate) fn last(&self) -> Option<Place> {
        self.places.last().copied().filter(|_| self.places.len() > 1)
    }

    /// Why frames of some packets at a tap are not known.
    pub(crate) fn unclear(&self, place: Place, (from, to): (usize, usize)) -> Option<&Unclear> {
        self.unclear.iter().find(|own| own.place == place && own.from < to && from < own.to)
    }

    /// Whether the first tap is the tunnel's.
    pub(crate) fn is_from_tunnel(&self) -> bool {
        !self.record.is_empty()
    }
}

/// Frames of a direction at each of its taps.
pub(crate) fn sightings(
    taps: &Taps,
    ways: &Ways,
    direction: Direction,
    places: &[Place],
    settings: &TrialsSettings,
) -> Vec<(Place, At)> {
    // What is test load shows where the packets are in clear first.
    let plain = places.iter().copied().find(|place| !taps.is_tunnel(*place));
    let tests = plain.map(|place| test_flows(taps, ways, direction, place, settings));
    // What comes in encrypted cannot be told from background of the same lengths, so that must count where it goes out, too.
    let all = places.first().is_some_and(|place| taps.is_tunnel(*place));
    let gap = i64::try_from(settings.gap_ns).unwrap_or(i64::MAX);
    let at = |place: Place, came: Option<&[Sighted]>| {
        let tap = taps.place(place);
        if taps.is_tunnel(place) {
            let load = LoadInTunnel { alone: !all || places.len() == 1, thinned: taps.is_thinned(), came, gap };
            let open = places.len() > 1 && !ways.open.is_empty();
            At { open, ..in_tunnel(tap, sas_of(tap, ways, direction), &load) }
        } else {
            let test = |flow: u16| tests.as_ref().and_then(|tests| tests.get(usize::from(flow))) == Some(&true);
            let mine = |flow: u16| all && ways.of_flow(taps, flow) == Some(direction);
            let own = || tap.plain.records.iter().enumerate().map(|(at, p)| (at, p, test(p.stream)));
            let sighted = |(at, p, test): (usize, &TapPacket, bool)| Sighted {
                t: p.t,
                key: p.key,
                size: p.detail.size,
                record: at as u32,
                frames: p.share.frames,
                stream: p.stream,
                test,
            };
            let mut frames: Vec<Sighted> = own().filter(|(_, p, test)| *test || mine(p.stream)).map(sighted).collect();
            let beside = |stream: u16| came.is_none() && ways.of_flow(taps, stream) == Some(direction);
            let mut others: Vec<Sighted> =
                own().filter(|(_, p, test)| !*test && beside(p.stream)).map(sighted).collect();
            if taps.is_thinned() {
                others.clear();
            } else {
                copies::once(&mut frames);
                copies::once(&mut others);
            }
            At { frames, others, visible: true, ..At::default() }
        }
    };
    let mut seen: Vec<(Place, At)> = Vec::with_capacity(places.len());
    for place in places {
        // What came in tells whether an SA carries any of it.
        let own = at(*place, seen.first().map(|(_, first)| first.frames.as_slice()));
        seen.push((*place, own));
    }
    if !taps.is_thinned() {
        // Times that are coarse say nothing of how close frames are.
        let coarse = places.iter().any(|place| taps.place(*place).grain.step() > 0);
        copies::once_at_ends(&mut seen, gap, settings.link_rate_bps.filter(|_| !coarse));
    }
    seen
}

/// What is known of the load when the frames of a tunnel are read.
struct LoadInTunnel<'f> {
    /// Whether only frames of the load count.
    alone: bool,
    thinned: bool,
    /// What came in before.
    came: Option<&'f [Sighted]>,
    /// A longer silence ends a load.
    gap: i64,
}

/// Frames of some SAs of a tunnel.
fn in_tunnel(tap: &Tap, mut mine: Vec<bool>, load: &LoadInTunnel<'_>) -> At {
    let own = tap.tunnelled.records.iter().enumerate();
    let mut own: Vec<(usize, &Outer)> = own.filter(|(_, o)| mine.get(usize::from(o.stream)) == Some(&true)).collect();
    let visible = own.iter().filter(|(_, o)| o.detail.inner > 0).count() * 100 >= own.len() * 99 && !own.is_empty();
    if !visible {
        packets_of_the_load(&mut own, &mut mine, load);
    }
    let frames = own.iter().map(|(at, o)| Sighted {
        t: o.t,
        key: if visible { o.key } else { ContentDigest::NONE },
        size: if visible { o.detail.inner } else { o.detail.outer },
        record: *at as u32,
        frames: o.share.frames,
        stream: o.stream,
        test: true,
    });
    At { frames: frames.collect(), sas: mine, tunnel: true, visible, ..At::default() }
}

/// Which SAs of a tap go one way.
fn sas_of(tap: &Tap, ways: &Ways, direction: Direction) -> Vec<bool> {
    let of = |sa: &SaId| {
        let way = tap.directions.iter().position(|way| way.src == sa.src && way.dst == sa.dst);
        way.and_then(|way| ways.tunnel.get(way)) == Some(&direction)
    };
    tap.sas.iter().map(of).collect()
}

/// Leaves out of the frames of a tunnel those that are no packets of their own and, for the test load alone, SAs that carry none of it.
fn packets_of_the_load(own: &mut Vec<(usize, &Outer)>, mine: &mut [bool], load: &LoadInTunnel<'_>) {
    let records: Vec<&Outer> = own.iter().filter(|_| load.alone).map(|(_, record)| *record).collect();
    for sa in copies::background(&records, load.came, load.gap) {
        if let Some(mine) = mine.get_mut(usize::from(sa)) {
            *mine = false;
        }
    }
    own.retain(|(_, record)| mine.get(usize::from(record.stream)) == Some(&true));
    if !load.thinned {
        let records: Vec<&Outer> = own.iter().map(|(_, record)| *record).collect();
        let mut repeated = copies::repeated(&records, load.gap).into_iter();
        own.retain(|_| repeated.next() != Some(true));
    }
}

/// Which outer lengths the packets of a direction have.
fn lengths(taps: &Taps, seen: &[(Place, At)], gap: i64) -> Lengths {
    let histogram = |at: &At| {
        let mut counts = Histogram::new();
        at.frames.iter().filter(|frame| frame.test).for_each(|frame| {
            *counts.entry(frame.size).or_default() += u64::from(frame.frames);
        });
        counts
    };
    let plain = seen.iter().find(|(_, at)| !at.tunnel);
    let tunnel = seen.iter().find(|(_, at)| at.tunnel);
    let records = |place: Place| &taps.place(place).tunnelled.records;
    match (plain, tunnel) {
        (_, Some((place, at))) if at.visible => {
            let pairs = at.frames.iter().filter_map(|frame| records(*place).get(frame.record as usize));
            Lengths::known(pairs.map(|o| (o.detail.inner, o.detail.outer)))
        }
        (Some((_, plain)), Some((_, tunnel))) => {
            let mut lengths = Lengths::learn(&histogram(plain), &histogram(tunnel));
            if seen.first().is_some_and(|(_, first)| first.tunnel) {
                let beside: BTreeSet<u16> =
                    plain.frames.iter().filter(|own| !own.test).filter_map(|own| lengths.ruled(own.size)).collect();
                let known = |outer: u16| match lengths.inner_of(outer) {
                    Some(_) => KnownLength::Load,
                    None if beside.contains(&outer) => KnownLength::Beside,
                    None => KnownLength::Unseen,
                };
                let lost = lost_whole(&tunnel.frames, known, gap);
                lengths.add(&lost);
            }
            lengths
        }
        _ => Lengths::default(),
    }
}

/// The packets that came in. Those that came in encrypted have the lengths that the plain side shows. `gap`: a longer silence ends a load.
pub(crate) fn row(taps: &Taps, direction: Direction, seen: &[(Place, At)], gap: i64) -> FrameRow {
    let plain = seen.iter().find(|(_, at)| !at.tunnel);
    let places = seen.iter().map(|(place, _)| *place).collect();
    let mut row = FrameRow::of_places(direction, places, lengths(taps, seen, gap), taps.is_thinned());
    let Some((place, first)) = seen.first() else { return row };
    if first.tunnel && plain.is_some_and(|(_, at)| at.frames.iter().all(|frame| !frame.test)) {
        // No test load came out in clear: what is in the tunnel is something else.
        return row;
    }
    let mut streams: Vec<u16> = Vec::new();
    row.opaque = first.tunnel && !first.visible && (plain.is_none() || row.lengths.open);
    for frame in &first.frames {
        let size = if first.tunnel && !first.visible && !row.opaque {
            let Some(size) = row.lengths.inner_of(frame.size) else { continue };
            size
        } else {
            frame.size
        };
        row.t.push(frame.t);
        row.size.push(size);
        row.key.push(frame.key);
        row.spots.push(frame.record);
        if first.tunnel {
            row.record.push(frame.record);
            if !first.visible {
                row.outer.push(frame.size);
            }
        } else {
            row.flow.push(frame.stream);
        }
        if let Some(thin) = &mut row.thin {
            let at = frame.record as usize;
            let tap = taps.place(*place);
            let share = if first.tunnel {
                tap.tunnelled.records.get(at).map(|own| (own.share, own.detail.l1))
            } else {
                tap.plain.records.get(at).map(|own| (own.share, own.detail.size))
            };
            let (share, octets) = share.unwrap_or_default();
            thin.share.push(share);
            thin.alike.push(share.is_of(octets));
            streams.push(frame.stream);
        }
    }
    if let Some(thin) = &mut row.thin {
        thin.sent = sums(&streams, &row.t, &thin.share);
    }
    row
}
