//! The wire against what should be on it.

use crate::support;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::support::build::{self, Noise, START, on_link};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{shared, spiglass, without_keys};
use serde_json::Value;

const R1: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
const R2: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
const HOST_A: Ipv4Addr = Ipv4Addr::new(192, 168, 2, 2);
const HOST_B: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 2);
const BROKEN: &str = "fixtures/seeds/test06-esp-null-broken.pcap";
const FIXED: &str = "fixtures/seeds/test06-esp-null-fixed.pcap";

fn path(name: &str) -> PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wire-{name}"))
}

pub(super) fn written(name: &str, text: impl AsRef<[u8]>) -> String {
    std::fs::write(path(name), text).expect("a file can be written");
    path(name).to_str().expect("a path of text").to_owned()
}

pub(super) fn report(configs: &[&str], captures: &[&str]) -> Value {
    let mut words = vec!["report", "--format", "json"];
    configs.iter().for_each(|config| words.extend(["--config", config]));
    words.extend(captures);
    spiglass(&words).json()
}

/// Findings that need both, and those of configurations that stop traffic.
fn findings(report: &Value) -> Vec<&Value> {
    report["findings"].as_array().expect("findings").iter().collect()
}

pub(super) fn only<'r>(report: &'r Value, code: &str) -> &'r Value {
    let of: Vec<&Value> = findings(report).into_iter().filter(|finding| finding["code"] == code).collect();
    assert_eq!(of.len(), 1, "{code} in {:#?}", report["findings"]);
    of[0]
}

pub(super) fn absent(report: &Value, code: &str) {
    assert!(findings(report).iter().all(|finding| finding["code"] != code), "{code} in {:#?}", report["findings"]);
}

fn errors(report: &Value) -> Vec<&str> {
    findings(report).into_iter().filter(|f| f["severity"] == "error").filter_map(|f| f["code"].as_str()).collect()
}

pub(super) fn says(finding: &Value, words: &str) {
    assert!(finding["evidence"].as_str().unwrap().contains(words), "{words:?} in {finding:#}");
}

fn lines(finding: &Value) -> Vec<(&str, u64)> {
    let all = finding["config"].as_array().unwrap().iter();
    all.map(|line| (line["host"].as_str().unwrap(), line["line"].as_u64().unwrap())).collect()
}

/// A list that expects one SA from R1 to R2.
pub(super) fn expecting(name: &str, lines: &str) -> String {
    written(name, format!("[[sa]]\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\n{lines}"))
}

#[test]
fn the_zero_spi_of_figure_12_is_explained_by_its_configuration() {
    let report = report(&["fixtures/policy/test06-broken-pair.txt"], &[BROKEN]);
    let zero = only(&report, "spi-zero");
    assert_eq!(zero["severity"], "error");
    says(zero, "transform set ESP-NULL (esp-null esp-md5-hmac)");
    says(zero, "inbound AH 2001, outbound AH 1002");
    // Session keys, transform set and its use, of the sender; then of its peer, which must be corrected with it.
    let expected = [("R1", 8), ("R1", 9), ("R1", 5), ("R1", 10), ("R2", 28), ("R2", 29), ("R2", 25), ("R2", 30)];
    assert_eq!(lines(zero), expected);
    assert_eq!(zero["config"][1]["text"], "set session-key outbound ah 1002 <KEY>");
    let hosts: Vec<&str> = zero["fix"].as_array().unwrap().iter().filter_map(|fix| fix["host"].as_str()).collect();
    assert_eq!(hosts, ["R1", "R2"]);
    assert_eq!(zero["fix"][0]["lines"].as_array().unwrap().last().unwrap(), "clear crypto sa peer 192.168.1.2");
    assert_eq!(errors(&report), ["spi-zero", "config-unused-key", "config-unused-key"]);
}

#[test]
fn the_fixed_pair_with_figures_13_and_14_is_clean() {
    let report = report(&["fixtures/policy/test06-fixed-pair.txt"], &[FIXED]);
    assert_eq!(errors(&report), <[&str; 0]>::default());
    for code in ["sa-never-seen", "spi-unexpected", "transform-mismatch", "mode-mismatch", "plaintext-leak"] {
        absent(&report, code);
    }
    for sa in report["sas"].as_array().unwrap() {
        assert_eq!(sa["transform"]["basis"], "expected");
        assert_eq!(sa["transform"]["name"], "NULL/HMAC-MD5-96");
        assert_eq!(sa["overhead"]["basis"], "visible", "what is seen is better than what is modelled");
    }
}

