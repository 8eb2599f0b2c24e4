//! States of made-up captures of every kind of traffic: whatever `partial` writes, `merge` takes, and it is the report of one run.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use spiglass::model::{LinkType, Timestamp};

use super::merge_laws::{Owned, check, settings};

use crate::support::build::{Noise, START, esp, in_fragments, ipv4, ipv6, udp};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, spiglass, write_file};

/// Keys of some SAs: what fails and what is never seen shows in a state, too.
const KEYS: &str = r#"
[[sa]]
protocol = "esp"
src = "10.0.0.1"
dst = "10.1.0.1"
spi = 4096
transform = "esp-aes esp-sha-hmac"
encryption_key = "0x000102030405060708090a0b0c0d0e0f"
authentication_key = "0x000102030405060708090a0b0c0d0e0f10111213"
"#;

fn ah(src: Ipv4Addr, dst: Ipv4Addr, spi: u32, number: u32, noise: &mut Noise) -> Vec<u8> {
    let inner = &udp(src, dst, (7, 9), 0, &noise.bytes(40))[14..];
    let mut body = vec![4, 4, 0, 0];
    body.extend([spi.to_be_bytes(), number.to_be_bytes()].concat());
    body.extend(noise.bytes(12));
    body.extend(inner);
    ipv4(src, dst, 51, number as u16, &body)
}

/// Frames between `pairs` pairs of gateways, each direction with MACs of its own.
fn frames(seed: u64, pairs: u64, count: u64) -> Vec<Out> {
    let mut noise = Noise(seed);
    let mut time = START;
    let mut frames: Vec<Out> = Vec::new();
    let mut numbers = vec![0u32; 2 * pairs as usize];
    for at in 0..count {
        // A pause of days too: durations are no counts.
        time +=
            [1_000, 40_000, 2_000_000, 300_000_000, 11_000_000_000, 400 * 86_400_000_000_000][[0, 0, 1, 1, 1, 2, 2, 3]
                [noise.below(8) as usize]
                + usize::from(at % 97 == 96)
                + usize::from(at == count / 2) * 2];
        let pair = noise.below(pairs);
        let [high, low] = (pair as u16 + 1).to_be_bytes();
        let (a, b) = (Ipv4Addr::new(10, 0, high, low), Ipv4Addr::new(10, 1, high, low));
        let back = noise.below(2);
        let (src, dst) = if back == 0 { (a, b) } else { (b, a) };
        let own = &mut numbers[(2 * pair + back) as usize];
        let step = [1, 1, 1, 1, 1, 2, 40, 70_000, 3_000_000, 1 << 25][noise.below(10) as usize];
        *own = if noise.below(30) == 0 { 1 } else { own.wrapping_add(step) };
        let (spi, number, bytes) = (0x1000 + pair as u32, *own, 16 + 4 * noise.below(60) as usize);
        let mut body = [spi.to_be_bytes(), number.to_be_bytes()].concat();
        body.extend(noise.bytes(bytes));
        let packets = match noise.below(10) {
            0..=2 => vec![esp(src, dst, spi, number, &body[8..])],
            3 => vec![udp(src, dst, (4500, 4500), at as u16, &body)],
            4 => vec![udp(src, dst, (14_500, 6_000 + pair as u16), at as u16, &body)],
            5 => vec![ipv6(src, dst, 50, &body)],
            6 => vec![ah(src, dst, spi, number, &mut noise)],
            7 => in_fragments(&esp(src, dst, spi, number, &noise.bytes(400)), 200).to_vec(),
            8 => vec![udp(src, dst, (53, 5_353), at as u16, &body)],
            _ => frames.last().map(|last| last.data.clone()).into_iter().collect(),
        };
        frames.extend((0..).zip(packets).map(|(n, packet): (u64, _)| Out::whole(time + n * 1_000, packet)));
    }
    frames
}

fn run(words: &[&str], options: &[&str], files: &[PathBuf]) -> Vec<u8> {
    let mut args = words.to_vec();
    args.extend(options);
    args.extend(files.iter().map(|file| file.to_str().expect("UTF-8")));
    let run = spiglass(&args).expect(0);
    assert_eq!(run.stderr, "", "{words:?}");
    run.stdout
}

fn state(to: &Path, options: &[&str], files: &[PathBuf]) -> PathBuf {
    run(&["partial", "-o", to.to_str().expect("UTF-8")], options, files);
    to.to_owned()
}

#[test]
fn every_state_of_every_kind_of_traffic_is_merged() {
    for (seed, (pairs, count)) in
        [(1, 200), (3, 400), (33, 600), (70, 900), (130, 1_500), (300, 2_500)].into_iter().cycle().take(18).enumerate()
    {
        let dir = scratch(&format!("kinds-{seed}"));
        let config = write_file(&dir, "keys.toml", KEYS.as_bytes());
        let options = if seed % 3 == 0 { vec!["--config", config.to_str().expect("UTF-8")] } else { Vec::new() };
        let all = frames(seed as u64 + 77, pairs, count);
        let files: Vec<PathBuf> = all
            .chunks(all.len() / (1 + seed % 4) + 1)
            .enumerate()
            .map(|(at, part)| write_file(&dir, &format!("kinds-{at}.pcap"), &plain_pcap(part)))
            .collect();
        let json = [&["--format", "json"], &options[..]].concat();
        let whole = run(&["report"], &json, &files);
        let states: Vec<PathBuf> = files
            .iter()
            .enumerate()
            .map(|(at, file)| state(&dir.join(format!("{at}.state")), &options, std::slice::from_ref(file)))
            .collect();
        assert!(
            run(&["merge"], &json, &states) == whole,
            "seed {seed}, {pairs} pairs: merged states say something else"
        );
        let together = state(&dir.join("all.state"), &options, &files);
        assert!(
            run(&["merge"], &json, &[together]) == whole,
            "seed {seed}, {pairs} pairs: one state says something else"
        );
    }
}

/// More directions than are reported: which of them are depends on the whole stream, so every span keeps all.
#[test]
fn streams_of_every_kind_of_traffic_can_be_cut_anywhere() {
    let mut exact = 0;
    for (seed, (pairs, count)) in [(1, 60), (40, 300), (70, 400), (150, 600), (300, 900)].into_iter().enumerate() {
        let owned = |out: Out| Owned {
            time: Timestamp::from_ns(out.time_ns as i64),
            wire_bytes: out.wire_bytes,
            data: out.data,
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        let frames: Vec<Owned> = frames(seed as u64 + 5, pairs, count).into_iter().map(owned).collect();
        exact += u32::from(check(&settings(), &format!("{pairs} pairs"), &frames));
    }
    assert!(exact >= 4, "{exact}");
}
