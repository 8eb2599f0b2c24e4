//! Which two protected tunnels of two routers are the ends of one tunnel.
//!
//! The order is that of the routers: a packet belongs to the tunnel whose source is the packet's destination and whose destination is its
//! source, then to the one with its mode and its key. Where several tunnels are between the same addresses, addresses inside, VRFs and
//! profiles tell the rest. Where more than one pairing is left, none is compared.

mod end;
mod exchange;
mod matching;
mod nearness;
mod undecided;

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::View;
use crate::policy::lint::Facing;
use end::TunnelEnd;
pub(in crate::policy::lint) use end::takes_many;
pub(in crate::policy::lint) use undecided::problems;

/// An entry's place: router and entry.
type Place = (usize, usize);

/// Pairs of tunnels of two routers that are looked at; with more, none is compared.
const COMPARED: usize = 16_384;

/// The protected tunnels of all routers, as far as they lead to each other.
#[derive(Default)]
pub(in crate::policy::lint) struct TunnelPairs {
    /// The two ends of one tunnel.
    pub(in crate::policy::lint) pairs: BTreeSet<Facing>,
    /// Tunnels of two routers of which more than one pairing is left.
    undecided: Vec<Undecided>,
    /// The ends of tunnels that are shut down at both.
    idle: BTreeSet<Place>,
    /// Two pairs each whose tunnels agree crosswise.
    exchanged: Vec<Exchange>,
}

/// Two tunnels of either router: by what packets of one reach the other they are two pairs, and by what is in them they are two others.
struct Exchange {
    pairs: [Facing; 2],
    /// In what they agree crosswise and not as they are paired.
    by: Vec<&'static str>,
    /// Whether the two pairs are not compared otherwise, because nothing but the exchange is wrong.
    alone: bool,
}

/// Tunnels of two routers that lead to each other, and which of them belong together is not known.
struct Undecided {
    left: Vec<Place>,
    right: Vec<Place>,
    /// Whether all of them are between the same two addresses.
    same_ends: bool,
}

impl TunnelPairs {
    /// The tunnels that have their other end, or of which the search for it ended with several.
    pub(in crate::policy::lint) fn settled(&self) -> BTreeSet<Place> {
        let apart = self.exchanged.iter().flat_map(|one| one.pairs);
        let paired = self.pairs.iter().copied().chain(apart).flat_map(|pair| [pair.a, pair.b]);
        let paired = paired.chain(self.idle.iter().copied());
        paired.chain(self.undecided.iter().flat_map(|group| group.left.iter().chain(&group.right).copied())).collect()
    }
}

/// The pairs of all routers.
pub(in crate::policy::lint) fn pairs(view: &View<'_>) -> TunnelPairs {
    let ends: Vec<TunnelEnd<'_>> = end::all(view);
    let mut by_router: BTreeMap<usize, Vec<&TunnelEnd<'_>>> = BTreeMap::new();
    for end in &ends {
        by_router.entry(end.place.0).or_default().push(end);
    }
    let between: BTreeSet<(usize, usize)> = ends
        .iter()
        .flat_map(|end| end.leads_to.iter().map(|other| (end.place.0.min(*other), end.place.0.max(*other))))
        .collect();
    let mut found = TunnelPairs::default();
    // Between the same addresses first: what is left may have one of them wrong.
    for exact in [true, false] {
        let taken = found.settled();
        let mut matched: Vec<(Facing, bool)> = Vec::new();
        for &(a, b) in &between {
            let of = |router: usize, other: usize| -> Vec<&TunnelEnd<'_>> {
                let all = by_router.get(&router).into_iter().flatten().copied();
                let may_lead = |end: &&TunnelEnd<'_>| end.leads_to.is_empty() || end.leads_to.contains(&other);
                all.filter(may_lead).filter(|end| exact || !taken.contains(&end.place)).collect()
            };
            let (left, right) = (of(a, b), of(b, a));
            let between = matching::between(view, &left, &right, exact);
            matched.extend(between.pairs);
            found.undecided.extend(between.undecided);
        }
        // What names nobody known is the other end of one tunnel at most.
        let mut times: BTreeMap<Place, usize> = BTreeMap::new();
        for (pair, _) in &matched {
            *times.entry(pair.a).or_default() += 1;
            *times.entry(pair.b).or_default() += 1;
        }
        let once = |at: Place| times.get(&at) == Some(&1);
        let sure = matched.iter().filter(|(pair, presumed)| !presumed || once(pair.a) && once(pair.b));
        found.pairs.extend(sure.map(|(pair, _)| *pair));
    }
    // What is shut down at both ends was taken out of service.
    let down: BTreeSet<Place> = ends.iter().filter(|end| end.is_down()).map(|end| end.place).collect();
    let idle = |pair: &&Facing| down.contains(&pair.a) && down.contains(&pair.b);
    found.idle = found.pairs.iter().filter(idle).flat_map(|pair| [pair.a, pair.b]).collect();
    found.pairs.retain(|pair| !idle(&pair));
    found.exchanged = exchange::all(view, &ends, &found.pairs);
    for one in found.exchanged.iter().filter(|one| one.alone) {
        found.pairs.retain(|pair| !one.pairs.contains(pair));
    }
    found
}

/// Whether a tunnel may be the other end of another one: nothing that is known of their addresses, modes and keys contradicts it.
pub(in crate::policy::lint) fn may_answer(view: &View<'_>, here: Place, there: Place) -> bool {
    let (Some(own), Some(far)) = (end::at(view, here), end::at(view, there)) else { return false };
    own.reaches(&far) != Some(false) && far.reaches(&own) != Some(false) && nearness::is_carried(&own, &far)
}
