//! Configurations that were copied from one router to another, and not all of it changed.

use crate::model::Address;
use crate::policy::View;
use crate::policy::facts::router::Router;

/// Another router that has an address of a router on an interface, too. Two texts of one router have all addresses in common, and are
/// no copies; addresses that routers share (HSRP, VRRP) are meant to be on both.
pub(super) fn twin(view: &View<'_>, at: usize, address: Address) -> Option<usize> {
    let own = view.policies.routers.get(at)?;
    let has = |router: &Router, address: Address| {
        router.interfaces.values().any(|interface| interface.addresses.iter().any(|(one, _)| *one == address))
    };
    let of = |router: &Router| -> Vec<Address> {
        router.interfaces.values().flat_map(|interface| &interface.addresses).map(|(one, _)| *one).collect()
    };
    let mut others = view.owners.get(&address)?.iter().copied().filter(|other| *other != at);
    others.find(|other| {
        view.policies.routers.get(*other).is_some_and(|other| {
            has(own, address)
                && has(other, address)
                && !(of(own).iter().all(|one| has(other, *one)) || of(other).iter().all(|one| has(own, *one)))
        })
    })
}
