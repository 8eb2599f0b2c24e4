//! The pairs of `match` as Parquet, as they come.

use std::io::{self, Write};

use super::columns::{compressed, schema, write_group};
use super::parts::{PartFiles, Place};
use super::{Partition, day_of, stream_of};
use crate::model::pairs::Pair;
use crate::report::table::pairs::{PAIRS, PairNames, PairRow};

/// Rows that are held at a time.
const GROUP: usize = if cfg!(test) { 4 } else { 1 << 15 };

/// Writes pairs, by the day of the first one and the tap of the tunnel.
pub struct PairTables<W: Write + Send, O, D> {
    files: PartFiles<W, O, D>,
    names: PairNames,
    rows: Vec<PairRow>,
    /// Time of the first row, once there is one.
    begins: Option<Option<i64>>,
    stream: String,
    /// What the pairs are made of, for the names of files.
    of: String,
}

impl<W, O, D> PairTables<W, O, D>
where
    W: Write + Send,
    O: FnMut(&Partition) -> io::Result<W>,
    D: FnMut(W) -> io::Result<()>,
{
    /// `plain` and `tunnel` are the names of the captures that frame references count. `open` makes the file of a partition, `done` takes it when it
    /// is complete. `asked`: the options that pairs depend on.
    ///
    /// # Errors
    /// Where the columns make no table.
    pub fn new(plain: Vec<String>, tunnel: Vec<String>, asked: &str, open: O, done: D) -> io::Result<Self> {
        let of = format!("{}\n\n{}\n\n{asked}", plain.join("\n"), tunnel.join("\n"));
        let stream = stream_of(tunnel.first().map_or("", String::as_str));
        let files = PartFiles::new(schema(&PAIRS).map_err(io::Error::other)?, compressed().build(), open, done);
        Ok(Self { files, names: PairNames::new(plain, tunnel), rows: Vec::new(), begins: None, stream, of })
    }

    /// Writes one pair.
    ///
    /// # Errors
    /// Whatever the files fail with.
    pub fn write(&mut self, pair: &Pair) -> io::Result<()> {
        self.begins.get_or_insert(pair.tunnel_time_ns);
        self.rows.push(self.names.row(pair));
        if self.rows.len() == GROUP { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        let begins = self.begins.flatten();
        let of = format!("{}\n{}", self.of, begins.unwrap_or(i64::MIN));
        let place = Place { table: "pairs", day: &day_of(begins), stream: &self.stream, of: &of };
        let rows: Vec<&PairRow> = self.rows.iter().collect();
        self.files.group(&place, |group| write_group(group, &PAIRS, &rows))?;
        self.rows.clear();
        Ok(())
    }

    /// Completes the files.
    ///
    /// # Errors
    /// Whatever the files fail with.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        self.files.end()
    }
}
