//! Ways of writing that mean the same, which must not be accused, and mistakes beside others, which must be found in one run.

use crate::pairs::{A1, A3, K1, K3, changed, loud, pair, text, touched};
use crate::support::spiglass;
use serde_json::Value;

/// Findings of texts, and what is said of lines that are not read.
pub(crate) fn said(name: &str, texts: &[&str]) -> (Vec<Value>, String) {
    let mut words = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for (at, text) in texts.iter().enumerate() {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ways-{name}-{at}.txt"));
        std::fs::write(&path, text).expect("a file can be written");
        words.extend(["--config".to_owned(), path.to_str().expect("a path of text").to_owned()]);
    }
    let run = spiglass(&words);
    (run.json()["findings"].as_array().expect("findings").clone(), run.stderr)
}

pub(crate) fn clean(name: &str, texts: &[&str]) {
    let (findings, _) = said(name, texts);
    assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{name}: {findings:#?}");
}

pub(crate) fn finds(name: &str, texts: &[&str], codes: &[&str]) -> Vec<Value> {
    let (findings, _) = said(name, texts);
    let mut loud = loud(&findings);
    loud.sort_unstable();
    loud.dedup();
    assert_eq!(loud, codes, "{name}: {findings:#?}");
    findings
}

/// Replacements on each of the two routers.
fn both(replaced: [&[(&str, &str)]; 2]) -> [String; 2] {
    let mut texts = pair();
    for (text, changes) in texts.iter_mut().zip(replaced) {
        for (from, to) in changes {
            assert!(text.contains(from), "{from} in {text}");
            *text = text.replace(from, to);
        }
    }
    texts
}

#[test]
fn the_colon_behind_the_map_of_a_display_is_no_part_of_its_name() {
    let shown = |host: &str, peer: u8, lans: [u8; 2], spis: [u32; 2], keys: [&str; 2]| {
        let [near, far] = lans.map(|lan| format!("10.44.{lan}.0 0.0.0.255"));
        let [inbound, outbound] = spis;
        let [kin, kout] = keys;
        let [ain, aout] = if kin == K1 { [A1, A3] } else { [A3, A1] };
        format!(
            "{host}#show crypto map\nCrypto Map \"SITES\" 10 ipsec-manual\n        Peer = 203.0.113.{peer}\n        Extended IP access list OTHER\n            \
             access-list OTHER permit ip {near} {far}\n        Current peer: 203.0.113.{peer}\n        Inbound esp spi: {inbound},\n          \
             cipher key: {kin},\n          auth_key: {ain},\n        Outbound esp spi: {outbound}\n          cipher key: {kout},\n          auth key: {aout},\n        \
             Transform sets={{\n                STRONGSET: {{ esp-aes esp-sha-hmac }} ,\n        }}\n        \
             Interfaces using crypto map SITES:\n                GigabitEthernet0/0\n"
        )
    };
    let a = shown("Heron", 34, [5, 6], [7301, 8402], [K1, K3]);
    let b = shown("Avocet", 33, [6, 5], [8402, 7301], [K3, K1]);
    clean("show-map", &[&a, &b]);
}

#[test]
fn commands_that_follow_a_key_are_not_the_rest_of_it() {
    let script = |host: &str, ip: &str, outbound: bool| {
        let (near, far) =
            if outbound { ("172.28.4.0/24", "172.28.5.0/24") } else { ("172.28.5.0/24", "172.28.4.0/24") };
        let (own, peer) =
            if outbound { ("198.51.100.21", "198.51.100.22") } else { ("198.51.100.22", "198.51.100.21") };
        let state = |src: &str, dst: &str, spi: &str, auth: &str, enc: &str| {
            format!(
                "{ip} xfrm state add src {src} dst {dst} proto esp spi {spi} mode tunnel reqid 7 auth-trunc \"hmac(sha1)\" 0x{auth} 96 enc \"cbc(aes)\" 0x{enc}\n"
            )
        };
        let policy = |from: &str, to: &str, dir: &str, a: &str, b: &str| {
            format!(
                "{ip} xfrm policy add src {from} dst {to} dir {dir} tmpl src {a} dst {b} proto esp reqid 7 mode tunnel\n"
            )
        };
        let states = state("198.51.100.21", "198.51.100.22", "0x5001", A1, K1)
            + &state("198.51.100.22", "198.51.100.21", "0x5002", A3, K3);
        let policies = [
            policy(near, far, "out", own, peer),
            policy(far, near, "in", peer, own),
            policy(far, near, "fwd", peer, own),
        ];
        format!("#!/bin/sh\nhostname {host}\n{states}{}", policies.concat())
    };
    for (n, ip) in ["ip", "sudo ip", "/sbin/ip", "/usr/sbin/ip"].into_iter().enumerate() {
        let [a, b] = [script("east", ip, true), script("west", ip, false)];
        clean(&format!("shell-{n}"), &[&a, &b]);
        // All lines are read: a fault in one of them is found.
        let wrong = b.replace("spi 0x5002", "spi 0x5020");
        let (findings, _) = said(&format!("shell-fault-{n}"), &[&a, &wrong]);
        assert!(!loud(&findings).is_empty(), "{ip}: {findings:#?}");
    }
}

#[test]
fn a_note_behind_a_key_is_no_part_of_it() {
    let flat = pair().map(|text| {
        let text: String = text.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        text.replacen("set transform-set", "checked with Peter on Monday\nset transform-set", 1)
    });
    let (findings, stderr) = said("note", &[&flat[0], &flat[1]]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
    assert!(stderr.contains("line 10"), "{stderr}");
}

const ASA: &str = "ASA Version 9.1(2)\n!\nhostname {name}\n!\ninterface GigabitEthernet0/0\n nameif outside\n security-level 0\n \
                   ip address 203.0.113.{own} 255.255.255.248\n!\ninterface GigabitEthernet0/1\n nameif inside\n security-level 100\n \
                   ip address 10.1.{own}.1 255.255.255.0\n!\naccess-list L2L extended permit ip 10.1.{own}.0 255.255.255.0 10.1.{far}.0 255.255.255.0\n\
                   {set}\ncrypto map OUTMAP 10 match address L2L\ncrypto map OUTMAP 10 set peer {peers}\ncrypto map OUTMAP 10 set {uses}\n\
                   crypto map OUTMAP interface outside\n";

fn asa(peers: [&str; 2], set: &str, uses: &str) -> [String; 2] {
    let text = |name: &str, own: &str, far: &str, peers: &str| {
        let of =
            [("{name}", name), ("{own}", own), ("{far}", far), ("{peers}", peers), ("{set}", set), ("{uses}", uses)];
        of.iter().fold(ASA.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    [text("asa1", "2", "3", peers[0]), text("asa2", "3", "2", peers[1])]
}

#[test]
fn an_entry_of_ikev2_has_proposals_in_place_of_transform_sets() {
    let set =
        "crypto ipsec ikev2 ipsec-proposal AES\n protocol esp encryption aes-256\n protocol esp integrity sha-256";
    let [a, b] = asa(["203.0.113.3", "203.0.113.2"], set, "ikev2 ipsec-proposal AES");
    let (findings, stderr) = said("asa-ikev2", &[&a, &b]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
    assert!(stderr.contains("proposals of IKEv2"), "{stderr}");
}

#[test]
fn any_of_several_peers_may_be_the_other_router() {
    let set = "crypto ipsec ikev1 transform-set TS esp-aes esp-sha-hmac";
    let [a, b] = asa(["203.0.113.99 203.0.113.3", "203.0.113.2"], set, "ikev1 transform-set TS");
    clean("backup-peers", &[&a, &b]);
    // A peer that none of them is stays a fault.
    let [a, b] = asa(["203.0.113.99 203.0.113.98", "203.0.113.2"], set, "ikev1 transform-set TS");
    let (findings, _) = said("no-peer", &[&a, &b]);
    assert!(findings.iter().any(|finding| finding["code"] == "config-peer-mismatch"), "{findings:#?}");
}

#[test]
fn a_peer_by_its_name_is_a_peer() {
    for (n, peer) in ["avocet.example.net", "avocet.example.net dynamic"].into_iter().enumerate() {
        let [a, b] = changed(0, "set peer 203.0.113.{peer}", &format!("set peer {peer}"));
        let (findings, stderr) = said(&format!("peer-name-{n}"), &[&a, &b]);
        assert!(loud(&findings).is_empty(), "{findings:#?}");
        assert!(stderr.contains("a peer by its name"), "{stderr}");
    }
}

#[test]
fn what_junos_prints_behind_a_secret_is_not_part_of_the_statement() {
    let router = |name: &str, own: u8, far: u8, keys: [(&str, u32, &str, &str); 2]| {
        let mut directions = String::new();
        for (way, spi, auth, enc) in keys {
            directions += &format!(
                "direction {way} {{\nprotocol esp;\nspi {spi};\nauthentication {{\nalgorithm hmac-sha1-96;\nkey hexadecimal {auth}; ## SECRET-DATA\n}}\n\
                 encryption {{\nalgorithm aes-128-cbc;\nkey hexadecimal {enc}; ## SECRET-DATA\n}}\n}}\n"
            );
        }
        format!(
            "system {{\nhost-name {name};\n}}\nservices {{\nipsec-vpn {{\nrule LINK {{\nterm 1 {{\nthen {{\nremote-gateway 198.51.100.{far};\nmanual {{\n{directions}}}\n}}\n}}\n}}\n}}\n\
             service-set S {{\nipsec-vpn-options {{\nlocal-gateway 198.51.100.{own};\n}}\n}}\n}}\n"
        )
    };
    let a = router("Amber", 33, 34, [("inbound", 61_001, A1, K1), ("outbound", 61_002, A3, K3)]);
    let b = router("Birch", 34, 33, [("inbound", 61_002, A3, K3), ("outbound", 61_001, A1, K1)]);
    clean("junos", &[&a, &b]);
    let wrong = b.replace(K3, &slipped(K3));
    finds("junos-key", &[&a, &wrong], &["config-key-mismatch"]);
}

#[test]
fn access_lists_that_select_the_same_are_the_same() {
    let [near, far] = ["10.44.5.0 0.0.0.255", "10.44.6.0 0.0.0.255"];
    let (one, other) = (format!("permit ip {near} {far}"), format!("permit ip {far} {near}"));
    for (n, (mine, theirs)) in [
        (format!("permit ospf {near} {far}"), format!("permit 89 {far} {near}")),
        (format!("permit eigrp {near} {far}"), format!("permit 88 {far} {near}")),
        (format!("permit sctp {near} {far}"), format!("permit 132 {far} {near}")),
        (format!("permit tcp {near} {far} range ftp-data ftp"), format!("permit tcp {far} range 20 21 {near}")),
        (format!("permit tcp {near} {far} gt 1023"), format!("permit tcp {far} range 1024 65535 {near}")),
        (format!("permit tcp {near} {far} eq www 443"), format!("permit tcp {far} eq 443 80 {near}")),
    ]
    .into_iter()
    .enumerate()
    {
        let [a, b] = both([&[(&one, &mine)], &[(&other, &theirs)]]);
        clean(&format!("same-{n}"), &[&a, &b]);
    }
    for (n, (mine, theirs)) in [
        (format!("permit tcp {near} {far} eq 80 443"), format!("permit tcp {far} eq 80 {near}")),
        (format!("permit tcp {near} {far} gt 1023"), format!("permit tcp {far} gt 1024 {near}")),
        (format!("permit ospf {near} {far}"), format!("permit 88 {far} {near}")),
    ]
    .into_iter()
    .enumerate()
    {
        let [a, b] = both([&[(&one, &mine)], &[(&other, &theirs)]]);
        finds(&format!("other-{n}"), &[&a, &b], &["config-acl-mismatch"]);
    }
}

/// A line in front that takes none of the packets of the line behind it leaves none of them out; one that takes some does, whatever it calls
/// their protocol.
#[test]
fn what_a_deny_leaves_out_depends_on_its_protocol_and_ports() {
    let [near, far] = ["10.44.5.0 0.0.0.255", "10.44.6.0 0.0.0.255"];
    let (one, other) = (format!("permit ip {near} {far}"), format!("permit ip {far} {near}"));
    let high = ("permit tcp NEAR FAR gt 1023", "permit tcp FAR gt 1023 NEAR");
    let ospf = ("permit ospf NEAR FAR", "permit ospf FAR NEAR");
    for (n, (deny, (here, there), codes)) in [
        ("deny tcp NEAR FAR", high, &["config-acl-mismatch"][..]),
        ("deny tcp NEAR FAR eq 8080", high, &["config-acl-mismatch"]),
        ("deny tcp NEAR FAR eq telnet", high, &[]),
        ("deny 89 NEAR FAR", ospf, &["config-acl-mismatch"]),
        ("deny 88 NEAR FAR", ospf, &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let [deny, here, there] = [deny, here, there].map(|line| line.replace("NEAR", near).replace("FAR", far));
        let [a, b] = both([&[(&one, &format!("{deny}\n {here}"))], &[(&other, &there)]]);
        finds(&format!("deny-{n}"), &[&a, &b], codes);
    }
}

#[test]
fn a_port_by_a_name_that_is_not_known_is_said_and_not_compared() {
    let [near, far] = ["10.44.5.0 0.0.0.255", "10.44.6.0 0.0.0.255"];
    let [a, b] = both([
        &[(&format!("permit ip {near} {far}"), &format!("permit tcp {near} {far} eq nobody-knows"))],
        &[(&format!("permit ip {far} {near}"), &format!("permit tcp {far} eq 4711 {near}"))],
    ]);
    let (findings, stderr) = said("unknown-port", &[&a, &b]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
    assert!(stderr.contains("not known"), "{stderr}");
}

#[test]
fn access_lists_of_ipv6_are_compared() {
    let router = |name: &str, own: u8, far: u8, prefix: u8, spis: [u32; 2], keys: [&str; 2]| {
        let [ain, aout] = if keys[0] == K1 { [A1, A3] } else { [A3, A1] };
        format!(
            "hostname {name}\ncrypto ipsec transform-set T esp-aes esp-sha-hmac\ncrypto map ipv6 M6 10 ipsec-manual\n match address L6\n \
             set peer 2001:DB8:1::{far}\n set session-key inbound esp {} cipher {} authenticator {ain}\n \
             set session-key outbound esp {} cipher {} authenticator {aout}\n set transform-set T\ninterface GigabitEthernet0/0\n \
             ipv6 address 2001:DB8:1::{own}/64\n ipv6 crypto map M6\nipv6 access-list L6\n \
             sequence 10 permit ipv6 2001:DB8:A{own}::/{prefix} 2001:DB8:A{far}::/64\n",
            spis[0], keys[0], spis[1], keys[1]
        )
    };
    let b = router("x2", 2, 1, 64, [5002, 5001], [K3, K1]);
    clean("ipv6", &[&router("x1", 1, 2, 64, [5001, 5002], [K1, K3]), &b]);
    finds("ipv6-list", &[&router("x1", 1, 2, 60, [5001, 5002], [K1, K3]), &b], &["config-acl-mismatch"]);
    let of = |text: &str, protocol: &str| text.replace("permit ipv6", &format!("permit {protocol}"));
    let a = router("x1", 1, 2, 64, [5001, 5002], [K1, K3]);
    clean("ipv6-icmp", &[&of(&a, "icmp"), &of(&b, "58")]);
    finds("ipv6-tcp", &[&of(&a, "tcp"), &of(&b, "58")], &["config-acl-mismatch"]);
}

/// One digit of a key is another.
fn slipped(key: &str) -> String {
    let digit = if key.ends_with('0') { '1' } else { '0' };
    format!("{}{digit}", &key[..key.len() - 1])
}

#[test]
fn a_wrong_key_beside_exchanged_spis_is_found_too() {
    for side in 0..2 {
        let mut texts = changed(side, "esp {in}", "esp 9999");
        texts[side] = texts[side]
            .replace(if side == 0 { "esp 8402" } else { "esp 7301" }, if side == 0 { "esp 7301" } else { "esp 8402" });
        texts[side] = texts[side].replace("esp 9999", if side == 0 { "esp 8402" } else { "esp 7301" });
        finds(&format!("exchanged-{side}"), &[&texts[0], &texts[1]], &["config-spi-mismatch"]);
        for wrong in 0..2 {
            let mut two = texts.clone();
            two[wrong] = two[wrong].replace(K1, &slipped(K1));
            let findings = finds(
                &format!("exchanged-key-{side}-{wrong}"),
                &[&two[0], &two[1]],
                &["config-key-mismatch", "config-spi-mismatch"],
            );
            let key = findings.iter().find(|finding| finding["code"] == "config-key-mismatch").expect("the key");
            assert_eq!(touched(std::slice::from_ref(key)), ["Avocet", "Heron"], "{key:#}");
        }
    }
}

#[test]
fn a_key_is_not_measured_by_a_transform_set_that_is_wrong() {
    for (set_side, host) in ["Heron", "Avocet"].into_iter().enumerate() {
        for key_side in 0..2 {
            let mut texts = pair();
            texts[set_side] = texts[set_side].replace("esp-aes esp-sha-hmac", "esp-aes 256 esp-sha256-hmac");
            texts[key_side] = texts[key_side].replace(K1, &slipped(K1));
            let findings = finds(
                &format!("set-{set_side}-{key_side}"),
                &[&texts[0], &texts[1]],
                &["config-key-mismatch", "config-transform-mismatch"],
            );
            let of = |code: &str| findings.iter().find(|finding| finding["code"] == code).expect("a finding");
            assert!(text(of("config-transform-mismatch"), "evidence").contains(&format!("The fault is on {host}")));
            let key = of("config-key-mismatch");
            assert!(text(key, "evidence").contains("Nothing given decides"), "{key:#}");
            assert_eq!(touched(std::slice::from_ref(key)), ["Avocet", "Heron"], "{key:#}");
        }
    }
}

#[test]
fn a_wrong_key_beside_a_wrong_spi_is_entered_at_both_ends_with_one_number() {
    for key_side in 0..2 {
        let mut texts = pair();
        texts[1] = texts[1].replace("outbound esp 7301", "outbound esp 7310");
        texts[key_side] = texts[key_side].replace(K1, &slipped(K1));
        let findings = finds(
            &format!("spi-key-{key_side}"),
            &[&texts[0], &texts[1]],
            &["config-key-mismatch", "config-spi-mismatch"],
        );
        let key = findings.iter().find(|finding| finding["code"] == "config-key-mismatch").expect("the key");
        assert_eq!(touched(std::slice::from_ref(key)), ["Avocet", "Heron"], "{key:#}");
        let lines = key["fix"].to_string();
        assert!(
            lines.contains("inbound esp 7301") && lines.contains("outbound esp 7301") && !lines.contains("7310"),
            "{lines}"
        );
        assert!(!text(key, "evidence").contains("finds the SA"), "{key:#}");
    }
}

#[test]
fn peers_that_are_exchanged_are_the_fault_and_nothing_else() {
    let entry = |number: u8, peer: u8, spis: [u16; 2], keys: [&str; 2], list: &str| {
        format!(
            "crypto map V {number} ipsec-manual\n set peer 203.0.113.{peer}\n set session-key inbound esp {} cipher {} authenticator {A1}\n \
             set session-key outbound esp {} cipher {} authenticator {A3}\n set transform-set T\n match address {list}\n",
            spis[0], keys[0], spis[1], keys[1]
        )
    };
    let hub = |peers: [u8; 2]| {
        "hostname Hub\ncrypto ipsec transform-set T esp-aes esp-sha-hmac\n".to_owned()
            + &entry(10, peers[0], [3001, 4001], [K1, K3], "S1")
            + &entry(20, peers[1], [3002, 4002], [K3, K1], "S2")
            + "interface Gi0/0\n ip address 203.0.113.1 255.255.255.0\n crypto map V\nip access-list extended S1\n permit ip 10.0.0.0 0.0.0.255 10.0.1.0 0.0.0.255\n\
               ip access-list extended S2\n permit ip 10.0.0.0 0.0.0.255 10.0.2.0 0.0.0.255\n"
    };
    let spoke = |n: u8, keys: [&str; 2]| {
        format!(
            "hostname Spoke{n}\ncrypto ipsec transform-set T esp-aes esp-sha-hmac\ncrypto map V 10 ipsec-manual\n set peer 203.0.113.1\n \
             set session-key inbound esp 400{n} cipher {} authenticator {A3}\n set session-key outbound esp 300{n} cipher {} authenticator {A1}\n \
             set transform-set T\n match address HUB\ninterface Gi0/0\n ip address 203.0.113.1{n} 255.255.255.0\n crypto map V\n\
             ip access-list extended HUB\n permit ip 10.0.{n}.0 0.0.0.255 10.0.0.0 0.0.0.255\n",
            keys[1], keys[0]
        )
    };
    let spokes = [spoke(1, [K1, K3]), spoke(2, [K3, K1])];
    clean("hub", &[&hub([11, 12]), &spokes[0], &spokes[1]]);
    let findings = finds("hub-exchanged", &[&hub([12, 11]), &spokes[0], &spokes[1]], &["config-peer-mismatch"]);
    assert_eq!(touched(&findings), ["Hub"], "{findings:#?}");
}

/// Two hosts with `setkey.conf`: what is changed in the second one's text.
fn setkey(change: impl Fn(String) -> String) -> [String; 2] {
    let text = |out: bool| {
        let (there, back) = if out { ("out", "in") } else { ("in", "out") };
        format!(
            "#!/usr/sbin/setkey -f\nflush;\nspdflush;\nadd 198.51.100.33 198.51.100.34 esp 0xee49 -m tunnel -E rijndael-cbc 0x{K1} -A hmac-sha1 0x{A1};\n\
             add 198.51.100.34 198.51.100.33 esp 0xee4a -m tunnel -E rijndael-cbc 0x{K3} -A hmac-sha1 0x{A3};\n\
             spdadd 10.61.1.0/24 10.61.2.0/24 any -P {there} ipsec esp/tunnel/198.51.100.33-198.51.100.34/require;\n\
             spdadd 10.61.2.0/24 10.61.1.0/24 any -P {back} ipsec esp/tunnel/198.51.100.34-198.51.100.33/require;\n"
        )
    };
    [text(true), change(text(false))]
}

#[test]
fn hosts_with_setkey_are_compared() {
    let of = |name: &str, change: &dyn Fn(String) -> String, codes: &[&str]| {
        let [a, b] = setkey(change);
        finds(&format!("setkey-{name}"), &[&a, &b], codes);
    };
    of("sound", &|text| text, &[]);
    of("flag", &|text| text.replace("add 198", "add -4 198"), &[]);
    of("flag-spi", &|text| text.replace("add 198", "add -4 198").replace("0xee49", "0xee47"), &["config-spi-mismatch"]);
    of("list", &|text| text.replace("10.61.1.0/24", "10.61.1.0/25"), &["config-acl-mismatch"]);
    // Keys of different algorithms are not compared.
    let other = format!("3des-cbc 0x{K1}{}", &K3[..16]);
    of(
        "cipher",
        &|text| text.replace(&format!("rijndael-cbc 0x{K1}"), &other),
        &["config-transform-mismatch", "weak-transform"],
    );
    // A quoted key is its octets.
    let hex: String = "abcdefghijklmnop".bytes().map(|b| format!("{b:02x}")).collect();
    let [a, b] = setkey(|text| text.replace(&format!("0x{K1}"), "\"abcdefghijklmnop\""));
    finds("setkey-quoted", &[&a.replace(K1, &hex), &b], &[]);
    finds("setkey-quoted-other", &[&a, &b], &["config-key-mismatch"]);
}

#[test]
fn openbsd_takes_a_hash_where_none_is_named() {
    let (long, other) = (format!("{A1}{}", &A3[..24]), format!("{A3}{}", &A1[..24]));
    let host = |near: &str, far: &str, own: u8, peer: u8, spis: &str, auth: &str, keys: [String; 2]| {
        format!(
            "flow esp from {near} to {far} local 198.51.100.{own} peer 198.51.100.{peer}\nesp from 198.51.100.{own} to 198.51.100.{peer} spi {spis} {auth} enc aes \\\n\
             \tauthkey {} \\\n\tenckey {}\n",
            keys[0], keys[1]
        )
    };
    let keys = |a: &str, b: &str| format!("0x{a}:0x{b}");
    let [lan, beyond] = ["10.61.1.0/24", "10.61.2.0/24"];
    let a = host(lan, beyond, 33, 34, "0x1001:0x1002", "", [keys(&long, &other), keys(K1, K3)]);
    let b =
        |far: &str, auth: &str| host(beyond, far, 34, 33, "0x1002:0x1001", auth, [keys(&other, &long), keys(K3, K1)]);
    finds("openbsd", &[&a, &b(lan, "auth hmac-sha2-256")], &[]);
    finds("openbsd-list", &[&a, &b("10.61.1.0/25", "")], &["config-acl-mismatch"]);
}

/// Two routers of Huawei: the lines of the proposal, of the list, and the kind of the policy.
fn huawei(name: &str, own: u8, far: u8, proposal: &str, acl: &str, keys: [(&str, u32, &str, &str); 2]) -> String {
    let keys: String = keys
        .iter()
        .map(|(way, spi, auth, enc)| {
            format!(" sa spi {way} esp {spi}\n sa authentication-hex {way} esp simple {auth}\n sa encryption-hex {way} esp simple {enc}\n")
        })
        .collect();
    format!(
        "#\n sysname {name}\n#\n{acl}\n rule 5 permit ip source 10.61.{own}.0 0.0.0.255 destination 10.61.{far}.0 0.0.0.255\n#\nipsec proposal PROP\n{proposal}#\n\
         ipsec policy LINK 10 manual\n security acl 3105\n proposal PROP\n tunnel local 198.51.100.{own}\n tunnel remote 198.51.100.{far}\n{keys}#\n\
         interface GigabitEthernet1/0/0\n ip address 198.51.100.{own} 255.255.255.0\n ipsec policy LINK\n#\nreturn\n"
    )
}

#[test]
fn what_a_proposal_of_huawei_leaves_out_is_not_known() {
    let (long, other) = (format!("{A1}{}", &A3[..24]), format!("{A3}{}", &A1[..24]));
    let a = |proposal: &str, acl: &str| {
        huawei("Amber", 33, 34, proposal, acl, [("inbound", 61_001, &long, K1), ("outbound", 61_002, &other, K3)])
    };
    let b = |proposal: &str| {
        huawei(
            "Birch",
            34,
            33,
            proposal,
            "acl number 3105",
            [("inbound", 61_002, &other, K3), ("outbound", 61_001, &long, K1)],
        )
    };
    let whole =
        " encapsulation-mode tunnel\n esp authentication-algorithm sha2-256\n esp encryption-algorithm aes-128\n";
    let number = "acl number 3105";
    finds("huawei", &[&a(whole, number), &b(whole)], &[]);
    finds("huawei-acl-name", &[&a(whole, "acl name VPNLIST 3105"), &b(whole)], &[]);
    for (n, proposal) in ["", " esp encryption-algorithm aes-128\n"].into_iter().enumerate() {
        let (findings, stderr) = said(&format!("huawei-default-{n}"), &[&a(proposal, number), &b(whole)]);
        assert!(loud(&findings).is_empty(), "{findings:#?}");
        assert!(stderr.contains("the proposal leaves algorithms"), "{stderr}");
    }
    finds(
        "huawei-mode",
        &[&a(&whole.replace("tunnel", "transport"), number), &b(whole)],
        &["config-transform-mismatch"],
    );
    let ike: String =
        a(whole, number).lines().filter(|line| !line.starts_with(" sa ")).map(|line| format!("{line}\n")).collect();
    finds("huawei-ike", &[&ike.replace("10 manual", "10 isakmp"), &b(whole)], &["config-keying-mismatch"]);
}

#[test]
fn bits_of_des_keys_that_are_not_used_make_no_other_key() {
    let des = |text: String| text.replace("esp-aes ", "esp-3des ").replace(K1, &format!("{K1}{}", &K3[..16]));
    let flipped = |key: &str, bit: u8| {
        let low = u8::from_str_radix(&key[key.len() - 1..], 16).expect("a digit") ^ bit;
        format!("{}{low:x}", &key[..key.len() - 1])
    };
    let [a, b] = pair().map(des);
    let key = format!("{K1}{}", &K3[..16]);
    for (bit, differs) in [(1, false), (2, true)] {
        let (findings, _) = said("parity", &[&a.replace(&key, &flipped(&key, bit)), &b]);
        assert_eq!(loud(&findings).contains(&"config-key-mismatch"), differs, "{findings:#?}");
    }
}

#[test]
fn a_list_without_a_line_filters_nothing() {
    let [a, b] = pair();
    let a = a.replace(" crypto map SITES\n!\ninterface", " ip access-group IN in\n crypto map SITES\n!\ninterface");
    let a = a
        .replace("ip access-list extended TO_OTHER", "ip access-list extended IN\n!\nip access-list extended TO_OTHER");
    assert!(a.contains("ip access-group IN in"));
    clean("empty-list", &[&a, &b]);
    let shut = a.replace("ip access-list extended IN\n", "ip access-list extended IN\n permit tcp any any\n");
    let (findings, _) = said("closed-list", &[&shut, &b]);
    assert!(loud(&findings).contains(&"config-acl-blocks"), "{findings:#?}");
}

#[test]
fn what_is_taken_out_again_is_said() {
    let [a, b] = pair();
    let line = "no crypto ipsec transform-set STRONGSET";
    let typed = a.replace("!\ninterface GigabitEthernet0/1", &format!("!\nexit\n{line}\ninterface GigabitEthernet0/1"));
    assert_ne!(typed, a);
    let (_, stderr) = said("undone", &[&typed, &b]);
    assert!(stderr.contains("`no` command"), "{line}: {stderr}");
    // A map that an interface carries stays.
    let typed = format!("{a}Heron(config)#no crypto map SITES\n");
    let (findings, stderr) = said("undone-map", &[&typed, &b]);
    assert!(loud(&findings).is_empty() && stderr.contains("`no` command"), "{findings:#?} {stderr}");
}

#[test]
fn a_map_that_was_taken_off_its_interface_is_on_none() {
    let [a, b] = pair();
    let off = a.replace(" crypto map SITES\n!\ninterface", " crypto map SITES\n no crypto map SITES\n!\ninterface");
    assert_ne!(off, a);
    finds("map-off", &[&off, &b], &["config-map-not-applied"]);
}

#[test]
fn a_state_that_could_not_be_read_is_not_missing() {
    let [near, far] = ["172.28.4.0/24", "172.28.5.0/24"];
    let script = |own: &str, peer: &str, near: &str, far: &str, key: &str| {
        let state = |src: &str, dst: &str, spi: &str, auth: &str, enc: &str| {
            format!(
                "ip xfrm state add src {src} dst {dst} proto esp spi {spi} mode tunnel reqid 7 auth-trunc 'hmac(sha1)' 0x{auth} 96 enc 'cbc(aes)' {enc}\n"
            )
        };
        let policy = |from: &str, to: &str, dir: &str, a: &str, b: &str| {
            format!(
                "ip xfrm policy add src {from} dst {to} dir {dir} tmpl src {a} dst {b} proto esp reqid 7 mode tunnel\n"
            )
        };
        let states = state("198.51.100.21", "198.51.100.22", "0x5001", A1, key)
            + &state("198.51.100.22", "198.51.100.21", "0x5002", A3, &format!("0x{K3}"));
        format!("K1=0x{K1}\n{states}")
            + &policy(near, far, "out", own, peer)
            + &policy(far, near, "in", peer, own)
            + &policy(far, near, "fwd", peer, own)
    };
    let a = script("198.51.100.21", "198.51.100.22", near, far, "$K1");
    let b = script("198.51.100.22", "198.51.100.21", far, near, &format!("0x{K1}"));
    let both = script("198.51.100.22", "198.51.100.21", far, near, "$K1");
    for (n, other) in [both, b].into_iter().enumerate() {
        let (findings, stderr) = said(&format!("variable-{n}"), &[&a, &other]);
        assert!(!loud(&findings).contains(&"config-state-missing"), "{findings:#?}");
        assert!(stderr.contains("shell variables"), "{stderr}");
    }
}

#[test]
fn what_is_known_and_not_compared_is_said() {
    let [a, b] = pair();
    let ike = a.replace("!\ncrypto map SITES", "!\ncrypto ikev2 keyring KEYS\n peer AVOCET\n  address 203.0.113.34\n  pre-shared-key secret\n!\ncrypto map SITES");
    let pfs = a.replace(" set transform-set", " set pfs group14\n set transform-set");
    for (name, text, what) in [
        ("keyring", ike, "not compared"),
        ("pfs", pfs, "`set pfs`"),
        ("twice", format!("{a}{a}"), "this host name again"),
    ] {
        let (_, stderr) = said(name, &[&text, &b]);
        assert!(stderr.contains(what), "{name}: {stderr}");
    }
}
