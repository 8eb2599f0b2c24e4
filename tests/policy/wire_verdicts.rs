//! What packets say of keys, ends and policies: each accusation where it is true, and where it would be false.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use crate::support::build::{self, Noise, START, on_link, one_hop_further};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{shared, spiglass};
use aes::Aes128;
use cbc::cipher::{Array, BlockCipherEncrypt};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;

const R1: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
const R2: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
const R3: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 3);
const HOST_A: Ipv4Addr = Ipv4Addr::new(192, 168, 2, 2);
const HOST_B: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 2);

/// Hash and octets of its ICV.
#[derive(Clone, Copy)]
enum Check {
    None,
    Md5(usize),
    Sha1(usize),
    Sha256(usize),
}

/// What a sender makes packets with: AES-128-CBC and an integrity algorithm.
#[derive(Clone)]
struct Sender {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    spi: u32,
    cipher: Vec<u8>,
    authenticator: Vec<u8>,
    check: Check,
    high: Option<u32>,
}

/// A key that a number stands for.
fn key(number: u64, octets: usize) -> Vec<u8> {
    Noise(number).bytes(octets)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

impl Sender {
    /// From R1 to R2 with SPI 0x1001.
    fn there() -> Self {
        let (cipher, authenticator) = (key(1, 16), key(2, 20));
        Self { src: R1, dst: R2, spi: 0x1001, cipher, authenticator, check: Check::Sha1(12), high: None }
    }

    /// From R2 to R1 with SPI 0x2002.
    fn back() -> Self {
        let (cipher, authenticator) = (key(3, 16), key(4, 20));
        Self { src: R2, dst: R1, spi: 0x2002, cipher, authenticator, ..Self::there() }
    }

    /// SPI to ICV.
    fn esp(&self, n: u32) -> Vec<u8> {
        let (from, to) = if self.src == R1 || self.dst == R2 { (HOST_A, HOST_B) } else { (HOST_B, HOST_A) };
        let inner = build::ipv4(from, to, 17, n as u16, &[0x55; 32]).split_off(14);
        let iv = Noise(u64::from(n)).bytes(16);
        let pad = (16 - (inner.len() + 2) % 16) % 16;
        let mut plain = inner;
        plain.extend((1..=pad).map(|octet| octet as u8));
        plain.extend([pad as u8, 4]);
        let cipher = <Aes128 as cbc::cipher::KeyInit>::new_from_slice(&self.cipher).expect("128 bits");
        let mut before = iv.clone();
        for place in plain.chunks_mut(16) {
            let mixed: Vec<u8> = place.iter().zip(&before).map(|(a, b)| a ^ b).collect();
            let mut block = Array::try_from(mixed.as_slice()).expect("a block");
            cipher.encrypt_block(&mut block);
            place.copy_from_slice(&block);
            before = block.to_vec();
        }
        let mut packet = [&self.spi.to_be_bytes()[..], &n.to_be_bytes(), &iv, &plain].concat();
        let high = self.high.map(u32::to_be_bytes);
        let covered = [&packet[..], high.as_ref().map_or(&[][..], |high| high)].concat();
        packet.extend(self.icv(&covered));
        packet
    }

    fn icv(&self, covered: &[u8]) -> Vec<u8> {
        fn of<M: Mac + KeyInit>(key: &[u8], covered: &[u8], octets: usize) -> Vec<u8> {
            let made = <M as KeyInit>::new_from_slice(key).expect("any key").chain_update(covered).finalize();
            made.into_bytes()[..octets].to_vec()
        }
        match self.check {
            Check::None => Vec::new(),
            Check::Md5(octets) => of::<Hmac<md5::Md5>>(&self.authenticator, covered, octets),
            Check::Sha1(octets) => of::<Hmac<sha1::Sha1>>(&self.authenticator, covered, octets),
            Check::Sha256(octets) => of::<Hmac<sha2::Sha256>>(&self.authenticator, covered, octets),
        }
    }

    fn frame(&self, n: u32) -> Vec<u8> {
        build::ipv4(self.src, self.dst, 50, n as u16, &self.esp(n))
    }

    /// What `ip xfrm state` shows of it.
    fn state(&self) -> String {
        let Self { src, dst, spi, cipher, authenticator, check, high } = self;
        let (hash, octets) = match check {
            Check::None => ("", 0),
            Check::Md5(octets) => ("md5", *octets),
            Check::Sha1(octets) => ("sha1", *octets),
            Check::Sha256(octets) => ("sha256", *octets),
        };
        let auth = format!("\tauth-trunc hmac({hash}) 0x{} {}\n", hex(authenticator), octets * 8);
        let auth = if octets == 0 { String::new() } else { auth };
        let flag = if high.is_some() { " flag esn" } else { "" };
        let context = high.map_or_else(
            || "\tanti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000\n".to_owned(),
            |high| {
                format!(
                    "\tanti-replay esn context:\n\t seq-hi 0x{high:x}, seq 0x0, oseq-hi 0x{high:x}, oseq 0x0\n\t replay_window 64, \
                     bitmap-length 2\n\t 00000000 00000000 \n"
                )
            },
        );
        format!(
            "src {src} dst {dst}\n\tproto esp spi 0x{spi:08x} reqid 10 mode tunnel\n\treplay-window 0{flag}\n{auth}\tenc cbc(aes) 0x{}\n\
             {context}\tsel src 0.0.0.0/0 dst 0.0.0.0/0\n",
            hex(cipher)
        )
    }
}

/// A host with its states.
fn host(name: &str, states: &[&Sender]) -> String {
    let own = if name == "r1" { R1 } else { R2 };
    let far = if name == "r1" { R2 } else { R1 };
    let (near, beyond) = if name == "r1" { (2, 3) } else { (3, 2) };
    let policy = |src: u8, dst: u8, dir: &str, from: Ipv4Addr, to: Ipv4Addr| {
        format!(
            "src 192.168.{src}.0/24 dst 192.168.{dst}.0/24\n\tdir {dir} priority 0 ptype main\n\ttmpl src {from} dst {to}\n\
             \t\tproto esp reqid 10 mode tunnel\n"
        )
    };
    let policies = [
        policy(near, beyond, "out", own, far),
        policy(beyond, near, "in", far, own),
        policy(beyond, near, "fwd", far, own),
    ];
    let states: Vec<String> = states.iter().map(|one| one.state()).collect();
    format!("##### {name}: ip -s xfrm state\n{}##### {name}: ip xfrm policy\n{}", states.concat(), policies.concat())
}

/// A row of Wireshark's table.
fn row(one: &Sender, src: &str, dst: &str) -> String {
    format!(
        "\"IPv4\",\"{src}\",\"{dst}\",\"0x{:08x}\",\"AES-CBC [RFC3602]\",\"0x{}\",\"HMAC-SHA-1-96 [RFC2404]\",\"0x{}\"\n",
        one.spi,
        hex(&one.cipher),
        hex(&one.authenticator)
    )
}

/// A router of IOS with one manual entry. `crypto` alone leaves its interfaces out.
fn ios(name: &str, own: Option<Ipv4Addr>, peer: Ipv4Addr, out: &Sender, inbound: &Sender) -> String {
    let line = |way: &str, one: &Sender| {
        let (cipher, authenticator) = (hex(&one.cipher), hex(&one.authenticator));
        format!(" set session-key {way} esp {} cipher {cipher} authenticator {authenticator}\n", one.spi)
    };
    let (near, beyond) = if name == "R1" { (2, 3) } else { (3, 2) };
    let interface = own.map_or_else(String::new, |own| {
        format!("interface GigabitEthernet0/0\n ip address {own} 255.255.255.0\n crypto map MAP\n!\n")
    });
    format!(
        "hostname {name}\n!\ncrypto ipsec transform-set SET esp-aes esp-sha-hmac\n mode tunnel\n!\ncrypto map MAP 10 ipsec-manual\n \
         set peer {peer}\n{}{} set transform-set SET\n match address LIST\n!\n{interface}ip access-list extended LIST\n \
         permit ip 192.168.{near}.0 0.0.0.255 192.168.{beyond}.0 0.0.0.255\n!\n",
        line("inbound", inbound),
        line("outbound", out)
    )
}

fn written(name: &str, text: impl AsRef<[u8]>) -> String {
    let path: PathBuf = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verdict-{name}"));
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().expect("a path of text").to_owned()
}

fn capture(name: &str, frames: Vec<Vec<u8>>) -> String {
    capture_spaced(name, 3_000_000, frames)
}

/// The same, so many nanoseconds from one to the next.
fn capture_spaced(name: &str, gap: u64, frames: Vec<Vec<u8>>) -> String {
    let frames: Vec<Out> =
        frames.into_iter().enumerate().map(|(n, data)| Out::whole(START + gap * n as u64, data)).collect();
    written(name, plain_pcap(&frames))
}

/// Twenty packets of each sender.
fn both(senders: &[&Sender]) -> Vec<Vec<u8>> {
    (1..=20).flat_map(|n| senders.iter().map(move |one| one.frame(n))).collect()
}

/// The findings of a run: name of the test, configurations, frames.
fn check(name: &str, configs: &[&str], frames: Vec<Vec<u8>>) -> Vec<Value> {
    check_capture(name, configs, &capture(&format!("{name}.pcap"), frames))
}

fn check_capture(name: &str, configs: &[&str], capture: &str) -> Vec<Value> {
    let configs: Vec<String> =
        configs.iter().enumerate().map(|(n, text)| written(&format!("{name}-{n}.txt"), text)).collect();
    let mut words = vec!["report", "-q", "--format", "json"];
    configs.iter().for_each(|config| words.extend(["--config", config]));
    words.push(capture);
    let run = spiglass(&words);
    for secret in [&Sender::there(), &Sender::back()] {
        assert!(!run.text().contains(&hex(&secret.cipher)) && !run.text().contains(&hex(&secret.authenticator)));
    }
    run.json()["findings"].as_array().expect("findings").clone()
}

fn code(finding: &Value) -> &str {
    finding["code"].as_str().expect("a code")
}

/// Codes of errors.
#[track_caller]
fn errors(findings: &[Value], expected: &[&str]) {
    let found: Vec<&str> = findings.iter().filter(|one| one["severity"] == "error").map(code).collect();
    assert_eq!(found, expected, "{findings:#?}");
}

#[track_caller]
fn says(findings: &[Value], of: &str, words: &str) {
    let evidence: Vec<&str> =
        findings.iter().filter(|one| code(one) == of).filter_map(|one| one["evidence"].as_str()).collect();
    assert!(evidence.iter().any(|text| text.contains(words)), "{of}: {words:?} in {findings:#?}");
}

/// The frames that a finding lists.
fn frames(findings: &[Value], of: &str) -> Vec<u64> {
    let rows = findings.iter().filter(|one| code(one) == of).filter_map(|one| one["occurrences"].as_array());
    rows.flatten().filter_map(|one| one["frame"].as_u64()).collect()
}

#[track_caller]
fn absent(findings: &[Value], of: &str) {
    assert!(findings.iter().all(|one| code(one) != of), "{of} in {findings:#?}");
}

#[test]
fn equal_keys_of_three_sources_accuse_nobody() {
    let (there, back) = (Sender::there(), Sender::back());
    let (r1, r2) = (host("r1", &[&there, &back]), host("r2", &[&there, &back]));
    let table = row(&there, "*", "*") + &row(&back, "192.168.1.2", "*");
    let findings = check("three", &[&r1, &r2, &table], both(&[&there, &back]));
    errors(&findings, &[]);
    // One digit of the table is wrong: its key alone is.
    let wrong = Sender { authenticator: key(99, 20), ..there.clone() };
    let table = row(&wrong, "192.168.1.1", "192.168.1.2") + &row(&back, "*", "*");
    let findings = check("three-wrong", &[&r1, &r2, &table], both(&[&there, &back]));
    errors(&findings, &["icv-invalid"]);
    says(&findings, "icv-invalid", "the key of r1 and r2 verifies 20 of 20 packets");
    let drops = findings.iter().any(|one| one["evidence"].as_str().is_some_and(|text| text.contains("drops every")));
    assert!(!drops, "a list receives nothing");
}

#[test]
fn extended_numbers_at_one_end_are_no_wrong_key() {
    let (there, back) = (Sender::there(), Sender::back());
    let extended = Sender { high: Some(0), ..there.clone() };
    for (name, sends, one, other, wrong) in [
        ("esn-sender", &extended, &extended, &there, "r2"),
        ("esn-receiver", &there, &there, &extended, "r2"),
        ("esn-stale", &extended, &there, &extended, "r1"),
    ] {
        let configs = [host("r1", &[one, &back]), host("r2", &[other, &back])];
        let findings = check(name, &[&configs[0], &configs[1]], both(&[sends, &back]));
        says(&findings, "esn-mismatch", &format!("and {wrong} states"));
        for absentee in ["icv-invalid", "config-key-mismatch", "transform-mismatch"] {
            absent(&findings, absentee);
        }
    }
    // At both ends, with a high half that is not on the wire; and with a display that is older than the capture.
    for (name, shown, sent) in [("esn-both", 7, 7), ("esn-later", 6, 7)] {
        let state = Sender { high: Some(shown), ..there.clone() };
        let sender = Sender { high: Some(sent), ..there.clone() };
        let configs = [host("r1", &[&state, &back]), host("r2", &[&state, &back])];
        errors(&check(name, &[&configs[0], &configs[1]], both(&[&sender, &back])), &[]);
    }
}

#[test]
fn another_transform_with_the_right_keys_is_no_wrong_key() {
    let back = Sender::back();
    let with = |check| Sender { authenticator: key(5, 32), check, ..Sender::there() };
    let (long, short) = (with(Check::Sha256(16)), with(Check::Sha256(12)));
    // Both ends given, and the receiver alone.
    let configs = [host("r1", &[&long, &back]), host("r2", &[&short, &back])];
    for given in [vec![&*configs[0], &*configs[1]], vec![&*configs[1]]] {
        let findings = check("truncated", &given, both(&[&long, &back]));
        says(&findings, "transform-mismatch", "HMAC-SHA2-256-128");
        absent(&findings, "icv-invalid");
        absent(&findings, "config-key-mismatch");
    }
    // No authentication at the sender, whose state was not given.
    let (open, there) = (Sender { check: Check::None, ..Sender::there() }, Sender::there());
    let receiver = host("r2", &[&there, &back]);
    let findings = check("open", &[&receiver], both(&[&open, &back]));
    errors(&findings, &["transform-mismatch"]);
    says(&findings, "transform-mismatch", "carry no ICV");
    // It is given.
    let findings = check("open-both", &[&host("r1", &[&open, &back]), &receiver], both(&[&open, &back]));
    says(&findings, "transform-mismatch", "20 packets carry no ICV and decrypt with AES-128-CBC as r1 states it");
    absent(&findings, "icv-invalid");
    // The sender authenticates, and the receiver does not know it.
    let findings = check("unknown-icv", &[&host("r2", &[&open, &back])], both(&[&there, &back]));
    says(&findings, "transform-mismatch", "carry an ICV of 12 B");
    // Another hash with the same key.
    let hashed = Sender { check: Check::Sha256(16), ..Sender::there() };
    let findings = check("hash", &[&receiver], both(&[&hashed, &back]));
    errors(&findings, &["transform-mismatch"]);
    says(&findings, "transform-mismatch", "verify with HMAC-SHA2-256-128 under the authentication key of r2");
    let hashed = Sender { check: Check::Md5(12), ..Sender::there() };
    says(&check("md5", &[&receiver], both(&[&hashed, &back])), "transform-mismatch", "verify with HMAC-MD5-96");
}

#[test]
fn a_wrong_cipher_key_is_no_wrong_authentication_key() {
    let (there, back) = (Sender::there(), Sender::back());
    let other = Sender { cipher: key(98, 16), ..there.clone() };
    let configs = [host("r1", &[&there, &back]), host("r2", &[&other, &back])];
    let findings = check("cipher", &[&configs[0], &configs[1]], both(&[&there, &back]));
    says(&findings, "config-key-mismatch", "decrypt to IP packets under the encryption key of r1");
    absent(&findings, "icv-invalid");
    let findings = check("cipher-alone", &[&configs[1]], both(&[&there, &back]));
    errors(&findings, &["config-key-mismatch"]);
    says(&findings, "config-key-mismatch", "decrypt to nothing that holds together");
    // The other way round: the cipher's key is right, and that is said.
    let other = Sender { authenticator: key(97, 20), ..there.clone() };
    let findings = check("authenticator", &[&host("r2", &[&other, &back])], both(&[&there, &back]));
    errors(&findings, &["icv-invalid"]);
    says(&findings, "icv-invalid", "20 packets decrypt to IP packets under the encryption key of r2");
}

#[test]
fn keys_of_the_two_directions_exchanged_are_said_to_be_that() {
    let (there, back) = (Sender::there(), Sender::back());
    let swap = |one: &Sender, other: &Sender| Sender {
        cipher: other.cipher.clone(),
        authenticator: other.authenticator.clone(),
        ..one.clone()
    };
    let (wrong_there, wrong_back) = (swap(&there, &back), swap(&back, &there));
    let configs = [host("r1", &[&there, &back]), host("r2", &[&wrong_there, &wrong_back])];
    let findings = check("exchanged", &[&configs[0], &configs[1]], both(&[&there, &back]));
    says(&findings, "config-key-mismatch", "exchanged");
    absent(&findings, "icv-invalid");
    let findings = check("exchanged-alone", &[&configs[1]], both(&[&there, &back]));
    errors(&findings, &["config-key-mismatch", "config-key-mismatch"]);
    says(&findings, "config-key-mismatch", "of the other direction");
}

#[test]
fn few_packets_cut_packets_and_damaged_packets_accuse_no_key() {
    let (there, back) = (Sender::there(), Sender::back());
    let configs = [host("r1", &[&there, &back]), host("r2", &[&there, &back])];
    let given = [&*configs[0], &*configs[1]];
    errors(&check("single", &given, vec![there.frame(70_001)]), &[]);
    // A bit that flipped on the way.
    let mut damaged = both(&[&there, &back]);
    damaged[8][60] ^= 4;
    damaged[10][60] ^= 4;
    let findings = check("damaged", &given, damaged);
    errors(&findings, &["icv-invalid"]);
    says(
        &findings,
        "icv-invalid",
        "these packets were changed between their sender and this TAP, forged, or made with another key",
    );
    absent(&findings, "config-key-mismatch");
    // Cut by the snapshot length.
    let frames: Vec<Out> = (1..=20)
        .map(|n| {
            let whole = there.frame(n);
            Out {
                wire_bytes: u32::try_from(whole.len()).expect("a frame"),
                ..Out::whole(START + u64::from(n), whole[..70].to_vec())
            }
        })
        .collect();
    let cut = written("cut.pcap", plain_pcap(&frames));
    let config = written("cut.txt", configs.concat());
    let json = spiglass(&["report", "-q", "--format", "json", "--config", &config, &cut]).json();
    errors(json["findings"].as_array().expect("findings"), &[]);
    // ESP in UDP, and keys that were removed from one of the two texts.
    let udp = |one: &Sender, n: u32| build::udp(one.src, one.dst, (4500, 4500), n as u16, &one.esp(n));
    let frames: Vec<Vec<u8>> = (1..=20).flat_map(|n| [udp(&there, n), udp(&back, n)]).collect();
    errors(&check("udp", &given, frames), &[]);
    let removed = configs[1].replace(&hex(&there.authenticator), "<removed>").replace(&hex(&there.cipher), "<removed>");
    errors(&check("removed", &[&configs[0], &removed], both(&[&there, &back])), &[]);
}

#[test]
fn one_number_of_several_sas_accuses_no_key() {
    let (there, back) = (Sender::there(), Sender::back());
    // To another peer, with a key that is not given.
    let elsewhere = Sender { dst: R3, cipher: key(90, 16), authenticator: key(91, 20), ..there.clone() };
    let table = row(&there, "*", "*") + &row(&back, "*", "*");
    errors(&check("peers", &[&table], both(&[&there, &elsewhere, &back])), &[]);
    let configs = [host("r1", &[&there, &back]), host("r2", &[&there, &back])];
    let findings = check("peers-known", &[&configs[0], &configs[1]], both(&[&there, &elsewhere, &back]));
    absent(&findings, "icv-invalid");
    absent(&findings, "sa-translated");
    // A rekey with the same SPI, and displays of before and after.
    let after = Sender { cipher: key(92, 16), authenticator: key(93, 20), ..there.clone() };
    let displays = host("r1", &[&there, &back]) + &host("r1", &[&after, &back]);
    let frames: Vec<Vec<u8>> = (1..=20).map(|n| if n <= 10 { there.frame(n) } else { after.frame(n) }).collect();
    absent(&check("rekeyed", &[&displays], frames), "icv-invalid");
}

#[test]
fn ends_that_are_not_stated_accuse_nobody() {
    let (there, back) = (Sender::there(), Sender::back());
    let configs = [ios("R1", None, R2, &there, &back), ios("R2", None, R1, &back, &there)];
    errors(&check("section", &[&configs[0], &configs[1]], both(&[&there, &back])), &[]);
    errors(&check("section-one", &[&configs[0]], both(&[&there, &back])), &[]);
    // One number both ways, with a key for each.
    let same = Sender { spi: there.spi, ..back.clone() };
    let configs = [ios("R1", None, R2, &there, &same), ios("R2", None, R1, &same, &there)];
    errors(&check("section-same", &[&configs[0], &configs[1]], both(&[&there, &same])), &[]);
}

#[test]
fn translated_addresses_are_no_wrong_peer() {
    const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
    let (there, back) = (Sender::there(), Sender::back());
    let (out, inbound) = (Sender { src: OUTSIDE, ..there.clone() }, Sender { dst: OUTSIDE, ..back.clone() });
    let configs = [ios("R1", Some(R1), R2, &there, &back), ios("R2", Some(R2), OUTSIDE, &back, &there)];
    let given = [&*configs[0], &*configs[1]];
    for (name, frames) in [
        ("nat-outside", both(&[&out, &inbound])),
        ("nat-inside", both(&[&there, &back])),
        ("nat-one-way", both(&[&out])),
        ("nat-one-way-inside", both(&[&back])),
    ] {
        let findings = check(name, &given, frames);
        errors(&findings, &[]);
        says(&findings, "sa-translated", "Addresses are translated between these ends (NAT).");
        assert!(findings.iter().all(|one| one["fix"].as_array().is_none_or(Vec::is_empty)), "{findings:#?}");
    }
    // A digit too many in the address of a peer looks like it in one direction alone.
    const WRONG: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 22);
    let astray = Sender { dst: WRONG, ..there.clone() };
    let typo = ios("R1", Some(R1), WRONG, &there, &back);
    let right = ios("R2", Some(R2), R1, &back, &there);
    let findings = check("peer-typo", &[&typo, &right], both(&[&astray, &back]));
    errors(&findings, &["config-peer-mismatch"]);
    absent(&findings, "sa-translated");
    // Another SA with the same number elsewhere is none of it.
    let other = Sender { src: R3, cipher: key(80, 16), authenticator: key(81, 20), ..there };
    absent(&check("nat-none", &given, both(&[&other])), "sa-translated");
}

