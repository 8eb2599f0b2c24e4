//! What it takes to dissect a frame: made-up ESP, and the real frames of the fixtures with their AH, ESP-NULL and bundles.
//!
//!     cargo bench --bench dissect

mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use spiglass::dissect::{DissectOptions, Stack, dissect};

use support::Stream;

/// Headers of AH and ESP in one pass over a stream.
fn headers(stream: &Stream, options: &DissectOptions, stack: &mut Stack) -> usize {
    let mut headers = 0;
    for frame in stream.all() {
        dissect(black_box(&frame), options, stack);
        headers += stack.sas.len();
    }
    headers
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("dissect");
    let options = DissectOptions::default();
    let mut stack = Stack::default();
    // Of the twelve real frames two are plain, seven bear one header and three bear two.
    for (name, stream, expected) in
        [("esp-134", Stream::esp(65_536, 8), 65_536), ("seed-frames", Stream::seeds(), 7 + 3 * 2)]
    {
        group.throughput(stream.throughput());
        group.bench_function(name, |b| {
            b.iter(|| assert_eq!(headers(&stream, &options, &mut stack), expected, "{name}"));
        });
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
