//! A report of pairs: which plaintext packet became which tunnelled packet, and what it cost; what matters first.

mod directions;
mod packets;
mod padding;
mod sizes;
mod times;
mod words;

use super::findings::{self, Told};
use super::page::{Page, TextOptions};
use crate::model::pairs::MatchReport;
use crate::model::report::Exactness;

/// The whole report.
#[must_use]
pub fn render_pairs(report: &MatchReport, options: &TextOptions) -> String {
    let mut page = Page::new(options);
    packets::sides(&mut page, report);
    if report.exactness == Exactness::Degraded {
        page.wrapped(0, 4, &format!("Not exact: {}", report.degraded_why.join(" ")));
    }
    let captures = words::all_captures(report);
    let told = Told { findings: &report.findings, captures: &captures, sas: &[], several_taps: false };
    findings::told(&mut page, &told);
    packets::summary(&mut page, report);
    directions::print(&mut page, report);
    times::clocks(&mut page, report);
    times::latency(&mut page, report);
    sizes::print(&mut page, report);
    directions::headers(&mut page, report);
    padding::print(&mut page, report);
    packets::ends(&mut page, report);
    packets::outside(&mut page, report);
    packets::lost(&mut page, report);
    page.into_text()
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;
    use crate::report::sample::pairs as sample;

    fn text(report: &MatchReport, width: usize) -> String {
        render_pairs(report, &TextOptions { width, ..TextOptions::default() })
    }

    #[test]
    fn every_line_fits_the_width() {
        for report in [sample::report(), sample::empty(), sample::long()] {
            checks::fits(|options| render_pairs(&report, options));
        }
    }

    #[test]
    fn no_escape_and_no_control_character_without_colour() {
        checks::harmless(&text(&sample::hostile(), 100), |options| render_pairs(&sample::report(), options));
    }

    #[test]
    fn what_matters_comes_first() {
        let headings = [
            "plain.pcap",
            "Findings",
            "Pairs",
            "Directions",
            "Clock",
            "Latency",
            "Overhead by packet size",
            "Outer header",
            "Padding",
            "Plain side to exit side",
            "Outside the tunnel",
            "Lost packets",
        ];
        checks::in_order(&text(&sample::report(), 100), &headings);
    }

    #[test]
    fn figures_say_how_they_are_known() {
        let text = text(&sample::report(), 200);
        for said in [
            "by order: paired by length, sequence and timing",
            "Known by packets of both directions",
            "last bit to last bit",
            "as right as the offset of the clocks",
            "measured, packets paired by order; predicted by the transform that these lengths themselves suggest",
            "differs: padded by the device",
            "DSCP copied in all 12 marked packets",
            "0xff on the plain side, none in the tunnel, 0x00 at the exit.",
            "plain frame 1 (0xff) > tunnel frame 1 (none) > exit frame 2 (0x00)",
            "`spiglass match --format csv --table lost` lists all.",
        ] {
            assert!(text.contains(said), "{said} is missing in\n{text}");
        }
    }

    #[test]
    fn nothing_paired_is_said_in_few_lines() {
        let text = text(&sample::empty(), 100);
        assert!(text.contains("0  matched"), "{text}");
        assert!(!text.contains("Directions") && !text.contains("Latency") && !text.contains("Padding"), "{text}");
    }
}
