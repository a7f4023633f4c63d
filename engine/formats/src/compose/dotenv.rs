//! What a `.env` file says: names, values, quotes, comments, and variables inside values.

use std::collections::BTreeMap;

use super::template::{self, Lookup};
use crate::golang::quote::quote;

/// Variables by name.
pub(super) type Variables = BTreeMap<String, String>;

/// Reads `source` into `variables`. A value may refer to `lookup` first, then to what was read
/// so far; a name without a value is taken from `lookup`.
pub(super) fn parse(
    source: &str,
    variables: &mut Variables,
    lookup: Lookup<'_>,
) -> Result<(), String> {
    let mut parser = Parser { line: 1 };
    let mut rest = source.strip_prefix('\u{feff}').unwrap_or(source);
    loop {
        rest = parser.statement_start(rest);
        if rest.is_empty() {
            return Ok(());
        }
        let (key, after_key, inherited) = parser.key(rest)?;
        if key.contains(' ') {
            return Err(format!("line {}: key cannot contain a space", parser.line));
        }
        if inherited {
            if let Some(value) = lookup(key) {
                variables.insert(key.to_owned(), value);
            }
            rest = after_key;
            continue;
        }
        let (value, after_value) = parser.value(after_key, variables, lookup)?;
        variables.insert(key.to_owned(), value);
        rest = after_value;
    }
}

struct Parser {
    line: usize,
}

impl Parser {
    /// Skips blank space and comment lines.
    fn statement_start<'a>(&mut self, mut source: &'a str) -> &'a str {
        loop {
            let trimmed = source.trim_start_matches(char::is_whitespace);
            let skipped = &source[..source.len() - trimmed.len()];
            self.line += skipped.matches('\n').count();
            if !trimmed.starts_with('#') {
                return trimmed;
            }
            match trimmed.find('\n') {
                Some(end) => source = &trimmed[end..],
                None => return "",
            }
        }
    }

    /// The name at the start of `source`, what follows it, and whether it has no value at all.
    fn key<'a>(&mut self, source: &'a str) -> Result<(&'a str, &'a str, bool), String> {
        let source = match source.strip_prefix("export") {
            Some(rest) if rest.starts_with(['\t', '\n', '\u{c}', '\r', ' ']) => {
                rest.trim_start_matches(is_blank)
            }
            _ => source,
        };
        if source.is_empty() {
            return Err("zero length string".to_owned());
        }
        let mut key = "";
        let mut offset = 0;
        let mut inherited = false;
        for (at, c) in source.char_indices() {
            match c {
                '=' | ':' | '\n' => {
                    key = &source[..at];
                    offset = at + 1;
                    inherited = c == '\n';
                    break;
                }
                '_' | '.' | '-' | '[' | ']' => {}
                c if is_blank(c) || c.is_alphabetic() || c.is_numeric() => {}
                c => {
                    return Err(format!(
                        "line {}: unexpected character {} in variable name {}",
                        self.line,
                        quote(&c.to_string()),
                        quote(source.split('\n').next().unwrap_or_default()),
                    ));
                }
            }
        }
        if inherited && !key.contains(' ') {
            self.line += 1;
        }
        let key = key.trim_end_matches(char::is_whitespace);
        Ok((key, source[offset..].trim_start_matches(is_blank), inherited))
    }

    fn value<'a>(
        &mut self,
        source: &'a str,
        variables: &Variables,
        lookup: Lookup<'_>,
    ) -> Result<(String, &'a str), String> {
        if let Some(quote @ ('"' | '\'')) = source.chars().next() {
            return self.quoted(source, quote, variables, lookup);
        }
        let (value, rest) = source.split_once('\n').unwrap_or((source, ""));
        self.line += 1;
        let value = value.split_once(" #").map_or(value, |(value, _)| value);
        let value = value.trim_end_matches(char::is_whitespace);
        Ok((expand(value, variables, lookup)?, rest))
    }

    fn quoted<'a>(
        &mut self,
        source: &'a str,
        quote: char,
        variables: &Variables,
        lookup: Lookup<'_>,
    ) -> Result<(String, &'a str), String> {
        let mut value = String::new();
        let mut escaped = false;
        for (at, c) in source.char_indices().skip(1) {
            if c == '\n' {
                self.line += 1;
            }
            if c == quote && !escaped {
                let rest = &source[at + 1..];
                if quote == '"' {
                    value = expand(&unescape(&value), variables, lookup)?;
                }
                return Ok((value, rest));
            }
            if c != quote && !escaped && c == '\\' {
                escaped = true;
                continue;
            }
            if c != quote && escaped {
                value.push('\\');
            }
            escaped = false;
            value.push(c);
        }
        let first_line = source.split('\n').next().unwrap_or_default();
        Err(format!("line {}: unterminated quoted value {first_line}", self.line))
    }
}

