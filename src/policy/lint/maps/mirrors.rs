//! Lines of two access lists that do not mirror each other: which of the two lists is wrong.

use std::collections::BTreeSet;

use super::acl::{Meaning, meaning};
use super::gre::Tunnels;
use crate::policy::facts::router::{Acl, Denied, Router};
use crate::policy::lint::blame::Side;
use crate::policy::lint::copies::twin;
use crate::policy::lint::way::leaving::{Lies, routed};
use crate::policy::{Cite, Net, Selector, View};

/// Selectors named in an evidence.
pub(super) const NAMED: usize = 4;

/// A side of a pair with its list.
pub(super) struct End<'v> {
    pub(super) view: &'v View<'v>,
    pub(super) at: usize,
    pub(super) router: &'v Router,
    pub(super) tunnels: &'v Tunnels<'v>,
    pub(super) host: &'v str,
    pub(super) name: &'v str,
    pub(super) list: &'v Acl,
    pub(super) peer: Option<crate::model::Address>,
}

impl End<'_> {
    /// On which side of the router a network is that it has a static route to.
    fn lies(&self, net: &Net) -> Option<Lies> {
        routed(self.router, self.peer?, net)
    }
}

/// What to do with a line, and why.
pub(super) struct Verdict {
    /// Whose line is at fault, or is changed where nothing decides.
    pub(super) side: Side,
    /// Why, where something decides.
    pub(super) because: Option<&'static str>,
    /// Lines that go.
    pub(super) removed: Vec<String>,
    /// What is selected instead.
    pub(super) added: Vec<Selector>,
}

type Lines<'l> = [(&'l Selector, &'l Cite)];

pub(super) fn verdicts(
    a: &End<'_>,
    b: &End<'_>,
    a_odd: &Lines<'_>,
    b_odd: &Lines<'_>,
    a_leaves: &Lines<'_>,
    b_leaves: &Lines<'_>,
) -> Vec<Verdict> {
    if let Some(verdict) = of_parts(a_odd, b_odd) {
        return vec![verdict];
    }
    let mut verdicts = Vec::new();
    let mut rest: Vec<&Selector> = b_odd.iter().map(|(selector, _)| *selector).collect();
    for (mine, _) in a_odd {
        let kin = |theirs: &&Selector| mine.overlaps(&theirs.mirrored()) || mine.overlaps(theirs);
        let at = rest.iter().position(kin).or((a_odd.len() == 1 && rest.len() == 1).then_some(0));
        match at {
            Some(at) => {
                let theirs = rest.remove(at);
                verdicts.push(of_two(a, b, mine, theirs));
            }
            None => verdicts.push(of_one(a, b, Side::A, mine)),
        }
    }
    verdicts.extend(rest.into_iter().map(|theirs| of_one(a, b, Side::B, theirs)));
    for (side, own, left) in [(Side::A, a, a_leaves), (Side::B, b, b_leaves)] {
        for (selector, _) in left {
            let whole = own.list.permits.iter().any(|(permit, _)| selector.covers(permit));
            let because =
                whole.then_some("its deny precedes the line that permits the same packets, so they leave in clear");
            let removed = vec![format!("deny {}", selector.typed())];
            verdicts.push(Verdict { side, because, removed, added: Vec::new() });
        }
    }
    verdicts
}

/// A line of one list that stands against several of the other, as a network against its halves: which way of writing is meant is not
/// known, and one list is made like the other as a whole.
fn of_parts(a_odd: &Lines<'_>, b_odd: &Lines<'_>) -> Option<Verdict> {
    let answering = |line: &Selector, others: &Lines<'_>| {
        let back = line.mirrored();
        others.iter().filter(|(other, _)| other.overlaps(&back)).count()
    };
    let several = |lines: &Lines<'_>, others: &Lines<'_>| lines.iter().any(|(line, _)| answering(line, others) > 1);
    let wide = |lines: &Lines<'_>| lines.iter().any(|(line, _)| line.src.is_any() || line.dst.is_any());
    if !several(a_odd, b_odd) && !several(b_odd, a_odd) {
        return None;
    }
    let (side, because) = match (wide(a_odd), wide(b_odd)) {
        (true, false) => (Side::A, Some(TAKES_ALL)),
        (false, true) => (Side::B, Some(TAKES_ALL)),
        _ => (Side::A, None),
    };
    let (own, far) = (side.of(a_odd, b_odd), side.other().of(a_odd, b_odd));
    let removed = own.iter().map(|(line, _)| format!("permit {}", line.typed())).collect();
    let added = far.iter().map(|(line, _)| line.mirrored()).collect();
    Some(Verdict { side, because, removed, added })
}

