//! Which findings count: what is typed about it, and the baseline that is read and written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::super::run::write;
use super::super::sink::Sink;
use super::super::verdict::Verdict;
use crate::model::Error;
use crate::model::report::Report;
use crate::report::judge::baseline::{self, FindingBaseline};
use crate::report::judge::{Ignored, Rules, Threshold, judge};

/// Findings that do not count for the exit status.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct JudgeArgs {
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
}

/// The rules, and the place of the baseline that is to be written.
#[derive(Default)]
pub(in crate::cli) struct Judge {
    rules: Rules,
    sink: Option<Sink>,
}

impl JudgeArgs {
    /// Reads what is needed before hours of work. What is `read` is never written over.
    pub(in crate::cli) fn prepare<'p>(&self, read: impl IntoIterator<Item = &'p Path>) -> Result<Judge, Error> {
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        let sink = self.write_baseline.as_deref().map(|path| Sink::open(Some(path), read)).transpose()?;
        let rules = Rules { thresholds: self.threshold.clone(), ignored: self.ignore.clone(), baseline };
        Ok(Judge { rules, sink })
    }
}

impl Judge {
    /// Marks the findings that do not count, and writes the baseline that was asked for.
    pub(in crate::cli) fn judge(self, report: &mut Report, verdict: &mut Verdict) {
        judge(report, &self.rules);
        if let Some(sink) = self.sink {
            let text = baseline::write(report);
            write(sink, verdict, |sink| std::io::Write::write_all(sink, text.as_bytes()));
        }
    }
}

fn read_baseline(path: &Path) -> Result<FindingBaseline, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.into(), source })?;
    FindingBaseline::read(&path.to_string_lossy(), &text).map_err(|what| Error::Format { path: path.into(), what })
}
