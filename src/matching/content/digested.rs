//! Tables whose keys are digests: as good as random, they need no further hash.
//!
//! A key lies at the place that its low bits name, or behind it with no vacant place between. Packets come and go all the time: what leaves
//! lets those behind it move up, so that no marks of what was there remain.

/// A table by digests.
#[derive(Debug)]
pub(in crate::matching) struct Digested<V> {
    /// A power of two of places, or none.
    places: Vec<Option<(u64, V)>>,
    len: usize,
}

impl<V> Default for Digested<V> {
    fn default() -> Self {
        Self { places: Vec::new(), len: 0 }
    }
}

/// Places of the smallest table.
const LEAST: usize = 64;

impl<V> Digested<V> {
    /// The bits that name a place.
    #[inline]
    const fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    /// Where a key is, or else the vacant place where it would be; beyond all places where there are none.
    #[inline]
    fn find(&self, key: u64) -> (usize, bool) {
        let mut at = key as usize & self.mask();
        loop {
            match self.places.get(at) {
                Some(Some((own, _))) if *own == key => return (at, true),
                Some(Some(_)) => at = (at + 1) & self.mask(),
                Some(None) | None => return (at, false),
            }
        }
    }

    #[inline]
    pub(in crate::matching) fn get(&self, key: u64) -> Option<&V> {
        let (at, _) = self.find(key);
        self.places.get(at)?.as_ref().map(|(_, value)| value)
    }

    /// Keys that are in it.
    pub(in crate::matching) const fn len(&self) -> usize {
        self.len
    }

    /// The value of a key, which is `new` where there was none, and whether there was one. There always is one now.
    #[inline]
    pub(in crate::matching) fn entry(&mut self, key: u64, new: impl FnOnce() -> V) -> Option<(&mut V, bool)> {
        // At least half of the places are vacant.
        if self.len * 2 >= self.places.len() {
            self.grow();
        }
        let (at, is_known) = self.find(key);
        self.len += usize::from(!is_known);
        let (_, value) = self.places.get_mut(at)?.get_or_insert_with(|| (key, new()));
        Some((value, is_known))
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = Vec::new();
        places.resize_with((self.places.len() * 2).max(LEAST), || None);
        for (key, value) in std::mem::replace(&mut self.places, places).into_iter().flatten() {
            let (at, _) = self.find(key);
            if let Some(place) = self.places.get_mut(at) {
                *place = Some((key, value));
            }
        }
    }

    /// Takes a key out if its value `is_done`.
    #[inline]
    pub(in crate::matching) fn remove_if(&mut self, key: u64, is_done: impl FnOnce(&mut V) -> bool) {
        let (at, _) = self.find(key);
        let Some(place) = self.places.get_mut(at) else { return };
        if !place.as_mut().is_some_and(|(_, value)| is_done(value)) {
            return;
        }
        *place = None;
        self.len -= 1;
        self.move_up(at);
    }

    /// Moves keys that lie behind a place which became vacant to where they are found.
    #[inline]
    fn move_up(&mut self, mut vacant: usize) {
        let mask = self.mask();
        let mut at = vacant;
        loop {
            at = (at + 1) & mask;
            let Some(Some((key, _))) = self.places.get(at) else { return };
            // One that lies between the vacant place and its own is found where it is.
            let own = *key as usize & mask;
            if at.wrapping_sub(own) & mask >= at.wrapping_sub(vacant) & mask {
                let moved = self.places.get_mut(at).and_then(Option::take);
                if let Some(place) = self.places.get_mut(vacant) {
                    *place = moved;
                }
                vacant = at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few different low bits: many keys lie behind their places, also over the end of all places.
        #[test]
        fn it_holds_what_a_map_holds(steps in prop::collection::vec((0_u64..6, 0_u64..64, any::<bool>(), 0..9), 0..400)) {
            let (mut table, mut map) = (Digested::default(), HashMap::new());
            for (low, high, is_new, value) in steps {
                let key = ((low + 61) % 64) | (high << 32);
                if is_new {
                    let known = map.contains_key(&key);
                    let own = *map.entry(key).and_modify(|own| *own += 1).or_insert(value);
                    let (shown, is_known) = table.entry(key, || value).expect("there is one now");
                    *shown += i32::from(is_known);
                    prop_assert_eq!((*shown, is_known), (own, known));
                } else {
                    let is_done = |own: &i32| *own % 2 == 0;
                    if map.get(&key).is_some_and(is_done) {
                        map.remove(&key);
                    }
                    table.remove_if(key, |own| is_done(own));
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (key, own) in &map {
                prop_assert_eq!(table.get(*key), Some(own));
            }
        }
    }
}
