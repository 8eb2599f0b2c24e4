//! What became different between two reports of one run that goes on.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::report::{EventKind, Finding, Report, Rfc3339, Sa};
use crate::report::words::names::{sa_parts, sa_title};
use crate::report::words::number::{RateUnit, count, decimal, duration, grouped};

/// One thing that became different.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Change {
    /// When, as the capture says: RFC 3339; absent where frames have no times.
    pub time: Option<String>,
    /// What kind of thing.
    pub event: ChangeKind,
    /// Id of the SA, or code of the finding.
    pub subject: String,
    /// The same in words.
    pub text: String,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// An SA is seen for the first time.
    SaNew,
    /// An SA has not been seen for a while.
    SaSilent,
    /// An SA that was silent is seen again.
    SaAgain,
    /// A finding is there that was not.
    FindingBegins,
    /// A finding counts more than before.
    FindingGrows,
    /// A finding is no longer there: what was seen since contradicts it.
    FindingEnds,
    /// A new SA may take over from another one between the same ends, which is not silent for long enough yet.
    RekeyPossible,
    /// An SA took over from another one between the same ends, which is silent.
    Rekey,
    /// The SA that was thought replaced, or perhaps replaced, carries frames again, or is no longer the only one that may have been.
    RekeyEnds,
    /// What an SA carried since the report before.
    Rate,
}

impl ChangeKind {
    /// In words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::SaNew => "new SA",
            Self::SaSilent => "silent",
            Self::SaAgain => "again",
            Self::FindingBegins => "begins",
            Self::FindingGrows => "grows",
            Self::FindingEnds => "ends",
            Self::RekeyPossible => "possible rekey",
            Self::Rekey => "rekey",
            Self::RekeyEnds => "no rekey",
            Self::Rate => "rate",
        }
    }
}

/// What the report before said.
#[derive(Debug, Default)]
pub struct Changes {
    sas: BTreeMap<(String, String), SeenSa>,
    findings: BTreeMap<(String, String, String), u64>,
    /// SAs that took over, by tap and SA: the one each took over from.
    rekeys: BTreeMap<(String, String), Replaced>,
    /// SAs that may have taken over, likewise.
    possible: BTreeMap<(String, String), Replaced>,
    /// When the report before was made, in nanoseconds on any clock that only goes forward.
    before_ns: Option<u64>,
}

/// An SA that was replaced, or may have been.
#[derive(Debug)]
struct Replaced {
    id: String,
    /// Its frames when that was said last.
    frames: u64,
}

#[derive(Debug)]
struct SeenSa {
    frames: u64,
    outer_bytes: u64,
    /// When it was last seen to have more frames than before.
    grew_ns: u64,
    silent: bool,
}

impl Changes {
    /// What is different from the report before. `now_ns`: when the report was made, on a clock that only goes forward; an SA that has no new
    /// frames for `silent_ns` is silent; `rates`: what each SA carried is said too.
    pub fn take(&mut self, report: &Report, now_ns: u64, silent_ns: u64, rates: bool) -> Vec<Change> {
        self.compare(report, now_ns, silent_ns, rates, false)
    }

    /// The same of the last report. No packet of an SA can follow any more that would contradict a rekey.
    pub fn take_last(&mut self, report: &Report, now_ns: u64, silent_ns: u64, rates: bool) -> Vec<Change> {
        self.compare(report, now_ns, silent_ns, rates, true)
    }

    fn compare(&mut self, report: &Report, now_ns: u64, silent_ns: u64, rates: bool, last: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        let since = self.before_ns.replace(now_ns).map(|before| now_ns.saturating_sub(before));
        for sa in &report.sas {
            self.sa(sa, report, now_ns, silent_ns, since.filter(|_| rates), &mut changes);
        }
        self.rekey(report, last, &mut changes);
        self.finding(report, &mut changes);
        changes
    }

