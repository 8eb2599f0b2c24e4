//! Lines about interfaces, routes and groups that are not IPsec's own.

use crate::model::Address;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::forwarding::{Grouped, NatList, Port, Route, Taking};
use crate::policy::facts::router::{Denied, Keying, MapEntry, Router, Unread};
use crate::policy::form::paste::Read;
use crate::policy::words::{address, is_digits};
use crate::policy::{Net, limits};

/// A line of an interface.
pub(super) fn interface_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let text = words.iter().take(4).copied().collect::<Vec<_>>().join(" ");
    let cite = builder.cite(&text);
    let edit = |builder: &mut Builder, change: &dyn Fn(&mut Port)| {
        if let Some(router) = builder.router() {
            change(router.forwarding.ports.entry(name.to_owned()).or_default());
        }
    };
    match words {
        ["shutdown"] => edit(builder, &|port| port.shutdown = Some(cite.clone())),
        ["no", "shutdown"] => edit(builder, &|port| port.shutdown = None),
        ["ip", "access-group", list, "in"] | ["ipv6", "traffic-filter", list, "in"] => {
            edit(builder, &|port| port.filter_in = Some(((*list).to_owned(), cite.clone())));
        }
        ["ip", "unnumbered", lender, rest @ ..] => {
            let lender = format!("{lender}{}", rest.first().unwrap_or(&""));
            edit(builder, &|port| port.unnumbered = Some(lender.clone()));
        }
        ["ip", "address", "dhcp" | "negotiated", ..] | ["bridge-group", ..] => {
            edit(builder, &|port| port.leased = true)
        }
        ["ip" | "ipv6", "address", given, ..] if !given.contains(['.', ':']) => {
            edit(builder, &|port| port.leased = true)
        }
        ["tunnel", "mode", mode @ ..] if !mode.is_empty() => {
            if mode.contains(&"multipoint") {
                builder.wrong(
                    "a tunnel with several ends (`gre multipoint`, DMVPN): its ends are not compared with each other",
                );
            }
            let mode = mode.iter().take(2).copied().collect::<Vec<_>>().join(" ");
            edit(builder, &|port| port.tunnel_mode = Some((mode.clone(), cite.clone())));
        }
        ["tunnel", "key", key] if is_digits(key) => {
            let cite = builder.cite_made(&format!("tunnel key {key}"));
            // 05 is 5.
            let number = key.trim_start_matches('0');
            let number = if number.is_empty() { "0" } else { number };
            edit(builder, &|port| port.tunnel_key = Some((number.to_owned(), cite.clone())));
        }
        ["tunnel", "vrf", vrf] => edit(builder, &|port| port.tunnel_vrf = Some((*vrf).to_owned())),
        ["ip", "nat", side @ ("inside" | "outside")] => {
            edit(builder, &|port| port.nat_inside = Some(*side == "inside"))
        }
        ["ip", "nat", "inside", "source", ..] => return translation(words, builder),
        ["no", "ip", "address"] => edit(builder, &|port| port.bare = Some(cite.clone())),
        ["standby" | "vrrp", _, "ip" | "ipv6", shared, ..] | ["standby", "ip", shared, ..] => {
            if let Some(shared) = address(shared) {
                edit(builder, &|port| port.shared.push(shared));
            }
        }
        ["standby" | "vrrp" | "glbp", ..] => {}
        ["ip", "policy", ..] | ["ip" | "ipv6", "nat" | "vrf", ..] | ["vrf", ..] => elsewhere(name, words, builder),
        _ => return Read::Foreign,
    }
    Read::Understood
}

/// Lines of an interface that route its packets by more than the table of the router: VRFs, policies.
fn elsewhere(name: &str, words: &[&str], builder: &mut Builder) {
    let Some(router) = builder.router().filter(|_| words.get(1) != Some(&"nat")) else { return };
    router.forwarding.other_routes = true;
    if let ["ip", "vrf", "forwarding", vrf] | ["vrf", "forwarding", vrf] = words {
        router.forwarding.ports.entry(name.to_owned()).or_default().vrf = Some((*vrf).to_owned());
    }
}

