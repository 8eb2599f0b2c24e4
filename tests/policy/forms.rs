//! Ways of writing: each gives the facts of the plain one, or is refused with its lines. No way of writing shows a key.

use crate::support::build::Noise;
use crate::support::spiglass;
use spiglass::policy::{Policies, lint};

/// A router of a pair. `spi` is what the second sends with; the first expects 61001.
fn router(second: bool, spi: u32) -> String {
    let (name, own, peer, net, far) = if second {
        ("Birch", "198.51.100.34", "198.51.100.33", "10.61.2.0", "10.61.1.0")
    } else {
        ("Amber", "198.51.100.33", "198.51.100.34", "10.61.1.0", "10.61.2.0")
    };
    let (inbound, outbound) = if second { (61_002, spi) } else { (61_001, 61_002) };
    let keys = |inbound: bool| {
        let digit = if inbound == second { 3 } else { 4 };
        format!(
            "cipher c0ffee00112233445566778899aabb0{digit} authenticator c0ffee00112233445566778899aabbccddeeff0{digit}"
        )
    };
    format!(
        "version 15.2\nhostname {name}\n!\ncrypto ipsec transform-set SET esp-aes esp-sha-hmac\n mode tunnel\n!\n\
         crypto map LINK 10 ipsec-manual\n set peer {peer}\n set session-key inbound esp {inbound} {}\n \
         set session-key outbound esp {outbound} {}\n set transform-set SET\n match address LIST\n!\n\
         interface GigabitEthernet0/0\n ip address {own} 255.255.255.252\n crypto map LINK\n!\n\
         interface GigabitEthernet0/1\n ip address {} 255.255.255.0\n!\nip route {far} 255.255.255.0 {peer}\n!\n\
         ip access-list extended LIST\n permit ip {net} 0.0.0.255 {far} 0.0.0.255\n!\nend\n",
        keys(true),
        keys(false),
        net.replace(".0", ".1")
    )
}

fn policies(inputs: &[(&str, Vec<u8>)]) -> Policies {
    Policies::read(&inputs.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect::<Vec<_>>())
}

/// What is found, without the lines it stands on.
fn findings(inputs: &[(&str, Vec<u8>)]) -> Vec<(String, String)> {
    let policies = policies(inputs);
    let mut found: Vec<_> =
        lint(&policies.view()).into_iter().map(|problem| (problem.code.to_owned(), problem.evidence)).collect();
    found.sort();
    found
}

fn pair(form: impl Fn(&str) -> Vec<u8>, spi: u32) -> Vec<(&'static str, Vec<u8>)> {
    vec![("a.txt", form(&router(false, 0))), ("b.txt", form(&router(true, spi)))]
}

fn lines(text: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
    text.lines().map(|line| change(line) + "\n").collect::<String>().into_bytes()
}

/// Lines of a configuration as a terminal of some width breaks them.
fn broken(text: &str, width: usize) -> Vec<u8> {
    let mut out = String::new();
    for line in text.lines() {
        let characters: Vec<char> = line.chars().collect();
        for piece in characters.chunks(width) {
            out.extend(piece.iter());
            out.push('\n');
        }
    }
    out.into_bytes()
}

fn abbreviated(line: &str) -> String {
    let pairs = [
        ("crypto ipsec transform-set", "cr ip tr"),
        ("crypto map LINK 10 ipsec-manual", "cry map LINK 10 ipsec-m"),
        (" crypto map", " cry map"),
        ("set session-key inbound", "set ses in"),
        ("set session-key outbound", "set ses out"),
        (" esp ", " es "),
        ("cipher", "ci"),
        ("authenticator", "au"),
        ("set transform-set", "set tr"),
        ("match address", "mat addr"),
        ("interface GigabitEthernet", "int gi"),
        ("ip address", "ip addr"),
        ("ip access-list extended", "ip acc ext"),
        ("permit", "perm"),
    ];
    pairs.iter().fold(line.to_owned(), |line, (whole, short)| line.replace(whole, short))
}

