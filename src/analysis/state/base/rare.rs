//! Figures that almost every SA has none of.

use serde::{Deserialize, Serialize};

/// A value that is its default for almost everything that has one: a word then, and no more.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rare<T> {
    value: Option<Box<T>>,
}

impl<T: Copy + Default> Rare<T> {
    /// The value.
    #[inline]
    pub(crate) fn get(&self) -> T {
        self.value.as_deref().copied().unwrap_or_default()
    }

    /// The value, to change it.
    pub(crate) fn edit(&mut self) -> &mut T {
        self.value.get_or_insert_default()
    }

    /// Takes in the value of a later span by `merge`, if it is more than the default.
    pub(crate) fn merge(&mut self, later: Self, merge: impl FnOnce(&mut T, T)) {
        let Self { value } = later;
        if let Some(later) = value {
            merge(self.edit(), *later);
        }
    }
}

impl<T: Copy + Default + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
