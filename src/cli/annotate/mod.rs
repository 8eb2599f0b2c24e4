//! `annotate`: what was found, in the capture itself.

mod matched;
mod remarks;
mod wireshark;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::args::{AnalysisArgs, FilterArgs, PolicyArgs, RunArgs};
use super::batch::damage::DamageArgs;
use super::options;
use super::progress::Display;
use super::run::{complain, failed, write};
use super::session::Session;
use super::session::sides::side;
use super::sink::{Sink, keep_apart};
use super::verdict::Verdict;
use crate::capture::{About, CaptureReader, Source};
use crate::engine::{self, Annotated, Input, Outcome, PairInputs, Settings};
use crate::matching::PairSettings;
use crate::model::Error;
use crate::report::words::escape::printable;
use crate::report::words::number::{count, grouped};
use remarks::Remarks;

pub(super) const EXAMPLES: &str = "\
The output is pcapng: every block, option, time and octet of the capture as it was, with packet comments that
begin with `spiglass` and the code of the finding. A pcap becomes pcapng of the same resolution. In Wireshark
`frame.comment contains \"sequence-gap\"` shows the frames of a finding, `frame.comment` all that have one.

The capture is read twice: once for the report, once to be written. The comments are those of `report` with the
same options; a finding that has more than 101 places lists the first hundred and the last one.

Examples:
  spiglass annotate tunnel.pcap -o tunnel-annotated.pcapng
  spiglass annotate tunnel.pcap --plain lan.pcap -o pairs.pcapng
  spiglass match --plain lan.pcap --tunnel tunnel.pcap --table pairs --format csv > pairs.csv
  spiglass annotate lan.pcap --match pairs.csv -o lan-pairs.pcapng
  spiglass annotate tunnel.pcapng --only findings --context 5 -o excerpt.pcapng
  spiglass annotate tunnel.pcap --config r1.cfg --config r2.cfg -o named.pcapng --esp-sa esp_sa
  tshark -r named.pcapng -Y 'frame.comment contains \"spi-\"'";

#[derive(Debug, Args)]
pub(super) struct AnnotateArgs {
    /// The capture: pcap or pcapng, plain or compressed; a file, because it is read twice
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    capture: OsString,
    /// Write pcapng to FILE; it appears when it is complete; `-` is standard output
    #[arg(short, long, required = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: PathBuf,
    /// Only frames of findings, and --context frames on either side of each [default: all frames]
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true, help_heading = "Output")]
    only: Option<Only>,
    /// Frames before and after each frame of --only
    #[arg(long, value_name = "N", default_value_t = 0, requires = "only", help_heading = "Output")]
    context: u64,
    /// Most frames that get comments; more are counted
    #[arg(long, value_name = "N", default_value_t = 100_000, help_heading = "Output")]
    limit: usize,
    /// Write Wireshark's esp_sa table of the configurations' ESP SAs to FILE, with keys, for its owner alone [default: none]
    #[arg(long, value_name = "FILE", requires = "config", value_hint = ValueHint::FilePath, help_heading = "Output")]
    esp_sa: Option<PathBuf>,
    /// Write Wireshark's colouring rules for these comments to FILE [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    colour_filters: Option<PathBuf>,
    /// A capture of the plaintext side, to be paired with this one; repeatable [default: none]
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    plain: Vec<OsString>,
    /// Names of further captures of the plaintext side, one a line; `-` is standard input [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    plain_from: Option<OsString>,
    /// Names in --plain-from end with NUL instead of a line end
    #[arg(short = '0', long = "null", requires = "plain_from", help_heading = "Input")]
    null: bool,
    /// What `match` wrote of this capture, whichever side it is: the CSV of its pairs, its JSON; repeatable [default: none]
    #[arg(long = "match", value_name = "FILE", conflicts_with_all = ["plain", "plain_from"], value_hint = ValueHint::FilePath, help_heading = "Input")]
    matched: Vec<PathBuf>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    damage: DamageArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Which frames are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Only {
    /// Those of findings.
    Findings,
}

/// What was asked for, checked.
struct Prepared {
    input: Input,
    plain: Vec<Input>,
    settings: Settings,
    sink: Sink,
}

