//! What a walk over a span of bytes answers, for both formats.

use crate::model::DamageKind;

/// How far a walk came and why it ended there.
#[derive(Debug)]
pub(crate) struct Walked {
    /// Octets of whole records or blocks from the beginning of the span.
    pub(crate) bytes: usize,
    /// Frames in them.
    pub(crate) frames: u64,
    /// Why the walk ended.
    pub(crate) end: End,
}

/// Why a walk ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The record or block that begins here needs `need` octets in all. If the input ends here, `cut` says how; it is
    /// `None` where nothing is left over or where nothing is known of it yet.
    More { need: usize, cut: Option<String> },
    /// What begins here cannot be read, nor anything behind it.
    Damaged { kind: DamageKind, what: String },
}
