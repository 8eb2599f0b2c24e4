//! Every limit is hit once, and says so in words. ARCHITECTURE.md lists which test hits which limit.

use crate::support;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::support::build::{R1, R2, START, esp, ipv4, udp};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap, plain_pcap};
use crate::support::{fixture, items, scratch, spiglass, write_file};
use spiglass::capture::limits::{
    CHUNK_BYTES, MAX_BLOCK, MAX_DESCRIPTION, MAX_INTERFACES, MAX_RECORD, MAX_RECORD_RAISED,
};
use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::engine::{Input, PairInputs, Quiet, Settings, pair, run};
use spiglass::matching::PairSettings;
use spiglass::model::pairs::MatchReport;
use spiglass::model::report::{EventKind, Exactness, Report};
use spiglass::policy::limits::MAX_OCTETS;
use spiglass::policy::{Policies, lint};

const SECOND: u64 = 1_000_000_000;

/// A capture of made-up frames, each with its time after the first in nanoseconds.
fn capture(name: &str, frames: impl Iterator<Item = (u64, Vec<u8>)>) -> PathBuf {
    let out: Vec<Out> = frames.map(|(after, data)| Out::whole(START + after, data)).collect();
    write_file(&scratch("limits"), name, &plain_pcap(&out))
}

/// The report of such a capture.
fn report(name: &str, frames: impl Iterator<Item = (u64, Vec<u8>)>) -> Report {
    report_of(&capture(name, frames))
}

fn report_of(path: &Path) -> Report {
    report_of_all(&[path])
}

fn report_of_all(paths: &[&Path]) -> Report {
    let inputs: Vec<Input> =
        paths.iter().map(|path| Input { source: Source::Path((*path).into()), tap: None }).collect();
    let outcome = run(&inputs, &Settings::default(), 1, &Quiet);
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    outcome.report
}

/// The report says that it is not exact, and why.
fn degraded(report: &Report, words: &str) {
    assert_eq!(report.exactness, Exactness::Degraded, "{words}");
    assert!(report.degraded_why.iter().any(|why| why.contains(words)), "{words}: {:?}", report.degraded_why);
}

fn address(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + n)
}

/// Octets that pass for encrypted.
fn noise(n: u32) -> [u8; 32] {
    let mut noise = support::build::Noise(u64::from(n) | 1);
    std::array::from_fn(|_| noise.word().to_le_bytes()[3] | 0x80)
}

/// The damage that a file is reported with, and the exit status 2.
fn damage(name: &str, bytes: &[u8]) -> String {
    let path = write_file(&scratch("limits"), name, bytes);
    let run = spiglass(&["report", "--format", "json", path.to_str().unwrap()]).expect(2);
    let json = run.json();
    let what = json["captures"][0]["damage"]["what"].as_str().unwrap_or_default().to_owned();
    assert!(run.stderr.contains(&what) && !what.is_empty(), "{run}");
    what
}

fn pcap_header(snaplen: u32) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(snaplen.to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    file
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let total = u32::try_from(padded + 12).unwrap().to_le_bytes();
    let mut block = kind.to_le_bytes().to_vec();
    block.extend(total);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(total);
    block
}

fn section() -> Vec<u8> {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body)
}

fn interface(options: &[u8]) -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0];
    body.extend(options);
    block(1, &body)
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = code.to_le_bytes().to_vec();
    option.extend(u16::try_from(value.len()).unwrap().to_le_bytes());
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn packet(interface: u32, data: &[u8], options: &[u8]) -> Vec<u8> {
    let mut body = interface.to_le_bytes().to_vec();
    body.extend([0; 8]);
    for _ in 0..2 {
        body.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    }
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(6, &body)
}

#[test]
fn a_record_may_claim_so_much_and_no_more() {
    for (snaplen, limit) in [(65_535, MAX_RECORD), (u32::MAX, MAX_RECORD_RAISED)] {
        let mut file = pcap_header(snaplen);
        for word in [1, 0, limit + 1, limit + 1] {
            file.extend(word.to_le_bytes());
        }
        let what = damage("record.pcap", &file);
        assert!(what.contains(&format!("the record claims {} bytes, the limit is {limit}", limit + 1)), "{what}");
    }
}

#[test]
fn a_block_may_claim_so_much_and_no_more() {
    let mut file = section();
    file.extend(6_u32.to_le_bytes());
    file.extend((MAX_BLOCK + 4).to_le_bytes());
    file.extend([0; 64]);
    let what = damage("block.pcapng", &file);
    assert!(what.contains(&format!("claims {} bytes, the limit is {MAX_BLOCK}", MAX_BLOCK + 4)), "{what}");
    let mut file = section();
    file.extend(interface(&vec![0; MAX_DESCRIPTION as usize]));
    let what = damage("description.pcapng", &file);
    assert!(what.contains(&format!("the limit is {MAX_DESCRIPTION}")), "{what}");
}

#[test]
fn a_section_has_so_many_interfaces_and_a_name_so_many_characters() {
    let mut file = section();
    file.extend(interface(&option(2, "ä".repeat(400).as_bytes())));
    for _ in 0..MAX_INTERFACES {
        file.extend(interface(&[]));
    }
    let frame = esp(R1, R2, 1, 1, &[1; 40]);
    file.extend(packet(0, &frame, &[]));
    file.extend(packet(u32::try_from(MAX_INTERFACES).unwrap(), &frame, &[]));
    let what = damage("interfaces.pcapng", &file);
    assert!(what.contains("interface") && what.contains("65536"), "{what}");
    let report = report_of(&scratch("limits").join("interfaces.pcapng"));
    assert_eq!(report.captures[0].interfaces.len(), MAX_INTERFACES);
    assert_eq!(report.captures[0].interfaces[0].name.as_ref().unwrap().chars().count(), 256);
}

