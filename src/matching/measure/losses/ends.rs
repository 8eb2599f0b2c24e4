//! What both plaintext sides say of losses from end to end.

mod unheard;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foldhash::fast::FixedState;

use self::unheard::Unheard;
use super::{Counts, Losses, sas};
use crate::matching::TunnelKey;
use crate::matching::content::ends::{EndToEnd, FlowEnds, OpenEnd, PlainFrames, may_be_unshown};
use crate::matching::limits::{MAX_LOST, MAX_MISSED};
use crate::matching::measure::tally::Tally;
use crate::matching::packets::flows::{FlowId, FlowKey, Flows};
use crate::matching::packets::ledger::{Ledger, Lost};
use crate::model::{Address, FramePos};

/// Packets that were lost from one plaintext side to the other.
#[derive(Debug, Default)]
pub(in crate::matching) struct EndLosses {
    pub(in crate::matching) lost: BTreeMap<u32, u64>,
    pub(in crate::matching) sizes: BTreeMap<(u32, u32), u64>,
    /// SAs to a gateway of whose traffic the exit shows none.
    elsewhere: BTreeSet<u32>,
    /// Packets that go to where the tap that lacks them may not look, by SA and by way.
    unseen: BTreeMap<u32, u64>,
    unseen_ways: BTreeMap<i8, u64>,
    /// SAs of which nothing tells how many of the packets of their flows they lost.
    untold: BTreeSet<u32>,
    /// Packets that may have been lost or not, by SA and by way.
    pub(in crate::matching) open: BTreeMap<u32, u64>,
    pub(in crate::matching) open_ways: BTreeMap<i8, u64>,
    /// Why, by SA.
    pub(in crate::matching) why: BTreeMap<u32, OpenEnd>,
    /// Whether some of them are missing in ticks of the timestamps, in which frames were shown.
    pub(in crate::matching) in_ticks: bool,
    /// By way: packets of its flows that both plaintext sides showed.
    pub(in crate::matching) matched: BTreeMap<i8, u64>,
    /// By way: packets, and the addresses of the flows.
    pub(in crate::matching) ways: BTreeMap<i8, (u64, Vec<(Address, Address)>)>,
    /// Those that the tunnel tap had shown, by SA and by SA and length; `None` where too many were lost to tell each of them.
    pub(in crate::matching) behind: Option<Counts>,
    /// Whether all three taps show nearly the same time.
    pub(in crate::matching) is_same_time: bool,
    /// Those that were lost before the tunnel's tap at a time that the exit covers, likewise.
    pub(super) before: Option<Counts>,
    /// Packets that the exit showed and the tunnel's tap did not, by SA.
    pub(in crate::matching) arrived: BTreeMap<u32, u64>,
    /// Packets of the plain side that the exit did not show, or of which it says nothing; `None` where these are too many to be told.
    pub(in crate::matching) not_arrived: Option<PlainFrames>,
    /// Frames of the plain side, with the SA that they went into.
    pub(in crate::matching) frames: Vec<(FramePos, i64, u32, u32)>,
}

/// The flows of both plaintext sides, with their ways and SAs.
struct EndFlows<'e> {
    ends: &'e EndToEnd,
    tally: &'e Tally,
    sas: HashMap<FlowKey, (FlowId, u32), FixedState>,
    ways: Vec<Option<(i8, Option<u32>)>>,
}

impl<'e> EndFlows<'e> {
    fn of(ends: &'e EndToEnd, tally: &'e Tally, flows: &Flows) -> Self {
        let sas = sas(tally, flows);
        Self { ends, tally, ways: ways(ends, &sas, tally), sas }
    }

    fn way(&self, flow: u32) -> Option<(i8, Option<u32>)> {
        self.ways.get(flow as usize).copied().flatten()
    }

    /// SAs to a gateway of whose traffic the exit shows none, neither way, while it shows that of another one.
    fn elsewhere(&self) -> BTreeSet<u32> {
        let far = |way: i8, sa: u32| {
            self.tally.sas.get(sa as usize).map(|own| match own.key {
                TunnelKey::Sa(key) => {
                    if way > 0 {
                        key.dst
                    } else {
                        key.src
                    }
                }
                TunnelKey::Bare(_, src, dst) => {
                    if way > 0 {
                        dst
                    } else {
                        src
                    }
                }
            })
        };
        let of_sas = (0..).zip(&self.ends.flows).filter_map(|(at, (_, flow))| {
            let (way, sa) = self.way(at)?;
            // What the exit alone shows comes from there.
            Some((way, sa?, flow.matched + if way < 0 { flow.only_exit } else { 0 }))
        });
        let all: Vec<(i8, u32, u64)> = of_sas.collect();
        let shown: BTreeSet<Address> =
            all.iter().filter(|(.., matched)| *matched > 0).filter_map(|(way, sa, _)| far(*way, *sa)).collect();
        let is_elsewhere = |way: i8, sa: u32| far(way, sa).is_some_and(|far| !shown.contains(&far));
        if shown.is_empty() {
            return BTreeSet::new();
        }
        all.iter().filter(|(way, sa, _)| is_elsewhere(*way, *sa)).map(|(_, sa, _)| *sa).collect()
    }

