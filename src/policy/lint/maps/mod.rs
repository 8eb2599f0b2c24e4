//! Crypto maps, access lists and transform sets of one router, and against its peer's.

pub(super) mod acl;
mod bare;
pub(super) mod entries;
pub(super) mod gre;
mod mirrors;
mod numbers;
pub(super) mod overlap;
pub(super) mod placement;
pub(super) mod references;
pub(super) mod session;
pub(super) mod sets;
