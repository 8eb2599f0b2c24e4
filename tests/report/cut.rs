//! Captures with a short snapshot length: what was cut off has no figure, and accuses nobody.

use serde_json::Value;

use crate::support::build::{Noise, R1, R2, START, esp, in_fragments, ipv4, ipv6, udp};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap};
use crate::support::{self, at, items, number, text};

const MS: u64 = 1_000_000;

/// The report on frames, one a millisecond, of which no more than so many octets were captured.
fn cut(test: &str, frames: Vec<Vec<u8>>, snaplen: usize) -> Value {
    let shown = |(at, frame): (u64, Vec<u8>)| {
        let mut out = Out::whole(START + at * MS, frame);
        out.data.truncate(snaplen);
        out
    };
    let out: Vec<Out> = (0..).zip(frames).map(shown).collect();
    let file = pcap(&out, ETHERNET, Order::Little, Step::Nano);
    let path = support::write_file(&support::scratch("cut"), &format!("{test}.pcap"), &file);
    support::report(&[&path]).json()
}

/// ESP-NULL with HMAC-SHA2-256 in transport mode around a TCP segment of so many octets; its number moves with the octets.
fn null_segment(noise: &mut Noise, number: u32, moved: u32, octets: usize) -> Vec<u8> {
    let mut tcp = vec![0xc0, 0x01, 0x01, 0xbb];
    tcp.extend(moved.to_be_bytes());
    tcp.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    tcp.extend(noise.bytes(octets));
    let pad = (4 - (tcp.len() + 2) % 4) % 4;
    let pads: Vec<u8> = (1..=pad as u8).collect();
    esp(R1, R2, 0x1001, number, &[tcp.as_slice(), &pads, &[pad as u8, 6], &noise.bytes(16)].concat())
}

/// In transport mode the trailer tells how long the packet inside is, and the longer packets lost theirs.
#[test]
fn packets_without_their_trailer_have_no_goodput() {
    let mut noise = Noise(1);
    let mut moved = 1_000;
    let mut segments = |snaplen: usize, short: bool| {
        let frames = (0..400_u32).map(|number| {
            let octets = if short && number % 3 == 0 { 0 } else { 200 + noise.below(1_200) as usize };
            moved += octets as u32;
            null_segment(&mut noise, number + 1, moved - octets as u32, octets)
        });
        cut(&format!("segments-{snaplen}-{short}"), frames.collect(), snaplen)
    };
    for report in [segments(128, true), segments(128, false), segments(96, true)] {
        let row = &items(&report, "rates.directions")[0];
        assert!(row["goodput_bps"].is_null() && row["goodput_max_bps"].is_null(), "{row:#}");
        let sa = &items(&report, "sas")[0];
        assert!(!text(sa, "transform.basis").contains("inferred") || at(sa, "transform.name").is_null(), "{sa:#}");
    }
    let whole = segments(2_000, true);
    assert!(items(&whole, "rates.directions")[0]["goodput_bps"].is_number());
}

/// AH in tunnel mode, cut in the header of the packet inside.
#[test]
fn packets_cut_in_the_inner_header_have_no_goodput() {
    let mut noise = Noise(2);
    let frames = (1..300_u32).map(|number| {
        let inner = ipv4(R2, R1, 17, number as u16, &noise.bytes(100 + number as usize));
        let mut ah = vec![4, 4, 0, 0, 0, 0, 0x20, 1];
        ah.extend(number.to_be_bytes());
        ah.extend(noise.bytes(12));
        ipv4(R1, R2, 51, number as u16, &[&ah, &inner[14..]].concat())
    });
    let frames: Vec<Vec<u8>> = frames.collect();
    let row = |snaplen| {
        let report = cut(&format!("ah-{snaplen}"), frames.clone(), snaplen);
        items(&report, "rates.directions")[0].clone()
    };
    let whole = row(96);
    assert!(whole["goodput_bps"].is_number(), "{whole:#}");
    for own in [row(68), row(60)] {
        assert!(own["goodput_bps"].is_null() && own["goodput_max_bps"].is_null(), "{own:#}");
    }
}

