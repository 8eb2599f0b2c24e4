//! The keyed SAs of a laboratory capture, and every packet of theirs checked and decrypted.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::Path;

use serde_json::Value;
use spiglass::capture::{Frame, Source};
use spiglass::decrypt::{AhVerifier, Closed, Decryptor, HighHalf, Icv, Inner, KeyBytes, Keys, Packet, Unchecked};
use spiglass::dissect::Stack;
use spiglass::engine::{FrameSink, Input, Quiet, Settings, frames};
use spiglass::model::Protocol;
use spiglass::transform::algorithm::{cipher, integrity};
use spiglass::transform::{Esp, Integrity};

use crate::support::{at, items, text};

/// Octets from hex digits, `0x` in front of them or not.
pub fn hex(digits: &str) -> Vec<u8> {
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let digits: Vec<u8> = digits.chars().map(|c| c.to_digit(16).expect("hex") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// What names an SA on the wire.
pub type Id = (&'static str, u32, IpAddr);

/// An SA with its keys and what is known of its high half.
pub struct Sa {
    pub check: Check,
    pub esn: Option<HighHalf>,
    pub tunnel: bool,
}

pub enum Check {
    Esp(Decryptor),
    Ah(AhVerifier),
}

/// The SAs of a `truth.json` that have keys; of two with one name, the one of the sender (`r1` for what R1 sends).
pub fn sas(truth: &Value) -> HashMap<Id, Sa> {
    let mut found = HashMap::new();
    for sa in items(truth, "sas") {
        let Some((id, sa)) = sa_of(sa) else { continue };
        found.entry(id).or_insert(sa);
    }
    found
}

/// One entry of `sas`; none for IPComp.
pub fn sa_of(sa: &Value) -> Option<(Id, Sa)> {
    let said = |field: &str| sa.get(field).and_then(Value::as_str);
    let bits = |field: &str| sa.get(field).and_then(Value::as_u64).map(|bits| bits as u32);
    let key = |field: &str| KeyBytes::from(said(field).map(hex).unwrap_or_default());
    let integrity = said("auth").map(|name| -> &'static Integrity {
        integrity::linux(name, bits("auth_trunc_set")).unwrap_or_else(|| panic!("{name} is in the catalogue"))
    });
    let protocol = match text(sa, "proto") {
        "esp" => "esp",
        "ah" => "ah",
        _ => return None,
    };
    let check = if protocol == "ah" {
        Check::Ah(AhVerifier::new(integrity.expect("AH has an algorithm"), &key("auth_key")).expect("a fitting key"))
    } else {
        let (name, field) = said("aead").map_or_else(|| (text(sa, "enc"), "enc_key"), |name| (name, "aead_key"));
        let cipher = cipher::linux(name, said("aead").and(bits("icv_bits"))).expect(name);
        let keys = Keys { encryption: key(field), authentication: key("auth_key") };
        Check::Esp(Decryptor::new(&Esp { cipher, key_bits: None, integrity }, &keys).expect("fitting keys"))
    };
    let options: Vec<&str> = text(sa, "options").split_whitespace().collect();
    let behind = |word: &str| options.windows(2).find(|two| two[0] == word).map(|two| two[1]);
    let high = behind("replay-oseq-hi").map_or(0, |high| high.parse().expect("a high half"));
    let esn = options.windows(2).any(|two| two == ["flag", "esn"]).then(|| HighHalf::starting(high));
    let spi = u32::from_str_radix(&text(sa, "spi")[2..], 16).expect("an SPI");
    let id = (protocol, spi, text(sa, "dst").parse().expect("an address"));
    Some((id, Sa { check, esn, tunnel: text(sa, "mode") == "tunnel" }))
}

/// What came of the packets of one capture.
#[derive(Default)]
pub struct Outcome {
    pub verified: u64,
    pub failed: u64,
    /// By reason.
    pub unchecked: BTreeMap<&'static str, u64>,
    /// Packets of SAs that have no key here.
    pub keyless: u64,
    /// High halves under which packets verified, with how many.
    pub highs: BTreeMap<Option<u32>, u64>,
    /// Frames of SAs that the snapshot length cut.
    pub short_frames: u64,
    /// Octets of inner and outer packet, where an ESP tunnel was opened as the outermost SA.
    pub sizes: Vec<(u64, u64)>,
    /// TFC padding of tunnel packets, in octets.
    pub tfc: Vec<usize>,
    /// What is wrong with inner packets.
    pub complaints: Vec<String>,
}

/// Takes every packet of a capture to the SA it belongs to.
pub fn check(capture: &Path, sas: &mut HashMap<Id, Sa>) -> Outcome {
    let input = Input { source: Source::Path(capture.to_owned()), tap: None };
    let mut sink = Sink { sas, outcome: Outcome::default(), fragments: HashMap::new(), plain: Vec::new() };
    let done = frames(&[input], &Settings::default(), &mut sink, &Quiet).expect("no output to fail");
    assert!(done.errors.is_empty(), "{}: {:?}", capture.display(), done.errors);
    assert!(sink.fragments.is_empty(), "{}: fragments are left over", capture.display());
    sink.outcome
}

struct Sink<'s> {
    sas: &'s mut HashMap<Id, Sa>,
    outcome: Outcome,
    /// Fragmented IPv4 packets by source, destination and identification.
    fragments: HashMap<(IpAddr, IpAddr, u32), Fragments>,
    plain: Vec<u8>,
}

/// Payload of one packet's fragments by offset, and the length of the whole once the last has come.
type Fragments = (BTreeMap<u32, Vec<u8>>, Option<usize>);

impl FrameSink for Sink<'_> {
    fn capture(&mut self, _: &str) {}

    fn frame(&mut self, frame: &Frame<'_>, stack: &Stack) -> std::io::Result<()> {
        let Some(outer) = stack.outer() else { return Ok(()) };
        if outer.is_fragment() && outer.protocol == 50 {
            let data =
                &frame.data[(outer.offset + outer.header_bytes) as usize..(outer.offset + outer.total_bytes) as usize];
            let key = (outer.src.to_ip(), outer.dst.to_ip(), outer.identification);
            let (parts, whole) = self.fragments.entry(key).or_default();
            if !outer.more_fragments {
                *whole = Some(outer.fragment_offset as usize + data.len());
            }
            parts.insert(outer.fragment_offset, data.to_vec());
            if Some(parts.values().map(Vec::len).sum()) == *whole {
                let packet: Vec<u8> = parts.values().flatten().copied().collect();
                self.fragments.remove(&key);
                let spi = u32::from_be_bytes(packet[..4].try_into().expect("an SPI"));
                let outer_bytes = u64::from(outer.header_bytes) + packet.len() as u64;
                self.esp(("esp", spi, outer.dst.to_ip()), Packet::whole(&packet), outer_bytes, None, frame);
            }
            return Ok(());
        }
        self.outcome.short_frames += u64::from(!stack.sas.is_empty() && frame.data.len() < frame.wire_bytes as usize);
        for sa in &stack.sas {
            let ip = &stack.ips[usize::from(sa.ip)];
            let dst = ip.dst.to_ip();
            match sa.protocol {
                Protocol::Esp => {
                    let octets = frame.data.get(sa.offset as usize..).unwrap_or_default();
                    let packet = Packet::captured(octets, sa.bytes as usize);
                    let header = &frame.data[ip.offset as usize..(ip.offset + ip.header_bytes) as usize];
                    self.esp(("esp", sa.spi.0, dst), packet, u64::from(outer.total_bytes), Some(header), frame);
                }
                Protocol::Ah => self.ah(("ah", sa.spi.0, dst), sa.sequence, &frame.data[ip.offset as usize..]),
                _ => {}
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink<'_> {
    fn esp(&mut self, id: Id, packet: Packet<'_>, outer_bytes: u64, header: Option<&[u8]>, frame: &Frame<'_>) {
        let Some(sa) = self.sas.get_mut(&id) else {
            self.outcome.keyless += 1;
            return;
        };
        let Check::Esp(decryptor) = &sa.check else { panic!("{id:?} is ESP") };
        let low = packet.header().expect("dissection saw it").sequence();
        let highs: Vec<Option<u32>> =
            sa.esn.map_or_else(|| vec![None], |half| half.candidates(low).map(Some).collect());
        let (high, opened) = decryptor.open_esn(packet, highs, &mut self.plain);
        if let (Some(half), Some(Some(high))) = (&mut sa.esn, high) {
            half.verified(high, low);
        }
        let tunnel = sa.tunnel;
        self.count(opened.icv, high);
        let frame = frame.pos.number();
        match opened.inner {
            Ok(inner) => self.inner(&inner, tunnel, outer_bytes, header, frame),
            Err(Closed::IcvFailed) => assert!(self.plain.is_empty(), "nothing is decrypted where the ICV fails"),
            Err(why) => self.outcome.complaints.push(format!("frame {frame}: {why:?}")),
        }
    }

    fn ah(&mut self, id: Id, sequence: u32, packet: &[u8]) {
        let Some(sa) = self.sas.get_mut(&id) else {
            self.outcome.keyless += 1;
            return;
        };
        let Check::Ah(verifier) = &sa.check else { panic!("{id:?} is AH") };
        let highs: Vec<Option<u32>> =
            sa.esn.map_or_else(|| vec![None], |half| half.candidates(sequence).map(Some).collect());
        let (high, icv) = verifier.verify_esn(packet, highs);
        self.count(icv, high);
    }

    fn count(&mut self, icv: Icv, high: Option<Option<u32>>) {
        match icv {
            Icv::Verified => {
                self.outcome.verified += 1;
                *self.outcome.highs.entry(high.expect("a verified packet says how")).or_default() += 1;
            }
            Icv::Failed => self.outcome.failed += 1,
            Icv::NotChecked(why) => {
                let why = match why {
                    Unchecked::Cut => "cut",
                    Unchecked::NoIntegrity => "no integrity",
                    Unchecked::LengthOnly => "length only",
                    other => panic!("no packet here is unchecked because of {other:?}"),
                };
                *self.outcome.unchecked.entry(why).or_default() += 1;
            }
        }
    }

    /// An inner packet must look like one: its lengths and padding agree, and a verified one has nothing odd about it.
    fn inner(&mut self, inner: &Inner, tunnel: bool, outer_bytes: u64, header: Option<&[u8]>, frame: u64) {
        let payload = self.plain[inner.payload.clone()].to_vec();
        let mut complain = |what: String| self.outcome.complaints.push(format!("frame {frame}: {what}"));
        let Some(trailer) = inner.trailer else {
            if tunnel && !matches!(payload.first(), Some(0x45 | 0x60..=0x6f)) {
                complain(format!("the beginning of no packet: {:?}", payload.first()));
            }
            return;
        };
        if trailer.padding != spiglass::decrypt::Padding::Counting {
            complain(format!("padding {:?}", trailer.padding));
        }
        if tunnel {
            match (trailer.next_header, trailer.tfc) {
                (4 | 41, Some(tfc)) => {
                    self.outcome.tfc.push(tfc);
                    self.outcome.sizes.push((payload.len() as u64, outer_bytes));
                }
                other => complain(format!("next header and TFC padding {other:?}")),
            }
        } else if trailer.next_header == 51 {
            // The AH that ESP hid covers the packet as it was without ESP.
            let mut packet = [header.expect("an unfragmented packet"), payload.as_slice()].concat();
            let total = u16::try_from(packet.len()).expect("an IPv4 packet");
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            packet[9] = 51;
            let word = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("an AH"));
            let dst = IpAddr::from(<[u8; 4]>::try_from(&packet[16..20]).expect("an address"));
            self.ah(("ah", word(4), dst), word(8), &packet);
        }
    }
}

/// Expected octets of outer packets by inner size, where the scenario has one table of them.
pub fn expected_sizes(truth: &Value) -> BTreeMap<u64, u64> {
    let Some(rows) = truth.get("expected_sizes").and_then(Value::as_array) else { return BTreeMap::new() };
    let number = |row: &Value, field: &str| at(row, field).as_u64();
    rows.iter().filter_map(|row| Some((number(row, "inner")?, number(row, "outer")?))).collect()
}
