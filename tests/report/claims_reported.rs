//! What a report leaves open, or leaves out, and says so: situations in which a figure or a finding would be false.

use crate::support;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap, plain_pcap};
use crate::support::{at, items, number, text};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn written(name: &str, frames: &[Out], link: u32) -> PathBuf {
    support::write_file(&support::scratch("reported"), name, &pcap(frames, link, Order::Little, Step::Nano))
}

fn run(command: &str, options: &[&str], path: &std::path::Path) -> Value {
    let mut args = vec![command, "--format", "json", "-q"];
    args.extend(options);
    args.push(path.to_str().expect("UTF-8"));
    support::spiglass(&args).json()
}

fn codes(report: &Value) -> Vec<&str> {
    items(report, "findings").iter().map(|finding| text(finding, "code")).collect()
}

/// ESP both ways, ten milliseconds apart, of payload lengths that `bytes` gives.
fn tunnel(bytes: impl Fn(u32) -> usize) -> Vec<Vec<u8>> {
    let mut noise = Noise(1);
    (0..200_u32)
        .map(|n| {
            let (src, dst, spi) = if n % 2 == 0 { (R1, R2, 0x1001) } else { (R2, R1, 0x2001) };
            build::esp(src, dst, spi, n / 2 + 1, &noise.bytes(bytes(n)))
        })
        .collect()
}

fn timed(frames: Vec<Vec<u8>>, step: u64) -> Vec<Out> {
    frames.into_iter().zip(0..).map(|(frame, n)| Out::whole(START + n * step, frame)).collect()
}

#[test]
fn whole_seconds_make_no_rates() {
    let report = run("report", &[], &written("seconds.pcap", &timed(tunnel(|_| 104), SECOND), ETHERNET));
    for row in items(&report, "rates.directions") {
        assert!(at(row, "l1_bps").is_null() && at(row, "frames_per_s").is_null() && at(row, "peak").is_null(), "{row}");
    }
    assert!(at(&report, "sas.0.rate.frames_per_s").is_null());
    // Ends that are whole seconds apart are chance where the frames between are not.
    let report = run("report", &[], &written("hundredths.pcap", &timed(tunnel(|_| 104), 10 * MILLISECOND), ETHERNET));
    assert!(items(&report, "rates.directions").iter().all(|row| at(row, "l1_bps").is_number()));
}

#[test]
fn bounds_of_goodput_hold_if_no_sa_pads() {
    let report = run(
        "report",
        &[],
        &written("bounds.pcap", &timed(tunnel(|n| 104 + n as usize % 50 * 16), MILLISECOND), ETHERNET),
    );
    for row in items(&report, "rates.directions") {
        assert!(at(row, "goodput_min_bps").is_null() && at(row, "goodput_max_bps").is_null(), "{row}");
        let bound = |name: &str| at(row, name).as_f64().unwrap_or(f64::NAN);
        assert!(bound("if_no_tfc.goodput_min_bps") < bound("if_no_tfc.goodput_max_bps"), "{row}");
    }
}

#[test]
fn a_mirror_with_its_own_addresses_shows_both_directions() {
    let frames = tunnel(|_| 104).into_iter().map(|mut frame| {
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        frame
    });
    let path = written("one-mac-pair.pcap", &timed(frames.collect(), MILLISECOND), ETHERNET);
    let report = run("report", &["--link-rate", "100M"], &path);
    assert_eq!(codes(&report), ["capture-one-mac-pair"]);
    assert!(at(&report, "rates.directions.0.utilisation_pct").is_null());
    // One direction alone is still one direction.
    let mut frames: Vec<Vec<u8>> = tunnel(|_| 104).into_iter().step_by(2).collect();
    let report = run("report", &[], &written("one-way.pcap", &timed(frames.clone(), MILLISECOND), ETHERNET));
    assert!(codes(&report).contains(&"capture-one-direction"), "{:?}", codes(&report));
    // A packet to its own source is no answer, in clear or as ESP, and neither is a frame to its own MAC address.
    let mut noise = Noise(31);
    let own = [build::udp(R1, R1, (7, 7), 1, &[9; 40]), build::esp(R1, R1, 0x1001, 1, &noise.bytes(88))];
    let one_mac: Vec<Vec<u8>> = own.iter().map(|frame| [&frame[6..12], &frame[6..]].concat()).collect();
    let behind: Vec<Vec<u8>> = own.iter().map(|frame| [&frames[0][..12], &frame[12..]].concat()).collect();
    for stray in own.into_iter().chain(one_mac).chain(behind) {
        frames.push(stray);
        let report = run("report", &[], &written("one-way.pcap", &timed(frames.clone(), MILLISECOND), ETHERNET));
        assert!(codes(&report).contains(&"capture-one-direction"), "{:?}", codes(&report));
        frames.pop();
    }
}