fn expand(value: &str, variables: &Variables, lookup: Lookup<'_>) -> Result<String, String> {
    template::substitute(value, &|name| lookup(name).or_else(|| variables.get(name).cloned()))
        .map_err(|error| error.to_string())
}

/// A space that does not end a line.
fn is_blank(c: char) -> bool {
    matches!(c, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{85}' | '\u{a0}')
}

/// Replaces the escapes a double-quoted value knows; `\$` becomes `$$`, which stands for a
/// dollar sign that starts no variable.
fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (replacement, taken) = match after.chars().next() {
            Some('a') => ("\u{7}", 1),
            Some('b') => ("\u{8}", 1),
            Some('f') => ("\u{c}", 1),
            Some('n') => ("\n", 1),
            Some('r') => ("\r", 1),
            Some('t') => ("\t", 1),
            Some('v') => ("\u{b}", 1),
            Some('$') => ("$$", 1),
            Some('"') => ("\"", 1),
            Some('\\') => ("\\", 1),
            Some('0') => {
                rest = octal(after, &mut out);
                continue;
            }
            _ => ("\\", 0),
        };
        out.push_str(replacement);
        rest = &after[taken..];
    }
    out.push_str(rest);
    out
}

/// Replaces `0NNN`, an octal byte; with fewer than three digits only the leading zero is lost.
fn octal<'a>(after: &'a str, out: &mut String) -> &'a str {
    let digits = after[1..].bytes().take(3).take_while(u8::is_ascii_digit).count();
    let number = &after[1..=digits];
    match u8::from_str_radix(number, 8) {
        Ok(byte) if digits == 3 => out.push(char::from(byte)),
        _ => {
            out.push('\\');
            out.push_str(number);
        }
    }
    &after[1 + digits..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: Result<&[(&str, &str)], &str>) {
        let mut variables = Variables::new();
        let lookup = |name: &str| (name == "OUTER").then(|| "out".to_owned());
        let actual = parse(source, &mut variables, &lookup).map(|()| variables);
        let expected = expected
            .map(|pairs| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
            .map_err(str::to_owned);
        assert_eq!(actual, expected, "{source}");
    }

    #[test]
    fn values_are_read_with_quotes_comments_and_variables() {
        check("A=1\nB = two \n", Ok(&[("A", "1"), ("B", "two")]));
        check("export A=1\n# no\n\nB: yaml # note", Ok(&[("A", "1"), ("B", "yaml")]));
        check(
            "A=x#y\nB='s $A' # c\nC=\"d $A\"",
            Ok(&[("A", "x#y"), ("B", "s $A"), ("C", "d x#y")]),
        );
        check(
            "A=\"multi\nline\"\nB=${OUTER}-${NO:-d}",
            Ok(&[("A", "multi\nline"), ("B", "out-d")]),
        );
        check(r#"A="a\tb\"c\$D""#, Ok(&[("A", "a\tb\"c$D")]));
        check(r"A='it\'s \n'", Ok(&[("A", r"it's \n")]));
        check("OUTER\nMISSING\nA=\n", Ok(&[("OUTER", "out"), ("A", "")]));
        check("\u{feff}A=1\r\nB=2\r\n", Ok(&[("A", "1"), ("B", "2")]));
    }

    #[test]
    fn mistakes_name_their_line() {
        check("A=1\nB C=2", Err("line 2: key cannot contain a space"));
        check("A=1\n\n%B=2\nx", Err(r#"line 3: unexpected character "%" in variable name "%B=2""#));
        check("A=1\nB='open\nmore", Err("line 3: unterminated quoted value 'open"));
    }
}
