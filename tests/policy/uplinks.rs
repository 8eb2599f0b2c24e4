//! Routers that reach each other over a provider: which interface packets leave by decides where the crypto map belongs, and which
//! networks are a router's own. Each fault is built on either router.

use crate::pairs::{A1, A2, K1, K2, lint, loud, text, touched};
use serde_json::Value;

const HOSTS: [&str; 2] = ["Heron", "Avocet"];

/// Two routers of different providers, each with a default route; the LAN is connected, or behind a switch.
fn routers(behind: bool) -> [String; 2] {
    let of = |name: &str, [own, hop, far]: [&str; 3], [near, remote]: [&str; 2], inside: u8, keys: [&str; 2]| {
        let [inbound, outbound] = keys;
        let lan = if behind {
            format!(
                " ip address 172.31.{inside}.1 255.255.255.252\n!\nip route {near} 255.255.255.0 172.31.{inside}.2\n"
            )
        } else {
            format!(" ip address {} 255.255.255.0\n!\n", near.replace(".0", ".1"))
        };
        format!(
            "hostname {name}\n!\ncrypto ipsec transform-set SET esp-aes esp-sha-hmac\n mode tunnel\n!\ncrypto map SITES 10 ipsec-manual\n \
             set peer {far}\n set session-key inbound esp {inbound}\n set session-key outbound esp {outbound}\n \
             set transform-set SET\n match address TO_OTHER\n!\ninterface GigabitEthernet0/0\n ip address {own} 255.255.255.240\n \
             crypto map SITES\n!\ninterface GigabitEthernet0/1\n{lan}ip route 0.0.0.0 0.0.0.0 {hop}\n!\n\
             ip access-list extended TO_OTHER\n permit ip {near} 0.0.0.255 {remote} 0.0.0.255\n!\nend\n"
        )
    };
    let lans = ["10.44.5.0", "10.44.6.0"];
    let [there, back] =
        [format!("8402 cipher {K2} authenticator {A2}"), format!("7301 cipher {K1} authenticator {A1}")];
    [
        of("Heron", ["203.0.113.33", "203.0.113.46", "198.51.100.1"], lans, 5, [&back, &there]),
        of("Avocet", ["198.51.100.1", "198.51.100.14", "203.0.113.33"], [lans[1], lans[0]], 6, [&there, &back]),
    ]
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} in {text}");
    text.replacen(from, to, 1)
}

/// The code is found, and lines are for one router.
fn accuses(name: &str, texts: &[String; 2], code: &str, host: &str) -> Vec<Value> {
    let findings = lint(name, &[&texts[0], &texts[1]]);
    assert_eq!(loud(&findings), [code], "{name}: {findings:#?}");
    assert_eq!(touched(&findings), [host], "{name}: {findings:#?}");
    findings
}

