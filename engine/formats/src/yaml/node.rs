//! Decides how events form a tree of nodes that keeps tags, styles and positions.
//!
//! The tree is flat: nodes live in one vector and refer to each other by [`NodeId`]. So an alias
//! can point at a node that contains it, nothing is copied, and dropping a deep tree is no
//! recursion.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use super::Dialect;
use super::decode_v4;
use super::error::Error;
use super::parser::{Event, Parser, Properties};
use super::resolve::{self, LONG_PREFIX};
pub use super::scanner::Style;

/// Names a node of a [`Stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// What a node is.
#[derive(Clone, Debug)]
pub enum Kind<'t> {
    /// A single value.
    Scalar {
        /// The text, unescaped and unfolded.
        value: Cow<'t, str>,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence {
        /// The elements in order.
        items: Vec<NodeId>,
        /// Whether it was written in brackets.
        flow: bool,
    },
    /// A list of keys and values.
    Mapping {
        /// The entries in order, merge keys (`<<`) and duplicates included.
        entries: Vec<(NodeId, NodeId)>,
        /// Whether it was written in braces.
        flow: bool,
    },
    /// A reference to an anchored node.
    Alias {
        /// The anchor's name.
        name: &'t str,
        /// The node that carries the anchor; it may contain this alias.
        target: NodeId,
    },
}

/// A node with what the file says about it.
#[derive(Clone, Debug)]
pub struct Node<'t> {
    /// What the node is.
    pub kind: Kind<'t>,
    /// The tag as written, in full (`tag:yaml.org,2002:str`, `!reset`), if there is one.
    pub explicit_tag: Option<Box<str>>,
    /// The anchor that was put on the node.
    pub anchor: Option<&'t str>,
    /// The line, counted from one.
    pub line: usize,
    /// The column in characters, counted from one.
    pub column: usize,
}

impl Node<'_> {
    /// Returns the short tag as go-yaml v3 and v4 give it: `!!str`, `!!map`, `!reset`, `!!merge`.
    ///
    /// An alias has the empty tag.
    pub fn tag(&self) -> Cow<'_, str> {
        match (&self.kind, self.explicit_tag.as_deref()) {
            (_, Some(tag)) if tag != "!" => short_tag(tag),
            (Kind::Scalar { style, .. }, _) if *style != Style::Plain => Cow::Borrowed("!!str"),
            (Kind::Scalar { value, .. }, _) if value == "<<" => Cow::Borrowed("!!merge"),
            (Kind::Scalar { value, .. }, _) => {
                Cow::Borrowed(resolve::resolve(Dialect::V4, value).tag())
            }
            (Kind::Sequence { .. }, _) => Cow::Borrowed("!!seq"),
            (Kind::Mapping { .. }, _) => Cow::Borrowed("!!map"),
            (Kind::Alias { .. }, _) => Cow::Borrowed(""),
        }
    }

    /// Returns the text of a scalar or the name of an alias; a collection has the empty text.
    pub fn text(&self) -> &str {
        match &self.kind {
            Kind::Scalar { value, .. } => value,
            Kind::Alias { name, .. } => name,
            Kind::Sequence { .. } | Kind::Mapping { .. } => "",
        }
    }

    /// Says whether the node, as a key, merges other mappings into its own.
    pub fn is_merge_key(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { value, .. } if value == "<<")
            && matches!(&*self.tag(), "!!merge")
    }
}

pub(super) fn short_tag(tag: &str) -> Cow<'_, str> {
    match tag.strip_prefix(LONG_PREFIX) {
        Some(name) => Cow::Owned(format!("!!{name}")),
        None => Cow::Borrowed(tag),
    }
}

/// All nodes of a YAML text, and the roots of its documents.
#[derive(Clone, Debug, Default)]
pub struct Stream<'t> {
    nodes: Vec<Node<'t>>,
    /// The root node of each document.
    pub documents: Vec<NodeId>,
}

impl<'t> Stream<'t> {
    /// Adds a node that belongs to no document yet.
    ///
    /// # Panics
    ///
    /// If there are 2^32 nodes, for which a text needs some eight gigabytes.
    pub fn add(&mut self, node: Node<'t>) -> NodeId {
        let id = u32::try_from(self.nodes.len()).expect("a text has less than 2^32 nodes");
        self.nodes.push(node);
        NodeId(id)
    }

    /// Follows an alias to what it stands for; other nodes stand for themselves.
    pub fn resolve_alias(&self, id: NodeId) -> NodeId {
        match self[id].kind {
            Kind::Alias { target, .. } => target,
            _ => id,
        }
    }

    /// Converts a node the way go-yaml v4 decodes into an untyped Go value.
    ///
    /// Merge keys are merged and aliases expanded; duplicate keys are an error. Keys that are no
    /// strings are printed; timestamps, infinities and NaN become the text that Go prints for
    /// them.
    pub fn to_value(&self, id: NodeId) -> Result<serde_json::Value, Error> {
        decode_v4::decode(self, id)
    }
}

impl<'t> Index<NodeId> for Stream<'t> {
    type Output = Node<'t>;

