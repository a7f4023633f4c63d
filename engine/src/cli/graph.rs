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
    let running = if flags.file.is_none() && flags.args.is_empty() {
        WebClient::new(&flags.connect).and_then(|mut it| it.get("graph")).ok()
    } else {
        None
    };
    let graph = match running.and_then(|it| serde_json::from_slice(&it).ok()) {
        Some(graph) => graph,
        None => evaluated(flags, printer)?,
    };
    let format = if flags.json { Format::Json } else { flags.output };
    printer.out(&match format {
        Format::Json => format!("{graph:#}\n"),
        Format::Dot => dot(&graph),
        Format::Text => text(&graph),
    });
    Ok(())
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

fn text(graph: &Value) -> String {
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
        for key in ["updateStatus", "runtimeStatus", "hold"] {
            let shown = resource[key].as_str().filter(|it| *it != "not_applicable");
            notes.extend(shown.map(str::to_owned));
        }
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
        ]});
        expect![[r#"
            db (ok)
            a "b" (disabled, manual)
              waits for db
        "#]]
        .assert_eq(&text(&graph));
        expect![[r#"
            digraph resources {
              rankdir=LR;
              "db";
              "a \"b\"" [style=dashed];
              "a \"b\"" -> "db";
            }
        "#]]
        .assert_eq(&dot(&graph));
    }
}
