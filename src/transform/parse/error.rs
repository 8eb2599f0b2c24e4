//! What was wrong with the name of a transform.

use std::fmt;

use super::vocabulary;

/// Why a text is no transform. It quotes the word that was not understood, unless that may be a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    message: String,
}

/// How many suggestions are made.
const SUGGESTIONS: usize = 3;

impl ParseError {
    pub(super) fn too_long() -> Self {
        Self { message: "the transform is too long to be one".to_owned() }
    }

    pub(super) fn empty() -> Self {
        Self {
            message: "no transform is named: say for example \"esp-aes 256 esp-sha-hmac\" or aes256-sha256".to_owned(),
        }
    }

    pub(super) fn no_cipher(integrity: &str) -> Self {
        let message = format!("{integrity} has no cipher beside it: say null for ESP-NULL, or ah for AH");
        Self { message }
    }

    pub(super) fn misplaced(word: &str, why: &str) -> Self {
        Self { message: format!("{} does not fit: {why}", shown(word)) }
    }

    pub(super) fn unknown(word: &str) -> Self {
        let near = near(word);
        let suggestion = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
        Self { message: format!("{} names no algorithm{suggestion}", shown(word)) }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// A word in quotes; what is long or looks like a key is not repeated.
fn shown(word: &str) -> String {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let like_key = digits.len() >= 8 && digits.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '-' | '.'));
    if like_key || word.starts_with("0x") || word.chars().count() > 40 {
        "a word that may be a key".to_owned()
    } else {
        let printable: String = word.chars().filter(|c| !c.is_control()).collect();
        format!("\"{printable}\"")
    }
}

/// Words that differ little from this one, the nearest first.
fn near(word: &str) -> Vec<String> {
    if shown(word).starts_with('a') {
        return Vec::new();
    }
    let most = (word.len() / 3).clamp(1, 3);
    let mut found: Vec<(usize, String)> = vocabulary::all()
        .into_iter()
        .map(|known| (distance(word, &known), known))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort();
    found.dedup();
    let nearest = found.first().map_or(0, |(distance, _)| *distance);
    found.into_iter().take_while(|(distance, _)| *distance == nearest).map(|(_, word)| word).take(SUGGESTIONS).collect()
}

/// Letters to insert, drop, replace or swap with their neighbour.
#[expect(
    clippy::indexing_slicing,
    reason = "`rows` has a row for each of 0..=i of `a`, each with 0..=b.len() numbers; i and j begin at 1, at 2 where 2 is subtracted"
)]
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let above = &rows[i - 1];
            let mut least = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