/// `ip nat inside source list LIST interface NAME overload`.
pub(super) fn translation(words: &[&str], builder: &mut Builder) -> Read {
    if let ["ip", "nat", "inside", "source", "static", local, ..] = words {
        // One of a port leaves the rest of its host to the lists.
        let host = address(local);
        if let Some(router) = builder.router().filter(|_| !matches!(*local, "tcp" | "udp")) {
            router.forwarding.static_nat.extend(host);
            router.forwarding.other_nat |= host.is_none();
        }
    }
    let ["ip", "nat", "inside", "source", by @ ("list" | "route-map"), list, rest @ ..] = words else {
        return Read::Understood;
    };
    // That of a VRF is not for the interfaces of the router itself.
    if rest.contains(&"vrf") {
        return Read::Understood;
    }
    let onto = match rest {
        ["interface", name, ..] => Some(super::interface_name(name)),
        _ => None,
    };
    let cite = builder.cite(&words.iter().take(9).copied().collect::<Vec<_>>().join(" "));
    if let Some(router) = builder.router().filter(|router| router.forwarding.translated.len() < limits::MAX_BLOCKS) {
        let rule = NatList { list: (*list).to_owned(), onto, cite };
        let rules = &mut router.forwarding;
        if *by == "list" { rules.translated.push(rule) } else { rules.translated_by.push(rule) }
    }
    Read::Understood
}

/// A group of addresses begins.
pub(super) fn group(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.groups.entry(name.to_owned()).or_default();
    }
}

/// An entry of a route map begins.
pub(super) fn route_map(name: &str, permits: bool, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        let entries = router.forwarding.route_maps.entry(name.to_owned()).or_default();
        entries.push(Taking { permits, ..Taking::default() });
    }
}

/// A line of an entry of a route map.
pub(super) fn route_map_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let Some(entry) = builder.router().and_then(|router| router.forwarding.route_maps.get_mut(name)?.last_mut()) else {
        return Read::Foreign;
    };
    match words {
        ["match", "ip", "address", "prefix-list", ..] => entry.asks_more = true,
        ["match", "ip", "address", lists @ ..] => entry.lists.extend(lists.iter().map(|list| (*list).to_owned())),
        ["match", what, ..] if *what != "address" => entry.asks_more = true,
        ["description", ..] => {}
        _ => return Read::Foreign,
    }
    Read::Understood
}

/// NAT by a route map with one entry for one list is NAT by that list.
fn by_lists(forwarding: &mut crate::policy::Forwarding) {
    for rule in std::mem::take(&mut forwarding.translated_by) {
        let entries = forwarding.route_maps.get(&rule.list).map(Vec::as_slice);
        if let Some([Taking { permits: true, lists, asks_more: false }]) = entries
            && let [list] = lists.as_slice()
        {
            forwarding.translated.push(NatList { list: list.clone(), ..rule });
        }
    }
}

/// The map of an interface leaves from the address that it shares with other routers.
pub(super) fn redundant(name: &str, builder: &mut Builder) {
    if let Some(router) = builder.router() {
        router.forwarding.ports.entry(name.to_owned()).or_default().redundant = true;
    }
}

/// `ip route NET MASK NEXT`, `ipv6 route NET/LEN NEXT`, and whatever else brings routes.
pub(super) fn route(words: &[&str], builder: &mut Builder) -> Read {
    let (to, next) = match words {
        ["ip", "route", to, mask, next @ ..] if !next.is_empty() => {
            let mask: Option<std::net::Ipv4Addr> = mask.parse().ok();
            let net = address(to).zip(mask).map(|(to, mask)| Net::masked(to, u128::from(mask.to_bits())));
            (net, next)
        }
        ["ipv6", "route", to, next @ ..] if !next.is_empty() => {
            let parts = to.split_once('/').and_then(|(to, length)| Some((address(to)?, length.parse().ok()?)));
            (parts.and_then(|(to, length)| Net::prefix(to, length)), next)
        }
        ["ip", "default-gateway" | "default-network", ..] => {
            if let Some(router) = builder.router() {
                router.forwarding.other_routes = true;
            }
            return Read::Understood;
        }
        _ => return Read::Foreign,
    };
    // One that is there only while something else is reached leads where it likes.
    let (over, through) = if next.contains(&"track") { (None, None) } else { toward(next) };
    let floating = next.contains(&"track") || distance(next).is_some_and(|distance| distance > 1);
    let cite = builder.cite(&words.iter().take(5).copied().collect::<Vec<_>>().join(" "));
    if let Some(router) = builder.router() {
        match to {
            Some(to) if router.forwarding.routes.len() < limits::MAX_BLOCKS => {
                router.forwarding.routes.push(Route { to, over, through, floating, cite });
            }
            // A route of a VRF, or one that cannot be read, may lead anywhere.
            _ => router.forwarding.other_routes = true,
        }
    }
    Read::Understood
}

/// The distance of a route: the number behind where it leads.
fn distance(next: &[&str]) -> Option<u32> {
    let mut before = "";
    next.iter().skip(1).find_map(|word| {
        let said = word.parse().ok().filter(|_| !matches!(before, "tag" | "name" | "Ethernet" | "track"));
        before = word;
        said
    })
}

/// Where a route leads: over a router, out of an interface, or both.
fn toward(next: &[&str]) -> (Option<Address>, Option<String>) {
    match next {
        [first, second, ..] if address(first).is_none() => (address(second), Some(super::interface_name(first))),
        [first, ..] => {
            let over = address(first);
            (over, over.is_none().then(|| super::interface_name(first)))
        }
        [] => (None, None),
    }
}

