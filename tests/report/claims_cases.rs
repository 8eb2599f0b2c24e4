//! The labelled captures of `../shared/claims`, each with what a report may and may not say of it: all of them hold.
//!
//! The checker is a program of its own, in Python, that knows nothing of this crate.

use crate::support;
use std::process::Command;

#[test]
fn every_labelled_capture_holds() {
    let (Some(claims), Some(lab)) = (support::shared("claims"), support::shared("lab")) else { return };
    let run = Command::new("python3")
        .arg(claims.join("check_claims.py"))
        .args(["--lab".as_ref(), lab.as_os_str()])
        .arg(claims.join("cases"))
        .arg(env!("CARGO_BIN_EXE_spiglass"))
        .output()
        .unwrap_or_else(|error| panic!("python3 runs the checker: {error}"));
    let (said, failed) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{said}{failed}");
    assert!(said.contains(" cases hold"), "the checker looked at something: {said}{failed}");
}
