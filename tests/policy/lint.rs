//! Configurations alone: what `spiglass check --config` finds before any traffic flows.

use crate::support::{Run, spiglass};
use serde_json::Value;

/// Findings of configurations alone.
fn lint(configs: &[&str]) -> Vec<Value> {
    let report = check(configs).json();
    report["findings"].as_array().expect("findings").clone()
}

fn check(configs: &[&str]) -> Run {
    let mut words = vec!["check", "--format", "json"];
    for config in configs {
        words.extend(["--config", config]);
    }
    spiglass(&words)
}

fn codes(findings: &[Value], severity: &str) -> Vec<String> {
    let of = findings.iter().filter(|finding| finding["severity"] == severity);
    of.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

fn only<'f>(findings: &'f [Value], code: &str) -> &'f Value {
    let of: Vec<&Value> = findings.iter().filter(|finding| finding["code"] == code).collect();
    assert_eq!(of.len(), 1, "{code} in {findings:#?}");
    of[0]
}

fn text<'f>(finding: &'f Value, field: &str) -> &'f str {
    finding[field].as_str().expect("text")
}

/// Host and line of each line that a finding names.
fn lines(finding: &Value) -> Vec<(String, u64)> {
    let all = finding["config"].as_array().expect("lines");
    all.iter().map(|line| (text(line, "host").to_owned(), line["line"].as_u64().expect("a number"))).collect()
}

/// Writes a configuration to a file of its own.
fn written(name: &str, text: impl AsRef<[u8]>) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lint-{name}"));
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().expect("a path of text").to_owned()
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("fixtures/policy/{name}")).expect("a fixture")
}

#[test]
fn ah_keys_under_an_esp_transform_set_are_the_cause_before_any_packet_flows() {
    let run = check(&["fixtures/policy/test06-broken-pair.txt"]).expect(1);
    let findings = run.json()["findings"].as_array().expect("findings").clone();
    assert_eq!(codes(&findings, "error"), ["config-unused-key", "config-unused-key"]);
    let r1 = &findings[0];
    assert!(text(r1, "evidence").contains("inbound AH 2001, outbound AH 1002"), "{r1}");
    assert!(text(r1, "evidence").contains("esp-null esp-md5-hmac"), "{r1}");
    // The two session-key lines, the transform set, and the line that names it.
    let host = |numbers: &[u64]| numbers.iter().map(|line| ("R1".to_owned(), *line)).collect::<Vec<_>>();
    assert_eq!(lines(r1), host(&[8, 9, 5, 10]));
    assert_eq!(r1["config"][0]["text"], "set session-key inbound ah 2001 <KEY>");
    let typed: Vec<&str> =
        r1["fix"][0]["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(
        typed,
        [
            "configure terminal",
            "crypto map TEST 10 ipsec-manual",
            " no set session-key inbound ah",
            " no set session-key outbound ah",
            " set session-key inbound esp 2001 authenticator <KEY>",
            " set session-key outbound esp 1002 authenticator <KEY>",
            "end",
            "clear crypto sa peer 192.168.1.2"
        ]
    );
}

#[test]
fn the_lines_to_type_repair_the_pair() {
    let broken = fixture("test06-broken-pair.txt");
    let mut repaired = broken.clone();
    for finding in lint(&["fixtures/policy/test06-broken-pair.txt"]).iter().filter(|f| f["code"] == "config-unused-key")
    {
        for fix in finding["fix"].as_array().unwrap() {
            let host = text(fix, "host");
            for line in fix["lines"].as_array().unwrap() {
                let line = line
                    .as_str()
                    .unwrap()
                    .replace("<KEY>", if line.to_string().contains("2001") { "00" } else { "10" });
                repaired.push_str(&format!("{host}(config-crypto-map)#{}\n", line.trim()));
            }
        }
    }
    let repaired = written("repaired", repaired);
    assert_eq!(codes(&lint(&[&repaired]), "error"), <[&str; 0]>::default());
}

