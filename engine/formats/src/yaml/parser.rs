//! Decides how tokens form documents and nodes.
//!
//! The grammar is libyaml's, one state per place where a token may be wrong, so that each mistake
//! gets the message and the position that go-yaml gives it.

use std::borrow::Cow;

use super::Dialect;
use super::fault::{Fault, Mark, Stage};
use super::scanner::{Scanner, Style, TokenKind};

/// Anchor and tag of a node.
#[derive(Debug, Default)]
pub(super) struct Properties<'a> {
    pub(super) anchor: Option<&'a str>,
    /// The full tag, such as `tag:yaml.org,2002:str`; absent if none was written.
    pub(super) tag: Option<String>,
}

#[derive(Debug)]
pub(super) enum Event<'a> {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(&'a str),
    Scalar { properties: Properties<'a>, value: Cow<'a, str>, style: Style },
    SequenceStart { properties: Properties<'a>, flow: bool },
    SequenceEnd,
    MappingStart { properties: Properties<'a>, flow: bool },
    MappingEnd,
}

#[derive(Clone, Copy, Debug)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequence { first: bool },
    IndentlessSequence,
    BlockMappingKey { first: bool },
    BlockMappingValue,
    FlowSequence { first: bool },
    FlowSequencePairKey,
    FlowSequencePairValue,
    FlowSequencePairEnd,
    FlowMappingKey { first: bool },
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Where a node stands; decides which collections may start there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Flow,
    Block,
    /// A block node that may be a sequence whose dashes are not indented.
    MappingEntry,
}

type Parse<T> = Result<T, Fault>;
type Located<'a> = (Event<'a>, Mark);

pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    /// Where each open collection started.
    marks: Vec<Mark>,
    tag_directives: Vec<(String, String)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, defect: Option<&'static str>, dialect: Dialect) -> Self {
        Self {
            scanner: Scanner::new(text, defect, dialect),
            state: State::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            tag_directives: Vec::new(),
        }
    }

    /// Returns the next event and where it starts; the stream end again once it was reached.
    pub(super) fn next(&mut self) -> Parse<Located<'a>> {
        match self.state {
            State::StreamStart => {
                self.scanner.take()?;
                self.state = State::ImplicitDocumentStart;
                self.next_document(true)
            }
            State::ImplicitDocumentStart => self.next_document(true),
            State::DocumentStart => self.next_document(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Place::Block),
            State::BlockSequence { first } => self.block_sequence(first),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockMappingKey { first } => self.block_mapping_key(first),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequence { first } => self.flow_sequence(first),
            State::FlowSequencePairKey => self.flow_pair_key(),
            State::FlowSequencePairValue => self.flow_pair_value(),
            State::FlowSequencePairEnd => {
                let start = self.scanner.peek()?.start;
                self.state = State::FlowSequence { first: false };
                Ok((Event::MappingEnd, start))
            }
            State::FlowMappingKey { first } => self.flow_mapping_key(first),
            State::FlowMappingValue => self.flow_mapping_value(false),
            State::FlowMappingEmptyValue => self.flow_mapping_value(true),
            State::End => Ok((Event::StreamEnd, Mark::default())),
        }
    }

    fn peek(&mut self) -> Parse<&TokenKind<'a>> {
        Ok(&self.scanner.peek()?.kind)
    }

    fn start_of_next(&mut self) -> Parse<Mark> {
        Ok(self.scanner.peek()?.start)
    }

    fn return_to_parent(&mut self) {
        self.state = self.states.pop().expect("every node was entered with a state to return to");
    }

    /// Reports the next token as wrong, inside the innermost open collection.
    fn unexpected<T>(&mut self, message: &'static str) -> Parse<T> {
        let context = self.marks.pop().unwrap_or_default();
        let problem = self.start_of_next()?;
        Err(Fault { stage: Stage::Parser, context, problem, message })
    }

    fn empty_scalar(&mut self, next: State, mark: Mark) -> Located<'a> {
        self.state = next;
        let properties = Properties::default();
        let event = Event::Scalar { properties, value: Cow::Borrowed(""), style: Style::Plain };
        (event, mark)
    }

    fn next_document(&mut self, implicit: bool) -> Parse<Located<'a>> {
        if !implicit {
            while matches!(self.peek()?, TokenKind::DocumentEnd) {
                self.scanner.take()?;
            }
        }
        let start = self.start_of_next()?;
        match self.peek()? {
            TokenKind::StreamEnd => {
                self.state = State::End;
                Ok((Event::StreamEnd, start))
            }
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart => self.explicit_document(start),
            _ if implicit => {
                self.add_default_tag_directives();
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                Ok((Event::DocumentStart, start))
            }
            _ => self.explicit_document(start),
        }
    }

    fn explicit_document(&mut self, start: Mark) -> Parse<Located<'a>> {
        self.directives()?;
        if !matches!(self.peek()?, TokenKind::DocumentStart) {
            return self.fail_here("did not find expected <document start>");
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        self.scanner.take()?;
        Ok((Event::DocumentStart, start))
    }

    /// Reports the next token as wrong, without a context.
    fn fail_here<T>(&mut self, message: &'static str) -> Parse<T> {
        let problem = self.start_of_next()?;
        Err(Fault { stage: Stage::Parser, context: Mark::default(), problem, message })
    }

    fn directives(&mut self) -> Parse<()> {
        let mut version_seen = false;
        loop {
            match self.peek()? {
                TokenKind::VersionDirective { .. } if version_seen => {
                    return self.fail_here("found duplicate %YAML directive");
                }
                TokenKind::VersionDirective { major: 1, minor: 1 } => version_seen = true,
                TokenKind::VersionDirective { .. } => {
                    return self.fail_here("found incompatible YAML document");
                }
                TokenKind::TagDirective { handle, prefix } => {
                    let directive = ((*handle).to_owned(), prefix.clone());
                    if self.tag_directives.iter().any(|(known, _)| *known == directive.0) {
                        return self.fail_here("found duplicate %TAG directive");
                    }
                    self.tag_directives.push(directive);
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        self.add_default_tag_directives();
        Ok(())
    }

    fn add_default_tag_directives(&mut self) {
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.tag_directives.iter().any(|(known, _)| known == handle) {
                self.tag_directives.push((handle.to_owned(), prefix.to_owned()));
            }
        }
    }

    fn document_content(&mut self) -> Parse<Located<'a>> {
        let start = self.start_of_next()?;
        match self.peek()? {
            TokenKind::VersionDirective { .. }
            | TokenKind::TagDirective { .. }
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                self.return_to_parent();
                Ok(self.empty_scalar(self.state, start))
            }
            _ => self.node(Place::Block),
        }
    }

    fn document_end(&mut self) -> Parse<Located<'a>> {
        let start = self.start_of_next()?;
        if matches!(self.peek()?, TokenKind::DocumentEnd) {
            self.scanner.take()?;
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok((Event::DocumentEnd, start))
    }

    fn node(&mut self, place: Place) -> Parse<Located<'a>> {
        let start = self.start_of_next()?;
        if let TokenKind::Alias(name) = *self.peek()? {
            self.return_to_parent();
            self.scanner.take()?;
            return Ok((Event::Alias(name), start));
        }
        let properties = self.properties(start)?;
        let block = place != Place::Flow;
        let event = match self.peek()? {
            TokenKind::BlockEntry if place == Place::MappingEntry => {
                self.state = State::IndentlessSequence;
                Event::SequenceStart { properties, flow: false }
            }
            TokenKind::Scalar { .. } => return self.scalar(properties, start),
            TokenKind::FlowSequenceStart => {
                self.state = State::FlowSequence { first: true };
                Event::SequenceStart { properties, flow: true }
            }
            TokenKind::FlowMappingStart => {
                self.state = State::FlowMappingKey { first: true };
                Event::MappingStart { properties, flow: true }
            }
            TokenKind::BlockSequenceStart if block => {
                self.state = State::BlockSequence { first: true };
                Event::SequenceStart { properties, flow: false }
            }
            TokenKind::BlockMappingStart if block => {
                self.state = State::BlockMappingKey { first: true };
                Event::MappingStart { properties, flow: false }
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                self.return_to_parent();
                Event::Scalar { properties, value: Cow::Borrowed(""), style: Style::Plain }
            }
            _ => {
                let problem = self.start_of_next()?;
                let message = "did not find expected node content";
                return Err(Fault { stage: Stage::Parser, context: start, problem, message });
            }
        };
        Ok((event, start))
    }

    fn scalar(&mut self, properties: Properties<'a>, start: Mark) -> Parse<Located<'a>> {
        self.return_to_parent();
        match self.scanner.take()?.kind {
            TokenKind::Scalar { value, style } => {
                Ok((Event::Scalar { properties, value, style }, start))
            }
            _ => unreachable!("the caller saw a scalar"),
        }
    }

    /// Takes an anchor and a tag, in either order.
    fn properties(&mut self, start: Mark) -> Parse<Properties<'a>> {
        let mut properties = Properties::default();
        let mut tag = None;
        for _ in 0..2 {
            let mark = self.start_of_next()?;
            match self.peek()? {
                TokenKind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(*name);
                }
                TokenKind::Tag { handle, suffix } if tag.is_none() => {
                    tag = Some((*handle, suffix.clone(), mark));
                }
                _ => break,
            }
            self.scanner.take()?;
        }
        if let Some((handle, suffix, problem)) = tag {
            let known = self.tag_directives.iter().find(|(known, _)| known == handle);
            properties.tag = match known {
                _ if handle.is_empty() => Some(suffix),
                Some((_, prefix)) => Some(format!("{prefix}{suffix}")),
                None => {
                    let message = "found undefined tag handle";
                    return Err(Fault { stage: Stage::Parser, context: start, problem, message });
                }
            };
        }
        properties.tag = properties.tag.filter(|tag| !tag.is_empty());
        Ok(properties)
    }

    fn open_collection(&mut self, first: bool) -> Parse<()> {
        if first {
            let start = self.scanner.take()?.start;
            self.marks.push(start);
        }
        Ok(())
    }

    fn close_collection(&mut self, event: Event<'a>) -> Parse<Located<'a>> {
        self.return_to_parent();
        self.marks.pop();
        let start = self.scanner.take()?.start;
        Ok((event, start))
    }

    /// Parses a node and comes back to the state afterwards.
    fn enter(&mut self, back: State, place: Place) -> Parse<Located<'a>> {
        self.states.push(back);
        self.node(place)
    }

    fn block_sequence(&mut self, first: bool) -> Parse<Located<'a>> {
        self.open_collection(first)?;
        match self.peek()? {
            TokenKind::BlockEntry => {
                let mark = self.scanner.take()?.end;
                let back = State::BlockSequence { first: false };
                match self.peek()? {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        Ok(self.empty_scalar(back, mark))
                    }
                    _ => self.enter(back, Place::Block),
                }
            }
            TokenKind::BlockEnd => self.close_collection(Event::SequenceEnd),
            _ => self.unexpected("did not find expected '-' indicator"),
        }
    }

    fn indentless_sequence(&mut self) -> Parse<Located<'a>> {
        if !matches!(self.peek()?, TokenKind::BlockEntry) {
            let start = self.start_of_next()?;
            self.return_to_parent();
            return Ok((Event::SequenceEnd, start));
        }
        let mark = self.scanner.take()?.end;
        let back = State::IndentlessSequence;
        match self.peek()? {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty_scalar(back, mark))
            }
            _ => self.enter(back, Place::Block),
        }
    }

    fn block_mapping_key(&mut self, first: bool) -> Parse<Located<'a>> {
        self.open_collection(first)?;
        match self.peek()? {
            TokenKind::Key => {
                let mark = self.scanner.take()?.end;
                match self.peek()? {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        Ok(self.empty_scalar(State::BlockMappingValue, mark))
                    }
                    _ => self.enter(State::BlockMappingValue, Place::MappingEntry),
                }
            }
            TokenKind::BlockEnd => self.close_collection(Event::MappingEnd),
            _ => self.unexpected("did not find expected key"),
        }
    }

    fn block_mapping_value(&mut self) -> Parse<Located<'a>> {
        let back = State::BlockMappingKey { first: false };
        if !matches!(self.peek()?, TokenKind::Value) {
            let start = self.start_of_next()?;
            return Ok(self.empty_scalar(back, start));
        }
        let mark = self.scanner.take()?.end;
        match self.peek()? {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty_scalar(back, mark))
            }
            _ => self.enter(back, Place::MappingEntry),
        }
    }

    fn flow_sequence(&mut self, first: bool) -> Parse<Located<'a>> {
        self.open_collection(first)?;
        if !first && !matches!(self.peek()?, TokenKind::FlowSequenceEnd) {
            if !matches!(self.peek()?, TokenKind::FlowEntry) {
                return self.unexpected("did not find expected ',' or ']'");
            }
            self.scanner.take()?;
        }
        match self.peek()? {
            TokenKind::FlowSequenceEnd => self.close_collection(Event::SequenceEnd),
            TokenKind::Key => {
                let start = self.scanner.take()?.start;
                self.state = State::FlowSequencePairKey;
                let properties = Properties::default();
                Ok((Event::MappingStart { properties, flow: true }, start))
            }
            _ => self.enter(State::FlowSequence { first: false }, Place::Flow),
        }
    }

    fn flow_pair_key(&mut self) -> Parse<Located<'a>> {
        match self.peek()? {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // go-yaml loses the token here, so `[? : x]` and `[?]` are errors later on.
                let mark = self.scanner.take()?.end;
                Ok(self.empty_scalar(State::FlowSequencePairValue, mark))
            }
            _ => self.enter(State::FlowSequencePairValue, Place::Flow),
        }
    }

    fn flow_pair_value(&mut self) -> Parse<Located<'a>> {
        let start = self.start_of_next()?;
        if matches!(self.peek()?, TokenKind::Value) {
            self.scanner.take()?;
            if !matches!(self.peek()?, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.enter(State::FlowSequencePairEnd, Place::Flow);
            }
        }
        Ok(self.empty_scalar(State::FlowSequencePairEnd, start))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Parse<Located<'a>> {
        self.open_collection(first)?;
        if !first && !matches!(self.peek()?, TokenKind::FlowMappingEnd) {
            if !matches!(self.peek()?, TokenKind::FlowEntry) {
                return self.unexpected("did not find expected ',' or '}'");
            }
            self.scanner.take()?;
        }
        match self.peek()? {
            TokenKind::FlowMappingEnd => self.close_collection(Event::MappingEnd),
            TokenKind::Key => {
                self.scanner.take()?;
                let start = self.start_of_next()?;
                match self.peek()? {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        Ok(self.empty_scalar(State::FlowMappingValue, start))
                    }
                    _ => self.enter(State::FlowMappingValue, Place::Flow),
                }
            }
            _ => self.enter(State::FlowMappingEmptyValue, Place::Flow),
        }
    }

    fn flow_mapping_value(&mut self, empty: bool) -> Parse<Located<'a>> {
        let back = State::FlowMappingKey { first: false };
        if !empty && matches!(self.peek()?, TokenKind::Value) {
            self.scanner.take()?;
            if !matches!(self.peek()?, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.enter(back, Place::Flow);
            }
        }
        let start = self.start_of_next()?;
        Ok(self.empty_scalar(back, start))
    }
}
