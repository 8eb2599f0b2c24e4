//! A part of a configuration that is displayed again: the blocks that it shows whole take the place of what was known of them.

use super::filter::Filter;
use crate::policy::{Acl, Forwarding, MapEntry, Router};

impl Router {
    /// The router before a part of its configuration is displayed again: what such a part may name, and nothing else.
    pub(in crate::policy) fn again(&mut self) -> Self {
        let mut router = Self::new(self.name.clone(), self.named);
        router.maker = self.maker;
        router.objects = std::mem::take(&mut self.objects);
        router.forwarding.groups = std::mem::take(&mut self.forwarding.groups);
        router.forwarding.aliases = std::mem::take(&mut self.forwarding.aliases);
        router
    }

    /// Takes in what a display of a part showed; `pieces` where nothing but parts is known. Of one that shows single lines, or that was
    /// cut, nothing is sure.
    pub(in crate::policy) fn renew(&mut self, shown: Self, filter: &Filter, pieces: bool) {
        self.installed.extend(shown.installed);
        self.selectors.extend(shown.selectors);
        self.counters.extend(shown.counters);
        self.flows.extend(shown.flows);
        self.objects = shown.objects;
        let mut far = shown.forwarding;
        self.forwarding.groups = std::mem::take(&mut far.groups);
        self.forwarding.aliases = std::mem::take(&mut far.aliases);
        if !pieces && (!filter.whole_blocks || !far.hidden.is_empty()) {
            return;
        }
        self.renew_interfaces(shown.interfaces, &far);
        self.transform_sets.extend(shown.transform_sets.into_iter().filter(|(_, set)| pieces || !set.cut));
        self.profiles.extend(shown.profiles);
        for entry in shown.maps {
            let same = |old: &&mut MapEntry| (&old.name, old.number) == (&entry.name, entry.number);
            match self.maps.iter_mut().find(same) {
                Some(old) => *old = entry,
                None => self.maps.push(entry),
            }
        }
        for policy in shown.ike {
            match self.ike.iter_mut().find(|old| (old.version, &old.name) == (policy.version, &policy.name)) {
                Some(old) => *old = policy,
                None => self.ike.push(policy),
            }
        }
        for key in shown.ike_keys {
            self.ike_keys.retain(|old| (old.peer, old.covers) != (key.peer, key.covers));
            self.ike_keys.push(key);
        }
        for (name, list) in shown.acls {
            self.renew_list(name, list, &far, filter, pieces);
        }
        if pieces {
            self.map_sources.extend(shown.map_sources);
            self.forwarding.take_in(far);
        }
    }

    fn renew_interfaces(
        &mut self,
        shown: std::collections::BTreeMap<String, crate::policy::Interface>,
        far: &Forwarding,
    ) {
        for (name, mut interface) in shown {
            // PIX and ASA say which map it carries by the name that it is given, beside the map.
            if let Some(known) = self.interfaces.values_mut().find(|known| known.called.as_ref() == Some(&name)) {
                known.map = interface.map.or(known.map.take());
                continue;
            }
            let known = self.interfaces.get(&name);
            if known.is_some() && far.open.contains(&name) {
                continue;
            }
            if interface.called.is_some() {
                interface.map = known.and_then(|known| known.map.clone());
            }
            self.forwarding.open.remove(&name);
            self.forwarding.ports.remove(&name);
            self.forwarding.ports.extend(far.ports.get(&name).map(|port| (name.clone(), port.clone())));
            self.interfaces.insert(name, interface);
        }
    }

    /// A list that was shown whole takes the place of the one that was known.
    fn renew_list(&mut self, name: String, list: Acl, far: &Forwarding, filter: &Filter, pieces: bool) {
        let headings = [format!("access-list {name}"), format!("ip access-list extended {name}")];
        let whole = headings.iter().any(|heading| filter.takes(heading));
        let known = self.acls.contains_key(&name);
        let sure = whole && far.is_sure(&name) && !far.open.contains(&name);
        if known && !sure || !known && !pieces {
            return;
        }
        let own = &mut self.forwarding;
        for of in [&mut own.vague, &mut own.unsure, &mut own.open] {
            of.remove(&name);
        }
        own.grouped.retain(|line| line.list != name);
        own.grouped.extend(far.grouped.iter().filter(|line| line.list == name).cloned());
        own.sequence.extend(far.sequence.get(&name).map(|lines| (name.clone(), lines.clone())));
        if !sure {
            own.vague.insert(name.clone());
        }
        self.acls.insert(name, list);
    }
}

impl Forwarding {
    /// What a further part of a configuration says of all that has no block of its own.
    fn take_in(&mut self, far: Self) {
        let known: Vec<_> = self.routes.iter().map(|route| route.cite.text.clone()).collect();
        self.routes.extend(far.routes.into_iter().filter(|route| !known.contains(&route.cite.text)));
        let known: Vec<_> = self.translated.iter().map(|rule| rule.cite.text.clone()).collect();
        self.translated.extend(far.translated.into_iter().filter(|rule| !known.contains(&rule.cite.text)));
        self.static_nat.extend(far.static_nat);
        self.other_routes |= far.other_routes;
        self.other_nat |= far.other_nat;
        self.other_keys |= far.other_keys;
        self.ike_off = far.ike_off.or(self.ike_off.take());
        self.open.extend(far.open);
        self.vague_sets.extend(far.vague_sets);
        self.mentioned.extend(far.mentioned);
        self.hidden.extend(far.hidden);
        self.ports.extend(far.ports.into_iter().filter(|(_, port)| port.shutdown.is_some() || port.leased));
    }
}
