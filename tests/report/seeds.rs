//! The twelve frames of the source document "Cisco 892 router performance test" (fixtures/seeds): what its authors read
//! off them by hand, read off them by the binary.

#[allow(dead_code, clippy::duplicate_mod)] // the builder is used for its list of files only
use crate::support;
#[path = "../../benches/tools/make_fixtures.rs"]
mod make_fixtures;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::support::writer::{Out, plain_pcap};
use crate::support::{Checks, at, fixture, items, number, text};

#[test]
fn the_committed_captures_are_what_the_builder_makes() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/seeds");
    let mut made = Vec::new();
    for (name, bytes) in make_fixtures::files(&home) {
        let committed = std::fs::read(home.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Another version of the compressor may choose other bytes for the same content.
        let content = |bytes: Vec<u8>| {
            if !name.ends_with(".gz") {
                return bytes;
            }
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).expect("gzip decodes");
            plain
        };
        assert!(content(committed) == content(bytes), "{name} differs: run `cargo run --example make_fixtures`");
        made.push(name);
    }
    let committed: Vec<_> = std::fs::read_dir(&home)
        .expect("the fixtures can be listed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    for name in committed {
        assert!(made.contains(&name), "{name} is not made by the builder");
    }
}

/// What the document says of one tunnelled frame.
struct Frame {
    /// The capture and the number of the frame in it.
    file: &'static str,
    frame: u64,
    /// Octets on the wire without FCS, and of the outer IP packet.
    wire: u64,
    outer: u64,
    /// From R1 (192.168.1.1) to R2 (192.168.1.2), or back.
    from_r1: bool,
    /// SPI, sequence number and header octets.
    ah: Option<(u32, u32, u64)>,
    /// SPI and sequence number.
    esp: Option<(u32, u32)>,
    /// Inner IP length where it can be read, with the ESP padding before the trailer.
    inner: Option<u64>,
    esp_pad: Option<u64>,
    /// The shape of the stack: what it is, or begins with.
    stack: &'static str,
}

const FRAMES: &[Frame] = &[
    Frame {
        file: "test05-ah-md5.pcap",
        frame: 1,
        wire: 122,
        outer: 108,
        from_r1: true,
        ah: Some((1002, 228_246_788, 24)),
        esp: None,
        inner: Some(64),
        esp_pad: None,
        stack: "eth/ipv4/ah/ipv4",
    },
    Frame {
        file: "test06-esp-null.pcap",
        frame: 1,
        wire: 122,
        outer: 108,
        from_r1: true,
        ah: None,
        esp: Some((0x521d_2524, 782_041)),
        inner: Some(64),
        esp_pad: Some(2),
        stack: "eth/ipv4/esp",
    },
    Frame {
        file: "test06-esp-null-broken.pcap",
        frame: 1,
        wire: 122,
        outer: 108,
        from_r1: true,
        ah: None,
        esp: Some((0, 363_977)),
        inner: Some(64),
        esp_pad: Some(2),
        stack: "eth/ipv4/esp",
    },
    Frame {
        file: "test06-esp-null-fixed.pcap",
        frame: 1,
        wire: 122,
        outer: 108,
        from_r1: true,
        ah: None,
        esp: Some((1002, 2_539_287)),
        inner: Some(64),
        esp_pad: Some(2),
        stack: "eth/ipv4/esp",
    },
    Frame {
        file: "test06-esp-null-fixed.pcap",
        frame: 2,
        wire: 122,
        outer: 108,
        from_r1: false,
        ah: None,
        esp: Some((2001, 3_000_352)),
        inner: Some(64),
        esp_pad: Some(2),
        stack: "eth/ipv4/esp",
    },
    Frame {
        file: "test07-esp-des-md5.pcap",
        frame: 1,
        wire: 134,
        outer: 120,
        from_r1: true,
        ah: None,
        esp: Some((0xcb19_d3be, 230_122)),
        inner: None,
        esp_pad: None,
        stack: "eth/ipv4/esp",
    },
    Frame {
        file: "test09-ah-esp-des-md5.pcap",
        frame: 1,
        wire: 158,
        outer: 144,
        from_r1: true,
        ah: Some((0x0f01_3f05, 737_325, 24)),
        esp: Some((0xc7c0_5999, 737_325)),
        inner: None,
        esp_pad: None,
        stack: "eth/ipv4/ah/esp",
    },
    Frame {
        file: "test10-ah-esp-3des-md5.pcap",
        frame: 1,
        wire: 158,
        outer: 144,
        from_r1: false,
        ah: Some((0xfc95_4919, 5_000_040, 24)),
        esp: Some((0xf3c0_a6ac, 5_000_040)),
        inner: None,
        esp_pad: None,
        stack: "eth/ipv4/ah/esp",
    },
    Frame {
        file: "test11-ah-esp-aes-sha512.pcap",
        frame: 1,
        wire: 214,
        outer: 200,
        from_r1: true,
        ah: Some((0x56b6_5ce9, 44_570, 44)),
        esp: Some((0x67cf_64dd, 44_570)),
        inner: None,
        esp_pad: None,
        stack: "eth/ipv4/ah/esp",
    },
    Frame {
        file: "padding-ah-40B.pcap",
        frame: 1,
        wire: 98,
        outer: 84,
        from_r1: false,
        ah: Some((2001, 49_390_924, 24)),
        esp: None,
        inner: Some(40),
        esp_pad: None,
        stack: "eth/ipv4/ah/ipv4",
    },
];

