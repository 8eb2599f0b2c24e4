//! Figures over the trials of a size, and over sizes.

pub(crate) mod baseline;
mod buffers;
mod bursts;
pub(crate) mod model;
pub(crate) mod search;
mod throughput;

pub(crate) use buffers::buffers;
pub(crate) use bursts::back_to_back;
pub(crate) use throughput::{Circuit, loss, throughput};
