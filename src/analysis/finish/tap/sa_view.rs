//! One SA with its verdicts.

use crate::analysis::finish::copying::CopiesAre;
use crate::analysis::finish::hidden::is_more_than_stray;
use crate::analysis::finish::rows::inferred::Inferred;
use crate::analysis::finish::several::Several;
use crate::analysis::finish::udp::Found;
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::sa::bins::SaBins;
use crate::analysis::state::sa::candidates::FlowKey;
use crate::analysis::state::sa::null::{NullCandidate, NullVotes};
use crate::analysis::state::sa::sas::{Copies, SaState};
use crate::analysis::state::sa::sequence::SequenceFigures;
use crate::analysis::state::sa::sequence::history::History;
use crate::analysis::state::sa::sizes::{Cell, Cells, OpaqueKey};
use crate::analysis::state::traffic::fragment_sums::FragmentSums;
use crate::model::report::Name;
use crate::model::{Protocol, SaKey};

/// One SA with its verdicts.
pub(crate) struct SaView<'a> {
    /// Its number, [`NONE`] for a UDP flow that turned out to be ESP.
    pub(crate) id: u32,
    pub(crate) key: SaKey,
    pub(crate) name: Name,
    pub(crate) state: &'a SaState,
    pub(crate) sequence: Option<SequenceFigures>,
    /// Gaps, late and repeated numbers with their frames, where there are any.
    pub(crate) history: Option<Box<History>>,
    pub(crate) null: Option<(NullCandidate, &'a NullVotes)>,
    pub(crate) fragments: Option<Box<FragmentSums>>,
    /// Sizes of UDP flows that turned out to be ESP.
    pub(crate) flow_sizes: Vec<&'a Cells<OpaqueKey>>,
    /// Their traffic over time, as that of SA 0.
    pub(crate) flow_bins: Option<&'a SaBins>,
    /// Its packets in fragments there: later fragments may be missing.
    pub(crate) torn: u64,
    /// The first of these flows.
    pub(crate) flow: Option<Box<FlowKey>>,
    /// What copies of its packets are.
    pub(crate) copies_are: CopiesAre,
    /// What is inferred of its transform, where its packets are opaque.
    pub(crate) inferred: Option<Inferred>,
    /// Whether it shares its counter with other pairs of addresses: its own numbers tell nothing.
    pub(crate) grouped: bool,
    /// What leaves it without figures of its numbers, where anything does.
    pub(crate) several: Option<Several>,
}

impl<'a> SaView<'a> {
    /// An SA of UDP flows on unusual ports.
    pub(super) fn found(found: &'a Found<'a>, copies_are: CopiesAre) -> Self {
        let null = found.state.null_verdict(None);
        let mut view = Self::new(NONE, found.key, &found.state, copies_are, null, None);
        view.flow_sizes.clone_from(&found.sizes);
        view.flow_bins = Some(&found.bins);
        view.torn = found.torn;
        view.flow = Some(Box::new(found.flow));
        view
    }

    pub(super) fn new(
        id: u32,
        key: SaKey,
        state: &'a SaState,
        copies_are: CopiesAre,
        null: Option<(NullCandidate, &'a NullVotes)>,
        fragments: Option<Box<FragmentSums>>,
    ) -> Self {
        let copies = copies_are.left_out(state).frames;
        let mut sequence = if key.protocol == Protocol::IpComp { None } else { state.sequence.finish(copies) };
        let several = sequence.as_ref().and_then(|own| Several::of(state, own));
        if several.is_some() {
            sequence = None;
        }
        let told = sequence.as_ref().filter(|own| own.lost > 0 || own.late > 0 || own.duplicate > 0);
        Self {
            id,
            key,
            name: key.to_string().into(),
            history: told.map(|_| Box::new(state.sequence.history(copies))),
            sequence,
            null,
            state,
            fragments,
            flow_sizes: Vec::new(),
            flow_bins: None,
            torn: 0,
            flow: None,
            copies_are,
            inferred: None,
            grouped: false,
            several,
        }
    }

    /// Frames that its figures are without: copies of the TAP, or its packets as a router sent them on.
    pub(crate) fn left_out(&self) -> Copies {
        self.copies_are.left_out(self.state)
    }

    /// Packets of one of its sizes without these, and their layer 1 octets.
    pub(crate) fn counted(&self, cell: &Cell) -> (u64, u64) {
        if self.copies_are == CopiesAre::Open { (cell.seen.count, cell.l1_bytes) } else { cell.without_copies() }
    }

    /// Whether the sizes of some of its packets are not known, because of how their fragments fit together or what they show.
    pub(crate) fn has_unsized_fragments(&self) -> bool {
        self.torn > 0
            || self.fragments.as_ref().is_some_and(|sums| sums.uncertain > 0 || sums.unsized_packets > 0)
            || is_more_than_stray(self.packets_without_size(), self.state.seen.count)
    }

    /// Packets that no size counts, mostly because fragments of them were not seen.
    pub(crate) fn packets_without_size(&self) -> u64 {
        let incomplete = self.fragments.as_ref().map_or(0, |sums| sums.incomplete);
        self.inferred.as_ref().map_or(incomplete, |inferred| inferred.packets_without_size)
    }

    /// Whether some of it is carried in TCP.
    pub(crate) fn in_tcp(&self) -> bool {
        let [_, _, tcp, _] = self.state.encapsulations;
        tcp > 0
    }

    /// Whether nothing of what it carries can be seen.
    pub(crate) fn is_opaque(&self) -> bool {
        self.state.opaque > 0 && self.null.is_none()
    }
}