#[test]
fn the_ah_pair_with_figure_9_misses_only_the_other_direction() {
    let report = report(&["fixtures/policy/test05-ah-pair.txt"], &["fixtures/seeds/test05-ah-md5.pcap"]);
    assert_eq!(errors(&report), <[&str; 0]>::default());
    let missing = only(&report, "sa-never-seen");
    assert_eq!(
        (&missing["sa"], &missing["severity"]),
        (&"ah/192.168.1.2/192.168.1.1/0x000007d1".into(), &"note".into())
    );
    assert_eq!(report["sas"][0]["transform"]["name"], "HMAC-MD5-96");
}

#[test]
fn the_old_configuration_does_not_fit_the_repaired_wire() {
    // AH pair given, ESP on the wire: right SPIs, wrong protocol, both ways.
    let report = report(&["fixtures/policy/test05-ah-pair.txt"], &[FIXED]);
    assert_eq!(errors(&report), ["sa-wrong-protocol", "sa-wrong-protocol"]);
    let first = findings(&report)[0];
    says(first, "SPI 1002 (0x000003ea), which is expected in AH (R1 (outbound) and R2 (inbound))");
    assert_eq!(lines(first), [("R1", 9), ("R2", 28)]);
    absent(&report, "sa-never-seen");
}

#[test]
fn slips_of_the_hand_are_named() {
    for (name, spi, how) in [
        ("hex", "4098", "its hex digits read as decimal"),
        ("swapped", "0xea030000", "its bytes in reverse order"),
        ("digit", "1003", "one decimal digit"),
        ("exchanged", "1020", "two neighbouring digits exchanged"),
    ] {
        let config = expecting(&format!("slip-{name}"), &format!("protocol = \"esp\"\nspi = {spi}\n"));
        let report = report(&[&config], &[FIXED]);
        let finding = only(&report, "spi-mistyped");
        says(finding, how);
        assert_eq!(finding["sa"], "esp/192.168.1.1/192.168.1.2/0x000003ea");
        absent(&report, "sa-never-seen");
    }
    let decimal = expecting("slip-decimal", "protocol = \"esp\"\nspi = 642\n");
    // 0x282 is 642; 1002 is no slip of it: plainly unexpected.
    let report = report(&[&decimal], &[FIXED]);
    let unexpected = findings(&report)
        .into_iter()
        .find(|f| f["code"] == "spi-unexpected" && f["sa"].as_str().unwrap().ends_with("3ea"));
    says(unexpected.expect("1002 is unexpected"), "no configuration has it; expected is 642 (0x00000282)");
}

#[test]
fn the_wrong_way_round_and_the_wrong_end_are_told_apart() {
    let swapped = written(
        "swapped",
        "[[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.2\"\ndst = \"192.168.1.1\"\nspi = 1002\n\
         [[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\nspi = 2001\n",
    );
    let both = report(&[&swapped], &[FIXED]);
    assert_eq!(errors(&both), ["sa-wrong-direction", "sa-wrong-direction"]);
    says(findings(&both)[0], "inbound and outbound are exchanged");
    absent(&both, "sa-never-seen");
    // Another tunnel may have the same SPI: no more than a warning, and nothing was swapped.
    let elsewhere =
        written("elsewhere", "[[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.9.9\"\nspi = 1002\n");
    let report = report(&[&elsewhere], &[FIXED]);
    let finding = only(&report, "sa-wrong-direction");
    says(finding, "which is expected from 192.168.1.1 to 192.168.9.9");
    says(finding, "another tunnel may have the same SPI");
    assert_eq!(finding["severity"], "warning");
    assert!(!finding["cause"].as_str().unwrap().contains("swapped"), "{finding}");
}

