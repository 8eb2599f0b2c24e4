//! Findings of a run of `match`.

use std::collections::BTreeMap;

use crate::analysis::Expectation;
use crate::analysis::finish::CaptureFacts;
use crate::analysis::finish::expected::keys;
use crate::analysis::finish::findings::{Draft, Listed, capture, filter, percent, plural, sort};
use crate::matching::occurrences::{self, NamedFrames};
use crate::matching::{Checks, Silent};
use crate::model::SaKey;
use crate::model::pairs::{Direction, EndsWay, LossPlace, MatchReport, PairBasis, Side, TunnelWay, Undetermined};
use crate::model::report::{Finding, Rfc3339};

/// What is wrong or worth knowing.
pub(crate) fn findings(
    report: &MatchReport,
    captures: &[CaptureFacts],
    expectation: &Expectation,
    checks: &Checks,
    packets: &BTreeMap<SaKey, u64>,
    silent: &[Silent],
    named: &NamedFrames,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    capture::add(&mut findings, captures);
    if let Some(policies) = expectation.policies() {
        let frames = |listed: &Listed, what: &str| occurrences::of_tunnel(report, listed, what);
        findings.extend(keys::of_checks(expectation.locks(), policies, &checks.sas, packets, &frames));
    }
    for (sa, count) in packets.iter().filter(|(sa, _)| sa.spi.is_zero()) {
        let evidence = format!(
            "{} from {} to {} with SPI 0 in the tunnel capture, which must never be sent.",
            plural(*count, &format!("{} packet", sa.protocol.title())),
            sa.src,
            sa.dst
        );
        findings.push(Draft::new("spi-zero", evidence).of(sa.to_string()).count(*count).done());
    }
    for direction in &report.directions {
        findings.extend(loss(report, direction, named));
        findings.extend(behind(report, direction, named));
        findings.extend(undetermined(direction));
    }
    findings.extend(copies("plaintext side", &report.plain));
    findings.extend(report.exit.as_ref().and_then(|exit| copies("exit", exit)));
    findings.extend(holes(silent));
    findings.extend(of_no_sa(report));
    findings.extend(ends(report));
    findings.extend(nothing(report));
    sort(&mut findings);
    filter::by_frames(&mut findings);
    findings
}

/// Packets of a plaintext side that were left out.
fn copies(name: &str, side: &Side) -> Option<Finding> {
    let all = side.packets.saturating_add(side.copies);
    let evidence = format!(
        "{} of {} on the {name} ({}) repeat a packet seen within the last 10 ms, and were sent once: the beginning of the captures has as many \
         pairs without them. They are left out of every figure.",
        side.copies,
        plural(all, "packet"),
        percent(side.copies, all)
    );
    (side.copies > 0).then(|| Draft::new("tap-copies", evidence).count(side.copies).done())
}

/// Packets that the later of two taps did not show.
fn loss(report: &MatchReport, direction: &Direction, named: &NamedFrames) -> Option<Finding> {
    let decapsulated = direction.way == TunnelWay::Decapsulated;
    if let Some(open) = direction.undetermined.as_ref().filter(|_| direction.matched == 0) {
        return numbers(direction, open);
    }
    let lost = if decapsulated { direction.lost_behind_tunnel } else { direction.lost_before_tunnel }.unwrap_or(0);
    if lost == 0 || direction.matched == 0 {
        return None;
    }
    let all = direction.matched + lost;
    let (from, to) = if decapsulated { ("tunnel", "plain") } else { ("plain", "tunnel") };
    let mut evidence = format!(
        "{} of {} ({}) were seen at the {from} tap and not at the {to} tap.",
        plural(lost, "packet"),
        all,
        percent(lost, all)
    );
    evidence += &too_big(report, direction);
    evidence += &caveat(direction);
    // Packets that are paired by their order and left over are one of several.
    let sure = direction.confidence.is_some_and(|mean| mean >= 0.9);
    let frames = if decapsulated && !sure {
        Vec::new()
    } else if decapsulated {
        named.not_out(report, &direction.sa, direction.unmatched_tunnel, lost)
    } else {
        named.lost(report, &direction.sa, LossPlace::BeforeTunnel, lost)
    };
    Some(Draft::new("match-loss", evidence).of(direction.sa.clone()).count(lost).named(frames, lost).done())
}

