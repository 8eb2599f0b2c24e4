//! SAs and links that are right: what they show is no accusation, and what looks nearly the same is one.

use std::net::Ipv4Addr;

use super::wire::{absent, expecting, only, report, says, written};
use crate::support::build::{self, Noise, START, on_link, one_hop_further};
use crate::support::writer::{Out, plain_pcap};
use serde_json::Value;

const R1: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 1);
const R2: Ipv4Addr = Ipv4Addr::new(192, 168, 1, 2);
const HOST_A: Ipv4Addr = Ipv4Addr::new(192, 168, 2, 2);
const HOST_B: Ipv4Addr = Ipv4Addr::new(192, 168, 3, 2);
const PAIR: &str = "fixtures/policy/test06-fixed-pair.txt";

fn capture(name: &str, frames: impl IntoIterator<Item = Vec<u8>>) -> String {
    let frames: Vec<Out> =
        frames.into_iter().enumerate().map(|(n, data)| Out::whole(START + 3_000_000 * n as u64, data)).collect();
    written(&format!("right-{name}.pcap"), plain_pcap(&frames))
}

/// Random octets of AES-CBC with HMAC-SHA1-96: IV, some blocks and ICV.
fn cbc(n: u32) -> Vec<u8> {
    Noise(u64::from(n)).bytes(16 + 16 * (2 + n as usize % 4) + 12)
}

fn esp(n: u32) -> Vec<u8> {
    build::esp(R1, R2, 1002, n, &cbc(n))
}

fn stated(name: &str, transform: &str, mode: &str) -> String {
    let lines = format!("protocol = \"esp\"\nspi = 1002\ntransform = \"{transform}\"\nmode = \"{mode}\"\n");
    expecting(&format!("right-{name}"), &lines)
}

fn judged(name: &str, transform: &str, mode: &str, frames: impl IntoIterator<Item = Vec<u8>>) -> Value {
    report(&[&stated(name, transform, mode)], &[&capture(name, frames)])
}

