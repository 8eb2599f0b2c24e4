//! Losses, duplicates, lateness, restarts and wraps of sequence numbers.

use super::super::time::duration;
use super::{Draft, Tap, percent, plural};
use crate::analysis::settings::Settings;
use crate::analysis::state::sa::sequence::{Jump, WINDOWS};
use crate::model::report::{Finding, Severity};

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    for sa in &tap.sas {
        let Some(figures) = &sa.sequence else { continue };
        let copies = if tap.copying { sa.state.copies.get().frames } else { 0 };
        let frames = sa.state.seen.count.saturating_sub(copies);
        let distinct = frames.saturating_sub(figures.duplicate);
        let who = format!("{} {} from {} to {}", sa.key.protocol.title(), sa.key.spi, sa.key.src, sa.key.dst);
        if figures.lost > 0 {
            let numbers = figures.lost + distinct;
            let mut evidence = format!(
                "{who}: {} of {numbers} numbers never seen at this TAP ({}), {}, longest {}.",
                figures.lost,
                percent(figures.lost, numbers),
                plural(figures.gaps, "gap"),
                figures.longest_gap
            );
            if let Some(before) = sa.state.sequence.first_gap() {
                evidence.push_str(&format!(" First gap after sequence {}.", before as u32));
            }
            let share = 100.0 * figures.lost as f64 / numbers as f64;
            let severity = if share > settings.max_loss_pct { Severity::Warning } else { Severity::Note };
            findings.push(
                Draft::new("sequence-gap", evidence).about(tap, sa).count(figures.lost).severity(severity).done(),
            );
        }
        if figures.duplicate > 0 {
            let mut evidence = format!(
                "{who}: {} with a number seen before, of {}.",
                plural(figures.duplicate, "frame"),
                plural(frames, "frame")
            );
            if !tap.copying && sa.state.copies.get().frames > 0 {
                evidence.push_str(&format!(
                    " {} followed the same packet within 10 ms: duplicated in the network or by the TAP, the capture does not show which.",
                    sa.state.copies.get().frames
                ));
            }
            let severity = if figures.duplicate == 1 { Severity::Note } else { Severity::Warning };
            findings.push(
                Draft::new("sequence-duplicate", evidence)
                    .about(tap, sa)
                    .count(figures.duplicate)
                    .severity(severity)
                    .done(),
            );
        }
        if figures.late > 0 {
            let mut evidence = format!(
                "{who}: {} of {distinct} packets arrived out of order ({}).",
                figures.late,
                percent(figures.late, distinct)
            );
            let dropped: Vec<String> = WINDOWS
                .iter()
                .zip(figures.would_drop)
                .map(|(window, n)| (window, n.saturating_sub(figures.duplicate)))
                .filter(|(_, n)| *n > 0)
                .map(|(window, n)| format!("{n} ({window} packets)"))
                .collect();
            if dropped.is_empty() {
                evidence.push_str(" None so late that an anti-replay window of 32 would have dropped it.");
            } else {
                evidence.push_str(&format!(" Anti-replay windows would have dropped {}.", dropped.join(", ")));
            }
            findings.push(Draft::new("sequence-late", evidence).about(tap, sa).count(figures.late).done());
        }
        if let Some(first) = figures.restarts().first() {
            let last = figures.restarts().last().unwrap_or(first);
            let evidence = format!(
                "{who}: the counter began anew {} on the same SPI, first with number {} (frame {}).",
                if figures.restarts().len() == 1 {
                    "once".into()
                } else {
                    format!("{} times", figures.restarts().len())
                },
                first.raw,
                tap.frame(first.pos).frame
            );
            findings.push(
                Draft::new("sequence-restart", evidence)
                    .at(tap)
                    .of(sa.name.clone())
                    .count(figures.restarts().len() as u64)
                    .between(tap.frame(first.pos), first.time, tap.frame(last.pos), last.time)
                    .done(),
            );
        }
        if let (Some(first), Some(last)) = (figures.jumps().first(), figures.jumps().last()) {
            findings.push(
                Draft::new("sequence-jump", format!("{who}: {}.", jumped(tap, figures.jumps(), first)))
                    .at(tap)
                    .of(sa.name.clone())
                    .count(figures.jumps().len() as u64)
                    .between(tap.frame(first.to.pos), first.to.time, tap.frame(last.to.pos), last.to.time)
                    .done(),
            );
        }
        if figures.wraps > 0 {
            let lasted = tap
                .clock
                .duration_ns(&sa.state.seen)
                .map_or_else(String::new, |ns| format!(" within {}", duration(ns)));
            let evidence = format!(
                "{who}: the number went from 0xffffffff to 0 {}{lasted}. With extended sequence numbers (ESN) that is normal; \
                 without them a sender must stop. The wire does not show which it is.",
                if figures.wraps == 1 { "once".into() } else { format!("{} times", figures.wraps) },
            );
            let mut draft = Draft::new("sequence-wrap", evidence).about(tap, sa).count(figures.wraps);
            if let (Some(first), Some(last)) = (figures.wrap_edges().first(), figures.wrap_edges().last()) {
                draft = draft.between(tap.frame(first.pos), first.time, tap.frame(last.pos), last.time);
            }
            findings.push(draft.done());
        }
    }
}

/// The first of some jumps in words, and how many more there are.
fn jumped(tap: &Tap<'_>, jumps: &[Jump], first: &Jump) -> String {
    let pause = first.pause_ns().map_or_else(|| "an unknown time".into(), duration);
    let fits = match first.room() {
        Some(room) if room.saturating_mul(2) >= first.skipped => {
            format!("; at the rate before, {room} packets fit into that time: they may have been lost")
        }
        Some(room) => format!("; at the rate before, only {room} packets fit into that time: they were not sent"),
        None => String::new(),
    };
    let more = match jumps.len() {
        0 | 1 => String::new(),
        n => format!("; {} more", plural((n as u64).saturating_sub(1), "jump")),
    };
    format!(
        "the number jumps from {} to {} (frame {}), {} numbers ahead, within {pause}{fits}{more}. They are not counted as lost",
        first.from.raw,
        first.to.raw,
        tap.frame(first.to.pos).frame,
        first.skipped
    )
}