    /// Rekeys of the report's events. While more may come an SA counts as replaced when it is silent: two SAs in use side by side look like
    /// a rekey until the older one sends again. Until then a rekey is possible.
    fn rekey(&mut self, report: &Report, last: bool, changes: &mut Vec<Change>) {
        let (mut gone, mut doubted) = (std::mem::take(&mut self.rekeys), std::mem::take(&mut self.possible));
        for event in report.events.iter().filter(|event| event.what == EventKind::Rekey) {
            let Some(old) = event.from_sa.as_deref() else { continue };
            let (new, tap) = (event.sa.to_string(), event.tap.to_string());
            let key = (tap.clone(), new.clone());
            let known = gone.get(&key).is_some_and(|from| from.id == old);
            let said = doubted.get(&key).is_some_and(|from| from.id == old);
            // What was said of another one is taken back.
            let ended = [(known, gone.remove(&key)), (said, doubted.remove(&key))];
            let ended = ended.into_iter().filter_map(|(same, from)| from.filter(|_| !same));
            changes.extend(ended.map(|from| self.withdrawn(&key, &from, true)));
            let seen = self.sas.get(&(tap, old.to_owned()));
            let (silent, frames) = seen.map_or((false, 0), |old| (old.silent, old.frames));
            let is_sure = known || silent || last;
            let time = event.when.0.ns().map(|ns| Rfc3339(ns).to_string());
            let (of, by) = (sa_title(&new), spi(old));
            if is_sure && !known {
                let text = format!("{of} took over from {by}");
                changes.push(Change { time, event: ChangeKind::Rekey, subject: new, text });
            } else if !is_sure && !said {
                let text = format!("{of} may be the rekey of {by}: same ends, its sequence numbers begin anew");
                changes.push(Change { time, event: ChangeKind::RekeyPossible, subject: new, text });
            }
            let list = if is_sure { &mut self.rekeys } else { &mut self.possible };
            list.insert(key, Replaced { id: old.to_owned(), frames });
        }
        changes.extend(gone.iter().chain(&doubted).map(|(key, old)| self.withdrawn(key, old, false)));
    }

    /// Takes back that an SA took over from another one, or may have. Only frames of that other one contradict it; without them there is
    /// another candidate, which `follows` where it is the better one.
    fn withdrawn(&self, (tap, new): &(String, String), old: &Replaced, follows: bool) -> Change {
        let seen = self.sas.get(&(tap.clone(), old.id.clone()));
        let (of, by) = (sa_title(new), spi(&old.id));
        let text = if seen.is_some_and(|seen| seen.frames > old.frames) {
            format!("{of} did not take over from {by}: what was seen since contradicts it")
        } else if follows {
            format!("{of} is no longer taken for the rekey of {by}")
        } else {
            format!("{of} may not have taken over from {by}: which SA it replaced is no longer determined")
        };
        Change { time: None, event: ChangeKind::RekeyEnds, subject: new.clone(), text }
    }

    fn sa(
        &mut self,
        sa: &Sa,
        report: &Report,
        now_ns: u64,
        silent_ns: u64,
        since: Option<u64>,
        changes: &mut Vec<Change>,
    ) {
        let title = sa_title(&sa.id);
        let mut say = |event, time: Option<String>, text| {
            changes.push(Change { time, event, subject: sa.id.to_string(), text });
        };
        let [first, last] = [&sa.first, &sa.last].map(|time| time.as_ref().map(ToString::to_string));
        let key = (sa.tap.to_string(), sa.id.to_string());
        let Some(seen) = self.sas.get_mut(&key) else {
            let (frames, outer_bytes) = (sa.frames, sa.outer_bytes);
            say(ChangeKind::SaNew, first, format!("{title}{}", same_ends(sa, report)));
            self.sas.insert(key, SeenSa { frames, outer_bytes, grew_ns: now_ns, silent: false });
            return;
        };
        if let Some(since) = since.filter(|since| *since > 0) {
            let per_s = |more: u64| more as f64 * 1e9 / since as f64;
            let bps = 8.0 * per_s(sa.outer_bytes.saturating_sub(seen.outer_bytes));
            let unit = RateUnit::for_rates([Some(bps)]);
            let frames = decimal(per_s(sa.frames.saturating_sub(seen.frames)), 1);
            let text = format!("{title}: {frames} frames/s, {} {} at L3", unit.show(Some(bps)), unit.name);
            say(ChangeKind::Rate, last.clone(), text);
        }
        if sa.frames > seen.frames {
            if std::mem::take(&mut seen.silent) {
                let pause = duration(now_ns.saturating_sub(seen.grew_ns));
                say(ChangeKind::SaAgain, last, format!("{title}: frames again after about {pause}"));
            }
            (seen.frames, seen.outer_bytes, seen.grew_ns) = (sa.frames, sa.outer_bytes, now_ns);
        } else if !seen.silent && now_ns.saturating_sub(seen.grew_ns) >= silent_ns {
            seen.silent = true;
            let text = format!(
                "{title}: no frame for {}; {} so far{}",
                duration(now_ns.saturating_sub(seen.grew_ns)),
                count(sa.frames, "frame"),
                same_ends(sa, report)
            );
            say(ChangeKind::SaSilent, last, text);
        }
    }

