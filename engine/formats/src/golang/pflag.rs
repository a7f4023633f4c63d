//! Decides what command line arguments mean, with the rules and words of spf13/pflag.

use std::collections::BTreeMap;

pub use crate::golang::boolean::parse as parse_bool;

use super::quote::{quote, quote_char};

/// A flag that may be given as `--name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The name, without dashes.
    pub name: String,
    /// The explanation; a word in back quotes names the value.
    pub usage: String,
    /// The type shown in the usage table, such as `string`; `bool` shows nothing.
    pub type_name: String,
    /// The default as text; it is shown unless it is a zero value.
    pub default_text: String,
    /// The value that `--name` alone stands for; `None` makes an argument necessary.
    pub value_without_argument: Option<String>,
}

/// Why arguments could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// `--help` or `-h` was given; `FlagSet::help_text` answers it.
    #[error("pflag: help requested")]
    Help,
    /// No flag has this name.
    #[error("unknown flag: --{0}")]
    UnknownFlag(String),
    /// No flag has this one-letter name.
    #[error("unknown shorthand flag: {} in -{shorthands}", quote_char(*letter))]
    UnknownShorthand {
        /// The letter.
        letter: char,
        /// The rest of the argument, starting with the letter.
        shorthands: String,
    },
    /// A flag stands last although it needs a value.
    #[error("flag needs an argument: --{0}")]
    ValueRequired(String),
    /// The value was refused.
    #[error("invalid argument {} for {} flag: {reason}", quote(value), quote(&format!("--{name}")))]
    InvalidValue {
        /// The flag's name.
        name: String,
        /// The value.
        value: String,
        /// Why it was refused.
        reason: String,
    },
    /// Dashes are not followed by a name.
    #[error("bad flag syntax: {0}")]
    BadSyntax(String),
}

/// The flags of one command.
#[derive(Debug, Clone, Default)]
pub struct FlagSet {
    flags: BTreeMap<String, Flag>,
}

impl FlagSet {
    /// A set without flags.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a flag.
    pub fn add(&mut self, flag: Flag) {
        self.flags.insert(flag.name.clone(), flag);
    }

    /// Hands every flag's value to `set`, in order, and returns the positional arguments.
    pub fn parse(
        &self,
        args: &[String],
        mut set: impl FnMut(&str, &str) -> Result<(), String>,
    ) -> Result<Vec<String>, FlagError> {
        let mut positionals = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_bytes() {
                b"--" => {
                    positionals.extend(args.cloned());
                    break;
                }
                [b'-', b'-', ..] => self.parse_long(arg, &mut args, &mut set)?,
                [b'-', _, ..] => parse_short(&arg[1..])?,
                _ => positionals.push(arg.clone()),
            }
        }
        Ok(positionals)
    }

    fn parse_long<'a>(
        &self,
        arg: &str,
        args: &mut impl Iterator<Item = &'a String>,
        set: &mut impl FnMut(&str, &str) -> Result<(), String>,
    ) -> Result<(), FlagError> {
        let name = &arg[2..];
        if name.starts_with(['-', '=']) {
            return Err(FlagError::BadSyntax(arg.to_owned()));
        }
        let (name, given) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        let Some(flag) = self.flags.get(name) else {
            return Err(match name {
                "help" => FlagError::Help,
                name => FlagError::UnknownFlag(name.to_owned()),
            });
        };
        let value = given
            .or(flag.value_without_argument.as_deref())
            .or_else(|| args.next().map(String::as_str))
            .ok_or_else(|| FlagError::ValueRequired(name.to_owned()))?;
        set(name, value).map_err(|reason| FlagError::InvalidValue {
            name: name.to_owned(),
            value: value.to_owned(),
            reason,
        })
    }

    /// The table of flags, with explanations wrapped to `columns`; 0 means not at all.
    pub fn usages(&self, columns: usize) -> String {
        let rows: Vec<(String, String)> = self.flags.values().map(Flag::row).collect();
        let widest = rows.iter().map(|(left, _)| left.len() + 1).max().unwrap_or(0);
        let mut table = String::new();
        for (left, right) in rows {
            let spacing = " ".repeat(widest - left.len());
            let right = wrap(widest + 2, columns, &right);
            table.extend([&left, " ", &spacing, " ", &right, "\n"]);
        }
        table
    }

    /// What is printed when help was requested.
    pub fn help_text(&self) -> String {
        format!("Usage of :\n{}", self.usages(0))
    }
}