#[test]
fn the_fixed_pair_and_the_ah_pair_are_clean() {
    for name in ["test06-fixed-pair.txt", "test05-ah-pair.txt", "test07-ike-pair.txt", "test09-ike-pair.txt"] {
        let findings = lint(&[&format!("fixtures/policy/{name}")]);
        assert_eq!(codes(&findings, "error"), <[&str; 0]>::default(), "{name}");
        // What remains: MD5 and DES are weak, and the keys are short; ICVs are not checked with them.
        assert!(codes(&findings, "warning").iter().all(|code| code == "weak-transform"), "{name}: {findings:#?}");
        assert!(codes(&findings, "note").iter().all(|code| code == "config-key-length"), "{name}: {findings:#?}");
    }
}

#[test]
fn the_display_after_the_repair_belongs_to_the_peer() {
    let both = written("stale", fixture("test06-fixed-pair.txt") + &fixture("test06-show-fixed-r1.txt"));
    let findings = lint(&[&both]);
    let stale = only(&findings, "config-stale");
    assert!(text(stale, "evidence").contains("inbound ESP 1002 and outbound ESP 2001"), "{stale}");
    assert!(text(stale, "evidence").contains("SPIs of R2"), "{stale}");
    assert_eq!(codes(&findings, "error"), <[&str; 0]>::default());
    // In files of their own, too: the prompt says whose display it is.
    let apart = lint(&["fixtures/policy/test06-fixed-pair.txt", "fixtures/policy/test06-show-fixed-r1.txt"]);
    only(&apart, "config-stale");
    // The display of test #5 agrees with its configuration.
    let agreeing = lint(&["fixtures/policy/test05-ah-pair.txt", "fixtures/policy/test05-show-r1.txt"]);
    assert!(agreeing.iter().all(|finding| finding["code"] != "config-stale"), "{agreeing:#?}");
}

#[test]
fn counters_that_say_encrypts_never_decrypts_are_evidence() {
    let findings = lint(&["fixtures/policy/test06-broken-pair.txt", "fixtures/policy/test06-show-broken-r1.txt"]);
    assert!(text(&findings[0], "evidence").contains("encrypts, never decrypts (2823845 packets"), "{}", findings[0]);
}

#[test]
fn ike_policies_of_test_10_cannot_agree() {
    let findings = lint(&["fixtures/policy/test10-ike-pair.txt"]);
    let mismatch = only(&findings, "config-ike-mismatch");
    let evidence = text(mismatch, "evidence");
    assert!(
        evidence.contains("hash md5 at R1, sha512 at R2") && evidence.contains("group 19 at R1, 16 at R2"),
        "{evidence}"
    );
    assert!(!evidence.contains("encryption"), "both say aes 256: {evidence}");
    assert_eq!(codes(&findings, "error"), ["config-ike-mismatch"]);
}

#[test]
fn the_peer_of_test_11_is_no_address_of_r1() {
    let findings = lint(&["fixtures/policy/test11-ike-pair.txt"]);
    let mismatch = only(&findings, "config-peer-mismatch");
    let evidence = text(mismatch, "evidence");
    assert!(evidence.contains("192.168.1.1") && evidence.contains("192.168.3.1"), "{evidence}");
    assert_eq!(lines(mismatch), [("R2".to_owned(), 37), ("R1".to_owned(), 17)]);
    assert_eq!(codes(&findings, "error"), ["config-peer-mismatch"]);
}

#[test]
fn a_command_that_the_text_quotes_and_no_configuration_has_is_told() {
    let findings = lint(&["fixtures/policy/test06-broken-with-text.txt"]);
    let stale = only(&findings, "config-stale");
    assert!(text(stale, "evidence").contains("set session-key inbound ah 1001 <KEY>"), "{stale}");
    assert!(lines(stale).contains(&("R1".to_owned(), 8)), "{stale}");
    // Typed as the text says, R1 waits for what R2 does not send, under another key.
    let findings = lint(&["fixtures/policy/test06-broken-as-the-text-says.txt"]);
    let spi = only(&findings, "config-spi-mismatch");
    assert!(
        text(spi, "evidence").contains("R2 sends AH to R1 with SPI 2001")
            && text(spi, "evidence").contains("R1 expects 1001")
    );
    only(&findings, "config-key-mismatch");
}