    fn finding(&mut self, report: &Report, changes: &mut Vec<Change>) {
        let mut gone = std::mem::take(&mut self.findings);
        let mut say = |event, time: Option<String>, code: &str, text| {
            changes.push(Change { time, event, subject: code.to_owned(), text });
        };
        for finding in &report.findings {
            let key = key(finding);
            let about = |what: &str| {
                let of = finding.sa.as_deref().map(|sa| format!("  {}", sa_title(sa))).unwrap_or_default();
                format!("{} {}{of}: {what}", finding.severity, finding.code)
            };
            match gone.remove(&key) {
                None => {
                    say(ChangeKind::FindingBegins, finding.first.clone(), &finding.code, about(&finding.evidence));
                }
                Some(before) if finding.count > before => {
                    let text = format!("{} to {}", grouped(before), grouped(finding.count));
                    say(ChangeKind::FindingGrows, finding.last.clone(), &finding.code, about(&text));
                }
                Some(_) => {}
            }
            self.findings.insert(key, finding.count);
        }
        for (code, _, sa) in gone.into_keys() {
            let of = if sa.is_empty() { String::new() } else { format!("  {}", sa_title(&sa)) };
            say(ChangeKind::FindingEnds, None, &code, format!("{code}{of}: what was seen since contradicts it"));
        }
    }
}

/// The SPI of an SA's id, where its ends are known from another one.
fn spi(id: &str) -> &str {
    sa_parts(id).map_or(id, |(_, spi, _)| spi)
}

/// What makes a finding the same one: code, tap, SA.
fn key(finding: &Finding) -> (String, String, String) {
    let sa = finding.sa.as_deref().unwrap_or_default();
    (finding.code.to_string(), finding.tap.to_string(), sa.to_owned())
}

/// Other SAs between the same ends, the same way: a clause, or nothing.
fn same_ends(sa: &Sa, report: &Report) -> String {
    let others: Vec<String> = report
        .sas
        .iter()
        .filter(|other| (&other.tap, other.proto, &other.src, &other.dst) == (&sa.tap, sa.proto, &sa.src, &sa.dst))
        .filter(|other| other.id != sa.id)
        .map(|other| other.spi_hex.to_string())
        .collect();
    match others.as_slice() {
        [] => String::new(),
        [one] => format!("; between the same ends: {one}"),
        [first, ..] => format!("; between the same ends: {first} and {} more", others.len() - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangeKind, Changes};
    use crate::model::report::{EventKind, Report};
    use crate::report::sample;

    /// What is said of rekeys.
    fn said(changes: &mut Changes, report: &Report, now_ns: u64) -> Vec<(ChangeKind, String)> {
        let all = changes.take(report, now_ns, 1_000_000_000, false).into_iter();
        all.filter(|change| {
            matches!(change.event, ChangeKind::RekeyPossible | ChangeKind::Rekey | ChangeKind::RekeyEnds)
        })
        .map(|change| (change.event, change.text))
        .collect()
    }

    /// A report in which the second SA takes over from the first, and that without any rekey.
    fn reports() -> (Report, Report) {
        let (with, mut without) = (sample::report(), sample::report());
        assert!(with.events.iter().any(|event| event.what == EventKind::Rekey));
        without.events.clear();
        (with, without)
    }

    #[test]
    fn a_second_candidate_contradicts_no_rekey() {
        let (with, mut without) = reports();
        let mut changes = Changes::default();
        assert_eq!(said(&mut changes, &with, 0)[0].0, ChangeKind::RekeyPossible);
        let all = said(&mut changes, &without, 1);
        let [(ChangeKind::RekeyEnds, text)] = all.as_slice() else { panic!("it is taken back: {all:?}") };
        assert!(text.contains("which SA it replaced is no longer determined"), "{text}");
        // Frames of the SA that seemed to be replaced do.
        said(&mut changes, &with, 2);
        without.sas[0].frames += 1;
        let all = said(&mut changes, &without, 3);
        let [(ChangeKind::RekeyEnds, text)] = all.as_slice() else { panic!("it is taken back: {all:?}") };
        assert!(text.contains("what was seen since contradicts it"), "{text}");
    }

    #[test]
    fn a_rekey_of_another_sa_takes_back_the_first() {
        let (with, _) = reports();
        let mut changes = Changes::default();
        said(&mut changes, &with, 0);
        let mut other = with.clone();
        other.events[0].from_sa = Some(other.sas[2].id.clone());
        let all = said(&mut changes, &other, 1);
        let [(ends, first), (possible, second)] = all.as_slice() else { panic!("two are said: {all:?}") };
        assert_eq!((*ends, *possible), (ChangeKind::RekeyEnds, ChangeKind::RekeyPossible), "{first}, {second}");
        assert!(first.contains("is no longer taken for the rekey of"), "{first}");
        assert_eq!(said(&mut changes, &other, 2), []);
    }
}
