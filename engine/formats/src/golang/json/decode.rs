//! Decides whether a text is JSON, and names the first character that is wrong.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::{Json, JsonError, valid_utf8};
use crate::golang::quote::quote_char;

/// How deep arrays and objects may nest; Go has the same limit.
const MAX_DEPTH: usize = 10_000;

/// Most values of a text; what is made of them takes about a gigabyte.
const MAX_VALUES: usize = 5_000_000;

/// Decodes a text that holds exactly one value, as `json.Unmarshal` does.
pub fn decode(text: impl AsRef<[u8]>) -> Result<Json, JsonError> {
    let mut decoder = Decoder::new(text.as_ref(), JsonError::UnexpectedEnd);
    let value = decoder.value()?;
    decoder.skip_space();
    match decoder.peek() {
        None => Ok(value),
        Some(_) => Err(decoder.unexpected("after top-level value")),
    }
}

/// Decodes a text as Tilt's `decode_json` and `read_json` do.
///
/// The first value is taken from a stream, and it is an error if the stream seems to go on.
pub fn decode_single(text: impl AsRef<[u8]>) -> Result<Json, JsonError> {
    let mut decoder = Decoder::new(text.as_ref(), JsonError::UnexpectedEof);
    decoder.skip_space();
    if decoder.peek().is_none() {
        return Err(JsonError::Empty);
    }
    let value = decoder.value()?;
    decoder.skip_space();
    match decoder.peek() {
        // Go's decoder expects these when it reads the elements of a list one by one.
        None | Some(b']' | b'}') => Ok(value),
        Some(_) => Err(JsonError::MultipleValues),
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    at_end: JsonError,
}

/// A collection whose end has not come yet.
enum Open {
    Array(Vec<Json>),
    Object(IndexMap<String, Json>, String),
}

impl Decoder<'_> {
    fn new(bytes: &[u8], at_end: JsonError) -> Decoder<'_> {
        Decoder { bytes, at: 0, at_end }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Complains about the next byte, or about the end if there is none.
    fn unexpected(&self, context: impl Into<Cow<'static, str>>) -> JsonError {
        match self.peek() {
            None => self.at_end.clone(),
            Some(byte) => JsonError::Syntax {
                character: quoted(byte),
                context: context.into(),
                offset: self.at + 1,
            },
        }
    }

    /// Complains about the next byte inside a number, a word or an escape.
    ///
    /// Unless more could come from a stream, Go takes the end there for a space.
    fn broken(&self, context: impl Into<Cow<'static, str>>) -> JsonError {
        if self.peek().is_some() || self.at_end != JsonError::UnexpectedEnd {
            return self.unexpected(context);
        }
        JsonError::Syntax { character: quoted(b' '), context: context.into(), offset: self.at }
    }

    /// Decodes one value. Open collections are kept on a stack of our own.
    fn value(&mut self) -> Result<Json, JsonError> {
        let mut open: Vec<Open> = Vec::new();
        for _ in 0..MAX_VALUES {
            self.skip_space();
            let mut value = match self.peek() {
                Some(b'[' | b'{') => match self.open(&mut open)? {
                    Some(empty) => empty,
                    None => continue,
                },
                _ => self.scalar()?,
            };
            loop {
                match open.last_mut() {
                    None => return Ok(value),
                    Some(Open::Array(items)) => items.push(value),
                    Some(Open::Object(entries, key)) => {
                        entries.insert(std::mem::take(key), value);
                    }
                }
                match self.next_or_close(&mut open)? {
                    Some(closed) => value = closed,
                    None => break,
                }
            }
        }
        Err(JsonError::TooLarge(MAX_VALUES))
    }

    /// Starts a collection; returns it if it ends at once.
    fn open(&mut self, open: &mut Vec<Open>) -> Result<Option<Json>, JsonError> {
        if open.len() >= MAX_DEPTH {
            return Err(self.unexpected("exceeded max depth"));
        }
        let array = self.peek() == Some(b'[');
        self.at += 1;
        self.skip_space();
        match self.peek() {
            Some(b']') if array => {
                self.at += 1;
                Ok(Some(Json::Array(Vec::new())))
            }
            Some(b'}') if !array => {
                self.at += 1;
                Ok(Some(Json::Object(IndexMap::new())))
            }
            _ if array => {
                open.push(Open::Array(Vec::new()));
                Ok(None)
            }
            _ => {
                let key = self.key()?;
                open.push(Open::Object(IndexMap::new(), key));
                Ok(None)
            }
        }
    }

    /// Goes on after an element: to the next one, or to the end of the collection.
    fn next_or_close(&mut self, open: &mut Vec<Open>) -> Result<Option<Json>, JsonError> {
        self.skip_space();
        let byte = self.peek();
        match (open.last_mut(), byte) {
            (Some(Open::Array(_)), Some(b',')) => self.at += 1,
            (Some(Open::Object(_, key)), Some(b',')) => {
                self.at += 1;
                self.skip_space();
                *key = self.key()?;
            }
            (Some(Open::Array(items)), Some(b']')) => {
                self.at += 1;
                let items = std::mem::take(items);
                open.pop();
                return Ok(Some(Json::Array(items)));
            }
            (Some(Open::Object(entries, _)), Some(b'}')) => {
                self.at += 1;
                let entries = std::mem::take(entries);
                open.pop();
                return Ok(Some(Json::Object(entries)));
            }
            (Some(Open::Array(_)), _) => return Err(self.unexpected("after array element")),
            _ => return Err(self.unexpected("after object key:value pair")),
        }
        Ok(None)
    }

    fn key(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        Ok(key)
    }

    fn scalar(&mut self) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b't') => self.literal("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.literal("false").map(|()| Json::Bool(false)),
            Some(b'n') => self.literal("null").map(|()| Json::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return Err(self.broken(format!("in literal {word} (expecting '{expected}')")));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ if self.digits() > 0 => {}
            _ => return Err(self.broken("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.broken("after decimal point in numeric literal"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.broken("in exponent of numeric literal"));
            }
        }
        Ok(valid_utf8(&self.bytes[start..self.at]).into_owned())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|b| b >= 0x20 && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            out.push_str(&valid_utf8(&self.bytes[start..self.at]));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.broken("in string escape code")),
        };
        self.at += 1;
        Ok(c)
    }

    /// Decodes what follows `\u`; half of a pair on its own stands for U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let code = self.hex4()?;
        if let Some(c) = char::from_u32(code) {
            return Ok(c);
        }
        let before = self.at;
        if code < 0xdc00 && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let joined = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.broken("in \\u hexadecimal character escape"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// Quotes a byte as Go does in its messages; bytes beyond ASCII show as Latin-1.
fn quoted(byte: u8) -> String {
    quote_char(char::from(byte))
}