fn show<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[test]
fn every_frame_is_listed_as_the_document_reads_it() {
    let mut checks = Checks::new("");
    for want in FRAMES {
        let rows = support::frames(&fixture(&format!("seeds/{}", want.file)));
        let row = rows.iter().find(|row| row.get("frame") == want.frame.to_string()).expect("the frame is listed");
        checks.about(format!("{} frame {}", want.file, want.frame));
        let (r1, r2) = ("192.168.1.1".to_owned(), "192.168.1.2".to_owned());
        let (src, dst) = if want.from_r1 { (r1, r2) } else { (r2, r1) };
        let (inner_src, inner_dst) = match (want.inner, want.from_r1) {
            (None, _) => ("", ""),
            (Some(_), true) => ("192.168.2.2", "192.168.3.2"),
            (Some(_), false) => ("192.168.3.2", "192.168.2.2"),
        };
        for (column, value) in [
            ("wire_bytes", want.wire.to_string()),
            ("captured_bytes", want.wire.to_string()),
            ("outer_src", src),
            ("outer_dst", dst),
            ("outer_bytes", want.outer.to_string()),
            ("ah_spi", show(want.ah.map(|(spi, _, _)| spi))),
            ("ah_sequence", show(want.ah.map(|(_, sequence, _)| sequence))),
            ("ah_bytes", show(want.ah.map(|(_, _, bytes)| bytes))),
            ("esp_spi", show(want.esp.map(|(spi, _)| spi))),
            ("esp_sequence", show(want.esp.map(|(_, sequence)| sequence))),
            ("inner_src", inner_src.to_owned()),
            ("inner_dst", inner_dst.to_owned()),
            ("inner_bytes", show(want.inner)),
            ("overhead_bytes", show(want.inner.map(|inner| want.outer - inner))),
            ("esp_pad_bytes", show(want.esp_pad)),
            ("fragment", String::new()),
            ("stop", String::new()),
        ] {
            checks.eq(column, row.get(column), value.as_str());
        }
        let stack = row.get("stack");
        checks.ok(stack == want.stack || stack.starts_with(&format!("{}/", want.stack)), || format!("stack: {stack}"));
        // A tunnelled 40-octet packet fills the frame: the router adds no padding.
        checks.ok(matches!(row.get("ethernet_pad_bytes"), "" | "0"), || "a tunnelled frame is not padded".to_owned());
    }
    checks.finish();
}

