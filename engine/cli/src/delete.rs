//! `delete`: deletes objects.

use std::{
    io::{self, BufRead},
    time::{Duration, Instant},
};

use clap::{ArgAction, Args};
use engine_formats::golang::pflag::parse_bool;
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    dry_run::{DryRun, DryRunFlags},
    failure::Failure,
    manifests::FileFlags,
    resource_type,
    selection::{self, Found, SelectorFlags, Target},
    values::{self, GoDuration},
    wait,
};

/// Delete objects.
#[derive(Debug, Args)]
pub struct DeleteFlags {
    /// TYPE NAME..., TYPE/NAME..., or TYPE with --all or -l
    #[arg(value_name = "TYPE [NAME]")]
    words: Vec<String>,
    #[command(flatten)]
    files: FileFlags,
    #[command(flatten)]
    selector: SelectorFlags,
    /// Field query; supports metadata.name
    #[arg(long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    field_selector: String,
    /// Delete all objects of the given types
    #[arg(long)]
    all: bool,
    /// Do not fail if an object does not exist; implied by --all
    #[arg(long)]
    ignore_not_found: bool,
    /// Ask for confirmation first
    #[arg(short, long)]
    interactive: bool,
    /// Wait until the objects are gone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, action = ArgAction::Set,
        default_value_t = true, default_missing_value = "true", value_parser = parse_bool)]
    wait: bool,
    /// How long to wait, such as 10s; 0 waits forever
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = values::duration)]
    timeout: GoDuration,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long)]
    now: bool,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long)]
    force: bool,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long, value_name = "SECONDS", default_value = "-1", value_parser = values::int, allow_negative_numbers = true)]
    grace_period: i64,
    /// What happens to dependents: background, foreground or orphan
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "background", default_value = "background")]
    cascade: String,
    /// Accepted for compatibility; nothing is in a namespace
    #[arg(hide = true, short = 'A', long)]
    all_namespaces: bool,
    /// Output format: name
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    output: String,
    /// API path to send the DELETE request to
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    raw: String,
    #[command(flatten)]
    dry_run: DryRunFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &DeleteFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    check(flags, printer)?;
    if !flags.raw.is_empty() {
        printer.out(&client.delete_raw(&flags.raw)?);
        return Ok(());
    }
    let dry_run = flags.dry_run.read()?;
    let targets = targets(flags)?;
    let ignores = flags.ignore_not_found || flags.all;
    let delete = Delete { client: &client, flags, dry_run, ignores, printer };
    let objects = delete.objects(&targets)?;
    if flags.interactive && !objects.is_empty() && !confirmed(&objects, printer) {
        printer.out("deletion is cancelled\n");
        return Ok(());
    }
    delete.all(&objects)
}

fn check(flags: &DeleteFlags, printer: Printer) -> Result<(), Failure> {
    let error = |text: &str| Err(Failure::Kubectl(text.to_owned()));
    check_cascade(&flags.cascade)?;
    if !matches!(flags.output.as_str(), "" | "name") {
        return Err(Failure::Kubectl(format!(
            "unexpected -o output mode: {}. We only support '-o name'",
            flags.output
        )));
    }
    if flags.all && !flags.selector.selector.is_empty() {
        return Err(selection::all_and_selector());
    }
    if flags.now && flags.grace_period >= 0 {
        return error("--now and --grace-period cannot be specified together");
    }
    if flags.force {
        if flags.grace_period > 0 {
            return error("--force and --grace-period greater than 0 cannot be specified together");
        }
        printer.err(
            "Warning: Immediate deletion does not wait for confirmation that the running resource \
             has been terminated. The resource may continue to run on the cluster indefinitely.\n",
        );
    }
    Ok(())
}

/// What becomes of dependents; nothing outlives its object here, but a typo is one.
pub(crate) fn check_cascade(value: &str) -> Result<(), Failure> {
    if matches!(value, "background" | "foreground" | "orphan" | "true" | "false") {
        return Ok(());
    }
    Err(Failure::Command(format!(
        "invalid cascade value ({value}). Must be \"background\", \"foreground\", or \"orphan\""
    )))
}

