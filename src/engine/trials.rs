//! A run of `trials`: up to three taps read together.

use super::input::{Input, Progress, ProgressUpdate, Settings};
use super::run::capture_facts;
use crate::analysis::Expectation;
use crate::analysis::finish::CaptureFacts;
use crate::capture::CaptureReader;
use crate::engine::rotation::interleave::Interleave;
use crate::keys::Dissector;
use crate::model::report::{Exactness, LengthBasis, RunSummary, Tool};
use crate::model::trials::{self, Bench, Figure, OpenFigure, Reason, TrialsReport};
use crate::model::vocabulary::TrialsSchema;
use crate::model::{Error, Timestamp};
use crate::trials::report::trial_findings;
use crate::trials::{ClearTrial, ClockFigures, Figured, Place, Taps, TapsGiven, TrialsSettings, finish};

/// The captures of a run. Those that are not given are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrialsInputs {
    /// The plaintext side.
    pub plain: Vec<Input>,
    /// The side of the tunnel; may be the same as the plaintext side.
    pub tunnel: Vec<Input>,
    /// The far plaintext side.
    pub exit: Vec<Input>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Benchmark {
    /// What was measured.
    pub report: TrialsReport,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
}

/// One tap being read.
struct Stream<'r> {
    captures: Interleave<'r>,
    times: Vec<(Timestamp, Timestamp)>,
    ended: bool,
}

/// Measures a benchmark run. `clear`: the trials of a run without the tunnel, to compare latencies with.
pub fn trials(
    inputs: &TrialsInputs,
    settings: &Settings,
    asked: &TrialsSettings,
    clear: &[ClearTrial],
    progress: &dyn Progress,
) -> Benchmark {
    let mut errors = Vec::new();
    let one = inputs.plain == inputs.tunnel && !inputs.plain.is_empty();
    let asked = TrialsSettings { one_clock: asked.one_clock || one, ..asked.clone() };
    let sides = [&inputs.plain, &inputs.tunnel, &inputs.exit];
    let mut streams = sides.map(|side| {
        let inputs: Vec<(usize, &Input)> = side.iter().enumerate().collect();
        let captures = Interleave::open(&inputs, &mut errors, progress);
        Stream { ended: captures.is_empty(), captures, times: Vec::new() }
    });
    if one && let [plain, _, _] = &mut streams {
        plain.ended = true;
    }
    let there = sides.iter().filter(|side| !side.is_empty()).count();
    let mut taps = Taps::new(i64::try_from(asked.gap_ns).unwrap_or(i64::MAX), there, asked.records);
    read(&mut taps, &mut streams, settings, one, &mut errors, progress);
    let interrupted = progress.interrupted();
    let facts = streams.map(|stream| {
        let Stream { captures, times, .. } = stream;
        let mut readers = captures.into_readers();
        if interrupted {
            readers.iter_mut().for_each(CaptureReader::forgive_cut);
        }
        let of =
            |(at, reader): (usize, &CaptureReader)| capture_facts(reader.info(), interrupted, times.get(at).copied());
        readers.iter().enumerate().map(of).collect::<Vec<CaptureFacts>>()
    });
    let report = report(
        taps,
        &asked,
        facts,
        [one, interrupted],
        sides.map(|side| !side.is_empty()),
        clear,
        &settings.expectation,
    );
    Benchmark { report, errors }
}