#[test]
fn the_other_protocol_under_agreeing_configurations_is_told_of_old_sas() {
    let report = report(&["fixtures/policy/test06-fixed-pair.txt"], &["fixtures/seeds/test05-ah-md5.pcap"]);
    let finding = only(&report, "sa-wrong-protocol");
    let cause = finding["cause"].as_str().unwrap();
    assert!(cause.contains("Both configurations say ESP") && cause.contains("older"), "{finding}");
}

/// R1's ESP to R2 beside packets in clear between the hosts.
fn beside(name: &str) -> String {
    let frames: Vec<Out> = (1..=20u32)
        .flat_map(|n| {
            [
                build::esp(R1, R2, 1002, n, &Noise(u64::from(n)).bytes(96)),
                on_link(&build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 60]), R1, R2),
            ]
        })
        .enumerate()
        .map(|(n, data)| Out::whole(START + 3_000_000 * n as u64, data))
        .collect();
    written(name, plain_pcap(&frames))
}

#[test]
fn what_a_list_leaves_out_may_run_in_clear() {
    let capture = beside("denied.pcap");
    let with = |name: &str, lines: &str| {
        let text = std::fs::read_to_string("fixtures/policy/test06-fixed-pair.txt").unwrap();
        let block = text.split("```").nth(1).unwrap();
        let at = block.find("permit ip host 192.168.2.2").expect("the list's line");
        let (before, after) = block.split_at(at);
        let after = after.split_once('\n').unwrap().1;
        report(&[&written(name, format!("{before}{lines}{after}"))], &[&capture])
    };
    const NETS: &str = "permit ip 192.168.2.0 0.0.0.255 192.168.3.0 0.0.0.255\n";
    const DENY: &str = "deny ip host 192.168.2.2 host 192.168.3.2\n";
    only(&with("leak-nets", NETS), "plaintext-leak");
    absent(&with("leak-denied", &format!("{DENY}{NETS}")), "plaintext-leak");
    // What cannot be read may leave out anything.
    absent(&with("leak-unread", &format!("deny ip what is this\n{NETS}")), "plaintext-leak");
    // The first line that fits decides.
    only(&with("leak-behind", &format!("{NETS}{DENY}")), "plaintext-leak");
}

#[test]
fn a_linux_policy_of_one_protocol_selects_no_other_and_the_outbound_one_is_named() {
    let policies = |with: &str| {
        let one = |src: u8, dst: u8, dir: &str, tunnel: &str| {
            format!(
                "src 192.168.{src}.0/24 dst 192.168.{dst}.0/24{with}\n\tdir {dir} priority 0 ptype main\n\ttmpl {tunnel}\n\
                 \t\tproto esp reqid 100 mode tunnel\n"
            )
        };
        let back = "src 192.168.1.2 dst 192.168.1.1";
        let inbound = one(3, 2, "fwd", back) + &one(3, 2, "in", back);
        let state = "##### r1: ip -s xfrm state\nsrc 192.168.1.1 dst 192.168.1.2\n\tproto esp spi 0x000003ea(1002) reqid 100 mode tunnel\n";
        format!("{state}##### r1: ip xfrm policy\n{inbound}{}", one(2, 3, "out", "src 192.168.1.1 dst 192.168.1.2"))
    };
    let capture = beside("policy.pcap");
    let whole = report(&[&written("policy-all", policies(""))], &[&capture]);
    let leak = only(&whole, "plaintext-leak");
    assert_eq!(lines(leak), [("r1", 14)], "the line with `dir out`");
    let narrow = |with: &str| report(&[&written("policy-narrow", policies(with))], &[&capture]);
    for with in [" proto tcp", " proto udp dport 53", " dev eth0"] {
        absent(&narrow(with), "plaintext-leak");
    }
}

