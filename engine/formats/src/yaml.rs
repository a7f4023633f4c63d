//! Reads and writes YAML exactly as the Go libraries inside Tilt do.
//!
//! Tilt reads Kubernetes YAML with `sigs.k8s.io/yaml` (go-yaml v2, YAML 1.1) and Compose files
//! with go-yaml v4; it writes with go-yaml v2 and v3. Which broken files are accepted, what the
//! messages say and how strings are quoted differ from every Rust library, and from one another,
//! so this module has its own scanner, parser, resolvers and emitter.
//!
//! Collections may nest 10,000 deep. Decoding such a document recurses once per level, which a
//! thread with a stack of 64 MiB survives in every build profile.

mod alias;
mod decode_v2;
mod decode_v4;
pub mod emit;
mod error;
mod fault;
mod go_syntax;
pub mod node;
mod parser;
mod resolve;
mod scanner;
mod split;
mod text;
mod timestamp;

use serde_json::Value;

pub use emit::emit_v2;
pub use error::Error;
pub use split::documents;

/// How deep a decoded value may nest; the limit of Go's JSON decoder.
const MAX_DEPTH: usize = 10_000;

/// A generation of go-yaml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// YAML 1.1, for Kubernetes.
    V2,
    /// YAML 1.2 with merge keys, for Compose. Versions 3 and 4 agree.
    V4,
}

/// Decodes the first document of a text as Kubernetes tools do: through JSON.
///
/// A text without a document is null. Integral floats become integers, numbers beyond 64 bits
/// floats; of duplicate keys the last one wins.
pub fn decode_v2(text: impl AsRef<[u8]>) -> Result<Value, Error> {
    let text = text::Text::new(text.as_ref());
    let stream = node::parse_first_v2(&text.chars, text.defect)?;
    match stream.documents.first() {
        Some(root) => decode_v2::decode(&stream, *root),
        None => Ok(Value::Null),
    }
}

/// Reads the first document of a text as a tree, with the syntax rules of go-yaml v2.
pub fn with_tree_v2<T>(text: &[u8], work: impl FnOnce(&node::Stream<'_>) -> T) -> Result<T, Error> {
    let text = text::Text::new(text);
    Ok(work(&node::parse_first_v2(&text.chars, text.defect)?))
}

/// The short tag that go-yaml v2 gives to a scalar.
pub fn tag_v2<'a>(node: &'a node::Node<'_>) -> std::borrow::Cow<'a, str> {
    match &node.kind {
        node::Kind::Scalar { value, style: node::Style::Plain } if node.explicit_tag.is_none() => {
            resolve::resolve(Dialect::V2, value).tag().into()
        }
        _ => node.tag(),
    }
}

/// Decodes every document of a text as Tilt's `decode_yaml_stream` does; null documents are left
/// out.
///
/// The error is worded as Tilt words it after `error parsing YAML: ` or
/// `error reading YAML stream: `.
pub fn decode_stream(text: &str) -> Result<Vec<Value>, Error> {
    let mut values = Vec::new();
    for document in documents(text) {
        match decode_v2(document?.as_bytes())? {
            Value::Null => {}
            value => values.push(value),
        }
    }
    Ok(values)
}

#[cfg(test)]
pub(crate) mod tests;
