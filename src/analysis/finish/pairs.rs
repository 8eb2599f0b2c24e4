//! Findings of a run of `match`.

use std::collections::BTreeMap;

use super::CaptureFacts;
use super::expected::keys;
use super::findings::{Draft, capture, percent, plural, sort};
use crate::analysis::Expectation;
use crate::analysis::pairing::Checks;
use crate::model::SaKey;
use crate::model::pairs::MatchReport;
use crate::model::report::Finding;

/// What is wrong or worth knowing.
pub(crate) fn pair_findings(
    report: &MatchReport,
    captures: &[CaptureFacts],
    expectation: &Expectation,
    checks: &Checks,
    packets: &BTreeMap<SaKey, u64>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    capture::add(&mut findings, captures);
    if let Some(policies) = expectation.policies() {
        findings.extend(keys::of_checks(expectation.locks(), policies, &checks.sas, packets));
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
        let lost = if direction.way == "decapsulated" { direction.unmatched_tunnel } else { direction.unmatched_plain };
        let all = direction.matched + lost;
        if lost > 0 && direction.matched > 0 {
            let (from, to) = if direction.way == "decapsulated" { ("tunnel", "plain") } else { ("plain", "tunnel") };
            let evidence = format!(
                "{} of {} ({}) were seen at the {from} tap and not at the {to} tap.",
                plural(lost, "packet"),
                all,
                percent(lost, all)
            );
            findings.push(Draft::new("match-loss", evidence).of(direction.sa.clone()).count(lost).done());
        }
    }
    if report.pairs.matched == 0 && report.plain.packets > 0 && report.tunnel.packets > 0 {
        let evidence = format!(
            "{} on the plaintext side, {} in tunnels, and none of them belong together.",
            plural(report.plain.packets, "packet"),
            plural(report.tunnel.packets, "packet")
        );
        findings.push(Draft::new("match-nothing", evidence).done());
    }
    sort(&mut findings);
    findings
}