fn targets(flags: &DeleteFlags) -> Result<Vec<Target>, Failure> {
    if !flags.files.is_empty() {
        return selection::in_files(&flags.files, &flags.words);
    }
    if flags.words.is_empty() {
        return Err(selection::nothing_named());
    }
    let selection =
        Selection { labels: flags.selector.selector.clone(), fields: flags.field_selector.clone() };
    if flags.all && flags.words.len() > 1 {
        return Err(selection::names_and_selector());
    }
    selection::targets(&flags.words, &selection, flags.all)
}

fn confirmed(objects: &[Found], printer: Printer) -> bool {
    let names = objects.iter().map(|it| {
        let kind = resource_type::full_singular(it.kind);
        format!("{kind}/{}", it.name)
    });
    let names = names.collect::<Vec<_>>().join("\n");
    printer.out(&format!(
        "You are about to delete the following {} resource(s):\n{names}\nDo you want to continue? (y/N): ",
        objects.len()
    ));
    let mut answer = String::new();
    // Without an answer, nothing is removed.
    let _ = io::stdin().lock().read_line(&mut answer);
    answer.trim().eq_ignore_ascii_case("y")
}

struct Delete<'a> {
    client: &'a ApiClient,
    flags: &'a DeleteFlags,
    dry_run: DryRun,
    ignores: bool,
    printer: Printer,
}

impl Delete<'_> {
    /// Objects that are named need not be read first.
    fn objects(&self, targets: &[Target]) -> Result<Vec<Found>, Failure> {
        let mut objects = Vec::new();
        for target in targets {
            match target {
                Target::Named(kind, name) => {
                    objects.push(Found { kind: *kind, name: name.clone(), object: Value::Null });
                }
                Target::Matching(kind, selection) => {
                    let list = self.client.list(*kind, selection)?;
                    objects.extend(list.into_iter().map(|it| Found::new(*kind, it)));
                }
            }
        }
        Ok(objects)
    }

    fn all(&self, objects: &[Found]) -> Result<(), Failure> {
        let mut failures = Vec::new();
        let mut deleted = Vec::new();
        for object in objects {
            match self.one(object) {
                Ok(gone) => {
                    self.print(object);
                    deleted.extend(gone);
                }
                Err(failure) if self.ignores && failure.is_not_found() => {}
                Err(failure) => failures.push(failure),
            }
        }
        if objects.is_empty() && self.flags.output.is_empty() {
            self.printer.out("No resources found\n");
        }
        Failure::all(failures)?;
        self.wait(&deleted)
    }

    /// Deletes an object, and gives what is to be waited for.
    fn one(&self, object: &Found) -> Result<Option<Found>, Failure> {
        if self.dry_run == DryRun::Client {
            return Ok(None);
        }
        let policy = match self.flags.cascade.as_str() {
            "foreground" => "Foreground",
            "orphan" | "false" => "Orphan",
            _ => "Background",
        };
        let mut options = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy,
        });
        if self.dry_run == DryRun::Server {
            options["dryRun"] = json!(["All"]);
        }
        let answer = self.client.delete(object.kind, &object.name, &options);
        let answer = answer.map_err(|it| match self.flags.files.filename.as_slice() {
            [] => it,
            [file] => it.in_context(&format!("error when deleting {file:?}")),
            _ => it.in_context("error when deleting"),
        })?;
        // The answer is the object, or a status with its details.
        let uid = [&answer["metadata"]["uid"], &answer["details"]["uid"]];
        let uid = uid.into_iter().find(|it| it.is_string()).cloned().unwrap_or_default();
        let known = json!({"metadata": {"uid": uid}});
        Ok(Some(Found { kind: object.kind, name: object.name.clone(), object: known }))
    }

    fn print(&self, object: &Found) {
        let kind = resource_type::full_singular(object.kind);
        if self.flags.output == "name" {
            self.printer.out(&format!("{kind}/{}\n", object.name));
            return;
        }
        let verb = if self.flags.force { "force deleted" } else { "deleted" };
        let text = self.dry_run.annotate(verb);
        self.printer.out(&format!("{kind} {:?} {text}\n", object.name));
    }

    fn wait(&self, deleted: &[Found]) -> Result<(), Failure> {
        if !self.flags.wait || self.dry_run != DryRun::None {
            return Ok(());
        }
        let timeout = self.flags.timeout.not_negative().filter(|it| *it > Duration::ZERO);
        let deadline = timeout.map(|it| Instant::now() + it);
        deleted.iter().try_for_each(|it| wait::until_deleted(self.client, it, deadline))
    }
}