fn upper(line: &str) -> String {
    const KEYWORDS: [&str; 22] = [
        "crypto",
        "ipsec",
        "transform-set",
        "map",
        "ipsec-manual",
        "set",
        "peer",
        "session-key",
        "inbound",
        "outbound",
        "esp",
        "cipher",
        "authenticator",
        "match",
        "address",
        "interface",
        "ip",
        "access-list",
        "extended",
        "permit",
        "mode",
        "tunnel",
    ];
    let words =
        line.split(' ').map(|word| if KEYWORDS.contains(&word) { word.to_uppercase() } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_form_of_a_pair_has_the_findings_of_the_plain_one() {
    let utf16 = |text: &str, little: bool, mark: bool| -> Vec<u8> {
        let text = if mark { format!("\u{feff}{text}") } else { text.to_owned() };
        text.encode_utf16().flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    };
    type Form = (&'static str, Box<dyn Fn(&str) -> Vec<u8>>);
    let forms: Vec<Form> = vec![
        ("abbreviated", Box::new(|text| lines(text, abbreviated))),
        ("upper case", Box::new(|text| lines(text, upper))),
        ("CRLF", Box::new(|text| text.replace('\n', "\r\n").into_bytes())),
        ("CR", Box::new(|text| text.replace('\n', "\r").into_bytes())),
        ("flat", Box::new(|text| lines(text, |line| line.trim().to_owned()))),
        ("indented", Box::new(|text| lines(text, |line| format!("\t   {line}   ")))),
        ("no-break spaces", Box::new(|text| text.replace(' ', "\u{a0}").into_bytes())),
        ("quoted", Box::new(|text| lines(text, |line| format!("> {line}")))),
        ("quoted twice", Box::new(|text| lines(text, |line| format!(">> {line}")))),
        ("piped", Box::new(|text| lines(text, |line| format!("| {line}")))),
        (
            "numbered",
            Box::new(|text| {
                text.lines()
                    .enumerate()
                    .map(|(n, line)| format!("{:>5}  {line}\n", n + 1))
                    .collect::<String>()
                    .into_bytes()
            }),
        ),
        ("broken at 80", Box::new(|text| broken(text, 80))),
        ("broken at 64", Box::new(|text| broken(text, 64))),
        ("broken at words", Box::new(|text| text.replace(" authenticator", "\n  authenticator").into_bytes())),
        ("UTF-16LE", Box::new(move |text| utf16(text, true, false))),
        ("UTF-16BE with a mark", Box::new(move |text| utf16(text, false, true))),
        (
            "paged",
            Box::new(|text| {
                text.replace("\n set tr", "\n --More-- \x08\x08\x08\x08\x08\x08\x08\x08\x08        \x08\x08\x08\x08\x08\x08\x08\x08\x08 set tr").into_bytes()
            }),
        ),
        (
            "hex SPIs",
            Box::new(|text| text.replace("esp 61001", "esp 0xee49").replace("esp 61002", "esp 0xEE4A").into_bytes()),
        ),
        (
            "a diff",
            Box::new(|text| {
                [b"--- a\n+++ b\n@@ -1,9 +1,9 @@\n".to_vec(), lines(text, |line| format!("+{line}"))].concat()
            }),
        ),
        (
            "logged",
            Box::new(|text| {
                lines(text, |line| {
                    format!("Nov 22 02:03:04.5: %PARSER-5-CFGLOG_LOGGEDCMD: User:x  logged command:{line}")
                })
            }),
        ),
    ];
    for spi in [61_001, 61_010] {
        let plain = findings(&pair(|text| text.as_bytes().to_vec(), spi));
        assert_eq!(plain.iter().any(|(code, _)| code == "config-spi-mismatch"), spi != 61_001, "{plain:?}");
        assert_eq!(plain.len(), usize::from(spi != 61_001), "{plain:?}");
        for (name, form) in &forms {
            let inputs = pair(form, spi);
            assert_eq!(findings(&inputs), plain, "{name}, {spi}");
            let read = policies(&inputs);
            assert!(read.files.iter().all(|file| file.tells && file.unread_lines == 0), "{name}: {:?}", read.files);
        }
    }
}

#[test]
fn two_configurations_without_names_are_two_routers() {
    let bare = |second, spi| -> String {
        router(second, spi)
            .lines()
            .filter(|line| !line.starts_with("hostname"))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let both = bare(false, 0) + &bare(true, 61_010);
    let policies = policies(&[("both.txt", both.into_bytes())]);
    let names: Vec<&str> = policies.routers.iter().map(|router| &*router.name).collect();
    assert_eq!(names, ["both.txt (1)", "both.txt (2)"]);
    assert!(lint(&policies.view()).iter().any(|problem| problem.code == "config-spi-mismatch"));
    // The same configuration with a line typed anew is one router.
    let again = bare(false, 0)
        + "crypto map LINK 10 ipsec-manual\n set session-key inbound esp 61005 cipher 00 authenticator 01\n";
    let policies = self::policies(&[("one.txt", again.into_bytes())]);
    assert_eq!(policies.routers.len(), 1);
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("fixtures/policy/{name}")).expect("a fixture")
}

fn errors(a: &[u8], b: &[u8]) -> Vec<&'static str> {
    let policies = policies(&[("a.txt", a.to_vec()), ("b.txt", b.to_vec())]);
    assert!(policies.files.iter().all(|file| file.tells && file.unread_lines == 0), "{:?}", policies.files);
    let problems = lint(&policies.view());
    assert!(problems.iter().all(|problem| problem.fix.is_empty()), "no lines for makers whose syntax is not certain");
    let notes = ["config-key-reused", "weak-transform"];
    problems.iter().map(|problem| problem.code).filter(|code| !notes.contains(code)).collect()
}

/// Each maker's pair is sound; another SPI, key or peer at one end is found.
#[test]
fn pairs_of_other_makers_are_compared() {
    for (one, two, spi, key) in [
        ("huawei-1.txt", "huawei-2.txt", ("esp 61001", "esp 61010"), ("ddee02", "ddee0f")),
        ("fortigate-1.txt", "fortigate-2.txt", ("localspi 0xee4a", "localspi 0xee4f"), ("ddee02", "ddee0f")),
        ("setkey-1.txt", "setkey-2.txt", ("61001(0x0000ee49)", "61010(0x0000ee52)"), ("ccddee02", "ccddee0f")),
        ("openbsd-1.txt", "openbsd-2.txt", ("0x0000ee49", "0x0000ee52"), ("", "")),
        ("junos-1.txt", "junos-2.txt", ("spi 61001", "spi 61010"), ("ddee02", "ddee0f")),
        ("junos-link-1.txt", "junos-link-2.txt", ("spi 61001", "spi 61010"), ("112201", "11220f")),
        ("routeros-1.txt", "routeros-2.txt", ("0xee4a/", "0xee4f/"), ("ddee02", "ddee0f")),
    ] {
        let (a, b) = (fixture(one), String::from_utf8(fixture(two)).unwrap());
        assert_eq!(errors(&a, b.as_bytes()), [""; 0], "{one}");
        let other = b.replace(spi.0, spi.1);
        assert_ne!(other, b, "{one}");
        assert_eq!(errors(&a, other.as_bytes()), ["config-spi-mismatch"], "{one}");
        if !key.0.is_empty() {
            let other = b.replace(key.0, key.1);
            assert_ne!(other, b, "{one}");
            let found = errors(&a, other.as_bytes());
            assert!(!found.is_empty() && found.iter().all(|code| *code == "config-key-mismatch"), "{one}: {found:?}");
        }
    }
    // Text that a device makes keys of is compared, too; of encrypted keys nothing is said.
    let phrased = |name: &str, how: &str| {
        let text = String::from_utf8(fixture(name)).unwrap();
        let lines = text.lines().filter(|line| !line.contains("encryption-hex")).map(|line| {
            match line.split_once("authentication-hex ") {
                Some((_, rest)) => format!(" sa string-key {} {how}\n", rest.split(" simple").next().unwrap()),
                None => format!("{line}\n"),
            }
        });
        lines.collect::<String>().into_bytes()
    };
    assert_eq!(errors(&phrased("huawei-1.txt", "simple g1ass"), &phrased("huawei-2.txt", "simple g1ass")), [""; 0]);
    assert_eq!(
        errors(&phrased("huawei-1.txt", "simple g1ass"), &phrased("huawei-2.txt", "simple gl4ss")),
        ["config-key-mismatch"; 2]
    );
    assert_eq!(errors(&phrased("huawei-1.txt", "cipher %^%#a"), &phrased("huawei-2.txt", "cipher %^%#b")), [""; 0]);
    let wrong = String::from_utf8(fixture("huawei-2.txt"))
        .unwrap()
        .replace("tunnel remote 198.51.100.33", "tunnel remote 198.51.100.35");
    assert!(errors(&fixture("huawei-1.txt"), wrong.as_bytes()).contains(&"config-peer-mismatch"));
}

#[test]
fn displays_of_huawei_and_asa_are_read() {
    for (name, suite) in
        [("huawei-display.txt", "AES-128-CBC/HMAC-SHA2-256-128"), ("asa-show-sa.txt", "AES-256-CBC/HMAC-SHA1-96")]
    {
        let policies = policies(&[(name, fixture(name))]);
        let view = policies.view();
        let mut stated: Vec<String> =
            view.stated.iter().filter_map(|one| one.key()).map(|key| key.to_string()).collect();
        stated.sort();
        assert_eq!(
            stated,
            ["esp/198.51.100.33/198.51.100.34/0x0000ee4a", "esp/198.51.100.34/198.51.100.33/0x0000ee49"],
            "{name}"
        );
        assert_eq!((view.name(0), policies.files[0].unread_lines), ("Amber", 0), "{name}: {:?}", policies.files[0]);
        let found = view.stated[0].suite.expect("the transforms are known").to_string();
        assert!(found.replace("SHA-1", "SHA1").contains(suite), "{name}: {found}");
    }
}

/// OSPFv3 shares one SPI and key on a link; routers of different links have nothing to compare.
#[test]
fn the_sas_of_a_link_are_compared_on_that_link() {
    let host = |name: &str, prefix: &str, line: &str| {
        let text = format!("hostname {name}\ninterface GigabitEthernet0/0\n ipv6 address {prefix}/64\n {line}\n");
        text.into_bytes()
    };
    let line = |spi: u32, rest: &str| format!("ipv6 ospf authentication ipsec spi {spi} {rest}");
    let same = "md5 0123456789abcdef0123456789abcdef";
    let run = |a: Vec<u8>, b: Vec<u8>| {
        let found = findings(&[("a", a), ("b", b)]);
        found.into_iter().map(|(code, _)| code).collect::<Vec<_>>()
    };
    let one = host("Amber", "2001:db8:1::1", &line(500, same));
    assert_eq!(run(one.clone(), host("Birch", "2001:db8:1::2", &line(500, same))), [""; 0]);
    assert_eq!(run(one.clone(), host("Birch", "2001:db8:1::2", &line(0x500, same))), ["config-spi-mismatch"]);
    assert_eq!(run(one.clone(), host("Birch", "2001:db8:2::2", &line(510, same))), [""; 0], "another link");
    assert_eq!(
        run(one.clone(), host("Birch", "2001:db8:1::2", &line(500, "md5 0123456789abcdef0123456789abcde0"))),
        ["config-key-mismatch"]
    );
    assert_eq!(
        run(one.clone(), host("Birch", "2001:db8:1::2", &line(500, "md5 7 0822455D0A16544541"))),
        [""; 0],
        "encrypted"
    );
    let sha = "sha1 0123456789abcdef0123456789abcdef01234567";
    assert_eq!(run(one, host("Birch", "2001:db8:1::2", &line(500, sha))), ["config-transform-mismatch"]);
    let esp =
        |spi: u32| format!("ospfv3 encryption ipsec spi {spi} esp aes-cbc 128 0123456789abcdef0123456789abcdef {sha}");
    let (a, b) = (host("Amber", "2001:db8:1::1", &esp(600)), host("Birch", "2001:db8:1::2", &esp(601)));
    assert_eq!(run(a, b), ["config-spi-mismatch"]);
}

fn write(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("forms-{name}"));
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_tells_of_no_sa_is_refused() {
    for (name, text) in [
        ("empty", ""),
        ("prose", "Hello, this is our tunnel to 192.0.2.18. The SPI is 4102 and it does not work since Monday.\n"),
        (
            "plain",
            "hostname R1\ninterface GigabitEthernet0/0\n ip address 10.0.0.1 255.0.0.0\nip route 0.0.0.0 0.0.0.0 10.0.0.2\naccess-list 10 permit 10.0.0.0 0.255.255.255\nend\n",
        ),
    ] {
        let path = write(name, text);
        let run = spiglass(&["check", "--format", "json", "--config", &path]).expect(2);
        assert!(run.stderr.contains("no SA, crypto map, transform set or selector was found"), "{run}");
    }
}

#[test]
fn lines_that_are_not_understood_are_named_and_never_quoted() {
    let text = router(false, 0)
        .replace("set session-key outbound", "set sesion-key outbond")
        .replace(" match address LIST", " mach address LIST")
        + "crpto map LINK 20 ipsec-manual\n";
    let path = write("misspelt", &text);
    let run = spiglass(&["check", "--format", "json", "--config", &path]);
    for line in ["line 10: not understood", "line 12: not understood", "line 27: not understood"] {
        assert!(run.stderr.contains(line), "{line}: {run}");
    }
    assert!(!run.stderr.contains("c0ffee"), "{run}");
    let unread = run.json()["config"]["unread"].clone();
    let told: Vec<u64> = unread.as_array().unwrap().iter().map(|one| one["line"].as_u64().unwrap()).collect();
    assert_eq!(told, [10, 12, 27], "{unread}");
    assert!(unread[0]["file"].as_str().unwrap().ends_with("misspelt"));
    let sound = spiglass(&["check", "--format", "json", "--config", &write("sound", &router(false, 0))]);
    assert_eq!(sound.json()["config"]["unread"].as_array().map(Vec::len), Some(0), "{sound}");
}

/// What a whole configuration of IOS and ASA holds besides tunnels, with all its keys.
#[test]
fn keys_of_other_protocols_are_no_noise() {
    let more = "service password-encryption\nenable secret 5 $1$abcd$efghijk\naaa new-model\naaa group server radius G\n server name RAD\n\
        crypto pki trustpoint TP-self-signed-1\n enrollment selfsigned\n subject-name cn=IOS\n revocation-check none\n rsakeypair TP-self-signed-1\n!\n\
        crypto pki certificate chain TP-self-signed-1\n certificate self-signed 01\n  30820229 30820192 A0030201 02020101 300D0609\n  4886F70D\n        quit\n\
        crypto key generate rsa modulus 2048\nip ssh version 2\nip ssh pubkey-chain\n username admin\n   key-hash ssh-rsa 0123\n\
        key chain OSPF\n key 1\n  key-string 7 0822455D0A16\n  cryptographic-algorithm hmac-sha-256\n\
        username admin privilege 15 secret 9 $9$abc\nntp authentication-key 1 md5 0822455D0A16 7\nntp trusted-key 1\n\
        radius server RAD\n address ipv4 10.0.0.9 auth-port 1812 acct-port 1813\n key 7 0822455D0A16\n\
        radius-server key 7 0822455D0A16\ntacacs-server key 7 0822455D0A16\ntacacs server TAC\n address ipv4 10.0.0.8\n key 7 0822455D0A16\n\
        snmp-server enable traps ipsec tunnel start\nsnmp-server enable traps isakmp policy add\nsnmp-server community x RO\n\
        crypto isakmp policy 10\n encr aes 256\n hash sha256\n authentication pre-share\n group 14\n lifetime 3600\n\
        crypto isakmp keepalive 10\ncrypto ipsec security-association lifetime seconds 3600\ncrypto ipsec df-bit clear\n\
        class-map match-any VPN\n match protocol ipsec\nline vty 0 4\n transport input ssh\n password 7 0822455D0A16\n login local\n\
        license udi pid ISR sn FTX\nbanner motd ^C The key is under the mat ^C\ntunnel-group 10.0.0.1 type ipsec-l2l\n\
        tunnel-group 10.0.0.1 ipsec-attributes\n ikev1 pre-shared-key *****\nsysopt connection permit-vpn\nssh key-exchange group dh-group14-sha1\n";
    let policies = policies(&[("r.txt", (router(false, 0).replace("end\n", "") + more + "end\n").into_bytes())]);
    assert!(policies.files[0].unread.is_empty(), "{:?}", policies.files[0]);
}

/// A pair whose lines are changed in ways that mean nothing, and in ways that may mean anything.
#[test]
fn mutants_of_pairs_neither_panic_nor_show_keys_and_meaningless_changes_change_nothing() {
    let rounds = std::env::var("SPIGLASS_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut noise = Noise(2_026);
    for round in 0..rounds {
        let spi = if noise.below(2) == 0 { 61_001 } else { 61_010 };
        let plain = findings(&pair(|text| text.as_bytes().to_vec(), spi));
        let (a, b) = (harmless(&router(false, 0), &mut noise), harmless(&router(true, spi), &mut noise));
        let same = findings(&[("a.txt", a.clone().into_bytes()), ("b.txt", b.clone().into_bytes())]);
        assert_eq!(same, plain, "round {round}\n{a}\n{b}");
        let (a, b) = (damaged(&a, &mut noise), damaged(&b, &mut noise));
        let read = policies(&[("a.txt", a.clone()), ("b.txt", b.clone())]);
        let shown = format!("{read:?} {:?}", lint(&read.view())).to_lowercase();
        assert!(
            !shown.contains("c0ffee"),
            "round {round}\n{}\n{}",
            String::from_utf8_lossy(&a),
            String::from_utf8_lossy(&b)
        );
    }
}

/// Spaces, case of keywords, prompts, ends of lines, order of independent lines.
fn harmless(text: &str, noise: &mut Noise) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if noise.below(3) == 0 {
        // Lines of an entry stand in any order.
        let first = lines.iter().position(|line| line.starts_with(" set peer")).unwrap();
        for _ in 0..4 {
            let (a, b) = (noise.below(5) as usize, noise.below(5) as usize);
            lines.swap(first + a, first + b);
        }
    }
    let (case, spaces, prompts, end) = (noise.below(3), noise.below(3), noise.below(4), noise.below(3));
    let host = text.lines().find_map(|line| line.strip_prefix("hostname ")).unwrap().to_owned();
    for line in &mut lines {
        if case == 0 && noise.below(2) == 0 {
            *line = upper(line);
        }
        if spaces == 0 {
            *line = line.replace(' ', if noise.below(2) == 0 { "  " } else { " \t" });
        }
        if prompts == 0 && line != "!" {
            *line = format!("{host}(config)#{}", line.trim());
        }
    }
    let end = if end == 0 { "\r\n" } else { "\n" };
    lines.join(end) + end
}

/// Anything.
fn damaged(text: &str, noise: &mut Noise) -> Vec<u8> {
    let mut octets = text.as_bytes().to_vec();
    for _ in 0..1 + noise.below(6) {
        let at = noise.below(octets.len().max(1) as u64) as usize;
        match noise.below(5) {
            // A key keeps its mark: it is not cut.
            0 => octets.insert(at.min(octets.len()), b'\n'),
            1 => octets.insert(at.min(octets.len()), b' '),
            2 => {
                let end = octets[at..].iter().position(|b| *b == b'\n').map_or(octets.len(), |end| at + end);
                drop(octets.drain(at..end));
            }
            3 => octets.insert(at.min(octets.len()), b'"'),
            _ => {
                let start = octets[..at].iter().rposition(|b| *b == b'\n').map_or(0, |start| start + 1);
                let line: Vec<u8> = octets[start..at].to_vec();
                octets.splice(start..start, line);
            }
        }
    }
    octets
}
