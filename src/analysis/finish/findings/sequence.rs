//! Losses, duplicates, lateness, restarts and wraps of sequence numbers.

mod causes;
mod content;
mod interleaved;
mod repeats;
mod unwatched;

use std::fmt;

use self::causes::{CUT, IN_TURNS, NOT_IN_TCP, SET_AHEAD, UNWATCHED};
use self::interleaved::unfigured;
pub(in crate::analysis::finish) use self::repeats::may_be_shown_twice;
use self::unwatched::{HoleSpan, Unwatched};
use super::super::time::duration;
use super::occurrences::{between, keep_first_and_last, occurrence, of_edges, of_gaps, of_late};
use super::{Draft, SaView, Tap, filter, percent, plural};
use crate::analysis::finish::rows::sas::encapsulation;
use crate::analysis::limits::{FIRST_LISTED, JUMP_STEP, RESTART_FALL};
use crate::analysis::settings::Settings;
use crate::analysis::state::sa::sequence::{Edge, Jump, SequenceFigures, WINDOWS};
use crate::model::report::{Capture, Finding, Occurrence, Severity};
use crate::model::{Encapsulation, SaKey};

/// An SA with what its findings are about.
struct Numbered<'t> {
    tap: &'t Tap<'t>,
    sa: &'t SaView<'t>,
    figures: &'t SequenceFigures,
    captures: &'t [Capture],
    who: Who<'t>,
    /// Copies of the TAP, frames cut off before their number, other frames, and different numbers among these.
    copies: u64,
    cut: u64,
    frames: u64,
    distinct: u64,
    /// It was seen on several interfaces, whose frames are in no order of time.
    in_turns: bool,
    /// TCP carries it.
    in_tcp: bool,
}

/// An SA as a sentence begins with it; most SAs have none.
struct Who<'t>(&'t SaKey);

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SaKey { protocol, src, dst, spi } = self.0;
        write!(f, "{} {spi} from {src} to {dst}", protocol.title())
    }
}

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings, captures: &[Capture]) {
    let holes = HoleSpan::of(findings, tap, captures, settings);
    for sa in &tap.sas {
        findings.extend(sa.several.as_ref().map(|several| unfigured(tap, sa, several)));
        let Some(own) = Numbered::of(tap, sa, captures) else { continue };
        let figures = own.figures;
        findings.extend((figures.lost > 0).then(|| own.gaps(settings, &holes)));
        findings.extend((figures.duplicate > 0).then(|| own.repeats()));
        findings.extend((figures.late > 0).then(|| own.late()));
        findings.extend(own.restarts());
        findings.extend(own.jumps());
        findings.extend((figures.outliers > 0).then(|| own.outliers()));
        findings.extend((figures.wraps > 0).then(|| own.wraps()));
    }
}

impl<'t> Numbered<'t> {
    fn of(tap: &'t Tap<'t>, sa: &'t SaView<'t>, captures: &'t [Capture]) -> Option<Self> {
        let figures = sa.sequence.as_ref()?;
        let copies = sa.left_out().frames;
        let numbered = sa.state.sequence.numbered();
        let cut = sa.state.seen.count.saturating_sub(numbered).min(tap.stream.totals.snaplen.count);
        let frames = numbered.saturating_sub(copies);
        let distinct = frames.saturating_sub(figures.duplicate);
        let in_turns =
            tap.stream.interfaces.turns.count > 0 && tap.interfaces_of(sa.state.directions.first()).count_ones() > 1;
        let in_tcp = encapsulation(sa) == Encapsulation::Tcp;
        let who = Who(&sa.key);
        Some(Self { tap, sa, figures, captures, who, copies, cut, frames, distinct, in_turns, in_tcp })
    }
}

