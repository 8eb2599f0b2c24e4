use proptest::prelude::*;

use super::*;
use crate::keys::Dissector;
use crate::keys::expectation::Expectation;
use crate::matching::PairSettings;
use crate::matching::content::repeats::Repeats;
use crate::model::{FramePos, LinkType, Timestamp};

/// A frame of one of the kinds whose headers are kept, and how it is changed.
#[derive(Clone, Debug)]
struct Made {
    kind: usize,
    tagged: bool,
    number: u8,
    payload: Vec<u8>,
    trailer: usize,
    changes: Vec<(usize, u8)>,
    cut: usize,
}

fn packet(protocol: u8, (src, dst): (u8, u8), number: u8, behind: &[u8]) -> Vec<u8> {
    let total = (20 + behind.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0x12, number, 0x40, 0, 64, protocol, 0, 0, 10, 0, 1, src, 10, 0, 2, dst]);
    packet.extend_from_slice(behind);
    packet
}

fn ipv6_packet(protocol: u8, (src, dst): (u8, u8), behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 5];
    packet.extend((behind.len() as u16).to_be_bytes());
    packet.extend([protocol, 64]);
    for host in [src, dst] {
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    packet.extend_from_slice(behind);
    packet
}

/// UDP or TCP, on ports that say nothing.
fn upper(protocol: u8, number: u8, payload: &[u8]) -> Vec<u8> {
    let mut upper = vec![0x13, 0x89, 0x14, 0x51];
    if protocol == 17 {
        upper.extend([0, 8 + payload.len() as u8, 0, 0]);
    } else {
        upper.extend([0, 0, 0, number, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    }
    upper.extend_from_slice(payload);
    upper
}

impl Made {
    fn octets(&self) -> Vec<u8> {
        let (number, payload) = (self.number, self.payload.as_slice());
        let inner = |protocol: u8| packet(protocol, (7, 8), number, &upper(protocol, number, payload));
        let esp = || [&[0, 0, 3, 0xea, 0, 0, 0, number], payload].concat();
        let ip = match self.kind {
            0 => packet(17, (1, 2), number, &upper(17, number, payload)),
            1 => packet(6, (1, 2), number, &upper(6, number, payload)),
            2 => packet(50, (3, 4), number, &esp()),
            7 => ipv6_packet(17, (1, 2), &upper(17, number, payload)),
            8 => ipv6_packet(6, (1, 2), &upper(6, number, payload)),
            9 => ipv6_packet(50, (3, 4), &esp()),
            10 => {
                let udp = [0x11, 0x94, 0x11, 0x94, 0, 16 + payload.len() as u8, 0, 0];
                packet(17, (3, 4), number, &[&udp[..], &esp()].concat())
            }
            5 | 6 => {
                let mut inner = inner(if self.kind == 5 { 17 } else { 6 });
                let header: &mut [u8; 20] = inner.first_chunk_mut().expect("an IPv4 header");
                let sum: u32 = header.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                let pad = (2_usize.wrapping_sub(inner.len())) % 4;
                inner.extend((1..).take(pad));
                inner.extend([pad as u8, 4]);
                inner.extend([0x5a; 12]);
                packet(50, (3, 4), number, &[&[0, 0, 3, 0xeb, 0, 0, 0, number][..], &inner].concat())
            }
            _ => {
                let ah = [4, 4, 0, 0, 0, 0, 3, 0xea, 0, 0, 0, number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
                let inner = inner(if self.kind == 3 { 17 } else { 6 });
                packet(51, (3, 4), number, &[&ah[..], &inner].concat())
            }
        };
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        if self.tagged {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend(if matches!(self.kind, 7..10) { [0x86, 0xdd] } else { [8, 0] });
        frame.extend(ip);
        frame.extend(std::iter::repeat_n(0, self.trailer));
        for (at, value) in &self.changes {
            if let Some(octet) = frame.get_mut(*at) {
                *octet = *value;
            }
        }
        frame
    }
}

/// What both sides become of the frames: `known` takes those whose headers came before without a dissection. How many these were, too.
fn taken(frames: &[Made], both: bool, known: bool) -> (String, usize) {
    let mut dissector = Dissector::new(&Expectation::default(), DissectOptions::default());
    let mut matcher = Matcher::new(PairSettings::default(), 0, false, false);
    if known {
        matcher.know_headers(&DissectOptions::default());
    }
    let mut count = 0;
    for (at, made) in (1..).zip(frames) {
        let octets = made.octets();
        let data = &octets[..octets.len() - made.cut.min(octets.len())];
        let frame = Frame {
            pos: FramePos::new(0, at),
            time: Timestamp::from_ns(at as i64 * 10_000),
            wire_bytes: octets.len() as u32,
            data,
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        let side = if matches!(made.kind, 0 | 1 | 7 | 8) && !both { Side::Plain } else { Side::Tunnel };
        if matcher.again(side, both, &frame) {
            count += 1;
            continue;
        }
        let sight = dissector.look(&frame);
        match side {
            Side::Tunnel if both => matcher.both(sight),
            Side::Tunnel => matcher.tunnel(sight),
            Side::Plain | Side::Exit => matcher.plain(sight),
        }
    }
    let Matcher { ledger, plain, tunnel, copies, watches, usual, ahead, .. } = &matcher;
    let held = (&ledger.plain, &ledger.tunnel, ledger.has_fragments, &ledger.silences);
    (
        format!(
            "{held:?} {plain:?} {tunnel:?} {:?} {watches:?} {usual:?} {ahead:?}",
            copies.each_ref().map(Repeats::count)
        ),
        count,
    )
}

fn made() -> impl Strategy<Value = Made> {
    let changes = prop_oneof![
        3 => Just(Vec::new()),
        2 => prop::collection::vec((0_usize..110, any::<u8>()), 1..3)
    ];
    let payload = prop::collection::vec(prop_oneof![Just(0x9c_u8), any::<u8>()], 0..70);
    let cut = prop_oneof![4 => Just(0_usize), 1 => 0_usize..100];
    let trailer = prop_oneof![3 => Just(0_usize), 1 => 0_usize..20];
    ((0_usize..11, any::<bool>()), 0_u8..40, payload, trailer, changes, cut).prop_map(
        |((kind, tagged), number, payload, trailer, changes, cut)| Made {
            kind,
            tagged,
            number,
            payload,
            trailer,
            changes,
            cut,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn packets_are_those_of_dissection(frames in prop::collection::vec(made(), 1..60), both in any::<bool>()) {
        let ((known, _), (dissected, _)) = (taken(&frames, both, true), taken(&frames, both, false));
        prop_assert_eq!(known, dissected);
    }
}

#[test]
fn frames_with_the_headers_of_earlier_ones_are_not_dissected() {
    for (kind, tagged) in (0..11).flat_map(|kind| [(kind, false), (kind, true)]) {
        let made =
            |number| Made { kind, tagged, number, payload: vec![0x9c; 40], trailer: 0, changes: Vec::new(), cut: 0 };
        let frames: Vec<Made> = (0..30).map(made).collect();
        // Of opaque ESP the first IVs are kept.
        let first = if matches!(kind, 2 | 9 | 10) { 9 } else { 1 };
        assert_eq!(taken(&frames, false, true).1, 30 - first, "{kind} {tagged}");
    }
}
