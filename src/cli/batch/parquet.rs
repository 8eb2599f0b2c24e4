//! `--format parquet`: a folder of tables instead of a file.

use std::io;
use std::path::Path;

use clap::ValueEnum;

use super::super::args::{Format, TellArgs};
use super::super::progress::Display;
use super::super::sink::Sink;
#[cfg(feature = "parquet")]
use crate::engine::{self, TimeBound};
use crate::engine::{FramesOutcome, Input, Matched, PairInputs, PairSink, Settings};
use crate::model::Error;
use crate::model::report::Report;
#[cfg(feature = "parquet")]
use crate::report::parquet::{FrameTables, PairTables, Partition};

/// Where a report goes: a file, standard output, or for Parquet a folder.
pub(in crate::cli) fn open<'p, T: ValueEnum + Send + Sync>(
    tell: &TellArgs<T>,
    read: impl IntoIterator<Item = &'p Path>,
) -> Result<Sink, Error> {
    let output = tell.output.output.as_deref();
    if tell.format == Format::Parquet { folder(output) } else { Sink::open(output, read) }
}

/// The folder of tables, which is made where it is not there.
pub(in crate::cli) fn folder(output: Option<&Path>) -> Result<Sink, Error> {
    if !cfg!(feature = "parquet") {
        return Err(Error::Usage("this program was built without Parquet; build it with --features parquet".into()));
    }
    let folder = output.filter(|folder| *folder != Path::new("-"));
    let folder = folder.ok_or_else(|| Error::Usage("--format parquet writes a folder; name it with -o DIR".into()))?;
    std::fs::create_dir_all(folder).map_err(|source| Error::Output { path: folder.into(), source })?;
    Ok(Sink::Folder(folder.into()))
}

/// Refuses Parquet where a command has no tables in it.
pub(in crate::cli) fn refuse(format: Format) -> Result<(), Error> {
    if format == Format::Parquet {
        return Err(Error::Usage(
            "parquet is a form of report, check, merge, frames and match; this command has csv".into(),
        ));
    }
    Ok(())
}

/// Writes all tables below the folder, each file whole or not at all.
#[cfg(feature = "parquet")]
pub(in crate::cli) fn write(report: &Report, sink: &Sink) -> io::Result<()> {
    crate::report::parquet::write(report, |place| open_in(sink, place), Sink::finish)
}

/// The file of a partition below a folder.
#[cfg(feature = "parquet")]
fn open_in(folder: &Sink, partition: &Partition) -> io::Result<Sink> {
    let path = partition.path().iter().fold(folder.name(), |path, part| path.join(part));
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    Sink::open(Some(&path), []).map_err(|error| match error {
        Error::Output { source, .. } => source,
        error => io::Error::other(error),
    })
}

/// Writes the rows of all frames below the folder.
#[cfg(feature = "parquet")]
pub(in crate::cli) fn frames(
    sink: &Sink,
    inputs: &[Input],
    settings: &Settings,
    display: &Display,
) -> io::Result<FramesOutcome> {
    let open = |place: &Partition| open_in(sink, place);
    let mut rows = FrameTables::new(asked(settings), open, Sink::finish)?;
    let outcome = engine::frames(inputs, settings, &mut rows, display)?;
    rows.finish()?;
    Ok(outcome)
}

/// Writes the pairs below the folder. `also`: what was asked for besides the settings.
#[cfg(feature = "parquet")]
pub(in crate::cli) fn pairs(
    sink: &Sink,
    inputs: &PairInputs,
    settings: &Settings,
    also: &str,
    run: impl FnOnce(&mut PairSink<'_>) -> io::Result<Matched>,
) -> io::Result<Matched> {
    let names = |side: &[Input]| side.iter().map(|input| input.source.name().to_string_lossy().into_owned()).collect();
    let asked = format!("{}\n{also}", asked(settings));
    let open = |place: &Partition| open_in(sink, place);
    let mut rows = PairTables::new(names(&inputs.plain), names(&inputs.tunnel), &asked, open, Sink::finish)?;
    let matched = run(&mut |pair| rows.write(pair))?;
    rows.finish()?;
    Ok(matched)
}

/// The options that rows depend on: another request makes other files.
#[cfg(feature = "parquet")]
fn asked(settings: &Settings) -> String {
    let time = |bound: Option<TimeBound>| match bound {
        Some(TimeBound::Absolute(time)) => time.ns().map(|ns| ns.to_string()),
        Some(TimeBound::Relative(ns)) => Some(format!("+{ns}")),
        None => None,
    };
    let listed = |ports: &[u16]| ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let options = [
        time(settings.from),
        time(settings.to),
        settings.peer.map(|peer| peer.to_string()),
        settings.spi.map(|spi| spi.to_string()),
        Some(listed(&settings.udp_ports)),
        Some(listed(&settings.tcp_ports)),
        Some(settings.overlay.to_string()),
        settings.expectation.policies().map(|policies| format!("{:032x}", policies.digest())),
    ];
    options.map(Option::unwrap_or_default).join("\n")
}

/// A build without it has refused before.
#[cfg(not(feature = "parquet"))]
pub(in crate::cli) fn write(_: &Report, _: &Sink) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A build without it has refused before.
#[cfg(not(feature = "parquet"))]
pub(in crate::cli) fn frames(_: &Sink, _: &[Input], _: &Settings, _: &Display) -> io::Result<FramesOutcome> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A build without it has refused before.
#[cfg(not(feature = "parquet"))]
pub(in crate::cli) fn pairs(
    _: &Sink,
    _: &PairInputs,
    _: &Settings,
    _: &str,
    _: impl FnOnce(&mut PairSink<'_>) -> io::Result<Matched>,
) -> io::Result<Matched> {
    Err(io::ErrorKind::Unsupported.into())
}
