//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use super::batch::damage::DamageArgs;
use super::batch::judged::JudgeArgs;
use super::batch::{diff, index, merge, partial};
use super::session::digest::DigestArgs;
use super::values::{self, PartArg, TapArg};
use crate::engine::TimeBound;
use crate::model::{Address, Spi};
use crate::report::csv::{PairTable, Table, TrialsTable};

/// Reads captures from passive TAPs and says what IPsec costs and what is wrong with it
#[derive(Debug, Parser)]
#[command(name = "spiglass", version, max_term_width = 100, propagate_version = false)]
#[command(after_help = TOP_HELP, after_long_help = TOP_LONG_HELP)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

const TOP_HELP: &str = "`spiglass COMMAND --help` explains a command with examples.";

const TOP_LONG_HELP: &str = "\
Exit status:
  0    the captures were read; nothing at or above --fail-on
  1    the captures were read; there are findings at or above --fail-on, or the report that
       it judges is not exact
  2    an input could not be read, is damaged or cut, or the command line is wrong
  130  interrupted; what was read so far is reported (143 where SIGTERM ended the run)

Examples:
  spiglass report tunnel.pcap
  tcpdump -i eth1 -U -w - | spiglass report -
  spiglass check --format json -o nightly.json /captures/*.pcap.gz
  spiglass frames --format csv tunnel.pcap > frames.csv
  spiglass calc --transform 'esp-aes 256 esp-sha-hmac'
  spiglass render report.json match.json -o page.html
  spiglass annotate tunnel.pcap -o annotated.pcapng
  spiglass explain spi-zero";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// SAs, findings, overhead by packet size, padding and rates of captures
    #[command(after_long_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Findings only, with an exit status for scripts and nightly jobs
    #[command(after_long_help = CHECK_EXAMPLES)]
    #[command(mut_arg("fail_on", |arg| arg.default_value("warning")))]
    #[command(mut_arg("format", |arg| arg.help("Form: text, json, csv, ndjson, markdown or html; json is the whole report")))]
    #[command(mut_arg("table", |arg| arg.help("Which table, for csv [default: findings]")))]
    Check(ReportArgs),
    /// One row per frame as CSV or JSON lines, streaming
    #[command(after_long_help = FRAMES_EXAMPLES)]
    Frames(FramesArgs),
    /// Analyse captures and keep the mergeable state
    #[command(after_long_help = partial::EXAMPLES)]
    Partial(PartialArgs),
    /// Where the records of one huge capture begin, to analyse it in parts
    #[command(after_long_help = index::EXAMPLES)]
    Index(index::IndexArgs),
    /// Merge states into a report
    #[command(after_long_help = merge::EXAMPLES)]
    Merge(MergeArgs),
    /// Which plaintext packet became which tunnelled packet: overhead, loss and latency of a device
    #[command(after_long_help = super::pair::EXAMPLES)]
    #[command(mut_arg("table", |arg| arg.help("Which table, for csv [default: pairs]")))]
    Match(super::pair::MatchArgs),
    /// What a benchmark run measured: throughput, loss, latency and buffers by packet size
    #[command(after_long_help = super::trials::EXAMPLES)]
    #[command(mut_arg("table", |arg| arg.help("Which table, for csv [default: trials]")))]
    Trials(Box<super::trials::TrialsArgs>),
    /// Overhead, MTU and MSS, and theoretical throughput of transforms; no capture needed
    #[command(after_long_help = super::calc::EXAMPLES)]
    Calc(super::calc::CalcArgs),
    /// One page for a browser, without script, from JSON outputs of report, match and calc
    #[command(after_long_help = super::render::EXAMPLES)]
    Render(super::render::RenderArgs),
    /// The capture again as pcapng, with findings and pairs as packet comments for Wireshark
    #[command(after_long_help = super::annotate::EXAMPLES)]
    Annotate(super::annotate::AnnotateArgs),
    /// One line per change while a capture comes: new SAs, silence, findings
    #[command(after_long_help = super::watch::EXAMPLES)]
    Watch(super::watch::WatchArgs),
    /// What a finding code, an SPI or a pasted router log line means
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Completions for a shell, on standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// What is new, gone and changed between two reports in JSON
    #[command(after_long_help = diff::EXAMPLES)]
    Diff(diff::DiffArgs),
    /// The manual page, on standard output
    Man,
    /// The JSON Schema of an output, on standard output
    Schema {
        /// report (also of check and merge), match, trials, diff or calc
        #[arg(value_parser = crate::report::schema::ALL.map(|(name, _)| name))]
        name: String,
    },
}

const REPORT_EXAMPLES: &str = "\
Examples:
  spiglass report tunnel.pcap
  spiglass report --tap west=a.pcap,b.pcap --tap east=c.pcapng
  spiglass report --link-rate 1G --bin 100ms tunnel.pcap
  spiglass report --from 2026-11-21T04:41:00Z --to +30s --peer 192.168.1.2 tunnel.pcap
  spiglass report --format csv --table sizes tunnel.pcap > sizes.csv
  spiglass report --config r1.cfg --config r2.cfg tunnel.pcap
  tcpdump -i eth1 -U -w - 'ip proto 50 or udp port 4500' | spiglass report -";

const CHECK_EXAMPLES: &str = "\
Examples:
  spiglass check tunnel.pcap || echo 'look at the tunnel'
  spiglass check --fail-on error --format ndjson -o findings.ndjson *.pcap.zst
  find /captures -name '*.pcap*' -print0 | spiglass check --files-from - -0
  spiglass check --config r1.cfg --config r2.cfg             (no capture: the configurations alone)
  spiglass check --config r1.cfg --config r2.cfg tunnel.pcap";

const FRAMES_EXAMPLES: &str = "\
Columns:
  capture,frame,time_ns,interface,wire_bytes,captured_bytes,stack,outer_src,outer_dst,outer_bytes,
  encapsulation,ah_spi,ah_sequence,ah_bytes,esp_spi,esp_sequence,inner_src,inner_dst,inner_bytes,
  overhead_bytes,ethernet_pad_bytes,esp_pad_bytes,fragment,stop

  Absent is empty. Several AH or ESP headers in one frame are joined with `;`, outermost first.
  `fragment` is offset:more, the offset in bytes and 1 where more fragments follow. Inner columns of
  ESP are filled only where the frame alone proves ESP-NULL: a subset of what `report` knows.

Examples:
  spiglass frames tunnel.pcap > frames.csv
  spiglass frames --format ndjson --spi 1002 tunnel.pcap | jq .esp_sequence
  spiglass frames --format parquet -o tables *.pcap";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  spiglass explain
  spiglass explain sequence-gap
  spiglass explain 0x3ea
  spiglass explain '%CRYPTO-4-RECVD_PKT_INV_SPI: decaps: rec'\\''d IPSEC packet has invalid spi for
     destaddr=192.168.1.2, prot=50, spi=0x0(0), srcaddr=192.168.1.1'";

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    #[command(flatten)]
    pub(super) tell: TellArgs<Table>,
    /// A run that sees no IPsec is an error
    #[arg(long, help_heading = "Run", hide_short_help = true)]
    pub(super) expect_ipsec: bool,
    #[command(flatten)]
    pub(super) judge: JudgeArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct FramesArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    /// Form of the rows: csv, ndjson, or parquet below the folder of --output
    #[arg(long, value_enum, default_value_t = RowsFormat::Csv, value_name = "FORMAT", hide_possible_values = true, help_heading = "Output")]
    pub(super) format: RowsFormat,
    /// Write to FILE; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct PartialArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// Name of the tap that the captures are of [default: decided when states are merged]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(super) stream: Option<String>,
    /// Number of this part of the stream; with --index K/N: part K of N of the one capture [default: none]
    ///
    /// The same part of a stream with other content is an error when states are merged.
    #[arg(long, value_name = "N", value_parser = values::part, help_heading = "Output")]
    pub(super) part: Option<PartArg>,
    /// Analyse only the part K/N of one capture that --part says, by the index FILE [default: none]
    ///
    /// `spiglass index` writes FILE. The merged states of all parts are the state of the whole capture, whatever the order and the machine.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "part", conflicts_with_all = ["tap", "files_from", "name"], help_heading = "Input")]
    pub(super) index: Option<PathBuf>,
    /// What standard input (`-`) is called in reports [default: `-`]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(super) name: Option<String>,
    /// Write the state to FILE; it appears when it is complete [default: standard output]
    ///
    /// What a run that is ended early had read by then is written to FILE.partial.
    #[arg(short, long, value_name = "STATE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Keep a state of each capture in the folder DIR; captures that have one are skipped [default: one state of all]
    ///
    /// A state is named by the content of the capture, the settings and the version of the format. Runs may be ended at any time, begun again and
    /// share the folder; --jobs captures are analysed at a time. `spiglass merge --state-dir DIR` merges what is there.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["output", "part", "index", "name", "tap"], help_heading = "Output")]
    pub(super) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// States that `spiglass partial` wrote; `-` is standard input, which may hold many, one after the other
    #[arg(value_name = "STATE", value_hint = ValueHint::FilePath)]
    pub(super) states: Vec<OsString>,
    /// Names of further states, one a line; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) files_from: Option<OsString>,
    /// Names in --files-from end with NUL instead of a line end
    #[arg(short = '0', long = "null", requires = "files_from", help_heading = "Input")]
    pub(super) null: bool,
    #[command(flatten)]
    pub(super) damage: DamageArgs,
    #[command(flatten)]
    pub(super) policy: PolicyArgs,
    /// Merge the states of the folder DIR, as `partial --state-dir` keeps them [default: none]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["states", "files_from"], help_heading = "Input")]
    pub(super) state_dir: Option<PathBuf>,
    /// A capture that is in several states is no reason for exit status 2; it counts once in any case
    #[arg(long, help_heading = "Input")]
    pub(super) allow_duplicate: bool,
    /// Write the merged state to FILE; the report then goes only where --output says [default: no state]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) state_out: Option<PathBuf>,
    /// Memory that the analysis may take, about: `512M`, `4G`
    ///
    /// Beyond it no further SAs, encapsulations, address pairs and sizes are admitted; the report is degraded and says so.
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = values::bytes, hide_short_help = true, help_heading = "Analysis")]
    pub(super) memory_limit: u64,
    #[command(flatten)]
    pub(super) tell: TellArgs<Table>,
    #[command(flatten)]
    pub(super) judge: JudgeArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// A finding code, an SPI (decimal, or hex with 0x) or a log line; without one, all codes are listed
    #[arg(value_name = "WORD", num_args = 0..)]
    pub(super) words: Vec<String>,
    #[command(flatten)]
    pub(super) color: ColorArgs,
}

#[derive(Debug, Default, Args)]
pub(super) struct InputArgs {
    /// Captures: pcap or pcapng, plain or compressed; `-` is standard input
    ///
    /// Compression may be gzip, zstd, lz4, xz or bzip2. Content decides the format, never the name. Captures whose times do not overlap are read as one tap in rotation,
    /// overlapping ones as separate taps; --tap says it outright.
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    pub(super) captures: Vec<OsString>,
    /// Captures of one tap, by name; repeatable
    ///
    /// Files that overlap in time (the two monitor ports of a passive TAP) are merged frame by frame.
    #[arg(long, value_name = "NAME=FILE[,FILE]", value_parser = values::tap, help_heading = "Input")]
    pub(super) tap: Vec<TapArg>,
    /// Name of the one tap that all captures without --tap are of [default: decided by their times]
    #[arg(long, value_name = "NAME", help_heading = "Input", hide_short_help = true)]
    pub(super) tap_name: Option<String>,
    /// Names of further captures, one a line; `-` is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) files_from: Option<OsString>,
    /// Names in --files-from end with NUL instead of a line end
    #[arg(short = '0', long = "null", requires = "files_from", help_heading = "Input")]
    pub(super) null: bool,
    #[command(flatten)]
    pub(super) damage: DamageArgs,
}

#[derive(Debug, Default, Args)]
pub(super) struct PolicyArgs {
    /// What should be on the wire: router configurations, lists of SAs; repeatable; `-` to paste [default: none]
    ///
    /// Read are configurations of Cisco IOS, PIX and ASA, `show crypto ipsec sa` and `show crypto map`, manual keys of other makers, `ip xfrm state` and `ip xfrm policy`, `swanctl --list-sas`, Wireshark's esp_sa table and
    /// [[sa]] tables in TOML; content decides. One text may hold several routers, with prompts and notes, and without indentation. Keys are compared, and packets are checked
    /// and decrypted with them; they are never shown.
    #[arg(long, visible_alias = "sa", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Input")]
    pub(super) config: Vec<OsString>,
}

#[derive(Debug, Default, Args)]
pub(super) struct FilterArgs {
    /// Only frames from then on: RFC 3339, or `+30s` from the first [default: all]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Filters and dissection")]
    pub(super) from: Option<TimeBound>,
    /// Only frames before: RFC 3339, or `+30s` from the first [default: all]
    #[arg(long, value_name = "TIME", value_parser = values::time, help_heading = "Filters and dissection")]
    pub(super) to: Option<TimeBound>,
    /// Only frames with this address in any IP header [default: all]
    #[arg(long, value_name = "ADDRESS", value_parser = values::address, help_heading = "Filters and dissection")]
    pub(super) peer: Option<Address>,
    /// Only frames with this SPI, decimal or hex with 0x [default: all]
    #[arg(long, value_name = "N", value_parser = values::spi, help_heading = "Filters and dissection")]
    pub(super) spi: Option<Spi>,
    /// A UDP port of ESP besides 500 and 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Filters and dissection")]
    pub(super) udp_port: Vec<u16>,
    /// A TCP port of IKE and ESP besides 4500; repeatable [default: none]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true, help_heading = "Filters and dissection")]
    pub(super) tcp_port: Vec<u16>,
    /// VXLAN and GENEVE outside IPsec are tunnels, not mirror shells
    #[arg(long, help_heading = "Filters and dissection")]
    pub(super) overlay: bool,
}

#[derive(Debug, Default, Args)]
pub(super) struct AnalysisArgs {
    /// Width of a time bin, for peaks: `100ms`, `5m`
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = values::bin, help_heading = "Analysis")]
    pub(super) bin: u64,
    /// Rate of the link in bit/s: `100M`, `1G` [default: unknown]
    ///
    /// Needed for utilisation and for the time that PAUSE frames stopped a sender.
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "Analysis")]
    pub(super) link_rate: Option<u64>,
    /// Lost share above which a sequence gap is a warning, in %
    #[arg(long, value_name = "PCT", default_value = "0.1", value_parser = values::per_cent, help_heading = "Analysis")]
    pub(super) max_loss: f64,
    /// Memory that the analysis may take, about: `512M`, `4G`
    ///
    /// Beyond it no further SAs, encapsulations, address pairs and sizes are admitted; the report is degraded and says so.
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = values::bytes, hide_short_help = true, help_heading = "Analysis")]
    pub(super) memory_limit: u64,
    #[command(flatten)]
    pub(super) digest: DigestArgs,
}

/// How a report is told, with which tables for CSV, and when it is a failure.
#[derive(Debug, Args)]
pub(super) struct TellArgs<T: ValueEnum + Send + Sync + 'static> {
    /// Form: text, json, csv, ndjson, markdown or html; of report, check, merge and match also parquet
    ///
    /// Parquet writes tables below the folder of --output, as TABLE/dt=DAY/stream=TAP/DIGEST.parquet: all of a report, of match the pairs. The columns are those of csv.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", hide_possible_values = true, help_heading = "Output")]
    pub(super) format: Format,
    /// Which table, for csv [default: sas]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Output")]
    pub(super) table: Option<T>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    /// Exit with 1 for findings of error, warning, note or above; or never
    #[arg(long, value_enum, default_value_t = FailOn::Never, value_name = "SEVERITY", hide_possible_values = true, help_heading = "Run")]
    pub(super) fail_on: FailOn,
}

#[derive(Debug, Args)]
pub(super) struct OutputArgs {
    /// Write to FILE; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Show every row of every table in text, markdown and html [default: 20 rows]
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub(super) all: bool,
    /// Show times in UTC (the default)
    #[arg(long, overrides_with = "local", help_heading = "Output")]
    pub(super) utc: bool,
    /// Show times of the text, markdown and html report in the local time zone
    #[arg(long, overrides_with = "utc", help_heading = "Output")]
    pub(super) local: bool,
    #[command(flatten)]
    pub(super) color: ColorArgs,
}

#[derive(Debug, Args)]
pub(super) struct ColorArgs {
    /// Colours: auto (on a terminal), always, never
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN", hide_possible_values = true, help_heading = "Output")]
    pub(super) color: When,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Threads; the output does not depend on it [default: the machine's cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Run")]
    pub(super) jobs: Option<u16>,
    /// Progress: auto (on a terminal, after a second), always, never
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN", hide_possible_values = true, help_heading = "Run")]
    pub(super) progress: When,
    /// No progress and no warnings; errors are still told
    #[arg(short, long, conflicts_with = "verbose", help_heading = "Run")]
    pub(super) quiet: bool,
    /// Say on standard error what was read
    #[arg(short, long, help_heading = "Run")]
    pub(super) verbose: bool,
}

/// Forms of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One object
    Json,
    /// One table
    Csv,
    /// One object per row
    Ndjson,
    /// For tickets and wikis
    Markdown,
    /// One page for a browser, without script
    Html,
    /// All tables, for databases, in a folder
    Parquet,
}

/// Forms of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum RowsFormat {
    /// With a header row
    Csv,
    /// One object per line
    Ndjson,
    /// For databases, in a folder
    Parquet,
}

impl ValueEnum for Table {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl ValueEnum for PairTable {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl ValueEnum for TrialsTable {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// From which severity on a finding is a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

/// When to do something that suits terminals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum When {
    Auto,
    Always,
    Never,
}
