//! Crypto maps, access lists and transform sets of one router, and against its peer's.

pub(super) mod acl;
pub(super) mod entries;
pub(super) mod overlap;
pub(super) mod placement;
pub(super) mod references;
mod session;
pub(super) mod sets;