/// Why a line for every address is wrong beside a specific one.
const TAKES_ALL: &str = "its line takes everything, and the other router's list is specific";

/// A line that the other side has nothing like.
fn of_one(a: &End<'_>, b: &End<'_>, owner: Side, line: &Selector) -> Verdict {
    let typed = format!("permit {}", line.typed());
    if line.src.is_any() || line.dst.is_any() {
        // Never spread to the other router.
        let because = Some(TAKES_ALL);
        return Verdict { side: owner, because, removed: vec![typed], added: Vec::new() };
    }
    let (own, far) = (owner.of(a, b), owner.other().of(a, b));
    // A network that is nowhere may be a slip, or one of no use: both must be there for the line to be missing.
    let source =
        own.router.connects(&line.src) || [own, far].iter().any(|end| end.router.forwarding.routes_to(&line.src));
    let destination =
        far.router.connects(&line.dst) || [own, far].iter().any(|end| end.router.forwarding.routes_to(&line.dst));
    let because = (source && destination)
        .then_some("it lacks a line for networks that the interfaces and routes of the routers have");
    Verdict { side: owner.other(), because, removed: Vec::new(), added: vec![line.mirrored()] }
}

/// Two lines that are meant to mirror each other.
fn of_two(a: &End<'_>, b: &End<'_>, mine: &Selector, theirs: &Selector) -> Verdict {
    let change = |side: Side, because: Option<&'static str>| {
        let (wrong, right) = (side.of(mine, theirs), side.other().of(mine, theirs));
        Verdict { side, because, removed: vec![format!("permit {}", wrong.typed())], added: vec![right.mirrored()] }
    };
    let back = theirs.mirrored();
    let wide = |one: &Selector, other: &Selector| {
        one.src.is_any() && !other.src.is_any() || one.dst.is_any() && !other.dst.is_any()
    };
    match (wide(mine, &back), wide(&back, mine)) {
        (true, false) => {
            return change(Side::A, Some(TAKES_ALL));
        }
        (false, true) => {
            return change(Side::B, Some(TAKES_ALL));
        }
        _ => {}
    }
    if let Some(side) = super::gre::beside(a.tunnels, b.tunnels, mine, theirs) {
        return change(side, Some(super::gre::BECAUSE));
    }
    if let Some(side) = super::gre::missing(a.tunnels, b.tunnels, mine, theirs) {
        return change(side, Some(super::gre::MISSES));
    }
    let netmask = |one: &Selector| [one.src, one.dst].iter().any(Net::is_netmask_for_wildcard);
    match (netmask(mine), netmask(theirs)) {
        (true, false) => return change(Side::A, Some("its line has a netmask where a wildcard mask belongs")),
        (false, true) => return change(Side::B, Some("its line has a netmask where a wildcard mask belongs")),
        _ => {}
    }
    match (is_copied(a, b, mine), is_copied(b, a, theirs)) {
        // Its interface was copied, too: the list is not all that is to be changed.
        (true, false) => return Verdict { removed: Vec::new(), added: Vec::new(), ..change(Side::A, Some(COPIED)) },
        (false, true) => return Verdict { removed: Vec::new(), added: Vec::new(), ..change(Side::B, Some(COPIED)) },
        _ => {}
    }
    let (speaks_mine, speaks_theirs) = (support(a, b, mine, theirs), support(b, a, theirs, mine));
    let side = Side::weaker(speaks_mine, speaks_theirs);
    let hosts = |one: &Selector| one.src.is_host() && one.dst.is_host();
    // A line of two hosts, one protocol or one port may be meant as it stands, even where whole networks exist behind the routers.
    let meant = hosts(mine)
        || hosts(theirs)
        || (&mine.protocol, &mine.src_port, &mine.dst_port) != (&back.protocol, &back.src_port, &back.dst_port);
    match side {
        Some(side) if !meant && mine == theirs => {
            change(side, Some("its source and destination are exchanged: the router's own network must be the source"))
        }
        Some(side) if !meant => {
            change(side, Some("the interfaces and routes of the routers have the networks of the other's line"))
        }
        side => change(side.unwrap_or(Side::A), None),
    }
}

