//! Partial states through the binary: the merge of the states of F1..Fn is the report of F1..Fn, octet for octet, whatever
//! the grouping, the order and the number of threads; and states that do not belong together are refused.

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::build::{self, Noise, R1, R2, START};
use crate::support::writer::{Out, plain_pcap};
use crate::support::{fixture, oracle, scratch, shared, spiglass};

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn report(captures: &[PathBuf], jobs: &str) -> Vec<u8> {
    let mut args = vec!["report", "--format", "json", "--jobs", jobs];
    args.extend(captures.iter().map(|c| path(c)));
    spiglass(&args).stdout
}

fn merge(states: &[PathBuf]) -> Vec<u8> {
    let mut args = vec!["merge", "--allow-duplicate", "--format", "json"];
    args.extend(states.iter().map(|s| path(s)));
    spiglass(&args).stdout
}

/// The state of some captures, in a file.
fn state(captures: &[PathBuf], to: PathBuf) -> PathBuf {
    let mut args = vec!["partial", "-o", path(&to)];
    args.extend(captures.iter().map(|c| path(c)));
    let run = spiglass(&args);
    assert!(run.stdout.is_empty(), "with -o nothing goes to standard output");
    to
}

/// Captures in random groups, each group a state, the states merged in random order: some directly, some by way of a
/// merged state.
fn check(name: &str, captures: &[PathBuf], random: &mut Noise) {
    let dir = scratch(&format!("states-{name}"));
    let whole = report(captures, "1");
    assert!(report(captures, "8") == whole, "{name}: 8 threads say something else than one");
    for round in 0..2 {
        let mut groups: Vec<Vec<PathBuf>> = vec![Vec::new(); captures.len().min(3)];
        for (at, capture) in captures.iter().enumerate() {
            let group = if at < groups.len() { at } else { random.below(groups.len() as u64) as usize };
            groups[group].push(capture.clone());
        }
        let mut states: Vec<PathBuf> = groups
            .iter()
            .enumerate()
            .map(|(at, group)| state(group, dir.join(format!("{round}-{at}.state"))))
            .collect();
        let at = random.below(states.len() as u64) as usize;
        states.rotate_left(at);
        assert!(merge(&states) == whole, "{name}: merged states say something else than one run");
        let merged = dir.join(format!("{round}-merged.state"));
        let (first, rest) = states.split_first().expect("there is a state");
        spiglass(&["merge", "--state-out", path(&merged), path(first)]).expect(0);
        // The same part again is harmless.
        let mut again = rest.to_vec();
        again.extend([merged, first.clone()]);
        assert!(merge(&again) == whole, "{name}: a merged state says something else than one run");
    }
    std::fs::remove_dir_all(dir).expect("a scratch directory can be removed");
}

#[test]
fn merged_states_of_a_rotation_are_the_report_of_one_run() {
    let dir = scratch("rotation-states");
    let mut random = Noise(7);
    let records = oracle::read_capture(&fixture("lab/loss-before-tap-tunnel.pcap")).records;
    for round in 0..3 {
        let mut cuts: Vec<usize> = (0..4).map(|_| random.below(records.len() as u64) as usize).collect();
        cuts.extend([0, records.len()]);
        cuts.sort_unstable();
        let files: Vec<PathBuf> = cuts
            .windows(2)
            .enumerate()
            .map(|(n, cut)| {
                let frames: Vec<Out> = records[cut[0]..cut[1]]
                    .iter()
                    .map(|r| Out {
                        time_ns: r.time_ns.unsigned_abs(),
                        data: r.data.clone(),
                        wire_bytes: r.wire_bytes as u32,
                    })
                    .collect();
                support::write_file(&dir, &format!("{round}-{n}.pcap"), &plain_pcap(&frames))
            })
            .collect();
        check(&format!("rotation-{round}"), &files, &mut random);
    }
}

