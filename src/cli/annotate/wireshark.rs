//! Files for Wireshark's profile folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::AnnotateArgs;
use crate::engine::Expectation;
use crate::model::Error;
use crate::model::report::{Finding, Severity};
use crate::policy::{EspSaTable, esp_sa};
use crate::report::words::escape::printable;
use crate::report::words::number::count;

/// Writes the tables that were asked for; what failed.
pub(super) fn tables(args: &AnnotateArgs, expectation: &Expectation, findings: &[Finding]) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut note = |path: &Path, done: io::Result<()>| {
        if let Err(source) = done {
            errors.push(Error::Output { path: path.to_owned(), source });
        }
    };
    if let (Some(path), Some(policies)) = (&args.esp_sa, expectation.policies()) {
        let EspSaTable { text, sas, left_out } = esp_sa(policies);
        note(path, write_secretly(path, &text));
        if !args.run.quiet {
            tell!("{}: {} with keys", path.display(), count(sas as u64, "ESP SA"));
            left_out.iter().for_each(|why| tell!("not in it: {}", printable(why)));
        }
    }
    if let Some(path) = &args.colour_filters {
        note(path, std::fs::write(path, colours(findings)));
    }
    errors
}

/// Writes a file with permissions for its owner alone (0600), set before the first key is written.
fn write_secretly(path: &Path, text: &str) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Rules of Wireshark's `colorfilters`: `@name@filter@[background][foreground]`, 16 bits a colour, the first that fits counts.
fn colours(findings: &[Finding]) -> String {
    const ERROR: &str = "[64250,46517,46517][12850,0,0]";
    const WARNING: &str = "[65535,58596,43690][12850,6425,0]";
    const NOTE: &str = "[55769,59624,64764][0,6425,25700]";
    let mut rules = String::new();
    for (severity, colours) in [(Severity::Error, ERROR), (Severity::Warning, WARNING), (Severity::Note, NOTE)] {
        let mut codes: Vec<&str> =
            findings.iter().filter(|finding| finding.severity == severity).map(|finding| &*finding.code).collect();
        codes.sort_unstable();
        codes.dedup();
        for code in codes {
            rules += &format!("@spiglass {code}@frame.comment contains \"spiglass {code}:\"@{colours}\n");
        }
    }
    rules + "@spiglass pair@frame.comment contains \"spiglass pair:\"@[58853,62965,58853][0,12850,0]\n"
}
