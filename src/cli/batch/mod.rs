//! Commands of nights of many captures, and what they have in common with the others: states, what damage means.

pub(super) mod damage;
pub(super) mod diff;
pub(super) mod index;
pub(super) mod judged;
pub(super) mod merge;
pub(super) mod parquet;
pub(super) mod partial;