/// AH that is cut behind its number loses packets as any other: what is lost is not in the frames that are there.
#[test]
fn numbers_that_were_read_do_not_excuse_others() {
    let mut noise = Noise(5);
    let frames = (1..1_000_u32).filter(|number| number % 5 != 3).map(|number| {
        let inner = ipv4(R2, R1, 17, number as u16, &noise.bytes(100));
        let mut ah = vec![4, 4, 0, 0, 0, 0, 0x20, 1];
        ah.extend(number.to_be_bytes());
        ah.extend(noise.bytes(12));
        ipv4(R1, R2, 51, number as u16, &[&ah, &inner[14..]].concat())
    });
    let report = cut("ah-lossy", frames.collect(), 68);
    let all = items(&report, "findings");
    let gap = all.iter().find(|finding| text(finding, "code") == "sequence-gap").expect("a gap");
    assert_eq!((text(gap, "severity"), number(gap, "count")), ("warning", 200), "{gap:#}");
}

/// Frames with two VLAN tags lose their sequence numbers, those without keep them: no number is known to be missing.
#[test]
fn numbers_that_were_cut_off_are_not_lost() {
    let report = |test: &str, lost: &dyn Fn(u32) -> bool, tagged: u32| {
        let mut noise = Noise(3);
        let frames = (1..1_000_u32).filter(|number| !lost(*number)).map(|number| {
            let mut frame =
                ipv6(R1, R2, 50, &[&[0, 0, 0x10, 1], &number.to_be_bytes()[..], &noise.bytes(300)].concat());
            if number % 10 < tagged {
                frame.splice(12..12, [0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]);
            }
            frame
        });
        cut(test, frames.collect(), 64)
    };
    let gap = |report: &Value| {
        let all = items(report, "findings");
        let own = all.iter().find(|finding| text(finding, "code") == "sequence-gap").expect("a gap");
        (text(own, "severity").to_owned(), number(own, "count"))
    };
    // Of each ten numbers two, but for the first of all, which nothing stands before.
    let tagged = report("tagged", &|_| false, 2);
    assert_eq!(gap(&tagged), ("note".to_owned(), 198));
    let found = items(&tagged, "findings").iter().find(|finding| text(finding, "code") == "sequence-gap");
    assert!(text(found.expect("a gap"), "cause").contains("snapshot length"), "{found:?}");
    // What is lost beyond those is.
    assert_eq!(gap(&report("tagged-lossy", &|number| number % 3 == 1, 1)).0, "warning");
    assert_eq!(gap(&report("lossy", &|number| number % 3 == 1, 0)).0, "warning");
}

/// Frames whose length on the wire a packet broker did not keep: the packet says how long it was.
#[test]
fn sliced_frames_are_read_as_cut_ones() {
    let mut noise = Noise(4);
    let mut sliced = |test: &str, make: &dyn Fn(&mut Noise, u32) -> Vec<u8>| {
        let frames: Vec<Out> = (1..=200_u32)
            .map(|number| {
                let mut frame = make(&mut noise, number);
                frame.truncate(66);
                Out::whole(START + u64::from(number) * MS, frame)
            })
            .collect();
        let file = pcap(&frames, ETHERNET, Order::Little, Step::Nano);
        let path = support::write_file(&support::scratch("cut"), &format!("sliced-{test}.pcap"), &file);
        support::report(&[&path]).json()
    };
    let esp_of = |noise: &mut Noise, number: u32, spi: u32| {
        let bytes = 40 + noise.below(80) as usize * 4;
        [&spi.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(bytes)].concat()
    };
    let in_udp = sliced("udp", &|noise, number| {
        let payload = esp_of(noise, number, 0xc0de_0001);
        udp(R1, R2, (14_500, 33_000), number as u16, &payload)
    });
    let in_v6 = sliced("v6", &|noise, number| ipv6(R1, R2, 50, &esp_of(noise, number, 0x1001)));
    let codes = |report: &Value| -> Vec<String> {
        items(report, "findings").iter().map(|finding| text(finding, "code").to_owned()).collect()
    };
    for report in [&in_udp, &in_v6] {
        assert_eq!(number(&items(report, "sas")[0], "frames"), 200, "{report:#}");
        assert!(!codes(report).contains(&"esp-length-invalid".to_owned()), "{:?}", codes(report));
        assert!(codes(report).contains(&"capture-sliced".to_owned()));
    }
    let in_ah = sliced("ah-v6", &|noise, number| {
        let mut ah = vec![4, 4, 0, 0, 0, 0, 0x20, 1];
        ah.extend(number.to_be_bytes());
        ah.extend(noise.bytes(12));
        ipv6(R1, R2, 51, &[&ah, &ipv4(R2, R1, 17, number as u16, &noise.bytes(200))[14..]].concat())
    });
    let row = &items(&in_ah, "rates.directions")[0];
    assert!(row["goodput_bps"].is_null() && row["goodput_max_bps"].is_null(), "{row:#}");
}

