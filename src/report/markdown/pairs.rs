//! A report of pairs as markdown: the figures of the text, without its explanations.

use jiff::tz::TimeZone;

use super::{Page, findings, not_exact, safe};
use crate::model::pairs::{MatchReport, Side};
use crate::report::names;
use crate::report::number::{count, decimal, duration, grouped, range};

/// Lost packets that are listed.
const LOST: usize = 10;
/// Sizes that are listed.
const SIZES: usize = 200;

/// The whole report of pairs.
#[must_use]
pub fn render_pairs(report: &MatchReport, zone: &TimeZone) -> String {
    let mut page = Page(String::new());
    sides(&mut page, report, zone);
    findings(&mut page, &report.findings, false);
    pairs(&mut page, report);
    directions(&mut page, report);
    latency(&mut page, report);
    sizes(&mut page, report);
    lost(&mut page, report, zone);
    page.0
}

fn sides(page: &mut Page, report: &MatchReport, zone: &TimeZone) {
    page.heading("Captures");
    let sides = [("plain", Some(&report.plain)), ("tunnel", Some(&report.tunnel)), ("exit", report.exit.as_ref())];
    let rows = sides.into_iter().filter_map(|(name, side)| Some((name, side?)));
    let row = |name: &str, side: &Side| {
        side.captures
            .iter()
            .map(|capture| {
                vec![
                    name.to_owned(),
                    safe(&capture.path),
                    grouped(capture.frames),
                    capture.first_ns.map(|ns| names::moment(ns, zone)).unwrap_or_default(),
                    if capture.complete { "yes" } else { "no" }.to_owned(),
                ]
            })
            .collect::<Vec<_>>()
    };
    page.table(&["side", "capture", ">frames", "begins", "complete"], rows.flat_map(|(name, side)| row(name, side)));
    not_exact(page, report.exactness, &report.degraded_why);
}

fn pairs(page: &mut Page, report: &MatchReport) {
    let pairs = &report.pairs;
    page.heading("Pairs");
    page.table(
        &[
            ">matched",
            ">by content",
            ">decrypted",
            ">by order",
            ">ambiguous",
            ">lost",
            ">in the tunnel alone",
            ">repeated",
            ">outside",
            ">plain not covered",
            ">tunnel not covered",
            ">plain not determined",
            ">tunnel not determined",
        ],
        [[
            pairs.matched,
            pairs.by_basis.content,
            pairs.by_basis.decrypted,
            pairs.by_basis.order,
            pairs.ambiguous,
            pairs.unmatched_plain,
            pairs.unmatched_tunnel,
            pairs.repeated_tunnel,
            pairs.outside_plain,
            pairs.uncovered_plain,
            pairs.uncovered_tunnel,
            pairs.undetermined_plain,
            pairs.undetermined_tunnel,
        ]
        .map(grouped)
        .to_vec()],
    );
}

fn directions(page: &mut Page, report: &MatchReport) {
    if report.directions.is_empty() {
        return;
    }
    page.heading("Directions");
    page.table(
        &[
            "SA",
            "way",
            "known by",
            ">matched",
            ">lost",
            ">loss %",
            ">before tunnel tap",
            ">after tunnel tap",
            ">end to end",
            ">overtaken",
            ">confidence",
            "transform",
            "not determined",
        ],
        report.directions.iter().map(|direction| {
            let gone = if direction.way == "decapsulated" {
                direction.lost_behind_tunnel
            } else {
                direction.lost_before_tunnel
            };
            vec![
                safe(&names::sa_title(&direction.sa)),
                direction.way.to_owned(),
                direction.basis.unwrap_or_default().to_owned(),
                grouped(direction.matched),
                gone.map(grouped).unwrap_or_default(),
                direction.loss_pct.map(|loss| decimal(loss, 2)).unwrap_or_default(),
                direction.lost_before_tunnel.map(grouped).unwrap_or_default(),
                direction.lost_behind_tunnel.map(grouped).unwrap_or_default(),
                direction.lost_end_to_end.map(grouped).unwrap_or_default(),
                grouped(direction.reordered),
                direction.confidence.map(|mean| decimal(mean, 3)).unwrap_or_default(),
                safe(&names::transform_of(&direction.transform)),
                direction.undetermined.as_ref().map(|open| safe(&open.reason)).unwrap_or_default(),
            ]
        }),
    );
}

