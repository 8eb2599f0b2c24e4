//! `spiglass calc --search`: the search for the equilibrium throughput of a device that is known, load by load.

use crate::model::trials::{Replay, TriedLoad};
use crate::model::vocabulary::SearchSchema;
use crate::report::document::table::Cell;
use crate::report::document::{self, Document};
use crate::report::words::number::decimal;
use crate::trials::SearchSettings;
use crate::trials::follow;

/// Plays a search through on a device that forwards `actual` bits per second whole.
pub(super) fn replay(settings: &SearchSettings, actual: f64) -> Replay {
    let mut loads: Vec<TriedLoad> = Vec::new();
    let standing = follow(settings, |_, load| {
        let equal = load <= actual;
        loads.push(TriedLoad { iteration: loads.len() as u64 + 1, load_bps: load, equal });
        Some((load, equal))
    });
    Replay {
        schema: SearchSchema::V1,
        start_bps: settings.start_bps,
        step_bps: settings.step_bps,
        actual_bps: actual,
        tolerance_pct: 100.0 * settings.tolerance,
        iterations: standing.iteration,
        found_bps: standing.best,
        loads,
    }
}

/// For people.
pub(super) fn document(replay: &Replay) -> Document {
    let mbps = |bps: f64| decimal(bps / 1e6, 4);
    let found = replay.found_bps.map_or_else(|| "no load was equal".to_owned(), |bps| format!("{} Mbit/s", mbps(bps)));
    let answer = format!("{} iterations; highest equal load: {found}.", replay.iterations);
    let rows = replay.loads.iter().map(|tried| {
        let verdict = if tried.equal { "equal" } else { "overloaded" };
        vec![Cell::Count(tried.iteration), Cell::Text(mbps(tried.load_bps)), Cell::Text(verdict.to_owned())]
    });
    document::figures(&answer, &[("trial", ""), ("load", "Mbit/s"), ("verdict", "")], rows.collect())
}

/// One row for each load.
pub(super) fn csv(replay: &Replay) -> String {
    let row = |tried: &TriedLoad| format!("{},{},{}\n", tried.iteration, tried.load_bps, tried.equal);
    format!("trial,load_bps,equal\n{}", replay.loads.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iterations(start: f64, step: f64, actual: f64) -> u64 {
        replay(&SearchSettings { start_bps: start, step_bps: step, tolerance: 0.002, limit: 16 }, actual).iterations
    }

    /// Tisovsky, table III prints 16, 13, 11, 10 and 6: its algorithm, played through, takes 16, 13, 10, 10 and 5.
    #[test]
    fn the_searches_of_table_iii() {
        let normal = [1e6, 10e6, 30e6, 90e6].map(|actual| iterations(50e6, 25e6, actual));
        assert_eq!(normal, [16, 13, 10, 10]);
        let estimated = [1e6, 10e6, 30e6, 90e6].map(|actual| iterations(actual, 0.02 * actual, actual));
        assert_eq!(estimated, [5; 4]);
        // An estimate that is off by more than a step takes one more.
        assert_eq!(iterations(10e6, 0.2e6, 10.3e6), 6);
    }
}