#[test]
fn every_frame_is_reported_with_its_associations_and_lengths() {
    let mut checks = Checks::new("");
    let mut files: Vec<&str> = FRAMES.iter().map(|frame| frame.file).collect();
    files.dedup();
    for file in files {
        let report = support::report(&[&fixture(&format!("seeds/{file}"))]).expect(0).json();
        let frames: Vec<&Frame> = FRAMES.iter().filter(|frame| frame.file == file).collect();
        checks.about(file);
        checks.eq("totals.frames", number(&report, "totals.frames"), frames.len() as u64);
        checks.eq(
            "totals.wire_bytes",
            number(&report, "totals.wire_bytes"),
            frames.iter().map(|frame| frame.wire).sum::<u64>(),
        );
        let mut ids = Vec::new();
        for frame in frames {
            let (src, dst) =
                if frame.from_r1 { ("192.168.1.1", "192.168.1.2") } else { ("192.168.1.2", "192.168.1.1") };
            let ah = frame.ah.map(|(spi, sequence, _)| ("ah", spi, sequence));
            for (proto, spi, sequence) in ah.into_iter().chain(frame.esp.map(|(spi, sequence)| ("esp", spi, sequence)))
            {
                let id = format!("{proto}/{src}/{dst}/0x{spi:08x}");
                match items(&report, "sas").iter().find(|sa| text(sa, "id") == id) {
                    Some(sa) => check_sa(&mut checks, sa, frame, sequence),
                    None => checks.ok(false, || format!("{id} is not reported")),
                }
                ids.push(id);
            }
            check_lengths(&mut checks, &report, frame, &ids);
        }
        checks.eq("sas", items(&report, "sas").len(), ids.len());
    }
    checks.finish();
}

fn check_sa(checks: &mut Checks, sa: &Value, frame: &Frame, sequence: u32) {
    checks.eq("frames", number(sa, "frames"), 1);
    checks.eq("outer_bytes", number(sa, "outer_bytes"), frame.outer);
    for field in ["first", "last", "highest"] {
        checks.eq(field, number(sa, &format!("sequence.{field}")), u64::from(sequence));
    }
    for field in ["lost", "duplicate", "late", "restarts", "wraps"] {
        checks.eq(field, number(sa, &format!("sequence.{field}")), 0);
    }
    match (text(sa, "proto"), frame.ah, frame.inner) {
        // AH octets: 12 of header, the rest is the ICV: 12 of HMAC-MD5-96, 32 of HMAC-SHA512-256.
        ("ah", Some((_, _, bytes)), _) => checks.eq("AH icv_bytes", number(sa, "icv_bytes"), bytes - 12),
        ("esp", _, Some(_)) => checks.eq("ESP-NULL icv_bytes", number(sa, "icv_bytes"), 12),
        _ => {}
    }
    if let Some(inner) = frame.inner {
        checks.eq("overhead.basis", text(sa, "overhead.basis"), "visible");
        checks.eq("overhead.min_bytes", number(sa, "overhead.min_bytes"), frame.outer - inner);
        checks.eq("overhead.max_bytes", number(sa, "overhead.max_bytes"), frame.outer - inner);
    } else {
        checks.ok(text(sa, "overhead.basis") != "visible", || "encrypted bytes are not visible".to_owned());
    }
}

/// Overhead where the inner packet can be read, the outer length where it cannot.
fn check_lengths(checks: &mut Checks, report: &Value, frame: &Frame, ids: &[String]) {
    let Some(inner) = frame.inner else {
        let listed: Vec<(u64, u64)> = items(report, "outer_sizes")
            .iter()
            .filter(|row| ids.iter().any(|id| id == text(row, "sa")))
            .map(|row| (number(row, "outer_bytes"), number(row, "frames")))
            .collect();
        checks.ok(!listed.is_empty() && listed.iter().all(|row| *row == (frame.outer, 1)), || {
            format!("outer_sizes: {listed:?}")
        });
        checks.eq("sizes", items(report, "sizes").len(), 0);
        return;
    };
    let id = ids.last().expect("an SA was found");
    let Some(row) = items(report, "sizes").iter().find(|row| at(row, "sa").as_str() == Some(id)) else {
        checks.ok(false, || format!("sizes has no row of {id}"));
        return;
    };
    checks.eq("inner_bytes", number(row, "inner_bytes"), inner);
    checks.eq("outer_bytes", number(row, "outer_bytes_min"), frame.outer);
    checks.eq("overhead", number(row, "overhead_min_bytes"), 44);
    checks.eq("overhead", number(row, "overhead_max_bytes"), 44);
    checks.eq("basis", text(row, "basis"), "visible");
    checks.close("overhead_of_inner_pct", at(row, "overhead_of_inner_pct"), 4_400.0 / inner as f64);
    // 64 octets of IP are 78 captured and 102 on the wire; in the tunnel 122 captured and 146 on the wire.
    let (l1_plain, l1_tunnel) = ((inner + 14).max(60) + 24, frame.wire + 24);
    checks.eq("l1_plain_bytes", number(row, "l1_plain_bytes"), l1_plain);
    checks.close("l1_tunnel_bytes", at(row, "l1_tunnel_bytes"), l1_tunnel as f64);
    checks.close("circuit_share_pct", at(row, "circuit_share_pct"), 100.0 * l1_plain as f64 / l1_tunnel as f64);
    let parts: BTreeMap<&str, f64> = at(row, "parts")
        .as_object()
        .expect("parts is an object")
        .iter()
        .map(|(part, bytes)| (part.as_str(), bytes.as_f64().unwrap_or_default()))
        .filter(|(_, bytes)| *bytes != 0.0)
        .collect();
    let want: &[(&str, f64)] = if frame.ah.is_some() {
        &[("ah", 24.0), ("outer_ip", 20.0)]
    } else {
        &[("esp_header", 8.0), ("esp_pad", 2.0), ("esp_trailer", 2.0), ("icv", 12.0), ("outer_ip", 20.0)]
    };
    checks.eq("parts", parts, want.iter().copied().collect::<BTreeMap<_, _>>());
}

