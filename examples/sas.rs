//! Each SA of a capture with its frames, lost numbers and transform: `cargo run --example sas -- CAPTURE`

use std::error::Error;
use std::path::PathBuf;

use spiglass::{Input, Quiet, Settings, run};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a capture")?;
    let capture = Input::from(PathBuf::from(path));
    let report = run(&[capture], &Settings::default(), 1, &Quiet).complete()?;
    for sa in &report.sas {
        // IPComp has no sequence numbers, so nothing is known of its losses.
        let lost = sa.sequence.as_ref().map_or_else(|| "-".to_owned(), |sequence| sequence.lost.to_string());
        let transform = sa.transform.name.as_deref().unwrap_or("not determined");
        println!("{} {} > {}: {} frames, {lost} lost, {transform}", sa.spi_hex, sa.src, sa.dst, sa.frames);
    }
    Ok(())
}
