//! What is wrong with the captures themselves.

mod holes;
pub(super) mod numbered;

use super::super::clock::was_set;
use super::super::time::{duration, rfc3339};
use super::{CaptureFacts, Draft, Tap, percent, plural};
use crate::analysis::finish::rows::padding::FCS_FRAMES;
use crate::analysis::settings::Settings;
use crate::analysis::state::base::listed::Listed;
use crate::model::report::{Capture, Finding, FrameRef, Occurrence, Report};
use crate::model::{DamageKind, Timestamp};

pub(crate) fn add_tap(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings, report: &Report) {
    let stream = tap.stream;
    let frames = stream.totals.sums.frames;
    let snaplen = &stream.totals.snaplen;
    if snaplen.count > 0 {
        let evidence = format!(
            "{} of {frames} frames ({}) were cut by the snapshot length. Lengths are the original ones; the rest (ICVs, ESP trailers, padding) was not captured.",
            snaplen.count,
            percent(snaplen.count, frames)
        );
        findings.push(
            Draft::new("capture-snaplen", evidence)
                .listed(tap, snaplen, "cut by the snapshot length")
                .filter("frame.cap_len < frame.len".to_owned())
                .done(),
        );
    }
    let sliced = &stream.notices.sliced;
    if sliced.count > 0 {
        let evidence = format!(
            "In {} of {} ({}) the packet states more bytes than the frame has. L1 and L2 lengths are computed from the IP length there; \
             sizes are given where the IP lengths agree with each other.",
            sliced.count,
            plural(frames, "frame"),
            percent(sliced.count, frames)
        );
        findings.push(
            Draft::new("capture-sliced", evidence).listed(tap, sliced, "the frame is shorter than its packet").done(),
        );
    }
    add_fcs(findings, tap);
    add_malformed(findings, tap);
    let untimed = &stream.span.untimed;
    if untimed.count > 0 {
        let evidence = format!(
            "{} of {} ({}) without a time, or with one outside the years 1677 to 2262: counted, and in no time bin.",
            untimed.count,
            plural(frames, "frame"),
            percent(untimed.count, frames)
        );
        findings.push(Draft::new("capture-untimed", evidence).listed(tap, untimed, "no time").done());
    }
    add_clock_back(findings, tap);
    add_order(findings, tap);
    add_clock_set(findings, tap);
    holes::add(findings, tap, settings.hole_ns, report);
    if !tap.assumed.is_empty() {
        let (count, evidence) = (tap.assumed.len() as u64, format!("{}.", tap.assumed.join(". ")));
        findings.push(Draft::new("tap-layout", evidence).at(tap).count(count).done());
    }
}

/// A clock that was set back.
fn add_clock_back(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let stream = tap.stream;
    let mut backward = Listed::default();
    stream.interfaces.clocks().iter().for_each(|clock| backward.join(&clock.backward));
    let most_ns = stream.interfaces.clocks().iter().map(|clock| clock.backward_most_ns).max().unwrap_or(0);
    if backward.count > 0 {
        let mut evidence = format!(
            "The clock stepped back {}, {} at the most. Order is taken from the file.",
            if backward.count == 1 { "once".into() } else { format!("{} times", backward.count) },
            duration(most_ns)
        );
        if stream.rates.iter().any(|(_, direction)| tap.clock.is_coarse(&direction.seen)) {
            evidence.push_str(" Frames of one direction bear whole seconds: of an interface that stamps no fractions that is no step.");
        }
        findings.push(
            Draft::new("capture-clock-back", evidence)
                .listed(tap, &backward, "earlier than the frame before it")
                .done(),
        );
    }
}

/// A clock that began in 1970 and was set.
fn add_clock_set(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let times = tap.stream.captures().iter().filter_map(|capture| capture.times);
    let Some((first, last)) = times.reduce(|own, next| (own.0.min(next.0), own.1.max(next.1))) else { return };
    if was_set(first, last) {
        let day = |time| rfc3339(time).map_or_else(String::new, |text| text.chars().take(10).collect());
        let evidence = format!(
            "Times run from {} to {}: the clock was set while the capture ran, or frames bear a wrong time. How much time went by is not known: \
             what spans the moment has no rates.",
            day(first),
            day(last)
        );
        findings.push(Draft::new("capture-clock-set", evidence).at(tap).count(1).done());
    }
}

/// Longer than a capture tool holds frames of an interface back.
const KEPT_BACK_NS: i64 = 5_000_000_000;

/// Frames of several interfaces that are in no order of time.
fn add_order(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let interfaces = &tap.stream.interfaces;
    if interfaces.turns.count > 0 {
        let goes_on = interfaces.clocks().iter().all(|clock| clock.backward.count == 0);
        let told = match interfaces.turns_most_ns {
            KEPT_BACK_NS.. => " No capture tool holds frames back so long: the clocks of the interfaces may differ.",
            _ if goes_on => {
                " The clock of each interface goes on: rates and numbers of what was seen on one interface hold."
            }
            _ => "",
        };
        let evidence = format!(
            "{} up to {} earlier than the frame before it, which was captured on another interface.{told}",
            if interfaces.turns.count == 1 {
                "1 frame is".into()
            } else {
                format!("{} frames are", interfaces.turns.count)
            },
            duration(interfaces.turns_most_ns)
        );
        let what = "earlier than the frame before it, of another interface";
        findings.push(Draft::new("capture-order", evidence).listed(tap, &interfaces.turns, what).done());
    }
}

