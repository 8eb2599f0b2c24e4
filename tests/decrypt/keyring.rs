//! A keyring made of what systems display: every packet of the laboratory opens under the key that its SA's routers state.

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::support::{at, fixture, read_json, shared};
use serde_json::Value;
use spiglass::analysis::{Expectation, Keyring};
use spiglass::capture::{Frame, Source};
use spiglass::decrypt::{Icv, Unchecked};
use spiglass::dissect::{DissectOptions, Stack, dissect, stack_name};
use spiglass::engine::{FrameSink, Input, Quiet, Settings, frames};
use spiglass::model::{FramePos, LinkType, Timestamp};
use spiglass::policy::Policies;

/// The keyring of one file of keys.
fn keyring(file: &Path) -> Keyring {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    of_text(&text)
}

fn of_text(text: &[u8]) -> Keyring {
    let policies = Policies::read(&[("keys".into(), text.to_vec())]);
    Keyring::new(&Expectation::from(Arc::new(policies)), &DissectOptions::default())
}

/// What came of one capture.
#[derive(Default, Debug)]
struct Outcome {
    verified: u64,
    failed: u64,
    cut: u64,
    without_integrity: u64,
    fragments: u64,
    /// Verified packets by the name of who states their key, several joined.
    by: BTreeMap<String, u64>,
    /// Inner and outer octets of every packet that was opened.
    sizes: Vec<(u64, u64)>,
    stacks: BTreeMap<String, u64>,
    /// ESP that was checked and could not be opened, though no ICV failed.
    closed: u64,
}

struct Sink {
    keys: Keyring,
    outcome: Outcome,
}

