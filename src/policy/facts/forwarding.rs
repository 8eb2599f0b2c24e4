//! What a router's configuration says besides IPsec and decides whether packets come to it: interfaces, routes, object groups.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::Address;
use crate::policy::{Cite, Net, Selector};

/// Facts about a router's forwarding.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Forwarding {
    /// Interfaces by name.
    pub ports: BTreeMap<String, Port>,
    /// Static routes.
    pub routes: Vec<Route>,
    /// Whether routes may come from elsewhere: routing protocols, policies, addresses that are leased.
    pub other_routes: bool,
    /// Groups of networks by name.
    pub groups: BTreeMap<String, Vec<Net>>,
    /// Lines of access lists that name groups, until all groups are read.
    pub(in crate::policy) grouped: Vec<Grouped>,
    /// Access lists of which a line could not be read, or names a group that is not there.
    pub vague: BTreeSet<String>,
    /// Transform sets that are there and leave algorithms to what their system takes where nothing is said.
    pub vague_sets: BTreeSet<String>,
}

/// An interface.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Port {
    /// The line that shuts it down.
    pub shutdown: Option<Cite>,
    /// The access list for packets that arrive.
    pub filter_in: Option<(String, Cite)>,
    /// The interface whose address it borrows.
    pub unnumbered: Option<String>,
    /// Addresses that it shares with other routers (HSRP, VRRP).
    pub shared: Vec<Address>,
    /// Whether its crypto map leaves from such an address (`redundancy`).
    pub redundant: bool,
    /// Whether its address is leased or negotiated.
    pub leased: bool,
}

/// A static route.
#[derive(Clone, Debug, Serialize)]
pub struct Route {
    /// Where to.
    pub to: Net,
    /// Over which router, where said.
    pub over: Option<Address>,
    /// Where it stands.
    pub cite: Cite,
}

/// An end of an access list's line: networks, or a group of them.
#[derive(Clone, Debug, Serialize)]
pub(in crate::policy) enum End {
    /// A network that the line itself names.
    Net(Net),
    /// A group by name.
    Group(String),
}

/// A line of an access list that names a group.
#[derive(Clone, Debug, Serialize)]
pub(in crate::policy) struct Grouped {
    pub(in crate::policy) list: String,
    /// How many lines that permit stand before it, and how many that deny.
    pub(in crate::policy) behind: (usize, usize),
    pub(in crate::policy) permits: bool,
    /// The line with `any` in place of its groups.
    pub(in crate::policy) frame: Selector,
    pub(in crate::policy) ends: [End; 2],
    pub(in crate::policy) cite: Cite,
}

impl Forwarding {
    /// The networks of an end; `None` where the group is not known.
    fn nets(&self, end: &End) -> Option<Vec<Net>> {
        match end {
            End::Net(net) => Some(vec![*net]),
            End::Group(name) => self.groups.get(name).filter(|nets| !nets.is_empty()).cloned(),
        }
    }

    /// What a line with groups selects; `None` where a group is not known.
    pub(in crate::policy) fn expanded(&self, line: &Grouped) -> Option<Vec<Selector>> {
        let [src, dst] = &line.ends;
        let (sources, destinations) = (self.nets(src)?, self.nets(dst)?);
        let both = sources.iter().flat_map(|src| destinations.iter().map(move |dst| (*src, *dst)));
        Some(both.map(|(src, dst)| Selector { src, dst, ..line.frame.clone() }).collect())
    }

    /// Whether a network is exactly the destination of a static route.
    #[must_use]
    pub fn routes_to(&self, net: &Net) -> bool {
        self.routes.iter().any(|route| route.to == *net)
    }
}
