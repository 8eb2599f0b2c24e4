//! `spiglass match`: two or three captures, and which packet of one is which of the other.

use std::ffi::OsString;

use clap::{Args, ValueEnum, ValueHint};

use super::args::{Format, PolicyArgs, RunArgs, TellArgs};
use super::batch::damage::DamageArgs;
use super::batch::parquet;
use super::options;
use super::run::{complain, failed, say_unread, write};
use super::session::Session;
use super::session::digest::DigestArgs;
use super::session::sides::{SideLists, read_stdin_once};
use super::sink::Sink;
use super::values;
use super::verdict::Verdict;
use crate::engine::{self, Input, Matched, PairInputs, Settings};
use crate::matching::PairSettings;
use crate::model::Error;
use crate::model::pairs::MatchReport;
use crate::report::csv::{PairRows, PairTable, write_pairs};
use crate::report::{document, html, json, markdown, text};
use crate::transform::Suite;
use crate::transform::size::path::Mode;

pub(super) const EXAMPLES: &str = "\
Pairs are known by content where the inner packet is visible (AH, ESP-NULL, GRE, IP in IP), by content
after decryption where --config states keys, and else by order: lengths that the transform can make,
sequence numbers and times. No configuration is needed for that. Each pair has a confidence.

The clocks of the two sides are compared by the pairs themselves. With packets of both directions the
offset is known to half of the round trip through the device; with one direction it is not, and the
shortest time is taken for zero. Captures that one clock has stamped need --one-clock, or be one file.

Examples:
  spiglass match --plain lan.pcap --tunnel wan.pcap
  spiglass match --plain both.pcapng --tunnel both.pcapng
  spiglass match --plain lan.pcap --tunnel wan.pcap --exit far.pcap --config r1.cfg --config r2.cfg
  spiglass match --plain lan.pcap --tunnel wan.pcap --format csv --table pairs > pairs.csv
  spiglass match --plain-from lan-files.txt --tunnel-from wan-files.txt";

#[derive(Debug, Args)]
pub(super) struct MatchArgs {
    /// A capture of the plaintext side; repeatable [default: those of --plain-from]
    #[arg(long, required_unless_present = "plain_from", value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) plain: Vec<OsString>,
    /// A capture of the side of the tunnel; repeatable; may be the same [default: those of --tunnel-from]
    #[arg(long, required_unless_present = "tunnel_from", value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) tunnel: Vec<OsString>,
    /// A capture of the plaintext side behind the other gateway; repeatable [default: none]
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) exit: Vec<OsString>,
    #[command(flatten)]
    pub(super) lists: SideLists,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    pub(super) damage: DamageArgs,
    #[command(flatten)]
    pub(super) digest: DigestArgs,
    /// A UDP port of ESP besides 500 and 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Pairing")]
    pub(super) udp_port: Vec<u16>,
    /// A TCP port of IKE and ESP besides 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true, help_heading = "Pairing")]
    pub(super) tcp_port: Vec<u16>,
    /// VXLAN and GENEVE outside IPsec are tunnels, not mirror shells
    #[arg(long, help_heading = "Pairing")]
    pub(super) overlay: bool,
    /// Transform of the ESP SAs that no configuration names, in any of the spellings of `calc` [default: by lengths]
    #[arg(long, value_name = "TRANSFORM", help_heading = "Pairing")]
    pub(super) transform: Option<String>,
    /// Mode of --transform: tunnel or transport
    #[arg(long, value_enum, default_value_t = ModeArg::Tunnel, value_name = "MODE", hide_possible_values = true, help_heading = "Pairing")]
    pub(super) mode: ModeArg,
    /// All captures were stamped by one clock: the offset is zero, not estimated
    #[arg(long, help_heading = "Pairing")]
    pub(super) one_clock: bool,
    /// What timestamps are of: the start or the end of a frame
    #[arg(long, value_enum, default_value_t = StampedAt::End, value_name = "WHEN", hide_possible_values = true, help_heading = "Pairing")]
    pub(super) timestamp_at: StampedAt,
    /// Rate of the link in bit/s, for latencies of RFC 1242: `100M`, `1G` [default: unknown]
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "Pairing")]
    pub(super) link_rate: Option<u64>,
    #[command(flatten)]
    pub(super) tell: TellArgs<PairTable>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// Mode of ESP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ModeArg {
    Tunnel,
    Transport,
}

/// What timestamps are of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum StampedAt {
    Start,
    End,
}

