//! What the sections of a report of pairs have in common: short names and times.

use crate::model::pairs::{MatchReport, Side};
use crate::model::report::{Capture, FrameRef};
use crate::report::words::names;
use crate::report::words::number::{decimal, duration};

/// `ESP 0x000003e9` of an SA's id, `GRE` of a tunnel's: the endpoints stand beside it.
pub(super) fn short(id: &str) -> String {
    match names::sa_parts(id) {
        Some((protocol, spi, _)) => format!("{protocol} {spi}"),
        None => id.split('/').next().unwrap_or(id).to_uppercase(),
    }
}

/// How far clocks are apart: long times keep their microseconds.
pub(super) fn apart(ns: i64) -> String {
    let ns = ns.unsigned_abs();
    if ns < 1_000_000_000 { duration(ns) } else { format!("{} s", decimal(ns as f64 / 1e9, 6)) }
}

/// `frame 38`, with its capture where the side has several.
pub(super) fn frame(side: &Side, frame: FrameRef) -> String {
    names::frame_of(&side.captures, frame)
}

/// The captures as findings count them: those of all sides in a row, the same one once.
pub(super) fn all_captures(report: &MatchReport) -> Vec<Capture> {
    let paths = |side: &Side| side.captures.iter().map(|capture| capture.path.clone()).collect::<Vec<_>>();
    let one = paths(&report.plain) == paths(&report.tunnel);
    let sides = [Some(&report.plain).filter(|_| !one), Some(&report.tunnel), report.exit.as_ref()];
    sides.into_iter().flatten().flat_map(|side| side.captures.iter().cloned()).collect()
}
