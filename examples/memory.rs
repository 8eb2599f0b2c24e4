//! A report of frames that a program holds in memory: `cargo run --example memory`

use std::error::Error;

use spiglass::{Input, LinkType, MemoryCapture, Quiet, Settings, Timestamp, run};

fn main() -> Result<(), Box<dyn Error>> {
    let frames = (1..=5).map(|second| (Timestamp::from_ns(second * 1_000_000_000), esp(second as u8)));
    let capture = MemoryCapture::new("probe", LinkType::ETHERNET).with(frames);
    let report = run(&[Input::from(capture)], &Settings::default(), 1, &Quiet).complete()?;
    for sa in &report.sas {
        println!("{}: {} frames", sa.id, sa.frames);
    }
    Ok(())
}

/// An ESP packet with this sequence number, in an Ethernet frame.
fn esp(sequence: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend([0x45, 0, 0, 92, 0, sequence, 0, 0, 64, 50, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    frame.extend([0, 0, 0x03, 0xe9, 0, 0, 0, sequence]);
    frame.extend((0..64).map(|at: u8| at.wrapping_mul(37) ^ sequence.wrapping_mul(91)));
    frame
}
