//! Ethernet padding of a side.

use crate::model::pairs::EthernetPad;
use crate::model::report::Pattern;

/// Ethernet padding of one side.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::matching) struct Pads(pub(in crate::matching) EthernetPad);

impl Pads {
    pub(in crate::matching) fn add(&mut self, bytes: u32, pattern: Option<Pattern>) {
        let Some(pattern) = pattern.filter(|_| bytes > 0) else { return };
        let pad = &mut self.0;
        pad.pad_bytes_min = if pad.frames == 0 { bytes } else { pad.pad_bytes_min.min(bytes) };
        pad.pad_bytes_max = pad.pad_bytes_max.max(bytes);
        pad.frames += 1;
        *match pattern {
            Pattern::Zero => &mut pad.zero,
            Pattern::Ff => &mut pad.ff,
            Pattern::Repeated => &mut pad.repeated,
            Pattern::Other => &mut pad.other,
        } += 1;
    }
}
