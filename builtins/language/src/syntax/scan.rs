//! Decides where tokens start and end: indentation, line joining, literals.

use engine_formats::golang::quote::quote_char;

use super::{
    Fault,
    chars::{is_ident, is_ident_start},
    literal::unquote,
    token::Token,
};

/// Reads tokens one at a time, as the parser asks for them.
pub(super) struct Scanner<'a> {
    source: &'a str,
    /// The byte after the last character read; errors about the current token point here.
    pub(super) pos: usize,
    /// Where the current token starts.
    pub(super) start: usize,
    depth: usize,
    indents: Vec<usize>,
    /// Indents (above zero) or outdents (below) still to be handed out.
    dents: isize,
    line_start: bool,
}

/// What `peek` says at the end of the input, and also at a NUL, which ends a file early.
const END: char = '\0';

impl<'a> Scanner<'a> {
    pub(super) fn new(source: &'a str) -> Scanner<'a> {
        Scanner { source, pos: 0, start: 0, depth: 0, indents: vec![0], dents: 0, line_start: true }
    }

    /// The text of the current token.
    pub(super) fn raw(&self) -> &'a str {
        &self.source[self.start..self.pos]
    }

    /// How far the current block is indented.
    pub(super) fn indent(&self) -> u32 {
        super::position::offset(self.indents.last().copied().unwrap_or(0))
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn at_end(&self) -> bool {
        self.pos >= self.source.len()
    }

    fn peek(&self) -> char {
        match self.source.as_bytes().get(self.pos) {
            None => END,
            Some(b'\r') => '\n',
            Some(&byte) if byte.is_ascii() => char::from(byte),
            Some(_) => self.source[self.pos..].chars().next().unwrap_or(END),
        }
    }

    /// Consumes one character; any line ending counts as one.
    fn read(&mut self) -> char {
        let c = self.peek();
        if self.byte(0) == b'\r' && self.byte(1) == b'\n' {
            self.pos += 2;
        } else if !self.at_end() {
            self.pos += c.len_utf8();
        }
        c
    }

    /// Reads the next token; afterwards `start..pos` is its text.
    pub(super) fn next(&mut self) -> Result<Token, Fault> {
        loop {
            let mut blank = false;
            let saved_line_start = self.line_start;
            if self.line_start {
                self.line_start = false;
                blank = self.indentation()?;
            }
            if self.dents != 0 {
                self.start = self.pos;
                let outdent = self.dents < 0;
                self.dents += if outdent { 1 } else { -1 };
                return Ok(if outdent { Token::Outdent } else { Token::Indent });
            }
            while matches!(self.byte(0), b' ' | b'\t') {
                self.pos += 1;
            }
            if self.byte(0) == b'#' {
                self.skip_comment();
            }
            match self.peek() {
                '\n' => {
                    self.line_start = true;
                    self.start = self.pos;
                    self.read();
                    if self.depth == 0 && !blank {
                        return Ok(Token::Newline);
                    }
                }
                END => {
                    self.start = self.pos;
                    if self.indents.len() == 1 {
                        return Ok(Token::Eof);
                    }
                    if !saved_line_start {
                        self.line_start = true;
                        return Ok(Token::Newline);
                    }
                    self.dents = 1 - self.indents.len().cast_signed();
                    self.indents.truncate(1);
                }
                '\\' => {
                    self.read();
                    if self.peek() != '\n' {
                        return Err(Fault::new(self.pos, "stray backslash in program"));
                    }
                    self.read();
                }
                c => {
                    self.start = self.pos;
                    return self.token(c);
                }
            }
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.source.as_bytes()[self.pos..];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | 0));
        self.pos += length.unwrap_or(rest.len());
    }

    /// Reads the spaces before a line and says whether the line is blank.
    fn indentation(&mut self) -> Result<bool, Fault> {
        let line = self.pos;
        let mut col = 0;
        loop {
            match self.byte(0) {
                b' ' => col += 1,
                // The reference takes the tab stop from the character's column, not from the
                // width so far, so the second of two tabs counts 7.
                b'\t' => col += 8 - (self.pos - line) % 8,
                _ => break,
            }
            self.pos += 1;
        }
        let blank = matches!(self.peek(), '#' | '\n' | END);
        if !blank && self.depth == 0 {
            let current = self.indents.last().copied().unwrap_or(0);
            if col > current {
                self.dents += 1;
                self.indents.push(col);
            }
            while self.indents.last().is_some_and(|&level| col < level) {
                self.dents -= 1;
                self.indents.pop();
            }
            if self.indents.last() != Some(&col) {
                let message = "unindent does not match any outer indentation level";
                return Err(Fault::new(self.pos, message));
            }
        }
        Ok(blank)
    }