/// ESP-NULL with HMAC-SHA1 in tunnel mode (next header 4) or transport mode around what is given.
fn null_around(noise: &mut Noise, number: u32, next_header: u8, inner: &[u8]) -> Vec<u8> {
    let pad = (4 - (inner.len() + 2) % 4) % 4;
    let pads: Vec<u8> = (1..=pad as u8).collect();
    esp(R1, R2, 0x1001, number, &[inner, &pads, &[pad as u8, next_header], &noise.bytes(12)].concat())
}

/// A tunnel of the ends of the SA in ESP-NULL: GRE, GRE with a key, or IP in IP. The packet in it is the encapsulated one, whether the end of
/// a frame was captured or not; and GRE in transport mode has no IV, though its key is as long as one.
#[test]
fn a_tunnel_of_the_same_ends_in_cut_packets_is_no_packet_of_a_user() {
    for (kind, header, transport) in [
        ("gre", &[0, 0, 8, 0][..], false),
        ("keyed", &[0x20, 0, 8, 0, 0, 0, 0, 7], false),
        ("ipip", &[], false),
        ("keyed", &[0x20, 0, 8, 0, 0, 0, 0, 7], true),
    ] {
        let mut noise = Noise(7);
        let mut octets = 0_u64;
        let frames: Vec<Vec<u8>> = (1..=170_u32)
            .map(|number| {
                let payload = noise.bytes(30 + (number as usize * 37) % 1_200);
                let user = udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (4_000, 5_201), number as u16, &payload);
                octets += user.len() as u64 - 14;
                let carried = [header, &user[14..]].concat();
                if transport {
                    return null_around(&mut noise, number, 47, &carried);
                }
                let protocol = if kind == "ipip" { 4 } else { 47 };
                let between = ipv4(R1, R2, protocol, number as u16, &carried);
                null_around(&mut noise, number, 4, &between[14..])
            })
            .collect();
        for snaplen in [96, 128, 160, 2_000] {
            let report = cut(&format!("within-{kind}-{transport}"), frames.clone(), snaplen);
            let row = &items(&report, "rates.directions")[0];
            let goodput =
                row["goodput_bps"].as_f64().expect("a goodput") * row["seconds"].as_f64().expect("a time") / 8.0;
            assert!((goodput - octets as f64).abs() < 1.0, "{kind} {transport} {snaplen}: {goodput} is not {octets}");
            let mode = if transport { "transport" } else { "tunnel" };
            assert_eq!(text(&report, "sas.0.mode"), mode, "{kind} {snaplen}");
            assert_eq!(number(&report, "sas.0.icv_bytes"), 12, "{kind} {snaplen}");
            for size in items(&report, "sizes") {
                assert_eq!(size["parts"]["gre"].as_f64(), Some(header.len() as f64), "{kind} {snaplen}: {size:#}");
                assert!(size["parts"]["esp_pad"].as_f64().is_some_and(|pad| pad < 4.0), "{kind} {snaplen}: {size:#}");
            }
        }
    }
}