/// The same with four octets of options in its IP header.
fn with_options(frame: &[u8]) -> Vec<u8> {
    let mut next = frame.to_vec();
    next.splice(34..34, [1, 1, 1, 1]);
    next[14] = 0x46;
    let total = u16::from_be_bytes([next[16], next[17]]) + 4;
    next[16..18].copy_from_slice(&total.to_be_bytes());
    next[24..26].fill(0);
    let words = next[14..38].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    next[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    next
}

#[test]
fn what_stands_around_esp_is_what_its_packets_show() {
    const AES: &str = "esp-aes esp-sha-hmac";
    // An SA of AH between the same ends carries something else.
    let ah = |n: u32| {
        let header = [&[17, 4, 0, 0][..], &7000_u32.to_be_bytes(), &n.to_be_bytes(), &[n as u8; 12]].concat();
        build::ipv4(R1, R2, 51, n as u16, &[&header[..], &[0, 9, 0, 9, 0, 28, 0, 0], &[5; 20]].concat())
    };
    let beside = judged("ah", AES, "tunnel", (1..=40).flat_map(|n| [esp(n), ah(n)]));
    absent(&beside, "transform-mismatch");
    absent(&judged("options", AES, "tunnel", (1..=40).map(|n| with_options(&esp(n)))), "transform-mismatch");
    let some = (1..=40).map(|n| if n % 2 == 0 { with_options(&esp(n)) } else { esp(n) });
    absent(&judged("some-options", AES, "tunnel", some), "transform-mismatch");
    // Another transform is told with and without options, and beside AH.
    let wrong = "esp-aes esp-sha256-hmac";
    for (name, all) in [
        ("wrong", (1..=40).map(esp).collect::<Vec<_>>()),
        ("wrong-options", (1..=40).map(|n| with_options(&esp(n))).collect()),
        ("wrong-ah", (1..=40).flat_map(|n| [esp(n), ah(n)]).collect()),
    ] {
        let report = judged(name, wrong, "tunnel", all);
        says(only(&report, "transform-mismatch"), "there are packets of");
        assert_eq!(only(&report, "transform-mismatch")["severity"], "warning");
    }
}

#[test]
fn a_stray_packet_refutes_no_transform() {
    let odd = |n: u32| build::esp(R1, R2, 1002, n, &Noise(u64::from(n)).bytes(101));
    let with = |every: u32| (1..=100).map(move |n| if n % every == 0 { odd(n) } else { esp(n) });
    absent(&judged("stray", "esp-aes esp-sha-hmac", "tunnel", with(50)), "transform-mismatch");
    says(only(&judged("many", "esp-aes esp-sha-hmac", "tunnel", with(5)), "transform-mismatch"), "packets of");
}

/// ESP-NULL with an ICV of twelve octets around this.
fn null(n: u32, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let pad = (4 - (payload.len() + 2) % 4) % 4;
    let padding: Vec<u8> = (1..=pad as u8).collect();
    let icv = Noise(u64::from(n) + 9_000).bytes(12);
    build::esp(R1, R2, 1002, n, &[payload, &padding, &[pad as u8, next_header], &icv].concat())
}

#[test]
fn null_with_a_protocol_that_is_not_known_is_no_ciphertext() {
    const NULL: &str = "esp-null esp-sha-hmac";
    for protocol in [88, 97, 115, 137, 253] {
        let frames = (1..=60).map(|n| null(n, protocol, &Noise(u64::from(n)).bytes(40 + n as usize % 7)));
        absent(&judged(&format!("null-{protocol}"), NULL, "transport", frames), "transform-mismatch");
    }
    let hidden = judged("null-hidden", NULL, "transport", (1..=60).map(esp));
    says(only(&hidden, "transform-mismatch"), "no more than chance");
    // Of packets that were cut nothing is known.
    let cut: Vec<Out> = (1..=60)
        .map(|n| {
            let whole = null(n, 88, &Noise(u64::from(n)).bytes(200));
            let wire_bytes = u32::try_from(whole.len()).expect("a frame");
            Out { wire_bytes, ..Out::whole(START + u64::from(n), whole[..120].to_vec()) }
        })
        .collect();
    let cut = written("right-null-cut.pcap", plain_pcap(&cut));
    absent(&report(&[&stated("null-cut", NULL, "transport")], &[&cut]), "transform-mismatch");
}

#[test]
fn ip_in_ip_in_transport_mode_is_no_wrong_mode() {
    let inner = |n: u32| build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0x55; 40]).split_off(14);
    let frames = || (1..=30).map(|n| null(n, 4, &inner(n)));
    let transport = judged("ipip", "esp-null esp-sha-hmac", "transport", frames());
    let said = only(&transport, "mode-mismatch");
    assert_eq!(said["severity"], "note");
    says(said, "IP in IP in transport mode");
    // The other way round there is only one reading.
    let upper = (1..=30).map(|n| null(n, 17, &build::udp(R1, R2, (5, 6), n as u16, &[7; 20])[34..]));
    let tunnel = judged("tunnel-udp", "esp-null esp-sha-hmac", "tunnel", upper);
    assert_eq!(only(&tunnel, "mode-mismatch")["severity"], "warning");
}

#[test]
fn an_address_that_is_translated_is_no_wrong_direction() {
    const OUTSIDE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 5);
    let list = |back: bool| {
        let one = |src: Ipv4Addr, dst: Ipv4Addr, spi: u32| {
            format!("[[sa]]\nprotocol = \"esp\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nspi = {spi}\n")
        };
        let there = one(R1, R2, 1_370_095_617);
        written(&format!("right-nat-{back}"), if back { there + &one(R2, R1, 1_370_095_618) } else { there })
    };
    let there = |n: u32| build::esp(OUTSIDE, R2, 1_370_095_617, n, &cbc(n));
    let back = |n: u32| build::esp(R2, OUTSIDE, 1_370_095_618, n, &cbc(n + 500));
    let in_udp = |n: u32| build::udp(OUTSIDE, R2, (4500, 4500), n as u16, &there(n)[34..]);
    let both = capture("nat", (1..=40).flat_map(|n| [there(n), back(n)]));
    let udp = capture("nat-udp", (1..=40).map(in_udp));
    for (capture, back, count) in [(&both, true, 2), (&udp, false, 1)] {
        let report = report(&[&list(back)], &[capture]);
        absent(&report, "sa-wrong-direction");
        absent(&report, "sa-never-seen");
        let all = report["findings"].as_array().expect("findings").iter();
        let said: Vec<&Value> = all.filter(|one| one["code"] == "sa-translated").collect();
        assert!(said.len() == count && said.iter().all(|one| one["severity"] == "note"), "{said:#?}");
    }
    // One direction alone may be a wrong address.
    let alone = report(&[&list(true)], &[&capture("nat-alone", (1..=40).map(there))]);
    assert_eq!(only(&alone, "sa-wrong-direction")["severity"], "warning");
}

