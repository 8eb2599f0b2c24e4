//! Bytes become frames: pcap and pcapng, plain or compressed, from files or standard input.

mod frame;

pub use frame::Frame;
