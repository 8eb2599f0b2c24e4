//! `annotate`: the capture is the same capture, with comments where the report has findings.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::{START, esp};
use crate::support::writer::{ETHERNET, Order, Out, Step, pcap, pcapng};
use crate::support::{Run, fixture, installed, scratch, shared, spiglass, write_file};
use spiglass::Source;
use spiglass::capture::{CaptureReader, Chunk};

/// Number, time, octets on the wire and octets of each frame.
type Frames = Vec<(u64, Option<i64>, u32, Vec<u8>)>;

fn frames(path: &Path) -> Frames {
    let mut reader = CaptureReader::open(&Source::Path(path.into()), 0).expect("a capture");
    let (mut chunk, mut all) = (Chunk::new(), Vec::new());
    while reader.next_chunk(&mut chunk) {
        let of = |frame: spiglass::capture::Frame<'_>| {
            (frame.pos.number(), frame.time.ns(), frame.wire_bytes, frame.data.to_vec())
        };
        all.extend(chunk.frames().map(of));
    }
    all
}

fn annotate(capture: &Path, more: &[&str], out: &Path) -> Run {
    let mut args = vec!["annotate", capture.to_str().expect("text"), "-o", out.to_str().expect("text")];
    args.extend(more);
    spiglass(&args)
}

/// It would wait for a second writer for ever.
#[test]
#[cfg(unix)]
fn a_pipe_is_refused_at_once() {
    let dir = scratch("annotate-pipe");
    let pipe = dir.join("pipe.pcap");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    let run = annotate(&pipe, &[], &dir.join("out.pcapng")).expect(2);
    assert!(run.stderr.contains("is no file: it cannot be read twice"), "{run}");
}

/// The blocks of a pcapng: type, body without the lengths, in file order.
fn blocks(bytes: &[u8], order: Order) -> Vec<(u32, Vec<u8>)> {
    let word = |at: usize| {
        let octets = bytes[at..at + 4].try_into().expect("four octets");
        if order == Order::Little { u32::from_le_bytes(octets) } else { u32::from_be_bytes(octets) }
    };
    let (mut at, mut all) = (0, Vec::new());
    while at < bytes.len() {
        let size = word(at + 4) as usize;
        assert_eq!(size % 4, 0);
        assert_eq!(word(at + size - 4) as usize, size, "both lengths of the block at {at}");
        all.push((word(at), bytes[at + 8..at + size - 4].to_vec()));
        at += size;
    }
    all
}

/// What follows `spiglass ` in the comments of a file, up to the end of the comment.
fn comments(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let comments = text.split("spiglass ").skip(1);
    comments.map(|c| c.chars().take_while(|c| !c.is_control() && *c != '\u{fffd}').collect()).collect()
}

/// 20 packets of which three are missing, one has no SPI and one comes twice.
fn troubled() -> Vec<Out> {
    let packet = |at: u64, spi: u32, sequence: u32| {
        let frame = esp([192, 168, 1, 1].into(), [192, 168, 1, 2].into(), spi, sequence, &[sequence as u8; 76]);
        Out::whole(START + at * 1_000_000, frame)
    };
    let mut out: Vec<Out> = (1..=20).filter(|n| !(8..=10).contains(n)).map(|n| packet(u64::from(n), 1001, n)).collect();
    out.push(packet(30, 0, 1));
    out
}