#[test]
fn so_many_options_of_a_packet_are_looked_at_and_more_are_said() {
    let flags = option(2, &(4_u32 << 5).to_le_bytes());
    let fcs = |comments: usize| {
        let options = [option(1, b"x").repeat(comments), flags.clone(), option(0, b"")].concat();
        let mut file = section();
        file.extend(interface(&[]));
        file.extend(packet(0, &esp(R1, R2, 1, 1, &[1; 40]), &options));
        let path = write_file(&scratch("limits"), &format!("options-{comments}.pcapng"), &file);
        let mut reader = CaptureReader::open(&Source::Path(path), 0).unwrap();
        let mut chunk = Chunk::new();
        assert!(reader.next_chunk(&mut chunk));
        chunk.frames().next().unwrap().fcs_bytes
    };
    // A packet whose last option that is looked at is its last one has no more.
    assert_eq!((fcs(31), fcs(32), fcs(400)), (4, 0, 0));
    let path = |comments: usize| scratch("limits").join(format!("options-{comments}.pcapng"));
    assert_eq!(report_of(&path(31)).exactness, Exactness::Exact);
    for comments in [32, 400] {
        let report = report_of(&path(comments));
        degraded(&report, "1 packets have more than 32 options; what further ones say was not read");
        assert!(report.degraded_why[0].contains(&format!("options-{comments}.pcapng: ")), "{:?}", report.degraded_why);
    }
    let (plain, tunnel) = (path(31), path(32));
    let files = ["--plain", plain.to_str().unwrap(), "--tunnel", tunnel.to_str().unwrap()];
    let json = spiglass(&[&["match", "-q", "--format", "json"], &files[..]].concat()).json();
    assert_eq!(json["exactness"], "degraded");
    assert!(json["degraded_why"].to_string().contains("1 packets have more than 32 options"), "{json}");
}

