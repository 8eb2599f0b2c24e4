//! The commands.

use std::io::{self, Write};

use super::args::{Cli, Command, ExplainArgs, Format, FramesArgs, ReportArgs, RowsFormat};
use super::batch::judged::Judge;
use super::batch::parquet;
use super::progress::InterruptKey;
use super::session::Session;
use super::sink::Sink;
use super::verdict::Verdict;
use super::{options, policies};
use crate::analysis::finish::say_no_ipsec;
use crate::engine::{self, Settings};
use crate::model::Error;
use crate::model::report::{Exactness, Report};
use crate::report::csv::Table;
use crate::report::frame_row::{FrameRows, RowFormat};
use crate::report::words::escape::printable;
use crate::report::words::number::count;
use crate::report::{csv, document, explain, html, json, markdown, schema, text};

/// Runs what was asked for.
pub(super) fn run(cli: Cli) -> Verdict {
    InterruptKey::listen();
    match cli.command {
        Command::Report(args) => report(&Asked { args, findings_only: false }),
        Command::Check(args) => report(&Asked { args, findings_only: true }),
        Command::Frames(args) => frames(&args),
        Command::Partial(args) => super::batch::partial::partial(&args),
        Command::Merge(args) => super::batch::merge::merge(args),
        Command::Match(args) => super::pair::pair(&args),
        Command::Trials(args) => super::trials::trials(&args),
        Command::Calc(args) => super::calc::calc(&args),
        Command::Render(args) => super::render::render(&args),
        Command::Index(args) => super::batch::index::index(&args),
        Command::Diff(args) => super::batch::diff::diff(&args),
        Command::Annotate(args) => super::annotate::annotate(&args),
        Command::Watch(args) => super::watch::watch(&args),
        Command::Explain(args) => explain(&args),
        Command::Completions { shell } => print(&super::completions(shell)),
        Command::Schema { name } => {
            let schema = schema::ALL.iter().find(|(known, _)| *known == name).map_or("", |(_, schema)| schema);
            print(schema.as_bytes())
        }
        Command::Man => match super::man() {
            Ok(page) => print(&page),
            Err(error) => failed(&Error::Io { path: "man".into(), source: error }),
        },
    }
}

/// `report` and `check` differ in what they print.
pub(super) struct Asked {
    pub(super) args: ReportArgs,
    pub(super) findings_only: bool,
}

fn report(asked: &Asked) -> Verdict {
    let Asked { args, findings_only } = asked;
    let default_table = if *findings_only { Table::Findings } else { Table::Sas };
    let prepared = options::table(&args.tell, default_table).and_then(|table| {
        let settings = options::settings(&args.filter, Some(&args.analysis))?;
        let settings = Settings { hole_ns: args.judge.hole, ..settings };
        let inputs = options::inputs(&args.input, &args.policy, *findings_only)?;
        let sink = parquet::open(&args.tell, options::read_paths(&inputs, &args.policy))?;
        let judge = args.judge.prepare(options::read_paths(&inputs, &args.policy))?;
        Ok((table, settings, inputs, sink, judge))
    });
    let (table, mut settings, inputs, sink, mut judge) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let (session, expectation, display) = Session::begin(&args.policy, &args.run);
    let display = display.with_digest(&args.analysis.digest);
    settings.expectation = expectation;
    let engine::Outcome { mut report, errors } =
        engine::run(&inputs, &settings, options::jobs(args.run.jobs), &display);
    display.finish();
    let mut verdict = session.ended(&errors);
    say_unread(&mut report.exactness, &mut report.degraded_why, &session.unread);
    if *findings_only || args.expect_ipsec {
        say_no_ipsec(&mut report, &settings, args.expect_ipsec);
    }
    report.config = policies::unread(&settings.expectation);
    judge.judge(&mut report, &mut verdict);
    deliver(report, asked, table, sink, judge, verdict)
}

/// Judges a report and writes it.
pub(super) fn deliver(
    mut report: Report,
    asked: &Asked,
    table: Table,
    sink: Sink,
    mut judge: Judge,
    mut verdict: Verdict,
) -> Verdict {
    let args = &asked.args;
    let on = args.input.damage.reactions();
    verdict.report(&report, on, options::threshold(args.tell.fail_on));
    report.run = verdict.run();
    report.exit_status = verdict.status();
    if !args.run.quiet {
        on.warn_of(&report.captures);
    }
    if args.run.verbose {
        for capture in &report.captures {
            tell!(
                "{}: {} read, tap {}",
                printable(&capture.path),
                count(capture.frames, "frame"),
                printable(&capture.tap)
            );
        }
    }
    judge.measure(&report, &mut verdict);
    write(sink, &mut verdict, |sink| show(&report, asked, table, sink));
    verdict
}

