//! `alpha tree-view`: prints resources as a tree of dependencies.

mod graph;

use clap::Args;
use engine_api::Kind;
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, Selection, WebClient},
    connect::ConnectFlags,
    failure::Failure,
    has_colors,
};
use graph::{Graph, Node, Tone};

/// Show the dependency tree of all resources.
#[derive(Debug, Args)]
pub struct TreeViewFlags {
    /// Show only resources that are not OK, and what waits for them
    #[arg(long)]
    blockers: bool,
    /// Show the subtree of each resource only once
    #[arg(long)]
    dedupe: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &TreeViewFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let list = |kind| client.list(kind, &Selection::default());
    let resources = list(Kind::UiResource).map_err(Failure::native)?;
    let sessions = list(Kind::Session).map_err(Failure::native)?;
    let path = sessions.first().and_then(|it| it["spec"]["tiltfilePath"].as_str());
    let state = WebClient::new(&flags.connect)?.get("dump/engine")?;
    let state: Value = serde_json::from_slice(&state)
        .map_err(|it| Failure::Plain(format!("failed to decode engine state: {it}")))?;
    if resources.is_empty() {
        printer.out("No resources found.\n");
        return Ok(());
    }
    let graph = Graph::new(&resources, &state);
    let path = path.unwrap_or_default();
    let root = if flags.blockers { graph.blockers(path) } else { Ok(graph.whole(path)) };
    let root = match root {
        Ok(root) => root,
        Err(message) => {
            printer.out(&format!("{message}\n"));
            return Ok(());
        }
    };
    if flags.json {
        let encoder =
            engine_formats::golang::json::Encoder { indent: Some("  "), escape_html: true };
        printer.out(&format!("{}\n", encoder.encode(&as_json(&root))));
        return Ok(());
    }
    let has_color = has_colors();
    let mut text = Text {
        graph: &graph,
        dedupe: flags.dedupe,
        has_color,
        seen: Vec::new(),
        out: String::new(),
    };
    text.tree(&root, flags.blockers);
    printer.out(&text.out);
    Ok(())
}

fn as_json(node: &Node) -> Value {
    let children: Vec<Value> = node.children.iter().map(as_json).collect();
    json!({"name": node.title, "status": node.status, "children": children})
}

struct Text<'a> {
    graph: &'a Graph,
    dedupe: bool,
    has_color: bool,
    seen: Vec<String>,
    out: String,
}

