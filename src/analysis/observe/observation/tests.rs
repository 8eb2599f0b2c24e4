use proptest::prelude::*;

use super::*;
use crate::dissect::{DissectOptions, dissect, glance};
use crate::model::{Address, LinkType};

/// A frame that has a glance, behind a tag or not, changed in some places.
fn frame(tagged: bool, payload: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        frame.extend([0x81, 0, 0x20, 5]);
    }
    frame.extend([8, 0, 0x45, 0xb8]);
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0x12, 0x34, 0x40, 0, 64, 50, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 3, 0xea, 0, 0, 0, 9]);
    frame.extend_from_slice(payload);
    for (at, value) in changes {
        if let Some(octet) = frame.get_mut(*at) {
            *octet = *value;
        }
    }
    frame
}

fn captured(data: &[u8], wire_bytes: u32) -> Frame<'_> {
    let (pos, time) = (FramePos::new(0, 1), Timestamp::from_ns(0));
    Frame { pos, time, wire_bytes, data, link: LinkType::ETHERNET, interface: 0, fcs_bytes: 0 }
}

/// What dissection says of a frame that has a glance: the same, and nothing besides.
fn agrees(frame: &Frame<'_>) -> bool {
    let Some(glance) = glance(frame) else { return false };
    let mut stack = Stack::default();
    dissect(frame, &DissectOptions::default(), &mut stack);
    let (outer, sa) = (*stack.outer().expect("an IP header"), stack.sas[0]);
    assert_eq!((stack.sas.len(), stack.ips.len(), stack.notes.len()), (1, 1, 0));
    assert_eq!(packet_digest(frame, &stack, &outer), glance.digest);
    assert_eq!(stack.null_checked(&sa), glance.form.is_null_checked());
    assert_eq!(stack.flags.cut_by_snaplen, glance.form.is_cut());
    assert_eq!((sa.sequence, sa.spi.0), (glance.sequence, glance.spi.swap_bytes()));
    assert_eq!((outer.total_bytes, outer.offset), (glance.form.total_bytes(), glance.form.link_bytes()));
    assert_eq!((stack.frame_bytes, frame.wire_bytes), (glance.form.wire_bytes(), glance.form.wire_bytes()));
    assert_eq!(frame.data.len(), glance.form.captured_bytes() as usize);
    let address = |word: u64| Address::v4((word as u32).to_le_bytes());
    assert_eq!((outer.src, outer.dst), (address(glance.addresses), address(glance.addresses >> 32)));
    assert!(stack.trailer_bytes == 0 && stack.null.is_none() && stack.encapsulated.is_none());
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_glance_says_what_dissection_says(
        tagged in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 16..120),
        changes in prop::collection::vec((0usize..100, any::<u8>()), 0..3),
        missing in 0usize..70,
    ) {
        let frame = frame(tagged, &payload, &changes);
        let data = &frame[..frame.len() - missing.saturating_sub(30).min(frame.len())];
        agrees(&captured(data, frame.len() as u32));
    }
}

#[test]
fn frames_with_a_tag_and_without_have_a_glance() {
    let payload: Vec<u8> = (0..92).map(|at| (at * 37 % 251) as u8 | 0x80).collect();
    for tagged in [false, true] {
        let frame = frame(tagged, &payload, &[]);
        assert!(agrees(&captured(&frame, frame.len() as u32)));
        assert!(agrees(&captured(&frame[..96], frame.len() as u32)));
    }
}
