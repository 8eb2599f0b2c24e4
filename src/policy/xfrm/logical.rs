//! Logical lines: commands that a backslash continues, and the one-line form of `ip -o xfrm`.

/// The parts of a line of `ip -o xfrm`, which has backslashes in place of line ends; `None` for any other line.
pub(in super::super) fn one_line_form(raw: &[u8]) -> Option<Vec<&[u8]>> {
    let text = raw.trim_ascii();
    let begins = text.starts_with(b"src ") && text.contains(&b'\\');
    let parts: Vec<&[u8]> =
        text.split(|b| *b == b'\\').map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()).collect();
    (begins && parts.len() > 1).then_some(parts)
}

/// Joins commands over several lines. The number is that of the first.
pub(in super::super) struct Lines<I> {
    raw: I,
}

impl<'t, I: Iterator<Item = (u32, &'t [u8])>> Lines<I> {
    pub(in super::super) const fn new(raw: I) -> Self {
        Self { raw }
    }
}

impl<'t, I: Iterator<Item = (u32, &'t [u8])>> Iterator for Lines<I> {
    type Item = (u32, std::borrow::Cow<'t, [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (number, first) = self.raw.next()?;
        let Some(begun) = continued(first).filter(|line| is_command(line)) else { return Some((number, first.into())) };
        let mut whole = begun.to_vec();
        for (_, raw) in self.raw.by_ref() {
            whole.push(b' ');
            // A command that never ends is not read on for ever.
            match continued(raw).filter(|_| whole.len() < super::super::limits::MAX_LINE) {
                Some(part) => whole.extend_from_slice(part),
                None => {
                    whole.extend_from_slice(raw);
                    break;
                }
            }
        }
        Some((number, whole.into()))
    }
}

/// A line that goes on in the next, without its backslash.
fn continued(raw: &[u8]) -> Option<&[u8]> {
    raw.trim_ascii_end().strip_suffix(b"\\")
}

fn is_command(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(12).collect();
    let at = words.iter().position(|word| *word == b"ip" || word.ends_with(b"/ip"));
    at.is_some_and(|at| words.iter().skip(at + 1).any(|word| word.first() == Some(&b'x') && b"xfrm".starts_with(word)))
}