    fn token(&mut self, c: char) -> Result<Token, Fault> {
        match c {
            ',' => self.single(Token::Comma),
            '"' | '\'' => self.string(),
            '(' => self.open(Token::LParen),
            '[' => self.open(Token::LBrack),
            '{' => self.open(Token::LBrace),
            ')' => self.close(c, Token::RParen),
            ']' => self.close(c, Token::RBrack),
            '}' => self.close(c, Token::RBrace),
            ':' => self.single(Token::Colon),
            ';' => self.single(Token::Semi),
            '~' => self.single(Token::Tilde),
            '0'..='9' | '.' => self.number(c),
            _ if is_ident_start(c) => self.word(c),
            _ => self.operator(c),
        }
    }

    fn single(&mut self, token: Token) -> Result<Token, Fault> {
        self.pos += 1;
        Ok(token)
    }

    fn open(&mut self, token: Token) -> Result<Token, Fault> {
        self.depth += 1;
        self.single(token)
    }

    fn close(&mut self, c: char, token: Token) -> Result<Token, Fault> {
        if self.depth == 0 {
            return Err(Fault::new(self.pos, format!("unexpected {}", quote_char(c))));
        }
        self.depth -= 1;
        self.single(token)
    }

    fn word(&mut self, c: char) -> Result<Token, Fault> {
        let is_quote = |byte: u8| matches!(byte, b'"' | b'\'');
        if matches!(c, 'r' | 'b') && is_quote(self.byte(1)) {
            self.pos += 1;
            return self.string();
        }
        if c == 'r' && self.byte(1) == b'b' && is_quote(self.byte(2)) {
            self.pos += 2;
            return self.string();
        }
        while is_ident(self.peek()) {
            self.read();
        }
        Ok(Token::keyword(self.raw()).unwrap_or(Token::Ident))
    }

    fn operator(&mut self, c: char) -> Result<Token, Fault> {
        use Token::{
            Amp, AmpEq, Circumflex, CircumflexEq, Eq, Eql, Ge, Gt, GtGt, GtGtEq, Le, Lt, LtLt,
            LtLtEq, Minus, MinusEq, Neq, Percent, PercentEq, Pipe, PipeEq, Plus, PlusEq, Slash,
            SlashEq, SlashSlash, SlashSlashEq, Star, StarEq, StarStar,
        };
        let (token, length) = match (c, self.byte(1), self.byte(2)) {
            ('=', b'=', _) => (Eql, 2),
            ('=', ..) => (Eq, 1),
            ('!', b'=', _) => (Neq, 2),
            ('+', b'=', _) => (PlusEq, 2),
            ('+', ..) => (Plus, 1),
            ('-', b'=', _) => (MinusEq, 2),
            ('-', ..) => (Minus, 1),
            ('%', b'=', _) => (PercentEq, 2),
            ('%', ..) => (Percent, 1),
            ('&', b'=', _) => (AmpEq, 2),
            ('&', ..) => (Amp, 1),
            ('|', b'=', _) => (PipeEq, 2),
            ('|', ..) => (Pipe, 1),
            ('^', b'=', _) => (CircumflexEq, 2),
            ('^', ..) => (Circumflex, 1),
            ('/', b'=', _) => (SlashEq, 2),
            ('/', b'/', b'=') => (SlashSlashEq, 3),
            ('/', b'/', _) => (SlashSlash, 2),
            ('/', ..) => (Slash, 1),
            ('<', b'=', _) => (Le, 2),
            ('<', b'<', b'=') => (LtLtEq, 3),
            ('<', b'<', _) => (LtLt, 2),
            ('<', ..) => (Lt, 1),
            ('>', b'=', _) => (Ge, 2),
            ('>', b'>', b'=') => (GtGtEq, 3),
            ('>', b'>', _) => (GtGt, 2),
            ('>', ..) => (Gt, 1),
            ('*', b'*', _) => (StarStar, 2),
            ('*', b'=', _) => (StarEq, 2),
            ('*', ..) => (Star, 1),
            _ => {
                let message = format!("unexpected input character {}", quote_char(c));
                return Err(Fault::new(self.pos, message));
            }
        };
        self.pos += length;
        Ok(token)
    }

