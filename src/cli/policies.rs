//! Configurations that were named, read and told of.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::sync::Arc;

use super::args::RunArgs;
use crate::analysis::Keyring;
use crate::dissect::DissectOptions;
use crate::engine::Expectation;
use crate::model::Error;
use crate::model::report::{ConfigRead, UnreadLine};
use crate::policy::limits::MAX_OCTETS;
use crate::policy::{Policies, Understood};
use crate::report::words::escape::printable;
use crate::report::words::number::count;

/// Stretches of skipped lines that are listed.
const LISTED: usize = 20;
/// Lines of one input that the report lists as not understood.
const UNREAD: usize = 1_000;

/// Reads what should be on the wire, and says on standard error what could not be read of it. Inputs that cannot be read at all
/// are errors; the others still count.
pub(super) fn read(names: &[OsString], run: &RunArgs, errors: &mut Vec<Error>) -> Expectation {
    if names.is_empty() {
        return Expectation::default();
    }
    let mut inputs = Vec::new();
    for name in names {
        match octets(name) {
            Ok(octets) => inputs.push((name.to_string_lossy().into_owned(), octets)),
            Err(source) => errors.push(Error::Io { path: name.into(), source }),
        }
    }
    let policies = Policies::read(&inputs);
    for file in &policies.files {
        if !file.tells {
            let what = "no SA, crypto map, transform set or selector was found in it; spiglass reads configurations of Cisco IOS, PIX and ASA, \
                        `show crypto ipsec sa`, `show crypto map`, `ip xfrm`, `swanctl --list-sas`, setkey, OpenBSD's \
                        ipsec.conf, manual keys of Huawei, H3C, Junos, FortiGate and RouterOS, Wireshark's esp_sa and [[sa]] tables in TOML";
            errors.push(Error::Format { path: file.name.to_string().into(), what: what.into() });
        }
    }
    if !run.quiet {
        warn(&policies);
    }
    if run.verbose {
        tell(&policies);
    }
    Expectation::from(Arc::new(policies))
}

/// The lines that were not understood, as the report lists them; `None` without configurations.
pub(super) fn unread(expectation: &Expectation) -> Option<ConfigRead> {
    let policies = expectation.policies()?;
    let of = |file: &Understood| -> Vec<UnreadLine> {
        let lines = file.unread.iter().flat_map(|(first, last)| *first..=*last);
        lines.map(|line| UnreadLine { file: file.name.to_string(), line: u64::from(line) }).take(UNREAD).collect()
    };
    Some(ConfigRead { unread: policies.files.iter().flat_map(of).collect() })
}

/// Keys that cannot be used: rows of frames have no findings that would say so.
pub(super) fn warn_of_keys(expectation: &Expectation) {
    for unusable in Keyring::new(expectation, &DissectOptions::default()).unusable() {
        let (name, protocol) = (printable(&unusable.holder.name), unusable.protocol.title());
        tell!("spiglass: {name} {protocol} {}: {}; its packets are not decrypted", unusable.spi.0, unusable.why);
    }
}

/// At most one octet more than the limit, so that the reader sees that there is more.
fn octets(name: &OsStr) -> std::io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    let limit = MAX_OCTETS as u64 + 1;
    if name == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut octets)?;
    } else {
        std::fs::File::open(name)?.take(limit).read_to_end(&mut octets)?;
    }
    Ok(octets)
}

/// Lines that say something wrongly.
fn warn(policies: &Policies) {
    for file in &policies.files {
        let name = printable(&file.name);
        for remark in &file.remarks {
            tell!("spiglass: {name} line {}: {}", remark.line, remark.what);
        }
        for (first, last) in file.unread.iter().take(LISTED) {
            let lines = if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
            tell!("spiglass: {name} {lines}: not understood, so it is not compared with anything");
        }
        let told: u32 = file.unread.iter().take(LISTED).map(|(first, last)| last - first + 1).sum();
        if let more @ 1.. = file.unread_lines.saturating_sub(told) {
            tell!("spiglass: {name}: {} not understood", count(u64::from(more), "further line"));
        }
        if file.more_remarks > 0 {
            tell!("spiglass: {name}: {} like these", count(u64::from(file.more_remarks), "further line"));
        }
    }
}

/// What was understood, and which lines were skipped.
fn tell(policies: &Policies) {
    for file in &policies.files {
        let mut skipped: Vec<String> = file
            .skipped
            .iter()
            .take(LISTED)
            .map(|(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
            .collect();
        if file.skipped.len() > LISTED {
            skipped.push("and others".into());
        }
        let lines = if skipped.is_empty() { String::new() } else { format!(" ({})", skipped.join(", ")) };
        tell!(
            "{}: {}, {} understood, {} skipped{lines}",
            printable(&file.name),
            count(u64::from(file.lines), "line"),
            file.understood,
            file.skipped_lines
        );
    }
    for router in &policies.routers {
        let parts = [
            (router.maps.len(), "crypto map entry"),
            (router.transform_sets.len(), "transform set"),
            (router.acls.len(), "access list"),
            (router.interfaces.len(), "interface"),
            (router.ike.len(), "IKE policy"),
            (router.installed.len(), "SA"),
            (router.selectors.len(), "selector"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}{}", if *n > 1 { "(s)" } else { "" }))
            .collect();
        tell!("{}: {}", printable(&router.name), parts.join(", "));
    }
}
