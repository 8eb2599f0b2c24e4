//! The [`Report`] in its text, JSON, CSV and markdown forms: pure functions of the report.

pub use crate::model::report::*;
