//! Traffic of each SA over time: the sums of its frames, bin by bin, whatever way they were counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp, one_hop_further};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{items, number, scratch, spiglass, text, write_file};

const MS: u64 = 1_000_000;
/// Preamble, interframe gap and FCS.
const AROUND: u64 = 24;

fn report(args: &[&str], file: &Path) -> Value {
    spiglass(&[&["report", "--format", "json", "-q"], args, &[file.to_str().unwrap()]].concat()).json()
}

fn written(name: &str, frames: &[Out]) -> PathBuf {
    write_file(&scratch("sa-bins"), name, &plain_pcap(frames))
}

/// Frames, layer 1 and layer 3 octets by SPI and beginning of the bin.
type Sums = BTreeMap<(u64, u64), (u64, u64, u64)>;

/// What the report says.
fn told(report: &Value) -> Sums {
    let row = |bin: &Value| {
        let spi = number(report, &format!("sas.{}.spi", number(bin, "sa")));
        let of = |member| number(bin, member);
        ((spi, of("start_ns")), (of("frames"), of("l1_bytes"), of("l3_bytes")))
    };
    let rows: Vec<_> = items(report, "rates.sa_bins").iter().map(row).collect();
    assert!(rows.is_sorted_by(|a, b| a.0 != b.0));
    rows.into_iter().collect()
}

/// What the frames are.
fn made(frames: &[Out], width: u64) -> Sums {
    let mut sums = Sums::new();
    for frame in frames {
        let spi = u64::from(u32::from_be_bytes(frame.data[34..38].try_into().unwrap()));
        // The file has microseconds.
        let time = frame.time_ns / 1_000 * 1_000;
        let sum = sums.entry((spi, time / width * width)).or_default();
        let bytes = frame.data.len() as u64;
        *sum = (sum.0 + 1, sum.1 + bytes.max(60) + AROUND, sum.2 + bytes - 14);
    }
    sums
}

/// Three SAs: numbers without a gap, sizes that change, and one that stops and another that begins.
fn traffic(frames: u64) -> Vec<Out> {
    let mut noise = Noise(3);
    let mut numbers = BTreeMap::<u32, u32>::new();
    (0..frames)
        .map(|n| {
            let spi = match n % 4 {
                0 => 0x1001,
                1 | 2 if n < frames / 2 => 0x2002,
                1 | 2 => 0x3003,
                _ => 0x1001 + (n % 8 / 7 * 0x1001) as u32,
            };
            let number = numbers.entry(spi).or_default();
            *number += 1;
            let bytes = if n % 50 < 40 { 80 } else { 16 + 4 * (n % 40) as usize };
            Out::whole(START + n * 3 * MS + n % 5 * 100_000, esp(R1, R2, spi, *number, &noise.bytes(bytes)))
        })
        .collect()
}

#[test]
fn bins_hold_the_frames_of_each_sa() {
    let frames = traffic(6_000);
    let file = written("three.pcap", &frames);
    for (bin, width) in [("1s", 1_000 * MS), ("100ms", 100 * MS), ("7ms", 7 * MS)] {
        for jobs in ["1", "3"] {
            let report = report(&["--bin", bin, "--jobs", jobs], &file);
            // Times are microseconds past a second's multiple; 7 ms are none of a second.
            assert_eq!(told(&report), made(&frames, width), "{bin}");
            for (n, sa) in items(&report, "sas").iter().enumerate() {
                let own = |bin: &&Value| number(bin, "sa") == n as u64;
                let bins = || items(&report, "rates.sa_bins").iter().filter(own);
                assert_eq!(bins().map(|bin| number(bin, "frames")).sum::<u64>(), number(sa, "frames"));
                assert_eq!(bins().map(|bin| number(bin, "l3_bytes")).sum::<u64>(), number(sa, "outer_bytes"));
                assert!(bins().all(|bin| number(bin, "bin_ns") == width));
            }
        }
    }
}

