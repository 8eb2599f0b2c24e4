//! Where a fact stands.

use std::sync::Arc;

use serde::Serialize;

/// A line of an input, secrets removed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Cite {
    /// The input as it was named.
    pub file: Arc<str>,
    /// Line number in it, from 1.
    pub line: u32,
    /// What it says, secrets removed, blanks joined.
    pub text: Arc<str>,
}
