//! Finds duplicate fields in a JSON text, to warn about them; the last one wins.

use std::{collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The maximum number of duplicates to report.
const MAX_NAMED: usize = 100;

/// The paths of duplicate fields, in order; empty for invalid JSON.
pub fn in_json(text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let scan = Scan { path: String::new(), found: &mut found };
    // A text that ends in nonsense is refused by whoever reads it.
    let _ = scan.deserialize(&mut reader);
    found
}

struct Scan<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values without fields say nothing.
macro_rules! ignored {
    ($($visit:ident: $ty:ty),*) => {
        $(fn $visit<E>(self, _: $ty) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    ignored!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if items.next_element_seed(Scan { path, found: self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            let path =
                if self.path.is_empty() { key.clone() } else { format!("{}.{key}", self.path) };
            if seen.insert(key) {
                fields.next_value_seed(Scan { path, found: self.found })?;
            } else {
                fields.next_value::<IgnoredAny>()?;
                if self.found.len() < MAX_NAMED {
                    self.found.push(path);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_given_twice_are_named_with_their_place() {
        let text = br#"{"a": {"b": 1, "b": 2}, "list": [{"x": null}, {"x": 1, "x": []}], "a": {"c": 1, "c": 2}}"#;
        assert_eq!(in_json(text), ["a.b", "list[1].x", "a"]);
    }

    #[test]
    fn what_is_no_json_has_none() {
        for text in ["", "{", "nonsense", "[1, 2]", &"[".repeat(100_000)] {
            assert_eq!(in_json(text.as_bytes()), Vec::<String>::new());
        }
    }
}
