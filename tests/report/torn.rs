//! Packets of which fragments were not seen: what they carry is in no size, and figures must not say that they are without it.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, text};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
const PACKETS: u32 = 400;

/// What protects the packets.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Protection {
    /// AES-CBC with HMAC-SHA1.
    Cbc,
    /// AH with HMAC-SHA1.
    Ah,
}

/// A packet of so many octets, protected in tunnel mode, in fragments of 1376 octets where it is longer.
fn protected(noise: &mut Noise, protection: Protection, number: u32, bytes: usize) -> Vec<Vec<u8>> {
    let id = number as u16;
    let whole = match protection {
        Protection::Cbc => {
            let content = 16 + (bytes + 2).next_multiple_of(16) + 12;
            build::esp(R1, R2, 0x1001, number, &noise.bytes(content))
        }
        Protection::Ah => {
            let header =
                [&[4, 4, 0, 0][..], &0x1001_u32.to_be_bytes(), &number.to_be_bytes(), &noise.bytes(12)].concat();
            let (src, dst) = ([10, 1, 0, 1].into(), [10, 2, 0, 1].into());
            let inner = build::udp(src, dst, (5_000, 5_001), id, &noise.bytes(bytes - 28))[14..].to_vec();
            build::ipv4(R1, R2, 51, id, &[header, inner].concat())
        }
    };
    if whole.len() <= 14 + 1_396 { vec![whole] } else { build::in_fragments(&whole, 1_376).to_vec() }
}

/// The report on packets of which each `lost`th that is in fragments comes without its last one, and the octets that all of them carry.
fn report(protection: Protection, lost: usize, copies: bool, options: &[&str]) -> (Value, f64) {
    let mut noise = Noise(3);
    let (mut frames, mut inner, mut torn) = (Vec::new(), 0, 0);
    for number in 1..=PACKETS {
        let bytes = [52, 52, 1_388, 1_400, 60 + noise.below(1_200) as usize][noise.below(5) as usize];
        inner += bytes;
        let mut pieces = protected(&mut noise, protection, number, bytes);
        if pieces.len() > 1 {
            torn += 1;
            if torn % lost == 0 {
                pieces.pop();
            }
        }
        for (piece, n) in pieces.into_iter().zip(0..) {
            let time = START + u64::from(number) * 10 * MS + n * 8 * US;
            if copies {
                frames.push(Out::whole(time + 2 * US, piece.clone()));
            }
            frames.push(Out::whole(time, piece));
        }
    }
    frames.sort_by_key(|frame| frame.time_ns);
    let path = support::write_file(&support::scratch("torn"), "torn.pcap", &plain_pcap(&frames));
    let args = [&["report", "-q", "--format", "json"], options, &[path.to_str().expect("UTF-8")]].concat();
    #[allow(clippy::cast_precision_loss)] // some hundred thousand octets
    let inner = inner as f64;
    (support::spiglass(&args).json(), inner)
}

/// Exact goodput, and its limits, in octets.
fn goodput(report: &Value) -> (Option<f64>, Option<(f64, f64)>) {
    let row = at(report, "rates.directions.0");
    let seconds = at(row, "seconds").as_f64().expect("seconds");
    let octets = |of: &Value, what: &str| at(of, what).as_f64().map(|bps| bps * seconds / 8.0);
    let range = |of: &Value| octets(of, "goodput_min_bps").zip(octets(of, "goodput_max_bps"));
    let conditional = row.get("if_no_tfc").filter(|range| !range.is_null());
    (octets(row, "goodput_bps"), range(row).or(conditional.and_then(range)))
}

fn evidence(report: &Value) -> &str {
    let found = items(report, "findings").iter().find(|finding| text(finding, "code") == "outer-fragmentation");
    text(found.expect("it is said"), "evidence")
}

#[test]
fn packets_without_their_last_fragment_are_not_missing_from_goodput() {
    for protection in [Protection::Cbc, Protection::Ah] {
        // All are whole.
        let (whole, inner) = report(protection, 1_000, false, &[]);
        let (exact, range) = goodput(&whole);
        assert_eq!(exact.is_some(), protection == Protection::Ah, "{protection:?}");
        let (least, most) = range.expect("a range");
        assert!(least <= inner + 0.5 && inner <= most + 0.5, "{protection:?}: {inner}, {least} to {most}");
        // A few are not: they may be as long as a packet can be.
        let (few, inner) = report(protection, 60, false, &[]);
        let (exact, range) = goodput(&few);
        assert_eq!(exact, None, "{protection:?}");
        let (fewer, more) = range.expect("a range");
        assert!(fewer <= inner && inner <= more && more < most + 4.0 * 66_000.0, "{protection:?}: {fewer} to {more}");
        assert!(!evidence(&few).contains("oodput"), "{}", evidence(&few));
        // With many that says nothing.
        let (many, _) = report(protection, 8, false, &[]);
        assert_eq!(goodput(&many), (None, None), "{protection:?}");
        assert!(evidence(&many).ends_with("So goodput of this direction is not determined."), "{}", evidence(&many));
    }
}

