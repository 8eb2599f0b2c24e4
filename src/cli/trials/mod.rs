//! `spiglass trials`: what a benchmark run measured.

mod baseline;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::args::{Format, PolicyArgs, RunArgs, TellArgs};
use super::batch::damage::DamageArgs;
use super::batch::parquet;
use super::run::{failed, say_unread, write};
use super::session::Session;
use super::session::digest::DigestArgs;
use super::session::sides::{SideLists, read_stdin_once, side};
use super::sink::Sink;
use super::verdict::Verdict;
use super::{options, values};
use crate::capture::Source;
use crate::engine::{self, Input, PairInputs, Settings, TrialsInputs};
use crate::model::trials::TrialsReport;
use crate::model::{Address, Error};
use crate::report::csv::{TrialsTable, write_trials};
use crate::report::words::escape::printable;
use crate::report::{document, html, json, markdown, text};
use crate::trials::{GivenTrial, read_given};
use crate::trials::{RateLayer, SearchSettings, TrialsSettings};

pub(super) const EXAMPLES: &str = "\
A trial is a load that a tester kept up for half a second or more. Trials are found in the traffic: silences,
runs of one size and plateaus of the rate separate them. Where packets are encrypted, order, lengths and
sequence numbers say which frame became which.

Several clocks are compared by the first packet after each silence, which meets an idle device. Captures that
one clock has stamped need --one-clock for true latencies.

Examples:
  spiglass trials --plain lan.pcap --tunnel wan.pcap --exit far.pcap --one-clock --link-rate 100M
  spiglass trials --plain lan.pcap --tunnel wan.pcap --next --start 50M --step 25M
  spiglass trials --in port1.pcap --out port2.pcap --one-clock --format csv --table throughput
  spiglass trials --plain lan.pcap --tunnel wan.pcap --baseline clear.json";

#[derive(Debug, Args)]
pub(super) struct TrialsArgs {
    /// A capture of the plaintext side; repeatable [default: none]
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    plain: Vec<OsString>,
    /// A capture of the tunnel's side; repeatable; may be the same [default: none]
    ///
    /// A run in clear has none: where this file does not exist, --plain and --exit are enough.
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    tunnel: Vec<OsString>,
    /// A capture of the far plaintext side; repeatable [default: none]
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    exit: Vec<OsString>,
    /// A capture of where packets come in, of any device; repeatable [default: none]
    #[arg(long = "in", value_name = "CAPTURE", value_hint = ValueHint::FilePath, conflicts_with_all = ["plain", "tunnel", "exit", "plain_from", "tunnel_from", "exit_from"], help_heading = "Input")]
    input_side: Vec<OsString>,
    /// A capture of the side where they go out; repeatable [default: none]
    #[arg(long = "out", value_name = "CAPTURE", value_hint = ValueHint::FilePath, conflicts_with_all = ["plain", "tunnel", "exit", "plain_from", "tunnel_from", "exit_from"], help_heading = "Input")]
    output_side: Vec<OsString>,
    #[command(flatten)]
    lists: SideLists,
    /// Names of further captures of where packets come in, as in --plain-from [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "lists", conflicts_with_all = ["plain", "tunnel", "exit", "plain_from", "tunnel_from", "exit_from"], hide_short_help = true, help_heading = "Input")]
    in_from: Option<OsString>,
    /// Names of further captures of where they go out [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "lists", conflicts_with_all = ["plain", "tunnel", "exit", "plain_from", "tunnel_from", "exit_from"], hide_short_help = true, help_heading = "Input")]
    out_from: Option<OsString>,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    damage: DamageArgs,
    #[command(flatten)]
    digest: DigestArgs,
    /// JSON of a run without the tunnel, to compare latencies with [default: none]
    #[arg(long, value_name = "JSON", value_hint = ValueHint::FilePath, help_heading = "Input")]
    baseline: Option<PathBuf>,
    /// A UDP port of ESP besides 500 and 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true, help_heading = "Input")]
    udp_port: Vec<u16>,
    /// A TCP port of IKE and ESP besides 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true, help_heading = "Input")]
    tcp_port: Vec<u16>,
    /// VXLAN and GENEVE outside IPsec are tunnels, not mirror shells
    #[arg(long, hide_short_help = true, help_heading = "Input")]
    overlay: bool,
    /// Rate of the testers' links in bit/s: `100M`, `1G` [default: unknown]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "Bench")]
    link_rate: Option<u64>,
    /// Rate of the tunnel's link in bit/s [default: that of --link-rate]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "Bench")]
    tunnel_rate: Option<u64>,
    /// One clock stamped all captures: the offset is zero, not estimated
    #[arg(long, help_heading = "Bench")]
    one_clock: bool,
    /// Only the flow between these addresses is the test load, `SRC>DST` [default: all but background]
    #[arg(long, value_name = "SRC>DST", value_parser = flow, hide_short_help = true, help_heading = "Trials")]
    flow: Option<(Address, Address)>,
    /// A longer silence ends a trial
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = values::duration, hide_short_help = true, help_heading = "Trials")]
    trial_gap: u64,
    /// A shorter load is a burst
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = values::duration, hide_short_help = true, help_heading = "Trials")]
    min_seconds: u64,
    /// By how much the forwarded rate may be below the offered one and still be equal, per cent
    #[arg(long, value_name = "PCT", default_value = "0.1%", value_parser = values::per_cent, hide_short_help = true, help_heading = "Trials")]
    equal: f64,
    /// The beginning of each trial that does not count for rates and latency
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = values::duration, hide_short_help = true, help_heading = "Trials")]
    skip_start: u64,
    /// Times of the trials, CSV with start_ns and seconds or end_ns [default: found in the traffic]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Trials")]
    trials: Option<PathBuf>,
    /// Packets whose records are kept in memory, of all taps; of more, a part is kept
    ///
    /// Counts and rates are of all packets; latencies are of those that were kept. A record takes about 100 octets.
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u64).range(1 << 10..=1 << 28), hide_short_help = true, help_heading = "Trials")]
    records: u64,
    /// Say which load to try next; needs --start and --step
    #[arg(long, requires = "start", requires = "step", help_heading = "Search")]
    next: bool,
    /// First load of the search in bit/s [default: none]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "next", help_heading = "Search")]
    start: Option<u64>,
    /// First step of the search in bit/s [default: none]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "next", help_heading = "Search")]
    step: Option<u64>,
    /// A smaller step ends the search, per cent of the load
    #[arg(long, value_name = "PCT", default_value = "0.2%", value_parser = values::per_cent, hide_short_help = true, help_heading = "Search")]
    tolerance: f64,
    /// Iterations of the search, at most
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000), hide_short_help = true, help_heading = "Search")]
    limit: u64,
    /// Layer at which loads count: l1, l2, l3 or l4
    #[arg(long, value_enum, default_value_t = Layer::L1, value_name = "LAYER", hide_possible_values = true, hide_short_help = true, help_heading = "Search")]
    rate_layer: Layer,
    #[command(flatten)]
    tell: TellArgs<TrialsTable>,
    #[command(flatten)]
    run: RunArgs,
}

