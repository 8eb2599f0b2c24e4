//! The JSON outputs of this program, read back.

pub mod pairs;

use serde::Deserialize;

use crate::model::report::ReportSchema;
use crate::model::vocabulary::{CalcSchema, MatchSchema, TrialsSchema};
use crate::report::document::combined::Output;
use crate::report::words::escape::printable;

/// The schemas that are known.
const KNOWN: [&str; 4] =
    [ReportSchema::V1.name(), MatchSchema::V1.name(), TrialsSchema::V1.name(), CalcSchema::V1.name()];

/// What every output begins with.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

/// Reads one output. Members that this version does not know are passed over.
///
/// # Errors
/// One sentence where it is no JSON, of another schema or of a later version of one, or where a member is missing or of another kind.
pub fn output(json: &[u8]) -> Result<Output, String> {
    let known = || KNOWN.join(", ");
    let head: Head = match serde_json::from_slice(json) {
        Ok(head) => head,
        Err(error) if error.is_data() => {
            return Err(format!("no schema: this JSON is no output of spiglass; known are {}", known()));
        }
        Err(error) if is_rows(json) => {
            return Err(format!(
                "one JSON object is expected, as --format json writes it, not rows of --format ndjson ({error})"
            ));
        }
        Err(error) => return Err(format!("not JSON: {error}")),
    };
    let Some(schema) = head.schema else {
        return Err(format!("no schema: this JSON is no output of spiglass; known are {}", known()));
    };
    let read = match schema.as_str() {
        name if name == ReportSchema::V1.name() => {
            serde_json::from_slice(json).map(|report| Output::Report(Box::new(report)))
        }
        name if name == MatchSchema::V1.name() => {
            serde_json::from_slice(json).map(|report| Output::Match(Box::new(report)))
        }
        name if name == TrialsSchema::V1.name() => {
            serde_json::from_slice(json).map(|report| Output::Trials(Box::new(report)))
        }
        name if name == CalcSchema::V1.name() => {
            serde_json::from_slice(json).map(|answer| Output::Calculation(Box::new(answer)))
        }
        other => {
            let newer = if is_newer(other) { ", a newer version than this program reads" } else { "" };
            return Err(format!("schema {}{newer}; known are {}", printable(other), known()));
        }
    };
    read.map_err(|error| format!("not a whole output of schema {schema}: {error}"))
}

/// Whether a schema is a later version of a known one.
fn is_newer(schema: &str) -> bool {
    let parts = |name: &str| {
        name.rsplit_once('/').and_then(|(name, version)| Some((name.to_owned(), version.parse::<u32>().ok()?)))
    };
    let Some((name, version)) = parts(schema) else { return false };
    KNOWN.iter().filter_map(|known| parts(known)).any(|(known, own)| known == name && version > own)
}

/// Whether these are JSON objects, one a line.
fn is_rows(json: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(json).into_iter::<serde::de::IgnoredAny>();
    values.next().is_some_and(|first| first.is_ok())
        && json.first() == Some(&b'{')
        && values.next().is_some_and(|next| next.is_ok())
}
