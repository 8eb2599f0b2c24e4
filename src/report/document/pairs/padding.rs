//! What becomes of Ethernet padding on its way: into the gateway, through the tunnel, out at the far side.

use super::super::{Block, Section, View};
use super::words::frame;
use crate::model::pairs::{EndsWay, EthernetPad, MatchReport, PaddingExample, Side, TunnelWay};
use crate::model::report::Pattern;
use crate::report::words::number::{count, grouped, range};

/// Examples that are listed unless all are asked for.
const EXAMPLES: usize = 5;

pub(super) fn section(report: &MatchReport, view: &View) -> Section {
    let padding = &report.padding;
    let sides = [Some(&padding.plain_ethernet), Some(&padding.tunnel_ethernet), padding.exit_ethernet.as_ref()];
    let mut section = Section::titled("Padding");
    if sides.iter().flatten().all(|pad| pad.frames == 0) && padding.examples.is_empty() {
        return section;
    }
    section.say(format!("{}.", story(report)));
    let mut facts = Vec::new();
    let names = ["plain frames", "frames of the tunnel", "frames of the exit"];
    for (name, pad) in names.iter().zip(sides).filter_map(|(name, pad)| Some((name, pad.filter(|pad| pad.frames > 0)?)))
    {
        let bytes = range(i64::from(pad.pad_bytes_min), i64::from(pad.pad_bytes_max));
        facts.push(format!("{} {name} have Ethernet padding, {bytes} B: {}", grouped(pad.frames), patterns(pad)));
    }
    facts.push(carried(report));
    if padding.rewritten {
        facts.push(
            "Rewritten: the same packets have other padding bytes at the exit than on the plain side.".to_owned(),
        );
    }
    let examples = if view.all { usize::MAX } else { EXAMPLES };
    facts.extend(padding.examples.iter().take(examples).map(|example| way(example, report)));
    if padding.examples.len() > examples {
        facts.push("`--all` or `--format csv --table padding` lists all examples.".to_owned());
    }
    section.blocks.push(Block::List(facts));
    section
}

/// `0xff in, none in the tunnel, 0x00 out`, one for each way that the padding of the examples goes.
fn story(report: &MatchReport) -> String {
    let padding = &report.padding;
    // In and out are words for packets that all go one way.
    let one_way =
        report.directions.iter().all(|direction| direction.way == TunnelWay::Encapsulated || direction.matched == 0)
            && report.ends.iter().all(|end| end.way == EndsWay::PlainToExit);
    let (before, after) = if one_way { ("in", "out") } else { ("on the plain side", "at the exit") };
    let mut ways: Vec<String> = Vec::new();
    for example in &padding.examples {
        let within = example.tunnel.map(|_| match example.carried {
            Some(true) => ", carried into the tunnel",
            Some(false) => ", none in the tunnel",
            None => ", not seen in the tunnel",
        });
        let exit = example.exit.map(|_| format!(", {} {after}", pattern(example.exit_pattern)));
        let way = format!(
            "{} {before}{}{}",
            pattern(example.plain_pattern),
            within.unwrap_or(", tunnelled frame not known"),
            exit.unwrap_or_default()
        );
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    if ways.is_empty() { "No packet shows its padding on more than one side".to_owned() } else { ways.join("; ") }
}

/// What a side pads with, and how often.
fn patterns(pad: &EthernetPad) -> String {
    let kinds =
        [(pad.ff, "0xff"), (pad.zero, "0x00"), (pad.repeated, "another byte repeated"), (pad.other, "different bytes")];
    let words: Vec<String> =
        kinds.into_iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{word} in {}", grouped(n))).collect();
    words.join(", ")
}

/// How it is known that the tunnel does or does not carry it.
fn carried(report: &MatchReport) -> String {
    let padding = &report.padding;
    match (padding.carried_into_tunnel, padding.carried_known) {
        (true, _) => "The tunnel carries padding of plaintext frames.".to_owned(),
        (false, 0) if padding.plain_ethernet.frames > 0 => {
            "No pair of a padded frame shows by length or content whether the tunnel carries its padding.".to_owned()
        }
        (false, 0) => "No paired plaintext frame has padding that could be carried.".to_owned(),
        (false, known) => {
            format!(
                "By lengths and content, the tunnel carries the padding of none of {}.",
                count(known, "padded frame")
            )
        }
    }
}

/// `frame 1 (0xff) > tunnel frame 1 (none) > exit frame 2 (0x00)`.
fn way(example: &PaddingExample, report: &MatchReport) -> String {
    let mut parts = vec![format!("plain {} ({})", frame(&report.plain, example.plain), pattern(example.plain_pattern))];
    if let Some(tunnel) = example.tunnel {
        let carried = match example.carried {
            Some(true) => "carried",
            Some(false) => "none",
            None => "not seen",
        };
        parts.push(format!("tunnel {} ({carried})", frame(&report.tunnel, tunnel)));
    }
    if let (Some(exit), Some(side)) = (example.exit, &report.exit) {
        parts.push(exit_frame(side, exit, example.exit_pattern));
    }
    parts.join(" > ")
}

fn exit_frame(side: &Side, at: crate::model::report::FrameRef, bytes: Option<Pattern>) -> String {
    format!("exit {} ({})", frame(side, at), pattern(bytes))
}

fn pattern(name: Option<Pattern>) -> &'static str {
    match name {
        None => "none",
        Some(Pattern::Zero) => "0x00",
        Some(Pattern::Ff) => "0xff",
        Some(Pattern::Repeated) => "one byte repeated",
        Some(Pattern::Other) => "different bytes",
    }
}
