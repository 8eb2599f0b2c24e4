//! Both ends of a tunnel: keys, peers, links and routes.

pub(super) mod ike;
pub(super) mod keys;
pub(super) mod links;
mod mixed;
pub(super) mod pairs;
pub(super) mod peers;
pub(super) mod reach;
pub(super) mod selectors;
