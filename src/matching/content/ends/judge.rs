//! What silences of the taps on the two plaintext sides were.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::{EndToEnd, FlowEnds, Gone, OpenEnd};
use crate::matching::measure::doubt::Silent;
use crate::matching::measure::silence::{Known, Verdict, WAYS};
use crate::matching::packets::flows::FlowKey;
use crate::matching::packets::progress::Progress;
use crate::model::Address;

impl EndToEnd {
    /// Silences of the plain tap that were holes of its capture for sure.
    pub(in crate::matching) fn holes_in_plain(&self) -> impl Iterator<Item = i64> {
        let sure = self.silent.iter().filter(|own| own.tap == "plain" && !own.open && !own.is_tick);
        sure.map(|own| own.from_ns)
    }

    /// Whether packets are missing in ticks of the timestamps in which frames were shown.
    pub(in crate::matching) fn hides_in_ticks(&self) -> bool {
        self.silent.iter().any(|silent| silent.open && silent.is_tick)
    }

    /// How many more packets from one address to another went from the plain side to the far one than back: by their times to live, or, where
    /// no router lies between the two, by how far apart the two sides show packets and those that answer them.
    pub(in crate::matching) fn balances(&self) -> BTreeMap<(Address, Address), i64> {
        let mut balances: BTreeMap<(Address, Address), i64> = BTreeMap::new();
        let mut times: BTreeMap<(Address, Address), (i64, i64)> = BTreeMap::new();
        for (key, flow) in &self.flows {
            if flow.balance != 0 {
                *balances.entry((key.src, key.dst)).or_default() += flow.balance;
            }
            if let Some((least, most)) = flow.reach.ever() {
                let own = times.entry((key.src, key.dst)).or_insert((least, most));
                *own = (own.0.min(least), own.1.max(most));
            }
        }
        for (&(src, dst), (least, _)) in &times {
            let Some((_, answers_most)) = times.get(&(dst, src)) else { continue };
            let is_told = balances.contains_key(&(src, dst)) || balances.contains_key(&(dst, src));
            // A clock that differs moves both alike.
            if !is_told && least > answers_most {
                balances.extend([((src, dst), 1), ((dst, src), -1)]);
            }
        }
        balances
    }

    /// Decides which packets that are missing in silences of either tap were lost.
    pub(super) fn judge(&mut self) {
        let balances = self.balances();
        let way_of: Vec<Option<usize>> = self
            .flows
            .iter()
            .map(|(key, _)| match balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum() {
                1 => Some(0),
                -1 => Some(1),
                _ => None,
            })
            .collect();
        let mut pairs = [0; WAYS];
        for ((_, flow), way) in self.flows.iter().zip(&way_of) {
            if let Some(pairs) = way.and_then(|way| pairs.get_mut(way)) {
                *pairs += flow.matched;
            }
        }
        for (at, tap) in ["plain", "exit"].into_iter().enumerate() {
            let exit = at == 1;
            // Packets to the plain side passed the exit first, those to the exit the plain side.
            let known = Known {
                way: |flow: u32| way_of.get(flow as usize).copied().flatten(),
                passed: [!exit, exit],
                skipped: |_: i64, _: usize, _: u64| None,
                pairs,
                beyond: [0; WAYS],
                crossed: false,
            };
            let Some(own) = self.silences.get_mut(at) else { continue };
            own.settle();
            let judged = own.judge(&known);
            let waiting = own.take_waiting();
            let verdict = |from: i64, flow: u32| {
                let own = judged.get(&from)?;
                Some(own.of_way(way_of.get(flow as usize).copied().flatten()))
            };
            self.silent.extend(judged.values().map(|own| Silent::of(tap, own)));
            if exit {
                let is_loss = |from: i64, flow: u32| matches!(verdict(from, flow), None | Some(Verdict::Loss));
                let is_gone = |gone: &mut Gone| gone.silence.is_none_or(|from| is_loss(from, gone.flow));
                let open: Vec<Gone> = self.gone.extract_if(.., |gone| !is_gone(gone)).collect();
                open.iter().for_each(|gone| self.leave_untold(gone.pos));
            }
            for ((from, flow, bytes), count) in waiting {
                let verdict = verdict(from, flow).unwrap_or(Verdict::Loss);
                if verdict == Verdict::Loss {
                    self.size(flow, bytes, !exit, count);
                }
                let Some((_, ends)) = self.flows.get_mut(flow as usize) else { continue };
                match verdict {
                    Verdict::Loss if exit => ends.only_plain += count,
                    Verdict::Loss => ends.only_exit += count,
                    Verdict::Hole => self.uncovered += count,
                    Verdict::Open => ends.open += count,
                }
            }
        }
    }

