//! Inputs: what was read of each, and how it ended.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::DigestAlgorithm;

/// One input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Capture {
    /// As it was named.
    pub path: String,
    /// Name of the tap it belongs to.
    pub tap: String,
    /// `pcap` or `pcapng`.
    pub format: String,
    /// `gzip`, `zstd`, `lz4`, `xz`, `bzip2` or null.
    pub compression: Option<String>,
    /// Names of its link types (numbers where spiglass does not read them), in order of appearance.
    pub link_types: Vec<String>,
    /// Its interfaces (pcapng; one nameless in pcap).
    pub interfaces: Vec<Interface>,
    /// Frames read.
    pub frames: u64,
    /// Bytes read, decompressed.
    pub bytes: u64,
    /// Time of the earliest frame.
    pub first: Option<String>,
    /// Time of the latest frame.
    pub last: Option<String>,
    /// The same in nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// The same in nanoseconds since the epoch.
    pub last_ns: Option<i64>,
    /// Whether it was read to a proper end.
    pub complete: bool,
    /// The first damage, if any.
    pub damage: Option<DamageReport>,
    /// Why it could not be read at all, null where it could: then no figure holds anything of it. Of such an input, or state, nothing
    /// is known but its path.
    #[serde(default)]
    pub error: Option<String>,
    /// Digest of the file as it is stored, compressed or not; null where there is none.
    #[serde(default)]
    pub digest: Option<CaptureDigest>,
    /// Why there is no digest; null where there is one.
    #[serde(default)]
    pub digest_missing: Option<String>,
}

impl Capture {
    /// Octets of the longest input of which a digest is taken where none is asked for: 256 MiB.
    pub const USUAL_DIGEST_BYTES: u64 = 256 << 20;
    /// Why there is no digest where the run was told to take none.
    pub const NO_DIGEST_WANTED: &str = "none was asked for";
    /// Why there is none of a long input where none was asked for.
    pub const TOO_LONG_FOR_DIGEST: &str = "it is longer than 256 MiB; --digest xxh3-128 takes one all the same";

    /// An input that could not be read.
    #[must_use]
    pub fn unread(path: String, error: String) -> Self {
        Self {
            path,
            tap: String::new(),
            format: "unknown".to_owned(),
            compression: None,
            link_types: Vec::new(),
            interfaces: Vec::new(),
            frames: 0,
            bytes: 0,
            first: None,
            last: None,
            first_ns: None,
            last_ns: None,
            complete: false,
            damage: None,
            error: Some(error),
            digest: None,
            digest_missing: Some("the input could not be read".to_owned()),
        }
    }
}

/// Digest of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaptureDigest {
    /// How it is computed.
    pub algorithm: DigestAlgorithm,
    /// The digest in hexadecimal, as `xxhsum -H2` and `sha256sum` print it.
    pub hex: String,
}

/// One interface of a capture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interface {
    /// Its name where the capture gives one.
    pub name: Option<String>,
    /// Its link type's name.
    pub link_type: String,
    /// Snapshot length, null or 0 where unlimited.
    pub snaplen: Option<u32>,
    /// Packets the capturing host says it dropped (pcapng interface statistics).
    pub drops: Option<u64>,
}

/// Damage in a capture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DamageReport {
    /// Byte offset in the decompressed stream.
    pub offset: u64,
    /// Number the next frame would have had.
    pub frame: u64,
    /// What was found.
    pub what: String,
    /// `cut` (the file ends inside a record), `corrupt`, or `read` (the operating system or a decompressor failed).
    pub kind: Cow<'static, str>,
}
