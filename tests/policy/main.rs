//! Configurations: reading, faults, fixes, and the wire against them.

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod forms;
mod hosts;
mod in_force;
mod lint;
mod linux;
mod linux_hub;
mod pairs;
mod read;
mod readings;
mod secrets;
mod sides;
mod tunnel_pairs;
mod tunnels;
mod uplinks;
mod ways;
mod wire;
mod wire_right;
mod wire_verdicts;
