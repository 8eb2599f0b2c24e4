//! Lines that are not in force accuse nobody, and those that are in force are read, whatever stands beside them.

use serde_json::Value;

use crate::pairs::{A1, A2, A3, K1, K2, K3, lint, loud, pair, text, touched};

/// A map that both routers left behind on no interface, with keys and SPIs of its own.
#[test]
fn maps_that_both_ends_left_behind_are_no_errors() {
    let mut texts = pair();
    for (own, (far, spis, key)) in texts.iter_mut().zip([(34, [2001, 2002], K1), (33, [2009, 2008], K2)]) {
        let left = format!(
            "crypto map OLD 10 ipsec-manual\n set peer 203.0.113.{far}\n set session-key inbound esp {} cipher {key} authenticator {A1}\n \
             set session-key outbound esp {} cipher {key} authenticator {A2}\n set transform-set STRONGSET\n match address TO_OTHER\n!\n",
            spis[0], spis[1]
        );
        *own = own.replacen("interface GigabitEthernet0/0\n", &format!("{left}interface GigabitEthernet0/0\n"), 1);
    }
    let findings = lint("left-behind", &[&texts[0], &texts[1]]);
    assert!(loud(&findings).is_empty() && touched(&findings).is_empty(), "{findings:#?}");
}

/// A Junos router with one tunnel, in `set` commands.
fn junos(name: &str, [own, far]: [u8; 2], spi: u32) -> String {
    let begin = "set security ipsec vpn MAN manual";
    format!(
        "set system host-name {name}\nset interfaces ge-0/0/0 unit 0 family inet address 198.51.100.{own}/30\n\
         {begin} gateway 198.51.100.{far}\n{begin} external-interface ge-0/0/0.0\n{begin} protocol esp\n{begin} spi {spi}\n\
         {begin} authentication algorithm hmac-sha1-96\n{begin} authentication key hexadecimal {A3}\n\
         {begin} encryption algorithm aes-128-cbc\n{begin} encryption key hexadecimal {K3}\n"
    )
}

/// What one router deactivates is no matter of the router behind it in the same text, and what is activated again is in force.
#[test]
fn what_junos_deactivates_is_off_on_its_own_router_until_it_is_activated() {
    let (alder, birch) = (junos("Alder", [33, 34], 3_201), junos("Birch", [34, 33], 3_209));
    let off = "deactivate security ipsec vpn MAN\n";
    let codes = |name: &str, text: &str| -> Vec<Value> { lint(name, &[text]) };
    let both = codes("junos-both", &format!("{alder}{birch}"));
    assert!(loud(&both).contains(&"config-spi-mismatch"), "{both:#?}");
    let one = codes("junos-off", &format!("{alder}{off}{birch}"));
    assert!(loud(&one).is_empty(), "{one:#?}");
    let again = codes("junos-again", &format!("{alder}{off}activate security ipsec vpn MAN\n{birch}"));
    assert!(loud(&again).contains(&"config-spi-mismatch"), "{again:#?}");
    let third = junos("Cedar", [34, 33], 3_209).replace("198.51.100.", "192.0.2.");
    let fourth = junos("Dogwood", [33, 34], 3_201).replace("198.51.100.", "192.0.2.");
    let behind = codes("junos-behind", &format!("{alder}{off}{third}{fourth}"));
    assert!(loud(&behind).contains(&"config-spi-mismatch"), "{behind:#?}");
}

/// A Linux host with one state and its policy, as `ip -s xfrm` displays them.
fn linux(host: &str, more: &str, packets: u32, stats: &str, direction: &str) -> String {
    format!(
        "root@{host}:~# ip -s xfrm state\nsrc 198.51.100.1 dst 203.0.113.9\n\tproto esp spi 0x00001001(4097) reqid 1(0x00000001) mode tunnel\n\
         \treplay-window 32 seq 0x00000000 flag af-unspec (0x00100000)\n{more}\tauth-trunc hmac(sha1) 0x{A1} (160 bits) 96\n\
         \tenc cbc(aes) 0x{K1} (128 bits)\n\tanti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000\n\tlifetime current:\n\
         \t  {}(bytes), {packets}(packets)\n\t  add 2026-11-28 01:00:00 use -\n{stats}root@{host}:~# ip xfrm policy\n\
         src 10.1.0.0/24 dst 10.2.0.0/24\n\tdir {direction} priority 100 ptype main\n\ttmpl src 198.51.100.1 dst 203.0.113.9\n\
         \t\tproto esp reqid 1 mode tunnel\n",
        packets * 84
    )
}

/// A state with a mark is not found for packets without it, and a card that does the work counts itself.
#[test]
fn packets_that_a_state_cannot_count_are_not_lost_on_the_way() {
    let stats = "\tstats:\n\t  replay-window 0 replay 0 failed 0\n";
    let sender = linux("a", "", 100, stats, "out");
    let counters = |name: &str, more: &str, stats: &str| -> Option<Value> {
        let findings = lint(name, &[&sender, &linux("b", more, 0, stats, "in")]);
        findings.into_iter().find(|finding| text(finding, "code") == "sa-counters")
    };
    assert!(counters("marked", "\tmark 0x2a/0xffffffff\n", stats).is_none());
    assert!(counters("carded", "\tcrypto offload parameters: dev eth0 dir in mode packet\n", stats).is_none());
    let plain = counters("counted", "", stats).expect("it is said");
    assert!(text(&plain, "evidence").contains("0 received and 0 dropped"), "{plain}");
    assert!(text(&plain, "evidence").contains("XfrmInNoStates"), "{plain}");
    let silent = counters("no-stats", "", "").expect("it is said");
    assert!(!text(&silent, "evidence").contains("0 dropped"), "{silent}");
}
