//! Parses links: strings or `link(...)` values; adds a missing scheme.

use std::fmt;

use builtins_language::{
    ApiValue, Args, BuiltinsExt, EvalResult, Evaluator, FromArg, GlobalsBuilder, Heap, Mismatch,
    Outcome, Value, ValueHasher, ValueLike, api_value, raise, repr,
};
use engine_formats::golang::{
    quote::quote,
    url::{Url, UrlError},
};
use engine_model::Link;
use serde_json::json;

use super::coerce::{go_type, one_or_sequence};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("link", link);
}

/// What `link(...)` returns.
#[derive(Debug)]
struct LinkValue {
    /// The URL as text, which is not always parsed as the same URL again.
    text: String,
    link: Link,
}

api_value!(LinkValue);

impl fmt::Display for LinkValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link(name = {}, url = {})", quote(&self.link.name), quote(&self.text))
    }
}

impl ApiValue for LinkValue {
    const TYPE: &'static str = "struct";

    fn attr<'v>(&self, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        match name {
            "name" => Some(heap.alloc(self.link.name.as_str())),
            "url" => Some(heap.alloc(self.text.as_str())),
            _ => None,
        }
    }

    fn attr_names(&self) -> Vec<String> {
        vec!["name".to_owned(), "url".to_owned()]
    }

    fn struct_constructor(&self) -> Option<&'static str> {
        Some("link")
    }

    fn go_type(&self) -> Option<String> {
        Some("links.Link".to_owned())
    }

    fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
        std::hash::Hash::hash(&(&self.link.name, &self.text), hasher);
        Ok(())
    }
}

/// The `links` parameter of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(pub(crate) Vec<Link>);

impl Links {
    /// The links as manifests have them: nothing at all instead of an empty list.
    pub(crate) fn into_option(self) -> Option<Vec<Link>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl<'v> FromArg<'v> for Links {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let link = |item: Value<'v>| {
            if let Some(text) = item.unpack_str() {
                let url = parse(text).map_err(|why| why.to_string())?;
                Ok(Link { url: to_model(&url), name: String::new() })
            } else if let Some(value) = item.downcast_ref::<LinkValue>() {
                Ok(value.link.clone())
            } else {
                // The stray back quote is the reference's.
                Err(Mismatch(format!(
                    "`Want a string, a link, or a sequence of these; found {} (type: {})",
                    repr(item),
                    go_type(item)
                )))
            }
        };
        one_or_sequence(value, eval.heap())
            .into_iter()
            .map(link)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Why a text is not the URL of a link.
#[derive(Debug, thiserror::Error)]
enum LinkError {
    #[error("validating URL \"\": url empty")]
    Empty,
    #[error("validating URL {}: {source}", quote(.url))]
    Invalid { url: String, source: UrlError },
}

/// A URL; without a scheme it is one of the web.
fn parse(text: &str) -> Result<Url, LinkError> {
    if text.is_empty() {
        return Err(LinkError::Empty);
    }
    let mut url =
        Url::parse(text).map_err(|source| LinkError::Invalid { url: text.to_owned(), source })?;
    if url.scheme.is_empty() {
        "http".clone_into(&mut url.scheme);
    }
    Ok(url)
}

fn to_model(url: &Url) -> engine_model::Url {
    engine_model::Url { text: url.to_string(), parts: json!(url) }
}

/// `link(url, name="")`.
fn link<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut url, mut name) = (String::new(), String::new());
    args.unpack(eval, &mut [("url", &mut url), ("name?", &mut name)])?;
    let url = parse(&url).map_err(|why| raise(why.to_string()))?;
    let text = url.to_string();
    Ok(eval.heap().alloc(LinkValue { text, link: Link { url: to_model(&url), name } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_scheme_is_one_of_the_web() {
        for (text, expected) in [
            ("example.com/a", "http://example.com/a"),
            ("localhost:10350/path", "localhost:10350/path"),
            ("//net", "http://net"),
            ("HTTP://Up.Case/Path", "http://Up.Case/Path"),
            ("mailto:me@x.y", "mailto:me@x.y"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), expected);
        }
        let url = parse("example.com/a").unwrap();
        assert_eq!((url.host.as_str(), url.path.as_str()), ("", "example.com/a"));
    }

    #[test]
    fn what_is_no_url_is_refused_in_the_reference_words() {
        for (text, expected) in [
            ("", r#"validating URL "": url empty"#),
            (
                "127.0.0.1:8080",
                r#"validating URL "127.0.0.1:8080": parse "127.0.0.1:8080": first path segment in URL cannot contain colon"#,
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
    }
}