#[test]
fn traffic_that_should_be_protected_and_is_not_is_an_error_on_the_right_link_alone() {
    let (there, back) = (Sender::there(), Sender::back());
    let configs = [ios("R1", Some(R1), R2, &there, &back), ios("R2", Some(R2), R1, &back, &there)];
    let given = [&*configs[0], &*configs[1]];
    let host = |src, dst, n: u32| build::ipv4(src, dst, 6, n as u16, &[0; 40]);
    let clear = |n: u32| {
        let (out, inbound) = (one_hop_further(&host(HOST_A, HOST_B, n)), one_hop_further(&host(HOST_B, HOST_A, n)));
        [on_link(&out, R1, R2), on_link(&inbound, R2, R1)]
    };
    // Between the routers everything is in clear.
    let findings = check("leak-all", &given, (1..=20).flat_map(clear).collect());
    errors(&findings, &["plaintext-leak", "plaintext-leak"]);
    says(&findings, "plaintext-leak", "No packet of this direction is protected");
    // One direction is.
    let half: Vec<Vec<u8>> = (1..=20).flat_map(|n| [clear(n)[0].clone(), back.frame(n)]).collect();
    errors(&check("leak-half", &given, half), &["plaintext-leak"]);
    // Some packets beside the tunnel are a warning.
    let some: Vec<Vec<u8>> = (1..=20).flat_map(|n| [clear(n)[0].clone(), there.frame(n), back.frame(n)]).collect();
    let findings = check("leak-some", &given, some);
    errors(&findings, &[]);
    says(&findings, "plaintext-leak", "20 packets in clear that R1 selects");
    assert_eq!(frames(&findings, "plaintext-leak"), (0..20).map(|n| 1 + 3 * n).collect::<Vec<_>>());
    // On the link of the hosts it is as it should be: what leaves has passed no router, what arrives two.
    let lan = |n: u32| {
        let arriving = one_hop_further(&one_hop_further(&host(HOST_B, HOST_A, n)));
        [host(HOST_A, HOST_B, n), arriving]
    };
    absent(&check("lan", &given, (1..=20).flat_map(lan).collect()), "plaintext-leak");
    // A selector of one protocol.
    let of = |protocol: &str| configs[0].replace("permit ip", &format!("permit {protocol}"));
    errors(&check("leak-tcp", &[&of("tcp")], (1..=20).flat_map(clear).collect()), &["plaintext-leak"]);
    absent(&check("leak-icmp", &[&of("icmp")], (1..=20).flat_map(clear).collect()), "plaintext-leak");
    // Of two protocols between the hosts one is selected: which frames are its, is not known.
    let udp = |n: u32| on_link(&one_hop_further(&build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 40])), R1, R2);
    let both = (1..=20).flat_map(|n| [clear(n)[0].clone(), udp(n), there.frame(n), back.frame(n)]).collect();
    let findings = check("leak-part", &[&of("tcp"), &*configs[1]], both);
    says(&findings, "plaintext-leak", "Some of 40 packets in clear");
    assert!(frames(&findings, "plaintext-leak").is_empty());
}

