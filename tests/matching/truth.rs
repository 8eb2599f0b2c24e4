//! Which packet is in which frame, read off identifications: those of plaintext frames, and those of tunnelled frames after they were opened
//! with the keys of the laboratory, which the matcher never sees.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spiglass::analysis::Expectation;
use spiglass::capture::{Frame, Source};
use spiglass::dissect::Stack;
use spiglass::engine::{FrameSink, Input, Quiet, Settings, frames};
use spiglass::model::Protocol;
use spiglass::policy::Policies;

use crate::support::oracle::{Record, read_capture};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{scratch, write_file};

/// A packet: addresses, identification (of IPv6: flow label), length, protocol. Test packets have one of their own.
pub type Id = (String, String, u32, u32, u8);

/// Packets by frame.
pub type Ids = BTreeMap<u64, Id>;

struct Sink {
    /// Look inside the tunnel.
    inside: bool,
    /// Transport mode of forwarded packets: length and protocol change, the rest of the header stays.
    transport: bool,
    ids: Ids,
}

impl FrameSink for Sink {
    fn capture(&mut self, _: &str) {}

    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> std::io::Result<()> {
        let at = if self.inside { stack.encapsulated.map(usize::from) } else { Some(0) };
        // There, what is on its way to a tester bears ESP on the plaintext side too.
        let at = if self.transport { Some(0).filter(|_| self.inside != stack.sas.is_empty()) } else { at };
        let id = match at.and_then(|at| stack.ips.get(at)) {
            Some(ip) => {
                let label = frame.data.get(ip.offset as usize + 1..ip.offset as usize + 4).unwrap_or(&[0; 3]);
                let label = u32::from_be_bytes([0, label[0] & 0x0f, label[1], label[2]]);
                let id = if ip.version == 6 { label } else { ip.identification };
                let (bytes, protocol) = if self.transport { (0, 0) } else { (ip.total_bytes, ip.protocol) };
                Some((ip.src.to_ip().to_string(), ip.dst.to_ip().to_string(), id, bytes, protocol))
            }
            None if self.inside => inflated(frame, stack),
            None => None,
        };
        if let Some(id) = id {
            self.ids.insert(frame.pos.number(), id);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The packet inside IPComp.
fn inflated(frame: &Frame<'_>, stack: &Stack) -> Option<Id> {
    let header = stack.sas.iter().find(|sa| sa.protocol == Protocol::IpComp)?;
    let from = header.offset as usize;
    let mut inner = Vec::new();
    flate2::read::DeflateDecoder::new(frame.data.get(from + 4..from + header.bytes as usize)?)
        .read_to_end(&mut inner)
        .ok()?;
    let word = |at: usize| Some(u32::from(u16::from_be_bytes([*inner.get(at)?, *inner.get(at + 1)?])));
    let address = |at: usize| Some(inner.get(at..at + 4)?.iter().map(u8::to_string).collect::<Vec<_>>().join("."));
    Some((address(12)?, address(16)?, word(4)?, word(2)?, *inner.get(9)?))
}

/// Packets of a plaintext capture.
pub fn plain(capture: &Path, transport: bool) -> Ids {
    read(capture, None, Sink { inside: false, transport, ids: Ids::new() })
}

/// Packets inside the tunnel, opened with the keys of `keys` where there are any. `name` is of a scratch directory.
pub fn tunnelled(capture: &Path, keys: Option<&Path>, transport: bool, name: &str) -> Ids {
    read(&openable(capture, name), keys, Sink { inside: true, transport, ids: Ids::new() })
}

fn read(capture: &Path, keys: Option<&Path>, mut sink: Sink) -> Ids {
    let expectation = keys.map_or_else(Expectation::default, |path| {
        let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Expectation::from(Arc::new(Policies::read(&[("keys".into(), text)])))
    });
    let settings = Settings { expectation, ..Settings::default() };
    let input = Input { source: Source::Path(capture.to_owned()), tap: None };
    let done = frames(&[input], &settings, &mut sink, &Quiet).expect("no output to fail");
    assert!(done.errors.is_empty(), "{}: {:?}", capture.display(), done.errors);
    sink.ids
}

/// The capture with what keys cannot open made openable: the first fragment of an outer packet as that packet cut by a snapshot length, and
/// SPI 0 put back to what it was.
fn openable(capture: &Path, name: &str) -> PathBuf {
    const IP: usize = 14;
    let records = read_capture(capture).records;
    let fragment = |record: &Record| {
        let octets = &record.data;
        let ipv4 = octets.get(12..14) == Some(&[8, 0]) && octets.get(IP) == Some(&0x45);
        let field = octets.get(IP + 6..IP + 8).map_or(0, |field| u16::from_be_bytes([field[0], field[1]]));
        (ipv4 && field & 0x3fff != 0)
            .then(|| (octets[IP + 4..IP + 6].to_vec(), octets[IP + 12..IP + 20].to_vec(), field))
    };
    let payload = |record: &Record| u64::from(u16::from_be_bytes([record.data[IP + 2], record.data[IP + 3]])) - 20;
    let mut rest: BTreeMap<_, u64> = BTreeMap::new();
    for record in &records {
        if let Some((id, ends, field)) = fragment(record).filter(|(.., field)| field & 0x1fff != 0) {
            *rest.entry((id, ends)).or_default() += payload(record);
            assert_ne!(field, 0);
        }
    }
    let frames: Vec<Out> = records
        .iter()
        .map(|record| {
            let mut data = record.data.clone();
            let mut wire_bytes = record.wire_bytes;
            if let Some((id, ends, field)) = fragment(record).filter(|(.., field)| field & 0x1fff == 0) {
                let more = rest.get(&(id, ends)).copied().unwrap_or(0);
                let total = u16::try_from(20 + payload(record) + more).expect("a packet");
                data[IP + 2..IP + 4].copy_from_slice(&total.to_be_bytes());
                data[IP + 6..IP + 8].copy_from_slice(&(field & 0x4000).to_be_bytes());
                wire_bytes += more;
            }
            let esp = data.get(12..14) == Some(&[8, 0]) && data.get(IP + 9) == Some(&50);
            if esp && data.get(IP + 20..IP + 24) == Some(&[0; 4]) {
                data[IP + 22..IP + 24].copy_from_slice(&0x3e9_u16.to_be_bytes());
            }
            let time_ns = u64::try_from(record.time_ns).expect("after 1970");
            Out { time_ns, data, wire_bytes: u32::try_from(wire_bytes).expect("a frame") }
        })
        .collect();
    write_file(&scratch("pairing-truth"), &format!("{name}.pcap"), &plain_pcap(&frames))
}

/// What a run claimed, against what is.
#[derive(Default, Debug)]
pub struct Score {
    /// Pairs there are.
    pub needed: u64,
    pub right: u64,
    /// Tunnel frame, plaintext frame, confidence.
    pub wrong: Vec<(u64, u64, f64)>,
    /// Pairs of tunnelled frames of which no key tells the packet.
    pub unknown: u64,
}

impl Score {
    /// Compares `(tunnel frame, plaintext frame, confidence)` with the truth.
    pub fn of(pairs: &[(u64, u64, f64)], plain: &Ids, tunnelled: &Ids) -> Self {
        let count = |ids: &Ids| {
            ids.values().fold(BTreeMap::new(), |mut counts: BTreeMap<Id, u64>, id| {
                *counts.entry(id.clone()).or_default() += 1;
                counts
            })
        };
        let (before, after) = (count(plain), count(tunnelled));
        let needed = after.iter().map(|(id, n)| before.get(id).map_or(0, |m| *n.min(m))).sum();
        let mut score = Self { needed, ..Self::default() };
        for &(tunnel, frame, confidence) in pairs {
            match tunnelled.get(&tunnel) {
                None => score.unknown += 1,
                Some(id) if plain.get(&frame) == Some(id) => score.right += 1,
                Some(_) => score.wrong.push((tunnel, frame, confidence)),
            }
        }
        score
    }
}
