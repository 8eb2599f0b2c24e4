//! Two Linux hosts: lines that were exchanged, a NAT between them, policies that select the same in other words, and setkey beside them.

use crate::pairs::{lint, loud, text, touched};
use serde_json::Value;

const FIRST: (&str, &str) =
    ("48a74eafe4e1200d01832fb13c3baa431eed09cdb56fb0aa2c69f7421de38f23", "28458121f5fba04d2f0a53327bc696df");
const SECOND: (&str, &str) =
    ("4dd181e98aff78cf7bc8121a42653f2ad5f254f308f3c769e57a35e3de2920c1", "55a3531f097ba6ad5ef832a8cd93f1d8");

/// Ports of UDP encapsulation.
type Ports = Option<(u16, u16)>;

fn state(src: &str, dst: &str, spi: u32, (auth, enc): (&str, &str), ports: Ports) -> String {
    let encap = ports
        .map_or_else(String::new, |(from, to)| format!("\tencap type espinudp sport {from} dport {to} addr 0.0.0.0\n"));
    format!(
        "src {src} dst {dst}\n\tproto esp spi 0x{spi:08x} reqid 1 mode tunnel\n\treplay-window 32\n\tauth-trunc hmac(sha256) 0x{auth} 128\n\t\
         enc cbc(aes) 0x{enc}\n{encap}"
    )
}

fn policy(src: &str, dst: &str, way: &str, from: &str, to: &str) -> String {
    format!(
        "src {src} dst {dst}\n\tdir {way} priority 0\n\ttmpl src {from} dst {to}\n\t\tproto esp reqid 1 mode tunnel\n"
    )
}

/// A host with the three policies of a tunnel.
fn host(name: &str, states: &[String], [own, far]: [&str; 2], [near, remote]: [&str; 2]) -> String {
    let policies = [
        policy(near, remote, "out", own, far),
        policy(remote, near, "fwd", far, own),
        policy(remote, near, "in", far, own),
    ];
    format!("root@{name}:~# ip xfrm state\n{}root@{name}:~# ip xfrm policy\n{}", states.concat(), policies.concat())
}

const LANS: [&str; 2] = ["172.16.1.0/24", "172.16.2.0/24"];
const BACK: [&str; 2] = ["172.16.2.0/24", "172.16.1.0/24"];

/// Hosts without a NAT; `out` and `back` are SPI and keys that the second host has for the two directions.
fn plain(out: (u32, (&str, &str)), back: (u32, (&str, &str))) -> [String; 2] {
    let (a, b) = ("198.51.100.1", "198.51.100.2");
    let near = [state(a, b, 0x1101, FIRST, None), state(b, a, 0x2202, SECOND, None)];
    let far = [state(a, b, out.0, out.1, None), state(b, a, back.0, back.1, None)];
    [host("gw-a", &near, [a, b], LANS), host("gw-b", &far, [b, a], BACK)]
}

/// Hosts with a NAT before the first: each has its SPIs, and the ports of its UDP encapsulation, outbound first.
fn natted(near: [u32; 2], far: [u32; 2], near_ports: [Ports; 2], far_ports: [Ports; 2]) -> [String; 2] {
    let (a, known, b) = ("10.0.0.5", "203.0.113.7", "198.51.100.2");
    let own = [state(a, b, near[0], FIRST, near_ports[0]), state(b, a, near[1], SECOND, near_ports[1])];
    let theirs = [state(known, b, far[0], FIRST, far_ports[0]), state(b, known, far[1], SECOND, far_ports[1])];
    [host("gw-a", &own, [a, b], LANS), host("gw-b", &theirs, [b, known], BACK)]
}

const INSIDE: [Ports; 2] = [Some((4500, 4500)), Some((4500, 4500))];
const OUTSIDE: [Ports; 2] = [Some((32768, 4500)), Some((4500, 32768))];

