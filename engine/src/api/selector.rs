//! Which objects a list or a watch is about: conditions on labels and on the name.

use std::collections::BTreeMap;

use super::{error::ApiError, object::Object};

/// Conditions that all have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    name: Vec<(String, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Selector {
    /// The selector of a request; both texts may be empty.
    ///
    /// # Errors
    /// If a text cannot be understood.
    pub fn parse(labels: &str, fields: &str) -> Result<Self, ApiError> {
        let labels = parse_labels(labels)
            .map_err(|why| ApiError::bad_request(format!("unable to parse requirement: {why}")))?;
        Ok(Self { labels, name: parse_fields(fields)? })
    }

    /// Only the object of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        Self { labels: Vec::new(), name: vec![(name.to_owned(), true)] }
    }

    /// Whether the object is meant.
    #[must_use]
    pub fn matches(&self, object: &Object) -> bool {
        if !self.name.iter().all(|(name, equal)| (object.name() == name) == *equal) {
            return false;
        }
        if self.labels.is_empty() {
            return true;
        }
        let labels = object.labels();
        self.labels.iter().all(|it| it.matches(&labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|it| it.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|it| values.contains(it)),
            Test::NotIn(values) => value.is_none_or(|it| !values.contains(it)),
            Test::Greater(than) => number().is_some_and(|it| it > *than),
            Test::Less(than) => number().is_some_and(|it| it < *than),
        }
    }
}

/// Splits into words and the signs `! = == != , ( ) < >`.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {}
            ',' | '(' | ')' | '<' | '>' => tokens.push(c.into()),
            '=' | '!' => {
                let double = chars.next_if_eq(&'=').is_some();
                tokens.push(if double { format!("{c}=") } else { c.into() });
            }
            c => {
                let mut word = String::from(c);
                while let Some(c) =
                    chars.next_if(|it| !it.is_whitespace() && !",()<>=!".contains(*it))
                {
                    word.push(c);
                }
                tokens.push(word);
            }
        }
    }
    tokens
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    let tokens = tokens(text);
    let mut tokens = tokens.iter().map(String::as_str).peekable();
    let mut requirements = Vec::new();
    while let Some(token) = tokens.next() {
        if token == "," {
            continue;
        }
        let (key, missing) = match token {
            "!" => (tokens.next().unwrap_or_default(), true),
            key => (key, false),
        };
        if key.is_empty() || ",()<>=!==!=".contains(key) {
            return Err(format!("found '{key}', expected: !, identifier, or 'end of string'"));
        }
        let test = match tokens.next_if(|it| *it != ",") {
            None if missing => Test::Missing,
            None => Test::Exists,
            Some("=" | "==") => Test::In(vec![value(&mut tokens)]),
            Some("!=") => Test::NotIn(vec![value(&mut tokens)]),
            Some("in") => Test::In(values(&mut tokens)?),
            Some("notin") => Test::NotIn(values(&mut tokens)?),
            Some(sign @ (">" | "<" | "gt" | "lt")) => {
                let than = value(&mut tokens);
                let than = than.parse().map_err(|_| {
                    format!("values[0][{key}]: Invalid value: \"{than}\": for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                if matches!(sign, ">" | "gt") { Test::Greater(than) } else { Test::Less(than) }
            }
            Some(other) => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        requirements.push(Requirement { key: key.to_owned(), test });
    }
    Ok(requirements)
}

/// A value; nothing stands for the empty one.
fn value<'a>(tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> String {
    tokens.next_if(|it| *it != ",").unwrap_or_default().to_owned()
}

fn values<'a>(
    tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Vec<String>, String> {
    match tokens.next() {
        Some("(") => {}
        other => return Err(format!("found '{}', expected: '('", other.unwrap_or_default())),
    }
    let mut values = Vec::new();
    loop {
        match tokens.next() {
            Some(")") => return Ok(values),
            Some(",") => {}
            Some(word) => values.push(word.to_owned()),
            None => return Err("found '', expected: ',' or ')'".to_owned()),
        }
    }
}

/// Names that are wanted (true) or not (false).
fn parse_fields(text: &str) -> Result<Vec<(String, bool)>, ApiError> {
    let mut names = Vec::new();
    for part in text.split(',').filter(|it| !it.is_empty()) {
        let (field, equal, value) = if let Some((field, value)) = part.split_once("!=") {
            (field, false, value)
        } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('='))
        {
            (field, true, value)
        } else {
            return Err(ApiError::bad_request(format!(
                "invalid selector: '{text}'; can't understand '{part}'"
            )));
        };
        match field {
            "metadata.name" => names.push((value.to_owned(), equal)),
            // No object is in a namespace.
            "metadata.namespace" if value.is_empty() == equal => {}
            "metadata.namespace" => names.push((String::new(), true)),
            other => {
                return Err(ApiError::bad_request(format!(
                    "\"{other}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )));
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::{Meta, Store, kind};

    fn matches(labels: &str, fields: &str) -> bool {
        let store = Store::new();
        let own = BTreeMap::from(
            [("app", "web"), ("n", "5"), ("tilt.dev/x", "")]
                .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        store.put(kind::CMD, "web:update", &Meta { labels: own, ..Meta::default() }, &json!({}));
        let object = store.get(kind::CMD, "web:update").unwrap();
        Selector::parse(labels, fields).unwrap().matches(&object)
    }

    #[test]
    fn conditions_on_labels() {
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!nope", true),
            ("app=web", true),
            ("app==web,n", true),
            ("app!=web", false),
            ("nope!=web", true),
            ("app in (api, web)", true),
            ("app notin (api,web)", false),
            ("nope notin (a)", true),
            ("tilt.dev/x=", true),
            ("tilt.dev/x", true),
            ("n>4", true),
            ("n<4", false),
        ] {
            assert_eq!(matches(text, ""), expected, "{text}");
        }
    }

    #[test]
    fn conditions_on_the_name() {
        for (text, expected) in [
            ("metadata.name=web:update", true),
            ("metadata.name==web:update", true),
            ("metadata.name!=web:update", false),
            ("metadata.name=web", false),
            ("metadata.namespace=", true),
            ("metadata.namespace=default", false),
        ] {
            assert_eq!(matches("", text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused_in_the_words_of_kubernetes() {
        let error = |labels, fields| Selector::parse(labels, fields).unwrap_err().message;
        assert_eq!(
            error("a b c", ""),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(error("", "bogus"), "invalid selector: 'bogus'; can't understand 'bogus'");
        assert_eq!(
            error("", "spec.foo=1"),
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
}
