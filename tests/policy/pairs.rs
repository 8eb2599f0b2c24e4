//! Two routers, one fault: the accused line is the wrong one, the lines to type touch its router only, and nothing healthy is accused.
//!
//! Each fault is built on either router, so that no rule takes the first one for the guilty one.

use crate::support::spiglass;
use serde_json::Value;

pub(crate) const K1: &str = "1f0e2d3c4b5a69788796a5b4c3d2e1f0";
pub(crate) const K2: &str = "8badf00d0123456789abcdef10325476";
pub(crate) const A1: &str = "00112233445566778899aabbccddeeff01020304";
pub(crate) const A2: &str = "a1b2c3d4e5f60718293a4b5c6d7e8f9001234567";

pub(crate) const K3: &str = "55aa55aa55aa55aa1234123412341234";
pub(crate) const K4: &str = "44aa44aa44aa44aa0987098709870987";
pub(crate) const A4: &str = "4411224411224411224411224411224411224411";
pub(crate) const A3: &str = "5566778855667788556677885566778855667788";

/// A router of a sound pair: its name, the last octet of its WAN address, the third octet of its LAN, and its SPIs.
fn router(name: &str, own: u8, far: u8, lan: u8, remote: u8, keys: [(&str, u32, &str, &str); 2]) -> String {
    let lines: String = keys
        .iter()
        .map(|(way, spi, cipher, authenticator)| {
            format!(" set session-key {way} esp {spi} cipher {cipher} authenticator {authenticator}\n")
        })
        .collect();
    format!(
        "hostname {name}\n!\ncrypto ipsec transform-set STRONGSET esp-aes esp-sha-hmac\n mode tunnel\n!\ncrypto map SITES 10 ipsec-manual\n \
         set peer 203.0.113.{far}\n{lines} set transform-set STRONGSET\n match address TO_OTHER\n!\ninterface GigabitEthernet0/0\n \
         ip address 203.0.113.{own} 255.255.255.192\n crypto map SITES\n!\ninterface GigabitEthernet0/1\n \
         ip address 10.44.{lan}.1 255.255.255.0\n!\nip route 10.44.{remote}.0 255.255.255.0 203.0.113.{far}\n!\n\
         ip access-list extended TO_OTHER\n permit ip 10.44.{lan}.0 0.0.0.255 10.44.{remote}.0 0.0.0.255\n!\nend\n"
    )
}

/// A sound pair: Heron and Avocet.
pub(crate) fn pair() -> [String; 2] {
    [
        router("Heron", 33, 34, 5, 6, [("inbound", 7301, K1, A1), ("outbound", 8402, K2, A2)]),
        router("Avocet", 34, 33, 6, 5, [("inbound", 8402, K2, A2), ("outbound", 7301, K1, A1)]),
    ]
}

const HOSTS: [&str; 2] = ["Heron", "Avocet"];

fn written(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pairs-{name}"));
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().expect("a path of text").to_owned()
}

pub(crate) fn lint(name: &str, texts: &[&str]) -> Vec<Value> {
    let files: Vec<String> =
        texts.iter().enumerate().map(|(at, text)| written(&format!("{name}-{at}.txt"), text)).collect();
    let mut words = vec!["check", "--format", "json"];
    for file in &files {
        words.extend(["--config", file]);
    }
    spiglass(&words).json()["findings"].as_array().expect("findings").clone()
}

pub(crate) fn text<'f>(finding: &'f Value, field: &str) -> &'f str {
    finding[field].as_str().expect("text")
}

pub(crate) fn loud(findings: &[Value]) -> Vec<&str> {
    findings.iter().filter(|finding| finding["severity"] != "note").map(|finding| text(finding, "code")).collect()
}

