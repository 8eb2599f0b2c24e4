//! Tunnel interfaces that a profile protects, and the words of what is said: one fault on either router, and what is healthy.

use crate::support::spiglass;
use crate::ways::{clean, finds, said};

/// A router with a protected tunnel: its name, WAN address, LAN, the other's, and its own and the other's address in the tunnel.
fn router(name: &str, own: &str, far: &str, lans: [u8; 2], inner: u8) -> String {
    let [lan, remote] = lans;
    let gateway = own.rsplit_once('.').expect("an address").0;
    format!(
        "hostname {name}\n!\ncrypto isakmp policy 10\n encr aes 256\n hash sha256\n authentication pre-share\n group 14\ncrypto isakmp key \
         Tun-9el address {far}\n!\ncrypto ipsec transform-set STRONG esp-aes 256 esp-sha256-hmac\n mode tunnel\n!\ncrypto ipsec profile GUARD\n \
         set transform-set STRONG\n!\ninterface Loopback0\n ip address 192.0.2.{lan} 255.255.255.255\n!\ninterface Tunnel5\n ip address \
         172.16.9.{inner} 255.255.255.252\n tunnel source GigabitEthernet0/0\n tunnel mode ipsec ipv4\n tunnel destination {far}\n \
         tunnel protection ipsec profile GUARD\n!\ninterface GigabitEthernet0/0\n ip address {own} 255.255.255.0\n!\ninterface \
         GigabitEthernet0/1\n ip address 10.77.{lan}.1 255.255.255.0\n!\nip route 0.0.0.0 0.0.0.0 {gateway}.254\nip route 10.77.{remote}.0 \
         255.255.255.0 Tunnel5\n!\nend\n"
    )
}

const WAN: [&str; 2] = ["203.0.113.9", "198.51.100.41"];

fn pair() -> [String; 2] {
    [router("Merlin", WAN[0], WAN[1], [1, 2], 1), router("Osprey", WAN[1], WAN[0], [2, 1], 2)]
}

/// The pair with replacements on one router; `{far}` is the address of the other.
fn on(side: usize, changes: &[(&str, &str)]) -> [String; 2] {
    let mut texts = pair();
    for (from, to) in changes {
        let [from, to] = [from, to].map(|text| text.replace("{far}", WAN[1 - side]).replace("{own}", WAN[side]));
        assert!(texts[side].contains(&from), "{from} in {}", texts[side]);
        texts[side] = texts[side].replacen(&from, &to, 1);
    }
    texts
}

fn hosts(findings: &[serde_json::Value]) -> Vec<String> {
    crate::pairs::touched(findings)
}

const NAMES: [&str; 2] = ["Merlin", "Osprey"];

