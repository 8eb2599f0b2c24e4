//! Whether a state that was read from a file can be one, and its written form.

pub(in crate::analysis) mod sound;
pub(in crate::analysis) mod written;
