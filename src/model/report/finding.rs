//! What is wrong or worth knowing, as data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Accepted, FrameRef, Name, Severity};

/// What is wrong or worth knowing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The stable code, as `spiglass explain` knows it.
    pub code: Cow<'static, str>,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// The tap, empty where it concerns a capture.
    pub tap: Name,
    /// Id of the SA or the flow it concerns.
    pub sa: Option<Name>,
    /// How often.
    pub count: u64,
    /// First frame.
    pub first_frame: Option<FrameRef>,
    /// Last frame.
    pub last_frame: Option<FrameRef>,
    /// First frame's time.
    pub first: Option<String>,
    /// Last frame's time.
    pub last: Option<String>,
    /// The same in nanoseconds.
    pub first_ns: Option<i64>,
    /// The same in nanoseconds.
    pub last_ns: Option<i64>,
    /// What was seen, with figures.
    pub evidence: String,
    /// The frames that show it: the first hundred and the last one. Empty where no single frame shows it, because something is absent or the
    /// whole SA is meant, or where none is known.
    #[serde(default)]
    pub occurrences: Vec<Occurrence>,
    /// How many there are, those that are not listed included; null where they were not counted.
    #[serde(default)]
    pub occurrences_total: Option<u64>,
    /// A display filter of Wireshark 4 that shows these frames; null where none does.
    #[serde(default)]
    pub filter: Option<String>,
    /// Why it does not count for the exit status; null where it does.
    #[serde(default)]
    pub accepted: Option<Accepted>,
    /// The likely cause.
    pub cause: String,
    /// What to do.
    pub remedy: String,
    /// Lines of configuration that cause it.
    pub config: Vec<ConfigLine>,
    /// Lines to type.
    pub fix: Vec<Fix>,
}

/// One place where a finding shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Occurrence {
    /// Index into `captures`.
    pub capture: u32,
    /// Number of the frame within it, from 1.
    pub frame: u64,
    /// The frame's time; null where it has none.
    pub time_ns: Option<i64>,
    /// How many packets or numbers it is about.
    pub count: u64,
    /// What happened there.
    pub what: String,
}

/// A line of configuration, secrets removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigLine {
    /// The file.
    pub file: String,
    /// The router.
    pub host: String,
    /// Line number, from 1.
    pub line: u64,
    /// Its text.
    pub text: String,
}

/// Lines to type on one router.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fix {
    /// The router.
    pub host: String,
    /// The lines.
    pub lines: Vec<String>,
}
