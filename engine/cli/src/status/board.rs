//! What `status` shows: the resources of an instance with their reasons.

use std::{collections::BTreeMap, process::ExitCode};

use engine_api::Kind;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::{
    client::{ApiClient, Selection, WebClient},
    connect::ConnectFlags,
    failure::Failure,
    instances::nothing_runs,
    names::{self, labels_of, name_of},
    when,
};

/// Exit code if a resource has failed.
const FAILED: u8 = 1;
/// Exit code if a resource is not ready yet.
const PENDING: u8 = 3;

/// The group of resources without a label.
const UNLABELED: &str = "unlabeled";
const TILTFILE: &str = "Tiltfile";
/// The object that says which Tiltfile runs.
const SESSION: &str = "Tiltfile";

/// The resources that were asked for, and whose they are.
pub(super) struct Board {
    port: i64,
    tiltfile: String,
    rows: Vec<Row>,
}

impl Board {
    /// Reads the resources of these names and labels; all if there are none.
    pub(super) fn read(
        connect: &ConnectFlags,
        names: &[String],
        labels: &[String],
    ) -> Result<Self, Failure> {
        let reasons = WebClient::new(connect)?.read("reasons", "status")?;
        let reasons = reasons.ok_or_else(|| nothing_runs(connect))?;
        let client = ApiClient::new(connect)?;
        let session = client.get(Kind::Session, SESSION).map_err(Failure::native)?;
        let objects = client.list(Kind::UiResource, &Selection::default());
        let mut reasons: BTreeMap<String, Value> = reasons["reasons"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| Some((it["resource"].as_str()?.to_owned(), it.clone())))
            .collect();
        let objects = objects.map_err(Failure::native)?;
        let rows: Vec<Row> = objects.iter().map(|it| row(it, &mut reasons)).collect();
        Ok(Self {
            port: connect.port(),
            tiltfile: session["spec"]["tiltfilePath"].as_str().unwrap_or_default().to_owned(),
            rows: wanted(rows, names, labels)?,
        })
    }

    /// What is worth an exit code.
    pub(super) fn exit_code(&self) -> ExitCode {
        exit_code(&self.rows)
    }

    /// All of it for programs.
    pub(super) fn json(&self) -> Value {
        let resources = self.rows.iter().map(|it| {
            json!({
                "name": it.name, "labels": it.labels, "endpoints": it.links,
                "lastDeployTime": it.updated, "reason": it.reason,
            })
        });
        let resources: Vec<Value> = resources.collect();
        json!({"port": self.port, "tiltfile": self.tiltfile, "resources": resources})
    }

    /// All of it for people.
    pub(super) fn text(&self, is_colored: bool, has_ages: bool) -> String {
        let tree = tree(&self.rows, is_colored, has_ages);
        format!("{} on port {}\n\n{tree}", self.tiltfile, self.port)
    }
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

/// Those that have one of the names or labels, in order.
fn wanted(rows: Vec<Row>, names: &[String], labels: &[String]) -> Result<Vec<Row>, Failure> {
    if let Some(unknown) = names.iter().find(|it| rows.iter().all(|row| row.name != **it)) {
        return Err(names::unknown_resource(unknown, rows.iter().map(|it| it.name.as_str())));
    }
    if let Some(unknown) = labels.iter().find(|it| rows.iter().all(|row| !row.labels.contains(it)))
    {
        let known = rows.iter().flat_map(|it| &it.labels).map(String::as_str);
        return Err(names::unknown_label(unknown, known));
    }
    let is_all = names.is_empty() && labels.is_empty();
    let is_wanted = |it: &Row| {
        is_all || names.contains(&it.name) || it.labels.iter().any(|it| labels.contains(it))
    };
    let mut rows: Vec<Row> = rows.into_iter().filter(is_wanted).collect();
    rows.sort_by(|a, b| (a.rank(), &a.name).cmp(&(b.rank(), &b.name)));
    Ok(rows)
}

fn row(object: &Value, reasons: &mut BTreeMap<String, Value>) -> Row {
    let name = name_of(object).to_owned();
    let links = object["status"]["endpointLinks"].as_array().into_iter().flatten();
    Row {
        labels: labels_of(object).map(str::to_owned).collect(),
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

/// The tree with its sums.
fn tree(rows: &[Row], is_colored: bool, has_ages: bool) -> String {
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
            out.push_str(&line(row, indent, width, is_colored, has_ages));
        }
    }
    out.push_str(&format!("\n{}\n", summary(rows)));
    out
}

fn line(row: &Row, indent: &str, width: usize, is_colored: bool, has_ages: bool) -> String {
    let (sign, color) = match row.state() {
        "failed" => ("✖", "31"),
        "waiting" | "updating" | "not_ready" => ("…", "33"),
        "ok" => ("✔", "32"),
        _ => ("·", "2"),
    };
    let pad = " ".repeat(width.saturating_sub(row.name.width()));
    let state = row.state().replace('_', " ");
    let headline = row.reason["headline"].as_str().unwrap_or_default();
    let age = row.reason["since"].as_str().filter(|_| has_ages).and_then(when::age);
    let age = if has_ages { format!("  {:>6}", age.unwrap_or_default()) } else { String::new() };
    let links = match row.links.as_slice() {
        [] => String::new(),
        links => format!("  {}", links.join(" ")),
    };
    let name = if is_colored {
        format!("\x1b[{color}m{sign} {}\x1b[0m", row.name)
    } else {
        format!("{sign} {}", row.name)
    };
    let text = format!("{indent}{name}{pad}  {state:<9}{age}  {headline}{links}");
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
        .assert_eq(&tree(&rows, false, true));
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

    #[test]
    fn rows_are_those_of_the_names_and_of_the_labels() {
        let shown = |names: &[&str], labels: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            let rows = vec![
                row("api", &["back"], "ok", ""),
                row("web", &["front"], "failed", ""),
                row("db", &["back"], "failed", ""),
            ];
            match wanted(rows, &owned(names), &owned(labels)) {
                Ok(rows) => rows.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" "),
                Err(failure) => failure.message().split(" (`").next().unwrap().to_owned(),
            }
        };
        assert_eq!(shown(&[], &[]), "db web api");
        assert_eq!(shown(&["api"], &["front"]), "web api");
        assert_eq!(shown(&["wbe"], &[]), "no resource \"wbe\"; did you mean web?");
        assert_eq!(
            shown(&["web"], &["frnt"]),
            "no resource has the label \"frnt\"; did you mean front?"
        );
    }

    #[test]
    fn what_is_appended_to_a_log_has_no_ages() {
        let mut rows = vec![row("db", &[], "ok", "ready")];
        rows[0].reason["since"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(tree(&rows, false, false), "✔ db  ok         ready\n\n1 ok\n");
    }
}
