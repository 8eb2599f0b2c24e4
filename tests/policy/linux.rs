//! Linux hosts: what `spiglass check --config` says of `ip xfrm state` and `ip xfrm policy`, and what it must not say.

use std::collections::BTreeSet;

use crate::support::spiglass;
use serde_json::Value;

/// A pair of gateways, 192.0.2.17 (alfa) and 192.0.2.18 (bravo), by the blocks of their listings.
#[derive(Clone)]
struct Pair {
    hosts: Vec<(&'static str, Vec<String>, Vec<String>)>,
}

const KEYS: [(&str, &str); 2] = [
    ("0x6187cf7757a7cf4163291bed87499fdd9177bd65", "0x23437f7dc71f0d61bf4793eb0101eda7"),
    ("0xa16587617b978d7b6b0b71c7a585d3c9031171c9", "0x5b1fa3c58d5fb1714da52707876bdb79"),
];
const SECOND_KEYS: [(&str, &str); 2] = [
    ("0x0f1e2d3c4b5a69788796a5b4c3d2e1f001122334", "0x2b7e151628aed2a6abf7158809cf4f3c"),
    ("0x99887766554433221100ffeeddccbbaa00112233", "0x603deb1015ca71be2b73aef0857d7781"),
];
const OUT: usize = 0;
const IN: usize = 1;
const FWD: usize = 2;

fn state(src: &str, dst: &str, spi: u32, (auth, enc): (&str, &str)) -> String {
    format!(
        "src {src} dst {dst}\n\tproto esp spi {spi:#010x} reqid 10 mode tunnel\n\treplay-window 32\n\tauth-trunc hmac(sha1) {auth} 96\n\
         \tenc cbc(aes) {enc}\n\tsel src 0.0.0.0/0 dst 0.0.0.0/0\n"
    )
}

fn policy(src: &str, dst: &str, direction: &str, from: &str, to: &str) -> String {
    format!(
        "src {src} dst {dst} \n\tdir {direction} priority 0 \n\ttmpl src {from} dst {to}\n\t\tproto esp reqid 10 mode tunnel\n"
    )
}

impl Pair {
    fn new() -> Self {
        let (a, b, lan_a, lan_b) = ("192.0.2.17", "192.0.2.18", "10.20.1.0/24", "10.20.2.0/24");
        let [there, back] = KEYS;
        let of = |own, far, near, beyond, out, inward| {
            let states = match own == a {
                true => vec![state(own, far, 0x1006, out), state(far, own, 0x14be, inward)],
                false => vec![state(own, far, 0x14be, out), state(far, own, 0x1006, inward)],
            };
            let policies = vec![
                policy(near, beyond, "out", own, far),
                policy(beyond, near, "in", far, own),
                policy(beyond, near, "fwd", far, own),
            ];
            (states, policies)
        };
        let (alfa, bravo) = (of(a, b, lan_a, lan_b, there, back), of(b, a, lan_b, lan_a, back, there));
        Self { hosts: vec![("alfa", alfa.0, alfa.1), ("bravo", bravo.0, bravo.1)] }
    }

    /// Changes all hosts' blocks.
    fn everywhere(mut self, old: &str, new: &str) -> Self {
        for (_, states, policies) in &mut self.hosts {
            states.iter_mut().chain(policies).for_each(|block| *block = block.replace(old, new));
        }
        self
    }

    fn state(mut self, host: usize, at: usize, old: &str, new: &str) -> Self {
        let block = &mut self.hosts[host].1[at];
        assert!(block.contains(old), "{old} in {block}");
        *block = block.replacen(old, new, 1);
        self
    }

    fn policy(mut self, host: usize, at: usize, old: &str, new: &str) -> Self {
        let block = &mut self.hosts[host].2[at];
        assert!(block.contains(old), "{old} in {block}");
        *block = block.replacen(old, new, 1);
        self
    }

    fn texts(&self) -> Vec<String> {
        let text = |(host, states, policies): &(&str, Vec<String>, Vec<String>)| {
            let part = |what: &str, blocks: &[String]| match blocks {
                [] => String::new(),
                blocks => format!("root@{host}:~# ip -s xfrm {what}\n{}", blocks.concat()),
            };
            part("state", states) + &part("policy", policies)
        };
        self.hosts.iter().map(text).collect()
    }

    fn findings(&self, name: &str) -> Vec<Value> {
        findings(name, &self.texts())
    }
}

fn findings(name: &str, texts: &[String]) -> Vec<Value> {
    let mut words = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for (number, text) in texts.iter().enumerate() {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("linux-{name}-{number}.txt"));
        std::fs::write(&path, text).expect("a file can be written");
        words.extend(["--config".to_owned(), path.to_str().expect("a path of text").to_owned()]);
    }
    let report = spiglass(&words.iter().map(String::as_str).collect::<Vec<_>>()).json();
    report["findings"].as_array().expect("findings").clone()
}

