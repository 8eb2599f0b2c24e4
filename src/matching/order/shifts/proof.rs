//! What is known of the pairs of a lane.

use crate::matching::order::lane::Level;

/// What is known of the stretches of one lane.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct Proof {
    /// The latest stretch that is proved, and its delay at the end.
    pub(super) latest: Option<(u32, Level)>,
    /// Pairs, and those of them that are not proved.
    pub(in crate::matching) pairs: u64,
    pub(in crate::matching) open: u64,
    /// Pairs of proved stretches that are unlike their neighbours, while another packet fits better.
    pub(in crate::matching) strays: u64,
    /// Those of them that are among the first or the last pairs.
    pub(super) end_strays: u64,
    /// Pairs before the first stretch that is proved, and after the last.
    leading: u64,
    trailing: u64,
}

impl Proof {
    /// Whether too many pairs are open, at the ends or in all, to say how many packets were lost.
    pub(in crate::matching) const fn is_open(&self) -> bool {
        self.is_open_from(10)
    }

    /// The same where packets of one side alone have no counterpart: between pairs that are proved these are as many whichever they are.
    pub(in crate::matching) const fn is_open_within(&self) -> bool {
        self.is_open_from(3)
    }

    /// Whether more pairs are open than few at both ends, or of all one in `some`.
    const fn is_open_from(&self, some: u64) -> bool {
        /// Open pairs at both ends: at most `FEW`, or one of every `OF` pairs.
        const FEW: u64 = 4;
        const OF: u64 = 64;
        let ends = self.leading + self.trailing;
        (ends > FEW && ends * OF > self.pairs) || (self.open > FEW && self.open * some > self.pairs)
    }

    /// Pairs that may be others, so that the count of what is between them may be wrong: all, or those at the ends where packets of one side alone
    /// have no counterpart.
    pub(in crate::matching) const fn doubtful(&self, one_sided: bool) -> u64 {
        if one_sided { self.leading + self.trailing + self.end_strays } else { self.open + self.strays }
    }

    pub(super) fn add(&mut self, pairs: u64, proved: Option<(u32, Level)>) {
        self.pairs += pairs;
        if let Some(latest) = proved {
            self.latest = Some(latest);
            self.trailing = 0;
        } else {
            self.open += pairs;
            *if self.latest.is_some() { &mut self.trailing } else { &mut self.leading } += pairs;
        }
    }
}
