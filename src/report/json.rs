//! The report as JSON, and as one JSON object per row.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Serializer;

use crate::model::pairs::{MatchReport, MatchSchema, Pairs};
use crate::model::report::diff::DiffReport;
use crate::model::report::{Exactness, Report, ReportSchema, RunSummary, Tool};
use crate::model::trials::{Bench, TrialsReport};
use crate::report::changes::Change;
use crate::report::words::harmless::{Harmless, harmless};
use crate::report::words::indented::Indented;

/// The whole report as one object, indented, with a line end.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    object(report, out)
}

/// Two reports compared, as one object, indented, with a line end.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_diff(diff: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    object(diff, out)
}

/// A change as one object on a line, with `row` = `change`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_change(change: &Change, out: &mut dyn Write) -> io::Result<()> {
    line(&mut Harmless(out), "change", change)
}

/// A report of pairs as one object, indented, with a line end.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_pairs(report: &MatchReport, out: &mut dyn Write) -> io::Result<()> {
    object(report, out)
}

/// A report of pairs, one object per line: first `{"row":"match",...}` with the counts of pairs, then every row of every table with
/// `row` saying which: `capture`, `direction`, `bin`, `size`, `padding`, `end`, `outside`, `lost`, `finding`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_pair_lines(report: &MatchReport, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Head<'r> {
        schema: MatchSchema,
        tool: &'r Tool,
        exactness: Exactness,
        degraded_why: &'r [String],
        pairs: &'r Pairs,
        bin_ns: Option<u64>,
        carried_into_tunnel: bool,
        rewritten: bool,
        run: RunSummary,
        exit_status: u8,
    }
    let mut out = harmless(out);
    let MatchReport { schema, tool, exactness, degraded_why, pairs, bin_ns, padding, run, exit_status, .. } = report;
    let head = Head {
        schema: *schema,
        tool,
        exactness: *exactness,
        degraded_why,
        pairs,
        bin_ns: *bin_ns,
        carried_into_tunnel: padding.carried_into_tunnel,
        rewritten: padding.rewritten,
        run: *run,
        exit_status: *exit_status,
    };
    line(&mut out, "match", &head)?;
    for side in [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()].into_iter().flatten() {
        lines(&mut out, "capture", &side.captures)?;
    }
    lines(&mut out, "direction", &report.directions)?;
    lines(&mut out, "bin", &report.bins)?;
    lines(&mut out, "size", &report.sizes)?;
    lines(&mut out, "padding", &padding.examples)?;
    lines(&mut out, "end", &report.ends)?;
    lines(&mut out, "outside", &report.outside)?;
    lines(&mut out, "lost", &report.lost)?;
    lines(&mut out, "finding", &report.findings)?;
    out.flush()
}

/// A report of trials as one object, indented, with a line end.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_trials(report: &TrialsReport, out: &mut dyn Write) -> io::Result<()> {
    object(report, out)
}

/// A report of trials, one object per line: first `{"row":"run",...}` with what the run was told, then every row of every table with
/// `row` saying which: `tap`, `trial`, `throughput`, `loss`, `model`, `buffer`, `back_to_back`, `search`, `transfer`, `baseline`,
/// `segment`, `finding`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_trial_lines(report: &TrialsReport, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Head<'r> {
        schema: &'r str,
        tool: &'r Tool,
        exactness: Exactness,
        degraded_why: &'r [String],
        bench: &'r Bench,
        run: RunSummary,
        exit_status: u8,
    }
    let mut out = harmless(out);
    let TrialsReport { schema, tool, exactness, degraded_why, bench, run, exit_status, .. } = report;
    let head = Head {
        schema: schema.name(),
        tool,
        exactness: *exactness,
        degraded_why,
        bench,
        run: *run,
        exit_status: *exit_status,
    };
    line(&mut out, "run", &head)?;
    lines(&mut out, "tap", &report.taps)?;
    lines(&mut out, "trial", &report.trials)?;
    lines(&mut out, "throughput", &report.throughput)?;
    lines(&mut out, "loss", &report.loss)?;
    lines(&mut out, "model", &report.model)?;
    lines(&mut out, "buffer", &report.buffers)?;
    lines(&mut out, "back_to_back", &report.back_to_back)?;
    lines(&mut out, "search", &report.search)?;
    lines(&mut out, "transfer", &report.transfers)?;
    lines(&mut out, "baseline", &report.baseline)?;
    lines(&mut out, "segment", &report.segments)?;
    lines(&mut out, "finding", &report.findings)?;
    out.flush()
}

