//! The captures of a tap that was named: one by one, if they are a rotation, else frame by frame in time order.

use std::sync::{Mutex, PoisonError};

use super::Run;
use crate::capture::{CaptureReader, Source};
use crate::engine::input::Input;
use crate::engine::rotation::fold::Streams;
use crate::engine::rotation::interleave::Interleave;
use crate::engine::rotation::{self, Named};
use crate::model::counted_name::CountedName;

impl Run<'_> {
    /// Analyses the captures of a named tap one by one, if they are files that a program wrote one after the other: their order is that of
    /// their names and numbers, whatever the clock did between them. False where they turn out to be something else, such as the two
    /// ports of a TAP; nothing is kept of them then.
    pub(super) fn in_turn(&mut self, inputs: &[(usize, &Input)]) -> bool {
        let can_be_read_again = |input: &Input| matches!(&input.source, Source::Path(path) if path.is_file());
        let may_be = self.resolved.is_some() && rotation::counts(inputs);
        if !may_be || !inputs.iter().all(|(_, input)| can_be_read_again(input)) {
            return false;
        }
        let streams = Mutex::new(Streams::with_limit(self.room()));
        let mut run = Run {
            resolved: self.resolved.clone(),
            settings: self.settings,
            jobs: self.jobs,
            progress: self.progress,
            alone: false,
            errors: Vec::new(),
            streams: &streams,
            held: None,
        };
        let mut alone: Vec<Named<'_>> = inputs.iter().map(|(_, input)| Named::Alone(input)).collect();
        alone.sort_by_cached_key(|named| CountedName::of(&named.path().to_string_lossy()));
        run.each(&alone);
        let errors = run.errors;
        let read = streams.into_inner().unwrap_or_else(PoisonError::into_inner).into_streams();
        if !self.progress.interrupted() && !rotation::follow_each_other(read.clone()) {
            return false;
        }
        self.errors.extend(errors);
        read.into_iter().for_each(|stream| self.take(stream));
        true
    }

    /// Analyses the captures of a named tap as one stream, frame by frame in time order.
    pub(super) fn merged(&mut self, name: &str, inputs: &[(usize, &Input)]) {
        let mut merge = Interleave::open(inputs, &mut self.errors, self.progress);
        if merge.is_empty() {
            return;
        }
        let mut observer = self.begin(merge.first_time());
        observer.interleave_captures();
        while !self.progress.interrupted() && merge.next(&mut self.errors, |frame| observer.observe(frame)) {
            if let Some(reader) = merge.current() {
                self.tell(reader);
            }
        }
        let mut readers = merge.into_readers();
        if self.progress.interrupted() {
            readers.iter_mut().for_each(CaptureReader::forgive_cut);
        }
        let state = observer.finish(readers.len());
        self.keep(Some(name.to_owned()), state, &readers.iter().collect::<Vec<_>>());
    }
}
