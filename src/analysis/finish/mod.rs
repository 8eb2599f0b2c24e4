//! States become a report: the only place for ratios, verdicts and ranking. Pure and repeatable.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "sums over states, whose counts together stay below 2^64; differences of lengths of one packet, signed in 64 bits; lengths \
              that transforms make, from the catalogue"
)]

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

mod clock;
mod copying;
pub(crate) mod expected;
pub(crate) mod findings;
mod group;
mod hidden;
mod rows;
mod several;
mod tap;
mod tcp;
mod time;
mod twice;
mod udp;

pub(crate) use rows::lengths::fill as fill_lengths;

use super::settings::Settings;
use super::{StreamState, Succession};
use crate::model::report::{Capture, Exactness, Report, ReportSchema, Severity, Tap as TapReport, Tool, Totals};
use crate::model::{DamageKind, SaKey, Timestamp};
use crate::{dissect::stack_name, model::report};

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
    pub stream: &'a StreamState,
    /// How each of the captures goes on from the one before it, where that was looked at.
    pub borders: Vec<Option<Succession>>,
    /// What was assumed about which captures belong together, in words.
    pub assumed: Vec<String>,
    /// Paths of other inputs of the run: copies of captures, and what could not be read.
    pub also_given: &'a [String],
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
    /// Says from when to when its frames are.
    pub(crate) fn span(&mut self, times: Option<(Timestamp, Timestamp)>) {
        let (first, last) = times.unwrap_or((Timestamp::UNKNOWN, Timestamp::UNKNOWN));
        let capture = &mut self.capture;
        (capture.first, capture.last) = (rfc3339(first), rfc3339(last));
        (capture.first_ns, capture.last_ns) = (first.ns(), last.ns());
    }

    /// Which limits its reader hit, for the report.
    pub(crate) fn degraded(&self) -> Option<String> {
        self.unread.as_ref().map(|unread| format!("{}: {unread}", self.capture.path))
    }
}

