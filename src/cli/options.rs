//! What was typed becomes what is meant: inputs collected, settings checked against each other.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::Path;

use clap::ValueEnum;
use jiff::tz::TimeZone;

use super::args::{
    AnalysisArgs, FailOn, FilterArgs, Format, InputArgs, MergeArgs, OutputArgs, PolicyArgs, TellArgs, When,
};
use crate::capture::Source;
use crate::engine::{Input, Settings, TimeBound};
use crate::model::Error;
use crate::model::report::Severity;
use crate::report::document::View;
use crate::report::text::{TextOptions, Theme};

/// Columns of text that goes to no terminal.
pub(super) const WIDTH: usize = 100;

/// The captures to read: positional ones, named taps, then those listed in a file. None are needed where configurations alone
/// are asked for.
pub(super) fn inputs(args: &InputArgs, policy: &PolicyArgs, alone: bool) -> Result<Vec<Input>, Error> {
    let mut inputs: Vec<Input> =
        args.captures.iter().map(|name| Input { source: Source::from_arg(name), tap: args.tap_name.clone() }).collect();
    for tap in &args.tap {
        for file in &tap.files {
            inputs.push(Input { source: Source::from_arg(OsStr::new(file)), tap: Some(tap.name.clone()) });
        }
    }
    if let Some(list) = &args.files_from {
        let names = listed(list, args.null)?;
        inputs.extend(names.iter().map(|name| Input { source: Source::from_arg(name), tap: args.tap_name.clone() }));
    }
    read_stdin_once(inputs.iter().map(|input| &input.source), &args.files_from, policy)?;
    if inputs.is_empty() && alone && !policy.config.is_empty() && args.files_from.is_none() {
        return Ok(inputs);
    }
    if inputs.is_empty() {
        return Err(Error::Usage(
            if args.files_from.is_some() {
                "the list of --files-from names no capture"
            } else {
                "no capture; name a file, or `-` for standard input (`spiglass check --config FILE` needs none)"
            }
            .into(),
        ));
    }
    Ok(inputs)
}

/// Refuses to read standard input more than once: as a capture or state, as a list of names, as a configuration.
pub(super) fn read_stdin_once<'a>(
    sources: impl IntoIterator<Item = &'a Source>,
    lists: impl IntoIterator<Item = &'a OsString>,
    policy: &'a PolicyArgs,
) -> Result<(), Error> {
    let sources = sources.into_iter().filter(|source| **source == Source::Stdin).count();
    let texts = lists.into_iter().chain(&policy.config).filter(|name| *name == "-").count();
    if sources + texts > 1 {
        return Err(Error::Usage("standard input (`-`) can be read only once; name it once".into()));
    }
    Ok(())
}

/// The states to merge: positional ones, then those listed in a file.
pub(super) fn states(args: &MergeArgs) -> Result<Vec<Source>, Error> {
    let mut names = args.states.clone();
    if let Some(list) = &args.files_from {
        names.extend(listed(list, args.null)?);
    }
    let states: Vec<Source> = names.iter().map(|name| Source::from_arg(name)).collect();
    read_stdin_once(&states, &args.files_from, &args.policy)?;
    if states.is_empty() {
        return Err(Error::Usage(
            "no state; name files that `spiglass partial` wrote, or `-` for standard input".into(),
        ));
    }
    Ok(states)
}

/// The files that a run reads: captures and configurations.
pub(super) fn read_paths<'a>(
    inputs: impl IntoIterator<Item = &'a Input>,
    policy: &'a PolicyArgs,
) -> impl Iterator<Item = &'a Path> {
    inputs.into_iter().map(|input| input.source.name()).chain(policy.config.iter().map(Path::new))
}