/// A line of `object-group network`.
pub(super) fn group_line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let whole = words;
    let words = words.strip_prefix(&["network-object"]).unwrap_or(words);
    let nets = match words {
        ["host", host] => address(host).map(|host| vec![Net::host(host)]),
        ["any"] => Some(vec![Net::any(true)]),
        ["range", first, last] if first == last => address(first).map(|host| vec![Net::host(host)]),
        ["object", object] => builder.router().and_then(|router| router.objects.get(*object).map(|net| vec![*net])),
        ["group-object", other] => builder.router().and_then(|router| router.forwarding.known_group(other)),
        [base, mask] => {
            let mask: Option<std::net::Ipv4Addr> =
                mask.parse().ok().or_else(|| mask.strip_prefix('/')?.parse::<u32>().ok().and_then(prefix_mask));
            address(base).zip(mask).map(|(base, mask)| vec![Net::masked(base, u128::from(mask.to_bits()))])
        }
        [one] => address(one).map(|host| vec![Net::host(host)]).or_else(|| {
            let (base, length) = one.split_once('/')?;
            Some(vec![Net::prefix(address(base)?, length.parse().ok()?)?])
        }),
        _ => None,
    };
    if matches!(words, ["description", ..]) {
        return Read::Understood;
    }
    let Some(nets) = nets else {
        // A group with a member that is not known is not known.
        let member = ["object", "group-object", "host", "range", "fqdn"].iter().any(|word| words.first() == Some(word));
        if member || whole.first() == Some(&"network-object") {
            builder.wrong("a member of a group that cannot be read: lists with the group are not compared");
            if let Some(router) = builder.router() {
                router.forwarding.vague_groups.insert(name.to_owned());
            }
        }
        return Read::Foreign;
    };
    if let Some(router) = builder.router() {
        router.forwarding.groups.entry(name.to_owned()).or_default().extend(nets);
    }
    Read::Understood
}

fn prefix_mask(length: u32) -> Option<std::net::Ipv4Addr> {
    let free = 32_u32.checked_sub(length)?;
    Some(std::net::Ipv4Addr::from_bits(u32::MAX.checked_shl(free).unwrap_or(0)))
}

/// Puts the networks of groups into the access lists that name them, now that all groups are read.
pub(in crate::policy) fn expand(router: &mut Router) {
    by_lists(&mut router.forwarding);
    // From the last line on, so that the places of earlier ones stay true.
    for line in std::mem::take(&mut router.forwarding.grouped).into_iter().rev() {
        let selectors = router.forwarding.expanded(&line);
        let Grouped { list, behind: (permits, denies), permits: permit, cite, .. } = line;
        let Some(acl) = router.acls.get_mut(&list) else { continue };
        match selectors {
            Some(selectors) if permit => {
                let count = selectors.len();
                let at = permits.min(acl.permits.len());
                acl.permits.splice(at..at, selectors.into_iter().map(|selector| (selector, cite.clone())));
                for denied in acl.denies.iter_mut().skip(denies) {
                    denied.behind += count;
                }
            }
            Some(selectors) => {
                let at = denies.min(acl.denies.len());
                let denied = selectors.into_iter().map(|selector| Denied {
                    behind: permits,
                    selector: Some(selector),
                    cite: cite.clone(),
                });
                acl.denies.splice(at..at, denied);
            }
            None => {
                router.forwarding.vague.insert(list);
            }
        }
    }
}

/// A tunnel interface that a profile protects is an entry like one of a crypto map.
pub(in crate::policy) fn protected_tunnels(router: &mut Router) {
    let mut entries = Vec::new();
    for (name, interface) in &router.interfaces {
        let (Some((profile, cite)), Some((far, far_cite))) = (&interface.protection, &interface.tunnel_destination)
        else {
            continue;
        };
        let source = interface.tunnel_source.as_deref().unwrap_or_default();
        let own = router.interfaces.get(source).into_iter().flat_map(|source| &source.addresses);
        let of_interface = own.map(|(own, _)| *own).find(|own| own.is_v4() == far.is_v4());
        entries.push(MapEntry {
            name: name.clone(),
            number: 0,
            keying: Keying::Ike,
            peers: vec![(*far, far_cite.clone())],
            keys: Vec::new(),
            transform_sets: router.profiles.get(profile).cloned().unwrap_or_default(),
            acl: None,
            local: crate::policy::words::address(source).or(of_interface),
            unread: Unread::default(),
            replaced: Vec::new(),
            ikev2: router.forwarding.ikev2_profiles.get(profile).cloned(),
            cite: cite.clone(),
        });
    }
    router.maps.extend(entries);
}