/// The fixed pair, with R1's or R2's part changed.
fn changed(name: &str, from: &str, to: &str) -> Vec<Value> {
    let text = fixture("test06-fixed-pair.txt");
    assert!(text.contains(from), "{from}");
    lint(&[&written(name, text.replacen(from, to, 1))])
}

#[test]
fn one_slip_in_a_sound_pair_is_one_finding() {
    for (name, from, to, code, says) in [
        ("spi", "outbound esp 1002", "outbound esp 1020", "config-spi-mismatch", "two neighbouring digits exchanged"),
        (
            "key",
            "outbound esp 1002 authenticator 10",
            "outbound esp 1002 authenticator 11",
            "config-key-mismatch",
            "authentication keys",
        ),
        ("peer", "set peer 192.168.1.2", "set peer 192.168.1.3", "config-peer-mismatch", "192.168.1.3"),
        (
            "acl",
            "host 192.168.2.2 host 192.168.3.2",
            "host 192.168.2.2 host 192.168.3.3",
            "config-acl-mismatch",
            "192.168.3.3",
        ),
        ("set", "esp-null esp-md5-hmac", "esp-null esp-sha-hmac", "config-transform-mismatch", "nothing in common"),
        ("low", "inbound esp 2001", "inbound esp 201", "spi-reserved", "1 to 255 are reserved"),
    ] {
        let findings = changed(name, from, to);
        let finding = only(&findings, code);
        assert!(text(finding, "evidence").contains(says), "{name}: {finding}");
        assert!(!finding["config"].as_array().unwrap().is_empty(), "{name}: {finding}");
    }
    // One key for both directions, on both routers.
    let text = fixture("test06-fixed-pair.txt").replace("authenticator 00", "authenticator 10");
    only(&lint(&[&written("reused", text.split("```").nth(1).unwrap())]), "config-key-reused");
    // Inbound and outbound exchanged on one router.
    let swapped = fixture("test06-fixed-pair.txt").replacen(
        "inbound esp 2001 authenticator 00",
        "inbound esp 1002 authenticator 10",
        1,
    );
    let swapped = swapped.replacen("outbound esp 1002 authenticator 10", "outbound esp 2001 authenticator 00", 1);
    let findings = lint(&[&written("swapped", swapped)]);
    assert!(
        findings
            .iter()
            .any(|f| f["code"] == "config-spi-mismatch" && text_has(f, "inbound and outbound are exchanged")),
        "{findings:#?}"
    );
}

fn text_has(finding: &Value, words: &str) -> bool {
    text(finding, "evidence").contains(words)
}

#[test]
fn key_lengths_are_those_of_the_algorithm() {
    let one = |keys: &str| {
        let text = format!(
            "hostname R1\ncrypto ipsec transform-set T esp-aes 256 esp-sha-hmac\ncrypto map M 1 ipsec-manual\nset peer 10.0.0.2\n\
             set session-key inbound esp 300 {keys}\nset session-key outbound esp 301 {keys}\nset transform-set T\n"
        );
        lint(&[&written("length", text)])
    };
    let whole = format!("cipher {} authenticator {}", "ab".repeat(32), "cd".repeat(20));
    assert!(one(&whole).iter().all(|finding| finding["code"] != "config-key-length"));
    let short = format!("cipher {} authenticator {}", "ab".repeat(16), "cd".repeat(16));
    let findings = one(&short);
    let finding = only(&findings, "config-key-length");
    assert_eq!(finding["severity"], "warning");
    assert!(
        text_has(finding, "128 bits for AES-256-CBC") && text_has(finding, "128 bits for HMAC-SHA1-96"),
        "{finding}"
    );
}

