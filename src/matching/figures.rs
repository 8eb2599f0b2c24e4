//! From sums to the report: ratios, names and verdicts.

use std::collections::{BTreeSet, HashSet};

use foldhash::fast::FixedState;

use super::bins::buckets;
use super::by_size::size_rows;
use super::degraded::LeftOut;
use super::limits::MAX_OUTSIDE;
use super::{Matcher, PairSettings, TunnelKey};
use crate::analysis::finish::fill_lengths;
use crate::matching::measure::clock::{Basis, Clock};
use crate::matching::measure::doubt;
use crate::matching::measure::doubt::Silent;
use crate::matching::measure::known::Known;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::quantiles::Quantiles;
use crate::matching::measure::tally::{Pads, SaTally, frame};
use crate::matching::occurrences::NamedFrames;
use crate::matching::packets::flows::Flows;
use crate::matching::packets::ledger::{Lost, PairBasis};
use crate::matching::packets::prefix::Prefix;
use crate::model::pairs::{
    self, ByBasis, Direction, Ends, EndsWay, Latency, LossPlace, Outside, Padding, PaddingExample, Pairs, Times,
    TunnelWay, Undetermined,
};
use crate::model::report::{FrameRef, Name, Rfc3339};
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvPattern;

/// Everything that a report of pairs holds besides captures and findings.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) pairs: Pairs,
    pub(crate) directions: Vec<Direction>,
    pub(crate) outside: Vec<Outside>,
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
    /// Packets that could be paired, and those in a tunnel.
    pub(crate) packets: u64,
    pub(crate) tunnelled: u64,
    pub(crate) first_ns: Option<i64>,
    pub(crate) last_ns: Option<i64>,
}

impl Matcher {
    /// What was found. The sides must have ended.
    pub(crate) fn figures(mut self, step: Option<f64>) -> Figures {
        if let Some(ends) = &mut self.ends {
            ends.read(self.plain, self.exit);
            ends.end();
        }
        let doubt = self.judge();
        let clock = self.clock();
        let contradicted = self.contradicted(&clock);
        let catalogue = Catalogue::new();
        let flows = std::mem::take(&mut self.ledger.flows);
        for (flow, sa) in &self.tally.flow_sa.clone() {
            if let Some(key) = flows.key(*flow) {
                self.tally.addresses(*sa, key.src, key.dst);
            }
        }
        let mut losses = Losses::of(&self.tally, &flows, &self.ledger.missed);
        losses.too_big(&self.ledger.too_big, &self.tally, &flows);
        if let Some(ends) = &self.ends {
            let none = HashSet::default();
            losses.ends(ends, &self.tally, &flows, self.ledger.unpaired.as_ref().unwrap_or(&none));
        }
        let mut pairs = Pairs {
            unmatched_plain: losses.unmatched_plain,
            uncovered_plain: self.ledger.uncovered,
            uncovered_exit: self.ends.as_ref().map(|ends| ends.uncovered),
            undetermined_plain: flows.iter().map(|(flow, _)| flows.aside(flow)).sum(),
            ..Pairs::default()
        };
        let mut directions = Vec::new();
        let mut sizes = Vec::new();
        let mut doubtful: BTreeSet<u32> = BTreeSet::new();
        let mut order: Vec<usize> = (0..self.tally.sas.len()).collect();
        order.sort_by_key(|at| self.tally.sas.get(*at).map(|sa| sa.key));
        for at in order.iter().copied() {
            let Some(sa) = self.tally.sas.get(at) else { continue };
            let (missing, unseen) = self.missing(at as u32, &doubt);
            let open = self.open(at as u32, sa, missing);
            pairs.add(sa, open.is_some());
            pairs.undetermined_tunnel += doubt.tunnel.get(&(at as u32)).copied().unwrap_or(0);
            let reason = self.unsettled(at as u32, sa, missing, &losses, contradicted, clock.basis);
            let doubted = doubt.is_open(at as u32) || reason.is_some();
            if doubted {
                doubtful.insert(at as u32);
            }
            let silent = reason.or_else(|| doubt.of(at as u32, &losses));
            let ivs = self.order.sas.get(at).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
            let known = Known::of(sa, &catalogue, ivs);
            let counted = open.is_some() && !unseen && self.is_counted(at, sa, missing);
            let found = Found { losses: &losses, missing, open: open.or(silent), counted, doubted, at: at as u32 };
            directions.push(direction(sa, found, &clock, &self.settings, step, &known));
            sizes.extend(size_rows(sa, at as u32, &losses, &known, doubted));
        }
        fill_lengths(directions.iter_mut().map(|direction| &mut direction.transform));
        let (bin_ns, bins) = self.bins(&mut directions, &order, &flows);
        let (outside, outside_plain, more_outside) = outside(&flows);
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
        let progress = |p: &super::Progress| Read {
            frames: p.frames,
            packets: p.packets,
            tunnelled: p.tunnelled,
            first_ns: p.first,
            last_ns: p.first.map(|_| p.latest),
        };
        Figures {
            pairs,
            directions,
            outside,
            bin_ns,
            bins,
            sizes,
            padding: self.padding(),
            ends: self.ends(&losses),
            lost,
            named: NamedFrames { lost_ways, alone },
            degraded_why: self.degraded(&left_out),
            silent: doubt
                .silent
                .into_iter()
                .chain(self.ends.iter().flat_map(|ends| ends.silent.iter().copied()))
                .collect(),
            sides: [progress(&self.plain), progress(&self.tunnel), progress(&self.exit)],
        }
    }

