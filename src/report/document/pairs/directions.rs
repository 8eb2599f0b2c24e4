//! What each SA or tunnel carries, how its packets compare, and what its outer header takes over.

use super::super::table::{Cell, Column, Priority, Table};
use super::super::{Block, Section, View, figures};
use super::words::short;
use crate::model::pairs::{Direction, HeaderCopy, MatchReport, TunnelWay};
use crate::model::report::{SaMode, TransformBasis};
use crate::report::words::names;
use crate::report::words::number::{count, grouped};

pub(super) fn section(report: &MatchReport, view: &View) -> Section {
    let mut section = Section::titled("Directions");
    let mut table = Table::new([
        Column::words("SA"),
        Column::words("from > to").priority(Priority::Title),
        Column::words("way"),
        Column::counts("matched"),
        Column::counts("ambiguous").priority(Priority::Detail),
        Column::counts("lost"),
        Column::figures("loss", "%"),
        Column::counts("alone"),
        Column::counts("repeated").priority(Priority::Detail),
        Column::counts("overtaken").priority(Priority::Detail),
        Column::counts("confi-\ndence"),
        Column::words("known by"),
        Column::remark(),
        Column::remark(),
        Column::remark(),
    ]);
    for direction in report.directions.iter().take(view.shown(report.directions.len())) {
        table.row(row(direction));
    }
    section.figure(figures::offered::figure(report));
    section.table(table);
    section.more(view, report.directions.len(), "directions", "--format csv --table directions");
    let has = |way: TunnelWay| report.directions.iter().any(|direction| direction.way == way);
    let lost = match (has(TunnelWay::Encapsulated), has(TunnelWay::Decapsulated)) {
        (true, true) => "encapsulated: plain to tunnel; lost = missing at the tunnel tap. decapsulated: the reverse.",
        (true, false) => "encapsulated: plain to tunnel; lost = missing at the tunnel tap.",
        (false, true) => "decapsulated: tunnel to plain; lost = missing at the plain tap.",
        (false, false) => return section,
    };
    section.say(lost);
    section
}

fn row(direction: &Direction) -> [Cell; 15] {
    let lost = if direction.way == TunnelWay::Decapsulated {
        direction.lost_behind_tunnel
    } else {
        direction.lost_before_tunnel
    };
    let alone =
        if direction.way == TunnelWay::Decapsulated { direction.unmatched_plain } else { direction.unmatched_tunnel };
    [
        Cell::text(short(&direction.sa)),
        Cell::text(from_to(direction)),
        Cell::text(direction.way.name()),
        Cell::Count(direction.matched),
        Cell::some(direction.ambiguous),
        Cell::count(lost),
        Cell::decimal(direction.loss_pct, 2),
        Cell::some(alone),
        Cell::some(direction.repeated_tunnel),
        Cell::some(direction.reordered),
        Cell::decimal(direction.confidence, 3),
        direction.basis.map_or(Cell::Unknown, |basis| Cell::text(basis.name())),
        Cell::text(carries(direction)),
        Cell::text(transform(direction)),
        Cell::text(losses(direction)),
    ]
}

/// `lost before the tunnel tap 10, after it 19, end to end 29`, or why nothing is paired.
fn losses(direction: &Direction) -> String {
    if let Some(open) = &direction.undetermined {
        return format!("not determined: {}; would decide it: {}", open.reason, open.decide);
    }
    let some =
        |name: &str, lost: Option<u64>| lost.filter(|lost| *lost > 0).map(|lost| format!("{name} {}", grouped(lost)));
    let parts = [
        some("before the tunnel tap", direction.lost_before_tunnel),
        some("after it", direction.lost_behind_tunnel),
        some("end to end", direction.lost_end_to_end),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("lost {}", parts.join(", ")) }
}

/// `192.168.1.1 > 192.168.1.2`.
pub(super) fn from_to(direction: &Direction) -> String {
    format!("{} > {}", direction.src, direction.dst)
}

/// `tunnel mode, carries 192.168.2.0/24 > 192.168.3.2`.
fn carries(direction: &Direction) -> String {
    let mode = Some(direction.mode).filter(|mode| *mode != SaMode::Unknown).map(|mode| format!("{mode} mode"));
    let inner = direction.inner_src.as_ref().zip(direction.inner_dst.as_ref());
    let inner = inner.map(|(from, to)| format!("carries {from} > {to}"));
    mode.into_iter().chain(inner).collect::<Vec<_>>().join(", ")
}

/// `transform: AES-CBC/HMAC-SHA1-96 or 16 others (inferred): evidence`; of tunnels without a transform nothing.
fn transform(direction: &Direction) -> String {
    let name = names::transform_of(&direction.transform);
    let evidence = direction.transform.evidence.as_deref().map(|text| text.trim_end_matches('.'));
    match evidence {
        Some(evidence) => format!("transform: {name}: {evidence}"),
        None if direction.transform.basis == TransformBasis::Unknown => String::new(),
        None => format!("transform: {name}"),
    }
}

/// What outer headers take over of inner ones, a sentence per direction.
pub(super) fn headers(report: &MatchReport, view: &View) -> Section {
    let copied: Vec<String> = report
        .directions
        .iter()
        .map(|direction| (direction, header(&direction.header)))
        .filter(|(_, words)| !words.is_empty())
        .map(|(direction, words)| format!("{}, {}: {words}.", short(&direction.sa), from_to(direction)))
        .collect();
    if copied.is_empty() {
        return Section::default();
    }
    let mut section = Section::noted("Outer header", "compared with that of the plaintext frame of the same pair");
    let shown = view.shown(copied.len());
    section.blocks.push(Block::List(copied.iter().take(shown).cloned().collect()));
    section.more(view, copied.len(), "directions", "--format json");
    section
}

