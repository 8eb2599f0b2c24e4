//! Whose line is wrong where two routers state one thing differently: what the rest of both texts says, and nothing where it is level.

use crate::pairs::{A1, A2, A3, A4, K1, K2, K3, K4, changed, lint, loud, pair, text, touched};
use serde_json::Value;

const HOSTS: [&str; 2] = ["Heron", "Avocet"];

fn only<'f>(findings: &'f [Value], code: &str) -> &'f Value {
    assert_eq!(loud(findings), [code], "{findings:#?}");
    findings.iter().find(|finding| text(finding, "code") == code).expect("the finding")
}

/// One router's address of its WAN is mistyped: the other's `set peer` is right.
#[test]
fn an_interface_address_that_fits_no_neighbour_is_the_mistyped_one() {
    for (side, host) in HOSTS.iter().enumerate() {
        for wrong in ["203.0.131.{own}", "203.0.113.1{own}"] {
            let [a, b] = changed(side, "ip address 203.0.113.{own} ", &format!("ip address {wrong} "));
            let findings = lint(&format!("wan-{side}"), &[&a, &b]);
            let evidence = text(only(&findings, "config-peer-mismatch"), "evidence");
            assert!(evidence.contains(&format!("The fault is on {host}: the address of")), "{evidence}");
            assert_eq!(touched(&findings), [*host], "{findings:#?}");
        }
    }
}

/// In one large network either address fits: nothing decides without a route that names the other router.
#[test]
fn an_interface_address_against_a_peer_is_open_where_both_fit() {
    for side in 0..2 {
        let texts = changed(side, "ip address 203.0.113.{own} ", "ip address 203.0.113.1{own} ");
        let [a, b] = texts.map(|text| {
            let text = text.replace("255.255.255.192", "255.255.255.0");
            let lines = text.lines().map(|line| match line.split_once(" 203.0.113.") {
                Some((route, _)) if route.starts_with("ip route ") => "ip route 0.0.0.0 0.0.0.0 203.0.113.254",
                _ => line,
            });
            lines.collect::<Vec<_>>().join("\n")
        });
        let findings = lint(&format!("wan-open-{side}"), &[&a, &b]);
        let finding = only(&findings, "config-peer-mismatch");
        assert!(text(finding, "evidence").contains("not both"), "{finding:#}");
    }
}

/// A line for networks of which one is nowhere may be of no use; one for networks that are there is missing at the other end.
#[test]
fn a_further_line_is_missing_at_the_other_end_only_where_both_networks_are_known() {
    let line = "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255";
    for (side, host) in HOSTS.iter().enumerate() {
        let nowhere = format!("{line}\n permit ip 10.44.{{near}}.0 0.0.0.255 10.44.9.0 0.0.0.255");
        let [a, b] = changed(side, line, &nowhere);
        let findings = lint(&format!("further-{side}"), &[&a, &b]);
        let evidence = text(only(&findings, "config-acl-mismatch"), "evidence");
        assert!(evidence.contains("Nothing given decides"), "{evidence}");
        let known = |text: &str| {
            text.replace(
                "interface GigabitEthernet0/1\n",
                "interface GigabitEthernet0/2\n ip address 10.44.9.1 255.255.255.0\n!\ninterface GigabitEthernet0/1\n",
            )
        };
        let [a, b] = if side == 0 { [a, known(&b)] } else { [known(&a), b] };
        let findings = lint(&format!("further-known-{side}"), &[&a, &b]);
        assert_eq!(touched(&findings), [HOSTS[1 - side]], "{host}: {findings:#?}");
        assert!(text(only(&findings, "config-acl-mismatch"), "evidence").contains("it lacks a line"));
    }
}

/// The first line that fits a packet decides: what an earlier line covers is never reached.
#[test]
fn a_line_behind_one_that_covers_it_is_no_difference() {
    let line = "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255";
    for side in 0..2 {
        for more in [
            "permit tcp 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255",
            "permit icmp host 10.44.{near}.1 host 10.44.{far}.1",
        ] {
            let [a, b] = changed(side, line, &format!("{line}\n {more}"));
            assert!(loud(&lint(&format!("covered-{side}"), &[&a, &b])).is_empty());
        }
    }
}

