//! Links shown beside a resource.

use serde::Serialize;
use serde_json::Value;

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

/// A URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Url {
    /// The whole URL.
    #[serde(skip)]
    pub text: String,
    /// The parts that Go's `net/url` keeps, as results have them.
    pub parts: Value,
}
