//! Captures read and frames dissected: headers, limits, public captures.

#[path = "../support/mod.rs"]
mod support;

mod built;
mod container;
mod corpus;
mod frames;
mod headers;
mod layers;
mod limits;
mod null;
mod ports;
mod total;
