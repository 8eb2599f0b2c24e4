//! Situations that nobody arranged the report for: what generated captures brought to light, each with the healthy one beside it.

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{self, at, items, number, text};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

fn report_of(test: &str, frames: &[Out]) -> Value {
    let path = support::write_file(&support::scratch("unarranged"), &format!("{test}.pcap"), &plain_pcap(frames));
    support::report(&[&path]).json()
}

/// A report of frames with their times after the first.
fn report(test: &str, frames: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Value {
    let frames: Vec<Out> = frames.into_iter().map(|(after, data)| Out::whole(START + after, data)).collect();
    report_of(test, &frames)
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// ESP around packets of these sizes, one a millisecond, in a cipher with this block, IV and ICV whose IVs are random.
fn esp_of(sizes: impl IntoIterator<Item = usize>, block: usize, iv: usize, icv: usize) -> Vec<(u64, Vec<u8>)> {
    let mut noise = Noise(91);
    let packet = |(n, size): (u32, usize)| {
        let bytes = iv + (size + 2).next_multiple_of(block) + icv;
        (u64::from(n) * MS, build::esp(R1, R2, 0x1001, n, &noise.bytes(bytes)))
    };
    (1..).zip(sizes).map(packet).collect()
}

/// A generator that holds the bit rate sends more of the short packets: the counts say nothing, the order does.
#[test]
fn sizes_that_are_walked_through_hide_the_block() {
    let walk = |step: usize| (64..1_424).step_by(step).flat_map(|size| vec![size; 20_000 / size]).collect::<Vec<_>>();
    let rounds = |step: usize| (0..4).flat_map(|_| walk(step)).collect::<Vec<_>>();
    for (block, iv, icv) in [(8, 8, 12), (4, 8, 16), (8, 8, 16)] {
        for sizes in [walk(16), rounds(16), walk(16).into_iter().rev().collect(), walk(32)] {
            let report = report("walk", esp_of(sizes, block, iv, icv));
            let sa = &items(&report, "sas")[0];
            let name = at(sa, "transform.name").as_str().unwrap_or_default();
            assert!(!name.contains("AES-CBC"), "{block} {icv}: {name}");
        }
    }
}

/// Random sizes in steps of 32 give AES-CBC lengths that agree modulo more than its block.
#[test]
fn lengths_that_agree_beyond_the_largest_block_hide_the_block() {
    let mut noise = Noise(17);
    let sizes: Vec<usize> = (0..400).map(|_| 64 + 32 * noise.below(40) as usize).collect();
    for (block, iv, icv) in [(8, 8, 12), (4, 8, 16), (16, 16, 12)] {
        let report = report("steps-32", esp_of(sizes.iter().copied(), block, iv, icv));
        assert!(at(&items(&report, "sas")[0], "transform.name").is_null(), "{block} {icv}");
    }
    // Sizes as they come show the block.
    let sizes = (0..400).map(|_| 64 + noise.below(1_300) as usize);
    let report = self::report("steps-1", esp_of(sizes.collect::<Vec<_>>(), 16, 16, 12));
    assert_eq!(text(&items(&report, "sas")[0], "transform.name"), "AES-CBC, 96-bit ICV");
}

/// GRE in fragments that come last first, under one identification: which of them are one packet is uncertain.
#[test]
fn what_tunnels_without_sa_carry_in_uncertain_fragments_is_no_figure() {
    let packets = |reverse: bool, of: fn(u16) -> u16| -> Vec<(u64, Vec<u8>)> {
        let packet = |n: u16| {
            let inner = &build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (5, 6), n, &[7; 1_400])[14..];
            let mut pieces =
                build::in_fragments(&build::ipv4(R1, R2, 47, of(n), &[&[0, 0, 8, 0], inner].concat()), 800);
            if reverse {
                pieces.reverse();
            }
            let time = move |at: u64| u64::from(n) * 2 * MS + at * 50 * US;
            pieces.into_iter().zip(0..).map(move |(piece, at)| (time(at), piece))
        };
        (0..60).flat_map(packet).collect()
    };
    let goodput = |report: &Value| at(report, "rates.directions.0.goodput_bps").as_f64();
    for reuse in [|_| 0, |n| n % 4] {
        let report = report("gre-torn", packets(true, reuse));
        let row = at(&report, "rates.directions.0");
        assert!(goodput(&report).is_none() && at(row, "goodput_max_bps").is_null(), "{row}");
    }
    for (reverse, of) in [(false, (|_| 0) as fn(u16) -> u16), (true, |n| n), (false, |n| n)] {
        let report = report("gre-whole", packets(reverse, of));
        let seconds = at(&report, "rates.directions.0.seconds").as_f64().expect("a span");
        let bytes = goodput(&report).expect("goodput") * seconds / 8.0;
        assert!((bytes - 60.0 * 1_428.0).abs() < 1.0, "{bytes}");
    }
}

/// Frames of ESP with what `append` puts behind them.
fn with_trailer(count: u32, append: impl Fn(u32, &[u8]) -> Vec<u8>) -> Vec<(u64, Vec<u8>)> {
    let mut noise = Noise(5);
    let frame = |n: u32| {
        let mut data = build::esp(R1, R2, 0x1001, n, &noise.bytes(16 + 16 * (n as usize % 40)));
        data.resize(data.len().max(60), 0);
        let behind = append(n, &data);
        (u64::from(n) * MS, [data, behind].concat())
    };
    (1..=count).map(frame).collect()
}

/// Octets of layer 1 of the first direction.
fn l1_bytes(report: &Value) -> u64 {
    let row = at(report, "rates.directions.0");
    let bits = at(row, "l1_bps").as_f64().expect("a rate") * at(row, "seconds").as_f64().expect("a span");
    (bits / 8.0).round() as u64
}

#[test]
fn trailers_of_capture_cards_are_not_on_the_wire_however_few_frames_show_them() {
    for count in [6, 12, 200] {
        let bare = l1_bytes(&report("bare", with_trailer(count, |_, _| Vec::new())));
        for bytes in [4, 8, 12, 16, 19] {
            let card = with_trailer(count, |n, _| Noise(u64::from(n)).bytes(bytes));
            let report = report("card", card);
            assert_eq!(l1_bytes(&report), bare, "{count} frames, {bytes} octets");
            assert!(!codes(&report).contains(&"ethernet-padding-leak"));
        }
    }
}

#[test]
fn trailers_beyond_the_snapshot_length_are_not_on_the_wire() {
    let cut = |frames: Vec<(u64, Vec<u8>)>| -> Vec<Out> {
        let frame = |(after, data): (u64, Vec<u8>)| {
            let mut out = Out::whole(START + after, data);
            out.data.truncate(68);
            out
        };
        frames.into_iter().map(frame).collect()
    };
    let bare = l1_bytes(&report_of("cut-bare", &cut(with_trailer(200, |_, _| Vec::new()))));
    for bytes in [4, 12, 16] {
        let held = with_trailer(200, |n, _| Noise(u64::from(n)).bytes(bytes));
        assert_eq!(l1_bytes(&report_of("cut-held", &cut(held))), bare, "{bytes} octets");
    }
    // One frame in three has one: not a card's.
    let some = with_trailer(200, |n, _| if n % 3 == 0 { vec![9; 4] } else { Vec::new() });
    assert!(l1_bytes(&report_of("cut-some", &cut(some))) > bare);
}

/// The trailer of the parallel redundancy protocol is sent.
#[test]
fn a_redundancy_trailer_is_on_the_wire() {
    let control = |n: u32, data: &[u8]| {
        let size = 0xa000 | (data.len() - 14 + 6) as u16;
        [&(n as u16).to_be_bytes()[..], &size.to_be_bytes(), &[0x88, 0xfb]].concat()
    };
    let redundant = with_trailer(200, control);
    let sent: u64 = redundant.iter().map(|(_, data)| data.len() as u64 + 24).sum();
    let report = report("prp", redundant);
    assert_eq!(l1_bytes(&report), sent);
    assert!(!codes(&report).contains(&"ethernet-padding-leak"));
}

fn numbered(test: &str, numbers: impl IntoIterator<Item = u32>) -> Value {
    let packet = |(after, n): (u64, u32)| (after * MS, build::esp(R1, R2, 7, n, &Noise(after + 1).bytes(64)));
    report(test, (0..).zip(numbers).map(packet).collect::<Vec<_>>())
}

#[test]
fn a_jump_across_half_of_all_numbers_is_said() {
    for far in [1_u32 << 30, (1 << 31) - 5, (1 << 31) + 100, 3 << 30] {
        let report = numbered("half", (1..200).chain(far..far + 200));
        assert!(codes(&report).contains(&"sequence-jump"), "{far}: {}", at(&report, "findings"));
        assert_eq!(number(&items(&report, "sas")[0], "sequence.lost"), 0, "{far}");
    }
    // A step back across 0 is none: these came late.
    let late =
        numbered("late-across", (u32::MAX - 200..=u32::MAX - 3).chain(0..50).chain([u32::MAX - 1]).chain(50..90));
    assert!(!codes(&late).contains(&"sequence-jump"), "{}", at(&late, "findings"));
}

/// Two gateways, of which one takes over for a while: its numbers are far ahead, and the other one resumes its own.
#[test]
fn a_counter_that_is_resumed_once_loses_nothing() {
    for other in [6_000_u32, 100_000, 900_000] {
        let report = numbered("resumed", (1..100).chain(other..other + 40).chain(100..600));
        let sa = &items(&report, "sas")[0];
        assert!(at(sa, "sequence").is_null(), "{other}: {}", at(&report, "findings"));
        assert!(!codes(&report).contains(&"sequence-gap") && codes(&report).contains(&"sequence-interleaved"));
    }
    // A counter that begins anew elsewhere, and packets that are late by much and fill their gap, are one counter.
    for numbers in [
        (1..6_000).chain(3..300).collect::<Vec<_>>(),
        (1..100).chain(200..5_400).chain(100..200).chain(5_400..5_900).collect(),
    ] {
        let report = numbered("one", numbers);
        assert!(!codes(&report).contains(&"sequence-interleaved"), "{}", at(&report, "findings"));
    }
}

/// Certificates make IKE longer than a frame: its later fragments show nothing but an IP header.
#[test]
fn fragments_of_ike_are_no_traffic_in_clear() {
    let ike = |n: u64| {
        let header = [&[0; 4][..], &[0x11; 8], &[0x22; 8], &[35, 0x20, 35, 8, 0, 0, 0, 1, 0, 0, 5, 0xdc]].concat();
        let message = build::udp(R1, R2, (4500, 4500), n as u16, &[header, vec![7; 1_472]].concat());
        build::in_fragments(&message, 1_000).into_iter().zip(0..).map(move |(piece, at)| (n * 20 * MS + at * US, piece))
    };
    let esp = (0..100_u64).map(|n| (n * 5 * MS + MS, build::esp(R1, R2, 7, n as u32 + 1, &Noise(n + 1).bytes(84))));
    let mut frames: Vec<_> = (0..20).flat_map(ike).chain(esp.clone()).collect();
    frames.sort_by_key(|(after, _)| *after);
    let report = report("ike-fragments", frames);
    assert!(!codes(&report).contains(&"clear-traffic"), "{}", at(&report, "findings"));
    assert_eq!(at(&report, "rates.directions.0.clear_bps").as_f64(), Some(0.0));
    // Another protocol in fragments is.
    let other = (0..20_u64).flat_map(|n| {
        let message = build::udp(R1, R2, (9_000, 9_001), n as u16, &[7; 1_500]);
        build::in_fragments(&message, 1_000).into_iter().zip(0..).map(move |(piece, at)| (n * 20 * MS + at * US, piece))
    });
    let mut frames: Vec<_> = other.chain(esp).collect();
    frames.sort_by_key(|(after, _)| *after);
    let report = self::report("other-fragments", frames);
    let said = items(&report, "findings").iter().find(|finding| text(finding, "code") == "clear-traffic");
    assert_eq!(number(said.expect("it is said"), "count"), 40);
}

/// A snapshot length that leaves no UDP header, no ESP header or no IP header: what is in the frames is not known.
#[test]
fn what_the_snapshot_length_left_out_has_no_figure() {
    let natt = |n: u32| {
        build::udp(R1, R2, (4500, 4500), n as u16, &[&7_u32.to_be_bytes()[..], &n.to_be_bytes(), &[9; 80]].concat())
    };
    let esp = |n: u32| build::esp(R1, R2, 7, n, &[9; 80]);
    let cut = |make: &dyn Fn(u32) -> Vec<u8>, kept: usize| {
        let frame = |n: u32| {
            let mut out = Out::whole(START + u64::from(n) * MS, make(n));
            out.data.truncate(kept);
            out
        };
        report_of("cut-short", &(1..60).map(frame).collect::<Vec<_>>())
    };
    let figures = |report: &Value| {
        ["goodput_bps", "clear_bps", "l3_bps"]
            .map(|name| at(report, &format!("rates.directions.0.{name}")).as_f64().is_some())
    };
    assert_eq!(figures(&cut(&natt, 38)), [false, false, true]);
    assert_eq!(figures(&cut(&natt, 44)), [false, false, true]);
    assert_eq!(figures(&cut(&esp, 34)), [false, true, true]);
    assert_eq!(figures(&cut(&esp, 20)), [false, false, false]);
    // What is in clear is known by its header.
    let clear = |n: u32| build::udp(R1, R2, (9_000, 9_001), n as u16, &[9; 80]);
    assert_eq!(figures(&cut(&clear, 60)), [true, true, true]);
}

#[test]
fn nobody_knows_what_macsec_and_gtp_carry() {
    let macsec = (0..50_u64).map(|n| {
        let header = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xe5, 0x2c, 0];
        (n * MS, [&header[..], &Noise(n + 1).bytes(140)].concat())
    });
    let gtp = (0..50_u64).map(|n| {
        let inner = &build::esp(R1, R2, 7, n as u32, &Noise(n + 1).bytes(64))[14..];
        let header = [0x30, 255, 0, inner.len() as u8, 0, 0, 0, 9];
        (n * MS, build::udp(R1, R2, (2152, 2152), n as u16, &[&header[..], inner].concat()))
    });
    let macsec = report("macsec", macsec);
    for figure in ["l3_bps", "goodput_bps", "clear_bps"] {
        assert!(at(&macsec, &format!("rates.directions.0.{figure}")).is_null(), "{figure}");
    }
    let gtp = report("gtp", gtp);
    for figure in ["goodput_bps", "clear_bps"] {
        assert!(at(&gtp, &format!("rates.directions.0.{figure}")).is_null(), "{figure}");
    }
    assert!(at(&gtp, "rates.directions.0.l3_bps").as_f64().is_some_and(|rate| rate > 0.0));
}

