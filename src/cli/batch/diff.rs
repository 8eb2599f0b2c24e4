//! `spiglass diff`: two reports compared.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use clap::{Args, ValueHint};

use super::super::args::{FailOn, Format, OutputArgs};
use super::super::render::output;
use super::super::run::{failed, write};
use super::super::sink::Sink;
use super::super::verdict::Verdict;
use super::super::{options, values};
use crate::model::Error;
use crate::model::report::diff::DiffReport;
use crate::report::diff::{Allowed, NamedOutput, compare};
use crate::report::{document, html, json, markdown, text};

pub(in crate::cli) const EXAMPLES: &str = "\
Both reports are JSON of report, check or merge, or both of match, made with the same settings. SAs are
compared by id; overhead, loss and latency by the addresses of the tunnel, over all its SAs.

Exit status: 1 where a finding at or above --fail-on began or became that severe, else 0.

Examples:
  spiglass diff monday.json tuesday.json
  spiglass diff --fail-on error --format markdown last-good.json tonight.json";

#[derive(Debug, Args)]
pub(in crate::cli) struct DiffArgs {
    /// JSON of the earlier report; `-` is standard input
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    old: OsString,
    /// JSON of the later report; `-` is standard input
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath)]
    new: OsString,
    /// Mean overhead may change by that many bytes
    #[arg(long, value_name = "BYTES", default_value = "1", value_parser = values::amount, help_heading = "Comparison")]
    max_overhead: f64,
    /// Loss may change by that many percentage points
    #[arg(long, value_name = "POINTS", default_value = "0.1", value_parser = values::amount, help_heading = "Comparison")]
    max_loss: f64,
    /// Rates may change by that share, per cent
    #[arg(long, value_name = "PCT", default_value = "20", value_parser = values::amount, help_heading = "Comparison")]
    max_rate: f64,
    /// Latency may change by that share, per cent
    #[arg(long, value_name = "PCT", default_value = "20", value_parser = values::amount, help_heading = "Comparison")]
    max_latency: f64,
    /// Form: text, json, markdown or html
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", hide_possible_values = true, help_heading = "Output")]
    format: Format,
    #[command(flatten)]
    output: OutputArgs,
    /// Exit with 1 for new findings of error, warning, note or above; or never
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY", hide_possible_values = true, help_heading = "Run")]
    fail_on: FailOn,
}

pub(in crate::cli) fn diff(args: &DiffArgs) -> Verdict {
    let prepared = compared(args).and_then(|diff| {
        let read = [Path::new(&args.old), Path::new(&args.new)];
        Ok((diff, Sink::open(args.output.output.as_deref(), read)?))
    });
    let (mut diff, sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let mut verdict = Verdict::default();
    let threshold = options::threshold(args.fail_on);
    let severe = threshold.map(|least| (diff.worse().filter(|one| one.severity >= least).count() as u64, least));
    verdict.new_findings(severe);
    diff.exit_status = verdict.status();
    write(sink, &mut verdict, |sink| show(&diff, args, sink));
    verdict
}

fn compared(args: &DiffArgs) -> Result<DiffReport, Error> {
    if args.old == "-" && args.new == "-" {
        return Err(Error::Usage("standard input (`-`) can be read only once; name it once".into()));
    }
    if matches!(args.format, Format::Csv | Format::Ndjson | Format::Parquet) {
        return Err(Error::Usage("the forms of diff are text, json, markdown and html".into()));
    }
    let (old, new) = (output(&args.old)?, output(&args.new)?);
    let (old_path, new_path) = (args.old.to_string_lossy(), args.new.to_string_lossy());
    let allowed = Allowed {
        overhead_bytes: args.max_overhead,
        loss_pct: args.max_loss,
        rate_pct: args.max_rate,
        latency_pct: args.max_latency,
    };
    let (old, new) = (NamedOutput { path: &old_path, output: &old }, NamedOutput { path: &new_path, output: &new });
    compare(old, new, &allowed).map_err(Error::Usage)
}

fn show(diff: &DiffReport, args: &DiffArgs, out: &mut Sink) -> std::io::Result<()> {
    let document = || document::diff(diff, &options::view(&args.output));
    match args.format {
        Format::Json | Format::Csv | Format::Ndjson | Format::Parquet => json::write_diff(diff, out),
        Format::Text => out.write_all(text::render(&document(), &options::report_look(&args.output)).as_bytes()),
        Format::Markdown => out.write_all(markdown::render(&document()).as_bytes()),
        Format::Html => out.write_all(html::render(&document()).as_bytes()),
    }
}
