//! Finds all calls of a file with their arguments, in one pass.

use std::ops::Range;

use super::{
    context::callee,
    document::Document,
    outline::starts_statement,
    tokens::{Token, TokenKind},
};

/// Words that make a statement run sometimes only.
const CONDITIONS: [&str; 9] = ["and", "def", "elif", "else", "for", "if", "lambda", "or", "while"];

/// A call.
#[derive(Debug)]
pub(super) struct CallSite {
    /// What is called: `os.path.join`.
    pub(super) callee: String,
    /// The token with the last part of that.
    pub(super) name: usize,
    /// What it is called with.
    pub(super) args: Vec<Argument>,
    /// The token that closes it; nothing while somebody types.
    pub(super) end: Option<usize>,
    /// Whether it runs whenever the file does: in no function, loop or condition.
    pub(super) is_certain: bool,
}

/// An argument of a call.
#[derive(Debug)]
pub(super) struct Argument {
    /// The token with its name.
    pub(super) name: Option<usize>,
    /// The tokens of its value.
    pub(super) value: Range<usize>,
}

impl CallSite {
    /// The argument of a parameter, which is given by its name or at a position.
    pub(super) fn argument(
        &self,
        document: &Document,
        name: &str,
        position: Option<usize>,
    ) -> Option<&Argument> {
        let named = |it: &&Argument| it.name.is_some_and(|it| document.word_at(it) == name);
        let at = |it| self.args.get(it).filter(|it: &&Argument| it.name.is_none());
        self.args.iter().find(named).or_else(|| at(position?))
    }
}

impl Argument {
    /// The string literal that the argument is.
    pub(super) fn literal<'a>(&self, document: &'a Document) -> Option<&'a str> {
        match self.literals(document).as_slice() {
            [only] if !self.is_list(document) => Some(document.content(&document.tokens[*only])),
            _ => None,
        }
    }

    /// The string literals that the argument, or a list, consists of; none if it consists of anything else.
    pub(super) fn literals(&self, document: &Document) -> Vec<usize> {
        let is_plain = |token: &Token| match token.kind {
            TokenKind::Text => !document.content(token).contains('\\'),
            TokenKind::Newline | TokenKind::Sign(b'[' | b']' | b',') => true,
            _ => false,
        };
        if !self.value.clone().all(|it| is_plain(&document.tokens[it])) {
            return Vec::new();
        }
        let is_text = |it: &usize| document.tokens[*it].kind == TokenKind::Text;
        self.value.clone().filter(is_text).collect()
    }

    /// Whether it takes apart a list or a dict: `*args`.
    pub(super) fn is_spread(&self, document: &Document) -> bool {
        document.tokens.get(self.value.start).is_some_and(|it| it.is(b'*'))
    }

    fn is_list(&self, document: &Document) -> bool {
        document.tokens.get(self.value.start).is_some_and(|it| it.is(b'['))
    }
}

/// All calls, in the order in which they begin.
pub(super) fn calls(document: &Document) -> Vec<CallSite> {
    let mut reader = CallReader { document, found: Vec::new(), open: Vec::new(), statement: 0 };
    reader.run();
    reader.found
}

/// An open bracket: the call that it belongs to, and where the argument in it began.
struct OpenBracket {
    call: Option<usize>,
    argument: usize,
}

struct CallReader<'a> {
    document: &'a Document,
    found: Vec<CallSite>,
    open: Vec<OpenBracket>,
    /// How many calls there were before this statement.
    statement: usize,
}

impl CallReader<'_> {
    fn run(&mut self) {
        let tokens = &self.document.tokens;
        let mut is_certain = true;
        for (at, token) in tokens.iter().enumerate() {
            if token.is_first
                && !self.open.is_empty()
                && starts_statement(self.document.text(), tokens, at)
            {
                self.open.clear();
                self.end_statement(is_certain);
            }
            if token.is_first && self.open.is_empty() {
                is_certain = token.column == 0;
            }
            match token.kind {
                TokenKind::Sign(b'(' | b'[' | b'{') => self.open(at),
                TokenKind::Sign(b')' | b']' | b'}') => self.close(at),
                TokenKind::Sign(b',') => self.end_argument(at),
                TokenKind::Name => {
                    is_certain &= !CONDITIONS.contains(&self.document.word(token));
                }
                TokenKind::Newline if self.open.is_empty() => self.end_statement(is_certain),
                _ => {}
            }
        }
        self.end_statement(is_certain);
    }

    fn end_statement(&mut self, is_certain: bool) {
        for call in &mut self.found[self.statement..] {
            call.is_certain = is_certain;
        }
        self.statement = self.found.len();
    }

    fn open(&mut self, at: usize) {
        let is_call = self.document.tokens[at].is(b'(');
        let callee = is_call.then(|| callee(self.document, at)).flatten();
        let call = callee.map(|callee| {
            let name = at.saturating_sub(1);
            self.found.push(CallSite {
                callee,
                name,
                args: Vec::new(),
                end: None,
                is_certain: false,
            });
            self.found.len() - 1
        });
        self.open.push(OpenBracket { call, argument: at + 1 });
    }

    fn close(&mut self, at: usize) {
        self.end_argument(at);
        if let Some(call) = self.open.pop().and_then(|it| it.call) {
            self.found[call].end = Some(at);
        }
    }

    fn end_argument(&mut self, at: usize) {
        let tokens = &self.document.tokens;
        let Some(OpenBracket { call, argument }) = self.open.last_mut() else { return };
        let is_new = |it: &usize| tokens[*it].kind != TokenKind::Newline;
        let start = (*argument..at).find(is_new);
        *argument = at + 1;
        let (Some(call), Some(start)) = (*call, start) else { return };
        let is_sign = |at: usize, sign: u8| tokens.get(at).is_some_and(|it| it.is(sign));
        let is_named = tokens[start].kind == TokenKind::Name
            && is_sign(start + 1, b'=')
            && !is_sign(start + 2, b'=');
        let name = is_named.then_some(start);
        let value = if is_named { start + 2 } else { start };
        self.found[call].args.push(Argument { name, value: value.min(at)..at });
    }
}
