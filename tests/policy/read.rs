//! Readers: what is understood of pasted text, whatever pasting did to it.

use std::time::{Duration, Instant};

use crate::support::build::Noise;
use crate::support::threads::each;
use crate::support::{shared, spiglass};
use spiglass::policy::{Basis, Mode, Numbering, Policies, Way, lint};

fn read(text: &str) -> Policies {
    Policies::read(&[("paste".to_owned(), text.as_bytes().to_vec())])
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("fixtures/policy/{name}")).expect("a fixture")
}

#[test]
fn one_paste_holds_both_routers() {
    let policies = read(&fixture("test06-broken-pair.txt"));
    let names: Vec<&str> = policies.routers.iter().map(|router| &*router.name).collect();
    assert_eq!(names, ["R1", "R2"]);
    assert_eq!(policies.files[0].skipped_lines, 0, "{:?}", policies.files[0]);
    let r1 = &policies.routers[0];
    assert_eq!(r1.transform_sets["ESP-NULL"].words, "esp-null esp-md5-hmac");
    assert_eq!(r1.maps[0].keys.len(), 2);
    assert_eq!(r1.maps[0].acl.as_ref().map(|(name, cite)| (name.as_str(), cite.line)), Some(("R1_TO_R2_ACL", 11)));
    assert_eq!(r1.addresses().map(|a| a.to_string()).collect::<Vec<_>>(), ["192.168.1.1"]);
    let view = policies.view();
    let stated: Vec<_> = view.stated.iter().map(|one| (one.spi.0, one.way, one.used)).collect();
    assert_eq!(
        stated,
        [
            (2001, Some(Way::In), false),
            (1002, Some(Way::Out), false),
            (1002, Some(Way::In), false),
            (2001, Some(Way::Out), false)
        ]
    );
}

#[test]
fn pasting_changes_nothing() {
    let sound = fixture("test06-fixed-pair.txt");
    let facts = |text: &str| {
        let policies = read(text);
        let view = policies.view();
        view.stated
            .iter()
            .map(|one| (view.name(one.router).to_owned(), one.key(), one.words.clone(), one.mode))
            .collect::<Vec<_>>()
    };
    let expected = facts(&sound);
    assert_eq!(expected.len(), 4);
    let flat: String = sound.lines().map(|line| format!("{}\n", line.trim())).collect();
    let indented: String = sound.lines().map(|line| format!("\t    {line}   \n")).collect();
    let typed: String = {
        // Line by line at the prompt of each router.
        let mut host = "R1";
        let lines = sound.lines().filter(|line| !line.starts_with("```")).map(|line| {
            if line.starts_with("R2#") {
                host = "R2";
            }
            if line.contains("#sh") {
                format!("{line}\n")
            } else {
                format!("{host}(config-crypto-map)# {}\n", line.trim())
            }
        });
        lines.collect()
    };
    let annotated: String = sound
        .lines()
        .map(|line| {
            if line.contains("session-key") { format!("{line}   <- configured ID\n***\n") } else { format!("{line}\n") }
        })
        .collect();
    let hostnames = sound
        .replace("R1#sh run | s crypto|GigabitEthernet0|R1_TO_R2_ACL", "hostname R1")
        .replace("R2#sh run | s crypto|GigabitEthernet0|R2_TO_R1_ACL", "hostname R2");
    for (what, text) in [
        ("flat", flat),
        ("indented", indented),
        ("CRLF", sound.replace('\n', "\r\n")),
        ("typed", typed),
        ("annotated", annotated),
        ("hostnames", hostnames),
    ] {
        assert_eq!(facts(&text), expected, "{what}");
    }
}

#[test]
fn a_later_configuration_of_a_router_replaces_the_first() {
    let both = fixture("test06-broken-pair.txt") + &fixture("test06-fixed-pair.txt");
    let policies = read(&both);
    assert_eq!(policies.routers.len(), 2);
    assert!(policies.view().stated.iter().all(|one| one.used));
    assert!(policies.files[0].remarks.iter().any(|remark| remark.what.contains("later one counts")));
}

#[test]
fn two_configurations_under_one_name_are_two_routers() {
    let pair = fixture("test06-fixed-pair.txt");
    let parts: Vec<&str> = pair.split("```").filter(|part| part.contains("crypto map")).collect();
    let named = |part: &str| {
        let lines: Vec<&str> = part.trim().lines().skip(1).collect();
        format!("hostname Router\n{}\n", lines.join("\n")).into_bytes()
    };
    let policies = Policies::read(&[("r1.cfg".to_owned(), named(parts[0])), ("r2.cfg".to_owned(), named(parts[1]))]);
    let names: Vec<&str> = policies.routers.iter().map(|router| &*router.name).collect();
    assert_eq!(names, ["Router", "Router (r2.cfg)"]);
    assert!(policies.routers.iter().all(|router| router.maps[0].peers.len() == 1));
}

