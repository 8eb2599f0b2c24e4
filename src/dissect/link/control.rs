//! Control frames: they load the link, but no user sent them.

use crate::dissect::layer::LayerKind;
use crate::dissect::stack::Note;
use crate::dissect::walk::{Next, Walk};

fn control(walk: &mut Walk<'_, '_>, kind: LayerKind) -> Next {
    let bytes = walk.wire_bytes();
    if walk.push(kind, bytes) {
        walk.stack.flags.control = true;
    }
    Next::Done
}

/// Link layer discovery (IEEE 802.1AB).
pub(in crate::dissect) fn lldp(walk: &mut Walk<'_, '_>) -> Next {
    control(walk, LayerKind::Lldp)
}

/// Spanning tree, or Cisco's per-VLAN form of it.
pub(in crate::dissect) fn stp(walk: &mut Walk<'_, '_>) -> Next {
    control(walk, LayerKind::Stp)
}

/// Cisco discovery.
pub(in crate::dissect) fn cdp(walk: &mut Walk<'_, '_>) -> Next {
    control(walk, LayerKind::Cdp)
}

/// Ethernet configuration test: router keepalives.
pub(in crate::dissect) fn loopback(walk: &mut Walk<'_, '_>) -> Next {
    control(walk, LayerKind::Loop)
}

/// Slow protocols: LACP, marker.
pub(in crate::dissect) fn slow(walk: &mut Walk<'_, '_>) -> Next {
    control(walk, LayerKind::Lacp)
}

/// MAC control (IEEE 802.3 annex 31B and 31D): PAUSE, or PFC with a time for each of eight classes.
pub(in crate::dissect) fn mac_control(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let word = |index: usize| match bytes.get(index * 2..) {
        Some(&[high, low, ..]) => Some(u16::from_be_bytes([high, low])),
        _ => None,
    };
    match word(0) {
        Some(0x0001) => {
            if let Some(quanta) = word(1) {
                walk.stack.notes.push(Note::Pause { class: None, quanta });
            }
            control(walk, LayerKind::Pause)
        }
        Some(0x0101) => {
            let enabled = word(1).unwrap_or(0);
            for class in 0..8u8 {
                if let (true, Some(quanta)) = (enabled >> class & 1 != 0, word(2 + usize::from(class))) {
                    walk.stack.notes.push(Note::Pause { class: Some(class), quanta });
                }
            }
            control(walk, LayerKind::Pfc)
        }
        Some(opcode) => {
            walk.stack.flags.control = true;
            walk.unknown(LayerKind::Pause, u32::from(opcode))
        }
        None => walk.too_short(LayerKind::Pause, 2),
    }
}
