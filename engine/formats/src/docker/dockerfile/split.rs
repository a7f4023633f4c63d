//! Splits an instruction into name, flags and arguments, each by its own syntax.

use crate::golang::quote::quote;

const SPACES: [char; 5] = ['\t', '\x0b', '\x0c', '\r', ' '];

/// The parts of an instruction.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) command: String,
    pub(super) flags: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) raw_args: String,
    pub(super) may_have_heredocs: bool,
}

/// Splits one instruction. Instructions that do not exist are accepted without arguments.
pub(super) fn parse_instruction(line: &str, escape: char) -> Result<Arguments, String> {
    let mut parts = parse_single(line, escape)?;
    if parts.command.eq_ignore_ascii_case("onbuild")
        && let Some((trigger, direct)) = find_trigger(&parts.raw_args, escape)
    {
        let trigger = parse_single(trigger, escape)?;
        parts.may_have_heredocs = direct && trigger.may_have_heredocs;
    }
    Ok(parts)
}

/// The instruction inside an `ONBUILD`, to any depth, and whether it stands there directly.
fn find_trigger(text: &str, escape: char) -> Option<(&str, bool)> {
    let mut text = text;
    let mut direct = true;
    loop {
        let (command, rest) = split_space(text);
        if !command.eq_ignore_ascii_case("onbuild") {
            return (!text.is_empty()).then_some((text, direct));
        }
        text = split_flags(rest.unwrap_or_default(), escape).1.trim();
        direct = false;
    }
}

fn parse_single(line: &str, escape: char) -> Result<Arguments, String> {
    let (command, rest) = split_space(line.trim());
    let (flags, rest) = split_flags(rest.unwrap_or_default(), escape);
    let rest = rest.trim();
    let name = command.to_lowercase();
    let mut may_have_heredocs = matches!(name.as_str(), "add" | "copy" | "run");
    let args = match name.as_str() {
        "add" | "copy" | "volume" | "cmd" | "entrypoint" | "run" | "shell" => {
            match parse_json(rest)? {
                Some(list) => {
                    may_have_heredocs = false;
                    list
                }
                None if matches!(name.as_str(), "add" | "copy" | "volume") => split_words(rest),
                None => whole(rest),
            }
        }
        "arg" => parse_words(rest, escape),
        "env" => parse_name_values(rest, "ENV", escape)?,
        "label" => parse_name_values(rest, "LABEL", escape)?,
        "expose" | "from" => split_words(rest),
        "healthcheck" => {
            let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
            parse_json(&rest[end..])?;
            whole(rest)
        }
        "maintainer" | "stopsignal" | "user" | "workdir" => whole(rest),
        _ => Vec::new(),
    };
    Ok(Arguments {
        command: command.to_owned(),
        flags,
        args,
        raw_args: rest.to_owned(),
        may_have_heredocs,
    })
}

fn whole(rest: &str) -> Vec<String> {
    if rest.is_empty() { Vec::new() } else { vec![rest.to_owned()] }
}

/// Splits at the first run of spaces.
fn split_space(text: &str) -> (&str, Option<&str>) {
    match text.find(SPACES) {
        Some(at) => (&text[..at], Some(text[at..].trim_start_matches(SPACES))),
        None => (text, None),
    }
}

/// Splits at every run of spaces.
fn split_words(text: &str) -> Vec<String> {
    text.split(SPACES).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Reads a JSON array of strings; any other text is none.
fn parse_json(text: &str) -> Result<Option<Vec<String>>, String> {
    let text = text.trim_start();
    if !text.starts_with('[') {
        return Ok(None);
    }
    let Ok(items) = serde_json::from_str::<Vec<serde_json::Value>>(text) else {
        return Ok(None);
    };
    let strings = items.into_iter().map(|item| match item {
        serde_json::Value::String(text) => Ok(text),
        _ => {
            Err("when using JSON array syntax, arrays must be comprised of strings only".to_owned())
        }
    });
    strings.collect::<Result<_, _>>().map(Some)
}

/// Reads `name=value ...`, or the old form `name value`.
fn parse_name_values(rest: &str, command: &str, escape: char) -> Result<Vec<String>, String> {
    let words = parse_words(rest, escape);
    let Some(first) = words.first() else {
        return Ok(words);
    };
    if !first.contains('=') {
        return match split_space(rest) {
            (name, Some(value)) => Ok(vec![name.to_owned(), value.to_owned()]),
            (_, None) => Err(format!("{command} must have two arguments")),
        };
    }
    match words.iter().find(|word| !word.contains('=')) {
        Some(word) => Err(format!(
            "Syntax error - can't find = in {}. Must be of the form: name=value",
            quote(word)
        )),
        None => Ok(words),
    }
}

/// Splits into words, which quotes and escapes may hold together. Quotes stay.
fn parse_words(text: &str, escape: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        // A single quote keeps escape characters as they are.
        if c == escape && quote != Some('\'') {
            match chars.next() {
                Some(next) => word.get_or_insert_default().extend([c, next]),
                // An escape character at the very end is dropped.
                None => break,
            }
            continue;
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            _ => {}
        }
        word.get_or_insert_default().push(c);
    }
    words.extend(word);
    words
}

/// Splits off the leading words that start with `--`, and removes their quotes.
fn split_flags(line: &str, escape: char) -> (Vec<String>, &str) {
    let mut flags = Vec::new();
    let mut rest = line.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    while rest.starts_with("--") {
        let (word, after) = split_flag(rest, escape);
        rest = after;
        if word == "--" {
            break;
        }
        flags.push(word);
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    }
    (flags, rest)
}

fn split_flag(text: &str, escape: char) -> (String, &str) {
    let mut word = String::new();
    let mut quote: Option<u8> = None;
    let mut bytes = text.bytes().enumerate();
    while let Some((i, byte)) = bytes.next() {
        match byte {
            byte if quote == Some(byte) => quote = None,
            b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' if quote.is_none() => {
                return (word, &text[i..]);
            }
            b'\'' | b'"' if quote.is_none() => quote = Some(byte),
            // The reference reads flags byte by byte, so other characters than ASCII are garbled.
            byte if char::from(byte) == escape => {
                word.extend(bytes.next().map(|(_, next)| char::from(next)));
            }
            byte => word.push(char::from(byte)),
        }
    }
    (word, "")
}