#[test]
fn show_crypto_ipsec_sa_is_read() {
    let policies = read(&fixture("test05-show-r1.txt"));
    assert_eq!(policies.files[0].skipped_lines, 0, "{:?}", policies.files[0]);
    let view = policies.view();
    let stated: Vec<String> = view.stated.iter().filter_map(|one| one.key()).map(|key| key.to_string()).collect();
    assert_eq!(stated, ["ah/192.168.1.2/192.168.1.1/0x000007d1", "ah/192.168.1.1/192.168.1.2/0x000003ea"]);
    assert!(view.stated.iter().all(|one| one.basis == Basis::InForce && one.mode == Some(Mode::Tunnel)));
    assert!(view.stated.iter().all(|one| one.suite.is_some_and(|suite| suite.to_string() == "AH HMAC-MD5-96")));
    let router = &policies.routers[0];
    assert_eq!((router.counters[0].encapsulated, router.counters[0].decapsulated), (13_052_329, 4_175_662));
    assert_eq!(router.selectors[0].selector.to_string(), "ip 192.168.2.2 > 192.168.3.2");
}

#[test]
fn policies_of_linux_are_read_in_detail() {
    let policies = read(
        "root@gw1:~# ip -d xfrm policy\n\
         src 192.168.2.0/24 dst 192.168.3.0/24 uid 0\n\
         \tdir out action allow index 113 priority 0 ptype main share any flag  (0x00000000)\n\
         \tlifetime config:\n\t  limit: soft (INF)(bytes), hard (INF)(bytes)\n\t  expire add: soft 0(sec), hard 0(sec)\n\
         \tlifetime current:\n\t  0(bytes), 0(packets)\n\t  add 2026-11-21 04:42:18 use -\n\
         \ttmpl src 192.168.1.1 dst 192.168.1.2\n\
         \t\tproto esp spi 0x00000000(0) reqid 100(0x00000064) mode tunnel\n\
         \t\tlevel required share any \n\t\tenc-mask ffffffff auth-mask ffffffff comp-mask ffffffff\n\
         src 192.168.3.0/24 dst 192.168.2.0/24\n\tdir in priority 0\n\ttmpl src 192.168.1.2 dst 192.168.1.1\n\t\tproto esp reqid 200 mode tunnel\n\
         socket out priority 0\n",
    );
    assert_eq!((policies.files[0].skipped_lines, policies.files[0].remarks.len()), (0, 0), "{:?}", policies.files[0]);
    let router = &policies.routers[0];
    assert!(router.installed.is_empty(), "a template is no SA");
    let selectors: Vec<String> = router.selectors.iter().map(|one| one.selector.to_string()).collect();
    assert_eq!(selectors, ["ip 192.168.2.0/24 > 192.168.3.0/24"; 2], "both seen from this gateway");
    assert!(router.selectors.iter().all(|one| one.local.is_some_and(|local| local.to_string() == "192.168.1.1")));
}

/// Whether numbers are extended, and how far short packets are padded, is part of a state.
#[test]
fn states_of_linux_say_how_they_number_and_pad() {
    let state = |more: &str| {
        let text = format!(
            "src 10.0.0.1 dst 10.0.0.2\n\tproto esp spi 0x000003e9 reqid 1 mode tunnel\n{more}\taead rfc4106(gcm(aes)) 0x00 (160 bits) 128\n"
        );
        let policies = read(&text);
        let [only] = &policies.routers[0].installed[..] else { panic!("one state") };
        assert_eq!(policies.files[0].skipped_lines, 0, "{more}");
        (only.numbering, only.tfc)
    };
    assert_eq!(state("\treplay-window 32 flag af-unspec\n"), (Numbering::Plain, 0));
    let esn = "\treplay-window 0 seq 0x00000000 flag esn (0x10000000)\n\tanti-replay esn context:\n\t seq-hi 0x0, seq 0x0, oseq-hi 0x7, oseq 0xa1\n";
    assert_eq!(state(esn), (Numbering::Extended(7), 0));
    assert_eq!(state("\treplay-window 32 flag esn\n"), (Numbering::Extended(0), 0));
    assert_eq!(state("\ttfcpad 1000\n"), (Numbering::Plain, 1_000));
}

