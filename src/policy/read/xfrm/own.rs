//! Which addresses are the host's own, by what it says of directions.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Direction;
use crate::model::Address;
use crate::policy::Router;
use crate::policy::facts::router::Way;

/// Addresses that more of the host's policies and states take for its own end than for the far one. One mistyped policy does not decide.
pub(in crate::policy) fn own_addresses(router: &Router) -> BTreeSet<Address> {
    let mut votes: BTreeMap<Address, i32> = BTreeMap::new();
    let mut ends = |src: Option<Address>, dst: Option<Address>, outbound: bool, weight: i32| {
        for (end, own) in [(src, outbound), (dst, !outbound)] {
            if let Some(end) = end.filter(|end| !end.to_ip().is_unspecified()) {
                *votes.entry(end).or_default() += if own { weight } else { -weight };
            }
        }
    };
    for policy in &router.xfrm_policies {
        let outbound = policy.direction == Direction::Out;
        for template in &policy.templates {
            ends(template.src, template.dst, outbound, 2);
        }
        if let Some(selector) =
            policy.selector.as_ref().filter(|_| policy.templates.iter().all(|one| one.src.is_none()))
            && !policy.templates.is_empty()
        {
            ends(selector.src.as_host(), selector.dst.as_host(), outbound, 2);
        }
    }
    for sa in &router.installed {
        let Some(kernel) = &sa.kernel else { continue };
        match (sa.way, kernel.counted) {
            (Some(way), _) => ends(sa.src, sa.dst, way == Way::Out, 3),
            (None, (true, false)) => ends(sa.src, sa.dst, false, 3),
            (None, (false, true)) => ends(sa.src, sa.dst, true, 3),
            _ => {}
        }
    }
    votes.into_iter().filter(|(_, count)| *count > 0).map(|(address, _)| address).collect()
}