/// Names in a list, one a line or between NULs; empty ones are skipped.
pub(super) fn listed(list: &OsStr, null: bool) -> Result<Vec<OsString>, Error> {
    let mut bytes = Vec::new();
    let read = if list == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(list).map(|read| bytes = read)
    };
    read.map_err(|source| Error::Io { path: list.into(), source })?;
    let end = if null { 0 } else { b'\n' };
    let names =
        bytes.split(|b| *b == end).map(|name| if null { name } else { name.strip_suffix(b"\r").unwrap_or(name) });
    names.filter(|name| !name.is_empty()).map(|name| os_string(name).ok_or_else(|| not_text(list))).collect()
}

#[cfg(unix)]
// A result, because other systems have names that are not octets.
fn os_string(name: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(name).to_owned())
}

#[cfg(not(unix))]
fn os_string(name: &[u8]) -> Option<OsString> {
    std::str::from_utf8(name).ok().map(OsString::from)
}

fn not_text(list: &OsStr) -> Error {
    Error::Format { path: list.into(), what: "a name in the list is not UTF-8; this system needs text".into() }
}

/// Ports as settings have them: sorted, each once.
pub(super) fn ports(typed: &[u16]) -> Vec<u16> {
    let mut ports = typed.to_vec();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Settings of a run.
pub(super) fn settings(filter: &FilterArgs, analysis: Option<&AnalysisArgs>) -> Result<Settings, Error> {
    if let (Some(from), Some(to)) = (filter.from, filter.to) {
        let empty = match (from, to) {
            (TimeBound::Absolute(from), TimeBound::Absolute(to)) => from >= to,
            (TimeBound::Relative(from), TimeBound::Relative(to)) => from >= to,
            _ => false,
        };
        if empty {
            return Err(Error::Usage("--from must be before --to".into()));
        }
    }
    let default = Settings::default();
    Ok(Settings {
        bin_ns: analysis.map_or(default.bin_ns, |analysis| analysis.bin),
        from: filter.from,
        to: filter.to,
        peer: filter.peer,
        spi: filter.spi,
        udp_ports: ports(&filter.udp_port),
        tcp_ports: ports(&filter.tcp_port),
        overlay: filter.overlay,
        link_rate_bps: analysis.and_then(|analysis| analysis.link_rate),
        max_loss_pct: analysis.map_or(default.max_loss_pct, |analysis| analysis.max_loss),
        expectation: default.expectation,
        hole_ns: None,
        memory_limit: analysis.map_or(default.memory_limit, |analysis| analysis.memory_limit),
    })
}

/// The table to write; an error where one was named and the format has none.
pub(super) fn table<T: ValueEnum + Send + Sync>(tell: &TellArgs<T>, default: T) -> Result<T, Error> {
    if tell.table.is_some() && tell.format != Format::Csv {
        return Err(Error::Usage("--table goes with --format csv; the other formats hold all tables".into()));
    }
    Ok(tell.table.clone().unwrap_or(default))
}

/// The least severity that is a failure, `None` for never.
pub(super) const fn threshold(fail_on: FailOn) -> Option<Severity> {
    match fail_on {
        FailOn::Error => Some(Severity::Error),
        FailOn::Warning => Some(Severity::Warning),
        FailOn::Note => Some(Severity::Note),
        FailOn::Never => None,
    }
}

/// The look of a text report that goes to a file or to standard output.
pub(super) fn report_look(output: &OutputArgs) -> TextOptions {
    look(output.color.color, output.output.is_some())
}

/// What text and markdown show.
pub(super) fn view(output: &OutputArgs) -> View {
    View { zone: zone(output.local), all: output.all }
}

/// The zone that times are shown in.
pub(super) fn zone(local: bool) -> TimeZone {
    if local { TimeZone::system() } else { TimeZone::UTC }
}

/// Width and colours; a file has neither a terminal's width nor colours unless they are asked for.
pub(super) fn look(color: When, to_file: bool) -> TextOptions {
    let stdout = io::stdout();
    let color = match color {
        When::Always => true,
        When::Never => false,
        When::Auto => !to_file && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    };
    let columns = terminal_size::terminal_size_of(&stdout).map(|(columns, _)| usize::from(columns.0));
    TextOptions {
        width: if to_file { WIDTH } else { columns.unwrap_or(WIDTH).clamp(60, 160) },
        theme: if color { Theme::color() } else { Theme::plain() },
    }
}

/// How many threads to use: what was asked for, or the machine's cores.
pub(super) fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(crate::engine::cores, usize::from)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::{Cli, Command, ReportArgs};
    use super::*;
    use crate::report::csv::Table;

    fn report(words: &[&str]) -> ReportArgs {
        match Cli::try_parse_from(["spiglass", "report"].iter().chain(words)).map(|cli| cli.command) {
            Ok(Command::Report(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn inputs_keep_their_order_and_taps() {
        let args = report(&["x.pcap", "--tap", "west=a.pcap,b.pcap", "-"]);
        let inputs = inputs(&args.input, &args.policy, false).unwrap();
        let names: Vec<_> = inputs.iter().map(|input| input.source.name().to_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["x.pcap", "-", "a.pcap", "b.pcap"]);
        assert_eq!(inputs[2].tap.as_deref(), Some("west"));
    }

    #[test]
    fn lists_end_names_as_asked() {
        let path = std::env::temp_dir().join(format!("spiglass-list-{}", std::process::id()));
        std::fs::write(&path, "a.pcap\r\n\nb c.pcap\n").unwrap();
        assert_eq!(listed(path.as_os_str(), false).unwrap(), ["a.pcap", "b c.pcap"]);
        std::fs::write(&path, "a\n.pcap\0b.pcap\0").unwrap();
        assert_eq!(listed(path.as_os_str(), true).unwrap(), ["a\n.pcap", "b.pcap"]);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(listed(path.as_os_str(), true), Err(Error::Io { .. })));
    }

    #[test]
    fn contradictions_are_refused() {
        let captures = |words: &[&str], alone| {
            let args = report(words);
            inputs(&args.input, &args.policy, alone).map(|inputs| inputs.len())
        };
        assert!(captures(&["-", "-"], false).is_err());
        assert!(captures(&["-", "--files-from", "-"], false).is_err());
        assert!(captures(&["-", "--config", "-"], false).is_err());
        assert!(captures(&["x", "--config", "-", "--sa", "-"], false).is_err());
        assert!(captures(&[], false).is_err() && captures(&[], true).is_err());
        assert!(captures(&["--config", "r1.cfg"], false).is_err(), "a report is of captures");
        assert_eq!(captures(&["--config", "r1.cfg"], true).ok(), Some(0));
        assert!(settings(&report(&["x", "--from", "+30s", "--to", "+10s"]).filter, None).is_err());
        assert!(table(&report(&["x", "--format", "json", "--table", "sas"]).tell, Table::Sas).is_err());
        assert!(Cli::try_parse_from(["spiglass", "report", "x", "-0"]).is_err());
        assert!(Cli::try_parse_from(["spiglass", "report", "x", "-q", "-v"]).is_err());
    }

    #[test]
    fn settings_carry_every_option() {
        let args = report(&[
            "x",
            "--bin",
            "100ms",
            "--link-rate",
            "1G",
            "--max-loss",
            "2",
            "--spi",
            "0x3ea",
            "--peer",
            "10.0.0.1",
            "--udp-port",
            "10001",
            "--udp-port",
            "10000",
            "--udp-port",
            "10000",
            "--overlay",
            "--from",
            "+1s",
        ]);
        let settings = settings(&args.filter, Some(&args.analysis)).unwrap();
        assert_eq!(settings.bin_ns, 100_000_000);
        assert_eq!(settings.link_rate_bps, Some(1_000_000_000));
        assert_eq!(settings.udp_ports, [10_000, 10_001]);
        assert_eq!(settings.from, Some(TimeBound::Relative(1_000_000_000)));
        assert!(settings.overlay && settings.peer.is_some() && settings.spi.is_some());
        assert!((settings.max_loss_pct - 2.0).abs() < 1e-9);
    }
}