#[test]
fn swanctl_list_sas_is_read() {
    let policies = read(
        "root@moon:~# swanctl --list-sas\n\
         gw-gw: #1, ESTABLISHED, IKEv2, 1d8e02f37bd5dd45_i* 5fbd4e0dc5d5e1a6_r\n\
         \x20 local  'moon.example.org' @ 192.168.0.1[4500]\n\
         \x20 remote 'sun.example.org' @ 192.168.0.2[4500]\n\
         \x20 AES_CBC-128/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/CURVE_25519\n\
         \x20 established 3s ago, rekeying in 14022s\n\
         \x20 net-net: #1, reqid 1, INSTALLED, TUNNEL, ESP:AES_CBC-128/HMAC_SHA2_256_128\n\
         \x20   installed 3s ago, rekeying in 3286s, expires in 3957s\n\
         \x20   in  c2e8fd03,     84 bytes,     1 packets,     3s ago\n\
         \x20   out c3d6d8ee,     84 bytes,     1 packets,     3s ago\n\
         \x20   local  10.1.0.0/16\n\
         \x20   remote 10.2.0.0/16\n",
    );
    assert_eq!(policies.files[0].skipped_lines, 0, "{:?}", policies.files[0]);
    let view = policies.view();
    let stated: Vec<_> = view.stated.iter().map(|one| (one.key().unwrap().to_string(), one.way.unwrap())).collect();
    assert_eq!(
        stated,
        [
            ("esp/192.168.0.2/192.168.0.1/0xc2e8fd03".to_owned(), Way::In),
            ("esp/192.168.0.1/192.168.0.2/0xc3d6d8ee".to_owned(), Way::Out)
        ]
    );
    let suite = view.stated[0].suite.expect("the proposal is known").to_string();
    assert_eq!(suite, "ESP AES-128-CBC/HMAC-SHA2-256-128");
    assert_eq!(view.name(0), "moon");
}

#[test]
fn the_list_of_our_own_is_read() {
    let policies = read(
        "# what we expect\n[[sa]]\nname = \"R1 to R2\"\nprotocol = \"ah\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\nspi = 1002\n\
         transform = \"ah-md5-hmac\"\nmode = \"tunnel\"\nauthentication_key = \"0x00112233445566778899aabbccddeeff\"\n\n\
         [[sa]]\nprotocol = \"esp\"\nspi = \"0x3ea\"\n[[sa]]\nprotocol = \"esp\"\nspi = 0x7d1\n",
    );
    let view = policies.view();
    let told: Vec<u32> = policies.files[0].remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(told, [13, 16], "two have no ends: {:?}", policies.files[0].remarks);
    assert_eq!(view.stated.iter().map(|one| one.spi.0).collect::<Vec<_>>(), [1002, 1002, 2001]);
    let first = &view.stated[0];
    assert_eq!(first.key().unwrap().to_string(), "ah/192.168.1.1/192.168.1.2/0x000003ea");
    assert_eq!(first.authenticator.as_ref().and_then(|key| key.bits()), Some(128));
    assert_eq!(first.cites[0].line, 3, "the first name of the entry");
    // What is wrong is told with its line.
    let policies =
        read("[[sa]]\nprotocol = \"esp\"\nspi = 5000000000\nports = 1\n\n[[sa]]\nprotocol = \"tcp\"\nspi = 300\n");
    let told: Vec<u32> = policies.files[0].remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(told, [4, 3, 2, 7, 7], "{:?}", policies.files[0].remarks);
    assert!(policies.view().stated.is_empty());
    let policies = read("[[sa]]\nspi = = 3\n");
    assert_eq!(policies.files[0].remarks[0].line, 2);
}

#[test]
fn a_command_of_several_lines_is_cited_at_its_first() {
    let setkey = "#!/usr/sbin/setkey -f\nflush;\nadd 198.51.100.1 198.51.100.2 esp 0x1001 -m tunnel\n\t-E aes-cbc 0x00\n\t-A hmac-sha1 0x00;\n";
    let openbsd = "left = \"198.51.100.1\"\nesp tunnel from $left to 198.51.100.2 spi 0x1001:0x1002 \\\n\tauth hmac-sha1 enc aes \\\n\t\
                   authkey 0x00:0x00 \\\n\tenckey 0x00:0x00\n";
    for (text, line) in [(setkey, 3), (openbsd, 2)] {
        let policies = read(text);
        let cited: Vec<u32> = policies.routers[0].installed.iter().map(|sa| sa.cites[0].line).collect();
        assert!(!cited.is_empty() && cited.iter().all(|one| *one == line), "{text}: {cited:?}");
    }
}

