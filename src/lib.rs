//! spiglass reads packet captures from passive TAPs and says what IPsec costs and what is wrong with it:
//! which security associations are on the wire, which sequence numbers are missing, how many bytes each packet
//! size pays for its tunnel, how padding behaves and what rates remain.
//!
//! The library is a stack of floors; each uses only the floors below it (ARCHITECTURE.md draws the map and
//! `tests/house/architecture.rs` enforces it):
//!
//! | floor | what it does |
//! |---|---|
//! | [`cli`] | what was typed, what it means, exit status |
//! | [`report`] | [`report::Report`] and its text, JSON, CSV and markdown forms |
//! | [`engine`] | a run: captures in, one `Report` or dissected frames out |
//! | [`trials`] | what a benchmark run measured |
//! | [`matching`] | which plaintext packet became which tunnelled packet |
//! | [`analysis`] | mergeable accumulators over observations; findings |
//! | [`keys`] | the keys that policies state, and packets opened with them |
//! | [`decrypt`] | ESP and AH with given keys: the ICV checked, the packet decrypted |
//! | [`dissect`] | a frame becomes a [`dissect::Stack`]; it never fails |
//! | [`wire`] | byte views of single headers |
//! | [`capture`] | bytes become frames: pcap, pcapng, compressed, standard input |
//! | [`model`] | the words every floor uses |
//!
//! Beside the floors are [`transform`], the catalogue of transforms and size arithmetic, [`policy`], what should be on the
//! wire: configurations read as they are pasted, and compared with each other, and [`catalogue`], the finding codes.
//!
//! A report of captures:
//!
//! ```
//! use spiglass::{Input, Quiet, Settings, run};
//!
//! let capture = Input::from("fixtures/lab/loss-before-tap-tunnel.pcap");
//! let report = run(&[capture], &Settings::default(), 1, &Quiet).complete()?;
//!
//! let lost: u64 = report.sas.iter().filter_map(|sa| sa.sequence.as_ref()).map(|s| s.lost).sum();
//! assert_eq!(lost, 10);
//! assert_eq!(report.findings[0].code, "sequence-gap");
//! # Ok::<(), spiglass::Error>(())
//! ```
//!
//! Of frames in memory, and of a report that was written as JSON:
//!
//! ```
//! use spiglass::{Input, LinkType, MemoryCapture, Quiet, Report, Settings, Timestamp, run};
//!
//! let capture = MemoryCapture::new("probe", LinkType::ETHERNET).with([(Timestamp::from_ns(0), [0; 60])]);
//! let report = run(&[Input::from(capture)], &Settings::default(), 1, &Quiet).complete()?;
//! assert_eq!(report.totals.frames, 1);
//!
//! let read: Report = serde_json::from_str(&serde_json::to_string(&report)?)?;
//! assert_eq!(read.totals.frames, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Frame by frame, with the stack of each:
//!
//! ```
//! use spiglass::capture::Frame;
//! use spiglass::dissect::Stack;
//! use spiglass::engine::{FrameSink, frames};
//! use spiglass::{Input, Quiet, Settings};
//!
//! /// The highest sequence number of all.
//! #[derive(Default)]
//! struct Highest(u32);
//!
//! impl FrameSink for Highest {
//!     fn capture(&mut self, _: &str) {}
//!     fn frame(&mut self, _: &Frame<'_>, stack: &Stack) -> std::io::Result<()> {
//!         self.0 = stack.sas.iter().map(|sa| sa.sequence).fold(self.0, u32::max);
//!         Ok(())
//!     }
//!     fn flush(&mut self) -> std::io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! let capture = Input::from("fixtures/lab/loss-before-tap-tunnel.pcap");
//! let mut highest = Highest::default();
//! let outcome = frames(&[capture], &Settings::default(), &mut highest, &Quiet)?;
//! assert_eq!((outcome.frames, highest.0), (1_250, 1_200));
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(unreachable_pub)]
// Nothing that strangers write makes the library panic: what could is an error here, and each exception states its proof.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::unimplemented,
        clippy::arithmetic_side_effects
    )
)]

pub mod model;

pub mod capture;
pub mod catalogue;
pub mod policy;
pub mod transform;
pub mod wire;

pub mod dissect;

pub mod decrypt;

pub mod keys;

pub mod analysis;

pub mod matching;

pub mod trials;

pub mod report;

pub mod engine;

#[cfg(feature = "cli")]
pub mod cli;

// What a program of ten lines needs.
pub use capture::{MemoryCapture, Source};
pub use engine::{Input, Matched, Outcome, PairInputs, Quiet, Settings, pair, run};
pub use matching::PairSettings;
pub use model::pairs::MatchReport;
pub use model::report::Report;
pub use model::{Error, LinkType, Timestamp};
