//! The acceptance set of what may be said about a pair of routers (`../shared/policy`): every case, by its own checker.

use crate::support;
use std::process::Command;

/// Runs the checker on the cases whose names match; its summary and one line for each case that does not hold.
fn check(patterns: &[&str]) -> Option<(bool, String)> {
    let policy = support::shared("policy")?;
    let run = Command::new("python3")
        .arg(policy.join("check_policy.py"))
        .arg(policy.join("cases"))
        .arg(env!("CARGO_BIN_EXE_spiglass"))
        .args(patterns)
        .output()
        .expect("python3 runs the checker");
    let text = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    Some((run.status.success(), text))
}

#[test]
fn all_cases_of_two_routers_hold() {
    let Some((hold, text)) = check(&[]) else { return };
    assert!(hold, "{text}");
}
