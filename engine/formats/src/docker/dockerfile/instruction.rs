//! Reads the instructions that matter for images: `ARG`, `FROM` and `COPY`.

use std::sync::LazyLock;

use regex::Regex;

use super::heredoc;
use super::parser::Instruction;

static STAGE_NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[a-z][a-z0-9-_.]*\z").expect("the pattern is a constant"));

/// How often a flag may be given, and what its value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagKind {
    Bool,
    Text,
    Texts,
}

const FROM_FLAGS: [(&str, FlagKind); 1] = [("platform", FlagKind::Text)];
const COPY_FLAGS: [(&str, FlagKind); 6] = [
    ("chown", FlagKind::Text),
    ("from", FlagKind::Text),
    ("chmod", FlagKind::Text),
    ("link", FlagKind::Bool),
    ("exclude", FlagKind::Texts),
    ("parents", FlagKind::Bool),
];

/// Splits `NAME=value`.
pub(super) fn split_arg(arg: &str) -> (String, Option<String>) {
    match arg.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (arg.to_owned(), None),
    }
}

/// The names that an `ARG` declares, unless it is malformed.
pub(super) fn parse_arg(args: &[String]) -> Option<Vec<(String, Option<String>)>> {
    let valid = !args.is_empty() && !args.iter().any(|arg| arg.starts_with('='));
    valid.then(|| args.iter().map(|arg| split_arg(arg)).collect())
}

/// Whether a `FROM` is well formed.
pub(super) fn is_valid_from(node: &Instruction) -> bool {
    let stage = match node.args.as_slice() {
        [_] => true,
        [_, word, name] => {
            word.eq_ignore_ascii_case("as") && STAGE_NAME.is_match(&name.to_lowercase())
        }
        _ => false,
    };
    stage && flag_values(&node.flags, &FROM_FLAGS).is_some()
}

/// The image or stage that a well formed `COPY` takes files from.
pub(super) fn parse_copy_from(node: &Instruction) -> Option<String> {
    let destination = node.args.last().filter(|_| node.args.len() >= 2)?;
    let into_heredoc = matches!(heredoc::parse(destination), Ok(Some(_)));
    let values = flag_values(&node.flags, &COPY_FLAGS)?;
    let from = values.into_iter().find(|(name, _)| *name == "from")?;
    (!into_heredoc).then(|| from.1.to_owned())
}

/// The flags' names and values, unless one is unknown, repeated or has a wrong value.
fn flag_values<'a>(
    flags: &'a [String],
    known: &[(&str, FlagKind)],
) -> Option<Vec<(&'a str, &'a str)>> {
    let mut values: Vec<(&str, &str)> = Vec::new();
    for flag in flags {
        let (name, value) = match flag.strip_prefix("--")?.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&flag[2..], None),
        };
        let kind = known.iter().find(|(known, _)| *known == name)?.1;
        if kind != FlagKind::Texts && values.iter().any(|(seen, _)| *seen == name) {
            return None;
        }
        let value = match (kind, value) {
            (FlagKind::Bool, None) => "true",
            (FlagKind::Bool, Some(value)) => {
                let lower = value.to_lowercase();
                (lower == "true" || lower == "false").then_some(value)?
            }
            (FlagKind::Text | FlagKind::Texts, value) => value?,
        };
        values.push((name, value));
    }
    Some(values)
}
