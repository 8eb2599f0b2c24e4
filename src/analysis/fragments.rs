//! IP fragments: which packets travelled in pieces, and whose they were.
//!
//! A group is fragments of one key whose neighbours are at most two seconds apart. Groups near either end of a span are
//! kept whole, because the neighbouring span may hold more of them; what lies between is folded into sums.

use serde::{Deserialize, Serialize};

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::intern::{NONE, remap};
use super::limits::{CLOCK_TOLERANCE_NS, FRAGMENT_GAP_NS, MAX_FRAGMENT_GROUPS};
use super::observation::{Observation, SaSight};
use super::seen::Seen;
use super::sizes::{OpaqueKey, Sizes, VisibleKey};
use super::tables::Remap;
use crate::dissect::{Costs, IpHeader};
use crate::model::{Address, Shift};

/// What fragments of one packet share (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct FragmentKey {
    src: Address,
    dst: Address,
    identification: u32,
    /// IPv4 only: an IPv6 later fragment's protocol may differ from the first's.
    protocol: u8,
}

/// Fragments of a span.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Fragments {
    /// Groups by the order they began in.
    groups: BTreeMap<u64, Group>,
    open: BTreeMap<FragmentKey, u64>,
    began: u64,
    first: Option<i64>,
    newest: i64,
    last_sweep: i64,
    /// Per SA number: what became of its fragmented packets.
    pub(crate) sums: BTreeMap<u32, FragmentSums>,
    pub(crate) refused: u64,
    /// Fragments further behind the newest than the clock may step back: what has been folded by then may have been theirs.
    pub(crate) behind: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Group {
    key: FragmentKey,
    seen: Seen,
    first_time: i64,
    last_time: i64,
    /// Octets of payload seen, as ranges.
    ranges: super::interval::IntervalSet,
    /// Where the payload ends, once the last fragment was seen.
    end: Option<u32>,
    ip_bytes: u64,
    l1_bytes: u64,
    header_bytes: u32,
    first_fragment: Option<FirstFragment>,
}

/// What only the first fragment tells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct FirstFragment {
    ip_bytes: u64,
    path: u32,
    inner_bytes: u32,
    /// Octets behind the outer IP header that the encapsulated packet and the headers in front of it need.
    needed: u32,
    sas: Vec<(u32, bool)>,
}

/// Fragmented packets of one SA, or ([`NONE`]) of none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FragmentSums {
    /// Packets of which every fragment was seen.
    pub(crate) complete: u64,
    /// Packets with fragments missing.
    pub(crate) incomplete: u64,
    /// First fragments seen of either.
    pub(crate) seen: Seen,
    /// Fragments other than the first.
    pub(crate) later: u64,
    /// IP octets of these.
    pub(crate) later_bytes: u64,
    /// Octets that further IP headers cost in complete packets.
    pub(crate) extra_header_bytes: u64,
}

impl Fragments {
    pub(crate) fn observe(
        &mut self,
        o: &Observation,
        outer: &IpHeader,
        costs: Costs,
        sights: &[SaSight],
        sizes: &mut Sizes,
    ) {
        // Without a time the gap rule has nothing to go by: frames of such a capture count as one moment.
        let time = o.time.ns().unwrap_or(0);
        let key = FragmentKey {
            src: outer.src,
            dst: outer.dst,
            identification: outer.identification,
            protocol: if outer.version == 4 { outer.protocol } else { 0 },
        };
        self.first.get_or_insert(time);
        self.newest = if self.began == 0 { time } else { self.newest.max(time) };
        self.behind += u64::from(is_behind(self.newest, time));
        let joins =
            self.open.get(&key).copied().filter(|id| self.groups.get(id).is_some_and(|g| is_near(g.last_time, time)));
        let id = match joins {
            Some(id) => id,
            None => {
                if self.groups.len() >= MAX_FRAGMENT_GROUPS {
                    // Looking through all groups for every fragment of a flood would take minutes: only when time has passed.
                    if self.newest.saturating_sub(self.last_sweep) > FRAGMENT_GAP_NS / 8 {
                        self.sweep(sizes);
                    }
                    if self.groups.len() >= MAX_FRAGMENT_GROUPS {
                        self.refused += 1;
                        return;
                    }
                }
                let id = self.began;
                self.began += 1;
                self.open.insert(key, id);
                self.groups.insert(id, Group::new(key, time));
                id
            }
        };
        if let Some(group) = self.groups.get_mut(&id) {
            group.add(o, outer, costs, sights, time);
        }
        if self.newest.saturating_sub(self.last_sweep) > FRAGMENT_GAP_NS {
            self.sweep(sizes);
        }
    }