/// With HSRP or VRRP the gateway sends to a virtual MAC address, and is sent to from the router's own.
#[test]
fn answers_from_another_mac_address_are_answers() {
    let frames = tunnel(|_| 104).into_iter().map(|mut frame| {
        if frame[11] == 1 {
            frame[..6].copy_from_slice(&[0, 0, 0x5e, 0, 1, 1]);
        }
        frame
    });
    let path = written("virtual-router.pcap", &timed(frames.collect(), MILLISECOND), ETHERNET);
    let report = run("report", &[], &path);
    assert_eq!(items(&report, "rates.directions").len(), 2);
    assert_eq!(codes(&report), <[&str; 0]>::default());
}

#[test]
fn a_filter_is_told_and_what_it_leaves_out_is_no_finding() {
    let path = written("filter.pcap", &timed(tunnel(|_| 104), MILLISECOND), ETHERNET);
    let report = run("report", &["--spi", "0x1001"], &path);
    assert_eq!(items(&report, "filters").iter().filter_map(Value::as_str).collect::<Vec<_>>(), ["--spi 0x00001001"]);
    assert_eq!(codes(&report), <[&str; 0]>::default());
    assert_eq!(number(&report, "sas.0.frames"), 100);
    assert_eq!(items(&run("report", &[], &path), "filters").len(), 0);
}

#[test]
fn a_filter_is_printed_in_every_report_for_people() {
    let path = written("filter-printed.pcap", &timed(tunnel(|_| 104), MILLISECOND), ETHERNET);
    for format in ["text", "markdown"] {
        let run =
            support::spiglass(&["report", "-q", "--format", format, "--spi", "0x1001", path.to_str().expect("UTF-8")]);
        assert!(run.text().contains("Only frames that pass --spi 0x00001001."), "{format}: {}", run.text());
    }
}

#[test]
fn bursts_of_equal_packets_beside_a_tunnel_are_no_copies() {
    let mut noise = Noise(5);
    let equal = build::udp(R1, R2, (5_000, 5_001), 0, &noise.bytes(100));
    for burst in [2, 3, 5, 9] {
        let mut frames = timed(tunnel(|_| 104), MILLISECOND);
        for at in 0..60 {
            let of = |n: u64| Out::whole(START + at * 3 * MILLISECOND + 500_000 + n * 10_000, equal.clone());
            frames.extend((0..burst).map(of));
        }
        frames.sort_by_key(|frame| frame.time_ns);
        let report = run("report", &[], &written("bursts.pcap", &frames, ETHERNET));
        assert!(!codes(&report).contains(&"tap-copies"), "{burst}: {:?}", codes(&report));
        assert_eq!(number(&report, "rates.directions.0.frames"), 100 + 60 * burst, "{burst}");
    }
    // A TAP that copies packets of the tunnel too makes copies of both.
    let twice = |frame: Out| {
        let again = Out::whole(frame.time_ns + 2_000, frame.data.clone());
        [frame, again]
    };
    let frames = timed(tunnel(|_| 104), MILLISECOND).into_iter().flat_map(twice).collect::<Vec<_>>();
    let report = run("report", &[], &written("span.pcap", &frames, ETHERNET));
    assert!(codes(&report).contains(&"tap-copies"), "{:?}", codes(&report));
    assert!(!text(&report, "findings.0.evidence").contains("network"), "{}", at(&report, "findings.0"));
}

