//! A run of `trials` to compare with: what is read of its JSON, and whether it is of the same bench.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::model::Error;
use crate::model::trials::{Direction, TrialsReport, Ways};
use crate::model::vocabulary::TrialsSchema;
use crate::trials::ClearTrial;

/// A run.
pub(super) struct ClearRun {
    pub(super) trials: Vec<ClearTrial>,
    link_rate: Option<u64>,
    ends: BTreeSet<(String, String)>,
}

impl ClearRun {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let wrong = |what: &str| Error::Format { path: path.to_owned(), what: what.to_owned() };
        let json: Value = serde_json::from_slice(&text).map_err(|_| wrong("no JSON of `spiglass trials`"))?;
        if json.get("schema").and_then(Value::as_str) != Some(TrialsSchema::V1.name()) {
            return Err(wrong("no report of `spiglass trials --format json`"));
        }
        let rows = json.get("trials").and_then(Value::as_array).ok_or_else(|| wrong("no trials in it"))?;
        let bench = json.get("bench");
        let depends = bench.and_then(|bench| bench.get("depends_on_offset")).and_then(Value::as_bool);
        let trials = rows.iter().filter_map(|row| trial(row, depends != Some(false))).collect();
        let flows = bench.and_then(|bench| bench.get("flows")).and_then(Value::as_array);
        let ends = flows.into_iter().flatten().filter_map(|flow| Some((word(flow, "src")?, word(flow, "dst")?)));
        let link_rate = bench.and_then(|bench| bench.get("link_rate_bps")).and_then(Value::as_u64);
        Ok(Self { trials, link_rate, ends: ends.collect() })
    }

    /// Why it is of another bench.
    pub(super) fn differs(&self, report: &TrialsReport) -> Option<String> {
        let rate = |bps: Option<u64>| bps.map_or_else(|| "unknown".to_owned(), |bps| format!("{bps} bit/s"));
        if self.link_rate != report.bench.link_rate_bps {
            return Some(format!(
                "of another bench: its link rate is {}, here it is {}",
                rate(self.link_rate),
                rate(report.bench.link_rate_bps)
            ));
        }
        let own: BTreeSet<(String, String)> =
            report.bench.flows.iter().map(|flow| (flow.src.clone(), flow.dst.clone())).collect();
        if !own.is_empty() && self.ends.is_disjoint(&own) {
            let name = |ends: &BTreeSet<(String, String)>| {
                ends.first().map_or_else(|| "no flow".to_owned(), |(src, dst)| format!("{src} > {dst}"))
            };
            return Some(format!("of another bench: its test load is {}, here it is {}", name(&self.ends), name(&own)));
        }
        let sizes = |sizes: BTreeSet<&str>| sizes.into_iter().collect::<Vec<_>>().join(", ");
        let clear: BTreeSet<&str> = self.trials.iter().map(|t| t.size_class.as_str()).collect();
        let here: BTreeSet<&str> = report.trials.iter().map(|t| t.size_class.as_str()).collect();
        if !here.is_empty() && clear.is_disjoint(&here) {
            return Some(format!("no size in common: {} there, {} here", sizes(clear), sizes(here)));
        }
        None
    }
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn trial(row: &Value, depends_on_offset: bool) -> Option<ClearTrial> {
    if word(row, "kind")? != "trial" {
        return None;
    }
    let number = |name: &str| row.get(name).and_then(Value::as_f64);
    let direction = [Direction::Fwd, Direction::Rev];
    let ways = [Ways::One, Ways::Both, Ways::BothUnequal];
    let (own_direction, own_ways) = (word(row, "direction")?, word(row, "ways")?);
    Some(ClearTrial {
        trial: row.get("trial")?.as_u64()?,
        direction: direction.into_iter().find(|own| own.name() == own_direction)?,
        ways: ways.into_iter().find(|own| own.name() == own_ways)?,
        size_class: word(row, "size_class")?,
        offered_fps: number("offered_fps")?,
        lost: row.get("lost")?.as_u64()?,
        latency_mean_ns: number("latency_mean_ns"),
        latency_p50_ns: row.get("latency_p50_ns").and_then(Value::as_i64),
        depends_on_offset,
    })
}
