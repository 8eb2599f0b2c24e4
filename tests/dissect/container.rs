//! Public captures against tshark's reading of them: frame count, time to the nanosecond, original and captured length
//! of every frame; damaged ones end as damage with every earlier frame delivered.
//!
//! The captures are other projects' files and lie beside this repository, not in it. Without them the tests check
//! nothing and say so; where `CI` is set they must be there.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::Path;

use spiglass::capture::{CaptureInfo, CaptureReader, Chunk, Source};
use spiglass::model::{DamageKind, Error, LinkType};

use crate::support::shared;

/// What is deliberately read otherwise than tshark 4.0 reads it.
enum Instead {
    /// Not pcap or pcapng.
    Refused,
    /// This many frames, and no damage.
    Frames(u64),
    /// This many frames, then or between them this many damaged places.
    Damaged(u64, u64),
    /// The frames that tshark reads and no damage, this many octets longer: tshark takes the pseudo-header of the link
    /// type off (and reads the time of an ERF record from it).
    Longer(u32),
}
use Instead::{Damaged, Frames, Longer, Refused};

/// File, what happens instead, and why.
const DIFFERENCES: &[(&str, Instead, &str)] = &[
    (
        "container/libpcap__brcm-tag.pcap",
        Frames(15),
        "tshark stops at link types it does not know; here they are counted",
    ),
    ("container/wireshark-wiki__mp4-ftyp-styp-sidx.pcap", Frames(5), "link type unknown to tshark"),
    ("container/wireshark-wiki__sidx.pcap", Frames(1), "link type unknown to tshark"),
    ("container/wireshark-wiki__styp.pcap", Frames(1), "link type unknown to tshark"),
    ("container/tcpdump__vtp_asan.pcap", Frames(5), "link type unknown to tshark"),
    ("container/wireshark-wiki__abis-reject-network.pcap", Longer(16), "LAPD pseudo-header"),
    ("container/wireshark-wiki__infiniband.pcap", Longer(16), "ERF record header"),
    ("container/wireshark-wiki__ppp_lcp_ipcp.pcap", Longer(1), "PPP direction byte"),
    (
        "container/wireshark-wiki__BT_USB_LinCooked_Eth_80211_RT.ntar",
        Damaged(27_226, 2),
        "tshark stops at a short Bluetooth frame",
    ),
    (
        "container/tcpdump__bgp_vpn_rt-oobr.pcap",
        Damaged(1, 1),
        "a zero-filled tail, which tshark counts as 37 empty frames",
    ),
    (
        "container/pcapplusplus__crash-exception-cast-constructed-record",
        Damaged(2, 1),
        "tshark guesses another record layout from the damage",
    ),
    ("container/pcapplusplus__igmplayer", Damaged(2, 1), "tshark guesses another record layout from the damage"),
    ("container/libtrace__5_packets.erf", Refused, "ERF"),
    ("container/libtrace__provenance.erf", Refused, "ERF"),
    ("container/packetlife__snoop-working-ccm7.cap", Refused, "a text log that tshark reads too"),
    ("container/pcapplusplus__solaris.snoop", Refused, "snoop"),
    ("container/wireshark-wiki__Ethernet_Pause_Frame.cap", Refused, "Sniffer"),
    ("container/wireshark-wiki__tcpshake.cap", Refused, "NetXray"),
    ("container/wireshark-wiki__icmp.ntar", Refused, "a JPEG image, which tshark shows as one MIME frame"),
];

/// A frame as both sides state it. The time is in nanoseconds, `None` where there is none.
#[derive(PartialEq, Eq, Debug, Clone)]
struct Seen {
    time: Option<i128>,
    wire: u32,
    captured: u32,
}

fn read(path: &Path) -> Result<(Vec<Seen>, CaptureInfo), Error> {
    drain(CaptureReader::open(&Source::Path(path.to_path_buf()), 3)?, path)
}

/// Delivers a capture in pieces of `step` octets, as a pipe may.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    step: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(buffer.len());
        self.bytes.read(&mut buffer[..step])
    }
}

fn read_in_pieces(path: &Path, step: usize) -> Result<(Vec<Seen>, CaptureInfo), Error> {
    let pieces = Pieces { bytes: Cursor::new(std::fs::read(path).unwrap()), step };
    drain(CaptureReader::from_reader(path, Box::new(pieces), 3)?, path)
}