    /// Whether as many plaintext packets were sent as the tunnel shows and misses, by one clock: then the missing numbers are all that was
    /// lost, whichever packets they are.
    fn is_counted(&self, at: usize, sa: &SaTally, missing: u64) -> bool {
        /// Packets that may be on their way at either end.
        const ON_THEIR_WAY: u64 = 2;
        let seen = sa.alone + sa.uncovered + missing;
        missing > 0 && self.order.aside_of(at as u32).is_some_and(|sent| sent.abs_diff(seen) <= ON_THEIR_WAY)
    }

    /// Why it is not known how many packets of a direction were lost, as far as its pairs say so themselves.
    fn unsettled(
        &self,
        at: u32,
        sa: &SaTally,
        missing: u64,
        losses: &Losses,
        contradicted: bool,
        basis: Basis,
    ) -> Option<Undetermined> {
        let missed = losses.missed.get(&at).copied().unwrap_or(0);
        if (contradicted || sa.is_untimely()) && sa.is_by_order() {
            return Some(doubt::untimely());
        }
        // Packets without counterpart on both sides: the order was lost.
        if sa.is_by_order() && is_adrift(sa, missed, self.order.strangers(at)) {
            return Some(doubt::adrift(missed, sa.alone));
        }
        let torn = self.order.torn(at).filter(|_| sa.is_by_order() && (missed > 0 || sa.alone > 0));
        if let Some((plain, tunnelled)) = torn {
            return Some(doubt::adrift(plain, tunnelled));
        }
        // Windows cannot be compared without a clock.
        if basis == Basis::Unknown && sa.matched > 0 && (missed > 0 || sa.alone > 0) {
            return Some(doubt::timeless());
        }
        let proof = self.order.lane(at).and_then(|lane| self.proofs.get(lane).copied()).unwrap_or_default();
        if sa.is_by_order() && proof.is_open() {
            return Some(doubt::unproved(proof.open, proof.pairs));
        }
        // Where many pairs are guesses, what is left over is one, too.
        let unsure = sa.guessed.saturating_mul(MOST_GUESSED) > sa.matched && (missed > 0 || sa.alone > 0);
        if sa.is_by_order() && unsure {
            return Some(doubt::guessed(sa.guessed, sa.matched));
        }
        is_uncounted(sa, missing, missed).then(|| doubt::uncounted(missing, missed))
    }

