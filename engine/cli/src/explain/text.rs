//! Formats the documentation of a schema as kubectl does.

use serde_json::Value;

/// How deep schemas may refer to each other.
const MAX_DEPTH: usize = 32;

/// What is explained, and how.
pub(super) struct Explain<'d> {
    /// The whole document, where references lead to.
    pub(super) document: &'d Value,
    /// Whether fields of fields are listed.
    pub(super) recursive: bool,
}

impl<'d> Explain<'d> {
    /// The explanation of the field that a path leads to.
    pub(super) fn output(&self, schema: &'d Value, path: &[&str]) -> Option<String> {
        let mut out = String::new();
        let mut schema = schema;
        let mut path = path;
        for _ in 0..MAX_DEPTH {
            let resolved = self.resolve(schema);
            let Some((name, rest)) = path.split_first() else {
                out.push_str(&self.described(resolved));
                return Some(out);
            };
            if let Some(field) = resolved["properties"].get(name) {
                if rest.is_empty() {
                    let enums = long_enum(field);
                    out.push_str(&format!(
                        "FIELD: {name} <{}>\n{enums}\n\n",
                        self.type_of(field, 0)
                    ));
                }
                schema = field;
                path = rest;
            } else {
                schema = Self::inside(resolved)?;
            }
        }
        None
    }

    fn resolve(&self, schema: &'d Value) -> &'d Value {
        let Some(reference) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/")) else {
            return schema;
        };
        // Names of schemas are not escaped once more in references.
        let found = reference.split('/').try_fold(self.document, |value, key| value.get(key));
        found.unwrap_or(schema)
    }

    /// What a list, a map or an extended schema is about.
    fn inside(schema: &'d Value) -> Option<&'d Value> {
        let inner = [&schema["items"], &schema["additionalProperties"], &schema["allOf"][0]];
        inner.into_iter().find(|it| it.is_object())
    }

    fn described(&self, schema: &'d Value) -> String {
        let description = match self.description(schema, 0) {
            text if text.is_empty() => "<empty>".to_owned(),
            text => text,
        };
        let mut out = format!("DESCRIPTION:\n{}\n", indent(&wrap(&description, 76), 4));
        let fields = self.fields(schema, 1, 0);
        if !fields.is_empty() {
            out.push_str(&format!("FIELDS:\n{fields}"));
        }
        out
    }

    fn description(&self, schema: &'d Value, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return String::new();
        }
        let schema = self.resolve(schema);
        let mut out = match schema["description"].as_str() {
            Some(text) if !text.is_empty() => format!("{text}\n"),
            _ => String::new(),
        };
        let all = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        let inner = all.iter().chain([&schema["items"], &schema["additionalProperties"]]);
        for schema in inner.filter(|it| it.is_object()) {
            let text = self.description(schema, depth + 1);
            // A field may say no more than its type does.
            if text != out {
                out.push_str(&text);
            }
        }
        out
    }

    fn fields(&self, schema: &'d Value, level: usize, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return String::new();
        }
        let schema = self.resolve(schema);
        let mut out = String::new();
        let mut properties: Vec<_> =
            schema["properties"].as_object().into_iter().flatten().collect();
        properties.sort_by_key(|it| it.0);
        for (name, field) in properties {
            let required = schema["required"].as_array();
            let is_required = required.is_some_and(|it| it.iter().any(|it| it == name.as_str()));
            out.push_str(&self.field(name, field, is_required, level));
            if self.recursive {
                out.push_str(&self.fields(field, level + 1, depth + 1));
            }
        }
        let all = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        let inner = all.iter().chain([&schema["items"], &schema["additionalProperties"]]);
        for schema in inner.filter(|it| it.is_object()) {
            out.push_str(&self.fields(schema, level, depth + 1));
        }
        out
    }

    fn field(&self, name: &str, field: &'d Value, is_required: bool, level: usize) -> String {
        let pad = " ".repeat(level * 2);
        let required = if is_required { " -required-" } else { "" };
        let enums = short_enum(field, &pad);
        let mut out = format!("{pad}{name}\t<{}>{required}{enums}\n", self.type_of(field, 0));
        if !self.recursive {
            let text = field["description"].as_str().filter(|it| !it.is_empty());
            let text = wrap(text.unwrap_or("<no description>"), 78 - level * 2);
            out.push_str(&format!("{}\n\n", indent(&text, level * 2 + 2)));
        }
        out
    }

    fn type_of(&self, schema: &'d Value, depth: usize) -> String {
        if depth > MAX_DEPTH {
            return "Object".to_owned();
        }
        if schema["items"].is_object() {
            return format!("[]{}", self.type_of(&schema["items"], depth + 1));
        }
        if schema["additionalProperties"].is_object() {
            let inner = self.type_of(&schema["additionalProperties"], depth + 1);
            return format!("map[string]{inner}");
        }
        let all = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let ([only], true) = (all, schema["properties"].is_null()) {
            return self.type_of(only, depth + 1);
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let resolved = self.resolve(schema);
            return match resolved["type"].as_str() {
                Some(name) if name != "object" => name.to_owned(),
                _ => reference.rsplit(['/', '.']).next().unwrap_or("Object").to_owned(),
            };
        }
        match schema["type"].as_str() {
            None | Some("object" | "") => "Object".to_owned(),
            Some(name) => name.to_owned(),
        }
    }
}

