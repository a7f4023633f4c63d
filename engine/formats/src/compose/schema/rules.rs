//! The shape of a Compose file, read from `rules.txt`, which explains its notation.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::table::{Block, blocks, variant};
use super::{Dict, Keys, Rule};

/// The whole file.
pub(super) static FILE: LazyLock<Dict> =
    LazyLock::new(|| match Rules(blocks(include_str!("rules.txt"))).rule("file", &[]) {
        Rule::Dict(file) => file,
        other => unreachable!("a file is a mapping, not {other:?}"),
    });

struct Rules(HashMap<&'static str, Block>);

impl Rules {
    /// The rule that `text` stands for; `lines` are what is below it.
    fn rule(&self, text: &'static str, lines: &[(&'static str, &'static str)]) -> Rule {
        let inner = |text| Box::new(self.rule(text, &[]));
        if text.contains(" | ") {
            return Rule::OneOf(text.split(" | ").map(|text| self.rule(text, &[])).collect());
        }
        match text.split_once(' ') {
            Some(("enum", texts)) => Rule::Enum(texts.split(' ').collect()),
            Some(("pattern", pattern)) => Rule::Pattern(pattern),
            Some(("range", bounds)) => {
                let (least, most) = bounds.split_once(' ').unwrap_or((bounds, ""));
                let least = least.parse().expect("a range starts with an integer");
                Rule::Range(least, most.parse().unwrap_or(i64::MAX))
            }
            Some(("list", item)) => Rule::List(inner(item)),
            Some(("set", item)) => Rule::Set(inner(item)),
            Some((kinds, accepted)) => Rule::Dict(self.dict(kinds, accepted, lines)),
            None if matches!(text, "closed" | "open" | "extended") => {
                Rule::Dict(self.dict("mapping", text, lines))
            }
            None => match self.0.get(text) {
                Some(block) => self.rule(block.heading, &block.lines),
                None => Rule::Kinds(text.split('/').map(variant).collect()),
            },
        }
    }

    fn dict(
        &self,
        kinds: &'static str,
        accepted: &str,
        lines: &[(&'static str, &'static str)],
    ) -> Dict {
        let mut dict = Dict {
            kinds: kinds.split('/').map(variant).collect(),
            fields: Vec::new(),
            keys: Vec::new(),
            required: Vec::new(),
            open: accepted == "open",
        };
        if accepted == "extended" {
            dict.keys.push((Keys::Extension, Rule::Any));
        }
        for (rule, names) in lines {
            let rule = self.rule(rule, &[]);
            match *names {
                "<name>" => dict.keys.push((Keys::Name, rule)),
                "<lower>" => dict.keys.push((Keys::Lower, rule)),
                "<any>" => dict.keys.push((Keys::NotEmpty, rule)),
                names => {
                    let names = names.split(' ');
                    dict.required.extend(names.clone().filter_map(|name| name.strip_suffix('!')));
                    dict.fields
                        .push((rule, names.map(|name| name.trim_end_matches('!')).collect()));
                }
            }
        }
        dict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        let rules = Rules(blocks(include_str!("rules.txt")));
        for (name, block) in &rules.0 {
            let rule = rules.rule(name, &[]);
            assert!(block.lines.is_empty() || matches!(rule, Rule::Dict(_)), "{name}");
        }
        assert_eq!(FILE.fields.iter().map(|(_, names)| names.len()).sum::<usize>(), 9);
    }
}
