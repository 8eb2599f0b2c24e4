//! The report as text: what matters first.
//!
//! Text may change freely between versions; scripts read JSON or CSV.

mod calc;
mod captures;
#[cfg(test)]
mod checks;
mod events;
mod findings;
mod overhead;
mod padding;
pub(in crate::report) mod page;
mod pairs;
mod rates;
mod sas;
mod table;

pub use calc::render_calculation;
pub use page::{TextOptions, Theme};
pub use pairs::render_pairs;

use crate::model::report::Report;
use page::Page;

/// The whole report.
#[must_use]
pub fn render(report: &Report, options: &TextOptions) -> String {
    let mut page = Page::new(options);
    captures::print(&mut page, report);
    findings::print(&mut page, report);
    sas::print(&mut page, report);
    overhead::print(&mut page, report);
    padding::print(&mut page, report);
    rates::print(&mut page, report);
    events::print(&mut page, report);
    page.into_text()
}

/// Captures and findings only: the text of `check`.
#[must_use]
pub fn render_findings(report: &Report, options: &TextOptions) -> String {
    let mut page = Page::new(options);
    captures::print(&mut page, report);
    findings::print(&mut page, report);
    page.into_text()
}

/// `tap` where the report has several, for headings.
fn tap_suffix(report: &Report, tap: &str) -> String {
    tap_suffix_of(report.taps.len() > 1, tap)
}

fn tap_suffix_of(several: bool, tap: &str) -> String {
    if several && !tap.is_empty() { format!("   at tap {}", super::escape::printable(tap)) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn text(report: &Report, width: usize) -> String {
        render(report, &TextOptions { width, ..TextOptions::default() })
    }

    #[test]
    fn every_line_fits_the_width() {
        for report in [sample::report(), sample::two_taps(), sample::empty()] {
            checks::fits(|options| render(&report, options));
        }
    }

    #[test]
    fn no_escape_and_no_control_character_without_colour() {
        checks::harmless(&text(&sample::hostile(), 100), |options| render(&sample::report(), options));
    }

    #[test]
    fn what_matters_comes_first() {
        let text = text(&sample::report(), 100);
        let headings =
            ["tunnel.pcap", "Findings", "Security associations", "Overhead by packet size", "Padding", "Rates"];
        checks::in_order(&text, &headings);
        // Errors before warnings.
        checks::in_order(&text, &["spi-zero", "sequence-gap"]);
        assert!(text.contains("spiglass explain"));
    }

    #[test]
    fn the_tables_of_the_source_documents_are_there() {
        // Cisco 892, ESP-DES-MD5 under AH: 8490 packets/s of 64 octets are 6.93 Mbit/s end to end and 10.73 on the circuit.
        let text = text(&sample::report(), 100);
        let row = text.lines().find(|line| line.trim_start().starts_with("64 ") && line.contains("8 490")).unwrap();
        for figure in ["120", "56", "87.5", "102", "158", "6.93", "10.73", "64.6"] {
            assert!(row.split_whitespace().any(|cell| cell == figure), "{figure} in {row}");
        }
    }

    #[test]
    fn a_capture_without_ipsec_says_so_in_one_line() {
        let text = text(&sample::empty(), 100);
        assert!(text.contains("No IPsec or IP tunnel seen in 120 frames."), "{text}");
        assert!(!text.contains("Security associations"));
    }
}