/// Makes the report of a run. `exit_status` is left 0 for the caller to fill in.
#[must_use]
pub fn finish(taps: &[TapState<'_>], captures: &[CaptureFacts], settings: &Settings) -> Report {
    let mut view = settings.expectation.policies().map(crate::policy::Policies::view);
    let stated: BTreeSet<SaKey> =
        view.iter().flat_map(|view| &view.stated).filter_map(crate::policy::Stated::key).collect();
    let found: Vec<_> = taps.iter().map(|tap| udp::found(tap.stream, &stated)).collect();
    let mut taps: Vec<Tap<'_>> = taps.iter().zip(&found).map(|(tap, found)| Tap::new(tap, found, &stated)).collect();
    if let Some(view) = &mut view {
        view.place_on_the_wire(&taps.iter().flat_map(|tap| tap.sas.iter().map(|sa| sa.key)).collect());
        expected::narrow(&mut taps, view);
    }
    let mut report = blank(captures, settings);
    for tap in &taps {
        report.taps.push(TapReport { name: tap.name.clone(), captures: tap.captures.clone(), role: tap.role() });
        add_totals(&mut report.totals, tap);
        add_layers(&mut report, tap);
        crate::analysis::finish::rows::sas::add(&mut report, tap);
        rows::sa_bins::add(&mut report, tap);
        rows::gaps::add(&mut report, tap);
        crate::analysis::finish::rows::sizes::add(&mut report, tap);
        crate::analysis::finish::rows::padding::add(&mut report, tap);
        crate::analysis::finish::rows::directions::add(&mut report, tap, settings);
        crate::analysis::finish::rows::events::add(&mut report, tap);
        report.degraded_why.extend(tap.degraded().into_iter().map(|why| format!("{}: {why}", tap.name)));
    }
    report.degraded_why.extend(captures.iter().filter_map(CaptureFacts::degraded));
    report.degraded_why.extend(settings.expectation.left_out());
    report.rates.bin_ns = taps
        .iter()
        .map(|tap| u64::try_from(tap.stream.rates.bin_ns()).unwrap_or(settings.bin_ns))
        .max()
        .unwrap_or(settings.bin_ns);
    report.events.sort_by(|a, b| (a.when, &a.tap, &a.sa, a.what.name()).cmp(&(b.when, &b.tap, &b.sa, b.what.name())));
    if let Some(view) = &view {
        expected::fill(&mut report, &taps, settings, view);
    }
    rows::lengths::fill(report.sas.iter_mut().map(|sa| &mut sa.transform));
    report.findings = findings::all(&taps, captures, settings, view.as_ref(), &report);
    report.degraded_why.iter_mut().filter(|why| !why.ends_with('.')).for_each(|why| why.push('.'));
    if !report.degraded_why.is_empty() {
        report.exactness = Exactness::Degraded;
    }
    report
}

/// A report of nothing.
fn blank(captures: &[CaptureFacts], settings: &Settings) -> Report {
    Report {
        schema: ReportSchema::V1,
        tool: Tool::this(),
        exactness: Exactness::Exact,
        degraded_why: Vec::new(),
        captures: captures.iter().map(|facts| facts.capture.clone()).collect(),
        filters: filters(settings),
        settings: others(settings),
        taps: Vec::new(),
        totals: Totals::default(),
        layers: Vec::new(),
        sas: Vec::new(),
        tunnels: Vec::new(),
        gaps: Vec::new(),
        gaps_beyond: 0,
        sizes: Vec::new(),
        outer_sizes: Vec::new(),
        padding: report::Padding::default(),
        rates: report::Rates::default(),
        events: Vec::new(),
        findings: Vec::new(),
        baseline: None,
        config: None,
        run: report::RunSummary::default(),
        exit_status: 0,
    }
}

/// Filters as options.
fn filters(settings: &Settings) -> Vec<String> {
    let time = |option: &str, time: Option<crate::model::Timestamp>| {
        time.and_then(rfc3339).map(|time| format!("{option} {time}"))
    };
    let filters = [
        time("--from", settings.from),
        time("--to", settings.to),
        settings.peer.map(|peer| format!("--peer {peer}")),
        settings.spi.map(|spi| format!("--spi {spi}")),
    ];
    filters.into_iter().flatten().collect()
}

/// The settings besides filters that figures and findings depend on, where they are not the usual ones.
fn others(settings: &Settings) -> Vec<String> {
    let usual: Settings = Settings::default();
    let of_udp = settings.udp_ports.iter().map(|port| Some(format!("--udp-port {port}")));
    let of_tcp = settings.tcp_ports.iter().map(|port| Some(format!("--tcp-port {port}")));
    let others = [
        settings.overlay.then(|| "--overlay".to_owned()),
        (settings.bin_ns != usual.bin_ns).then(|| format!("--bin {}ns", settings.bin_ns)),
        settings.link_rate_bps.map(|rate| format!("--link-rate {rate}")),
        (settings.max_loss_pct != usual.max_loss_pct).then(|| format!("--max-loss {}", settings.max_loss_pct)),
        settings.hole_ns.map(|ns| format!("--hole {ns}ns")),
        settings.expectation.policies().is_some().then(|| "--config".to_owned()),
    ];
    of_udp.chain(of_tcp).chain(others).flatten().collect()
}

/// Says that a run with captures saw no IPsec: a note, or an error where some was expected.
pub fn say_no_ipsec<T>(report: &mut Report, settings: &Settings<T>, expected: bool) {
    // Of captures that could not be read nothing is known.
    let is_unread = report.captures.iter().all(|capture| capture.error.is_some());
    if is_unread || report.totals.ipsec_frames > 0 || !report.sas.is_empty() || report.has_unread_stream() {
        return;
    }
    let filtered = if report.filters.is_empty() { "" } else { " that the filters leave" };
    let mut evidence = format!(
        "No AH, ESP or IPComp in {} {}{filtered}, {} of them IP.",
        report.totals.frames,
        if report.totals.frames == 1 { "frame" } else { "frames" },
        report.totals.ip_frames
    );
    let hidden = report.hidden_frames();
    if !hidden.is_empty() {
        let (frames, names): (u64, Vec<&str>) = (hidden.values().sum(), hidden.keys().copied().collect());
        let (carry, their) = if frames == 1 { ("carries", "its") } else { ("carry", "their") };
        let frames = findings::plural(frames, "frame");
        evidence.push_str(&format!(" {frames} {carry} {}: {their} contents were not read.", names.join(" or ")));
    }
    let unread = report.totals.undissected;
    if unread > 0 {
        let are = if unread == 1 { "is" } else { "are" };
        let frames = findings::plural(unread, "frame");
        evidence.push_str(&format!(" {frames} {are} of protocols that are not read."));
    }
    evidence.push_str(&unsearched(report, settings));
    let severity = if expected { Severity::Error } else { Severity::Note };
    report.findings.push(findings::Draft::new("no-ipsec", evidence).count(0).severity(severity).done());
    findings::sort(&mut report.findings);
}

/// Where ESP was not looked for, to follow a sentence.
fn unsearched<T>(report: &Report, settings: &Settings<T>) -> String {
    /// Ports of other protocols, the usual ones first.
    const USUAL: [u16; 5] = [53, 443, 123, 161, 514];
    let frames = report.unsearched_frames();
    if frames == 0 {
        return String::new();
    }
    let named: Vec<String> =
        USUAL.iter().filter(|port| !settings.udp_ports.contains(port)).map(u16::to_string).collect();
    let such_as = named.get(..2).map_or_else(String::new, |two| format!(", such as {},", two.join(" and ")));
    let tcp = [tcp::NAT_TRAVERSAL].into_iter().chain(settings.tcp_ports.iter().copied());
    let tcp: Vec<String> = tcp.collect::<BTreeSet<u16>>().iter().map(u16::to_string).collect();
    let tcp = tcp.split_last().map_or_else(String::new, |(last, others)| match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    });
    format!(
        " {} {} UDP or TCP. ESP on UDP ports of other protocols{such_as} and on TCP ports other than {tcp} was not searched, nor IPsec inside CAPWAP, \
         Teredo or another protocol. --udp-port N and --tcp-port N search a port.",
        findings::plural(frames, "frame"),
        if frames == 1 { "carries" } else { "carry" }
    )
}

