//! What a document says before its sections: subject, answer in a few sentences, key figures, and how sure they are.
//!
//! Every sentence is made of figures. Where one is missing or not determined, its sentence is left out.

pub(super) mod calc;
mod commands;
pub(super) mod pairs;
pub(super) mod report;
pub(super) mod trials;
mod trust;

use jiff::tz::TimeZone;

use super::figures::Sized;
use super::table::Cell;
use crate::model::report::{Finding, Severity};
use crate::report::words::number::{count, decimal, grouped, range};

/// What stands above the sections.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Front {
    /// What it is about.
    pub subject: String,
    /// The day of the captures and the time of the first frame; may be empty.
    pub date: String,
    /// Who made it, where that was said.
    pub author: String,
    /// The answer.
    pub lede: Vec<Sentence>,
    /// Findings by severity, and whether figures are exact.
    pub marks: Vec<TrustMark>,
    /// The few figures to remember.
    pub merits: Vec<Merit>,
    /// Where it was measured, from one end to the other.
    pub stations: Vec<Station>,
    /// How sure it is: a word and a sentence each.
    pub trust: Vec<(String, String)>,
    /// What makes the same outputs again.
    pub commands: Vec<String>,
    /// The captures that takes, each with the digest of what was read.
    pub captures: Vec<String>,
    /// The outputs it is made of: schema names.
    pub sources: Vec<String>,
}

/// A sentence; its figures stand out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sentence(pub Vec<(bool, String)>);

impl Sentence {
    /// Words, and figures between asterisks: `Packets pay *58 to 73 bytes*.` Nothing from outside belongs into it: asterisks in names
    /// would pair with ours.
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('*').enumerate().map(|(n, text)| (n % 2 == 1, text.to_owned())).collect())
    }

    /// Words from outside after it.
    pub(super) fn then(mut self, words: &str) -> Self {
        self.0.push((false, words.to_owned()));
        self
    }

    /// The sentence as it reads.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// A count of findings, or another state, with its severity.
#[derive(Clone, PartialEq, Debug)]
pub struct TrustMark {
    /// How bad it is; `None` for good.
    pub severity: Option<Severity>,
    /// The words.
    pub text: String,
}

/// A figure to remember.
#[derive(Clone, PartialEq, Debug)]
pub struct Merit {
    /// The number, without its unit.
    pub figure: String,
    /// The unit; may be empty.
    pub unit: String,
    /// What it is.
    pub what: String,
    /// A second figure, or how uncertain it is.
    pub detail: String,
}

/// A place on the way of the packets.
#[derive(Clone, PartialEq, Debug)]
pub struct Station {
    /// Whether packets were captured there.
    pub tapped: bool,
    /// Its name.
    pub name: String,
    /// What was seen there.
    pub seen: String,
}

/// Findings by severity, worst first.
fn marks(findings: &[Finding], exact: bool, measured: bool) -> Vec<TrustMark> {
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let mut marks: Vec<TrustMark> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|severity| of(*severity) > 0)
        .map(|severity| TrustMark { severity: Some(severity), text: count(of(severity), severity.name()) })
        .collect();
    if !measured {
        marks.push(TrustMark { severity: Some(Severity::Warning), text: "nothing was measured".to_owned() });
    } else if of(Severity::Error) == 0 {
        let text = if findings.is_empty() { "no findings" } else { "no errors" };
        marks.push(TrustMark { severity: None, text: text.to_owned() });
    }
    if !exact {
        marks.push(TrustMark { severity: Some(Severity::Warning), text: "not exact".to_owned() });
    }
    marks
}

/// `21 November 2026, captures from 04:42 UTC`; empty where no time is known.
fn date(first_ns: Option<i64>, zone: &TimeZone) -> String {
    let moment = first_ns.and_then(|ns| jiff::Timestamp::from_nanosecond(i128::from(ns)).ok());
    moment.map_or_else(String::new, |time| {
        time.to_zoned(zone.clone()).strftime("%-d %B %Y, captures from %H:%M %Z").to_string()
    })
}

/// What packets pay, in a sentence.
fn pays(sized: &Sized<'_>) -> Option<Sentence> {
    let (least, most) = super::figures::overhead::ends(sized)?;
    let sizes = super::figures::overhead::sizes(&sized.rows);
    let verb = if least < 0 { "change by" } else { "pay" };
    let tunnel = if least < 0 { " in the tunnel" } else { " for the tunnel" };
    let busiest =
        if sized.others > 0 { format!(", in the busiest of {} directions", sized.others + 1) } else { String::new() };
    Some(Sentence::new(&format!("{sizes} {verb} *{} bytes*{tunnel}{busiest}.", range(least, most))))
}

/// What a circuit keeps, in a sentence.
fn keeps(sized: &Sized<'_>) -> Option<Sentence> {
    let shares = shares(sized)?;
    let ((small, left), last) = shares;
    let more = last.map_or_else(String::new, |(large, most)| {
        format!("; one of {}-byte packets keeps *{} %*", grouped(large), decimal(most, 0))
    });
    let first = format!("A circuit full of {}-byte packets keeps *{} %*", grouped(small), decimal(left, 0));
    Some(Sentence::new(&format!("{first} of itself for them{more}.")))
}

/// A size and its share of the circuit.
type SizeShare = (u64, f64);

/// The share of the smallest size, and of the largest where it is another. Where compression gains, shares mean nothing.
fn shares(sized: &Sized<'_>) -> Option<(SizeShare, Option<SizeShare>)> {
    let shares: Vec<SizeShare> = sized.rows.iter().filter_map(|row| Some((row.inner, row.share()?))).collect();
    let (first, last) = (*shares.first()?, *shares.last()?);
    let sound = shares.iter().all(|(_, share)| *share <= 100.0);
    sound.then(|| (first, Some(last).filter(|last| last.0 != first.0)))
}

/// The two figures of cost.
fn costs(sized: &Sized<'_>, merits: &mut Vec<Merit>) {
    if let Some((least, most)) = super::figures::overhead::ends(sized) {
        let part = super::figures::overhead::varying(&sized.rows);
        let varies = part.map_or_else(String::new, |part| format!("; {} varies", part.name()));
        let busiest = if sized.others > 0 { "; busiest direction" } else { "" };
        merits.push(Merit {
            figure: if least == most || least < 0 { range(least, most) } else { format!("{least}\u{2013}{most}") },
            unit: "B".to_owned(),
            what: "added to a packet".to_owned(),
            detail: format!("{}{}{varies}{busiest}", if sized.counted == "pairs" { "pairs " } else { "" }, sized.known),
        });
    }
    if let Some(((small, left), last)) = shares(sized) {
        merits.push(Merit {
            figure: decimal(left, 1),
            unit: "%".to_owned(),
            what: format!("of the circuit left at {} B", grouped(small)),
            detail: last
                .map_or_else(String::new, |(large, most)| format!("{} % at {} B", decimal(most, 1), grouped(large))),
        });
    }
}

/// A time split into number and unit.
fn time_of(ns: i64) -> (String, String) {
    let text = Cell::Time(ns).show();
    match text.rsplit_once(' ') {
        // `2 h 05 min` has two units: it stays whole.
        Some((number, unit)) if number.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-' || b == b' ') => {
            (number.to_owned(), unit.to_owned())
        }
        _ => (text, String::new()),
    }
}