    /// Packets of a way: those that both plaintext sides showed, the plain one only, and the exit only. SAs to a gateway of whose traffic the exit shows none
    /// are left out.
    fn sums(&self, own: i8, elsewhere: &BTreeSet<u32>) -> (u64, u64, u64) {
        let is_own = |(way, sa): (i8, Option<u32>)| way == own && sa.is_none_or(|sa| !elsewhere.contains(&sa));
        let flows = (0..).zip(&self.ends.flows).filter(|(at, _)| self.way(*at).is_some_and(is_own));
        flows.fold((0, 0, 0), |(matched, plain, exit), (_, (_, flow))| {
            (matched + flow.matched, plain + flow.only_plain, exit + flow.only_exit)
        })
    }

    /// Whether what did not reach the exit may have passed its tap unseen: it did not show as many packets that came out of the tunnel at the plain tap.
    fn unshown(&self, elsewhere: &BTreeSet<u32>) -> bool {
        let ((there, lost, _), (back, unshown, _)) = (self.sums(1, elsewhere), self.sums(-1, elsewhere));
        may_be_unshown(lost, there, unshown.saturating_sub(self.of_another_network(elsewhere)), back)
    }

    /// Packets that came out of the tunnel at the plain tap, of hosts that the exit never shows, while it shows other frames: they are in another network.
    fn of_another_network(&self, elsewhere: &BTreeSet<u32>) -> u64 {
        let shown = self.ends.flows.iter().filter(|(_, flow)| flow.matched + flow.only_exit > 0);
        let shown: HashSet<Address, FixedState> = shown.flat_map(|(key, _)| [key.src, key.dst]).collect();
        let is_own = |(way, sa): (i8, Option<u32>)| way < 0 && sa.is_none_or(|sa| !elsewhere.contains(&sa));
        let strange: BTreeMap<u32, u64> = (0..)
            .zip(&self.ends.flows)
            .filter(|(at, (key, _))| self.way(*at).is_some_and(is_own) && !shown.contains(&key.src))
            .map(|(at, (_, flow))| (at, flow.only_plain))
            .collect();
        let in_silence = self.ends.gone.iter().filter(|gone| gone.is_in_silence() && strange.contains_key(&gone.flow));
        strange.values().sum::<u64>().saturating_sub(in_silence.count() as u64)
    }

    /// SAs to the plain side, if the exit shows no packet of that way.
    fn not_shown_back(&self) -> Vec<u32> {
        let (matched, _, only_exit) = self.sums(-1, &BTreeSet::new());
        let may_be = |(at, (_, flow)): (u32, &(FlowKey, FlowEnds))| {
            flow.open + flow.elsewhere[1] > 0 && self.way(at).is_some_and(|(way, _)| way < 0)
        };
        if matched + only_exit > 0 || (0..).zip(&self.ends.flows).any(may_be) {
            return Vec::new();
        }
        self.ways.iter().flatten().filter(|(way, _)| *way < 0).filter_map(|(_, sa)| *sa).collect()
    }

    /// The number of a flow that goes through several SAs, and all of them.
    fn several(&self, flow: u32) -> Option<(FlowId, &'e BTreeSet<u32>)> {
        let (key, _) = self.ends.flows.get(flow as usize)?;
        let (flow, _) = *self.sas.get(key)?;
        Some((flow, self.tally.turns.several(flow)?))
    }

    /// All SAs that a flow goes through.
    fn carriers(&self, flow: u32) -> Vec<u32> {
        match (self.several(flow), self.way(flow)) {
            (Some((_, all)), _) => all.iter().copied().collect(),
            (None, Some((_, Some(sa)))) => vec![sa],
            _ => Vec::new(),
        }
    }
}