/// What was asked for, checked.
fn prepare(args: &MatchArgs) -> Result<(PairInputs, PairSettings, PairTable, Sink), Error> {
    let table = options::table(&args.tell, PairTable::Pairs)?;
    let inputs = args.lists.inputs(&args.plain, &args.tunnel, &args.exit)?;
    read_stdin_once(&inputs, args.lists.lists(), &args.policy)?;
    if let Some(side) = [("plain", &inputs.plain), ("tunnel", &inputs.tunnel)].iter().find(|(_, side)| side.is_empty())
    {
        return Err(Error::Usage(format!("the list of --{}-from names no capture", side.0)));
    }
    let transform = args.transform.as_deref().map(|words| {
        let suite: Suite = words.parse().map_err(|why| Error::Usage(format!("--transform: {why}")))?;
        suite.esp.ok_or_else(|| Error::Usage("--transform: only ESP hides lengths that have to be known".into()))
    });
    let mode = if args.mode == ModeArg::Transport { Mode::Transport } else { Mode::Tunnel };
    let pairing = PairSettings {
        one_clock: args.one_clock,
        stamped_at_start: args.timestamp_at == StampedAt::Start,
        link_rate_bps: args.link_rate,
        transform: transform.transpose()?.map(|esp| (esp, mode)),
    };
    let all = [&inputs.plain, &inputs.tunnel, &inputs.exit].into_iter().flatten();
    let sink = parquet::open(&args.tell, options::read_paths(all, &args.policy))?;
    Ok((inputs, pairing, table, sink))
}

pub(super) fn pair(args: &MatchArgs) -> Verdict {
    let (inputs, pairing, table, mut sink) = match prepare(args) {
        Ok(prepared) => prepared,
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
    let rows = args.tell.format == Format::Csv && table == PairTable::Pairs;
    let result = if args.tell.format == Format::Parquet {
        let also = format!("{:?} {} {} {}", args.transform, args.mode as u8, args.one_clock, args.timestamp_at as u8);
        parquet::pairs(&sink, &inputs, &settings, &also, |write| {
            engine::pair(&inputs, &settings, &pairing, Some(write), &display)
        })
    } else if rows {
        let names =
            |inputs: &[Input]| inputs.iter().map(|input| input.source.name().to_string_lossy().into_owned()).collect();
        PairRows::new(&mut sink, names(&inputs.plain), names(&inputs.tunnel)).and_then(|mut rows| {
            let matched = engine::pair(&inputs, &settings, &pairing, Some(&mut |pair| rows.write(pair)), &display)?;
            rows.flush()?;
            Ok(matched)
        })
    } else {
        engine::pair(&inputs, &settings, &pairing, None, &display)
    };
    display.finish();
    let Matched { mut report, errors } = match result {
        Ok(matched) => matched,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Verdict::default(),
        Err(source) => {
            let mut verdict = Verdict::default();
            complain(&Error::Output { path: sink.name(), source });
            verdict.failed_output();
            return verdict;
        }
    };
    let mut verdict = session.ended_unlisted(&errors);
    say_unread(&mut report.exactness, &mut report.degraded_why, session.unread.iter().chain(&errors));
    let one = inputs.plain == inputs.tunnel;
    let sides = [Some(&report.plain).filter(|_| !one), Some(&report.tunnel), report.exit.as_ref()];
    for side in sides.into_iter().flatten() {
        verdict.captures(&side.captures, args.damage.reactions());
        if !args.run.quiet {
            args.damage.reactions().warn_of(&side.captures);
        }
    }
    verdict.findings(&report.findings, options::threshold(args.tell.fail_on));
    report.run = verdict.run();
    report.exit_status = verdict.status();
    write(sink, &mut verdict, |sink| if rows { Ok(()) } else { show(&report, args, table, sink) });
    verdict
}

fn show(report: &MatchReport, args: &MatchArgs, table: PairTable, out: &mut Sink) -> std::io::Result<()> {
    use std::io::Write as _;
    let output = &args.tell.output;
    let document = || document::pairs(report, &options::view(output));
    match args.tell.format {
        Format::Text => out.write_all(text::render(&document(), &options::report_look(output)).as_bytes()),
        Format::Markdown => out.write_all(markdown::render(&document()).as_bytes()),
        Format::Html => out.write_all(html::render(&document()).as_bytes()),
        // Written while the pairs came.
        Format::Parquet => Ok(()),
        Format::Json => json::write_pairs(report, out),
        Format::Ndjson => json::write_pair_lines(report, out),
        Format::Csv => write_pairs(report, table, out),
    }
}
