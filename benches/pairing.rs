//! What it takes to pair plaintext packets with tunnelled ones, both captures read from files: pairs per second, by order and by content,
//! without losses and with one in a hundred lost.
//!
//!     cargo bench --bench pairing

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spiglass::capture::Source;
use spiglass::engine::{Input, PairInputs, Quiet, Settings, pair};
use spiglass::matching::PairSettings;

#[allow(dead_code)]
#[path = "tools/generate_pair.rs"]
mod generate_pair;

/// Packets of each run.
const PACKETS: u64 = 200_000;

fn captures(name: &str, ah: bool, loss: f64) -> (PairInputs, [PathBuf; 2]) {
    let file =
        |side: &str| std::env::temp_dir().join(format!("spiglass-bench-{}-{name}-{side}.pcap", std::process::id()));
    let (plain, tunnel) = (file("plain"), file("tunnel"));
    let options = generate_pair::Options {
        packets: PACKETS,
        least: 64,
        most: 128,
        loss,
        ah,
        gap_ns: 2_000,
        ahead_ns: 0,
        drift_ppm: 0,
        seed: 1,
        plain: plain.clone(),
        tunnel: tunnel.clone(),
    };
    generate_pair::generate(&options).expect("room for two captures");
    let input = |path: &PathBuf| vec![Input { source: Source::Path(path.clone()), tap: None }];
    (PairInputs { plain: input(&plain), tunnel: input(&tunnel), exit: Vec::new() }, [plain, tunnel])
}

fn pairing(c: &mut Criterion) {
    let mut group = c.benchmark_group("pairing");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    for (name, ah, loss) in [("order", false, 0.0), ("order, 1 % lost", false, 1.0), ("content", true, 0.0)] {
        let (inputs, files) = captures(name, ah, loss);
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                let matched = pair(&inputs, &Settings::default(), &PairSettings::default(), None, &Quiet);
                let pairs = matched.expect("nothing is written").report.pairs.matched;
                assert!(black_box(pairs) > PACKETS * 97 / 100, "{pairs}");
            });
        });
        for file in files {
            // It is in the folder for temporary files.
            let _ = std::fs::remove_file(file);
        }
    }
    group.finish();
}

criterion_group!(benches, pairing);
criterion_main!(benches);