fn sound(name: &str, texts: &[String; 2]) {
    let findings = lint(name, &[&texts[0], &texts[1]]);
    assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{name}: {findings:#?}");
}

/// Takes the map from the uplink to the LAN.
fn on_the_lan(text: &str) -> String {
    let bare = replaced(text, " crypto map SITES\n!", "!");
    let at = bare.find("interface GigabitEthernet0/1\n").expect("the LAN");
    let (head, lan) = bare.split_at(at);
    let (address, rest) = lan.split_once("\n!").expect("the end of the interface");
    format!("{head}{address}\n crypto map SITES\n!{rest}")
}

#[test]
fn a_map_on_the_lan_belongs_on_the_interface_that_leads_to_the_peer() {
    for behind in [false, true] {
        sound(&format!("uplink-sound-{behind}"), &routers(behind));
        for (side, host) in HOSTS.iter().enumerate() {
            let mut texts = routers(behind);
            texts[side] = on_the_lan(&texts[side]);
            let name = format!("uplink-lan-{behind}-{side}");
            let findings = accuses(&name, &texts, "config-map-not-applied", host);
            assert!(text(&findings[0], "evidence").contains("belongs on GigabitEthernet0/0"), "{findings:#?}");
        }
    }
}

#[test]
fn a_map_with_a_source_of_its_own_belongs_where_its_packets_leave() {
    let mut texts = routers(false);
    for (own, far) in [(0, 1), (1, 0)] {
        let loops = ["10.255.0.1", "10.255.0.2"];
        let peer = ["198.51.100.1", "203.0.113.33"][own];
        texts[own] = replaced(&texts[own], &format!("set peer {peer}"), &format!("set peer {}", loops[far]));
        texts[own] = replaced(
            &texts[own],
            "crypto map SITES 10",
            "crypto map SITES local-address Loopback0\ncrypto map SITES 10",
        );
        let lender =
            format!("interface Loopback0\n ip address {} 255.255.255.255\n!\ninterface GigabitEthernet0/0", loops[own]);
        texts[own] = replaced(&texts[own], "interface GigabitEthernet0/0", &lender);
    }
    sound("uplink-source", &texts);
    for (side, host) in HOSTS.iter().enumerate() {
        let mut moved = texts.clone();
        moved[side] = on_the_lan(&moved[side]);
        accuses(&format!("uplink-source-{side}"), &moved, "config-map-not-applied", host);
        // A routing protocol may lead the packets elsewhere.
        moved[side] = replaced(
            &moved[side],
            "ip route 0.0.0.0",
            "router ospf 1\n network 10.0.0.0 0.255.255.255 area 0\n!\nip route 0.0.0.0",
        );
        sound(&format!("uplink-source-ospf-{side}"), &moved);
    }
}

#[test]
fn a_network_behind_a_router_inside_is_the_routers_own() {
    for (side, host) in HOSTS.iter().enumerate() {
        let mut texts = routers(true);
        let [near, far] = [["10.44.5.0", "10.44.6.0"], ["10.44.6.0", "10.44.5.0"]][side];
        let line = |src: &str, dst: &str| format!("permit ip {src} 0.0.0.255 {dst} 0.0.0.255");
        texts[side] = replaced(&texts[side], &line(near, far), &line(far, near));
        accuses(&format!("uplink-reversed-{side}"), &texts, "config-acl-mismatch", host);
        // With routes to the other side, too.
        for text in &mut texts {
            let (hop, to) = if text.contains("hostname Heron") {
                ("203.0.113.46", "10.44.6.0")
            } else {
                ("198.51.100.14", "10.44.5.0")
            };
            *text = replaced(text, "ip route 0.0.0.0", &format!("ip route {to} 255.255.255.0 {hop}\nip route 0.0.0.0"));
        }
        accuses(&format!("uplink-reversed-routed-{side}"), &texts, "config-acl-mismatch", host);
    }
}

#[test]
fn a_line_for_gre_is_measured_by_the_tunnel_of_its_own_router() {
    let mut sound_pair = routers(false);
    for (own, text) in sound_pair.iter_mut().enumerate() {
        let ends = ["203.0.113.33", "198.51.100.1"];
        let (near, far) = (ends[own], ends[1 - own]);
        let at = text.find(" permit ip").expect("the list");
        text.truncate(at);
        text.push_str(&format!(
            " permit gre host {near} host {far}\n!\ninterface Tunnel0\n ip address 172.30.0.{} 255.255.255.252\n \
             tunnel source GigabitEthernet0/0\n tunnel destination {far}\n!\nend\n",
            own + 1
        ));
    }
    sound("uplink-gre", &sound_pair);
    for (side, host) in HOSTS.iter().enumerate() {
        let ends = ["203.0.113.33", "198.51.100.1"];
        let (near, far) = (ends[side], ends[1 - side]);
        let right = format!("permit gre host {near} host {far}");
        for wrong in [format!("permit gre host {far} host {near}"), format!("permit gre host {near} host 192.0.2.9")] {
            let mut texts = sound_pair.clone();
            texts[side] = replaced(&texts[side], &right, &wrong);
            accuses(&format!("uplink-gre-{side}"), &texts, "config-acl-mismatch", host);
        }
    }
}

#[test]
fn a_key_of_no_length_of_its_algorithm_is_the_wrong_one_beside_a_kernel_too() {
    let state = |src: &str, dst: &str, spi: u32, cipher: &str, authenticator: &str| {
        format!(
            "src {src} dst {dst}\n\tproto esp spi {spi:#010x} reqid 7 mode tunnel\n\treplay-window 32\n\tauth-trunc hmac(sha1) 0x{authenticator} 96\n\
             \tenc cbc(aes) 0x{cipher}\n"
        )
    };
    let kernel = |authenticator: &str| {
        let (own, far) = ("198.51.100.1", "203.0.113.33");
        format!(
            "root@Avocet:~# ip xfrm state\n{}{}",
            state(far, own, 8402, K2, A2),
            state(own, far, 7301, K1, authenticator)
        )
    };
    let [ios, _] = routers(false);
    sound("uplink-kernel", &[ios.clone(), kernel(A1)]);
    let short = [replaced(&ios, K2, &K2[2..]), replaced(&ios, A2, &A2[2..])];
    for (at, short) in short.into_iter().enumerate() {
        let findings = lint(&format!("uplink-kernel-ios-{at}"), &[&short, &kernel(A1)]);
        assert!(loud(&findings).contains(&"config-key-mismatch"), "{findings:#?}");
        assert_eq!(touched(&findings), ["Heron"], "{findings:#?}");
    }
    let findings = lint("uplink-kernel-short", &[&ios, &kernel(&A1[2..])]);
    assert!(loud(&findings).contains(&"config-key-mismatch"), "{findings:#?}");
    assert_eq!(touched(&findings), ["Avocet"], "{findings:#?}");
}

/// The two routers with IKEv1 and pre-shared keys for each other.
fn negotiating() -> [String; 2] {
    let mut texts = routers(false);
    for (text, peer) in texts.iter_mut().zip(["198.51.100.1", "203.0.113.33"]) {
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("session-key")).collect();
        let ike = format!(
            "crypto isakmp policy 10\n encr aes\n authentication pre-share\n group 14\n!\ncrypto isakmp key Hush-hush address {peer}\n!\ncrypto map"
        );
        *text = (lines.join("\n") + "\n").replace("ipsec-manual", "ipsec-isakmp").replacen("crypto map", &ike, 1);
    }
    texts
}

