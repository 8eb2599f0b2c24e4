//! Which findings count: what is typed about it, and the baseline that is read and written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::super::run::write;
use super::super::sink::Sink;
use super::super::values;
use super::super::verdict::Verdict;
use crate::model::Error;
use crate::model::report::Report;
use crate::report::judge::baseline::{self, FindingBaseline};
use crate::report::judge::{Ignored, Rules, Threshold, judge};
use crate::report::metrics::metrics;

/// Findings that do not count for the exit status.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct JudgeArgs {
    /// Shortest pause between two files of a rotation that may be a hole in the capture: `1s`, `10s` [default: 1s, and any where sequence numbers are missing]
    ///
    /// It is a hole if it is also ten times as long as frames are apart on average and twice as long as the longest pause within a file, and the
    /// sequence numbers of the SAs do not go on without a gap.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, hide_short_help = true, help_heading = "Analysis")]
    pub(in crate::cli) hole: Option<u64>,
    /// Findings of CODE up to a size do not count: `sequence-gap=10`, `sequence-gap=0.5%`; repeatable [default: none]
    ///
    /// A number is compared with the count of the finding. A share is of the sequence numbers of the SA for sequence-gap, else of the frames of
    /// the SA, or of all frames where the finding concerns no SA.
    #[arg(long, value_name = "CODE=VALUE", hide_short_help = true, help_heading = "Run")]
    threshold: Vec<Threshold>,
    /// Findings of CODE, of one SA (its id or SPI) or of all, do not count; repeatable [default: none]
    #[arg(long, value_name = "CODE[@SA]", hide_short_help = true, help_heading = "Run")]
    ignore: Vec<Ignored>,
    /// Findings that FILE knows do not count; those it knows and that are gone are listed [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Run")]
    baseline: Option<PathBuf>,
    /// Write the findings to FILE, as a baseline for later runs [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Run")]
    write_baseline: Option<PathBuf>,
    /// Write gauges for Prometheus to FILE, in its text format; it appears when it is complete [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Output")]
    metrics: Option<PathBuf>,
    /// In --metrics, gauges of each SA too: with IKE, each rekeying begins new time series
    #[arg(long, requires = "metrics", hide_short_help = true, help_heading = "Output")]
    metrics_per_sa: bool,
}

/// The rules, and the place of the baseline that is to be written.
#[derive(Default)]
pub(in crate::cli) struct Judge {
    rules: Rules,
    sink: Option<Sink>,
    metrics: Option<(Sink, bool)>,
}

impl JudgeArgs {
    /// Reads what is needed before hours of work. What is `read` is never written over.
    pub(in crate::cli) fn prepare<'p>(&self, read: impl IntoIterator<Item = &'p Path>) -> Result<Judge, Error> {
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        let read: Vec<&Path> = read.into_iter().collect();
        let open = |path: &PathBuf| Sink::open(Some(path), read.iter().copied());
        let sink = self.write_baseline.as_ref().map(open).transpose()?;
        let metrics = self.metrics.as_ref().map(open).transpose()?.map(|sink| (sink, self.metrics_per_sa));
        let rules = Rules { thresholds: self.threshold.clone(), ignored: self.ignore.clone(), baseline };
        Ok(Judge { rules, sink, metrics })
    }
}

impl Judge {
    /// Marks the findings that do not count, and writes the baseline that was asked for.
    pub(in crate::cli) fn judge(&mut self, report: &mut Report, verdict: &mut Verdict) {
        judge(report, &self.rules);
        if let Some(sink) = self.sink.take() {
            let text = baseline::write(report);
            write(sink, verdict, |sink| std::io::Write::write_all(sink, text.as_bytes()));
        }
    }

    /// Writes the gauges that were asked for, of a report that is complete.
    pub(in crate::cli) fn measure(&mut self, report: &Report, verdict: &mut Verdict) {
        if let Some((sink, per_sa)) = self.metrics.take() {
            let text = metrics(report, per_sa);
            write(sink, verdict, |sink| std::io::Write::write_all(sink, text.as_bytes()));
        }
    }
}

fn read_baseline(path: &Path) -> Result<FindingBaseline, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.into(), source })?;
    FindingBaseline::read(&path.to_string_lossy(), &text).map_err(|what| Error::Format { path: path.into(), what })
}
