//! JSON with each member on a line of its own, as `serde_json` writes it, but each line's beginning in one piece.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// What a line begins with: the comma of the line before, the line end, and the indentation of [`LEVELS`] levels.
const BEGINNING: &[u8; 2 + 2 * LEVELS] = b",\n                                ";
/// Levels that are indented in one piece.
const LEVELS: usize = 16;

/// Indents by two spaces a level.
#[derive(Debug, Default)]
pub(in crate::report) struct Indented {
    level: usize,
    /// Whether the innermost array or object has a member.
    has_member: bool,
}

impl Indented {
    fn begin(&mut self) {
        self.level += 1;
        self.has_member = false;
    }

    fn end(&mut self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.level = self.level.saturating_sub(1);
        if self.has_member { self.line(out, true) } else { Ok(()) }
    }

    /// Begins a line, after a comma unless it is the `first` of its kind.
    fn line(&self, out: &mut (impl Write + ?Sized), first: bool) -> io::Result<()> {
        let end = 2 + 2 * self.level.min(LEVELS);
        out.write_all(BEGINNING.get(usize::from(first)..end).unwrap_or_default())?;
        (LEVELS..self.level).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin();
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out)?;
        out.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_member = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin();
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out)?;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_member = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::{Value, json, ser::Serializer};

    use super::*;

    #[test]
    fn it_is_what_serde_json_writes() {
        let deep = (0..2 * LEVELS).fold(json!([1, {}, []]), |inner, at| {
            if at % 2 == 0 { json!([inner, at]) } else { json!({"a": inner, "b": []}) }
        });
        for value in [deep, json!({}), json!([]), json!([[], {}]), json!({"a": {"b": [{}]}, "c": null}), Value::Null] {
            let mut out = Vec::new();
            value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default())).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