#[test]
fn gre_of_a_protected_tunnel_in_clear_is_an_error() {
    let config = "hostname R1\n!\ncrypto ipsec transform-set SET esp-aes esp-sha-hmac\n!\ncrypto ipsec profile PROFILE\n set transform-set SET\n!\n\
                  interface Tunnel0\n ip address 10.0.0.1 255.255.255.252\n tunnel source 192.168.1.1\n tunnel destination 192.168.1.2\n \
                  tunnel protection ipsec profile PROFILE\n!\n";
    let gre = |n: u32| {
        let inner = build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 60]).split_off(14);
        build::ipv4(R1, R2, 47, n as u16, &[&[0, 0, 8, 0][..], &inner].concat())
    };
    let findings = check("gre", &[config], (1..=20).map(gre).collect());
    errors(&findings, &["plaintext-leak"]);
    says(&findings, "plaintext-leak", "20 packets of GRE in clear from 192.168.1.1 to 192.168.1.2");
    assert_eq!(frames(&findings, "plaintext-leak"), (1..=20).collect::<Vec<_>>());
    // On the gateway itself, which shows what comes in once more, decapsulated: what goes out in clear is a leak all the same.
    let mut noise = Noise(5);
    let beside = (1..=40).flat_map(|n| {
        let inner = build::ipv4(HOST_B, HOST_A, 17, n as u16, &vec![0; 60 + 30 * (n as usize % 8)]).split_off(14);
        let content = [&[0, 0, 8, 0][..], &inner].concat();
        let sealed = build::esp(R2, R1, 0x1000, n, &noise.bytes(8 + (content.len() + 2).next_multiple_of(4) + 16));
        [sealed, build::ipv4(R2, R1, 47, n as u16, &content), gre(n)]
    });
    let capture = capture_spaced("gre-gateway.pcap", 1_000_000, beside.collect());
    let findings = check_capture("gre-gateway", &[config], &capture);
    says(&findings, "gateway-view", "40 packets in a tunnel");
    says(&findings, "plaintext-leak", "40 packets of GRE in clear from 192.168.1.1 to 192.168.1.2");
    let plain = config.replace(" tunnel protection ipsec profile PROFILE\n", "");
    absent(&check("gre-plain", &[&plain], (1..=20).map(gre).collect()), "plaintext-leak");
}

