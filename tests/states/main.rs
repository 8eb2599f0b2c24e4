//! The merge law, partial states, parts of a capture, taps.

#[path = "../support/mod.rs"]
mod support;

mod clock_steps;
mod files;
mod kinds;
mod lanes;
mod layouts;
mod merge_laws;
mod namings;
mod nights;
mod parts;
mod rotations;
mod state_dir;
mod taps;
