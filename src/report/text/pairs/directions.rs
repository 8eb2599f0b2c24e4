//! What each SA or tunnel carries, how its packets compare, and what its outer header takes over.

use super::super::page::Page;
use super::super::table::{Column, Fit, Table};
use super::words::short;
use crate::model::pairs::{Direction, HeaderCopy, MatchReport};
use crate::report::escape::printable;
use crate::report::names;
use crate::report::number::{count, decimal, grouped};

/// At most this many rows; thousands of SAs are for JSON and CSV.
pub(super) const ROWS: usize = 100;

pub(super) fn print(page: &mut Page<'_>, report: &MatchReport) {
    if report.directions.is_empty() {
        return;
    }
    page.heading("Directions");
    let mut table = Table::new(vec![
        Column::left("SA"),
        Column::left("from > to").fit(Fit::Above),
        Column::left("way"),
        Column::right("matched"),
        Column::right("ambiguous").fit(Fit::Below),
        Column::right("lost"),
        Column::right("loss\n%"),
        Column::right("alone"),
        Column::right("repeated").fit(Fit::Below),
        Column::right("overtaken").fit(Fit::Below),
        Column::right("confi-\ndence"),
        Column::left("known by"),
        Column::left("").fit(Fit::Remark),
        Column::left("").fit(Fit::Remark),
        Column::left("").fit(Fit::Remark),
    ]);
    for direction in report.directions.iter().take(ROWS) {
        table.row(row(direction));
    }
    table.print(page);
    more(page, report.directions.len(), "directions");
    let has = |way: &str| report.directions.iter().any(|direction| direction.way == way);
    let mut words = Vec::new();
    if has("encapsulated") {
        words.push("encapsulated: the plain tap saw the packets before the tunnel's tap; lost are plaintext packets on that way");
    }
    if has("decapsulated") {
        words.push("decapsulated: after it; lost are tunnelled packets that did not come out");
    }
    if !words.is_empty() {
        page.wrapped(2, 2, &format!("{}.", words.join("; ")));
    }
}

/// Says how many rows of a table are left out.
pub(super) fn more(page: &mut Page<'_>, rows: usize, table: &str) {
    if rows > ROWS {
        let left = grouped((rows - ROWS) as u64);
        page.wrapped(2, 2, &format!("and {left} more; `--format csv --table {table}` lists all."));
    }
}

fn row(direction: &Direction) -> [String; 15] {
    let lost =
        if direction.way == "decapsulated" { direction.lost_behind_tunnel } else { direction.lost_before_tunnel };
    let alone = if direction.way == "decapsulated" { direction.unmatched_plain } else { direction.unmatched_tunnel };
    let some = |n: u64| if n > 0 { grouped(n) } else { String::new() };
    [
        short(&direction.sa),
        from_to(direction),
        direction.way.to_owned(),
        grouped(direction.matched),
        some(direction.ambiguous),
        lost.map_or_else(|| "-".to_owned(), grouped),
        direction.loss_pct.map_or_else(|| "-".to_owned(), |loss| decimal(loss, 2)),
        some(alone),
        some(direction.repeated_tunnel),
        some(direction.reordered),
        direction.confidence.map_or_else(|| "-".to_owned(), |mean| decimal(mean, 3)),
        direction.basis.unwrap_or("-").to_owned(),
        carries(direction),
        transform(direction),
        losses(direction),
    ]
}

/// `lost before the tunnel tap 10, after it 19, end to end 29`, or why nothing is paired.
fn losses(direction: &Direction) -> String {
    if let Some(open) = &direction.undetermined {
        return format!("not determined: {}; would decide it: {}", printable(&open.reason), printable(&open.decide));
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
    format!("{} > {}", printable(&direction.src), printable(&direction.dst))
}

/// `tunnel mode, carries 192.168.2.0/24 > 192.168.3.2`.
fn carries(direction: &Direction) -> String {
    let mode = Some(direction.mode).filter(|mode| *mode != "unknown").map(|mode| format!("{mode} mode"));
    let inner = direction.inner_src.as_ref().zip(direction.inner_dst.as_ref());
    let inner = inner.map(|(from, to)| format!("carries {} > {}", printable(from), printable(to)));
    mode.into_iter().chain(inner).collect::<Vec<_>>().join(", ")
}

/// `transform: AES-CBC/HMAC-SHA1-96 or 16 others (inferred): evidence`; of tunnels without a transform nothing.
fn transform(direction: &Direction) -> String {
    let name = names::transform_of(&direction.transform);
    let evidence = direction.transform.evidence.as_deref().map(|text| text.trim_end_matches('.'));
    match evidence {
        Some(evidence) => format!("transform: {name}: {evidence}"),
        None if direction.transform.basis == "unknown" => String::new(),
        None => format!("transform: {name}"),
    }
}

/// What outer headers take over of inner ones, a sentence per direction.
pub(super) fn headers(page: &mut Page<'_>, report: &MatchReport) {
    let told: Vec<(&Direction, String)> = report
        .directions
        .iter()
        .map(|direction| (direction, header(&direction.header)))
        .filter(|(_, words)| !words.is_empty())
        .take(ROWS)
        .collect();
    if told.is_empty() {
        return;
    }
    page.heading_with("Outer header", "compared with that of the plaintext frame of the same pair");
    for (direction, words) in told {
        page.wrapped(2, 6, &format!("{}, {}: {words}.", short(&direction.sa), from_to(direction)));
    }
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