#[test]
fn merged_states_of_every_lab_scenario_are_the_report_of_one_run() {
    let Some(lab) = shared("lab") else { return };
    let mut random = Noise(11);
    let mut scenarios: Vec<PathBuf> =
        std::fs::read_dir(lab).expect("a folder").map(|e| e.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    scenarios.sort();
    assert!(scenarios.len() > 60);
    for scenario in scenarios {
        let mut captures: Vec<PathBuf> = std::fs::read_dir(&scenario)
            .expect("a folder")
            .map(|e| e.expect("an entry").path())
            .filter(|p| p.to_string_lossy().contains(".pcap"))
            .collect();
        captures.sort();
        let name = scenario.file_name().expect("a name").to_string_lossy().into_owned();
        check(&name, &captures, &mut random);
    }
}

#[test]
fn states_that_do_not_belong_together_are_refused() {
    let dir = scratch("refused-states");
    let capture = fixture("lab/ah-sha256-tunnel.pcap");
    let one = state(std::slice::from_ref(&capture), dir.join("one.state"));
    let bins = dir.join("bins.state");
    spiglass(&["partial", "--bin", "100ms", "-o", path(&bins), path(&capture)]).expect(0);
    let run = spiglass(&["merge", path(&one), path(&bins)]).expect(2);
    assert!(run.stderr.contains("--bin") && run.stderr.contains("Nothing was merged"), "{run}");
    assert!(run.stdout.is_empty(), "{run}");

    let parts: Vec<PathBuf> = ["lab/ah-sha256-tunnel.pcap", "lab/loss-before-tap-tunnel.pcap"]
        .iter()
        .map(|name| {
            let to = dir.join(format!("{}.part", name.replace('/', "-")));
            spiglass(&["partial", "--stream", "west", "--part", "1", "-o", path(&to), path(&fixture(name))]).expect(0);
            to
        })
        .collect();
    let run = spiglass(&["merge", path(&parts[0]), path(&parts[1])]).expect(2);
    assert!(run.stderr.contains("part 1 of stream west"), "{run}");
}

#[test]
fn a_damaged_state_is_named_and_not_believed() {
    let dir = scratch("damaged-states");
    let sound = state(&[fixture("lab/ah-sha256-tunnel.pcap")], dir.join("sound.state"));
    let bytes = std::fs::read(&sound).expect("the state is there");
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let mut newer = bytes.clone();
    newer[16] = 99;
    let joined = [bytes.as_slice(), &bytes].concat();
    let mut endless = bytes.clone();
    endless[20..28].copy_from_slice(&(5_u64 << 30).to_le_bytes());
    for (name, content, says) in [
        ("cut", &bytes[..bytes.len() - 1], "the state is cut"),
        ("flipped", &flipped[..], "damaged"),
        ("newer", &newer[..], "version 99"),
        ("endless", &endless[..], "the state claims 5368709120 bytes, the limit is 4294967296; it is damaged"),
        ("joined", &joined[..], "name states one by one"),
        ("no state", &b"hello"[..], "not a partial state"),
        ("empty", &b""[..], "not a partial state"),
    ] {
        let file = support::write_file(&dir, "damaged.state", content);
        let run = spiglass(&["merge", path(&file)]).expect(2);
        assert!(run.stderr.contains(says), "{name}: {run}");
    }
}

/// A capture of simple packet blocks, which have no time.
fn untimed(octet: u8) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &1u16.to_le_bytes(), &0u16.to_le_bytes(), &[0xff; 8]].concat();
    let packet = [&64u32.to_le_bytes()[..], &[octet; 64]].concat();
    [block(0x0a0d_0d0a, &section), block(1, &[1, 0, 0, 0, 0, 0, 4, 0]), block(3, &packet)].concat()
}

#[test]
fn captures_without_times_are_the_same_only_where_their_octets_agree() {
    let dir = scratch("states-untimed");
    let file = |name: &str, octet: u8| support::write_file(&dir, name, &untimed(octet));
    let (one, two) = (file("one.pcapng", 1), file("two.pcapng", 2));
    let states = [
        state(std::slice::from_ref(&one), dir.join("one.state")),
        state(std::slice::from_ref(&two), dir.join("two.state")),
    ];
    let merged = spiglass(&["merge", "--format", "json", path(&states[0]), path(&states[1])]).expect(0);
    assert_eq!(support::number(&merged.json(), "totals.frames"), 2);
    assert!(spiglass(&["report", "--format", "json", path(&one), path(&two)]).expect(0).stdout == merged.stdout);
    let again = state(&[one], dir.join("again.state"));
    let merged = spiglass(&["merge", "--format", "json", path(&states[0]), path(&again)]).expect(2);
    assert_eq!(support::number(&merged.json(), "totals.frames"), 1);
}