#[test]
fn linux_states_of_two_gateways_are_compared() {
    let findings = lint(&["fixtures/policy/lab-spi-mismatch-oneway.txt"]);
    let mismatch = only(&findings, "config-spi-mismatch");
    assert!(
        text_has(mismatch, "r1 sends ESP to r2 with SPI 1002") && text_has(mismatch, "r2 expects 1001"),
        "{mismatch}"
    );
    let findings = lint(&["fixtures/policy/lab-wrong-auth-key.txt"]);
    let mismatch = only(&findings, "config-key-mismatch");
    assert_eq!(mismatch["sa"], "esp/192.168.1.1/192.168.1.2/0x000003e9");
    assert_eq!(lines(mismatch), [("r1".to_owned(), 20), ("r2".to_owned(), 70)]);
}

/// Part of a hub or spoke: a crypto map entry with manual keys, and what it selects.
fn part(number: u32, peer: &str, inbound: u32, outbound: u32, list: &str) -> String {
    let key = |digit: u32, octets: usize| format!("{:02x}", digit % 251).repeat(octets);
    let keys = |spi| format!("cipher {} authenticator {}", key(spi, 16), key(spi + 1, 20));
    format!(
        "crypto map M {number} ipsec-manual\n set peer {peer}\n set session-key inbound esp {inbound} {}\n \
         set session-key outbound esp {outbound} {}\n set transform-set T\n match address L{number}\n\
         ip access-list extended L{number}\n permit ip {list}\n",
        keys(inbound),
        keys(outbound)
    )
}

/// A hub with spokes A and B; the spokes' interfaces were not pasted.
fn hub_and_spokes() -> [String; 3] {
    let head = |name: &str| format!("hostname {name}\ncrypto ipsec transform-set T esp-aes esp-sha-hmac\n");
    let net = |n: u32| format!("192.168.{n}.0 0.0.0.255");
    let to = |from, to| format!("{} {}", net(from), net(to));
    let interface = "interface GigabitEthernet0/0\n ip address 10.0.0.1 255.255.255.0\n crypto map M\n";
    let hub = [part(10, "10.0.0.2", 2002, 1002, &to(1, 2)), part(20, "10.0.0.3", 2003, 1003, &to(1, 3))].concat();
    [
        head("HUB") + &hub + interface,
        head("SPOKEA") + &part(10, "10.0.0.1", 1002, 2002, &to(2, 1)),
        head("SPOKEB") + &part(10, "10.0.0.1", 1003, 2003, &to(3, 1)),
    ]
}

#[test]
fn a_hub_and_spokes_without_interface_lines_are_clean() {
    let [hub, a, b] = hub_and_spokes();
    for (name, text) in
        [("three", format!("{hub}{a}{b}")), ("one-spoke", format!("{hub}{a}")), ("other-spoke", format!("{hub}{b}"))]
    {
        let findings = lint(&[&written(name, text)]);
        assert_eq!(codes(&findings, "error"), <[&str; 0]>::default(), "{name}: {findings:#?}");
    }
    // What decides is in the SPIs, so a slip in one of them is still told, and of the right spoke.
    let slipped = b.replace("inbound esp 1003", "inbound esp 1030");
    let findings = lint(&[&written("slipped-spoke", format!("{hub}{a}{slipped}"))]);
    let mismatch = only(&findings, "config-spi-mismatch");
    assert!(text_has(mismatch, "HUB sends ESP to SPOKEB with SPI 1003"), "{mismatch}");
    assert_eq!(codes(&findings, "error"), ["config-spi-mismatch"]);
    // A hub with an entry for one of two spokes contradicts neither.
    let one = hub.split("crypto map M 20").next().unwrap().to_owned()
        + "interface G0\n ip address 10.0.0.1 255.255.255.0\n crypto map M\n";
    let findings = lint(&[&written("one-entry", format!("{one}{a}{b}"))]);
    assert_eq!(codes(&findings, "error"), <[&str; 0]>::default(), "{findings:#?}");
}