#[test]
fn a_fault_of_a_protected_tunnel_is_found_on_its_router() {
    for side in [0, 1] {
        let far = WAN[1 - side];
        let slipped = format!("{}8", &far[..far.len() - 1]);
        let wrong = |name: &str, changes: &[(&str, &str)], codes: &[&str]| {
            let [a, b] = on(side, changes);
            let found = finds(&format!("tunnel-{name}-{side}"), &[&a, &b], codes);
            (hosts(&found), format!("{found:#?}"))
        };
        let destination = format!("tunnel destination {slipped}");
        for (name, changes, code, word) in [
            ("destination", [("tunnel destination {far}", destination.as_str())], "config-peer-mismatch", far),
            (
                "source",
                [("tunnel source GigabitEthernet0/0", "tunnel source GigabitEthernet0/1")],
                "config-peer-mismatch",
                "tunnel source GigabitEthernet0/0",
            ),
            (
                "profile",
                [("ipsec profile GUARD\n!\n", "ipsec profile GAURD\n!\n")],
                "config-reference-missing",
                "profile GUARD",
            ),
            ("set", [(" set transform-set STRONG", " set transform-set STORNG")], "config-reference-missing", "STORNG"),
            (
                "shut",
                [("ip address {own} 255.255.255.0\n", "ip address {own} 255.255.255.0\n shutdown\n")],
                "config-interface-down",
                "no shutdown",
            ),
        ] {
            let (touched, text) = wrong(name, &changes, &[code]);
            assert_eq!(touched, [NAMES[side]], "{name}: {text}");
            assert!(text.contains(word), "{word} in {text}");
        }
        // Which of two modes and keys is meant is known to neither text.
        for (name, from, to) in [
            ("mode", " tunnel mode ipsec ipv4\n", " tunnel mode gre ip\n"),
            ("default-mode", " tunnel mode ipsec ipv4\n", ""),
        ] {
            let (touched, text) = wrong(name, &[(from, to)], &["config-gre-mismatch"]);
            assert!(touched.is_empty() && text.contains("ipsec ipv4") && text.contains("gre ip"), "{name}: {text}");
        }
        let keyed = |key: &str| {
            let of = |text: String| {
                text.replace(" tunnel mode ipsec ipv4\n", &format!(" tunnel mode gre ip\n tunnel key {key}\n"))
            };
            pair().map(of)
        };
        let [mut one, other] = [keyed("77")[side].clone(), keyed("78")[1 - side].clone()];
        finds(&format!("tunnel-key-{side}"), &[&one, &other], &["config-gre-mismatch"]);
        one = one.replace("tunnel key 77", "tunnel key 078");
        clean(&format!("tunnel-key-same-{side}"), &[&one, &other]);
    }
}

#[test]
fn a_protected_tunnel_that_works_is_accused_of_nothing() {
    let [a, b] = pair();
    clean("tunnel-sound", &[&a, &b]);
    for (name, changes) in [
        // The source as an address, the profile of IOS itself, GRE at both ends without a word.
        ("address", vec![("tunnel source GigabitEthernet0/0", "tunnel source {own}")]),
        (
            "spare",
            vec![(
                "crypto ipsec profile GUARD",
                "crypto ipsec profile OLD\n set transform-set GONE\n!\ncrypto ipsec profile GUARD",
            )],
        ),
        (
            "second",
            vec![(
                "interface Tunnel5",
                "interface Tunnel9\n ip address 172.16.10.1 255.255.255.252\n tunnel source Loopback0\n tunnel mode ipsec ipv4\n tunnel \
             destination {far}\n tunnel protection ipsec profile GUARD\n!\ninterface Tunnel5",
            )],
        ),
    ] {
        let [a, b] = on(0, &changes);
        clean(&format!("tunnel-{name}"), &[&a, &b]);
    }
    // Out of service at both ends.
    let [a, b] = pair().map(|text| text.replace(".0.113.9 255.255.255.0\n", ".0.113.9 255.255.255.0\n shutdown\n"));
    let b = b.replace(".51.100.41 255.255.255.0\n", ".51.100.41 255.255.255.0\n shutdown\n");
    clean("tunnel-out-of-service", &[&a, &b]);
    let [a, b] = pair().map(|text| text.replace(" tunnel source", " shutdown\n tunnel source"));
    clean("tunnel-shut-at-both", &[&a, &b]);
    // The router that is given has a tunnel to a third one, whose address is similar.
    let [a, b] = pair();
    let third = a.replace(WAN[1], "198.51.100.46").replace("172.16.9.1 ", "172.16.9.5 ");
    clean("tunnel-to-a-third", &[&third, &b]);
    let profiles = pair()
        .map(|text| text.replace("tunnel protection ipsec profile GUARD", "tunnel protection ipsec profile default"));
    clean("tunnel-default-profile", &[&profiles[0], &profiles[1]]);
    // Two sources of one router, each with a tunnel of its own to the other router.
    let [a, b] = on(
        0,
        &[(
            "interface Tunnel5",
            "interface Tunnel9\n ip address 172.16.10.1 255.255.255.252\n tunnel source Loopback0\n tunnel mode ipsec ipv4\n tunnel destination \
         {far}\n tunnel protection ipsec profile GUARD\n!\ninterface Tunnel5",
        )],
    );
    let b = b
        .replace("interface Tunnel5", "interface Tunnel9\n ip address 172.16.10.2 255.255.255.252\n tunnel source GigabitEthernet0/0\n tunnel mode ipsec ipv4\n tunnel destination 192.0.2.1\n tunnel protection ipsec profile GUARD shared\n!\ninterface Tunnel5")
        .replace("!\ncrypto ipsec transform-set", "crypto isakmp key Tun-9el address 192.0.2.1\n!\ncrypto ipsec transform-set");
    clean("tunnel-two-sources", &[&a, &b]);
}

