//! Selects the objects of a list or a watch, by labels and by name.

use std::collections::BTreeMap;

use super::{error::ApiError, object::Object, validate};

/// Why a label selector is invalid, in the words of Kubernetes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A token that must not follow here.
    #[error("found '{token}'{expected}")]
    Unexpected {
        /// The token; empty at the end of the text.
        token: String,
        /// Which tokens may follow, with a separator in front.
        expected: &'static str,
    },
    /// A key that is no name of a label.
    #[error("<nil>: {0}")]
    InvalidKey(String),
    /// A value that no label can have.
    #[error("values[{index}][{key}]: {message}")]
    InvalidValue {
        /// Its place in the list.
        index: usize,
        /// The name of the label.
        key: String,
        /// What is wrong with the value.
        message: String,
    },
    /// A value to compare with that is no number.
    #[error(
        "values[0]: Invalid value: {0:?}: for 'Gt', 'Lt' operators, the value must be an integer"
    )]
    NotAnInteger(String),
    /// One of the requirements is invalid.
    #[error("unable to parse requirement: {0}")]
    Requirement(#[source] Box<SelectorError>),
}

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
        let labels = parse_labels(labels).map_err(|it| ApiError::bad_request(it.to_string()))?;
        Ok(Self { labels, name: parse_fields(fields)? })
    }

    /// A selector of labels alone.
    pub fn of_labels(labels: &str) -> Result<Self, SelectorError> {
        Ok(Self { labels: parse_labels(labels)?, name: Vec::new() })
    }

    /// Whether an object with these labels is meant, whatever its name is.
    pub fn matches_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|it| it.matches(labels))
    }

    /// Only the object of this name.
    pub fn of_name(name: &str) -> Self {
        Self { labels: Vec::new(), name: vec![(name.to_owned(), true)] }
    }

    /// Whether the object is meant.
    pub fn matches(&self, object: &Object) -> bool {
        if !self.name.iter().all(|(name, equal)| (object.name() == name) == *equal) {
            return false;
        }
        if self.labels.is_empty() {
            return true;
        }
        self.matches_labels(&object.labels())
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

fn parse_labels(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    Parser { tokens: tokens(text).into_iter().peekable() }.requirements()
}

/// Reads conditions by the grammar of Kubernetes, and complains in its words.
struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
}

impl Parser {
    /// What comes next; the end is empty.
    fn peek(&mut self) -> &str {
        self.tokens.peek().map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.tokens.next().unwrap_or_default()
    }

    fn requirements(mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                "" => return Ok(requirements),
                token if token == "!" || is_identifier(token) => {
                    let requirement = self.requirement();
                    let error = |it| SelectorError::Requirement(Box::new(it));
                    requirements.push(requirement.map_err(error)?);
                }
                token => return found(token, ", expected: !, identifier, or 'end of string'"),
            }
            match self.next().as_str() {
                "" => return Ok(requirements),
                "," => {}
                token => return found(token, ", expected: ',' or 'end of string'"),
            }
            let token = self.peek();
            if token != "!" && !is_identifier(token) {
                return found(token, ", expected: identifier after ','");
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let mut key = self.next();
        let is_missing = key == "!";
        if is_missing {
            key = self.next();
        }
        if !is_identifier(&key) {
            return found(&key, ", expected: identifier");
        }
        if let Some(problem) = validate::qualified_name("", &key).into_iter().next() {
            return Err(SelectorError::InvalidKey(problem.message));
        }
        let test = match self.peek() {
            _ if is_missing => Test::Missing,
            "" | "," => Test::Exists,
            _ => match self.next().as_str() {
                "in" => Test::In(self.values()?),
                "notin" => Test::NotIn(self.values()?),
                "=" | "==" => Test::In(vec![self.value()?]),
                "!=" => Test::NotIn(vec![self.value()?]),
                ">" => Test::Greater(self.number()?),
                "<" => Test::Less(self.number()?),
                token => return found(token, ", expected: in, notin, =, ==, !=, gt, lt"),
            },
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            for (index, value) in values.iter().enumerate() {
                if let Some(problem) = validate::label_value("", value).into_iter().next() {
                    let message = problem.message;
                    return Err(SelectorError::InvalidValue { index, key, message });
                }
            }
        }
        Ok(Requirement { key, test })
    }

    /// One value; nothing stands for the empty one.
    fn value(&mut self) -> Result<String, SelectorError> {
        if matches!(self.peek(), "" | ",") {
            return Ok(String::new());
        }
        let value = self.next();
        if is_identifier(&value) { Ok(value) } else { found(&value, ", expected: identifier") }
    }

    fn number(&mut self) -> Result<i64, SelectorError> {
        let value = self.value()?;
        value.parse().map_err(|_| SelectorError::NotAnInteger(value))
    }

    /// Values in parentheses; nothing between commas stands for the empty one.
    fn values(&mut self) -> Result<Vec<String>, SelectorError> {
        let open = self.next();
        if open != "(" {
            return found(&open, " expected: '('");
        }
        let token = self.peek();
        if token != ")" && token != "," && !is_identifier(token) {
            return found(token, ", expected: ',', ')' or identifier");
        }
        let mut values = Vec::new();
        loop {
            match self.next().as_str() {
                ")" => return Ok(values),
                "," => {
                    if values.is_empty() || matches!(self.peek(), ")" | ",") {
                        values.push(String::new());
                    }
                }
                token if is_identifier(token) => {
                    values.push(token.to_owned());
                    let token = self.peek();
                    if token != "," && token != ")" {
                        return found(token, ", expected: ',' or ')'");
                    }
                }
                token => return found(token, ", expected: ',', or identifier"),
            }
        }
    }
}

fn is_identifier(token: &str) -> bool {
    !token.is_empty() && !token.starts_with(['!', '=', ',', '(', ')', '<', '>'])
}

fn found<T>(token: &str, expected: &'static str) -> Result<T, SelectorError> {
    Err(SelectorError::Unexpected { token: token.to_owned(), expected })
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
    use crate::{Kind, Meta, Store};

    fn matches(labels: &str, fields: &str) -> bool {
        let store = Store::new();
        let own = BTreeMap::from(
            [("app", "web"), ("n", "5"), ("tilt.dev/x", "")]
                .map(|(k, v)| (k.to_owned(), v.to_owned())),
        );
        store.put(Kind::Cmd, "web:update", &Meta { labels: own, ..Meta::default() }, &json!({}));
        let object = store.get(Kind::Cmd, "web:update").unwrap();
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
        for (text, expected) in [
            ("==", "found '==', expected: !, identifier, or 'end of string'"),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a,", "found '', expected: identifier after ','"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("!!a", "unable to parse requirement: found '!', expected: identifier"),
            ("a in", "unable to parse requirement: found '' expected: '('"),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value \
                 must be an integer",
            ),
        ] {
            assert_eq!(error(text, ""), expected, "{text}");
        }
        assert!(error("-a", "").starts_with(
            "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of"
        ));
        assert!(error("a=x/y", "").starts_with(
            "unable to parse requirement: values[0][a]: Invalid value: \"x/y\": a valid label must"
        ));
        assert_eq!(error("", "bogus"), "invalid selector: 'bogus'; can't understand 'bogus'");
        assert_eq!(
            error("", "spec.foo=1"),
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
}
