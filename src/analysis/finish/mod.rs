//! States become a report: the only place for ratios, verdicts and ranking. Pure and repeatable.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "sums over states, whose counts together stay below 2^64; differences of lengths of one packet, signed in 64 bits; lengths \
              that transforms make, from the catalogue"
)]

use serde::{Deserialize, Serialize};

mod directions;
mod events;
mod expected;
mod findings;
mod inferred;
mod padding;
mod pairs;
mod sas;
mod sizes;
mod tap;
mod time;

use super::Partial;
use super::settings::Settings;
use crate::model::DamageKind;
use crate::model::report::{Capture, Exactness, Report, SCHEMA, Tap as TapReport, Tool, Totals};
use crate::{dissect::stack_name, model::report};

pub(crate) use pairs::pair_findings;
pub(crate) use tap::Tap;
pub(crate) use time::rfc3339;

/// The state of one tap, to be reported.
#[derive(Debug)]
pub struct TapState<'a> {
    /// Name of the tap.
    pub name: String,
    /// The run's captures that the state's spans are, in order: indices into the captures given to [`finish`].
    pub captures: Vec<u32>,
    /// The settled state.
    pub partial: &'a Partial,
}

/// A capture of the run, and what its reader found besides what the report prints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// As it will be printed; name of its tap, times and frames included.
    pub capture: Capture,
    /// What kind of damage it has.
    pub damage: Option<DamageKind>,
    /// How many further places are damaged.
    pub further_damage: u64,
    /// Which of its contents a limit of its reader left unread, in words.
    pub unread: Option<String>,
}

impl CaptureFacts {
    /// Which limits its reader hit, for the report.
    pub(crate) fn degraded(&self) -> Option<String> {
        self.unread.as_ref().map(|unread| format!("{}: {unread}", self.capture.path))
    }
}

/// Makes the report of a run. `exit_status` is left 0 for the caller to fill in.
#[must_use]
pub fn finish(taps: &[TapState<'_>], captures: &[CaptureFacts], settings: &Settings) -> Report {
    let mut taps: Vec<Tap<'_>> = taps.iter().map(Tap::new).collect();
    let mut view = settings.expectation.policies().map(crate::policy::Policies::view);
    if let Some(view) = &mut view {
        view.place_on_the_wire(&taps.iter().flat_map(|tap| tap.sas.iter().map(|sa| sa.key)).collect());
        expected::narrow(&mut taps, view);
    }
    let mut report = Report {
        schema: SCHEMA,
        tool: Tool { name: "spiglass", version: env!("CARGO_PKG_VERSION") },
        exactness: Exactness::Exact,
        degraded_why: Vec::new(),
        captures: captures.iter().map(|facts| facts.capture.clone()).collect(),
        taps: Vec::new(),
        totals: Totals::default(),
        layers: Vec::new(),
        sas: Vec::new(),
        tunnels: Vec::new(),
        sizes: Vec::new(),
        outer_sizes: Vec::new(),
        padding: report::Padding::default(),
        rates: report::Rates::default(),
        events: Vec::new(),
        findings: Vec::new(),
        config: None,
        exit_status: 0,
    };
    for tap in &taps {
        report.taps.push(TapReport { name: tap.name.clone(), captures: tap.captures.clone(), role: tap.role() });
        add_totals(&mut report.totals, tap);
        add_layers(&mut report, tap);
        sas::add(&mut report, tap);
        sizes::add(&mut report, tap);
        padding::add(&mut report, tap);
        directions::add(&mut report, tap, settings);
        events::add(&mut report, tap);
        report.degraded_why.extend(tap.degraded().into_iter().map(|why| format!("{}: {why}", tap.name)));
    }
    report.degraded_why.extend(captures.iter().filter_map(CaptureFacts::degraded));
    report.degraded_why.extend(settings.expectation.left_out());
    report.rates.bin_ns = taps
        .iter()
        .map(|tap| u64::try_from(tap.partial.rates.bin_ns()).unwrap_or(settings.bin_ns))
        .max()
        .unwrap_or(settings.bin_ns);
    report.events.sort_by(|a, b| (a.when, &a.tap, &a.sa, a.what).cmp(&(b.when, &b.tap, &b.sa, b.what)));
    if let Some(view) = &view {
        expected::fill(&mut report, &taps, settings, view);
    }
    report.findings = findings::all(&taps, captures, settings, view.as_ref(), &report);
    report.degraded_why.iter_mut().filter(|why| !why.ends_with('.')).for_each(|why| why.push('.'));
    if !report.degraded_why.is_empty() {
        report.exactness = Exactness::Degraded;
    }
    report
}

fn add_totals(totals: &mut Totals, tap: &Tap<'_>) {
    let t = &tap.partial.totals;
    totals.frames += t.sums.frames;
    totals.captured_bytes += t.sums.captured_bytes;
    totals.wire_bytes += t.sums.wire_bytes;
    totals.l1_bytes += t.sums.l1_bytes;
    totals.ip_frames += t.sums.ip_frames;
    totals.ipsec_frames += tap.ipsec_frames();
    totals.control_frames += t.sums.control_frames;
    totals.fragments += t.sums.fragments;
    totals.truncated_by_snaplen += t.snaplen.count;
    totals.offloaded += t.offloaded.count;
    totals.undissected += t.undissected.count;
}

fn add_layers(report: &mut Report, tap: &Tap<'_>) {
    let mut layers: Vec<_> = tap
        .partial
        .tables
        .stacks
        .iter()
        .zip(&tap.partial.totals.stacks)
        .map(|((_, &shape), &(frames, wire_bytes))| report::Layer {
            tap: tap.name.clone(),
            stack: stack_name(shape),
            frames,
            wire_bytes,
        })
        .filter(|layer| layer.frames > 0)
        .collect();
    layers.sort_by(|a, b| (std::cmp::Reverse(a.frames), &a.stack).cmp(&(std::cmp::Reverse(b.frames), &b.stack)));
    report.layers.extend(layers);
}