#[test]
fn the_lines_for_linux_delete_the_number_that_is_on_the_wire() {
    let states = "##### r1: ip -s xfrm state\nsrc 192.168.1.1 dst 192.168.1.2\n\tproto esp spi 0x000003ec(1004) reqid 100 mode tunnel\n";
    let policy = "##### r1: ip xfrm policy\nsrc 192.168.2.0/24 dst 192.168.3.0/24\n\tdir out priority 0\n\ttmpl src 192.168.1.1 dst 192.168.1.2\n\
                  \t\tproto esp reqid 100 mode tunnel\n";
    let report = report(&[&written("linux-slip", format!("{states}{policy}"))], &[FIXED]);
    let slip = only(&report, "spi-mistyped");
    let typed: Vec<&str> =
        slip["fix"][0]["lines"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    assert!(typed[0].contains("delete") && typed[0].ends_with("spi 0x3ea"), "{typed:?}");
    assert!(typed[1].contains("add") && typed[1].contains("spi 0x3ec "), "{typed:?}");
}

#[test]
fn one_router_without_its_interface_is_compared_by_the_end_that_is_known() {
    let with = |name: &str, outbound: u32, inbound: u32| {
        let text = std::fs::read_to_string("fixtures/policy/test06-fixed-pair.txt").unwrap();
        let block = text.split("```").nth(1).unwrap();
        let entry = block.split("interface GigabitEthernet0\n").next().unwrap();
        let entry =
            entry.replace("esp 1002", &format!("esp {outbound}")).replace("esp 2001", &format!("esp {inbound}"));
        report(&[&written(name, entry)], &[FIXED])
    };
    let slipped = with("open-slip", 1020, 2001);
    assert_eq!(only(&slipped, "spi-mistyped")["sa"], "esp/192.168.1.1/192.168.1.2/0x000003ea");
    let other = with("open-other", 70_000, 2001);
    assert_eq!(only(&other, "spi-unexpected")["sa"], "esp/192.168.1.1/192.168.1.2/0x000003ea");
    let right = with("open-right", 1002, 2001);
    assert_eq!(errors(&right), <[&str; 0]>::default());
    // Nothing agrees: it may be another router's tunnel with the same peer.
    assert_eq!(errors(&with("open-nothing", 70_000, 80_000)), <[&str; 0]>::default());
}

#[test]
fn a_mode_mismatch_names_the_line_of_the_mode() {
    let text = std::fs::read_to_string("fixtures/policy/test06-fixed-pair.txt").unwrap();
    let block = text.split("```").nth(1).unwrap();
    let config = block.replacen("esp-null esp-md5-hmac\n", "esp-null esp-md5-hmac\n mode transport\n", 1);
    assert_ne!(config, block);
    let at = config.lines().position(|line| line.trim() == "mode transport").expect("the line") as u64 + 1;
    let report = report(&[&written("mode-line", config)], &[FIXED]);
    let modes: Vec<&Value> = findings(&report).into_iter().filter(|one| one["code"] == "mode-mismatch").collect();
    assert!(!modes.is_empty() && modes.iter().all(|one| lines(one).contains(&("R1", at))), "{modes:#?}");
}

#[test]
fn an_expected_sa_that_is_not_there_is_told_and_filters_are_heeded() {
    let config = expecting(
        "absent",
        "protocol = \"esp\"\nspi = 1002\n[[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.2\"\ndst = \"192.168.1.1\"\nspi = 2001\n[[sa]]\nprotocol = \"ah\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\nspi = 70000\n",
    );
    let missing = report(&[&config], &[FIXED]);
    let finding = only(&missing, "sa-never-seen");
    assert_eq!(
        (&finding["severity"], &finding["sa"]),
        (&"warning".into(), &"ah/192.168.1.1/192.168.1.2/0x00011170".into())
    );
    let filtered = spiglass(&["report", "--format", "json", "--spi", "1002", "--config", &config, FIXED]).json();
    absent(&filtered, "sa-never-seen");
}

/// The number that is there explains the one that is not: one finding, not two.
#[test]
fn an_unexpected_number_explains_the_expected_one() {
    let mut noise = Noise(5);
    let frames: Vec<Out> = (1..=40)
        .map(|n| Out::whole(START + u64::from(n) * 1_000_000, build::esp(R1, R2, 0xc0de_0001, n, &noise.bytes(104))))
        .collect();
    let capture = written("unexpected.pcap", plain_pcap(&frames));
    let config = expecting("unexpected", "protocol = \"esp\"\nspi = 3000\n");
    let report = report(&[&config], &[&capture]);
    says(only(&report, "spi-unexpected"), "expected is 3000 (0x00000bb8)");
    absent(&report, "sa-never-seen");
}

#[test]
fn lengths_that_the_transform_cannot_make_are_a_mismatch() {
    const OPAQUE: &str = "fixtures/lab/loss-before-tap-tunnel.pcap";
    let with = |name: &str, transform: &str| {
        let config = expecting(
            name,
            &format!("protocol = \"esp\"\nspi = 1001\nmode = \"tunnel\"\ntransform = \"{transform}\"\n"),
        );
        report(&[&config], &[OPAQUE])
    };
    let right = with("right", "esp-aes esp-sha-hmac");
    absent(&right, "transform-mismatch");
    let sa = right["sas"].as_array().unwrap().iter().find(|sa| sa["spi"] == 1001).expect("the SA");
    assert_eq!((&sa["transform"]["basis"], &sa["icv_bytes"]), (&"expected".into(), &12.into()));
    // ESP header 8, IV 16, pad 0 to 15, trailer 2, ICV 12; 20 more for the outer header.
    assert_eq!(sa["protection_bytes"], serde_json::json!({"min": 38, "max": 53}));
    assert_eq!((&sa["overhead"]["min_bytes"], &sa["overhead"]["max_bytes"]), (&58.into(), &73.into()));
    assert_eq!(sa["overhead"]["basis"], "modelled");
    for (name, transform) in [("icv", "esp-aes esp-sha512-hmac"), ("longer", "esp-aes esp-sha256-hmac")] {
        let wrong = with(name, transform);
        says(only(&wrong, "transform-mismatch"), "bytes");
        let sa = wrong["sas"].as_array().unwrap().iter().find(|sa| sa["spi"] == 1001).expect("the SA");
        assert_ne!(sa["transform"]["basis"], "expected", "{name}");
    }
    let ah = expecting("ah", "protocol = \"ah\"\nspi = 1002\ntransform = \"ah-sha256-hmac\"\n");
    says(
        only(&report(&[&ah], &["fixtures/seeds/test05-ah-md5.pcap"]), "transform-mismatch"),
        "HMAC-SHA2-256-128 has an ICV of 16 bytes",
    );
    let encrypting = expecting(
        "null",
        "protocol = \"esp\"\nspi = 1002\ntransform = \"esp-des esp-md5-hmac\"\nmode = \"transport\"\n",
    );
    let null = report(&[&encrypting], &[FIXED]);
    says(only(&null, "transform-mismatch"), "the packets on the wire are in clear");
    says(only(&null, "mode-mismatch"), "expects transport mode, and the packets are in tunnel mode");
}

#[test]
fn a_transform_that_the_wire_refutes_is_not_shown_as_a_fact() {
    let Some(lab) = support::shared("lab") else { return };
    let tunnel = lab.join("esp-aes128-cbc-sha1/tunnel.pcap");
    let with = |name: &str, transform: &str| {
        let config = expecting(
            name,
            &format!("protocol = \"esp\"\nspi = 1001\nmode = \"tunnel\"\ntransform = \"{transform}\"\n"),
        );
        report(&[&config], &[tunnel.to_str().expect("UTF-8")])
    };
    // Nothing should be hidden, and everything is.
    let null = with("refuted-null", "esp-null esp-sha-hmac");
    let finding = only(&null, "transform-mismatch");
    assert_eq!(finding["severity"], "warning");
    says(finding, "does not encrypt");
    // The lengths fit a counter mode too, but they all agree modulo sixteen, and the IVs are random.
    let counter = with("refuted-gcm", "esp-gcm 256");
    let finding = only(&counter, "transform-mismatch");
    assert_eq!(finding["severity"], "note");
    says(finding, "the packets look like AES-CBC");
    // What a length contradicts is not shown; what packets only look unlike stands, and has no figures.
    for (report, basis) in [(&null, "inferred"), (&counter, "expected")] {
        let sa = report["sas"].as_array().unwrap().iter().find(|sa| sa["spi"] == 1001).expect("the SA");
        assert_eq!((&sa["transform"]["basis"], &sa["overhead"]["basis"]), (&basis.into(), &"unknown".into()));
    }
}

#[test]
fn transport_mode_does_not_say_what_a_tunnel_inside_costs() {
    let Some(lab) = support::shared("lab") else { return };
    for scenario in ["gre-over-esp-transport", "ipip-over-esp-transport", "esp-over-ah"] {
        let states = std::fs::read_to_string(lab.join(scenario).join("sa.txt")).expect("a file of the laboratory");
        let config = written(&format!("{scenario}.txt"), without_keys(&states));
        let capture = lab.join(scenario).join("tunnel.pcap");
        let report = report(&[&config], &[capture.to_str().expect("UTF-8")]);
        for sa in report["sas"].as_array().unwrap().iter().filter(|sa| sa["proto"] == "esp") {
            assert_eq!(sa["transform"]["basis"], "expected", "{scenario}");
            assert!(!sa["protection_bytes"].is_null(), "{scenario}");
            assert_eq!(sa["overhead"]["basis"], "unknown", "{scenario}: {}", sa["overhead"]);
        }
    }
}

#[test]
fn traffic_that_the_list_selects_and_that_runs_in_clear_is_a_leak() {
    let tunnelled = |n: u32| build::esp(R1, R2, 1002, n, &Noise(u64::from(n)).bytes(96));
    let clear = |n: u32| on_link(&build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 60]), R1, R2);
    let other = |n: u32| build::ipv4(HOST_A, Ipv4Addr::new(10, 9, 9, 9), 17, n as u16, &[0; 60]);
    let capture = |name: &str, make: &dyn Fn(u32) -> Vec<Vec<u8>>| {
        let frames: Vec<Out> = (1..=20)
            .flat_map(make)
            .enumerate()
            .map(|(n, data)| Out::whole(START + 3_000_000 * n as u64, data))
            .collect();
        written(name, plain_pcap(&frames))
    };
    let config = "fixtures/policy/test06-fixed-pair.txt";
    let beside = capture("leak.pcap", &|n| vec![tunnelled(n), clear(n), other(n)]);
    let leaking = report(&[config], &[&beside]);
    let leak = only(&leaking, "plaintext-leak");
    says(leak, "20 packets in clear that R1 selects for its tunnel (ip 192.168.2.2 > 192.168.3.2)");
    assert_eq!((&leak["severity"], lines(leak)), (&"warning".into(), vec![("R1", 18)]));
    assert!(leak["evidence"].as_str().unwrap().ends_with(": 192.168.2.2 > 192.168.3.2 (20)."), "{leak:#}");
    // Of many pairs of addresses those with most packets are named, and the others counted.
    let text = std::fs::read_to_string(config).expect("a fixture");
    let wide = text.replace(
        "permit ip host 192.168.2.2 host 192.168.3.2",
        "permit ip 192.168.2.0 0.0.0.255 192.168.3.0 0.0.0.255",
    );
    let wide = written("wide.txt", wide);
    let many = capture("many.pcap", &|n| {
        let far =
            |last: u8| on_link(&build::ipv4(HOST_A, Ipv4Addr::new(192, 168, 3, last), 17, n as u16, &[0; 60]), R1, R2);
        [vec![tunnelled(n)], (1..=5).filter(|last| n <= 10 + last).map(|last| far(last as u8)).collect()].concat()
    });
    let many = report(&[&wide], &[&many]);
    let named =
        ": 192.168.2.2 > 192.168.3.5 (15), 192.168.2.2 > 192.168.3.4 (14), 192.168.2.2 > 192.168.3.3 (13), 2 more.";
    says(only(&many, "plaintext-leak"), named);
    // The tester's own link is in clear, as it should be.
    let tester = capture("tester.pcap", &|n| vec![clear(n)]);
    absent(&report(&[config], &[&tester]), "plaintext-leak");
    says(only(&report(&[config], &[&tester]), "sa-never-seen"), "not the tunnel's link, or there is no tunnel");
    let sound = capture("sound.pcap", &|n| vec![tunnelled(n), other(n)]);
    absent(&report(&[config], &[&sound]), "plaintext-leak");
}