#[test]
fn every_capture_stays_the_capture_it_was() {
    let dir = scratch("annotate-same");
    let out = dir.join("out.pcapng");
    let mut files: Vec<PathBuf> = Vec::new();
    let frames_of = troubled();
    for (name, bytes) in [
        ("le-us.pcap", pcap(&frames_of, ETHERNET, Order::Little, Step::Micro)),
        ("be-us.pcap", pcap(&frames_of, ETHERNET, Order::Big, Step::Micro)),
        ("le-ns.pcap", pcap(&frames_of, ETHERNET, Order::Little, Step::Nano)),
        ("fcs.pcap", pcap(&frames_of, 0x2400_0001, Order::Big, Step::Nano)),
        ("le.pcapng", pcapng(&frames_of, Order::Little)),
        ("be.pcapng", pcapng(&frames_of, Order::Big)),
        ("empty.pcap", pcap(&[], ETHERNET, Order::Little, Step::Micro)),
        ("empty.pcapng", pcapng(&[], Order::Big)),
    ] {
        files.push(write_file(&dir, name, &bytes));
    }
    files.push(fixture("seeds/test06-esp-null-fixed-be.pcapng"));
    for folder in ["lab", "corpus/container", "corpus/ipsec"] {
        let Some(folder) = shared(folder) else { continue };
        let mut captures: Vec<PathBuf> = walk(&folder).into_iter().filter(|path| is_capture(path)).collect();
        captures.sort();
        // One of seven says as much as all.
        files.extend(captures.into_iter().step_by(7));
    }
    for file in &files {
        let _ = std::fs::remove_file(&out);
        let run = annotate(file, &["--accept-cut"], &out);
        if !out.exists() {
            assert_eq!(run.status, 2, "{run}");
            continue;
        }
        let (before, after) = (frames(file), frames(&out));
        assert!(before == after, "{}: {} and {} frames", file.display(), before.len(), after.len());
    }
}

/// Runs a program of Wireshark's; what it wrote on standard output, where it had no complaint.
fn tool(program: &str, args: &[&str], paths: &[&Path]) -> Option<Vec<u8>> {
    let output = Command::new(program).args(args).args(paths).output().expect("it runs");
    output.status.success().then_some(output.stdout)
}

/// Magic and link type of a pcap, and the octets of its records. A pcapng has no snapshot length of the file, so editcap states its own.
fn records(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let bytes = std::fs::read(path).expect("written");
    ([&bytes[..4], &bytes[20..24]].concat(), bytes[24..].to_vec())
}

/// Wireshark's programs read the annotated capture as the original, and make the same pcap of both: of a pcap in this machine's order of
/// octets the records that it had.
#[test]
fn an_annotated_capture_is_converted_back_to_the_octets_it_had() {
    if !["editcap", "tshark"].iter().all(|tool| installed(tool, "conversion of annotated captures")) {
        return;
    }
    let dir = scratch("annotate-back");
    let [out, back, direct] = ["out.pcapng", "back.pcap", "direct.pcap"].map(|name| dir.join(name));
    let frames_of = troubled();
    let own = [
        ("le-us.pcap", pcap(&frames_of, ETHERNET, Order::Little, Step::Micro)),
        ("be-us.pcap", pcap(&frames_of, ETHERNET, Order::Big, Step::Micro)),
        ("le-ns.pcap", pcap(&frames_of, ETHERNET, Order::Little, Step::Nano)),
        ("be-ns.pcap", pcap(&frames_of, ETHERNET, Order::Big, Step::Nano)),
        ("le.pcapng", pcapng(&frames_of, Order::Little)),
        ("be.pcapng", pcapng(&frames_of, Order::Big)),
    ];
    let mut files: Vec<PathBuf> = own.iter().map(|(name, bytes)| write_file(&dir, name, bytes)).collect();
    for folder in
        [fixture("lab/loss-before-tap-tunnel.pcap").parent().map(Path::to_owned), shared("lab"), shared("corpus/ipsec")]
            .into_iter()
            .flatten()
    {
        let mut captures: Vec<PathBuf> = walk(&folder).into_iter().filter(|path| is_capture(path)).collect();
        captures.sort();
        files.extend(captures.into_iter().step_by(11));
    }
    let mut converted = 0;
    for file in &files {
        if annotate(file, &[], &out).status != 0 {
            continue;
        }
        let listing = ["-n", "-T", "fields", "-e", "frame.number", "-e", "frame.time_epoch", "-e", "frame.len", "-r"];
        let [before, after] = [file, &out].map(|path| tool("tshark", &listing, &[path]));
        assert!(before.is_some() && after.is_some(), "{}: tshark complains", file.display());
        assert!(before == after, "{}", file.display());
        let bytes = std::fs::read(file).expect("there");
        let nanoseconds = matches!(bytes.get(..4), Some([0x4d, 0x3c, 0xb2, 0xa1] | [0xa1, 0xb2, 0x3c, 0x4d]));
        let format = ["-F", if nanoseconds || bytes.starts_with(&[0x0a]) { "nsecpcap" } else { "pcap" }];
        // What has interfaces of several link types is no pcap, annotated or not.
        let Some(_) = tool("editcap", &format, &[file, &direct]) else { continue };
        assert!(tool("editcap", &format, &[&out, &back]).is_some(), "{}", file.display());
        assert!(records(&back) == records(&direct), "{}", file.display());
        assert!(frames(&back) == frames(file), "{}", file.display());
        if matches!(bytes.get(..4), Some([0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]))
            && cfg!(target_endian = "little")
        {
            assert!(records(&back) == records(file), "{}", file.display());
        }
        converted += 1;
    }
    assert!(converted >= own.len(), "{converted} files");
}

