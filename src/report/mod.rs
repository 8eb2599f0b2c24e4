//! The [`Report`] in its text, JSON, CSV and markdown forms: pure functions of the report.

#![expect(clippy::arithmetic_side_effects, reason = "columns of a page, and figures divided by constants")]

pub mod calc;
pub mod csv;
pub mod document;
pub mod escape;
pub mod explain;
pub mod frame_row;
mod harmless;
pub mod json;
pub mod markdown;
pub mod names;
pub mod number;
pub mod text;

#[cfg(test)]
mod sample;

pub use crate::model::report::*;
