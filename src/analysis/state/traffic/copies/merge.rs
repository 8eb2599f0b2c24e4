//! A window of copies with that of the span that follows.

use std::collections::{HashMap, HashSet};

use super::chain::{Chain, NONE_OLDER, Older, VACANT, is_copy, place_of};
use super::head::HeadFrame;
use super::sieve::Sieve;
use super::{CopyWindow, Entry, HEAD_NS, counts_in_pattern};
use crate::analysis::limits::CLOCK_TOLERANCE_NS;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::base::tables::Remap;
use crate::model::Shift;

/// What the head of a later span becomes behind an earlier one.
#[derive(Default)]
struct Continued {
    /// Frames that are copies now and were none, or the other way round.
    changed: Vec<HeadFrame>,
    /// Copies that nothing before the earlier span can change.
    decided: Listed,
    /// By digest: the chain that begins with a frame of the head and has more than that frame.
    chains: HashMap<u64, Chain>,
}

impl CopyWindow {
    /// Appends the window of the span that follows; returns the frames of it that are copies for what came before them here, or
    /// are none for that, unlike what the later span took them for.
    pub(crate) fn merge(&mut self, later: Self, shift: Shift, map: &Remap) -> Vec<HeadFrame> {
        // Digests without chains are appended as they came.
        let archive = self.recent.archive_with(&later.recent);
        let is_plain = self.older.is_empty() && later.older.is_empty() && later.buckets.is_empty();
        let later_tail = if is_plain { later.recent.iter().copied().collect() } else { later.tail() };
        let Self {
            recent: _,
            buckets: _,
            older: later_older,
            newest,
            previous,
            first,
            head,
            first_epoch,
            pattern,
            settled,
            dropped,
            adrift,
            lowest,
        } = later;
        self.dropped += dropped;
        self.adrift += adrift;
        self.pattern.merge(pattern);
        let (Some(previous), Some(later_first)) = (previous, first) else {
            self.recent.set_archive(archive);
            return Vec::new();
        };
        let head = head.into_iter().map(|frame| frame.remapped(shift, map));
        let Continued { changed, decided, chains } =
            if self.previous.is_some_and(|own| later_first < own.saturating_sub(CLOCK_TOLERANCE_NS)) {
                self.start_epoch();
                let mut decided = Listed::default();
                head.filter(|frame| frame.copy).for_each(|frame| frame.list(&mut decided));
                Continued { decided, ..Continued::default() }
            } else {
                self.adrift += u64::from(self.is_adrift(lowest));
                if self.first_epoch {
                    self.lowest = self.lowest.min(lowest);
                }
                self.go_on(head.collect(), later_first)
            };
        let mut settled = settled.shifted(shift);
        settled.join(&decided);
        self.settled.merge(settled, Shift::default());
        self.first = self.first.or(Some(later_first));
        self.previous = Some(previous);
        if first_epoch {
            self.newest = self.newest.max(newest);
        } else {
            self.start_epoch();
            self.newest = newest;
        }
        // Only chains of the first epoch can have begun before this span.
        let chains = if first_epoch { chains } else { HashMap::new() };
        self.append_tail(later_tail, is_plain, (&later_older, &chains));
        self.recent.set_archive(archive);
        changed
    }

    /// Appends the digests of the span that follows; `is_plain`: neither span has chains.
    fn append_tail(
        &mut self,
        tail: Vec<Entry>,
        is_plain: bool,
        (older, chains): (&HashMap<u64, Older>, &HashMap<u64, Chain>),
    ) {
        let oldest = self.oldest_kept();
        let kept = tail.into_iter().filter(|e| e.time >= oldest);
        if is_plain && chains.is_empty() {
            kept.for_each(|entry| self.remember(entry));
        } else {
            kept.for_each(|entry| self.append(entry, older, chains));
        }
    }

    /// Appends a digest of the span that follows, with its chain: what that span knows of it, or one of `chains`, which begin in its head.
    fn append(&mut self, entry: Entry, older: &HashMap<u64, Older>, chains: &HashMap<u64, Chain>) {
        let older = older.get(&entry.digest).copied().unwrap_or(NONE_OLDER);
        // A chain that began before that span has fewer frames than decide; its latest frame is in the head, or too far behind it. The
        // time alone does not tell: where the clock steps back, a chain has the same time twice.
        let begun = if older.contains(&VACANT) { chains.get(&entry.digest) } else { None };
        let [_, older @ ..] = match begun {
            Some(chain) if chain.latest() == Some(entry.time) => chain.times,
            _ => Chain::new(entry.time, older).times,
        };
        self.touch_latest(entry, older);
    }

    /// Judges the head of a span that follows again, by what came before it here.
    fn go_on(&mut self, head: Vec<HeadFrame>, later_first: i64) -> Continued {
        let mut out = Continued::default();
        // Digests of which the head has more than one frame.
        let continued: HashSet<u64> =
            head.iter().filter(|frame| frame.chained().is_some()).map(|frame| frame.observation.digest).collect();
        let limit = self.first.unwrap_or(later_first).saturating_add(HEAD_NS);
        // By digest, so that a search is a bisection.
        let sought = Sieve::of(head.iter().map(|frame| frame.observation.digest), head.len());
        let own = self.tail_of(|digest| sought.may_hold(digest));
        for mut frame in head {
            let Some(time) = frame.observation.time.ns() else { continue };
            let digest = frame.observation.digest;
            let begun = match self.chain_of(&mut frame, time, &mut out.chains, &own) {
                Some(chain) => {
                    let copy = is_copy(&chain, time, &frame.sights);
                    if copy != frame.copy {
                        frame.copy = copy;
                        out.changed.push(frame.clone());
                    }
                    let place = place_of(&chain, time, &frame.sights);
                    if chain.len() > 0 && counts_in_pattern(&frame.observation) {
                        self.pattern.move_to(frame.place, place, digest, frame.observation.tos);
                    }
                    frame.place = place;
                    frame.chained = chain.latest().unwrap_or(VACANT);
                    if chain.len() > 0 || continued.contains(&digest) {
                        out.chains.insert(digest, chain.then(time));
                    }
                    chain.root(time)
                }
                None => Some(time),
            };
            let is_head = self.first_epoch && begun.is_some_and(|begun| begun <= limit);
            let unkept = if is_head { self.keep(frame) } else { Some(frame).filter(|frame| frame.copy) };
            unkept.iter().for_each(|frame| frame.list(&mut out.decided));
        }
        out
    }

    /// The chain that a frame of the head of a later span continues here; `None` where it goes on from a frame behind the head, which
    /// nothing before that span can touch.
    fn chain_of(
        &self,
        frame: &mut HeadFrame,
        time: i64,
        chains: &mut HashMap<u64, Chain>,
        own: &[Entry],
    ) -> Option<Chain> {
        let digest = frame.observation.digest;
        match (chains.remove(&digest), frame.chained()) {
            (Some(chain), Some(before)) if chain.times.first() == Some(&before) => Some(chain),
            (_, Some(_)) => None,
            _ if frame.apart => Some(Chain::EMPTY),
            _ => {
                let at = own.partition_point(|e| e.digest > digest);
                let known = own.get(at).filter(|e| e.digest == digest);
                let known = known.map_or(Chain::EMPTY, |e| Chain::new(e.time, self.older_of(digest)));
                let chain = known.before(time);
                frame.apart = known.len() > 0 && chain.len() == 0;
                Some(chain)
            }
        }
    }
}
