//! The way of packets to IPsec: interfaces, filters, routes, NAT, and tunnels under the crypto map.

pub(super) mod astray;
pub(super) mod lan;
pub(super) mod leaving;
pub(super) mod misnamed;
pub(super) mod nat;
pub(super) mod protected;
pub(super) mod reach;
pub(super) mod tunnels;
mod unprotected;
