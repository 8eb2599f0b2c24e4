//! Which SA has which mapping of lengths.

use super::Mapping;

/// The mappings of the SAs of one direction.
#[derive(Clone, Debug, Default)]
pub(in crate::matching) struct Mappings {
    distinct: Vec<Mapping>,
    /// Number of the mapping of each SA that has one of its own.
    of: Vec<Option<u8>>,
}

impl Mappings {
    /// The SA has this mapping.
    pub(in crate::matching) fn insert(&mut self, sa: u32, mapping: Mapping) {
        let at = self.distinct.iter().position(|own| *own == mapping).unwrap_or_else(|| {
            self.distinct.push(mapping);
            self.distinct.len() - 1
        });
        if self.of.len() <= sa as usize {
            self.of.resize(sa as usize + 1, None);
        }
        self.of.get_mut(sa as usize).into_iter().for_each(|number| *number = Some(u8::try_from(at).unwrap_or(0)));
    }

    pub(in crate::matching) fn is_empty(&self) -> bool {
        self.distinct.is_empty()
    }

    /// Number of the SA's mapping. An SA without one of its own has the first.
    pub(in crate::matching) fn number(&self, sa: u32) -> u8 {
        self.of.get(sa as usize).copied().flatten().unwrap_or(0)
    }

    /// SAs without a mapping of their own have this one.
    pub(in crate::matching) fn put_first(&mut self, usual: Mapping) {
        let before = std::mem::replace(self, Self { distinct: vec![usual], of: Vec::new() });
        before.sas().into_iter().for_each(|sa| before.of(sa).into_iter().for_each(|own| self.insert(sa, own)));
    }

    /// The mapping with this number.
    pub(in crate::matching) fn at(&self, number: u8) -> Option<Mapping> {
        self.distinct.get(usize::from(number)).copied()
    }

    /// Another mapping takes the place of the one with this number, for all SAs that have it.
    pub(in crate::matching) fn replace(&mut self, number: u8, mapping: Mapping) {
        self.distinct.get_mut(usize::from(number)).into_iter().for_each(|own| *own = mapping);
    }

    /// The SAs that have one of their own.
    pub(in crate::matching) fn sas(&self) -> Vec<u32> {
        (0..).zip(&self.of).filter(|(_, own)| own.is_some()).map(|(sa, _)| sa).collect()
    }

    /// The SA's mapping.
    pub(in crate::matching) fn of(&self, sa: u32) -> Option<Mapping> {
        self.at(self.number(sa))
    }

    /// Whether the mapping with this number makes ESP of `esp` octets out of a packet of `inner`.
    pub(in crate::matching) fn makes(&self, number: u8, inner: u32, esp: u32) -> bool {
        self.distinct.get(usize::from(number)).is_some_and(|mapping| mapping.esp(inner) == Some(esp))
    }

    /// Whether it does but for the 16 octets of a block, without filling up: of packets of one length several transforms are left, and another may be right.
    pub(in crate::matching) fn nearly_makes(&self, number: u8, inner: u32, esp: u32) -> bool {
        let mapping = self.distinct.get(usize::from(number));
        mapping.and_then(|own| Mapping { floor: 0, ..*own }.esp(inner)).is_some_and(|made| made.abs_diff(esp) <= 16)
    }
}
