//! The [`Report`] in its text, JSON, CSV and markdown forms: pure functions of the report.

pub mod classes;
pub mod escape;
pub mod names;
pub mod number;
pub mod text;

#[cfg(test)]
mod sample;

pub use crate::model::report::*;