/// `frame.comment` selects the frames of a finding.
#[test]
fn comments_are_found_by_the_code_of_the_finding_in_tshark() {
    if !installed("tshark", "comments of annotated captures") {
        return;
    }
    let dir = scratch("annotate-filter");
    let path = write_file(&dir, "tap.pcap", &pcap(&troubled(), ETHERNET, Order::Little, Step::Nano));
    let out = dir.join("out.pcapng");
    annotate(&path, &[], &out).expect(0);
    let report = spiglass(&["report", "--format", "json", path.to_str().expect("text")]).expect(0).json();
    for code in ["sequence-gap", "spi-zero"] {
        let findings = report["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|finding| finding["code"] == code).expect("it is found");
        let frames: Vec<String> =
            finding["occurrences"].as_array().expect("frames").iter().map(|one| one["frame"].to_string()).collect();
        let filter = format!("frame.comment contains \"spiglass {code}:\"");
        let shown = tool("tshark", &["-n", "-Y", &filter, "-T", "fields", "-e", "frame.number", "-r"], &[&out]);
        let shown = String::from_utf8(shown.expect("a filter")).expect("numbers");
        assert_eq!(shown.lines().collect::<Vec<_>>(), frames, "{code}");
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] }).collect()
}

fn is_capture(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.ends_with(".pcap") || name.ends_with(".pcapng"))
}

/// All blocks but the section header and those with comments are the same octets; options that were there stay.
#[test]
fn blocks_without_comments_are_copied_and_options_stay() {
    let dir = scratch("annotate-blocks");
    for order in [Order::Little, Order::Big] {
        let path = write_file(&dir, "in.pcapng", &pcapng(&troubled(), order));
        let out = dir.join("out.pcapng");
        annotate(&path, &[], &out).expect(0);
        let once = std::fs::read(&out).expect("written");
        let (before, after) = (blocks(&std::fs::read(&path).expect("there"), order), blocks(&once, order));
        assert_eq!(before.len(), after.len());
        let mut longer = 0;
        for ((kind, old), (same, new)) in before.iter().zip(&after) {
            assert_eq!(kind, same);
            assert!(new.starts_with(old), "block of type {kind:#x}");
            longer += usize::from(new.len() > old.len());
        }
        // The section, the frame after the gap and the one with SPI 0 at least.
        assert!((3..6).contains(&longer), "{longer} blocks with comments");
        // Comments of a first run are options that stay in a second.
        let again = dir.join("again.pcapng");
        annotate(&out, &[], &again).expect(0);
        let twice = std::fs::read(&again).expect("written");
        assert_eq!(comments(&twice).len(), 2 * comments(&once).len());
        assert_eq!(frames(&again), frames(&path));
    }
}

/// The interface of a pcap, which has no name for it, gets the name of the tap; names of a pcapng are in the report and stay.
#[test]
fn interfaces_have_names() {
    let dir = scratch("annotate-interfaces");
    let path = write_file(&dir, "wan-side.pcap", &pcap(&troubled(), ETHERNET, Order::Little, Step::Nano));
    let out = dir.join("out.pcapng");
    annotate(&path, &[], &out).expect(0);
    let run = spiglass(&["report", out.to_str().expect("text")]).expect(0);
    // Where the line is broken depends on how long the path is.
    let text = String::from_utf8_lossy(&run.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("pcapng, Ethernet, interface wan-side, "), "{text}");
    let json = spiglass(&["report", "--format", "json", out.to_str().expect("text")]).expect(0).json();
    assert_eq!(json["captures"][0]["interfaces"][0]["name"], "wan-side");
}

