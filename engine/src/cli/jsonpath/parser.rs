//! Turns the text of a template into parts.

use super::{Node, Part, Slice};

/// Reads a whole template.
pub(super) fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        if open > 0 {
            parts.push(Part::Text(rest[..open].to_owned()));
        }
        let mut action = Action { rest: &rest[open + 1..], nodes: Vec::new() };
        action.read()?;
        rest = action.rest;
        parts.push(Part::Action(action.nodes));
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Reads an expression as if it stood between braces.
fn parse_inside(text: &str) -> Result<Vec<Node>, String> {
    let closed = format!("{text}}}");
    let mut action = Action { rest: &closed, nodes: Vec::new() };
    action.read()?;
    Ok(action.nodes)
}

/// What is left of the text inside braces, and what was read so far.
struct Action<'t> {
    rest: &'t str,
    nodes: Vec<Node>,
}

impl<'t> Action<'t> {
    /// Reads up to and including the closing brace.
    fn read(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(());
            }
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                self.recursive()?;
                continue;
            }
            self.step()?;
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let Some(first) = self.rest.chars().next() else {
            return Err("unclosed action".to_owned());
        };
        match first {
            '\r' | '\n' => return Err("unclosed action".to_owned()),
            ' ' | '@' | '$' => self.rest = &self.rest[1..],
            '[' => {
                self.rest = &self.rest[1..];
                self.array()?;
            }
            '"' | '\'' => self.quoted(first)?,
            '.' => {
                self.rest = &self.rest[1..];
                self.field();
            }
            '+' | '-' => self.number()?,
            _ if first.is_numeric() => self.number()?,
            _ if is_word(first) => self.identifier(),
            _ => {
                let code = u32::from(first);
                return Err(format!("unrecognized character in action: U+{code:04X} '{first}'"));
            }
        }
        Ok(())
    }

    /// Takes as many bytes.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn identifier(&mut self) {
        let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        let node = match self.take(end) {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            name => Node::Identifier(name.to_owned()),
        };
        self.nodes.push(node);
    }

    fn recursive(&mut self) -> Result<(), String> {
        if self.nodes.last() == Some(&Node::Recursive) {
            return Err("invalid multiple recursive descent".to_owned());
        }
        self.nodes.push(Node::Recursive);
        if self.rest.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = &self.rest[sign..];
        let end = digits.find(|it: char| it != '.' && !it.is_numeric()).unwrap_or(digits.len());
        let text = self.take(sign + end);
        if let Ok(int) = text.parse::<i64>() {
            self.nodes.push(Node::Int(int));
        } else if let Ok(float) = text.parse::<f64>() {
            self.nodes.push(Node::Float(float));
        } else {
            return Err(format!("cannot parse number {text}"));
        }
        Ok(())
    }

    fn field(&mut self) {
        let mut end = self.rest.len();
        let mut chars = self.rest.char_indices();
        while let Some((at, char)) = chars.next() {
            if char == '\\' {
                chars.next();
            } else if is_terminator(char) {
                end = at;
                break;
            }
        }
        let node = match self.take(end) {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        };
        self.nodes.push(node);
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let mut previous = '\0';
        let end = self.rest.char_indices().skip(1).find(|&(_, char)| {
            let is_end = char == '\n' || (char == quote && previous != '\\');
            previous = char;
            is_end
        });
        match end {
            Some((at, char)) if char == quote => {
                let text = self.take(at + 1);
                let inner = unquote(&text[1..at])
                    .ok_or_else(|| format!("unquote string {text} error invalid syntax"))?;
                self.nodes.push(Node::Text(inner));
                Ok(())
            }
            _ => Err("unterminated quoted string".to_owned()),
        }
    }

    fn array(&mut self) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).unwrap_or(self.rest.len());
        if !self.rest[end..].starts_with(']') {
            return Err("unterminated array".to_owned());
        }
        let text = self.take(end);
        self.rest = &self.rest[1..];
        if text.contains(',') {
            let each =
                text.split(',').map(|it| parse_inside(&format!("[{}]", it.trim_matches(' '))));
            self.nodes.push(Node::Union(each.collect::<Result<_, _>>()?));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''))
            && !key.contains('\'')
        {
            self.nodes.extend(parse_inside(&format!(".{key}"))?);
            return Ok(());
        }
        let text = if text == "*" { ":" } else { text };
        self.nodes.push(Node::Slice(slice(text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        let end = filter_end(self.rest).ok_or("unterminated filter")?;
        let text = self.take(end);
        self.rest = &self.rest[1..];
        let Some(rest) = self.rest.strip_prefix(']') else {
            return Err("unclosed array expect ]".to_owned());
        };
        self.rest = rest;
        let is_operator = |it: char| matches!(it, '!' | '<' | '>' | '=');
        let parts = text.find(is_operator).filter(|at| *at > 0).and_then(|at| {
            let (left, rest) = text.split_at(at);
            let length = rest.find(|it: char| !is_operator(it))?;
            Some((left, &rest[..length], &rest[length..]))
        });
        self.nodes.push(match parts {
            Some((left, operator, right)) => Node::Filter {
                left: parse_inside(left)?,
                operator: operator.to_owned(),
                right: parse_inside(right)?,
            },
            None => Node::Filter {
                left: parse_inside(text)?,
                operator: "exists".to_owned(),
                right: Vec::new(),
            },
        });
        Ok(())
    }
}

/// Where the `)` of a filter is; one in quotes does not count.
fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_closed = false;
    let mut previous = '\0';
    for (at, char) in text.char_indices() {
        match char {
            '\n' => return None,
            '"' | '\'' if quote.is_none() => quote = Some(char),
            '"' | '\'' if quote == Some(char) && previous != '\\' => is_closed = true,
            ')' if quote.is_some() == is_closed => return Some(at),
            _ => {}
        }
        previous = char;
    }
    None
}

fn slice(text: &str) -> Result<Slice, String> {
    let invalid = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    let is_number = |it: &&str| {
        it.trim_start_matches('-').chars().all(|c| c.is_ascii_digit())
            && it.matches('-').count() <= 1
            && it.find('-').is_none_or(|at| at == 0)
    };
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return Err(invalid());
    }
    let number = |text: Option<&&str>| match text {
        None | Some(&"") => Ok(None),
        Some(text) => {
            text.parse::<i64>().map(Some).map_err(|_| format!("array index {text} is not a number"))
        }
    };
    let from = number(parts.first())?;
    let is_index = parts.len() == 1;
    let to =
        if is_index { Some(from.unwrap_or(0).saturating_add(1)) } else { number(parts.get(1))? };
    Ok(Slice { from, to, is_index, step: number(parts.get(2))? })
}

/// The text of a quoted string, with Go's escapes.
fn unquote(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next()? {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => code(&mut chars, 2)?,
            'u' => code(&mut chars, 4)?,
            'U' => code(&mut chars, 8)?,
            other @ ('\\' | '\'' | '"') => other,
            _ => return None,
        });
    }
    Some(out)
}

fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = chars.take(digits).collect();
    if text.len() != digits {
        return None;
    }
    char::from_u32(u32::from_str_radix(&text, 16).ok()?)
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphabetic() || char.is_numeric()
}

fn is_terminator(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}