#[test]
fn encrypts_never_decrypts_is_told_in_those_words_with_what_the_wire_cannot_show() {
    let inner = |src, dst, n: u16| build::ipv4(src, dst, 254, n, &[0xff; 44]).split_off(14);
    let null = |spi: u32, n: u16, src, dst| {
        let mut bytes = [spi.to_be_bytes(), u32::from(n).to_be_bytes()].concat();
        bytes.extend(inner(src, dst, n));
        bytes.extend([1, 2, 2, 4]);
        bytes.extend(Noise(u64::from(n)).bytes(12));
        bytes
    };
    // Back come packets of other hosts in the tunnel, or nothing in the tunnel at all.
    for (tunnelled, said) in [(true, "The SAs carry packets both ways"), (false, "encrypts, never decrypts")] {
        let frames: Vec<Out> = (1..=20u16)
            .flat_map(|n| {
                let (other, to) = (Ipv4Addr::new(192, 168, 3, 9), Ipv4Addr::new(192, 168, 2, 9));
                let there = build::ipv4(R1, R2, 50, n, &null(1002, n, HOST_A, HOST_B));
                let back = if tunnelled {
                    build::ipv4(R2, R1, 50, n, &null(2001, n, other, to))
                } else {
                    build::udp(R2, R1, (1_000, 2_000), n, &[0; 100])
                };
                [there, back]
            })
            .enumerate()
            .map(|(n, data)| Out::whole(START + 1_000_000 * n as u64, data))
            .collect();
        let capture = written("one-way.pcap", plain_pcap(&frames));
        let report = report(&["fixtures/policy/test06-fixed-pair.txt"], &[&capture]);
        let finding = only(&report, "inner-one-way");
        says(finding, said);
        says(finding, "the wire cannot show");
    }
}

