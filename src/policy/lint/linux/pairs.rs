//! States of one host against those of another: which are the two ends of one SA, and what a state lacks its other end for.

use std::collections::BTreeSet;

use super::super::super::{Problem, View};
use super::differ::{self, Place, at, failures};
use super::exchanged;
use super::model::{Entry, Host, Target, Verdict, kernel, main_template, outbound, ports_of_back};
use crate::model::Address;
use crate::policy::facts::router::Installed;
use crate::policy::facts::slip::slip;
use crate::policy::read::xfrm::KernelState;

/// How the two ends of one SA may differ in what names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Slip {
    Spi,
    Protocol,
    Src,
    Dst,
    /// Source and destination exchanged.
    Exchanged,
    /// One address, with ESP in UDP: a NAT translates it.
    Translated,
}

/// Corrects what decides itself, and returns the states whose failures are explained.
pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], verdicts: &mut Vec<Verdict>) -> BTreeSet<Place> {
    let mut explained = BTreeSet::new();
    let mut compare = |hosts: &mut [Host<'_>], pair: (Place, Place), verdicts: &mut Vec<Verdict>| {
        let (out, inward) = in_order(hosts, pair);
        let found = differ::judge(view, hosts, out, inward);
        if !found.is_empty() {
            explained.extend([out, inward]);
        }
        verdicts.extend(found);
    };
    let matched = matched(hosts);
    for &pair in &matched {
        compare(hosts, pair, verdicts);
    }
    let mut taken: BTreeSet<Place> = matched.iter().flat_map(|(a, b)| [*a, *b]).collect();
    for (x, y) in exchanged::judge(view, hosts, &taken, verdicts) {
        taken.extend([x, y]);
        compare(hosts, (x, y), verdicts);
    }
    taken.extend(exchanged::of_other_times(view, hosts, &taken, verdicts));
    for (_, x, y, how) in candidates(hosts, &taken) {
        if taken.contains(&x) || taken.contains(&y) {
            continue;
        }
        taken.extend([x, y]);
        if how != Slip::Translated {
            let (out, inward) = in_order(hosts, (x, y));
            verdicts.extend(slipped(view, hosts, out, inward, how));
        }
        compare(hosts, (x, y), verdicts);
    }
    missing(view, hosts, &taken, verdicts);
    explained
}

