//! One entry of `managedFields`: the fields of one manager.

use serde_json::{Map, Value, json};

use super::{Writer, fields::FieldSet};
use crate::{GROUP_VERSION, client::Subresource, store::now};

/// How fields were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// The fields of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl Entry {
    pub(super) fn new(writer: Writer<'_>, operation: Operation) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation,
            api_version: GROUP_VERSION.to_owned(),
            subresource: match writer.part {
                Subresource::Main => String::new(),
                Subresource::Status => "status".to_owned(),
            },
            time: Some(now()),
            fields: FieldSet::default(),
        }
    }

    /// Whether both are about the same manager.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    pub(super) fn of_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let operation = match value["operation"].as_str()? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        Some(Self {
            manager: text("manager"),
            operation,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: value["time"].as_str().map(str::to_owned),
            fields: FieldSet::of_json(&value["fieldsV1"])?,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("manager".to_owned(), json!(self.manager));
        map.insert("operation".to_owned(), json!(format!("{:?}", self.operation)));
        map.insert("apiVersion".to_owned(), json!(self.api_version));
        if let Some(time) = &self.time {
            map.insert("time".to_owned(), json!(time));
        }
        map.insert("fieldsType".to_owned(), json!("FieldsV1"));
        map.insert("fieldsV1".to_owned(), self.fields.to_json());
        if !self.subresource.is_empty() {
            map.insert("subresource".to_owned(), json!(self.subresource));
        }
        Value::Object(map)
    }

    /// The manager as messages show it.
    pub(super) fn shown(&self) -> String {
        let mut shown = Value::from(self.manager.as_str()).to_string();
        if !self.subresource.is_empty() {
            shown.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            shown.push_str(&format!(" using {}", self.api_version));
        }
        shown
    }
}
