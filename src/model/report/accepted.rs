//! Findings that are known or wanted, and so are no reason for an exit status.

use serde::{Deserialize, Serialize};

/// Why a finding does not count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Accepted {
    /// What accepts it.
    pub by: AcceptedBy,
    /// The reason that the baseline gives, or the option.
    pub why: String,
}

/// What accepts a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedBy {
    /// A line of `--baseline`.
    Baseline,
    /// `--ignore`.
    Ignore,
    /// `--threshold`.
    Threshold,
}

impl AcceptedBy {
    /// The word used in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Ignore => "ignore",
            Self::Threshold => "threshold",
        }
    }
}

/// How the findings of a run compare with those of a baseline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BaselineOutcome {
    /// The file.
    pub file: String,
    /// Findings that it knows.
    pub known: u64,
    /// Findings that it does not know, and that nothing else accepts.
    pub new: u64,
    /// Its lines that no finding of the run fits.
    pub fixed: Vec<KnownFinding>,
}

/// A line of a baseline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KnownFinding {
    /// The code.
    pub code: String,
    /// The tap; `*` stands for any characters.
    pub tap: String,
    /// Id of the SA or the flow; null where the finding concerns none.
    pub sa: Option<String>,
    /// How often it was seen.
    pub count: u64,
    /// Why it is accepted.
    pub reason: String,
}