    /// Why an SA has no pairs, where there are several ways to make them.
    fn open(&self, at: u32, sa: &SaTally, missing: u64) -> Option<Undetermined> {
        let alignments = self.order.open_of(at);
        (alignments > 0 && sa.matched == 0).then(|| Undetermined {
            alignments: alignments as u64,
            reason: format!(
                "packets of equal length at an even pace: at least {alignments} alignments explain lengths, numbers and times equally well"
            )
            .into(),
            decide: "packets of different sizes in the load, one marker packet, uneven gaps between packets, or the keys (--config)".into(),
            missing_numbers: missing,
        })
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
        // A hole in the numbers names its packet, however many others are in doubt.
        let is_doubtful = |lost: &&Lost| {
            lost.hole.is_none() && self.tally.flow_sa.get(&lost.flow).is_some_and(|sa| doubtful.contains(sa))
        };
        let selected = || self.ledger.lost.iter().filter(|lost| flows.is_selected(lost.flow));
        let hidden = selected().filter(is_doubtful).count() as u64;
        let shown = selected().filter(|lost| !is_doubtful(lost));
        let mut rows: Vec<(pairs::Lost, Option<Name>)> = shown
            .map(|lost| {
                let Lost { pos, time, bytes, flow, hole, confidence, silence: _ } = *lost;
                let way = self.tally.flow_sa.get(&flow).and_then(|sa| name(*sa));
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
                    sa: name(*sa),
                    sequence: None,
                    confidence: 1.0,
                    verdict: if paired { LossPlace::BehindTunnel } else { LossPlace::EndToEnd },
                };
                rows.push((lost, name(*sa)));
            }
        }
        rows.sort_by_key(|(lost, _)| (lost.frame.capture, lost.frame.frame));
        (rows, hidden)
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

    fn ends(&self, losses: &Losses) -> Vec<Ends> {
        let (Some(ends), Some(lost)) = (&self.ends, &losses.ends) else { return Vec::new() };
        let ways: BTreeSet<i8> = ends.ways.keys().chain(lost.ways.keys()).copied().collect();
        let row = |way: i8| {
            let tally = ends.ways.get(&way);
            let (gone, addresses) = lost.ways.get(&way).map_or((0, &[][..]), |(gone, all)| (*gone, all.as_slice()));
            let mut prefixes = tally.map(|tally| (tally.src, tally.dst));
            for (src, dst) in addresses {
                let (from, to) = prefixes.get_or_insert((Prefix::of(*src), Prefix::of(*dst)));
                from.cover(*src);
                to.cover(*dst);
            }
            let (src, dst) = prefixes?;
            let matched = tally.map_or(0, |tally| tally.matched);
            Some(Ends {
                src: src.show(),
                dst: dst.show(),
                way: match way {
                    1 => EndsWay::PlainToExit,
                    -1 => EndsWay::ExitToPlain,
                    _ => EndsWay::Unknown,
                },
                matched,
                lost: gone,
                loss_pct: (way != 0 && !lost.open_ways.contains_key(&way))
                    .then(|| gone as f64 * 100.0 / (matched + gone).max(1) as f64),
                latency_ns: tally.and_then(|tally| times(&tally.times)),
                depends_on_offset: true,
            })
        };
        ways.into_iter().rev().filter_map(row).collect()
    }
}

/// Limit on guesses among pairs by order where packets are left over, as 1 in N.
const MOST_GUESSED: u64 = 8;