#[test]
fn a_key_tells_which_address_the_line_for_the_peer_means() {
    sound("uplink-ike", &negotiating());
    let lans = ["10.44.5.1", "10.44.6.1"];
    for (side, host) in HOSTS.iter().enumerate() {
        let peer = ["198.51.100.1", "203.0.113.33"][side];
        let mut texts = negotiating();
        texts[side] = replaced(&texts[side], &format!("set peer {peer}"), &format!("set peer {}", lans[1 - side]));
        let findings = accuses(&format!("uplink-ike-{side}"), &texts, "config-peer-mismatch", host);
        assert!(text(&findings[0], "evidence").contains("pre-shared key for"), "{findings:#?}");
    }
}

#[test]
fn the_next_hop_of_a_router_is_never_its_own_address() {
    for (side, host) in HOSTS.iter().enumerate() {
        let (peer, hop) = [("198.51.100.1", "198.51.100.14"), ("203.0.113.33", "203.0.113.46")][side];
        let mut texts = negotiating();
        // Both lines are from one note with the wrong address.
        texts[side] = texts[side].replace(&format!("set peer {peer}"), &format!("set peer {hop}"));
        texts[side] = texts[side].replace(&format!("address {peer}\n"), &format!("address {hop}\n"));
        let findings = lint(&format!("uplink-hop-{side}"), &[&texts[0], &texts[1]]);
        assert!(loud(&findings).contains(&"config-peer-mismatch"), "{findings:#?}");
        assert_eq!(touched(&findings), [*host], "{findings:#?}");
    }
}

#[test]
fn an_uplink_with_a_leased_address_needs_the_map_like_any_other() {
    for (side, host) in HOSTS.iter().enumerate() {
        let mut texts = routers(false);
        let (own, hop) = [("203.0.113.33", "203.0.113.46"), ("198.51.100.1", "198.51.100.14")][side];
        let leased = replaced(&texts[side], &format!("ip address {own} 255.255.255.240"), "ip address dhcp");
        texts[side] = replaced(&leased, &format!("ip route 0.0.0.0 0.0.0.0 {hop}\n"), "");
        sound(&format!("uplink-leased-{side}"), &texts);
        let with_map = texts[side].clone();
        for (name, text) in [("none", replaced(&with_map, " crypto map SITES\n!", "!")), ("lan", on_the_lan(&with_map))]
        {
            texts[side] = text;
            accuses(&format!("uplink-leased-{name}-{side}"), &texts, "config-map-not-applied", host);
        }
    }
}

/// Routes tell where networks are, with a track or a backup of greater distance, too; a third site behind another uplink is none of the router's own
/// networks.
#[test]
fn routes_to_the_other_side_speak_for_a_line_and_those_to_a_third_site_do_not() {
    let narrow = |text: &str| replaced(text, ".1 255.255.255.0\n", ".1 255.255.255.128\n");
    let [heron, avocet] = routers(false).map(|text| narrow(&text));
    let route = "ip route 10.44.6.0 255.255.255.0 203.0.113.46";
    for (name, routes) in [
        ("tracked", format!("{route} track 1\nip route 10.44.6.0 255.255.255.0 203.0.113.45 200\n")),
        ("two", format!("{route}\nip route 10.44.6.0 255.255.255.0 203.0.113.45\n")),
    ] {
        let heron = replaced(&heron, "ip route 0.0.0.0", &format!("{routes}ip route 0.0.0.0"));
        sound(&format!("route-{name}-sound"), &[heron.clone(), avocet.clone()]);
        let wrong = replaced(&avocet, "permit ip 10.44.6.0", "permit ip 10.44.16.0");
        accuses(&format!("route-{name}"), &[heron, wrong], "config-acl-mismatch", "Avocet");
    }
    let third = "interface GigabitEthernet0/2\n ip address 192.0.2.17 255.255.255.240\n!\nip route 10.44.30.0 255.255.255.0 192.0.2.30\n";
    let heron = replaced(&heron, "ip route 0.0.0.0", &format!("{third}{route}\nip route 0.0.0.0"));
    let avocet =
        replaced(&avocet, "ip route 0.0.0.0", "ip route 10.44.5.0 255.255.255.0 198.51.100.14\nip route 0.0.0.0");
    let wrong = replaced(&avocet, "10.44.5.0 0.0.0.255\n", "10.44.30.0 0.0.0.255\n");
    accuses("route-third", &[heron, wrong], "config-acl-mismatch", "Avocet");
}