/// Codes of errors and warnings.
fn loud(findings: &[Value]) -> BTreeSet<&str> {
    let loud = findings.iter().filter(|finding| finding["severity"] != "note");
    loud.map(|finding| finding["code"].as_str().expect("a code")).collect()
}

/// Hosts that get lines to type.
fn accused(findings: &[Value]) -> BTreeSet<&str> {
    let fixes = findings.iter().flat_map(|finding| finding["fix"].as_array().expect("lines"));
    fixes.map(|fix| fix["host"].as_str().expect("a host")).collect()
}

/// One code is found, and one host gets lines.
fn fault(name: &str, pair: &Pair, code: &str, host: &str) -> Value {
    let found = pair.findings(name);
    assert_eq!(loud(&found), BTreeSet::from([code]), "{name}: {found:#?}");
    assert_eq!(accused(&found), BTreeSet::from([host]), "{name}: {found:#?}");
    found.into_iter().find(|finding| finding["code"] == code).expect("the finding")
}

fn clean(name: &str, pair: &Pair) {
    let found = pair.findings(name);
    assert!(loud(&found).is_empty() && accused(&found).is_empty(), "{name}: {found:#?}");
}

fn lines(finding: &Value) -> Vec<&str> {
    let fixes = finding["fix"].as_array().expect("fixes");
    fixes
        .iter()
        .flat_map(|fix| fix["lines"].as_array().expect("lines"))
        .map(|line| line.as_str().expect("text"))
        .collect()
}

#[test]
fn a_sound_pair_is_clean_in_every_form() {
    let pair = Pair::new;
    clean("sound", &pair());
    clean("ipv6", &pair().everywhere("192.0.2.17", "2001:db8::1").everywhere("192.0.2.18", "2001:db8::2"));
    clean("esn", &pair().everywhere("replay-window 32", "replay-window 0 flag esn"));
    let encap = "encap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n\tsel";
    clean("udp", &pair().everywhere("sel", encap));
    clean("if-id", &pair().everywhere("sel", "if_id 0x7\n\tsel").everywhere("tmpl", "if_id 0x7\n\ttmpl"));
    // Each of these is one host's own affair.
    clean("window", &pair().state(0, OUT, "replay-window 32", "replay-window 0"));
    clean("tfc", &pair().state(0, OUT, "sel", "tfcpad 1400\n\tsel"));
    clean("offload", &pair().state(0, OUT, "sel", "crypto offload parameters: dev eth0 dir out\n\tsel"));
    clean("narrow", &pair().state(0, IN, "sel src 0.0.0.0/0 dst 0.0.0.0/0", "sel src 10.20.2.0/24 dst 10.20.1.0/24"));
    clean("reqid-0", &pair().policy(0, IN, "reqid 10", "reqid 0").policy(0, FWD, "reqid 10", "reqid 0"));
    clean(
        "mark",
        &pair().policy(0, OUT, "\ttmpl", "\tmark 0x5/0xff\n\ttmpl").state(0, OUT, "sel", "mark 0x5/0xff\n\tsel"),
    );
    clean("mark-of-the-policy", &pair().policy(0, OUT, "\ttmpl", "\tmark 0x5/0xff\n\ttmpl"));
    let larval = "src 192.0.2.17 dst 192.0.2.18\n\tproto esp spi 0x00000000 reqid 10 mode tunnel\n\treplay-window 0 \n"
        .to_owned();
    let mut with = pair();
    with.hosts[0].1.push(larval);
    clean("larval", &with);
    let mut with = pair();
    with.hosts[0].2.push("src 0.0.0.0/0 dst 0.0.0.0/0 \n\tsocket in priority 0 ptype main \n".to_owned());
    clean("socket", &with);
    let mut with = pair();
    with.hosts[0].2.push("src 10.20.1.0/24 dst 10.20.2.0/24 proto tcp dport 22 \n\tdir out priority 0 \n".to_owned());
    clean("exception", &with);
}

#[test]
fn what_was_not_pasted_is_not_missing() {
    for (name, states, policies) in [("states", true, false), ("policies", false, true)] {
        for both in [true, false] {
            let mut pair = Pair::new();
            for (_, of_states, of_policies) in pair.hosts.iter_mut().take(if both { 2 } else { 1 }) {
                if !states {
                    of_states.clear();
                }
                if !policies {
                    of_policies.clear();
                }
            }
            clean(&format!("only-{name}-{both}"), &pair);
        }
    }
    let mut pair = Pair::new();
    pair.hosts.pop();
    clean("one-host", &pair);
}

#[test]
fn an_sa_that_is_being_rekeyed_is_not_missing_at_the_peer() {
    for (at, spi) in [(OUT, "0x00001006"), (IN, "0x000014be")] {
        let mut pair = Pair::new();
        let old = pair.hosts[0].1[at].replace(spi, "0x0c0ffee1");
        pair.hosts[0].1.push(old);
        clean(&format!("rekey-{at}"), &pair);
    }
}

