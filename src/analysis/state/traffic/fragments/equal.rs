//! When the fragments of two spans are the same.

use super::Fragments;

impl PartialEq for Fragments {
    /// Of what is known of the span: when groups were last folded is a cache, and the keys follow from the groups.
    fn eq(&self, other: &Self) -> bool {
        let Self { groups, open, heads, copied, held, first, newest, last_sweep: _, sums, refused, oldest, back_ns } =
            self;
        *groups == other.groups
            && *copied == other.copied
            && *open == other.open
            && *heads == other.heads
            && *held == other.held
            && *first == other.first
            && *newest == other.newest
            && *sums == other.sums
            && *refused == other.refused
            && *oldest == other.oldest
            && *back_ns == other.back_ns
    }
}
