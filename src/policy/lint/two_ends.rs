//! One SA that two routers state with different ends: SPI and keys are the same, so one of the addresses is mistyped, or a NAT
//! in between translates it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Problem, Secret, View};
use super::{linux, near};
use crate::model::report::Severity;
use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::Way;
use crate::policy::facts::stated::{Basis, Stated};

/// SAs of one number that are compared.
const COMPARED: usize = 16;

/// The ends of all SAs, with the router that states them.
type Ends = BTreeSet<(usize, Address, Address)>;

/// `told`: what was found before; peers of crypto maps are compared there.
pub(super) fn problems(view: &View<'_>, told: &[Problem]) -> Vec<Problem> {
    let mut by_number: BTreeMap<(Protocol, Spi), Vec<&Stated>> = BTreeMap::new();
    for one in view.stated.iter().filter(|one| one.basis != Basis::Listed && one.used && !one.udp) {
        by_number.entry((one.protocol, one.spi)).or_default().push(one);
    }
    let ends = view.stated.iter().filter_map(|one| Some((one.router, one.src?, one.dst?))).collect();
    let mut pairs: BTreeMap<(usize, usize), Vec<Pair<'_>>> = BTreeMap::new();
    for of_number in by_number.values() {
        let some = || of_number.iter().copied().take(COMPARED);
        for x in some() {
            for y in some().filter(|y| y.router > x.router) {
                if let Some(pair) = Pair::of(view, x, y, &ends) {
                    pairs.entry((x.router, y.router)).or_default().push(pair);
                }
            }
        }
    }
    let known = |(a, b): (usize, usize)| {
        told.iter().filter(|problem| matches!(problem.code, "config-peer-mismatch" | "config-map-not-applied")).any(
            |problem| {
                let names = |at: usize| problem.config.iter().any(|line| line.host == view.name(at));
                names(a) || names(b)
            },
        )
    };
    pairs.into_iter().filter(|(routers, _)| !known(*routers)).filter_map(|(_, found)| problem(view, &found)).collect()
}

/// One SA at two routers, and the address in which they differ: at the first, and at the second.
struct Pair<'v> {
    x: &'v Stated,
    y: &'v Stated,
    differ: [Address; 2],
    /// Whether the source differs.
    is_source: bool,
}

impl<'v> Pair<'v> {
    fn of(view: &View<'_>, x: &'v Stated, y: &'v Stated, ends: &Ends) -> Option<Self> {
        // Linux hosts are compared state by state.
        if linux::is_state(view, x) && linux::is_state(view, y) || x.way.is_some() && x.way == y.way {
            return None;
        }
        let ((a, b), (c, d)) = ((x.src?, x.dst?), (y.src?, y.dst?));
        let (differ, is_source) = match (a == c, b == d) {
            (true, false) => ([b, d], false),
            (false, true) => ([a, c], true),
            _ => return None,
        };
        // A router with both addresses may use either: one that it shares, or a second one of the interface.
        let owners = differ.map(|end| view.owners.get(&end).map(Vec::as_slice).unwrap_or_default());
        if owners[0].iter().any(|owner| owners[1].contains(owner)) {
            return None;
        }
        // A router that has an SA between the same ends has the other end there: what is wrong is a number or a key.
        let has = |router: usize, one: &Stated| {
            one.src.zip(one.dst).is_some_and(|(src, dst)| ends.contains(&(router, src, dst)))
        };
        (same_keys(x, y) && !has(y.router, x) && !has(x.router, y)).then_some(Self { x, y, differ, is_source })
    }

    /// Whose end it is in which they differ: that of the first, or of the second.
    fn own(&self, view: &View<'_>) -> Option<bool> {
        let [named, other] = self.differ;
        let owns = |address: Address, at: usize| view.owners.get(&address).is_some_and(|of| of.contains(&at));
        let (first, second) = (owns(named, self.x.router), owns(other, self.y.router));
        if first != second {
            return Some(first);
        }
        let leaves = |one: &Stated| one.way.map(|way| (way == Way::Out) == self.is_source);
        leaves(self.x).or_else(|| leaves(self.y).map(|own| !own))
    }
}

/// Whether all keys that both state are the same, and there is one.
fn same_keys(x: &Stated, y: &Stated) -> bool {
    let both = [(&x.cipher, &y.cipher), (&x.authenticator, &y.authenticator)];
    let compared = |(x, y): (&Option<Secret>, &Option<Secret>)| {
        let (x, y) = x.as_ref().zip(y.as_ref())?;
        (x.comparable() && y.comparable()).then(|| x == y)
    };
    let compared: Vec<bool> = both.into_iter().filter_map(compared).collect();
    !compared.is_empty() && compared.iter().all(|same| *same)
}

fn problem(view: &View<'_>, found: &[Pair<'_>]) -> Option<Problem> {
    let first = found.first()?;
    let Pair { x, y, differ: [named, other], is_source } = first;
    let (a, b) = (view.name(x.router), view.name(y.router));
    let what = if *is_source { "source" } else { "destination" };
    let slipped = near::mistyped(*named, *other);
    let whose = match first.own(view) {
        Some(own) => {
            let (owner, right, far, wrong) = if own { (a, named, b, other) } else { (b, other, a, named) };
            let slip = if slipped { ": one of the two is the other one mistyped" } else { "" };
            format!("{right} is the own end of {owner} in its text, {wrong} its end in that of {far}{slip}.")
        }
        None if slipped => "One of the two is the other one mistyped.".to_owned(),
        None => String::new(),
    };
    let nat = if slipped { "" } else { " A NAT in between may translate it; without one, no packet arrives." };
    let evidence = format!(
        "{a} and {b} have {} SPI {} ({}) with the same keys (compared, not shown), so it is one SA; its {what} is {named} at {a} and \
         {other} at {b}. {whose}{nat} Which of the two is meant is not determined by these texts.",
        x.protocol.title(),
        x.spi.0,
        x.spi
    );
    let lines = |router: usize| {
        let of_router = found.iter().flat_map(|pair| [pair.x, pair.y]).filter(move |one| one.router == router);
        of_router.filter_map(|one| one.cites.first())
    };
    let problem = Problem::new("config-peer-mismatch", evidence)
        .about(format!("{a} < > {b}"))
        .lines(view.policies, x.router, lines(x.router))
        .lines(view.policies, y.router, lines(y.router));
    Some(if slipped { problem } else { problem.severity(Severity::Note) })
}
