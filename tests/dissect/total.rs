//! Whatever the octets: dissection ends, and a cut never adds anything.

use crate::headers::{ah, esp, ethernet, frame, ike, ipv4, ipv6, stack_of, tcp, udp};
use crate::support::sane::{beginning, sane};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use spiglass::capture::Frame;
use spiglass::dissect::{DissectOptions, Stack};
use spiglass::model::LinkType;

const LINKS: [u16; 16] = [0, 1, 9, 12, 14, 50, 51, 101, 104, 108, 113, 166, 228, 229, 276, 147];

fn read(data: &[u8], wire: usize, link: LinkType, options: &DissectOptions) -> Stack {
    stack_of(&Frame { wire_bytes: wire as u32, ..frame(link, data) }, options)
}

/// One more header around a packet of IP protocol `.0`.
fn wrap(inner: (u8, Vec<u8>), choice: u8) -> (u8, Vec<u8>) {
    let (protocol, payload) = inner;
    let (a, b, x) = ([192, 0, 2, 1], [192, 0, 2, 2], [10, 0, 0, choice]);
    let bridged = || ethernet(0x0800, &ipv4(x, b, protocol, &payload));
    match choice % 14 {
        0 => (4, ipv4(a, b, protocol, &payload)),
        1 => (4, ipv4(x, b, protocol, &payload)),
        2 => (41, ipv6(1, choice, protocol, &payload)),
        3 => (51, ah(protocol, 1002, 5, 12, &payload)),
        4 => (60, [&[protocol, 0, 1, 4, 0, 0, 0, 0][..], &payload].concat()),
        5 => (47, [&[0x30, 0, 8, 0, 0, 0, 0, 1, 0, 0, 0, 1][..], &ipv4(x, b, protocol, &payload)].concat()),
        6 => (47, [&[0, 0, 0x65, 0x58][..], &bridged()].concat()),
        7 => (17, udp(9, 4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &bridged()].concat())),
        8 => (17, udp(9, 37008, &[&[1, 0, 0, 1, 1][..], &bridged()].concat())),
        9 => (97, [&[0x30, 0][..], &bridged()].concat()),
        10 => {
            let mut clear = payload.clone();
            let pad = (4 - (clear.len() + 2) % 4) % 4;
            clear.extend(1..=pad as u8);
            clear.extend([pad as u8, protocol]);
            clear.extend([0xa5; 12]);
            (50, esp(0x4000_0000, 1, &clear))
        }
        11 => (47, [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 1, 0, 0, 0, 0][..], &bridged()].concat()),
        12 => (44, [&[protocol, 0, 0, 1, 0, 0, 0, 9][..], &payload].concat()),
        _ => (17, udp(1701, 1701, &[&[0, 2, 0, 1, 0, 1, 0, 0x21][..], &ipv4(x, b, protocol, &payload)].concat())),
    }
}

fn core(choice: u8, random: &[u8]) -> (u8, Vec<u8>) {
    match choice % 8 {
        0 => (50, esp(0x1234_5678, 9, random)),
        1 => (17, udp(4500, 4500, &esp(0x1234_5678, 9, random))),
        2 => (17, udp(500, 500, &ike(1, 5, 0, 11, random))),
        3 => (17, udp(4500, 7000, &[&[0; 4][..], &ike(2, 34, 0, 41, random)].concat())),
        4 => (6, tcp(4500, 5, &[&((random.len() + 10) as u16).to_be_bytes()[..], &esp(7777, 1, random)].concat())),
        5 => (1, [&[3, 4, 0, 0, 0, 0, 5, 0][..], &ipv4([1; 4], [2; 4], 50, random)].concat()),
        6 => (141, [&[4, 12, 12, 0][..], &esp(300, 1, random)].concat()),
        _ => (17, udp(40_000, 40_001, random)),
    }
}

fn built() -> impl Strategy<Value = Vec<u8>> {
    (any::<u8>(), vec(any::<u8>(), 0..80), vec(any::<u8>(), 0..6), 0usize..20).prop_map(|(kind, random, wraps, pad)| {
        let (protocol, payload) = wraps.into_iter().fold(core(kind, &random), wrap);
        let mut frame = match kind % 3 {
            0 => ethernet(0x86dd, &ipv6(1, 2, protocol, &payload)),
            1 => ethernet(
                0x8100,
                &[&[0, 5, 8, 0][..], &ipv4([192, 0, 2, 1], [192, 0, 2, 2], protocol, &payload)].concat(),
            ),
            _ => ethernet(0x0800, &ipv4([192, 0, 2, 1], [192, 0, 2, 2], protocol, &payload)),
        };
        frame.extend(std::iter::repeat_n(0, pad));
        frame
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_cut_at_any_octet_adds_nothing(frame in built(), overlay in any::<bool>()) {
        let options = DissectOptions { overlay, ..DissectOptions::default() };
        let whole = read(&frame, frame.len(), LinkType::ETHERNET, &options);
        sane(&whole, frame.len());
        for captured in 0..frame.len() {
            let cut = read(&frame[..captured], frame.len(), LinkType::ETHERNET, &options);
            sane(&cut, captured);
            beginning(&cut, &whole);
            // Lost on the wire, not in the capture: anything may be missing, nothing panics.
            sane(&read(&frame[..captured], captured, LinkType::ETHERNET, &options), captured);
        }
    }

    #[test]
    fn changed_octets_never_panic(
        frame in built(),
        changes in vec((any::<Index>(), any::<u8>()), 1..12),
        link in select(&LINKS[..]),
        wire in 0usize..3000,
    ) {
        let mut frame = frame;
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        let options = DissectOptions { udp_ports: vec![40_000], tcp_ports: vec![443], overlay: wire % 2 == 0, innermost: wire % 3 == 0 };
        sane(&read(&frame, wire, LinkType(link), &options), frame.len());
        sane(&read(&frame, wire, LinkType::ETHERNET, &options), frame.len());
    }

    #[test]
    fn random_octets_never_panic(data in vec(any::<u8>(), 0..200), link in select(&LINKS[..]), extra in 0usize..100) {
        sane(&read(&data, data.len() + extra, LinkType(link), &DissectOptions::default()), data.len());
    }
}