    fn index(&self, id: NodeId) -> &Node<'t> {
        &self.nodes[id.0 as usize]
    }
}

impl<'t> IndexMut<NodeId> for Stream<'t> {
    fn index_mut(&mut self, id: NodeId) -> &mut Node<'t> {
        &mut self.nodes[id.0 as usize]
    }
}

/// Reads all documents of a text with the syntax rules of go-yaml v4.
pub fn parse(text: &str) -> Result<Stream<'_>, Error> {
    match parse_until_error(text) {
        (stream, None) => Ok(stream),
        (_, Some(error)) => Err(error),
    }
}

/// Reads the documents before the first syntax error, and the error.
///
/// Compose decodes each document before it reads the next, so what is wrong with the content of
/// an earlier document is reported before a syntax error further down.
pub fn parse_until_error(text: &str) -> (Stream<'_>, Option<Error>) {
    let (text, defect) = super::text::checked(text.as_bytes());
    let mut builder = Builder::new(Parser::new(text, defect, Dialect::V4), Dialect::V4);
    loop {
        match builder.document() {
            Ok(true) => {}
            Ok(false) => return (builder.stream, None),
            Err(error) => return (builder.stream, Some(error)),
        }
    }
}

/// Reads the first document of a text with the syntax rules of go-yaml v2.
pub(super) fn parse_first_v2<'t>(
    text: &'t str,
    defect: Option<&'static str>,
) -> Result<Stream<'t>, Error> {
    let mut builder = Builder::new(Parser::new(text, defect, Dialect::V2), Dialect::V2);
    builder.document()?;
    Ok(builder.stream)
}

/// Most values of a text; what is made of them takes about a gigabyte.
const MAX_NODES: usize = 5_000_000;

struct Builder<'t> {
    parser: Parser<'t>,
    dialect: Dialect,
    stream: Stream<'t>,
    anchors: HashMap<&'t str, NodeId>,
}

/// A collection whose end has not come yet.
struct Open {
    id: NodeId,
    key: Option<NodeId>,
}

impl<'t> Builder<'t> {
    fn new(parser: Parser<'t>, dialect: Dialect) -> Self {
        Self { parser, dialect, stream: Stream::default(), anchors: HashMap::new() }
    }

    fn next(&mut self) -> Result<(Event<'t>, super::fault::Mark), Error> {
        self.parser.next().map_err(|fault| fault.into_error(self.dialect))
    }

    /// Reads one document; says whether there was one.
    fn document(&mut self) -> Result<bool, Error> {
        if matches!(self.next()?.0, Event::StreamEnd) {
            return Ok(false);
        }
        let mut open: Vec<Open> = Vec::new();
        let mut root = None;
        loop {
            if self.stream.nodes.len() > MAX_NODES {
                return Err(Error::yaml(format!("document has more than {MAX_NODES} values")));
            }
            let (event, mark) = self.next()?;
            let (line, column) = (mark.line + 1, mark.column + 1);
            let node = |kind, properties: Properties<'t>| Node {
                kind,
                explicit_tag: properties.tag.map(String::into_boxed_str),
                anchor: properties.anchor,
                line,
                column,
            };
            let id = match event {
                Event::Scalar { properties, value, style } => {
                    self.add(node(Kind::Scalar { value, style }, properties))
                }
                Event::Alias(name) => {
                    let target = self.anchors.get(name).copied();
                    let target = target.ok_or_else(|| {
                        Error::yaml(format!("unknown anchor '{name}' referenced"))
                    })?;
                    self.add(node(Kind::Alias { name, target }, Properties::default()))
                }
                Event::SequenceStart { properties, flow } => {
                    let id = self.add(node(Kind::Sequence { items: Vec::new(), flow }, properties));
                    open.push(Open { id, key: None });
                    continue;
                }
                Event::MappingStart { properties, flow } => {
                    let entries = Vec::new();
                    let id = self.add(node(Kind::Mapping { entries, flow }, properties));
                    open.push(Open { id, key: None });
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop().expect("the parser closes what it opened").id
                }
                Event::DocumentStart | Event::DocumentEnd | Event::StreamEnd => {
                    self.stream.documents.extend(root);
                    return Ok(true);
                }
            };
            match open.last_mut() {
                Some(parent) => self.attach(parent, id),
                None => root = Some(id),
            }
        }
    }

    fn add(&mut self, node: Node<'t>) -> NodeId {
        let anchor = node.anchor;
        let id = self.stream.add(node);
        if let Some(name) = anchor {
            self.anchors.insert(name, id);
        }
        id
    }

    fn attach(&mut self, parent: &mut Open, id: NodeId) {
        match &mut self.stream[parent.id].kind {
            Kind::Sequence { items, .. } => items.push(id),
            Kind::Mapping { entries, .. } => match parent.key.take() {
                None => parent.key = Some(id),
                Some(key) => entries.push((key, id)),
            },
            Kind::Scalar { .. } | Kind::Alias { .. } => unreachable!("only collections are open"),
        }
    }
}