/// No flag has a one-letter name here, so any letter is an error.
fn parse_short(shorthands: &str) -> Result<(), FlagError> {
    // The reference lets flags of Go's test runner pass.
    if shorthands.starts_with("test.") {
        return Ok(());
    }
    match shorthands.as_bytes().first() {
        None => Ok(()),
        Some(b'h') => Err(FlagError::Help),
        // The reference looks at bytes, so that `é` is reported by its first byte.
        Some(byte) => Err(FlagError::UnknownShorthand {
            letter: char::from(*byte),
            shorthands: shorthands.to_owned(),
        }),
    }
}

impl Flag {
    /// The two columns of the usage table.
    fn row(&self) -> (String, String) {
        let (value_name, usage) = self.unquoted_usage();
        let mut left = format!("      --{}", self.name);
        if !value_name.is_empty() {
            left.push(' ');
            left.push_str(&value_name);
        }
        match (self.type_name.as_str(), self.value_without_argument.as_deref()) {
            (_, None) | ("bool", Some("true")) => {}
            ("string", Some(value)) => left.extend(["[=\"", value, "\"]"]),
            (_, Some(value)) => left.extend(["[=", value, "]"]),
        }
        let mut right = usage;
        if !matches!(self.default_text.as_str(), "false" | "<nil>" | "" | "0") {
            let default = match self.type_name.as_str() {
                "string" => quote(&self.default_text),
                _ => self.default_text.clone(),
            };
            right.extend([" (default ", &default, ")"]);
        }
        (left, right)
    }

    /// The name of the value and the explanation without its back quotes.
    fn unquoted_usage(&self) -> (String, String) {
        let mut pieces = self.usage.splitn(3, '`');
        if let (Some(before), Some(name), Some(after)) =
            (pieces.next(), pieces.next(), pieces.next())
        {
            return (name.to_owned(), format!("{before}{name}{after}"));
        }
        let name = if self.type_name == "bool" { "" } else { &self.type_name };
        (name.to_owned(), self.usage.clone())
    }
}

/// Wraps a text that starts at column `indent`, and indents its further lines.
fn wrap(indent: usize, columns: usize, text: &str) -> String {
    const LEAST: usize = 24;
    const SLOP: usize = 5;
    let newline = |indent: usize| format!("\n{}", " ".repeat(indent));
    if columns == 0 {
        return text.replace('\n', &newline(indent));
    }
    let mut indent = indent;
    let mut out = String::new();
    if columns < indent + LEAST {
        indent = 16;
        out = newline(indent);
        if columns < indent + LEAST {
            return text.replace('\n', &out);
        }
    }
    let width = columns - indent - SLOP;
    let mut rest = text;
    let mut first = true;
    while first || !rest.is_empty() {
        let (line, after) = wrap_line(width, SLOP, rest);
        if !first {
            out.push_str(&newline(indent));
        }
        out.push_str(&line.replace('\n', &newline(indent)));
        rest = after;
        first = false;
    }
    out
}

/// Splits a text at the last white space within `width` bytes.
fn wrap_line(width: usize, slop: usize, text: &str) -> (&str, &str) {
    if width + slop > text.len() {
        return (text, "");
    }
    let head = &text.as_bytes()[..width];
    let last = |wanted: &[u8]| head.iter().rposition(|byte| wanted.contains(byte)).unwrap_or(0);
    let space = last(b" \t\n");
    if space == 0 {
        return (text, "");
    }
    let newline = last(b"\n");
    let at = if newline > 0 && newline < space { newline } else { space };
    (&text[..at], &text[at + 1..])
}

#[cfg(test)]
mod tests;
