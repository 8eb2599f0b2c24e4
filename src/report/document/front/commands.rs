//! What makes an output again, out of what the output says of itself. What it does not say stands in capitals, to be filled in.

use std::collections::BTreeSet;

use crate::model::pairs::{ClockBasis, MatchReport, Side};
use crate::model::report::{Capture, CaptureDigest, DigestAlgorithm, Report, TransformBasis};
use crate::model::trials::TrialsReport;
use crate::transform::calculation::{Calculation, IMIX};

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | ',' | ':' | '=' | '@' | '%');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Captures that a command lists at most: a longer line would not be typed.
const LISTED: usize = 12;

/// `xxh3-128 99aa06d3014798d86001c324468d497f  tunnel.pcap`: what the captures of a command must be to give the same figures.
pub(super) fn captures<'c>(captures: impl IntoIterator<Item = &'c Capture>) -> Vec<String> {
    let mut lines: Vec<String> = captures.into_iter().filter_map(line).collect();
    let mut met = BTreeSet::new();
    // Both sides of a match may name the same one.
    lines.retain(|line| met.insert(line.clone()));
    if lines.len() > LISTED { Vec::new() } else { lines }
}

/// Of an older output nothing is known: neither a digest nor why there is none.
fn line(capture: &Capture) -> Option<String> {
    let path = quoted(&capture.path);
    match (&capture.digest, &capture.digest_missing) {
        (Some(digest), _) => Some(format!("{} {}  {path}", digest.algorithm, digest.hex)),
        (None, Some(why)) => Some(format!("no digest: {why}  {path}")),
        (None, None) => None,
    }
}

/// The option that asks for the digests that were given, where they are not the usual ones.
fn digest_option<'c>(captures: impl IntoIterator<Item = &'c Capture>) -> Option<String> {
    captures.into_iter().find_map(|capture| match &capture.digest {
        Some(CaptureDigest { algorithm: DigestAlgorithm::Sha256, .. }) => Some("--digest sha256".to_owned()),
        // Of a compressed capture too: its file may be shorter, and then the option changes nothing.
        Some(CaptureDigest { algorithm: DigestAlgorithm::Xxh3128, .. }) => {
            (capture.bytes > Capture::USUAL_DIGEST_BYTES).then(|| "--digest xxh3-128".to_owned())
        }
        None => {
            (capture.digest_missing.as_deref() == Some(Capture::NO_DIGEST_WANTED)).then(|| "--digest none".to_owned())
        }
    })
}

pub(super) fn report(report: &Report) -> Vec<String> {
    if report.captures.is_empty() || report.captures.len() > LISTED {
        return Vec::new();
    }
    let mut words = vec!["spiglass report --format json".to_owned()];
    words.extend(report.filters.iter().map(|filter| filter.split(' ').map(quoted).collect::<Vec<_>>().join(" ")));
    if report.rates.bin_ns > 0 && report.rates.bin_ns != 1_000_000_000 {
        words.push(format!("--bin {}", bin(report.rates.bin_ns)));
    }
    let rated = report.rates.directions.iter().any(|rate| rate.utilisation_pct.is_some());
    words.extend(
        (rated || report.rates.pause.iter().any(|row| row.stopped_ns.is_some())).then(|| "--link-rate RATE".to_owned()),
    );
    words.extend(report.config.is_some().then(|| "--config CONFIGURATION".to_owned()));
    words.extend(digest_option(&report.captures));
    for tap in &report.taps {
        let paths: Vec<&str> = tap
            .captures
            .iter()
            .filter_map(|at| report.captures.get(*at as usize))
            .map(|one| one.path.as_str())
            .collect();
        if report.taps.len() > 1 && !paths.iter().any(|path| path.contains(',')) && !tap.name.contains('=') {
            words.push(format!("--tap {}", quoted(&format!("{}={}", tap.name, paths.join(",")))));
        } else {
            words.extend(paths.into_iter().map(quoted));
        }
    }
    vec![words.join(" ")]
}

