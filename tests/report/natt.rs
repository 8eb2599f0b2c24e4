//! ESP in UDP that is hard to see: with late duplicates, in clear, in fragments, and of few packets that a configuration names.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;
const SPI: u32 = 0xc101_4711;

/// The report on frames with their times after the first, cut at so many octets.
fn report(test: &str, mut frames: Vec<(u64, Vec<u8>)>, snaplen: usize, config: Option<&str>) -> Value {
    frames.sort_by_key(|(after, _)| *after);
    let cut = |(after, mut data): (u64, Vec<u8>)| {
        let wire_bytes = data.len() as u32;
        data.truncate(snaplen);
        Out { time_ns: START + after, data, wire_bytes }
    };
    let out: Vec<Out> = frames.into_iter().map(cut).collect();
    let dir = support::scratch("natt");
    let path = support::write_file(&dir, &format!("{test}.pcap"), &plain_pcap(&out));
    let mut args = vec!["report".to_owned(), "--format".to_owned(), "json".to_owned()];
    if let Some(config) = config {
        let config = support::write_file(&dir, &format!("{test}.toml"), config.as_bytes());
        args.extend(["--config".to_owned(), config.to_str().expect("UTF-8").to_owned()]);
    }
    args.push(path.to_str().expect("UTF-8").to_owned());
    support::spiglass(&args).json()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// Ports of ESP in UDP, and others.
const PORTS: [(u16, u16); 2] = [(4_500, 4_500), (14_500, 14_500)];

/// ESP in UDP around what is given.
fn around(ports: (u16, u16), number: u32, payload: &[u8]) -> Vec<u8> {
    build::udp(R1, R2, ports, number as u16, &[&SPI.to_be_bytes()[..], &number.to_be_bytes(), payload].concat())
}

/// ESP-NULL with HMAC-SHA1 in transport mode around what is given.
fn null(noise: &mut Noise, ports: (u16, u16), number: u32, next_header: u8, inner: &[u8]) -> Vec<u8> {
    let pad = (4 - (inner.len() + 2) % 4) % 4;
    let pads: Vec<u8> = (1..=pad as u8).collect();
    around(ports, number, &[inner, &pads, &[pad as u8, next_header], &noise.bytes(12)].concat())
}

/// A path that delivers a part of the packets again, so late that a hundred others are between.
#[test]
fn packets_that_come_again_far_behind_leave_esp_what_it_is() {
    for ports in PORTS {
        for (share, behind) in [(30, 120), (50, 300), (100, 150)] {
            let mut noise = Noise(share);
            let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
            for number in 1..=600_u32 {
                let frame = around(ports, number, &noise.bytes(76 + 4 * (number as usize % 20)));
                let time = u64::from(number) * MS;
                if noise.below(100) < share {
                    frames.push((time + behind * MS + 1, frame.clone()));
                }
                frames.push((time, frame));
            }
            let again = frames.len() as u64 - 600;
            let report = report("again", frames, 2_000, None);
            let sas = items(&report, "sas");
            assert_eq!(sas.len(), 1, "{ports:?} {share} {behind}");
            assert_eq!(number(&sas[0], "frames"), 600 + again, "{ports:?} {share} {behind}");
            assert_eq!(number(&sas[0], "sequence.duplicate"), again, "{ports:?} {share} {behind}");
            assert!(!codes(&report).contains(&"clear-traffic"), "{ports:?} {share} {behind}");
        }
    }
}

/// UDP of one size in transport mode: its checksum, two octets that change, is no counter.
#[test]
fn a_checksum_in_clear_is_no_counter_mode() {
    let mut noise = Noise(5);
    let frames = (1..=100_u32).map(|number| {
        let head = [0x9c, 0x40, 0x14, 0x51, 0, 180];
        (
            u64::from(number) * 20 * MS,
            null(&mut Noise(number.into()), PORTS[1], number, 17, &[&head, &noise.bytes(174)[..]].concat()),
        )
    });
    let report = report("voice", frames.collect(), 2_000, None);
    assert_eq!(number(&report, "sas.0.frames"), 100);
    assert!(at(&report, "sas.0.transform.name").is_null(), "{}", at(&report, "sas.0.transform"));
    // An IV that counts is one.
    let frames = (1..=100_u32).map(|number| {
        let iv = (0x9c40_1451_3fb4_0000_u64 + u64::from(number) * 3).to_be_bytes();
        (u64::from(number) * 20 * MS, around(PORTS[1], number, &[&iv, &noise.bytes(200)[..]].concat()))
    });
    let report = self::report("counting", frames.collect(), 2_000, None);
    assert!(text(&report, "sas.0.transform.name").contains("counter mode"), "{}", at(&report, "sas.0.transform"));
}

/// Datagrams in transport mode that are fragmented after encryption: their length is that of the fragments together.
#[test]
fn ports_in_clear_in_fragments_are_no_constant_of_another_protocol() {
    for snaplen in [96, 128, 160] {
        let mut noise = Noise(6);
        let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
        for number in 1..=200_u32 {
            let length = 200 + (noise.below(320) as u16) * 4;
            let head = [&[0x9c, 0x40, 0x14, 0x51][..], &length.to_be_bytes(), &noise.bytes(2)].concat();
            let inner = [head, noise.bytes(usize::from(length) - 8)].concat();
            let frame = null(&mut noise, PORTS[0], number, 17, &inner);
            let time = u64::from(number) * 10 * MS;
            if frame.len() > 1_014 {
                let [one, other] = build::in_fragments(&frame, 976);
                frames.extend([(time, one), (time + 10_000, other)]);
            } else {
                frames.push((time, frame));
            }
        }
        let report = report("fragmented-null", frames, snaplen, None);
        assert_eq!(number(&report, "sas.0.frames"), 200, "{snaplen}");
        assert!(!codes(&report).contains(&"clear-traffic"), "{snaplen}");
    }
}

/// GRE with a key in transport mode, as multipoint tunnels have it.
#[test]
fn a_key_of_gre_is_no_constant_of_another_protocol() {
    for (ports, snaplen) in [(PORTS[0], 76), (PORTS[1], 76), (PORTS[1], 2_000)] {
        let mut noise = Noise(9);
        let frames = (1..=170_u32).map(|number| {
            let user = build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (9, 9), number as u16, &noise.bytes(300));
            let gre = [&[0x20, 0, 8, 0, 0, 0, 0, 7][..], &user[14..]].concat();
            (u64::from(number) * 10 * MS, null(&mut Noise(number.into()), ports, number, 47, &gre))
        });
        let report = report("keyed-gre", frames.collect(), snaplen, None);
        assert_eq!(number(&report, "sas.0.frames"), 170, "{ports:?} {snaplen}");
    }
}

