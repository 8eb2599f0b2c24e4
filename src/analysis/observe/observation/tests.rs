use proptest::prelude::*;

use super::*;
use crate::dissect::{DissectOptions, behind_esp, dissect, glance, ipv6_ends};
use crate::model::{Address, LinkType};

/// What carries ESP in a frame that has a glance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carrier {
    Ipv4,
    Ipv6,
    Udp,
}

const CARRIERS: [Carrier; 3] = [Carrier::Ipv4, Carrier::Ipv6, Carrier::Udp];

/// A frame that has a glance, behind a tag or not, changed in some places.
fn frame(carrier: Carrier, tagged: bool, payload: &[u8], changes: &[(usize, u8)]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        frame.extend([0x81, 0, 0x20, 5]);
    }
    let esp = 8 + payload.len() as u16;
    let ipv4 = |frame: &mut Vec<u8>, bytes: u16, protocol: u8| {
        frame.extend([8, 0, 0x45, 0xb8]);
        frame.extend((20 + bytes).to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    };
    match carrier {
        Carrier::Ipv4 => ipv4(&mut frame, esp, 50),
        Carrier::Udp => {
            ipv4(&mut frame, 8 + esp, 17);
            frame.extend([0x11, 0x94, 0x11, 0x94]);
            frame.extend((8 + esp).to_be_bytes());
            frame.extend([0, 0]);
        }
        Carrier::Ipv6 => {
            frame.extend([0x86, 0xdd, 0x6b, 0x81, 0x23, 0x45]);
            frame.extend(esp.to_be_bytes());
            frame.extend([50, 64, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        }
    }
    frame.extend([0x10, 0, 3, 0xea, 0, 0, 0, 9]);
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
    Frame { pos, time, wire_bytes, data, link: LinkType::ETHERNET, interface: 0, fcs_bytes: 0, snap_bytes: u32::MAX }
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
    let ends: (Address, Address) = if outer.version == 6 {
        let ends = ipv6_ends(frame.data, glance.form).expect("two addresses");
        (Address::v6(*ends.first_chunk().expect("16 octets")), Address::v6(*ends.last_chunk().expect("16 octets")))
    } else {
        let [src @ .., a, b, c, d] = glance.addresses.to_le_bytes();
        (Address::v4(src), Address::v4([a, b, c, d]))
    };
    assert_eq!((outer.src, outer.dst), ends);
    assert_eq!(
        (sa.offset, sa.bytes + glance.form.outer_bytes()),
        (outer.offset + glance.form.outer_bytes(), outer.total_bytes)
    );
    let ports = [sa.ports.0, sa.ports.1].map(u16::to_be_bytes).concat();
    assert_eq!(ports, glance.ports.to_le_bytes());
    assert_eq!(sa.encapsulation == crate::model::Encapsulation::Udp, glance.form.is_in_udp());
    assert_eq!(outer.version == 6, glance.form.is_ipv6());
    assert_eq!(behind_esp(frame.data, glance.form), &frame.data[(sa.offset as usize + 8).min(frame.data.len())..]);
    assert!(stack.trailer_bytes == 0 && stack.null.is_none() && stack.encapsulated.is_none());
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_glance_says_what_dissection_says(
        carrier in prop::sample::select(CARRIERS.to_vec()),
        tagged in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 16..120),
        changes in prop::collection::vec((0usize..100, any::<u8>()), 0..3),
        missing in 0usize..70,
    ) {
        let frame = frame(carrier, tagged, &payload, &changes);
        let data = &frame[..frame.len() - missing.saturating_sub(30).min(frame.len())];
        agrees(&captured(data, frame.len() as u32));
    }

    /// UDP on port 4500 may carry other protocols than ESP. Their first octets and their length tell.
    #[test]
    fn a_glance_at_what_looks_like_another_protocol_says_what_dissection_says(
        first in prop::sample::select(vec![0u8, 1, 2, 3, 4, 20, 23, 26, 0x80, 0x9c, 0xc0, 0xff]),
        rest in prop::sample::select(vec![[0u8, 0, 0], [0xfe, 0xfd, 0], [200, 0, 6], [202, 0, 2], [0, 0, 8], [0x6b, 0x33, 0x43], [0, 0, 2], [0, 1, 0]]),
        number in prop::sample::select(vec![[0u8, 0, 0, 9], [1, 8, 0, 9], [0xcf, 8, 0, 9], [0x21, 0x12, 0xa4, 0x42], [0, 0, 0x30, 1]]),
        ports in prop::sample::select(vec![[0x11u8, 0x94, 0x11, 0x94], [0x11, 0x94, 9, 9], [9, 9, 0x11, 0x94], [1, 0xf4, 0x11, 0x94], [0x11, 0x94, 1, 0xf4]]),
        words in 4usize..40,
    ) {
        let mut changes: Vec<_> = (42..).zip([&[first][..], &rest, &number].concat()).collect();
        changes.extend((34..).zip(ports));
        let frame = frame(Carrier::Udp, false, &vec![0x9c; words * 4], &changes);
        agrees(&captured(&frame, frame.len() as u32));
    }
}

#[test]
fn each_carrier_has_a_glance_with_a_tag_and_without() {
    let payload: Vec<u8> = (0..92).map(|at| (at * 37 % 251) as u8 | 0x80).collect();
    for (carrier, tagged) in CARRIERS.into_iter().flat_map(|carrier| [(carrier, false), (carrier, true)]) {
        let frame = frame(carrier, tagged, &payload, &[]);
        assert!(agrees(&captured(&frame, frame.len() as u32)), "{carrier:?}");
        assert!(agrees(&captured(&frame[..96], frame.len() as u32)), "{carrier:?}");
    }
}
