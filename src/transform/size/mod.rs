//! Lengths of packets and what they are made of.

pub mod ah;
pub mod ethernet;
pub mod fit;
pub mod layers;
pub mod parts;
pub mod path;
