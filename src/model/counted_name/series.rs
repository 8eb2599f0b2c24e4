//! Whether one file name is the next one of a series: one counter goes up, and dates and times change beside it.

use super::{COMPRESSED, CountedName, NameStep, digits, uncompressed};

/// The name of a file, with what tells its counters from dates and times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SeriesName {
    pub(crate) name: CountedName,
    /// How its numbers are written, in their order.
    written: Vec<Written>,
    /// The suffix of its compression.
    compression: &'static str,
    pub(crate) path: String,
}

/// A number as it is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Written {
    /// How many digits, 0 for the number that a name without a number at its end stands for.
    width: usize,
    /// It begins with 0.
    filled: bool,
    /// It is a date, a time, or a part of one.
    is_moment: bool,
}

/// How a name goes on from another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeriesStep {
    /// A counter goes up by one.
    pub(crate) is_next: bool,
    /// No counter stands behind the one that differs.
    pub(crate) is_last: bool,
    /// A counter leaves a number free for another file.
    pub(crate) leaves_room: bool,
    /// Both names are written alike: compressed in the same way, numbers filled up or not.
    pub(crate) is_alike: bool,
}

impl SeriesName {
    pub(crate) fn of(path: &str) -> Self {
        let name = CountedName::of(path);
        let compression = COMPRESSED.into_iter().find(|suffix| path.ends_with(suffix)).unwrap_or("");
        Self { name, written: written(path), compression, path: path.to_owned() }
    }

    /// How `next` follows in the series of this name: at most one counter differs, and it goes up; all else that differs are dates and
    /// times. With two counters, one of them is that of a tap or a port: `eth0_00001`, `eth1_00002`.
    pub(crate) fn step_to(&self, next: &Self) -> Option<SeriesStep> {
        if self.name >= next.name {
            return None;
        }
        let (moments, counters): (Vec<NameStep>, Vec<NameStep>) =
            self.name.steps_to(&next.name).partition(|step| self.is_moment(step.place) && next.is_moment(step.place));
        let is_alike = self.compression == next.compression;
        let Some(step) = counters.first() else {
            let is_next = matches!(&moments[..], [moment] if goes_up(moment));
            return moments.first().map(|_| SeriesStep { is_next, is_last: true, leaves_room: false, is_alike });
        };
        let (own, later) = (self.written.get(step.place)?, next.written.get(step.place)?);
        if counters.len() > 1 || step.to < step.from || !moments.is_empty() && !own.counts_files_to(later) {
            return None;
        }
        Some(SeriesStep {
            is_next: goes_up(step),
            is_last: !self.has_counter_behind(step.place),
            leaves_room: self.leaves_room(step, later),
            is_alike: is_alike && own.is_written_like(later),
        })
    }

    fn has_counter_behind(&self, place: usize) -> bool {
        self.written.iter().skip(place.saturating_add(1)).any(|written| written.width > 0 && !written.is_moment)
    }

    fn is_moment(&self, place: usize) -> bool {
        self.written.get(place).is_some_and(|written| written.is_moment)
    }

    fn leaves_room(&self, step: &NameStep, later: &Written) -> bool {
        /// More digits are a date or a time.
        const DIGITS: usize = 5;
        /// Hours, minutes and seconds alone are so many numbers, with the one that a name without a number at its end stands for.
        const TIME: usize = 4;
        let is_counter = later.width <= DIGITS && (step.place == 0 || self.written.len() < TIME);
        is_counter && step.to.saturating_sub(step.from) > 1
    }
}

impl Written {
    /// Whether it may count files where a date or a time beside it changes as well. In `eth0_20261126` and `eth1_20261127` the digit is that
    /// of a port; dumpcap fills its counter up to five digits.
    const fn counts_files_to(&self, later: &Self) -> bool {
        const FILLED: usize = 3;
        const ANY: usize = 5;
        self.width == later.width && (self.width >= ANY || self.filled && self.width >= FILLED)
    }

    /// Whether one counter writes both numbers: `9` and `10`, `09` and `10`, but not `1` and `02`.
    const fn is_written_like(&self, later: &Self) -> bool {
        self.width == later.width || !self.filled && !later.filled && self.width < later.width
    }
}

fn goes_up(step: &NameStep) -> bool {
    step.from.checked_add(1) == Some(step.to)
}

/// How the numbers of a path's file name are written.
fn written(path: &str) -> Vec<Written> {
    let name = uncompressed(path).1;
    let digits = digits(path);
    let moments = moments(name, &digits);
    let one = |(at, digits): (usize, &&str)| Written {
        width: digits.len(),
        filled: digits.starts_with('0') && digits.len() > 1,
        is_moment: moments.get(at).copied().unwrap_or(false),
    };
    digits.iter().enumerate().map(one).collect()
}

/// Which numbers of a name are dates and times, or parts of them: `20261122060000`, `2026-11-22T06-00-00`, `20261126-1210`.
fn moments(name: &str, digits: &[&str]) -> Vec<bool> {
    let gaps = gaps(name);
    let alone = digits.iter().map(|digits| is_alone(digits));
    let mut moments: Vec<bool> = alone.collect();
    let mut at = 0;
    while at < digits.len() {
        let parts = parts_of_date(digits.get(at..).unwrap_or_default(), gaps.get(at..).unwrap_or_default());
        moments.iter_mut().skip(at).take(parts).for_each(|moment| *moment = true);
        at += parts.max(1);
    }
    moments
}

/// How many characters stand behind each number of a name, before the next one.
fn gaps(name: &str) -> Vec<usize> {
    let start = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let texts = name.get(start..).unwrap_or_default().split(|c: char| c.is_ascii_digit());
    texts.map(|text| text.chars().count()).filter(|count| *count > 0).collect()
}

