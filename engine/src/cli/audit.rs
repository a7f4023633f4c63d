//! `audit`: lists writes to clusters, and commands that may have written.

use clap::Args;
use engine_cli::{Failure, Printer};

use crate::audit::{self, Contents, Entry};

/// List every change made to a cluster, and every command that could have made one.
///
/// The log covers all instances that you have run on this machine. Each entry says when the change
/// was made, and what caused it.
#[derive(Debug, Args)]
pub(super) struct AuditFlags {
    /// Only the last N entries
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
    /// Only entries of this Kubernetes context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print each entry as a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(flags: &AuditFlags, printer: Printer) -> Result<(), Failure> {
    let path = audit::path().map_err(|error| Failure::Command(error.to_string()))?;
    let Contents { entries, n_damaged, n_newer } = audit::read(&path).map_err(|error| {
        Failure::Command(format!("cannot read the audit log {}: {error}", path.display()))
    })?;
    for (n, why) in [(n_damaged, "damaged"), (n_newer, "from a newer version")] {
        if n > 0 {
            let lines = if n == 1 { "line" } else { "lines" };
            printer.err(&format!("Skipped {n} {lines} of {}: {why}\n", path.display()));
        }
    }
    let is_meant = |it: &&Entry| flags.context.as_ref().is_none_or(|name| it.context == *name);
    let entries: Vec<&Entry> = entries.iter().filter(is_meant).collect();
    let skipped = entries.len().saturating_sub(flags.last.unwrap_or(usize::MAX));
    if entries.is_empty() && !flags.json {
        printer.out("No writes recorded.\n");
    }
    for entry in &entries[skipped..] {
        if flags.json {
            let line = serde_json::to_string(entry).unwrap_or_default();
            printer.out(&format!("{line}\n"));
        } else {
            printer.out(&text(entry));
        }
    }
    Ok(())
}

fn text(entry: &Entry) -> String {
    let Entry { time, pid, context, verb, object, namespace, command, cause, error, .. } = entry;
    let what = if command.is_empty() {
        let place = if namespace.is_empty() { String::new() } else { format!(" in {namespace}") };
        format!("{verb} {object}{place}")
    } else {
        format!("{verb} {}", crate::exec::shell_text(command))
    };
    let end = if error.is_empty() { String::new() } else { format!(" (failed: {error})") };
    format!("{time} {context} [{pid}] {what}: {cause}{end}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_what_why_when_and_how_it_ended() {
        let entry = Entry {
            time: "T".into(),
            pid: 7,
            context: "kind".into(),
            verb: "patch".into(),
            object: "Secret/db".into(),
            namespace: "shop".into(),
            cause: "update of db: CLI Trigger".into(),
            error: "refused".into(),
            ..Entry::default()
        };
        assert_eq!(
            text(&entry),
            "T kind [7] patch Secret/db in shop: update of db: CLI Trigger (failed: refused)\n"
        );
        let command = vec!["kubectl".to_owned(), "get".to_owned()];
        let entry = Entry { command, verb: "run".into(), error: String::new(), ..entry };
        assert_eq!(text(&entry), "T kind [7] run kubectl get: update of db: CLI Trigger\n");
    }
}
