//! `--format parquet`: a folder of tables instead of a file.

use std::io;
use std::path::Path;

use super::super::args::{Format, TellArgs};
use super::super::sink::Sink;
use crate::model::Error;
use crate::model::report::Report;
use crate::report::csv::Table;

/// Where a report goes: a file, standard output, or for Parquet a folder.
pub(in crate::cli) fn open<'p>(
    tell: &TellArgs<Table>,
    read: impl IntoIterator<Item = &'p Path>,
) -> Result<Sink, Error> {
    let output = tell.output.output.as_deref();
    if tell.format != Format::Parquet {
        return Sink::open(output, read);
    }
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
        return Err(Error::Usage("parquet is a form of report, check and merge; this command has csv".into()));
    }
    Ok(())
}

/// Writes all tables below the folder, each file whole or not at all.
#[cfg(feature = "parquet")]
pub(in crate::cli) fn write(report: &Report, sink: &Sink) -> io::Result<()> {
    let Sink::Folder(folder) = sink else { return Ok(()) };
    let open = |partition: &crate::report::parquet::Partition| {
        let path = partition.path().iter().fold(folder.clone(), |path, part| path.join(part));
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        Sink::open(Some(&path), []).map_err(|error| match error {
            Error::Output { source, .. } => source,
            error => io::Error::other(error),
        })
    };
    crate::report::parquet::write(report, open, Sink::finish)
}

/// A build without it has refused before.
#[cfg(not(feature = "parquet"))]
pub(in crate::cli) fn write(_: &Report, _: &Sink) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
