//! The law that everything rests on: the state of a stream is the merge of the states of its pieces, however it is cut.
//!
//! Short streams are cut everywhere, long ones at random places, in two and in many pieces, merged in random trees.

use crate::support;
use crate::support::build::{R1, R2, START};
use spiglass::analysis::{Expectation, Observer, Settings, StreamState};
use spiglass::capture::{CaptureReader, Chunk, Frame, Source};
use spiglass::model::{FramePos, LinkType, Timestamp};
use spiglass::policy::Policies;

/// A frame that outlives its chunk.
pub(crate) struct Owned {
    pub(crate) time: Timestamp,
    pub(crate) wire_bytes: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) link: LinkType,
    pub(crate) interface: u32,
    pub(crate) fcs_bytes: u8,
    pub(crate) snap_bytes: u32,
}

fn read(path: &std::path::Path) -> Vec<Owned> {
    let Ok(mut reader) = CaptureReader::open(&Source::Path(path.into()), 0) else { return Vec::new() };
    let mut chunk = Chunk::new();
    let mut frames = Vec::new();
    while reader.next_chunk(&mut chunk) {
        frames.extend(chunk.frames().map(|f| Owned {
            time: f.time,
            wire_bytes: f.wire_bytes,
            data: f.data.to_vec(),
            link: f.link,
            interface: f.interface,
            fcs_bytes: f.fcs_bytes,
            snap_bytes: f.snap_bytes,
        }));
    }
    frames
}

/// The state of a piece; `continues` where the stream's beginning lies in an earlier piece.
pub(crate) fn state(settings: &Settings, frames: &[Owned], continues: bool) -> StreamState {
    let mut observer = Observer::new(settings);
    if continues {
        observer.continue_capture();
    }
    observer.observe_all(numbered(frames, 1));
    observer.finish(0)
}

/// Frames as a capture has them, numbered from `first` on.
pub(crate) fn numbered(frames: &[Owned], first: u64) -> impl Iterator<Item = Frame<'_>> {
    (first..).zip(frames).map(|(number, f)| Frame {
        pos: FramePos::new(0, number),
        time: f.time,
        wire_bytes: f.wire_bytes,
        data: &f.data,
        link: f.link,
        interface: f.interface,
        fcs_bytes: f.fcs_bytes,
        snap_bytes: f.snap_bytes,
    })
}

/// Cuts the stream at `cuts` and merges the pieces in a tree that `random` picks.
fn merged(settings: &Settings, frames: &[Owned], cuts: &[usize], random: &mut Random) -> StreamState {
    let mut bounds: Vec<usize> = cuts.iter().copied().chain([0, frames.len()]).collect();
    bounds.sort_unstable();
    let mut pieces: Vec<StreamState> =
        bounds.windows(2).map(|pair| state(settings, &frames[pair[0]..pair[1]], pair[0] > 0)).collect();
    while pieces.len() > 1 {
        let at = random.below(pieces.len() - 1);
        let later = pieces.remove(at + 1);
        let earlier = pieces.remove(at);
        pieces.insert(at, earlier.merge(later).expect("pieces of one stream merge"));
    }
    let mut whole = pieces.pop().expect("there is at least one piece");
    whole.settle();
    whole
}

/// A small deterministic generator (xorshift64*), so that a failure can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }
}

/// Checks the law on one stream; false where it is not promised, because the stream's state is not exact.
pub(crate) fn check(settings: &Settings, name: &str, frames: &[Owned]) -> bool {
    let mut random = Random(0x5eed_0000 + frames.len() as u64);
    let whole = state(settings, frames, false);
    // Frame by frame, without the short way for streams in flow: the same state.
    let mut at_length = Observer::new(whole.settings());
    at_length.interleave_captures();
    at_length.observe_all(numbered(frames, 1));
    assert_eq!(at_length.finish(0).difference(&whole), None, "{name}: the short way differs from the long one");
    // One by one, as a reader hands them on that looked at them before.
    let mut one_by_one = Observer::new(whole.settings());
    numbered(frames, 1).for_each(|frame| one_by_one.observe(&frame));
    assert_eq!(
        one_by_one.finish(0).difference(&whole),
        None,
        "{name}: frames one by one differ from frames in batches"
    );
    if !whole.is_exact() {
        return false;
    }
    let cuts: Vec<usize> = if frames.len() <= 40 {
        (0..=frames.len()).collect()
    } else {
        (0..6).map(|_| random.below(frames.len() + 1)).collect()
    };
    for cut in cuts {
        check_cut(name, frames, &[cut], &mut random, &whole);
    }
    for pieces in [3, 8, 30] {
        let cuts: Vec<usize> = (0..pieces).map(|_| random.below(frames.len() + 1)).collect();
        check_cut(name, frames, &cuts, &mut random, &whole);
    }
    true
}

