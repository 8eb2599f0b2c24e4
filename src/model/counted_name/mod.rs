//! File names that count on: `trace.pcap3` after `trace.pcap2`, `cap_00002_20261122.pcap.gz` after `cap_00001_20261121.pcap`.

use std::path::Path;

/// Suffixes that a compressed file has after its own name.
const COMPRESSED: [&str; 6] = [".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4"];

/// A path as its text, with a mark in the place of each number of the file name, and the numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CountedName {
    /// Equal in all files of a rotation.
    pub(crate) text: String,
    numbers: Vec<Number>,
}

/// From one name to another with the same text: the first number that differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NameStep {
    /// Which number of the name it is, from 0.
    pub(crate) place: usize,
    pub(crate) from: u128,
    pub(crate) to: u128,
}

/// A number of any length: how many digits, and the digits without leading zeros.
type Number = (usize, String);

impl CountedName {
    pub(crate) fn of(path: &str) -> Self {
        let (path, name) = uncompressed(path);
        let mut text = path.strip_suffix(name).unwrap_or_default().to_owned();
        let mut numbers: Vec<Number> = Vec::new();
        let mut digits = String::new();
        // A name without a number at its end is the one before number 1: `trace.pcap`, `trace.pcap1`.
        let end = if name.ends_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
        for c in name.chars().chain(end.chars()).map(Some).chain([None]) {
            match c {
                Some(digit) if digit.is_ascii_digit() => digits.push(digit),
                other => {
                    if !digits.is_empty() {
                        let significant = digits.trim_start_matches('0');
                        numbers.push((significant.len(), significant.to_owned()));
                        text.push('#');
                        digits.clear();
                    }
                    text.extend(other);
                }
            }
        }
        Self { text, numbers }
    }

    /// Whether `next` is the name of the file that a counter writes after this one: the first number that differs is one more.
    pub(crate) fn counts_on_to(&self, next: &Self) -> bool {
        self.step_to(next).is_some_and(|step| step.from.checked_add(1) == Some(step.to))
    }

    /// Whether a counter leaves a number free between this name and `next`, which may be that of another file. Dates and times are no counters.
    pub(crate) fn leaves_room(&self, next: &Self) -> bool {
        /// More digits are a date or a time.
        const DIGITS: usize = 5;
        /// Year, month and day alone are so many numbers, with the one that a name without a number at its end stands for.
        const DATE: usize = 4;
        let digits = |place: usize| next.numbers.get(place).map_or(0, |number| number.0);
        let is_counter =
            |step: &NameStep| digits(step.place) <= DIGITS && (step.place == 0 || self.numbers.len() < DATE);
        self.step_to(next).is_some_and(|step| is_counter(&step) && step.to.saturating_sub(step.from) > 1)
    }

    /// The first number that differs; `None` where the texts do, or no number.
    pub(crate) fn step_to(&self, next: &Self) -> Option<NameStep> {
        let value = |number: &Number| if number.0 == 0 { Some(0) } else { number.1.parse::<u128>().ok() };
        let same = self.text == next.text && self.numbers.len() == next.numbers.len();
        let mut numbers = self.numbers.iter().zip(&next.numbers).enumerate().filter(|_| same);
        let (place, (own, next)) = numbers.find(|(_, (own, next))| own != next)?;
        Some(NameStep { place, from: value(own)?, to: value(next)? })
    }
}

/// The path and the name of a file without the suffix of its compression.
fn uncompressed(path: &str) -> (&str, &str) {
    let path = COMPRESSED.iter().find_map(|suffix| path.strip_suffix(suffix)).unwrap_or(path);
    (path, Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path))
}

/// The numbers of a file name as they are written; the one that a name without a number at its end stands for has no digits.
pub(crate) fn digits(path: &str) -> Vec<&str> {
    let (_, name) = uncompressed(path);
    let implied = Some("").filter(|_| !name.ends_with(|c: char| c.is_ascii_digit()));
    name.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).chain(implied).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(own: &str, next: &str) -> bool {
        CountedName::of(own).counts_on_to(&CountedName::of(next))
    }

    #[test]
    fn names_of_rotations_count_on() {
        for (own, next) in [
            ("t.pcap", "t.pcap1"),
            ("t.pcap9", "t.pcap10"),
            ("a/rot-00009.pcap", "a/rot-00010.pcap"),
            ("rot-1.pcap", "rot-2.pcap.gz"),
            ("rot-1.pcap.zst", "rot-2.pcap.zst"),
            ("cap_00003_20261122060000.pcap", "cap_00004_20261122060100.pcap"),
            ("99999999999999999999999999999999999998", "99999999999999999999999999999999999999"),
        ] {
            assert!(counts(own, next), "{own} {next}");
            assert!(!counts(next, own), "{next} {own}");
            assert!(CountedName::of(own) < CountedName::of(next), "{own} {next}");
        }
    }

    #[test]
    fn digits_are_those_of_the_numbers() {
        for path in ["a1/cap_00003_20261122060000.pcap.gz", "t.pcap", "t.pcap9", "-", "007"] {
            assert_eq!(digits(path).len(), CountedName::of(path).numbers.len(), "{path}");
        }
        assert_eq!(digits("a1/cap_00003_20261122060000.pcap.gz"), ["00003", "20261122060000", ""]);
        assert_eq!(digits("t.pcap9"), ["9"]);
    }

    #[test]
    fn other_names_do_not() {
        for (own, next) in [
            ("t.pcap1", "t.pcap3"),
            ("a/t.pcap1", "b/t.pcap2"),
            ("west1.pcap", "east2.pcap"),
            ("t.pcap", "t.pcap.gz"),
            ("cap-20261122.pcap", "cap-20261124.pcap"),
            ("t1-5.pcap", "t1-5.pcap"),
            ("-", "-"),
        ] {
            assert!(!counts(own, next), "{own} {next}");
        }
    }
}