fn drain(mut reader: CaptureReader, path: &Path) -> Result<(Vec<Seen>, CaptureInfo), Error> {
    let mut chunk = Chunk::new();
    let mut seen = Vec::new();
    while reader.next_chunk(&mut chunk) {
        let before = seen.len() as u64;
        for frame in chunk.frames() {
            assert_eq!((frame.pos.capture(), frame.pos.number()), (3, seen.len() as u64 + 1), "{}", path.display());
            seen.push(Seen {
                time: frame.time.ns().map(i128::from),
                wire: frame.wire_bytes,
                captured: u32::try_from(frame.data.len()).unwrap(),
            });
        }
        assert_eq!(seen.len() as u64 - before, chunk.frame_count(), "{}", path.display());
    }
    assert!(!reader.next_chunk(&mut chunk), "an ended capture stays ended");
    let info = reader.info().clone();
    assert_eq!(info.frames, seen.len() as u64);
    Ok((seen, info))
}

/// `1415871528.638000000` in nanoseconds. tshark prints the sign of a negative fraction in front of the seconds, and a
/// fraction beyond one second with ten digits.
fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (seconds, fraction) = text.split_once('.')?;
    Some(seconds.parse::<i128>().ok()? * 1_000_000_000 + sign * fraction.parse::<i128>().ok()?)
}

fn column(rows: &mut csv::Reader<std::fs::File>, name: &str) -> usize {
    rows.headers().unwrap().iter().position(|header| header == name).unwrap()
}

fn truth(path: &Path) -> Vec<Seen> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
        return Vec::new();
    }
    let mut rows = csv::Reader::from_path(path).unwrap();
    let (time, wire) = (column(&mut rows, "frame.time_epoch"), column(&mut rows, "frame.len"));
    let (captured, encapsulation) = (column(&mut rows, "frame.cap_len"), column(&mut rows, "frame.encap_type"));
    rows.records()
        .map(Result::unwrap)
        // tshark shows custom blocks as frames; they have no encapsulation.
        .filter(|row| !row[encapsulation].is_empty())
        .map(|row| Seen {
            time: nanoseconds(&row[time]),
            wire: row[wire].parse().unwrap(),
            captured: row[captured].parse().unwrap(),
        })
        .collect()
}