#[test]
fn hosts_in_transport_mode_need_no_forward_policy() {
    let pair = Pair::new()
        .everywhere("10.20.1.0/24", "192.0.2.17/32")
        .everywhere("10.20.2.0/24", "192.0.2.18/32")
        .everywhere("mode tunnel", "mode transport")
        .everywhere("tmpl src 192.0.2.17 dst 192.0.2.18", "tmpl src 0.0.0.0 dst 0.0.0.0")
        .everywhere("tmpl src 192.0.2.18 dst 192.0.2.17", "tmpl src 0.0.0.0 dst 0.0.0.0");
    let mut without = pair.clone();
    without.hosts.iter_mut().for_each(|(_, _, policies)| policies.truncate(2));
    clean("transport", &without);
    // Hosts at the ends of a tunnel that forward nothing.
    let mut ends = Pair::new().everywhere("10.20.1.0/24", "10.9.9.1/32").everywhere("10.20.2.0/24", "10.9.9.2/32");
    ends.hosts.iter_mut().for_each(|(_, _, policies)| policies.truncate(2));
    clean("ends", &ends);
    let mut no_out = without.clone();
    no_out.hosts[1].2.remove(OUT);
    fault("transport-no-out", &no_out, "config-policy-missing", "bravo");
}

#[test]
fn a_template_that_no_state_answers_is_corrected_where_it_disagrees_with_the_rest() {
    for (host, name, peer) in [(0, "alfa", "192.0.2.18"), (1, "bravo", "192.0.2.17")] {
        let reqid = Pair::new().policy(host, OUT, "reqid 10", "reqid 7007");
        let found = fault(&format!("reqid-{name}"), &reqid, "config-reqid-mismatch", name);
        assert!(lines(&found)[0].starts_with("ip xfrm policy update "), "{found}");
        let reqid = Pair::new().state(host, IN, "reqid 10", "reqid 7007");
        let found = fault(&format!("reqid-of-the-state-{name}"), &reqid, "config-reqid-mismatch", name);
        assert!(lines(&found)[1].contains(" reqid 10 "), "{found}");
        let mark = Pair::new().state(host, OUT, "sel", "mark 0x5/0xffffffff\n\tsel");
        fault(&format!("mark-{name}"), &mark, "config-mark-mismatch", name);
        let if_id = Pair::new().state(host, OUT, "sel", "if_id 0x2a\n\tsel");
        fault(&format!("if-id-{name}"), &if_id, "config-if-id-mismatch", name);
        let mode = Pair::new().state(host, OUT, "mode tunnel", "mode transport");
        let found = fault(&format!("mode-{name}"), &mode, "config-template-mismatch", name);
        assert!(lines(&found)[0].starts_with("ip xfrm state delete "), "{found}");
        let mode = Pair::new().policy(host, OUT, "mode tunnel", "mode transport");
        let found = fault(&format!("mode-of-the-template-{name}"), &mode, "config-template-mismatch", name);
        assert!(lines(&found)[0].starts_with("ip xfrm policy update "), "{found}");
        let protocol = Pair::new().policy(host, OUT, "proto esp", "proto ah");
        fault(&format!("protocol-{name}"), &protocol, "config-template-mismatch", name);
        let wrong = format!("{}9", &peer[..peer.len() - 1]);
        for (at, old) in
            [(OUT, format!("dst {peer}\n")), (IN, format!("tmpl src {peer}")), (FWD, format!("tmpl src {peer}"))]
        {
            let address = Pair::new().policy(host, at, &old, &old.replace(peer, &wrong));
            fault(&format!("address-{at}-{name}"), &address, "config-template-mismatch", name);
        }
        let address = Pair::new().state(host, OUT, &format!("dst {peer}\n"), &format!("dst {wrong}\n"));
        let found = fault(&format!("destination-{name}"), &address, "config-template-mismatch", name);
        assert!(lines(&found)[1].contains(&format!(" dst {peer} ")), "{found}");
    }
}

#[test]
fn a_policy_that_faces_the_wrong_way_is_turned() {
    let exchanged =
        Pair::new().policy(0, OUT, "tmpl src 192.0.2.17 dst 192.0.2.18", "tmpl src 192.0.2.18 dst 192.0.2.17");
    fault("exchanged", &exchanged, "config-template-mismatch", "alfa");
    let mut direction = Pair::new().policy(1, OUT, "dir out", "dir fwd");
    direction.hosts[1].2.remove(FWD);
    direction.hosts[1].2.push(Pair::new().hosts[1].2[FWD].clone());
    let found = fault("direction", &direction, "config-policy-missing", "bravo");
    assert!(lines(&found).iter().any(|line| line.contains(" dir out ")), "{found}");
}

#[test]
fn a_missing_policy_or_state_is_told_at_the_host_that_lacks_it() {
    for (host, name) in [(0, "alfa"), (1, "bravo")] {
        for at in [OUT, IN, FWD] {
            let mut pair = Pair::new();
            pair.hosts[host].2.remove(at);
            let found = fault(&format!("no-policy-{at}-{name}"), &pair, "config-policy-missing", name);
            let missing = format!(" dir {} ", ["out", "in", "fwd"][at]);
            assert!(
                lines(&found).iter().all(|line| line.starts_with("ip xfrm policy add") && line.contains(&missing)),
                "{found}"
            );
        }
        for at in [OUT, IN] {
            let mut pair = Pair::new();
            pair.hosts[host].1.remove(at);
            let found = fault(&format!("no-state-{at}-{name}"), &pair, "config-state-missing", name);
            assert!(lines(&found)[0].contains(" reqid 10 mode tunnel <ALGORITHMS AND KEYS>"), "{found}");
        }
    }
}

