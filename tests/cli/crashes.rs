//! Whatever once made the program panic, hang or say something else each time, replayed: `fixtures/crashes`, where every input has a
//! name that begins with what reads it, and a text beside it that says why it is there.

use crate::support::sane;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::state_file::state_file;
use spiglass::capture::{Frame, Source};
use spiglass::dissect::{DissectOptions, Stack, dissect};
use spiglass::engine::{Input, Quiet, Settings, State, run};
use spiglass::model::{FramePos, LinkType, Timestamp};
use spiglass::policy::{Policies, lint};
use spiglass::report::{document, json, text};

const LONGEST: Duration = Duration::from_secs(10);

fn shown(report: &spiglass::model::report::Report) {
    let mut out = Vec::new();
    json::write(report, &mut out).unwrap();
    serde_json::from_slice::<serde_json::Value>(&out).expect("JSON");
    let document = document::report(report, &document::View::default());
    assert!(!text::render(&document, &text::TextOptions::default()).contains('\u{1b}'));
}

fn replay(path: &Path, kind: &str) {
    let bytes = std::fs::read(path).unwrap();
    match kind {
        "report" => {
            let input = Input { source: Source::Path(path.into()), tap: None };
            for jobs in [1, 3] {
                let mut report = run(std::slice::from_ref(&input), &Settings::default(), jobs, &Quiet).report;
                report.captures.clear();
                shown(&report);
            }
        }
        // Link type, octets more on the wire, options, and the frame: what the fuzz target `frame` takes.
        "frame" => {
            let [low, high, longer, choice, data @ ..] = bytes.as_slice() else { panic!("no frame") };
            let options = DissectOptions {
                udp_ports: vec![40_000],
                tcp_ports: vec![443],
                overlay: choice & 1 == 1,
                innermost: choice & 2 == 2,
            };
            for captured in 0..=data.len() {
                let mut stack = Stack::default();
                let frame = Frame {
                    pos: FramePos::new(0, 1),
                    time: Timestamp::UNKNOWN,
                    wire_bytes: u32::try_from(data.len() + usize::from(*longer)).unwrap(),
                    data: &data[..captured],
                    link: LinkType(u16::from_le_bytes([*low, *high])),
                    interface: 0,
                    fcs_bytes: 0,
                    snap_bytes: u32::MAX,
                };
                dissect(&frame, &options, &mut stack);
                sane::sane(&stack, captured);
            }
        }
        "state" => {
            let name = Path::new("state");
            let mut state = match State::read(name, state_file(&bytes).as_slice()) {
                Ok(state) => state,
                // Refused for its figures; a body of another format would be refused before they are looked at.
                Err(error) => {
                    assert!(error.to_string().contains("figures that no capture makes"), "{}: {error}", path.display());
                    return;
                }
            };
            let mut other = state.clone();
            other.label(None, Some(7));
            shown(&state.clone().report().0);
            if state.merge(other).is_ok() {
                shown(&state.report().0);
            }
        }
        "policies" => {
            let policies = Policies::read(&[("crash.cfg".into(), bytes)]);
            let _ = lint(&policies.view());
        }
        other => panic!("{}: nothing reads `{other}`", path.display()),
    }
}

#[test]
fn every_crash_is_survived_and_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/crashes");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let reason = std::fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        assert!(reason.len() > 40, "{name} has no reason beside it");
        let begun = Instant::now();
        replay(&path, name.split('-').next().unwrap());
        assert!(begun.elapsed() < LONGEST, "{name} took {:?}", begun.elapsed());
        replayed += 1;
    }
    assert!(replayed >= 4, "{replayed}");
}

/// Costs are kept in sixteen bits; an L2TP header with an offset of 65,535 octets does not fit, and neither do labels without end.
#[test]
fn headers_longer_than_sixteen_bits_can_say_are_counted_as_the_most_they_can() {
    let read = |payload: &[u8], ethertype: [u8; 2], ip: bool| {
        let mut data = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, ethertype[0], ethertype[1]];
        if ip {
            // Total length 0: left to offloading.
            data.extend([0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        }
        data.extend(payload);
        let mut stack = Stack::default();
        let frame = Frame {
            pos: FramePos::new(0, 1),
            time: Timestamp::UNKNOWN,
            wire_bytes: u32::try_from(data.len()).unwrap(),
            data: &data,
            link: LinkType::ETHERNET,
            interface: 0,
            fcs_bytes: 0,
            snap_bytes: u32::MAX,
        };
        dissect(&frame, &DissectOptions::default(), &mut stack);
        sane::sane(&stack, data.len());
        stack
    };
    let mut l2tp = vec![0x06, 0xa5, 0x06, 0xa5, 0, 0, 0, 0, 0x02, 0x02, 0, 1, 0, 1, 0xff, 0xff];
    l2tp.resize(l2tp.len() + 65_535, 0);
    l2tp.extend([0xff, 0x03, 0x00, 0x21, 0x45, 0, 0, 20, 0, 1, 0, 0, 64, 59, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let stack = read(&l2tp, [0x08, 0x00], true);
    assert_eq!(stack.costs.link, u16::MAX, "{stack:?}");
    let mut labels = vec![0_u8; 4 * 40_000];
    labels.extend([0, 0, 1, 0, 0x45]);
    sane::sane(&read(&labels, [0x88, 0x47], false), 14 + labels.len());
}
