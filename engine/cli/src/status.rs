//! `status`: all resources by label, with why each is in its state; failures first.

use std::{collections::BTreeMap, process::ExitCode};

use clap::Args;
use engine_api::Kind;
use engine_formats::golang::quote::quote;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::{
    Printer,
    client::{ApiClient, Selection, WebClient},
    connect::ConnectFlags,
    failure::Failure,
    has_colors, program, when,
};

/// Exit code if a resource has failed.
const FAILED: u8 = 1;
/// Exit code if a resource is not ready yet.
const PENDING: u8 = 3;
/// Exit code if no instance answers.
const NOT_RUNNING: u8 = 7;

/// The group of resources without a label.
const UNLABELED: &str = "unlabeled";
const TILTFILE: &str = "Tiltfile";

/// Show all resources and the reason for the state of each.
///
/// Resources are grouped by label; failures come first.
///
/// Exit codes: 0 if all is well, 1 if something failed, 3 if something is not ready yet, 7 if no
/// instance is running.
#[derive(Debug, Args)]
pub struct StatusFlags {
    /// Resources to show; all if none is named
    #[arg(value_name = "RESOURCE")]
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &StatusFlags, printer: Printer) -> Result<ExitCode, Failure> {
    let Some(reasons) = WebClient::new(&flags.connect)?.read("reasons")? else {
        let address = flags.connect.address();
        let start = format!("`{} up` starts an instance here", program());
        printer.err(&format!("Error: nothing is running on {address}; {start}\n"));
        return Ok(ExitCode::from(NOT_RUNNING));
    };
    let rows = rows(flags, &reasons).map_err(Failure::native)?;
    let text = if flags.json { as_json(&rows) } else { as_text(&rows, has_colors()) };
    printer.out(&text);
    Ok(exit_code(&rows))
}

/// A resource with its reason.
struct Row {
    name: String,
    labels: Vec<String>,
    links: Vec<String>,
    updated: Option<String>,
    reason: Value,
}

impl Row {
    fn state(&self) -> &str {
        self.reason["state"].as_str().unwrap_or_default()
    }

    /// Failures first, then what is not done, then what is well, then what does not take part.
    fn rank(&self) -> usize {
        let order = ["failed", "waiting", "updating", "not_ready", "ok", "idle", "disabled"];
        order.iter().position(|it| *it == self.state()).unwrap_or(order.len())
    }
}