#[test]
fn every_anomaly_of_the_laboratory_is_explained_by_its_states() {
    let Some(lab) = shared("lab") else { return };
    let of = |scenario: &str| {
        let file = |name: &str| lab.join(scenario).join(name).to_str().expect("a path of text").to_owned();
        report(&[&file("sa.txt")], &[&file("tunnel.pcap")])
    };
    let mismatch = of("spi-mismatch-oneway");
    assert_eq!(errors(&mismatch), ["spi-unexpected", "config-spi-mismatch"]);
    let unexpected = only(&mismatch, "spi-unexpected");
    says(unexpected, "r1 (outbound) sends it as configured, and r2 expects 1001 (0x000003e9)");
    assert_eq!(lines(unexpected), [("r1", 20), ("r2", 70)]);
    let key = of("wrong-auth-key");
    assert_eq!(errors(&key), ["icv-invalid", "config-key-mismatch"]);
    let zero = of("spi-zero");
    assert_eq!(errors(&zero), ["spi-zero"]);
    says(only(&zero, "spi-zero"), "SPI 1001 (0x000003e9) is configured for this direction");
    assert_eq!(lines(only(&zero, "spi-zero")), [("r1", 20), ("r2", 70)]);
}

#[test]
fn sound_tunnels_of_the_laboratory_contradict_nothing() {
    let Some(lab) = shared("lab") else { return };
    let explained = ["spi-mismatch-oneway", "wrong-auth-key", "spi-zero"];
    // Its states were printed after the rekey: the first pair of SAs is on the wire and no longer in force.
    let snapshot = ["rekey"];
    let mut looked = 0;
    for entry in std::fs::read_dir(&lab).expect("the laboratory") {
        let directory = entry.expect("an entry").path();
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        let (states, tunnel) = (directory.join("sa.txt"), directory.join("tunnel.pcap"));
        let text = std::fs::read_to_string(&states).unwrap_or_default();
        if explained.contains(&name.as_str()) || !text.contains(" spi 0x") || !tunnel.is_file() {
            continue;
        }
        let report = report(&[states.to_str().unwrap()], &[tunnel.to_str().unwrap()]);
        let wrong: &[&str] = if name == "corrupt-before-tap" { &["icv-invalid"] } else { &[] };
        assert_eq!(errors(&report), wrong, "{name}");
        for code in ["transform-mismatch", "mode-mismatch", "plaintext-leak", "sa-wrong-direction", "spi-mistyped"] {
            absent(&report, code);
        }
        let unexpected = findings(&report).iter().filter(|f| f["code"] == "spi-unexpected").count();
        assert_eq!(unexpected, if snapshot.contains(&name.as_str()) { 2 } else { 0 }, "{name}");
        for sa in report["sas"].as_array().unwrap().iter().filter(|sa| sa["proto"] != "ipcomp") {
            let expected = sa["transform"]["basis"] == "expected";
            assert!(expected || snapshot.contains(&name.as_str()), "{name}: {}", sa["id"]);
        }
        looked += 1;
    }
    assert!(looked > 40, "{looked} scenarios");
}

