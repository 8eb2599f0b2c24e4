//! From sums to the report: ratios, names and verdicts.

mod by_size;
mod degraded;
mod direction;
mod edges;
mod ends;
mod gone;
mod outside;

use std::collections::{BTreeSet, HashSet};

use foldhash::fast::FixedState;

use self::by_size::size_rows;
use self::degraded::LeftOut;
use self::direction::{Found, direction};
use self::outside::{open_by_answers, outside, undetermined};
use super::unsettled::LeftOver;
use super::{Matcher, TunnelKey};
use crate::analysis::finish::fill_lengths;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::doubt::Silent;
use crate::matching::measure::known::Known;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::tally::{Pads, SaTally, frame};
use crate::matching::occurrences::NamedFrames;
use crate::matching::packets::flows::Flows;
use crate::matching::packets::ledger::Lost;
use crate::matching::packets::progress::Progress;
use crate::model::pairs::{self, ByBasis, Direction, Ends, LossPlace, Padding, PaddingExample, PairBasis, Pairs};
use crate::model::report::{FrameRef, Name, Rfc3339};
use crate::transform::inference::Catalogue;

/// Everything that a report of pairs holds besides captures and findings.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) pairs: Pairs,
    pub(crate) directions: Vec<Direction>,
    pub(crate) outside: Vec<pairs::Outside>,
    pub(crate) bin_ns: Option<u64>,
    pub(crate) bins: Vec<pairs::SpreadBin>,
    pub(crate) sizes: Vec<pairs::Size>,
    pub(crate) padding: Padding,
    pub(crate) ends: Vec<Ends>,
    pub(crate) lost: Vec<pairs::Lost>,
    /// Packets that findings name.
    pub(crate) named: NamedFrames,
    pub(crate) degraded_why: Vec<String>,
    /// Silences of the taps in which packets are missing that were not lost, as far as is known.
    pub(crate) silent: Vec<Silent>,
    /// The plain side, the tunnel's and the far one.
    pub(crate) sides: [Read; 3],
}

/// What was read of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) frames: u64,
    /// Packets that could be paired, those in a tunnel, and copies that were left out.
    pub(crate) packets: u64,
    pub(crate) tunnelled: u64,
    pub(crate) copies: u64,
    pub(crate) first_ns: Option<i64>,
    pub(crate) last_ns: Option<i64>,
}

impl Read {
    fn of(side: &Progress) -> Self {
        let Progress { frames, packets, tunnelled, copies, first, latest, .. } = *side;
        Self { frames, packets, tunnelled, copies, first_ns: first, last_ns: first.map(|_| latest) }
    }
}

