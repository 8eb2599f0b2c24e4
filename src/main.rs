//! The program: the command line of the library, and its exit status.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(spiglass::cli::run(std::env::args_os()))
}
