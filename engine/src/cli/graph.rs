//! `graph`: prints the dependencies of resources.

use clap::{Args, ValueEnum};
use engine_cli::{Failure, Printer, client::WebClient, connect::ConnectFlags};
use serde_json::{Value, json};

use super::evaluated::Evaluated;

/// Show which resources depend on which.
///
/// If an instance is running, its resources are shown with their status. Otherwise the Tiltfile is
/// evaluated, and nothing starts.
#[derive(Debug, Args)]
pub(super) struct GraphFlags {
    /// Tiltfile to evaluate, even if an instance is running
    #[arg(short, long, value_name = "PATH")]
    file: Option<String>,
    /// Output format: text, dot or json
    #[arg(short, long, value_enum, default_value = "text", value_name = "FORMAT")]
    output: Format,
    /// Print JSON; the same as -o json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
    /// Arguments for the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// An indented list
    Text,
    /// For Graphviz
    Dot,
    /// For programs
    Json,
}

pub(super) fn run(flags: &GraphFlags, printer: Printer) -> Result<(), Failure> {
    let is_about_running = flags.file.is_none() && flags.args.is_empty();
    let running = is_about_running.then(|| running(flags)).transpose()?.flatten();
    let (graph, reasons) = match running {
        Some(running) => running,
        None => (evaluated(flags, printer)?, Value::Null),
    };
    let format = if flags.json { Format::Json } else { flags.output };
    printer.out(&match format {
        Format::Json => format!("{graph:#}\n"),
        Format::Dot => dot(&graph),
        Format::Text => text(&graph, &reasons["reasons"]),
    });
    Ok(())
}

/// The graph of a running engine, and how its resources do; nothing if no engine is running.
fn running(flags: &GraphFlags) -> Result<Option<(Value, Value)>, Failure> {
    // Without a token there is nobody who would answer.
    let Ok(mut client) = WebClient::new(&flags.connect) else { return Ok(None) };
    let read = |it: Result<Option<Value>, Failure>| {
        it.map_err(|failure| {
            let hint = "`--file` shows the graph of a Tiltfile, whatever is running";
            Failure::Command(format!("{}; {hint}", failure.message().trim_end()))
        })
    };
    let Some(graph) = read(client.read("graph", "graph"))? else { return Ok(None) };
    let reasons = read(client.read("reasons", "graph"))?;
    Ok(Some((graph, reasons.unwrap_or_default())))
}

fn evaluated(flags: &GraphFlags, printer: Printer) -> Result<Value, Failure> {
    let file = flags.file.as_deref().unwrap_or("Tiltfile");
    let evaluated = Evaluated::new(file, &flags.args, printer)?;
    let resources = evaluated.load.manifests.iter().map(|it| {
        json!({
            "name": it.name,
            "deps": it.resource_dependencies,
            "triggerMode": it.trigger_mode,
            "disabled": !evaluated.is_enabled(&it.name),
        })
    });
    Ok(json!({"resources": resources.collect::<Vec<_>>()}))
}

fn resources(graph: &Value) -> &[Value] {
    graph["resources"].as_array().map_or(&[], Vec::as_slice)
}

fn deps(resource: &Value) -> impl Iterator<Item = &str> {
    resource["deps"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn name(resource: &Value) -> &str {
    resource["name"].as_str().unwrap_or_default()
}

fn text(graph: &Value, reasons: &Value) -> String {
    let state = |name: &str| {
        let reason = reasons.as_array()?.iter().find(|it| it["resource"] == name)?;
        let state = reason["state"].as_str().filter(|it| *it != "disabled")?;
        Some(if state == "idle" { "not started".to_owned() } else { state.replace('_', " ") })
    };
    let mut out = String::new();
    for resource in resources(graph) {
        let mut notes: Vec<String> = Vec::new();
        if resource["disabled"] == true {
            notes.push("disabled".to_owned());
        }
        match resource["triggerMode"].as_u64() {
            Some(1 | 2) => notes.push("manual".to_owned()),
            Some(3) => notes.push("not at start".to_owned()),
            _ => {}
        }
        notes.extend(state(name(resource)));
        let notes =
            if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        out.push_str(&format!("{}{notes}\n", name(resource)));
        for dep in deps(resource) {
            out.push_str(&format!("  waits for {dep}\n"));
        }
    }
    out
}

fn dot(graph: &Value) -> String {
    let mut out = "digraph resources {\n  rankdir=LR;\n".to_owned();
    for resource in resources(graph) {
        let style = if resource["disabled"] == true { " [style=dashed]" } else { "" };
        out.push_str(&format!("  {}{style};\n", quoted(name(resource))));
        for dep in deps(resource) {
            out.push_str(&format!("  {} -> {};\n", quoted(name(resource)), quoted(dep)));
        }
    }
    out.push_str("}\n");
    out
}

/// A name as Graphviz reads it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_graph_is_readable_for_people_and_graphviz() {
        let graph = json!({"resources": [
            {"name": "db", "deps": null, "updateStatus": "ok", "runtimeStatus": "not_applicable"},
            {"name": "a \"b\"", "deps": ["db"], "disabled": true, "triggerMode": 2},
            {"name": "web", "deps": null, "triggerMode": 1},
            {"name": "e2e", "deps": null, "triggerMode": 2},
        ]});
        let reasons = json!([
            {"resource": "db", "state": "ok"},
            {"resource": "a \"b\"", "state": "disabled"},
            {"resource": "web", "state": "not_ready"},
            {"resource": "e2e", "state": "idle"},
        ]);
        expect![[r#"
            db (ok)
            a "b" (disabled, manual)
              waits for db
            web (manual, not ready)
            e2e (manual, not started)
        "#]]
        .assert_eq(&text(&graph, &reasons));
        expect![[r#"
            digraph resources {
              rankdir=LR;
              "db";
              "a \"b\"" [style=dashed];
              "a \"b\"" -> "db";
              "web";
              "e2e";
            }
        "#]]
        .assert_eq(&dot(&graph));
    }
}