/// The hosts that get lines to type.
pub(crate) fn touched(findings: &[Value]) -> Vec<String> {
    let fixes = findings.iter().flat_map(|finding| finding["fix"].as_array().expect("fixes"));
    let mut hosts: Vec<String> = fixes.map(|fix| text(fix, "host").to_owned()).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

/// The sound pair with a replacement on one router; `{near}` and `{far}` are its own and the other LAN, `{own}` and `{peer}` the ends,
/// `{in}` and `{out}` its SPIs.
pub(crate) fn changed(side: usize, from: &str, to: &str) -> [String; 2] {
    let mut texts = pair();
    let fill = |text: &str| {
        let [own, peer] = if side == 0 { ["33", "34"] } else { ["34", "33"] };
        let [near, far] = if side == 0 { ["5", "6"] } else { ["6", "5"] };
        let [inbound, outbound] = if side == 0 { ["7301", "8402"] } else { ["8402", "7301"] };
        let [kin, kout] = if side == 0 { [K1, K2] } else { [K2, K1] };
        let [ain, aout] = if side == 0 { [A1, A2] } else { [A2, A1] };
        [
            ("{own}", own),
            ("{peer}", peer),
            ("{near}", near),
            ("{far}", far),
            ("{in}", inbound),
            ("{out}", outbound),
            ("{kin}", kin),
            ("{kout}", kout),
            ("{ain}", ain),
            ("{aout}", aout),
        ]
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    };
    let (from, to) = (fill(from), fill(to));
    assert!(texts[side].contains(&from), "{from}");
    texts[side] = texts[side].replacen(&from, &to, 1);
    texts
}

/// Checks a fault on either router: the code is among the findings, and lines to type are for the changed router only.
fn accuses(name: &str, from: &str, to: &str, code: &str) {
    for (side, host) in HOSTS.iter().enumerate() {
        let [a, b] = changed(side, from, to);
        let findings = lint(&format!("{name}-{side}"), &[&a, &b]);
        assert!(loud(&findings).contains(&code), "{name} on {host}: {findings:#?}");
        assert_eq!(touched(&findings), [*host], "{name}: {findings:#?}");
    }
}

/// Checks a fault of which it cannot be told whose it is: one router gets lines, and the other is named as the alternative.
fn leaves_open(name: &str, from: &str, to: &str, code: &str) {
    for side in 0..2 {
        let [a, b] = changed(side, from, to);
        let findings = lint(&format!("{name}-{side}"), &[&a, &b]);
        let finding = findings.iter().find(|finding| text(finding, "code") == code);
        let finding = finding.unwrap_or_else(|| panic!("{name}: {findings:#?}"));
        assert_eq!(touched(&findings).len(), 1, "{name}: {findings:#?}");
        assert!(text(finding, "evidence").contains("not both"), "{name}: {finding:#}");
    }
}

/// Checks that a change is no fault.
fn sound(name: &str, from: &str, to: &str) {
    for side in 0..2 {
        let [a, b] = changed(side, from, to);
        let findings = lint(&format!("{name}-{side}"), &[&a, &b]);
        assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{name}: {findings:#?}");
    }
}

#[test]
fn the_sound_pair_is_clean() {
    let [a, b] = pair();
    let findings = lint("sound", &[&a, &b]);
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn peers_that_are_mistyped_are_laid_at_the_router_with_the_line() {
    let from = "set peer 203.0.113.{peer}";
    accuses("peer-digit", from, "set peer 203.0.113.1{peer}", "config-peer-mismatch");
    accuses("peer-byte", from, "set peer 203.0.131.{peer}", "config-peer-mismatch");
    accuses("peer-self", from, "set peer 203.0.113.{own}", "config-peer-mismatch");
    accuses("peer-missing", " set peer 203.0.113.{peer}\n", "", "config-entry-incomplete");
}

/// An address that is nothing like the router's own may be its translated one.
#[test]
fn a_peer_behind_a_translation_is_no_error() {
    for (side, name) in ["first", "second"].iter().enumerate() {
        let [a, b] = changed(side, "set peer 203.0.113.{peer}", "set peer 198.18.7.201");
        let findings = lint(&format!("nat-{name}"), &[&a, &b]);
        assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{findings:#?}");
        assert!(findings.iter().any(|finding| text(finding, "evidence").contains("NAT")), "{findings:#?}");
    }
}

#[test]
fn access_lists_are_laid_at_the_router_that_contradicts_interfaces_and_routes() {
    let line = "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255";
    let acl = "config-acl-mismatch";
    accuses("acl-any", line, "permit ip any any", acl);
    accuses("acl-any-far", line, "permit ip 10.44.{near}.0 0.0.0.255 any", acl);
    accuses("acl-half", line, "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.127", acl);
    accuses("acl-half-near", line, "permit ip 10.44.{near}.128 0.0.0.127 10.44.{far}.0 0.0.0.255", acl);
    accuses("acl-netmask", line, "permit ip 10.44.{near}.0 255.255.255.0 10.44.{far}.0 255.255.255.0", acl);
    accuses("acl-reversed", line, "permit ip 10.44.{far}.0 0.0.0.255 10.44.{near}.0 0.0.0.255", acl);
    accuses("acl-byte", line, "permit ip 10.44.{near}.0 0.0.0.255 10.44.7.0 0.0.0.255", acl);
    let deny = "deny ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255\n permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255";
    accuses("acl-deny", line, deny, acl);
    leaves_open("acl-tcp", line, "permit tcp 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255", acl);
    leaves_open("acl-hosts", line, "permit ip host 10.44.{near}.9 host 10.44.{far}.9", acl);
    sound("acl-log", line, "remark to the other\n 10 permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255 log");
    let other = "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255\n deny ip any any";
    sound("acl-deny-last", line, other);
}

/// Numbered lists are typed anew, and groups stand for the networks in them.
#[test]
fn numbered_lists_and_groups_are_lists_like_others() {
    let numbered = |text: &str, lan: u8, remote: u8, line: &str| {
        text.replace("match address TO_OTHER", "match address 177").replace(
            &format!("ip access-list extended TO_OTHER\n permit ip 10.44.{lan}.0 0.0.0.255 10.44.{remote}.0 0.0.0.255"),
            line,
        )
    };
    let [a, b] = pair();
    let right = numbered(&a, 5, 6, "access-list 177 permit ip 10.44.5.0 0.0.0.255 10.44.6.0 0.0.0.255");
    assert!(loud(&lint("numbered", &[&right, &b])).is_empty());
    let wrong = numbered(&a, 5, 6, "access-list 177 permit ip 10.44.5.0 0.0.0.255 10.44.6.0 0.0.0.63");
    let findings = lint("numbered-half", &[&wrong, &b]);
    assert_eq!(touched(&findings), ["Heron"], "{findings:#?}");
    let groups =
        "object-group network HERE\n 10.44.5.0 255.255.255.0\nobject-group network THERE\n 10.44.6.0 255.255.255.0\n";
    let line = "permit ip 10.44.5.0 0.0.0.255 10.44.6.0 0.0.0.255";
    let grouped = a.replace("hostname Heron\n", &format!("hostname Heron\n{groups}"));
    let grouped = grouped.replace(line, "permit ip object-group HERE object-group THERE");
    assert!(lint("groups", &[&grouped, &b]).is_empty());
    // Of a group that was not pasted, nothing is known.
    let unknown = a.replace(line, "permit ip object-group HERE object-group THERE");
    assert!(loud(&lint("groups-unknown", &[&unknown, &b])).is_empty());
}

#[test]
fn spis_are_decided_by_what_cannot_be_meant() {
    let line = "set session-key outbound esp {out}";
    let spi = "config-spi-mismatch";
    accuses("spi-low", line, "set session-key outbound esp 84", spi);
    // 8402 and 7301 with their octets reversed.
    for (side, reversed) in [(0, 8402_u32.swap_bytes()), (1, 7301_u32.swap_bytes())] {
        let [a, b] = changed(side, line, &format!("set session-key outbound esp {reversed}"));
        let findings = lint(&format!("spi-reversed-{side}"), &[&a, &b]);
        assert!(loud(&findings).contains(&spi));
        assert_eq!(touched(&findings), [HOSTS[side]], "{findings:#?}");
    }
    leaves_open("spi-digit", line, "set session-key outbound esp 8{out}", spi);
    leaves_open("spi-in", "set session-key inbound esp {in}", "set session-key inbound esp 3{in}", spi);
    let both = "set session-key inbound esp {in} cipher {kin} authenticator {ain}\n set session-key outbound esp {out} cipher {kout} authenticator {aout}";
    let numbers = "set session-key inbound esp {out} cipher {kin} authenticator {ain}\n set session-key outbound esp {in} cipher {kout} authenticator {aout}";
    let lines = "set session-key inbound esp {out} cipher {kout} authenticator {aout}\n set session-key outbound esp {in} cipher {kin} authenticator {ain}";
    for (name, to) in [("numbers", numbers), ("lines", lines)] {
        leaves_open(&format!("exchanged-{name}"), both, to, spi);
        let [a, b] = changed(0, both, to);
        let findings = lint(&format!("exchanged-{name}"), &[&a, &b]);
        assert!(!loud(&findings).contains(&"config-key-mismatch"), "no key is wrong: {findings:#?}");
    }
}

#[test]
fn keys_are_decided_by_their_length() {
    let key = "config-key-mismatch";
    let line = "outbound esp {out} cipher {kout} authenticator {aout}";
    accuses("key-short", line, "outbound esp {out} cipher {kout} authenticator 00112233445566778899aabbccddee", key);
    accuses("key-odd", line, "outbound esp {out} cipher {kout} authenticator {aout}a", key);
    accuses("key-twice", line, "outbound esp {out} cipher {kout}{kout} authenticator {aout}", key);
    accuses("key-crossed", line, "outbound esp {out} cipher {aout} authenticator {kout}", key);
    // Of two keys of the right length, neither is accused: one key is entered on both.
    let other = "outbound esp {out} cipher {kout} authenticator 77112233445566778899aabbccddeeff01020304";
    for side in 0..2 {
        let [a, b] = changed(side, line, other);
        let findings = lint(&format!("key-other-{side}"), &[&a, &b]);
        assert_eq!((loud(&findings), touched(&findings)), (vec![key], vec!["Avocet".to_owned(), "Heron".to_owned()]));
        assert!(text(&findings[0], "evidence").contains("Nothing given decides"), "{findings:#?}");
    }
    accuses("key-half", line, "outbound esp {out} cipher {kout}", "config-key-missing");
    accuses("key-none", line, "outbound esp {out} authenticator {aout}", "config-key-missing");
    accuses(
        "key-line",
        " set session-key outbound esp {out} cipher {kout} authenticator {aout}\n",
        "",
        "config-unused-key",
    );
    accuses("key-ah", line, "outbound ah {out} {aout}", "config-unused-key");
    let [a, b] = pair();
    let upper = a.replace(A2, &A2.to_uppercase()).replace(K2, &K2.to_uppercase());
    assert!(lint("key-case", &[&upper, &b]).is_empty());
}

#[test]
fn transform_sets_are_decided_by_the_keys_of_both_routers() {
    let line = "esp-aes esp-sha-hmac";
    let set = "config-transform-mismatch";
    for (name, words) in [
        ("aes", "esp-aes 256 esp-sha-hmac"),
        ("3des", "esp-3des esp-sha-hmac"),
        ("md5", "esp-aes esp-md5-hmac"),
        ("sha2", "esp-aes esp-sha256-hmac"),
        ("none", "esp-aes"),
        ("ah", "ah-sha-hmac"),
    ] {
        accuses(&format!("set-{name}"), line, words, set);
    }
    sound("set-number", line, "esp-aes 128 esp-sha-hmac");
    sound("set-no-mode", "esp-aes esp-sha-hmac\n mode tunnel\n", "esp-aes esp-sha-hmac\n");
}

#[test]
fn names_that_nothing_has_are_corrected_where_what_is_meant_is_known() {
    let missing = "config-reference-missing";
    accuses("acl-name", "match address TO_OTHER", "match address TO-OTHRE", missing);
    accuses("acl-name-case", "match address TO_OTHER", "match address To_Other", missing);
    accuses("set-name", " set transform-set STRONGSET", " set transform-set STRONGSTE", missing);
    accuses("map-name", " crypto map SITES\n", " crypto map SITE\n", missing);
    accuses("no-acl", " match address TO_OTHER\n", "", "config-entry-incomplete");
    accuses("no-set", " set transform-set STRONGSET\n", "", "config-entry-incomplete");
    accuses("no-map", " crypto map SITES\n", "", "config-map-not-applied");
}

/// A map under the LAN's interface is moved; the peer's line is right.
#[test]
fn a_map_on_the_wrong_interface_is_moved() {
    for (side, host) in HOSTS.iter().enumerate() {
        let mut texts = pair();
        let moved = texts[side].replace(" crypto map SITES\n!", "!");
        texts[side] = moved.replace("255.255.255.0\n!\nip route", "255.255.255.0\n crypto map SITES\n!\nip route");
        let findings = lint(&format!("lan-{side}"), &[&texts[0], &texts[1]]);
        assert_eq!(touched(&findings), [*host], "{findings:#?}");
        assert_eq!(loud(&findings), ["config-map-not-applied"], "{findings:#?}");
    }
}

/// What was not pasted is no fault: only the lines about crypto, with or without the interfaces' names.
#[test]
fn a_part_of_a_configuration_does_not_dangle() {
    let crypto = |text: &str, interface: bool| {
        let end = text.find("interface").expect("interfaces");
        let head = text[..end].to_owned();
        if interface { head + "interface GigabitEthernet0/0\n crypto map SITES\n" } else { head }
    };
    let [a, b] = pair();
    for interface in [false, true] {
        let (x, y) = (crypto(&a, interface), crypto(&b, interface));
        for texts in [&[x.as_str(), &y][..], &[x.as_str(), &b], &[x.as_str()], &[a.as_str()]] {
            let findings = lint(&format!("part-{interface}-{}", texts.len()), texts);
            assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{texts:?}: {findings:#?}");
        }
    }
    // The LAN's interface alone does not show that the map is on none.
    let lan = crypto(&a, false) + "interface GigabitEthernet0/1\n ip address 10.44.5.1 255.255.255.0\n";
    let findings = lint("part-lan", &[&lan, &b]);
    assert!(!loud(&findings).contains(&"config-map-not-applied"), "{findings:#?}");
}

#[test]
fn two_faults_on_two_routers_are_both_found_and_both_corrected() {
    let mut texts = changed(0, "set peer 203.0.113.{peer}", "set peer 203.0.113.134");
    texts[1] = texts[1].replace("10.44.5.0 0.0.0.255\n", "10.44.5.0 0.0.0.31\n");
    let findings = lint("two", &[&texts[0], &texts[1]]);
    let codes = loud(&findings);
    assert!(codes.contains(&"config-peer-mismatch") && codes.contains(&"config-acl-mismatch"), "{findings:#?}");
    assert_eq!(touched(&findings), ["Avocet", "Heron"], "{findings:#?}");
    // Both peers mistyped: what the entries state still shows that they belong together.
    let mut texts = changed(0, "set peer 203.0.113.{peer}", "set peer 203.0.113.134");
    texts[1] = texts[1].replace("set peer 203.0.113.33", "set peer 203.0.113.133");
    let findings = lint("two-peers", &[&texts[0], &texts[1]]);
    assert_eq!(loud(&findings), ["config-peer-mismatch"; 2], "{findings:#?}");
    assert_eq!(touched(&findings), ["Avocet", "Heron"], "{findings:#?}");
}

/// Two routers that have nothing to do with each other.
#[test]
fn two_routers_of_different_tunnels_are_not_compared() {
    let [a, _] = pair();
    let other = router("Plover", 9, 10, 80, 90, [("inbound", 5005, K3, A3), ("outbound", 6006, K4, A4)])
        .replace("203.0.113", "198.18.3");
    let findings = lint("strangers", &[&a, &other]);
    assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{findings:#?}");
}

#[test]
fn what_keeps_packets_from_the_map_is_told_of_its_router() {
    for (side, host) in HOSTS.iter().enumerate() {
        let [a, b] = changed(side, " crypto map SITES\n!", " crypto map SITES\n shutdown\n!");
        let findings = lint(&format!("down-{side}"), &[&a, &b]);
        assert_eq!(loud(&findings), ["config-interface-down"]);
        assert_eq!(touched(&findings), [*host]);
    }
    // Another interface that is down is none of its business.
    sound(
        "down-other",
        "!\ninterface GigabitEthernet0/1\n",
        "!\ninterface GigabitEthernet0/2\n shutdown\n!\ninterface GigabitEthernet0/1\n",
    );
}

#[test]
fn a_filter_blocks_only_what_no_line_before_lets_in() {
    let with = |filter: &str| {
        let [a, b] = changed(0, " crypto map SITES\n!", " ip access-group OUTSIDE in\n crypto map SITES\n!");
        (a.replace("!\nend", &format!("!\nip access-list extended OUTSIDE\n{filter}!\nend")), b)
    };
    for (name, filter, blocks) in [
        ("deny", " permit icmp any any\n deny ip any any\n", true),
        ("implicit", " permit tcp any any\n", true),
        ("other-peer", " permit esp host 203.0.113.40 any\n", true),
        ("first", " deny esp any any\n permit ip any any\n", true),
        ("esp", " permit esp host 203.0.113.34 host 203.0.113.33\n deny ip any any\n", false),
        ("number", " permit 50 any any\n deny ip any any\n", false),
        ("any", " deny tcp any any eq 23\n permit ip any any\n", false),
        ("network", " permit ip 203.0.113.0 0.0.0.63 any\n", false),
    ] {
        let (a, b) = with(filter);
        let findings = lint(&format!("filter-{name}"), &[&a, &b]);
        assert_eq!(loud(&findings).contains(&"config-acl-blocks"), blocks, "{name}: {findings:#?}");
        assert!(!blocks || findings.iter().any(|finding| text(finding, "evidence").contains("OUTSIDE")));
        // A list that is not applied blocks nothing, and one that is missing neither.
        let [_, sound] = pair();
        let unapplied = a.replace(" ip access-group OUTSIDE in\n", "");
        assert!(loud(&lint(&format!("filter-not-{name}"), &[&unapplied, &sound])).is_empty());
    }
}

#[test]
fn a_missing_route_is_a_note_and_any_other_source_of_routes_makes_it_silent() {
    let [a, b] = pair();
    let route = "ip route 10.44.6.0 255.255.255.0 203.0.113.34\n";
    let of = |name: &str, other: &str| {
        let findings = lint(&format!("route-{name}"), &[&a.replace(route, other), &b]);
        assert!(loud(&findings).is_empty(), "{findings:#?}");
        findings.iter().any(|finding| text(finding, "code") == "config-route-missing")
    };
    assert!(of("none", ""));
    for (name, other) in [
        ("default", "ip route 0.0.0.0 0.0.0.0 203.0.113.34\n"),
        ("wider", "ip route 10.0.0.0 255.0.0.0 203.0.113.34\n"),
        ("ospf", "router ospf 1\n network 10.44.0.0 0.0.255.255 area 0\n"),
        ("interface", "ip route 10.44.6.0 255.255.255.0 GigabitEthernet0/0\n"),
        ("connected", "interface GigabitEthernet0/5\n ip address 10.44.6.9 255.255.255.0\n"),
    ] {
        assert!(!of(name, other), "{name}");
    }
}

/// A second entry of Heron, for another site.
fn second(number: u32, inbound: u32, list: &str) -> String {
    format!(
        "crypto map SITES {number} ipsec-manual\n set peer 203.0.113.50\n set session-key inbound esp {inbound} cipher {K3} authenticator {A3}\n \
         set session-key outbound esp 9902 cipher {K4} authenticator {A4}\n set transform-set STRONGSET\n match address SECOND\n!\n\
         ip access-list extended SECOND\n{list}!\ninterface GigabitEthernet0/0\n"
    )
}

#[test]
fn entries_that_stand_in_each_others_way_are_told_and_others_are_not() {
    let [a, b] = pair();
    let of = |name: &str, entry: String| {
        let both = a.replacen("interface GigabitEthernet0/0\n", &entry, 1);
        let findings = lint(&format!("entries-{name}"), &[&both, &b]);
        assert!(touched(&findings).is_empty(), "{findings:#?}");
        loud(&findings).iter().map(|code| (*code).to_owned()).collect::<Vec<_>>()
    };
    let any = " permit ip 10.44.5.0 0.0.0.255 any\n";
    let spared = " deny ip 10.44.5.0 0.0.0.255 10.44.6.0 0.0.0.255\n permit ip 10.44.5.0 0.0.0.255 any\n";
    let apart = " permit ip 10.44.5.0 0.0.0.255 10.99.0.0 0.0.0.255\n";
    assert_eq!(of("before", second(5, 9901, any)), ["config-entry-shadowed"]);
    assert!(of("after", second(20, 9901, any)).is_empty());
    assert!(of("spared", second(5, 9901, spared)).is_empty());
    assert!(of("apart", second(5, 9901, apart)).is_empty());
    assert_eq!(of("number", second(20, 7301, apart)), ["config-spi-duplicate"]);
}

/// An old map with the same peer, keys and numbers that is on no interface.
#[test]
fn an_old_map_beside_the_one_in_use_is_sound() {
    let [a, b] = pair();
    let start = a.find("crypto map SITES 10").expect("the entry");
    let end = a.find("interface GigabitEthernet0/0").expect("the interface");
    let entry = a[start..end].to_owned();
    for (name, old) in
        [("same", entry.replace("SITES", "OLD")), ("other", entry.replace("SITES", "OLD").replace("7301", "7399"))]
    {
        let both = a.replacen("crypto map SITES 10", &format!("{old}crypto map SITES 10"), 1);
        let findings = lint(&format!("old-{name}"), &[&both, &b]);
        assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{name}: {findings:#?}");
        let slipped = both.replace(
            "crypto map SITES 10 ipsec-manual\n set peer 203.0.113.34",
            "crypto map SITES 10 ipsec-manual\n set peer 203.0.113.134",
        );
        let findings = lint(&format!("old-slip-{name}"), &[&slipped, &b]);
        assert_eq!(loud(&findings), ["config-peer-mismatch"], "{name}: {findings:#?}");
    }
}

#[test]
fn one_router_that_negotiates_never_meets_manual_keys() {
    let [a, b] = pair();
    let ike = b.replace("ipsec-manual", "ipsec-isakmp");
    let ike: String =
        ike.lines().filter(|line| !line.contains("session-key")).map(|line| format!("{line}\n")).collect();
    let findings = lint("keying", &[&a, &ike]);
    assert_eq!(loud(&findings), ["config-keying-mismatch"], "{findings:#?}");
    assert!(touched(&findings).is_empty());
}

/// Addresses that an interface has besides its first: shared, borrowed, secondary.
#[test]
fn every_address_of_the_interface_may_be_the_peer() {
    let own = "ip address 203.0.113.{own} 255.255.255.192\n crypto map SITES\n";
    let shared = "ip address 203.0.113.20 255.255.255.192\n standby 3 ip 203.0.113.{own}\n standby 3 name HA\n crypto map SITES redundancy HA\n";
    sound("hsrp", own, shared);
    let lent = "ip unnumbered Loopback9\n crypto map SITES\n!\ninterface Loopback9\n ip address 203.0.113.{own} 255.255.255.255\n";
    sound("unnumbered", own, lent);
    let secondary = "ip address 203.0.113.21 255.255.255.192\n ip address 203.0.113.{own} 255.255.255.192 secondary\n crypto map SITES\n";
    sound("secondary", own, secondary);
    sound("leased", "ip address 203.0.113.{own} 255.255.255.192", "ip address dhcp");
}

/// A hub with two sites: a slip in the second site's configuration is the second site's.
#[test]
fn the_fault_of_one_site_is_not_laid_at_another() {
    let [hub, site] = pair();
    let entry = second(20, 9901, " permit ip 10.44.5.0 0.0.0.255 10.44.77.0 0.0.0.255\n");
    let hub = hub.replacen("interface GigabitEthernet0/0\n", &entry, 1);
    let hub = hub.replace("!\nip route", "!\nip route 10.44.77.0 255.255.255.0 203.0.113.50\nip route");
    let other = router("Dunlin", 50, 33, 77, 5, [("inbound", 9902, K4, A4), ("outbound", 9901, K3, A3)]);
    let findings = lint("hub", &[&hub, &site, &other]);
    assert!(findings.is_empty(), "{findings:#?}");
    let slipped = other.replace("set peer 203.0.113.33", "set peer 203.0.113.35");
    let findings = lint("hub-peer", &[&hub, &site, &slipped]);
    assert_eq!(
        (loud(&findings), touched(&findings)),
        (vec!["config-peer-mismatch"], vec!["Dunlin".to_owned()]),
        "{findings:#?}"
    );
    // The hub has the second site's address in the first site's entry.
    let crossed = hub.replacen("set peer 203.0.113.34", "set peer 203.0.113.50", 1);
    let findings = lint("hub-crossed", &[&crossed, &site, &other]);
    assert_eq!(
        (loud(&findings), touched(&findings)),
        (vec!["config-peer-mismatch"], vec!["Heron".to_owned()]),
        "{findings:#?}"
    );
}