#[test]
fn comments_stand_where_the_findings_are() {
    let dir = scratch("annotate-where");
    let path = write_file(&dir, "tap.pcapng", &pcapng(&troubled(), Order::Little));
    let out = dir.join("out.pcapng");
    annotate(&path, &[], &out).expect(0);
    let packets: Vec<String> = blocks(&std::fs::read(&out).expect("written"), Order::Little)
        .into_iter()
        .filter(|(kind, _)| *kind == 6)
        .map(|(_, body)| comments(&body).join("|"))
        .collect();
    assert_eq!(packets.len(), 18);
    // Numbers 8 to 10 are missing before frame 8.
    assert!(packets[7].contains("sequence-gap"), "{packets:?}");
    assert!(packets[17].contains("spi-zero"), "{packets:?}");
    assert!(packets[..6].iter().all(String::is_empty), "{packets:?}");
    assert!(packets[8..16].iter().all(String::is_empty), "{packets:?}");
}

#[test]
fn an_excerpt_has_the_neighbours_of_findings() {
    let dir = scratch("annotate-excerpt");
    let path = write_file(&dir, "tap.pcap", &pcap(&troubled(), ETHERNET, Order::Little, Step::Nano));
    let out = dir.join("out.pcapng");
    annotate(&path, &["--only", "findings", "--context", "1"], &out).expect(0);
    let all = frames(&path);
    let kept: Vec<u64> = frames(&out)
        .iter()
        .map(|(_, time, ..)| all.iter().find(|(_, own, ..)| own == time).expect("one of the capture").0)
        .collect();
    assert!(kept.len() < 9 && kept.ends_with(&[17, 18]) && kept.contains(&7) && kept.contains(&8), "{kept:?}");
    let text = comments(&std::fs::read(&out).expect("written"));
    assert!(text.iter().any(|comment| comment.starts_with("frame 7 of ")), "{text:?}");
}

#[test]
fn pairs_are_told_in_the_tunnel() {
    let dir = scratch("annotate-pairs");
    let plain = fixture("lab/loss-before-tap-plain-a.pcap");
    let out = dir.join("out.pcapng");
    let tunnel = fixture("lab/loss-before-tap-tunnel.pcap");
    let run = annotate(&tunnel, &["--plain", plain.to_str().expect("text")], &out).expect(0);
    assert!(run.stderr.contains("with comments"), "{run}");
    let text = comments(&std::fs::read(&out).expect("written"));
    let pairs = text.iter().filter(|comment| comment.starts_with("pair: plain frame ")).count();
    assert!(pairs > 1_000, "{pairs}");
    assert!(text.iter().any(|comment| comment.contains("overhead") && comment.contains(" later")), "{text:?}");
}

