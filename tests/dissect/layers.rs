//! Links, tunnels, shells and control frames: what stack each gives, and what is encapsulated at what cost.

use crate::headers::{ah, esp, ethernet, frame, ipv4, ipv6, stack_of, tcp, udp};
use spiglass::capture::Frame;
use spiglass::dissect::{Costs, DissectOptions, LayerKind, Limit, Note, Stack, StopCause, stack_name};
use spiglass::model::{Address, LinkType, Protocol, Spi};

const A: [u8; 4] = [192, 0, 2, 1];
const B: [u8; 4] = [192, 0, 2, 2];
const X: [u8; 4] = [10, 1, 0, 1];
const Y: [u8; 4] = [10, 2, 0, 1];

fn on(link: LinkType, data: &[u8], options: &DissectOptions) -> Stack {
    stack_of(&frame(link, data), options)
}

fn read(data: &[u8]) -> Stack {
    on(LinkType::ETHERNET, data, &DissectOptions::default())
}

fn name(link: LinkType, data: &[u8]) -> String {
    stack_name(on(link, data, &DissectOptions::default()).shape)
}

/// The stack's name and, where a packet is encapsulated, its source and its index.
fn check(data: &[u8], stack: &str, encapsulated: Option<(u8, [u8; 4])>) -> Stack {
    let read = read(data);
    assert_eq!(stack_name(read.shape), stack);
    let found = read.encapsulated.map(|index| (index, read.ips[usize::from(index)].src));
    assert_eq!(found, encapsulated.map(|(index, src)| (index, Address::v4(src))), "{stack}");
    read
}

fn random_esp() -> Vec<u8> {
    esp(0x1234_5678, 7, &[0x9c; 64])
}

#[test]
fn links_that_carry_ip() {
    let packet = ipv4(A, B, 50, &random_esp());
    let six = ipv6(1, 2, 50, &random_esp());
    let with = |header: &[u8], packet: &[u8]| [header, packet].concat();
    let mut sll = [0u8; 16];
    sll[14..].copy_from_slice(&[8, 0]);
    let mut sll2 = [0u8; 20];
    sll2[..2].copy_from_slice(&[0x86, 0xdd]);
    let cases: &[(LinkType, Vec<u8>, &str)] = &[
        (LinkType::RAW, packet.clone(), "raw/ipv4/esp"),
        (LinkType::RAW_BSD, six.clone(), "raw/ipv6/esp"),
        (LinkType::RAW_OPENBSD, packet.clone(), "raw/ipv4/esp"),
        (LinkType::IPV4, packet.clone(), "raw/ipv4/esp"),
        (LinkType::IPV6, six.clone(), "raw/ipv6/esp"),
        (LinkType::LINUX_SLL, with(&sll, &packet), "sll/ipv4/esp"),
        (LinkType::LINUX_SLL2, with(&sll2, &six), "sll2/ipv6/esp"),
        (LinkType::NULL, with(&[2, 0, 0, 0], &packet), "null/ipv4/esp"),
        (LinkType::NULL, with(&[0, 0, 0, 2], &packet), "null/ipv4/esp"),
        (LinkType::NULL, with(&[10, 0, 0, 0], &six), "null/ipv6/esp"),
        (LinkType::NULL, with(&[24, 0, 0, 0], &six), "null/ipv6/esp"),
        (LinkType::NULL, with(&[0, 0, 0, 28], &six), "null/ipv6/esp"),
        (LinkType::LOOP, with(&[0, 0, 0, 30], &six), "null/ipv6/esp"),
        (LinkType::PPP, with(&[0xff, 3, 0, 0x21], &packet), "ppp/ipv4/esp"),
        (LinkType::PPP, with(&[0x21], &packet), "ppp/ipv4/esp"),
        (LinkType::PPP_HDLC, with(&[0xff, 3, 0, 0x57], &six), "ppp/ipv6/esp"),
        (LinkType::PPP_HDLC, with(&[0x0f, 0, 8, 0], &packet), "chdlc/ipv4/esp"),
        (LinkType::C_HDLC, with(&[0x0f, 0, 8, 0], &packet), "chdlc/ipv4/esp"),
        (LinkType::PPP_WITH_DIR, with(&[1, 0, 0x21], &packet), "ppp/ipv4/esp"),
        (LinkType::PPP_ETHER, with(&[0x11, 0, 0, 1, 0, 94, 0, 0x21], &packet), "pppoe/ppp/ipv4/esp"),
    ];
    for (link, data, expected) in cases {
        let stack = on(*link, data, &DissectOptions::default());
        assert_eq!(stack_name(stack.shape), *expected, "{link}");
        assert!(stack.flags.not_ethernet && stack.macs.is_none(), "{link}");
        assert_eq!((stack.stop, stack.notes.len(), stack.sas.len()), (None, 0, 1), "{link}");
    }
}

