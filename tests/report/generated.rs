//! Large made-up captures: the report finds exactly what went into them, however the work is divided.

#[allow(dead_code)] // included for `generate`
use crate::support;
#[path = "../../benches/tools/generate.rs"]
mod generate;

use std::collections::BTreeMap;

use clap::Parser;
use serde_json::Value;

use crate::support::oracle::{self, SaId};
use crate::support::{items, number, text};

/// Makes a capture, and returns its octets with what must be found in it.
fn made(options: &str) -> (Vec<u8>, generate::Made) {
    let words = std::iter::once("generate").chain(options.split_whitespace()).chain(["-o", "-"]);
    let mut bytes = Vec::new();
    let options = generate::Options::parse_from(words);
    let made = generate::generate(&options, &mut bytes).expect("writing to memory does not fail");
    (bytes, made)
}

fn sum(report: &Value, field: &str) -> u64 {
    items(report, "sas").iter().map(|sa| number(sa, field)).sum()
}

#[test]
fn the_report_finds_what_the_generator_left_out_and_put_late() {
    let dir = support::scratch("generated");
    for (n, options) in [
        "--frames 60000",
        "--frames 60000 --sas 7 --loss 1 --reorder 3",
        "--frames 60000 --sas 1000 --loss-every 11 --format pcapng",
        "--frames 5000 --sas 3 --size 1434 --loss 20 --reorder 20 --seed 9",
    ]
    .iter()
    .enumerate()
    {
        let (bytes, made) = made(options);
        let path = support::write_file(&dir, &format!("{n}.cap"), &bytes);
        let path = path.to_str().expect("UTF-8");
        let run = |jobs: &str| support::spiglass(&["report", "--format", "json", "--jobs", jobs, path]).expect(0);
        let one = run("1");
        let report = one.json();
        assert_eq!(number(&report, "totals.frames"), made.frames, "{options}");
        assert_eq!(sum(&report, "frames"), made.frames, "{options}");
        assert_eq!(sum(&report, "sequence.lost"), made.lost, "{options}");
        assert_eq!(sum(&report, "sequence.late"), made.late, "{options}");
        assert_eq!(sum(&report, "sequence.duplicate"), 0, "{options}");
        for jobs in ["2", "3"] {
            assert!(run(jobs).stdout == one.stdout, "{options}: --jobs {jobs} prints other bytes than --jobs 1");
        }
    }
}

#[test]
fn each_of_many_associations_gets_its_own_figures() {
    let (bytes, _) = made("--frames 20000 --sas 300 --loss 2 --reorder 5 --seed 3");
    let path = support::write_file(&support::scratch("many-sas"), "many.pcap", &bytes);
    let known = oracle::count_sas(&oracle::dissect_all(&oracle::read_capture(&path), None));
    let report = support::report(&[&path]).expect(0).json();
    let got: BTreeMap<String, [u64; 6]> = items(&report, "sas")
        .iter()
        .map(|sa| {
            let fields = [
                "frames",
                "sequence.lost",
                "sequence.late",
                "sequence.gaps",
                "sequence.longest_gap",
                "sequence.highest",
            ];
            (text(sa, "id").to_owned(), fields.map(|field| number(sa, field)))
        })
        .collect();
    let want: BTreeMap<String, [u64; 6]> = known
        .iter()
        .map(|(id, count): (&SaId, _)| {
            let sequence = &count.sequence;
            (
                id.to_string(),
                [count.frames, sequence.lost, sequence.late, sequence.gaps, sequence.longest_gap, sequence.highest],
            )
        })
        .collect();
    assert_eq!(want.len(), 300);
    assert_eq!(got, want);
}

#[test]
fn the_same_options_make_the_same_capture() {
    let options = "--frames 1000 --sas 3 --loss 2 --reorder 5";
    assert!(made(options).0 == made(options).0);
    assert!(made(options).0 != made(&format!("{options} --seed 2")).0);
}
