//! Links shown beside a resource.

use serde::{Serialize, Serializer, ser::SerializeMap};

/// A link with an optional name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Link {
    /// Where it leads.
    #[serde(rename = "URL")]
    pub url: Url,
    /// What it is called.
    pub name: String,
}

/// A URL in the parts that Go's `net/url` keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Url {
    /// The whole URL.
    #[serde(skip)]
    pub text: String,
    /// Before the colon.
    pub scheme: String,
    /// Data that is not a hierarchy.
    pub opaque: String,
    /// Whether there is user information, and which.
    #[serde(serialize_with = "user")]
    pub user: Option<String>,
    /// Host and port.
    pub host: String,
    /// The decoded path.
    pub path: String,
    /// The decoded fragment.
    pub fragment: String,
    /// The query without its question mark.
    pub raw_query: String,
    /// The path as written, if decoding loses something.
    pub raw_path: String,
    /// The fragment as written, if decoding loses something.
    pub raw_fragment: String,
    /// Whether there is a question mark with nothing behind it.
    pub force_query: bool,
    /// Whether `//` is left out before an empty host.
    pub omit_host: bool,
}

/// Go keeps the fields of user information private, so it prints as an empty object.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn user<S: Serializer>(user: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match user {
        None => serializer.serialize_none(),
        Some(_) => serializer.serialize_map(Some(0))?.end(),
    }
}