/// R1 and R2 with a transform set and an access list each, IKE between them.
fn ike_pair(name: &str, sets: [&str; 2], lists: [&str; 2]) -> Vec<Value> {
    let one = |n: usize, far: usize| {
        format!(
            "hostname R{n}\ncrypto ipsec transform-set T {}\ncrypto map M 10 ipsec-isakmp\n set peer 192.168.1.{far}\n \
             set transform-set T\n match address 101\ninterface G0\n ip address 192.168.1.{n} 255.255.255.0\n crypto map M\n{}\n",
            sets[n - 1],
            lists[n - 1]
        )
    };
    lint(&[&written(name, one(1, 2) + &one(2, 1))])
}

#[test]
fn what_only_one_access_list_leaves_out_is_a_mismatch() {
    const SETS: [&str; 2] = ["esp-aes esp-sha-hmac"; 2];
    const DENY: &str = "access-list 101 deny ip host 192.168.2.2 any\n";
    const BACK: &str = "access-list 101 deny ip any host 192.168.2.2\n";
    const THERE: &str = "access-list 101 permit ip 192.168.2.0 0.0.0.255 192.168.3.0 0.0.0.255\n";
    const HERE: &str = "access-list 101 permit ip 192.168.3.0 0.0.0.255 192.168.2.0 0.0.0.255\n";
    let of = |name, first: String, second: String| ike_pair(name, SETS, [&first, &second]);
    let findings = of("deny-one", format!("{DENY}{THERE}"), HERE.to_owned());
    let mismatch = only(&findings, "config-acl-mismatch");
    assert!(text_has(mismatch, "R1 leaves out ip 192.168.2.2 > any (101)"), "{mismatch}");
    assert_eq!(lines(mismatch), [("R1".to_owned(), 10)]);
    for (name, first, second) in [
        ("deny-both", format!("{DENY}{THERE}"), format!("{BACK}{HERE}")),
        // Behind the last line that permits, nothing is left out that was selected.
        ("deny-behind", format!("{THERE}{DENY}"), HERE.to_owned()),
        ("deny-elsewhere", format!("access-list 101 deny ip any host 10.0.0.1\n{THERE}"), HERE.to_owned()),
    ] {
        let findings = of(name, first, second);
        assert!(findings.iter().all(|finding| finding["code"] != "config-acl-mismatch"), "{name}: {findings:#?}");
    }
}

#[test]
fn an_aes_without_a_number_is_one_of_128_bits() {
    let sets = |name, a, b| ike_pair(name, [a, b], ["", ""]);
    let findings = sets("aes-256", "esp-aes 256 esp-sha-hmac", "esp-aes esp-sha-hmac");
    assert!(text_has(only(&findings, "config-transform-mismatch"), "nothing in common"));
    let findings = sets("aes-128", "esp-aes 128 esp-sha-hmac", "esp-aes esp-sha-hmac");
    assert!(findings.iter().all(|finding| finding["code"] != "config-transform-mismatch"), "{findings:#?}");
}

#[test]
fn a_display_of_negotiated_sas_does_not_contradict_manual_keys() {
    let [hub, ..] = hub_and_spokes();
    let ike = "crypto map M 30 ipsec-isakmp\n set peer 10.0.0.4\n set transform-set T\n match address L30\n";
    let group = |peer: &str, inbound: u32, outbound: u32| {
        format!(
            "   local  ident (addr/mask/prot/port): (192.168.1.0/255.255.255.0/0/0)\n\
             \x20  remote ident (addr/mask/prot/port): (192.168.9.0/255.255.255.0/0/0)\n   current_peer {peer} port 500\n\
             \x20    inbound esp sas:\n      spi: 0x{inbound:X}({inbound})\n        transform: esp-aes esp-sha-hmac ,\n\
             \x20    outbound esp sas:\n      spi: 0x{outbound:X}({outbound})\n        transform: esp-aes esp-sha-hmac ,\n"
        )
    };
    let shown = |manual: u32| {
        let head =
            "HUB#show crypto ipsec sa\ninterface: GigabitEthernet0/0\n    Crypto map tag: M, local addr 10.0.0.1\n";
        format!("{head}{}{}", group("10.0.0.2", 2002, manual), group("10.0.0.4", 1_377_641_764, 1_847_317_209))
    };
    let findings = lint(&[&written("mixed", format!("{hub}{ike}{}", shown(1002)))]);
    assert!(findings.iter().all(|finding| finding["code"] != "config-stale"), "{findings:#?}");
    let findings = lint(&[&written("mixed-stale", format!("{hub}{ike}{}", shown(1009)))]);
    let stale = only(&findings, "config-stale");
    assert!(text_has(stale, "outbound ESP 1009") && !text_has(stale, "1847317209"), "{stale}");
}

