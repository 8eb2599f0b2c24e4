//! The calculator's answer: each transform with its sizes, and several side by side.

use std::fmt::Write as _;

use super::table::{Cell, Column, Priority, Table};
use super::{Block, Document, Place, Section, figures, front};
use crate::report::words::number::{decimal, grouped, range};
use crate::transform::calculation::{Calculation, Cost, Costs};
use crate::transform::size::layers::IpVersion;
use crate::transform::size::path::Mode;

/// The whole answer.
pub(super) fn document(answer: &Calculation) -> Document {
    let mut document = Document { front: front::calc::front(answer), ..Document::default() };
    if answer.transforms.len() > 1 {
        document.push(side_by_side(answer));
    }
    for costs in &answer.transforms {
        let mut section = Section::titled(title(costs));
        section.figure(figures::share::calculation(answer));
        section.blocks.push(Block::List(facts(costs, answer)));
        let mut table = Table::new([
            Column::figures("inner", "B"),
            Column::figures("outer", "B"),
            Column::figures("overhead", "B"),
            Column::figures("of inner", "%"),
            Column::figures("L1 plain", "B").priority(Priority::Optional),
            Column::figures("L1 tunnel", "B").priority(Priority::Optional),
            Column::figures("plain", "frames/s"),
            Column::figures("plain", "Mbit/s"),
            Column::figures("tunnel", "frames/s"),
            Column::figures("tunnel", "Mbit/s"),
        ]);
        costs.sizes.iter().for_each(|cost| table.row(cells(cost)));
        section.table(table);
        document.push(section);
    }
    document.push(basis(answer));
    document
}

/// What all rates rest on.
fn basis(answer: &Calculation) -> Section {
    let mut section = Section { name: "What the rates rest on", ..Section::default().at(Place::Basis) };
    if answer.transforms.iter().flat_map(|costs| &costs.sizes).any(|cost| cost.fragments != Some(1)) {
        section.say(format!("* longer than the MTU of {}: it would be cut into fragments", grouped(answer.mtu)));
    }
    let tags = match answer.vlan_tags {
        0 => String::new(),
        tags => format!(" Frames of the tunnel carry {tags} x 4 B of 802.1Q tags."),
    };
    let decimals = if answer.link_rate_bps.is_multiple_of(1_000_000) { 0 } else { 6 };
    // As floats: rates of links are far below 2^53.
    let mbps = decimal(answer.link_rate_bps as f64 / 1e6, decimals);
    section.say(format!(
        "Rates are the maximum on Ethernet of {mbps} Mbit/s; Mbit/s counts the plaintext frame with FCS.{tags}"
    ));
    section
}

/// Overheads of all transforms by size.
fn side_by_side(answer: &Calculation) -> Section {
    let mut section = Section::titled("Overhead in B, side by side");
    let heads: Vec<String> = (1..=answer.transforms.len()).map(|n| format!("[{n}]")).collect();
    let names = heads.iter().zip(&answer.transforms).map(|(head, costs)| format!("{head} {}", title(costs)));
    section.blocks.push(Block::List(names.collect()));
    let columns = std::iter::once(Column::figures("inner", "B")).chain(heads.iter().map(|head| Column::counts(head)));
    let mut table = Table::new(columns);
    let sizes = answer.transforms.first().map_or(0, |costs| costs.sizes.len());
    for n in 0..sizes {
        let of = |costs: &Costs| costs.sizes.get(n).map_or(Cell::Blank, |cost| Cell::Signed(cost.overhead_bytes));
        let inner = answer.transforms.first().and_then(|costs| costs.sizes.get(n)).map_or(0, |cost| cost.inner_bytes);
        table.row(std::iter::once(Cell::Count(inner)).chain(answer.transforms.iter().map(of)));
    }
    section.table(table);
    section
}

/// `ESP AES-CBC/HMAC-SHA1-96, tunnel mode, IPv4 in IPv4`.
fn title(costs: &Costs) -> String {
    let family = |version| if version == IpVersion::V6 { "IPv6" } else { "IPv4" };
    let mut title = costs.transform.clone();
    if let Some(mode) = costs.mode {
        let _ = write!(title, ", {mode} mode");
    }
    if costs.mode == Some(Mode::Transport) && !costs.gre {
        let _ = write!(title, ", {}", family(costs.inner));
    } else {
        let _ = write!(title, ", {} in {}", family(costs.inner), family(costs.outer));
    }
    if costs.gre {
        title.push_str(", GRE");
    }
    if costs.udp_encap {
        title.push_str(", in UDP");
    }
    title
}

/// What is told of a transform besides its sizes, one sentence each.
fn facts(costs: &Costs, answer: &Calculation) -> Vec<String> {
    let parts: Vec<String> = costs
        .parts
        .iter()
        .map(|part| format!("{} {}", part.part.name().replace('_', " "), range(part.min_bytes, part.max_bytes)))
        .collect();
    let mut facts = vec![format!("overhead {} B", range(costs.overhead_min_bytes, costs.overhead_max_bytes))];
    if let Some(first) = facts.first_mut().filter(|_| !parts.is_empty()) {
        let _ = write!(first, ": {}", parts.join(", "));
    }
    facts.push(match (costs.largest_inner_bytes, costs.largest_outer_bytes) {
        (Some(inner), Some(outer)) => format!(
            "largest packet without fragments: {} B ({} B outside, MTU {}); TCP MSS {} in IPv4, {} in IPv6",
            grouped(inner),
            grouped(outer),
            grouped(answer.mtu),
            costs.tcp_mss_ipv4.map_or_else(|| "-".into(), grouped),
            costs.tcp_mss_ipv6.map_or_else(|| "-".into(), grouped),
        ),
        _ => format!("no packet fits into an MTU of {} without fragments", grouped(answer.mtu)),
    });
    if costs.transform.contains("IPCOMP") {
        facts.push(
            "IPComp saves what the content allows; only its header is counted, and short packets go without".into(),
        );
    }
    if let Some(mix) = &costs.imix {
        facts.push(format!(
            "IMIX (40, 576, 1500 as 7:4:1): {} B inside on average, {} B outside, overhead {} %; {} of {} frames/s ({} %)",
            decimal(mix.inner_bytes_mean, 1),
            decimal(mix.outer_bytes_mean, 1),
            decimal(mix.overhead_of_inner_pct, 1),
            decimal(mix.max_tunnel_frames_per_s, 0),
            decimal(mix.max_plain_frames_per_s, 0),
            decimal(mix.tunnel_of_plain_pct, 1),
        ));
    }
    facts.extend(costs.weak.iter().map(|weak| format!("weak: {weak}")));
    facts
}

/// The cells of a size.
fn cells(cost: &Cost) -> [Cell; 10] {
    let fragmented = cost.fragments.is_none_or(|count| count > 1);
    [
        Cell::Count(cost.inner_bytes),
        if fragmented { Cell::text(format!("{}*", grouped(cost.outer_bytes))) } else { Cell::Count(cost.outer_bytes) },
        Cell::Signed(cost.overhead_bytes),
        Cell::Decimal(cost.overhead_of_inner_pct, 1),
        Cell::Count(cost.l1_plain_bytes),
        Cell::Count(cost.l1_tunnel_bytes),
        Cell::Decimal(cost.max_plain_frames_per_s, 0),
        Cell::Decimal(cost.max_plain_mbps, 0),
        Cell::Decimal(cost.max_tunnel_frames_per_s, 0),
        Cell::Decimal(cost.max_tunnel_mbps, 0),
    ]
}
