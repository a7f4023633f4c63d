//! `create`: makes objects, from files or from words.

mod typed;

use builtins::golang::quote::quote;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    Printer, apply,
    client::ApiClient,
    connect::ConnectFlags,
    dry_run::{DryRun, DryRunFlags},
    failure::Failure,
    manifests::{FileFlags, Manifest},
    output::{Outcome, OutputFlags},
    selection::SelectorFlags,
    validation::ValidateFlags,
};

/// Create objects.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(super) struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    files: FileFlags,
    #[command(flatten)]
    selector: SelectorFlags,
    #[command(flatten)]
    dry_run: DryRunFlags,
    #[command(flatten)]
    validate: ValidateFlags,
    /// Who creates the objects
    #[arg(long, value_name = "NAME", default_value = "kubectl-create")]
    field_manager: String,
    /// Keep the object in an annotation, for later use of apply
    #[arg(long)]
    save_config: bool,
    /// Accepted for compatibility; nothing is recorded
    #[arg(long)]
    record: bool,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a local command
    Cmd(typed::CmdFlags),
    /// Register an extension
    Ext(typed::ExtFlags),
    /// Create a watch of files
    #[command(alias = "fw")]
    Filewatch(typed::FileWatchFlags),
    /// Register a repository of extensions
    Repo(typed::RepoFlags),
}

pub(super) fn run(flags: &Flags, printer: Printer) -> Result<(), Failure> {
    match &flags.command {
        Some(Command::Cmd(flags)) => return flags.run(printer),
        Some(Command::Ext(flags)) => return flags.run(printer),
        Some(Command::Filewatch(flags)) => return flags.run(printer),
        Some(Command::Repo(flags)) => return flags.run(printer),
        None => {}
    }
    let client = ApiClient::new(&flags.connect)?;
    if flags.files.is_empty() {
        // Scripts may rely on this being no failure.
        printer.err("Error: must specify one of -f and -k\n\n");
        return Ok(());
    }
    let dry_run = flags.dry_run.read()?;
    let validation = flags.validate.read()?;
    let mut outcome = Outcome::new(&flags.output)?;
    let mut failures = Vec::new();
    let mut is_empty = true;
    for manifest in flags.files.read_complete()? {
        let created = match manifest {
            Ok(it) if !apply::matches_labels(&it.object, &flags.selector.selector) => continue,
            Ok(it) => create(flags, &client, &it, dry_run, validation),
            Err(failure) => Err(failure),
        };
        is_empty = false;
        match created {
            Ok(object) => printer.out(&outcome.text(&object, &dry_run.noted("created"))?),
            Err(failure) => failures.push(failure),
        }
    }
    if is_empty {
        return Err(Failure::Kubectl("no objects passed to create".to_owned()));
    }
    Failure::all(failures)
}

fn create(
    flags: &Flags,
    client: &ApiClient,
    manifest: &Manifest,
    dry_run: DryRun,
    validation: &str,
) -> Result<Value, Failure> {
    let object = if flags.save_config {
        apply::annotated(&manifest.object)
    } else {
        manifest.object.clone()
    };
    if dry_run == DryRun::Client {
        return Ok(object);
    }
    let mut query =
        vec![("fieldManager", flags.field_manager.as_str()), ("fieldValidation", validation)];
    query.extend(dry_run.query());
    client
        .create(manifest.kind, &object, &query)
        .map_err(|it| it.in_context(&format!("error when creating {}", quote(&manifest.source))))
}