    /// Folds every group that neither end of the span can still touch.
    pub(crate) fn sweep(&mut self, sizes: &mut Sizes) {
        self.last_sweep = self.newest;
        let Some(first) = self.first else { return };
        let head = first.saturating_add(FRAGMENT_GAP_NS + CLOCK_TOLERANCE_NS);
        let tail = self.newest.saturating_sub(FRAGMENT_GAP_NS + CLOCK_TOLERANCE_NS);
        let done: Vec<u64> =
            self.groups.iter().filter(|(_, g)| g.first_time > head && g.last_time < tail).map(|(&id, _)| id).collect();
        for id in done {
            if let Some(group) = self.groups.remove(&id) {
                if self.open.get(&group.key) == Some(&id) {
                    self.open.remove(&group.key);
                }
                group.fold(&mut self.sums, sizes);
            }
        }
    }

    /// Folds all groups: the span has no neighbours.
    pub(crate) fn finish(&self, sizes: &mut Cow<'_, Sizes>) -> BTreeMap<u32, FragmentSums> {
        let mut sums = self.sums.clone();
        if !self.groups.is_empty() {
            let sizes = sizes.to_mut();
            for group in self.groups.values() {
                group.clone().fold(&mut sums, sizes);
            }
        }
        sums
    }

    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap, sizes: &mut Sizes) {
        let Self { groups, open: _, began, first, newest, last_sweep: _, sums, refused, behind } = later;
        self.refused += refused;
        let border = self.first.and(first).is_some_and(|first| is_behind(self.newest, first));
        self.behind += behind + u64::from(border);
        for (sa, theirs) in sums {
            self.sums.entry(remap(&map.sas, sa)).or_default().merge(theirs, shift);
        }
        let base = self.began;
        if first.is_some() {
            self.newest = if self.first.is_some() { self.newest.max(newest) } else { newest };
        }
        self.first = self.first.or(first);
        let mut joined = 0;
        for (id, group) in groups {
            let group = group.remapped(shift, map);
            let before = self.open.get(&group.key).copied().filter(|own| {
                *own < base && self.groups.get(own).is_some_and(|g| is_near(g.last_time, group.first_time))
            });
            if let Some(own) = before.and_then(|own| self.groups.get_mut(&own)) {
                own.append(group);
                joined += 1;
            } else {
                let id = base.wrapping_add(id).wrapping_sub(joined);
                self.open.insert(group.key, id);
                self.groups.insert(id, group);
            }
        }
        self.began = base.wrapping_add(began).wrapping_sub(joined);
        self.sweep(sizes);
    }
}

impl Group {
    fn new(key: FragmentKey, time: i64) -> Self {
        Self {
            key,
            seen: Seen::default(),
            first_time: time,
            last_time: time,
            ranges: super::interval::IntervalSet::default(),
            end: None,
            ip_bytes: 0,
            l1_bytes: 0,
            header_bytes: 0,
            first_fragment: None,
        }
    }

    fn add(&mut self, o: &Observation, outer: &IpHeader, costs: Costs, sights: &[SaSight], time: i64) {
        self.seen.add(o.pos, o.time);
        self.last_time = time;
        let payload = outer.total_bytes.saturating_sub(outer.header_bytes);
        let start = i64::from(outer.fragment_offset);
        self.ranges.insert_range(start, start + i64::from(payload));
        if !outer.more_fragments {
            self.end = Some(outer.fragment_offset + payload);
        }
        self.ip_bytes += u64::from(outer.total_bytes);
        self.l1_bytes += o.l1_bytes();
        if outer.fragment_offset == 0 {
            self.header_bytes = outer.header_bytes;
            self.first_fragment.get_or_insert_with(|| FirstFragment {
                ip_bytes: u64::from(outer.total_bytes),
                path: o.path,
                inner_bytes: o.inner_bytes,
                needed: if o.path == NONE { 0 } else { o.inner_bytes.saturating_add(costs.behind_ip()) },
                sas: sights.iter().map(|s| (s.sa, s.opaque)).collect(),
            });
        }
    }

