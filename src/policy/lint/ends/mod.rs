//! Both ends of a tunnel: keys, peers, links and selectors.

pub(super) mod displays;
pub(super) mod ike;
pub(super) mod keys;
pub(super) mod links;
mod mixed;
pub(super) mod pairs;
pub(super) mod peers;
pub(super) mod pre_shared;
pub(super) mod renumbered;
pub(super) mod selectors;
mod turned;