#[test]
fn what_is_not_compared_is_told() {
    let multipoint = "hostname R1\ninterface Tunnel0\n tunnel source GigabitEthernet0/0\n tunnel mode gre multipoint\n";
    let routeros =
        "/ip ipsec proposal\nadd name=p auth-algorithms=sha256\n/ip ipsec peer\nadd address=192.0.2.2/32 name=far\n";
    for (text, lines) in [(multipoint, vec![4]), (routeros, vec![2, 4])] {
        let policies = read(text);
        let told: Vec<u32> = policies.files[0].remarks.iter().map(|remark| remark.line).collect();
        assert_eq!(told, lines, "{text}: {:?}", policies.files[0].remarks);
        assert!(policies.files[0].remarks.iter().all(|remark| remark.what.contains("not compared")), "{text}");
    }
}

#[test]
fn wrong_values_are_told_with_their_line_and_the_rest_counts() {
    let policies = read(
        "hostname R1\ncrypto map M 1 ipsec-manual\nset peer 10.0.0.256\nset session-key inbound esp 20o1 authenticator 00\n\
         set session-key inbound esp 2001 authenticator 0g\nset session-key inbound esp 4294967296 authenticator 00\n\
         set session-key sideways esp 2001 authenticator 00\nset session-key inbound udp 2001 00\nset session-key inbound ah 2001\n\
         set session-key outbound esp 1002 cipher 00 authenticator 10\n",
    );
    let told: Vec<u32> = policies.files[0].remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(told, [3, 4, 5, 6, 7, 8, 9], "{:?}", policies.files[0].remarks);
    // Line 5 is told too, but its SPI is readable, and only its key is not.
    assert_eq!(policies.routers[0].maps[0].keys.iter().map(|key| key.spi.0).collect::<Vec<_>>(), [2001, 1002]);
}

#[test]
fn every_real_state_of_the_laboratory_is_read_completely() {
    let Some(lab) = shared("lab") else { return };
    let mut read_some = 0;
    for entry in std::fs::read_dir(&lab).expect("the laboratory") {
        let directory = entry.expect("an entry").path();
        let Ok(text) = std::fs::read_to_string(directory.join("sa.txt")) else { continue };
        let states = text.matches("\tproto ").count() - text.matches("\n\t\tproto ").count();
        if states == 0 {
            continue;
        }
        let policies = read(&text);
        let file = &policies.files[0];
        assert_eq!((file.skipped_lines, file.remarks.len()), (0, 0), "{}: {file:?}", directory.display());
        let installed: usize = policies.routers.iter().map(|router| router.installed.len()).sum();
        // Besides ESP, AH and IPComp there are IPIP helpers of IPComp, which are no SA of ours.
        let others = text.matches("\tproto ipip").count() + text.matches("\tproto 4 ").count();
        assert_eq!(installed, states - others, "{}", directory.display());
        let view = policies.view();
        for stated in &view.stated {
            assert!(stated.suite.is_some(), "{}: {}", directory.display(), stated.words);
            assert!(stated.key().is_some() && stated.mode.is_some(), "{}: {stated:?}", directory.display());
        }
        if let Ok(table) = std::fs::read_to_string(directory.join("esp_sa")) {
            let policies = read(&table);
            assert_eq!(policies.files[0].skipped_lines, 0, "{}", directory.display());
            assert!(policies.view().stated.iter().all(|one| one.suite.is_some()), "{}", directory.display());
        }
        read_some += 1;
    }
    assert!(read_some > 50, "{read_some} scenarios");
}

/// Octets that look random and are the same every time.
fn garbage(octets: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(octets).collect()
}

