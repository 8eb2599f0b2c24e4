//! The [`Report`] and its text, JSON, CSV and markdown forms: pure functions of the report.

mod schema;

pub use schema::*;
