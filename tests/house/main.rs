//! The rules of the source, and the README.

#[path = "../support/mod.rs"]
mod support;

mod architecture;
mod freeze;
mod readme;
mod sentences;
mod size;
