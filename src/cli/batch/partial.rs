//! `spiglass partial`: captures become states.

use std::path::Path;

use super::super::args::PartialArgs;
use super::super::progress::{Display, InterruptKey};
use super::super::run::{complain, failed, write};
use super::super::sink::Sink;
use super::super::values::PartArg;
use super::super::verdict::Verdict;
use super::super::{options, policies};
use crate::capture::Source;
use crate::engine::{self, Analysed, Input, Item, ItemOutcome, RecordIndex, Settings, StateDir};
use crate::model::Error;
use crate::model::report::Capture;
use crate::report::words::escape::printable;
use crate::report::words::number::count;

pub(in crate::cli) const EXAMPLES: &str = "\
A state holds what `report` would know of the captures, a few kilobytes an SA. States are merged in any
order and grouping, on any machine; the report is that of one run over all captures.

Examples:
  spiglass partial monday.pcap.gz -o monday.state
  spiglass partial --stream west --part 3 west-3.pcap > west-3.state
  spiglass partial --state-dir night --files-from captures.txt
  ssh tap3 'tcpdump -i eth1 -w - -c 100000' | spiglass partial - --name tap3.pcap -o tap3.state";

/// Analyses captures and keeps the state, or a state of each.
pub(in crate::cli) fn partial(args: &PartialArgs) -> Verdict {
    match &args.state_dir {
        Some(folder) => into_folder(args, folder),
        None => into_one(args),
    }
}

