//! How figures, names and foreign text are written.

pub mod escape;
pub(super) mod harmless;
pub(super) mod indented;
pub mod names;
pub mod number;