fn prepare(args: &AnnotateArgs) -> Result<Prepared, Error> {
    let source = Source::from_arg(&args.capture);
    let plain = side(&args.plain, args.plain_from.as_deref(), args.null)?;
    if source == Source::Stdin || plain.iter().any(|input| input.source == Source::Stdin) {
        return Err(Error::Usage("standard input cannot be read twice; name a file".into()));
    }
    let all = plain.iter().map(|input| &input.source).chain([&source]);
    if let Some(pipe) = all.map(Source::name).find(|path| path.exists() && !path.is_file()) {
        return Err(Error::Usage(format!("{} is no file: it cannot be read twice; save it to one", pipe.display())));
    }
    options::read_stdin_once([], &args.plain_from, &args.policy)?;
    if plain.is_empty() && args.plain_from.is_some() {
        return Err(Error::Usage("the list of --plain-from names no capture".into()));
    }
    let settings = options::settings(&args.filter, Some(&args.analysis))?;
    let input = Input::from(source);
    let all: Vec<Input> = std::iter::once(&input).chain(&plain).cloned().collect();
    let read = || options::read_paths(&all, &args.policy).chain(args.matched.iter().map(PathBuf::as_path));
    for table in [&args.esp_sa, &args.colour_filters].into_iter().flatten() {
        keep_apart(table, read())?;
    }
    let sink = Sink::open(Some(&args.output), read())?;
    Ok(Prepared { input, plain, settings, sink })
}

pub(super) fn annotate(args: &AnnotateArgs) -> Verdict {
    let Prepared { input, plain, mut settings, sink } = match prepare(args) {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let (session, expectation, display) = Session::begin(&args.policy, &args.run);
    settings.expectation = expectation;
    let captures = [input];
    let Outcome { report, errors } = engine::run(&captures, &settings, options::jobs(args.run.jobs), &display);
    let [input] = captures;
    let mut unread = errors;
    let only = args.only.map(|Only::Findings| args.context);
    let mut remarks = Remarks::new(only, args.limit);
    remarks.findings(&report.findings);
    if !plain.is_empty() {
        let inputs = PairInputs { plain, tunnel: vec![input.clone()], exit: Vec::new() };
        unread.extend(pairs(&inputs, &settings, args.analysis.link_rate, &mut remarks, &display));
    }
    // A file without the comments that were asked for would be taken for whole.
    let told = args.matched.iter().filter_map(|path| matched::add(path, report.captures.first()?, &mut remarks).err());
    if let Some(error) = told.into_iter().next() {
        return failed(&error);
    }
    let mut verdict = session.ended_unlisted(&unread);
    for error in wireshark::tables(args, &settings.expectation, &report.findings) {
        complain(&error);
        verdict.failed_output();
    }
    let reader = match CaptureReader::open(&input.source, 0) {
        Ok(reader) => reader,
        // The report has said so already.
        Err(_) => return verdict,
    };
    let about = About {
        comment: Some(remarks::summary(&report)),
        names: remarks::gateways(&settings.expectation),
        interface: report.taps.first().map(|tap| printable(&tap.name).into_owned()),
        excerpt_of: only.map(|_| printable(&input.source.name().to_string_lossy()).into_owned()),
    };
    let mut done = None;
    write(sink, &mut verdict, |sink| {
        done = Some(engine::annotate(reader, &remarks.comments, about, &mut *sink, &display)?);
        sink.flush()
    });
    display.finish();
    verdict.interrupted(session.interrupted());
    verdict.captures(&report.captures, args.damage.reactions());
    if !args.run.quiet {
        args.damage.reactions().warn_of(&report.captures);
        if let Some(done) = done {
            tell_of(&done, &remarks);
        }
    }
    verdict
}

/// Gathers the pairs with the plaintext side; inputs that could not be read.
fn pairs(
    inputs: &PairInputs,
    settings: &Settings,
    link_rate_bps: Option<u64>,
    remarks: &mut Remarks,
    display: &Display,
) -> Vec<Error> {
    let pairing = PairSettings { link_rate_bps, ..PairSettings::default() };
    // Comments are gathered in memory: there is nothing that could fail.
    let mut add = |pair: &_| {
        remarks.pair(pair, remarks::Ends::Tunnel);
        Ok(())
    };
    engine::pair(inputs, settings, &pairing, Some(&mut add), display)
        .map_or_else(|_| Vec::new(), |matched| matched.errors)
}

/// What was written, on standard error.
fn tell_of(done: &Annotated, remarks: &Remarks) {
    let Annotated { written, info } = done;
    let name = info.path.to_string_lossy();
    tell!(
        "{}: {} written, {} with comments",
        printable(&name),
        count(written.frames, "frame"),
        grouped(written.commented)
    );
    if remarks.beyond > 0 {
        tell!("{} more would have comments; --limit allows {}", count(remarks.beyond, "frame"), remarks.limit);
    }
    if written.bare > 0 {
        tell!("{} cannot have comments: simple packet blocks have no options", count(written.bare, "frame"));
    }
    if written.left_out > 0 {
        tell!("{} left out", count(written.left_out, "damaged block"));
    }
}