/// A filter by SPI leaves later fragments out: with copies of a mirror, too, packets are counted once.
#[test]
fn packets_that_a_filter_by_spi_leaves_torn_have_no_goodput() {
    for copies in [false, true] {
        let (filtered, _) = report(Protection::Cbc, 1_000, copies, &["--spi", "0x1001"]);
        assert_eq!(goodput(&filtered), (None, None), "copies {copies}");
        let said = evidence(&filtered);
        assert!(said.contains(" of 400 packets were fragmented. The later fragments bear no SPI"), "{said}");
        assert!(said.ends_with("So goodput of this direction is not determined."), "{said}");
    }
}

/// A mirror on both sides of a router that fragments, reassembles or fragments anew: each packet is there once, in two cuts, and none is a duplicate.
#[test]
fn the_same_packet_in_another_cut_is_its_copy() {
    type Cut = fn(&[u8]) -> Vec<Vec<u8>>;
    fn cut(frame: &[u8], first: usize) -> Vec<Vec<u8>> {
        if frame.len() > 14 + 20 + first { build::in_fragments(frame, first).to_vec() } else { vec![frame.to_vec()] }
    }
    let whole: Cut = |frame| vec![frame.to_vec()];
    let (long, short): (Cut, Cut) = (|frame| cut(frame, 1_280), |frame| cut(frame, 880));
    for (name, before, behind) in [("fragments", whole, long), ("reassembles", long, whole), ("anew", long, short)] {
        for udp in [false, true] {
            let mut noise = Noise(31);
            let mut frames = Vec::new();
            for n in 1..=300_u32 {
                let bytes = 100 + 4 * noise.below(330) as usize;
                let esp = [&0x1001_u32.to_be_bytes()[..], &n.to_be_bytes(), &noise.bytes(bytes)].concat();
                let packet = match udp {
                    true => build::udp(R1, R2, (4500, 4500), n as u16, &esp),
                    false => build::ipv4(R1, R2, 50, n as u16, &esp),
                };
                let start = START + u64::from(n) * MS;
                let pieces = |cut: Cut, packet: &[u8], start: u64| -> Vec<Out> {
                    (0..).zip(cut(packet)).map(|(at, piece)| Out::whole(start + at * 4 * US, piece)).collect()
                };
                frames.extend(pieces(before, &packet, start));
                frames.extend(pieces(behind, &build::one_hop_further(&packet), start + 50 * US));
            }
            let path = support::write_file(&support::scratch("torn-cuts"), "cuts.pcap", &plain_pcap(&frames));
            let report = support::report(&[&path]).json();
            let what = format!("{name}, in UDP: {udp}");
            assert_eq!(support::number(&report, "sas.0.frames"), 300, "{what}");
            for figure in ["lost", "duplicate", "late"] {
                assert_eq!(support::number(&report, &format!("sas.0.sequence.{figure}")), 0, "{what}: {figure}");
            }
            let codes: Vec<&str> = items(&report, "findings").iter().map(|own| text(own, "code")).collect();
            assert!(!codes.contains(&"sequence-duplicate") && codes.contains(&"tap-copies"), "{what}: {codes:?}");
        }
    }
}

/// Of NAT-T in fragments the first one alone shows ESP. Where it was not captured the others are of unknown packets, not in clear.
#[test]
fn later_fragments_without_their_first_one_are_not_in_clear() {
    let mut noise = Noise(5);
    let mut frames = Vec::new();
    for number in 1..=PACKETS {
        let content =
            [&0x1001_u32.to_be_bytes()[..], &number.to_be_bytes(), &noise.bytes(1_392 + 16 * (number as usize % 7))];
        let whole = build::udp(R1, R2, (4_500, 4_500), number as u16, &content.concat());
        let pieces = build::in_fragments(&whole, 1_376);
        for (piece, n) in pieces.into_iter().zip(0..).filter(|(_, n)| *n > 0 || number % 10 != 0) {
            frames.push(Out::whole(START + u64::from(number) * 10 * MS + n * 8 * US, piece));
        }
    }
    let path = support::write_file(&support::scratch("torn"), "headless.pcap", &plain_pcap(&frames));
    let report = support::report(&[&path]).json();
    let clear = items(&report, "findings").iter().find(|finding| text(finding, "code") == "clear-traffic");
    assert!(clear.is_none(), "{clear:?}");
    assert_eq!(at(&report, "rates.directions.0.clear_bps").as_f64(), Some(0.0));
    // Beside native ESP without IKE nothing shows that they are of the tunnel.
    let later = build::in_fragments(&build::udp(R1, R2, (9, 9), 7, &[7; 1_500]), 1_376)[1].clone();
    let esp = |n: u64| Out::whole(START + n * MS, build::esp(R1, R2, 7, n as u32, &noise.bytes(100)));
    let mut frames: Vec<Out> = (1..50).map(esp).collect();
    frames.push(Out::whole(START + 60 * MS, later));
    let path = support::write_file(&support::scratch("torn"), "beside.pcap", &plain_pcap(&frames));
    let report = support::report(&[&path]).json();
    assert!(items(&report, "findings").iter().any(|finding| text(finding, "code") == "clear-traffic"));
}