#[test]
fn an_unknown_link_is_named() {
    let stack = on(LinkType(147), &[1, 2, 3], &DissectOptions::default());
    assert_eq!(stack.stop.map(|stop| stop.cause), Some(StopCause::Unknown { number: 147 }));
    assert_eq!((stack.frame_bytes, stack.layers.len()), (3, 0));
}

#[test]
fn tags_and_labels_in_front_of_ip() {
    let packet = ipv4(A, B, 50, &random_esp());
    let behind = |header: &[u8]| [header, &packet].concat();
    let cases: &[(u16, Vec<u8>, &str)] = &[
        (0x8100, behind(&[0, 5, 8, 0]), "eth/vlan/ipv4/esp"),
        (0x88a8, behind(&[0, 5, 0x81, 0, 0, 6, 8, 0]), "eth/vlan/vlan/ipv4/esp"),
        (0x9100, behind(&[0, 5, 8, 0]), "eth/vlan/ipv4/esp"),
        (0x8847, behind(&[0, 1, 0x01, 64]), "eth/mpls/ipv4/esp"),
        (0x8847, behind(&[0, 1, 0x00, 64, 0, 2, 0x01, 64]), "eth/mpls/ipv4/esp"),
        (0x8864, behind(&[0x11, 0, 0, 1, 0, 94, 0, 0x21]), "eth/pppoe/ppp/ipv4/esp"),
        (0x8909, behind(&[1, 1, 0, 1, 0, 9, 8, 0]), "eth/cmd/ipv4/esp"),
    ];
    for (ethertype, payload, expected) in cases {
        assert_eq!(name(LinkType::ETHERNET, &ethernet(*ethertype, payload)), *expected);
    }
    let frame = ethernet(0x0800, &packet);
    let pseudowire = [&[0, 1, 0x01, 64][..], &frame].concat();
    check(&ethernet(0x8847, &pseudowire), "eth/mpls/eth/ipv4/esp", None);
    let with_control_word = [&[0, 1, 0x01, 64, 0, 0, 0, 0][..], &frame].concat();
    check(&ethernet(0x8847, &with_control_word), "eth/mpls/eth/ipv4/esp", None);
    // A pseudowire that carries IEEE 802.3 with a length: the length must fit what is there.
    let bpdu = [&[1u8, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 38, 0x42, 0x42, 3][..], &[0; 35]].concat();
    for control_word in [&[][..], &[0; 4]] {
        let behind = |frame: &[u8]| [&[0, 1, 0x01, 64][..], control_word, frame].concat();
        assert_eq!(name(LinkType::ETHERNET, &ethernet(0x8847, &behind(&bpdu))), "eth/mpls/eth/llc/stp");
        let mut short = bpdu.clone();
        short.pop();
        assert_eq!(name(LinkType::ETHERNET, &ethernet(0x8847, &behind(&short))), "eth/mpls");
    }
    // Labels that end before the bottom of their stack.
    for whole in 0..3 {
        let stack = read(&ethernet(0x8847, &[[0, 1, 0, 64].repeat(whole), vec![0, 1, 1]].concat()));
        let cause =
            StopCause::TooShort { needed: 4 * whole as u32 + 4, had: 4 * whole as u32 + 3, limit: Limit::Frame };
        assert_eq!(stack.stop.map(|stop| (stop.layer, stop.cause)), Some((LayerKind::Mpls, cause)));
    }
    // IEEE 802.3: up to 1500 it is a length, from 1536 on a type.
    let longest = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet, &[0; 1400]].concat();
    assert_eq!(name(LinkType::ETHERNET, &ethernet(1500, &longest[..1500])), "eth/llc/snap/ipv4/esp");
    let snap = [&[0, 100, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &packet].concat();
    let llc = [&frame[..12], &snap].concat();
    assert_eq!(name(LinkType::ETHERNET, &llc), "eth/llc/snap/ipv4/esp");
}