/// Codes, severities, SAs and counts of a report's findings; notes that any capture of an SA may bear are left out.
fn findings(report: &Value) -> Vec<(String, String, Option<String>, u64)> {
    items(report, "findings")
        .iter()
        .filter(|finding| !matches!(text(finding, "code"), "weak-transform" | "capture-one-direction"))
        .map(|finding| {
            let sa = at(finding, "sa").as_str().map(str::to_owned);
            (text(finding, "code").to_owned(), text(finding, "severity").to_owned(), sa, number(finding, "count"))
        })
        .collect()
}

#[test]
fn one_frame_with_spi_zero_is_an_error_that_names_the_mistake() {
    let path = fixture("seeds/test06-esp-null-broken.pcap");
    let report = support::report(&[&path]).expect(0).json();
    let id = "esp/192.168.1.1/192.168.1.2/0x00000000";
    assert_eq!(findings(&report), [("spi-zero".to_owned(), "error".to_owned(), Some(id.to_owned()), 1)]);
    let finding =
        items(&report, "findings").iter().find(|finding| text(finding, "code") == "spi-zero").expect("just seen");
    assert_eq!((number(finding, "first_frame.capture"), number(finding, "first_frame.frame")), (0, 1));
    // The document's diagnosis: AH session keys in a manual crypto map whose transform set is ESP.
    let words = format!("{} {}", text(finding, "cause"), text(finding, "remedy")).to_lowercase();
    assert!(["manual", "ah", "esp", "session"].iter().all(|word| words.contains(word)), "{words}");
    support::spiglass(&["check", path.to_str().expect("UTF-8")]).expect(1);
    support::spiglass(&["report", "--fail-on", "error", path.to_str().expect("UTF-8")]).expect(1);
    support::spiglass(&["check", "--fail-on", "never", path.to_str().expect("UTF-8")]).expect(0);
}

#[test]
fn explain_tells_the_engineer_about_a_zero_spi() {
    let run = support::spiglass(&["explain", "spi-zero"]).expect(0);
    let words = run.text().to_lowercase();
    assert!(["spi", "manual", "transform", "session"].iter().all(|word| words.contains(word)), "{words}");
    // The number itself, in either spelling, leads there.
    for word in ["0", "0x0"] {
        let run = support::spiglass(&["explain", word]).expect(0);
        assert!(run.text().contains("spi-zero"), "explain {word}: {}", run.text());
    }
}

#[test]
fn the_other_tunnel_captures_have_nothing_wrong() {
    for file in FRAMES.iter().map(|frame| frame.file).filter(|file| !file.contains("broken")) {
        let path = fixture(&format!("seeds/{file}"));
        assert_eq!(findings(&support::report(&[&path]).expect(0).json()), [], "{file}");
        support::spiglass(&["check", path.to_str().expect("UTF-8")]).expect(0);
    }
}

