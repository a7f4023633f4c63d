//! Decides how a JSON path template is read: text outside braces is literal, everything inside is a path.

use super::{PathNode, Slice};
use crate::golang::quote::unquote;

/// Filters and unions nest this deep.
const MAX_DEPTH: usize = 64;

/// A template that cannot be read, in the words of the Kubernetes library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PathSyntaxError(String);

/// Reads a template into its top-level nodes.
pub fn parse(text: &str) -> Result<Vec<PathNode>, PathSyntaxError> {
    Parser { text, rest: text, depth: 0 }.template()
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn template(mut self) -> Result<Vec<PathNode>, PathSyntaxError> {
        let mut nodes = Vec::new();
        loop {
            let Some(start) = self.rest.find('{') else {
                if !self.rest.is_empty() {
                    nodes.push(PathNode::Text(self.rest.to_owned()));
                }
                return Ok(nodes);
            };
            if start > 0 {
                nodes.push(PathNode::Text(self.take(start).to_owned()));
            }
            self.take(1);
            nodes.push(PathNode::List(self.action()?));
        }
    }

    /// Reads up to and including the closing brace.
    fn action(&mut self) -> Result<Vec<PathNode>, PathSyntaxError> {
        let mut nodes = Vec::new();
        loop {
            if self.skip("}") {
                return Ok(nodes);
            }
            if self.skip("[?(") {
                nodes.push(self.filter()?);
                continue;
            }
            if self.skip("..") {
                if nodes.last() == Some(&PathNode::Recursive) {
                    return Err(error("invalid multiple recursive descent"));
                }
                nodes.push(PathNode::Recursive);
                if self.rest.starts_with(is_word) {
                    nodes.push(self.field());
                }
                continue;
            }
            match self.rest.chars().next() {
                None | Some('\r' | '\n') => return Err(error("unclosed action")),
                Some(' ' | '@' | '$') => {
                    self.take(1);
                }
                Some('[') => self.array(&mut nodes)?,
                Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
                Some('.') => {
                    self.take(1);
                    nodes.push(self.field());
                }
                Some(letter) if letter == '+' || letter == '-' || letter.is_numeric() => {
                    nodes.push(self.number()?);
                }
                Some(letter) if is_word(letter) => nodes.push(self.identifier()),
                Some(letter) => {
                    let code = u32::from(letter);
                    return Err(error(&format!(
                        "unrecognized character in action: U+{code:04X} '{letter}'"
                    )));
                }
            }
        }
    }

    fn identifier(&mut self) -> PathNode {
        let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        match self.take(end) {
            "true" => PathNode::Bool(true),
            "false" => PathNode::Bool(false),
            name => PathNode::Identifier(name.to_owned()),
        }
    }

    fn field(&mut self) -> PathNode {
        let mut letters = self.rest.char_indices();
        let end = loop {
            match letters.next() {
                None => break self.rest.len(),
                Some((_, '\\')) => {
                    letters.next();
                }
                Some((at, letter)) if is_terminator(letter) => break at,
                Some(_) => {}
            }
        };
        match self.take(end) {
            "*" => PathNode::Wildcard,
            name => PathNode::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self) -> Result<PathNode, PathSyntaxError> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest[sign..].find(|letter: char| letter != '.' && !letter.is_numeric());
        let text = self.take(digits.map_or(self.rest.len(), |digits| sign + digits));
        if let Ok(value) = text.parse() {
            return Ok(PathNode::Int(value));
        }
        text.parse().map(PathNode::Float).map_err(|_| error(&format!("cannot parse number {text}")))
    }

    fn quoted(&mut self, quote: char) -> Result<PathNode, PathSyntaxError> {
        let bytes = self.rest.as_bytes();
        let unescaped =
            |at: &usize| *at > 0 && char::from(bytes[*at]) == quote && bytes[*at - 1] != b'\\';
        let end = (0..bytes.len()).find(|at| bytes[*at] == b'\n' || unescaped(at));
        let Some(end) = end.filter(|at| bytes[*at] != b'\n') else {
            return Err(error("unterminated quoted string"));
        };
        let text = self.take(end + 1);
        unquote(&text[1..end], quote)
            .map(PathNode::Text)
            .ok_or_else(|| error(&format!("unquote string {text} error invalid syntax")))
    }

    fn array(&mut self, nodes: &mut Vec<PathNode>) -> Result<(), PathSyntaxError> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest.as_bytes()[*end] == b']');
        let Some(end) = end else { return Err(error("unterminated array")) };
        let text = &self.take(end + 1)[1..end];
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts =
                text.split(',').map(|part| self.nested(&format!("[{}]", part.trim_matches(' '))));
            nodes.push(PathNode::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''))
            .filter(|key| !key.contains('\''));
        if let Some(key) = key {
            nodes.extend(self.nested(&format!(".{key}"))?);
            return Ok(());
        }
        nodes.push(PathNode::Slice(slice(text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<PathNode, PathSyntaxError> {
        let end = self.filter_end()?;
        let text = &self.take(end)[..end - 1];
        if !self.skip("]") {
            return Err(error("unclosed array expect ]"));
        }
        let Some((left, operator, right)) = comparison(text) else {
            let left = self.nested(text)?;
            return Ok(PathNode::Filter { left, right: Vec::new(), operator: "exists".to_owned() });
        };
        let (left, right) = (self.nested(left)?, self.nested(right)?);
        Ok(PathNode::Filter { left, right, operator: operator.to_owned() })
    }

    /// The length up to and including the closing parenthesis, which is not inside quotes.
    fn filter_end(&self) -> Result<usize, PathSyntaxError> {
        let mut opened = None;
        let mut closed = false;
        for (at, letter) in self.rest.char_indices() {
            match letter {
                '\n' => break,
                '"' | '\'' if opened.is_none() => opened = Some(letter),
                '"' | '\'' => {
                    let escaped = at > 0 && self.rest.as_bytes()[at - 1] == b'\\';
                    closed |= !escaped && opened == Some(letter);
                }
                ')' if opened.is_some() == closed => return Ok(at + 1),
                _ => {}
            }
        }
        Err(error("unterminated filter"))
    }

    /// Reads a part of the template as if it stood in braces; what follows a brace of its own is dropped.
    fn nested(&self, text: &str) -> Result<Vec<PathNode>, PathSyntaxError> {
        if self.depth >= MAX_DEPTH {
            return Err(error("unterminated filter"));
        }
        let text = format!("{{{text}}}");
        let nodes = Parser { text: &text, rest: &text, depth: self.depth + 1 }.template()?;
        match nodes.into_iter().next() {
            Some(PathNode::List(nodes)) => Ok(nodes),
            _ => Ok(Vec::new()),
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        debug_assert!(self.text.ends_with(rest), "the rest is always the end of the text");
        taken
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let stripped = self.rest.strip_prefix(prefix);
        self.rest = stripped.unwrap_or(self.rest);
        stripped.is_some()
    }
}

/// Splits `left operator right`; the operator leaves at least one letter for the right side.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |letter| matches!(letter, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|start| *start > 0)?;
    let (left, rest) = text.split_at(start);
    let mut end = rest.find(|letter| !is_operator(letter)).unwrap_or(rest.len());
    if end == rest.len() {
        end -= 1;
    }
    (end > 0 && !rest[end..].contains('\n')).then_some((left, &rest[..end], &rest[end..]))
}

fn slice(text: &str) -> Result<Slice, PathSyntaxError> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_index = |part: &&str| {
        part.strip_prefix('-').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit())
    };
    if parts.len() > 3 || !parts.iter().all(is_index) {
        return Err(error(&format!("invalid array index {text}")));
    }
    let number = |at: usize| match parts.get(at) {
        None | Some(&"") => Ok(None),
        Some(part) => part
            .parse()
            .map(Some)
            .map_err(|_| error(&format!("array index {part} is not a number"))),
    };
    let from: Option<i64> = number(0)?;
    let is_index = parts.len() == 1;
    let to = if is_index { Some(from.unwrap_or(0).saturating_add(1)) } else { number(1)? };
    Ok(Slice { from, to, is_index, step: number(2)? })
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn is_terminator(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn error(text: &str) -> PathSyntaxError {
    PathSyntaxError(text.to_owned())
}