impl Text<'_> {
    fn tree(&mut self, root: &Node, only_displayed: bool) {
        let displayed = only_displayed.then(|| root.names());
        self.out.push_str(&format!("{}\n", root.title));
        let last = root.children.len().saturating_sub(1);
        for (nth, child) in root.children.iter().enumerate() {
            self.node(child, "", nth == last, &root.name, displayed.as_deref());
        }
        self.out.push_str(&format!("\n---\nResources: {}\n", self.counts(root)));
    }

    fn node(
        &mut self,
        node: &Node,
        prefix: &str,
        is_last: bool,
        parent: &str,
        displayed: Option<&[String]>,
    ) {
        let was_seen = self.seen.contains(&node.name);
        let also = if self.dedupe && was_seen {
            self.also(&node.name, parent, displayed)
        } else {
            String::new()
        };
        let corner = if is_last { "└── " } else { "├── " };
        let title = match node.status {
            "" => node.title.clone(),
            status => format!("{} ({status})", node.title),
        };
        let title = self.colored(&title, node.tone);
        self.out.push_str(&format!("{prefix}{corner}{title}{also}\n"));
        self.seen.push(node.name.clone());
        if self.dedupe && was_seen {
            return;
        }
        let prefix = format!("{prefix}{}", if is_last { "    " } else { "│   " });
        let last = node.children.len().saturating_sub(1);
        for (nth, child) in node.children.iter().enumerate() {
            self.node(child, &prefix, nth == last, &node.name, displayed);
        }
    }

    fn also(&self, name: &str, parent: &str, displayed: Option<&[String]>) -> String {
        let others: Vec<String> = self
            .graph
            .dependencies(name)
            .iter()
            .filter(|it| *it != parent && displayed.is_none_or(|all| all.contains(it)))
            .map(|it| self.colored(it, self.graph.node(it).tone))
            .collect();
        if others.is_empty() {
            return String::new();
        }
        let (open, close) =
            (self.colored("[also depends on: ", Tone::Note), self.colored("]", Tone::Note));
        format!(" {open}{}{close}", others.join(", "))
    }

    fn counts(&self, root: &Node) -> String {
        let mut names = root.names();
        names.sort();
        names.dedup();
        let nodes: Vec<Node> = names.iter().map(|it| self.graph.node(it)).collect();
        let count = |is: &dyn Fn(&Node) -> bool| nodes.iter().filter(|it| is(it)).count();
        let building = count(&|it| it.tone == Tone::Warning && it.status == "building");
        let mut parts = vec![format!("{} total", nodes.len())];
        let groups = [
            (count(&|it| it.tone == Tone::Ok), "ok", Tone::Ok),
            (building, "building", Tone::Warning),
            (count(&|it| it.tone == Tone::Warning) - building, "pending", Tone::Warning),
            (count(&|it| it.tone == Tone::Error), "errors", Tone::Error),
        ];
        for (number, word, tone) in groups.into_iter().filter(|it| it.0 > 0) {
            parts.push(self.colored(&format!("{number} {word}"), tone));
        }
        parts.join(", ")
    }

    fn colored(&self, text: &str, tone: Tone) -> String {
        if !self.has_color {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Ok => 32,
            Tone::Warning => 33,
            Tone::Error => 31,
            Tone::Note => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(blockers: bool, dedupe: bool) -> String {
        let resource = |name: &str, update: &str, runtime: &str| json!({"metadata": {"name": name}, "status": {"updateStatus": update, "runtimeStatus": runtime}});
        let resources = [
            resource("(Tiltfile)", "ok", "not_applicable"),
            resource("db", "error", "none"),
            resource("api", "pending", "pending"),
            resource("web", "in_progress", "ok"),
            resource("lint", "ok", "not_applicable"),
            resource("manual", "none", "none"),
        ];
        let needs = |names: &[&str]| json!({"Manifest": {"ResourceDependencies": names}});
        let state = json!({"ManifestTargets": {
            "db": needs(&[]), "api": needs(&["db"]), "web": needs(&["api", "lint"]), "lint": needs(&[]),
        }});
        let graph = Graph::new(&resources, &state);
        let root = if blockers {
            graph.blockers("/x/Tiltfile").unwrap()
        } else {
            graph.whole("/x/Tiltfile")
        };
        let mut text =
            Text { graph: &graph, dedupe, has_color: false, seen: Vec::new(), out: String::new() };
        text.tree(&root, blockers);
        text.out
    }

    #[test]
    fn the_whole_tree_shows_everything_below_each_parent() {
        expect_test::expect![[r"
            Tiltfile: /x/Tiltfile
            ├── db (build error)
            │   └── api (pending)
            │       └── web (building)
            ├── lint (ok)
            │   └── web (building)
            └── manual (not started)

            ---
            Resources: 5 total, 1 ok, 1 building, 2 pending, 1 errors
        "]]
        .assert_eq(&text(false, false));
    }

    #[test]
    fn blockers_are_shown_once_with_their_other_parents() {
        expect_test::expect![[r"
            Tiltfile: /x/Tiltfile
            ├── db (build error)
            │   └── api (pending)
            │       └── web (building)
            ├── lint (ok)
            │   └── web (building) [also depends on: api]
            └── manual (not started)

            ---
            Resources: 5 total, 1 ok, 1 building, 2 pending, 1 errors
        "]]
        .assert_eq(&text(false, true));
        expect_test::expect![[r"
            Blocked resources for Tiltfile: /x/Tiltfile
            └── db (build error)
                └── api (pending)
                    └── web (building)

            ---
            Resources: 3 total, 1 building, 1 pending, 1 errors
        "]]
        .assert_eq(&text(true, false));
    }
}
