//! The [`Report`] in its text, JSON, CSV, markdown and HTML forms: pure functions of the report.

#![expect(clippy::arithmetic_side_effects, reason = "columns of a page, and figures divided by constants")]

pub mod calc;
pub mod changes;
pub mod csv;
pub mod diff;
pub mod document;
pub mod explain;
pub mod frame_row;
pub mod html;
pub mod json;
pub mod judge;
pub mod markdown;
pub mod metrics;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod read;
pub mod schema;
pub mod text;

#[cfg(test)]
mod sample;
mod table;
pub mod words;

pub use crate::model::report::*;