    fn append(&mut self, later: Self) {
        let Self {
            key: _,
            seen,
            first_time: _,
            last_time,
            ranges,
            end,
            ip_bytes,
            l1_bytes,
            header_bytes,
            first_fragment,
        } = later;
        self.seen.merge(seen, Shift::default());
        self.last_time = last_time;
        self.ranges.union(&ranges);
        self.end = end.or(self.end);
        self.ip_bytes += ip_bytes;
        self.l1_bytes += l1_bytes;
        if first_fragment.is_some() {
            self.header_bytes = header_bytes;
        }
        self.first_fragment = self.first_fragment.take().or(first_fragment);
    }

    fn remapped(mut self, shift: Shift, map: &Remap) -> Self {
        let mut seen = Seen::default();
        seen.merge(self.seen, shift);
        self.seen = seen;
        if let Some(first) = &mut self.first_fragment {
            first.path = remap(&map.paths, first.path);
            for (sa, _) in &mut first.sas {
                *sa = remap(&map.sas, *sa);
            }
        }
        self
    }

    fn fold(self, sums: &mut BTreeMap<u32, FragmentSums>, sizes: &mut Sizes) {
        let fragments = self.seen.count;
        // Where the packet inside states more than all fragments together hold, something is missing, or a length is wrong.
        let needed = self.first_fragment.as_ref().map_or(0, |first| first.needed);
        let complete = self
            .end
            .is_some_and(|end| self.ranges.len() == u64::from(end) && self.ranges.intervals() == 1 && needed <= end);
        let none = [(NONE, false)];
        let sas = match &self.first_fragment {
            Some(first) if !first.sas.is_empty() => first.sas.as_slice(),
            _ => none.as_slice(),
        };
        let later = fragments.saturating_sub(u64::from(self.first_fragment.is_some()));
        for &(sa, _) in sas {
            let sum = sums.entry(sa).or_default();
            sum.complete += u64::from(complete);
            sum.incomplete += u64::from(!complete);
            let mut one = self.seen;
            one.count = 1;
            sum.seen.join(&one);
            sum.later += later;
            // The first fragment is counted with its header; the rest is what it left.
            sum.later_bytes += self.ip_bytes.saturating_sub(self.first_bytes());
            if complete {
                sum.extra_header_bytes += self.header_bytes_beyond_first();
            }
        }
        let (Some(first), true) = (&self.first_fragment, complete) else { return };
        let outer_bytes = u32::try_from(self.ip_bytes).unwrap_or(u32::MAX);
        let fragments = u32::try_from(fragments).unwrap_or(u32::MAX);
        if first.path != NONE {
            let key = VisibleKey { path: first.path, inner_bytes: first.inner_bytes, outer_bytes, fragments };
            sizes.visible.add_train(key, self.seen, self.l1_bytes);
        }
        for &(sa, opaque) in &first.sas {
            if opaque {
                sizes.opaque.add_train(OpaqueKey { sa, outer_bytes, fragments }, self.seen, self.l1_bytes);
            }
        }
    }

    /// IP octets of the first fragment; 0 while it is missing.
    fn first_bytes(&self) -> u64 {
        self.first_fragment.as_ref().map_or(0, |f| f.ip_bytes)
    }

    fn header_bytes_beyond_first(&self) -> u64 {
        self.seen.count.saturating_sub(1).saturating_mul(u64::from(self.header_bytes))
    }
}

impl FragmentSums {
    fn merge(&mut self, later: Self, shift: Shift) {
        let Self { complete, incomplete, seen, later: more, later_bytes, extra_header_bytes } = later;
        self.complete += complete;
        self.incomplete += incomplete;
        let mut shifted = Seen::default();
        shifted.merge(seen, shift);
        self.seen.join(&shifted);
        self.later += more;
        self.later_bytes += later_bytes;
        self.extra_header_bytes += extra_header_bytes;
    }
}

/// Whether two fragments of one key are of one packet.
fn is_near(before: i64, after: i64) -> bool {
    before.abs_diff(after) <= FRAGMENT_GAP_NS.unsigned_abs()
}

/// Whether a time is further before the newest than the clock may step back.
const fn is_behind(newest: i64, time: i64) -> bool {
    time < newest.saturating_sub(CLOCK_TOLERANCE_NS)
}

impl PartialEq for Fragments {
    /// Of what is known of the span: which group a key last belonged to, and when groups were last folded, are caches.
    fn eq(&self, other: &Self) -> bool {
        let Self { groups, open: _, began, first, newest, last_sweep: _, sums, refused, behind } = self;
        *groups == other.groups
            && *began == other.began
            && *first == other.first
            && *newest == other.newest
            && *sums == other.sums
            && *refused == other.refused
            && *behind == other.behind
    }
}