#[test]
fn a_selector_is_wrong_where_it_disagrees_with_its_own_host_and_the_peer() {
    for (host, name, beyond) in [(0, "alfa", "10.20.2.0/24"), (1, "bravo", "10.20.1.0/24")] {
        for at in [OUT, IN, FWD] {
            for other in [beyond.replace("/24", "/25"), "10.20.0.0/16".to_owned(), "10.21.7.0/24".to_owned()] {
                let pair = Pair::new().policy(host, at, beyond, &other);
                // What the peer sends fits a wider policy for what arrives: none of it is dropped (`__xfrm_policy_check` of the kernel).
                if at != OUT && other.ends_with("/16") {
                    let found = pair.findings(&format!("selector-{at}-wider-{name}"));
                    assert!(loud(&found).is_empty() && accused(&found).is_empty(), "{found:#?}");
                    assert_eq!(found[0]["code"], "config-acl-mismatch", "{found:#?}");
                    continue;
                }
                let found = fault(
                    &format!("selector-{at}-{}-{name}", other.replace('/', "-")),
                    &pair,
                    "config-acl-mismatch",
                    name,
                );
                assert!(lines(&found).iter().any(|line| line.starts_with("ip xfrm policy delete")), "{found}");
            }
        }
    }
    // All three of one host: either may be meant.
    let mut pair = Pair::new();
    for at in [OUT, IN, FWD] {
        pair = pair.policy(0, at, "10.20.2.0/24", "10.20.2.0/25");
    }
    let found = pair.findings("selector-all");
    assert_eq!(loud(&found), BTreeSet::from(["config-acl-mismatch"]), "{found:#?}");
    assert!(found[0]["evidence"].as_str().expect("text").contains("is not determined"), "{found:#?}");
}

#[test]
fn a_blocking_policy_is_told_and_a_bypass_only_if_it_comes_first() {
    fault("block", &Pair::new().policy(0, OUT, "dir out", "dir out action block"), "config-policy-shadowed", "alfa");
    for (priority, code) in [(500, None), (3000, Some("config-policy-shadowed"))] {
        let mut pair = Pair::new().everywhere("priority 0", &format!("priority {priority}"));
        pair.hosts[0].2.push("src 10.20.0.0/16 dst 10.20.0.0/16 \n\tdir out action block priority 1000 \n".to_owned());
        let found = pair.findings(&format!("blocked-{priority}"));
        assert_eq!(loud(&found).first().copied(), code, "{found:#?}");
        assert!(accused(&found).is_empty(), "{found:#?}");
    }
}

#[test]
fn the_two_ends_of_one_sa_are_compared() {
    // The other states of both hosts tell which of the two is odd.
    let esn = Pair::new().state(1, IN, "replay-window 32", "replay-window 0 flag esn");
    let found = fault("esn-one-end", &esn, "config-esn-mismatch", "bravo");
    assert!(!lines(&found)[1].contains("esn"), "{found}");
    let esn = Pair::new().everywhere("replay-window 32", "replay-window 0 flag esn").state(0, OUT, " flag esn", "");
    let found = fault("esn-not-at-one-end", &esn, "config-esn-mismatch", "alfa");
    assert!(lines(&found)[1].contains(" flag esn"), "{found}");
    let encap = Pair::new().state(0, OUT, "sel", "encap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n\tsel");
    fault("encap-one-end", &encap, "config-encap-mismatch", "alfa");
    let mode = Pair::new().everywhere("mode tunnel", "mode transport");
    clean("all-transport", &mode);
    let cut = Pair::new().state(
        1,
        IN,
        "hmac(sha1) 0x6187cf7757a7cf4163291bed87499fdd9177bd65 96",
        "hmac(sha1) 0x6187cf7757a7cf4163291bed87499fdd9177bd65 80",
    );
    assert!(!loud(&cut.findings("cut-to-80")).contains("config-key-mismatch"));
    let gcm =
        Pair::new().state(0, OUT, "\tauth-trunc hmac(sha1) 0x6187cf7757a7cf4163291bed87499fdd9177bd65 96\n", "").state(
            0,
            OUT,
            "enc cbc(aes) 0x23437f7dc71f0d61bf4793eb0101eda7",
            "aead rfc4106(gcm(aes)) 0x1ddb3b535f557fd975efa7e9551777cb2b2539cd 128",
        );
    fault("gcm-against-cbc", &gcm, "config-transform-mismatch", "alfa");
    let short = Pair::new().state(
        1,
        OUT,
        "0xa16587617b978d7b6b0b71c7a585d3c9031171c9",
        "0xa16587617b978d7b6b0b71c7a585d3c9031171",
    );
    let found = short.findings("short");
    assert!(loud(&found).contains("config-key-mismatch"), "{found:#?}");
    assert_eq!(accused(&found), BTreeSet::from(["bravo"]), "{found:#?}");
    // Of two keys of one length nobody knows which is right: they are typed at both ends.
    let digit = Pair::new().state(
        1,
        OUT,
        "0xa16587617b978d7b6b0b71c7a585d3c9031171c9",
        "0xa16587617b978d7b6b0b71c7a585d3c9031171c8",
    );
    let found = digit.findings("digit");
    assert_eq!((loud(&found), accused(&found).len()), (BTreeSet::from(["config-key-mismatch"]), 2), "{found:#?}");
}