impl Matcher {
    /// What was found. The sides must have ended.
    pub(crate) fn figures(mut self, step: Option<f64>) -> Figures {
        let step = step.map(|step| step.max(self.coarseness()));
        if let Some(ends) = &mut self.ends {
            ends.read(self.plain, self.exit);
            ends.end();
        }
        self.settle_left_over();
        let doubt = self.judge();
        let clock = self.clock();
        let catalogue = Catalogue::new();
        let mut flows = std::mem::take(&mut self.ledger.flows);
        self.without_own(&mut flows);
        for (flow, sa) in &self.tally.flow_sa.clone() {
            if let Some(key) = flows.key(*flow) {
                self.tally.addresses(*sa, key.src, key.dst);
            }
        }
        let (mut losses, gone) = self.losses(&mut flows, &doubt);
        losses.too_big(&self.ledger.too_big, &self.tally, &flows);
        if let Some(ends) = &self.ends {
            losses.ends(ends, &self.tally, &flows, &self.ledger);
        }
        let mut pairs = Pairs {
            unmatched_plain: losses.unmatched_plain,
            uncovered_plain: self.ledger.uncovered,
            uncovered_exit: self.ends.as_ref().map(|ends| ends.uncovered),
            undetermined_plain: flows.iter().map(|(flow, _)| flows.aside(flow)).sum(),
            ..Pairs::default()
        };
        let (mut directions, mut sizes, left) = (Vec::new(), Vec::new(), self.left_over(&doubt));
        let (mut doubtful, mut by_few, mut blocked) =
            (BTreeSet::<u32>::new(), BTreeSet::new(), self.blocked(&flows, &losses));
        let (mut order_lost, mut order_found) = (false, false);
        let order = self.sas_in_order();
        for at in order.iter().copied() {
            let Some(sa) = self.tally.sas.get(at) else { continue };
            let (missing, unseen) = self.missing(at as u32, &doubt);
            let open = self.open(at as u32, sa, missing, &losses);
            pairs.add(sa, open.is_some());
            pairs.undetermined_tunnel += doubt.tunnel.get(&(at as u32)).copied().unwrap_or(0);
            let reason = self.reason(at as u32, sa, missing, (&losses, &clock, &left));
            let doubted = doubt.is_open(at as u32) || reason.is_some();
            order_lost |= reason.is_some() && sa.is_by_order();
            order_found |= reason.is_none() && sa.matched > 0;
            if doubted {
                doubtful.insert(at as u32);
            }
            let unfound = gone.doubt(at as u32, losses.missed_of(at as u32));
            let doubted = doubted || unfound.is_some() || blocked.contains_key(&(at as u32));
            let silent = reason
                .or_else(|| doubt.of(at as u32, &losses))
                .or(unfound)
                .or_else(|| Some(open_by_answers(blocked.remove(&(at as u32))?)));
            let known = self.known(at, sa, &losses, &catalogue);
            let counted = open.is_some() && !unseen && self.is_counted(at, sa, missing);
            let guessed = sa.is_by_order() && self.is_way_doubted(at as u32, sa, doubted, &clock);
            let (missed, unseen) = self.missed_by_tap(at as u32, sa, (missing, unseen), &losses);
            let open = open.or(silent).or(missed);
            let around = self.left_around(at as u32, sa, &losses);
            let found =
                Found { losses: &losses, missing, unseen, around, open, counted, doubted, guessed, at: at as u32 };
            let by_few_pairs = sa.times.moves_with(&sa.guesses) || losses.is_half_found(at as u32, sa.matched);
            by_few.extend(by_few_pairs.then_some(directions.len()));
            directions.push(direction(sa, found, &clock, &self.settings, step, &known));
            sizes.extend(size_rows(sa, at as u32, &losses, &known, doubted));
        }
        fill_lengths(directions.iter_mut().map(|direction| &mut direction.transform));
        let (bin_ns, mut bins) = self.bins(&mut directions, &order, &flows);
        let impossible = is_impossible(&clock, step) || self.has_untimely();
        if order_lost && !order_found || self.contradicted(&clock) || impossible {
            leave_open(impossible, &pairs, &mut directions, (&mut sizes, &mut bins));
        }
        let ends = ends::against(self.ends(&losses, step), &mut directions, pairs.undetermined_tunnel);
        without_guesses(&mut directions, &by_few, (&mut sizes, &mut bins));
        edges::leave_open(&mut pairs, &mut directions, self.settings.one_clock);
        directions.iter_mut().for_each(Direction::explain_latency);
        // What pairing by order does not find may be in the tunnel, where the order was lost.
        let unexplained = self.unexplained(order_lost);
        let unseen = self.unseen_ways(&flows, &gone);
        pairs.undetermined_plain += undetermined(&flows, &unexplained, &unseen);
        let (outside, outside_plain, more_outside) = outside(&flows, &unexplained, &unseen);
        pairs.outside_plain = outside_plain;
        let (lost, hidden) = self.lost(&flows, &losses, &doubtful);
        let (lost, lost_ways): (Vec<_>, Vec<_>) = lost.into_iter().unzip();
        let before = hidden + lost.iter().filter(|lost| lost.verdict == LossPlace::BeforeTunnel).count() as u64;
        let sas = self.tally.sas.iter_mut().filter(|sa| sa.encapsulated == Some(false));
        let alone = sas.map(|sa| (sa.name.clone(), std::mem::take(&mut sa.alone_frames))).collect();
        let left_out = LeftOut {
            outside: more_outside,
            lost: losses.unmatched_plain.saturating_sub(before),
            missed: losses.unmatched_plain.saturating_sub(losses.known_sizes),
            flows: flows.refused,
        };
        Figures {
            pairs,
            directions,
            outside,
            bin_ns,
            bins,
            sizes,
            padding: self.padding(),
            ends,
            lost,
            named: NamedFrames { lost_ways, alone },
            degraded_why: self.degraded(&left_out),
            silent: doubt
                .silent
                .into_iter()
                // Pairs that may be others do not tell when packets passed.
                .map(|silent| Silent { open: silent.open || order_lost, ..silent.beside(&clock) })
                .chain(self.ends.iter().flat_map(|ends| ends.silent.iter().copied()))
                .collect(),
            sides: [self.plain, self.tunnel, self.exit].map(|side| Read::of(&side)),
        }
    }

