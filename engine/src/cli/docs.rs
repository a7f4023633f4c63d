//! `docs`: prints the reference of the Tiltfile API.

use builtins::docs::{self, Entry, Param, Shape};
use clap::{Args, ValueEnum};
use engine_cli::{Failure, Printer};
use serde_json::{Value, json};

/// Print the reference of the Tiltfile API.
///
/// Without a name, everything that a Tiltfile can use is printed, by topic. Editors show the same texts.
#[derive(Debug, Args)]
pub(super) struct DocsFlags {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// What to print, such as `docker_build`, `os.path` or a part of a name
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
}

pub(super) fn run(flags: &DocsFlags, printer: Printer) -> Result<(), Failure> {
    let wanted =
        |entry: &Entry| flags.names.is_empty() || flags.names.iter().any(|it| is_meant(entry, it));
    let unknown = flags.names.iter().find(|name| !docs::entries().any(|it| is_meant(it, name)));
    if let Some(name) = unknown {
        return Err(Failure::Command(not_found(name)));
    }
    if let Format::Json = flags.output {
        let all: Vec<Value> = docs::REFERENCE
            .iter()
            .flat_map(|chapter| chapter.entries.iter().map(move |it| (chapter.title, it)))
            .filter(|(_, it)| wanted(it))
            .map(|(chapter, it)| json_of(chapter, it))
            .collect();
        printer.out(&format!("{:#}\n", Value::from(all)));
        return Ok(());
    }
    for chapter in docs::REFERENCE.iter() {
        let entries: Vec<&Entry> = chapter.entries.iter().filter(|it| wanted(it)).collect();
        if entries.is_empty() {
            continue;
        }
        let is_all = flags.names.is_empty();
        match flags.output {
            Format::Markdown if is_all => printer.out(&format!("# {}\n\n", chapter.title)),
            Format::Text if is_all => printer.out(&format!("{}\n\n", chapter.title.to_uppercase())),
            _ => {}
        }
        for entry in entries {
            let text = match flags.output {
                Format::Markdown => format!("## {}\n\n{}", entry.name, docs::markdown(entry)),
                Format::Text | Format::Json => docs::text(entry),
            };
            printer.out(&format!("{text}\n"));
        }
    }
    Ok(())
}

/// Whether a name, or the module that it is in, was asked for.
fn is_meant(entry: &Entry, name: &str) -> bool {
    let rest = entry.name.strip_prefix(name);
    rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
}

fn not_found(name: &str) -> String {
    let similar: Vec<&str> =
        docs::entries().map(|it| it.name).filter(|it| it.contains(name)).take(5).collect();
    if similar.is_empty() {
        return format!("no name {name:?} in the Tiltfile API; `tilt docs` lists all of them");
    }
    format!("no name {name:?} in the Tiltfile API; did you mean {}?", similar.join(", "))
}

fn json_of(chapter: &str, entry: &Entry) -> Value {
    let mut shown = json!({"name": entry.name, "chapter": chapter, "doc": entry.doc});
    match &entry.shape {
        Shape::Function { params, returns } => {
            shown["kind"] = json!("function");
            shown["params"] = params.iter().map(param).collect();
            shown["returns"] = json!(returns);
        }
        Shape::Value("module") => shown["kind"] = json!("module"),
        Shape::Value(ty) => {
            shown["kind"] = json!("value");
            shown["type"] = json!(ty);
        }
    }
    shown
}

fn param(param: &Param) -> Value {
    let mut shown = json!({"name": param.name, "type": param.ty, "doc": param.doc});
    if let Some(default) = param.default {
        shown["default"] = json!(default);
    }
    shown
}
