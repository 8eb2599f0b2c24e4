//! Numbers that are missing between the names of a tap's files.
//!
//! A number proves that a file of that number was not given, if it counts files. Numbers that may be dates or times of day are left
//! alone, and so are numbers for which nothing shows that they count.

use std::collections::HashMap;

use super::super::super::time::duration;
use super::super::occurrences::keep_first_and_last;
use super::super::{Draft, Tap};
use crate::analysis::Succession;
use crate::model::counted_name::{CountedName, NameStep, digits};
use crate::model::report::{Capture, Finding, Occurrence, Report, Severity};

/// Numbers of this size are moments, not counts of files.
const MOMENT: u128 = 10_000_000;

/// A number counts where it was one more from file to file at least so often, and more often than it was not.
const STEPS: u64 = 2;

/// What a counter of `tcpdump -C` follows.
const EXTENSIONS: [&str; 4] = [".pcap#", ".pcapng#", ".cap#", ".dmp#"];

/// An input by its name.
struct NamedInput<'r> {
    name: CountedName,
    path: &'r str,
    /// Its tap, its place among the tap's captures, and the capture.
    read: Option<(usize, usize, u32, &'r Capture)>,
}

/// Two files of a tap between whose numbers no input has one.
struct FileStep<'g, 'r> {
    tap: usize,
    place: usize,
    id: u32,
    before: &'g NamedInput<'r>,
    after: &'g NamedInput<'r>,
    number: NameStep,
    pause_ns: i64,
}

/// The number in question of one series of names: which tap, which text, which number.
type NameSeries<'g> = (usize, &'g str, usize);

pub(in crate::analysis::finish) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], report: &Report) {
    let given = given(taps, report);
    let steps: Vec<FileStep<'_, '_>> = given
        .windows(2)
        .filter_map(|pair| match pair {
            [before, after] => step(before, after),
            _ => None,
        })
        .collect();
    // How often each number was one more, and how often it was not.
    let mut counts: HashMap<NameSeries<'_>, (u64, u64)> = HashMap::new();
    for step in &steps {
        let (ones, others) = counts.entry(series(step)).or_default();
        if step.absent() == 0 {
            *ones = ones.saturating_add(1);
        } else {
            *others = others.saturating_add(1);
        }
    }
    let counts_files = |step: &&FileStep<'_, '_>| {
        let (ones, others) = counts.get(&series(step)).copied().unwrap_or_default();
        step.absent() > 0 && step.is_counter(ones >= STEPS && ones > others)
    };
    // Where two files are all that there is, their numbers may stand for something else.
    let proved = |step: &FileStep<'_, '_>| counts.get(&series(step)).is_some_and(|(ones, others)| ones > others);
    for (at, tap) in taps.iter().enumerate() {
        let missing: Vec<&FileStep<'_, '_>> = steps.iter().filter(|step| step.tap == at).filter(counts_files).collect();
        let proved = missing.iter().any(|step| proved(step));
        findings.extend(finding(tap, &missing, proved));
    }
}

/// All inputs, in the order of their names.
fn given<'r>(taps: &'r [Tap<'_>], report: &'r Report) -> Vec<NamedInput<'r>> {
    let mut given = Vec::new();
    for (at, tap) in taps.iter().enumerate() {
        for (place, &id) in tap.captures.iter().enumerate() {
            let Some(capture) = report.captures.get(id as usize) else { continue };
            let (name, path) = (CountedName::of(&capture.path), capture.path.as_str());
            given.push(NamedInput { name, path, read: Some((at, place, id, capture)) });
        }
    }
    let others = taps.first().map_or(&[][..], |tap| tap.also_given);
    given.extend(others.iter().map(|path| NamedInput { name: CountedName::of(path), path, read: None }));
    // Of a name that is there twice, plain and compressed, the one that counts.
    given.sort_by(|a, b| (&a.name, a.read.is_none()).cmp(&(&b.name, b.read.is_none())));
    given.dedup_by(|later, first| later.name == first.name);
    given
}

/// From one file of a tap to the one that it goes on with.
fn step<'g, 'r>(before: &'g NamedInput<'r>, after: &'g NamedInput<'r>) -> Option<FileStep<'g, 'r>> {
    let ((tap, own_place, _, own), (later_tap, place, id, later)) = before.read.zip(after.read)?;
    let pause_ns = later.first_ns?.checked_sub(own.last_ns?)?;
    let follows = tap == later_tap && own_place.checked_add(1) == Some(place) && pause_ns >= 0;
    let number = before.name.step_to(&after.name).filter(|_| follows)?;
    Some(FileStep { tap, place, id, before, after, number, pause_ns })
}

fn series<'g>(step: &FileStep<'g, '_>) -> NameSeries<'g> {
    (step.tap, step.before.name.text.as_str(), step.number.place)
}