    /// Leaves open how many packets were lost of flows whose packets are equal, where one capture begins or ends inside the other: which of
    /// them it shows, nothing tells.
    pub(super) fn doubt_equal(&mut self) {
        /// Packets by which captures of the same time may differ in length.
        const PACKETS: f64 = 2.0;
        let lasts = |side: &Progress| side.first.map_or(0, |first| side.latest.saturating_sub(first)) as f64;
        let (near, far) = (lasts(&self.near), lasts(&self.far));
        let mut doubtful = BTreeSet::new();
        for (at, (_, flow)) in (0..).zip(&mut self.flows) {
            let lost = flow.only_plain + flow.only_exit;
            let differ = lost > 0 && (near - far).abs() * flow.matched as f64 > PACKETS * near;
            if flow.equal * 2 > flow.matched && (flow.uncovered > 0 || differ) {
                flow.open += lost.max(flow.uncovered);
                flow.why = flow.why.max(OpenEnd::Equal);
                (flow.only_plain, flow.only_exit) = (0, 0);
                doubtful.insert(at);
            }
        }
        self.leave_open(&doubtful);
    }

    /// Leaves open how many of the packets were lost that are equal to others, where these follow each other as fast as delays differ: a later one may have
    /// been taken for one that was lost.
    pub(super) fn doubt_repeats(&mut self) {
        let lasts = self.near.first.map_or(0, |first| self.near.latest.saturating_sub(first));
        let mut doubtful = BTreeSet::new();
        // Those that were missing in a silence are counted since it was judged.
        let mut listed: BTreeMap<u32, u64> = BTreeMap::new();
        self.gone.iter().filter(|gone| gone.repeats).for_each(|gone| *listed.entry(gone.flow).or_default() += 1);
        for (at, (_, flow)) in (0..).zip(&mut self.flows) {
            let [plain, exit] = flow.only_repeats;
            let plain = plain.max(listed.get(&at).copied().unwrap_or(0));
            let ever = || flow.reach.ever().map_or(0, |(least, most)| most.saturating_sub(least));
            let apart = self.apart.varies(flow.balance).unwrap_or_else(ever);
            let spacing = lasts / i64::try_from(flow.repeats.max(1)).unwrap_or(i64::MAX);
            if plain + exit > 0 && apart >= spacing {
                let (plain_left, exit_left) = (plain.min(flow.only_plain), exit.min(flow.only_exit));
                // As many of both sides are each other.
                flow.matched += plain_left.min(exit_left);
                flow.open += plain_left.abs_diff(exit_left);
                flow.only_plain = flow.only_plain.saturating_sub(plain);
                flow.only_exit = flow.only_exit.saturating_sub(exit);
                flow.why = flow.why.max(OpenEnd::Close);
                doubtful.insert(at);
            }
        }
        let open: Vec<Gone> = self.gone.extract_if(.., |gone| gone.repeats && doubtful.contains(&gone.flow)).collect();
        open.iter().for_each(|gone| self.leave_untold(gone.pos));
    }

