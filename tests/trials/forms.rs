//! Forms of the output, and what must not change it.

use std::io::Write as _;

use crate::bench::{Bench, Load, Made};
use crate::run;
use crate::support::write_file;

fn made(name: &str) -> Made {
    let load = |at: f64, fps: f64| Load { at, fps, seconds: 1.0, size: 512 };
    Bench { loads: vec![load(0.0, 500.0), load(2.0, 1_400.0)], ..Bench::default() }.make(name)
}

fn without_paths(json: &serde_json::Value) -> serde_json::Value {
    let mut json = json.clone();
    json["taps"] = serde_json::Value::Null;
    json
}

#[test]
fn the_text_begins_with_the_answer() {
    let made = made("trials-text");
    let mut args = made.all();
    args.retain(|arg| arg != "--format" && arg != "json");
    let text = run(&args, &[]).expect(0);
    let first = "512-byte packets: 500.0/s without loss (equilibrium, between 500.0 and 1 400 offered)";
    assert!(text.text().replace("\n    ", " ").starts_with(first), "{}", text.text());
    let markdown = run(&args, &["--format", "markdown"]).expect(0);
    assert!(markdown.text().contains("Throughput"));
}

#[test]
fn every_table_has_its_header_and_as_many_rows_as_the_json() {
    let made = made("trials-csv");
    let json = run(&made.all(), &["--link-rate", "10M"]).expect(0).json();
    for table in ["trials", "throughput", "loss", "model", "transfers", "buffers", "back_to_back", "search", "segments"]
    {
        let mut args = made.all();
        args.retain(|arg| arg != "--format" && arg != "json");
        let csv = run(&args, &["--link-rate", "10M", "--format", "csv", "--table", table]).expect(0);
        let rows = csv.text().lines().count() - 1;
        let want = json[table].as_array().map_or(0, Vec::len);
        assert!(rows == want || table == "buffers" && rows >= want, "{table}: {rows} rows, {want} in the JSON");
    }
    let trial = &json["trials"][0];
    let mut args = made.all();
    args.retain(|arg| arg != "--format" && arg != "json");
    let csv = run(&args, &["--link-rate", "10M", "--format", "csv"]).expect(0);
    let names: Vec<&str> = csv.text().lines().next().expect("a header").split(',').collect();
    for name in trial.as_object().expect("an object").keys() {
        assert!(names.contains(&name.as_str()), "no column {name}");
    }
}

#[test]
fn threads_compression_and_pipes_change_nothing() {
    let made = made("trials-same");
    let plain = run(&made.all(), &[]).expect(0).json();
    for jobs in ["1", "3"] {
        assert_eq!(run(&made.all(), &["--jobs", jobs]).expect(0).json(), plain);
    }
    let octets = std::fs::read(&made.plain).expect("a capture");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&octets).expect("memory");
    let packed = crate::support::write_file(&made.dir, "plain.pcap.gz", &gzip.finish().expect("memory"));
    let replace = |by: &str| -> Vec<String> {
        let own = made.plain.to_str().expect("text");
        made.all().iter().map(|arg| if arg == own { by.to_owned() } else { arg.clone() }).collect()
    };
    let same = run(&replace(packed.to_str().expect("text")), &[]).expect(0).json();
    assert_eq!(without_paths(&same), without_paths(&plain));
    let piped = crate::support::spiglass_with_input(&replace("-"), Some(&octets)).expect(0).json();
    assert_eq!(without_paths(&piped), without_paths(&plain));
}

#[test]
fn the_next_load_is_said() {
    let made = made("trials-next");
    let json = run(&made.all(), &["--next", "--start", "2M", "--step", "1M"]).expect(0).json();
    let search = &json["search"][0];
    assert_eq!((&search["done"], &search["iteration"], &search["phase"]), (&false.into(), &3.into(), &"binary".into()));
    // 1,400 packets of 550 octets a second failed after 500 passed: half a step down.
    let load = search["next_load"].as_f64().expect("a load");
    assert!((load / (1_400.0 * 8.0 * 550.0 - 0.5e6) - 1.0).abs() < 0.001, "{load}");
}

#[test]
fn a_search_and_a_device_without_captures() {
    let calc = |more: &str| {
        let args: Vec<String> = format!("calc --format json {more}").split(' ').map(str::to_owned).collect();
        run(&args, &[]).expect(0).json()
    };
    let iterations =
        |actual: &str| calc(&format!("--search --start 50M --step 25M --actual {actual}"))["iterations"].as_u64();
    assert_eq!(["1M", "10M", "30M", "90M"].map(iterations), [16, 13, 10, 10].map(Some));
    assert_eq!(calc("--search --start 10M --step 200k --actual 10M")["iterations"], 5);
    let device = calc("--model t_fix=734us,r_alg=11.31M --link-rate 10M --sizes imix");
    assert_eq!(device["sizes"][0]["limit"], "device");
    assert!(device["imix"]["device_fps"].as_f64().is_some_and(|fps| (fps - 1.0 / 974.73e-6).abs() < 1.0), "{device}");
}

/// A page of the JSON is the page of the command, byte for byte; on a page of several outputs it stands beside the others.
#[test]
fn the_json_is_rendered_as_the_command_renders() {
    let loads = [400.0, 800.0, 1_200.0]
        .iter()
        .enumerate()
        .map(|(k, fps)| Load { at: 4.0 * k as f64, fps: *fps, seconds: 2.0, size: 512 })
        .collect();
    let made = Bench { loads, ..Bench::default() }.make("trials-render");
    let args = made.all();
    let more = ["--link-rate", "100M", "--next", "--start", "1M", "--step", "1M"];
    let file = write_file(&made.dir, "trials.json", &run(&args, &more).stdout);
    let text = |path: &std::path::Path| path.to_str().expect("text").to_owned();
    let html: Vec<String> =
        args.iter().map(|arg| if arg == "json" { "html".to_owned() } else { arg.clone() }).collect();
    let page = run(&html, &more).expect(0).text().to_owned();
    let rendered = crate::support::spiglass(&["render", &text(&file)]).expect(0).text().to_owned();
    assert!(page == rendered, "the page of the JSON is another");
    for title in ["Forwarded over offered rate", "Loss over offered rate", "Latency over offered rate"] {
        assert!(page.contains(title), "{title}");
    }
    let report = crate::support::spiglass(&["report", "--format", "json", &text(&made.tunnel)]);
    let other = write_file(&made.dir, "report.json", &report.stdout);
    let both = crate::support::spiglass(&["render", &text(&file), &text(&other)]).expect(0).text().to_owned();
    assert!(both.contains("Forwarded over offered rate") && both.contains("Security associations"));
    assert!(!both.contains("measurement 2"), "both are of one measurement");
}
