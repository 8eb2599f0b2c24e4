//! The front of a calculation.

use super::{Front, Merit, Sentence, commands};
use crate::report::words::number::{decimal, grouped, range};
use crate::transform::calculation::{Calculation, Costs};

/// The front.
pub(in crate::report::document) fn front(answer: &Calculation) -> Front {
    let subject = match answer.transforms.as_slice() {
        [one] => format!("What {} costs", one.transform),
        several => format!("What {} transforms cost", several.len()),
    };
    let one = match answer.transforms.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    Front {
        subject,
        lede: lede(answer, one),
        merits: one.map(merits).unwrap_or_default(),
        trust: vec![(
            "Calculated".to_owned(),
            "No packet was measured: every figure follows from the transform.".to_owned(),
        )],
        commands: commands::calculation(answer),
        sources: vec![answer.schema.to_string()],
        ..Front::default()
    }
}

fn lede(answer: &Calculation, one: Option<&Costs>) -> Vec<Sentence> {
    let mut lede = Vec::new();
    if let Some(costs) = one {
        let (least, most) = (costs.overhead_min_bytes, costs.overhead_max_bytes);
        lede.push(Sentence::new(&format!("A packet pays *{} bytes*.", range(least, most))));
        if let Some(inner) = costs.largest_inner_bytes {
            let (inner, mtu) = (grouped(inner), grouped(answer.mtu));
            lede.push(Sentence::new(&format!(
                "The largest packet that fits an MTU of {mtu} bytes without fragments has *{inner} bytes*."
            )));
        }
    } else {
        let ends = answer.transforms.iter().map(|costs| (costs.overhead_min_bytes, costs.overhead_max_bytes));
        if let Some((least, most)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            lede.push(Sentence::new(&format!("A packet pays *{} bytes*, by transform and size.", range(least, most))));
        }
    }
    lede
}

fn merits(costs: &Costs) -> Vec<Merit> {
    let (least, most) = (costs.overhead_min_bytes, costs.overhead_max_bytes);
    let figure = if least == most || least < 0 { range(least, most) } else { format!("{least}\u{2013}{most}") };
    let merit =
        |figure, unit: &str, what: &str, detail| Merit { figure, unit: unit.to_owned(), what: what.to_owned(), detail };
    let mut merits = vec![merit(figure, "B", "added to a packet", String::new())];
    if let Some(inner) = costs.largest_inner_bytes {
        let outer =
            costs.largest_outer_bytes.map_or_else(String::new, |outer| format!("{} B in the tunnel", grouped(outer)));
        merits.push(merit(grouped(inner), "B", "largest packet without fragments", outer));
    }
    if let Some(mss) = costs.tcp_mss_ipv4 {
        let v6 = costs.tcp_mss_ipv6.map_or_else(String::new, |mss| format!("{} B in IPv6", grouped(mss)));
        merits.push(merit(grouped(mss), "B", "TCP MSS in IPv4", v6));
    }
    if let Some(mix) = &costs.imix {
        merits.push(merit(decimal(mix.tunnel_of_plain_pct, 1), "%", "of the IMIX frame rate", String::new()));
    }
    merits
}