#[test]
fn an_spi_or_address_off_by_a_slip_is_one_finding() {
    let reversed = Pair::new().state(1, OUT, "0x000014be", "0xbe140000");
    fault("byte-order", &reversed, "config-spi-mismatch", "bravo");
    let digit = Pair::new().state(0, OUT, "0x00001006", "0x00001016");
    let found = digit.findings("spi-digit");
    assert_eq!((loud(&found), accused(&found).len()), (BTreeSet::from(["config-spi-mismatch"]), 1), "{found:#?}");
    // Without policies, an address that the other host has as its own is right.
    for (host, name) in [(0, "alfa"), (1, "bravo")] {
        let (far, wrong) = if host == 0 { ("192.0.2.18", "192.0.2.19") } else { ("192.0.2.17", "192.0.2.71") };
        let mut pair = Pair::new().state(host, OUT, &format!("dst {far}"), &format!("dst {wrong}"));
        pair.hosts.iter_mut().for_each(|(_, _, policies)| policies.clear());
        fault(&format!("address-of-the-state-{name}"), &pair, "config-peer-mismatch", name);
    }
}

#[test]
fn a_nat_between_the_ends_is_no_mistyped_address() {
    let encap = "encap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n\tsel";
    let mut pair = Pair::new().everywhere("sel", encap);
    let (_, states, policies) = &mut pair.hosts[0];
    states.iter_mut().chain(policies).for_each(|block| *block = block.replace("192.0.2.17", "10.0.0.5"));
    clean("nat", &pair);
}

#[test]
fn two_faults_at_once_are_two_findings_and_one_set_of_lines() {
    let pair = Pair::new().state(0, OUT, "mode tunnel", "mode transport").state(0, OUT, "bd65 96", "bd64 96");
    let found = pair.findings("mode-and-key");
    assert_eq!(loud(&found), BTreeSet::from(["config-key-mismatch", "config-template-mismatch"]), "{found:#?}");
    let typed: Vec<&str> = found.iter().flat_map(lines).collect();
    assert_eq!(
        typed.iter().filter(|line| line.starts_with("ip xfrm state delete src 192.0.2.17")).count(),
        2,
        "{typed:#?}"
    );
}

#[test]
fn counters_are_evidence_and_accuse_nobody_of_replays() {
    let stats = |passed: u32, stats: &str| {
        format!(
            "sel src 0.0.0.0/0 dst 0.0.0.0/0\n\tlifetime current:\n\t  0(bytes), {passed}(packets)\n\tstats:\n\t  {stats}"
        )
    };
    let sel = "sel src 0.0.0.0/0 dst 0.0.0.0/0";
    clean("quiet", &Pair::new().everywhere(sel, &stats(900, "replay-window 0 replay 0 failed 0")));
    let replay = Pair::new().state(1, IN, sel, &stats(900, "replay-window 4 replay 731 failed 0"));
    let found = replay.findings("replay");
    assert_eq!((loud(&found), accused(&found).len()), (BTreeSet::from(["counter-replay"]), 0), "{found:#?}");
    assert!(found[0]["evidence"].as_str().expect("text").contains("731"), "{found:#?}");
    let mut hidden = Pair::new().state(1, IN, sel, &stats(0, "replay-window 0 replay 0 failed 388"));
    for key in KEYS.iter().flat_map(|(auth, enc)| [auth, enc]) {
        hidden = hidden.everywhere(key, "<<Keys hidden>>");
    }
    let found = hidden.findings("hidden");
    assert_eq!((loud(&found), accused(&found).len()), (BTreeSet::from(["counter-integrity-failed"]), 0), "{found:#?}");
    assert!(found[0]["evidence"].as_str().expect("text").contains("bravo drops 388"), "{found:#?}");
    // A sender checks no ICV, and equal keys are not accused.
    let equal = Pair::new().state(1, IN, sel, &stats(900, "replay-window 0 replay 0 failed 3"));
    assert!(loud(&equal.findings("equal")).is_empty());
    let differing = Pair::new()
        .state(1, IN, sel, &stats(0, "replay-window 0 replay 0 failed 412"))
        .state(1, IN, "bd65 96", "bd64 96");
    let found = differing.findings("differing");
    assert_eq!(loud(&found), BTreeSet::from(["config-key-mismatch"]), "{found:#?}");
    assert!(found[0]["evidence"].as_str().expect("text").contains("412"), "{found:#?}");
}