/// Lost sizes that ICMP errors explain.
fn too_big(report: &MatchReport, direction: &Direction) -> String {
    let sizes = || report.sizes.iter().filter(|size| size.sa == direction.sa && size.icmp_mtu_bytes.is_some());
    let lost: u64 = sizes().filter_map(|size| size.lost_before_tunnel).sum();
    let (Some(mtu), true) = (sizes().filter_map(|size| size.icmp_mtu_bytes).min(), lost > 0) else {
        return String::new();
    };
    let named: Vec<String> = sizes().take(8).map(|size| size.inner_bytes.to_string()).collect();
    format!(" {lost} of them are longer than the MTU of {mtu} B that ICMP errors state ({} B).", named.join(", "))
}

/// What a figure over pairs that are not sure must say.
fn caveat(direction: &Direction) -> String {
    match direction.confidence {
        Some(mean) if mean < 0.9 => format!(
            " Pairs by {} with a mean confidence of {mean:.2}: the number is likely right, the packets named may not be.",
            direction.basis.unwrap_or(PairBasis::Order)
        ),
        _ => String::new(),
    }
}

/// Missing numbers of an SA whose packets cannot be paired.
fn numbers(direction: &Direction, open: &Undetermined) -> Option<Finding> {
    let missing = open.missing_numbers;
    (missing > 0).then(|| {
        let evidence = format!(
            "{} of the SA did not reach the tunnel tap. Packets cannot be paired{}, so packets dropped before encryption are not counted.",
            plural(missing, "sequence number"),
            if open.alignments > 0 { format!(" ({} alignments)", open.alignments) } else { String::new() }
        );
        Draft::new("match-loss", evidence).of(direction.sa.clone()).count(missing).done()
    })
}

/// Packets that the tunnel's tap saw and the exit tap did not.
fn behind(report: &MatchReport, direction: &Direction, named: &NamedFrames) -> Option<Finding> {
    let lost = direction.lost_behind_tunnel.filter(|lost| *lost > 0 && direction.way == TunnelWay::Encapsulated)?;
    let evidence = format!(
        "{} of {} that the tunnel tap saw ({}) did not reach the exit tap.{}",
        plural(lost, "packet"),
        direction.matched,
        percent(lost, direction.matched),
        caveat(direction)
    );
    let frames = named.lost(report, &direction.sa, LossPlace::BehindTunnel, lost);
    Some(Draft::new("match-loss-behind", evidence).of(direction.sa.clone()).count(lost).named(frames, lost).done())
}

/// Packets that were lost from the plain side to the exit behind the tunnel's tap, of which nothing tells the SA.
fn of_no_sa(report: &MatchReport) -> Option<Finding> {
    let end = report.ends.iter().find(|end| end.way == EndsWay::PlainToExit && end.loss_pct.is_some())?;
    let own = || report.directions.iter().filter(|own| own.way == TunnelWay::Encapsulated);
    let is_untold = own().next().is_some() && own().all(|own| own.lost_end_to_end.is_none());
    let before: u64 = own().map(|own| own.lost_before_tunnel).sum::<Option<u64>>().filter(|_| is_untold)?;
    let (lost, all) = (end.lost.saturating_sub(before), end.matched + end.lost);
    (lost > 0).then(|| {
        let evidence = format!(
            "{} of {all} from the plain side ({}) did not reach the exit tap; which SA carried them, or whether they took another way, is not \
             determined.",
            plural(lost, "packet"),
            percent(lost, all)
        );
        Draft::new("match-loss-behind", evidence).count(lost).done()
    })
}

/// Packets that were lost from the exit to the plain side before the tunnel's tap, or wherever where pairs do not tell.
fn ends(report: &MatchReport) -> Option<Finding> {
    /// The share of packets from times that the tunnel's tap does not cover, as 1 in N, within which it is taken to have covered all.
    const OF: u64 = 100;
    let end = report.ends.iter().find(|end| end.way == EndsWay::ExitToPlain && end.lost > 0)?;
    let own = || report.directions.iter().filter(|own| own.way == TunnelWay::Decapsulated);
    let behind: Option<u64> = own().map(|own| own.lost_behind_tunnel).sum();
    let is_covered = |own: &Direction| own.uncovered_plain.saturating_mul(OF) <= own.matched;
    // Nor does the tunnel's tap tell more than the exit covers.
    let is_alike = || own().map(|own| own.matched).sum::<u64>() <= end.matched + end.matched / OF;
    let behind = behind.filter(|_| own().next().is_some() && own().all(is_covered) && is_alike());
    let lost = end.lost.saturating_sub(behind.unwrap_or(0));
    (lost > 0).then(|| {
        let to = match behind {
            Some(_) => "the tunnel tap.",
            None => "the plain tap; whether the tunnel tap had seen them is not determined.",
        };
        let (all, packets) = (end.matched + end.lost, plural(lost, "packet"));
        let evidence = match end.loss_pct {
            Some(_) => format!("{packets} of {all} from the exit side ({}) did not reach {to}", percent(lost, all)),
            None => format!(
                "At least {packets} from the exit side did not reach {to} How many others did not is not determined."
            ),
        };
        Draft::new("match-loss-behind", evidence).count(lost).done()
    })
}