/// Layer of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Layer {
    L1,
    L2,
    L3,
    L4,
}

impl From<Layer> for RateLayer {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::L1 => Self::L1,
            Layer::L2 => Self::L2,
            Layer::L3 => Self::L3,
            Layer::L4 => Self::L4,
        }
    }
}

/// `SRC>DST`.
fn flow(text: &str) -> Result<(Address, Address), String> {
    let (src, dst) = text.split_once('>').ok_or("expected SRC>DST, such as 192.0.2.1>198.51.100.1")?;
    Ok((values::address(src.trim())?, values::address(dst.trim())?))
}

/// What was asked for, checked.
struct Asked {
    inputs: TrialsInputs,
    settings: TrialsSettings,
    table: TrialsTable,
    baseline: Option<baseline::ClearRun>,
    sink: Sink,
}

fn prepare(args: &TrialsArgs) -> Result<Asked, Error> {
    parquet::refuse(args.tell.format)?;
    let table = options::table(&args.tell, TrialsTable::Trials)?;
    let (inputs, ends) = inputs(args)?;
    let search = args.start.zip(args.step).filter(|_| args.next).map(|(start, step)| SearchSettings {
        start_bps: start as f64,
        step_bps: step as f64,
        tolerance: args.tolerance / 100.0,
        limit: args.limit,
    });
    let settings = TrialsSettings {
        one_clock: args.one_clock,
        ends,
        link_rate_bps: args.link_rate,
        tunnel_rate_bps: args.tunnel_rate,
        gap_ns: args.trial_gap,
        least_ns: args.min_seconds,
        equal: args.equal / 100.0,
        skip_start_ns: args.skip_start,
        given: args.trials.as_ref().map(given).transpose()?,
        flow: args.flow,
        rate_layer: args.rate_layer.into(),
        search,
        records: usize::try_from(args.records).unwrap_or(usize::MAX),
    };
    let baseline = args.baseline.as_deref().map(baseline::ClearRun::read).transpose()?;
    let read = [&inputs.plain, &inputs.tunnel, &inputs.exit].into_iter().flatten();
    let sink = Sink::open(args.tell.output.output.as_deref(), options::read_paths(read, &args.policy))?;
    Ok(Asked { inputs, settings, table, baseline, sink })
}

