//! From sums to the report: ratios, names and verdicts.

use std::collections::BTreeMap;

use super::clock::{Basis, Clock};
use super::degraded::LeftOut;
use super::flows::Flows;
use super::known::Known;
use super::ledger::{Lost, PairBasis};
use super::limits::MAX_OUTSIDE;
use super::mapping::Inside;
use super::quantiles::Quantiles;
use super::sizes::SizeTally;
use super::tally::{Pads, SaTally, frame};
use super::{Matcher, PairSettings, TunnelKey};
use crate::model::pairs::{
    self, ByBasis, Direction, Ends, Latency, Outside, Padding, PaddingExample, Pairs, Size, Times,
};
use crate::model::report::{Parts, Rfc3339};
use crate::transform::inference::Catalogue;
use crate::transform::iv::IvPattern;

/// Everything that a report of pairs holds besides captures and findings.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) pairs: Pairs,
    pub(crate) directions: Vec<Direction>,
    pub(crate) outside: Vec<Outside>,
    pub(crate) sizes: Vec<Size>,
    pub(crate) padding: Padding,
    pub(crate) ends: Vec<Ends>,
    pub(crate) lost: Vec<pairs::Lost>,
    pub(crate) degraded_why: Vec<String>,
    /// Frames, packets, first and last time of the plain side, the tunnel's and the far one.
    pub(crate) sides: [(u64, u64, Option<i64>, Option<i64>); 3],
}

impl Matcher {
    /// What was found. The sides must have ended.
    pub(crate) fn figures(mut self, step: Option<f64>) -> Figures {
        if let Some(ends) = &mut self.ends {
            ends.flush();
        }
        let clock = self.clock();
        let catalogue = Catalogue::new();
        let flows = std::mem::take(&mut self.ledger.flows);
        for (flow, sa) in &self.tally.flow_sa.clone() {
            if let Some(key) = flows.key(*flow) {
                self.tally.addresses(*sa, key.src, key.dst);
            }
        }
        // Of each SA, packets of its traffic that were not found.
        let mut missed: BTreeMap<u32, u64> = BTreeMap::new();
        let mut missed_sizes: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut unmatched_plain = 0;
        for (flow, counts) in flows.iter().filter(|(flow, _)| flows.is_selected(*flow)) {
            unmatched_plain += counts.unmatched;
            if let Some(sa) = self.tally.flow_sa.get(&flow) {
                *missed.entry(*sa).or_default() += counts.unmatched;
            }
        }
        let mut known_sizes = 0;
        for ((flow, bytes), count) in &self.ledger.missed {
            known_sizes += if flows.is_selected(*flow) { *count } else { 0 };
            if let Some(sa) = self.tally.flow_sa.get(flow).filter(|_| flows.is_selected(*flow)) {
                *missed_sizes.entry((*sa, *bytes)).or_default() += count;
            }
        }
        let mut pairs = Pairs { unmatched_plain, uncovered_plain: self.ledger.uncovered, ..Pairs::default() };
        let mut directions = Vec::new();
        let mut sizes = Vec::new();
        let mut order: Vec<usize> = (0..self.tally.sas.len()).collect();
        order.sort_by_key(|at| self.tally.sas.get(*at).map(|sa| sa.key));
        for at in order {
            let Some(sa) = self.tally.sas.get(at) else { continue };
            let missed = missed.get(&(at as u32)).copied().unwrap_or(0);
            pairs.add(sa);
            let ivs = self.order.sas.get(at).map_or(IvPattern::Unclear, |info| IvPattern::of(&info.ivs));
            let known = Known::of(sa, &catalogue, ivs);
            directions.push(direction(sa, missed, &clock, &self.settings, step, &known));
            for (bytes, size) in &sa.sizes {
                let missed = missed_sizes.get(&(at as u32, *bytes)).copied().unwrap_or(0);
                sizes.push(size_row(sa, *bytes, size, missed, &known));
            }
        }
        let (outside, outside_plain, more_outside) = outside(&flows);
        pairs.outside_plain = outside_plain;
        let lost = self.lost(&flows);
        let left_out = LeftOut {
            outside: more_outside,
            lost: unmatched_plain.saturating_sub(lost.len() as u64),
            missed: unmatched_plain.saturating_sub(known_sizes),
            flows: flows.refused,
        };
        let progress = |p: &super::Progress| (p.frames, p.packets, p.first, p.first.map(|_| p.latest));
        Figures {
            pairs,
            directions,
            outside,
            sizes,
            padding: self.padding(),
            ends: self.ends(),
            lost,
            degraded_why: self.degraded(&left_out),
            sides: [progress(&self.plain), progress(&self.tunnel), progress(&self.exit)],
        }
    }