#[test]
fn match_says_that_spi_0_is_on_the_wire() {
    let zero = Sender { spi: 0, ..Sender::there() };
    let plain = |n: u32| build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0x55; 32]);
    let near = capture("zero-plain.pcap", (1..=20).map(plain).collect());
    for (name, sender, expected) in [("zero", &zero, 1), ("not-zero", &Sender::there(), 0)] {
        let tunnel = capture(&format!("{name}-tunnel.pcap"), (1..=20).map(|n| sender.frame(n)).collect());
        let json = spiglass(&["match", "-q", "--format", "json", "--plain", &near, "--tunnel", &tunnel]).json();
        let findings = json["findings"].as_array().expect("findings");
        assert_eq!(findings.iter().filter(|one| code(one) == "spi-zero").count(), expected, "{findings:#?}");
    }
}

/// Every scenario of the laboratory with both texts that hold its keys, and all captures of it.
#[test]
fn the_laboratory_with_two_sources_has_no_false_errors() {
    let Some(lab) = shared("lab") else { return };
    let mut problems = Vec::new();
    let mut runs = 0;
    for scenario in std::fs::read_dir(&lab).expect("the laboratory can be listed") {
        let scenario = scenario.expect("an entry").path();
        let name = scenario.file_name().expect("a name").to_string_lossy().into_owned();
        let configs = ["sa.txt", "esp_sa"].map(|file| scenario.join(file));
        if !configs.iter().all(|file| file.is_file()) {
            continue;
        }
        let mut words = vec!["check".to_owned(), "-q".into(), "--format".into(), "json".into()];
        for config in &configs {
            words.extend(["--config".into(), config.to_str().expect("text").to_owned()]);
        }
        let captures = std::fs::read_dir(&scenario).expect("files").map(|file| file.expect("a file").path());
        let is_one = |path: &PathBuf| path.extension().is_some_and(|end| end == "pcap" || end == "pcapng");
        let mut captures: Vec<String> =
            captures.filter(is_one).map(|path| path.to_string_lossy().into_owned()).collect();
        captures.sort();
        words.extend(captures);
        runs += 1;
        let json = spiglass(&words).json();
        let findings = json["findings"].as_array().expect("findings");
        let mut found: Vec<&str> = findings.iter().filter(|one| one["severity"] == "error").map(code).collect();
        found.sort_unstable();
        found.dedup();
        let expected: &[&str] = match name.as_str() {
            "corrupt-before-tap" => &["icv-invalid"],
            "wrong-auth-key" => &["config-key-mismatch", "icv-invalid"],
            "spi-mismatch-oneway" => &["config-spi-mismatch"],
            "spi-zero" => &["spi-zero"],
            _ => &[],
        };
        // A capture that ends in a record is damaged on purpose.
        found.retain(|code| !(name == "format-variants" && code.starts_with("capture-")));
        if found != expected {
            problems.push(format!("{name}: {found:?}, not {expected:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(runs >= 50, "{runs} scenarios");
}

/// A TAP cuts frames and states the shorter length: what is missing of a packet changed nothing in it.
#[test]
fn frames_that_a_tap_slices_accuse_no_key() {
    let (there, back) = (Sender::there(), Sender::back());
    let configs = [host("r1", &[&there, &back])];
    for every in [1, 3] {
        let mut frames = both(&[&there, &back]);
        frames.iter_mut().step_by(every).for_each(|frame| frame.truncate(96));
        let findings = check("sliced", &[&configs[0]], frames);
        absent(&findings, "icv-invalid");
        errors(&findings, &[]);
    }
}

/// Nothing is encrypted that should be: that is said, and no key is wrong.
#[test]
fn packets_in_clear_under_a_right_authentication_key_accuse_no_encryption_key() {
    let (there, back) = (Sender::there(), Sender::back());
    let clear = |one: &Sender, n: u32| {
        let (from, to) = if one.src == R1 { (HOST_A, HOST_B) } else { (HOST_B, HOST_A) };
        let inner = build::ipv4(from, to, 17, n as u16, &[0x55; 30]).split_off(14);
        let mut packet = [&one.spi.to_be_bytes()[..], &n.to_be_bytes(), &inner, &[0, 4]].concat();
        packet.extend(one.icv(&packet));
        build::ipv4(one.src, one.dst, 50, n as u16, &packet)
    };
    let frames = (1..=60).flat_map(|n| [clear(&there, n), clear(&back, n)]).collect();
    let findings = check("in-clear", &[&host("r1", &[&there, &back])], frames);
    absent(&findings, "config-key-mismatch");
    says(&findings, "transform-mismatch", "in clear (ESP-NULL)");
}

/// The reverse: what is to be in clear is encrypted, under the right authentication key.
#[test]
fn packets_that_are_encrypted_where_none_is_to_be_are_told() {
    let (there, back) = (Sender::there(), Sender::back());
    let open = |one: &Sender, src: &str, dst: &str| {
        row(one, src, dst)
            .replace(&format!("\"AES-CBC [RFC3602]\",\"0x{}\"", hex(&one.cipher)), "\"NULL [RFC2410]\",\"\"")
    };
    let list = [open(&there, "192.168.1.1", "192.168.1.2"), open(&back, "192.168.1.2", "192.168.1.1")].concat();
    let findings = check("encrypted", &[&list], both(&[&there, &back]));
    absent(&findings, "icv-invalid");
    says(&findings, "transform-mismatch", "does not encrypt, and 20 of 20 packets that verify");
    // In clear, but a protocol of which nothing is known.
    let unknown = |one: &Sender, n: u32| {
        let mut packet = [&one.spi.to_be_bytes()[..], &n.to_be_bytes(), &[n as u8; 30], &[0, 253]].concat();
        packet.extend(one.icv(&packet));
        build::ipv4(one.src, one.dst, 50, n as u16, &packet)
    };
    let frames = (1..=60).flat_map(|n| [unknown(&there, n), unknown(&back, n)]).collect();
    absent(&check("unknown", &[&list], frames), "transform-mismatch");
}

/// Tunnels with numbers that count on: the list has one that is idle, and the wire has another one, both ways. Nobody has mistyped both numbers of
/// two routers that agree. One number alone is mistyped.
#[test]
fn numbers_that_both_ends_agree_in_are_not_mistyped() {
    let number = |one: Sender, spi: u32| Sender { spi, ..one };
    let (idle_there, idle_back) = (number(Sender::there(), 5_003), number(Sender::back(), 5_004));
    let (there, back) = (number(Sender::there(), 5_001), number(Sender::back(), 5_002));
    let list = [row(&idle_there, "192.168.1.1", "192.168.1.2"), row(&idle_back, "192.168.1.2", "192.168.1.1")].concat();
    let findings = check("agreed", &[&list], both(&[&there, &back]));
    absent(&findings, "spi-mistyped");
    errors(&findings, &[]);
    says(&findings, "spi-unexpected", "the two ends agree with each other, as two mistakes");
    let findings = check("mistyped", &[&list], both(&[&there, &idle_back]));
    says(&findings, "spi-mistyped", "5003");
}
