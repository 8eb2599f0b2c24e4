//! Each SA of a capture with its frames, lost numbers and transform: `cargo run --example sas -- CAPTURE`

use std::error::Error;

use spiglass::capture::Source;
use spiglass::engine::{Input, Quiet, Settings, run};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a capture")?;
    let outcome = run(&[Input { source: Source::Path(path.into()), tap: None }], &Settings::default(), 1, &Quiet);
    for sa in &outcome.report.sas {
        // IPComp has no sequence numbers, so nothing is known of its losses.
        let lost = sa.sequence.as_ref().map_or_else(|| "-".to_owned(), |sequence| sequence.lost.to_string());
        let transform = sa.transform.name.as_deref().unwrap_or("not determined");
        println!("{} {} > {}: {} frames, {lost} lost, {transform}", sa.spi_hex, sa.src, sa.dst, sa.frames);
    }
    outcome.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}