#[test]
fn macsec_goes_on_in_clear_and_its_icv_is_no_padding() {
    let mut tagged = vec![0x20, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0, 1, 8, 0];
    tagged.extend(ipv4(A, B, 50, &random_esp()));
    tagged.extend([0xcc; 16]);
    let stack = read(&ethernet(0x88e5, &tagged));
    assert_eq!((stack_name(stack.shape).as_str(), stack.trailer_bytes), ("eth/macsec/ipv4/esp", 0));
    tagged[0] |= 0x0c;
    let stack = read(&ethernet(0x88e5, &tagged));
    assert_eq!((stack_name(stack.shape).as_str(), stack.ips.len()), ("eth/macsec", 0));
}

#[test]
fn tunnels_and_what_they_carry() {
    let customer = ipv4(X, Y, 17, &udp(1000, 2000, &[0; 5]));
    let gre = |flags: &[u8], payload: &[u8]| [flags, payload].concat();

    let stack = check(&ethernet(0x0800, &ipv4(A, B, 4, &customer)), "eth/ipv4/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 20, ..Costs::default() });

    let stack =
        check(&ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1002, 5, 12, &customer))), "eth/ipv4/ah/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 20, ah: 24, ..Costs::default() });

    // AH in transport mode: nothing is encapsulated, the header still costs.
    let stack =
        check(&ethernet(0x0800, &ipv4(A, B, 51, &ah(17, 1002, 5, 12, &udp(1, 2, &[])))), "eth/ipv4/ah/udp", None);
    assert_eq!(stack.costs, Costs { outer_ip: 20, ah: 24, ..Costs::default() });

    // A length field of 1 is the least there is: twelve octets, and no ICV.
    let stack =
        check(&ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1002, 5, 0, &customer))), "eth/ipv4/ah/ipv4/udp", Some((1, X)));
    assert_eq!((stack.costs.ah, stack.notes.len()), (12, 0));
    let mut shorter = ah(4, 1002, 5, 0, &customer);
    shorter[1] = 0;
    assert_eq!(read(&ethernet(0x0800, &ipv4(A, B, 51, &shorter))).notes, [Note::AhLength { sa: 0 }]);

    // GRE over AH in transport mode is one tunnel; so is GRE between the same endpoints inside an AH tunnel.
    let grouped = gre(&[0x20, 0, 8, 0, 0, 0, 0, 1], &customer);
    let stack = check(
        &ethernet(0x0800, &ipv4(A, B, 51, &ah(47, 1002, 5, 12, &grouped))),
        "eth/ipv4/ah/gre/ipv4/udp",
        Some((1, X)),
    );
    assert_eq!(stack.costs, Costs { outer_ip: 20, ah: 24, gre: 8, ..Costs::default() });
    let stack = check(
        &ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1002, 5, 12, &ipv4(A, B, 47, &grouped)))),
        "eth/ipv4/ah/ipv4/gre/ipv4/udp",
        Some((2, X)),
    );
    assert_eq!(stack.costs, Costs { outer_ip: 40, ah: 24, gre: 8, ..Costs::default() });

    // A tunnel of the customer's own, with other endpoints, is traffic.
    let theirs = ipv4(X, Y, 47, &gre(&[0, 0, 8, 0], &ipv4([172, 16, 0, 1], Y, 1, &[8, 0, 0, 0])));
    let stack = check(
        &ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1002, 5, 12, &theirs))),
        "eth/ipv4/ah/ipv4/gre/ipv4/icmp",
        Some((1, X)),
    );
    assert_eq!(stack.costs, Costs { outer_ip: 20, ah: 24, ..Costs::default() });

    // ESP shared with the outer endpoints hides what is encapsulated; the customer's ESP does not.
    let hidden = ipv4(A, B, 51, &ah(4, 1, 1, 12, &ipv4(A, B, 50, &random_esp())));
    check(&ethernet(0x0800, &hidden), "eth/ipv4/ah/ipv4/esp", None);
    let theirs = ipv4(A, B, 51, &ah(4, 1, 1, 12, &ipv4(X, Y, 50, &random_esp())));
    let stack = check(&ethernet(0x0800, &theirs), "eth/ipv4/ah/ipv4/esp", Some((1, X)));
    let of = |index: usize| stack.ips[usize::from(stack.sas[index].ip)].src;
    assert_eq!((of(0), of(1)), (Address::v4(A), Address::v4(X)), "each SA is between the endpoints of its own header");

    // What a gateway itself sends to a customer's host has one endpoint of the tunnel; a tunnel inside it is traffic.
    let to_host = ipv4(A, Y, 47, &gre(&[0, 0, 8, 0], &customer));
    check(
        &ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1, 1, 12, &to_host))),
        "eth/ipv4/ah/ipv4/gre/ipv4/udp",
        Some((1, A)),
    );
    let from_host = ipv4(X, B, 47, &gre(&[0, 0, 8, 0], &customer));
    let stack = read(&ethernet(0x0800, &ipv4(A, B, 51, &ah(4, 1, 1, 12, &from_host))));
    assert_eq!((stack.encapsulated, stack.costs), (Some(1), Costs { outer_ip: 20, ah: 24, ..Costs::default() }));

    // A tunnel between hosts themselves.
    let own = ipv4(A, B, 51, &ah(4, 1, 1, 12, &ipv4(A, B, 6, &tcp(1, 2, &[]))));
    check(&ethernet(0x0800, &own), "eth/ipv4/ah/ipv4/tcp", Some((1, A)));

    let bridged = gre(&[0, 0, 0x65, 0x58], &ethernet(0x0800, &customer));
    let stack = check(&ethernet(0x0800, &ipv4(A, B, 47, &bridged)), "eth/ipv4/gre/eth/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 20, gre: 4, link: 14, ..Costs::default() });
    let etherip = [&[0x30, 0][..], &ethernet(0x0800, &customer)].concat();
    let stack = check(&ethernet(0x0800, &ipv4(A, B, 97, &etherip)), "eth/ipv4/etherip/eth/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 20, link: 16, ..Costs::default() });

    let pptp = gre(&[0x30, 0x01, 0x88, 0x0b, 0, 36, 0, 1, 0, 0, 0, 9, 0xff, 3, 0, 0x21], &customer);
    check(&ethernet(0x0800, &ipv4(A, B, 47, &pptp)), "eth/ipv4/gre/ppp/ipv4/udp", Some((1, X)));
    let l2tp = udp(1701, 1701, &[&[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21][..], &customer].concat());
    let stack = check(&ethernet(0x0800, &ipv4(A, B, 17, &l2tp)), "eth/ipv4/udp/l2tp/ppp/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 20, udp: 8, link: 10, ..Costs::default() });

    // GRE keepalive: the answer wrapped in the question.
    let answer = ipv4(B, A, 47, &[0, 0, 0, 0]);
    check(&ethernet(0x0800, &ipv4(A, B, 47, &gre(&[0, 0, 8, 0], &answer))), "eth/ipv4/gre/ipv4/gre", Some((1, B)));
    let wccp = gre(&[0, 0, 0x88, 0x3e, 1, 2, 3, 4], &customer);
    check(&ethernet(0x0800, &ipv4(A, B, 47, &wccp)), "eth/ipv4/gre/ipv4/udp", Some((1, X)));
    let routing = gre(&[0x40, 0, 8, 0, 0, 0, 0, 0], &customer);
    let stack = check(&ethernet(0x0800, &ipv4(A, B, 47, &routing)), "eth/ipv4", None);
    assert!(matches!(stack.stop.map(|s| s.cause), Some(StopCause::BadValue { .. })));
}

#[test]
fn ipv6_tunnels_and_extension_headers() {
    let inner = ipv4(X, Y, 17, &udp(1000, 2000, &[]));
    // Tunnel encapsulation limit (RFC 2473), as Linux writes it: eight octets that belong to the outer header.
    let limited = [&[4, 0, 4, 1, 4, 1, 1, 0][..], &inner].concat();
    let stack = check(&ethernet(0x86dd, &ipv6(1, 2, 60, &limited)), "eth/ipv6/ipv6-opts/ipv4/udp", Some((1, X)));
    assert_eq!(stack.costs, Costs { outer_ip: 48, ..Costs::default() });
    assert_eq!((stack.ips[0].header_bytes, stack.ips[0].protocol), (48, 4));

    let six = ipv6(1, 2, 51, &ah(41, 1, 1, 12, &ipv6(3, 4, 59, &[])));
    let stack = read(&ethernet(0x86dd, &six));
    assert_eq!(stack_name(stack.shape), "eth/ipv6/ah/ipv6/no-next");
    assert!(stack.notes.is_empty(), "24 bytes are a multiple of 8");

    let odd = ipv6(1, 2, 51, &ah(59, 1, 1, 16, &[]));
    assert_eq!(read(&ethernet(0x86dd, &odd)).notes, [Note::AhLength { sa: 0 }]);

    let fragment = |offset: u16, payload: &[u8]| {
        let mut header = vec![50, 0];
        header.extend(offset.to_be_bytes());
        header.extend([0, 0, 0, 77]);
        ethernet(0x86dd, &ipv6(1, 2, 44, &[&header[..], payload].concat()))
    };
    let first = read(&fragment(1, &random_esp()));
    assert_eq!(stack_name(first.shape), "eth/ipv6/ipv6-frag/esp");
    assert_eq!((first.ips[0].header_bytes, first.ips[0].identification, first.ips[0].protocol), (48, 77, 50));
    assert!(first.ips[0].more_fragments && !first.null_checked(&first.sas[0]));
    let later = read(&fragment(800, &random_esp()));
    assert_eq!(stack_name(later.shape), "eth/ipv6/ipv6-frag/fragment");
    assert_eq!((later.ips[0].fragment_offset, later.sas.len()), (800, 0));
}

#[test]
fn shells_are_peeled_outside_tunnels_only() {
    let mirrored = ethernet(0x0800, &ipv4(X, Y, 50, &random_esp()));
    let vxlan = |inner: &[u8]| udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], inner].concat());
    let geneve = |inner: &[u8]| udp(50_000, 6081, &[&[1, 0, 0x65, 0x58, 0, 0, 1, 0, 0, 0, 0, 0][..], inner].concat());
    let tzsp = |inner: &[u8]| udp(50_000, 37008, &[&[1, 0, 0, 1, 1][..], inner].concat());
    let erspan = |header: &[u8], inner: &[u8]| [header, inner].concat();
    let two = [&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0x10, 0, 0, 1, 0, 0, 0, 0]].concat();
    let mut three = [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0x20, 0, 0, 1], &[0; 8]].concat();
    let with_subheader = {
        three[19] = 1;
        let long = [&three[..], &[0; 8]].concat();
        three[19] = 0;
        long
    };
    let cases: &[(u8, Vec<u8>, LayerKind, &str)] = &[
        (17, vxlan(&mirrored), LayerKind::Vxlan, "[vxlan]/eth/ipv4/esp"),
        (17, geneve(&mirrored), LayerKind::Geneve, "[geneve]/eth/ipv4/esp"),
        (17, tzsp(&mirrored), LayerKind::Tzsp, "[tzsp]/eth/ipv4/esp"),
        (47, erspan(&[0, 0, 0x88, 0xbe], &mirrored), LayerKind::Erspan, "[erspan]/eth/ipv4/esp"),
        (47, erspan(&two, &mirrored), LayerKind::Erspan, "[erspan]/eth/ipv4/esp"),
        (47, erspan(&three, &mirrored), LayerKind::Erspan, "[erspan]/eth/ipv4/esp"),
        (47, erspan(&with_subheader, &mirrored), LayerKind::Erspan, "[erspan]/eth/ipv4/esp"),
    ];
    for (protocol, payload, kind, expected) in cases {
        let mut frame = ethernet(0x0800, &ipv4(A, B, *protocol, payload));
        frame.extend([0; 6]); // the shell's own padding, not the mirrored frame's
        let stack = read(&frame);
        assert_eq!(stack_name(stack.shape), *expected);
        assert_eq!(stack.shape.shell, *kind as u8);
        assert_eq!((stack.frame_bytes as usize, stack.trailer_bytes), (mirrored.len(), 0), "{expected}");
        assert_eq!(stack.start as usize, frame.len() - 6 - mirrored.len());
        assert!(!stack.flags.cut_by_snaplen, "{expected}");
        assert_eq!((stack.ips.len(), stack.ips[0].src, stack.costs.outer_ip), (1, Address::v4(X), 20));

        // Inside AH the same octets are what the customer sends.
        let inside = ethernet(0x0800, &ipv4(A, B, 51, &ah(*protocol, 1, 1, 12, payload)));
        let stack = read(&inside);
        assert_eq!((stack.shape.shell, stack.ips.len()), (0, 1), "{}", stack_name(stack.shape));
    }
    // GENEVE that carries the packet alone (RFC 8926 section 3.4), with and without an option.
    let packet = ipv4(X, Y, 50, &random_esp());
    for header in [&[0u8, 0, 8, 0, 0, 0, 1, 0][..], &[1, 0, 8, 0, 0, 0, 1, 0, 0, 1, 0x80, 0]] {
        let routed = udp(50_000, 6081, &[header, &packet].concat());
        let stack = check(&ethernet(0x0800, &ipv4(A, B, 17, &routed)), "[geneve]/ipv4/esp", None);
        assert_eq!((stack.frame_bytes as usize, stack.flags.not_ethernet), (packet.len(), true));
        assert_eq!((stack.ips[0].src, stack.macs), (Address::v4(X), None));
    }
    // Another version, and options that reach beyond the datagram, are not GENEVE.
    for header in [[0x40u8, 0, 0x65, 0x58, 0, 0, 1, 0], [0x3f, 0, 0x65, 0x58, 0, 0, 1, 0]] {
        check(
            &ethernet(0x0800, &ipv4(A, B, 17, &udp(50_000, 6081, &[&header[..], &mirrored].concat()))),
            "eth/ipv4/udp",
            None,
        );
    }
    let whole = ethernet(0x0800, &ipv4(A, B, 17, &vxlan(&mirrored)));
    let frame = Frame { data: &whole[..whole.len() - 1], ..frame(LinkType::ETHERNET, &whole) };
    let cut = stack_of(&frame, &DissectOptions::default());
    assert_eq!((stack_name(cut.shape).as_str(), cut.flags.cut_by_snaplen), ("[vxlan]/eth/ipv4/esp", true));
    let nested = ethernet(0x0800, &ipv4(A, B, 17, &vxlan(&ethernet(0x0800, &ipv4(B, A, 17, &vxlan(&mirrored))))));
    check(&nested, "[vxlan]/eth/ipv4/esp", None);

    let overlay = DissectOptions { overlay: true, ..DissectOptions::default() };
    let inner = ethernet(0x0800, &ipv4(X, Y, 1, &[8, 0, 0, 0]));
    let stack = on(LinkType::ETHERNET, &ethernet(0x0800, &ipv4(A, B, 17, &vxlan(&inner))), &overlay);
    assert_eq!(stack_name(stack.shape), "eth/ipv4/udp/vxlan/eth/ipv4/icmp");
    assert_eq!(
        (stack.encapsulated, stack.costs),
        (Some(1), Costs { outer_ip: 20, udp: 8, link: 22, ..Costs::default() })
    );
}