impl EndLosses {
    fn of(flows: &EndFlows<'_>) -> Self {
        let ends = flows.ends;
        let mut own = Self { in_ticks: ends.hides_in_ticks(), not_arrived: ends.not_arrived(), ..Self::default() };
        own.elsewhere = flows.elsewhere();
        let unshown = flows.unshown(&own.elsewhere);
        let mut unassigned: BTreeMap<i8, u64> = BTreeMap::new();
        for (at, (key, flow)) in (0..).zip(&ends.flows) {
            let Some((way, sa)) = flows.way(at) else { continue };
            let mut flow = *flow;
            let [there, back] = flow.elsewhere;
            let mut elsewhere = if way > 0 { there } else { back };
            if sa.is_some_and(|sa| own.elsewhere.contains(&sa)) && way > 0 {
                elsewhere += std::mem::take(&mut flow.only_plain);
            }
            if elsewhere > 0 {
                *own.unseen_ways.entry(way).or_default() += elsewhere;
                flows.carriers(at).into_iter().for_each(|sa| *own.unseen.entry(sa).or_default() += elsewhere);
            }
            if unshown && way > 0 {
                flow.leave_unshown();
            }
            let lost = if way > 0 { flow.only_plain } else { flow.only_exit };
            if flow.matched > 0 {
                *own.matched.entry(way).or_default() += flow.matched;
            }
            if lost > 0 {
                let row = own.ways.entry(way).or_default();
                row.0 += lost;
                row.1.push((key.src, key.dst));
            }
            if flow.open > 0 {
                *own.open_ways.entry(way).or_default() += flow.open;
                flows.carriers(at).into_iter().for_each(|sa| own.leave_open(sa, &flow));
            }
            match (sa, flows.several(at)) {
                (Some(_), Some((id, all))) => {
                    all.iter().for_each(|sa| _ = own.lost.entry(*sa).or_default());
                    // Only packets of the plain side have a time that tells their SA, unless several carry the flow at a time.
                    let is_mixed = flows.tally.turns.is_mixed(id);
                    let untold = lost > 0 && (way < 0 || is_mixed || !ends.lists_all_gone());
                    own.untold.extend(all.iter().filter(|_| untold));
                }
                (Some(sa), None) => *own.lost.entry(sa).or_default() += lost,
                (None, _) => *unassigned.entry(way).or_default() += lost,
            }
        }
        own.leave_unseen_open(flows);
        own.leave_untold(flows, &unassigned);
        own.untold.extend(flows.not_shown_back());
        for ((flow, bytes, exit), count) in &ends.sizes {
            if let Some((way, Some(sa))) = flows.way(*flow)
                && *exit == (way < 0)
                && !own.elsewhere.contains(&sa)
                && flows.several(*flow).is_none()
            {
                *own.sizes.entry((sa, *bytes)).or_default() += count;
            }
        }
        own
    }

    /// Leaves open what SAs lost that the exit says nothing of, or only a part: those from a gateway of whose traffic it shows none, and all of a way
    /// of which packets were lost that nothing assigns to an SA.
    fn leave_untold(&mut self, flows: &EndFlows<'_>, unassigned: &BTreeMap<i8, u64>) {
        /// Packets that change nothing, and their share of those that are known, as 1 in N.
        const FEW: u64 = 2;
        const OF: u64 = 10;
        // Where each packet of the tunnel has its counterpart, or is one of those that are known to be lost, other flows take another way.
        let alone = |way: i8| -> u64 {
            let own = flows.tally.sas.iter().filter(|sa| sa.encapsulated != Some(way < 0));
            own.map(|sa| sa.alone).sum()
        };
        let is_partial = |way: i8| {
            let count = unassigned.get(&way).copied().unwrap_or(0);
            let known = self.ways.get(&way).map_or(0, |(lost, _)| *lost).saturating_sub(count);
            let explained = if way < 0 { known + FEW } else { FEW };
            count > FEW && count.saturating_mul(OF) > known && alone(way) > explained
        };
        let is_untold =
            |way: i8, sa: Option<u32>| is_partial(way) || way < 0 && sa.is_some_and(|sa| self.elsewhere.contains(&sa));
        let ways = (0..).zip(&flows.ways).filter_map(|(at, way)| Some((at, (*way)?)));
        let untold: Vec<u32> =
            ways.filter(|(_, (way, sa))| is_untold(*way, *sa)).flat_map(|(at, _)| flows.carriers(at)).collect();
        self.untold.extend(untold);
    }

    /// Whether nothing tells how many of the packets of its flows an SA lost, nor which.
    pub(super) fn is_untold(&self, sa: u32) -> bool {
        self.untold.contains(&sa)
    }

    /// Leaves open what SAs and ways lost where more packets of theirs go to where the tap does not look than were lost on the way to what it shows. Fewer
    /// are left out: what is counted was lost for sure.
    fn leave_unseen_open(&mut self, flows: &EndFlows<'_>) {
        self.leave_unheard_open(flows, Unheard::of(flows));
        for (sa, unseen) in &self.unseen {
            if *unseen > self.lost.get(sa).copied().unwrap_or(0) {
                *self.open.entry(*sa).or_default() += unseen;
                let why = self.why.entry(*sa).or_default();
                *why = OpenEnd::Elsewhere.max(*why);
            }
        }
        for (way, unseen) in &self.unseen_ways {
            if *unseen > self.ways.get(way).map_or(0, |(lost, _)| *lost) {
                *self.open_ways.entry(*way).or_default() += unseen;
            }
        }
    }