#[test]
fn spokes_of_a_hub_with_many_peers_do_not_face_each_other() {
    let hub = "hostname Nest\n!\ncrypto ipsec transform-set STRONG esp-aes 256 esp-sha256-hmac\n mode transport\n!\ncrypto ipsec profile GUARD\n \
               set transform-set STRONG\n!\ninterface Tunnel5\n ip address 172.16.9.1 255.255.255.0\n tunnel source GigabitEthernet0/0\n tunnel \
               mode gre multipoint\n tunnel protection ipsec profile GUARD\n!\ninterface GigabitEthernet0/0\n ip address 203.0.113.1 \
               255.255.255.0\n!\nend\n";
    let spoke = |name: &str, own: &str, inner: u8| {
        router(name, own, "203.0.113.1", [inner, 1], inner)
            .replace(&format!("172.16.9.{inner} 255.255.255.252"), &format!("172.16.9.{inner} 255.255.255.0"))
            .replace(" tunnel mode ipsec ipv4\n", "")
            .replace("mode tunnel", "mode transport")
    };
    clean("tunnel-hub", &[hub, &spoke("Kite", "198.51.100.41", 2), &spoke("Hobby", "198.51.100.42", 3)]);
}

/// A crypto map whose peer names the loopback of the other router, and a pre-shared key for it or for the address of the interface.
fn sourced(key: &str, local: &str) -> [String; 2] {
    let router = |name: &str, own: &str, peer: &str, key: &str, lans: [u8; 2], local: &str| {
        let [lan, remote] = lans;
        format!(
            "hostname {name}\n!\ncrypto isakmp policy 10\n authentication pre-share\ncrypto isakmp key Map-9el address {key}\n!\ncrypto ipsec \
             transform-set STRONG esp-aes esp-sha-hmac\n!\n{local}crypto map SITES 10 ipsec-isakmp\n set peer {peer}\n set transform-set STRONG\n \
             match address TO\n!\ninterface Loopback0\n ip address 192.0.2.{lan} 255.255.255.255\n!\ninterface GigabitEthernet0/0\n ip address \
             {own} 255.255.255.0\n crypto map SITES\n!\ninterface GigabitEthernet0/1\n ip address 10.77.{lan}.1 255.255.255.0\n!\nip route 0.0.0.0 \
             0.0.0.0 GigabitEthernet0/0\n!\nip access-list extended TO\n permit ip 10.77.{lan}.0 0.0.0.255 10.77.{remote}.0 0.0.0.255\n!\nend\n"
        )
    };
    [
        router("Merlin", "203.0.113.9", "198.51.100.41", "198.51.100.41", [1, 2], local),
        router("Osprey", "198.51.100.41", "192.0.2.1", key, [2, 1], ""),
    ]
}

