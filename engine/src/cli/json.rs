//! Prints JSON as Go's encoder does: two spaces, `<`, `>` and `&` escaped for HTML.

use std::io::{self, Write};

use engine_model::path;
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};

/// Writes a value and a line break.
pub(super) fn write(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, GoFormatter::default());
    value.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

#[derive(Default)]
struct GoFormatter {
    pretty: PrettyFormatter<'static>,
}

impl Formatter for GoFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(out)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let text = path::shown(text);
        let mut rest = &*text;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            out.write_all(plain.as_bytes())?;
            let char = special.chars().next().expect("it was just found");
            write!(out, "\\u{:04x}", u32::from(char))?;
            rest = &special[char.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.pretty.write_char_escape(out, escape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_as_in_go() {
        let mut out = Vec::new();
        write(&mut out, &serde_json::json!({"a<b": ["x & y", "\u{2028}", "é"], "e": []})).unwrap();
        let want = "{\n  \"a\\u003cb\": [\n    \"x \\u0026 y\",\n    \"\\u2028\",\n    \"é\"\n  ],\n  \"e\": []\n}\n";
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
