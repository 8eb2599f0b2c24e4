//! The program: exit status, streams, limits, faults of the world.

#[path = "../support/mod.rs"]
mod support;

mod annotate;
mod calc;
mod crashes;
mod faults;
mod limits;
mod live;
mod outputs;
mod quiet;
mod runs;
