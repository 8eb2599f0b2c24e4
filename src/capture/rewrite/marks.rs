//! Which frames get comments, and which are written at all.

use std::collections::BTreeMap;

/// Comments by frame.
#[derive(Clone, Debug, Default)]
pub struct Comments {
    comments: BTreeMap<u64, Vec<String>>,
    /// The largest distance, in frames, from one with comments at which frames are written; without it all are.
    context: Option<u64>,
}

impl Comments {
    /// All frames are written, or, with `context`, those with comments and that number of frames on either side of each.
    #[must_use]
    pub fn new(context: Option<u64>) -> Self {
        Self { comments: BTreeMap::new(), context }
    }

    /// Adds a comment to frame `frame` (from 1); the same one is added once.
    pub fn add(&mut self, frame: u64, comment: String) {
        let comments = self.comments.entry(frame).or_default();
        if !comments.contains(&comment) {
            comments.push(comment);
        }
    }

    /// Frames with comments.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.comments.len()
    }

    pub(super) fn cursor(&self) -> Cursor<'_> {
        let mut rest = self.comments.iter();
        let next = rest.next();
        Cursor { rest, next, newest: None, context: self.context }
    }
}

/// Walks over the marks while frames come in order.
pub(super) struct Cursor<'m> {
    rest: std::collections::btree_map::Iter<'m, u64, Vec<String>>,
    next: Option<(&'m u64, &'m Vec<String>)>,
    /// The last frame with comments so far.
    newest: Option<u64>,
    context: Option<u64>,
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keeping<'m> {
    Keep(&'m [String]),
    LeaveOut,
}

impl<'m> Cursor<'m> {
    /// How many frames from the next one on are written and have no comments, as far as is known; 0 says nothing.
    pub(super) fn quiet(&self, frame: u64) -> u64 {
        match (self.context, self.next) {
            (Some(_), _) => 0,
            (None, Some((marked, _))) => marked.saturating_sub(frame),
            (None, None) => u64::MAX,
        }
    }

    /// What becomes of the next frame.
    #[inline]
    pub(super) fn verdict(&mut self, frame: u64) -> Keeping<'m> {
        let mut comments: &[String] = &[];
        while let Some((&marked, of)) = self.next.filter(|(marked, _)| **marked <= frame) {
            if marked == frame {
                comments = of;
            }
            self.newest = Some(marked);
            self.next = self.rest.next();
        }
        let Some(context) = self.context else { return Keeping::Keep(comments) };
        let after = self.newest.is_some_and(|marked| frame - marked <= context);
        let before = self.next.is_some_and(|(marked, _)| marked - frame <= context);
        if after || before { Keeping::Keep(comments) } else { Keeping::LeaveOut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_keeps_the_neighbours_of_marked_frames() {
        let mut marks = Comments::new(Some(2));
        marks.add(5, "gap".into());
        marks.add(5, "gap".into());
        marks.add(12, "late".into());
        assert_eq!(marks.frames(), 2);
        let mut cursor = marks.cursor();
        let kept: Vec<u64> = (1..=20).filter(|&frame| cursor.verdict(frame) != Keeping::LeaveOut).collect();
        assert_eq!(kept, [3, 4, 5, 6, 7, 10, 11, 12, 13, 14]);
        let mut cursor = marks.cursor();
        let commented: Vec<u64> =
            (1..=20).filter(|&frame| matches!(cursor.verdict(frame), Keeping::Keep([_]))).collect();
        assert_eq!(commented, [5, 12]);
    }

    #[test]
    fn without_context_every_frame_stays() {
        let marks = Comments::new(None);
        let mut cursor = marks.cursor();
        assert!((1..=20).all(|frame| cursor.verdict(frame) == Keeping::Keep(&[])));
        assert_eq!(cursor.quiet(21), u64::MAX);
    }

    #[test]
    fn what_lies_before_the_next_mark_is_quiet() {
        let mut marks = Comments::new(None);
        marks.add(5, "gap".into());
        let mut cursor = marks.cursor();
        assert_eq!((cursor.quiet(1), cursor.quiet(4), cursor.quiet(5)), (4, 1, 0));
        assert!(matches!(cursor.verdict(5), Keeping::Keep([_])));
        assert_eq!(cursor.quiet(6), u64::MAX);
        assert_eq!(Comments::new(Some(0)).cursor().quiet(1), 0, "an excerpt asks for each frame");
    }
}
