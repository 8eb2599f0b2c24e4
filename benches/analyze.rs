//! What it takes to analyse a frame, dissection included, and to merge two states.
//!
//!     cargo bench --bench analyze

mod support;

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use spiglass::analysis::{Observer, Settings, StreamState};

use support::Stream;

const FRAMES: u64 = 65_536;

/// Frames that a state of one capture stands for.
fn frames(state: &StreamState) -> u64 {
    state.captures().iter().map(|capture| capture.frames).sum()
}

/// The state of a stretch of the stream.
fn state(stream: &Stream, from: usize, to: usize) -> StreamState {
    let mut observer = Observer::new(&Settings::default());
    if from > 0 {
        observer.continue_capture();
    }
    for frame in stream.frames(from, to) {
        observer.observe(black_box(&frame));
    }
    observer.finish(1)
}

fn observe(c: &mut Criterion) {
    let mut group = c.benchmark_group("observe");
    for sas in [8, 1_000] {
        let stream = Stream::esp(FRAMES, sas);
        group.throughput(stream.throughput());
        group.bench_function(format!("esp-134-{sas}-sas"), |b| {
            b.iter(|| {
                let state = state(&stream, 0, stream.len());
                assert_eq!(frames(&state), FRAMES);
                state
            });
        });
    }
    group.finish();
}

fn merge(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge");
    for sas in [8, 1_000] {
        let stream = Stream::esp(FRAMES, sas);
        let half = stream.len() / 2;
        let (earlier, later) = (state(&stream, 0, half), state(&stream, half, stream.len()));
        let whole = state(&stream, 0, stream.len());
        let mut merged = earlier.clone().merge(later.clone()).expect("two parts of one stream merge");
        merged.settle();
        assert_eq!(merged.difference(&whole), None, "the merge of the halves is the state of the whole");

        // Of the frames that the two states stand for.
        group.throughput(stream.throughput());
        group.bench_function(format!("two-states-{sas}-sas"), |b| {
            b.iter_batched(
                || (earlier.clone(), later.clone()),
                |(earlier, later)| {
                    let merged = earlier.merge(later).expect("two parts of one stream merge");
                    assert_eq!(frames(&merged), FRAMES);
                    merged
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, observe, merge);
criterion_main!(benches);