/// Times without any frame in one capture, while the other shows packets that passed that tap.
fn holes(silent: &[Silent]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tap in ["plain", "tunnel", "exit"] {
        let own: Vec<&Silent> = silent.iter().filter(|own| own.tap == tap && !own.open && !own.is_tick).collect();
        let Some(longest) = own.iter().max_by_key(|own| own.to_ns.saturating_sub(own.from_ns)) else { continue };
        let packets: u64 = own.iter().map(|own| own.packets).sum();
        let evidence = format!(
            "The {tap} capture shows no frame in {} while packets passed that tap: {} of the other side are not covered, and not counted \
             as lost. The longest hole is {:.3} s, from {}.",
            plural(own.len() as u64, "time"),
            plural(packets, "packet"),
            longest.to_ns.saturating_sub(longest.from_ns) as f64 / 1e9,
            Rfc3339(longest.from_ns)
        );
        findings.push(Draft::new("match-hole", evidence).count(packets).done());
    }
    findings
}

fn undetermined(direction: &Direction) -> Option<Finding> {
    let open = direction.undetermined.as_ref()?;
    let evidence = format!("Not determined: {}. Would decide it: {}.", open.reason, open.decide);
    Some(Draft::new("match-undetermined", evidence).of(direction.sa.clone()).done())
}

/// Two sides that have nothing in common.
fn nothing(report: &MatchReport) -> Option<Finding> {
    let open = report.directions.iter().any(|direction| direction.undetermined.is_some());
    let packets = (report.plain.packets, report.tunnel.packets);
    if report.pairs.matched > 0 || open {
        return None;
    }
    let neither = || {
        (packets.0 > 0 && packets.1 > 0).then(|| {
            let clear: u64 = report.outside.iter().map(|own| own.clear).sum();
            let both = if clear * 2 > packets.0 {
                " The tunnel capture shows most of them in clear: if it holds both sides, use it for --plain and for --tunnel."
            } else {
                ""
            };
            let evidence = format!(
                "{} on the plaintext side, {} in tunnels, and none could be paired.{both}",
                plural(packets.0, "packet"),
                plural(packets.1, "packet")
            );
            Draft::new("match-nothing", evidence).done()
        })
    };
    of_the_wrong_side(report).or_else(neither)
}

/// A capture that does not hold what it was given as.
fn of_the_wrong_side(report: &MatchReport) -> Option<Finding> {
    let packets = (report.plain.packets, report.tunnel.packets);
    if report.plain.tunnelled > 0 && report.tunnel.tunnelled == 0 && report.tunnel.frames > 0 {
        let evidence = format!(
            "{} on the plaintext side, none on the side of the tunnel: --plain and --tunnel are likely swapped.",
            plural(report.plain.tunnelled, "tunnelled packet")
        );
        return Some(Draft::new("match-swapped", evidence).done());
    }
    let exit = report.exit.as_ref().map_or(0, |exit| exit.tunnelled);
    if exit * 2 > report.exit.as_ref().map_or(0, |exit| exit.frames)
        && report.tunnel.tunnelled == 0
        && report.tunnel.frames > 0
    {
        let evidence = format!(
            "{} on the side of the exit, none on the side of the tunnel: --exit and --tunnel are likely swapped.",
            plural(exit, "tunnelled packet")
        );
        return Some(Draft::new("match-swapped", evidence).done());
    }
    if packets.1 == 0 && report.tunnel.frames > 0 {
        let evidence = format!(
            "The capture of the tunnel shows no packet of AH, ESP or an IP tunnel that can be read: {}.",
            plural(report.tunnel.frames, "frame")
        );
        return Some(Draft::new("match-nothing", evidence).done());
    }
    if packets.0 == 0 && report.plain.frames > 0 && packets.1 > 0 {
        let own = report.plain.tunnelled;
        let tunnelled = if own > 0 { own } else { report.tunnel.tunnelled };
        let evidence = if own > 0 || report.plain.captures.iter().eq(&report.tunnel.captures) {
            format!(
                "The plaintext side shows nothing but the tunnel itself: {}. Its tap is on the encrypted side, or the host with the capture is an end of the SAs.",
                plural(tunnelled, "tunnelled packet")
            )
        } else {
            format!(
                "The plaintext side shows no IP packet that a tunnel could carry: {}.",
                plural(report.plain.frames, "frame")
            )
        };
        return Some(Draft::new("match-nothing", evidence).done());
    }
    None
}
