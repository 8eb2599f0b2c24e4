//! UDP and TCP, and what they carry.

pub(super) mod esp_port;
pub(super) mod foreign;
pub(super) mod ike;
pub(super) mod tcp;
pub(super) mod udp;