#[test]
fn a_peer_that_names_a_loopback_wants_the_map_to_leave_from_it() {
    let [a, b] = sourced("192.0.2.1", "");
    let found = finds("loopback-key", &[&a, &b], &["config-peer-mismatch"]);
    assert_eq!(hosts(&found), ["Merlin"], "{found:#?}");
    assert!(format!("{found:#?}").contains("crypto map SITES local-address Loopback0"), "{found:#?}");
    let [a, b] = sourced("192.0.2.1", "crypto map SITES local-address Loopback0\n");
    clean("loopback-sound", &[&a, &b]);
    // No key tells which of the two is meant: the lines of one, and the other in words.
    let [a, b] = sourced("0.0.0.0", "");
    let found = finds("loopback-open", &[&a, &b], &["config-peer-mismatch"]);
    assert!(format!("{found:#?}").contains("give Osprey the peer 203.0.113.9"), "{found:#?}");
}

#[test]
fn a_transform_set_is_in_the_words_of_the_router_that_takes_it() {
    let [_, ios] = sourced("203.0.113.9", "");
    let ios = ios.replace("set peer 192.0.2.1", "set peer 203.0.113.9");
    let asa = |set: &str| {
        format!(
            "ASA Version 9.8(2)\n!\nhostname Falcon\n!\ninterface GigabitEthernet0/0\n nameif outside\n ip address 203.0.113.9 255.255.255.0\n!\n\
             access-list L2L extended permit ip 10.77.1.0 255.255.255.0 10.77.2.0 255.255.255.0\ncrypto ipsec ikev1 transform-set STRONG {set}\n\
             crypto map OUT 10 match address L2L\ncrypto map OUT 10 set peer 198.51.100.41\ncrypto map OUT 10 set ikev1 transform-set STRONG\n\
             crypto map OUT interface outside\n"
        )
    };
    clean("asa-sound", &[&asa("esp-aes esp-sha-hmac"), &ios]);
    let found = finds("asa-words", &[&asa("esp-aes-256 esp-sha-hmac"), &ios], &["config-transform-mismatch"]);
    let text = format!("{found:#?}");
    assert_eq!(hosts(&found), ["Osprey"], "{text}");
    assert!(text.contains("\"crypto ipsec transform-set STRONG esp-aes 256 esp-sha-hmac\""), "{text}");
    assert!(text.contains("give Falcon the transform set esp-aes esp-sha-hmac"), "{text}");
    // A set that the other maker does not have is no alternative.
    let strong = ios.replace("esp-aes esp-sha-hmac", "esp-aes 256 esp-sha512-hmac");
    let found = finds("asa-lacks", &[&asa("esp-aes-256 esp-sha-hmac"), &strong], &["config-transform-mismatch"]);
    let text = format!("{found:#?}");
    let lacks = "Falcon cannot have the transforms of Osprey with IKEv1.";
    assert!(hosts(&found) == ["Osprey"] && !text.contains("instead") && text.contains(lacks), "{text}");
    // Releases of PIX before 7 have AH, and the lines never take it away.
    let pix = asa("esp-3des")
        .replace("ASA Version 9.8(2)\n", "PIX Version 6.3(5)\nnameif ethernet0 outside security0\n")
        .replace("interface GigabitEthernet0/0\n nameif outside\n ip address 203", "ip address outside 203")
        .replace(" extended", "")
        .replace("ikev1 ", "");
    let with_ah = ios.replace("esp-aes esp-sha-hmac", "ah-md5-hmac esp-3des");
    let found = finds("pix-ah", &[&pix, &with_ah], &["config-transform-mismatch", "weak-transform"]);
    let text = format!("{found:#?}");
    assert!(hosts(&found).is_empty() && !text.contains("cannot have"), "{text}");
    // ASA without its interfaces goes by its other words.
    let interface = "interface GigabitEthernet0/0\n nameif outside\n ip address 203.0.113.9 255.255.255.0\n!\n";
    let bare = asa("esp-3des").replace(interface, "");
    let found = finds("asa-bare", &[&bare, &with_ah], &["config-transform-mismatch", "weak-transform"]);
    let text = format!("{found:#?}");
    assert!(hosts(&found) == ["Osprey"] && text.contains("Falcon cannot have"), "{text}");
}

