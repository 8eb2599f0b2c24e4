//! What `spiglass report` says, and what it must not say.

#![expect(clippy::duplicate_mod, reason = "the program that makes the fixtures is a program of its own, tested here")]

#[path = "../support/mod.rs"]
mod support;

mod ah;
mod arithmetic;
mod claims;
mod claims_cases;
mod claims_reported;
mod claims_tcp;
mod claims_udp;
mod contradictions;
mod corpus;
mod cut;
mod digests;
mod doubts;
mod filters;
mod frames;
mod gateway;
mod generated;
mod holes;
mod inference;
mod interfaces;
mod mirrored;
mod natt;
mod occurrences;
mod random;
mod sa_bins;
mod schema;
mod seeds;
mod senders;
mod sent_again;
mod situations;
mod torn;
mod tunnels;
mod unarranged;
mod unread;
