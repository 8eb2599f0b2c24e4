//! Octets as a frame: link type (two octets, little endian), how much longer the frame was on the wire, options, the frame.
#![no_main]

#[path = "../../tests/support/sane.rs"]
mod sane;

use libfuzzer_sys::fuzz_target;
use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, Stack, dissect};
use spiglass::model::{FramePos, LinkType, Timestamp};

fuzz_target!(|input: &[u8]| {
    let [low, high, longer, choice, data @ ..] = input else { return };
    let options = DissectOptions { udp_ports: vec![40_000], tcp_ports: vec![443], overlay: choice & 1 == 1, innermost: choice & 2 == 2 };
    let link = LinkType(u16::from_le_bytes([*low, *high]));
    let wire = data.len() + usize::from(*longer);
    let read = |data: &[u8], wire: usize| {
        let mut stack = Stack::default();
        let frame = Frame {
            pos: FramePos::new(0, 1),
            time: Timestamp::UNKNOWN,
            wire_bytes: u32::try_from(wire).unwrap_or(u32::MAX),
            data,
            link,
            interface: 0,
            fcs_bytes: if choice & 2 == 2 { 4 } else { 0 },
            snap_bytes: u32::MAX,
        };
        dissect(&frame, &options, &mut stack);
        sane::sane(&stack, data.len());
        stack
    };
    let whole = read(data, wire);
    // Cut by a snapshot length, anywhere: the beginning of the same.
    let kept = data.len() * usize::from(choice >> 2) / 64;
    if choice & 2 == 0 && wire > data.len() {
        // The last layer may be a guess: IKE whose header is cut is given the benefit of the doubt.
        let cut = read(&data[..kept], wire);
        let known = cut.layers.len().saturating_sub(1);
        let same = cut.layers.iter().zip(&whole.layers).take(known).all(|(a, b)| a.kind == b.kind);
        assert!(cut.shape.shell != whole.shape.shell || cut.start != whole.start || same, "{cut:?}\n{whole:?}");
    }
    read(&data[..kept], kept);
});