/// Every key that stands in a text: what follows `0x` in states, and hex words of session keys.
fn keys_of(text: &str) -> Vec<String> {
    let words = text.split([' ', '\n', '\t', '"', ',']);
    words.filter_map(|word| word.strip_prefix("0x")).filter(|digits| digits.len() >= 32).map(str::to_owned).collect()
}

#[test]
fn no_output_and_no_error_shows_a_key() {
    let unusual = "00c0ffee00c0ffee00c0ffee00c0ffee";
    let cisco = fixture("test06-broken-pair.txt")
        .replace(" 2001 00", &format!(" 2001 {unusual}"))
        .replace(" CISCO ", " verysecret ");
    // Keys where they do not belong, too: they must not come back in a message.
    let wrong = format!(
        "{cisco}\nR1(config-crypto-map)#set session-key inbound esp {unusual} 2001\nR1(config-crypto-map)#set session-key {unusual}\n\
         crypto isakmp key verysecret\ncrypto isakmp key verysecret address nowhere\nenable secret verysecret\n\
         username verysecret\n[[sa]]\n"
    );
    let cisco = written("secrets", cisco);
    let wrong = written("secrets-wrong", wrong.replace("[[sa]]\n", ""));
    let toml = written(
        "secrets-toml",
        format!(
            "[[sa]]\nprotocol = \"esp\"\nspi = 300\nsrc = \"{unusual}\"\nencryption_key = \"0x{unusual}\"\nauthentication_key = \"verysecret\"\n[[sa]\n"
        ),
    );
    let states = fixture("lab-wrong-auth-key.txt");
    let mut secrets = keys_of(&states);
    assert!(secrets.len() >= 8);
    secrets.extend([unusual.to_owned(), "verysecret".to_owned()]);
    for config in [cisco.as_str(), &wrong, &toml, "fixtures/policy/lab-wrong-auth-key.txt"] {
        for format in ["text", "json", "csv", "ndjson", "markdown"] {
            let run = spiglass(&["check", "-v", "--format", format, "--config", config]);
            for secret in &secrets {
                assert!(!run.text().contains(secret.as_str()), "{config} as {format} shows a key");
                assert!(!run.stderr.contains(secret.as_str()), "{config} as {format} tells a key: {}", run.stderr);
            }
        }
    }
}

/// Keys are often made unreadable before a configuration is pasted: the rest of their line still counts.
#[test]
fn lines_whose_keys_were_made_unreadable_are_read_all_the_same() {
    let fixed = fixture("test06-fixed-pair.txt");
    let hidden = |text: &str| {
        let mut out = String::new();
        for line in text.lines() {
            match line.split_once(" authenticator ") {
                Some((head, _)) => out.push_str(&format!("{head} authenticator <removed>\n")),
                None => out.push_str(&format!("{line}\n")),
            }
        }
        out
    };
    let all = lint(&[&written("hidden-all", hidden(&fixed))]);
    assert!(codes(&all, "error").is_empty(), "{all:#?}");
    assert!(all.iter().all(|f| !["config-key-reused", "config-key-length"].contains(&text(f, "code"))), "{all:#?}");
    let wrong = hidden(&fixed).replacen("outbound esp 1002", "outbound esp 1003", 1);
    assert!(codes(&lint(&[&written("hidden-wrong", wrong)]), "error").contains(&"config-spi-mismatch".to_owned()));
    // Only one end's keys: they cannot be compared.
    let (r1, r2) = fixed.split_at(fixed.find("R2").expect("the second router"));
    let half = lint(&[&written("hidden-half", format!("{}{r2}", hidden(r1)))]);
    assert!(codes(&half, "error").is_empty(), "{half:#?}");
}
