//! `spiglass merge`: states become a report, a state, or both.

use std::path::PathBuf;

use super::super::args::{AnalysisArgs, FilterArgs, InputArgs, MergeArgs, ReportArgs};
use super::super::run::{Asked, complain, deliver, failed, say_unread, write};
use super::super::sink::Sink;
use super::super::verdict::Verdict;
use super::super::{options, policies};
use super::judged::Judge;
use super::parquet;
use crate::capture::Source;
use crate::engine::{Held, Repeat, State, StateDir};
use crate::model::Error;
use crate::report::csv::Table;
use crate::report::words::number::count;

pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  spiglass merge monday.state tuesday.state
  spiglass merge --format json -o week.json *.state
  spiglass merge --state-dir night --format json -o night.json
  spiglass merge --state-out west.state west-*.state
  cat west-*.state | spiglass merge -";

impl From<MergeArgs> for Asked {
    fn from(args: MergeArgs) -> Self {
        let input = InputArgs { damage: args.damage, ..InputArgs::default() };
        let (filter, analysis) = (FilterArgs::default(), AnalysisArgs::default());
        Self {
            args: ReportArgs {
                input,
                policy: args.policy,
                filter,
                analysis,
                tell: args.tell,
                expect_ipsec: false,
                judge: args.judge,
                run: args.run,
            },
            findings_only: false,
        }
    }
}

/// What is read and written.
struct Places {
    table: Table,
    sources: Vec<Source>,
    /// Captures of a folder of states that have none.
    missing: Vec<Error>,
    state_sink: Option<Sink>,
    /// Where the report goes, where one is wanted.
    sink: Option<Sink>,
    judge: Judge,
}

impl Places {
    fn of(args: &MergeArgs) -> Result<Self, Error> {
        let table = options::table(&args.tell, Table::Sas)?;
        let (sources, missing) = named(args)?;
        // A state may take the place of one that went into it.
        let state_sink = args.state_out.as_deref().map(|path| Sink::open(Some(path), [])).transpose()?;
        // With --state-out the state alone is asked for, unless the report has a place of its own.
        let wanted = state_sink.is_none() || args.tell.output.output.is_some();
        let read = || sources.iter().map(Source::name);
        let sink = if wanted { Some(parquet::open(&args.tell, read())?) } else { None };
        let judge = args.judge.prepare(read())?;
        Ok(Self { table, sources, missing, state_sink, sink, judge })
    }
}

/// Merges states into a report, a state, or both.
pub(in crate::cli) fn merge(args: MergeArgs) -> Verdict {
    let Places { table, mut sources, missing, state_sink, sink, mut judge } = match Places::of(&args) {
        Ok(places) => places,
        Err(error) => return failed(&error),
    };
    // Sorted by their files, so that neighbours fold at once. If two states exclude each other, the same one is left out in any order of
    // arguments.
    sources.sort_by_cached_key(|source| {
        let place = State::place(source);
        (place.is_none(), place)
    });
    let mut merged = Merged { memory_limit: args.memory_limit, ..Merged::default() };
    for source in &sources {
        State::each(source, |read| merged.take(source, read));
    }
    let Taken { state, mut errors, repeats } = match merged.decide() {
        Ok(taken) => taken,
        Err(error) => return failed(&error),
    };
    let mut verdict = Verdict::default();
    errors.extend(missing);
    errors.iter().for_each(complain);
    let Some(mut state) = state else {
        verdict.errors(&errors);
        return verdict;
    };
    state.lacks_inputs(&errors);
    if !args.allow_duplicate {
        name_repeats(&mut state, &repeats, &mut verdict);
    }
    let mut unread = Vec::new();
    let expectation = policies::read(&args.policy.config, &args.run, &mut unread);
    let config = policies::unread(&expectation);
    if let Err(why) = state.expect(expectation) {
        return failed(&Error::Usage(why));
    }
    state.set_hole(args.judge.hole);
    state.settle();
    if let Some(state_sink) = state_sink {
        write(state_sink, &mut verdict, |sink| state.write(sink));
    }
    let (mut report, unplaced) = state.report();
    report.config = config;
    say_unread(&mut report.exactness, &mut report.degraded_why, &unread);
    verdict.unread_configurations(&unread);
    verdict.told_in_report(&unplaced);
    unread.iter().chain(&unplaced).for_each(complain);
    judge.judge(&mut report, &mut verdict);
    let Some(sink) = sink else {
        verdict.report(&report, args.damage.reactions(), options::threshold(args.tell.fail_on));
        (report.run, report.exit_status) = (verdict.run(), verdict.status());
        judge.measure(&report, &mut verdict);
        return verdict;
    };
    deliver(report, &Asked::from(args), table, sink, judge, verdict)
}

/// Names captures that were in more than one state.
fn name_repeats(state: &mut State, repeats: &[(PathBuf, Repeat)], verdict: &mut Verdict) {
    verdict.repeated(repeats.len() as u64);
    for (from, repeat) in repeats {
        state.note(repeat);
        let (path, digest) = (&repeat.path, repeat.digest);
        let what = format!("{path} is in a state before it, too (digest {digest:032x} of its frames); it counts once");
        complain(&Error::Format { path: from.clone(), what });
    }
}

