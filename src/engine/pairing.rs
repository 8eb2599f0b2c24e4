//! A run of `match`: two or three streams read together, so that neither has to be kept.

mod copies;

use std::collections::VecDeque;
use std::io;

use super::input::{Input, Progress, ProgressUpdate, Settings};
use super::run::capture_facts;
use super::start::first_time;
use crate::analysis::Expectation;
use crate::analysis::finish::CaptureFacts;
use crate::capture::{CaptureReader, Frame, Source};
use crate::dissect::DissectOptions;
use crate::engine::rotation::interleave::Interleave;
use crate::keys::Dissector;
use crate::matching::{self, Given, Matcher, Once, PairSettings, Read, Side, Whole};
use crate::model::pairs::{self, MatchReport, Pair};
use crate::model::report::{Exactness, RunSummary, Tool};
use crate::model::{Error, LinkType, Timestamp};

/// The captures of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PairInputs {
    /// The plaintext side.
    pub plain: Vec<Input>,
    /// The side of the tunnel.
    pub tunnel: Vec<Input>,
    /// The far plaintext side; may be empty.
    pub exit: Vec<Input>,
}

/// What came of a run.
#[derive(Debug)]
#[must_use = "`errors` names the inputs that could not be read"]
pub struct Matched {
    /// What was found.
    pub report: MatchReport,
    /// Inputs that could not be read at all.
    pub errors: Vec<Error>,
}

impl Matched {
    /// The report, where every input could be read.
    ///
    /// # Errors
    /// The first input that could not be read.
    pub fn complete(self) -> Result<MatchReport, Error> {
        self.errors.into_iter().next().map_or(Ok(self.report), Err)
    }
}

/// Who takes single pairs, in the order of the tunnel's capture.
pub type PairSink<'s> = dyn FnMut(&Pair) -> io::Result<()> + 's;

/// Clocks whose first frames are closer than this are taken to be set alike at first.
const ALIKE_NS: i64 = 2_000_000_000;

/// Pairs the packets of the captures. Single pairs go to `sink` as soon as they are certain.
///
/// # Errors
/// What `sink` fails with; a closed pipe too.
pub fn pair(
    inputs: &PairInputs,
    settings: &Settings,
    pairing: &PairSettings,
    mut sink: Option<&mut PairSink<'_>>,
    progress: &dyn Progress,
) -> io::Result<Matched> {
    let one = inputs.plain == inputs.tunnel;
    let pairing = PairSettings { one_clock: pairing.one_clock || one, ..*pairing };
    let sides = [&inputs.plain, &inputs.tunnel, &inputs.exit];
    let repeatable = sides.iter().all(|side| side.iter().all(|input| input.source != Source::Stdin));
    let mut attempts = vec![0];
    // If the clocks cannot be taken for set alike, the captures may have begun together.
    if repeatable && !pairing.one_clock {
        let first = |side: &[Input]| side.iter().filter_map(|input| first_time(&input.source)?.ns()).min();
        if let (Some(plain), Some(tunnel)) = (first(&inputs.plain), first(&inputs.tunnel)) {
            let apart = tunnel.saturating_sub(plain);
            if apart.saturating_abs() > ALIKE_NS {
                attempts.push(apart);
            }
        }
    }
    let once = if repeatable { copies::left_out(inputs, settings, pairing, &attempts) } else { Once::default() };
    let mut further = Vec::new();
    if repeatable {
        further.extend(attempts.iter().map(|ahead| Supposed { ahead: *ahead, innermost: true }));
    }
    let mut attempts: VecDeque<Supposed> = attempts.into_iter().map(Supposed::ahead).collect();
    while let Some(supposed) = attempts.pop_front() {
        let mut run = Run::new(inputs, settings, pairing, supposed, sink.is_some(), one, progress);
        run.matcher.leave_out_copies(once);
        let is_last = attempts.is_empty();
        run.read(if is_last { Until::End } else { Until::Hopeless }, &mut sink)?;
        let interrupted = progress.interrupted();
        if is_last && !interrupted && !further.is_empty() && run.matcher.may_be_further_inside() {
            attempts.extend(std::mem::take(&mut further));
        } else if is_last || interrupted || run.matcher.has_begun() {
            return run.finish(&mut sink);
        }
    }
    Err(io::Error::other("no attempt was made"))
}

/// What an attempt supposes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Supposed {
    /// By how much timestamps of the tunnel are ahead of plain ones, in nanoseconds.
    ahead: i64,
    /// The plain side shows the innermost packets: another device than the gateway ends a tunnel inside the SA.
    innermost: bool,
}

impl Supposed {
    const fn ahead(ahead: i64) -> Self {
        Self { ahead, innermost: false }
    }
}

