//! What `get uiresources` adds to the table of the server: how each resource does, since when, and why.

use std::collections::HashMap;

use serde_json::Value;

use crate::{client::WebClient, connect::ConnectFlags, names::name_of, when};

/// The names of the columns.
pub(super) const HEADERS: [&str; 4] = ["UPDATE", "RUNTIME", "AGE", "REASON"];

/// The reasons of all resources, by name.
pub(super) struct States(HashMap<String, Value>);

impl States {
    /// Asks the instance; one that is no engine has no answer.
    pub(super) fn read(connect: &ConnectFlags) -> Option<Self> {
        let answer = WebClient::new(connect).ok()?.read("reasons", "reasons").ok()??;
        Some(Self::of(&answer))
    }

    fn of(answer: &Value) -> Self {
        let reasons = answer["reasons"].as_array().into_iter().flatten();
        let named =
            reasons.filter_map(|it| Some((it["resource"].as_str()?.to_owned(), it.clone())));
        Self(named.collect())
    }

    /// The columns of a resource.
    pub(super) fn cells(&self, resource: &Value) -> [String; 4] {
        let reason = self.0.get(name_of(resource)).unwrap_or(&Value::Null);
        let status = |key: &str| match resource["status"][key].as_str() {
            None | Some("" | "not_applicable") => "-".to_owned(),
            Some(word) => word.replace('_', " "),
        };
        let age = reason["since"].as_str().and_then(when::age).unwrap_or_else(|| "-".to_owned());
        let headline = reason["headline"].as_str().unwrap_or("-").to_owned();
        [status("updateStatus"), status("runtimeStatus"), age, headline]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_resource_says_how_it_does_and_why() {
        let states = States::of(&json!({"reasons": [
            {"resource": "web", "state": "failed", "headline": "server exited: exit status 2", "since": null},
        ]}));
        let cells = |name: &str, update: &str, runtime: &str| {
            let status = json!({"updateStatus": update, "runtimeStatus": runtime});
            states.cells(&json!({"metadata": {"name": name}, "status": status})).join("|")
        };
        assert_eq!(
            cells("web", "not_applicable", "error"),
            "-|error|-|server exited: exit status 2"
        );
        assert_eq!(cells("new", "in_progress", ""), "in progress|-|-|-");
    }
}