#[test]
fn packets_in_clear_are_judged_by_the_link_that_they_are_on() {
    let clear = |n: u32| build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 60]);
    let tunnelled = |n: u32| build::esp(R1, R2, 1002, n, &Noise(u64::from(n)).bytes(96));
    let leak = |name: &str, frames: Vec<Vec<u8>>| report(&[PAIR], &[&capture(name, frames)]);
    // The link of the hosts and that of the tunnel in one capture.
    let inside = leak("stick", (1..=20).flat_map(|n| [clear(n), tunnelled(n)]).collect());
    let said = only(&inside, "plaintext-leak");
    assert_eq!(said["severity"], "note");
    says(said, "it may be on the inside");
    // On the link of the tunnel, in the direction of the tunnel or the other.
    for (name, from, to) in [("beside", R1, R2), ("against", R2, R1)] {
        let outside = (1..=20).flat_map(|n| [on_link(&clear(n), from, to), tunnelled(n)]);
        assert_eq!(only(&leak(name, outside.collect()), "plaintext-leak")["severity"], "warning");
    }
    // The same flow on both: how many of its packets were outside is not known.
    let both = (1..=20).flat_map(|n| [clear(n), on_link(&one_hop_further(&clear(n)), R1, R2), tunnelled(n)]);
    let both = leak("both", both.collect());
    assert_eq!(only(&both, "plaintext-leak")["severity"], "warning");
    says(only(&both, "plaintext-leak"), "Some of 40 packets in clear, those on the tunnel's link, are what R1 selects");
}

#[test]
fn a_network_behind_a_router_is_no_outside() {
    let clear = |n: u32| one_hop_further(&build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0; 60]));
    let answer = |n: u32| one_hop_further(&build::ipv4(HOST_B, HOST_A, 17, n as u16, &[0; 60]));
    let leak = |name: &str, frames: Vec<Vec<u8>>| report(&[PAIR], &[&capture(name, frames)]);
    for (name, frames) in [
        ("transit", (1..=20).flat_map(|n| [clear(n), one_hop_further(&answer(n))]).collect::<Vec<_>>()),
        ("transit-one-way", (1..=20).map(clear).collect()),
    ] {
        let report = leak(name, frames);
        let all = report["findings"].as_array().expect("findings").iter();
        let said: Vec<&Value> = all.filter(|one| one["code"] == "plaintext-leak").collect();
        assert!(said.iter().all(|one| one["severity"] == "note"), "{said:#?}");
    }
    // What has passed one router both ways has passed none that decapsulates: nothing encrypts it.
    let between = leak("between", (1..=20).flat_map(|n| [clear(n), answer(n)]).collect());
    let all = between["findings"].as_array().expect("findings").iter();
    let mut leaks = all.filter(|one| one["code"] == "plaintext-leak").peekable();
    assert!(leaks.peek().is_some() && leaks.all(|one| one["severity"] == "error"), "{between:#}");
}

#[test]
fn esp_null_that_was_cut_is_no_counter_mode() {
    // The identification of the inner header counts where an IV would, and nothing else of it changes.
    let inner = |n: u32| build::ipv4(HOST_A, HOST_B, 17, n as u16, &[0x55; 100]).split_off(14);
    let cut = |whole: Vec<u8>, n: u32| Out {
        wire_bytes: u32::try_from(whole.len()).expect("a frame"),
        ..Out::whole(START + 1_000_000 * u64::from(n), whole[..50].to_vec())
    };
    let transform = |name: &str, frames: Vec<Out>| {
        let report = report(&[], &[&written(&format!("right-{name}.pcap"), plain_pcap(&frames))]);
        report["sas"][0]["transform"].clone()
    };
    let clear = transform("cut-null", (1..=60).map(|n| cut(null(n, 4, &inner(n)), n)).collect());
    assert_eq!(clear["name"], Value::Null, "{clear:#}");
    // An IV that is the sequence number after a constant, whatever the constant.
    let counting = |n: u32| {
        let iv = (0x4500_0000_1234_0000_u64 ^ u64::from(n)).to_be_bytes();
        build::esp(R1, R2, 1002, n, &[&iv[..], &Noise(u64::from(n)).bytes(42 + 4 * (n as usize % 5) + 2)].concat())
    };
    let hidden = transform("cut-gcm", (1..=60).map(|n| cut(counting(n), n)).collect());
    assert!(hidden["name"].as_str().is_some_and(|name| name.contains("GCM")), "{hidden:#}");
}