#[test]
fn a_fragmented_shell_leaves_the_mirrored_frame_its_length() {
    let mirrored = ethernet(0x0800, &ipv4(X, Y, 50, &esp(0x1234_5678, 7, &[0x9c; 1448])));
    let mut packet = ipv4(A, B, 17, &udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &mirrored].concat()));
    packet.truncate(1500);
    packet[2..4].copy_from_slice(&1500u16.to_be_bytes());
    packet[6] = 0x20;
    let whole = ethernet(0x0800, &packet);
    let stack = read(&whole);
    assert_eq!(stack_name(stack.shape), "[vxlan]/eth/ipv4/esp");
    assert_eq!((stack.frame_bytes as usize, stack.trailer_bytes, stack.notes.len()), (mirrored.len(), 0, 0));
    assert_eq!((stack.sas[0].bytes, stack.ips[0].total_bytes), (1456, 1476));
    assert!(stack.flags.cut_by_snaplen && stack.null_checked(&stack.sas[0]));
    // The rest is in another frame. Of a fragment that was cut as well it is not.
    assert!(stack.flags.in_shell_fragment);
    let cut = Frame { data: &whole[..whole.len() - 1], ..frame(LinkType::ETHERNET, &whole) };
    assert!(!stack_of(&cut, &DissectOptions::default()).flags.in_shell_fragment);
}