impl Numbered<'_> {
    /// Numbers that never came.
    fn gaps(&self, settings: &Settings, holes: &[HoleSpan]) -> Finding {
        let Self { tap, sa, figures, captures, who, distinct, .. } = self;
        let numbers = figures.lost + *distinct;
        let mut evidence = format!(
            "{who}: {} of {numbers} numbers never seen at this TAP ({}), {}, longest {}.",
            figures.lost,
            percent(figures.lost, numbers),
            plural(figures.gaps, "gap"),
            figures.longest_gap
        );
        let history = sa.history.as_deref();
        if let Some(before) = sa.state.sequence.first_gap() {
            let gap = history.and_then(|history| history.gaps.iter().find(|gap| gap.starts_after(before)));
            let place = gap.map_or_else(String::new, |gap| format!(" (between {})", between(tap, gap, captures)));
            evidence.push_str(&format!(" First gap after sequence {}{place}.", before as u32));
        }
        let unwatched = Unwatched::of(tap, holes, sa, (figures.lost, self.cut), captures);
        evidence.push_str(&unwatched.said());
        let gaps = history.and_then(|history| filter::of_gaps(tap, sa, history, FIRST_LISTED));
        let occurrences = history.map(|history| of_gaps(tap, history, captures)).unwrap_or_default();
        let share = 100.0 * unwatched.watched() as f64 / numbers as f64;
        let severity = if share > settings.max_loss_pct { Severity::Warning } else { Severity::Note };
        let draft = Draft::new("sequence-gap", evidence);
        let draft = match unwatched.watched() {
            _ if unwatched.is_mostly_leapt() => draft.cause(SET_AHEAD),
            0 if unwatched.is_mostly_cut() => draft.cause(CUT),
            0 => draft.cause(UNWATCHED),
            _ if self.in_tcp => draft.cause(NOT_IN_TCP),
            _ => draft,
        };
        draft
            .about(tap, sa)
            .count(figures.lost)
            .severity(severity)
            .occurring(occurrences, Some(figures.gaps))
            .filter(gaps)
            .done()
    }

    /// Numbers that came after higher ones.
    fn late(&self) -> Finding {
        let Self { tap, sa, figures, who, distinct, .. } = self;
        let mut evidence = format!(
            "{who}: {} of {distinct} packets arrived out of order ({}).",
            figures.late,
            percent(figures.late, *distinct)
        );
        let dropped: Vec<String> = WINDOWS
            .iter()
            .zip(figures.would_drop)
            .map(|(window, n)| (window, n.saturating_sub(figures.duplicate)))
            .filter(|(_, n)| *n > 0)
            .map(|(window, n)| format!("{n} ({window} packets)"))
            .collect();
        if self.in_tcp {
            evidence.push_str(" TCP puts them in order before ESP is taken out.");
        } else if dropped.is_empty() {
            evidence.push_str(" None so late that an anti-replay window of 32 would have dropped it.");
        } else {
            evidence.push_str(&format!(" Anti-replay windows would have dropped {}.", dropped.join(", ")));
        }
        evidence.push_str(if self.in_turns { IN_TURNS } else { "" });
        let late = sa.history.as_deref().map(|history| of_late(tap, history)).unwrap_or_default();
        let total = sa.history.as_deref().filter(|history| history.is_whole).map(|history| history.late.len() as u64);
        let draft = Draft::new("sequence-late", evidence).about(tap, sa).count(figures.late);
        let behind = sa.history.as_deref();
        let behind = behind.and_then(|own| filter::of_behind(tap, sa, &own.late, own.last_late.as_ref(), FIRST_LISTED));
        draft.occurring(late, total).filter(behind).done()
    }

    /// A counter that begins anew.
    fn restarts(&self) -> Option<Finding> {
        let Self { tap, sa, figures, who, .. } = self;
        let first = figures.restarts().first()?;
        let last = figures.restarts().last().unwrap_or(first);
        let begun = of_edges(tap, figures.restarts().iter(), |edge| format!("the number falls back to {}", edge.raw));
        let mut evidence = format!(
            "{who}: the number fell back {} on the same SPI and counted on from there, first from {} (frame {}).",
            if figures.restarts().len() == 1 { "once".into() } else { format!("{} times", figures.restarts().len()) },
            first.raw,
            tap.frame(first.pos).frame
        );
        evidence.push_str(self.order(Some(first)));
        let draft = Draft::new("sequence-restart", evidence);
        let is_open = self.in_turns || self.is_unproved(Some(first));
        let draft = if is_open { draft.severity(Severity::Note) } else { draft };
        Some(
            draft
                .at(tap)
                .of(sa.name.clone())
                .count(figures.restarts().len() as u64)
                .between(tap.frame(first.pos), first.time, tap.frame(last.pos), last.time)
                .occurring(begun, Some(figures.restarts().len() as u64))
                .filter(edges(tap, sa, figures.restarts()))
                .done(),
        )
    }

    /// Numbers that leap further than loss explains.
    fn jumps(&self) -> Option<Finding> {
        let Self { tap, sa, figures, who, .. } = self;
        let (first, last) = figures.jumps().first().zip(figures.jumps().last())?;
        let jumps = figures.jumps().len() as u64;
        let mut leaps = figures.jumps().iter().map(|jump| leap(tap, jump)).collect();
        keep_first_and_last(&mut leaps);
        Some(
            Draft::new("sequence-jump", format!("{who}: {}.", jumped(tap, figures.jumps(), first)))
                .at(tap)
                .of(sa.name.clone())
                .count(figures.jumps().len() as u64)
                .between(tap.frame(first.to.pos), first.to.time, tap.frame(last.to.pos), last.to.time)
                .occurring(leaps, Some(jumps))
                .filter(filter::of_numbers(tap, sa, figures.jumps().iter().flat_map(ends).collect()))
                .done(),
        )
    }

    /// Numbers that belong to no count.
    fn outliers(&self) -> Finding {
        let Self { tap, sa, figures, who, frames, .. } = self;
        const { assert!(RESTART_FALL == 4_096 && JUMP_STEP > RESTART_FALL, "the evidence says so") };
        let one = figures.outliers == 1;
        let evidence = format!(
            "{who}: {} of {frames} sequence numbers {} more than 4,096 from the previous and the next. {} not count as loss.",
            figures.outliers,
            if one { "is" } else { "are" },
            if one { "It does" } else { "They do" }
        );
        let far = figures.outlier_edges();
        let frames = of_edges(tap, far.iter(), |edge| format!("number {} is far from its neighbours", edge.raw));
        Draft::new("sequence-outlier", evidence)
            .about(tap, sa)
            .named(frames, figures.outliers)
            .count(figures.outliers)
            .filter(edges(tap, sa, far))
            .done()
    }

    /// Numbers that go past 2^32.
    fn wraps(&self) -> Finding {
        let Self { tap, sa, figures, who, .. } = self;
        let lasted = tap
            .clock
            .duration_ns(&sa.state.seen, tap.interfaces_of(sa.state.directions.first()))
            .map_or_else(String::new, |ns| format!(" within {}", duration(ns)));
        let evidence = format!(
            "{who}: the number passed 0xffffffff {}{lasted}. With extended sequence numbers (ESN) that is normal; \
             without them a sender must stop. The wire does not show which it is.",
            if figures.wraps == 1 { "once".into() } else { format!("{} times", figures.wraps) },
        );
        let mut draft = Draft::new("sequence-wrap", evidence).about(tap, sa).count(figures.wraps);
        if let (Some(first), Some(last)) = (figures.wrap_edges().first(), figures.wrap_edges().last()) {
            draft = draft.between(tap.frame(first.pos), first.time, tap.frame(last.pos), last.time);
        }
        let crossed = of_edges(tap, figures.wrap_edges().iter(), |edge| format!("number {} past 2^32", edge.raw));
        let filter = edges(tap, sa, figures.wrap_edges());
        draft.occurring(crossed, Some(figures.wraps)).filter(filter).done()
    }
}

