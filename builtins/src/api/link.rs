//! Decides what links are: strings or `link(...)` values, with a scheme added where there is none.

#![expect(unsafe_code, reason = "the starlark crate derives unsafe impls for its values")]

use std::fmt;

use allocative::Allocative;
use engine_model::Link;
use starlark::{
    any::ProvidesStaticType,
    collections::StarlarkHasher,
    environment::GlobalsBuilder,
    eval::Evaluator,
    starlark_simple_value,
    values::{
        Demand, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike,
        starlark_value,
    },
};

use super::coerce::{GoType, go_type, one_or_sequence};
use crate::{
    dialect::{
        BuiltinsExt,
        args::{Args, FromArg, Mismatch},
        raise, repr,
        structs::StructConstructor,
    },
    golang::{
        quote::quote,
        url::{Url, UrlError},
    },
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("link", link);
}

/// What `link(...)` returns.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct LinkValue {
    /// The URL as text, which is not always parsed as the same URL again.
    text: String,
    #[allocative(skip)]
    link: Link,
}

starlark_simple_value!(LinkValue);

impl fmt::Display for LinkValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link(name = {}, url = {})", quote(&self.link.name), quote(&self.text))
    }
}

#[starlark_value(type = "struct")]
impl<'v> StarlarkValue<'v> for LinkValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        match attribute {
            "name" => Some(heap.alloc(self.link.name.as_str())),
            "url" => Some(heap.alloc(self.text.as_str())),
            _ => None,
        }
    }

    fn dir_attr(&self) -> Vec<String> {
        vec!["name".to_owned(), "url".to_owned()]
    }

    fn provide(&'v self, demand: &mut Demand<'_, 'v>) {
        demand.provide_value(StructConstructor("link"));
        demand.provide_value(GoType("links.Link".to_owned()));
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(&(&self.link.name, &self.text), hasher);
        Ok(())
    }
}

/// The `links` parameter of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(pub(crate) Vec<Link>);

impl Links {
    /// The links as manifests have them: nothing at all instead of an empty list.
    #[must_use]
    pub(crate) fn into_option(self) -> Option<Vec<Link>> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl<'v> FromArg<'v> for Links {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let link = |item: Value<'v>| {
            if let Some(text) = item.unpack_str() {
                let url = parse(text).map_err(|why| why.to_string())?;
                Ok(Link { url: to_model(url), name: String::new() })
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

fn to_model(url: Url) -> engine_model::Url {
    engine_model::Url {
        text: url.to_string(),
        scheme: url.scheme,
        opaque: url.opaque,
        user: url.user.map(|it| it.to_string()),
        host: url.host,
        path: url.path,
        fragment: url.fragment,
        raw_query: url.raw_query,
        raw_path: url.raw_path,
        raw_fragment: url.raw_fragment,
        force_query: url.force_query,
        omit_host: url.omit_host,
    }
}

/// `link(url, name="")`.
fn link<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> starlark::Result<Value<'v>> {
    let (mut url, mut name) = (String::new(), String::new());
    args.unpack(eval, &mut [("url", &mut url), ("name?", &mut name)])?;
    let url = parse(&url).map_err(|why| raise(why.to_string()))?;
    let text = url.to_string();
    Ok(eval.heap().alloc(LinkValue { text, link: Link { url: to_model(url), name } }))
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
