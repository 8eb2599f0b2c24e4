//! Comments from outputs of `match`: pairs from its CSV; lost packets and the frames of findings from its JSON.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::remarks::{Ends, Remarks};
use crate::matching::occurrences;
use crate::model::Error;
use crate::model::pairs::MatchReport;
use crate::model::report::{Capture, Occurrence};
use crate::report::document::combined::Output;
use crate::report::read;
use crate::report::words::escape::printable;
use crate::report::words::number::count;

/// Most names of captures that an error lists.
const LISTED: usize = 6;

/// Adds what a file says of the capture.
///
/// # Errors
/// Where the file is no output that names frames of the capture: which it is, and what to give instead.
pub(super) fn add(path: &Path, capture: &Capture, remarks: &mut Remarks) -> Result<(), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let mut first = [0];
    let begun = file.read(&mut first).map_err(io)?;
    file.rewind().map_err(io)?;
    let is_json = first.get(..begun).is_some_and(|first| first.iter().all(|octet| b"{[ \t\r\n".contains(octet)));
    let told = if is_json {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        of_json(&bytes, capture, remarks)
    } else {
        of_pairs(file, capture, remarks)
    };
    told.map_err(|what| Error::Format { path: path.to_owned(), what })
}

/// Pairs. The names of the captures are gathered first: which of them is meant is known when all are.
fn of_pairs(mut file: File, capture: &Capture, remarks: &mut Remarks) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for row in read::pairs::rows(BufReader::new(&file)) {
        let row = row?;
        for name in [row.plain, row.tunnel] {
            // Of a file with that many no name is the right one.
            if names.len() <= 1_000 {
                names.insert(name);
            }
        }
    }
    let own = Meant::among(names.iter().map(String::as_str), &capture.path)?;
    file.rewind().map_err(|error| error.to_string())?;
    for row in read::pairs::rows(BufReader::new(&file)) {
        let row = row?;
        for (name, frame, end) in
            [(&row.plain, row.pair.plain.frame, Ends::Plain), (&row.tunnel, row.pair.tunnel.frame, Ends::Tunnel)]
        {
            if *name != own.0 {
                continue;
            }
            if !(1..=capture.frames).contains(&frame) {
                let all = count(capture.frames, "frame");
                return Err(format!("names frame {frame}, and {} has {all}: it is of another capture", capture.path));
            }
            remarks.pair(&row.pair, end);
        }
    }
    Ok(())
}

/// Lost packets and frames of findings.
fn of_json(bytes: &[u8], capture: &Capture, remarks: &mut Remarks) -> Result<(), String> {
    let report = match read::output(bytes)? {
        Output::Match(report) => report,
        _ => return Err("no output of `match`; the findings of a report are made anew from the capture".to_owned()),
    };
    let sides = [Some(&report.plain), Some(&report.tunnel), report.exit.as_ref()];
    let all: Vec<&Capture> = sides.into_iter().flatten().flat_map(|side| &side.captures).collect();
    let own = Meant::among(all.iter().map(|one| one.path.as_str()), &capture.path)?;
    let is_own = |one: &Capture| one.path == own.0;
    if let Some(other) = all.iter().find(|one| is_own(one) && !is_the_same(one, capture)) {
        return Err(format!(
            "made of a {} with {}, and {} has {}: it is of another capture",
            other.path,
            count(other.frames, "frame"),
            capture.path,
            count(capture.frames, "frame")
        ));
    }
    let frames = frames(&report, &is_own);
    if frames.is_empty() {
        return Err(format!(
            "names no frame of {}: the JSON of `match` lists lost packets and the frames of findings; for the pairs give what \
             `spiglass match ... --table pairs --format csv` prints",
            capture.path
        ));
    }
    for (frame, comment) in frames {
        remarks.add(frame, &comment);
    }
    Ok(())
}

/// The frames of the capture, and what is said of them.
fn frames(report: &MatchReport, is_own: &dyn Fn(&Capture) -> bool) -> BTreeSet<(u64, String)> {
    let offset = occurrences::tunnel_offset(report) as usize;
    // As findings count captures: a capture that serves as both sides is one.
    let plain = report.plain.captures.iter().take(offset);
    let exit = report.exit.iter().flat_map(|side| &side.captures);
    let counted: Vec<&Capture> = plain.chain(&report.tunnel.captures).chain(exit).collect();
    let mut frames = BTreeSet::new();
    let mut add = |code: &str, one: &Occurrence| {
        if counted.get(one.capture as usize).is_some_and(|capture| is_own(capture)) {
            frames.insert((one.frame, format!("spiglass {code}: {}", one.what)));
        }
    };
    for finding in &report.findings {
        finding.occurrences.iter().for_each(|one| add(&finding.code, one));
    }
    // Findings list the first hundred of them.
    for lost in &report.lost {
        let code = if lost.verdict == crate::model::pairs::LossPlace::BeforeTunnel {
            "match-loss"
        } else {
            "match-loss-behind"
        };
        add(code, &occurrences::packet(lost));
    }
    frames
}

/// Whether two readings of a capture saw the same frames.
fn is_the_same(one: &Capture, other: &Capture) -> bool {
    (one.frames, one.first_ns, one.last_ns) == (other.frames, other.first_ns, other.last_ns)
}

/// The name under which an output knows the capture.
struct Meant(String);

impl Meant {
    /// The same path, the same file, or else the one capture with the same file name.
    fn among<'n>(names: impl Iterator<Item = &'n str> + Clone, capture: &str) -> Result<Self, String> {
        let file = |name: &str| std::fs::canonicalize(name).ok();
        let own = file(capture);
        let by_path = names.clone().find(|name| *name == capture || (own.is_some() && file(name) == own));
        let short = |name: &str| PathBuf::from(name).file_name().map(std::ffi::OsStr::to_owned);
        let alike: BTreeSet<&str> = names.clone().filter(|name| short(name) == short(capture)).collect();
        match (by_path, alike.first()) {
            (Some(name), _) => Ok(Self(name.to_owned())),
            (None, Some(name)) if alike.len() == 1 => Ok(Self((*name).to_owned())),
            _ => {
                let known: BTreeSet<&str> = names.collect();
                let listed: Vec<String> = known.iter().take(LISTED).map(|name| printable(name).into_owned()).collect();
                let more = if known.len() > LISTED { ", ..." } else { "" };
                Err(format!("of other captures ({}{more}), not of {capture}", listed.join(", ")))
            }
        }
    }
}