#[test]
fn hostile_input_is_told_of_and_takes_linear_time() {
    let many = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>().into_bytes();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("garbage", garbage(1 << 20)),
        ("one long line", vec![b'A'; 1 << 20]),
        ("unknown keywords", many(100_000, &|n| format!("frobnicate {n} times\n"))),
        (
            "wrong digits",
            [
                b"hostname A\ncrypto map M 1 ipsec-manual\n".to_vec(),
                many(100_000, &|n| format!("set session-key inbound esp {n}x authenticator 00\n")),
            ]
            .concat(),
        ),
        ("crypto maps", many(100_000, &|n| format!("crypto map M {n} ipsec-manual\nset peer 10.0.0.1\n"))),
        (
            "interfaces",
            many(100_000, &|n| format!("interface G{n}\nip address 10.0.{}.{} 255.0.0.0\n", n >> 8 & 255, n & 255)),
        ),
        (
            "routers",
            many(100_000, &|n| format!("R{n}#sh run\ncrypto map M 1 ipsec-manual\nset peer 10.0.0.{}\n", n % 250)),
        ),
        ("states", many(50_000, &|n| format!("src 10.0.0.1 dst 10.0.0.2\n\tproto esp spi {} mode tunnel\n", n + 256))),
        ("access list", many(100_000, &|n| format!("access-list 100 permit ip host 10.0.0.{} any\n", n % 250))),
        ("tables", many(50_000, &|_| "[[sa]]\n".to_owned())),
        ("brackets", [b"[[sa]]\nspi = ".to_vec(), vec![b'['; 1 << 20]].concat()),
        ("prompts", many(100_000, &|n| format!("R{n}>\n"))),
        ("empty", Vec::new()),
    ];
    each(&cases, |(name, text)| {
        let name = *name;
        let path =
            std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{}", name.replace(' ', "-")));
        std::fs::write(&path, text).expect("a file can be written");
        let start = Instant::now();
        let run = spiglass(&["check", "--format", "json", "--config", path.to_str().unwrap()]);
        let took = start.elapsed();
        // Far above what a busy machine needs: it tells a hang from an answer, and measures nothing.
        assert!(took < Duration::from_secs(120), "{name}: {took:?}");
        assert!((0..=2).contains(&run.status), "{name}: {run}");
        assert!(!run.stderr.contains("panicked"), "{name}: {run}");
        assert!(run.stderr.len() < 20_000, "{name}: {} bytes of messages", run.stderr.len());
        run.json();
        match name {
            "garbage" | "one long line" | "unknown keywords" | "brackets" | "empty" | "tables" => {
                assert_eq!(run.status, 2, "{name}: {run}")
            }
            "wrong digits" => assert!(run.stderr.contains("line 3: the SPI"), "{run}"),
            "crypto maps" => assert!(run.stderr.contains("line 8193: more than 4096 crypto map entries"), "{run}"),
            "routers" => assert!(run.stderr.contains("line 770: more than 256 routers"), "{run}"),
            _ => {}
        }
    });
}

#[test]
fn every_fixture_is_read_and_damaged_ones_never_panic() {
    let mut noise = Noise(7);
    let mut names = Vec::new();
    for entry in std::fs::read_dir("fixtures/policy").expect("the fixtures") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read(&path).expect("a fixture");
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let sound = Policies::read(&[(name.clone(), text.clone())]);
        // Log lines hold no configuration; `crypto map TEST` says nothing without the interface that it was printed under.
        let skipped: &[(u32, u32)] = match name.as_str() {
            "test06-log.txt" => &[(3, 4), (10, 11), (17, 19)],
            "test06-ike-r1.txt" => &[(15, 15)],
            _ => &[],
        };
        assert_eq!(sound.files[0].skipped, skipped, "{name}: {:?}", sound.files[0]);
        for _ in 0..200 {
            let mut damaged = text.clone();
            for _ in 0..1 + noise.below(8) {
                let at = noise.below(damaged.len() as u64) as usize;
                match noise.below(4) {
                    0 => damaged[at] = noise.word() as u8,
                    1 => damaged.truncate(at.max(1)),
                    2 => damaged.insert(at, b'\n'),
                    _ => drop(damaged.drain(at..(at + 9).min(damaged.len()))),
                }
                if damaged.is_empty() {
                    damaged.push(b'x');
                }
            }
            let policies = Policies::read(&[("one".to_owned(), damaged.clone()), ("two".to_owned(), text.clone())]);
            drop(lint(&policies.view()));
        }
        names.push(name);
    }
    assert!(names.len() > 15, "{names:?}");
}

#[test]
fn access_lists_typed_at_the_prompt_are_read() {
    let policies = read(&fixture("test04-acl-typed.txt"));
    let permits = &policies.routers[0].acls["100"].permits;
    assert_eq!(permits.len(), 12);
    assert_eq!(permits[10].0.to_string(), "ip 192.168.2.2 > 192.168.3.2");
    assert_eq!(permits[11].0, permits[10].0.mirrored());
}

#[test]
fn the_log_lines_of_the_document_are_explained_in_both_spellings() {
    let log = fixture("test06-log.txt");
    let lines: Vec<&str> = log.split("*Sep").filter(|line| line.contains("INV_SPI")).collect();
    assert_eq!(lines.len(), 3);
    for line in lines {
        let run = spiglass(&["explain", line]).expect(0);
        assert!(run.text().contains("192.168.1.1") && run.text().contains("192.168.1.2"), "{run}");
        let says = if line.contains("0x0(0)") { "session-key" } else { "0x6e1bd2d9" };
        assert!(run.text().contains(says), "{line}: {}", run.text());
    }
}
