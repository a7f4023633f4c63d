//! Tables that are kept as text: headings, and the lines that are indented below them.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};

/// What stands behind the name of a heading, and the lines `left: right` below it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) heading: &'static str,
    pub(super) lines: Vec<(&'static str, &'static str)>,
}

/// The blocks of a table by name; empty lines and those that start with `#` say nothing.
pub(super) fn blocks(text: &'static str) -> HashMap<&'static str, Block> {
    let mut blocks: Vec<(&str, Block)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let split = line.rsplit_once(':').expect("a line has a colon");
        let (left, right) = (split.0.trim_start(), split.1.trim_start());
        match blocks.last_mut() {
            Some((_, block)) if line.starts_with(' ') => block.lines.push((left, right)),
            _ => blocks.push((left, Block { heading: right, lines: Vec::new() })),
        }
    }
    blocks.into_iter().collect()
}

/// The variant that a word of a table names.
pub(super) fn variant<T: Deserialize<'static>>(word: &'static str) -> T {
    let word: StrDeserializer<'static, Error> = word.into_deserializer();
    T::deserialize(word).expect("the table is part of the program, and its words are variants")
}