/// Three packets on an unusual port show no association, unless somebody names its ends and its SPI.
#[test]
fn few_packets_of_an_sa_that_is_stated_are_it() {
    let config = format!("[[sa]]\nprotocol = \"esp\"\nsrc = \"{R1}\"\ndst = \"{R2}\"\nspi = {SPI}\n");
    for packets in [1, 3, 6] {
        let mut noise = Noise(11);
        let frames: Vec<(u64, Vec<u8>)> = (1..=packets)
            .map(|number| (u64::from(number) * 10 * MS, around(PORTS[1], number, &noise.bytes(104))))
            .collect();
        let alone = report("few", frames.clone(), 2_000, None);
        assert!(items(&alone, "sas").is_empty());
        let stated = report("few-stated", frames.clone(), 2_000, Some(&config));
        assert_eq!(number(&stated, "sas.0.frames"), u64::from(packets), "{packets}");
        assert!(!codes(&stated).contains(&"sa-never-seen"), "{packets}");
        let other = report("few-other", frames, 2_000, Some(&config.replace(&SPI.to_string(), "12345678")));
        assert!(items(&other, "sas").is_empty() && codes(&other).contains(&"sa-never-seen"), "{packets}");
    }
}

/// Ends for which ESP is configured may send other things on its ports: RTP has another time stamp in the place of the SPI in each packet.
#[test]
fn other_protocols_between_stated_ends_are_none_of_their_sas() {
    let config = format!("[[sa]]\nprotocol = \"esp\"\nsrc = \"{R1}\"\ndst = \"{R2}\"\nspi = {SPI}\n");
    let mut noise = Noise(12);
    let rtp = |number: u32, noise: &mut Noise| {
        let header = [&[0x80, 0x00][..], &(number as u16).to_be_bytes(), &(number * 160).to_be_bytes(), &[1, 2, 3, 4]];
        [header.concat(), noise.bytes(160)].concat()
    };
    let frames: Vec<(u64, Vec<u8>)> = (1..=20)
        .map(|number| {
            (u64::from(number) * 20 * MS, build::udp(R1, R2, PORTS[0], number as u16, &rtp(number, &mut noise)))
        })
        .collect();
    let report = report("rtp-stated", frames, 2_000, Some(&config));
    assert!(
        items(&report, "sas").is_empty() && !codes(&report).contains(&"spi-unexpected"),
        "{:#}",
        report["findings"]
    );
}