#[test]
fn every_capture_of_the_corpus_reads_as_tshark_reads_it() {
    let Some(corpus) = shared("corpus") else { return };
    let mut damaged = BTreeMap::new();
    let mut rows = csv::Reader::from_path(corpus.join("PATHOLOGICAL.csv")).unwrap();
    let (file, exit) = (column(&mut rows, "file"), column(&mut rows, "tshark_exit"));
    for row in rows.records().map(Result::unwrap) {
        damaged.insert(row[file].to_string(), row[exit] != *"0");
    }
    let mut wrong = Vec::new();
    let mut checked = 0;
    for row in csv::Reader::from_path(corpus.join("INDEX.csv")).unwrap().records().map(Result::unwrap) {
        let name = &row[0];
        checked += 1;
        if let Err(what) = check(&corpus, name, damaged.get(name).copied().unwrap_or(false)) {
            wrong.push(format!("{name}: {what}"));
        }
    }
    assert!(checked > 300, "only {checked} captures");
    assert!(wrong.is_empty(), "{} of {checked} captures differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn check(corpus: &Path, name: &str, damaged: bool) -> Result<(), String> {
    let outcome = read(&corpus.join(name));
    for step in [11, 4097] {
        match (&outcome, read_in_pieces(&corpus.join(name), step)) {
            (Ok((seen, info)), Ok((again, info_again))) if *seen == again && info.damage == info_again.damage => {}
            (Err(error), Err(again)) if error.to_string() == again.to_string() => {}
            _ => return Err(format!("differs when it arrives {step} bytes at a time")),
        }
    }
    if let Some((_, instead, _)) = DIFFERENCES.iter().find(|(file, ..)| *file == name) {
        let truth = truth(&corpus.join(format!("{name}.frames.csv")));
        return match (instead, outcome) {
            (Damaged(n, places), Ok((seen, info)))
                if seen.len() as u64 == *n
                    && info.damage.as_ref().map(|damage| 1 + damage.further) == Some(*places) =>
            {
                Ok(())
            }
            (Longer(n), Ok((seen, info)))
                if info.damage.is_none()
                    && seen
                        .iter()
                        .map(|f| (f.wire, f.captured))
                        .eq(truth.iter().map(|f| (f.wire + n, f.captured + n))) =>
            {
                Ok(())
            }
            (Refused, Err(Error::Format { .. })) => Ok(()),
            (Frames(n), Ok((seen, info))) if seen.len() as u64 == *n && info.damage.is_none() => Ok(()),
            (_, Ok((seen, info))) => Err(format!("{} frames, damage {:?}", seen.len(), info.damage)),
            (_, Err(error)) => Err(format!("refused: {error}")),
        };
    }
    let extension = if name.starts_with("ipsec/") { "tshark.csv" } else { "frames.csv" };
    let expected = truth(&corpus.join(format!("{name}.{extension}")));
    let (seen, info) = match outcome {
        Err(Error::Format { .. }) if damaged && expected.is_empty() => return Ok(()),
        Err(error) => return Err(format!("refused: {error}")),
        Ok(read) => read,
    };
    if let Some(at) = (0..expected.len().max(seen.len())).find(|&i| expected.get(i) != seen.get(i)) {
        return Err(format!(
            "{} frames instead of {}; frame {} is {:?} instead of {:?}; damage {:?}",
            seen.len(),
            expected.len(),
            at + 1,
            seen.get(at),
            expected.get(at),
            info.damage,
        ));
    }
    match &info.damage {
        Some(_) if !damaged => Err(format!("damage {:?} where tshark finds none", info.damage)),
        None if damaged => Err("no damage where tshark finds some".into()),
        Some(damage) if damage.frame != seen.len() as u64 + 1 => {
            Err(format!("damage names frame {}, {} were read", damage.frame, seen.len()))
        }
        _ => Ok(()),
    }
}

#[test]
fn every_format_variant_of_a_lab_capture_holds_the_same_frames() {
    let Some(lab) = shared("lab") else { return };
    let directory = lab.join("format-variants");
    let (reference, info) = read(&lab.join("esp-3des-sha1/tunnel.pcap")).unwrap();
    assert_eq!((reference.len(), info.damage), (129, None));
    for name in
        ["le-usec.pcap", "be-usec.pcap", "le-nsec.pcap", "be-nsec.pcap", "one-interface.pcapng", "gzipped.pcap.gz"]
    {
        let (seen, info) = read(&directory.join(name)).unwrap();
        assert_eq!(seen, reference, "{name}");
        assert_eq!((info.damage, info.bytes_total), (None, Some(info.bytes_consumed)), "{name}");
        assert_eq!(info.compression, name.ends_with("gz").then_some("gzip"));
        assert_eq!(info.format, if name.ends_with("ng") { "pcapng" } else { "pcap" });
    }
    let (snapped, _) = read(&directory.join("snap64.pcap")).unwrap();
    let expected: Vec<_> = reference.iter().map(|f| Seen { captured: f.captured.min(64), ..f.clone() }).collect();
    assert_eq!(snapped, expected);
    let (raw, info) = read(&directory.join("raw-ip.pcap")).unwrap();
    let expected: Vec<_> =
        reference.iter().map(|f| Seen { wire: f.wire - 14, captured: f.captured - 14, ..f.clone() }).collect();
    assert_eq!((raw, info.link_types), (expected, vec![LinkType::RAW]));
    let (cut, info) = read(&directory.join("cut-mid-record.pcap")).unwrap();
    let damage = info.damage.expect("the file is cut");
    assert_eq!((damage.kind, damage.frame), (DamageKind::Cut, cut.len() as u64 + 1));
    assert_eq!(cut, reference[..cut.len()]);
}

#[test]
fn every_lab_capture_is_sound_and_has_the_frames_that_were_observed() {
    let Some(lab) = shared("lab") else { return };
    let mut checked = 0;
    for scenario in
        std::fs::read_dir(&lab).unwrap().map(Result::unwrap).map(|entry| entry.path()).filter(|path| path.is_dir())
    {
        let observed = std::fs::read_to_string(scenario.join("observed.json")).unwrap_or_else(|_| "{}".into());
        let observed: serde_json::Value = serde_json::from_str(&observed).unwrap();
        for path in std::fs::read_dir(&scenario).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some((stem, _)) = name.split_once(".pcap") else { continue };
            let (seen, info) = read(&path).unwrap();
            assert_eq!(info.damage.is_some(), stem.starts_with("cut-"), "{}: {:?}", path.display(), info.damage);
            if let Some(frames) = observed["frames"][stem].as_u64() {
                assert_eq!(seen.len() as u64, frames, "{}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 200, "only {checked} captures");
}