/// The states that were named, and captures of a folder of states that have none.
fn named(args: &MergeArgs) -> Result<(Vec<Source>, Vec<Error>), Error> {
    let Some(folder) = &args.state_dir else { return Ok((options::states(args)?, Vec::new())) };
    let Held { states, unfinished, other_versions, open_runs } = StateDir::held(folder)?;
    if other_versions > 0 && !args.run.quiet {
        tell!(
            "spiglass: {}: {other_versions} states are of another version of the format and left out",
            folder.display()
        );
    }
    if states.is_empty() {
        let what = "no finished state of this version is here; `spiglass partial --state-dir` makes them".to_owned();
        return Err(Error::Format { path: folder.clone(), what });
    }
    let missing = unfinished.into_iter().map(|path| {
        let held = State::open(&Source::Path(path.clone())).ok().and_then(|state| state.captures().into_iter().next());
        let capture = held.map_or(path, |capture| PathBuf::from(capture.path));
        let what = "its analysis was interrupted; run `spiglass partial --state-dir` again".to_owned();
        Error::Format { path: capture, what }
    });
    let ended = open_runs.into_iter().map(|run| {
        let captures = count(run.captures as u64, "capture");
        let what = if run.alive {
            format!("a run over {captures} still writes into this folder; merge again when it is done")
        } else {
            format!(
                "a run over {captures} into this folder ended before all of them were done; run `spiglass partial --state-dir` again"
            )
        };
        Error::Format { path: folder.clone(), what }
    });
    Ok((states.into_iter().map(Source::Path).collect(), missing.chain(ended).collect()))
}

/// States that were made with the same settings, in one.
struct Group {
    state: State,
    of: Vec<PathBuf>,
    repeats: Vec<(PathBuf, Repeat)>,
}

impl Group {
    /// Takes in a state that is not refused.
    fn take(&mut self, path: PathBuf, read: State) {
        self.repeats.extend(self.state.repeats(&read).into_iter().map(|repeat| (path.clone(), repeat)));
        // It was asked for before.
        if self.state.merge(read).is_ok() {
            self.of.push(path);
        }
    }
}

/// What was merged.
struct Taken {
    state: Option<State>,
    errors: Vec<Error>,
    repeats: Vec<(PathBuf, Repeat)>,
}

/// States that are being merged.
#[derive(Default)]
struct Merged {
    groups: Vec<Group>,
    memory_limit: u64,
    errors: Vec<Error>,
    /// States that were refused, and the groups that they are of.
    waiting: Vec<(usize, PathBuf, State)>,
    /// Octets of memory that these take, about.
    waiting_memory: u64,
    /// The first state that found no room in memory, and how many more did not.
    no_room: Option<(PathBuf, u64)>,
}

impl Merged {
    /// Takes in what was read; a state that cannot be read is named, and the report of the others says that it is missing.
    fn take(&mut self, source: &Source, read: Result<State, Error>) {
        let name = source.name();
        let read = match read {
            Ok(read) => read,
            Err(error) => return self.errors.push(error),
        };
        let group = self.groups.iter().position(|group| group.state.difference(&read).is_none());
        let at = group.unwrap_or_else(|| {
            let mut state = State::default();
            state.limit_memory(self.memory_limit);
            self.groups.push(Group { state, of: Vec::new(), repeats: Vec::new() });
            self.groups.len() - 1
        });
        let Some(group) = self.groups.get_mut(at) else { return };
        // It may be a part of what comes together later.
        let is_refused = group.state.refusal(&read).is_some();
        let room = group.state.room().saturating_sub(self.waiting_memory);
        if room <= if is_refused { read.memory() } else { 0 } {
            self.no_room.get_or_insert_with(|| (name.into(), 0)).1 += 1;
            return;
        }
        if is_refused {
            self.waiting_memory += read.memory();
            return self.waiting.push((at, name.into(), read));
        }
        group.take(name.into(), read);
    }

    /// Takes in the states that are refused no longer, now that all others are here. One that still is belongs to none of them: it is missing
    /// in the report, as one that cannot be read.
    fn take_waiting(&mut self) {
        loop {
            let waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            let mut refused = Vec::new();
            for (at, path, read) in waiting {
                let Some(group) = self.groups.get_mut(at) else { continue };
                match group.state.refusal(&read) {
                    Some(why) => {
                        refused.push(Error::Format { path: path.clone(), what: format!("{why}. It was left out") });
                        self.waiting.push((at, path, read));
                    }
                    None => group.take(path, read),
                }
            }
            if self.waiting.len() == before {
                self.waiting.clear();
                return self.errors.extend(refused);
            }
        }
    }

    /// The states that most were made like. Where no settings are those of more than half, which ones were meant is not known.
    fn decide(mut self) -> Result<Taken, Error> {
        if let Some((path, states)) = self.no_room.take() {
            let more = states.saturating_sub(1);
            let more = if more > 0 { format!(", nor were {}", count(more, "further state")) } else { String::new() };
            let what = format!("not merged{more}: the states before it take all memory that --memory-limit allows");
            self.errors.push(Error::Format { path, what });
        }
        self.take_waiting();
        let all: usize = self.groups.iter().map(|group| group.of.len()).sum();
        self.groups.sort_by_key(|group| std::cmp::Reverse(group.of.len()));
        let mut groups = self.groups.into_iter();
        let Some(most) = groups.next() else {
            return Ok(Taken { state: None, errors: self.errors, repeats: Vec::new() });
        };
        let settled = most.of.len() * 2 > all;
        for group in groups {
            let difference = most.state.difference(&group.state).unwrap_or_default();
            for path in group.of {
                let what = if settled {
                    format!(
                        "made with different settings than most states ({difference}); make it again. It was left out"
                    )
                } else {
                    format!(
                        "made with different settings than the states before it ({difference}); make one of them again. Nothing was merged."
                    )
                };
                let error = Error::Format { path, what };
                if !settled {
                    return Err(error);
                }
                self.errors.push(error);
            }
        }
        Ok(Taken { state: Some(most.state), errors: self.errors, repeats: most.repeats })
    }
}
