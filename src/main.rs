//! The command line of spiglass.
fn main() {}