#[test]
fn states_demand_the_same_configuration_again_and_hold_none() {
    let config = "fixtures/policy/test06-fixed-pair.txt";
    let state = written("a.state", "");
    spiglass(&["partial", "--config", config, "-o", &state, FIXED]).expect(0);
    let octets = std::fs::read(&state).unwrap();
    assert!(!octets.windows(8).any(|eight| eight == b"ESP-NULL"), "a state holds no configuration");
    let whole = report(&[config], &[FIXED]);
    let merged = spiglass(&["merge", "--format", "json", "--config", config, &state]).json();
    assert_eq!(merged, whole);
    assert!(spiglass(&["merge", &state]).expect(2).stderr.contains("made with --config"));
    assert!(
        spiglass(&["merge", "--config", "fixtures/policy/test05-ah-pair.txt", &state])
            .expect(2)
            .stderr
            .contains("another --config")
    );
    // A state made without one may be compared with any.
    let plain = written("b.state", "");
    spiglass(&["partial", "-o", &plain, FIXED]).expect(0);
    assert_eq!(spiglass(&["merge", "--format", "json", "--config", config, &plain]).json(), whole);
}

#[test]
fn negotiated_sas_get_the_transform_of_the_crypto_map() {
    // Overheads of the document for 64 octets: 56, 80, 80, 136; each lies in its range.
    for (test, capture, names, measured) in [
        ("07", "test07-esp-des-md5", vec!["DES-CBC/HMAC-MD5-96"], 56),
        ("09", "test09-ah-esp-des-md5", vec!["DES-CBC/HMAC-MD5-96", "HMAC-MD5-96"], 80),
        ("10", "test10-ah-esp-3des-md5", vec!["3DES-CBC/HMAC-MD5-96", "HMAC-MD5-96"], 80),
        ("11", "test11-ah-esp-aes-sha512", vec!["AES-128-CBC/HMAC-SHA2-512-256", "HMAC-SHA2-512-256"], 136),
    ] {
        let report = report(
            &[&format!("fixtures/policy/test{test}-ike-pair.txt")],
            &[&format!("fixtures/seeds/{capture}.pcap")],
        );
        let sas = report["sas"].as_array().unwrap();
        let shown: Vec<&str> = sas.iter().filter_map(|sa| sa["transform"]["name"].as_str()).collect();
        assert_eq!(shown, names, "test {test}");
        let outermost = sas.last().unwrap();
        let (least, most) = (
            outermost["overhead"]["min_bytes"].as_i64().unwrap(),
            outermost["overhead"]["max_bytes"].as_i64().unwrap(),
        );
        assert!((least..=most).contains(&measured), "test {test}: {measured} in {least} to {most}");
        // SPIs are the peers' own choice with IKE: none is unexpected, none is missing.
        for code in ["spi-unexpected", "sa-never-seen", "transform-mismatch", "mode-mismatch"] {
            absent(&report, code);
        }
    }
    // The transform set of another test does not fit: SHA-512 is no MD5.
    let wrong = report(&["fixtures/policy/test11-ike-pair.txt"], &["fixtures/seeds/test09-ah-esp-des-md5.pcap"]);
    assert!(findings(&wrong).iter().filter(|finding| finding["code"] == "transform-mismatch").count() >= 1);
}

#[test]
fn a_list_that_cannot_state_ah_says_nothing_of_it() {
    let Some(lab) = support::shared("lab") else { return };
    for scenario in ["ah-md5+esp-des", "ah-md5+esp-des-md5"] {
        let (list, capture) = (lab.join(scenario).join("esp_sa"), lab.join(scenario).join("tunnel.pcap"));
        let report = report(&[list.to_str().expect("UTF-8")], &[capture.to_str().expect("UTF-8")]);
        absent(&report, "spi-unexpected");
        assert!(errors(&report).is_empty(), "{:?}", errors(&report));
    }
}