/// Ethernet in GRE between the ends of the SA: where a snapshot length cut the packets, nothing tells how long the packet inside is.
#[test]
fn what_a_cut_tunnel_carries_is_not_known() {
    let mut noise = Noise(8);
    let frames = (1..=170_u32).map(|number| {
        let user = udp(R2, R1, (4_000, 5_201), number as u16, &noise.bytes(200 + number as usize));
        let between = ipv4(R1, R2, 47, number as u16, &[&[0, 0, 0x65, 0x58][..], &user].concat());
        null_around(&mut noise, number, 4, &between[14..])
    });
    let report = cut("within-ethernet", frames.collect(), 128);
    let row = &items(&report, "rates.directions")[0];
    assert!(row["goodput_bps"].is_null() && row["goodput_max_bps"].is_null(), "{row:#}");
}

/// A mirror's VXLAN in fragments: the rest of a frame is in the next one, and no snapshot length cut it off.
#[test]
fn fragments_of_a_mirror_are_not_cut_off() {
    let mut noise = Noise(5);
    let frames = (1..=20).flat_map(|number| {
        let mirrored = esp(R1, R2, 0x1001, number, &noise.bytes(1_448));
        let shell = [&[8, 0, 0, 0, 0, 0, 1, 0][..], &mirrored].concat();
        in_fragments(&udp(R1, R2, (50_000, 4789), number as u16, &shell), 1_480)
    });
    let frames: Vec<Vec<u8>> = frames.collect();
    let whole = cut("shell-fragments", frames.clone(), 2_000);
    assert_eq!(number(&whole, "sas.0.frames"), 20);
    let is_said = |report: &Value| items(report, "findings").iter().any(|own| text(own, "code") == "capture-snaplen");
    assert!(!is_said(&whole));
    assert!(is_said(&cut("shell-fragments-cut", frames, 1_000)));
}

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, octet| {
        (0..8).fold(crc ^ u32::from(*octet), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// Long and short frames, filled up to the minimum, with what a capture card appends to each; and the octets of layer 1 that they have.
fn appended(count: u32, append: impl Fn(u32, &mut Vec<u8>)) -> (Vec<Vec<u8>>, u64) {
    let mut noise = Noise(23);
    let mut l1_bytes = 0;
    let frame = |n: u32| {
        let mut frame = match n % 3 {
            0 => ipv4(R1, R2, 6, n as u16, &noise.bytes(20)),
            _ => {
                let bytes = 100 + 4 * noise.below(200) as usize;
                esp(R1, R2, 0x1001, n, &noise.bytes(bytes))
            }
        };
        frame.resize(frame.len().max(60), 0);
        l1_bytes += frame.len() as u64 + 24;
        append(n, &mut frame);
        frame
    };
    ((0..count).map(frame).collect(), l1_bytes)
}

/// An FCS that nothing declares, which short frames alone show, and trailers of capture devices: none of it counts twice, or was on the wire.
#[test]
fn what_a_capture_appends_is_in_no_length() {
    type Append = fn(u32, &mut Vec<u8>);
    let fcs: Append = |_, frame| frame.extend(crc(frame).to_le_bytes());
    let time: Append =
        |n, frame| frame.extend([&[0x69, 0x2c][..], &n.to_be_bytes(), &(n * 77).to_be_bytes(), &[0, 5]].concat());
    let all: [(&str, usize, Vec<Append>); 5] = [
        ("fcs", 9_000, vec![fcs]),
        ("fcs-cut", 96, vec![fcs]),
        ("time", 9_000, vec![time]),
        ("fcs-time", 9_000, vec![fcs, time]),
        ("fcs-time-fcs", 9_000, vec![fcs, time, fcs]),
    ];
    for (name, snaplen, appends) in all {
        let (frames, l1_bytes) = appended(300, |n, frame| appends.iter().for_each(|append| append(n, frame)));
        let report = cut(name, frames, snaplen);
        assert_eq!(number(&report, "totals.l1_bytes"), l1_bytes, "{name}");
        let rate = at(&report, "rates.directions.0.l1_bps").as_f64().unwrap_or_default();
        assert!((rate * 0.299 / 8.0 - l1_bytes as f64).abs() < 0.01 * l1_bytes as f64 / 100.0, "{name}: {rate}");
        let padding = items(&report, "padding.ethernet");
        assert_eq!(padding.len(), 1, "{name}: {padding:?}");
        assert_eq!((number(&padding[0], "frames"), text(&padding[0], "pattern")), (100, "zero"), "{name}");
    }
}