/// How far captures are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Until {
    /// All sides end.
    End,
    /// The clocks do not seem to be set as supposed.
    Hopeless,
    /// This number of frames of a plaintext side was read.
    Frames(u64),
}

struct Run<'r> {
    matcher: Matcher,
    streams: [Stream<'r>; 3],
    errors: Vec<Error>,

    dissector: Dissector,
    expectation: &'r Expectation,
    progress: &'r dyn Progress,
    /// Whether one capture serves as both sides.
    one: bool,
}

/// One side.
struct Stream<'r> {
    captures: Interleave<'r>,
    /// First and last time of each capture.
    times: Vec<(Timestamp, Timestamp)>,
}

impl<'r> Stream<'r> {
    fn open(inputs: &'r [Input], errors: &mut Vec<Error>, progress: &'r dyn Progress) -> Self {
        let inputs: Vec<(usize, &Input)> = inputs.iter().enumerate().collect();
        Self { captures: Interleave::open(&inputs, errors, progress), times: Vec::new() }
    }
}

/// Takes note of a frame's time.
#[inline]
pub(super) fn note(times: &mut Vec<(Timestamp, Timestamp)>, frame: &Frame<'_>) {
    if frame.time == Timestamp::UNKNOWN {
        return;
    }
    let at = frame.pos.capture() as usize;
    if let Some((first, last)) = times.get_mut(at).filter(|(first, _)| *first != Timestamp::UNKNOWN) {
        (*first, *last) = ((*first).min(frame.time), (*last).max(frame.time));
        return;
    }
    if times.len() <= at {
        times.resize(at + 1, (Timestamp::UNKNOWN, Timestamp::UNKNOWN));
    }
    if let Some(own) = times.get_mut(at) {
        *own = (frame.time, frame.time);
    }
}

impl<'r> Run<'r> {
    fn new(
        inputs: &'r PairInputs,
        settings: &'r Settings,
        pairing: PairSettings,
        supposed: Supposed,
        rows: bool,
        one: bool,
        progress: &'r dyn Progress,
    ) -> Self {
        let mut errors = Vec::new();
        let options = DissectOptions { innermost: supposed.innermost, ..settings.dissect_options() };
        let dissector = Dissector::new(&settings.expectation, options);
        let sides = [&inputs.plain, &inputs.tunnel, &inputs.exit];
        let streams = sides.map(|side| Stream::open(side, &mut errors, progress));
        let mut matcher = Matcher::new(pairing, supposed.ahead, rows, !inputs.exit.is_empty());
        let transform = pairing.transform.as_ref().map(|(esp, mode)| (esp, *mode));
        matcher.expect(Given::new(settings.expectation.policies(), transform));
        if dissector.has_keys() {
            matcher.keep_fragments();
        } else {
            matcher.know_headers(dissector.options());
        }
        Self { matcher, streams, errors, dissector, expectation: &settings.expectation, progress, one }
    }

    /// Reads as far as it is wanted, and ends all sides there.
    fn read(&mut self, until: Until, sink: &mut Option<&mut PairSink<'_>>) -> io::Result<()> {
        let one = self.one;
        if one {
            self.matcher.end(Side::Plain);
        }
        while let Some(side) = self.matcher.wanted() {
            let is_enough = match until {
                Until::End => false,
                Until::Hopeless => self.matcher.is_hopeless(),
                Until::Frames(most) => self.matcher.frames().into_iter().any(|own| own >= most),
            };
            if self.progress.interrupted() || is_enough {
                break;
            }
            let Self { matcher, streams: [plain, tunnel, exit], errors, dissector, progress, expectation: _, one: _ } =
                self;
            let stream = match side {
                Side::Plain => plain,
                Side::Tunnel => tunnel,
                Side::Exit => exit,
            };
            let Stream { captures, times } = stream;
            let more = captures.next(errors, |frame| {
                note(times, frame);
                if matcher.again(side, one, frame) {
                    return;
                }
                let sight = if side == Side::Tunnel { dissector.open(frame) } else { dissector.look(frame) };
                matcher.checked(&sight);
                match side {
                    Side::Plain => matcher.plain(sight),
                    Side::Tunnel if one => matcher.both(sight),
                    Side::Tunnel => matcher.tunnel(sight),
                    Side::Exit => matcher.exit(sight),
                }
                if side == Side::Tunnel {
                    open_whole(matcher, dissector, frame);
                }
            });
            if let Some(reader) = captures.current() {
                let info = reader.info();
                progress.update(&ProgressUpdate::of(info));
            }
            if !more {
                matcher.end(side);
            }
            matcher.advance();
            deliver(matcher, sink)?;
        }
        for side in [Side::Plain, Side::Tunnel, Side::Exit] {
            self.matcher.end(side);
        }
        self.matcher.advance();
        Ok(())
    }