fn add_totals(totals: &mut Totals, tap: &Tap<'_>) {
    let t = &tap.stream.totals;
    totals.frames += t.sums.frames;
    totals.captured_bytes += t.sums.captured_bytes;
    totals.wire_bytes += t.sums.wire_bytes;
    // What a capture card appended was on no wire.
    let appended = tap.stream.rates.iter().map(|(id, own)| rows::padding::appended(tap, id, own.sums.frames));
    totals.l1_bytes += t.sums.l1_bytes.saturating_sub(appended.sum());
    totals.ip_frames += t.sums.ip_frames;
    totals.ipsec_frames += tap.ipsec_frames();
    totals.control_frames += t.sums.control_frames;
    totals.fragments += t.sums.fragments;
    totals.truncated_by_snaplen += t.snaplen.count;
    totals.offloaded += t.offloaded.count;
    totals.undissected += t.undissected.count;
}

fn add_layers(report: &mut Report, tap: &Tap<'_>) {
    // Where nothing in UDP is ESP, what looked like it packet by packet is not named so.
    let in_udp = |sa: &tap::SaView<'_>| {
        matches!(crate::analysis::finish::rows::sas::encapsulation(sa), crate::model::Encapsulation::Udp)
    };
    let no_esp = !tap.foreign.is_empty() && !tap.sas.iter().any(in_udp);
    let named = |shape| {
        let name = stack_name(shape);
        match name.strip_suffix("/udp/esp").filter(|_| no_esp) {
            Some(outside) => format!("{outside}/udp"),
            None => name,
        }
    };
    let mut layers: Vec<_> = tap
        .stream
        .tables
        .stacks
        .iter()
        .zip(&tap.stream.totals.stacks)
        .map(|((_, &shape), &(frames, wire_bytes))| report::Layer {
            tap: tap.name.clone(),
            stack: named(shape),
            frames,
            wire_bytes,
        })
        .filter(|layer| layer.frames > 0)
        .collect();
    layers.sort_by(|a, b| (std::cmp::Reverse(a.frames), &a.stack).cmp(&(std::cmp::Reverse(b.frames), &b.stack)));
    report.layers.extend(layers);
}
