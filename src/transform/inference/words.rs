//! What an inference says in words.

use crate::transform::Esp;

/// What would decide, and which weak ciphers remain.
pub(super) fn open(candidates: &[Esp]) -> String {
    let mut words = String::from(" Packets of sizes 4 bytes apart would decide it (`ping -s` 100, 104, 108, 112).");
    let mut weak: Vec<&str> =
        candidates.iter().filter(|esp| esp.cipher.weak.is_some()).map(|esp| esp.cipher.name).collect();
    weak.sort_unstable();
    weak.dedup();
    if !weak.is_empty() {
        words.push_str(&format!(" Weak ciphers remain possible: {}.", weak.join(", ")));
    }
    words
}

pub(super) fn one_of(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