/// Where a part of the packets comes twice, a network that duplicates looks as a TAP does.
#[test]
fn copies_of_some_packets_may_be_of_the_network() {
    let some = |(n, frame): (usize, Out)| {
        let again = (n % 5 < 2).then(|| Out::whole(frame.time_ns + 300_000, frame.data.clone()));
        std::iter::once(frame).chain(again)
    };
    let frames = timed(tunnel(|_| 104), MILLISECOND).into_iter().enumerate().flat_map(some).collect::<Vec<_>>();
    let report = run("report", &[], &written("some-twice.pcap", &frames, ETHERNET));
    assert_eq!(codes(&report), ["tap-copies"]);
    assert!(
        text(&report, "findings.0.evidence")
            .ends_with("duplicated by the network, or by a mirror port that drops frames."),
        "{}",
        at(&report, "findings.0")
    );
}

#[test]
fn a_trailer_that_every_frame_bears_is_not_on_the_wire() {
    let bare = run("report", &[], &written("bare.pcap", &timed(tunnel(|_| 104), MILLISECOND), ETHERNET));
    let mut noise = Noise(6);
    let carded = tunnel(|_| 104).into_iter().map(|frame| [frame, noise.bytes(12)].concat()).collect();
    let card = run("report", &[], &written("card.pcap", &timed(carded, MILLISECOND), ETHERNET));
    for at_row in ["rates.directions.0", "rates.directions.1"] {
        assert_eq!(at(&card, &format!("{at_row}.l1_bps")), at(&bare, &format!("{at_row}.l1_bps")));
        assert_eq!(text(&card, &format!("{at_row}.l1_basis")), "assumed");
        assert_eq!(text(&bare, &format!("{at_row}.l1_basis")), "measured");
    }
    // One frame in two alone: whatever it is, it is in the figures.
    let some = tunnel(|_| 104)
        .into_iter()
        .enumerate()
        .map(|(n, frame)| if n % 4 < 2 { [frame, noise.bytes(12)].concat() } else { frame })
        .collect();
    let some = run("report", &[], &written("some.pcap", &timed(some, MILLISECOND), ETHERNET));
    assert_eq!(text(&some, "rates.directions.0.l1_basis"), "measured");
}

#[test]
fn what_esp_carries_inside_a_visible_tunnel_counts_once() {
    let mut noise = Noise(7);
    let gre = |n: u32| {
        let inner = build::esp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), 0x3001, n + 1, &noise.bytes(264));
        build::ipv4(R1, R2, 47, u16::try_from(n).expect("16 bits"), &[&[0, 0, 8, 0], &inner[14..]].concat())
    };
    let frames = (0..200).map(gre).collect();
    let report = run("report", &[], &written("nested.pcap", &timed(frames, MILLISECOND), ETHERNET));
    let row = at(&report, "rates.directions.0");
    let l3 = at(row, "l3_bps").as_f64().expect("a rate");
    for said in [&row["goodput_bps"], &row["goodput_max_bps"], &row["if_no_tfc"]["goodput_max_bps"]] {
        assert!(said.as_f64().is_none_or(|said| said <= l3), "{said} of {l3}");
    }
}

#[test]
fn frames_of_a_link_that_is_not_read_are_a_warning() {
    let path = written("unread.pcap", &timed(tunnel(|_| 104), MILLISECOND), 109);
    let report = run("check", &[], &path);
    assert_eq!(codes(&report), ["capture-link-unread", "no-ipsec"]);
    // Of frames that nobody read there is no goodput, and no zero either.
    let rate = &report["rates"]["directions"][0];
    for figure in ["l3_bps", "goodput_bps", "goodput_min_bps", "goodput_max_bps", "clear_bps"] {
        assert!(rate[figure].is_null(), "{figure}: {rate}");
    }
    assert_eq!(number(&report, "exit_status"), 1);
}