fn check_cut(name: &str, frames: &[Owned], cuts: &[usize], random: &mut Random, whole: &StreamState) {
    let difference = merged(whole.settings(), frames, cuts, random).difference(whole);
    assert!(difference.is_none(), "{name}: {difference:?} differ when cut at {cuts:?} of {}", frames.len());
}

pub(crate) fn settings() -> Settings {
    Settings { link_rate_bps: Some(1_000_000_000), ..Settings::default() }
}

/// The settings with the keys of a file.
fn keyed(file: &std::path::Path) -> Settings {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let policies = Policies::read(&[("keys".into(), text)]);
    Settings { expectation: Expectation::from(std::sync::Arc::new(policies)), ..settings() }
}

/// Checks the law on all captures below a folder: on how many, and the names of those whose states are not exact.
fn check_folder(folder: &std::path::Path) -> (usize, Vec<String>) {
    let settings = settings();
    let (mut checked, mut inexact) = (0, Vec::new());
    for path in captures_below(folder) {
        let frames = read(&path);
        if !frames.is_empty() {
            if check(&settings, &path.display().to_string(), &frames) {
                checked += 1;
            } else {
                inexact.push(path.file_name().expect("a file").to_string_lossy().into_owned());
            }
        }
    }
    (checked, inexact)
}

#[test]
fn every_fixture_can_be_cut_anywhere() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let (checked, inexact) = check_folder(&fixtures);
    assert!(checked > 20, "{checked}");
    // The clock steps back between fragments; the report says that it is not exact.
    assert_eq!(inexact, ["report-fragments-behind-a-backward-step.gz"]);
}

#[test]
fn a_fixture_with_keys_can_be_cut_anywhere() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let settings = keyed(&fixtures.join("policy/lab-wrong-auth-key.txt"));
    let frames = read(&fixtures.join("lab/wrong-auth-key-tunnel.pcap"));
    assert_eq!(frames.len(), 129);
    assert!(check(&settings, "wrong-auth-key", &frames));
    // A copying TAP: each frame again, one microsecond later.
    let again = |f: &Owned, ns: i64| Owned {
        time: Timestamp::from_ns(f.time.ns().expect("a time") + ns),
        data: f.data.clone(),
        ..*f
    };
    let twice: Vec<Owned> = frames.iter().flat_map(|f| [again(f, 0), again(f, 1_000)]).collect();
    assert!(check(&settings, "wrong-auth-key, every frame twice", &twice));
}

