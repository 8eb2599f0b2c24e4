//! What reading a file costs: the walk alone, and a whole report on one thread and on two.
//!
//!     cargo bench --bench whole

mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::engine::{self, Input, Quiet, Settings};

const FRAMES: u64 = 262_144;

fn whole(c: &mut Criterion) {
    let folder = std::env::temp_dir().join(format!("spiglass-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the capture");
    let path = folder.join("esp.pcap");
    std::fs::write(&path, support::esp_file(FRAMES, 8)).expect("room for the capture");
    let source = Source::Path(path);
    let mut group = c.benchmark_group("whole");
    group.sample_size(20).throughput(Throughput::Elements(FRAMES));
    group.bench_function("walk", |b| {
        b.iter(|| {
            let mut reader = CaptureReader::open(&source, 0).expect("the capture was just written");
            let mut chunk = Chunk::new();
            let mut frames = 0;
            while reader.next_chunk(&mut chunk) {
                frames += black_box(chunk.frame_count());
            }
            assert_eq!(frames, FRAMES);
        });
    });
    for jobs in [1, 2] {
        group.bench_function(format!("report-{jobs}-jobs"), |b| {
            let inputs = [Input { source: source.clone(), tap: None }];
            b.iter(|| {
                let outcome = engine::run(&inputs, &Settings::default(), jobs, &Quiet);
                assert_eq!(outcome.report.totals.frames, FRAMES);
                outcome
            });
        });
    }
    group.finish();
    // Nothing is lost if the folder stays.
    drop(std::fs::remove_dir_all(&folder));
}

criterion_group!(benches, whole);
criterion_main!(benches);
