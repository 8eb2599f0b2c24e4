//! What was typed, what it means, and the exit status. The only floor that prints to standard error.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of what was typed, and rates of at most 20 digits in 128 bits"
)]

/// To standard error. Where nobody reads it, nobody is told, and the run goes on.
macro_rules! tell {
    ($($message:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("{}\n", format_args!($($message)*)));
    }};
}

mod annotate;
mod args;
mod batch;
mod calc;
mod options;
mod pair;
mod policies;
mod progress;
mod render;
mod rows;
mod run;
mod session;
mod sink;
mod trials;
mod values;
mod verdict;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, Parser};

use crate::model::Error;
use crate::report::words::escape::printable;
use verdict::Verdict;

/// Runs a command line, the program's name first, and returns the exit status. Standard output carries what was asked for and
/// nothing else; where the status is not 0, the last line of standard error says why.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let verdict = match args::Cli::try_parse_from(arguments) {
        Ok(cli) => run::run(cli),
        Err(error) => {
            let mut verdict = if error.use_stderr() { Verdict::usage() } else { Verdict::default() };
            let message = error.render().to_string();
            if message.chars().any(|c| c.is_control() && c != '\n') {
                // It quotes what was typed, perhaps the name of a stranger's file that begins like an option.
                message.lines().for_each(|line| tell!("{}", printable(line)));
            } else if let Err(source) = error.print().and_then(|()| io::stdout().flush())
                && !error.use_stderr()
                && source.kind() != io::ErrorKind::BrokenPipe
            {
                // Help and version are no errors, and a closed pipe is none; that they cannot be written is one.
                tell!("spiglass: {}", Error::Output { path: "standard output".into(), source });
                verdict.failed_output();
            }
            verdict
        }
    };
    if let Some(reason) = verdict.reason() {
        tell!("spiglass: {reason}");
    }
    verdict.status()
}

/// Completions for a shell.
fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut args::Cli::command(), "spiglass", &mut out);
    out
}

/// The manual page: the program's, then one section per command.
fn man() -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut command = args::Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let man = clap_mangen::Man::new(sub.clone());
        out.extend(format!(".SH \"SPIGLASS {}\"\n", sub.get_name().to_uppercase()).as_bytes());
        man.render_description_section(&mut out)?;
        man.render_options_section(&mut out)?;
        man.render_extra_section(&mut out)?;
    }
    // All commands are on this page, not on pages of their own.
    let mut page = String::from_utf8_lossy(&out).into_owned();
    for sub in command.get_subcommands() {
        let name = sub.get_name();
        page = page.replace(&format!("spiglass\\-{name}(1)"), &format!("spiglass {name}"));
    }
    Ok(page.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        args::Cli::command().debug_assert();
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut command = args::Cli::command();
        command.build();
        for name in ["report", "check", "frames", "match", "trials", "calc", "render", "explain"] {
            let sub = command.find_subcommand_mut(name).unwrap();
            let help = sub.render_help().to_string();
            assert!(help.lines().count() <= 50, "{name}: {} lines\n{help}", help.lines().count());
            assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        }
    }

    #[test]
    fn every_option_says_its_default() {
        let command = args::Cli::command();
        for sub in command.get_subcommands() {
            for arg in sub.get_arguments().filter(|arg| arg.get_long().is_some() && arg.get_action().takes_values()) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let said = !arg.get_default_values().is_empty() || help.contains("[default");
                // What must be given has no default.
                let open = arg.is_required_set() || matches!(arg.get_id().as_str(), "output" | "tap" | "files_from");
                assert!(said || open, "{} --{}", sub.get_name(), arg.get_id());
            }
        }
    }

    #[test]
    fn long_help_has_examples() {
        let mut command = args::Cli::command();
        command.build();
        for name in ["report", "check", "frames", "match", "trials", "calc", "render", "explain"] {
            let sub = command.find_subcommand_mut(name).unwrap();
            assert!(sub.render_long_help().to_string().contains("Examples:"), "{name}");
        }
    }

    #[test]
    fn generated_files_name_every_command() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let text = String::from_utf8(completions(shell)).unwrap();
            assert!(text.contains("explain") && text.contains("accept-cut"), "{shell}");
        }
        let man = String::from_utf8(man().unwrap()).unwrap();
        assert!(man.contains("SPIGLASS REPORT") && man.contains("fail\\-on"), "{man}");
    }
}
