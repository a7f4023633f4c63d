//! Prints objects in the formats of `-o`, for all commands that come from kubectl.

mod columns;
mod go_template;
mod kyaml;
mod table;

#[cfg(test)]
mod tests;

use std::{fs, str::FromStr};

use clap::{ArgAction, Args};
use engine_formats::golang::{json, os_error::PathError, pflag::parse_bool, quote::quote};
use serde_json::{Map, Value};

pub(crate) use columns::Columns;
pub(crate) use table::{align, tabulate};

use self::go_template::GoTemplate;
use engine_api::{GROUP, VERSION};

use super::{
    failure::Failure,
    jsonpath::{JsonPath, JsonPathError},
};

/// The flags that choose a format.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputFlags {
    /// Output format: json, yaml, kyaml, name, wide, jsonpath=…, go-template=… or custom-columns=…
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    output: String,
    /// Print JSON; the same as -o json
    #[arg(long)]
    json: bool,
    /// Template or path of a template file, for -o go-template, -o jsonpath and their -file forms
    #[arg(long, value_name = "TEMPLATE", default_value = "", hide_default_value = true)]
    pub(crate) template: String,
    /// Ignore template fields that an object lacks
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, action = ArgAction::Set,
        default_value_t = true, default_missing_value = "true", value_parser = parse_bool)]
    pub(crate) allow_missing_template_keys: bool,
    /// Include managedFields in JSON and YAML
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
}

impl OutputFlags {
    /// The name of the format; empty if none was asked for.
    pub(crate) fn format(&self) -> &str {
        if self.json && self.output.is_empty() { "json" } else { &self.output }
    }
}

/// Which formats a command knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formats {
    /// Those of `get`.
    WithTables,
    /// Those of commands that change something.
    WithoutTables,
}

impl Formats {
    fn names(self) -> &'static str {
        match self {
            Self::WithTables => {
                "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,\
                 jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml"
            }
            Self::WithoutTables => {
                "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,\
                 name,template,templatefile,yaml"
            }
        }
    }
}

/// A format with everything it needs.
#[derive(Debug)]
pub(crate) enum Format {
    /// What people read: a table, or the sentence of the command.
    Human,
    /// Type and name.
    Name,
    /// JSON, indented.
    Json,
    /// YAML.
    Yaml,
    /// YAML in the form of flows.
    Kyaml,
    /// A template of kubectl's own language.
    JsonPath { path: JsonPath, text: String, as_json: bool },
    /// A template of Go.
    GoTemplate(GoTemplate),
    /// A table of one's own.
    Columns(Columns),
}

impl Format {
    /// Reads the flags.
    pub(crate) fn read(flags: &OutputFlags, formats: Formats) -> Result<Self, Failure> {
        let name = match flags.format() {
            "" if !flags.template.is_empty() => "go-template",
            name => name,
        };
        let is_human = name.is_empty() || (name == "wide" && formats == Formats::WithTables);
        if is_human {
            return Ok(Self::Human);
        }
        match name.to_lowercase().as_str() {
            "name" => return Ok(Self::Name),
            "json" => return Ok(Self::Json),
            "yaml" => return Ok(Self::Yaml),
            "kyaml" => return Ok(Self::Kyaml),
            _ => {}
        }
        let unknown = || {
            Failure::Kubectl(format!(
                "unable to match a printer suitable for the output format {}, allowed formats are: {}",
                quote(name),
                formats.names()
            ))
        };
        let (kind, inline) = name.split_once('=').unwrap_or((name, ""));
        let kind: TemplateKind = kind.parse().map_err(|()| unknown())?;
        if kind.is_columns() {
            if formats == Formats::WithoutTables {
                return Err(unknown());
            }
            return Columns::read(inline, kind == TemplateKind::ColumnsFile).map(Self::Columns);
        }
        let text = if flags.template.is_empty() { inline } else { &flags.template };
        Self::template(kind, text, flags.allow_missing_template_keys)
    }

    fn template(kind: TemplateKind, text: &str, allow_missing: bool) -> Result<Self, Failure> {
        if text.is_empty() {
            let message = "template format specified but no template given";
            return Err(Failure::Kubectl(message.to_owned()));
        }
        let text = if kind.is_file() {
            fs::read_to_string(text).map_err(|error| {
                let cause = PathError::reading(text, &error);
                Failure::Kubectl(format!("error reading --template {text}, {cause}"))
            })?
        } else {
            text.to_owned()
        };
        if kind.is_go_template() {
            return GoTemplate::parse(&text, allow_missing).map(Self::GoTemplate);
        }
        let path = JsonPath::parse(&text)
            .map_err(|cause| Failure::Kubectl(format!("error parsing jsonpath {text}, {cause}")))?;
        Ok(Self::JsonPath { path, text, as_json: kind == TemplateKind::JsonPathAsJson })
    }