    fn lost(&self, flows: &Flows) -> Vec<pairs::Lost> {
        let shown = self.ledger.lost.iter().filter(|lost| flows.is_selected(lost.flow));
        let mut rows: Vec<pairs::Lost> = shown
            .map(|lost| {
                let Lost { pos, time, bytes, flow: _, hole, confidence } = *lost;
                let name = hole.and_then(|(sa, _)| Some(self.tally.sas.get(sa as usize)?.name.clone()));
                pairs::Lost {
                    frame: frame(pos),
                    time: time.ns().map(Rfc3339),
                    inner_bytes: bytes.into(),
                    sa: name,
                    sequence: hole.map(|(_, number)| number),
                    confidence: (f64::from(confidence) * 1_000.0).round() / 1_000.0,
                }
            })
            .collect();
        rows.sort_by_key(|lost| (lost.frame.capture, lost.frame.frame));
        rows
    }

    fn padding(&self) -> Padding {
        let tally = &self.tally;
        let mut examples: Vec<PaddingExample> = Vec::new();
        for example in &tally.examples {
            examples.push(PaddingExample {
                plain: frame(example.plain),
                plain_pattern: Some(example.pattern.name()),
                tunnel: Some(frame(example.tunnel)),
                carried: example.carried,
                exit: None,
                exit_pattern: None,
            });
        }
        for padded in self.ends.iter().flat_map(|ends| &ends.padded) {
            let plain = frame(padded.plain);
            let (exit, exit_pattern) = (Some(frame(padded.exit)), padded.exit_pattern.map(|pattern| pattern.name()));
            let plain_pattern = padded.plain_pattern.map(|pattern| pattern.name());
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

    fn ends(&self) -> Vec<Ends> {
        let Some(ends) = &self.ends else { return Vec::new() };
        let row = |(way, tally): (&i8, &super::ends::EndsTally)| Ends {
            src: tally.src.show(),
            dst: tally.dst.show(),
            way: match way {
                1 => "plain-to-exit",
                -1 => "exit-to-plain",
                _ => "unknown",
            },
            matched: tally.matched,
            latency_ns: times(&tally.times),
            depends_on_offset: true,
        };
        ends.ways.iter().rev().map(row).collect()
    }
}

impl Pairs {
    fn add(&mut self, sa: &SaTally) {
        self.matched += sa.matched;
        self.ambiguous += sa.ambiguous;
        self.unmatched_tunnel += sa.alone;
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
    missed: u64,
    clock: &Clock,
    settings: &PairSettings,
    step: Option<f64>,
    known: &Known,
) -> Direction {
    let (src, dst) = match sa.key {
        TunnelKey::Sa(key) => (key.src, key.dst),
        TunnelKey::Bare(_, src, dst) => (src, dst),
    };
    let lost = if sa.encapsulated == Some(false) { sa.alone } else { missed };
    let all = sa.matched + lost;
    Direction {
        sa: sa.name.clone(),
        src: src.to_string(),
        dst: dst.to_string(),
        inner_src: sa.src.map(|prefix| prefix.show()),
        inner_dst: sa.dst.map(|prefix| prefix.show()),
        way: match sa.encapsulated {
            Some(true) => "encapsulated",
            Some(false) => "decapsulated",
            None => "unknown",
        },
        matched: sa.matched,
        ambiguous: sa.ambiguous,
        unmatched_plain: missed,
        unmatched_tunnel: sa.alone,
        repeated_tunnel: sa.repeated,
        loss_pct: (sa.matched > 0).then(|| lost as f64 * 100.0 / all as f64),
        reordered: sa.reordered,
        confidence: (sa.matched > 0).then(|| (sa.confidence / sa.matched as f64 * 1_000.0).round() / 1_000.0),
        basis: PairBasis::of_most(&sa.basis).map(PairBasis::name),
        transform: known.report.clone(),
        mode: known.mode,
        clock: clock.report(),
        latency_ns: Latency {
            definition: definition(sa, settings, step).into(),
            depends_on_offset: clock.basis != Basis::OneClock,
            times: times(&sa.times),
            cut_through: times(&sa.cut_through),
        },
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

fn size_row(sa: &SaTally, bytes: u32, size: &SizeTally, missed: u64, known: &Known) -> Size {
    let frames = size.frames.max(1) as f64;
    let mean = size.overhead_sum as f64 / frames;
    let predicted = (size.predicted == size.frames && size.frames > 0).then(|| size.predicted_sum as f64 / frames);
    let difference = predicted.map(|predicted| mean - predicted);
    Size {
        sa: sa.name.clone(),
        inner_bytes: bytes.into(),
        frames: size.frames,
        outer_bytes_min: size.outer.0,
        outer_bytes_max: size.outer.1,
        overhead_min_bytes: size.overhead.0,
        overhead_max_bytes: size.overhead.1,
        overhead_of_inner_pct: mean * 100.0 / f64::from(bytes.max(1)),
        parts: parts(bytes, size, known),
        predicted_bytes: predicted.map(|predicted| predicted.round() as i64),
        difference_bytes: difference,
        difference_why: difference.filter(|difference| difference.abs() > 1e-9).map(|difference| {
            if size.carried > 0 {
                "padding of the plaintext frame is carried in the tunnel"
            } else if size.padded_further > 0 {
                "the sender pads further than its cipher needs"
            } else if difference > 0.0 {
                "longer than the transform needs: padding against traffic analysis, or other headers inside"
            } else {
                "shorter than the transform makes it: compression, or a packet that is not the one that was paired"
            }
        }),
        latency_ns: size.times.as_ref().and_then(times),
        loss_pct: (sa.encapsulated != Some(false))
            .then(|| missed as f64 * 100.0 / (size.frames + missed).max(1) as f64),
        basis: PairBasis::of_most(&size.basis).map_or("order", PairBasis::name),
    }
}

/// What the overhead is made of. Of opaque ESP only where one transform alone makes the lengths.
fn parts(bytes: u32, size: &SizeTally, known: &Known) -> Option<Parts> {
    let frames = size.frames.max(1) as f64;
    let mean = |sum: u64| sum as f64 / frames;
    let sums = size.parts;
    let mut parts = Parts {
        outer_ip: mean(sums.outer_ip),
        udp: mean(sums.udp),
        tcp: mean(sums.tcp),
        gre: mean(sums.gre),
        ah: mean(sums.ah),
        esp_header: mean(sums.esp_header),
        iv: mean(sums.iv),
        esp_pad: mean(sums.esp_pad),
        esp_trailer: mean(sums.esp_trailer),
        icv: mean(sums.icv),
        fragmentation: mean(sums.fragmentation),
        ..Parts::default()
    };
    if let Some((least, most)) = size.esp {
        let family = known.family.filter(|_| least == most && size.basis == [0, 0, size.frames])?;
        let (ip, gre) = match known.inside? {
            Inside::Packet => (0, 0),
            Inside::Gre(gre) => (0, gre),
            Inside::Tunnel(ip, gre) => (ip, gre),
            // The packet's own header stands outside and is no overhead.
            Inside::Payload(header) => {
                parts.outer_ip -= f64::from(header);
                (0, 0)
            }
        };
        let content = match known.inside? {
            Inside::Payload(header) => bytes.checked_sub(header)?,
            _ => bytes.checked_add(ip + gre)?,
        };
        let fixed = 8 + 2 + family.iv + family.icv;
        parts.outer_ip += f64::from(ip);
        parts.gre += f64::from(gre);
        parts.esp_header = 8.0;
        parts.iv = f64::from(family.iv);
        parts.esp_trailer = 2.0;
        parts.icv = f64::from(family.icv);
        parts.esp_pad = f64::from(least.checked_sub(content)?.checked_sub(fixed)?);
    }
    Some(parts)
}

/// Rows of flows outside the tunnel, how many packets there are outside, and how many flows are in no row.
fn outside(flows: &Flows) -> (Vec<Outside>, u64, u64) {
    let mut rows: Vec<Outside> = Vec::new();
    let mut all = 0;
    for (id, flow) in flows.iter().filter(|(id, _)| !flows.is_selected(*id)) {
        let packets = flow.unmatched + flow.clear + flow.matched;
        all += flow.unmatched + flow.clear;
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
            basis: match self.basis {
                Basis::Unknown => "unknown",
                Basis::OneClock => "one-clock",
                Basis::BothDirections => "both-directions",
                Basis::OneDirection => "one-direction",
            },
        }
    }
}

/// A distribution in the words of the report.
fn times(times: &Quantiles) -> Option<Times> {
    (!times.is_empty()).then(|| Times {
        min: times.least(),
        p50: times.at(0.5),
        p90: times.at(0.9),
        p99: times.at(0.99),
        max: times.most(),
        mean: times.mean(),
    })
}