/// A capture that could not be read stays visible, however many states and merges it went through.
#[test]
fn what_could_not_be_read_is_missing_from_every_merge() {
    let dir = scratch("states-unread");
    let junk = support::write_file(&dir, "junk.pcap", b"no capture");
    let lost = dir.join("missing.pcap");
    let (bad, good, both) = (dir.join("bad.state"), dir.join("good.state"), dir.join("both.state"));
    spiglass(&["partial", "-o", path(&bad), path(&junk), path(&lost)]).expect(2);
    spiglass(&["partial", "-o", path(&good), path(&fixture("lab/loss-before-tap-tunnel.pcap"))]).expect(0);
    spiglass(&["merge", "--state-out", path(&both), path(&bad), path(&good)]).expect(2);
    let run = spiglass(&["merge", "--format", "json", path(&both)]).expect(2);
    assert!(run.stderr.contains("2 inputs could not be read"), "{run}");
    let report = run.json();
    let why = report["degraded_why"].to_string();
    assert!(why.contains("junk.pcap") && why.contains("missing.pcap"), "{why}");
    assert_eq!((&report["exactness"], &report["exit_status"]), (&"degraded".into(), &2.into()));
    let listed: Vec<(&str, bool)> = support::items(&report, "captures")
        .iter()
        .map(|capture| (capture["path"].as_str().expect("a path"), capture["error"].is_string()))
        .collect();
    assert_eq!(listed.len(), 3);
    assert!(listed[0].0.ends_with("loss-before-tap-tunnel.pcap") && !listed[0].1, "{listed:?}");
    assert!(listed[1].0.ends_with("junk.pcap") && listed[1].1 && listed[2].1, "{listed:?}");
    // One run over the same inputs says the same, octet for octet.
    let inputs = [path(&junk), path(&lost), path(&fixture("lab/loss-before-tap-tunnel.pcap"))].map(str::to_owned);
    let once = spiglass(&["report", "--format", "json", &inputs[0], &inputs[1], &inputs[2]]).expect(2);
    assert!(once.stdout == run.stdout, "{}", String::from_utf8_lossy(&once.stdout));
}

/// One packet: ESP, UDP, GRE, a keepalive of NAT, or a later fragment.
fn packet(noise: &mut Noise, n: u32) -> Vec<u8> {
    let id = u16::try_from(n).expect("few packets");
    let body = noise.bytes(80);
    match noise.below(6) {
        0 => build::esp(R1, R2, 0xc0de_0001, n + 1, &body),
        1 => build::udp(R1, R2, (4500, 4500), 0, &[0xff]),
        2 => build::udp(R2, R1, (14_500, 33_000), id, &body),
        3 => build::ipv4(R1, R2, 47, id, &[&[0, 0, 8, 0][..], &build::ipv4(R2, R1, 17, id, &body)[14..]].concat()),
        4 => build::in_fragments(&build::ipv4(R2, R1, 50, id, &body), 40)[1].clone(),
        // A generator's packets are all the same.
        _ => build::udp(R1, R2, (7, 7), 7, &[7; 40]),
    }
}

/// Packets of any kind with copies, in files of a named tap that are cut anywhere, also between a packet and its copy: what `partial` writes `merge` reads,
/// and it is the report of one run.
#[test]
fn states_of_a_named_tap_are_its_report_wherever_copies_fall() {
    let dir = scratch("named-borders");
    for round in 0..24_u64 {
        let mut noise = Noise(1_000 + round);
        let mut frames: Vec<Out> = Vec::new();
        let mut time = START;
        for n in 0..40 {
            time += 1_000 * (1 + noise.below(4_000));
            let data = packet(&mut noise, n);
            for _ in 0..=noise.below(3) {
                frames.push(Out::whole(time, data.clone()));
                let most = if noise.below(2) == 0 { 40 } else { 7_000 };
                time += 1_000 * (1 + noise.below(most));
            }
        }
        let mut cuts: Vec<usize> = (0..1 + noise.below(3)).map(|_| noise.below(frames.len() as u64) as usize).collect();
        cuts.extend([0, frames.len()]);
        cuts.sort_unstable();
        cuts.dedup();
        let file = |(n, cut): (usize, &[usize])| {
            support::write_file(&dir, &format!("{round}_{n:05}.pcap"), &plain_pcap(&frames[cut[0]..cut[1]]))
        };
        let files: Vec<String> = cuts.windows(2).enumerate().map(file).map(|file| path(&file).to_owned()).collect();
        let tap = format!("wan={}", files.join(","));
        let state = dir.join("named.state");
        spiglass(&["partial", "--tap", &tap, "-o", path(&state)]).expect(0);
        let merged = spiglass(&["merge", "--format", "json", path(&state)]).expect(0).json();
        let whole = spiglass(&["report", "--format", "json", "--tap", &tap]).expect(0).json();
        assert!(merged == whole, "round {round}: {cuts:?}");
    }
}