#[test]
fn commands_and_one_line_listings_are_read_like_listings() {
    let commands = |spi: &str, flags: &str| {
        format!(
            "#!/bin/sh\nset -e\nip xfrm state flush\nip netns exec alfa ip xfrm state add src 192.0.2.17 dst 192.0.2.18 proto esp spi {spi} \\\n    \
             reqid 10 mode tunnel {flags} \\\n    enc aes {} \\\n    auth 'hmac(sha1)' {}\n\
             sudo ip -n alfa x s add src 192.0.2.18 dst 192.0.2.17 proto esp spi 5310 reqid 10 mode tunnel auth-trunc \"hmac(sha1)\" {} 96 enc 'cbc(aes)' {}\n\
             ip -n alfa xfrm policy add src 10.20.1.0/24 dst 10.20.2.0/24 dir out tmpl src 192.0.2.17 dst 192.0.2.18 proto esp reqid 10 mode tunnel\n\
             ip -n alfa xfrm policy add src 10.20.2.0/24 dst 10.20.1.0/24 dir in tmpl src 192.0.2.18 dst 192.0.2.17 proto esp reqid 10 mode tunnel\n\
             ip -n alfa xfrm policy update src 10.20.2.0/24 dst 10.20.1.0/24 dir fwd tmpl src 192.0.2.18 dst 192.0.2.17 proto esp reqid 10 mode tunnel\n",
            KEYS[0].1, KEYS[0].0, KEYS[1].0, KEYS[1].1
        )
    };
    let bravo = Pair::new().texts()[1].clone();
    for (name, spi, flags, codes) in [
        ("sound", "4102", "", vec![]),
        ("spi", "4120", "", vec!["config-spi-mismatch"]),
        ("flags", "0x1006", "replay-window 32 flag esn", vec!["config-esn-mismatch"]),
        ("encap", "0x1006", "encap espinudp 4500 4500 0.0.0.0", vec!["config-encap-mismatch"]),
    ] {
        let found = findings(&format!("commands-{name}"), &[commands(spi, flags), bravo.clone()]);
        assert_eq!(loud(&found), codes.into_iter().collect(), "{name}: {found:#?}");
    }
    let one_line = |text: &str| {
        let lines =
            text.lines().map(|line| if line.starts_with('\t') { format!("\\{line}") } else { format!("\n{line}") });
        lines.collect::<String>()
    };
    let found = findings("one-line", &[one_line(&Pair::new().texts()[0]), bravo.clone()]);
    assert!(loud(&found).is_empty(), "{found:#?}");
    let wrong = Pair::new().state(0, OUT, "0x00001006", "0x00001016").texts()[0].clone();
    let found = findings("one-line-wrong", &[one_line(&wrong), bravo]);
    assert_eq!(loud(&found), BTreeSet::from(["config-spi-mismatch"]), "{found:#?}");
}

#[test]
fn two_states_with_one_destination_protocol_and_spi_are_told() {
    let mut pair = Pair::new();
    let other = pair.hosts[0].1[IN].replace("192.0.2.18", "192.0.2.33").replace("0xa1", "0xb1");
    pair.hosts[0].1.push(other);
    let found = pair.findings("duplicate");
    assert!(loud(&found).contains("config-state-duplicate"), "{found:#?}");
}

/// The pair with HMAC-SHA-256, whose ICVs have 96 or 128 bits.
fn sha256() -> Pair {
    let [(one, _), (other, _)] = KEYS;
    let longer = |key: &str| format!("{key}0102030405060708090a0b0c");
    Pair::new().everywhere("hmac(sha1)", "hmac(sha256)").everywhere(one, &longer(one)).everywhere(other, &longer(other))
}

/// What two hosts differ in in both SAs is decided by nothing, whichever is given first.
#[test]
fn hosts_that_differ_alike_in_both_sas_are_both_left_open() {
    for (name, old, new) in [
        ("trunc", " 96\n", " 128\n"),
        ("esn", "replay-window 32", "replay-window 32 flag esn"),
        ("encap", "\tsel", "\tencap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n\tsel"),
    ] {
        for host in 0..2 {
            for turned in [false, true] {
                let mut pair = sha256().state(host, OUT, old, new).state(host, IN, old, new);
                if turned {
                    pair.hosts.reverse();
                }
                let found = pair.findings(&format!("alike-{name}-{host}-{turned}"));
                let open = |one: &&Value| {
                    matches!(
                        one["code"].as_str(),
                        Some("config-transform-mismatch" | "config-esn-mismatch" | "config-encap-mismatch")
                    )
                };
                let open: Vec<&Value> = found.iter().filter(open).collect();
                assert_eq!(open.len(), 2, "{name}: {found:#?}");
                for one in open {
                    let evidence = one["evidence"].as_str().expect("text");
                    assert!(evidence.contains("not determined") && !evidence.contains("at fault"), "{evidence}");
                }
            }
        }
    }
}

