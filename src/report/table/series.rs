//! The tables of a report that have many rows: gaps, time bins, lengths of opaque packets.

use super::{Sheet, Value, about, integer, text};
use crate::model::report::{Bin, Gap, Name, OuterSize, Rates, Report, SaTimeBin};

/// Sequence numbers that were skipped.
pub(in crate::report) const GAPS: Sheet<Gap> = Sheet {
    name: "gaps",
    about: "Sequence numbers that were skipped: the first 250 of each SA.",
    rows: &["Gap"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("sa", |r| (&r.sa).into()),
        integer("first_missing", |r| r.first_missing.into()),
        integer("last_missing", |r| r.last_missing.into()),
        integer("count", |r| r.count.into()),
        about(
            "Number of the frame with the number before them, within its capture.",
            integer("frame_before", |r| Value::frame(r.frame_before)),
        ),
        about(
            "Number of the frame with the number after them, within its capture.",
            integer("frame_after", |r| Value::frame(r.frame_after)),
        ),
        integer("time_before_ns", |r| r.time_before_ns.into()),
        integer("time_after_ns", |r| r.time_after_ns.into()),
        integer("filled_late", |r| r.filled_late.into()),
        about(
            "Index into `captures` of the frame before.",
            integer("capture_before", |r| Value::capture(r.frame_before)),
        ),
        about("Index into `captures` of the frame after.", integer("capture_after", |r| Value::capture(r.frame_after))),
    ],
};

/// A time bin with what it is a bin of.
pub(in crate::report) struct BinRow {
    bin: Bin,
    tap: Name,
    direction: String,
    bin_ns: u64,
}

impl BinRow {
    /// The bins of all directions.
    pub(in crate::report) fn all(rates: &Rates) -> Vec<Self> {
        let row = |bin: &Bin| {
            let direction = rates.directions.get(bin.direction as usize)?;
            let (tap, direction) = (direction.tap.clone(), direction.direction.clone());
            Some(Self { bin: *bin, tap, direction, bin_ns: rates.bin_ns })
        };
        rates.bins.iter().filter_map(row).collect()
    }
}

/// The time series.
pub(in crate::report) const BINS: Sheet<BinRow> = Sheet {
    name: "bins",
    about: "Frames and octets of each direction, time bin by time bin; bins without frames are left out.",
    rows: &["Bin"],
    fields: &[
        about("The tap.", text("tap", |r| (&r.tap).into())),
        about("`from > to`.", text("direction", |r| (&r.direction).into())),
        integer("start_ns", |r| r.bin.start_ns.into()),
        about("Width of the bin.", integer("bin_ns", |r| r.bin_ns.into())),
        integer("frames", |r| r.bin.frames.into()),
        integer("l1_bytes", |r| r.bin.l1_bytes.into()),
        integer("l2_bytes", |r| r.bin.l2_bytes.into()),
        integer("l3_bytes", |r| r.bin.l3_bytes.into()),
        integer("goodput_bytes", |r| r.bin.goodput_bytes.into()),
        integer("control_frames", |r| r.bin.control_frames.into()),
    ],
};

/// A time bin of an SA with what it is a bin of.
pub(in crate::report) struct SaBinRow {
    bin: SaTimeBin,
    tap: Name,
    sa: Name,
}

impl SaBinRow {
    /// The bins of all SAs that have some.
    pub(in crate::report) fn all(report: &Report) -> Vec<Self> {
        let row = |bin: &SaTimeBin| {
            let sa = report.sas.get(bin.sa as usize)?;
            Some(Self { bin: *bin, tap: sa.tap.clone(), sa: sa.id.clone() })
        };
        report.rates.sa_bins.iter().filter_map(row).collect()
    }
}

/// The time series of SAs.
pub(in crate::report) const SA_BINS: Sheet<SaBinRow> = Sheet {
    name: "sa_bins",
    about: "Frames and octets of each SA, time bin by time bin: of each tap the 32 SAs with the most frames; bins without frames are left out.",
    rows: &["SaTimeBin"],
    fields: &[
        about("The tap.", text("tap", |r| (&r.tap).into())),
        about("Id of the SA.", text("sa", |r| (&r.sa).into())),
        integer("start_ns", |r| r.bin.start_ns.into()),
        integer("bin_ns", |r| r.bin.bin_ns.into()),
        integer("frames", |r| r.bin.frames.into()),
        integer("l1_bytes", |r| r.bin.l1_bytes.into()),
        integer("l3_bytes", |r| r.bin.l3_bytes.into()),
    ],
};

/// Lengths of packets of SAs that are opaque.
pub(in crate::report) const OUTER_SIZES: Sheet<OuterSize> = Sheet {
    name: "outer_sizes",
    about: "Outer lengths of the packets of SAs whose inner packets are not visible.",
    rows: &["OuterSize"],
    fields: &[
        text("tap", |r| (&r.tap).into()),
        text("sa", |r| (&r.sa).into()),
        integer("outer_bytes", |r| r.outer_bytes.into()),
        integer("frames", |r| r.frames.into()),
    ],
};
