//! `spiglass calc`: what was typed becomes a question to the calculator, and its answer is printed.

mod device;
mod search;

use std::io::Write as _;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum, ValueHint};

use super::args::{ColorArgs, Format};
use super::batch::parquet;
use super::options;
use super::run::{failed, write};
use super::sink::Sink;
use super::values;
use super::verdict::Verdict;
use crate::model::Error;
use crate::report::calc;
use crate::report::{document, html, markdown, text};
use crate::transform::ParseError;
use crate::transform::calculation::{self, IMIX, Question, RFC_2544};
use crate::transform::size::ah::Alignment;
use crate::transform::size::layers::IpVersion;
use crate::transform::size::path::{Mode, Path, Protection};
use crate::trials::SearchSettings;

/// Octets of an Ethernet frame with FCS that are not the packet.
const FRAME: u64 = 18;

pub(super) const EXAMPLES: &str = "\
Transforms are Cisco transform sets (\"ah-sha512-hmac esp-aes 256 esp-sha512-hmac\"), strongSwan proposals
(aes128-sha256, aes256gcm16), names of Linux (\"cbc(aes) hmac(sha256) 128\") and of the catalogue
(\"ESP AES-256-CBC/HMAC-SHA1-96\"); none, ipip, wireguard, macsec and macsec-sci to compare with.

Examples:
  spiglass calc --transform 'esp-aes 256 esp-sha-hmac'
  spiglass calc --transform aes128-sha256 --transform aes128gcm16 --udp-encap --sizes imix
  spiglass calc --transform 'ah-sha256-hmac' --ah-align 8 --sizes 64,1000 --format csv
  spiglass calc --transform 3des-md5 --gre --mode transport --mtu 1492 --link-rate 100M
  spiglass calc --overhead-bytes 57 --frame-sizes 64,128,256,512,1024,1280,1420
  spiglass calc --model t_fix=734us,r_alg=11.31M --link-rate 10M --transform 'ah-sha512-hmac esp-aes'
  spiglass calc --search --start 50M --step 25M --actual 10M";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(true).args(["transform", "overhead_bytes", "model", "search"]))]
#[command(override_usage = "spiglass calc [OPTIONS] <--transform <T>|--overhead-bytes <N>|--model <DEVICE>|--search>")]
pub(super) struct CalcArgs {
    /// A transform; repeatable, to compare [default: none]
    #[arg(short, long, value_name = "TRANSFORM", help_heading = "Transform")]
    transform: Vec<String>,
    /// So many octets instead of a transform [default: none]
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "transform", value_parser = clap::value_parser!(i32).range(-65_535..=65_535), help_heading = "Transform")]
    overhead_bytes: Option<i32>,
    /// tunnel or transport
    #[arg(long, value_enum, default_value_t = ModeArg::Tunnel, value_name = "MODE", hide_possible_values = true, help_heading = "Transform")]
    mode: ModeArg,
    /// The outer header: ipv4 or ipv6 [default: ipv4; in transport mode that of --inner]
    #[arg(long, value_enum, value_name = "FAMILY", hide_possible_values = true, help_heading = "Transform")]
    outer: Option<Family>,
    /// The packet: ipv4 or ipv6
    #[arg(long, value_enum, default_value_t = Family::Ipv4, value_name = "FAMILY", hide_possible_values = true, help_heading = "Transform")]
    inner: Family,
    /// ESP in UDP, as through a NAT (8 octets)
    #[arg(long, help_heading = "Transform")]
    udp_encap: bool,
    /// GRE inside (4 octets; in tunnel mode also its own IP header)
    #[arg(long, help_heading = "Transform")]
    gre: bool,
    /// What AH in IPv4 is a multiple of: 4 as in RFC 4302 and on Cisco, 8 as on Linux
    #[arg(long, default_value = "4", value_parser = ["4", "8"], value_name = "BYTES", hide_possible_values = true, hide_short_help = true, help_heading = "Transform")]
    ah_align: String,
    /// 802.1Q tags on the link of the tunnel, 4 octets each
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=8), help_heading = "Link")]
    vlan: u32,
    /// Lengths of plaintext IP packets in octets: a list, imix (40,576,1500) or rfc2544 [default: rfc2544]
    #[arg(long, value_name = "SIZES", value_parser = sizes, conflicts_with = "frame_sizes", help_heading = "Link")]
    sizes: Option<Sizes>,
    /// Lengths of plaintext Ethernet frames with FCS in octets: a list or rfc2544 [default: rfc2544]
    #[arg(long, value_name = "SIZES", value_parser = frame_sizes, help_heading = "Link")]
    frame_sizes: Option<Sizes>,
    /// The longest IP packet of the tunnel's link, in octets
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..=65_535), help_heading = "Link")]
    mtu: u64,
    /// Rate of the link in bit/s: `100M`, `1G`
    #[arg(long, value_name = "RATE", default_value = "1G", value_parser = values::rate, help_heading = "Link")]
    link_rate: u64,
    /// A device: which limit binds at each size, it or the link: `t_fix=734us,r_alg=11.31M` [default: none]
    #[arg(long, value_name = "DEVICE", value_parser = device::given, help_heading = "Device")]
    model: Option<device::DeviceModel>,
    /// Play the search for the equilibrium throughput through, load by load
    #[arg(long, requires = "start", requires = "step", requires = "actual", conflicts_with_all = ["transform", "overhead_bytes", "model"], help_heading = "Search")]
    search: bool,
    /// First load of --search in bit/s [default: none]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "search", hide_short_help = true, help_heading = "Search")]
    start: Option<u64>,
    /// First step of --search in bit/s [default: none]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "search", hide_short_help = true, help_heading = "Search")]
    step: Option<u64>,
    /// What the device of --search forwards whole, in bit/s [default: none]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "search", hide_short_help = true, help_heading = "Search")]
    actual: Option<u64>,
    /// A smaller step ends --search, per cent of the load
    #[arg(long, value_name = "PCT", default_value = "0.2%", value_parser = values::per_cent, hide_short_help = true, help_heading = "Search")]
    tolerance: f64,
    /// Iterations of --search, at most
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000), hide_short_help = true, help_heading = "Search")]
    limit: u64,
    /// Form: text, json, csv, ndjson, markdown or html
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", hide_possible_values = true, help_heading = "Output")]
    format: Format,
    /// Which table, for csv: sizes or transforms [default: sizes]
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true, help_heading = "Output")]
    table: Option<CalcTable>,
    /// Write to FILE; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    color: ColorArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ModeArg {
    Tunnel,
    Transport,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Family {
    Ipv4,
    Ipv6,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CalcTable {
    Sizes,
    Transforms,
}

/// IP lengths, and whether they are a mix.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sizes {
    inner: Vec<u64>,
    imix: bool,
}