#[test]
fn copies_of_a_tap_are_in_no_bin() {
    let once = traffic(800);
    let copy = |frame: &Out| Out::whole(frame.time_ns + 20_000, one_hop_further(&frame.data));
    let twice: Vec<Out> = once.iter().flat_map(|frame| [frame.clone(), copy(frame)]).collect();
    let report = report(&["--bin", "100ms"], &written("copies.pcap", &twice));
    assert!(items(&report, "findings").iter().any(|finding| text(finding, "code") == "tap-copies"));
    assert_eq!(told(&report), made(&once, 100 * MS));
}

/// Beyond so many bins neighbours are joined, two to one, as often as it takes and no more; that is no loss.
#[test]
fn too_many_bins_are_joined_and_their_width_says_so() {
    let frames = traffic(20_000);
    let report = report(&["--bin", "1us"], &written("narrow.pcap", &frames));
    let bins = items(&report, "rates.sa_bins");
    let width = number(&bins[0], "bin_ns");
    assert!((width / 1_000).is_power_of_two() && width > 1_000, "{width}");
    assert!(bins.iter().all(|bin| number(bin, "bin_ns") == width));
    assert_eq!(told(&report), made(&frames, width));
    assert!(bins.len() <= 8_192 && made(&frames, width / 2).len() > 8_192, "{} of {width} ns", bins.len());
    assert_eq!(text(&report, "exactness"), "exact");
}

#[test]
fn of_many_sas_the_busiest_are_listed() {
    let mut noise = Noise(5);
    let frames: Vec<Out> = (0..40_u32)
        .flat_map(|sa| (0..=sa % 10).map(move |n| (sa, n)))
        .zip(0_u64..)
        .map(|((sa, n), at)| Out::whole(START + at * MS, esp(R1, R2, 0x1000 + sa, n + 1, &noise.bytes(60))))
        .collect();
    let report = report(&[], &written("forty.pcap", &frames));
    let mut listed: Vec<u64> = items(&report, "rates.sa_bins").iter().map(|bin| number(bin, "sa")).collect();
    listed.dedup();
    assert_eq!(listed.len(), 32);
    let frames = |sa: u64| number(&report, &format!("sas.{sa}.frames"));
    let least = listed.iter().map(|sa| frames(*sa)).min().unwrap();
    assert!((0..40).filter(|sa| !listed.contains(sa)).all(|sa| frames(sa) <= least));
}

#[test]
fn the_table_has_the_rows_of_the_json() {
    let file = written("table.pcap", &traffic(3_000));
    let args = ["report", "--format", "csv", "--table", "sa_bins", "-q", file.to_str().unwrap()];
    let rows = spiglass(&args).csv("tap,sa,start_ns,bin_ns,frames,l1_bytes,l3_bytes");
    assert_eq!(rows.len(), items(&report(&[], &file), "rates.sa_bins").len());
    assert_eq!(rows.iter().map(|row| row.get("frames").parse::<u64>().unwrap()).sum::<u64>(), 3_000);
}

/// The page draws SAs apart where several go one way, and says no more than the bins do.
#[test]
fn the_page_draws_the_sas_of_one_way() {
    let page = |name: &str, frames: &[Out]| {
        let file = written(name, frames);
        spiglass(&["report", "--format", "html", "-q", file.to_str().unwrap()]).text().to_owned()
    };
    let several = page("page.pcap", &traffic(3_000));
    assert!(several.contains("Of 3 SAs"), "{several}");
    for spi in ["0x00001001", "0x00002002", "0x00003003"] {
        assert!(several.contains(spi));
    }
    assert!(several.len() < 120_000, "{}", several.len());
    let alone: Vec<Out> = traffic(3_000).into_iter().filter(|frame| frame.data[34..38] == [0, 0, 0x10, 1]).collect();
    assert!(!page("alone.pcap", &alone).contains("by SA"));
}
