//! Where bytes come from, and what their beginning says they are.

pub(super) mod buffer;
pub(crate) mod digest;
pub(super) mod format;
pub(super) mod head;
pub(super) mod memory;
pub(super) mod source;