/// `500ms`, in the largest unit that leaves no fraction.
fn bin(ns: u64) -> String {
    let units =
        [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
    whole.map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

pub(super) fn pairs(report: &MatchReport) -> Vec<String> {
    let sides =
        [("--plain", Some(&report.plain)), ("--tunnel", Some(&report.tunnel)), ("--exit", report.exit.as_ref())];
    let captures = |side: &Side| side.captures.iter().map(|capture| capture.path.clone()).collect::<Vec<_>>();
    let all: usize = sides.iter().filter_map(|(_, side)| *side).map(|side| side.captures.len()).sum();
    if all == 0 || all > LISTED {
        return Vec::new();
    }
    let mut words = vec!["spiglass match --format json".to_owned()];
    for (option, side) in sides.into_iter().filter_map(|(option, side)| Some((option, side?))) {
        words.extend(captures(side).iter().map(|path| format!("{option} {}", quoted(path))));
    }
    let told = report.directions.iter().any(|direction| direction.transform.basis == TransformBasis::Expected);
    words.extend((told || report.pairs.by_basis.decrypted > 0).then(|| "--config CONFIGURATION".to_owned()));
    let one = captures(&report.plain) == captures(&report.tunnel);
    let clock = report.directions.iter().any(|direction| direction.clock.basis == ClockBasis::OneClock);
    words.extend((clock && !one).then(|| "--one-clock".to_owned()));
    let through = report.directions.iter().any(|direction| direction.latency_ns.cut_through.is_some());
    words.extend(through.then(|| "--link-rate RATE".to_owned()));
    words.extend(digest_option(
        [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(|side| &side.captures),
    ));
    vec![words.join(" ")]
}

pub(super) fn trials(report: &TrialsReport) -> Vec<String> {
    let all: usize = report.taps.iter().map(|tap| tap.captures.len()).sum();
    if all == 0 || all > LISTED {
        return Vec::new();
    }
    let mut words = vec!["spiglass trials --format json".to_owned()];
    for tap in &report.taps {
        words.extend(tap.captures.iter().map(|capture| format!("--{} {}", tap.name, quoted(&capture.path))));
    }
    words.extend(report.bench.one_clock.then(|| "--one-clock".to_owned()));
    words.extend(report.bench.link_rate_bps.map(|rate| format!("--link-rate {rate}")));
    words.extend(report.bench.tunnel_rate_bps.map(|rate| format!("--tunnel-rate {rate}")));
    words.extend((!report.baseline.is_empty()).then(|| "--baseline JSON".to_owned()));
    words.extend(digest_option(report.taps.iter().flat_map(|tap| &tap.captures)));
    words.extend((!report.search.is_empty()).then(|| "--next --start RATE --step RATE".to_owned()));
    vec![words.join(" ")]
}

pub(super) fn calculation(answer: &Calculation) -> Vec<String> {
    let Some(first) = answer.transforms.first() else { return Vec::new() };
    let mut words = vec!["spiglass calc --format json".to_owned()];
    for costs in &answer.transforms {
        match costs.transform.strip_prefix("constant ") {
            Some(bytes) => words.push(format!("--overhead-bytes {bytes}")),
            None => words.push(format!("--transform {}", quoted(&costs.transform))),
        }
    }
    words.extend(first.mode.as_ref().map(|mode| format!("--mode {mode}")));
    words.push(format!("--outer {} --inner {}", first.outer, first.inner));
    words.extend(first.udp_encap.then(|| "--udp-encap".to_owned()));
    words.extend(first.gre.then(|| "--gre".to_owned()));
    words.extend((answer.vlan_tags > 0).then(|| format!("--vlan {}", answer.vlan_tags)));
    words.push(format!("--mtu {} --link-rate {}", answer.mtu, answer.link_rate_bps));
    let sizes: Vec<String> = first.sizes.iter().map(|cost| cost.inner_bytes.to_string()).collect();
    let mix = first.imix.is_some() && sizes.len() == IMIX.len();
    words.push(format!("--sizes {}", if mix { "imix".to_owned() } else { sizes.join(",") }));
    vec![words.join(" ")]
}
