//! spiglass reads packet captures from passive TAPs and says what IPsec costs and what is wrong with it:
//! which security associations are on the wire, which sequence numbers are missing, how many bytes each packet
//! size pays for its tunnel, how padding behaves and what rates remain.
//!
//! The library is a stack of floors; each uses only the floors below it (ARCHITECTURE.md draws the map and
//! `tests/architecture.rs` enforces it):
//!
//! | floor | what it does |
//! |---|---|
//! | [`cli`] | what was typed, what it means, exit status |
//! | [`report`] | [`report::Report`] and its text, JSON, CSV and markdown forms |
//! | [`engine`] | a run: captures in, one `Report` out |
//! | [`analysis`] | mergeable accumulators over observations; findings |
//! | [`dissect`] | a frame becomes a [`dissect::Stack`]; it never fails |
//! | [`wire`] | byte views of single headers |
//! | [`capture`] | bytes become frames: pcap, pcapng, compressed, standard input |
//! | [`model`] | the words every floor uses |
//!
//! Beside the floors stands [`transform`]: wire constants and size arithmetic.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(unreachable_pub)]

pub mod model;

pub mod capture;
pub mod transform;
pub mod wire;

pub mod dissect;

pub mod analysis;

pub mod report;

pub mod engine;

pub mod cli;
