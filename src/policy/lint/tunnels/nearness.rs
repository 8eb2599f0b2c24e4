//! How much speaks for two protected tunnels being the ends of one tunnel.

use super::end::TunnelEnd;
use crate::model::report::Severity;
use crate::policy::facts::router::Interface;
use crate::policy::lint::Facing;
use crate::policy::lint::ends::ike::version;
use crate::policy::lint::maps::sets;
use crate::policy::lint::way::{misnamed::misses, protected};
use crate::policy::{Net, Problem, View};

/// How far two values agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Agreement {
    Contradict,
    Unknown,
    Agree,
}

impl Agreement {
    fn of<T: PartialEq>(a: Option<T>, b: Option<T>) -> Self {
        match (a, b) {
            (Some(a), Some(b)) if a == b => Self::Agree,
            (Some(_), Some(_)) => Self::Contradict,
            _ => Self::Unknown,
        }
    }

    fn when(known: Option<bool>) -> Self {
        Self::of(known, Some(true))
    }
}

/// What speaks for two tunnels, in the order in which it decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Nearness {
    /// Whether each leads to where the other leaves from, the worse of the two first.
    pub(super) outside: [Agreement; 2],
    pub(super) mode: Agreement,
    pub(super) key: Agreement,
    /// Their addresses inside are of one network.
    pub(super) inside: Agreement,
    /// VRFs of one name, inside and outside.
    vrfs: usize,
    /// Neither is shut down, or both are.
    both_up: bool,
    /// Nothing is wrong between their transform sets and versions of IKE.
    proposals: bool,
    profile: bool,
}

impl Nearness {
    pub(super) fn of(view: &View<'_>, a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> Self {
        let mut outside = [a.reaches(b), b.reaches(a)].map(Agreement::when);
        outside.sort_unstable();
        let [mode, key] = carried(a, b);
        let vrfs = a.vrfs().iter().zip(b.vrfs()).filter(|(own, far)| **own == *far).count();
        let named = |end: &TunnelEnd<'_>| end.interface.protection.as_ref().map(|(profile, _)| profile.clone());
        Self {
            outside,
            mode,
            key,
            inside: inside(a.interface, b.interface),
            vrfs,
            both_up: a.is_down() == b.is_down(),
            proposals: proposals(view, facing(a, b)).is_empty() && !other_version(view, facing(a, b)),
            profile: named(a) == named(b),
        }
    }

    /// Whether a packet of one is one of the other, by mode and key.
    pub(super) fn is_carried(&self) -> bool {
        self.mode != Agreement::Contradict && self.key != Agreement::Contradict
    }

    /// Whether an address inside or a key tells this pair from others.
    pub(super) fn is_told(&self, a: &TunnelEnd<'_>) -> bool {
        let keyed = a.key().is_some() && a.carrier() == Some("gre") && self.key == Agreement::Agree;
        self.inside == Agreement::Agree || keyed && self.inside != Agreement::Contradict
    }
}

/// Whether mode and key of two tunnels agree.
fn carried(a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> [Agreement; 2] {
    let mode = Agreement::of(a.carrier(), b.carrier());
    // Only GRE has keys.
    let key = match (a.carrier(), b.carrier()) {
        (Some("gre"), Some("gre")) => Agreement::of(Some(a.key()), Some(b.key())),
        _ => mode,
    };
    [mode, key]
}

/// Whether nothing is known that keeps a packet of one from being one of the other, by mode and key.
pub(super) fn is_carried(a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> bool {
    !carried(a, b).contains(&Agreement::Contradict)
}

/// In what two tunnels contradict each other beside their addresses outside.
pub(super) fn contradictions(view: &View<'_>, a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> Vec<&'static str> {
    let [mode, key] = carried(a, b);
    let is_note = |problem: &Problem| problem.severity == Some(Severity::Note);
    let sets = !proposals(view, facing(a, b)).iter().all(is_note) || other_version(view, facing(a, b));
    let all = [
        ("modes", mode == Agreement::Contradict),
        ("keys", mode != Agreement::Contradict && key == Agreement::Contradict),
        ("addresses inside", are_apart(a.interface, b.interface)),
        ("transform sets", sets),
    ];
    all.into_iter().filter(|(_, contradict)| *contradict).map(|(what, _)| what).collect()
}

pub(super) fn facing(a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> Facing {
    Facing { a: a.place.min(b.place), b: a.place.max(b.place) }
}

fn proposals(view: &View<'_>, pair: Facing) -> Vec<Problem> {
    sets::problems(view, &[pair])
}

fn other_version(view: &View<'_>, pair: Facing) -> bool {
    matches!((version(view, pair.a), version(view, pair.b)), (Some(a), Some(b)) if a != b)
}

/// The worst of what would be said of two tunnels as the ends of one, if anything.
pub(super) fn accused(view: &View<'_>, a: &TunnelEnd<'_>, b: &TunnelEnd<'_>) -> Option<Severity> {
    let pair = facing(a, b);
    let mut problems = proposals(view, pair);
    problems.extend(protected::differences(view, pair));
    problems.extend(pair.both_ways().into_iter().filter_map(|(here, there)| misses(view, here, there)));
    let is_note = |problem: &Problem| problem.severity == Some(Severity::Note);
    let loud = other_version(view, pair) || are_apart(a.interface, b.interface) || !problems.iter().all(is_note);
    match (loud, problems.is_empty()) {
        (true, _) => Some(Severity::Error),
        (false, true) => None,
        (false, false) => Some(Severity::Note),
    }
}

fn inside(a: &Interface, b: &Interface) -> Agreement {
    if share_network(a, b) {
        Agreement::Agree
    } else if are_apart(a, b) {
        Agreement::Contradict
    } else {
        Agreement::Unknown
    }
}

/// Whether two tunnels have addresses of one network.
pub(super) fn share_network(a: &Interface, b: &Interface) -> bool {
    a.networks.iter().any(|net| b.networks.contains(net))
}

/// Whether two tunnels have addresses of different networks, as the ends of two tunnels have.
pub(super) fn are_apart(a: &Interface, b: &Interface) -> bool {
    let pairs = || a.networks.iter().flat_map(|net| b.networks.iter().map(move |other| (net, other)));
    let of_one_family = |(net, other): (&Net, &Net)| net.is_v4() == other.is_v4();
    pairs().any(of_one_family) && !pairs().any(|(net, other)| net.overlaps(other))
}