    /// The SAs in the order of their names.
    fn sas_in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.tally.sas.len()).collect();
        order.sort_by_key(|at| self.tally.sas.get(*at).map(|sa| sa.key));
        order
    }

    /// Why it is not known how many packets of a direction were lost, by its pairs.
    fn reason(
        &self,
        at: u32,
        sa: &SaTally,
        missing: u64,
        (losses, clock, left): (&Losses, &Clock, &LeftOver),
    ) -> Option<pairs::Undetermined> {
        let unsettled = self.unsettled(at, sa, missing, losses, clock, left);
        unsettled.or_else(|| self.taken_for_equals(at, sa, losses))
    }

    /// What pairs say about the transform of an SA, or the user or the configurations do.
    fn known(&self, at: usize, sa: &SaTally, losses: &Losses, catalogue: &Catalogue) -> Known {
        let ivs = self.order.sas.get(at).map_or(&[][..], |info| &info.ivs);
        let stated = match sa.key {
            TunnelKey::Sa(key) => self.given.esp(&key),
            TunnelKey::Bare(..) => None,
        };
        Known::of(sa, losses.missed_of(at as u32), catalogue, ivs).unless_stated(sa, stated)
    }

    /// Lost packets with their direction, and how many are not named because it is not known which were lost.
    fn lost(
        &self,
        flows: &Flows,
        losses: &Losses,
        doubtful: &BTreeSet<u32>,
    ) -> (Vec<(pairs::Lost, Option<Name>)>, u64) {
        let name = |sa: u32| Some(self.tally.sas.get(sa as usize)?.name.clone());
        let round = |confidence: f32| (f64::from(confidence) * 1_000.0).round() / 1_000.0;
        let gone = losses.ends.as_ref().and_then(|ends| ends.not_arrived.as_ref());
        // A hole in the numbers names its packet by the pairs beside it, however many others are in doubt; unless most of these are guesses, nothing
        // tells which way it went, or the exit showed it.
        let is_doubtful = |lost: &&Lost| {
            let sa = self.tally.sa_of(lost);
            let guessed =
                lost.hole.is_none() && !lost.refused || sa.is_some_and(|sa| self.are_holes_unnamed(sa, losses));
            guessed && sa.is_some_and(|sa| doubtful.contains(&sa)) || gone.is_some_and(|gone| !gone.contains(lost))
        };
        let selected = || self.ledger.lost.iter().filter(|lost| flows.is_selected(lost.flow));
        let hidden = selected().filter(is_doubtful).count() as u64;
        let shown = selected().filter(|lost| !is_doubtful(lost));
        let mut rows: Vec<(pairs::Lost, Option<Name>)> = shown
            .map(|lost| {
                let Lost { pos, time, bytes, hole, confidence, .. } = *lost;
                let way = self.tally.sa_of(lost).and_then(&name);
                let lost = pairs::Lost {
                    frame: frame(pos),
                    time: time.ns().map(Rfc3339),
                    inner_bytes: bytes.into(),
                    sa: hole.and_then(|(sa, _)| name(sa)),
                    sequence: hole.map(|(_, number)| number),
                    confidence: round(confidence),
                    verdict: LossPlace::BeforeTunnel,
                };
                (lost, way)
            })
            .collect();
        let key = |frame: FrameRef| (frame.capture, frame.frame);
        let before: HashSet<(u32, u64), FixedState> = rows.iter().map(|(lost, _)| key(lost.frame)).collect();
        for (pos, ns, bytes, sa) in losses.ends.iter().flat_map(|ends| &ends.frames) {
            let paired = self.ledger.unpaired.as_ref().is_some_and(|unpaired| !unpaired.contains(pos));
            if !before.contains(&key(frame(*pos))) {
                let lost = pairs::Lost {
                    frame: frame(*pos),
                    time: Some(Rfc3339(*ns)),
                    inner_bytes: (*bytes).into(),
                    sa: name(*sa).filter(|_| losses.is_told(*sa)),
                    sequence: None,
                    confidence: 1.0,
                    verdict: if paired && !doubtful.contains(sa) {
                        LossPlace::BehindTunnel
                    } else {
                        LossPlace::EndToEnd
                    },
                };
                rows.push((lost, name(*sa)));
            }
        }
        rows.sort_by_key(|(lost, _)| (lost.frame.capture, lost.frame.frame));
        (rows, hidden)
    }

    /// Whether a hole in the numbers of an SA does not tell which packet is missing, where others are in doubt.
    fn are_holes_unnamed(&self, sa: u32, losses: &Losses) -> bool {
        let missed = losses.missed.get(&sa).copied().unwrap_or(0);
        let is_unnamed = |own: &SaTally| own.has_unnamed_holes(missed);
        self.order.is_way_guessed(sa) || self.tally.sas.get(sa as usize).is_some_and(is_unnamed)
    }

    fn padding(&self) -> Padding {
        let tally = &self.tally;
        let mut examples: Vec<PaddingExample> = Vec::new();
        for example in &tally.examples {
            examples.push(PaddingExample {
                plain: frame(example.plain),
                plain_pattern: Some(example.pattern),
                tunnel: Some(frame(example.tunnel)),
                carried: example.carried,
                exit: None,
                exit_pattern: None,
            });
        }
        for padded in self.ends.iter().flat_map(|ends| &ends.padded) {
            let plain = frame(padded.plain);
            let (exit, exit_pattern) = (Some(frame(padded.exit)), padded.exit_pattern);
            let plain_pattern = padded.plain_pattern;
            match examples.iter_mut().find(|example| example.plain == plain) {
                Some(example) => (example.exit, example.exit_pattern) = (exit, exit_pattern),
                None => examples.push(PaddingExample {
                    plain,
                    plain_pattern,
                    tunnel: None,
                    carried: None,
                    exit,
                    exit_pattern,
                }),
            }
        }
        let Pads(exit) = self.ends.as_ref().map(|ends| ends.pads).unwrap_or_default();
        Padding {
            plain_ethernet: tally.plain_pads.0,
            tunnel_ethernet: tally.tunnel_pads.0,
            exit_ethernet: self.ends.as_ref().map(|_| exit),
            carried_into_tunnel: tally.carried > 0,
            carried_known: tally.carried_known,
            rewritten: self.ends.as_ref().is_some_and(|ends| ends.rewritten > 0),
            examples,
        }
    }
}