/// A network against its halves: one of the two routers gets lines, and the other is the alternative.
#[test]
fn a_network_against_its_halves_accuses_nobody() {
    let line = "permit ip 10.44.{near}.0 0.0.0.255 10.44.{far}.0 0.0.0.255";
    let halves = "permit ip 10.44.{near}.0 0.0.0.127 10.44.{far}.0 0.0.0.255\n permit ip 10.44.{near}.128 0.0.0.127 10.44.{far}.0 0.0.0.255";
    for side in 0..2 {
        let [a, b] = changed(side, line, halves);
        let findings = lint(&format!("halves-{side}"), &[&a, &b]);
        let evidence = text(only(&findings, "config-acl-mismatch"), "evidence");
        assert!(evidence.contains("Nothing given decides") && !evidence.contains("The fault is"), "{evidence}");
        assert_eq!(touched(&findings).len(), 1, "{findings:#?}");
    }
}

/// Two entries of each router between the same ends, whose lists are exchanged on one.
#[test]
fn lists_of_two_entries_that_are_exchanged_are_one_finding() {
    let second = |text: &str, lan: u8, remote: u8, keys: [(&str, u32, &str, &str); 2]| {
        let peer = if text.contains("set peer 203.0.113.34") { 34 } else { 33 };
        let lines: String = keys
            .iter()
            .map(|(way, spi, k, a)| format!(" set session-key {way} esp {spi} cipher {k} authenticator {a}\n"))
            .collect();
        let entry = format!(
            "crypto map SITES 20 ipsec-manual\n set peer 203.0.113.{peer}\n{lines} set transform-set STRONGSET\n match address TO_LAB\n!\ninterface GigabitEthernet0/0\n"
        );
        let list = format!(
            "ip access-list extended TO_LAB\n permit ip 10.45.{lan}.0 0.0.0.255 10.45.{remote}.0 0.0.0.255\n!\nend\n"
        );
        text.replace("interface GigabitEthernet0/0\n", &entry).replace("end\n", &list)
    };
    let [a, b] = pair();
    let a = second(&a, 5, 6, [("inbound", 7303, K3, A3), ("outbound", 8404, K4, A4)]);
    let b = second(&b, 6, 5, [("inbound", 8404, K4, A4), ("outbound", 7303, K3, A3)]);
    assert!(loud(&lint("two-entries", &[&a, &b])).is_empty());
    let exchanged = |text: &str| {
        text.replace("match address TO_OTHER", "match address X")
            .replace("match address TO_LAB", "match address TO_OTHER")
            .replace("match address X", "match address TO_LAB")
    };
    for (name, a, b) in [("first", exchanged(&a), b.clone()), ("second", a.clone(), exchanged(&b))] {
        let findings = lint(&format!("lists-exchanged-{name}"), &[&a, &b]);
        let evidence = text(only(&findings, "config-acl-mismatch"), "evidence");
        assert!(evidence.contains("exchanged on one of the two") && !evidence.contains("The fault is"), "{evidence}");
        assert_eq!(touched(&findings).len(), 1, "{findings:#?}");
    }
}

/// Of a transform set that was not pasted nothing is known, not that it lacks ESP.
#[test]
fn a_transform_set_that_was_not_given_has_whatever_it_has() {
    for side in 0..2 {
        let texts = changed(side, "set session-key outbound esp {out}", "set session-key outbound esp 9{out}");
        let bare =
            |text: &str| text.replace("crypto ipsec transform-set STRONGSET esp-aes esp-sha-hmac\n mode tunnel\n", "");
        let [a, b] = texts.map(|text| bare(&text));
        let findings = lint(&format!("no-sets-{side}"), &[&a, &b]);
        let finding =
            findings.iter().find(|finding| text(finding, "code") == "config-spi-mismatch").expect("a finding");
        assert!(!text(finding, "evidence").contains("no ESP"), "{finding:#}");
    }
}

