//! Trials whose times the user gives.

use super::Stretch;
use crate::model::report::Rfc3339;
use crate::model::trials::{Direction, Kind};
use crate::trials::association::FrameRow;
use crate::trials::limits::FEWEST;

/// A trial by its times, in nanoseconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenTrial {
    /// First moment.
    pub from: i64,
    /// Last moment.
    pub to: i64,
    /// Direction; both where none is given.
    pub direction: Option<Direction>,
}

/// Reads a table of trials: CSV with the columns `start_ns` and `seconds` or `end_ns`, and perhaps `direction`. Times may also be
/// RFC 3339, in columns `start` and `end`.
///
/// # Errors
/// What is wrong with the table, with its line.
pub fn read_given(text: &str) -> Result<Vec<GivenTrial>, String> {
    // Excel begins a file with a byte order mark.
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (_, header) = lines.next().ok_or("no header row; expected columns such as start_ns,seconds")?;
    let names: Vec<String> = header.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    let column = |name: &str| names.iter().position(|known| known == name);
    let start = column("start_ns").or_else(|| column("start")).ok_or("no column start_ns or start")?;
    let end = column("end_ns").or_else(|| column("end"));
    let seconds = column("seconds");
    if end.is_none() && seconds.is_none() {
        return Err("no column seconds, end_ns or end".into());
    }
    let direction = column("direction");
    let mut trials: Vec<(usize, GivenTrial)> = Vec::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let wrong = |what: &str| format!("line {}: {what}", number + 1);
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        let from = moment(cell(start)).ok_or_else(|| wrong("the start is neither nanoseconds nor RFC 3339"))?;
        let to = match (end, seconds) {
            (Some(end), _) if !cell(end).is_empty() => {
                moment(cell(end)).ok_or_else(|| wrong("the end is neither nanoseconds nor RFC 3339"))?
            }
            (_, Some(seconds)) => {
                let seconds: f64 = cell(seconds).parse().map_err(|_| wrong("seconds is no number"))?;
                if !(0.0..1e9).contains(&seconds) {
                    return Err(wrong("seconds is not between 0 and 10^9"));
                }
                // One more microsecond: seconds are rounded.
                from.saturating_add((seconds * 1e9).round() as i64).saturating_add(1_000)
            }
            _ => return Err(wrong("no end")),
        };
        if to <= from {
            return Err(wrong("the trial ends before it begins"));
        }
        let direction = match direction.map(cell) {
            None | Some("") => None,
            Some("fwd") => Some(Direction::Fwd),
            Some("rev") => Some(Direction::Rev),
            Some(_) => return Err(wrong("direction is neither fwd nor rev")),
        };
        trials.push((number + 1, GivenTrial { from, to, direction }));
    }
    if trials.is_empty() {
        return Err("the table has no rows".into());
    }
    apart(trials)
}

/// The trials in order of time, none of them within another one: packets of both would count twice.
fn apart(mut trials: Vec<(usize, GivenTrial)>) -> Result<Vec<GivenTrial>, String> {
    trials.sort_by_key(|(_, trial)| trial.from);
    let ways = |own: &GivenTrial, other: &GivenTrial| {
        own.direction.is_none() || other.direction.is_none() || own.direction == other.direction
    };
    for at in 1..trials.len() {
        let Some((before, rest)) = trials.split_at_mut_checked(at) else { continue };
        let Some((number, own)) = rest.first() else { continue };
        for (_, other) in before.iter_mut().filter(|(_, other)| ways(own, other) && other.to >= own.from) {
            // Times are rounded.
            if other.to > own.from.saturating_add(ROUNDED_NS) {
                return Err(format!("line {number}: the trial begins before one ends that begins earlier"));
            }
            other.to = other.to.min(own.from.saturating_sub(1));
        }
    }
    Ok(trials.into_iter().map(|(_, trial)| trial).collect())
}

/// By how much trials that follow each other may overlap, in nanoseconds.
const ROUNDED_NS: i64 = 2_000;

fn moment(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let moment: jiff::Timestamp = text.parse().ok()?;
        i64::try_from(moment.as_nanosecond()).ok()
    })
}

/// Why none of the trials that were given has any packet, although packets of a load came in.
pub(crate) fn given_missed(rows: &[FrameRow], trials: &[GivenTrial]) -> Option<String> {
    let first = rows.iter().filter_map(|row| row.t.first()).min()?;
    let last = rows.iter().filter_map(|row| row.t.last()).max()?;
    if trials.iter().all(|trial| trial.to < COUNTED_IN_SECONDS) {
        return Some(
            "The times of --trials are of 1970: start_ns and end_ns are nanoseconds since the epoch.".to_owned(),
        );
    }
    let (from, to) = (trials.iter().map(|own| own.from).min()?, trials.iter().map(|own| own.to).max()?);
    let directions = if trials.iter().any(|own| own.direction.is_some()) { " in that direction" } else { "" };
    Some(format!(
        "No packet of a test load came in during the times of --trials{directions}: they are from {} to {}, the load is from {} to {}.",
        Rfc3339(from),
        Rfc3339(to),
        Rfc3339(*first),
        Rfc3339(*last)
    ))
}

/// Times before this one are no nanoseconds, but seconds to microseconds since 1970.
const COUNTED_IN_SECONDS: i64 = 100_000_000_000_000_000;

/// The stretches that were given, of one direction.
pub(crate) fn given(
    row: &FrameRow,
    trials: &[GivenTrial],
    direction: Direction,
    least: i64,
    skip: i64,
) -> Vec<Stretch> {
    let times = row.t.as_slice();
    let mine = trials.iter().filter(|trial| trial.direction.is_none_or(|own| own == direction));
    mine.filter_map(|trial| {
        let (from, to) = (times.partition_point(|t| *t < trial.from), times.partition_point(|t| *t <= trial.to));
        let (first, last) = (*times.get(from)?, *times.get(to.checked_sub(1)?)?);
        let long = if last - first < least { Kind::Burst } else { Kind::Trial };
        let kind = if row.count(from, to) < FEWEST as u64 { Kind::Stray } else { long };
        (to > from).then_some(Stretch { kind, from, to, steady: first.saturating_add(skip) })
    })
    .collect()
}