#[test]
fn what_the_release_has_itself_is_not_missing() {
    // The transform set of the release, in a profile and in a crypto map, beside another set.
    let [a, b] = pair().map(|text| text.replace(" set transform-set STRONG", " set transform-set default"));
    clean("tunnel-default-set", &[&a, &b]);
    let [a, b] = sourced("203.0.113.9", "").map(|text| {
        text.replace("set peer 192.0.2.1\n", "set peer 203.0.113.9\n")
            .replace(" set transform-set STRONG", " set transform-set default")
    });
    clean("map-default-set", &[&a, &b]);
    // A router with nothing but tunnels under the profile of the release is a configuration all the same.
    let bare = |text: &str| {
        let (name, rest) = text.split_once("!\n").expect("a name");
        let (_, interfaces) = rest.split_once("interface Loopback0").expect("interfaces");
        format!("{name}!\ninterface Loopback0{}", interfaces.replace("profile GUARD", "profile default"))
    };
    let [a, b] = pair();
    let (found, errors) = said("tunnels-alone", &[&bare(&a), &bare(&b)]);
    assert!(found.is_empty() && !errors.contains("was found in it"), "{found:#?} {errors}");
}

#[test]
fn a_finding_that_decides_names_no_other_cause() {
    let run = |name: &str, texts: &[String]| {
        let mut words = vec!["check".to_owned()];
        for (at, text) in texts.iter().enumerate() {
            let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cause-{name}-{at}.txt"));
            std::fs::write(&path, text).expect("a file can be written");
            words.extend(["--config".to_owned(), path.to_str().expect("a path of text").to_owned()]);
        }
        spiglass(&words).text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let decided = run("decided", &on(0, &[("tunnel destination {far}", "tunnel destination 198.51.100.48")]));
    assert!(decided.contains("The fault is on Merlin") && !decided.contains("ause: "), "{decided}");
    let open = run("open", &on(0, &[(" tunnel mode ipsec ipv4\n", "")]));
    assert!(open.contains("Usual cause: `tunnel mode` was left out") && !open.contains(" Cause: "), "{open}");
    let (findings, _) = said(
        "cause-json",
        &on(0, &[("tunnel destination {far}", "tunnel destination 198.51.100.48")]).each_ref().map(String::as_str),
    );
    let cause = findings[0]["cause"].as_str().expect("a cause");
    assert!(cause.starts_with("On Merlin: its line for the peer"), "{cause}");
}

#[test]
fn pseudo_random_functions_of_ikev2_are_compared_and_follow_the_integrity_algorithm() {
    let second = |prf: &str| {
        format!(
            "crypto ikev2 proposal MIX\n encryption aes-cbc-256\n integrity sha256\n group 19\n{prf}!\ncrypto ikev2 policy ALL\n proposal \
             MIX\n!\ncrypto ipsec transform-set"
        )
    };
    let of = |prfs: [&str; 2]| {
        let mut texts = pair();
        for (text, prf) in texts.iter_mut().zip(prfs) {
            *text = text
                .replace("crypto ipsec transform-set", &second(prf))
                .replace(" set transform-set STRONG\n!", " set transform-set STRONG\n set ikev2-profile PEERS\n!");
        }
        texts
    };
    for (n, prfs) in [["", ""], [" prf sha256\n", ""], [" prf sha512 sha256\n", " prf sha256\n"]].iter().enumerate() {
        let [a, b] = of(*prfs);
        clean(&format!("prf-{n}"), &[&a, &b]);
    }
    let [a, b] = of([" prf sha512\n", ""]);
    let found = finds("prf-fault", &[&a, &b], &["config-ike-mismatch"]);
    assert!(format!("{found:#?}").contains("prf sha512 at Merlin, sha256 at Osprey"), "{found:#?}");
}