impl FrameSink for Sink {
    fn capture(&mut self, _: &str) {}

    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> std::io::Result<()> {
        let names: BTreeMap<_, Vec<String>> = stack
            .sas
            .iter()
            .map(|sa| {
                let ip = &stack.ips[usize::from(sa.ip)];
                let key = spiglass::model::SaKey { protocol: sa.protocol, src: ip.src, dst: ip.dst, spi: sa.spi };
                let holders = |one: &[spiglass::keys::Holder]| {
                    one.iter().map(|holder| holder.name.to_string()).collect::<Vec<_>>().join("+")
                };
                (key, self.keys.keys_of(&key).map(holders).collect())
            })
            .collect();
        let outcome = &mut self.outcome;
        let Some(unlocked) = self.keys.open(frame, stack) else { return Ok(()) };
        for check in unlocked.checks() {
            match check.icv {
                Icv::Verified => {
                    outcome.verified += 1;
                    let by = usize::from(check.by.expect("whose key it is"));
                    let name = names.get(&check.sa).map_or("hidden", |names| names[by].as_str());
                    *outcome.by.entry(name.to_owned()).or_default() += 1;
                }
                Icv::Failed => outcome.failed += 1,
                Icv::NotChecked(Unchecked::Cut) => outcome.cut += 1,
                Icv::NotChecked(Unchecked::NoIntegrity) => outcome.without_integrity += 1,
                Icv::NotChecked(Unchecked::Fragment) => outcome.fragments += 1,
                Icv::NotChecked(other) => panic!("{other:?}"),
            }
            let esp = check.header.protocol == spiglass::model::Protocol::Esp;
            let whole = !matches!(check.icv, Icv::Failed | Icv::NotChecked(Unchecked::Fragment));
            outcome.closed += u64::from(esp && whole && !check.opened);
        }
        if let Some(stack) = unlocked.stack() {
            *outcome.stacks.entry(stack_name(stack.shape)).or_default() += 1;
            assert_eq!(unlocked.octets().len(), frame.data.len());
        }
        if let Some(inner) = unlocked.inner() {
            assert_eq!(inner.header.len(), inner.ip.header_bytes as usize);
            let behind = inner.bytes as usize - inner.header.len();
            assert!(inner.payload.len() == behind || frame.data.len() < frame.wire_bytes as usize);
            let outer = unlocked.stack().and_then(Stack::outer).expect("an outer header").total_bytes;
            outcome.sizes.push((u64::from(inner.bytes), u64::from(outer)));
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn open(capture: &Path, keys: &Keyring) -> Outcome {
    let input = Input { source: Source::Path(capture.to_owned()), tap: None };
    let mut sink = Sink { keys: keys.clone(), outcome: Outcome::default() };
    let done = frames(&[input], &Settings::default(), &mut sink, &Quiet).expect("no output to fail");
    assert!(done.errors.is_empty(), "{}: {:?}", capture.display(), done.errors);
    sink.outcome
}

#[test]
fn every_packet_of_the_laboratory_opens_with_the_keys_its_files_hold() {
    let Some(lab) = shared("lab") else { return };
    let mut problems = Vec::new();
    let (mut runs, mut verified) = (0, 0);
    for scenario in std::fs::read_dir(&lab).expect("the laboratory can be listed") {
        let scenario = scenario.expect("an entry").path();
        let name = scenario.file_name().expect("a name").to_string_lossy().into_owned();
        let tunnel = scenario.join("tunnel.pcap");
        if !scenario.join("observed.json").is_file() || !tunnel.is_file() {
            continue;
        }
        let (truth, observed) = (read_json(&scenario.join("truth.json")), read_json(&scenario.join("observed.json")));
        for file in ["sa.txt", "esp_sa"] {
            let path = scenario.join(file);
            if !path.is_file() {
                continue;
            }
            let keys = keyring(&path);
            assert!(keys.unusable().is_empty(), "{name} {file}: {:?}", keys.unusable());
            if keys.is_empty() {
                continue;
            }
            runs += 1;
            let outcome = open(&tunnel, &keys);
            verified += outcome.verified;
            let wrong = judge(&name, file, &truth, &observed, &outcome);
            problems.extend(wrong.into_iter().map(|what| format!("{name} {file}: {what}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(runs >= 100, "only {runs} files of keys were found");
    assert!(verified > 30_000, "{verified} packets verified");
}

/// What is wrong with the outcome of one capture.
fn judge(name: &str, file: &str, truth: &Value, observed: &Value, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |what: &str, got: u64, want: u64| {
        if got != want {
            wrong.push(format!("{what}: {got}, not {want}"));
        }
    };
    let bad = at(observed, "icv_checked.bad").as_u64().expect("a count");
    expect("failed", outcome.failed, bad);
    expect("closed", outcome.closed, 0);
    let ok = at(observed, "icv_checked.ok").as_u64().expect("a count");
    let has_ah = name.starts_with("ah") || name == "esp-over-ah" || name.starts_with("steps-ah");
    if ok > 0 && !(has_ah && file == "esp_sa") && !name.starts_with("frag-outer") {
        let want = match (name, file) {
            // The other opinion of AH in ESP is about the ESP alone.
            ("esp-over-ah", _) => 2 * ok,
            // What was displayed after the rekey has the new SAs alone.
            ("rekey", "sa.txt") => 340,
            _ => ok,
        };
        expect("verified", outcome.verified, want);
    }
    let sizes: BTreeMap<u64, u64> = truth
        .get("expected_sizes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|row| Some((row.get("inner")?.as_u64()?, row.get("outer")?.as_u64()?)))
        .collect();
    for (inner, outer) in &outcome.sizes {
        if let Some(expected) = sizes.get(inner).filter(|expected| *expected != outer) {
            wrong.push(format!("{inner} bytes became {outer}, not {expected}"));
        }
    }
    if outcome.verified + outcome.cut + outcome.without_integrity > 0 && outcome.sizes.is_empty() && !has_ah {
        wrong.push("nothing was opened".into());
    }
    wrong
}

/// Both gateways state a key for the forward SA, and they differ: the wire says whose is right.
#[test]
fn the_keys_of_both_ends_are_tried() {
    let keys = keyring(&fixture("policy/lab-wrong-auth-key.txt"));
    let outcome = open(&fixture("lab/wrong-auth-key-tunnel.pcap"), &keys);
    assert_eq!((outcome.verified, outcome.failed), (129, 0));
    assert_eq!(outcome.by, BTreeMap::from([("r1".into(), 80), ("r1+r2".into(), 49)]));
}

/// What is inside ESP goes on: AH, whose ICV is that of the packet without ESP, and GRE.
#[test]
fn what_is_inside_is_opened_and_dissected() {
    let Some(lab) = shared("lab") else { return };
    let stacks = |scenario: &str| {
        let scenario = lab.join(scenario);
        open(&scenario.join("tunnel.pcap"), &keyring(&scenario.join("sa.txt"))).stacks
    };
    for (scenario, starts) in [
        ("esp-over-ah", "eth/ipv4/esp/ah/ipv4"),
        ("gre-over-esp-transport", "eth/ipv4/esp/gre/ipv4"),
        ("ipip-over-esp-transport", "eth/ipv4/esp/ipv4"),
        ("nat-t-aes128-sha1", "eth/ipv4/udp/esp/ipv4"),
        ("esp6in4-aes128-sha1", "eth/ipv4/esp/ipv6"),
        ("ah-md5+esp-des-md5", "eth/ipv4/ah/esp/ipv4"),
        ("transport-bitw-aes-sha1", "eth/ipv4/esp"),
    ] {
        let found = stacks(scenario);
        assert!(!found.is_empty() && found.keys().all(|stack| stack.starts_with(starts)), "{scenario}: {found:?}");
    }
}

/// Nothing of a key is in any debug text, and a key of a wrong length is said to be that and used for nothing.
#[test]
fn keys_are_not_shown_and_wrong_lengths_are_told() {
    let text = "hostname R1\ncrypto ipsec transform-set S esp-aes esp-sha-hmac\ncrypto map M 1 ipsec-manual\n set peer 192.168.1.2\n \
                set session-key outbound esp 1001 cipher 5eaf2fafacda2d68 authenticator 0402df643484a172fd00440774151718934a53b9\n \
                set transform-set S\ninterface E0\n ip address 192.168.1.1 255.255.255.0\n crypto map M\n";
    let keys = of_text(text.as_bytes());
    assert!(keys.is_empty());
    let [unusable] = keys.unusable() else { panic!("{:?}", keys.unusable()) };
    assert_eq!(unusable.why, "AES-CBC takes a key of 128 bits, but 64 bits were given");
    assert_eq!((&*unusable.holder.name, unusable.spi.0), ("R1", 1_001));
    let sa_text = std::fs::read_to_string(fixture("policy/lab-wrong-auth-key.txt")).expect("a fixture");
    let policies = Arc::new(Policies::read(&[("keys".into(), sa_text.clone().into_bytes())]));
    let expectation = Expectation::from(policies);
    let keys = Keyring::new(&expectation, &DissectOptions::default());
    let unusable = of_text(text.as_bytes());
    for shown in [format!("{keys:?}"), format!("{expectation:?}"), format!("{:?}", unusable.unusable())] {
        for word in sa_text.split_whitespace().filter(|word| word.starts_with("0x") && word.len() >= 34) {
            assert!(!shown.contains(&word[2..]), "a key is shown");
        }
        assert!(!shown.contains("5eaf2f"), "a key is shown");
    }
}

/// Whatever a capture did to a packet (cut it, flipped octets, claimed lengths), opening it ends, and an octet flipped is never verified.
#[test]
fn damaged_frames_never_panic_and_never_verify() {
    let mut keys = keyring(&fixture("policy/lab-wrong-auth-key.txt"));
    let input = Input { source: Source::Path(fixture("lab/wrong-auth-key-tunnel.pcap")), tap: None };
    let mut sink = Keep(Vec::new());
    let outcome = frames(&[input], &Settings::default(), &mut sink, &Quiet).expect("no output to fail");
    assert!(outcome.errors.is_empty());
    let mut stack = Stack::default();
    let mut noise = support::build::Noise(7);
    let (mut cut_open, mut failed) = (0, 0);
    for (data, wire_bytes) in sink.0.iter().take(12) {
        for captured in 0..data.len() {
            let frame = Frame { data: &data[..captured], wire_bytes: *wire_bytes, ..blank() };
            dissect(&frame, &DissectOptions::default(), &mut stack);
            if let Some(unlocked) = keys.open(&frame, &stack) {
                assert!(unlocked.checks().iter().all(|check| matches!(check.icv, Icv::NotChecked(_))));
                cut_open += u32::from(unlocked.inner().is_some_and(|inner| inner.tunnel));
            }
        }
        for _ in 0..200 {
            let mut data = data.clone();
            let octets = noise.bytes(3);
            let at = (usize::from(octets[0]) << 8 | usize::from(octets[1])) % data.len();
            data[at] ^= octets[2].max(1);
            let frame = Frame { data: &data, wire_bytes: *wire_bytes, ..blank() };
            dissect(&frame, &DissectOptions::default(), &mut stack);
            if let Some(unlocked) = keys.open(&frame, &stack) {
                // The outer header is no part of what ESP protects; from the SPI on every octet is.
                let verified = unlocked.checks().iter().any(|check| check.icv == Icv::Verified);
                assert!(!verified || at < 34, "byte {at} is not checked");
                failed += u32::from(!verified);
            }
        }
    }
    assert!(cut_open > 100 && failed > 1_000, "{cut_open} cut packets opened, {failed} failed");
}

/// Frames that outlive their chunk, with their lengths on the wire.
struct Keep(Vec<(Vec<u8>, u32)>);

impl FrameSink for Keep {
    fn capture(&mut self, _: &str) {}

    fn frame(&mut self, frame: &Frame<'_>, _: &Stack) -> std::io::Result<()> {
        self.0.push((frame.data.to_vec(), frame.wire_bytes));
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn blank() -> Frame<'static> {
    Frame {
        pos: FramePos::new(0, 1),
        time: Timestamp::from_ns(0),
        wire_bytes: 0,
        data: &[],
        link: LinkType::ETHERNET,
        interface: 0,
        fcs_bytes: 0,
        snap_bytes: u32::MAX,
    }
}