#[test]
fn clear_traffic_names_datagrams_that_turned_out_to_be_no_esp() {
    let tunnelled = |n: u32| build::esp(R1, R2, 1002, n, &cbc(n));
    let other =
        |n: u32| build::udp(R1, R2, (4500, 4500), n as u16, &Noise(u64::from(n) + 70).bytes(60 + n as usize % 31));
    let mixed = (1..=60).flat_map(|n| if n % 3 == 0 { vec![tunnelled(n), other(n)] } else { vec![tunnelled(n)] });
    let report = report(&[], &[&capture("no-esp", mixed)]);
    says(only(&report, "clear-traffic"), "192.168.1.1 > 192.168.1.2 (20).");
}

#[test]
fn a_display_from_before_a_rekeying_is_no_slip() {
    let shown = |spi: u32| {
        let states = format!(
            "##### r1: ip -s xfrm state\nsrc {R1} dst {R2}\n\tproto esp spi {spi:#010x}({spi}) reqid 100 mode tunnel\n"
        );
        written(&format!("right-shown-{spi}"), states)
    };
    let on_wire = |spi: u32| capture(&format!("rekeyed-{spi}"), (1..=40).map(|n| build::esp(R1, R2, spi, n, &cbc(n))));
    // Drawn by IKE: another number, and the next one of a gateway that counts.
    for (spi, seen) in [(0x3b4c_5d01, 0x9911_aa10), (0x3b4c_5d01, 0x3b4c_5d02)] {
        let report = report(&[&shown(spi)], &[&on_wire(seen)]);
        absent(&report, "spi-mistyped");
        let said = only(&report, "spi-unexpected");
        assert_eq!(said["severity"], "warning");
        says(said, "a rekey since then explains it too");
    }
    // As people number SAs, and a digit of another place.
    for (spi, seen) in [(1002, 1003), (0x3b4c_5d01, 0x3b5c_5d01)] {
        only(&report(&[&shown(spi)], &[&on_wire(seen)]), "spi-mistyped");
    }
}

/// Few packets in UDP on another port than 4500 are those of an SA that is expected between their ends where they bear its SPI. Where their numbers are not
/// those of ESP they are not, but the SA is not said to be missing as a warning.
#[test]
fn packets_in_udp_that_bear_an_expected_spi_are_no_missing_sa() {
    let config = stated("udp", "esp-aes esp-sha-hmac", "tunnel");
    let datagram = |spi: u32, n: u32, number: u32| {
        let payload = [&spi.to_be_bytes()[..], &number.to_be_bytes(), &cbc(n)].concat();
        build::udp(R1, R2, (14_500, 33_000), n as u16, &payload)
    };
    // Other traffic shows that this is the link of the tunnel.
    let beside = |spi: u32, numbers: [u32; 4]| {
        let of_another = (1..=9).map(|n| build::esp(R2, R1, 4_711, n, &cbc(n)));
        of_another.chain((1..=4).zip(numbers).map(move |(n, number)| datagram(spi, n, number)))
    };
    let own = report(&[&config], &[&capture("udp-own", beside(1002, [1, 2, 3, 4]))]);
    absent(&own, "sa-never-seen");
    assert!(own["sas"].as_array().unwrap().iter().any(|sa| sa["spi"] == 1002 && sa["frames"] == 4), "{:#}", own["sas"]);
    let unlike = [3_000_000_000, 5, 1_700_000_000, 77];
    let own = report(&[&config], &[&capture("udp-unlike", beside(1002, unlike))]);
    let missing = only(&own, "sa-never-seen");
    assert_eq!(missing["severity"], "note", "{missing:#}");
    let evidence = missing["evidence"].as_str().expect("evidence");
    assert!(evidence.contains("4 packets") && evidence.contains("--udp-port 14500"), "{evidence}");
    let other = report(&[&config], &[&capture("udp-other", beside(1003, [1, 2, 3, 4]))]);
    assert_ne!(only(&other, "sa-never-seen")["severity"], "note");
}