fn rows(flags: &StatusFlags, reasons: &Value) -> Result<Vec<Row>, Failure> {
    let objects = ApiClient::new(&flags.connect)?.list(Kind::UiResource, &Selection::default())?;
    let mut reasons: BTreeMap<String, Value> = reasons["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["resource"].as_str()?.to_owned(), it.clone())))
        .collect();
    let rows: Vec<Row> = objects.iter().map(|it| row(it, &mut reasons)).collect();
    if let Some(unknown) = flags.names.iter().find(|it| rows.iter().all(|row| row.name != **it)) {
        let (unknown, program) = (quote(unknown), program());
        return Err(Failure::Command(format!(
            "no resource {unknown} (`{program} status` lists all)"
        )));
    }
    let is_wanted = |it: &Row| flags.names.is_empty() || flags.names.contains(&it.name);
    let mut rows: Vec<Row> = rows.into_iter().filter(is_wanted).collect();
    rows.sort_by(|a, b| (a.rank(), &a.name).cmp(&(b.rank(), &b.name)));
    Ok(rows)
}

fn row(object: &Value, reasons: &mut BTreeMap<String, Value>) -> Row {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
    let links = object["status"]["endpointLinks"].as_array().into_iter().flatten();
    Row {
        labels: labels.map(|(label, _)| label.clone()).collect(),
        links: links.filter_map(|it| Some(it["url"].as_str()?.to_owned())).collect(),
        updated: object["status"]["lastDeployTime"].as_str().map(str::to_owned),
        reason: reasons.remove(&name).unwrap_or_default(),
        name,
    }
}

fn exit_code(rows: &[Row]) -> ExitCode {
    let has = |states: &[&str]| rows.iter().any(|it| states.contains(&it.state()));
    if has(&["failed"]) {
        ExitCode::from(FAILED)
    } else if has(&["waiting", "updating", "not_ready"]) {
        ExitCode::from(PENDING)
    } else {
        ExitCode::SUCCESS
    }
}

fn as_json(rows: &[Row]) -> String {
    let resources: Vec<Value> = rows
        .iter()
        .map(|it| {
            json!({
                "name": it.name, "labels": it.labels, "endpoints": it.links,
                "lastDeployTime": it.updated, "reason": it.reason,
            })
        })
        .collect();
    format!("{:#}\n", json!({"resources": resources}))
}

fn as_text(rows: &[Row], is_colored: bool) -> String {
    if rows.is_empty() {
        return "No resources found.\n".to_owned();
    }
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    // Rows are sorted, so the group with the worst resource comes first.
    for row in rows {
        let labels: Vec<&str> = match row.labels.as_slice() {
            [] if row.name == "(Tiltfile)" => vec![TILTFILE],
            [] => vec![UNLABELED],
            labels => labels.iter().map(String::as_str).collect(),
        };
        for label in labels {
            match groups.iter_mut().find(|it| it.0 == label) {
                Some(group) => group.1.push(row),
                None => groups.push((label, vec![row])),
            }
        }
    }
    let width = rows.iter().map(|it| it.name.width()).max().unwrap_or_default();
    let has_labels = rows.iter().any(|it| !it.labels.is_empty());
    let mut out = String::new();
    for (label, rows) in groups {
        if has_labels {
            out.push_str(&format!("{label}\n"));
        }
        let indent = if has_labels { "  " } else { "" };
        for row in rows {
            out.push_str(&line(row, indent, width, is_colored));
        }
    }
    out.push_str(&format!("\n{}\n", summary(rows)));
    out
}

fn line(row: &Row, indent: &str, width: usize, is_colored: bool) -> String {
    let (sign, color) = match row.state() {
        "failed" => ("✖", "31"),
        "waiting" | "updating" | "not_ready" => ("…", "33"),
        "ok" => ("✔", "32"),
        _ => ("·", "2"),
    };
    let pad = " ".repeat(width.saturating_sub(row.name.width()));
    let state = row.state().replace('_', " ");
    let headline = row.reason["headline"].as_str().unwrap_or_default();
    let age = row.reason["since"].as_str().and_then(when::age).unwrap_or_default();
    let links = match row.links.as_slice() {
        [] => String::new(),
        links => format!("  {}", links.join(" ")),
    };
    let name = if is_colored {
        format!("\x1b[{color}m{sign} {}\x1b[0m", row.name)
    } else {
        format!("{sign} {}", row.name)
    };
    let text = format!("{indent}{name}{pad}  {state:<9}  {age:>6}  {headline}{links}");
    format!("{}\n", text.trim_end())
}

fn summary(rows: &[Row]) -> String {
    let count = |states: &[&str]| rows.iter().filter(|it| states.contains(&it.state())).count();
    let groups = [
        (count(&["failed"]), "failed"),
        (count(&["waiting", "updating", "not_ready"]), "pending"),
        (count(&["ok"]), "ok"),
        (count(&["idle"]), "idle"),
        (count(&["disabled"]), "disabled"),
    ];
    let parts = groups.iter().filter(|it| it.0 > 0).map(|(n, word)| format!("{n} {word}"));
    parts.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, labels: &[&str], state: &str, headline: &str) -> Row {
        Row {
            name: name.to_owned(),
            labels: labels.iter().map(|it| (*it).to_owned()).collect(),
            links: Vec::new(),
            updated: None,
            reason: json!({"state": state, "headline": headline}),
        }
    }

    #[test]
    fn resources_are_grouped_by_label_with_the_worst_group_first() {
        let mut rows = vec![
            row("api", &["back"], "failed", "`make` failed: exit status 2"),
            row("web", &["front"], "waiting", "waiting for api: `make` failed: exit status 2"),
            row("(Tiltfile)", &[], "ok", "loaded"),
            row("db", &["back"], "ok", "ready"),
        ];
        rows[3].links = vec!["http://localhost:5432/".to_owned()];
        expect_test::expect![[r"
            back
              ✖ api         failed             `make` failed: exit status 2
              ✔ db          ok                 ready  http://localhost:5432/
            front
              … web         waiting            waiting for api: `make` failed: exit status 2
            Tiltfile
              ✔ (Tiltfile)  ok                 loaded

            1 failed · 1 pending · 2 ok
        "]]
        .assert_eq(&as_text(&rows, false));
    }

    #[test]
    fn the_exit_code_says_how_everything_is_doing() {
        let code = |states: &[&str]| {
            let rows: Vec<Row> = states.iter().map(|it| row("a", &[], it, "")).collect();
            format!("{:?}", exit_code(&rows))
        };
        let of = |code: u8| format!("{:?}", ExitCode::from(code));
        assert_eq!(code(&["ok", "idle", "disabled"]), of(0));
        assert_eq!(code(&["ok", "not_ready"]), of(PENDING));
        assert_eq!(code(&["updating", "failed"]), of(FAILED));
    }
}
