//! `dump`: the state of a running instance as JSON, and a page about every command.

use std::{fs, io, path::Path};

use clap::Args;
use engine_formats::golang::{json, os_error::PathError};
use serde_json::{Value, json as value};

use super::{
    Printer, client::WebClient, connect::ConnectFlags, failure::Failure, instances::nothing_runs,
    program, usage,
};

/// Which instance is meant.
#[derive(Debug, Args)]
pub struct DumpFlags {
    #[command(flatten)]
    connect: ConnectFlags,
}

/// How tasks are printed.
#[derive(Debug, Args)]
pub struct TasksFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    all: DumpFlags,
}

/// Where pages are written.
#[derive(Debug, Args)]
pub struct DocsFlags {
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub dir: String,
}

/// Prints what the web page shows.
pub fn webview(flags: &DumpFlags, printer: Printer) -> Result<(), Failure> {
    let view = read(flags, "view", "dump webview")?;
    print(&view, printer);
    Ok(())
}

/// Prints the state of the engine, without logs.
pub fn engine(flags: &DumpFlags, printer: Printer) -> Result<(), Failure> {
    let mut state = read(flags, "dump/engine", "dump engine")?;
    if let Some(fields) = state.as_object_mut() {
        fields.shift_remove("LogStore");
    }
    print(&state, printer);
    Ok(())
}

/// Prints what runs in the engine.
pub fn tasks(flags: &TasksFlags, printer: Printer) -> Result<(), Failure> {
    let connect = &flags.all.connect;
    let tasks = WebClient::new(connect)?.read("dump/tasks", "dump tasks")?;
    let tasks = tasks.ok_or_else(|| nothing_runs(connect))?;
    if flags.json {
        print(&tasks, printer);
    } else {
        printer.out(&table(&tasks));
    }
    Ok(())
}

/// Prints all logs.
pub fn logstore(flags: &DumpFlags, printer: Printer) -> Result<(), Failure> {
    // The state of the engine has no logs; the view has them as they are stored.
    let view = read(flags, "view", "dump LogStore")?;
    let part = |key: &str| view["logList"].get(key).cloned().unwrap_or(Value::Null);
    print(&value!({"Spans": part("spans"), "Segments": part("segments")}), printer);
    Ok(())
}

/// Writes a page about every command.
pub fn cli_docs(flags: &DocsFlags, root: &clap::Command) -> Result<(), Failure> {
    write_pages(root, Path::new(&flags.dir), program())
        .map_err(|it| Failure::Plain(format!("Error generating CLI docs: {it}")))
}

fn read(flags: &DumpFlags, path: &str, what: &str) -> Result<Value, Failure> {
    let body = WebClient::new(&flags.connect)?.get(path)?;
    serde_json::from_slice(&body)
        .map_err(|it| Failure::Plain(format!("{what}: Could not decode: {it}")))
}

/// Tasks as people read them.
fn table(tasks: &Value) -> String {
    let mut rows = vec![["KIND", "RESOURCE", "SINCE"]];
    for task in tasks.as_array().into_iter().flatten() {
        rows.push(["kind", "resource", "since"].map(|it| task[it].as_str().unwrap_or_default()));
    }
    let width = |at: usize| rows.iter().map(|it| it[at].chars().count()).max().unwrap_or_default();
    let (kinds, resources) = (width(0), width(1));
    let lines = rows.iter().map(|[kind, resource, since]| {
        format!("{kind:kinds$}   {resource:resources$}   {since}\n")
    });
    lines.collect()
}

/// Prints JSON as Go does.
pub fn print(value: &Value, printer: Printer) {
    let encoder = json::Encoder { indent: Some("  "), escape_html: true };
    printer.out(&format!("{}\n", encoder.encode(value)));
}

fn write_pages(command: &clap::Command, dir: &Path, path: &str) -> io::Result<()> {
    let file = dir.join(format!("{}.md", path.replace(' ', "_")));
    let page = format!("# {path}\n\n```\n{}```\n", usage::help(command, path, usage::MAX_WIDTH));
    fs::write(&file, page).map_err(|error| {
        io::Error::other(PathError::new("open", &file.to_string_lossy(), &error).to_string())
    })?;
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(inner, dir, &format!("{path} {}", inner.get_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_a_table() {
        let tasks = value!([
            {"kind": "sync", "resource": "web", "since": "2024-01-01T00:00:00.000000Z"},
            {"kind": "follow-docker", "resource": "", "since": "2024-01-01T00:00:01.000000Z"},
        ]);
        let expected = "KIND            RESOURCE   SINCE\n\
                        sync            web        2024-01-01T00:00:00.000000Z\n\
                        follow-docker              2024-01-01T00:00:01.000000Z\n";
        assert_eq!(table(&tasks), expected);
    }
}