fn found(name: &str, [a, b]: &[String; 2]) -> Vec<Value> {
    let turned = lint(&format!("hosts-{name}-turned"), &[b, a]);
    let findings = lint(&format!("hosts-{name}"), &[a, b]);
    assert_eq!(loud(&findings).len(), loud(&turned).len(), "{name}: {findings:#?}");
    findings
}

fn lines(finding: &Value) -> Vec<&str> {
    let fixes = finding["fix"].as_array().expect("fixes").iter();
    fixes.flat_map(|fix| fix["lines"].as_array().expect("lines")).map(|line| line.as_str().expect("a line")).collect()
}

#[test]
fn states_of_which_only_the_addresses_were_exchanged_are_one_finding_about_no_key() {
    assert!(loud(&found("sound", &plain((0x1101, FIRST), (0x2202, SECOND)))).is_empty());
    for (name, out, back) in
        [("lines", (0x2202, SECOND), (0x1101, FIRST)), ("numbers", (0x2202, FIRST), (0x1101, SECOND))]
    {
        let findings = found(name, &plain(out, back));
        assert_eq!(loud(&findings), ["config-spi-mismatch"], "{name}: {findings:#?}");
        assert_eq!(touched(&findings).len(), 1, "{name}: {findings:#?}");
        assert!(text(&findings[0], "evidence").contains("exchanged on one of the two"), "{findings:#?}");
        assert_eq!(text(&findings[0], "evidence").contains("keys were exchanged"), name == "lines", "{findings:#?}");
    }
}

#[test]
fn a_fault_beside_a_nat_is_found_under_both_addresses() {
    let spis = [0xc0de02, 0xc0de01];
    assert!(loud(&found("nat", &natted(spis, spis, INSIDE, OUTSIDE))).is_empty());
    for (name, near) in [("nat-out", [0xc0de22, 0xc0de01]), ("nat-in", [0xc0de02, 0xc0de31])] {
        let findings = found(name, &natted(near, spis, INSIDE, OUTSIDE));
        assert_eq!(loud(&findings), ["config-spi-mismatch"], "{name}: {findings:#?}");
        assert!(text(&findings[0], "evidence").contains("gw-b knows 10.0.0.5 as 203.0.113.7"), "{findings:#?}");
    }
}

/// The end without UDP encapsulation lacks it, and no line gives the far gateway an address that only the near one has.
#[test]
fn encapsulation_that_is_missing_beside_a_nat_is_missing_where_it_is_not() {
    let spis = [0xc0de02, 0xc0de01];
    for (name, near, far, wrong) in [
        ("encap-near", [None; 2], OUTSIDE, "gw-a"),
        ("encap-far", INSIDE, [None; 2], "gw-b"),
        ("encap-one", [None, INSIDE[1]], OUTSIDE, "gw-a"),
    ] {
        let findings = found(name, &natted(spis, spis, near, far));
        assert!(loud(&findings).iter().all(|code| *code == "config-encap-mismatch"), "{name}: {findings:#?}");
        // The port that the NAT makes is not known to the gateway's text.
        let expected: &[&str] = if wrong == "gw-a" { &["gw-a"] } else { &[] };
        assert_eq!(touched(&findings), expected, "{name}: {findings:#?}");
        assert!(findings.iter().all(|one| text(one, "evidence").contains(&format!("{wrong}'s state is at fault"))));
        for line in findings.iter().flat_map(lines) {
            assert!(wrong == "gw-a" || !line.contains("10.0.0.5"), "{name}: {line}");
            assert!(wrong == "gw-b" || line.contains("delete") || line.contains("4500 4500"), "{name}: {line}");
        }
    }
}