/// `DSCP copied in all 12 marked packets; ECN the same in all 80; outer DF never set; outer TTL always 64 (own)`.
fn header(header: &HeaderCopy) -> String {
    let mut parts = Vec::new();
    if header.dscp_same + header.dscp_other > 0 {
        parts.push(dscp(header));
        let unmarked =
            header.dscp_other.saturating_sub(header.dscp_marked - header.dscp_marked_same.min(header.dscp_marked));
        if unmarked > 0 {
            parts.push(format!("outer DSCP set in {} without", count(unmarked, "packet")));
        }
    }
    parts.extend(ecn(header));
    parts.extend(df(header));
    parts.extend(ttl(header));
    parts.join("; ")
}

fn dscp(header: &HeaderCopy) -> String {
    let marked = header.dscp_marked;
    match header.dscp_marked_same {
        _ if marked == 0 => "DSCP 0 in every packet, so whether it is copied does not show".to_owned(),
        same if same == marked => format!("DSCP copied in {}", of_all(marked, "marked packet")),
        0 => format!("DSCP not copied in any of {}", count(marked, "marked packet")),
        same => format!("DSCP copied in {} of {}", grouped(same), count(marked, "marked packet")),
    }
}

fn ecn(header: &HeaderCopy) -> Option<String> {
    let all = header.ecn_same + header.ecn_other;
    match header.ecn_other {
        _ if all == 0 => None,
        0 => Some(format!("ECN the same outside in {}", of_all(all, "packet"))),
        other => Some(format!("ECN another outside in {} of {}", grouped(other), count(all, "packet"))),
    }
}

fn df(header: &HeaderCopy) -> Option<String> {
    let HeaderCopy { df_copied: both, df_set: outside, df_cleared: inside, df_unset: neither, .. } = *header;
    let all = both + outside + inside + neither;
    Some(match (both, outside, inside, neither) {
        _ if all == 0 => return None,
        (0, 0, 0, _) => "DF set nowhere".to_owned(),
        (0, 0, inside, _) => format!("outer DF never set (inside in {})", count(inside, "packet")),
        (_, _, 0, 0) => format!("outer DF always set (inside in {} of {})", grouped(both), count(all, "packet")),
        (both, 0, 0, neither) => {
            format!(
                "DF copied: set inside and outside in {}, in neither in {}",
                count(both, "packet"),
                grouped(neither)
            )
        }
        _ => format!(
            "DF set inside and outside in {}, outside alone in {}, inside alone in {}, nowhere in {}",
            count(both, "packet"),
            grouped(outside),
            grouped(inside),
            grouped(neither)
        ),
    })
}

fn ttl(header: &HeaderCopy) -> Option<String> {
    let (least, most) = (header.outer_ttl_min?, header.outer_ttl_max?);
    let (copied, own) = (header.ttl_copied, header.ttl_own);
    let span = if least == most { format!("always {least}") } else { format!("{least} to {most}") };
    Some(match (copied, own) {
        (0, 0) => format!("outer TTL {span}"),
        (0, _) => format!("outer TTL {span} (own)"),
        (_, 0) if least == most => {
            format!("outer TTL {span}, which fits the plaintext packets' (copied, or the same by chance)")
        }
        (_, 0) => format!("outer TTL {span} (copied)"),
        (_, own) if least == most => format!("outer TTL {span} (own: {} have another)", count(own, "plaintext packet")),
        (copied, own) => {
            format!(
                "outer TTL {span}, that of the plaintext packet in {}, another in {}",
                count(copied, "packet"),
                grouped(own)
            )
        }
    })
}

/// `all 12 marked packets`, `the only marked packet`.
fn of_all(n: u64, noun: &str) -> String {
    if n == 1 { format!("the only {noun}") } else { format!("all {}", count(n, noun)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_in_words() {
        let marked = HeaderCopy { dscp_same: 80, dscp_marked: 12, dscp_marked_same: 12, ..HeaderCopy::default() };
        assert_eq!(dscp(&marked), "DSCP copied in all 12 marked packets");
        assert_eq!(dscp(&HeaderCopy { dscp_marked_same: 0, ..marked }), "DSCP not copied in any of 12 marked packets");
        assert_eq!(dscp(&HeaderCopy { dscp_marked_same: 5, ..marked }), "DSCP copied in 5 of 12 marked packets");
        let df_of = |df_copied, df_set, df_cleared, df_unset| {
            df(&HeaderCopy { df_copied, df_set, df_cleared, df_unset, ..HeaderCopy::default() }).unwrap_or_default()
        };
        assert_eq!(df_of(0, 0, 3, 7), "outer DF never set (inside in 3 packets)");
        assert_eq!(df_of(0, 0, 0, 7), "DF set nowhere");
        assert_eq!(df_of(3, 0, 0, 7), "DF copied: set inside and outside in 3 packets, in neither in 7");
        assert_eq!(df_of(3, 7, 0, 0), "outer DF always set (inside in 3 of 10 packets)");
        assert_eq!(df_of(0, 0, 0, 0), "");
        let own = HeaderCopy { ttl_own: 9, outer_ttl_min: Some(64), outer_ttl_max: Some(64), ..HeaderCopy::default() };
        assert_eq!(ttl(&own).unwrap_or_default(), "outer TTL always 64 (own)");
        assert_eq!(header(&HeaderCopy::default()), "");
    }
}
