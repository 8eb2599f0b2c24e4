//! The captures of each side of a device, named one by one or in lists.

use std::ffi::{OsStr, OsString};

use clap::{ArgGroup, Args, ValueHint};

use super::super::args::PolicyArgs;
use super::super::options;
use crate::capture::Source;
use crate::engine::{Input, PairInputs};
use crate::model::Error;

/// Lists of captures, a list for each side.
#[derive(Debug, Default, Args)]
#[command(group(ArgGroup::new("lists").args(["plain_from", "tunnel_from", "exit_from"]).multiple(true)))]
pub(in crate::cli) struct SideLists {
    /// Names of further captures of the plaintext side, one a line; `-` is standard input [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Input")]
    pub(in crate::cli) plain_from: Option<OsString>,
    /// Names of further captures of the tunnel's side, one a line; `-` is standard input [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Input")]
    pub(in crate::cli) tunnel_from: Option<OsString>,
    /// Names of further captures of the far plaintext side, one a line; `-` is standard input [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true, help_heading = "Input")]
    pub(in crate::cli) exit_from: Option<OsString>,
    /// Names in these lists end with NUL instead of a line end
    #[arg(short = '0', long = "null", requires = "lists", hide_short_help = true, help_heading = "Input")]
    pub(in crate::cli) null: bool,
}

impl SideLists {
    /// The captures of all sides.
    pub(in crate::cli) fn inputs(
        &self,
        plain: &[OsString],
        tunnel: &[OsString],
        exit: &[OsString],
    ) -> Result<PairInputs, Error> {
        Ok(PairInputs {
            plain: side(plain, self.plain_from.as_deref(), self.null)?,
            tunnel: side(tunnel, self.tunnel_from.as_deref(), self.null)?,
            exit: side(exit, self.exit_from.as_deref(), self.null)?,
        })
    }

    /// The lists that were given.
    pub(in crate::cli) fn lists(&self) -> impl Iterator<Item = &OsString> {
        [&self.plain_from, &self.tunnel_from, &self.exit_from].into_iter().flatten()
    }
}

/// The captures of one side: those that were named, then those of its list.
pub(in crate::cli) fn side(names: &[OsString], list: Option<&OsStr>, null: bool) -> Result<Vec<Input>, Error> {
    let listed = list.map(|list| options::listed(list, null)).transpose()?.unwrap_or_default();
    Ok(names.iter().chain(&listed).map(|name| Input::from(Source::from_arg(name))).collect())
}

/// Refuses sides that read standard input more than once. A capture that is both sides is read once.
pub(in crate::cli) fn read_stdin_once<'l>(
    inputs: &'l PairInputs,
    lists: impl IntoIterator<Item = &'l OsString>,
    policy: &'l PolicyArgs,
) -> Result<(), Error> {
    let plain = if inputs.plain == inputs.tunnel { &[] } else { inputs.plain.as_slice() };
    let sources = plain.iter().chain(&inputs.tunnel).chain(&inputs.exit).map(|input| &input.source);
    options::read_stdin_once(sources, lists, policy)
}
