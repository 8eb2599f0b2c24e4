//! `spiglass render`: JSON outputs are read back and become one page.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::run::{failed, write};
use super::sink::Sink;
use super::verdict::Verdict;
use crate::model::Error;
use crate::report::document::View;
use crate::report::document::combined::{Output, combined};
use crate::report::{html, read};

pub(super) const EXAMPLES: &str = "\
The page is one file without script or network access, for a browser, a mail or a printer. It is made of
what `--format json` of report, check, merge, match, trials and calc wrote; no capture is read. The same inputs
give the same bytes. Outputs that share a capture are one measurement; figures of different measurements
stand side by side and are never added.

Examples:
  spiglass render report.json -o report.html
  spiglass render report.json match.json calc.json --title 'Acceptance of the branch office' -o page.html
  spiglass match --plain lan.pcap --tunnel wan.pcap --format json | spiglass render - > page.html";

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    /// JSON outputs of report, check, merge, match, trials or calc; `-` is standard input
    #[arg(required = true, value_name = "JSON", value_hint = ValueHint::FilePath)]
    inputs: Vec<OsString>,
    /// Title of the page [default: from the data]
    #[arg(long, value_name = "TITLE", help_heading = "Output")]
    title: Option<String>,
    /// Name of the author, shown on the page [default: none]
    #[arg(long, value_name = "AUTHOR", help_heading = "Output")]
    author: Option<String>,
    /// Write to FILE; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Show every row of every table [default: 20 rows]
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    all: bool,
    /// Show times in the local time zone [default: UTC]
    #[arg(long, help_heading = "Output")]
    local: bool,
}

pub(super) fn render(args: &RenderArgs) -> Verdict {
    let prepared = outputs(&args.inputs).and_then(|outputs| {
        let sink = Sink::open(args.output.as_deref(), args.inputs.iter().map(Path::new))?;
        Ok((outputs, sink))
    });
    let (outputs, sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let view = View { zone: super::options::zone(args.local), all: args.all };
    let document = combined(&outputs, &view, args.title.as_deref(), args.author.as_deref());
    let mut verdict = Verdict::default();
    write(sink, &mut verdict, |sink| sink.write_all(html::render(&document).as_bytes()));
    verdict
}

/// All inputs; a page that lacks one would be taken for whole.
fn outputs(inputs: &[OsString]) -> Result<Vec<Output>, Error> {
    if inputs.iter().filter(|input| **input == "-").count() > 1 {
        return Err(Error::Usage("standard input (`-`) can be read only once; name it once".into()));
    }
    inputs.iter().map(|input| output(input)).collect()
}

pub(super) fn output(input: &OsStr) -> Result<Output, Error> {
    let mut json = Vec::new();
    let taken = if input == "-" {
        io::stdin().lock().read_to_end(&mut json).map(drop)
    } else {
        std::fs::read(input).map(|bytes| json = bytes)
    };
    taken.map_err(|source| Error::Io { path: input.into(), source })?;
    read::output(&json).map_err(|what| Error::Format { path: input.into(), what })
}