/// Frames that end in their FCS, which nothing declares.
fn add_fcs(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let (fcs, absent) = (&tap.stream.notices.fcs, tap.stream.notices.fcs_absent);
    if fcs.count < FCS_FRAMES {
        return;
    }
    let mut evidence = format!(
        "{} end in the CRC-32 of the bytes before it: an FCS that the capture does not declare. It is not padding and is counted once.",
        plural(fcs.count, "frame")
    );
    if absent > 0 {
        evidence.push_str(&format!(" {} carry four bytes that are no CRC-32 of theirs.", plural(absent, "frame")));
    }
    findings.push(Draft::new("capture-fcs", evidence).listed(tap, fcs, "ends in its FCS").done());
}

/// Headers that cannot be what they say, all of a tap in one finding.
fn add_malformed(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let malformed = &tap.stream.notices.malformed;
    let mut seen = Listed::default();
    let mut named: Vec<(u64, &str)> = Vec::new();
    for (layer, of) in malformed {
        seen.join(of);
        named.push((of.count, layer.name()));
    }
    if seen.count == 0 {
        return;
    }
    named.sort_unstable_by(|a, b| (std::cmp::Reverse(a.0), a.1).cmp(&(std::cmp::Reverse(b.0), b.1)));
    let named: Vec<String> = named.iter().map(|(count, name)| format!("{name} ({count})")).collect();
    let evidence = format!(
        "{} with a header that has a value or length that cannot be: {}. The rest of the frame was not read, or has no size.",
        plural(seen.count, "frame"),
        named.join(", ")
    );
    findings.push(Draft::new("header-invalid", evidence).listed(tap, &seen, "a header that cannot be").done());
}

pub(crate) fn add(findings: &mut Vec<Finding>, captures: &[CaptureFacts]) {
    for (id, facts) in captures.iter().enumerate() {
        let capture = &facts.capture;
        let here = |frame| FrameRef { capture: id as u32, frame };
        if let (Some(damage), Some(kind)) = (&capture.damage, facts.damage) {
            let code = if kind == DamageKind::Cut { "capture-cut" } else { "capture-damaged" };
            let mut evidence = format!(
                "{}: byte {} (frame {}): {}. {} read.",
                capture.path,
                damage.offset,
                damage.frame,
                damage.what,
                if capture.frames == 1 { "1 frame was".into() } else { format!("{} frames were", capture.frames) }
            );
            if facts.further_damage > 0 {
                evidence.push_str(&format!(" {} more were skipped.", plural(facts.further_damage, "damaged block")));
            }
            let mut draft = Draft::new(code, evidence).count(1 + facts.further_damage);
            if damage.frame > 1 {
                let last = capture.last_ns.map_or(Timestamp::UNKNOWN, Timestamp::from_ns);
                let at = here(damage.frame.saturating_sub(1));
                let occurrence = Occurrence {
                    capture: at.capture,
                    frame: at.frame,
                    time_ns: last.ns(),
                    count: 1,
                    what: format!("the last frame before: {}", damage.what),
                };
                draft = draft.between(at, last, at, last).occurring(vec![occurrence], Some(1 + facts.further_damage));
            }
            let mut finding = draft.done();
            finding.tap = capture.tap.as_str().into();
            findings.push(finding);
        }
        add_unread(findings, capture);
        let drops: u64 = capture.interfaces.iter().filter_map(|i| i.drops).fold(0, u64::saturating_add);
        if drops > 0 {
            let evidence = format!(
                "{}: the capturing host says it dropped {} (pcapng statistics, or counts at its packets) beside {} captured. Numbers missing here \
                 may have been on the wire.",
                capture.path,
                plural(drops, "packet"),
                capture.frames
            );
            let mut finding = Draft::new("capture-drops", evidence).count(drops).done();
            finding.tap = capture.tap.as_str().into();
            findings.push(finding);
        }
    }
}

/// Frames of link types that are not read: nothing is known of what they carry.
fn add_unread(findings: &mut Vec<Finding>, capture: &Capture) {
    let is_number = |name: &&String| !name.is_empty() && name.bytes().all(|octet| octet.is_ascii_digit());
    let unread: Vec<&str> = capture.link_types.iter().filter(is_number).map(String::as_str).collect();
    if unread.is_empty() {
        return;
    }
    let part = if unread.len() == capture.link_types.len() { "none" } else { "a part" };
    let evidence = format!(
        "{}: link type {} is not read, so {part} of its {} was analysed.",
        capture.path,
        unread.join(", "),
        plural(capture.frames, "frame")
    );
    let mut finding = Draft::new("capture-link-unread", evidence).count(capture.frames).done();
    finding.tap = capture.tap.as_str().into();
    findings.push(finding);
}