    /// Takes in the packets of a flow that may have been lost or not.
    fn leave_open(&mut self, sa: u32, flow: &FlowEnds) {
        *self.open.entry(sa).or_default() += flow.open;
        let why = self.why.entry(sa).or_default();
        *why = flow.why.max(*why);
    }

    /// Takes in the packets that only the plain side showed; those that are not `unpaired` were in the tunnel.
    fn gone(&mut self, flows: &EndFlows<'_>, unpaired: &HashSet<FramePos, FixedState>) {
        let mut behind = Counts::default();
        let unshown = flows.unshown(&self.elsewhere);
        for gone in flows.ends.gone.iter().filter(|_| !unshown) {
            let Some((1, Some(sa))) = flows.way(gone.flow) else { continue };
            if self.elsewhere.contains(&sa) {
                continue;
            }
            let several = flows.several(gone.flow);
            let turn = several.and_then(|(flow, _)| flows.tally.turns.at(flow, Some(gone.ns)));
            if let Some(sa) = turn {
                *self.lost.entry(sa).or_default() += 1;
                *self.sizes.entry((sa, gone.bytes)).or_default() += 1;
            }
            let sa = turn.unwrap_or(sa);
            self.frames.push((gone.pos, gone.ns, gone.bytes, sa));
            if !unpaired.contains(&gone.pos) {
                *behind.0.entry(sa).or_default() += 1;
                *behind.1.entry((sa, gone.bytes)).or_default() += 1;
            }
        }
        self.behind = (flows.ends.lists_all_gone() && unpaired.len() < MAX_MISSED).then_some(behind);
    }

    /// Takes in packets that were lost before the tunnel's tap.
    fn lost_before<'l>(&mut self, flows: &EndFlows<'_>, lost: impl Iterator<Item = &'l Lost>, all: bool) {
        let Some(not_arrived) = &self.not_arrived else { return };
        let mut before = Counts::default();
        for lost in lost {
            if let Some(sa) = flows.tally.flow_sa.get(&lost.flow).filter(|_| !not_arrived.contains(lost)) {
                *self.arrived.entry(*sa).or_default() += 1;
            }
            if let Some(sa) = flows.tally.sa_of(lost).filter(|_| flows.ends.tells_of(lost)) {
                *before.0.entry(sa).or_default() += 1;
                *before.1.entry((sa, lost.bytes)).or_default() += 1;
            }
        }
        self.before = all.then_some(before);
    }
}

/// The way of each flow of both plaintext sides, towards the exit (1) or from it (-1), with its SA; `None` for what goes elsewhere.
fn ways(
    ends: &EndToEnd,
    sas: &HashMap<FlowKey, (FlowId, u32), FixedState>,
    tally: &Tally,
) -> Vec<Option<(i8, Option<u32>)>> {
    let balances = ends.balances();
    ends.flows
        .iter()
        .map(|(key, flow)| {
            let sa = sas.get(key).map(|(_, sa)| *sa);
            let told = balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum() as i8;
            let answer = balances.get(&(key.dst, key.src)).copied().unwrap_or(0).signum() as i8;
            let by_tunnel = sa.and_then(|sa| tally.sas.get(sa as usize)?.encapsulated);
            let way = match (told, answer, by_tunnel) {
                (0, 0, Some(encapsulated)) => {
                    if encapsulated {
                        1
                    } else {
                        -1
                    }
                }
                (0, answer, _) => -answer,
                (told, ..) => told,
            };
            // What neither went into the tunnel nor came out at the other end goes elsewhere.
            (way != 0 && (flow.matched > 0 || sa.is_some())).then_some((way, sa))
        })
        .collect()
}

impl Losses {
    /// Takes in what both plaintext sides say.
    pub(in crate::matching) fn ends(&mut self, ends: &EndToEnd, tally: &Tally, flows: &Flows, ledger: &Ledger) {
        /// Packets that one of three taps may not cover, and yet all show the same time.
        const SAME_TIME: u64 = 16;
        let of = EndFlows::of(ends, tally, flows);
        let mut own = EndLosses::of(&of);
        let (none, lost) = (HashSet::default(), &ledger.lost);
        own.gone(&of, ledger.unpaired.as_ref().unwrap_or(&none));
        own.lost_before(&of, lost.iter().filter(|lost| flows.is_selected(lost.flow)), lost.len() < MAX_LOST);
        own.is_same_time = ends.uncovered + ledger.uncovered <= SAME_TIME;
        self.ends = Some(own);
    }
}
