//! `docs`: shows the reference of the Tiltfile API, topics, and the bundled extensions.

use builtins::docs::{self, Entry, Layout, Page, Param, Shape};
use clap::{Args, ValueEnum};
use engine_cli::{Failure, Printer, has_colors, program};
use serde_json::{Value, json};

use super::pager;

/// Lines are no longer than this, however wide the terminal is.
const WIDTH: usize = 100;

/// What leads to the list of all topics.
const TOPICS: &str = "topics";

/// Show the reference of the Tiltfile API.
///
/// NAME is a function, a module, a topic or an extension. Without a name, all of them are listed.
#[derive(Debug, Args)]
pub(super) struct DocsFlags {
    /// Show all topics and the whole reference
    #[arg(short, long)]
    all: bool,
    /// Output format: text, markdown or json
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// What to show
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
}

pub(super) fn run(flags: &DocsFlags, printer: Printer) -> Result<(), Failure> {
    let pages = pages(flags)?;
    match flags.output {
        Format::Json => {
            let all: Vec<Value> = pages.iter().map(json_of).collect();
            printer.out(&format!("{:#}\n", Value::from(all)));
        }
        Format::Markdown => printer.out(&markdown(&pages)),
        Format::Text => pager::show(&text(flags, &pages, layout()), printer),
    }
    Ok(())
}

/// What was asked for; everything if nothing was.
fn pages(flags: &DocsFlags) -> Result<Vec<Page>, Failure> {
    if flags.names.is_empty() || flags.all {
        return Ok(docs::pages().collect());
    }
    let mut pages = Vec::new();
    for name in &flags.names {
        let found = if name == TOPICS {
            docs::TOPICS.iter().map(Page::Topic).collect()
        } else {
            docs::look_up(name)
        };
        if found.is_empty() {
            return Err(Failure::Command(not_found(name)));
        }
        pages.extend(found);
    }
    Ok(pages)
}

fn not_found(name: &str) -> String {
    let lists = format!("`{} docs` lists all names", program());
    match docs::similar(name).as_slice() {
        [] => format!("nothing is called {name:?} in the documentation; {lists}"),
        similar => {
            let similar = similar.join(", ");
            format!(
                "nothing is called {name:?} in the documentation; did you mean {similar}? {lists}"
            )
        }
    }
}

fn layout() -> Layout {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = columns.unwrap_or(WIDTH).clamp(40, WIDTH);
    Layout { width, has_colors: has_colors() }
}

fn text(flags: &DocsFlags, pages: &[Page], layout: Layout) -> String {
    let is_list = flags.names == [TOPICS];
    if flags.all || !(flags.names.is_empty() || is_list) {
        return layout.terminal(&markdown(pages));
    }
    let mut out = if is_list { docs::topics(layout) } else { docs::index(layout) };
    let hint = format!("`{} docs NAME` shows more, `{0} docs --all` everything.", program());
    out.push_str(&layout.terminal(&format!("\n{hint}")));
    out
}

/// Pages one after the other; each begins with its name.
fn markdown(pages: &[Page]) -> String {
    let mut out = Vec::new();
    let mut last = None;
    for page in pages {
        match page {
            Page::Entry(chapter, _)
                if pages.len() > 1 && last.replace(*chapter) != Some(*chapter) =>
            {
                out.push(format!("# {chapter}\n"));
            }
            _ => {}
        }
        out.push(match page {
            Page::Topic(_) | Page::Extension(_) => page.markdown(),
            Page::Entry(..) | Page::Function(_) => {
                format!("## {}\n\n{}", page.name(), page.markdown())
            }
        });
    }
    out.join("\n")
}

fn json_of(page: &Page) -> Value {
    match page {
        Page::Entry(chapter, entry) => entry_json(chapter, entry),
        Page::Topic(_) => other_json(page, "topic"),
        Page::Extension(_) => other_json(page, "extension"),
        Page::Function(it) => {
            let mut shown = other_json(page, "extension function");
            shown["extension"] = json!(it.extension);
            shown
        }
    }
}

fn other_json(page: &Page, kind: &str) -> Value {
    json!({"name": page.name(), "kind": kind, "summary": page.summary(), "doc": page.markdown()})
}

fn entry_json(chapter: &str, entry: &Entry) -> Value {
    let mut shown = json!({
        "name": entry.name,
        "chapter": chapter,
        "doc": entry.doc,
        "example": entry.example,
    });
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