/// ICVs of lengths that no document has are compared all the same.
#[test]
fn lengths_of_icvs_that_are_not_in_the_catalogue_are_compared() {
    let of = |name: &str, hash: &str, bits: u32, other: u32| {
        let pair = Pair::new().everywhere("hmac(sha1)", hash).everywhere(" 96\n", &format!(" {bits}\n"));
        let pair = pair.state(0, OUT, &format!(" {bits}\n"), &format!(" {other}\n"));
        let found = pair.findings(name);
        let differs = loud(&found).contains("config-transform-mismatch");
        assert_eq!(differs, bits != other, "{name}: {found:#?}");
        assert!(!loud(&found).contains("config-key-mismatch"), "{name}: {found:#?}");
    };
    for (hash, bits, other) in
        [("hmac(sha512)", 128, 256), ("hmac(sha384)", 96, 192), ("hmac(sha1)", 80, 96), ("hmac(sm3)", 96, 128)]
    {
        let name = hash.trim_matches(|c: char| !c.is_ascii_alphanumeric()).replace('(', "-");
        of(&format!("icv-{name}"), hash, bits, other);
        of(&format!("icv-same-{name}"), hash, bits, bits);
    }
}

/// The key of AES-GCM has its salt behind it (RFC 4106 section 8.1).
#[test]
fn a_key_of_gcm_without_its_salt_is_too_short() {
    let gcm = |key: &str| {
        let mut pair = Pair::new();
        for (_, states, _) in &mut pair.hosts {
            for state in states {
                let lines = state.lines().filter(|line| !line.contains("auth-trunc"));
                let lines = lines.map(|line| {
                    if line.contains("\tenc ") {
                        format!("\taead rfc4106(gcm(aes)) {key} 128\n")
                    } else {
                        format!("{line}\n")
                    }
                });
                *state = lines.collect();
            }
        }
        pair
    };
    let found = gcm("0x6187cf7757a7cf4163291bed87499fdd9177bd65").findings("gcm-salted");
    assert!(!loud(&found).contains("config-key-length"), "{found:#?}");
    let found = gcm("0x6187cf7757a7cf4163291bed87499fdd").findings("gcm-short");
    assert!(loud(&found).contains("config-key-length"), "{found:#?}");
}

#[test]
fn the_kernel_takes_every_length_of_serpent() {
    let of = |cipher: &str| {
        let key = "0x6187cf7757a7cf4163291bed87499fdd9177bd65";
        let old = format!("enc cbc(aes) {}", KEYS[0].1);
        format!(
            "{:#?}",
            Pair::new().everywhere(&old, &format!("enc cbc({cipher}) {key}")).findings(&format!("length-{cipher}"))
        )
    };
    let (aes, serpent) = (of("aes"), of("serpent"));
    assert!(aes.contains("The kernel refuses a state whose cipher key has such a length"), "{aes}");
    assert!(serpent.contains("160 bits for SERPENT") && !serpent.contains("refuses"), "{serpent}");
}

/// A state whose own selector takes none of a policy's packets is passed over (`xfrm_state_look_at`).
#[test]
fn a_state_whose_selector_excludes_the_policy_does_not_answer_it() {
    let sel = |net: &str| Pair::new().state(0, OUT, "sel src 0.0.0.0/0", &format!("sel src {net}"));
    clean("sel-part", &sel("10.20.0.0/16"));
    let found = sel("10.99.1.0/24").findings("sel-apart");
    let missing = found.iter().find(|one| one["code"] == "config-state-missing");
    let evidence = missing.and_then(|one| one["evidence"].as_str()).unwrap_or_else(|| panic!("{found:#?}"));
    assert!(evidence.contains("selector of its own"), "{evidence}");
    assert!(accused(&found).is_empty(), "{found:#?}");
}

#[test]
fn a_few_replays_among_many_packets_are_a_note() {
    let sel = "\tsel src 0.0.0.0/0 dst 0.0.0.0/0\n";
    let stats = |passed: u32, drops: &str| {
        format!(
            "{sel}\tlifetime current:\n\t  {passed}000(bytes), {passed}(packets)\n\t  add 2026-01-01 10:00:00 use -\n\tstats:\n\t  {drops}\n"
        )
    };
    for (name, passed, drops) in
        [("one", 100, "replay-window 0 replay 1 failed 0"), ("some", 90_000, "replay-window 20 replay 40 failed 0")]
    {
        let found = Pair::new().state(1, IN, sel, &stats(passed, drops)).findings(&format!("few-{name}"));
        assert!(loud(&found).is_empty(), "{name}: {found:#?}");
        let note = found.iter().find(|finding| finding["code"] == "counter-replay").expect("a note");
        assert_eq!(name == "one", note["evidence"].as_str().expect("text").contains("dropped 1 packet with"), "{note}");
    }
    for (name, passed, drops) in
        [("all", 2, "replay-window 0 replay 2 failed 0"), ("many", 900, "replay-window 0 replay 30 failed 0")]
    {
        let found = Pair::new().state(1, IN, sel, &stats(passed, drops)).findings(&format!("not-few-{name}"));
        assert_eq!(loud(&found), BTreeSet::from(["counter-replay"]), "{name}: {found:#?}");
    }
}