fn places(hosts: &[Host<'_>]) -> Vec<Place> {
    hosts.iter().enumerate().flat_map(|(host, of)| (0..of.states.len()).map(move |state| (host, state))).collect()
}

/// Two texts of one host, or of hosts with an address in common, are not two ends.
fn apart(hosts: &[Host<'_>], x: Place, y: Place) -> bool {
    let own = |place: Place| hosts.get(place.0).map(|host| &host.own);
    x.0 != y.0 && matches!((own(x), own(y)), (Some(a), Some(b)) if a.is_disjoint(b))
}

fn name(sa: &Installed) -> (crate::model::Protocol, Option<Address>, Option<Address>, crate::model::Spi) {
    (sa.protocol, sa.src, sa.dst, sa.spi)
}

fn matched(hosts: &[Host<'_>]) -> Vec<(Place, Place)> {
    let mut by_name: std::collections::BTreeMap<_, Vec<Place>> = std::collections::BTreeMap::new();
    for place in places(hosts) {
        if let Some(sa) = at(hosts, place) {
            by_name.entry(name(sa)).or_default().push(place);
        }
    }
    let mut pairs = Vec::new();
    for places in by_name.values() {
        for (number, x) in places.iter().enumerate() {
            let other = places.iter().skip(number + 1).find(|y| apart(hosts, *x, **y));
            pairs.extend(other.map(|y| (*x, *y)));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The sender first, where that is known.
fn in_order(hosts: &[Host<'_>], (x, y): (Place, Place)) -> (Place, Place) {
    let way = |place: Place| hosts.get(place.0).zip(at(hosts, place)).and_then(|(host, sa)| outbound(host, sa));
    if way(x) == Some(false) || (way(x).is_none() && way(y) == Some(true)) { (y, x) } else { (x, y) }
}

/// Pairs of states without another end that a single slip tells apart, likeliest first.
fn candidates(hosts: &[Host<'_>], taken: &BTreeSet<Place>) -> Vec<(u32, Place, Place, Slip)> {
    let free: Vec<Place> = places(hosts).into_iter().filter(|place| !taken.contains(place)).collect();
    let mut found = Vec::new();
    for (number, &x) in free.iter().enumerate() {
        for &y in free.iter().skip(number + 1).filter(|y| apart(hosts, x, **y)) {
            let (Some(a), Some(b)) = (at(hosts, x), at(hosts, y)) else { continue };
            let Some(mut how) = slip_between(a, b) else { continue };
            if how == Slip::Translated && (knows(hosts, x, b) || knows(hosts, y, a)) {
                how = if a.src == b.src { Slip::Dst } else { Slip::Src };
            }
            if how == Slip::Spi && (rekeyed(hosts, x, taken) || rekeyed(hosts, y, taken)) {
                continue;
            }
            let keys = a.authenticator != b.authenticator || a.cipher != b.cipher;
            let cost = u32::from(keys) + if how == Slip::Exchanged { 2 } else { 0 };
            found.push((cost, x, y, how));
        }
    }
    found.sort_unstable();
    found
}

/// Whether a host has both ends of another one's state in its own other states: then no NAT translates them.
fn knows(hosts: &[Host<'_>], place: Place, theirs: &Installed) -> bool {
    let others = hosts.get(place.0).into_iter().flat_map(|host| host.states.iter().enumerate());
    let ends: BTreeSet<Option<Address>> =
        others.filter(|(at, _)| *at != place.1).flat_map(|(_, one)| [one.now.src, one.now.dst]).collect();
    ends.contains(&theirs.src) && ends.contains(&theirs.dst)
}

fn slip_between(a: &Installed, b: &Installed) -> Option<Slip> {
    let (src, dst, spi, protocol) = (a.src == b.src, a.dst == b.dst, a.spi == b.spi, a.protocol == b.protocol);
    let udp = |sa: &Installed| kernel(sa).is_some_and(|extra| extra.encap.is_some());
    match (protocol, spi, src, dst) {
        (true, false, true, true) => Some(Slip::Spi),
        (false, true, true, true) => Some(Slip::Protocol),
        (true, true, false, true) | (true, true, true, false) if udp(a) && udp(b) => Some(Slip::Translated),
        (true, true, false, true) => Some(Slip::Src),
        (true, true, true, false) => Some(Slip::Dst),
        (true, true, false, false) if a.src == b.dst && a.dst == b.src => Some(Slip::Exchanged),
        _ => None,
    }
}

/// Whether the host has another SA of the same direction and reqid that has both its ends: one of the two is about to go.
fn rekeyed(hosts: &[Host<'_>], place: Place, taken: &BTreeSet<Place>) -> bool {
    let Some(sa) = at(hosts, place) else { return false };
    let group = |sa: &Installed| {
        let extra = kernel(sa);
        (sa.protocol, sa.src, sa.dst, extra.map(|extra| (extra.reqid, extra.mark, extra.if_id)))
    };
    taken.iter().any(|other| other.0 == place.0 && at(hosts, *other).is_some_and(|other| group(other) == group(sa)))
}

/// A pair that a slip tells apart: says whose, and corrects it.
fn slipped(view: &View<'_>, hosts: &mut [Host<'_>], out: Place, inward: Place, how: Slip) -> Option<Verdict> {
    let (x, y) = (at(hosts, out)?.clone(), at(hosts, inward)?.clone());
    let host = |place: Place| hosts.get(place.0).map(|host| (host.name, host.router));
    let ((from, from_router), (to, to_router)) = (host(out)?, host(inward)?);
    let decided = match how {
        Slip::Spi => in_use(hosts, out, inward).or_else(|| byte_order(&x, &y)),
        Slip::Exchanged => one_way(hosts, out, inward),
        Slip::Protocol => None,
        _ => by_address(hosts, out, inward, how),
    };
    let first_wrong = decided.as_ref().map_or(out.0 < inward.0, |(first, _)| *first);
    let (wrong, right) = if first_wrong { (from, to) } else { (to, from) };
    let whose = match &decided {
        Some((_, why)) => format!("{wrong}'s state is at fault: {why}."),
        None => format!(
            "Which of the two is wrong is not determined by these texts: the lines change {wrong}'s state; the alternative is to change {right}'s."
        ),
    };
    let ends = x.src.zip(x.dst).map_or_else(String::new, |(src, dst)| format!("{src} to {dst}"));
    let shown = |address: Option<Address>| address.map_or_else(String::new, |address| address.to_string());
    let protocol = x.protocol.title();
    let said = match how {
        Slip::Spi => {
            let slipped = slip(y.spi, x.spi).map_or_else(String::new, |what| format!(" (the first is {what})"));
            // The kernel looks for destination, protocol and SPI, never for the source.
            let counted = if in_use(hosts, out, inward).is_some() { "XfrmInStateProtoError" } else { "XfrmInNoStates" };
            format!(
                "{from} sends {protocol} to {to} with SPI {} ({}) from {ends}, and {to} expects {} ({}){slipped}. {to} drops every packet ({counted}).",
                x.spi.0, x.spi, y.spi.0, y.spi
            )
        }
        Slip::Protocol => format!("SPI {} {ends}: {from} has {protocol}, {to} has {}.", x.spi.0, y.protocol.title()),
        Slip::Src | Slip::Dst | Slip::Translated => {
            let (what, a, b) = if how == Slip::Dst { ("destination", x.dst, y.dst) } else { ("source", x.src, y.src) };
            format!("{protocol} SPI {} ({}): {from} has {what} {}, {to} has {}.", x.spi.0, x.spi, shown(a), shown(b))
        }
        Slip::Exchanged => {
            format!("{protocol} SPI {} ({}): {from} has it {ends}, {to} the other way round.", x.spi.0, x.spi)
        }
    };
    let code = match how {
        Slip::Spi => "config-spi-mismatch",
        Slip::Protocol => "config-transform-mismatch",
        _ => "config-peer-mismatch",
    };
    let problem = Problem::new(code, format!("{said} {whose}{}", failures(&[(from, &x), (to, &y)])))
        .about(format!("{from} > {to}"))
        .lines(view.policies, from_router, x.cites.first())
        .lines(view.policies, to_router, y.cites.first());
    let (place, source) = if first_wrong { (out, &y) } else { (inward, &x) };
    let state = hosts.get_mut(place.0)?.states.get_mut(place.1)?;
    match how {
        Slip::Spi => state.now.spi = source.spi,
        Slip::Protocol => {
            state.now.protocol = source.protocol;
            state.now.words.clone_from(&source.words);
            state.now.cipher.clone_from(&source.cipher);
            state.now.authenticator.clone_from(&source.authenticator);
        }
        _ => (state.now.src, state.now.dst) = (source.src, source.dst),
    }
    Some(Verdict::corrected(problem, Target::State(place.0, place.1)))
}

/// The number of the sender is the one of another SA that the receiver has: it takes no second one.
fn in_use(hosts: &[Host<'_>], out: Place, inward: Place) -> Option<(bool, String)> {
    let (x, y, host) = (at(hosts, out)?, at(hosts, inward)?, hosts.get(inward.0)?);
    let others = host.states.iter().enumerate().filter(|(other, _)| *other != inward.1).map(|(_, one)| &one.now);
    let mut same = others.filter(|one| (one.protocol, one.spi, one.dst) == (x.protocol, x.spi, y.dst));
    let from = same.next()?.src.map_or_else(String::new, |src| format!(" from {src}"));
    Some((true, format!("{} has that SPI for its SA{from}, and packets to it are looked up by it alone", host.name)))
}

/// A number whose octets are reversed has its zeros at the wrong end.
fn byte_order(x: &Installed, y: &Installed) -> Option<(bool, String)> {
    let (a, b) = (x.spi.0, y.spi.0);
    if a.swap_bytes() != b || a == b {
        return None;
    }
    let small = |spi: u32| spi >> 24 == 0;
    let why = || "its SPI has the bytes in reverse order (host instead of network order)".to_owned();
    match (small(a), small(b)) {
        (false, true) => Some((true, why())),
        (true, false) => Some((false, why())),
        _ => None,
    }
}

/// Of a host that has both states in one direction, one has its ends exchanged.
fn one_way(hosts: &[Host<'_>], x: Place, y: Place) -> Option<(bool, String)> {
    let lacks_back = |place: Place| -> Option<bool> {
        let (host, sa) = (hosts.get(place.0)?, at(hosts, place)?);
        let count = |src, dst| host.states.iter().filter(|one| one.now.src == src && one.now.dst == dst).count();
        Some(count(sa.src, sa.dst) > 1 && count(sa.dst, sa.src) == 0)
    };
    let why = "all its states between the two have one direction".to_owned();
    match (lacks_back(x)?, lacks_back(y)?) {
        (true, false) => Some((true, why)),
        (false, true) => Some((false, why)),
        _ => None,
    }
}

/// The address that a host has as its own is right; else the one that more states and templates have.
fn by_address(hosts: &[Host<'_>], x: Place, y: Place, how: Slip) -> Option<(bool, String)> {
    let end = |place: Place| at(hosts, place).and_then(|sa| if how == Slip::Dst { sa.dst } else { sa.src });
    let (a, b) = (end(x)?, end(y)?);
    let owned = |address: Address| hosts.iter().find(|host| host.own.contains(&address)).map(|host| host.name);
    match (owned(a), owned(b)) {
        (None, Some(owner)) => {
            return Some((true, format!("{b} is {owner}'s own address in its other states and policies")));
        }
        (Some(owner), None) => {
            return Some((false, format!("{a} is {owner}'s own address in its other states and policies")));
        }
        _ => {}
    }
    let count = |address: Address| {
        let of = |host: &Host<'_>| {
            let states = host.states.iter().flat_map(|one| [one.now.src, one.now.dst]);
            let templates = host.policies.iter().flat_map(|one| &one.now.templates).flat_map(|one| [one.src, one.dst]);
            states.chain(templates).filter(|end| *end == Some(address)).count()
        };
        [x.0, y.0].iter().filter_map(|host| hosts.get(*host)).map(of).sum::<usize>()
    };
    let why = "the other states and policies of the two hosts have the other address".to_owned();
    match count(a).cmp(&count(b)) {
        std::cmp::Ordering::Less => Some((true, why)),
        std::cmp::Ordering::Greater => Some((false, why)),
        std::cmp::Ordering::Equal => None,
    }
}

/// States whose peer has none for the direction.
fn missing(view: &View<'_>, hosts: &mut [Host<'_>], taken: &BTreeSet<Place>, verdicts: &mut Vec<Verdict>) {
    for place in places(hosts) {
        if taken.contains(&place) {
            continue;
        }
        let (Some(host), Some(sa)) = (hosts.get(place.0), at(hosts, place).cloned()) else { continue };
        let Some(peer) = peer_without(hosts, place, &sa) else { continue };
        let (name, router) = (host.name, host.router);
        let sends = outbound(host, &sa) == Some(true);
        let ends = [sa.src, sa.dst].map(|end| end.map(|end| end.to_string()));
        let known = |host: &&Host<'_>| {
            let router = view.policies.routers.get(host.router);
            router.is_some_and(|one| !one.unread_states && !one.forwarding.mentions_all(&ends))
        };
        let Some(other) = hosts.get(peer).filter(known) else { continue };
        let (Some(src), Some(dst)) = (sa.src, sa.dst) else { continue };
        let new = counterpart(other, &sa);
        let effect = if sends {
            format!("{} drops every packet of it (XfrmInNoStates)", other.name)
        } else {
            format!("{} has nothing to send with", other.name)
        };
        let evidence = format!(
            "{} from {src} to {dst}: {name} has a state with SPI {} ({}), and {} has none of this direction: {effect}.",
            sa.protocol.title(),
            sa.spi.0,
            sa.spi,
            other.name
        );
        let asked = other
            .policies
            .iter()
            .filter(|policy| policy.now.templates.iter().any(|one| one.src == sa.src && one.dst == sa.dst));
        let lines: Vec<_> = asked.map(|policy| policy.now.cite.clone()).collect();
        let problem = Problem::new("config-state-missing", evidence)
            .about(other.name)
            .lines(view.policies, other.router, &lines)
            .lines(view.policies, router, sa.cites.first());
        let Some(other) = hosts.get_mut(peer) else { continue };
        other.states.push(Entry::missing(new));
        verdicts.push(Verdict::corrected(problem, Target::State(peer, other.states.len() - 1)));
    }
}

/// The host at the far end that has states, none of them in this direction.
fn peer_without(hosts: &[Host<'_>], place: Place, sa: &Installed) -> Option<usize> {
    let host = hosts.get(place.0)?;
    let far = match outbound(host, sa) {
        Some(true) => sa.dst?,
        Some(false) => sa.src?,
        None => return None,
    };
    let peer = hosts.iter().position(|other| other.own.contains(&far) && other.own.is_disjoint(&host.own))?;
    let other = hosts.get(peer).filter(|other| !other.states.is_empty())?;
    // With another state of this direction the two were read at different times, or the SPI is what differs.
    let none = !other
        .states
        .iter()
        .any(|one| one.now.src == sa.src && one.now.dst == sa.dst && one.now.protocol == sa.protocol);
    none.then_some(peer)
}

/// The state that a host lacks: the peer's, with what the host's own policies ask for.
fn counterpart(host: &Host<'_>, sa: &Installed) -> Installed {
    let theirs = kernel(sa).cloned().unwrap_or_default();
    let asked = host.policies.iter().find_map(|policy| {
        let template = main_template(&policy.now).filter(|one| one.src == sa.src && one.dst == sa.dst)?;
        Some((template.reqid, policy.now.if_id))
    });
    let back =
        host.states.iter().find(|one| one.now.src == sa.dst && one.now.dst == sa.src).and_then(|one| kernel(&one.now));
    let reqid = asked.map(|(reqid, _)| reqid).or_else(|| back.map(|back| back.reqid)).unwrap_or(theirs.reqid);
    let if_id = asked.map(|(_, if_id)| if_id).or_else(|| back.map(|back| back.if_id)).unwrap_or(0);
    let extra = KernelState {
        reqid,
        if_id,
        window: back.map_or(theirs.window, |back| back.window),
        flags: theirs.flags,
        // The ports here are those of the way back: a NAT may have made others of them for the peer.
        encap: ports_of_back(host, sa).or(theirs.encap),
        ..KernelState::default()
    };
    Installed { kernel: Some(Box::new(extra)), tfc: 0, way: None, cites: Vec::new(), ..sa.clone() }
}