/// Whether the pairs of the two directions leave no offset and drift of the clocks: these did not run evenly, or pairs are wrong. Nothing then says
/// how far the clocks are from the line that fits best.
fn is_impossible(clock: &Clock, step: Option<f64>) -> bool {
    clock.contradiction_ns > Clock::STEP + 2.0 * step.unwrap_or(0.0)
}

/// Takes back what rests on a few pairs of which none is proved. Those whose times contradict each other say nothing of the time between the taps
/// either.
fn leave_open(
    impossible: bool,
    pairs: &Pairs,
    directions: &mut [Direction],
    (sizes, bins): (&mut [pairs::Size], &mut [pairs::SpreadBin]),
) {
    /// Pairs that are sure and tell a drift although their order was lost at times.
    const ANCHORS: u64 = 16;
    let unsure = pairs.matched.saturating_sub(pairs.ambiguous) < ANCHORS;
    // Where most pairs may be others, those of two directions bound the clocks no better.
    let mostly = |own: &&mut Direction| own.clock.basis == Basis::BothDirections && pairs.ambiguous * 2 > pairs.matched;
    directions
        .iter_mut()
        .filter(|own| impossible || unsure || mostly(own))
        .for_each(|direction| direction.leave_open(impossible));
    if impossible {
        sizes.iter_mut().for_each(|size| size.latency_ns = None);
        bins.iter_mut().for_each(|bin| (bin.latency_p50_ns, bin.latency_max_ns) = (None, None));
    }
}

/// Takes away latencies of directions whose pairs are guesses, and of those of which the timed pairs are others than all.
fn without_guesses(
    directions: &mut [Direction],
    by_few: &BTreeSet<usize>,
    (sizes, bins): (&mut [pairs::Size], &mut [pairs::SpreadBin]),
) {
    let is_open = |(at, own): &(usize, &mut Direction)| own.is_guesswork() || by_few.contains(at);
    for (at, direction) in directions.iter_mut().enumerate().filter(is_open) {
        direction.without_latency(if !direction.is_guesswork() {
            "the pairs that are sure are the quick ones: of packets that wait together it is not known which is which"
        } else if direction.basis == Some(PairBasis::Order) {
            "pairs may be others: the order of the packets was lost at times"
        } else {
            "most of the pairs are guesses: their packets are equal to others"
        });
        sizes.iter_mut().filter(|size| size.sa == direction.sa).for_each(|size| size.latency_ns = None);
        let own = bins.iter_mut().filter(|bin| bin.direction as usize == at);
        own.for_each(|bin| (bin.latency_p50_ns, bin.latency_max_ns) = (None, None));
    }
}

impl Pairs {
    fn add(&mut self, sa: &SaTally, open: bool) {
        self.matched += sa.matched;
        self.ambiguous += sa.ambiguous;
        *if open { &mut self.undetermined_tunnel } else { &mut self.unmatched_tunnel } += sa.alone;
        self.uncovered_tunnel += sa.uncovered;
        self.repeated_tunnel += sa.repeated;
        let [content, decrypted, order] = sa.basis;
        let ByBasis { content: c, decrypted: d, order: o } = &mut self.by_basis;
        *c += content;
        *d += decrypted;
        *o += order;
    }
}
