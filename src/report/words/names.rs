//! How things are called in text for people: SAs, times, transforms.

use jiff::tz::TimeZone;

use super::escape::printable;
use crate::model::report::{Capture, FrameRef, Report, Sa, TransformBasis, TransformReport};

/// An SA's id as people write it: `ESP 0x000003e9  192.168.1.1 > 192.168.1.2`. Anything that is no SA id stays as it is.
#[must_use]
pub fn sa_title(id: &str) -> String {
    match sa_parts(id) {
        Some((protocol, spi, direction)) => format!("{protocol} {spi}  {direction}"),
        None => printable(id).into_owned(),
    }
}

/// Protocol, SPI and `from > to` of an SA's id; `None` for anything else.
#[must_use]
pub fn sa_parts(id: &str) -> Option<(&'static str, &str, String)> {
    let mut parts = id.split('/');
    let protocol = match parts.next()? {
        "esp" => "ESP",
        "ah" => "AH",
        "ipcomp" => "IPComp",
        _ => return None,
    };
    let (src, dst, spi) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !spi.starts_with("0x") || !spi.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    Some((protocol, spi, format!("{} > {}", printable(src), printable(dst))))
}

/// What is known of a transform, in one cell.
#[must_use]
pub fn transform(sa: &Sa) -> String {
    transform_of(&sa.transform)
}

/// The same of a transform that stands alone.
#[must_use]
pub fn transform_of(transform: &TransformReport) -> String {
    let TransformReport { basis, name, candidates, .. } = transform;
    let text = match (name, &**candidates) {
        (Some(name), _) => name.to_string(),
        (None, _) if *basis == TransformBasis::Unknown => return "unknown".to_owned(),
        (None, []) => return basis.to_string(),
        (None, [one]) => one.to_string(),
        (None, [one, two]) => format!("{one} or {two}"),
        (None, [one, rest @ ..]) => format!("{one} or {} others", rest.len()),
    };
    let text = printable(&text).into_owned();
    if *basis == TransformBasis::Inferred { format!("{text} (inferred)") } else { text }
}

/// A moment as `2026-11-21 04:41:02 UTC`, in the given zone.
#[must_use]
pub fn moment(ns: i64, zone: &TimeZone) -> String {
    zoned(ns, zone, "%Y-%m-%d %H:%M:%S %Z")
}

/// A moment within a day the reader knows: `04:41:02.123456`.
#[must_use]
pub fn time_of_day(ns: i64, zone: &TimeZone) -> String {
    zoned(ns, zone, "%H:%M:%S%.6f")
}

fn zoned(ns: i64, zone: &TimeZone, format: &str) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(ns))
        .map_or_else(|_| format!("{ns} ns"), |time| time.to_zoned(zone.clone()).strftime(format).to_string())
}

/// A frame as `frame 38`, with its capture where there are several.
#[must_use]
pub fn frame(report: &Report, frame: FrameRef) -> String {
    frame_of(&report.captures, frame)
}

/// A frame of some captures, as [`frame`].
#[must_use]
pub fn frame_of(captures: &[Capture], frame: FrameRef) -> String {
    let number = super::number::grouped(frame.frame);
    match captures.get(frame.capture as usize) {
        Some(capture) if captures.len() > 1 => format!("frame {number} of {}", printable(&capture.path)),
        _ => format!("frame {number}"),
    }
}

/// Several frames: `frames 4, 7, 8`, each with its capture where they are of several.
#[must_use]
pub fn frames(report: &Report, frames: &[FrameRef]) -> String {
    let one_capture = frames.windows(2).all(|pair| matches!(pair, [a, b] if a.capture == b.capture));
    match frames {
        [] => String::new(),
        [one] => frame(report, *one),
        [first, .., last] if one_capture => {
            let before = frames.iter().take(frames.len() - 1).map(|frame| super::number::grouped(frame.frame));
            format!(
                "frames {} and {}",
                before.collect::<Vec<_>>().join(", "),
                frame(report, FrameRef { capture: first.capture, ..*last })
            )
            .replace("and frame ", "and ")
        }
        _ => frames.iter().map(|one| frame(report, *one)).collect::<Vec<_>>().join(", "),
    }
}

/// A link type in the words of a sentence.
#[must_use]
pub fn link_type(name: &str) -> String {
    match name {
        "ETHERNET" => "Ethernet".to_owned(),
        "LINUX_SLL" => "Linux cooked".to_owned(),
        "LINUX_SLL2" => "Linux cooked v2".to_owned(),
        "RAW" | "IPV4" | "IPV6" => format!(
            "raw {}",
            if name == "RAW" {
                "IP"
            } else if name == "IPV4" {
                "IPv4"
            } else {
                "IPv6"
            }
        ),
        name if name.bytes().all(|b| b.is_ascii_digit()) => format!("link type {name} (not read)"),
        name => printable(name).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_titles_and_other_text_stays() {
        assert_eq!(sa_title("esp/192.168.1.1/192.168.1.2/0x000003ea"), "ESP 0x000003ea  192.168.1.1 > 192.168.1.2");
        assert_eq!(sa_title("ah/fd00::1/fd00::2/0x00000100"), "AH 0x00000100  fd00::1 > fd00::2");
        assert_eq!(sa_title("10.0.0.1 > 10.0.0.2"), "10.0.0.1 > 10.0.0.2");
        assert_eq!(sa_title("esp/a/b/0x1\x1b[2J"), "esp/a/b/0x1\\u{1b}[2J");
    }

    #[test]
    fn moments_are_in_the_zone_asked_for() {
        assert_eq!(moment(1_795_236_062_000_000_000, &TimeZone::UTC), "2026-11-21 04:41:02 UTC");
        assert_eq!(time_of_day(1_795_236_062_123_456_789, &TimeZone::UTC), "04:41:02.123456");
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        assert!(moment(1_795_236_062_000_000_000, &zone).starts_with("2026-11-21 05:41:02"));
    }
}