    /// Leaves open how many packets were lost of flows of which the other side shows packets that it alone has: of the same flow (fragments), or
    /// as many of the same lengths in flows that are not on this side at all (a translated address). They may be the same packets. So are all where no
    /// packet of any flow was seen on both sides: the far tap may see other traffic.
    pub(super) fn doubt_changed(&mut self) {
        /// Packets that may be chance, and their share of the lost ones, as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 10;
        let is_alone = |flow: u32| {
            self.flows.get(flow as usize).is_some_and(|(key, ends)| ends.matched == 0 && !ends.is_of_link(key.dst))
        };
        let protocol = |flow: u32| self.flows.get(flow as usize).map_or(0, |(key, _)| key.protocol);
        // Of flows that only one side shows: packets by side, protocol and length.
        let mut strange: BTreeMap<(bool, u8, u32), u64> = BTreeMap::new();
        for ((flow, bytes, exit), count) in self.sizes.iter().filter(|((flow, ..), _)| is_alone(*flow)) {
            *strange.entry((*exit, protocol(*flow), *bytes)).or_default() += count;
        }
        let mut alike: BTreeMap<(u32, bool), u64> = BTreeMap::new();
        for ((flow, bytes, exit), count) in &self.sizes {
            let others = strange.get(&(!exit, protocol(*flow), *bytes)).copied().unwrap_or(0);
            *alike.entry((*flow, *exit)).or_default() += others.min(*count);
        }
        let mut doubtful = BTreeSet::new();
        let apart = self.matched() == 0;
        for (at, (_, flow)) in (0..).zip(&mut self.flows) {
            let both = flow.only_plain.min(flow.only_exit);
            let is_open = [(false, flow.only_plain), (true, flow.only_exit)].into_iter().any(|(exit, lost)| {
                let changed = both.max(alike.get(&(at, exit)).copied().unwrap_or(0));
                changed > FEW && changed.saturating_mul(OF) > lost
            });
            let missing = flow.only_plain.max(flow.only_exit) + if apart { flow.uncovered } else { 0 };
            if is_open || apart && missing > 0 {
                // What a silence left open is open for that.
                flow.why = if flow.open > 0 { flow.why } else { OpenEnd::Changed };
                flow.open += missing;
                (flow.only_plain, flow.only_exit) = (0, 0);
                doubtful.insert(at);
            }
        }
        self.leave_open(&doubtful);
    }

    /// Flows of which one side shows longer packets than the other: a gateway between the taps fragments them.
    fn divided(&self) -> BTreeSet<u32> {
        /// A flow counts as fragmented where MOST of OF packets that only one side shows are longer than any that only the other side shows.
        const MOST: u64 = 3;
        const OF: u64 = 4;
        let mut longest: BTreeMap<(u32, bool), u32> = BTreeMap::new();
        for (flow, bytes, exit) in self.sizes.keys() {
            let own = longest.entry((*flow, *exit)).or_default();
            *own = (*own).max(*bytes);
        }
        let mut counts: BTreeMap<(u32, bool), (u64, u64)> = BTreeMap::new();
        for ((flow, bytes, exit), count) in &self.sizes {
            let (longer, all) = counts.entry((*flow, *exit)).or_default();
            let other = longest.get(&(*flow, !*exit)).is_some_and(|longest| bytes > longest);
            (*longer, *all) = (*longer + if other { *count } else { 0 }, *all + *count);
        }
        let is_divided = |((flow, exit), (longer, all)): (&(u32, bool), &(u64, u64))| {
            // Each is at least two fragments, some of which may be lost.
            let parts = counts.get(&(*flow, !*exit)).map_or(0, |(_, all)| *all);
            (*longer > 0 && longer * OF >= all * MOST && parts > *longer).then_some(*flow)
        };
        counts.iter().filter_map(is_divided).collect()
    }

    /// Leaves open how many packets were lost on their way to a tap that does not show packets of the other way which the tap behind it shows: those
    /// passed it, so that it shows a part of the traffic, or its capture misses frames.
    pub(super) fn doubt_unshown(&mut self) {
        let balances = self.balances();
        let way = |key: &FlowKey| balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum();
        let divided = self.divided();
        let sums = |own: i64| {
            let flows = (0..).zip(&self.flows).filter(|(at, (key, _))| way(key) == own && !divided.contains(at));
            flows.map(|(_, (_, flow))| flow).fold((0_u64, 0_u64, 0_u64), |(matched, plain, exit), flow| {
                (matched + flow.matched, plain + flow.only_plain, exit + flow.only_exit)
            })
        };
        let ((there, lost_there, unshown_plain), (back, unshown_exit, lost_back)) = (sums(1), sums(-1));
        let open_exit = may_be_unshown(lost_there, there, unshown_exit, back);
        let open_plain = may_be_unshown(lost_back, back, unshown_plain, there);
        let ways: Vec<i64> = self.flows.iter().map(|(key, _)| way(key)).collect();
        let mut doubtful = BTreeSet::new();
        for ((at, (_, flow)), way) in (0..).zip(&mut self.flows).zip(ways) {
            let lost = match way {
                1 if open_exit => &mut flow.only_plain,
                -1 if open_plain => &mut flow.only_exit,
                _ => continue,
            };
            let lost = std::mem::take(lost);
            flow.open += lost;
            if lost > 0 {
                flow.why = flow.why.max(OpenEnd::Unshown);
                doubtful.insert(at);
            }
        }
        self.leave_open(&doubtful);
    }