/// Reads all taps, the one that lags first.
fn read(
    taps: &mut Taps,
    streams: &mut [Stream<'_>; 3],
    settings: &Settings,
    one: bool,
    errors: &mut Vec<Error>,
    progress: &dyn Progress,
) {
    let mut dissector = Dissector::new(&settings.expectation, settings.dissect_options());
    let places = [Place::Near, Place::Middle, Place::Far];
    loop {
        let open = places.into_iter().zip(streams.iter_mut()).filter(|(_, stream)| !stream.ended);
        let Some((place, stream)) = open.min_by_key(|(place, _)| taps.latest(*place)) else { break };
        if progress.interrupted() {
            break;
        }
        let Stream { captures, times, ended } = stream;
        let more = captures.next(errors, |frame| {
            super::pairing::note(times, frame);
            let sight = if place == Place::Middle { dissector.open(frame) } else { dissector.look(frame) };
            let place = if one && sight.is_plain() { Place::Near } else { place };
            taps.see(place, sight);
        });
        if let Some(reader) = captures.current() {
            progress.update(&ProgressUpdate::of(reader.info()));
        }
        *ended = !more;
    }
}

/// The report of what was read.
fn report(
    taps: Taps,
    asked: &TrialsSettings,
    facts: [Vec<CaptureFacts>; 3],
    [one, interrupted]: [bool; 2],
    present: [bool; 3],
    clear: &[ClearTrial],
    expectation: &Expectation,
) -> TrialsReport {
    let (counts, assumed) = (taps.counts(), taps.assumed());
    let wrong_tap = taps.looks_swapped() && present == [true, true, present.get(2) == Some(&true)];
    let cut = |facts: &Vec<CaptureFacts>| interrupted || facts.iter().any(|facts| facts.damage.is_some());
    // A capture that is two taps at once is read as the tunnel's, and is one capture with one set of findings.
    let [near, middle, far] = facts;
    let near = if one { middle.clone() } else { near };
    let known: &[CaptureFacts] = if one { &[] } else { &near };
    let all: Vec<CaptureFacts> = [known, &middle, &far].into_iter().flatten().cloned().collect();
    let offsets = [0, known.len(), known.len() + middle.len()].map(|at| u32::try_from(at).unwrap_or(u32::MAX));
    let facts = [near, middle, far];
    let figured = finish(taps, asked, &TapsGiven { present, cut: facts.each_ref().map(cut), clear });
    let mut why = figured.degraded.clone();
    why.extend(all.iter().filter_map(CaptureFacts::degraded).chain(expectation.left_out()).map(|why| why + "."));
    let names = if asked.ends { ["in", "tunnel", "out"] } else { ["plain", "tunnel", "exit"] };
    let taps = facts.into_iter().enumerate().filter(|(at, _)| present.get(*at) == Some(&true)).map(|(at, facts)| {
        let (frames, packets, tunnelled) = counts.get(at).copied().unwrap_or_default();
        let clock = figured.clocks.get(at).copied().flatten();
        trials::Tap {
            name: names.get(at).copied().unwrap_or_default().into(),
            captures: facts.into_iter().map(|facts| facts.capture).collect(),
            frames,
            packets,
            tunnelled,
            l1_basis: if assumed.get(at) == Some(&true) { LengthBasis::Assumed } else { LengthBasis::Measured },
            clock_offset_ns: clock.map(|own| own.offset_ns),
            clock_drift_ppm: clock.and_then(|own| own.drift).map(|drift| 1e6 * drift),
            clock_drift_uncertainty_ppm: clock.and_then(|own| own.drift_error).map(|error| 1e6 * error),
            clock_uncertainty_ns: clock.and_then(|own| own.uncertainty_ns),
            undetermined: clock_open(clock),
        }
    });
    let mut report = TrialsReport {
        schema: TrialsSchema::V1,
        tool: Tool::this(),
        exactness: if why.is_empty() { Exactness::Exact } else { Exactness::Degraded },
        degraded_why: why,
        taps: taps.collect(),
        bench: bench(asked, &figured),
        trials: figured.trials.clone(),
        throughput: figured.throughput.clone(),
        loss: figured.loss.clone(),
        model: figured.model.clone(),
        buffers: figured.buffers.clone(),
        back_to_back: figured.back_to_back.clone(),
        search: figured.search.clone(),
        transfers: figured.transfers.clone(),
        baseline: figured.baseline.clone(),
        segments: figured.segments.clone(),
        findings: Vec::new(),
        run: RunSummary::default(),
        exit_status: 0,
    };
    report.findings = trial_findings(&report, &figured, &all, wrong_tap, offsets);
    report
}

/// What is not known of a clock, and why.
fn clock_open(clock: Option<ClockFigures>) -> Vec<OpenFigure> {
    let Some(clock) = clock else {
        return vec![OpenFigure { figure: Figure::ClockOffset, reason: Reason::NoAnchor }];
    };
    clock.open.map(|reason| OpenFigure { figure: Figure::ClockDrift, reason }).into_iter().collect()
}

/// What the run was told.
fn bench(asked: &TrialsSettings, figured: &Figured) -> Bench {
    Bench {
        link_rate_bps: asked.link_rate_bps,
        tunnel_rate_bps: asked.tunnel_rate_bps,
        one_clock: asked.one_clock,
        depends_on_offset: figured.depends_on_offset,
        trial_gap_ns: asked.gap_ns,
        min_seconds: asked.least_ns as f64 / 1e9,
        equal_pct: 100.0 * asked.equal,
        rate_layer: asked.rate_layer.name().into(),
        flows: figured.flows.clone(),
    }
}