/// The outbound line is the inbound one once more, SPI and keys.
#[test]
fn a_line_that_repeats_the_other_one_is_the_wrong_one() {
    let (from, to) =
        ("outbound esp {out} cipher {kout} authenticator {aout}", "outbound esp {in} cipher {kin} authenticator {ain}");
    for (side, host) in HOSTS.iter().enumerate() {
        let [a, b] = changed(side, from, to);
        let findings = lint(&format!("repeated-{side}"), &[&a, &b]);
        assert_eq!(touched(&findings), [*host], "{findings:#?}");
    }
    // One number and one key both ways may be meant: then a slip in it is nobody's by that.
    let both = |text: &str| text.replace("8402", "7301").replace(K2, K1).replace(A2, A1);
    let [a, b] = pair().map(|text| both(&text));
    let slipped = b.replacen("inbound esp 7301", "inbound esp 7310", 1);
    let findings = lint("repeated-meant", &[&a, &slipped]);
    let finding = findings.iter().find(|finding| text(finding, "code") == "config-spi-mismatch").expect("a finding");
    assert!(text(finding, "evidence").contains("Nothing given decides"), "{finding:#}");
}

/// A line that the router refused is not in force, and hides none that is.
#[test]
fn a_refused_line_is_none() {
    let line = " match address TO_OTHER\n";
    for refusal in ["       ^\n% Invalid input detected at '^' marker.\n\n", "% Incomplete command.\n\n"] {
        let refused = format!("{line} set session-key outbound esp 0x77\n{refusal}");
        let [a, b] = changed(0, line, &refused);
        let findings = lint("refused", &[&a, &b]);
        assert!(loud(&findings).is_empty(), "{findings:#?}");
    }
}

/// AH covers the addresses, so that no NAT explains a peer that is nothing like the other router's address.
#[test]
fn a_peer_of_ah_is_not_behind_a_translation() {
    for side in 0..2 {
        let texts = changed(side, "set peer 203.0.113.{peer}", "set peer 198.18.7.201");
        let [a, b] = texts.map(|text| text.replace("esp-aes esp-sha-hmac", "ah-sha-hmac esp-aes esp-sha-hmac"));
        let findings = lint(&format!("ah-nat-{side}"), &[&a, &b]);
        assert!(loud(&findings).contains(&"config-peer-mismatch"), "{findings:#?}");
    }
}

/// A display of a flow with packets of one way only.
#[test]
fn packets_that_arrive_and_get_no_answer_are_told() {
    let show = |host: &str, own: u8, far: u8, lan: u8, remote: u8, encaps: u32, decaps: u32| {
        format!(
            "{host}#show crypto ipsec sa\n\ninterface: GigabitEthernet0/0\n    Crypto map tag: SITES, local addr 203.0.113.{own}\n\n   \
             local  ident (addr/mask/prot/port): (10.44.{lan}.0/255.255.255.0/0/0)\n   \
             remote ident (addr/mask/prot/port): (10.44.{remote}.0/255.255.255.0/0/0)\n   current_peer 203.0.113.{far} port 500\n    \
             #pkts encaps: {encaps}, #pkts encrypt: {encaps}, #pkts digest: {encaps}\n    \
             #pkts decaps: {decaps}, #pkts decrypt: {decaps}, #pkts verify: {decaps}\n    #send errors 0, #recv errors 0\n\n     \
             local crypto endpt.: 203.0.113.{own}, remote crypto endpt.: 203.0.113.{far}\n"
        )
    };
    let there = show("Heron", 33, 34, 5, 6, 500, 0);
    let findings = lint("one-way", &[&there, &show("Avocet", 34, 33, 6, 5, 0, 500)]);
    assert!(
        text(only(&findings, "sa-counters"), "evidence")
            .contains("Avocet decrypts what arrives and sends nothing back")
    );
    let findings =
        lint("both-ways", &[&show("Heron", 33, 34, 5, 6, 500, 480), &show("Avocet", 34, 33, 6, 5, 480, 500)]);
    assert!(loud(&findings).is_empty(), "{findings:#?}");
}