impl FileStep<'_, '_> {
    /// Numbers between the two.
    fn absent(&self) -> u64 {
        let NameStep { from, to, .. } = self.number;
        u64::try_from(to.saturating_sub(from).saturating_sub(1)).unwrap_or(u64::MAX)
    }

    /// Whether the number counts files. `counted`: other files show that it does.
    fn is_counter(&self, counted: bool) -> bool {
        let NameStep { place, from, to } = self.number;
        let (own, next) = (digits(self.before.path), digits(self.after.path));
        let (Some(first), Some(second)) = (own.get(place), next.get(place)) else { return false };
        if to >= MOMENT {
            return false;
        }
        if place.checked_add(1) == Some(own.len()) && EXTENSIONS.iter().any(|end| self.before.name.text.ends_with(end))
        {
            return true;
        }
        let width = first.len();
        let dated = own.iter().enumerate().any(|(at, digits)| at != place && is_date(digits));
        let full_minute = from % 100 == 59 && to % 100 == 0;
        if is_date(first) || is_date(second) || full_minute || dated && matches!(width, 0..=4 | 6) {
            return false;
        }
        // Days, months, hours and minutes have two digits, their pairs four, and three of them six.
        let filled = first.starts_with('0') && width == second.len() && width >= 3 && !matches!(width, 4 | 6);
        filled || counted
    }

    /// `number 2`, `numbers 2 to 9`.
    fn numbers(&self) -> String {
        let NameStep { from, to, .. } = self.number;
        let (first, last) = (from.saturating_add(1), to.saturating_sub(1));
        if first == last { format!("number {first}") } else { format!("numbers {first} to {last}") }
    }
}

/// Whether digits may be a year, a date, or a date with the time.
fn is_date(digits: &str) -> bool {
    let number = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let is_day = |from: usize| {
        let (month, day) =
            (number(from, from.saturating_add(2)), number(from.saturating_add(2), from.saturating_add(4)));
        matches!((month, day), (Some(1..=12), Some(1..=31)))
    };
    let has_year = matches!(number(0, 4), Some(1970..=2099));
    match digits.len() {
        4 => has_year || is_day(0),
        6 => is_day(2),
        8 => has_year && is_day(4) || matches!(number(4, 8), Some(1970..=2099)),
        // With the time, or a moment since the epoch.
        10.. => true,
        _ => false,
    }
}

/// One finding for a tap. `proved`: other files show that the numbers count files.
fn finding(tap: &Tap<'_>, missing: &[&FileStep<'_, '_>], proved: bool) -> Option<Finding> {
    let (first, more) = missing.split_first()?;
    let files = if first.absent() == 1 { "No file" } else { "No files" };
    let mut evidence = format!(
        "{files} with {} given (between {} and {}, pause {}).",
        first.numbers(),
        first.before.path,
        first.after.path,
        duration(first.pause_ns)
    );
    evidence.push_str(&said_by_numbers(border(tap, first)));
    let absent = missing.iter().fold(0u64, |sum, step| sum.saturating_add(step.absent()));
    if !more.is_empty() {
        let places =
            if more.len() == 1 { "at 1 more place".to_owned() } else { format!("at {} more places", more.len()) };
        evidence.push_str(&format!(" Numbers are missing {places}, {absent} in all."));
    }
    let lost = missing.iter().any(|step| border(tap, step).missing > 0);
    let severity = if lost && proved { Severity::Warning } else { Severity::Note };
    let mut occurrences: Vec<Occurrence> = missing.iter().map(|step| occurrence(step)).collect();
    let total = occurrences.len() as u64;
    keep_first_and_last(&mut occurrences);
    let draft = Draft::new("capture-file-missing", evidence).at(tap).count(total).severity(severity);
    Some(draft.named(occurrences, total).done())
}

/// How the tap's capture goes on from the one before it.
fn border(tap: &Tap<'_>, step: &FileStep<'_, '_>) -> Succession {
    tap.borders.get(step.place).copied().flatten().unwrap_or_default()
}

/// What the sequence numbers say of the packets between two files.
fn said_by_numbers(border: Succession) -> String {
    let Succession { shared, joined, missing, .. } = border;
    if missing > 0 {
        let numbers =
            if missing == 1 { "1 sequence number is".to_owned() } else { format!("{missing} sequence numbers are") };
        return format!(" {numbers} missing at this border.");
    }
    match (shared, joined) {
        (_, 0) => {
            " Whether packets are missing there is not determined: no SA goes on from one file to the other.".to_owned()
        }
        (1, _) => " The sequence numbers of the SA in both files go on without a gap.".to_owned(),
        _ => format!(" The sequence numbers of {joined} of {shared} SAs in both files go on without a gap."),
    }
}

fn occurrence(step: &FileStep<'_, '_>) -> Occurrence {
    let time_ns = step.after.read.and_then(|(.., capture)| capture.first_ns);
    let what = format!("the first frame after the missing {}", step.numbers());
    Occurrence { capture: step.id, frame: 1, time_ns, count: 1, what }
}
