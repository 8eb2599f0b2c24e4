//! What is different between two reports, as data: exactly what `diff --format json` prints.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Exactness, Severity, Tool};
pub use crate::model::vocabulary::{DiffSchema, FigureKind, FindingChangeKind, SaChangeKind};

/// The differences of two reports of one schema and the same settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffReport {
    /// Name and version of the schema.
    pub schema: DiffSchema,
    /// What made it.
    pub tool: Tool,
    /// The report that is compared with.
    pub old: Compared,
    /// The report that is judged.
    pub new: Compared,
    /// Findings that began, ended or changed, most severe first.
    pub findings: Vec<FindingChange>,
    /// SAs that only one of the reports has.
    pub sas: Vec<SaChange>,
    /// Figures that both have, and figures that only one of them determines.
    pub figures: Vec<FigureChange>,
    /// The exit status that it ends with.
    pub exit_status: u8,
}

/// One of the two reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    /// The file.
    pub path: String,
    /// Schema of the report.
    pub schema: String,
    /// Whether its figures are exact: what is gone from a report that is not may be missing.
    pub exactness: Exactness,
    /// Its captures.
    pub captures: u64,
    /// Its frames.
    pub frames: u64,
    /// Time of its earliest frame, in nanoseconds since the epoch.
    pub first_ns: Option<i64>,
    /// Time of its latest frame.
    pub last_ns: Option<i64>,
}

/// A finding that is different.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindingChange {
    /// What became of it.
    pub change: FindingChangeKind,
    /// The code.
    pub code: Cow<'static, str>,
    /// How much it matters now; of one that ended, how much it did.
    pub severity: Severity,
    /// How much it did before; null where it began.
    pub severity_before: Option<Severity>,
    /// The tap.
    pub tap: String,
    /// Id of the SA or the flow.
    pub sa: Option<String>,
    /// How often before; null where it began.
    pub count_before: Option<u64>,
    /// How often now; null where it ended.
    pub count: Option<u64>,
    /// What was seen: of one that ended, before.
    pub evidence: String,
}

/// An SA that only one of the reports has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaChange {
    /// In which.
    pub change: SaChangeKind,
    /// The tap.
    pub tap: String,
    /// Id of the SA.
    pub sa: String,
    /// Its frames; null where the report counts packets only.
    pub frames: Option<u64>,
}

/// A figure in both reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FigureChange {
    /// Which figure.
    pub figure: FigureKind,
    /// The tap; empty where the report has none.
    pub tap: String,
    /// Where from, an address.
    pub from: String,
    /// Where to.
    pub to: String,
    /// Before; null where it was not determined.
    pub before: Option<f64>,
    /// Now; null where it is not determined.
    pub after: Option<f64>,
    /// Whether they differ by more than was allowed, or only one of them is determined.
    pub beyond: bool,
}