    /// An object in this format; `nth` counts what this command printed before.
    ///
    /// The human format is up to the command.
    pub(crate) fn print(
        &self,
        object: &Value,
        flags: &OutputFlags,
        nth: usize,
    ) -> Result<String, Failure> {
        let shown;
        let object = if flags.show_managed_fields || matches!(self, Self::Name) {
            object
        } else {
            shown = without_managed_fields(object.clone());
            &shown
        };
        match self {
            Self::Human => Ok(String::new()),
            Self::Name => Ok(names(object, "")),
            Self::Json => {
                let encoder = json::Encoder { indent: Some("    "), escape_html: true };
                Ok(format!("{}\n", encoder.encode(object)))
            }
            Self::Yaml => {
                let text = engine_formats::yaml::emit_v2(object).map_err(Failure::kubectl)?;
                Ok(if nth == 0 { text } else { format!("---\n{text}") })
            }
            Self::Kyaml => Ok(format!("---\n{}\n", kyaml::write(object))),
            Self::JsonPath { path, text, as_json } => {
                let allow = flags.allow_missing_template_keys;
                let result = if *as_json {
                    path.render_json(object, allow)
                } else {
                    path.render(object, allow)
                };
                result.map_err(|cause| jsonpath_failure(text, &cause, object))
            }
            Self::GoTemplate(template) => template.render(object),
            Self::Columns(columns) => columns.print(object, nth == 0),
        }
    }
}

/// An object as `-o json` prints it.
pub(crate) fn json(object: &Value) -> Result<String, Failure> {
    let flags = OutputFlags { json: true, ..OutputFlags::default() };
    Format::read(&flags, Formats::WithoutTables)?.print(object, &flags, 0)
}

fn jsonpath_failure(text: &str, cause: &JsonPathError, object: &Value) -> Failure {
    Failure::Kubectl(format!(
        "error executing jsonpath {}: Error executing template: {cause}. Printing more information \
         for debugging the template:\n\ttemplate was:\n\t\t{text}\n\tobject given to jsonpath engine \
         was:\n\t\t{}\n\n\n",
        quote(text),
        go_syntax(object)
    ))
}

/// A value as Go writes it, which is how people recognize it.
fn go_syntax(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", list(items.iter().map(go_syntax).collect()))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|it| it.0);
            let fields = fields.iter().map(|(k, v)| format!("{}:{}", quote(k), go_syntax(v)));
            format!("map[string]interface {{}}{{{}}}", list(fields.collect()))
        }
        other => other.to_string(),
    }
}

/// A format that comes with a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TemplateKind {
    GoTemplate,
    GoTemplateFile,
    JsonPath,
    JsonPathAsJson,
    JsonPathFile,
    Columns,
    ColumnsFile,
}

impl TemplateKind {
    fn is_columns(self) -> bool {
        matches!(self, Self::Columns | Self::ColumnsFile)
    }

    fn is_file(self) -> bool {
        matches!(self, Self::GoTemplateFile | Self::JsonPathFile)
    }

    fn is_go_template(self) -> bool {
        matches!(self, Self::GoTemplate | Self::GoTemplateFile)
    }
}

impl FromStr for TemplateKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "go-template" | "template" => Self::GoTemplate,
            "go-template-file" | "templatefile" => Self::GoTemplateFile,
            "jsonpath" => Self::JsonPath,
            "jsonpath-as-json" => Self::JsonPathAsJson,
            "jsonpath-file" => Self::JsonPathFile,
            "custom-columns" => Self::Columns,
            "custom-columns-file" => Self::ColumnsFile,
            _ => return Err(()),
        })
    }
}

/// Type and name of an object, or of all objects of a list, each with the operation.
pub(crate) fn names(object: &Value, operation: &str) -> String {
    if let Some(items) = list_items(object) {
        return items.iter().map(|it| names(it, operation)).collect();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]).to_lowercase();
    let name = Some(text(&object["metadata"]["name"])).filter(|it| !it.is_empty());
    let name = name.unwrap_or_else(|| "<unknown>".to_owned());
    let group = match object["apiVersion"].as_str().and_then(|it| it.split_once('/')) {
        Some((group, _)) => format!(".{group}"),
        None => String::new(),
    };
    let operation = if operation.is_empty() { String::new() } else { format!(" {operation}") };
    format!("{kind}{group}/{name}{operation}\n")
}

/// The objects of a list.
pub(crate) fn list_items(object: &Value) -> Option<&Vec<Value>> {
    object["kind"].as_str().filter(|it| it.ends_with("List"))?;
    object["items"].as_array()
}

/// Objects as one list.
pub(crate) fn list(items: Vec<Value>) -> Value {
    let mut list = Map::new();
    list.insert("apiVersion".to_owned(), "v1".into());
    list.insert("items".to_owned(), items.into());
    list.insert("kind".to_owned(), "List".into());
    list.insert("metadata".to_owned(), serde_json::json!({"resourceVersion": ""}));
    Value::Object(list)
}

fn without_managed_fields(mut object: Value) -> Value {
    if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
        for item in items {
            *item = without_managed_fields(item.take());
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    object
}

/// The `apiVersion` of every object.
pub(crate) fn api_version() -> String {
    format!("{GROUP}/{VERSION}")
}

/// Prints the result for one object after another, in a format or as a sentence.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    format: Format,
    flags: &'a OutputFlags,
    printed: usize,
}

impl<'a> Outcome<'a> {
    /// Reads the flags of a command that changes something.
    pub(crate) fn new(flags: &'a OutputFlags) -> Result<Self, Failure> {
        Ok(Self { format: Format::read(flags, Formats::WithoutTables)?, flags, printed: 0 })
    }

    /// The text for one object and the operation.
    pub(crate) fn text(&mut self, object: &Value, operation: &str) -> Result<String, Failure> {
        let nth = self.printed;
        self.printed += 1;
        match self.format {
            Format::Human => Ok(names(object, operation)),
            _ => self.format.print(object, self.flags, nth),
        }
    }

    /// Whether sentences are printed.
    pub(crate) fn is_human(&self) -> bool {
        matches!(self.format, Format::Human)
    }
}
