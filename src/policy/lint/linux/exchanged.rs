//! Two hosts that send with the same SPI and wait for the same SPI: inbound and outbound are exchanged on one of the two.
//!
//! A script that was copied to the other host with its addresses alone exchanged does that: number and keys of each SA are the same at
//! both, in the other direction. So no key is wrong, and one host's lines mend both directions.
//!
//! Two hosts that have neither a number nor a key in common show SAs of different times, if IKE made them.

use std::collections::BTreeSet;

use super::super::super::{Problem, View};
use super::differ::{Place, at};
use super::model::{Host, Target, Verdict, kernel};
use crate::model::report::Severity;
use crate::model::{Address, Protocol};
use crate::policy::facts::router::Installed;
use crate::policy::facts::secret::Secret;
use crate::policy::facts::slip::slip;

/// The states of two hosts for the two directions: at the first host and at the second.
struct Four {
    near: [Place; 2],
    far: [Place; 2],
}

/// Exchanges them on the first host, and returns the pairs that are then the two ends of one SA.
pub(super) fn judge(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    taken: &BTreeSet<Place>,
    verdicts: &mut Vec<Verdict>,
) -> Vec<(Place, Place)> {
    let mut pairs = Vec::new();
    for four in found(hosts, taken) {
        if let Some(verdict) = corrected(view, hosts, &four) {
            verdicts.push(verdict);
            pairs.extend(four.near.into_iter().zip(four.far));
        }
    }
    pairs
}

