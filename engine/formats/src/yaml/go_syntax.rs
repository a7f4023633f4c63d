//! Decides how Go's `%#v` prints a decoded value; go-yaml shows keys that way in its errors.

use super::Dialect;
use super::decode_v2::decode_binary;
use super::node::{Kind, Node, NodeId, Stream, Style};
use super::resolve::{self, Scalar};
use crate::golang::{float, quote::quote};

/// Nodes deeper than this are cut off; an error message is no place for more.
const MAX_DEPTH: usize = 100;

/// Prints a node as Go source, the way `%#v` prints what go-yaml decodes it to.
pub(super) fn print(stream: &Stream<'_>, id: NodeId, dialect: Dialect) -> String {
    let mut out = String::new();
    Printer { stream, dialect }.node(id, 0, &mut out);
    out
}

/// Prints a nil interface as `%#v` does when it is an element of a collection.
const NIL: &str = "interface {}(nil)";

struct Printer<'s, 't> {
    stream: &'s Stream<'t>,
    dialect: Dialect,
}

impl Printer<'_, '_> {
    fn node(&self, id: NodeId, depth: usize, out: &mut String) {
        if depth > MAX_DEPTH {
            out.push_str("...");
            return;
        }
        let node = &self.stream[id];
        match &node.kind {
            Kind::Scalar { value, .. } => out.push_str(&self.scalar(node, value, depth)),
            Kind::Alias { target, .. } => self.node(*target, depth + 1, out),
            Kind::Sequence { items, .. } => {
                out.push_str("[]interface {}{");
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push_str(", ");
                    }
                    self.node(*item, depth + 1, out);
                }
                out.push('}');
            }
            Kind::Mapping { entries, .. } => self.mapping(entries, depth, out),
        }
    }

    fn mapping(&self, entries: &[(NodeId, NodeId)], depth: usize, out: &mut String) {
        let is_text = |id: &NodeId| matches!(&*self.stream[*id].tag(), "!!str" | "!!merge");
        let text_keys = self.dialect == Dialect::V4 && entries.iter().all(|(key, _)| is_text(key));
        let mut printed: Vec<(String, String)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (mut k, mut v) = (String::new(), String::new());
            self.node(*key, depth + 1, &mut k);
            self.node(*value, depth + 1, &mut v);
            printed.push((k, v));
        }
        printed.sort();
        out.push_str(if text_keys {
            "map[string]interface {}{"
        } else {
            "map[interface {}]interface {}{"
        });
        for (n, (key, value)) in printed.iter().enumerate() {
            if n > 0 {
                out.push_str(", ");
            }
            out.push_str(key);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
    }

    fn scalar(&self, node: &Node<'_>, value: &str, depth: usize) -> String {
        let plain = matches!(node.kind, Kind::Scalar { style: Style::Plain, .. });
        let resolved = match node.explicit_tag.as_deref() {
            None if plain => Ok(resolve::resolve(self.dialect, value)),
            None => Ok(Scalar::Str),
            Some(_) if &*node.tag() == "!!binary" => {
                return quote(&decode_binary(value).unwrap_or_default());
            }
            Some(_) => resolve::resolve_tagged(self.dialect, &node.tag(), value),
        };
        match resolved {
            Ok(Scalar::Null) if depth == 0 => "<nil>".to_owned(),
            Ok(Scalar::Null) => NIL.to_owned(),
            Ok(Scalar::Bool(bool)) => bool.to_string(),
            Ok(Scalar::Int(int)) => int.to_string(),
            Ok(Scalar::Uint(uint)) => format!("{uint:#x}"),
            Ok(Scalar::Float(f)) => float::shortest_g(f),
            Ok(Scalar::Timestamp | Scalar::Str) | Err(_) => quote(value),
        }
    }
}
