//! The tables of a calculation.

use super::{Sheet, Value, about, integer, list, real, text};
use crate::transform::calculation::{Calculation, Cost, Costs};

/// What one way costs at one size.
pub(in crate::report) struct SizeRow {
    transform: String,
    cost: Cost,
}

/// The rows of all ways.
pub(in crate::report) fn size_rows(answer: &Calculation) -> impl Iterator<Item = SizeRow> {
    let of = |costs: &Costs| {
        let transform = costs.transform.clone();
        costs.sizes.clone().into_iter().map(move |cost| SizeRow { transform: transform.clone(), cost })
    };
    answer.transforms.iter().flat_map(of)
}

/// What each way costs at each size.
pub(in crate::report) const SIZES: Sheet<SizeRow> = Sheet {
    name: "sizes",
    about: "What each transform costs at each size, and what the link carries then.",
    rows: &["Cost"],
    fields: &[
        about("Name of the transform.", text("transform", |r| (&r.transform).into())),
        integer("inner_bytes", |r| r.cost.inner_bytes.into()),
        integer("outer_bytes", |r| r.cost.outer_bytes.into()),
        integer("overhead_bytes", |r| r.cost.overhead_bytes.into()),
        real("overhead_of_inner_pct", |r| Value::Fraction(r.cost.overhead_of_inner_pct)),
        integer("l1_plain_bytes", |r| r.cost.l1_plain_bytes.into()),
        integer("l1_tunnel_bytes", |r| r.cost.l1_tunnel_bytes.into()),
        real("max_plain_frames_per_s", |r| Value::Fraction(r.cost.max_plain_frames_per_s)),
        real("max_plain_mbps", |r| Value::Fraction(r.cost.max_plain_mbps)),
        real("max_tunnel_frames_per_s", |r| Value::Fraction(r.cost.max_tunnel_frames_per_s)),
        real("max_tunnel_mbps", |r| Value::Fraction(r.cost.max_tunnel_mbps)),
    ],
};

/// What each way costs at any size.
pub(in crate::report) const TRANSFORMS: Sheet<Costs> = Sheet {
    name: "transforms",
    about: "The costs of each transform that do not depend on the packet size.",
    rows: &["Costs"],
    fields: &[
        text("transform", |r| (&r.transform).into()),
        text("mode", |r| r.mode.map(|mode| mode.name()).into()),
        integer("overhead_min_bytes", |r| r.overhead_min_bytes.into()),
        integer("overhead_max_bytes", |r| r.overhead_max_bytes.into()),
        integer("largest_inner_bytes", |r| r.largest_inner_bytes.into()),
        integer("tcp_mss_ipv4", |r| r.tcp_mss_ipv4.into()),
        integer("tcp_mss_ipv6", |r| r.tcp_mss_ipv6.into()),
        about(
            "What the overhead is made of, from the outside in: `outer_ip 20`, ranges as `esp_pad 0..15`, in octets.",
            list("parts", |r| {
                Value::made(r.parts.iter().map(|part| match (part.min_bytes, part.max_bytes) {
                    (min, max) if min == max => format!("{} {max}", part.part),
                    (min, max) => format!("{} {min}..{max}", part.part),
                }))
            }),
        ),
    ],
};
