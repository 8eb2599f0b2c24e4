//! `watch`: a line for each change while a capture comes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum, ValueHint};

use super::args::{AnalysisArgs, ColorArgs, FilterArgs, PolicyArgs, RunArgs};
use super::batch::damage::DamageArgs;
use super::progress::Display;
use super::run::{failed, say_unread, write};
use super::session::Session;
use super::sink::Sink;
use super::verdict::Verdict;
use super::{options, policies, values};
use crate::capture::DigestRequest;
use crate::capture::Source;
use crate::engine::{self, Input, Interrupt, Outcome, Progress, ProgressUpdate};
use crate::model::report::Report;
use crate::report::changes::{Change, Changes};
use crate::report::document::View;
use crate::report::words::escape::printable;
use crate::report::{document, json, text};

pub(super) const EXAMPLES: &str = "\
One line for each change: a new SA, an SA that falls silent or is seen again, a rekey (first as possible, then
confirmed when the old SA falls silent), a finding that begins, grows or ends. The whole report follows at the end: of
the pipe, or at the interrupt key. A file is read on as it grows, and where another file gets its name (rotation), that
one is read next.

Examples:
  tcpdump -i eth1 -U -w - 'ip proto 50 or udp port 4500' | spiglass watch
  spiglass watch --config r1.cfg --config r2.cfg /captures/eth1.pcap
  spiglass watch --every 1s --rates --format ndjson - < /run/tap.fifo";

#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// A capture that is being written, or `-` for a pipe
    #[arg(value_name = "CAPTURE", default_value = "-", value_hint = ValueHint::FilePath)]
    capture: OsString,
    /// How often changes are looked for: `500ms`, `5s`, `1m`
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = values::bin, help_heading = "Output")]
    every: u64,
    /// How long an SA has no frames until it is silent
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::bin, help_heading = "Output")]
    silent: u64,
    /// Say each time what each SA carried since the last
    #[arg(long, help_heading = "Output")]
    rates: bool,
    /// Form of the lines and of the report: text or ndjson
    #[arg(long, value_enum, default_value_t = LineFormat::Text, hide_possible_values = true, value_name = "FORMAT", help_heading = "Output")]
    format: LineFormat,
    /// Show every row of every table of the report at the end [default: 20 rows]
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    all: bool,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    damage: DamageArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Forms of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LineFormat {
    /// For people
    Text,
    /// One object per line
    Ndjson,
}

/// Prints changes while the run goes on.
struct Watch<'a> {
    args: &'a WatchArgs,
    display: Display,
    began: Instant,
    changes: Mutex<(Changes, io::Result<()>)>,
}

impl Watch<'_> {
    /// Prints what is different; `last`: nothing more comes.
    fn print(&self, report: &Report, last: bool) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (known, printed) = &mut *changes;
        let (silent, rates) = (self.args.silent, self.args.rates);
        let new = if last {
            known.take_last(report, now_ns, silent, rates)
        } else {
            known.take(report, now_ns, silent, rates)
        };
        if printed.is_ok() {
            *printed = self.lines(&new);
        }
        // Without a reader there is nothing to watch for.
        if printed.is_err()
            && let Some(interrupt) = self.display.interrupt()
        {
            interrupt.ask();
        }
    }

    fn lines(&self, changes: &[Change]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for change in changes {
            match self.args.format {
                LineFormat::Text => {
                    let time = change.time.as_deref().unwrap_or("-");
                    writeln!(out, "{time}  {}  {}", change.event.title(), printable(&change.text))?;
                }
                LineFormat::Ndjson => json::write_change(change, &mut out)?,
            }
        }
        out.flush()
    }
}

impl Progress for Watch<'_> {
    fn update(&self, progress: &ProgressUpdate<'_>) {
        self.display.update(progress);
    }

    fn interrupted(&self) -> bool {
        self.display.interrupted()
    }

    fn interrupt(&self) -> Option<Arc<Interrupt>> {
        self.display.interrupt()
    }

    fn follows(&self) -> bool {
        true
    }

    fn digest(&self) -> Option<DigestRequest> {
        self.display.digest()
    }

    fn interim(&self, report: Report) {
        self.print(&report, false);
    }
}

pub(super) fn watch(args: &WatchArgs) -> Verdict {
    let source = Source::from_arg(&args.capture);
    let prepared = options::read_stdin_once([&source], None, &args.policy)
        .and_then(|()| options::settings(&args.filter, Some(&args.analysis)));
    let mut settings = match prepared {
        Ok(settings) => settings,
        Err(error) => return failed(&error),
    };
    let (session, expectation, display) = Session::begin(&args.policy, &args.run);
    let display = display.with_digest(&args.analysis.digest);
    settings.expectation = expectation;
    if let Some(interrupt) = display.interrupt() {
        interrupt.want_reports_every(Duration::from_nanos(args.every));
    }
    let changes = Mutex::new((Changes::default(), Ok(())));
    let watch = Watch { args, display, began: Instant::now(), changes };
    let Outcome { mut report, errors } = engine::watch(&Input::from(source), &settings, &watch);
    watch.print(&report, true);
    watch.display.finish();
    let mut verdict = session.ended(&errors);
    say_unread(&mut report.exactness, &mut report.degraded_why, &session.unread);
    report.config = policies::unread(&settings.expectation);
    verdict.report(&report, args.damage.reactions(), None);
    report.run = verdict.run();
    report.exit_status = verdict.status();
    if !args.run.quiet {
        args.damage.reactions().warn_of(&report.captures);
    }
    let look = options::look(args.color.color, false);
    let view = View { zone: options::zone(false), all: args.all };
    write(Sink::Stdout(io::stdout()), &mut verdict, |sink| match args.format {
        LineFormat::Text => sink.write_all(text::render(&document::report(&report, &view), &look).as_bytes()),
        LineFormat::Ndjson => json::write_lines(&report, sink),
    });
    verdict
}
