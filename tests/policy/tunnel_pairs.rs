//! Several protected tunnels between two routers: which belong together, what is wrong with one of them, and what is not determined.

use crate::pairs::{text, touched};
use crate::ways::{clean, finds};

/// A tunnel: its number, source and destination, profile, and its other lines.
type Tunnel<'t> = (u8, &'t str, &'t str, &'t str, String);

/// A router with its interfaces, each with its lines, and its tunnels.
fn router(name: &str, interfaces: &[(&str, String)], tunnels: &[Tunnel<'_>]) -> String {
    let mut text = format!(
        "hostname {name}\n!\ncrypto isakmp policy 10\n encr aes 256\n hash sha256\n authentication pre-share\n group 14\ncrypto isakmp key \
         Tun-9el address 0.0.0.0\ncrypto isakmp key Tun-9el address ipv6 ::/0\n!\ncrypto ipsec transform-set GCM esp-gcm 256\n mode tunnel\n\
         crypto ipsec transform-set CBC esp-aes 256 esp-sha256-hmac\n mode tunnel\n!\ncrypto ipsec profile ONE\n set transform-set GCM\n!\n\
         crypto ipsec profile TWO\n set transform-set CBC\n!\n"
    );
    for (interface, lines) in interfaces {
        text.push_str(&format!("interface {interface}\n{lines}!\n"));
    }
    for (number, source, destination, profile, lines) in tunnels {
        text.push_str(&format!(
            "interface Tunnel{number}\n{lines} tunnel source {source}\n tunnel destination {destination}\n tunnel protection ipsec profile \
             {profile}\n!\n"
        ));
    }
    text + "router ospf 1\n network 0.0.0.0 255.255.255.255 area 0\n!\nend\n"
}

const ISP: [&str; 2] = ["GigabitEthernet0/0", "GigabitEthernet0/1"];
const VTI: &str = " tunnel mode ipsec ipv4\n";
/// The addresses of Merlin and Osprey at both providers.
const WANS: [[&str; 2]; 2] = [["203.0.113.9", "198.18.5.9"], ["198.51.100.41", "198.19.7.41"]];

fn address(own: &str) -> String {
    format!(" ip address {own} 255.255.255.0\n")
}

/// The interfaces of one of the two routers.
fn interfaces(side: usize) -> Vec<(&'static str, String)> {
    let loopback = format!(" ip address 192.0.2.{} 255.255.255.255\n", side + 1);
    vec![("Loopback0", loopback), (ISP[0], address(WANS[side][0])), (ISP[1], address(WANS[side][1]))]
}

/// Addresses inside: none, or one of a network that the two ends share.
fn inside(mask: &str, network: u8, side: usize) -> String {
    match mask {
        "" => " ip unnumbered Loopback0\n".to_owned(),
        mask => format!(" ip address 172.16.{network}.{} {mask}\n", side + 1),
    }
}

const MASKS: [&str; 3] = ["", "255.255.255.0", "255.255.255.252"];

/// A tunnel at each of two providers, with transform sets of their own; Osprey's have the numbers that are given.
fn providers(mask: &str, numbers: [u8; 2]) -> [Vec<Tunnel<'static>>; 2] {
    let of = |side: usize, numbers: [u8; 2]| {
        let far = WANS[1 - side];
        vec![
            (numbers[0], ISP[0], far[0], "ONE", inside(mask, 1, side) + VTI),
            (numbers[1], ISP[1], far[1], "TWO", inside(mask, 2, side) + VTI),
        ]
    };
    [of(0, [1, 2]), of(1, numbers)]
}

fn texts(tunnels: &[Vec<Tunnel<'_>>; 2]) -> [String; 2] {
    [router("Merlin", &interfaces(0), &tunnels[0]), router("Osprey", &interfaces(1), &tunnels[1])]
}

/// Tunnels between the same two addresses, each with its key and its other lines.
fn keyed<'t>(side: usize, tunnels: &[(u8, &str, &str)]) -> Vec<Tunnel<'t>> {
    let of = |(number, key, lines): &(u8, &str, &str)| {
        let key = if key.is_empty() { String::new() } else { format!(" tunnel key {key}\n") };
        (*number, ISP[0], WANS[1 - side][0], "ONE", format!("{lines}{key}"))
    };
    tunnels.iter().map(of).collect()
}

fn silent(name: &str, tunnels: &[Vec<Tunnel<'_>>; 2]) {
    let [a, b] = texts(tunnels);
    clean(&format!("pairs-{name}"), &[&a, &b]);
    clean(&format!("pairs-{name}-turned"), &[&b, &a]);
}

/// The evidence of the only finding, which gives nobody lines to type.
fn undetermined(name: &str, tunnels: &[Vec<Tunnel<'_>>; 2], code: &str) -> String {
    let [a, b] = texts(tunnels);
    let found = finds(&format!("pairs-{name}"), &[&a, &b], &[code]);
    assert!(found.len() == 1 && touched(&found).is_empty(), "{name}: {found:#?}");
    let evidence = text(&found[0], "evidence").to_owned();
    assert!(evidence.contains("not determined"), "{name}: {evidence}");
    evidence
}

#[test]
fn tunnels_of_two_providers_are_paired_by_source_and_destination() {
    for (n, mask) in MASKS.iter().enumerate() {
        silent(&format!("isp-{n}"), &providers(mask, [1, 2]));
        silent(&format!("isp-exchanged-{n}"), &providers(mask, [2, 1]));
        // GRE between the addresses of the providers, and a VTI between loopbacks.
        let of = |side: usize, numbers: [u8; 2]| {
            let far = ["192.0.2.1", "192.0.2.2"][1 - side];
            vec![
                (numbers[0], ISP[0], WANS[1 - side][0], "ONE", inside(mask, 1, side)),
                (numbers[1], "Loopback0", far, "ONE", inside(mask, 2, side) + VTI),
            ]
        };
        silent(&format!("loopback-{n}"), &[of(0, [1, 2]), of(1, [1, 2])]);
        silent(&format!("loopback-exchanged-{n}"), &[of(0, [1, 2]), of(1, [2, 1])]);
    }
    // One of the two has one provider only.
    let mut one = providers("", [2, 1]);
    one[0][1].1 = ISP[0];
    one[1][1].2 = WANS[0][0];
    silent("one-provider", &one);
}

#[test]
fn tunnels_between_the_same_addresses_are_paired_by_mode_and_key() {
    let vrf = |name: &str, side: usize| format!(" ip vrf forwarding {name}\n{}", inside(MASKS[2], 0, side));
    let of = |side: usize, numbers: [u8; 2]| {
        let (red, blue) = (vrf("RED", side), vrf("BLUE", side));
        keyed(side, &[(numbers[0], "1", &red), (numbers[1], "2", &blue)])
    };
    silent("vrf", &[of(0, [1, 2]), of(1, [1, 2])]);
    silent("vrf-exchanged", &[of(0, [1, 2]), of(1, [12, 11])]);
    for (n, mask) in MASKS.iter().enumerate() {
        let of = |side: usize, numbers: [u8; 2]| {
            let (gre, other) = (inside(mask, 1, side), inside(mask, 2, side) + VTI);
            keyed(side, &[(numbers[0], "", &gre), (numbers[1], "", &other)])
        };
        silent(&format!("modes-{n}"), &[of(0, [1, 2]), of(1, [2, 1])]);
    }
    // A tunnel that was left shut down, and one whose other end is not built yet.
    let old = [
        keyed(0, &[(1, "1", " shutdown\n"), (2, "2", ""), (3, "3", "")]),
        keyed(1, &[(1, "2", ""), (2, "7", " shutdown\n"), (3, "3", "")]),
    ];
    silent("left", &old);
    silent("not-built", &[keyed(0, &[(1, "1", " shutdown\n"), (2, "2", "")]), keyed(1, &[(1, "2", ""), (2, "3", "")])]);
    let apart = |network: u8, side: usize| inside(MASKS[2], network, side);
    let of = |side: usize, second: (u8, &str, u8)| {
        keyed(side, &[(1, "1", &apart(1, side)), (second.0, second.1, &apart(second.2, side))])
    };
    silent("two-not-built", &[of(0, (2, "2", 2)), of(1, (3, "3", 3))]);
}

#[test]
fn front_door_vrfs_and_protocols_tell_tunnels_apart() {
    // Both providers give the same private addresses.
    let of = |side: usize, numbers: [u8; 2]| {
        let (own, far) = (["192.168.1.1", "192.168.1.2"][side], ["192.168.1.2", "192.168.1.1"][side]);
        let front = |vrf: &str| format!(" ip vrf forwarding {vrf}\n{}", address(own));
        let ports = [(ISP[0], front("ISP1")), (ISP[1], front("ISP2"))];
        let outside = |vrf: &str| format!(" ip unnumbered Loopback0\n{VTI} tunnel vrf {vrf}\n");
        let tunnels =
            [(numbers[0], ISP[0], far, "ONE", outside("ISP1")), (numbers[1], ISP[1], far, "TWO", outside("ISP2"))];
        router(["Merlin", "Osprey"][side], &ports, &tunnels)
    };
    clean("pairs-front", &[&of(0, [1, 2]), &of(1, [2, 1])]);
    // The interface has addresses of both protocols, and each tunnel takes the one of its destination.
    let of = |side: usize, to: [&str; 2]| {
        let port = format!("{} ipv6 address 2001:db8:{}::1/64\n", address(WANS[side][0]), side + 1);
        let tunnels = [
            (1, ISP[0], to[0], "ONE", VTI.to_owned()),
            (2, ISP[0], to[1], "TWO", " tunnel mode ipsec ipv6\n".to_owned()),
        ];
        router(["Merlin", "Osprey"][side], &[(ISP[0], port)], &tunnels)
    };
    let (merlin, osprey) = (of(0, [WANS[1][0], "2001:db8:2::1"]), of(1, [WANS[0][0], "2001:db8:1::1"]));
    clean("pairs-protocols", &[&merlin, &osprey]);
    let slipped = of(0, [WANS[1][0], "2001:db8:2::2"]);
    let found = finds("pairs-protocols-slip", &[&slipped, &osprey], &["config-peer-mismatch"]);
    assert!(format!("{found:#?}").contains("tunnel destination 2001:db8:2::1"), "{found:#?}");
}

#[test]
fn a_fault_of_one_of_several_tunnels_is_named_with_its_other_end() {
    let said = |name: &str, tunnels: &[Vec<Tunnel<'_>>; 2], code: &str| {
        let [a, b] = texts(tunnels);
        let found = finds(&format!("pairs-{name}"), &[&a, &b], &[code]);
        assert_eq!(found.len(), 1, "{name}: {found:#?}");
        (text(&found[0], "evidence").to_owned(), touched(&found))
    };
    let keys = [keyed(0, &[(1, "1", ""), (2, "2", "")]), keyed(1, &[(11, "3", ""), (12, "1", "")])];
    let (evidence, hosts) = said("key", &keys, "config-gre-mismatch");
    assert!(evidence.contains("Tunnel2 of Merlin has GRE key 2, Tunnel11 of Osprey has GRE key 3"), "{evidence}");
    assert!(hosts.is_empty());
    let none = [keyed(0, &[(1, "1", ""), (2, "2", "")]), keyed(1, &[(1, "1", ""), (2, "", "")])];
    let (evidence, _) = said("no-key", &none, "config-gre-mismatch");
    assert!(evidence.contains("Tunnel2 of Osprey has no GRE key"), "{evidence}");
    for (n, mask) in MASKS.iter().enumerate() {
        let mut mode = providers(mask, [2, 1]);
        mode[1][1].4 = inside(mask, 2, 1);
        let (evidence, _) = said(&format!("mode-{n}"), &mode, "config-gre-mismatch");
        let [one, other] =
            ["Tunnel2 of Merlin has `tunnel mode ipsec ipv4`", "Tunnel1 of Osprey has no line `tunnel mode`"];
        assert!(evidence.contains(one) && evidence.contains(other), "{evidence}");
        let mut set = providers(mask, [2, 1]);
        set[0][0].3 = "TWO";
        said(&format!("set-{n}"), &set, "config-transform-mismatch");
        let mut slipped = providers(mask, [2, 1]);
        slipped[0][1].2 = "198.19.7.47";
        let (evidence, hosts) = said(&format!("destination-{n}"), &slipped, "config-peer-mismatch");
        assert!(evidence.contains("Tunnel1 of Osprey leaves from GigabitEthernet0/1"), "{evidence}");
        assert_eq!(hosts, ["Merlin"]);
        // The destination is where another tunnel of Osprey leaves from.
        let mut other = providers(mask, [2, 1]);
        other[0][1].2 = WANS[1][0];
        let (evidence, hosts) = said(&format!("other-destination-{n}"), &other, "config-peer-mismatch");
        assert!(evidence.contains("Tunnel1 of Osprey leaves from GigabitEthernet0/1"), "{evidence}");
        assert_eq!(hosts, ["Merlin"]);
    }
}

#[test]
fn no_line_is_called_wrong_where_more_than_one_pairing_is_left() {
    let keys = [keyed(0, &[(1, "1", ""), (2, "2", "")]), keyed(1, &[(1, "3", ""), (2, "4", "")])];
    let evidence = undetermined("no-keys", &keys, "config-gre-mismatch");
    assert!(evidence.contains("Tunnel1 (GRE, key 3) and Tunnel2 (GRE, key 4) of Osprey"), "{evidence}");
    // Each tunnel of Merlin leads to the other provider of Osprey; where networks inside tell them apart, each is named.
    let mut crossed = providers("", [1, 2]);
    (crossed[0][0].2, crossed[0][1].2) = (WANS[1][1], WANS[1][0]);
    for tunnels in &mut crossed {
        tunnels[1].3 = "ONE";
    }
    let evidence = undetermined("destinations", &crossed, "config-gre-mismatch");
    assert!(evidence.contains("Tunnel1 (203.0.113.9 > 198.19.7.41)"), "{evidence}");
    let mut crossed = providers(MASKS[2], [1, 2]);
    (crossed[0][0].2, crossed[0][1].2) = (WANS[1][1], WANS[1][0]);
    let [a, b] = texts(&crossed);
    assert_eq!(finds("pairs-destinations-told", &[&a, &b], &["config-peer-mismatch"]).len(), 2);
    // A NAT before both providers of Merlin: what leads to which of them is not known.
    let mut hidden = providers("", [2, 1]);
    hidden[1][0].2 = "192.0.2.77";
    hidden[1][1].2 = "192.0.2.78";
    hidden[0][1].2 = WANS[1][0];
    hidden[1][1].1 = ISP[0];
    silent("nat", &hidden);
}

#[test]
fn lines_that_are_exchanged_between_two_tunnels_are_told_once() {
    let mut profiles = providers("", [1, 2]);
    (profiles[1][0].3, profiles[1][1].3) = ("TWO", "ONE");
    let evidence = undetermined("profiles", &profiles, "config-transform-mismatch");
    assert!(evidence.contains("Their transform sets agree the other way round"), "{evidence}");
    let mut networks = providers(MASKS[2], [1, 2]);
    (networks[1][0].4, networks[1][1].4) = (inside(MASKS[2], 2, 1) + VTI, inside(MASKS[2], 1, 1) + VTI);
    let evidence = undetermined("networks", &networks, "config-gre-mismatch");
    assert!(evidence.contains("Their addresses inside agree the other way round"), "{evidence}");
    let of = |side: usize, keys: [&str; 2]| {
        let nets = [inside(MASKS[2], 1, side), inside(MASKS[2], 2, side)];
        keyed(side, &[(1, keys[0], &nets[0]), (2, keys[1], &nets[1])])
    };
    let evidence = undetermined("keys", &[of(0, ["1", "2"]), of(1, ["2", "1"])], "config-gre-mismatch");
    assert!(evidence.contains("Tunnel1 of Merlin and Tunnel2 of Osprey"), "{evidence}");
}

#[test]
fn a_tunnel_without_protection_beside_a_protected_one_has_its_own_other_end() {
    let [merlin, osprey] = texts(&[0, 1].map(|side| keyed(side, &[(1, "1", ""), (2, "2", "")])));
    let bare = |text: &str| {
        let (before, block) = text.split_once("interface Tunnel2\n").expect("the second tunnel");
        format!("{before}interface Tunnel2\n{}", block.replacen(" tunnel protection ipsec profile ONE\n", "", 1))
    };
    clean("pairs-bare", &[&bare(&merlin), &bare(&osprey)]);
    let found = finds("pairs-bare-one", &[&merlin, &bare(&osprey)], &["config-gre-mismatch"]);
    let evidence = text(&found[0], "evidence");
    assert!(found.len() == 1 && evidence.contains("Osprey: Tunnel2 leads to Tunnel2 of Merlin"), "{found:#?}");
}