/// Why a line with a copied network is wrong.
const COPIED: &str = "its line has its own network, and another router has that network with the same interface address: the \
                      configuration of one was copied to the other";

/// Whether the source of a line is a network in which a third router has the same address as its own one.
fn is_copied(own: &End<'_>, far: &End<'_>, line: &Selector) -> bool {
    let interfaces = own.router.interfaces.values().filter(|interface| interface.networks.contains(&line.src));
    interfaces.flat_map(|interface| &interface.addresses).any(|(address, _)| {
        line.src.contains(*address) && twin(own.view, own.at, *address).is_some_and(|other| other != far.at)
    })
}

/// How much of the interfaces and routes of both routers agrees with a line of one of them, whose counterpart is the `other`. A network that a route leads to
/// inside is no network of the other router; it is one of its own where both lines have it and static routes are all that there are.
fn support(own: &End<'_>, far: &End<'_>, line: &Selector, other: &Selector) -> usize {
    let is_inside = |end: &End<'_>, net: &Net| end.lies(net) == Some(Lies::Inside);
    let in_both = |net: &Net| net.overlaps(&other.src) || net.overlaps(&other.dst);
    let within = |end: &End<'_>, net: &Net| match end.router.connects(net) {
        true => 2,
        false => usize::from(in_both(net) && is_inside(end, net) && !end.router.forwarding.other_routes),
    };
    let beyond = |end: &End<'_>, net: &Net| usize::from(end.router.forwarding.routes_to(net) && !is_inside(end, net));
    within(own, &line.src) + beyond(far, &line.src) + within(far, &line.dst) + beyond(own, &line.dst)
}

/// The lines of a list that have no mirror image in the other.
pub(super) fn odd<'a>(list: &'a Acl, other: &Acl) -> Vec<(&'a Selector, &'a Cite)> {
    let there: BTreeSet<Meaning> = other.permits.iter().map(|(selector, _)| meaning(&selector.mirrored())).collect();
    let all = list.permits.iter().enumerate();
    // The first line that fits a packet decides: one that an earlier line covers is never reached.
    let reached =
        |at: usize, selector: &Selector| !list.permits.iter().take(at).any(|(earlier, _)| earlier.covers(selector));
    all.filter(|(at, (selector, _))| !there.contains(&meaning(selector)) && reached(*at, selector))
        .map(|(_, (selector, cite))| (selector, cite))
        .collect()
}

/// Packets that `list` leaves out, and that `other` selects for the way back: no line of it leaves any of them out.
pub(super) fn left_out<'a>(list: &'a Acl, other: &Acl) -> Vec<(&'a Selector, &'a Cite)> {
    let effective = |acl: &Acl, behind: usize| behind < acl.permits.len();
    let left = list.denies.iter().filter(|denied| effective(list, denied.behind));
    left.filter_map(|denied| Some((denied.selector.as_ref()?, &denied.cite)))
        .filter(|(selector, _)| {
            let back = selector.mirrored();
            let selected = other.permits.iter().any(|(permit, _)| permit.overlaps(&back));
            let excepted = |denied: &Denied| denied.selector.as_ref().is_none_or(|selector| selector.overlaps(&back));
            selected && !other.denies.iter().any(excepted)
        })
        .take(NAMED)
        .collect()
}