    /// Reads the beginnings of the plaintext sides, each alone.
    fn look_at_plain(&mut self, frames: u64) {
        let Self { matcher, streams: [plain, both, exit], errors, dissector, one, .. } = self;
        let near = if *one { both } else { plain };
        let few = |matcher: &Matcher, at: usize| matcher.frames().get(at).is_some_and(|own| *own < frames);
        while few(matcher, 0) && near.captures.next(errors, |frame| matcher.plain(dissector.look(frame))) {}
        while few(matcher, 1) && exit.captures.next(errors, |frame| matcher.exit(dissector.look(frame))) {}
    }

    fn finish(mut self, sink: &mut Option<&mut PairSink<'_>>) -> io::Result<Matched> {
        deliver(&mut self.matcher, sink)?;
        let (interrupted, one) = (self.progress.interrupted(), self.one);
        let [plain, tunnel, exit] = self.streams.map(|stream| {
            let Stream { captures, times } = stream;
            let mut readers = captures.into_readers();
            if interrupted {
                readers.iter_mut().for_each(CaptureReader::forgive_cut);
            }
            let steps = readers.iter().flat_map(|reader| &reader.info().interfaces).map(|i| i.resolution.step_ns());
            let step = steps.fold(None, |most: Option<f64>, step| Some(most.map_or(step, |most| most.max(step))));
            let facts = readers.iter().enumerate();
            let facts = facts.map(|(at, own)| capture_facts(own.info(), interrupted, times.get(at).copied()));
            (facts.collect::<Vec<CaptureFacts>>(), step)
        });
        let plain = if one { tunnel.clone() } else { plain };
        let step = [plain.1, tunnel.1].into_iter().flatten().reduce(f64::max);
        let checks = self.matcher.take_checks();
        let packets = self.matcher.packets();
        let mut figures = self.matcher.figures(step);
        let [near, within, far] = figures.sides;
        let near_captures: &[CaptureFacts] = if one { &[] } else { &plain.0 };
        let all: Vec<CaptureFacts> = [near_captures, &tunnel.0, &exit.0].into_iter().flatten().cloned().collect();
        let unread = all.iter().filter_map(CaptureFacts::degraded);
        figures.degraded_why.extend(unread.chain(self.expectation.left_out()).map(|why| why + "."));
        let side = |(facts, step): (Vec<CaptureFacts>, Option<f64>), read: Read| pairs::Side {
            captures: facts.into_iter().map(|facts| facts.capture).collect(),
            frames: read.frames,
            packets: read.packets,
            tunnelled: read.tunnelled,
            copies: read.copies,
            first_ns: read.first_ns,
            last_ns: read.last_ns,
            timestamp_step_ns: step,
        };
        let has_exit = !exit.0.is_empty() || far.frames > 0;
        let mut report = MatchReport {
            schema: pairs::MatchSchema::V1,
            tool: Tool::this(),
            exactness: if figures.degraded_why.is_empty() { Exactness::Exact } else { Exactness::Degraded },
            degraded_why: figures.degraded_why,
            plain: side(plain, near),
            tunnel: side(tunnel, within),
            exit: has_exit.then(|| side(exit, far)),
            pairs: figures.pairs,
            directions: figures.directions,
            outside: figures.outside,
            bin_ns: figures.bin_ns,
            bins: figures.bins,
            sizes: figures.sizes,
            padding: figures.padding,
            ends: figures.ends,
            lost: figures.lost,
            findings: Vec::new(),
            run: RunSummary::default(),
            exit_status: 0,
        };
        report.findings = matching::report::findings(
            &report,
            &all,
            self.expectation,
            &checks,
            &packets,
            &figures.silent,
            &figures.named,
        );
        Ok(Matched { report, errors: self.errors })
    }
}

/// Opens the packets that were in fragments and are whole now.
fn open_whole(matcher: &mut Matcher, dissector: &mut Dissector, last: &Frame<'_>) {
    for whole in matcher.take_whole() {
        let Whole { serial, octets, pos, time } = whole;
        let wire_bytes = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let frame = Frame { pos, time, wire_bytes, data: &octets, link: LinkType::RAW, fcs_bytes: 0, ..*last };
        let sight = dissector.open(&frame);
        matcher.checked(&sight);
        // Without encryption it shows what it carries once it is whole.
        if sight.decrypted || sight.stack.encapsulated.is_some() || sight.stack.null.is_some() {
            matcher.opened(serial, sight);
        }
    }
}

/// Hands over the pairs that are ready.
fn deliver(matcher: &mut Matcher, sink: &mut Option<&mut PairSink<'_>>) -> io::Result<()> {
    if let Some(sink) = sink {
        for pair in matcher.take_rows() {
            sink(&pair)?;
        }
    }
    Ok(())
}
