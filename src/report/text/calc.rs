//! The calculator's answer as text: each transform with its sizes, and several side by side.

use super::super::calc::{cells, facts, title};
use super::page::{Page, TextOptions};
use super::table::{Column, Fit, Table};
use crate::report::number::{decimal, grouped, signed};
use crate::transform::calculation::Calculation;

/// The whole answer.
#[must_use]
pub fn render_calculation(answer: &Calculation, options: &TextOptions) -> String {
    let mut page = Page::new(options);
    if answer.transforms.len() > 1 {
        side_by_side(&mut page, answer);
    }
    for costs in &answer.transforms {
        page.heading(&title(costs));
        for fact in facts(costs, answer) {
            page.wrapped(2, 4, &fact);
        }
        page.blank();
        let mut table = Table::new(vec![
            Column::right("inner\nB"),
            Column::right("outer\nB"),
            Column::right("overhead\nB"),
            Column::right("of inner\n%"),
            Column::right("L1 plain\nB").fit(Fit::Drop),
            Column::right("L1 tunnel\nB").fit(Fit::Drop),
            Column::right("plain\nframes/s"),
            Column::right("plain\nMbit/s"),
            Column::right("tunnel\nframes/s"),
            Column::right("tunnel\nMbit/s"),
        ]);
        costs.sizes.iter().for_each(|cost| table.row(cells(cost)));
        table.print(&mut page);
    }
    page.blank();
    if answer.transforms.iter().flat_map(|costs| &costs.sizes).any(|cost| cost.fragments != Some(1)) {
        page.wrapped(
            0,
            2,
            &format!("* longer than the MTU of {}: it would be cut into fragments", grouped(answer.mtu)),
        );
    }
    let tags = match answer.vlan_tags {
        0 => String::new(),
        tags => format!(" Frames of the tunnel carry {tags} x 4 B of 802.1Q tags."),
    };
    let decimals = if answer.link_rate_bps.is_multiple_of(1_000_000) { 0 } else { 6 };
    // As floats: rates of links are far below 2^53.
    let mbps = decimal(answer.link_rate_bps as f64 / 1e6, decimals);
    page.wrapped(
        0,
        2,
        &format!(
            "Rates are the most that Ethernet of {} Mbit/s carries; Mbit/s counts the plaintext frame with FCS.{tags}",
            mbps
        ),
    );
    page.into_text()
}

/// Overheads of all transforms by size.
fn side_by_side(page: &mut Page<'_>, answer: &Calculation) {
    page.heading("Overhead in B, side by side");
    let heads: Vec<String> = (1..=answer.transforms.len()).map(|n| format!("[{n}]")).collect();
    for (head, costs) in heads.iter().zip(&answer.transforms) {
        page.wrapped(2, 6, &format!("{head} {}", title(costs)));
    }
    page.blank();
    let columns = std::iter::once(Column::right("inner B")).chain(heads.iter().map(|head| Column::right(head)));
    let mut table = Table::new(columns.collect());
    let sizes = answer.transforms.first().map_or(0, |costs| costs.sizes.len());
    for n in 0..sizes {
        let of = |costs: &crate::transform::calculation::Costs| {
            costs.sizes.get(n).map_or_else(String::new, |cost| signed(cost.overhead_bytes))
        };
        let inner = answer.transforms.first().and_then(|costs| costs.sizes.get(n)).map_or(0, |cost| cost.inner_bytes);
        table.row(std::iter::once(grouped(inner)).chain(answer.transforms.iter().map(of)));
    }
    table.print(page);
}
