//! Every attribute of a Compose project, read from `shapes.txt`, which explains its notation.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::table::{blocks, variant};
use super::{Field, Kind, Shape};

static SHAPES: LazyLock<HashMap<&str, Shape>> = LazyLock::new(|| {
    let field = |(name, kind): (&'static str, &'static str)| {
        let always = kind.strip_prefix("always ");
        Field { name, kind: read(always.unwrap_or(kind)), always: always.is_some() }
    };
    blocks(include_str!("shapes.txt"))
        .into_iter()
        .map(|(name, block)| {
            let fields = block.lines.into_iter().map(field).collect();
            (name, Shape { fields, extensible: block.heading != "plain" })
        })
        .collect()
});

/// The mapping with this name.
pub(super) fn shape(name: &str) -> &'static Shape {
    SHAPES.get(name).expect("the table has every mapping that it or the program names")
}

fn read(kind: &'static str) -> Kind {
    match kind.split_once(' ') {
        Some(("struct", shape)) => Kind::Struct(shape),
        Some(("pointer", shape)) => Kind::Pointer(shape),
        Some(("list", item)) => Kind::List(Box::new(read(item))),
        Some(("named", item)) => Kind::Named(Box::new(read(item))),
        _ => variant(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &Kind) {
        match kind {
            Kind::Struct(name) | Kind::Pointer(name) => assert!(!shape(name).fields.is_empty()),
            Kind::List(item) | Kind::Named(item) => check(item),
            _ => {}
        }
    }

    #[test]
    fn every_shape_can_be_read() {
        for name in ["project", "service", "deploy"] {
            assert!(SHAPES.contains_key(name), "{name}");
        }
        SHAPES.values().flat_map(|shape| &shape.fields).for_each(|field| check(&field.kind));
    }
}