fn into_one(args: &PartialArgs) -> Verdict {
    let prepared = options::settings(&args.filter, Some(&args.analysis)).and_then(|settings| {
        let inputs = inputs(args)?;
        let part = part_of(args, &inputs)?;
        let sink = Sink::open(args.output.as_deref(), options::read_paths(&inputs, &args.policy))?;
        Ok((settings, inputs, part, sink))
    });
    let (mut settings, inputs, part, mut sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let mut verdict = Verdict::default();
    settings.expectation = expectation(args, &mut verdict);
    let key = InterruptKey::listen();
    let display = Display::new(&args.run, key.clone()).with_digest(&args.analysis.digest);
    let jobs = options::jobs(args.run.jobs);
    let analysed = match &part {
        Some(part) => part.analyse(&inputs, &settings, &display),
        None => Ok(engine::analyse(&inputs, &settings, jobs, &display)),
    };
    display.finish();
    let Analysed { mut state, errors } = match analysed {
        Ok(analysed) => analysed,
        Err(error) => return failed(&error),
    };
    let number = args.part.filter(|_| part.is_none()).map(|part| part.number);
    state.label(args.stream.as_deref(), number);
    state.lacks_inputs(&errors);
    if let Some(name) = &args.name {
        state.rename_input("-", name);
    }
    if key.happened() {
        state.lacks(["The run that made a state was interrupted: what it had not read by then is missing.".to_owned()]);
        // Whoever looks for the state must not take this one for it.
        sink.rename_with("partial");
    }
    verdict.interrupted(key.happened());
    errors.iter().for_each(complain);
    write(sink, &mut verdict, |sink| state.write(sink));
    judge(args, &mut verdict, &state.captures());
    verdict
}

/// A part of one capture.
struct PartOf {
    index: RecordIndex,
    part: (u32, u32),
}

/// The part that was asked for, where it is one of a capture and not of a stream.
fn part_of(args: &PartialArgs, inputs: &[Input]) -> Result<Option<PartOf>, Error> {
    match (&args.index, args.part) {
        (Some(index), Some(PartArg { number, of: Some(of) })) => {
            if !matches!(inputs, [Input { source: Source::Path(_), .. }]) {
                return Err(Error::Usage("an index is of one capture, which is a file; name that one".into()));
            }
            Ok(Some(PartOf { index: RecordIndex::read(index)?, part: (number, of) }))
        }
        (Some(_), _) => Err(Error::Usage("with --index goes --part K/N: which part of how many".into())),
        (None, Some(PartArg { of: Some(_), .. })) => {
            Err(Error::Usage("--part K/N goes with --index FILE; `spiglass index` writes it".into()))
        }
        (None, _) => Ok(None),
    }
}

impl PartOf {
    fn analyse(&self, inputs: &[Input], settings: &Settings, progress: &Display) -> Result<Analysed, Error> {
        let Some(input) = inputs.first() else { return Err(Error::Usage("an index is of one capture".into())) };
        let state = self.index.analyse(input, self.part, settings, progress)?;
        Ok(Analysed { state, errors: Vec::new() })
    }
}

/// A state of each capture that has none in the folder.
fn into_folder(args: &PartialArgs, folder: &Path) -> Verdict {
    let mut verdict = Verdict::default();
    let prepared = options::settings(&args.filter, Some(&args.analysis)).and_then(|mut settings| {
        let inputs = inputs(args)?;
        if inputs.iter().any(|input| input.source == Source::Stdin) {
            let what = "--state-dir needs files, which it can read again; standard input is none";
            return Err(Error::Usage(what.into()));
        }
        settings.expectation = expectation(args, &mut verdict);
        let states = StateDir::open(folder, &settings, args.stream.as_deref())?;
        Ok((inputs, states))
    });
    let (inputs, states) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let key = InterruptKey::listen();
    let display = Display::new(&args.run, key.clone()).with_digest(&args.analysis.digest);
    let told = |item: &Item| {
        if args.run.verbose {
            let path = item.path.to_string_lossy();
            tell!("{}: {}, {}", printable(&path), words(item.outcome), item.state.display());
        }
    };
    let filled = states.fill(&inputs, options::jobs(args.run.jobs), &display, &told);
    display.finish();
    verdict.interrupted(key.happened());
    let items = match filled {
        Ok(items) => items,
        Err(error) => {
            complain(&error);
            verdict.failed_output();
            return verdict;
        }
    };
    let captures: Vec<Capture> = items.iter().flat_map(|item| item.captures.clone()).collect();
    for error in captures.iter().filter_map(|capture| capture.error.as_deref()) {
        tell!("spiglass: {}", printable(error));
    }
    judge(args, &mut verdict, &captures);
    if !args.run.quiet {
        let of = |outcome| items.iter().filter(|item| item.outcome == outcome).count() as u64;
        let outcomes = [
            ItemOutcome::Analysed,
            ItemOutcome::Skipped,
            ItemOutcome::Copied,
            ItemOutcome::Unreadable,
            ItemOutcome::Interrupted,
        ];
        let said = outcomes.into_iter().filter(|outcome| of(*outcome) > 0);
        let mut said: Vec<String> = said.map(|outcome| format!("{} {}", of(outcome), words(outcome))).collect();
        let left = (inputs.len().saturating_sub(items.len())) as u64;
        said.extend((left > 0).then(|| format!("{left} not begun")));
        tell!("spiglass: {}: {}: {}", folder.display(), count(inputs.len() as u64, "capture"), said.join(", "));
    }
    verdict
}

const fn words(outcome: ItemOutcome) -> &'static str {
    match outcome {
        ItemOutcome::Analysed => "analysed",
        ItemOutcome::Skipped => "skipped, the state is there",
        ItemOutcome::Copied => "with the content of another capture",
        ItemOutcome::Unreadable => "not readable",
        ItemOutcome::Interrupted => "interrupted",
    }
}

fn inputs(args: &PartialArgs) -> Result<Vec<Input>, Error> {
    let inputs = options::inputs(&args.input, &args.policy, false)?;
    if args.name.is_some() && !inputs.iter().any(|input| input.source == Source::Stdin) {
        return Err(Error::Usage("--name is what standard input (`-`) is called; it is not read here".into()));
    }
    Ok(inputs)
}

fn expectation(args: &PartialArgs, verdict: &mut Verdict) -> engine::Expectation {
    let mut unread = Vec::new();
    let expectation = policies::read(&args.policy.config, &args.run, &mut unread);
    unread.iter().for_each(complain);
    verdict.unread_configurations(&unread);
    expectation
}

fn judge(args: &PartialArgs, verdict: &mut Verdict, captures: &[Capture]) {
    let on = args.input.damage.reactions();
    verdict.captures(captures, on);
    if !args.run.quiet {
        on.warn_of(captures);
    }
}