#[test]
fn a_state_with_a_key_that_its_cipher_does_not_take_is_not_there() {
    let (_, key) = KEYS[0];
    let short = Pair::new().state(0, OUT, key, &key[..key.len() - 2]);
    let found = short.findings("short-cipher");
    let length = found.iter().find(|finding| finding["code"] == "config-key-length").expect("a finding");
    assert!(
        length["severity"] == "error" && length["evidence"].as_str().expect("text").contains("refuses"),
        "{length}"
    );
    assert!(!format!("{found:#?}").contains("rubbish"), "{found:#?}");
    // A key of the right length that differs decrypts to rubbish.
    let found = Pair::new().state(0, OUT, key, &key.replace('7', "8")).findings("other-cipher");
    assert!(format!("{found:#?}").contains("rubbish"), "{found:#?}");
}

#[test]
fn a_state_whose_selector_takes_a_part_of_the_policy_is_told() {
    let sel = "sel src 0.0.0.0/0 dst 0.0.0.0/0";
    let found = Pair::new().state(0, OUT, sel, "sel src 10.20.1.128/25 dst 10.20.2.0/24").findings("part");
    assert_eq!(loud(&found), BTreeSet::from(["config-template-mismatch"]), "{found:#?}");
    clean("whole", &Pair::new().state(0, OUT, sel, "sel src 10.20.0.0/16 dst 10.20.2.0/24"));
}

/// Policies of one host for SAs in transport mode that are made when packets ask for them, and the SA that one host has so far.
#[test]
fn a_policy_on_demand_waits_for_a_state_of_its_own() {
    let state = "root@alfa:~# ip xfrm state\nsrc 192.0.2.17 dst 192.0.2.18\n\tproto esp spi 0xc7654321 reqid 2 mode transport\n\t\
                 replay-window 0\n\taead rfc4106(gcm(aes)) 0x6187cf7757a7cf4163291bed87499fdd00112233 128\n\tsel src 192.0.2.17/32 dst \
                 192.0.2.18/32\nroot@alfa:~# ip xfrm policy\n";
    let policy = |to: &str, end: &str| {
        format!(
            "src 192.0.2.17/32 dst {to}\n\tdir out priority 373567\n\ttmpl src 192.0.2.17 dst {end}\n\t\tproto esp reqid 2 mode transport\n"
        )
    };
    let said = |name: &str, policies: &[String]| findings(name, &[format!("{state}{}", policies.concat())]);
    // The packet names the end of the SA.
    let found = said("demand", &[policy("192.0.2.0/24", "0.0.0.0")]);
    assert!(loud(&found).is_empty(), "{found:#?}");
    // The state is that of the narrower policy.
    let found = said("demand-beside", &[policy("192.0.2.18/32", "192.0.2.18"), policy("192.0.2.0/24", "192.0.2.18")]);
    assert!(loud(&found).is_empty(), "{found:#?}");
    let found = said("demand-only", &[policy("192.0.2.0/24", "192.0.2.18")]);
    assert_eq!(loud(&found), BTreeSet::from(["config-template-mismatch"]), "{found:#?}");
}

#[test]
fn policies_of_two_children_that_lead_into_each_others_sas_are_told() {
    let (a, b) = ("192.0.2.17", "192.0.2.18");
    let children = |crossed: bool| {
        let mut pair = Pair::new();
        for (host, own, far, near, beyond) in
            [(0, a, b, "10.30.1.0/24", "10.30.2.0/24"), (1, b, a, "10.30.2.0/24", "10.30.1.0/24")]
        {
            let second = |block: String| block.replace("reqid 10", "reqid 20");
            let (there, back) = if host == 0 { (0x2001, 0x2002) } else { (0x2002, 0x2001) };
            let [one, other] = SECOND_KEYS;
            let keys = if host == 0 { [one, other] } else { [other, one] };
            pair.hosts[host].1.push(second(state(own, far, there, keys[0])));
            pair.hosts[host].1.push(second(state(far, own, back, keys[1])));
            let policies = [
                policy(near, beyond, "out", own, far),
                policy(beyond, near, "in", far, own),
                policy(beyond, near, "fwd", far, own),
            ];
            pair.hosts[host].2.extend(policies.map(second));
        }
        if crossed {
            for block in &mut pair.hosts[1].2 {
                let other =
                    if block.contains("reqid 10") { ("reqid 10", "reqid 20") } else { ("reqid 20", "reqid 10") };
                *block = block.replace(other.0, other.1);
            }
        }
        pair
    };
    clean("children", &children(false));
    let found = children(true).findings("children-crossed");
    assert_eq!(loud(&found), BTreeSet::from(["config-reqid-mismatch"]), "{found:#?}");
    assert!(accused(&found).is_empty() && found.len() == 1, "{found:#?}");
}
