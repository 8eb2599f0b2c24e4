//! `spiglass index`: where the records of one huge capture begin.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::super::args::RunArgs;
use super::super::progress::{Display, InterruptKey};
use super::super::run::{failed, write};
use super::super::sink::Sink;
use super::super::verdict::Verdict;
use crate::engine::RecordIndex;
use crate::report::words::number::count;

pub(in crate::cli) const EXAMPLES: &str = "\
The index holds up to 65,536 places at which a record begins. Parts that it divides the capture into can be
analysed by any processes in any order; their merged states are the state of the whole capture. A compressed
capture is one part: the other parts are empty.

Examples:
  spiglass index huge.pcap -o huge.idx
  seq 64 | xargs -P 8 -I {} spiglass partial huge.pcap --index huge.idx --part {}/64 -o huge-{}.state
  spiglass merge huge-*.state";

#[derive(Debug, Args)]
pub(in crate::cli) struct IndexArgs {
    /// The capture, a file
    #[arg(value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    capture: OsString,
    /// Write the index to FILE; it appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
}

pub(in crate::cli) fn index(args: &IndexArgs) -> Verdict {
    let path = Path::new(&args.capture);
    let sink = match Sink::open(args.output.as_deref(), [path]) {
        Ok(sink) => sink,
        Err(error) => return failed(&error),
    };
    let key = InterruptKey::listen();
    let display = Display::new(&args.run, key.clone());
    let index = RecordIndex::of(path, &display);
    display.finish();
    let mut verdict = Verdict::default();
    verdict.interrupted(key.happened());
    match index {
        // Half an index would be taken for a whole one.
        Ok(_) if key.happened() => {}
        Ok(index) => {
            if !args.run.quiet {
                tell!("spiglass: {}: up to {}", path.display(), count(index.most_parts(), "part"));
            }
            write(sink, &mut verdict, |sink| index.write(sink));
        }
        Err(error) => return failed(&error),
    }
    verdict
}