#[test]
fn check_says_that_it_saw_no_ipsec() {
    let mut noise = Noise(2);
    let clear = (0..40_u16).map(|n| build::udp(R1, R2, (40_000, 53), n, &noise.bytes(61))).collect();
    let path =
        support::write_file(&support::scratch("reported"), "clear.pcap", &plain_pcap(&timed(clear, MILLISECOND)));
    let report = run("check", &[], &path);
    let found = items(&report, "findings").iter().find(|finding| text(finding, "code") == "no-ipsec").expect("a note");
    assert_eq!((text(found, "severity"), number(&report, "exit_status")), ("note", 0));
    let report = run("check", &["--expect-ipsec"], &path);
    assert_eq!((text(&report, "findings.0.severity"), number(&report, "exit_status")), ("error", 1));
    assert!(!codes(&run("report", &[], &path)).contains(&"no-ipsec"), "a report is not a check");
    let tunnel = written("tunnel.pcap", &timed(tunnel(|_| 104), MILLISECOND), ETHERNET);
    assert!(!codes(&run("check", &["--expect-ipsec"], &tunnel)).contains(&"no-ipsec"));
}

/// A port that was given was searched: neither is it named as one that was not, nor are its datagrams.
#[test]
fn ports_that_were_given_are_not_said_to_be_unsearched() {
    let mut noise = Noise(3);
    let mut both = |port: u16| -> Vec<Vec<u8>> {
        let mut one = |n: u16| match n % 2 {
            0 => build::udp(R1, R2, (50_000, port), n, &noise.bytes(200)),
            _ => build::udp(R2, R1, (port, 50_000), n, &noise.bytes(400)),
        };
        (0..40).map(&mut one).collect()
    };
    let (https, dns) = (both(443), both(53));
    for (options, frames, says) in [
        (&["--udp-port", "443"][..], https.clone(), None),
        (
            &[],
            https.clone(),
            Some("40 frames carry UDP or TCP. ESP on UDP ports of other protocols, such as 53 and 443, "),
        ),
        (
            &["--udp-port", "443", "--tcp-port", "8443"],
            [https, dns].concat(),
            Some(
                "40 frames carry UDP or TCP. ESP on UDP ports of other protocols, such as 53 and 123, and on TCP ports other than 4500 and 8443 was",
            ),
        ),
    ] {
        let path = written("given-ports.pcap", &timed(frames, MILLISECOND), ETHERNET);
        let report = run("check", options, &path);
        let found = items(&report, "findings").iter().find(|finding| text(finding, "code") == "no-ipsec");
        let evidence = text(found.expect("a note"), "evidence");
        assert_eq!(evidence.contains("not searched"), says.is_some(), "{options:?}: {evidence}");
        assert!(says.is_none_or(|says| evidence.contains(says)), "{options:?}: {evidence}");
    }
}

/// What MACsec encrypts and GTP-U carries nobody read: that no IPsec was seen does not say that there is none.
#[test]
fn packets_that_nobody_read_are_told_where_no_ipsec_was_seen() {
    let mut noise = Noise(8);
    let esp = build::esp([10, 1, 0, 1].into(), [10, 2, 0, 1].into(), 0x3001, 1, &noise.bytes(88));
    let gtp = [&[0x30, 255, 0, (esp.len() - 14) as u8, 0, 0, 0, 5][..], &esp[14..]].concat();
    let macsec = [&esp[..12], &[0x88, 0xe5, 0x2c, 0, 0, 0, 0, 9], &noise.bytes(80)].concat();
    for (name, frame) in [("gtpu", build::udp(R1, R2, (2_152, 2_152), 1, &gtp)), ("macsec", macsec)] {
        let path = written("hidden.pcap", &timed(vec![frame; 3], SECOND), ETHERNET);
        let said = run("check", &["--expect-ipsec"], &path);
        let evidence = text(&said, "findings.0.evidence");
        assert!(evidence.ends_with(&format!(" 3 frames carry {name}: their contents were not read.")), "{evidence}");
        let text = support::spiglass(&["report", "-q", path.to_str().expect("UTF-8")]).text().to_owned();
        assert!(text.contains(&format!("; 3 frames carry {name}: their contents were not read.")), "{text}");
    }
}