/// The report in the form that was asked for.
fn show(report: &Report, asked: &Asked, table: Table, sink: &mut Sink) -> io::Result<()> {
    let output = &asked.args.tell.output;
    let view = options::view(output);
    let document =
        || if asked.findings_only { document::check(report, &view) } else { document::report(report, &view) };
    match asked.args.tell.format {
        Format::Json => json::write(report, sink),
        Format::Ndjson => json::write_lines(report, sink),
        Format::Csv => csv::write(report, table, sink),
        Format::Text => sink.write_all(text::render(&document(), &options::report_look(output)).as_bytes()),
        Format::Markdown => sink.write_all(markdown::render(&document()).as_bytes()),
        Format::Html => sink.write_all(html::render(&document()).as_bytes()),
        Format::Parquet => parquet::write(report, sink),
    }
}

/// What could not be read at all is missing from a report, and whoever keeps the report must know.
pub(super) fn say_unread<'e>(
    exactness: &mut Exactness,
    why: &mut Vec<String>,
    unread: impl IntoIterator<Item = &'e Error>,
) {
    for error in unread {
        why.push(format!("Not read: {error}."));
        *exactness = Exactness::Degraded;
    }
}

fn frames(args: &FramesArgs) -> Verdict {
    let prepared = options::settings(&args.filter, None).and_then(|settings| {
        let inputs = options::inputs(&args.input, &args.policy, false)?;
        let output = args.output.as_deref();
        let sink = match args.format {
            RowsFormat::Parquet => parquet::folder(output)?,
            _ => Sink::open(output, options::read_paths(&inputs, &args.policy))?,
        };
        Ok((settings, inputs, sink))
    });
    let (mut settings, inputs, mut sink) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return failed(&error),
    };
    let (session, expectation, display) = Session::begin(&args.policy, &args.run);
    settings.expectation = expectation;
    if !args.run.quiet {
        policies::warn_of_keys(&settings.expectation);
    }
    let mut rows = |format| engine::frames(&inputs, &settings, &mut FrameRows::new(&mut sink, format), &display);
    let result = match args.format {
        RowsFormat::Csv => rows(RowFormat::Csv),
        RowsFormat::Ndjson => rows(RowFormat::Ndjson),
        RowsFormat::Parquet => parquet::frames(&sink, &inputs, &settings, &display),
    };
    display.finish();
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(source) => {
            let mut verdict = Verdict::default();
            complain(&Error::Output { path: sink.name(), source });
            verdict.failed_output();
            return verdict;
        }
    };
    if outcome.closed {
        // Whoever reads has had enough: success, whatever the rest of the captures would have said.
        return Verdict::default();
    }
    let mut verdict = session.ended_unlisted(&outcome.errors);
    let on = args.input.damage.reactions();
    for info in &outcome.captures {
        verdict.capture(info.damage.as_ref(), on);
        if let Some(damage) = info.damage.as_ref().filter(|_| !args.run.quiet) {
            on.warn_of_read(&info.path.to_string_lossy(), damage, info.frames);
        }
        if args.run.verbose {
            tell!("{}: {} read", printable(&info.path.to_string_lossy()), count(info.frames, "frame"));
        }
    }
    write(sink, &mut verdict, |_| Ok(()));
    verdict
}

fn explain(args: &ExplainArgs) -> Verdict {
    let look = options::look(args.color.color, false);
    if args.words.is_empty() {
        return print(explain::list(&look).as_bytes());
    }
    match explain::explain(&args.words.join(" "), &look) {
        Ok(text) => print(text.as_bytes()),
        Err(why) => failed(&Error::Usage(why)),
    }
}

/// To standard output.
fn print(text: &[u8]) -> Verdict {
    let mut verdict = Verdict::default();
    write(Sink::Stdout(io::stdout()), &mut verdict, |sink| sink.write_all(text));
    verdict
}

/// Fills and finishes a sink. A closed pipe is success: whoever reads has had enough.
pub(super) fn write(mut sink: Sink, verdict: &mut Verdict, fill: impl FnOnce(&mut Sink) -> io::Result<()>) {
    let path = sink.name();
    match fill(&mut sink).and_then(|()| sink.finish()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *verdict = Verdict::default(),
        Err(source) => {
            complain(&Error::Output { path, source });
            verdict.failed_output();
        }
    }
}

/// An error that ends the command before it began.
pub(super) fn failed(error: &Error) -> Verdict {
    complain(error);
    let mut verdict = Verdict::default();
    verdict.errors(std::slice::from_ref(error));
    verdict
}

pub(super) fn complain(error: &Error) {
    tell!("spiglass: {}", printable(&error.to_string()));
}