/// Whether too many packets of either side have no counterpart: into the tunnel none appears, and out of it none. Where strangers are
/// expected in the tunnel, those count that stand beside a plaintext packet without counterpart.
fn is_adrift(sa: &SaTally, missed: u64, (partial, crossed): (bool, u64)) -> bool {
    /// Limits on unmatched packets: a number, and a share of the pairs as 1 in N.
    const FEW: u64 = 8;
    const OF: u64 = 24;
    /// The same of strangers beside lost packets, in lost packets.
    const BESIDE: u64 = 2;
    const OF_LOST: u64 = 10;
    let (strangers, lost) = if sa.encapsulated == Some(false) { (missed, sa.alone) } else { (sa.alone, missed) };
    let many =
        if partial { crossed > BESIDE && crossed * OF_LOST > lost } else { strangers > FEW.max(sa.matched / OF) };
    lost > 0 && many
}

/// Whether more numbers are missing than plaintext packets although each packet in the tunnel has its plaintext one: packets that were
/// encrypted and lost must be among the plaintext packets that are taken for others, or for outside the tunnel's time.
fn is_uncounted(sa: &SaTally, missing: u64, missed: u64) -> bool {
    /// By how much they may differ at the ends: a number, and a share as 1 in N.
    const FEW: u64 = 2;
    const OF: u64 = 10;
    let all_paired = sa.encapsulated == Some(true) && sa.matched > 0 && sa.uncovered == 0 && sa.alone == 0;
    all_paired && missing > missed + FEW.max(missing / OF)
}

/// What is known of an SA besides its pairs.
struct Found<'l> {
    losses: &'l Losses,
    /// Numbers that the tunnel's tap did not see.
    missing: u64,
    open: Option<Undetermined>,
    /// Nothing but the missing numbers was lost.
    counted: bool,
    /// Packets are missing in a silence that may have been a hole in a capture or an outage.
    doubted: bool,
    at: u32,
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

fn direction(
    sa: &SaTally,
    found: Found<'_>,
    clock: &Clock,
    settings: &PairSettings,
    step: Option<f64>,
    known: &Known,
) -> Direction {
    let (src, dst) = match sa.key {
        TunnelKey::Sa(key) => (key.src, key.dst),
        TunnelKey::Bare(_, src, dst) => (src, dst),
    };
    let Found { losses, missing, open, counted, doubted, at } = found;
    let missed = losses.missed.get(&at).copied().unwrap_or(0);
    let paired = sa.matched > 0;
    let lost = match sa.encapsulated {
        // Plaintext packets of its traffic without a tunnelled one came through the tunnel too: these were not lost.
        Some(false) => sa.alone.saturating_sub(missed),
        // As many packets that have no plaintext one are among those that were missed, unless other networks send into the tunnel.
        _ if sa.alone * 20 < sa.matched => missed.saturating_sub(sa.alone),
        _ => missed,
    };
    let loss_pct = if counted {
        Some(missing as f64 * 100.0 / (sa.alone + sa.uncovered + missing).max(1) as f64)
    } else {
        (paired && !doubted).then(|| lost as f64 * 100.0 / (sa.matched + lost) as f64)
    };
    let (before, behind, ends) = match sa.encapsulated {
        Some(false) => (Some(missing), (paired && !doubted).then_some(lost), losses.behind(at, None, None).0),
        Some(true) => {
            let before = (paired && !doubted).then_some(lost);
            let (ends, behind) = losses.behind(at, None, before);
            (before, behind, ends)
        }
        None => (counted.then_some(missing), None, losses.behind(at, None, None).0),
    };
    Direction {
        sa: sa.name.clone(),
        src: src.to_string(),
        dst: dst.to_string(),
        inner_src: sa.src.map(|prefix| prefix.show()),
        inner_dst: sa.dst.map(|prefix| prefix.show()),
        way: match sa.encapsulated {
            Some(true) => TunnelWay::Encapsulated,
            Some(false) => TunnelWay::Decapsulated,
            None => TunnelWay::Unknown,
        },
        matched: sa.matched,
        ambiguous: sa.ambiguous,
        unmatched_plain: missed,
        unmatched_tunnel: if paired || open.is_none() { sa.alone } else { 0 },
        repeated_tunnel: sa.repeated,
        uncovered_plain: losses.uncovered.get(&at).copied().unwrap_or(0),
        uncovered_tunnel: sa.uncovered,
        lost_before_tunnel: before,
        lost_behind_tunnel: behind,
        lost_end_to_end: ends,
        undetermined: open,
        loss_pct,
        reordered: sa.reordered,
        confidence: (sa.matched > 0).then(|| (sa.confidence / sa.matched as f64 * 1_000.0).round() / 1_000.0),
        basis: PairBasis::of_most(&sa.basis),
        transform: known.report.clone(),
        mode: known.mode,
        clock: clock.report(),
        latency_ns: Latency {
            definition: definition(sa, settings, step).into(),
            depends_on_offset: clock.basis != Basis::OneClock,
            times: times(&sa.times),
            cut_through: times(&sa.cut_through),
        },
        latency_sf_ns: times(&sa.store_and_forward),
        latency_ct_ns: times(&sa.cut_through),
        latency_buckets: buckets(&sa.times),
        bins_why: None,
        header: sa.header,
    }
}