/// One object per line: first `{"row":"report",...}` with the run's own figures, then every row of every table with `row` saying
/// which: `capture`, `tap`, `layer`, `sa`, `tunnel`, `size`, `outer_size`, `gap`, `padding_ethernet`, `padding_esp`, `padding_ah`,
/// `direction`, `pause`, `bin`, `event`, `finding`. The other members are those of the JSON report.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_lines(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = harmless(out);
    line(
        &mut out,
        "report",
        &Head {
            schema: report.schema,
            tool: &report.tool,
            exactness: report.exactness,
            degraded_why: &report.degraded_why,
            totals: &report.totals,
            bin_ns: report.rates.bin_ns,
            gaps_beyond: report.gaps_beyond,
            baseline: report.baseline.as_ref(),
            config: report.config.as_ref(),
            run: report.run,
            exit_status: report.exit_status,
        },
    )?;
    lines(&mut out, "capture", &report.captures)?;
    lines(&mut out, "tap", &report.taps)?;
    lines(&mut out, "layer", &report.layers)?;
    lines(&mut out, "sa", &report.sas)?;
    lines(&mut out, "tunnel", &report.tunnels)?;
    lines(&mut out, "size", &report.sizes)?;
    lines(&mut out, "outer_size", &report.outer_sizes)?;
    lines(&mut out, "gap", &report.gaps)?;
    lines(&mut out, "padding_ethernet", &report.padding.ethernet)?;
    lines(&mut out, "padding_esp", &report.padding.esp)?;
    lines(&mut out, "padding_ah", &report.padding.ah)?;
    lines(&mut out, "direction", &report.rates.directions)?;
    lines(&mut out, "pause", &report.rates.pause)?;
    lines(&mut out, "bin", &report.rates.bins)?;
    lines(&mut out, "event", &report.events)?;
    lines(&mut out, "finding", &report.findings)?;
    out.flush()
}

/// What belongs to the run and not to a row.
#[derive(Serialize)]
struct Head<'a> {
    schema: ReportSchema,
    tool: &'a crate::model::report::Tool,
    exactness: crate::model::report::Exactness,
    degraded_why: &'a [String],
    totals: &'a crate::model::report::Totals,
    bin_ns: u64,
    gaps_beyond: u64,
    baseline: Option<&'a crate::model::report::BaselineOutcome>,
    config: Option<&'a crate::model::report::ConfigRead>,
    run: crate::model::report::RunSummary,
    exit_status: u8,
}

#[derive(Serialize)]
struct Line<'a, T> {
    row: &'static str,
    #[serde(flatten)]
    value: &'a T,
}

/// One object, indented, with a line end.
fn object(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut out = harmless(out);
    value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default())).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn lines<T: Serialize>(out: &mut impl Write, row: &'static str, values: &[T]) -> io::Result<()> {
    values.iter().try_for_each(|value| line(out, row, value))
}

fn line<T: Serialize>(out: &mut impl Write, row: &'static str, value: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Line { row, value }).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_json_report_is_one_object_with_the_published_names() {
        let mut out = Vec::new();
        write(&sample::report(), &mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["schema"], "spiglass.report/1");
        assert_eq!(json["sas"][1]["sequence"]["lost"], 15);
        assert_eq!(json["padding"]["esp"][0]["pad_lengths"]["2"], 1385);
        assert_eq!(json["findings"][0]["severity"], "error");
    }

    #[test]
    fn every_line_is_an_object_that_says_what_it_is() {
        let mut out = Vec::new();
        write_lines(&sample::report(), &mut out).unwrap();
        let rows: Vec<serde_json::Value> =
            out.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect();
        assert_eq!(rows[0]["row"], "report");
        assert!(rows.iter().all(|row| row["row"].is_string()));
        assert_eq!(rows.iter().filter(|row| row["row"] == "finding").count(), 2);
    }
}
