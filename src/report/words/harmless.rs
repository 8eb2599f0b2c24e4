//! JSON that a terminal shows as it is: what `escape` writes out in text is written as `\uXXXX` in strings, which are the same to
//! every reader of JSON.

use std::io::{self, Write};

use super::escape::is_unsafe;

/// Takes what a serializer of JSON writes, each string or piece of one at once.
pub(in crate::report) struct Harmless<W>(pub(in crate::report) W);

/// Octets that are looked at together.
const BLOCK: usize = 1 << 16;

/// What a serializer writes in small pieces, made harmless in blocks of whole pieces: none is divided, so none ends within a character.
pub(in crate::report) fn harmless<W: Write>(out: W) -> io::BufWriter<Harmless<W>> {
    io::BufWriter::with_capacity(BLOCK, Harmless(out))
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without a branch for each octet, so that many are looked at in one step.
        if bytes.iter().fold(0, |most, byte| most.max(*byte)) < 0x7f {
            return self.0.write(bytes);
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return self.0.write(bytes) };
        for piece in text.split_inclusive(unsafe_in_json) {
            let mut safe = piece.chars();
            match safe.next_back() {
                Some(c) if unsafe_in_json(c) => {
                    self.0.write_all(safe.as_str().as_bytes())?;
                    // All of them have sixteen bits.
                    write!(self.0, "\\u{:04x}", u32::from(c))?;
                }
                _ => self.0.write_all(piece.as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Line ends between the members of an object stay; in strings the serializer has escaped them.
fn unsafe_in_json(c: char) -> bool {
    c != '\n' && is_unsafe(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_whole_wherever_a_block_ends() {
        let strings: Vec<String> = (0..BLOCK).map(|at| format!("{}\u{202e}ü{}", "x".repeat(at % 7), at)).collect();
        let mut text = Vec::new();
        let mut out = harmless(&mut text);
        serde_json::to_writer(&mut out, &strings).unwrap();
        out.flush().unwrap();
        drop(out);
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains('\u{202e}') && text.contains('ü'));
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), strings);
    }

    #[test]
    fn strings_are_the_same_to_who_reads_json() {
        let hostile = "größer \u{9b}31m\u{7f}\u{202e}\u{feff}\u{1b}[0m\n\"";
        let mut out = Vec::new();
        serde_json::to_writer_pretty(Harmless(&mut out), &[hostile]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("größer \\u009b31m\\u007f\\u202e\\ufeff\\u001b[0m"), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
    }
}
