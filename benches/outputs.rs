//! What comes behind the analysis: rows of frames, annotated captures, states, and a report in each form.
//!
//!     cargo bench --bench outputs

mod support;

use std::hint::black_box;
use std::io;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spiglass::capture::{About, CaptureReader, Comments, Source};
use spiglass::engine::{self, Input, Quiet, Settings, State};
use spiglass::report::document::{self, View};
use spiglass::report::frame_row::{FrameRows, RowFormat};
use spiglass::report::{html, json, markdown, text};

const FRAMES: u64 = 131_072;
const SAS: u32 = 1_000;

/// A capture of `sas` SAs.
fn capture(sas: u32) -> PathBuf {
    let path = std::env::temp_dir().join(format!("spiglass-bench-{}-{sas}.pcap", std::process::id()));
    std::fs::write(&path, support::esp_file(FRAMES, sas)).expect("room for the capture");
    path
}

fn frames(c: &mut Criterion) {
    let path = capture(8);
    let source = Source::Path(path.clone());
    let inputs = [Input { source: source.clone(), tap: None }];
    let mut group = c.benchmark_group("frames");
    group.sample_size(20).throughput(Throughput::Elements(FRAMES));
    for (name, format) in [("csv", RowFormat::Csv), ("json", RowFormat::Ndjson)] {
        group.bench_function(format!("rows-{name}"), |b| {
            b.iter(|| {
                let mut rows = FrameRows::new(io::sink(), format);
                let outcome = engine::frames(&inputs, &Settings::default(), &mut rows, &Quiet);
                assert_eq!(outcome.expect("nothing is written").frames, FRAMES);
            });
        });
    }
    group.bench_function("annotate", |b| {
        let mut comments = Comments::new(None);
        comments.add(1_000, "spiglass sequence-gap: a comment".to_owned());
        b.iter(|| {
            let reader = CaptureReader::open(&source, 0).expect("the capture was just written");
            let annotated = engine::annotate(reader, &comments, About::default(), io::sink(), &Quiet);
            assert_eq!(annotated.expect("nothing is written").written.frames, FRAMES);
        });
    });
    group.finish();
    // Nothing is lost if the file stays.
    drop(std::fs::remove_file(&path));
}

fn reports(c: &mut Criterion) {
    let path = capture(SAS);
    let analysed = || engine::analyse(&[Input::from(path.clone())], &Settings::default(), 1, &Quiet).state;
    let mut written = Vec::new();
    analysed().write(&mut written).expect("writing to memory does not fail");
    let read = || State::read(&path, &*written).expect("it was just written");
    let mut group = c.benchmark_group("reports");
    group.sample_size(20).throughput(Throughput::Elements(u64::from(SAS)));
    let state = analysed();
    group.bench_function("state-write", |b| b.iter(|| state.write(io::sink())));
    group.bench_function("state-read", |b| b.iter(read));
    group.bench_function("finish", |b| b.iter_batched(read, State::report, criterion::BatchSize::LargeInput));
    let (report, _) = read().report();
    group.bench_function("json", |b| b.iter(|| json::write(&report, &mut io::sink())));
    group.bench_function("document", |b| b.iter(|| document::report(&report, &View::default())));
    let page = document::report(&report, &View::default());
    group.bench_function("text", |b| b.iter(|| black_box(text::render(&page, &text::TextOptions::default()))));
    group.bench_function("markdown", |b| b.iter(|| black_box(markdown::render(&page))));
    group.bench_function("html", |b| b.iter(|| black_box(html::render(&page))));
    group.finish();
    drop(std::fs::remove_file(&path));
}

criterion_group!(benches, frames, reports);
criterion_main!(benches);
