//! SPIs that should not be there, and headers that cannot be.

use super::{Draft, SaView, Tap, filter, percent, plural};
use crate::analysis::settings::Settings;
use crate::model::report::{Finding, Severity};
use crate::model::{Protocol, SaKey};

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    for sa in &tap.sas {
        let frames = sa.state.seen.count;
        let title = sa.key.protocol.title();
        let (src, dst) = (sa.key.src, sa.key.dst);
        if sa.key.protocol != Protocol::IpComp && sa.key.spi.is_zero() {
            let evidence = format!(
                "{} from {src} to {dst} {} SPI 0, which must never be sent.",
                plural(frames, &format!("{title} frame")),
                if frames == 1 { "carries" } else { "carry" }
            );
            findings.push(Draft::new("spi-zero", evidence).about(tap, sa).count(frames).of_suspect(tap, sa).done());
        }
        if sa.key.protocol != Protocol::IpComp && sa.key.spi.is_reserved() {
            let evidence = format!(
                "{} from {src} to {dst} with SPI {} ({}); 1 to 255 are reserved.",
                plural(frames, &format!("{title} frame")),
                sa.key.spi.0,
                sa.key.spi
            );
            findings.push(
                Draft::new("spi-reserved", evidence)
                    .of(sa.name.clone())
                    .seen(tap, &sa.state.seen)
                    .of_suspect(tap, sa)
                    .filter(filter::of_sa(tap, sa))
                    .done(),
            );
        }
        if let Some(listed) = &sa.state.bad_length {
            let n = listed.count;
            let (code, evidence) = match sa.key.protocol {
                Protocol::Ah => {
                    let lengths: Vec<String> = sa.state.ah_lengths.keys().map(u32::to_string).collect();
                    let rule = if src.is_v4() { "a multiple of 4" } else { "a multiple of 8" };
                    let evidence = format!(
                        "{} of {frames} {} an AH of impossible length (lengths seen: {} bytes; it must be {rule} and fit the packet).",
                        plural(n, "frame"),
                        if n == 1 { "carries" } else { "carry" },
                        lengths.join(", ")
                    );
                    ("ah-length-invalid", evidence)
                }
                _ => {
                    let evidence = format!(
                        "{} of {frames} {} an ESP part that is too short or no whole number of 32-bit words.",
                        plural(n, "frame"),
                        if n == 1 { "has" } else { "have" }
                    );
                    ("esp-length-invalid", evidence)
                }
            };
            findings
                .push(Draft::new(code, evidence).of(sa.name.clone()).listed(tap, listed, "impossible length").done());
        }
    }
    add_shared(findings, tap);
    add_groups(findings, tap, settings);
}

/// One SPI in both directions: legal with manual keys, each direction with a counter of its own.
fn add_shared(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let shared = |sa: &&SaView<'_>| sa.key.src < sa.key.dst && sa.key.protocol != Protocol::IpComp && !sa.grouped;
    for sa in tap.sas.iter().filter(shared) {
        let back = tap.sa_of(&SaKey { src: sa.key.dst, dst: sa.key.src, ..sa.key });
        if let Some(back) = back.filter(|_| !sa.key.spi.is_zero()) {
            let evidence = format!(
                "{} SPI {} is used from {} to {} ({}) and back ({}); the two directions are counted apart.",
                sa.key.protocol.title(),
                sa.key.spi,
                sa.key.src,
                sa.key.dst,
                plural(sa.state.seen.count, "frame"),
                plural(back.state.seen.count, "frame")
            );
            let mut both = sa.state.seen;
            both.join(&back.state.seen);
            findings.push(
                Draft::new("spi-shared", evidence)
                    .of(sa.name.clone())
                    .seen(tap, &both)
                    .filter(filter::of_spi(&sa.key))
                    .done(),
            );
        }
    }
}

/// One SPI and one counter between many pairs of addresses.
fn add_groups(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    for group in &tap.groups {
        let key = &group.key;
        let mut evidence =
            format!("{} SPI {} serves {} pairs of addresses", key.protocol.title(), key.spi, group.pairs);
        let mut severity = Severity::Note;
        match group.counted {
            Some(own) => {
                evidence.push_str(&format!(
                    ", whose packets are numbered together: {} of {} numbers never seen at this TAP ({}).",
                    own.lost,
                    own.numbers,
                    percent(own.lost, own.numbers)
                ));
                if 100.0 * own.lost as f64 > settings.max_loss_pct * own.numbers as f64 {
                    severity = Severity::Warning;
                }
            }
            None => evidence.push_str(
                ", most of which show fewer packets than they skip numbers: several senders seem to number packets for many receivers each, \
                 and which numbers are whose is not known.",
            ),
        }
        evidence.push_str(" Sequence figures of a single pair would be false, and are not given.");
        findings.push(
            Draft::new("spi-group", evidence)
                .of(key.to_string())
                .seen(tap, &group.seen)
                .severity(severity)
                .filter(filter::of_spi(key))
                .done(),
        );
    }
}