    /// Reads a literal whose quote is next; its prefix is already read.
    fn string(&mut self) -> Result<Token, Fault> {
        let quote_at = self.pos;
        let quote = self.byte(0);
        let triple = self.byte(1) == quote && self.byte(2) == quote;
        self.pos += if triple { 3 } else { 1 };
        let bytes = self.source.as_bytes();
        let mut quotes = 0;
        let mut plain = true;
        loop {
            let Some(&byte) = bytes.get(self.pos) else {
                return Err(Fault::new(self.start, "unexpected EOF in string"));
            };
            self.pos += 1;
            match byte {
                _ if byte == quote => {
                    quotes += 1;
                    if !triple || quotes == 3 {
                        break;
                    }
                    continue;
                }
                b'\n' | b'\r' if !triple => {
                    return Err(Fault::new(self.start, "unexpected newline in string"));
                }
                b'\\' => {
                    plain = false;
                    if self.at_end() {
                        return Err(Fault::new(self.start, "unexpected EOF in string"));
                    }
                    self.read();
                }
                _ => {}
            }
            quotes = 0;
        }
        let raw = self.raw();
        if !plain {
            unquote(&normalize_newlines(raw))
                .map_err(|complaint| Fault { offset: quote_at, complaint })?;
        }
        let is_bytes = raw.starts_with('b') || raw.starts_with("rb");
        Ok(if is_bytes { Token::Bytes } else { Token::String })
    }

    fn skip_digits(&mut self, is_digit: impl Fn(&u8) -> bool) -> usize {
        let rest = &self.source.as_bytes()[self.pos..];
        let count = rest.iter().take_while(|&byte| is_digit(byte)).count();
        self.pos += count;
        count
    }

    fn number(&mut self, c: char) -> Result<Token, Fault> {
        if c == '.' && !self.byte(1).is_ascii_digit() {
            return self.single(Token::Dot);
        }
        if c == '0' {
            match self.byte(1) {
                b'x' | b'X' => return self.based(16, u8::is_ascii_hexdigit),
                b'o' | b'O' => return self.based(8, |byte| (b'0'..=b'7').contains(byte)),
                b'b' | b'B' => return self.based(2, |byte| matches!(byte, b'0' | b'1')),
                _ => {}
            }
        }
        self.skip_digits(u8::is_ascii_digit);
        let mut float = false;
        if self.byte(0) == b'.' {
            float = true;
            self.pos += 1;
            self.skip_digits(u8::is_ascii_digit);
        }
        if matches!(self.byte(0), b'e' | b'E') {
            float = true;
            self.pos += 1;
            if matches!(self.byte(0), b'+' | b'-') {
                self.pos += 1;
                if !self.byte(0).is_ascii_digit() {
                    return Err(Fault::new(self.pos, "invalid float literal"));
                }
            }
            self.skip_digits(u8::is_ascii_digit);
        }
        let raw = self.raw();
        if float {
            return match raw.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Token::Float),
                _ => Err(Fault::new(self.pos, "invalid float literal")),
            };
        }
        if raw.len() > 1 && raw.starts_with('0') && raw.bytes().any(|digit| digit != b'0') {
            if raw.bytes().all(|digit| digit <= b'7') {
                let message = format!("obsolete form of octal literal; use 0o{}", &raw[1..]);
                return Err(Fault::new(self.pos, message));
            }
            return Err(Fault::new(self.start, "invalid int literal"));
        }
        Ok(Token::Int)
    }

    /// Reads an integer with a `0x`, `0o` or `0b` prefix.
    fn based(&mut self, radix: u32, is_digit: fn(&u8) -> bool) -> Result<Token, Fault> {
        self.pos += 2;
        let count = self.skip_digits(is_digit);
        if count == 0 {
            // The reference points hex errors at the literal, the others behind the prefix.
            return Err(match radix {
                16 => Fault::new(self.start, "invalid hex literal"),
                8 => Fault::new(self.pos, "invalid octal literal"),
                _ => Fault::new(self.pos, "invalid binary literal"),
            });
        }
        // Only hex and decimal literals may exceed 64 bits.
        if radix != 16 && i64::from_str_radix(&self.raw()[2..], radix).is_err() {
            return Err(Fault::new(self.start, "invalid int literal"));
        }
        Ok(Token::Int)
    }
}

/// The text of a literal with every line ending as `\n`.
pub(crate) fn normalize_newlines(raw: &str) -> std::borrow::Cow<'_, str> {
    if raw.contains('\r') {
        raw.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        raw.into()
    }
}