/// A member of a compressed file that is records and nothing else, so that it may be repeated: gigabytes in some kilobytes.
#[test]
fn a_zip_bomb_is_streamed_and_never_held() {
    let mut records = Vec::new();
    for n in 0..4_000_u32 {
        let frame = Out::whole(START + u64::from(n), esp(R1, R2, 1, n, &[0; 1_400]));
        records.extend(&plain_pcap(&[frame])[24..]);
    }
    let gzip = |bytes: &[u8]| {
        let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        w.write_all(bytes).unwrap();
        w.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::stream::encode_all(bytes, 3).unwrap();
    let lz4 = |bytes: &[u8]| {
        let mut w = lz4_flex::frame::FrameEncoder::new(Vec::new());
        w.write_all(bytes).unwrap();
        w.finish().unwrap()
    };
    let xz = |bytes: &[u8]| {
        let mut w = liblzma::write::XzEncoder::new(Vec::new(), 0);
        w.write_all(bytes).unwrap();
        w.finish().unwrap()
    };
    let bzip2 = |bytes: &[u8]| {
        let mut w = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        w.write_all(bytes).unwrap();
        w.finish().unwrap()
    };
    let header = &plain_pcap(&[])[..24];
    for (name, mut file, member) in [
        ("gz", gzip(header), gzip(&records)),
        ("zst", zstd(header), zstd(&records)),
        ("lz4", lz4(header), lz4(&records)),
        ("xz", xz(header), xz(&records)),
        ("bz2", bzip2(header), bzip2(&records)),
    ] {
        for _ in 0..60 {
            file.extend(&member);
        }
        let unpacked = 60 * records.len();
        assert!(unpacked > 300 << 20 && file.len() * 20 < unpacked, "{name}: {} for {unpacked}", file.len());
        let path = write_file(&scratch("limits"), &format!("bomb.pcap.{name}"), &file);
        // A third of what is in the file would not fit.
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 131072; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_spiglass")])
            .args(["report", "--jobs", "1", "--format", "json"])
            .arg(&path)
            .output()
            .expect("there is a shell");
        assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["totals"]["frames"], 240_000, "{name}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_xz_stream_that_asks_for_gigabytes_is_refused() {
    let mut packed = Vec::new();
    let mut w = liblzma::write::XzEncoder::new(&mut packed, 0);
    w.write_all(&plain_pcap(&[])).unwrap();
    w.finish().unwrap();
    // Block header: size, flags, filter 0x21, one octet of properties: the size of the dictionary. 40 is 4 GiB.
    let size = (usize::from(packed[12]) + 1) * 4;
    let at = packed[12..12 + size].windows(2).position(|pair| pair == [0x21, 1]).unwrap() + 14;
    packed[at] = 40;
    let crc = crc32(&packed[12..12 + size - 4]).to_le_bytes();
    packed[12 + size - 4..12 + size].copy_from_slice(&crc);
    let path = write_file(&scratch("limits"), "dictionary.pcap.xz", &packed);
    let run = spiglass(&["report", path.to_str().unwrap()]).expect(2);
    assert!(run.stderr.contains("xz") && run.stderr.contains("memory"), "{run}");
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[test]
fn associations_beyond_the_limit_are_counted_and_said() {
    let frames = (0..200_010_u32).map(|n| (u64::from(n) * 1_000, esp(R1, R2, 256 + n, 1, &noise(n))));
    let report = report("sas.pcap", frames);
    degraded(&report, "10 headers of security associations beyond 200000 were counted, not analysed");
    assert_eq!((report.sas.len(), report.totals.frames), (200_000, 200_010));
}

#[test]
fn pairs_of_addresses_beyond_the_limit_are_counted_and_said() {
    let frames = (0..65_536 + 7).map(|n| (u64::from(n) * 1_000, udp(address(n), R2, (53, 53), 1, &[1; 8])));
    let report = report("flows.pcap", frames);
    degraded(&report, "7 packets of address pairs beyond 65536 were counted, not analysed");
    // MACs are made of the addresses: as many directions. They are bounded too, and the rest is summed.
    assert!(report.rates.directions.len() <= 65, "{}", report.rates.directions.len());
    assert!(report.rates.directions.iter().any(|direction| direction.direction.contains("other")));
    assert_eq!(report.rates.directions.iter().map(|direction| direction.frames).sum::<u64>(), 65_543);
}

#[test]
fn endpoints_beyond_the_limit_are_counted_and_said() {
    let inner: Vec<u8> = ipv4(R2, R1, 59, 1, &[])[14..].to_vec();
    let frames = (0..400_000 + 6).map(|n| (u64::from(n) * 100_000, ipv4(address(n), R2, 4, 1, &inner)));
    degraded(&report("pairs.pcap", frames), "6 packets of endpoint pairs beyond 400000 were counted, not analysed");
}

#[test]
fn stacks_beyond_the_limit_are_counted_and_said() {
    // Twelve headers of IPv4 or IPv6 inside each other, in every order, and four of eleven.
    let nested = |order: u32, depth: u32| {
        let (mut protocol, mut packet) = (59, Vec::new());
        for level in 0..depth {
            if order >> level & 1 == 0 {
                packet = ipv4(R1, R2, protocol, 1, &packet)[14..].to_vec();
                protocol = 4;
            } else {
                let mut outer = vec![0x60, 0, 0, 0];
                outer.extend(u16::try_from(packet.len()).unwrap().to_be_bytes());
                outer.extend([protocol, 64]);
                outer.extend([0xfd; 32]);
                outer.extend(&packet);
                packet = outer;
                protocol = 41;
            }
        }
        ipv4(R1, R2, protocol, 1, &packet)
    };
    let orders = (0..4_096).map(|order| (order, 12)).chain((0..4).map(|order| (order, 11)));
    let frames = orders.enumerate().map(|(at, (order, depth))| (at as u64 * 1_000_000, nested(order, depth)));
    degraded(&report("stacks.pcap", frames), "4 frames with stacks beyond 4096 were counted, not analysed");
}

#[test]
fn fragments_in_flight_beyond_the_limit_are_counted_and_said() {
    // First fragments of datagrams whose rest never comes, all within two seconds.
    let frames = (0..65_536 + 9_u32).map(|n| {
        let mut frame = ipv4(address(n / 65_536), R2, 17, u16::try_from(n % 65_536).unwrap(), &[0; 16]);
        frame[20] = 0x20;
        (u64::from(n) * 10_000, frame)
    });
    degraded(&report("fragments.pcap", frames), "9 fragments beyond the limit on groups were not put together");
}

#[test]
fn fragments_of_groups_in_flight_beyond_the_limit_are_counted_and_said() {
    // Seven fragments each of datagrams whose first never comes, all within two seconds.
    let frames = (0..(1 << 18) + 5_u32).map(|n| {
        let mut frame = ipv4(R1, R2, 17, u16::try_from(n / 7).unwrap(), &[0; 16]);
        frame[20..22].copy_from_slice(&(0x2000_u16 | (2 + 4 * (n % 7)) as u16).to_be_bytes());
        (u64::from(n) * 5_000, frame)
    });
    degraded(&report("pieces.pcap", frames), "5 fragments beyond the limit on groups were not put together");
}

/// Ten frames for each of the steps back, which all are counted; beyond the limit no rate is known.
#[test]
fn steps_back_beyond_the_limit_leave_no_rates() {
    for (steps, known) in [(64, true), (65, false)] {
        let frames = (0..(steps + 1) * 10_u32).map(|n| {
            let at = u64::from(n) * 100_000_000 - u64::from(n / 10) * 300_000_000 + 20_000_000_000;
            (at, esp(R1, R2, 7, n + 1, &noise(n)))
        });
        let report = report("steps.pcap", frames);
        assert_eq!(report.rates.directions[0].frames_per_s.is_some(), known, "{steps}");
        let back = report.findings.iter().find(|finding| finding.code == "capture-clock-back").expect("it is said");
        assert_eq!(back.count, u64::from(steps));
    }
}

#[test]
fn udp_flows_beyond_the_limit_are_counted_and_said() {
    // Flows on unusual ports that might be ESP; the first of those beyond comes twice.
    let flow = |n: u32| udp(address(n), R2, (40_000, 40_001), 1, &[noise(n), noise(n + 1)].concat());
    let frames = (0..4_096 + 3).chain([4_096]).enumerate().map(|(at, n)| (at as u64 * 1_000, flow(n)));
    let report = report("candidates.pcap", frames);
    degraded(&report, "4 packets of UDP flows beyond 4096 on unusual ports were not looked at for ESP");
}

#[test]
fn datagrams_that_speak_against_esp_beyond_the_limit_are_counted_and_said() {
    // Flows of datagrams that are no whole words, and ESP on an unusual port that they are not weighed against.
    let port = |n: u32| 10_000 + u16::try_from(n % 50_000).expect("a port");
    let misfit = |n: u32| udp(address(n / 50_000), R2, (port(n), 40_001), 1, &[7; 22]);
    let esp = |n: u32| {
        let payload = [&[0x2a, 0x6b, 0x1c, 0x5d][..], &n.to_be_bytes(), &noise(2 * n)].concat();
        udp(R1, R2, (40_000, 40_001), 2, &payload)
    };
    // One of the ports is that of TZSP.
    let frames = (0..65_536 + 4).map(misfit).chain((1..=40).map(esp));
    let report = report("misfits.pcap", frames.enumerate().map(|(at, frame)| (at as u64 * 1_001, frame)));
    degraded(&report, "3 datagrams of UDP flows beyond 65536 were not weighed against ESP on unusual ports");
}

#[test]
fn notices_beyond_the_limit_are_counted_and_said() {
    // "Packet too big" by as many routers.
    let frames = (0..4_096 + 5).map(|n| {
        let mut quoted = vec![3, 4, 0, 0, 0, 0, 5, 0x14];
        quoted.extend(&esp(R1, R2, 300, 1, &[0; 8])[14..]);
        (u64::from(n) * 1_000, ipv4(address(n), R1, 1, 1, &quoted))
    });
    degraded(&report("notices.pcap", frames), "5 ICMP or IKE notices beyond the limit were not kept");
}

#[test]
fn sizes_beyond_the_limit_are_counted_and_said() {
    // One SA has 20,000 sizes at most; fifty-one have more than a million cells. GRE shows the inner size with a header alone.
    let frames = (0..51_u32).flat_map(|path| {
        (0..19_700_u16).map(move |size| {
            let mut inner = vec![0, 0, 8, 0, 0x45, 0];
            inner.extend((40 + size).to_be_bytes());
            inner.extend([0, 0, 0, 0, 64, 59, 0, 0, 10, 1, 0, 1, 10, 2, 0, 1]);
            let mut frame = ipv4(R1, address(path), 47, 1, &inner);
            frame[16..18].copy_from_slice(&(64 + size).to_be_bytes());
            (u64::from(path) * 20_000_000 + u64::from(size) * 1_000, frame)
        })
    });
    let out: Vec<Out> = frames
        .map(|(after, data)| {
            let wire_bytes = 14 + u32::from(u16::from_be_bytes([data[16], data[17]]));
            Out { time_ns: START + after, data, wire_bytes }
        })
        .collect();
    let path = write_file(&scratch("limits"), "sizes.pcap", &plain_pcap(&out));
    degraded(&report_of(&path), "packets of sizes beyond 1000000 cells are in no size table");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn centuries_between_two_frames_cost_two_bins() {
    let mut file = pcap_header(65_535);
    for seconds in [0, u32::MAX, 1, u32::MAX - 1] {
        let frame = esp(R1, R2, 1, seconds & 7, &[1; 40]);
        for word in [seconds, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    let path = write_file(&scratch("limits"), "1970-2106.pcap", &file);
    let begun = std::time::Instant::now();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 131072; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_spiglass")])
        .args(["report", "--jobs", "1", "--bin", "1ms", "--format", "json"])
        .arg(&path)
        .output()
        .expect("there is a shell");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["exactness"], "exact");
    assert_eq!(json["captures"][0]["last"], "2106-02-07T06:28:15.000000000Z");
    assert!(begun.elapsed().as_secs() < 10);
}

#[test]
fn time_bins_beyond_the_limit_are_joined_and_said() {
    let frames = (0..100_001_u32).map(|n| (u64::from(n) * SECOND, udp(R1, R2, (53, 53), 1, &[1; 8])));
    let report = report("bins.pcap", frames);
    degraded(&report, "more than 100000 time bins: 2 neighbours each were joined into one");
    assert_eq!(report.rates.bin_ns, 2 * SECOND);
}

#[test]
fn runs_and_intervals_of_sequence_numbers_beyond_the_limit_are_folded_and_said() {
    // The counter begins again after eleven seconds of silence, more often than runs are kept.
    let frames = (0..260_u32).map(|n| (u64::from(n) * 11 * SECOND, esp(R1, R2, 300, 1_000 - n, &noise(n))));
    degraded(&report("runs.pcap", frames), "4 frames beyond 256 runs of sequence numbers");
    // Every second number is missing: an interval for each number seen. Then one arrives where all was folded.
    let last = 2 * ((1 << 16) + (1 << 19) + 10);
    let numbers = (1..last / 2).map(|n| n * 2).chain([3]);
    let frames = numbers.enumerate().map(|(at, n)| (at as u64 * 1_000, esp(R1, R2, 300, n, &noise(n))));
    degraded(&report("intervals.pcap", frames), "coverage beyond 65536 intervals was folded; 1 frame");
}

#[test]
fn a_window_of_copies_has_so_much_room() {
    // Frames of no sequence number within 10 ms of the capture's beginning, more than are kept, where another may come before it.
    let frame = |n: u32| (u64::from(n) * 30, udp(R1, address(n), (53, 53), 1, &[1; 8]));
    let many = capture("copies.pcap", (0..(1 << 18) + 3_u32).map(frame));
    let later = capture("copies-later.pcap", [(10 * SECOND, frame(0).1)].into_iter());
    degraded(&report_of_all(&[&many, &later]), "frames found no room in the window that recognises copies");
    // A report on one capture keeps none.
    assert!(!report_of(&many).degraded_why.iter().any(|why| why.contains("the window")));
}

#[test]
fn layers_are_as_deep_as_that() {
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    for _ in 0..40 {
        let total = u16::try_from(packet.len() + 20).unwrap().to_be_bytes();
        let mut outer = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        outer.extend(&packet);
        packet = outer;
    }
    let frame = ipv4(R1, R2, 4, 1, &packet);
    let path = write_file(&scratch("limits"), "deep.pcap", &plain_pcap(&[Out::whole(START, frame)]));
    let rows = support::frames(&path);
    assert_eq!(rows[0].get("stop"), "ipv4: more than 20 layers");
    degraded(&report_of(&path), "1 frames have more than 20 layers; deeper layers were not read");
}

fn remark(text: &str) -> Vec<String> {
    let policies = Policies::read(&[("big.cfg".into(), text.as_bytes().to_vec())]);
    let _ = lint(&policies.view());
    policies.files[0].remarks.iter().map(|remark| remark.what.clone()).collect()
}

/// A clock that steps back further than the windows allow for is no limit of room, but one of what can be known.
#[test]
fn a_clock_that_steps_back_among_fragments_or_drifts_among_copies_is_said() {
    let fragment = |id: u16, offset: u16, more: bool| {
        let mut frame = ipv4(R1, R2, 50, id, &[0xa5; 64]);
        frame[20..22].copy_from_slice(&((offset / 8) | (u16::from(more) << 13)).to_be_bytes());
        frame
    };
    let train = |at: u64, id: u16| [(at, fragment(id, 0, true)), (at + 1_000, fragment(id, 64, false))];
    let forward = report("fragments-forward.pcap", train(SECOND, 1).into_iter().chain(train(2 * SECOND, 2)));
    assert_eq!(forward.exactness, Exactness::Exact, "{:?}", forward.degraded_why);
    let back = report("fragments-back.pcap", train(SECOND, 1).into_iter().chain(train(0, 2)));
    degraded(&back, "fragments come up to 1000 ms before earlier ones, 10 ms are followed");
    // Three steps of 6 ms.
    let times = [20_000_000, 14_000_000, 8_000_000, 2_000_000];
    let frames = || times.into_iter().zip(1..).map(|(at, n)| (at, esp(R1, R2, 7, n, &noise(n))));
    degraded(&report("copies-drift.pcap", frames()), "2 frames come after small backward steps of the clock");
    assert_eq!(report("copies-step.pcap", frames().take(2)).exactness, Exactness::Exact);
}

/// Steps of 2^20, the largest that are no jump, go around 2^32 every 4,096 frames: all times are counted, and the first sixteen are
/// events.
#[test]
fn wraps_beyond_the_limit_are_counted() {
    let step = 1_u64 << 20;
    let frames = (0..20 * 4_096 + 2_u64).map(|n| (n * 1_000_000, esp(R1, R2, 7, (n * step) as u32, &noise(n as u32))));
    let report = report("wraps.pcap", frames);
    let sequence = report.sas[0].sequence.as_ref().expect("ESP has numbers");
    assert_eq!((sequence.wraps, sequence.restarts), (20, 0));
    let wraps: Vec<_> = report.findings.iter().filter(|finding| finding.code == "sequence-wrap").collect();
    assert_eq!((wraps.len(), wraps[0].count), (1, 20));
    assert!(wraps[0].evidence.contains("20 times"), "{}", wraps[0].evidence);
    let events = report.events.iter().filter(|event| event.what == EventKind::Wrap).count();
    assert_eq!(events, 16);
}

#[test]
fn configurations_are_read_up_to_their_limits_and_say_so() {
    let has = |remarks: &[String], words: &str| {
        assert!(remarks.iter().any(|what| what.contains(words)), "{words}: {remarks:?}");
    };
    has(&remark(&format!("hostname R1\n!{}\n", "x".repeat(5_000))), "a line of more than 4096 bytes is skipped");
    let routers: String =
        (0..300).map(|n| format!("hostname R{n}\ninterface Gi0\n ip address 10.0.0.1 255.0.0.0\n")).collect();
    has(&remark(&routers), "more than 256 routers in all inputs; the rest is left out");
    let maps: String = (1..4_200).map(|n| format!("crypto map M {n} ipsec-manual\n set peer 10.0.0.1\n")).collect();
    has(
        &remark(&format!("hostname R1\n{maps}")),
        "more than 4096 crypto map entries of one router; the rest is left out",
    );
    let policies: String = (1..4_200).map(|n| format!("crypto isakmp policy {n}\n group 2\n")).collect();
    has(
        &remark(&format!("hostname R1\n{policies}")),
        "more than 4096 IKE policies of one router; the rest is left out",
    );
    let lists: String =
        (0..262_200).map(|n| format!("access-list 101 permit ip host 10.0.0.{} any\n", n % 250)).collect();
    has(&remark(&format!("hostname R1\n{lists}")), "more than 262144 facts in all inputs; the rest is left out");
    has(&remark(&format!("hostname R1\n{}", "!\n".repeat(MAX_OCTETS / 2))), "the input is longer than 16777216 bytes");
}

/// What a limit leaves out of a configuration is not compared: the report says so itself, not only standard error.
#[test]
fn a_report_with_a_part_of_a_configuration_is_not_exact() {
    let maps: String = (1..4_200).map(|n| format!("crypto map M {n} ipsec-manual\n set peer 10.0.0.1\n")).collect();
    let config = write_file(&scratch("limits"), "maps.cfg", format!("hostname R1\n{maps}").as_bytes());
    let config = config.to_str().unwrap();
    let capture = fixture("lab/loss-before-tap-tunnel.pcap");
    let plain = fixture("lab/loss-before-tap-plain-a.pcap");
    let (capture, plain) = (capture.to_str().unwrap(), plain.to_str().unwrap());
    for run in [
        spiglass(&["report", "-q", "--format", "json", "--config", config, capture]),
        spiglass(&["match", "-q", "--format", "json", "--config", config, "--plain", plain, "--tunnel", capture]),
    ] {
        let json = run.json();
        assert_eq!(json["exactness"], "degraded");
        let why = json["degraded_why"].to_string();
        assert_eq!(
            why.matches("more than 4096 crypto map entries of one router; the rest is left out").count(),
            1,
            "{why}"
        );
        assert!(why.contains("maps.cfg: "), "{why}");
    }
}

#[test]
fn remarks_and_stretches_are_kept_up_to_their_limits_and_counted_beyond() {
    let text: String = (0..70).map(|n| format!("crypto map M {n} ipsec-manual\n set peer nowhere-{n}\n")).collect();
    let policies = Policies::read(&[("wrong.cfg".into(), format!("hostname R1\n{text}").into_bytes())]);
    let file = &policies.files[0];
    assert_eq!((file.remarks.len(), file.more_remarks), (50, 20), "{:?}", file.remarks);
    let text: String = (0..1_500).map(|n| format!("interface Gi{n}\nnonsense of {n}\n")).collect();
    let policies = Policies::read(&[("skipped.cfg".into(), format!("hostname R1\n{text}").into_bytes())]);
    let file = &policies.files[0];
    assert_eq!((file.skipped.len(), file.skipped_lines >= 1_500), (1_000, true), "{}", file.skipped_lines);
}

#[test]
fn problems_and_their_lines_are_listed_up_to_their_limits_and_counted_beyond() {
    let lint = |text: &str| {
        let policies = Policies::read(&[("lint.cfg".into(), text.as_bytes().to_vec())]);
        lint(&policies.view())
    };
    let router = |name: &str, own: u8, peer: u8, keys: &str| {
        format!(
            "hostname {name}\ncrypto ipsec transform-set T ah-md5-hmac\ncrypto map M 10 ipsec-manual\n \
             set peer 10.0.0.{peer}\n set transform-set T\n{keys} match address 101\ninterface Gi0\n \
             ip address 10.0.0.{own} 255.255.255.0\n crypto map M\n"
        )
    };
    let key = |way: &str, spi: u32| format!(" set session-key {way} ah {spi} {spi:032x}\n");
    // Reserved SPIs, each a problem of its own.
    let maps: String = (1..=105_u32)
        .map(|n| {
            let peer = format!("10.0.1.{n}");
            format!("crypto map M {n} ipsec-manual\n set peer {peer}\n set transform-set T\n{}", key("outbound", n))
        })
        .collect();
    let problems = lint(&format!("hostname R1\ncrypto ipsec transform-set T ah-md5-hmac\n{maps}"));
    let reserved: Vec<_> = problems.iter().filter(|problem| problem.code == "spi-reserved").collect();
    assert_eq!(reserved.len(), 100);
    let told = |at: usize| reserved[at].evidence.ends_with(" 5 more like it are not listed.");
    assert!(told(99) && !told(98), "{}", reserved[99].evidence);
    // One problem of many lines: twenty SPIs that the other end does not know.
    let maps: String = (0..20_u32)
        .map(|n| {
            let number = 20 + n;
            format!(
                "crypto map M {number} ipsec-manual\n set peer 10.0.0.2\n set transform-set T\n{}",
                key("outbound", 1_000 + n)
            )
        })
        .collect();
    let text = router("R1", 1, 2, "") + &maps + &router("R2", 2, 1, &key("inbound", 5_000));
    let problems = lint(&text);
    let many = problems.iter().find(|problem| problem.code == "config-spi-mismatch").expect("the ends do not agree");
    assert_eq!((many.config.len(), many.uncited), (12, 9), "{many:?}");
    assert!(many.evidence.contains(" 9 more lines are not cited. "), "{}", many.evidence);
    assert!(
        problems.iter().filter(|problem| problem.uncited == 0).all(|problem| !problem.evidence.contains("not cited"))
    );
}

#[test]
fn a_configuration_file_is_not_read_beyond_its_limit() {
    let path: PathBuf = scratch("limits").join("endless.cfg");
    let mut text = b"hostname R1\n".to_vec();
    text.resize(MAX_OCTETS + (64 << 20), b'!');
    std::fs::write(&path, text).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 131072; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_spiglass")])
        .args(["check", "--config"])
        .arg(&path)
        .output()
        .expect("there is a shell");
    std::fs::remove_file(&path).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{stderr}");
    assert!(stderr.contains("the input is longer than 16777216 bytes"), "{stderr}");
}

#[test]
fn a_chunk_is_as_large_as_that_and_records_are_larger() {
    assert!(CHUNK_BYTES < MAX_RECORD_RAISED as usize);
}

/// What `match` says of captures made of these frames: plain side, tunnel, and far side where there is one.
fn matched(name: &str, sides: &[Vec<Out>]) -> MatchReport {
    matched_of(name, sides, ETHERNET)
}

fn matched_of(name: &str, sides: &[Vec<Out>], link: u32) -> MatchReport {
    let mut inputs = sides.iter().enumerate().map(|(at, frames)| {
        let file = pcap(frames, link, Order::Little, Step::Nano);
        let path = write_file(&scratch("limits"), &format!("{name}-{at}.pcap"), &file);
        vec![Input { source: Source::Path(path), tap: None }]
    });
    let inputs = PairInputs {
        plain: inputs.next().unwrap(),
        tunnel: inputs.next().unwrap(),
        exit: inputs.next().unwrap_or_default(),
    };
    let outcome = pair(&inputs, &Settings::default(), &PairSettings::default(), None, &Quiet).unwrap();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    outcome.report
}

/// The report says that it is not exact, and that by these words.
fn not_exact(report: &MatchReport, words: &str) {
    assert_eq!(report.exactness, Exactness::Degraded, "{words}");
    assert!(report.degraded_why.iter().any(|why| why.starts_with(words)), "{words}: {:?}", report.degraded_why);
}

/// A packet in clear, its IP packet as long as that, of which no more than the beginning is captured; and the same in a tunnel.
fn short(after: u64, src: Ipv4Addr, dst: Ipv4Addr, bytes: u32, id: u16) -> (Out, Out) {
    let whole = |mut data: Vec<u8>, bytes: u32| {
        data[16..18].copy_from_slice(&u16::try_from(bytes).unwrap().to_be_bytes());
        Out { time_ns: START + after, data, wire_bytes: 14 + bytes }
    };
    let plain = whole(udp(src, dst, (4_000, 4_000), id, &[7; 8]), bytes);
    let tunnel = Out { time_ns: START + after + 50_000, ..whole(ipv4(R1, R2, 4, id, &plain.data[14..]), bytes + 20) };
    (plain, tunnel)
}

fn octets(n: u32) -> [u8; 16] {
    std::array::from_fn(|at| n.to_be_bytes()[at % 4])
}

#[test]
fn packets_that_wait_beyond_the_limit_make_room_and_that_is_said() {
    let at = |n: u32| START + u64::from(n) * 4_000;
    let all = 0..150_000_u32;
    let clear =
        |side: u8| all.clone().map(move |n| Out::whole(at(n), udp(R1, R2, (u16::from(side), 53), 1, &octets(n))));
    let tunnelled = all.clone().map(|n| {
        let inner = udp(address(9), R2, (4, 53), 1, &octets(n))[14..].to_vec();
        Out::whole(at(n), ipv4(R1, R2, 4, 1, &inner))
    });
    let tunnel: Vec<Out> = tunnelled.zip(clear(2)).flat_map(|(a, b)| [a, b]).collect();
    let report = matched("waiting", &[clear(1).collect(), tunnel, clear(3).collect()]);
    assert_eq!(
        (
            report.pairs.matched,
            report.pairs.undetermined_plain,
            report.pairs.uncovered_plain,
            report.pairs.unmatched_tunnel
        ),
        (0, 150_000, 0, 150_000)
    );
    for words in [
        "plaintext packets were evicted",
        "packets in the tunnel were evicted",
        "packets in clear beside the tunnel were evicted",
        "packets were evicted before they could be matched",
    ] {
        let counts = report.degraded_why.iter().filter_map(|why| why.split_once(' '));
        let (count, _) = counts.into_iter().find(|(_, what)| what.starts_with(words)).expect(words);
        // As many wait as may, and those of the last chunk do not have to.
        let most = 2 * (150_000 - (1 << 17));
        assert!((10_000..=most).contains(&count.parse().unwrap()), "{words}: {count}");
    }
}

#[test]
fn packets_whose_counterpart_would_have_come_are_unmatched_and_nothing_is_wrong() {
    // As many packets within fifteen seconds, one in a hundred in the tunnel.
    let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
    for n in 0..150_000_u32 {
        let frame = udp(address(n % 40_000), R2, (1, 53), 1, &octets(n));
        if n % 100 == 0 {
            let time_ns = START + u64::from(n) * 100_000 + 50_000;
            tunnel.push(Out::whole(time_ns, ipv4(R1, R2, 4, 1, &frame[14..])));
        }
        plain.push(Out::whole(START + u64::from(n) * 100_000, frame));
    }
    let report = matched("in-time", &[plain.clone(), tunnel.clone()]);
    assert_eq!(report.pairs.matched, 1_500);
    let why: Vec<_> = report.degraded_why.iter().filter(|why| why.contains("evicted")).collect();
    assert!(why.is_empty(), "{why:?}");
    // A plain side that begins long before the tunnel's: that is no want of room either.
    let late: Vec<Out> = tunnel.split_off(1_450);
    let report = matched("later", &[plain, late]);
    assert_eq!(report.pairs.matched, 50);
    let why: Vec<_> = report.degraded_why.iter().filter(|why| why.contains("evicted")).collect();
    assert!(why.is_empty(), "{why:?}");
}

#[test]
fn flows_and_addresses_of_match_beyond_the_limit_are_counted_and_said() {
    let opaque = vec![Out::whole(START, esp(R1, R2, 300, 1, &noise(1)))];
    let flows = (0..65_536 + 9).map(|n| Out::whole(START, udp(address(n), R2, (1, 53), 1, &[1; 16])));
    let report = matched("match-flows", &[flows.collect(), opaque.clone()]);
    not_exact(&report, "9 plaintext packets were of flows beyond the 65536 that are kept apart");
    let links = (0..4_096 + 7).map(|n| Out::whole(START, udp(address(n), R2, (1, 53), 1, &[1; 16])));
    let report = matched("match-links", &[links.collect(), opaque]);
    not_exact(&report, "7 plaintext packets had addresses beyond the 4096 pairs of MAC");
    // Without MAC addresses, who talks to whom: two new addresses a packet.
    let raw = |frame: Vec<u8>| Out::whole(START, frame[14..].to_vec());
    let pairs = (0..32_768 + 8).map(|n| raw(udp(address(2 * n), address(2 * n + 1), (1, 53), 1, &[1; 16])));
    let report = matched_of("match-colours", &[pairs.collect(), vec![raw(esp(R1, R2, 300, 1, &noise(1)))]], 101);
    not_exact(&report, "8 plaintext packets had addresses beyond the 4096 pairs of MAC or 65536 IP addresses");
}

#[test]
fn flows_outside_the_tunnel_are_listed_up_to_the_limit_and_counted_beyond() {
    // Both taps were recording before and after them.
    let ((first, inside), (last, last_inside)) = (short(0, R1, R2, 36, 1), short(2_000_000_000, R1, R2, 36, 2));
    let others = (0..1_005).map(|n| Out::whole(START + 1_000_000_000, udp(address(n), R2, (1, 53), 1, &[1; 16])));
    let plain = std::iter::once(first).chain(others).chain([last]).collect();
    let report = matched("outside", &[plain, vec![inside, last_inside]]);
    not_exact(&report, "5 flows outside the tunnel beyond the 1000 largest are in no row");
    assert_eq!((report.outside.len(), report.pairs.outside_plain, report.pairs.matched), (1_000, 1_005, 2));
}

#[test]
fn tunnels_beyond_the_limit_count_for_the_first_and_every_output_says_so() {
    let plain = plain_pcap(&[Out::whole(START, udp(R1, R2, (1, 53), 1, &[1; 16]))]);
    let tunnels =
        (0..65_536 + 6).map(|n| Out::whole(START, ipv4(address(n), R2, 4, 1, &ipv4(R2, R1, 59, 1, &octets(n))[14..])));
    let plain = write_file(&scratch("limits"), "tunnels-plain.pcap", &plain);
    let tunnel = write_file(&scratch("limits"), "tunnels.pcap", &plain_pcap(&tunnels.collect::<Vec<_>>()));
    let words = "6 packets were of SAs or tunnels beyond the 65536 that are kept apart";
    let run = |format: &str| {
        let files = ["--plain", plain.to_str().unwrap(), "--tunnel", tunnel.to_str().unwrap()];
        spiglass(&[&["match", "-q", "--format", format], &files[..]].concat())
    };
    let json = run("json").json();
    assert_eq!(json["exactness"], "degraded");
    assert!(json["degraded_why"].to_string().contains(words), "{}", json["degraded_why"]);
    assert_eq!(items(&json, "directions").len(), 65_536);
    for format in ["text", "markdown"] {
        let text = run(format).text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("Not exact: ") && text.contains(words), "{format}");
    }
}

#[test]
fn sizes_of_match_beyond_the_limit_are_counted_and_said() {
    let (plain, tunnel): (Vec<_>, Vec<_>) = (0..65_600_u32)
        .map(|n| {
            let (mut plain, mut tunnel) = short(u64::from(n) * 1_000, R1, R2, 36 + n / 2, 1);
            // Two tunnels.
            let far = Ipv4Addr::new(192, 168, 9, (n % 2) as u8);
            tunnel.data[30..34].copy_from_slice(&far.octets());
            tunnel.data[38] = (n % 2) as u8;
            plain.data[18] = (n % 2) as u8;
            (plain, tunnel)
        })
        .unzip();
    let report = matched("match-sizes", &[plain, tunnel]);
    assert_eq!((report.pairs.matched, report.sizes.len()), (65_600, 65_536));
    not_exact(&report, "64 packets were of sizes beyond the 65536 that are kept apart");
    not_exact(&report, "61440 pairs were of sizes beyond the 4096 whose times are kept apart");
    assert_eq!(report.sizes.iter().filter(|size| size.latency_ns.is_some()).count(), 4_096);
}

#[test]
fn lost_packets_are_listed_up_to_the_limit_and_counted_beyond() {
    // Two flows, each of every size; an eighth of the packets is in the tunnel.
    let (mut plain, mut tunnel) = (Vec::new(), Vec::new());
    for n in 0..66_000_u32 {
        let (lost, _) = short(u64::from(n) * 1_000, R1, [R2, address(1)][n as usize % 2], 40 + n / 2, 1);
        plain.push(lost);
        if n % 8 < 2 {
            let (seen, inside) = short(u64::from(n) * 1_000, R1, [R2, address(1)][n as usize % 2], 40 + n / 2, 2);
            plain.push(seen);
            tunnel.push(inside);
        }
    }
    // Both taps were recording after the last of them.
    let (seen, inside) = short(1_000_000_000, R1, R2, 40, 3);
    plain.push(seen);
    tunnel.push(inside);
    let report = matched("lost", &[plain, tunnel]);
    assert_eq!((report.pairs.matched, report.pairs.unmatched_plain, report.lost.len()), (16_501, 66_000, 10_000));
    not_exact(&report, "56000 lost packets beyond the 10000 that are listed");
    not_exact(&report, "464 lost packets were of flows and sizes beyond the 65536 that are kept apart");
}

/// One fragment of an ESP packet in IPv4.
fn fragment(id: u16, first: bool, last: bool, offset: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = if first { esp(R1, R2, 300, u32::from(id), payload) } else { ipv4(R1, R2, 50, id, payload) };
    frame[18..20].copy_from_slice(&id.to_be_bytes());
    frame[20..22].copy_from_slice(&(offset | u16::from(!last) << 13).to_be_bytes());
    frame
}

#[test]
fn fragments_of_match_beyond_the_limits_are_counted_and_said() {
    let plain = vec![Out::whole(START, udp(R1, R2, (1, 53), 1, &[1; 16]))];
    let whole = |n: u64, frame| Out::whole(START + n * 1_000, frame);
    let firsts = (0..4_096 + 5_u16).map(|id| whole(id.into(), fragment(id, true, false, 0, &[0x5a; 40])));
    let report = matched("trains", &[plain.clone(), firsts.collect()]);
    not_exact(&report, "5 fragments came while 4096 other packets were incomplete, or after 128 of the same packet");
    // One packet in more fragments than any link makes of it.
    let pieces = (0..130_u16)
        .map(|at| whole(at.into(), fragment(1, at == 0, at == 129, at * 2, &vec![0x5a; if at == 0 { 8 } else { 16 }])));
    let report = matched("pieces", &[plain.clone(), pieces.collect()]);
    not_exact(&report, "2 fragments came while");
    // Where there are keys, fragments are kept to be decrypted when the last has come.
    let firsts = (0..2_110_u16).map(|id| whole(id.into(), fragment(id, true, false, 0, &[0x5a; 8_000])));
    let file = |name, frames: Vec<Out>| write_file(&scratch("limits"), name, &plain_pcap(&frames));
    let (plain, tunnel) = (file("kept-plain.pcap", plain), file("kept.pcap", firsts.collect()));
    let keys = format!(
        "[[sa]]\nprotocol = \"esp\"\nsrc = \"{R1}\"\ndst = \"{R2}\"\nspi = 300\ntransform = \"esp-aes esp-sha-hmac\"\n\
         encryption_key = \"0x{}\"\nauthentication_key = \"0x{}\"\n",
        "11".repeat(16),
        "22".repeat(20)
    );
    let keys = write_file(&scratch("limits"), "kept.toml", keys.as_bytes());
    let run = |config: &[&str]| {
        let files = ["--plain", plain.to_str().unwrap(), "--tunnel", tunnel.to_str().unwrap()];
        spiglass(&[&["match", "-q", "--format", "json"], &files[..], config].concat()).json()
    };
    // 16 MiB take 2,095 payloads of 8,008 octets; one begins while there is room.
    let why = run(&["--config", keys.to_str().unwrap()])["degraded_why"].to_string();
    assert!(why.contains("14 fragments came while 16777216 bytes of others were kept"), "{why}");
    assert_eq!(run(&[])["exactness"], "exact", "without keys nothing is kept");
    std::fs::remove_file(tunnel).unwrap();
}

/// A counter that jumps, as after a change to a gateway's twin.
#[test]
fn gaps_between_sequence_numbers_beyond_the_limit_are_said() {
    let (plain, tunnel) = (fixture("lab/loss-before-tap-plain-a.pcap"), fixture("lab/loss-before-tap-tunnel.pcap"));
    let read = |path: &Path| {
        let mut reader = CaptureReader::open(&Source::Path(path.into()), 0).unwrap();
        let (mut chunk, mut frames) = (Chunk::new(), Vec::new());
        while reader.next_chunk(&mut chunk) {
            frames.extend(chunk.frames().map(|f| Out {
                time_ns: u64::try_from(f.time.ns().unwrap()).unwrap(),
                data: f.data.to_vec(),
                wire_bytes: f.wire_bytes,
            }));
        }
        frames
    };
    let (plain, mut tunnel) = (read(&plain), read(&tunnel));
    let untouched = matched("unjumped", &[plain.clone(), tunnel.clone()]);
    assert_eq!(
        (untouched.exactness, untouched.pairs.matched),
        (Exactness::Exact, 1_250),
        "{:?}",
        untouched.degraded_why
    );
    for frame in tunnel.iter_mut().filter(|frame| frame.data.get(23) == Some(&50)) {
        let number = u32::from_be_bytes(frame.data[38..42].try_into().unwrap());
        let jumped = if number > 700 { number + 5_000 } else { number };
        frame.data[38..42].copy_from_slice(&jumped.to_be_bytes());
    }
    let jumped = matched("jumped", &[plain, tunnel]);
    assert_eq!(jumped.pairs.matched, 1_250);
    not_exact(&jumped, "5000 sequence numbers are missing in gaps beyond the 1024 that are looked into at once");
}

#[test]
fn padding_is_shown_by_so_many_examples_and_all_of_it_is_counted() {
    let (mut plain, mut tunnel, mut exit) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..20_u32 {
        let frame = udp(R1, R2, (1, 53), 1, &octets(n));
        let time_ns = START + u64::from(n) * 1_000_000;
        let padded = |pad: u8| [frame.clone(), vec![pad; 2]].concat();
        plain.push(Out::whole(time_ns, padded(0xff)));
        tunnel.push(Out::whole(time_ns + 50_000, ipv4(R1, R2, 4, 1, &frame[14..])));
        exit.push(Out::whole(time_ns + 90_000, padded(0)));
    }
    let report = matched("examples", &[plain, tunnel, exit]);
    let padding = &report.padding;
    assert_eq!((padding.plain_ethernet.frames, padding.exit_ethernet.unwrap().frames), (20, 20));
    assert_eq!(padding.examples.len(), 16);
    assert!(padding.examples.iter().all(|example| example.tunnel.is_some() && example.exit.is_some()));
    assert_eq!(report.exactness, Exactness::Exact);
}

#[test]
fn keys_of_one_sa_beyond_the_limit_are_said_not_to_be_tried() {
    let list: String = (0..257)
        .map(|n| {
            format!(
                "[[sa]]\nprotocol = \"esp\"\nsrc = \"192.168.1.1\"\ndst = \"192.168.1.2\"\nspi = 0x3e9\n\
                 transform = \"esp-aes esp-sha-hmac\"\nencryption_key = \"0x{n:032x}\"\nauthentication_key = \"0x{n:040x}\"\n"
            )
        })
        .collect();
    let path = write_file(&scratch("limits"), "keys.toml", list.as_bytes());
    let capture = support::fixture("lab/loss-before-tap-tunnel.pcap");
    let run = spiglass(&["report", "--format", "json", "--config", path.to_str().unwrap(), capture.to_str().unwrap()]);
    let json = run.expect(0).json();
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["code"] == "icv-invalid").expect("a finding");
    let evidence = finding["evidence"].as_str().unwrap();
    assert!(evidence.contains("1 further key stated for it could not be tried"), "{evidence}");
    assert!(evidence.contains("more than 256 keys") && evidence.len() < 1_000, "{evidence}");
}