#[test]
fn policies_that_select_the_same_packets_together_do_not_differ() {
    let [a, b] = plain((0x1101, FIRST), (0x2202, SECOND));
    let policies = |name: &str, nets: &[[&str; 2]], [own, far]: [&str; 2]| {
        let all = nets.iter().map(|[near, remote]| {
            [
                policy(near, remote, "out", own, far),
                policy(remote, near, "fwd", far, own),
                policy(remote, near, "in", far, own),
            ]
            .concat()
        });
        format!("root@{name}:~# ip xfrm policy\n{}", all.collect::<String>())
    };
    let halves =
        policies("gw-a", &[["172.16.1.0/25", LANS[1]], ["172.16.1.128/25", LANS[1]]], ["198.51.100.1", "198.51.100.2"]);
    let states = a.split("root@gw-a:~# ip xfrm policy").next().expect("states").to_owned();
    let findings = found("halves", &[states + &halves, b.clone()]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
    // What arrives may be more than what the peer sends.
    let wider = b.replace("src 172.16.1.0/24 dst 172.16.2.0/24", "src 172.16.0.0/16 dst 172.16.2.0/24");
    let findings = found("wider", &[a, wider]);
    assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{findings:#?}");
}

/// setkey names no length of the ICV of SHA2-256: that of Linux is 96 bits.
#[test]
fn setkey_leaves_the_length_of_an_icv_to_its_kernel() {
    let [_, b] = plain((0x1101, FIRST), (0x2202, SECOND));
    let add = |src: &str, dst: &str, spi: u32, (auth, enc): (&str, &str)| {
        format!("add {src} {dst} esp 0x{spi:x} -m tunnel -E rijndael-cbc 0x{enc} -A hmac-sha256 0x{auth};\n")
    };
    let typed = format!(
        "#!/usr/sbin/setkey -f\nflush;\n{}{}",
        add("198.51.100.1", "198.51.100.2", 0x1101, FIRST),
        add("198.51.100.2", "198.51.100.1", 0x2202, SECOND)
    );
    for length in ["96", "128"] {
        let states =
            b.split("root@gw-b:~# ip xfrm policy").next().expect("states").replace(" 128\n", &format!(" {length}\n"));
        let findings = found(&format!("setkey-{length}"), &[typed.clone(), states]);
        assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{length}: {findings:#?}");
    }
}

/// A router of IOS against a Linux host: its access list against the policies.
#[test]
fn an_access_list_is_compared_with_the_policies_of_a_kernel() {
    let [_, b] = plain((0x1101, FIRST), (0x2202, SECOND));
    let router = |far: &str| {
        let key = |way: &str, spi: u32, (auth, enc): (&str, &str)| {
            format!(" set session-key {way} esp {spi} cipher {enc} authenticator {auth}\n")
        };
        format!(
            "hostname RTR\n!\ncrypto ipsec transform-set TS esp-aes esp-sha256-hmac\n mode tunnel\n!\ncrypto map CM 10 ipsec-manual\n \
             set peer 198.51.100.2\n{}{} set transform-set TS\n match address VPN\n!\ninterface GigabitEthernet0/0\n \
             ip address 198.51.100.1 255.255.255.252\n crypto map CM\n!\ninterface GigabitEthernet0/1\n \
             ip address 172.16.1.1 255.255.255.0\n!\nip route 0.0.0.0 0.0.0.0 198.51.100.2\n!\nip access-list extended VPN\n \
             permit ip 172.16.1.0 0.0.0.255 {far}\n!\nend\n",
            key("inbound", 0x2202, SECOND),
            key("outbound", 0x1101, FIRST)
        )
    };
    let findings = found("ios-same", &[router("172.16.2.0 0.0.0.255"), b.clone()]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
    for (name, far) in [("ios-other", "172.16.22.0 0.0.0.255"), ("ios-any", "any")] {
        let findings = found(name, &[router(far), b.clone()]);
        assert_eq!(loud(&findings), ["config-acl-mismatch"], "{name}: {findings:#?}");
        assert!(touched(&findings).is_empty(), "{name}: {findings:#?}");
    }
}

/// Keys that were replaced by zeros before a text was given away are not other keys.
#[test]
fn zeros_in_place_of_keys_accuse_nobody() {
    let [a, b] = plain((0x1101, FIRST), (0x2202, SECOND));
    let zeros =
        [FIRST.0, FIRST.1, SECOND.0, SECOND.1].iter().fold(a, |text, key| text.replace(key, &"0".repeat(key.len())));
    let findings = found("zeros", &[zeros, b]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
}