fn definition(sa: &SaTally, settings: &PairSettings, step: Option<f64>) -> String {
    let (from, to) = if sa.encapsulated == Some(false) { ("tunnel", "plain") } else { ("plain", "tunnel") };
    let bits = match (settings.stamped_at_start, settings.link_rate_bps) {
        (true, None) => "first bit to first bit",
        _ => "last bit to last bit",
    };
    let step = step.map_or(String::new(), |ns| format!(", timestamps in steps of {} us", ns / 1_000.0));
    format!("{bits}, from the {from} tap to the {to} tap{step}")
}

/// Rows of flows outside the tunnel, how many packets there are outside, and how many flows are in no row.
fn outside(flows: &Flows) -> (Vec<Outside>, u64, u64) {
    let mut rows: Vec<Outside> = Vec::new();
    let mut all = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !flows.is_selected(*id)) {
        // What cannot be paired is not known to be outside.
        let packets = if flow.aside > 0 { 0 } else { flow.unmatched + flow.clear + flow.matched };
        all += if flow.aside > 0 { 0 } else { flow.unmatched + flow.clear };
        if let Some(key) = flows.key(id).filter(|_| packets > 0) {
            rows.push(Outside {
                src: key.src.to_string(),
                dst: key.dst.to_string(),
                protocol: key.protocol,
                packets,
                clear: flow.clear,
            });
        }
    }
    for (_, flow) in flows.iter().filter(|(id, _)| flows.is_selected(*id)) {
        all += flow.clear;
    }
    rows.sort_by(|a, b| {
        b.packets.cmp(&a.packets).then_with(|| (&a.src, &a.dst, a.protocol).cmp(&(&b.src, &b.dst, b.protocol)))
    });
    let more = rows.len().saturating_sub(MAX_OUTSIDE) as u64;
    rows.truncate(MAX_OUTSIDE);
    (rows, all, more)
}

impl Clock {
    fn report(&self) -> pairs::Clock {
        let known = self.basis != Basis::Unknown;
        pairs::Clock {
            offset_ns: known.then(|| self.offset_ns.round() as i64),
            drift_ppm: (known && self.drift_uncertainty.is_some()).then_some(self.drift * 1e6),
            uncertainty_ns: self.uncertainty_ns.map(|ns| ns.round() as i64),
            drift_uncertainty_ppm: self.drift_uncertainty.map(|ppm| ppm * 1e6),
            basis: self.basis,
        }
    }
}

/// A distribution in the words of the report.
pub(super) fn times(times: &Quantiles) -> Option<Times> {
    (!times.is_empty()).then(|| Times {
        min: times.least(),
        p50: times.at(0.5),
        p90: times.at(0.9),
        p99: times.at(0.99),
        max: times.most(),
        mean: times.mean(),
    })
}
