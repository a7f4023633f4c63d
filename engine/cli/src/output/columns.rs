//! `-o custom-columns=NAME:.metadata.name,…`: a table whose columns are paths.

use std::fs;

use engine_formats::golang::os_error::PathError;
use serde_json::Value;

use super::{list_items, table::align};
use crate::{
    failure::Failure,
    jsonpath::{self, JsonPath, JsonPathError},
};

#[derive(Debug, thiserror::Error)]
enum ColumnsError {
    #[error(
        "invalid template, missing {0} line. Expected format is one line of space separated headers, \
         one line of space separated column specs."
    )]
    MissingLine(&'static str),
    #[error("number of headers ({headers}) and field specifications ({specs}) don't match")]
    DifferentLengths { headers: usize, specs: usize },
    #[error(transparent)]
    Path(#[from] JsonPathError),
}

/// The columns of a table.
#[derive(Debug)]
pub(crate) struct Columns {
    headers: Vec<String>,
    paths: Vec<JsonPath>,
    /// Whether the first line is left out.
    pub(crate) no_headers: bool,
}

impl Columns {
    /// Parses a specification, or the file that holds one.
    pub(super) fn read(text: &str, is_file: bool) -> Result<Self, Failure> {
        if text.is_empty() {
            let message = "custom-columns format specified but no custom columns given";
            return Err(Failure::Kubectl(message.to_owned()));
        }
        if is_file {
            let content = fs::read_to_string(text).map_err(|error| {
                let cause = PathError::reading(text, &error);
                Failure::Kubectl(format!("error reading template {text}, {cause}\n"))
            })?;
            return Self::from_lines(&content).map_err(Failure::kubectl);
        }
        let mut pairs = Vec::new();
        for part in text.split(',') {
            pairs.push(part.split_once(':').ok_or_else(|| {
                Failure::Kubectl(format!(
                    "unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>"
                ))
            })?);
        }
        Self::new(pairs.into_iter()).map_err(Failure::kubectl)
    }

    fn from_lines(text: &str) -> Result<Self, ColumnsError> {
        let mut lines = text.lines();
        let mut line = |what| lines.next().ok_or(ColumnsError::MissingLine(what));
        let headers: Vec<&str> = line("header")?.split_whitespace().collect();
        let specs: Vec<&str> = line("spec")?.split_whitespace().collect();
        if headers.len() != specs.len() {
            let (headers, specs) = (headers.len(), specs.len());
            return Err(ColumnsError::DifferentLengths { headers, specs });
        }
        Ok(Self::new(headers.into_iter().zip(specs))?)
    }

    fn new<'t>(pairs: impl Iterator<Item = (&'t str, &'t str)>) -> Result<Self, JsonPathError> {
        let mut columns = Self { headers: Vec::new(), paths: Vec::new(), no_headers: false };
        for (header, spec) in pairs {
            columns.headers.push(header.to_owned());
            columns.paths.push(JsonPath::parse(&jsonpath::relaxed(spec)?)?);
        }
        Ok(columns)
    }

    /// The lines of an object, or of every object of a list.
    pub(super) fn print(&self, object: &Value, is_first: bool) -> Result<String, Failure> {
        let mut rows = Vec::new();
        if is_first && !self.no_headers {
            rows.push(self.headers.clone());
        }
        match list_items(object) {
            Some(items) => {
                for item in items {
                    rows.push(self.row(item)?);
                }
            }
            None => rows.push(self.row(object)?),
        }
        Ok(align(&rows))
    }

    fn row(&self, object: &Value) -> Result<Vec<String>, Failure> {
        let mut cells = Vec::new();
        for path in &self.paths {
            let found = path.find(object, true).map_err(Failure::kubectl)?;
            let mut texts: Vec<String> = found.iter().flatten().map(|it| go_value(it)).collect();
            if found.first().is_none_or(Vec::is_empty) {
                texts.insert(0, "<none>".to_owned());
            }
            cells.push(texts.join(","));
        }
        Ok(cells)
    }
}

/// Formats a value as Go's `%v` does.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|it| it.0);
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go_value(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => jsonpath::printed(other).replace('\x1b', "^[").replace('\r', "\\r"),
    }
}