/// A filter for frames at edges of runs.
fn edges(tap: &Tap<'_>, sa: &SaView<'_>, edges: &[Edge]) -> Option<String> {
    filter::of_numbers(tap, sa, edges.iter().take(FIRST_LISTED).map(|edge| (edge.raw, edge.raw)).collect())
}

/// The numbers on both sides of a jump.
fn ends(jump: &Jump) -> [filter::Range; 2] {
    [(jump.from.raw, jump.from.raw), (jump.to.raw, jump.to.raw)]
}

/// A jump at the frame that it leads to.
fn leap(tap: &Tap<'_>, jump: &Jump) -> Occurrence {
    let what = format!("the number jumps from {} to {}", jump.from.raw, jump.to.raw);
    occurrence(tap, (jump.to.pos, jump.to.time), jump.skipped, what)
}

/// The first of some jumps in words, and how many more there are.
fn jumped(tap: &Tap<'_>, jumps: &[Jump], first: &Jump) -> String {
    let pause = first.pause_ns().map_or_else(|| "an unknown time".into(), duration);
    let fits = match first.room() {
        Some(room) if room.saturating_mul(2) >= first.skipped => {
            format!("; at the rate before, {room} packets fit into that time: they may have been lost")
        }
        Some(1) => "; at the rate before, only 1 packet fits into that time: they were not sent".into(),
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