/// What comes of a packet depends on it and the keys alone: wherever a stream is cut, the same packets verify and open.
#[test]
fn every_lab_capture_with_keys_can_be_cut_anywhere() {
    let Some(lab) = support::shared("lab") else { return };
    let mut checked = 0;
    for scenario in std::fs::read_dir(lab).expect("the laboratory can be listed") {
        let scenario = scenario.expect("an entry").path();
        for (keys, tap) in [("sa.txt", "tunnel.pcap"), ("esp_sa", "tunnel.pcap"), ("sa.txt", "plain-a.pcap")] {
            let (keys, tap) = (scenario.join(keys), scenario.join(tap));
            if keys.is_file() && tap.is_file() {
                assert!(check(&keyed(&keys), &format!("{} with {}", tap.display(), keys.display()), &read(&tap)));
                checked += 1;
            }
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn every_lab_capture_can_be_cut_anywhere() {
    let Some(lab) = support::shared("lab") else { return };
    let (checked, inexact) = check_folder(&lab);
    assert!(checked > 200 && inexact.is_empty(), "{checked}, without {inexact:?}");
}

#[test]
fn every_public_capture_can_be_cut_anywhere() {
    let Some(corpus) = support::shared("corpus") else { return };
    let (checked, inexact) = check_folder(&corpus);
    assert!(checked > 300 && inexact.len() <= 1, "{checked}, without {inexact:?}");
}

#[test]
fn the_empty_state_changes_nothing_on_either_side() {
    let frames: Vec<Owned> = (0..50u8)
        .map(|n| Owned {
            time: Timestamp::from_ns(i64::from(n) * 1_000_000),
            wire_bytes: 60,
            data: vec![n; 60],
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        })
        .collect();
    let settings = settings();
    let whole = state(&settings, &frames, false);
    let mut left = StreamState::new(whole.settings()).merge(state(&settings, &frames, false)).expect("same settings");
    let mut right = state(&settings, &frames, false).merge(StreamState::new(whole.settings())).expect("same settings");
    left.settle();
    right.settle();
    assert!(left == whole && right == whole);
}

#[test]
fn states_of_different_settings_do_not_merge() {
    let a = StreamState::new(&Settings::default());
    let b = StreamState::new(&Settings { bin_ns: 1, ..Settings::default() });
    let error = a.merge(b).expect_err("the bins differ");
    assert!(error.to_string().contains("--bin"), "{error}");
}

/// Every file below a folder that can be opened as a capture, in the order of their names.
fn captures_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("its entries can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Copies of few packets under a clock that steps back a little, a lot and not at all.
#[test]
fn copies_are_found_wherever_a_stream_with_backward_steps_is_cut() {
    const MS: i64 = 1_000_000;
    let settings = settings();
    let mut exact = 0;
    // Few kinds of packets make long chains, many make streams in which numbers are new.
    let rounds = [(8, 1..=150), (3, 1..=60), (1, 1..=30), (20, 621..=650), (3, 2_091..=2_100)];
    for (kinds, seed) in rounds.into_iter().flat_map(|(kinds, seeds)| seeds.map(move |seed| (kinds, seed))) {
        let name = format!("seed {seed} of {kinds}");
        let mut random = Random(0xc0_91e5 * seed);
        // Numbers repeat, and come in any order.
        let packets: Vec<Vec<u8>> =
            (1..=kinds).map(|n| support::build::esp(R1, R2, 1002, n, &[0xa0 + n as u8; 40])).collect();
        let (mut time, mut newest) = (START as i64, START as i64);
        let adrift = seed % 10 == 0;
        let frames: Vec<Owned> = (0..60)
            .map(|_| {
                let step = match random.below(8) {
                    0 => -(random.below(10) as i64) * MS,
                    1 if seed % 5 == 0 => -(random.below(80) as i64) * MS,
                    2 => random.below(40) as i64 * MS,
                    _ => random.below(3) as i64 * MS,
                };
                let epoch = step < -10 * MS;
                time += step;
                if !epoch && !adrift {
                    time = time.max(newest - 10 * MS);
                }
                newest = if epoch { time } else { newest.max(time) };
                let data = packets[random.below(packets.len())].clone();
                Owned {
                    time: Timestamp::from_ns(time),
                    wire_bytes: data.len() as u32,
                    data,
                    link: LinkType::ETHERNET,
                    interface: 0,
                    fcs_bytes: 0,
                    snap_bytes: u32::MAX,
                }
            })
            .collect();
        let whole = state(&settings, &frames, false);
        if check(&settings, &name, &frames) {
            for cut in 1..frames.len() {
                check_cut(&name, &frames, &[cut], &mut random, &whole);
            }
            exact += 1;
        } else {
            assert!(adrift, "{name}");
            for cut in 1..frames.len() {
                assert!(!merged(&settings, &frames, &[cut], &mut random).is_exact(), "{name}: exact when cut at {cut}");
            }
        }
    }
    assert!(exact >= 252, "{exact}");
}

/// An IPv4 fragment of an ESP packet, or of a UDP packet.
fn fragment(protocol: u8, id: u16, offset: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let mut frame = support::build::ipv4(R1, R2, protocol, id, payload);
    let field = (offset / 8) | if more { 0x2000 } else { 0 };
    frame[20..22].copy_from_slice(&field.to_be_bytes());
    frame
}

/// Fragments of few identifications, copied and not, in order and out of it; identical packets one a period; counters that begin anew,
/// jump and fall for one packet; a clock that is set back.
#[test]
fn trains_runs_and_chains_are_the_same_wherever_a_stream_is_cut() {
    const MS: i64 = 1_000_000;
    let settings = settings();
    let mut exact = 0;
    for seed in 1..=120u64 {
        let mut random = Random(0x7a_c5 * seed + 11);
        let mut time = START as i64;
        let mut number = 200_000u32;
        let mut frames: Vec<Owned> = Vec::new();
        let mut add = |time: i64, data: Vec<u8>| {
            frames.push(Owned {
                time: Timestamp::from_ns(time),
                wire_bytes: data.len() as u32,
                data,
                link: LinkType::ETHERNET,
                interface: 0,
                fcs_bytes: 0,
                snap_bytes: u32::MAX,
            });
        };
        let (ids, span) = (1 + random.below(3) as u16, random.below(3) == 0);
        for n in 0..40u32 {
            time += [MS / 2, MS, 3 * MS, 40 * MS, 700 * MS, 2_500 * MS][random.below(6)];
            number = match random.below(12) {
                0 => number.wrapping_sub(50_000),
                1 => number.wrapping_add(3_000_000),
                2 => 1,
                _ => number.wrapping_add(1),
            };
            let packet = match random.below(4) {
                0 => vec![support::build::udp(R1, R2, (9, 9), 0, &[0x77; 60])],
                1 => vec![support::build::esp(R1, R2, 9, number, &[0xa0 ^ n as u8; 48])],
                kind => {
                    let body = [&9u32.to_be_bytes()[..], &number.to_be_bytes(), &[0x90 | n as u8; 72]].concat();
                    let protocol = if kind == 2 { 50 } else { 17 };
                    let id = n as u16 % ids;
                    let mut pieces = vec![
                        fragment(protocol, id, 0, true, &body[..40]),
                        fragment(protocol, id, 40, true, &body[40..64]),
                        fragment(protocol, id, 64, false, &body[64..]),
                    ];
                    match random.below(6) {
                        0 => pieces.swap(0, 2),
                        1 => drop(pieces.remove(random.below(3))),
                        _ => {}
                    }
                    pieces
                }
            };
            let again = span && random.below(10) > 0;
            for (at, data) in (0..).zip(packet) {
                add(time + at * 20_000, data.clone());
                if again {
                    add(time + at * 20_000 + 2_000, data);
                }
            }
        }
        if check(&settings, &format!("seed {seed}"), &frames) {
            let whole = state(&settings, &frames, false);
            for cut in 1..frames.len() {
                check_cut(&format!("seed {seed}"), &frames, &[cut], &mut random, &whole);
            }
            exact += 1;
        }
    }
    assert!(exact >= 110, "{exact}");
    // A clock that is set back by seconds: copies, runs and rates, without fragments; one interface, or several in turns.
    for seed in 1..=60u64 {
        let mut random = Random(0x51_ab * seed + 3);
        let mut time = START as i64;
        let frames: Vec<Owned> = (1..60u32)
            .map(|n| {
                time += [MS, 10 * MS, 300 * MS, -2_000 * MS, -30 * MS][[0, 0, 1, 1, 2, 3, 4, 1][random.below(8)]];
                let (src, dst) = if random.below(3) == 0 { (R2, R1) } else { (R1, R2) };
                let data = support::build::esp(src, dst, 9, n, &[0xa0 ^ n as u8; 48]);
                Owned {
                    time: Timestamp::from_ns(time),
                    wire_bytes: data.len() as u32,
                    data,
                    link: LinkType::ETHERNET,
                    interface: random.below(1 + seed as usize % 3) as u32,
                    fcs_bytes: 0,
                    snap_bytes: u32::MAX,
                }
            })
            .collect();
        let whole = state(&settings, &frames, false);
        for cut in 1..frames.len() {
            check_cut(&format!("clock {seed}"), &frames, &[cut], &mut random, &whole);
        }
    }
}
