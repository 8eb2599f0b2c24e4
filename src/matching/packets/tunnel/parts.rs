//! The parts of ESP in a frame, where they are visible.

use crate::dissect::{OpenedEsp, Stack};
use crate::matching::packets::ledger::EspParts;
use crate::model::Protocol;

/// Octets of ESP's header and trailer.
pub(super) const HEADER: u16 = OpenedEsp::HEADER as u16;
pub(super) const TRAILER: u16 = OpenedEsp::TRAILER as u16;

/// Octets of a packet: it has no more than 16 bits can say.
pub(super) fn short(octets: u32) -> u16 {
    octets.try_into().unwrap_or(u16::MAX)
}

/// Octets of all ESP headers around the encapsulated packet that are not opaque.
pub(super) fn esp_parts(stack: &Stack) -> EspParts {
    let mut parts = EspParts::default();
    for sa in stack.carriers().iter().filter(|sa| sa.protocol == Protocol::Esp) {
        if let Some(opened) = stack.opened(sa) {
            parts.header += HEADER;
            parts.iv += u16::from(opened.iv_bytes);
            parts.pad = parts.pad.saturating_add(short(opened.padding(sa.bytes)));
            parts.trailer += TRAILER;
            parts.icv += u16::from(opened.icv_bytes);
            parts.block = parts.block.max(opened.block.into());
        } else if let Some(null) = stack.null {
            let pad = u32::from(null.pad_bytes.unwrap_or(0)) + u32::from(null.tfc_bytes);
            parts.header += HEADER;
            parts.iv += u16::from(null.iv_bytes);
            parts.pad = parts.pad.saturating_add(short(pad));
            parts.trailer += TRAILER;
            parts.icv += u16::from(null.icv_bytes);
            parts.block = parts.block.max(4);
        }
    }
    parts
}