fn found(hosts: &[Host<'_>], taken: &BTreeSet<Place>) -> Vec<Four> {
    let mut all = Vec::new();
    for one in 0..hosts.len() {
        for other in one + 1..hosts.len() {
            let apart = hosts.get(one).zip(hosts.get(other)).is_some_and(|(a, b)| a.own.is_disjoint(&b.own));
            if apart {
                all.extend(
                    ends(hosts, one, taken).into_iter().filter_map(|ends| four(hosts, taken, (one, other), ends)),
                );
            }
        }
    }
    all
}

/// The ends of a host's states that have no other end yet, each pair once.
fn ends(hosts: &[Host<'_>], host: usize, taken: &BTreeSet<Place>) -> BTreeSet<(Protocol, Address, Address)> {
    let states = hosts.get(host).into_iter().flat_map(|host| host.states.iter().enumerate());
    states
        .filter(|(number, _)| !taken.contains(&(host, *number)))
        .filter_map(|(_, state)| Some((state.now.protocol, state.now.src?, state.now.dst?)))
        .map(|(protocol, src, dst)| (protocol, src.min(dst), src.max(dst)))
        .collect()
}

fn four(
    hosts: &[Host<'_>],
    taken: &BTreeSet<Place>,
    (one, other): (usize, usize),
    (protocol, a, b): (Protocol, Address, Address),
) -> Option<Four> {
    let only = |host: usize, src: Address, dst: Address| -> Option<Place> {
        let states = hosts.get(host)?.states.iter().enumerate();
        let mut fitting = states.filter(|(_, state)| {
            (state.now.protocol, state.now.src, state.now.dst) == (protocol, Some(src), Some(dst))
        });
        let (number, _) = fitting.next()?;
        fitting.next().is_none().then_some((host, number)).filter(|place| !taken.contains(place))
    };
    let near = [only(one, a, b)?, only(one, b, a)?];
    let far = [only(other, a, b)?, only(other, b, a)?];
    let spi = |place: Place| at(hosts, place).map(|sa| sa.spi);
    let [there, back] = near.map(spi);
    (there != back && [back, there] == far.map(spi)).then_some(Four { near, far })
}

/// Says of listings that have no SPI and no key in common that IKE may have made all these SAs: then the listings are of different times.
/// Returns the states that are compared with nothing.
pub(super) fn of_other_times(
    view: &View<'_>,
    hosts: &[Host<'_>],
    taken: &BTreeSet<Place>,
    verdicts: &mut Vec<Verdict>,
) -> BTreeSet<Place> {
    let mut unlike = BTreeSet::new();
    for one in 0..hosts.len() {
        for other in one + 1..hosts.len() {
            let apart = hosts.get(one).zip(hosts.get(other)).filter(|(a, b)| a.own.is_disjoint(&b.own));
            let Some((a, b)) = apart else { continue };
            for (protocol, x, y) in ends(hosts, one, taken) {
                let of = |host: usize| -> Vec<Place> {
                    let states = hosts.get(host).into_iter().flat_map(|host| host.states.iter().enumerate());
                    let between = |sa: &Installed| {
                        sa.protocol == protocol && [(Some(x), Some(y)), (Some(y), Some(x))].contains(&(sa.src, sa.dst))
                    };
                    states.filter(|(_, state)| between(&state.now)).map(|(number, _)| (host, number)).collect()
                };
                let (near, far) = (of(one), of(other));
                let free = near.iter().chain(&far).all(|place| !taken.contains(place));
                if !free || !are_unlike(hosts, &near, &far) {
                    continue;
                }
                let evidence = format!(
                    "{} between {x} and {y}: {} and {} have no SPI and no key in common, in neither direction. If IKE made these states, \
                     the listings are of different times, with a rekey in between: list both at one moment. If the keys were typed, the two \
                     hosts have those of different tunnels.",
                    protocol.title(),
                    a.name,
                    b.name
                );
                let cites = |places: &[Place]| -> Vec<_> {
                    places.iter().filter_map(|place| at(hosts, *place)?.cites.first().cloned()).collect()
                };
                verdicts.push(Verdict::told(
                    Problem::new("config-spi-mismatch", evidence)
                        .severity(Severity::Note)
                        .about(format!("{} < > {}", a.name, b.name))
                        .lines(view.policies, a.router, &cites(&near))
                        .lines(view.policies, b.router, &cites(&far)),
                ));
                unlike.extend(near.into_iter().chain(far));
            }
        }
    }
    unlike
}

/// Whether two hosts list both directions, and share no SPI and no key.
fn are_unlike(hosts: &[Host<'_>], near: &[Place], far: &[Place]) -> bool {
    let both_ways = |places: &[Place]| {
        let ends: BTreeSet<_> =
            places.iter().filter_map(|place| at(hosts, *place)).map(|sa| (sa.src, sa.dst)).collect();
        ends.len() == 2
    };
    let listed = |place: &Place| at(hosts, *place).and_then(kernel).is_some_and(|extra| !extra.typed);
    let unlike = |x: &Place, y: &Place| {
        let both = at(hosts, *x).zip(at(hosts, *y));
        both.is_some_and(|(x, y)| x.spi != y.spi && slip(x.spi, y.spi).is_none() && in_common(x, y) == 0)
    };
    both_ways(near)
        && both_ways(far)
        && near.iter().chain(far).all(listed)
        && near.iter().all(|x| far.iter().all(|y| unlike(x, y)))
}

fn corrected(view: &View<'_>, hosts: &mut [Host<'_>], four: &Four) -> Option<Verdict> {
    let states = |places: [Place; 2]| -> Option<[Installed; 2]> {
        let [a, b] = places.map(|place| at(hosts, place).cloned());
        Some([a?, b?])
    };
    let ([there, back], [far_there, far_back]) = (states(four.near)?, states(four.far)?);
    let straight = in_common(&there, &far_there) + in_common(&back, &far_back);
    let by_spi = in_common(&there, &far_back) + in_common(&back, &far_there);
    let with_keys = by_spi >= straight;
    let host = |place: Place| hosts.get(place.0).map(|host| (host.name, host.router));
    let ((name, router), (far, far_router)) = (host(four.near[0])?, host(four.far[0])?);
    let (out, inward) = if super::model::outbound(hosts.get(four.near[0].0)?, &there) == Some(false) {
        (&back, &there)
    } else {
        (&there, &back)
    };
    let keys = if by_spi > straight {
        "; the keys were exchanged with the numbers: those of each SPI are the same at both (compared, not shown)"
    } else {
        ""
    };
    let evidence = format!(
        "{name} sends {} to {far} with SPI {} ({}), and so does {far} to {name}; each expects {} ({}) and drops every packet \
         (XfrmInNoStates). Inbound and outbound are exchanged on one of the two{keys}. Which of the two is wrong is not determined by \
         these texts: the lines change {name}'s states; the alternative is to exchange {far}'s.",
        out.protocol.title(),
        out.spi.0,
        out.spi,
        inward.spi.0,
        inward.spi
    );
    let cites = |states: [&Installed; 2]| states.map(|sa| sa.cites.first().cloned()).into_iter().flatten();
    let problem = Problem::new("config-spi-mismatch", evidence)
        .about(format!("{name} < > {far}"))
        .lines(view.policies, router, &cites([&there, &back]).collect::<Vec<_>>())
        .lines(view.policies, far_router, &cites([&far_there, &far_back]).collect::<Vec<_>>());
    for (place, other) in four.near.into_iter().zip([&back, &there]) {
        let now = &mut hosts.get_mut(place.0)?.states.get_mut(place.1)?.now;
        now.spi = other.spi;
        if with_keys {
            now.cipher.clone_from(&other.cipher);
            now.authenticator.clone_from(&other.authenticator);
            now.words.clone_from(&other.words);
        }
    }
    let targets = four.near.iter().map(|place| Target::State(place.0, place.1)).collect();
    Some(Verdict { problem, targets })
}

/// How many keys two states have in common.
fn in_common(a: &Installed, b: &Installed) -> usize {
    let same = |a: &Option<Secret>, b: &Option<Secret>| {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.comparable() && b.comparable() && a == b)
    };
    usize::from(same(&a.cipher, &b.cipher)) + usize::from(same(&a.authenticator, &b.authenticator))
}
