//! The public captures of the corpus, frame by frame against tshark's reading of them.
//!
//! The captures are other projects' files and no part of the repository; where they are absent this test checks
//! nothing and says so, except in CI, where it fails.

use crate::support;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::dissect::{DissectOptions, LayerKind, Stack, dissect, stack_name};
use spiglass::model::Protocol;

/// A deliberate difference from tshark.
struct Difference {
    /// The capture it occurs in.
    file: &'static str,
    /// The frames, by number; empty for any.
    frames: &'static [u64],
    /// Why.
    reason: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        file: "ndpi__fuzz-2006-06-26-2594.pcap",
        frames: &[669],
        reason: "a version that contradicts the ethertype is named, not followed",
    },
    Difference {
        file: "ndpi__fuzz-2020-02-16-11740.pcap",
        frames: &[238],
        reason: "a version that contradicts the ethertype is named, not followed",
    },
    Difference {
        file: "packetlife__icmp_in_l2tpv3.cap",
        frames: &[],
        reason: "tshark wants to be told the cookie's length; an inner IPv4 header with a valid checksum shows it",
    },
    Difference { file: "tcpdump__nhrp-trace.pcap", frames: &[1], reason: "packets quoted by NHRP are not read" },
    Difference { file: "zeek__gre-aruba.pcap", frames: &[], reason: "IEEE 802.11 in GRE is not read" },
    Difference { file: "zeek__gre-aruba-amsdu.pcap", frames: &[1], reason: "IEEE 802.11 in GRE is not read" },
    Difference {
        file: "zeek__mpls-6in6-broken.pcap",
        frames: &[417, 427, 1088],
        reason: "fuzzed: IPv4 options that run past the frame, or a guess at a pseudowire, hide the addresses from tshark",
    },
    Difference { file: "zeek__gtp_ext_header.pcap", frames: &[1], reason: "GTP is not read" },
];

/// What both sides say about a frame.
#[derive(PartialEq, Eq, Debug, Default)]
struct Reading {
    v4: Vec<(String, String)>,
    v6: Vec<(String, String)>,
    ah: Vec<(u32, u32, u32)>,
    esp: Vec<(u32, u32)>,
}

/// tshark's reading of one frame, without what it adds that is not on the wire in that form: headers quoted in ICMP
/// errors, and what it decompresses behind IPComp (corpus README, 1 and 2).
fn theirs(row: &BTreeMap<String, String>) -> Reading {
    let field = |name: &str| -> Vec<&str> {
        row.get(name).map(|v| v.split(';').filter(|part| !part.is_empty()).collect()).unwrap_or_default()
    };
    let protocols: Vec<&str> = row["frame.protocols"].split(':').collect();
    let on_the_wire =
        protocols.iter().position(|p| matches!(*p, "icmp" | "icmpv6" | "ipcomp")).unwrap_or(protocols.len());
    let count = |name: &str| protocols[..on_the_wire].iter().filter(|p| **p == name).count();
    let pairs = |source: &str, destination: &str, most: usize| -> Vec<(String, String)> {
        let pairs = field(source).into_iter().zip(field(destination));
        pairs.take(most).map(|(s, d)| (s.to_string(), d.to_string())).collect()
    };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    };
    let ah = field("ah.spi").into_iter().zip(field("ah.sequence")).zip(field("ah.length"));
    let esp = field("esp.spi").into_iter().zip(field("esp.sequence"));
    Reading {
        v4: pairs("ip.src", "ip.dst", count("ip")),
        v6: pairs("ipv6.src", "ipv6.dst", count("ipv6")),
        ah: ah.map(|((s, n), l)| (number(s), number(n), number(l))).take(count("ah")).collect(),
        esp: esp.map(|(s, n)| (number(s), number(n))).take(count("esp")).collect(),
    }
}

fn ours(stack: &Stack) -> Reading {
    let mut reading = Reading::default();
    // What is in clear behind ESP-NULL tshark only shows when asked to guess.
    let end = match (stack.null, stack.layers.iter().position(|layer| layer.kind == LayerKind::Esp)) {
        (Some(_), Some(esp)) => stack.layers[esp].span.start,
        _ => u32::MAX,
    };
    for ip in stack.ips.iter().filter(|ip| ip.offset < end) {
        let list = if ip.version == 4 { &mut reading.v4 } else { &mut reading.v6 };
        list.push((ip.src.to_string(), ip.dst.to_string()));
    }
    for sa in &stack.sas {
        match sa.protocol {
            Protocol::Ah => reading.ah.push((sa.spi.0, sa.sequence, sa.bytes / 4 - 2)),
            Protocol::Esp => reading.esp.push((sa.spi.0, sa.sequence)),
            _ => {}
        }
    }
    reading
}

/// Keeps only the innermost headers of tshark's lists: it shows the addresses of a mirror shell too.
fn without_shell(mut reading: Reading, stack: &Stack) -> Reading {
    if stack.shape.shell != 0 {
        let v4 = stack.ips.iter().filter(|ip| ip.version == 4).count();
        let v6 = stack.ips.len() - v4;
        reading.v4.drain(..reading.v4.len().saturating_sub(v4));
        reading.v6.drain(..reading.v6.len().saturating_sub(v6));
    }
    reading
}

fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn spis_sequences_lengths_and_addresses_equal_tsharks() {
    let Some(directory) = support::shared("corpus/ipsec") else { return };
    let mut captures: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.with_file_name(format!("{}.tshark.csv", name(path))).is_file())
        .collect();
    captures.sort();
    assert!(captures.len() >= 90, "only {} captures", captures.len());

    let (mut checked, mut wrong, mut used) = (0, Vec::new(), vec![0u64; DIFFERENCES.len()]);
    for path in &captures {
        let file = name(path);
        let rows = rows(&path.with_file_name(format!("{file}.tshark.csv")));
        let mut reader = CaptureReader::open(&Source::from_arg(path.as_os_str()), 0).unwrap();
        let (mut chunk, mut stack) = (Chunk::new(), Stack::default());
        while reader.next_chunk(&mut chunk) {
            for frame in chunk.frames() {
                let number = frame.pos.number();
                let Some(row) = rows.get(number as usize - 1) else {
                    wrong.push(format!("{file} frame {number}: tshark has no such frame"));
                    continue;
                };
                dissect(&frame, &DissectOptions::default(), &mut stack);
                checked += 1;
                let (ours, theirs) = (ours(&stack), without_shell(theirs(row), &stack));
                if ours == theirs {
                    continue;
                }
                let known = DIFFERENCES
                    .iter()
                    .position(|d| d.file == file && (d.frames.is_empty() || d.frames.contains(&number)));
                match known {
                    Some(index) => used[index] += 1,
                    None => wrong.push(format!(
                        "{file} frame {number} ({}; tshark {}; stop {:?})\n  ours   {ours:?}\n  tshark {theirs:?}",
                        stack_name(stack.shape),
                        row["frame.protocols"],
                        stack.stop,
                    )),
                }
            }
        }
    }
    for (difference, used) in DIFFERENCES.iter().zip(used) {
        assert!(used > 0, "{}: no such difference any more ({})", difference.file, difference.reason);
    }
    assert!(wrong.is_empty(), "{} of {checked} frames differ:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{checked} frames of {} captures", captures.len());
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