#[test]
fn padding_is_0xff_from_the_tester_and_0x00_from_the_router() {
    let path = fixture("seeds/plain.pcap");
    let report = support::report(&[&path]).expect(0).json();
    let rows: Vec<(&str, &str, u64, u64, u64, u64)> = items(&report, "padding.ethernet")
        .iter()
        .map(|row| {
            (
                text(row, "direction"),
                text(row, "pattern"),
                number(row, "frames"),
                number(row, "pad_bytes_min"),
                number(row, "pad_bytes_max"),
                number(row, "examples.0.frame"),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("00:00:00:00:00:11 > 50:57:a8:bb:55:55", "ff", 1, 6, 6, 1),
            ("e0:5f:b9:90:ac:2b > 00:80:16:8c:06:78", "zero", 1, 6, 6, 2),
        ]
    );
    // One frame is not enough for more than a note.
    let found: Vec<(String, String, u64)> =
        findings(&report).into_iter().map(|(code, severity, _, count)| (code, severity, count)).collect();
    assert_eq!(found, [("ethernet-padding-leak".to_owned(), "note".to_owned(), 1)]);
    assert_eq!(items(&report, "sas").len(), 0);
    let frames = support::frames(&path);
    let listed: Vec<(&str, &str, &str, &str)> = frames
        .iter()
        .map(|row| (row.get("wire_bytes"), row.get("outer_bytes"), row.get("ethernet_pad_bytes"), row.get("outer_src")))
        .collect();
    assert_eq!(listed, [("60", "40", "6", "192.168.2.2"); 2]);
}

#[test]
fn esp_null_padding_is_counted_where_it_is_visible() {
    let report = support::report(&[&fixture("seeds/test06-esp-null-fixed.pcap")]).expect(0).json();
    let rows: Vec<(String, u64, u64, u64)> = items(&report, "padding.esp")
        .iter()
        .map(|row| {
            (
                at(row, "pad_lengths").to_string(),
                number(row, "monotonic"),
                number(row, "other"),
                number(row, "longer_than_needed"),
            )
        })
        .collect();
    assert_eq!(rows, [(r#"{"2":1}"#.to_owned(), 1, 0, 0), (r#"{"2":1}"#.to_owned(), 1, 0, 0)]);
}

#[test]
fn all_containers_of_one_capture_say_the_same() {
    let mut checks = Checks::new("");
    let whole = |name: &str| {
        let tap = format!("t={}", fixture(&format!("seeds/{name}")).display());
        support::spiglass(&["report", "--format", "json", "--tap", &tap]).expect(0).json()
    };
    let source = whole("test06-esp-null-fixed.pcap");
    for (name, format, compression) in [
        ("test06-esp-null-fixed-be.pcap", "pcap", None),
        ("test06-esp-null-fixed-ns.pcap", "pcap", None),
        ("test06-esp-null-fixed-be-ns.pcap", "pcap", None),
        ("test06-esp-null-fixed.pcapng", "pcapng", None),
        ("test06-esp-null-fixed-be.pcapng", "pcapng", None),
        ("test06-esp-null-fixed.pcap.gz", "pcap", Some("gzip")),
    ] {
        let mut report = whole(name);
        checks.about(name);
        checks.eq("format", text(&report, "captures.0.format"), format);
        checks.eq("compression", at(&report, "captures.0.compression").as_str(), compression);
        report["captures"] = at(&source, "captures").clone();
        checks.eq("everything else", &report, &source);
    }
    checks.finish();
}

/// A second of one frame repeated at a rate, numbered upwards at an offset (so that no frame is a copy); the last frame is
/// exactly one second after the first.
fn second_of(figure: &str, sequence_at: usize, per_second: u32) -> Vec<Out> {
    let hex = std::fs::read_to_string(fixture(&format!("seeds/frames/{figure}.hex"))).expect("a figure");
    let octets: Vec<u8> =
        (0..hex.trim().len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hex")).collect();
    (0..=per_second)
        .map(|n| {
            let mut frame = octets.clone();
            frame[sequence_at..sequence_at + 4].copy_from_slice(&(n + 1).to_be_bytes());
            Out::whole(1_410_868_800_000_000_000 + u64::from(n) * 1_000_000_000 / u64::from(per_second), frame)
        })
        .collect()
}

#[test]
fn the_documents_rates_fall_out_of_one_second_of_capture() {
    // 8490 packets/s of 64 octets: 6.93 Mbit/s end to end. In ESP-NULL-MD5 each is 122 captured and 146 on the wire.
    let dir = support::scratch("rates");
    let path = support::write_file(&dir, "esp-null.pcap", &plain_pcap(&second_of("fig13-esp-spi-1002", 38, 8490)));
    let report = support::report(&[&path]).expect(0).json();
    let mut checks = Checks::new("8491 frames of figure 13 in one second");
    let frames = 8491.0;
    let row = at(&report, "sizes.0");
    checks.eq("sizes", items(&report, "sizes").len(), 1);
    checks.close("frames_per_s", at(row, "frames_per_s"), frames);
    checks.close("l1_plain_bps", at(row, "l1_plain_bps"), frames * 102.0 * 8.0);
    checks.close("l1_tunnel_bps", at(row, "l1_tunnel_bps"), frames * 146.0 * 8.0);
    let direction = at(&report, "rates.directions.0");
    checks.eq("direction", text(direction, "direction"), "50:57:a8:bb:55:6d > e0:5f:b9:90:ac:43");
    checks.close("l1_bps", at(direction, "l1_bps"), frames * 146.0 * 8.0);
    checks.close("l2_bps", at(direction, "l2_bps"), frames * 126.0 * 8.0);
    checks.close("l3_bps", at(direction, "l3_bps"), frames * 108.0 * 8.0);
    checks.close("goodput_bps", at(direction, "goodput_bps"), frames * 64.0 * 8.0);
    checks.eq("lost", number(&report, "sas.0.sequence.lost"), 0);

    // In ESP-DES-MD5 each is 134 captured and 158 on the wire: 10.73 Mbit/s of circuit.
    let path = support::write_file(&dir, "esp-des.pcap", &plain_pcap(&second_of("fig15-esp-des-md5", 38, 8490)));
    let path = path.to_str().expect("UTF-8");
    let report = support::spiglass(&["report", "--format", "json", "--link-rate", "100M", path]).expect(0).json();
    checks.about("8491 frames of figure 15 in one second");
    let direction = at(&report, "rates.directions.0");
    checks.close("l1_bps", at(direction, "l1_bps"), frames * 158.0 * 8.0);
    checks.close("utilisation_pct", at(direction, "utilisation_pct"), frames * 158.0 * 8.0 / 1e6);
    checks.ok(at(direction, "goodput_bps").is_null(), || "the goodput of encrypted packets is not known".to_owned());
    checks.finish();
}

#[test]
fn pause_frames_are_told_apart_from_the_rate() {
    // Table 1 of the companion document on the 1921 prints L1 rates that are 58 to 70 Mbit/s too high: PAUSE frames.
    let mut frames = second_of("fig22-plain-40B-padded-ff", 34, 1000);
    let mut pause = vec![0x01, 0x80, 0xc2, 0, 0, 1, 0, 0, 0, 0, 0, 0x11, 0x88, 0x08, 0, 1, 0xff, 0xff];
    pause.resize(60, 0);
    let pauses: Vec<Out> = frames.iter().step_by(10).map(|frame| Out::whole(frame.time_ns, pause.clone())).collect();
    let count = pauses.len() as f64;
    frames.extend(pauses);
    frames.sort_by_key(|frame| frame.time_ns);
    let dir = support::scratch("pause");
    let path = support::write_file(&dir, "pause.pcap", &plain_pcap(&frames));
    let report = support::spiglass(&["report", "--format", "json", "--link-rate", "1G", path.to_str().expect("UTF-8")])
        .expect(0)
        .json();
    let mut checks = Checks::new("1001 frames of figure 22 and 101 PAUSE frames in one second");
    checks.eq("control_frames", number(&report, "totals.control_frames"), 101);
    checks.eq("directions", items(&report, "rates.directions").len(), 1);
    let direction = at(&report, "rates.directions.0");
    let (l1, control) = (1001.0 * 84.0 * 8.0, count * 84.0 * 8.0);
    checks.eq("frames", number(direction, "frames"), 1102);
    checks.close("l1_bps", at(direction, "l1_bps"), l1);
    checks.close("control_l1_bps", at(direction, "control_l1_bps"), control);
    checks.close("l1_with_control_bps", at(direction, "l1_with_control_bps"), l1 + control);
    let row = at(&report, "rates.pause.0");
    checks.eq("pause frames", number(row, "frames"), 101);
    checks.eq("quanta", number(row, "quanta"), 101 * 65_535);
    // A PAUSE of 65535 quanta stops 33.55 ms at 1 Gbit/s, longer than the 10 ms to the next; the last runs in full.
    checks.eq("stopped_ns", number(row, "stopped_ns"), 1_000_000_000 + 65_535 * 512);
    let codes: Vec<&str> = items(&report, "findings").iter().map(|finding| text(finding, "code")).collect();
    checks.ok(codes.contains(&"pause-frames"), || format!("PAUSE frames are told: {codes:?}"));
    checks.finish();
}
