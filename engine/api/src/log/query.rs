//! `GET /api/logs`: the log as lines of JSON, filtered on the server so that a client gets no more than it asked for.
//!
//! The response is a sequence of lines: segments; `{"gap":…}` where segments were dropped; and `{"history":"end"}`
//! after everything that existed at the time of the request. A client that follows then gets new segments as they are
//! written.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::filter::{Filter, Source};

/// The path of the log.
pub const PATH: &str = "/api/logs";
/// The content type of the response.
pub const CONTENT_TYPE: &str = "application/x-ndjson";
/// The line that ends the history.
pub const END_OF_HISTORY: &str = r#"{"history":"end"}"#;
/// What is encoded in a value.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Which lines.
    pub filter: Filter,
    /// About how many lines of what is there at first; a client may get some more.
    pub tail: Option<u64>,
    /// Whether the answer goes on with what is written later.
    pub follow: bool,
}

impl Query {
    /// Parses the query of a URL; unknown parameters and values are ignored.
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8_lossy().into_owned();
            match key {
                "resource" => parsed.filter.resources.push(value),
                "level" => parsed.filter.level = Filter::level_from_flag(&value),
                "source" => parsed.filter.source = Source::from_flag(&value),
                "since" => parsed.filter.since = value.parse().unwrap_or(0),
                "tail" => parsed.tail = value.parse().ok(),
                "follow" => parsed.follow = value == "1" || value == "true",
                _ => {}
            }
        }
        parsed
    }

    /// Formats this as the query of a URL.
    pub fn to_text(&self) -> String {
        let resource = |it: &String| format!("resource={}", utf8_percent_encode(it, ENCODED));
        let mut pairs: Vec<String> = self.filter.resources.iter().map(resource).collect();
        pairs.extend(self.filter.level.map(|it| format!("level={}", it.lower_name())));
        if self.filter.source != Source::All {
            pairs.push(format!("source={}", self.filter.source.as_flag()));
        }
        if self.filter.since > 0 {
            pairs.push(format!("since={}", self.filter.since));
        }
        pairs.extend(self.tail.map(|it| format!("tail={it}")));
        if self.follow {
            pairs.push("follow=1".to_owned());
        }
        pairs.join("&")
    }
}