fn sizes(text: &str) -> Result<Sizes, String> {
    match text {
        "imix" => Ok(Sizes { inner: IMIX.iter().map(|(size, _)| *size).collect(), imix: true }),
        "rfc2544" => frame_sizes(text),
        _ => Ok(Sizes { inner: lengths(text)?, imix: false }),
    }
}

fn frame_sizes(text: &str) -> Result<Sizes, String> {
    let frames = if text == "rfc2544" { RFC_2544.to_vec() } else { lengths(text)? };
    let inner: Option<Vec<u64>> = frames.iter().map(|frame| (*frame >= 64).then(|| frame - FRAME)).collect();
    let inner = inner.ok_or("a frame has at least 64 bytes, FCS included")?;
    Ok(Sizes { inner, imix: false })
}

fn lengths(text: &str) -> Result<Vec<u64>, String> {
    const MOST: usize = 10_000;
    let lengths: Result<Vec<u64>, _> = text.split(',').map(|word| word.trim().parse()).collect();
    let lengths = lengths.map_err(|_| "expected lengths in bytes such as 64,512,1500, imix or rfc2544")?;
    if lengths.len() > MOST { Err(format!("at most {MOST} lengths")) } else { Ok(lengths) }
}

/// Runs the command.
pub(super) fn calc(args: &CalcArgs) -> Verdict {
    if let Err(error) = parquet::refuse(args.format) {
        return failed(&error);
    }
    if args.search || args.model.is_some() {
        return bench(args);
    }
    let prepared = question(args)
        .and_then(|question| calculation::calculate(&question).map_err(Error::Usage))
        .and_then(|answer| Ok((answer, Sink::open(args.output.as_deref(), [])?)));
    let (answer, sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let look = options::look(args.color.color, args.output.is_some());
    let table = match args.table {
        Some(CalcTable::Transforms) => calc::Table::Transforms,
        Some(CalcTable::Sizes) | None => calc::Table::Sizes,
    };
    let mut verdict = Verdict::default();
    write(sink, &mut verdict, |sink| match args.format {
        Format::Text => sink.write_all(text::render(&document::calculation(&answer), &look).as_bytes()),
        Format::Json => calc::json(&answer, sink),
        Format::Ndjson => calc::json_lines(&answer, sink),
        Format::Csv => calc::csv(&answer, table, sink),
        Format::Markdown => sink.write_all(markdown::render(&document::calculation(&answer)).as_bytes()),
        Format::Html => sink.write_all(html::render(&document::calculation(&answer)).as_bytes()),
        // Refused before.
        Format::Parquet => Ok(()),
    });
    verdict
}

/// Answers about a device instead of a transform.
fn bench(args: &CalcArgs) -> Verdict {
    let prepared = bench_answer(args).and_then(|answer| Ok((answer, Sink::open(args.output.as_deref(), [])?)));
    let (answer, sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let look = options::look(args.color.color, args.output.is_some());
    let mut verdict = Verdict::default();
    write(sink, &mut verdict, |sink| match args.format {
        Format::Text => sink.write_all(text::render(&answer.document, &look).as_bytes()),
        Format::Markdown => sink.write_all(markdown::render(&answer.document).as_bytes()),
        Format::Html => sink.write_all(html::render(&answer.document).as_bytes()),
        // Refused before.
        Format::Parquet => Ok(()),
        Format::Csv => sink.write_all(answer.csv.as_bytes()),
        Format::Json => sink.write_all(format!("{:#}\n", answer.json).as_bytes()),
        Format::Ndjson => sink.write_all(format!("{}\n", answer.json).as_bytes()),
    });
    verdict
}

/// An answer in all its forms.
struct BenchAnswer {
    document: document::Document,
    json: serde_json::Value,
    csv: String,
}

fn bench_answer(args: &CalcArgs) -> Result<BenchAnswer, Error> {
    let json = |value: Result<serde_json::Value, serde_json::Error>| value.map_err(|e| Error::Usage(e.to_string()));
    if let Some(given) = args.model {
        let asked = question(args)?;
        let costs =
            (!asked.paths.is_empty()).then(|| calculation::calculate(&asked).map_err(Error::Usage)).transpose()?;
        let mix: &[(u64, u64)] = if asked.imix { &IMIX } else { &[] };
        let costs = costs.as_ref().and_then(|answer| answer.transforms.first());
        let answer = device::device(given, costs, &asked.sizes, mix, asked.link_rate);
        return Ok(BenchAnswer {
            document: device::document(&answer),
            json: json(serde_json::to_value(&answer))?,
            csv: device::csv(&answer),
        });
    }
    let (Some(start), Some(step), Some(actual)) = (args.start, args.step, args.actual) else {
        return Err(Error::Usage("--search needs --start, --step and --actual".into()));
    };
    let settings = SearchSettings {
        start_bps: start as f64,
        step_bps: step as f64,
        tolerance: args.tolerance / 100.0,
        limit: args.limit,
    };
    let answer = search::replay(&settings, actual as f64);
    Ok(BenchAnswer {
        document: search::document(&answer),
        json: json(serde_json::to_value(&answer))?,
        csv: search::csv(&answer),
    })
}

fn question(args: &CalcArgs) -> Result<Question, Error> {
    if args.table.is_some() && args.format != Format::Csv {
        return Err(Error::Usage("--table goes with --format csv; the other formats hold all tables".into()));
    }
    let version = |family| match family {
        Family::Ipv4 => IpVersion::V4,
        Family::Ipv6 => IpVersion::V6,
    };
    let inner = version(args.inner);
    let mode = if args.mode == ModeArg::Tunnel { Mode::Tunnel } else { Mode::Transport };
    let outer = match (args.outer, mode) {
        (Some(outer), _) => version(outer),
        (None, Mode::Transport) => inner,
        (None, Mode::Tunnel) => IpVersion::V4,
    };
    let ah_alignment = if args.ah_align == "8" { Alignment::Eight } else { Alignment::Rfc };
    // Not a value parser of the command line: that would repeat the text, and somebody may paste a key.
    let transforms: Result<Vec<Protection>, ParseError> = args.transform.iter().map(|text| text.parse()).collect();
    let transforms = transforms.map_err(|error| Error::Usage(format!("--transform: {error}")))?;
    let protections = args.overhead_bytes.map(Protection::Constant).into_iter().chain(transforms);
    let paths = protections.map(|protection| Path {
        mode,
        outer,
        inner,
        udp: args.udp_encap,
        gre: args.gre,
        ah_alignment,
        ..Path::new(protection)
    });
    let asked = args.sizes.as_ref().or(args.frame_sizes.as_ref());
    let all = Sizes { inner: RFC_2544.iter().map(|frame| frame - FRAME).collect(), imix: false };
    let Sizes { inner: sizes, imix } = asked.unwrap_or(&all).clone();
    Ok(Question { paths: paths.collect(), sizes, imix, tags: args.vlan, mtu: args.mtu, link_rate: args.link_rate })
}
