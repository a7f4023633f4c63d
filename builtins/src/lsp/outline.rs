//! The outline of a file: functions with parameters and descriptions, variables, and loads.

use std::ops::Range;

use super::{
    docstring,
    tokens::{Token, TokenKind},
};

/// What a file defines.
#[derive(Debug, Default)]
pub struct Outline {
    /// Functions and variables, in the order of the text.
    pub symbols: Vec<Symbol>,
    /// What is loaded from other files.
    pub loads: Vec<Load>,
}

/// A function or a variable.
#[derive(Debug)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Where the name stands.
    pub name_range: Range<usize>,
    /// Where all of it stands.
    pub range: Range<usize>,
    /// The function that it belongs to, by its place among the symbols.
    pub parent: Option<usize>,
    /// The token that its value begins with, if it is a variable that gets a single one.
    pub(super) value: Option<usize>,
}

/// What a symbol is.
#[derive(Debug)]
pub enum SymbolKind {
    /// A function.
    Function {
        /// Its parameters as they are written: `x`, `y=1`, `*rest`.
        params: Vec<String>,
        /// What its first line says about it.
        doc: String,
    },
    /// A variable, a parameter or the name of a loop.
    Variable,
}

/// A `load` statement.
#[derive(Debug)]
pub struct Load {
    /// The file, as it is written.
    pub module: String,
    /// Where that stands.
    pub module_range: Range<usize>,
    /// What is taken.
    pub names: Vec<LoadedName>,
}

/// A name of a `load` statement.
#[derive(Debug)]
pub struct LoadedName {
    /// What it is called here.
    pub local: String,
    /// What it is called there.
    pub exported: String,
    /// Where that stands.
    pub range: Range<usize>,
}

impl Outline {
    pub(super) fn new(text: &str, tokens: &[Token]) -> Self {
        let mut reader =
            OutlineReader { text, tokens, at: 0, outline: Self::default(), open: Vec::new() };
        reader.run();
        reader.outline
    }

    /// The function of the file, by its name.
    pub fn global(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().rfind(|it| it.parent.is_none() && it.name == name)
    }

    /// A loaded name, and the statement that loads it.
    pub fn loaded(&self, name: &str) -> Option<(&Load, &LoadedName)> {
        let all = self.loads.iter().flat_map(|load| load.names.iter().map(move |it| (load, it)));
        all.into_iter().find(|(_, it)| it.local == name)
    }

    /// The innermost function around a place.
    pub(super) fn function_at(&self, offset: usize) -> Option<usize> {
        let mut functions = self.symbols.iter().enumerate();
        functions
            .rfind(|(_, it)| {
                matches!(it.kind, SymbolKind::Function { .. })
                    && it.range.start <= offset
                    && offset <= it.range.end
            })
            .map(|(at, _)| at)
    }
}

impl Symbol {
    /// How a function is called.
    pub fn signature(&self) -> String {
        match &self.kind {
            SymbolKind::Function { params, .. } => format!("{}({})", self.name, params.join(", ")),
            SymbolKind::Variable => self.name.clone(),
        }
    }
}

struct OutlineReader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    outline: Outline,
    /// Functions whose bodies go on, with their columns.
    open: Vec<(usize, usize)>,
}

impl<'a> OutlineReader<'a> {
    fn run(&mut self) {
        while self.at < self.tokens.len() {
            let token = &self.tokens[self.at];
            if token.is_first {
                self.close_functions(token.column);
            }
            match (token.kind, self.word(self.at)) {
                (TokenKind::Name, "def") => self.function(),
                (TokenKind::Name, "load") if self.is_sign(self.at + 1, b'(') => self.load(),
                (TokenKind::Name, "for") => self.loop_names(),
                (TokenKind::Name, _) => self.assignment(),
                _ => {}
            }
            self.skip_statement();
        }
        self.close_functions(0);
    }

    fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).and_then(|it| self.text.get(it.range.clone())).unwrap_or_default()
    }

    fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.tokens.get(at).is_some_and(|it| it.is(sign))
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|it| it.kind == TokenKind::Name)
    }

    /// Ends the functions whose bodies a line at this column no longer belongs to.
    fn close_functions(&mut self, column: usize) {
        let end = match self.at.checked_sub(1).and_then(|it| self.tokens.get(it)) {
            Some(before) => before.range.start,
            None => 0,
        };
        while let Some(&(symbol, of_function)) = self.open.last() {
            if column > of_function {
                return;
            }
            self.outline.symbols[symbol].range.end = end;
            self.open.pop();
        }
    }

    /// Goes on to the next statement: behind the end of the line, or behind the colon of a header.
    fn skip_statement(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            // A bracket that was never closed must not swallow the rest of the file.
            if token.is_first && depth > 0 && self.starts_statement(self.at) {
                return;
            }
            self.at += 1;
            match token.kind {
                TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Sign(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                TokenKind::Sign(b':' | b';') | TokenKind::Newline if depth == 0 => return,
                _ => {}
            }
        }
    }

    fn starts_statement(&self, at: usize) -> bool {
        starts_statement(self.text, self.tokens, at)
    }

    fn add(&mut self, at: usize, end: usize, kind: SymbolKind) -> usize {
        let name_range = self.tokens[at].range.clone();
        let range = name_range.start..end.max(name_range.end);
        let parent = self.open.last().map(|(symbol, _)| *symbol);
        let name = self.word(at).to_owned();
        self.outline.symbols.push(Symbol { name, kind, name_range, range, parent, value: None });
        self.outline.symbols.len() - 1
    }

    fn function(&mut self) {
        let (def, name) = (self.at, self.at + 1);
        if !self.is_name(name) {
            return;
        }
        let column = self.tokens[def].column;
        let parts =
            if self.is_sign(name + 1, b'(') { self.arguments(name + 1) } else { Vec::new() };
        let params = parts.iter().map(|it| self.slice(it)).collect();
        let doc = self.doc(name);
        let symbol = self.add(name, self.text.len(), SymbolKind::Function { params, doc });
        self.outline.symbols[symbol].range.start = self.tokens[def].range.start;
        self.open.push((symbol, column));
        for part in parts {
            let first = part.clone().find(|it| self.is_name(*it));
            if let Some(first) = first {
                self.add(first, 0, SymbolKind::Variable);
            }
        }
        self.at = name + 1;
    }

    /// The text that is the first statement of a function's body.
    fn doc(&self, name: usize) -> String {
        let mut depth = 0_usize;
        let mut at = name;
        while let Some(token) = self.tokens.get(at) {
            match token.kind {
                TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Sign(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                TokenKind::Sign(b':') if depth == 0 => break,
                TokenKind::Newline if depth == 0 => return String::new(),
                _ => {}
            }
            at += 1;
        }
        let mut body =
            self.tokens.iter().skip(at + 1).skip_while(|it| it.kind == TokenKind::Newline);
        let first = body.next().filter(|it| it.kind == TokenKind::Text);
        let content = first.and_then(|it| self.text.get(it.content.clone())).unwrap_or_default();
        docstring::dedent(content)
    }

    /// The arguments behind an open bracket, each as a range of tokens. Where it is never closed, they end with the
    /// statement.
    fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut depth) = (Vec::new(), open + 1, 0_usize);
        let mut end = self.tokens.len();
        for at in open..self.tokens.len() {
            let token = &self.tokens[at];
            if at > open && token.is_first && self.starts_statement(at) {
                end = at;
                break;
            }
            match token.kind {
                TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Sign(b')' | b']' | b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        end = at;
                        break;
                    }
                }
                TokenKind::Sign(b',') if depth == 1 => {
                    parts.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(start..end);
        parts.retain(|it| it.clone().any(|at| self.tokens[at].kind != TokenKind::Newline));
        parts
    }

    /// The text of some tokens, on one line.
    fn slice(&self, tokens: &Range<usize>) -> String {
        let of = |at: usize| &self.tokens[at];
        let mut used = tokens.clone().filter(|it| of(*it).kind != TokenKind::Newline);
        let first = used.next();
        let last = used.next_back().or(first);
        let (Some(first), Some(last)) = (first, last) else { return String::new() };
        let text = self.text.get(of(first).range.start..of(last).range.end).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn load(&mut self) {
        let mut load = None;
        for part in self.arguments(self.at + 1) {
            let text = part.clone().find(|it| self.tokens[*it].kind == TokenKind::Text);
            let Some(text) = text.map(|it| &self.tokens[it]) else { continue };
            let content = self.text.get(text.content.clone()).unwrap_or_default().to_owned();
            let range = text.content.clone();
            let Some(load) = &mut load else {
                load = Some(Load { module: content, module_range: range, names: Vec::new() });
                continue;
            };
            let named = part.clone().find(|it| self.tokens[*it].kind == TokenKind::Name);
            let local = named.map_or(content.clone(), |it| self.word(it).to_owned());
            load.names.push(LoadedName { local, exported: content, range });
        }
        self.outline.loads.extend(load);
        self.at += 1;
    }

    /// The names of a `for` statement.
    fn loop_names(&mut self) {
        let mut at = self.at + 1;
        while at < self.tokens.len()
            && self.word(at) != "in"
            && self.tokens[at].kind != TokenKind::Newline
        {
            if self.is_name(at) {
                self.add(at, 0, SymbolKind::Variable);
            }
            at += 1;
        }
    }

    /// `x = …` and `x, y = …`; what only changes something defines nothing.
    fn assignment(&mut self) {
        let mut at = self.at;
        let mut names = Vec::new();
        while self.is_name(at) {
            names.push(at);
            at += 1;
            if !self.is_sign(at, b',') {
                break;
            }
            at += 1;
        }
        if !self.is_sign(at, b'=') || self.is_sign(at + 1, b'=') {
            return;
        }
        let value = (names.len() == 1).then_some(at + 1);
        for name in names {
            let symbol = self.add(name, 0, SymbolKind::Variable);
            self.outline.symbols[symbol].value = value;
        }
    }
}

/// Whether a line that is inside of brackets nevertheless looks like a new statement.
pub(super) fn starts_statement(text: &str, tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    if token.column != 0 || token.kind != TokenKind::Name {
        return false;
    }
    let word = text.get(token.range.clone()).unwrap_or_default();
    if matches!(word, "def" | "load" | "if" | "for" | "while" | "return") {
        return true;
    }
    // An argument can begin a line as well, but behind a comma, and mostly not at its very beginning.
    let is_behind_comma = at > 0
        && tokens[..at]
            .iter()
            .rfind(|it| it.kind != TokenKind::Newline)
            .is_some_and(|it| it.is(b','));
    let next = tokens.get(at + 1);
    next.is_some_and(|it| it.is(b'(') || (it.is(b'=') && !is_behind_comma))
}
