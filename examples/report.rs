//! What a capture holds, as the program prints it: `cargo run --example report -- CAPTURE...`

use std::error::Error;
use std::path::PathBuf;

use spiglass::report::document::{self, View};
use spiglass::report::text::{self, TextOptions};
use spiglass::{Input, Quiet, Settings, run};

fn main() -> Result<(), Box<dyn Error>> {
    let inputs: Vec<Input> = std::env::args_os().skip(1).map(|path| Input::from(PathBuf::from(path))).collect();
    let outcome = run(&inputs, &Settings::default(), 1, &Quiet);
    print!("{}", text::render(&document::report(&outcome.report, &View::default()), &TextOptions::default()));
    // Captures that could not be read are errors; what could be read is in the report.
    outcome.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}
