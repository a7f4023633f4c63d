//! Splits a Dockerfile into instructions: directives, comments, continued lines and heredocs.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::Dockerfile;
use super::heredoc::{self, Heredoc};
use super::split::{self, Arguments};

/// The longest line that the reference reads, in bytes.
const LINE_MAX: usize = 64 * 1024;

static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A([a-zA-Z][a-zA-Z0-9]*)[\t\n\x0C\r ]*=[\t\n\x0C\r ]*(.+?)[\t\n\x0C\r ]*\z")
        .expect("the pattern is a constant")
});

/// One instruction.
#[derive(Debug, Clone, Default)]
pub(super) struct Instruction {
    /// The instruction's name as written.
    pub(super) command: String,
    /// The words before the arguments that start with `--`.
    pub(super) flags: Vec<String>,
    /// The arguments, as far as the instruction's syntax splits them.
    pub(super) args: Vec<String>,
    /// The text of the arguments.
    pub(super) raw_args: String,
    /// The whole instruction on one line.
    pub(super) original: String,
    pub(super) heredocs: Vec<Heredoc>,
    pub(super) start_line: usize,
    replaced: bool,
}

impl Instruction {
    /// Makes the instruction, a `FROM` or `COPY`, use another image.
    pub(super) fn replace_image(&mut self, image: &str) {
        self.replaced = true;
        if self.command.eq_ignore_ascii_case("from") {
            if let Some(first) = self.args.first_mut() {
                image.clone_into(first);
            }
            self.raw_args = self.args.join(" ");
            return;
        }
        for flag in &mut self.flags {
            if flag.starts_with("--from=") {
                *flag = format!("--from={image}");
            }
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.replaced {
            f.write_str(&self.command.to_uppercase())?;
            for flag in &self.flags {
                write!(f, " {flag}")?;
            }
            write!(f, " {}", self.raw_args)?;
        } else {
            f.write_str(&self.original)?;
        }
        for heredoc in &self.heredocs {
            write!(f, "\n{}{}", heredoc.content, heredoc.name)?;
        }
        Ok(())
    }
}

/// Reads the directives at the start of a file.
#[derive(Default)]
struct Directives {
    seen: Vec<(String, String)>,
    done: bool,
}

impl Directives {
    /// Looks at the next line, and returns its value if it sets the escape character.
    fn read(&mut self, line: &str) -> Result<Option<String>, String> {
        if self.done {
            return Ok(None);
        }
        let found = line
            .strip_prefix('#')
            .and_then(|comment| DIRECTIVE.captures(comment.trim_start()))
            .map(|parts| (parts[1].to_lowercase(), parts[2].to_owned()))
            .filter(|(name, _)| matches!(name.as_str(), "syntax" | "check" | "escape"));
        let Some((name, value)) = found else {
            self.done = true;
            return Ok(None);
        };
        if self.seen.iter().any(|(seen, _)| *seen == name) {
            return Err(format!("only one {name} parser directive can be used"));
        }
        self.seen.push((name.clone(), value.clone()));
        Ok((name == "escape").then_some(value))
    }
}

/// Hands out lines with their ends, and stops at one that is too long.
struct Lines<'a> {
    rest: std::str::SplitInclusive<'a, char>,
    too_long: bool,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let line = self.rest.next().filter(|_| !self.too_long)?;
        if line.strip_suffix('\n').unwrap_or(line).len() >= LINE_MAX {
            self.too_long = true;
            return None;
        }
        self.number += 1;
        Some(line)
    }
}

struct Reader<'a> {
    lines: Lines<'a>,
    directives: Directives,
    escape: char,
}

/// Reads a whole Dockerfile.
pub(super) fn parse(text: &str) -> Result<Dockerfile, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines { rest: text.split_inclusive('\n'), too_long: false, number: 0 };
    let mut reader = Reader { lines, directives: Directives::default(), escape: '\\' };
    let mut nodes = Vec::new();
    while let Some(line) = reader.lines.next() {
        nodes.extend(reader.read_instruction(line)?);
    }
    if nodes.is_empty() {
        return Err("file with no instructions".to_owned());
    }
    if reader.lines.too_long {
        return Err(format!("dockerfile line greater than max allowed size of {}", LINE_MAX - 1));
    }
    Ok(Dockerfile { nodes, escape: reader.escape, directives: reader.directives.seen })
}

impl Reader<'_> {
    /// Reads the instruction that starts on a line, unless that is empty or a comment.
    fn read_instruction(&mut self, line: &str) -> Result<Option<Instruction>, String> {
        let start_line = self.lines.number;
        let first = self.strip_comment(trim_newline(line).trim_start())?;
        let (text, mut continues) = self.trim_continuation(first);
        if text.is_empty() && !continues {
            return Ok(None);
        }
        let mut text = text.to_owned();
        while continues && let Some(line) = self.lines.next() {
            let line = trim_newline(line);
            let stripped = self.strip_comment(line)?;
            if is_comment(line) || stripped.trim_start().is_empty() {
                continue;
            }
            let (more, again) = self.trim_continuation(stripped);
            text.push_str(more);
            continues = again;
        }
        let mut node = self.parse_instruction(text)?;
        node.start_line = start_line;
        Ok(Some(node))
    }

    fn parse_instruction(&mut self, text: String) -> Result<Instruction, String> {
        let Arguments { command, flags, args, raw_args, may_have_heredocs } =
            split::parse_instruction(&text, self.escape)?;
        let mut node = Instruction { command, flags, args, raw_args, ..Instruction::default() };
        if may_have_heredocs && text.contains("<<") {
            for mut heredoc in heredoc::in_line(&text)? {
                self.read_heredoc(&mut heredoc)?;
                node.heredocs.push(heredoc);
            }
        }
        node.original = text;
        Ok(node)
    }

    fn read_heredoc(&mut self, heredoc: &mut Heredoc) -> Result<(), String> {
        while let Some(line) = self.lines.next() {
            let mut end = trim_newline(line);
            if heredoc.chomp {
                end = end.trim_start_matches('\t');
            }
            if end == heredoc.name {
                return Ok(());
            }
            heredoc.content.push_str(line);
        }
        Err("unterminated heredoc".to_owned())
    }

    /// The line, or nothing if it is a comment. Comments may be directives.
    fn strip_comment<'a>(&mut self, line: &'a str) -> Result<&'a str, String> {
        if let Some(escape) = self.directives.read(line)? {
            self.escape = match escape.as_str() {
                "`" => '`',
                "\\" => '\\',
                other => {
                    return Err(format!("invalid escape token '{other}' does not match ` or \\"));
                }
            };
        }
        Ok(if is_comment(line) { "" } else { line })
    }

    /// The line without an escape character at its end, and whether there was one. A doubled
    /// escape character does not continue a line.
    fn trim_continuation<'a>(&self, line: &'a str) -> (&'a str, bool) {
        match line.trim_end_matches([' ', '\t']).strip_suffix(self.escape) {
            Some(text) if !text.ends_with(self.escape) => (text, true),
            _ => (line, false),
        }
    }
}

fn trim_newline(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}
