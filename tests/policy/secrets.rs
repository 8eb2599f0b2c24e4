//! Keys are never printed, whatever pasting did to the lines that hold them.

use crate::support::build::Noise;
use crate::support::spiglass;
use spiglass::policy::{Policies, lint};

/// Every key that these tests make up has this in it; nothing else has.
const MARK: &str = "c0ffee";

/// A key in hex digits with the mark at its beginning, as long as asked for.
fn key(noise: &mut Noise, digits: usize) -> String {
    let mut key = MARK.to_owned();
    while key.len() < digits {
        key.push_str(&format!("{:x}", noise.below(16)));
    }
    key
}

/// The text with made-up keys wherever a command has one, and some more commands with keys.
fn keyed(text: &str, noise: &mut Noise) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut typed: Vec<String> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).copied().unwrap_or_default();
            let digits = [8, 16, 32, 40][noise.below(4) as usize];
            let holds = matches!(before(1), "cipher" | "authenticator")
                || (before(2) == "ah" && before(4).starts_with("sess"))
                || (before(1) == "key" && before(2) == "isakmp");
            typed.push(if holds { key(noise, digits) } else { (*word).to_owned() });
        }
        lines.push(typed.join(" "));
        if noise.below(6) == 0 {
            let digits = [8, 24, 48][noise.below(3) as usize];
            let key = key(noise, digits);
            lines.push(match noise.below(4) {
                0 => format!("set session-key outbound esp 1003 cipher {key} authenticator {key}"),
                1 => format!("set session-key inbound ah 300 {key}"),
                2 => format!("crypto isakmp key {key} address 10.0.0.1"),
                _ => format!("crypto isakmp key Top{key}Secret address 10.0.0.1"),
            });
        }
    }
    lines
}

fn silent(what: &str, input: &str, shown: &str) {
    assert!(!shown.to_lowercase().contains(MARK), "{what}\n--- read:\n{input}\n--- shown:\n{shown}");
}

/// Everything that any output is made of.
fn silent_facts(name: &str, input: &str) {
    let policies = Policies::read(&[(name.to_owned(), input.as_bytes().to_vec())]);
    silent(name, input, &format!("{policies:?} {:?}", lint(&policies.view())));
}

/// All forms of output, and standard error, with -v.
fn silent_program(name: &str, input: &str) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("secrets-{name}"));
    std::fs::write(&path, input).expect("a file can be written");
    for format in ["text", "json", "csv", "markdown"] {
        let run = spiglass(&["check", "-v", "--format", format, "--config", path.to_str().unwrap()]);
        assert!((0..=2).contains(&run.status), "{run}");
        silent(&format!("{name} as {format}"), input, &format!("{run}"));
    }
}

#[test]
fn no_key_is_shown_when_line_breaks_are_lost() {
    let mut noise = Noise(11);
    let mut cases = 0;
    for entry in std::fs::read_dir("fixtures/policy").expect("the fixtures") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).expect("a fixture");
        for round in 0..150 {
            let lines = keyed(&text, &mut noise);
            let often = 1 + noise.below(8);
            let mut input = String::new();
            for line in &lines {
                input.push_str(line);
                match noise.below(2 * often) {
                    0 => input.push(' '),
                    1 => {}
                    _ => input.push('\n'),
                }
            }
            silent_facts(&name, &input);
            if round == 0 {
                silent_program(&name, &input);
            }
            cases += 1;
        }
    }
    assert!(cases > 2_000, "{cases}");
}

