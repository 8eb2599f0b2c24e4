//! Several outputs on one page. Outputs of the same captures are one measurement; figures of different ones stand side by side and are
//! never added.

use super::front::{Front, Sentence, TrustMark};
use super::{Block, Cell, Document, KeyFigure, Section, View};
use crate::model::pairs::MatchReport;
use crate::model::report::{Capture, Report};
use crate::model::trials::TrialsReport;
use crate::transform::calculation::Calculation;

/// Key figures of one page.
const MERITS: usize = 8;
/// Key figures of one measurement.
const MERITS_OF_ONE: usize = 4;

/// A JSON output of this program.
#[derive(Clone, Debug)]
pub enum Output {
    /// Of `report`, `check` or `merge`.
    Report(Box<Report>),
    /// Of `match`.
    Match(Box<MatchReport>),
    /// Of `trials`.
    Trials(Box<TrialsReport>),
    /// Of `calc`.
    Calculation(Box<Calculation>),
}

impl Output {
    fn document(&self, view: &View) -> Document {
        match self {
            Self::Report(report) => super::report(report, view),
            Self::Match(report) => super::pairs(report, view),
            Self::Trials(report) => super::trials(report, view),
            Self::Calculation(answer) => super::calculation(answer),
        }
    }

    /// Name of its schema.
    #[must_use]
    pub const fn schema(&self) -> &'static str {
        match self {
            Self::Report(report) => report.schema.name(),
            Self::Match(report) => report.schema.name(),
            Self::Trials(report) => report.schema.name(),
            Self::Calculation(answer) => answer.schema.name(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Report(_) => "report",
            Self::Match(_) => "match",
            Self::Trials(_) => "trials",
            Self::Calculation(_) => "calculation",
        }
    }

    /// What tells its captures from others.
    fn captures(&self) -> Vec<(&str, u64, Option<i64>)> {
        let key = |capture: &'_ Capture| -> (u64, Option<i64>) { (capture.frames, capture.first_ns) };
        let of = |captures: &'_ [Capture]| captures.iter().map(key).collect::<Vec<_>>();
        let (captures, keys): (Vec<&Capture>, Vec<(u64, Option<i64>)>) = match self {
            Self::Report(report) => (report.captures.iter().collect(), of(&report.captures)),
            Self::Match(report) => {
                let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()];
                let all: Vec<&Capture> = sides.into_iter().flatten().flat_map(|side| &side.captures).collect();
                let keys = all.iter().map(|capture| key(capture)).collect();
                (all, keys)
            }
            Self::Trials(report) => {
                let all: Vec<&Capture> = report.taps.iter().flat_map(|tap| &tap.captures).collect();
                let keys = all.iter().map(|capture| key(capture)).collect();
                (all, keys)
            }
            Self::Calculation(_) => (Vec::new(), Vec::new()),
        };
        captures
            .into_iter()
            .zip(keys)
            .map(|(capture, (frames, first))| (capture.path.as_str(), frames, first))
            .collect()
    }
}

/// An output with its place on the page.
struct Part {
    document: Document,
    kind: &'static str,
    /// The measurement it is of, from 0; `None` for calculations.
    measurement: Option<usize>,
    /// What tells its sections from those of the others.
    label: String,
    captures: Vec<String>,
}

/// The document of several outputs; of one, its own. A title and an author replace what the outputs give.
#[must_use]
pub fn combined(outputs: &[Output], view: &View, title: Option<&str>, author: Option<&str>) -> Document {
    let mut document = match outputs {
        [one] => one.document(view),
        several => together(several, view),
    };
    if let Some(title) = title {
        title.clone_into(&mut document.front.subject);
    }
    if let Some(author) = author {
        author.clone_into(&mut document.front.author);
    }
    document
}

fn together(outputs: &[Output], view: &View) -> Document {
    let parts = parts(outputs, view);
    let measurements = parts.iter().filter_map(|part| part.measurement).max().map_or(0, |last| last + 1);
    let mut document = Document { front: front(&parts, measurements), ..Document::default() };
    if measurements > 1 {
        document.sections.push(overview(&parts, measurements));
    }
    for (output, part) in parts.into_iter().enumerate() {
        let label = part.label;
        document.sections.extend(part.document.sections.into_iter().map(|mut section| {
            section.of_output(output);
            let heading = if section.title.is_empty() { section.name } else { &section.title };
            let title = if label.is_empty() { heading.to_owned() } else { format!("{heading} ({label})") };
            Section { title, ..section }
        }));
    }
    document
}