/// Pairs of one packet beside a tunnel: a TAP that copies had copied the few packets of the tunnel, too.
#[test]
fn a_few_packets_without_copies_show_that_pairs_are_sent() {
    let packet = build::udp(R1, R2, (5_000, 5_001), 0, &[7; 200]);
    let pairs = || (0..600_u64).map(|n| (n / 2 * 5 * MS + n % 2 * 12 * US, packet.clone()));
    let tunnel = (0..5_u64).map(|n| (n * 250 * MS + MS, build::esp(R1, R2, 7, n as u32 + 1, &Noise(n + 1).bytes(84))));
    let mut frames: Vec<_> = pairs().chain(tunnel).collect();
    frames.sort_by_key(|(after, _)| *after);
    let report = report("pairs-beside", frames);
    assert!(!codes(&report).contains(&"tap-copies"));
    assert_eq!(number(&report, "rates.directions.0.frames"), 605);
    // Of pairs alone the report says what else they may be.
    let report = self::report("pairs-alone", pairs());
    let said = items(&report, "findings").iter().find(|finding| text(finding, "code") == "tap-copies");
    assert!(text(said.expect("it is said"), "evidence").contains("a generator that sends each packet twice"));
}

/// ESP-NULL whose sender pads more than it must, cut by a snapshot length: the ICV does not follow from the lengths.
#[test]
fn the_icv_of_cut_packets_with_padding_of_any_length_is_not_known() {
    let packets = |most: u64, kept: usize| -> Vec<Out> {
        let mut noise = Noise(8);
        let packet = |n: u32| {
            let inner =
                build::udp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), (5, 6), n as u16, &noise.bytes(90 + n as usize));
            let inner = &inner[14..];
            let padding = (inner.len() + 2).next_multiple_of(4) - inner.len() - 2 + 4 * noise.below(most) as usize;
            let padding: Vec<u8> = (1..).take(padding).collect();
            let payload = [inner, &padding, &[padding.len() as u8, 4], &noise.bytes(12)].concat();
            let mut out = Out::whole(START + u64::from(n) * MS, build::esp(R1, R2, 0x2001, n, &payload));
            out.data.truncate(kept);
            out
        };
        (1..200).map(packet).collect()
    };
    let overhead = |report: &Value| {
        let sa = &items(report, "sas")[0];
        (at(sa, "overhead.min_bytes").as_u64(), at(sa, "overhead.max_bytes").as_u64(), at(sa, "icv_bytes").as_u64())
    };
    assert_eq!(overhead(&report_of("null-whole", &packets(5, 2_000))), (Some(42), Some(61), Some(12)));
    assert_eq!(overhead(&report_of("null-cut", &packets(1, 80))), (Some(42), Some(45), Some(12)));
    assert_eq!(overhead(&report_of("null-cut-padded", &packets(5, 80))), (None, None, None));
}