#[test]
fn no_key_is_shown_behind_any_line() {
    let behind = "set session-key outbound esp 1003 cipher c0ffee00c0ffee00 authenticator c0ffee11";
    let lines = [
        "hostname R1",
        "crypto ipsec transform-set T esp-des esp-md5-hmac",
        "mode tunnel",
        "crypto ipsec profile P",
        "set transform-set T",
        "crypto isakmp policy 10",
        "encr aes 256",
        "hash sha",
        "authentication pre-share",
        "group 14",
        "crypto ikev2 proposal Q",
        "encryption aes-cbc-256",
        "integrity sha256",
        "group 19",
        "crypto map M 10 ipsec-manual",
        "set peer 192.168.1.2",
        "set session-key inbound esp 1002 cipher c0ffee22 authenticator c0ffee33",
        "set transform-set T",
        "match address A",
        "interface GigabitEthernet0/0",
        "ip address 192.168.1.1 255.255.255.0",
        "ipv6 address fd00::1/64",
        "crypto map M",
        "interface Tunnel0",
        "tunnel source GigabitEthernet0/0",
        "tunnel destination 192.168.1.9",
        "tunnel protection ipsec profile P",
        "ip access-list extended A",
        "permit ip host 192.168.2.2 host 192.168.3.2",
        "permit tcp any eq 80 any eq www",
        "access-list 101 permit ip any any",
        "interface: GigabitEthernet0/0",
        "Crypto map tag: M, local addr 192.168.1.1",
        "local ident (addr/mask/prot/port): (192.168.2.2/255.255.255.255/0/0)",
        "remote ident (addr/mask/prot/port): (192.168.3.2/255.255.255.255/0/0)",
        "current_peer 192.168.1.2 port 500",
        "#pkts encaps: 10, #pkts encrypt: 10",
        "#pkts decaps: 0, #pkts decrypt: 0",
        "inbound esp sas:",
        "spi: 0x3EA(1002)",
        "transform: esp-des esp-md5-hmac ,",
        "src 192.168.1.1 dst 192.168.1.2",
        "proto esp spi 0x000003ea reqid 1 mode tunnel",
        "auth-trunc hmac(sha1) 0xc0ffee44 96",
        "enc cbc(aes) 0xc0ffee55",
        "net-net: #1, ESTABLISHED, IKEv2, 1d8e02f37bd5dd45_i* 5fbd4e0dc5d5e1a6_r",
        "net-net: #1, reqid 1, INSTALLED, TUNNEL, ESP:AES_CBC-128/HMAC_SHA2_256_128",
        "in c2e8fd03, 84 bytes, 1 packets, 3s ago",
    ];
    // What is left of a command that was wrapped is not announced by anything.
    for tail in [behind, "crypto isakmp key TopSecretc0ffee address 192.168.1.2", "ator c0ffee66", "c0ffee0123456789"] {
        for at in 0..lines.len() {
            let mut pasted = lines.map(str::to_owned);
            pasted[at] = format!("{} {tail}", pasted[at]);
            // A key is no key where it stands as a name: `set transform-set T ator c0ffee66` names three.
            if tail.starts_with(['a', 'c']) && !tail.contains(' ') || tail.starts_with("ator") {
                let names = lines[at].starts_with("set transform-set") || lines[at].starts_with("interface");
                if names {
                    continue;
                }
            }
            silent_facts("paste", &pasted.join("\n"));
        }
        let all: Vec<String> = lines.iter().map(|line| format!("{line} {tail}")).collect();
        if tail == behind {
            silent_program("all", &all.join("\n"));
        }
    }
}

#[test]
fn rows_of_esp_sa_show_no_text_keys() {
    let table = "\"IPv4\",\"192.168.1.1\",\"192.168.1.2\",\"0x000003ea\",\"AES-CBC [RFC3602]\",\"Top,c0ffee01\",\"HMAC-SHA-1-96 [RFC2404]\",\"Auth,c0ffee02\"\n\
                 \"IPv4\",\"192.168.1.1\",\"192.168.1.2\",\"0x000003eb\",\"0xc0ffee03\",\"HMAC-SHA-1-96 [RFC2404]\",\"0xc0ffee04\",\"AUTHc0ffee\"\n\
                 \"IPv4\",\"192.168.1.1\",\"192.168.1.2\",\"0x000003ec\",\"AES-CBC [RFC3602]\",\"say \"\"c0ffee,\"\"\",\"NULL\",\"\"\n\
                 \"IPv4\",\"Top,c0ffee05\",\"c0ffee06\",\"0x000003ed\",\"NULL\",\"\",\"NULL\",\"\"\n";
    silent_facts("esp_sa", table);
    silent_program("esp_sa", table);
    let policies = Policies::read(&[("esp_sa".to_owned(), table.as_bytes().to_vec())]);
    let read: Vec<u32> = policies.view().stated.iter().map(|one| one.spi.0).collect();
    assert_eq!(read, [0x3ea, 0x3ec, 0x3ed]);
    assert_eq!(policies.files[0].remarks.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2]);
}

#[test]
fn the_list_shows_no_key_in_the_place_of_a_transform() {
    let list = "[[sa]]\nprotocol = \"esp\"\nsrc = \"10.0.0.1\"\ndst = \"10.0.0.2\"\nspi = 300\ntransform = \"0xc0ffee0123456789\"\n";
    silent_facts("list", list);
    silent_program("list", list);
}
