//! What configurations state, each fact with the lines that state it.

pub(super) mod builder;
pub(super) mod cite;
pub(super) mod counted;
pub(super) mod forwarding;
pub(super) mod redact;
pub(super) mod router;
pub(super) mod secret;
pub(super) mod selector;
pub(super) mod slip;
pub(super) mod stated;
pub(super) mod taken;