/// Whether digits alone are a moment: with six digits and more, as dates and times have them.
fn is_alone(digits: &str) -> bool {
    let is_time = || pair(digits, 0, 0..=23) && pair(digits, 2, 0..=59) && pair(digits, 4, 0..=60);
    match digits.len() {
        6 => is_time() || pair(digits, 2, 1..=12) && pair(digits, 4, 1..=31),
        8 => is_day(digits) || is_year(digits.get(4..).unwrap_or_default()),
        12 | 14 => is_day(digits),
        // Since the epoch, or with parts of a second.
        10 | 13 | 15.. => true,
        _ => false,
    }
}

/// How many of these numbers are a written date and the time behind it, with one character between them.
fn parts_of_date(digits: &[&str], gaps: &[usize]) -> usize {
    /// Of a year, a month, a day, an hour, a minute and a second.
    const RANGES: [(u32, u32); 5] = [(1, 12), (1, 31), (0, 23), (0, 59), (0, 60)];
    let Some((first, rest)) = digits.split_first() else { return 0 };
    let joined = |at: usize| gaps.get(at) == Some(&1);
    if first.len() == 8 && is_day(first) {
        // `20261126-1210`, `20261126_12_10_00`
        let times = rest.iter().enumerate().take(3);
        let of_time =
            |(at, digits): &(usize, &&str)| joined(*at) && matches!(digits.len(), 2 | 4) && pair(digits, 0, 0..=59);
        return 1 + times.take_while(of_time).count();
    }
    if first.len() != 4 || !is_year(first) {
        return 0;
    }
    let parts = rest.iter().zip(RANGES).enumerate();
    let parts = parts
        .take_while(|(at, (digits, (low, high)))| joined(*at) && digits.len() == 2 && pair(digits, 0, *low..=*high));
    let count = parts.count();
    let time = rest.get(2).filter(|time| count == 2 && joined(2) && time.len() == 4 && pair(time, 0, 0..=23));
    // A year alone may be any number.
    if count < 2 { 0 } else { 1 + count + usize::from(time.is_some()) }
}

fn is_year(digits: &str) -> bool {
    digits.get(..4).and_then(|year| year.parse::<u32>().ok()).is_some_and(|year| (1970..=2099).contains(&year))
}

fn is_day(digits: &str) -> bool {
    is_year(digits) && pair(digits, 4, 1..=12) && pair(digits, 6, 1..=31)
}

/// Whether the two digits at a place are in a range.
fn pair(digits: &str, at: usize, range: std::ops::RangeInclusive<u32>) -> bool {
    digits.get(at..at + 2).and_then(|pair| pair.parse().ok()).is_some_and(|value| range.contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(own: &str, next: &str) -> Option<SeriesStep> {
        SeriesName::of(own).step_to(&SeriesName::of(next))
    }

    fn counts(own: &str, next: &str) -> bool {
        step(own, next).is_some_and(|step| step.is_next)
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
            ("cap_00003_2026-11-22_06-59-59.pcap", "cap_00004_2026-11-22_07-00-00.pcap"),
            ("2026-11-26T12:10:00_west.pcap", "2026-11-26T12:11:00_west.pcap"),
            ("20261126-1210-west_00001.pcap", "20261126-1220-west_00002.pcap"),
            ("eth0_00001.pcap", "eth0_00002.pcap"),
            ("99999999999999999999999999999999999998", "99999999999999999999999999999999999999"),
        ] {
            assert!(counts(own, next), "{own} {next}");
            assert!(!counts(next, own), "{next} {own}");
            assert!(SeriesName::of(own) < SeriesName::of(next), "{own} {next}");
        }
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

    #[test]
    fn two_counters_are_of_two_taps() {
        for (own, next) in [
            ("eth0_00001.pcap", "eth1_00002.pcap"),
            ("tap1_00001_20261126120000.pcap", "tap2_00002_20261126120100.pcap"),
            ("tap1_20261126120000.pcap", "tap2_20261126120100.pcap"),
            ("port1.pcap1", "port2.pcap2"),
            ("port1.pcap", "port2.pcap1"),
            ("vlan100_20261126.pcap", "vlan101_20261127.pcap"),
        ] {
            assert_eq!(step(own, next), None, "{own} {next}");
        }
    }

    #[test]
    fn one_counter_writes_its_names_alike() {
        let alike = |own: &str, next: &str| step(own, next).expect("a series").is_alike;
        assert!(alike("t.pcap", "t.pcap1") && alike("t.pcap9", "t.pcap10") && alike("t.pcap09.gz", "t.pcap10.gz"));
        assert!(!alike("t.pcap", "t.pcap01") && !alike("t.pcap1", "t.pcap02") && !alike("t.pcap1", "t.pcap2.gz"));
        assert_eq!(step("t.pcap1", "t.pcap01.gz"), None);
    }

    #[test]
    fn dates_and_times_leave_no_room_for_a_file() {
        let room = |own: &str, next: &str| step(own, next).expect("a series").leaves_room;
        assert!(room("t.pcap1", "t.pcap3") && room("cap_00003_20261122.pcap", "cap_00005_20261122.pcap"));
        assert!(!room("t.pcap1", "t.pcap2"));
        assert!(!room("cap-20261122.pcap", "cap-20261124.pcap"));
        assert!(!room("20261126-1210-west.pcap", "20261126-1220-west.pcap"));
        assert!(!room("2026-11-26_06-00.pcap", "2026-11-26_06-05.pcap"));
    }
}