fn enum_values(schema: &Value) -> Vec<String> {
    let values = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| match value.as_str() {
        Some("") => "\"\"".to_owned(),
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    values.iter().map(text).collect()
}

fn long_enum(schema: &Value) -> String {
    let values = enum_values(schema);
    if values.is_empty() {
        return String::new();
    }
    format!("ENUM:\n    {}", values.join("\n    "))
}

fn short_enum(schema: &Value, pad: &str) -> String {
    let values = enum_values(schema);
    if values.is_empty() {
        return String::new();
    }
    let more = if values.len() > 4 { ", ...." } else { "" };
    let first = &values[..values.len().min(4)];
    format!("\n{pad}enum: {}{more}", first.join(", "))
}

fn indent(text: &str, amount: usize) -> String {
    let pad = " ".repeat(amount);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

/// Breaks lines at spaces; a word that is too long gets a line of its own.
fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let mut out = String::new();
        let mut length = 0;
        for word in line.split(' ') {
            let size = word.chars().count();
            if !out.is_empty() && length + 1 + size > width {
                out.push('\n');
                length = 0;
            } else if !out.is_empty() {
                out.push(' ');
                length += 1;
            }
            out.push_str(word);
            length += size;
        }
        out
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_explained_as_in_kubectl() {
        let document = json!({"components": {"schemas": {
            "x.Cmd": {"description": "A process.", "type": "object", "properties": {
                "spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/x.CmdSpec"}]},
                "kind": {"type": "string", "description": "What it is."}}},
            "x.CmdSpec": {"description": "How to run.", "type": "object", "required": ["args"], "properties": {
                "args": {"type": "array", "items": {"type": "string"}},
                "mode": {"type": "string", "enum": ["", "a"], "description": "Which."},
                "env": {"type": "object", "additionalProperties": {"type": "string"}}}},
        }}});
        let schema = &document["components"]["schemas"]["x.Cmd"];
        let explain = Explain { document: &document, recursive: false };
        expect_test::expect![[r#"
            DESCRIPTION:
                A process.
                
            FIELDS:
              kind	<string>
                What it is.

              spec	<CmdSpec>
                <no description>

        "#]]
        .assert_eq(&explain.output(schema, &[]).unwrap());
        expect_test::expect![[r#"
            FIELD: mode <string>
            ENUM:
                ""
                a

            DESCRIPTION:
                Which.
                
        "#]]
        .assert_eq(&explain.output(schema, &["spec", "mode"]).unwrap());
        let explain = Explain { document: &document, recursive: true };
        expect_test::expect![[r#"
            FIELD: spec <CmdSpec>


            DESCRIPTION:
                How to run.
                
            FIELDS:
              args	<[]string> -required-
              env	<map[string]string>
              mode	<string>
              enum: "", a
        "#]]
        .assert_eq(&explain.output(schema, &["spec"]).unwrap());
        assert_eq!(explain.output(schema, &["spec", "nope"]), None);
    }

    #[test]
    fn long_lines_are_broken_at_spaces() {
        assert_eq!(wrap("aa bb cc\n\ndddddddd e", 5), "aa bb\ncc\n\ndddddddd\ne");
    }
}