/// The captures of all sides, and whether they are of the two ends of any device.
fn inputs(args: &TrialsArgs) -> Result<(TrialsInputs, bool), Error> {
    let null = args.lists.null;
    let ends = PairInputs {
        plain: side(&args.input_side, args.in_from.as_deref(), null)?,
        tunnel: Vec::new(),
        exit: side(&args.output_side, args.out_from.as_deref(), null)?,
    };
    let has_ends = !ends.plain.is_empty() || !ends.exit.is_empty();
    if has_ends && (ends.plain.is_empty() || ends.exit.is_empty()) {
        return Err(Error::Usage("--in and --out go together, each with a capture".into()));
    }
    let sides = if has_ends { ends } else { args.lists.inputs(&args.plain, &args.tunnel, &args.exit)? };
    if !has_ends && sides.tunnel.is_empty() {
        return Err(Error::Usage(
            "no capture of a tunnel; give --plain and --tunnel (and --exit), --tunnel and --exit, --tunnel, or, without a tunnel between, --in \
             and --out"
                .into(),
        ));
    }
    one_tap_twice(&sides, has_ends)?;
    let sides = without_missing(sides);
    read_stdin_once(&sides, args.lists.lists().chain(&args.in_from).chain(&args.out_from), &args.policy)?;
    let PairInputs { plain, tunnel, exit } = sides;
    Ok((TrialsInputs { plain, tunnel, exit }, has_ends))
}

/// A capture of where packets come in that is also given as that of where they go out would show each packet as its own way through.
fn one_tap_twice(inputs: &PairInputs, ends: bool) -> Result<(), Error> {
    let twice = inputs.plain.iter().find(|input| inputs.exit.contains(input));
    let names = if ends { ["--in", "--out"] } else { ["--plain", "--exit"] };
    match twice.map(|input| &input.source) {
        Some(Source::Path(path)) => Err(Error::Usage(format!(
            "{} is given as {} and as {}: nothing is measured between a tap and itself",
            path.display(),
            names[0],
            names[1]
        ))),
        _ => Ok(()),
    }
}

/// A run in clear, to compare with, has no tunnel: where both ends were captured and the tunnel was not, they are enough.
fn without_missing(mut inputs: PairInputs) -> PairInputs {
    let missing = |input: &Input| matches!(&input.source, Source::Path(path) if !path.exists());
    let ends = !inputs.plain.is_empty() && !inputs.exit.is_empty();
    if ends && !inputs.tunnel.is_empty() && inputs.tunnel.iter().all(missing) {
        for input in std::mem::take(&mut inputs.tunnel) {
            let name = input.source.name().to_string_lossy().into_owned();
            tell!("spiglass: {}: not there; measured between --plain and --exit without it", printable(&name));
        }
    }
    inputs
}

fn given(path: &PathBuf) -> Result<Vec<GivenTrial>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.clone(), source })?;
    read_given(&text).map_err(|what| Error::Format { path: path.clone(), what })
}

pub(super) fn trials(args: &TrialsArgs) -> Verdict {
    let Asked { inputs, settings: asked, table, baseline, sink } = match prepare(args) {
        Ok(asked) => asked,
        Err(error) => return failed(&error),
    };
    let (session, expectation, display) = Session::begin(&args.policy, &args.run);
    let display = display.with_digest(&args.digest);
    let settings = Settings {
        udp_ports: options::ports(&args.udp_port),
        tcp_ports: options::ports(&args.tcp_port),
        overlay: args.overlay,
        link_rate_bps: args.link_rate,
        expectation,
        ..Settings::default()
    };
    let clear = baseline.as_ref().map(|run| run.trials.as_slice()).unwrap_or_default();
    let engine::Benchmark { mut report, errors } = engine::trials(&inputs, &settings, &asked, clear, &display);
    display.finish();
    if let Some(why) = baseline.as_ref().and_then(|run| run.differs(&report)) {
        return failed(&Error::Usage(format!("--baseline: {why}")));
    }
    let mut verdict = session.ended_unlisted(&errors);
    say_unread(&mut report.exactness, &mut report.degraded_why, session.unread.iter().chain(&errors));
    let one = inputs.plain == inputs.tunnel;
    for tap in report.taps.iter().filter(|tap| !(one && tap.name == "plain")) {
        verdict.captures(&tap.captures, args.damage.reactions());
        if !args.run.quiet {
            args.damage.reactions().warn_of(&tap.captures);
        }
    }
    verdict.findings(&report.findings, options::threshold(args.tell.fail_on));
    report.run = verdict.run();
    report.exit_status = verdict.status();
    write(sink, &mut verdict, |sink| show(&report, args, table, sink));
    verdict
}

fn show(report: &TrialsReport, args: &TrialsArgs, table: TrialsTable, out: &mut Sink) -> std::io::Result<()> {
    use std::io::Write as _;
    let output = &args.tell.output;
    let document = || document::trials(report, &options::view(output));
    match args.tell.format {
        Format::Text => out.write_all(text::render(&document(), &options::report_look(output)).as_bytes()),
        Format::Markdown => out.write_all(markdown::render(&document()).as_bytes()),
        Format::Html => out.write_all(html::render(&document()).as_bytes()),
        // Refused before.
        Format::Parquet => Ok(()),
        Format::Json => json::write_trials(report, out),
        Format::Ndjson => json::write_trial_lines(report, out),
        Format::Csv => write_trials(report, table, out),
    }
}