fn latency(page: &mut Page, report: &MatchReport) {
    let timed = report.timed();
    if timed.is_empty() {
        return;
    }
    page.heading("Latency");
    page.table(
        &["SA", ">min", ">p50", ">p90", ">p99", ">max", "clock", "what"],
        timed.into_iter().map(|(direction, times)| {
            let times = [times.min, times.p50, times.p90, times.p99, times.max].map(time);
            let clock = &direction.clock;
            let known = match (clock.offset_ns, clock.drift_ppm) {
                _ if clock.basis == "one-clock" => "one clock".to_owned(),
                (Some(offset), drift) => {
                    let drift = drift.map_or_else(String::new, |ppm| format!(", drift {} ppm", decimal(ppm, 1)));
                    let within = clock.uncertainty_ns.map_or_else(String::new, |ns| format!(" ± {}", time(ns)));
                    format!("offset {}{within}{drift} ({})", time(offset), clock.basis)
                }
                (None, _) => "unknown".to_owned(),
            };
            let mut row = vec![safe(&names::sa_title(&direction.sa))];
            row.extend(times);
            row.extend([known, safe(&direction.latency_ns.definition)]);
            row
        }),
    );
}

/// A length of time that may be negative.
fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

fn sizes(page: &mut Page, report: &MatchReport) {
    if report.sizes.is_empty() {
        return;
    }
    page.heading("Overhead by packet size");
    page.table(
        &[
            "SA",
            "known by",
            ">inner B",
            ">frames",
            ">overhead B",
            ">of inner %",
            ">predicted B",
            "why they differ",
            ">loss %",
            ">p50",
        ],
        report.sizes.iter().take(SIZES).map(|size| {
            vec![
                safe(&names::sa_title(&size.sa)),
                size.basis.to_owned(),
                size.inner_bytes.to_string(),
                grouped(size.frames),
                size.overhead_min_bytes
                    .zip(size.overhead_max_bytes)
                    .map(|(min, max)| range(min, max))
                    .unwrap_or_default(),
                size.overhead_of_inner_pct.map(|share| decimal(share, 1)).unwrap_or_default(),
                size.predicted_bytes.map(|octets| octets.to_string()).unwrap_or_default(),
                size.difference_why.map(safe).unwrap_or_default(),
                size.loss_pct.map(|loss| decimal(loss, 2)).unwrap_or_default(),
                size.latency_ns.map(|times| time(times.p50)).unwrap_or_default(),
            ]
        }),
    );
    if report.sizes.len() > SIZES {
        let more = count((report.sizes.len() - SIZES) as u64, "more row");
        page.line(&format!("\nand {more}; `spiglass match --format csv --table sizes` lists all."));
    }
}

fn lost(page: &mut Page, report: &MatchReport, zone: &TimeZone) {
    if report.lost.is_empty() {
        return;
    }
    page.heading("Lost packets");
    page.table(
        &["frame", "time", ">inner B", "lost", "SA", ">number", ">confidence"],
        report.lost.iter().take(LOST).map(|lost| {
            vec![
                safe(&names::frame_of(&report.plain.captures, lost.frame)),
                lost.time.map(|time| names::time_of_day(time.0, zone)).unwrap_or_default(),
                grouped(lost.inner_bytes),
                lost.verdict.to_owned(),
                lost.sa.as_deref().map(|sa| safe(&names::sa_title(sa))).unwrap_or_default(),
                lost.sequence.map(|number| number.to_string()).unwrap_or_default(),
                decimal(lost.confidence, 2),
            ]
        }),
    );
    if report.lost.len() > LOST {
        let more = count((report.lost.len() - LOST) as u64, "more packet");
        page.line(&format!("\nand {more}; `spiglass match --format csv --table lost` lists all."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::pairs as sample;

    #[test]
    fn rows_have_as_many_cells_as_their_heading() {
        for report in [sample::report(), sample::empty(), sample::long(), sample::hostile()] {
            let text = render_pairs(&report, &TimeZone::UTC);
            let mut cells = None;
            for line in text.lines() {
                if !line.starts_with('|') {
                    cells = None;
                    continue;
                }
                let n = line.replace("\\|", "").matches('|').count();
                assert_eq!(*cells.get_or_insert(n), n, "{line}");
            }
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        }
    }
}