/// AH in front of ESP: what tunnel mode of the two carries is inside of ESP, and nothing of it shows.
#[test]
fn the_mode_of_ah_in_front_of_esp_is_not_seen() {
    let mut noise = Noise(9);
    let bundle = |n: u32| {
        let esp = [&0x3001_u32.to_be_bytes()[..], &n.to_be_bytes(), &noise.bytes(96)].concat();
        let ah = [&[50, 4, 0, 0][..], &0x1001_u32.to_be_bytes(), &n.to_be_bytes(), &[0xa5; 12], &esp].concat();
        build::ipv4(R1, R2, 51, n as u16, &ah)
    };
    let path = written("bundle.pcap", &timed((1..40).map(bundle).collect(), MILLISECOND), ETHERNET);
    let sa = |protocol: &str, spi: u32| {
        format!("[[sa]]\nprotocol = \"{protocol}\"\nsrc = \"{R1}\"\ndst = \"{R2}\"\nspi = {spi}\nmode = \"tunnel\"\n")
    };
    let stated = format!("{}{}", sa("ah", 0x1001), sa("esp", 0x3001));
    let config = support::write_file(&support::scratch("reported"), "bundle.toml", stated.as_bytes());
    let report = run("report", &["--config", config.to_str().expect("UTF-8")], &path);
    assert!(!codes(&report).contains(&"mode-mismatch"), "{}", at(&report, "findings"));
    assert_eq!(items(&report, "sas").len(), 2);
}

/// Child SAs side by side: a new one replaced the one that ended as it began, and where two did, nobody knows which.
#[test]
fn a_rekey_names_the_replaced_sa_only_where_one_could_be() {
    let lives = |lives: &[(u32, u64, u64)]| {
        let packets = |&(spi, from, to): &(u32, u64, u64)| {
            let mut noise = Noise(spi.into());
            (0..(to - from) / 20).map(move |n| {
                let frame = build::esp(R1, R2, spi, n as u32 + 1, &noise.bytes(104));
                Out::whole(START + (from + n * 20) * MILLISECOND + u64::from(spi), frame)
            })
        };
        let mut frames: Vec<Out> = lives.iter().flat_map(packets).collect();
        frames.sort_by_key(|frame| frame.time_ns);
        let report = run("report", &[], &written("rekeys.pcap", &frames, ETHERNET));
        let of = |id: &Value| id.as_str().map(|id| id[id.len() - 4..].to_owned());
        let rekeys = items(&report, "events").iter().filter(|event| text(event, "what") == "rekey");
        rekeys.filter_map(|event| Some((of(&event["from_sa"])?, of(&event["sa"])?))).collect::<Vec<_>>()
    };
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(lives(&[(0x1001, 0, 10_000), (0x2001, 9_500, 20_000)]), [pair("1001", "2001")]);
    // Two that end together, and one that begins.
    assert_eq!(lives(&[(0x1001, 0, 10_000), (0x1002, 0, 10_000), (0x2001, 9_500, 20_000)]), []);
    // Two pairs, two seconds apart.
    let apart = [(0x1001, 0, 10_000), (0x1002, 0, 13_000), (0x2001, 9_900, 30_000), (0x2002, 12_900, 30_000)];
    assert_eq!(lives(&apart), [pair("1001", "2001"), pair("1002", "2002")]);
    // One after the other.
    let row = [(0x1001, 0, 10_000), (0x1002, 9_900, 20_000), (0x1003, 19_900, 30_000)];
    assert_eq!(lives(&row), [pair("1001", "1002"), pair("1002", "1003")]);
}