#[test]
fn control_frames_are_told_apart() {
    let cdp = [
        &[1u8, 0, 0x0c, 0xcc, 0xcc, 0xcc, 2, 0, 0, 0, 0, 1, 0, 12][..],
        &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 0, 0, 0],
    ];
    let stp = [&[1u8, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 7][..], &[0x42, 0x42, 3, 0, 0, 0, 0]];
    let cases: &[(Vec<u8>, &str)] = &[
        (ethernet(0x8808, &[0, 1, 0xff, 0xff]), "eth/pause"),
        (ethernet(0x88cc, &[0; 46]), "eth/lldp"),
        (ethernet(0x9000, &[0; 46]), "eth/loop"),
        (ethernet(0x8809, &[1; 46]), "eth/lacp"),
        (cdp.concat(), "eth/llc/snap/cdp"),
        (stp.concat(), "eth/llc/stp"),
    ];
    for (frame, expected) in cases {
        let stack = read(frame);
        assert_eq!((stack_name(stack.shape).as_str(), stack.flags.control), (*expected, true));
    }
    let stack = on(LinkType::PPP, &[&[0xff, 3, 2, 7][..], &cdp[1][8..]].concat(), &DissectOptions::default());
    assert_eq!((stack_name(stack.shape).as_str(), stack.flags.control), ("ppp/cdp", true));
    assert_eq!(read(&cases[0].0).notes, [Note::Pause { class: None, quanta: 0xffff }]);
    let pfc = [&[1u8, 1, 0, 0b1001][..], &[0, 5, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(
        read(&ethernet(0x8808, &pfc)).notes,
        [Note::Pause { class: Some(0), quanta: 5 }, Note::Pause { class: Some(3), quanta: 9 }]
    );
    assert!(!read(&ethernet(0x0806, &[0; 28])).flags.control);
}

#[test]
fn icmp_errors_name_what_they_quote_and_nothing_more() {
    let quoted = &ipv4(A, B, 50, &random_esp())[..28];
    let error = ipv4([192, 0, 2, 9], A, 1, &[&[3u8, 4, 0, 0, 0, 0, 5, 0x78][..], quoted].concat());
    let stack = read(&ethernet(0x0800, &error));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/icmp");
    assert_eq!((stack.ips.len(), stack.sas.len()), (1, 0));
    let sa = Some((Protocol::Esp, Spi(0x1234_5678)));
    assert_eq!(stack.notes, [Note::TooBig { mtu: 1400, src: Address::v4(A), dst: Address::v4(B), sa }]);

    let quoted = &ipv6(1, 2, 51, &ah(59, 1002, 1, 12, &[]))[..52];
    let error = ipv6(9, 1, 58, &[&[2u8, 0, 0, 0, 0, 0, 5, 0][..], quoted].concat());
    let stack = read(&ethernet(0x86dd, &error));
    let sa = Some((Protocol::Ah, Spi(1002)));
    assert!(matches!(stack.notes[..], [Note::TooBig { mtu: 1280, sa: found, .. }] if found == sa));
}

#[test]
fn icmp_errors_name_the_association_of_what_they_quote() {
    let esp_in_udp = |src: u16, dst: u16, spi: u32| udp(src, dst, &esp(spi, 1, &[0x9c; 20]));
    let spi = Spi(0x1234_5678);
    let cases = [
        (50, random_esp(), Some((Protocol::Esp, spi))),
        (50, random_esp()[..4].to_vec(), Some((Protocol::Esp, spi))),
        (50, random_esp()[..3].to_vec(), None),
        (51, ah(4, 1002, 1, 12, &[])[..8].to_vec(), Some((Protocol::Ah, Spi(1002)))),
        (108, vec![4, 0, 0xab, 0xcd], Some((Protocol::IpComp, Spi(0xabcd)))),
        (17, esp_in_udp(4500, 61_000, 0x1234_5678), Some((Protocol::Esp, spi))),
        (17, esp_in_udp(61_000, 4500, 0x1234_5678), Some((Protocol::Esp, spi))),
        (17, esp_in_udp(61_000, 4501, 0x1234_5678), None),
        (17, esp_in_udp(4500, 4500, 0), None), // the marker of IKE
        (6, tcp(1, 2, &[]), None),
    ];
    for (protocol, quoted, sa) in &cases {
        let found = |stack: &Stack| match stack.notes[..] {
            [Note::TooBig { mtu: 1400, sa, .. }] => sa,
            ref notes => panic!("{protocol}: {notes:?}"),
        };
        let error = |quoted: &[u8]| {
            ethernet(0x0800, &ipv4([192, 0, 2, 9], A, 1, &[&[3u8, 4, 0, 0, 0, 0, 5, 0x78][..], quoted].concat()))
        };
        let mut packet = ipv4(A, B, *protocol, quoted);
        assert_eq!(found(&read(&error(&packet))), *sa, "protocol {protocol}");
        // A later fragment begins with no header of IPsec.
        packet[7] = 1;
        assert_eq!(found(&read(&error(&packet))), None, "protocol {protocol}, later fragment");

        let error = |first: u8, quoted: &[u8]| {
            let message = [&[2u8, 0, 0, 0, 0, 0, 5, 0x78][..], &ipv6(1, 2, first, quoted)].concat();
            ethernet(0x86dd, &ipv6(9, 1, 58, &message))
        };
        assert_eq!(found(&read(&error(*protocol, quoted))), *sa, "protocol {protocol} in IPv6");
        let behind = |header: &[u8]| [header, quoted].concat();
        let options = behind(&[*protocol, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(found(&read(&error(60, &options))), *sa, "protocol {protocol} behind sixteen bytes of options");
        let first = behind(&[*protocol, 0, 0, 1, 0, 0, 0, 7]);
        assert_eq!(found(&read(&error(44, &first))), *sa, "protocol {protocol} in the first fragment");
        let later = behind(&[*protocol, 0, 0, 8, 0, 0, 0, 7]);
        assert_eq!(found(&read(&error(44, &later))), None, "protocol {protocol} in a later fragment");
    }
}

/// RFC 3931 leaves cookie and sublayer to what the endpoints agreed: the frame is found where an IPv4 header verifies.
#[test]
fn the_frame_in_l2tp_version_3_is_found_behind_its_cookie() {
    let customer = ipv4(X, Y, 17, &udp(1000, 2000, &[0; 5]));
    let mut inner = ethernet(0x0800, &customer);
    inner[8..10].copy_from_slice(&[8, 0]); // a MAC address that looks like an ethertype four octets too early
    for hidden in [0, 4, 8, 12] {
        let session = [&[0, 0, 0, 9][..], &vec![0xcc; hidden], &inner].concat();
        let stack = check(&ethernet(0x0800, &ipv4(A, B, 115, &session)), "eth/ipv4/l2tp/eth/ipv4/udp", Some((1, X)));
        let link = 4 + 14 + hidden as u16;
        assert_eq!(stack.costs, Costs { outer_ip: 20, link, ..Costs::default() }, "{hidden} bytes in front");
    }
    let mut wrong = inner.clone();
    wrong[24] ^= 1; // the checksum of its IPv4 header
    for frame in [wrong, ethernet(0x0806, &[0; 46])] {
        let session = [&[0, 0, 0, 9][..], &frame].concat();
        check(&ethernet(0x0800, &ipv4(A, B, 115, &session)), "eth/ipv4/l2tp", None);
    }
}

#[test]
fn ipcomp_is_opaque() {
    let stack = read(&ethernet(0x0800, &ipv4(A, B, 108, &[4, 0, 0, 2, 1, 2, 3, 4])));
    assert_eq!(stack_name(stack.shape), "eth/ipv4/ipcomp");
    let sa = stack.sas[0];
    assert_eq!((sa.protocol, sa.spi, sa.bytes, sa.sequence_seen), (Protocol::IpComp, Spi(2), 8, false));
    assert_eq!((stack.costs.ipcomp, stack.encapsulated), (4, None));
}

#[test]
fn stacks_end_at_their_depth() {
    let mut packet = ipv4(X, Y, 59, &[]);
    for _ in 0..40 {
        packet = ipv4(A, B, 4, &packet);
    }
    let stack = read(&ethernet(0x0800, &packet));
    assert_eq!(stack.layers.len(), spiglass::dissect::MAX_LAYERS);
    assert_eq!(stack.stop.map(|stop| stop.cause), Some(StopCause::TooDeep));
}