/// What is configured and possible stands: lengths that a larger block makes, too, are no doubt; IVs that count where CBC is stated are one.
#[test]
fn a_stated_transform_is_not_doubted_for_sizes_in_steps() {
    let mut noise = Noise(71);
    let sizes: Vec<usize> = (0..300).map(|_| 64 + 16 * noise.below(80) as usize).collect();
    let folder = support::scratch("unarranged");
    let mismatch = |transform: &str, frames: Vec<(u64, Vec<u8>)>| -> Option<String> {
        let frames: Vec<Out> = frames.into_iter().map(|(after, data)| Out::whole(START + after, data)).collect();
        let path = support::write_file(&folder, "stated.pcap", &plain_pcap(&frames));
        let sa = format!(
            "[[sa]]\nprotocol = \"esp\"\nsrc = \"{R1}\"\ndst = \"{R2}\"\nspi = 4097\ntransform = \"{transform}\"\nmode = \"tunnel\"\n"
        );
        let config = support::write_file(&folder, "stated.toml", sa.as_bytes());
        let [path, config] = [&path, &config].map(|path| path.to_str().expect("UTF-8"));
        let report = support::spiglass(&["report", "--format", "json", "--config", config, path]).expect(0).json();
        assert_eq!(text(&items(&report, "sas")[0], "transform.basis"), "expected", "{transform}");
        let found = items(&report, "findings").iter().find(|finding| text(finding, "code") == "transform-mismatch");
        found.map(|finding| text(finding, "severity").to_owned())
    };
    assert_eq!(mismatch("esp-3des esp-sha-hmac", esp_of(sizes.iter().copied(), 8, 8, 12)), None);
    assert_eq!(mismatch("esp-des esp-md5-hmac", esp_of(sizes.iter().copied(), 8, 8, 12)), None);
    assert_eq!(mismatch("esp-gcm", esp_of(sizes.iter().copied(), 16, 16, 12)).as_deref(), Some("note"));
}
