//! The table of padding: three kinds of rows in one.

use super::{Sheet, Value, about, integer, list, text};
use crate::model::report::{AhPadding, EspPadding, EthernetPadding, Padding};

/// A row of any kind of padding.
pub(in crate::report) enum PaddingRow {
    Ethernet(EthernetPadding),
    Esp(EspPadding),
    Ah(AhPadding),
}

impl PaddingRow {
    /// The rows of all kinds.
    pub(in crate::report) fn all(padding: &Padding) -> Vec<Self> {
        let Padding { ethernet, esp, ah } = padding;
        let ethernet = ethernet.iter().cloned().map(Self::Ethernet);
        let esp = esp.iter().cloned().map(Self::Esp);
        ethernet.chain(esp).chain(ah.iter().cloned().map(Self::Ah)).collect()
    }

    const fn ethernet(&self) -> Option<&EthernetPadding> {
        if let Self::Ethernet(row) = self { Some(row) } else { None }
    }

    const fn esp(&self) -> Option<&EspPadding> {
        if let Self::Esp(row) = self { Some(row) } else { None }
    }

    const fn ah(&self) -> Option<&AhPadding> {
        if let Self::Ah(row) = self { Some(row) } else { None }
    }
}

/// Padding of every kind.
pub(in crate::report) const PADDING: Sheet<PaddingRow> = Sheet {
    name: "padding",
    about: "Padding of every kind; `kind` tells the rows apart, and columns of another kind are empty.",
    rows: &["EthernetPadding", "EspPadding", "AhPadding"],
    fields: &[
        about(
            "`ethernet`, `esp` or `ah`.",
            text("kind", |r| match r {
                PaddingRow::Ethernet(_) => "ethernet".into(),
                PaddingRow::Esp(_) => "esp".into(),
                PaddingRow::Ah(_) => "ah".into(),
            }),
        ),
        text("tap", |r| match r {
            PaddingRow::Ethernet(row) => (&row.tap).into(),
            PaddingRow::Esp(row) => (&row.tap).into(),
            PaddingRow::Ah(row) => (&row.tap).into(),
        }),
        text("direction", |r| r.ethernet().map(|row| &row.direction).into()),
        text("sa", |r| match r {
            PaddingRow::Ethernet(_) => Value::Absent,
            PaddingRow::Esp(row) => (&row.sa).into(),
            PaddingRow::Ah(row) => (&row.sa).into(),
        }),
        integer("frames", |r| match r {
            PaddingRow::Ethernet(row) => row.frames.into(),
            PaddingRow::Esp(row) => row.pad_lengths.values().sum::<u64>().into(),
            PaddingRow::Ah(row) => row.frames.into(),
        }),
        integer("pad_bytes_min", |r| r.ethernet().map(|row| row.pad_bytes_min).into()),
        integer("pad_bytes_max", |r| r.ethernet().map(|row| row.pad_bytes_max).into()),
        text("pattern", |r| r.ethernet().map(|row| row.pattern.name()).into()),
        about(
            "`capture:frame` of the first frames that show it.",
            list("examples", |r| {
                let examples = r.ethernet().into_iter().flat_map(|row| &row.examples);
                Value::made(examples.map(|frame| format!("{}:{}", frame.capture, frame.frame)))
            }),
        ),
        text("basis", |r| r.esp().map(|row| row.basis.name()).into()),
        about(
            "`length:frames` for each pad length.",
            list("pad_lengths", |r| {
                let lengths = r.esp().into_iter().flat_map(|row| &row.pad_lengths);
                Value::made(lengths.map(|(length, frames)| format!("{length}:{frames}")))
            }),
        ),
        integer("monotonic", |r| r.esp().map(|row| row.monotonic).into()),
        integer("other", |r| r.esp().map(|row| row.other).into()),
        integer("longer_than_needed", |r| r.esp().map(|row| row.longer_than_needed).into()),
        integer("nonzero", |r| r.ah().map(|row| row.nonzero).into()),
    ],
};