/// Outputs that share a capture are of one measurement.
fn parts(outputs: &[Output], view: &View) -> Vec<Part> {
    let mut measured: Vec<Vec<(&str, u64, Option<i64>)>> = Vec::new();
    let mut places = Vec::new();
    for output in outputs {
        let captures = output.captures();
        if matches!(output, Output::Calculation(_)) {
            places.push(None);
            continue;
        }
        let known = measured.iter().position(|own| captures.iter().any(|capture| own.contains(capture)));
        let at = known.unwrap_or(measured.len());
        match measured.get_mut(at) {
            Some(own) => own.extend(captures),
            None => measured.push(captures),
        }
        places.push(Some(at));
    }
    let same = |kind: &str, place: Option<usize>| {
        outputs.iter().zip(&places).filter(|(other, own)| other.kind() == kind && **own == place).count()
    };
    let mut parts: Vec<Part> = Vec::new();
    for (output, place) in outputs.iter().zip(&places) {
        let mut words = Vec::new();
        if let Some(at) = place.filter(|_| measured.len() > 1) {
            words.push(format!("measurement {}", at + 1));
        }
        if outputs.iter().zip(&places).filter(|(_, own)| *own == place).count() > 1 || place.is_none() {
            let before = parts.iter().filter(|part| part.kind == output.kind() && part.measurement == *place).count();
            let number = if same(output.kind(), *place) > 1 { format!(" {}", before + 1) } else { String::new() };
            words.push(format!("{}{number}", output.kind()));
        }
        parts.push(Part {
            document: output.document(view),
            kind: output.kind(),
            measurement: *place,
            label: words.join(", "),
            captures: output.captures().into_iter().map(|(path, ..)| path.to_owned()).collect(),
        });
    }
    parts
}

/// Which captures each measurement is of.
fn overview(parts: &[Part], measurements: usize) -> Section {
    let mut section = Section::noted("Measurements", "Figures of different measurements are not added.");
    let of = |n: usize| {
        let own = parts.iter().filter(|part| part.measurement == Some(n));
        let mut captures: Vec<&str> = own.flat_map(|part| part.captures.iter().map(String::as_str)).collect();
        captures.sort_unstable();
        captures.dedup();
        let more = captures.len().saturating_sub(4);
        captures.truncate(4);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = if captures.is_empty() { "no capture".to_owned() } else { captures.join(", ") };
        KeyFigure { figure: Cell::text(format!("{}", n + 1)), meaning: format!("{names}{more}") }
    };
    section.blocks.push(Block::KeyFigures((0..measurements).map(of).collect()));
    section
}

fn front(parts: &[Part], measurements: usize) -> Front {
    let mut front = Front::default();
    let subjects = || parts.iter().filter(|part| part.measurement.is_some() || measurements == 0);
    // Pairs say most about one measurement.
    let first = subjects().find(|part| part.kind == "match").or_else(|| subjects().next());
    let alike =
        subjects().all(|part| Some(&part.document.front.subject) == first.map(|first| &first.document.front.subject));
    front.subject = match first {
        Some(first) if measurements <= 1 || alike => first.document.front.subject.clone(),
        _ => format!("{measurements} measurements"),
    };
    front.date =
        subjects().map(|part| part.document.front.date.clone()).find(|date| !date.is_empty()).unwrap_or_default();
    for part in parts {
        let own = &part.document.front;
        let labelled =
            |text: &str| if part.label.is_empty() { text.to_owned() } else { format!("{}: {text}", part.label) };
        if measurements > 1 || part.measurement.is_none() {
            front.lede.extend(own.lede.first().map(|_| Sentence::default().then(&capital(&labelled("")))));
        }
        front.lede.extend(own.lede.iter().filter(|own| !front.lede.contains(own)).cloned().collect::<Vec<_>>());
        front.marks.extend(own.marks.iter().map(|mark| TrustMark { text: labelled(&mark.text), ..mark.clone() }));
        for (word, sentence) in &own.trust {
            let row = (
                if part.label.is_empty() { word.clone() } else { format!("{word} ({})", part.label) },
                sentence.clone(),
            );
            front.trust.push(row);
        }
        front
            .commands
            .extend(own.commands.iter().filter(|own| !front.commands.contains(own)).cloned().collect::<Vec<_>>());
        front
            .captures
            .extend(own.captures.iter().filter(|own| !front.captures.contains(own)).cloned().collect::<Vec<_>>());
        front
            .sources
            .extend(own.sources.iter().filter(|own| !front.sources.contains(own)).cloned().collect::<Vec<_>>());
    }
    merits(&mut front, parts, measurements);
    if measurements == 1 {
        let stations = || subjects().map(|part| &part.document.front.stations).filter(|stations| !stations.is_empty());
        front.stations = stations().max_by_key(|stations| stations.len()).cloned().unwrap_or_default();
    }
    front
}

/// Key figures: of one measurement those of its outputs that are different things; of several each with its label.
fn merits(front: &mut Front, parts: &[Part], measurements: usize) {
    let mut order: Vec<&Part> = parts.iter().collect();
    order.sort_by_key(|part| (part.measurement.is_none(), part.measurement, part.kind != "match"));
    for part in order {
        for merit in &part.document.front.merits {
            let own = |other: &(Option<usize>, String)| *other == (part.measurement, merit.what.clone());
            let taken: Vec<(Option<usize>, String)> =
                front.merits.iter().map(|other| (part.measurement, other.what.clone())).collect();
            if front.merits.len() >= MERITS
                || (measurements <= 1 && (taken.iter().any(own) || taken.len() >= MERITS_OF_ONE))
            {
                continue;
            }
            let mut merit = merit.clone();
            if measurements > 1 {
                let detail = if merit.detail.is_empty() { String::new() } else { format!("; {}", merit.detail) };
                merit.detail = format!("{}{detail}", part.label);
            }
            front.merits.push(merit);
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