/// The CSV of the pairs says of either side what `--plain` says of the tunnel.
#[test]
fn pairs_of_match_are_told_on_either_side() {
    let dir = scratch("annotate-match");
    let [plain, tunnel] = ["plain-a", "tunnel"].map(|side| fixture(&format!("lab/loss-before-tap-{side}.pcap")));
    let [plain_name, tunnel_name] = [&plain, &tunnel].map(|path| path.to_str().expect("text"));
    let sides = ["match", "-q", "--plain", plain_name, "--tunnel", tunnel_name];
    let rows = spiglass(&[&sides[..], &["--table", "pairs", "--format", "csv"]].concat()).expect(0).stdout;
    let pairs = write_file(&dir, "pairs.csv", &rows);
    let (of_plain, of_pairs) = (dir.join("plain.pcapng"), dir.join("pairs.pcapng"));
    annotate(&tunnel, &["--plain", plain_name], &of_plain).expect(0);
    annotate(&tunnel, &["--match", pairs.to_str().expect("text")], &of_pairs).expect(0);
    let [of_plain, of_pairs] = [of_plain, of_pairs].map(|path| std::fs::read(path).expect("written"));
    assert!(of_plain == of_pairs, "the same comments");
    // The plain side: its packets say their tunnelled ones, and the JSON says which were lost.
    let json = spiglass(&[&sides[..], &["--format", "json"]].concat()).expect(0);
    let lost: Vec<u64> = json.json()["lost"]
        .as_array()
        .expect("lost")
        .iter()
        .map(|lost| lost["frame"]["frame"].as_u64().expect("a frame"))
        .collect();
    assert_eq!(lost.len(), 10);
    let json = write_file(&dir, "match.json", &json.stdout);
    let out = dir.join("lan.pcapng");
    let both = ["--match", pairs.to_str().expect("text"), "--match", json.to_str().expect("text")];
    annotate(&plain, &both, &out).expect(0);
    let packets: Vec<Vec<String>> = blocks(&std::fs::read(&out).expect("written"), Order::Little)
        .into_iter()
        .filter(|(kind, _)| *kind == 6)
        .map(|(_, body)| comments(&body))
        .collect();
    for (frame, told) in (1..).zip(&packets) {
        let is_lost = told.iter().any(|comment| comment.starts_with("match-loss: not seen at the tunnel tap; number "));
        let is_pair = told.iter().any(|comment| comment.starts_with("pair: tunnel frame "));
        assert_eq!(is_lost, lost.contains(&frame), "frame {frame}: {told:?}");
        assert!(!(is_lost && is_pair), "frame {frame}: {told:?}");
    }
    // All but the two that are guesses.
    assert_eq!(packets.iter().filter(|told| told.iter().any(|one| one.starts_with("pair: "))).count(), 1_248);
}

#[test]
fn outputs_of_match_that_say_nothing_of_the_capture_are_refused() {
    let dir = scratch("annotate-match-refused");
    let [plain, tunnel] = ["plain-a", "tunnel"].map(|side| fixture(&format!("lab/loss-before-tap-{side}.pcap")));
    let name = |path: &Path| path.to_str().expect("text").to_owned();
    let run = |more: &[&str]| {
        let sides = ["match", "-q", "--plain", &name(&plain), "--tunnel", &name(&tunnel)];
        spiglass(&[&sides[..], more].concat()).expect(0).stdout
    };
    let pairs = write_file(&dir, "pairs.csv", &run(&["--table", "pairs", "--format", "csv"]));
    let sizes = write_file(&dir, "sizes.csv", &run(&["--table", "sizes", "--format", "csv"]));
    let lines = write_file(&dir, "lines.json", &run(&["--format", "ndjson"]));
    let json = write_file(&dir, "match.json", &run(&["--format", "json"]));
    let report = spiglass(&["report", "--format", "json", &name(&tunnel)]).expect(0).stdout;
    let report = write_file(&dir, "report.json", &report);
    let other = write_file(&dir, "other.pcap", &pcap(&troubled(), ETHERNET, Order::Little, Step::Nano));
    // The same name, another capture.
    let elsewhere = scratch("annotate-match-elsewhere");
    let alike = write_file(&elsewhere, "loss-before-tap-tunnel.pcap", &std::fs::read(&other).expect("there"));
    let alike_plain = write_file(&elsewhere, "loss-before-tap-plain-a.pcap", &std::fs::read(&other).expect("there"));
    for (capture, file, words) in [
        (&tunnel, &json, "--table pairs --format csv"),
        (&tunnel, &sizes, "no row of `match --table pairs --format csv`"),
        (&plain, &lines, "not rows of --format ndjson"),
        (&plain, &report, "no output of `match`"),
        (&other, &pairs, "of other captures"),
        (&other, &json, "of other captures"),
        (&alike, &pairs, "it is of another capture"),
        (&alike_plain, &json, "it is of another capture"),
    ] {
        let out = dir.join("refused.pcapng");
        let told = annotate(capture, &["--match", &name(file)], &out).expect(2);
        assert!(told.stderr.contains(words) && !out.exists(), "{told}");
    }
    // A copy elsewhere is the same capture.
    let copy = write_file(&elsewhere, "loss-before-tap-tunnel.pcap", &std::fs::read(&tunnel).expect("there"));
    annotate(&copy, &["--match", &name(&pairs)], &dir.join("copy.pcapng")).expect(0);
    // It must not be written over.
    annotate(&tunnel, &["--match", &name(&pairs)], &pairs).expect(2);
}