    /// Leaves open how many packets were lost on their way to hosts that the tap there never shows, neither as senders nor as receivers: they may be
    /// behind another gateway or in another network. So are all of a way of which the tap shows no packet: it may show the other way only.
    pub(super) fn doubt_elsewhere(&mut self) {
        let balances = self.balances();
        let ways: Vec<i64> = self
            .flows
            .iter()
            .map(|(key, _)| balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum())
            .collect();
        let hosts = |is_shown: fn(&FlowEnds) -> bool| -> HashSet<Address, FixedState> {
            let shown = self.flows.iter().filter(|(_, flow)| is_shown(flow));
            shown.flat_map(|(key, _)| [key.src, key.dst]).collect()
        };
        let near = hosts(|flow| flow.matched > 0 || flow.only_plain > 0 || flow.open > 0);
        let far = hosts(|flow| flow.matched > 0 || flow.only_exit > 0 || flow.open > 0);
        // A way that is not known may be either.
        let is_seen =
            |own: i64| self.flows.iter().zip(&ways).any(|((_, flow), way)| flow.matched > 0 && [own, 0].contains(way));
        let (there, back) = (is_seen(1), is_seen(-1));
        let mut doubtful = BTreeSet::new();
        for (at, (key, flow)) in (0..).zip(&mut self.flows) {
            if flow.matched > 0 {
                continue;
            }
            let is_of_link = flow.is_of_link(key.dst);
            let is_far = there && far.contains(&key.dst) && !is_of_link;
            let is_near = back && near.contains(&key.dst) && !is_of_link;
            let plain = if is_far { 0 } else { std::mem::take(&mut flow.only_plain) };
            let exit = if is_near { 0 } else { std::mem::take(&mut flow.only_exit) };
            if plain + exit > 0 {
                flow.elsewhere = [plain, exit];
                doubtful.insert(at);
            }
        }
        self.leave_open(&doubtful);
    }

    /// Forgets which packets of these flows only one side showed.
    fn leave_open(&mut self, doubtful: &BTreeSet<u32>) {
        self.sizes.retain(|(flow, ..), _| !doubtful.contains(flow));
        let open: Vec<Gone> = self.gone.extract_if(.., |gone| doubtful.contains(&gone.flow)).collect();
        open.iter().for_each(|gone| self.leave_untold(gone.pos));
    }
}

impl FlowEnds {
    /// Whether its packets may be for hosts of their own link: to a group, and none was seen on both sides.
    pub(super) const fn is_of_link(&self, dst: Address) -> bool {
        self.matched == 0 && dst.is_multicast()
    }

    /// Leaves open whether packets that the plain side alone showed passed the exit unseen.
    pub(in crate::matching) fn leave_unshown(&mut self) {
        let lost = std::mem::take(&mut self.only_plain);
        if lost > 0 {
            self.open += lost;
            self.why = self.why.max(OpenEnd::Unshown);
        }
    }
}

/// Whether as many packets are missing of `all` that go to a tap as it shows too few of those that passed it the other way: `shown`, and `unshown` that the
/// tap behind it proves.
pub(in crate::matching) fn may_be_unshown(lost: u64, all: u64, unshown: u64, shown: u64) -> bool {
    /// Packets that may be chance, and their share of the lost ones, as 1 in N.
    const FEW: u64 = 2;
    const OF: u64 = 10;
    let expected = u128::from(unshown) * u128::from(all + lost) / u128::from((shown + unshown).max(1));
    // A tap that shows nothing of the other way is on one port only.
    lost > 0 && shown > 0 && unshown > FEW && expected.saturating_mul(OF.into()) > lost.into()
}