#[test]
fn what_cannot_be_done_is_said() {
    let dir = scratch("annotate-errors");
    let path = write_file(&dir, "tap.pcap", &pcap(&troubled(), ETHERNET, Order::Little, Step::Nano));
    let name = path.to_str().expect("text");
    let run = spiglass(&["annotate", "-", "-o", "x.pcapng"]).expect(2);
    assert!(run.stderr.contains("read twice"), "{run}");
    let run = annotate(&path, &[], &path).expect(2);
    assert!(run.stderr.contains("written over"), "{run}");
    assert!(spiglass(&["annotate", name]).expect(2).stderr.contains("--output"));
    let junk = write_file(&dir, "junk.pcap", b"no capture");
    let out = dir.join("out.pcapng");
    let _ = std::fs::remove_file(&out);
    annotate(&junk, &[], &out).expect(2);
    assert!(!out.exists());
    // A table must not take the place of what is read.
    let config = write_file(&dir, "r1.cfg", &std::fs::read(fixture("policy/lab-wrong-auth-key.txt")).expect("there"));
    let before = std::fs::read(&config).expect("there");
    let config = config.to_str().expect("text");
    for more in [&["--config", config, "--esp-sa", config][..], &["--colour-filters", name]] {
        let run = annotate(&path, more, &out).expect(2);
        assert!(run.stderr.contains("written over"), "{run}");
    }
    assert!(std::fs::read(config).expect("there") == before, "the configuration is as it was");
    // A cut capture: what there is is written.
    let bytes = std::fs::read(&path).expect("there");
    let cut = write_file(&dir, "cut.pcap", &bytes[..bytes.len() - 9]);
    let run = annotate(&cut, &[], &out).expect(2);
    assert!(run.stderr.contains("cut"), "{run}");
    assert_eq!(frames(&out).len(), troubled().len() - 1);
    // Few comments are allowed.
    let run = annotate(&path, &["--limit", "1"], &out).expect(0);
    assert!(run.stderr.contains("--limit"), "{run}");
}

/// Keys leave the program in the one file that was asked for, which nobody else may read.
#[cfg(unix)]
#[test]
fn keys_go_into_the_esp_sa_table_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    const KEYS: [&str; 2] = ["12bd8d7f25e078231125ba95e915d998", "f750fe0b3c63113b24dd1b3f24b5ab2e62daba91"];
    let dir = scratch("annotate-keys");
    let (table, colours, out) = (dir.join("esp_sa"), dir.join("colorfilters"), dir.join("out.pcapng"));
    // One that is there, for all to read.
    std::fs::write(&table, "old").expect("written");
    std::fs::set_permissions(&table, std::fs::Permissions::from_mode(0o644)).expect("set");
    let config = fixture("policy/lab-wrong-auth-key.txt");
    let more = ["--config", "--esp-sa", "--colour-filters"];
    let paths = [&config, &table, &colours].map(|path| path.to_str().expect("text"));
    let more: Vec<&str> = more.into_iter().zip(paths).flat_map(|(name, path)| [name, path]).collect();
    let run = annotate(&fixture("lab/wrong-auth-key-tunnel.pcap"), &more, &out).expect(0);
    assert_eq!(std::fs::metadata(&table).expect("there").permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&table).expect("text");
    assert!(KEYS.iter().all(|key| text.contains(key)), "all keys of one SA");
    assert!(text.contains("\"0x000003ea\",\"AES-CBC [RFC3602]\",\"0x12bd"), "{}", text.len());
    let others =
        [std::fs::read(&out).expect("there"), std::fs::read(&colours).expect("there"), run.stderr.into_bytes()];
    for other in others {
        let other = String::from_utf8_lossy(&other).into_owned();
        assert!(KEYS.iter().all(|key| !other.contains(key)), "a key outside the table");
    }
    let rules = std::fs::read_to_string(&colours).expect("text");
    assert!(rules.lines().all(|rule| rule.starts_with("@spiglass ") && rule.matches('@').count() == 3), "{rules}");
    // What the table says is read again as the same SAs.
    let again =
        spiglass(&["check", "--config", table.to_str().expect("text"), "fixtures/lab/wrong-auth-key-tunnel.pcap"]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("icv-invalid"), "{again}");
}
