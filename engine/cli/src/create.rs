//! `create`: creates objects from files or from arguments.

mod typed;

use clap::{Args, Subcommand};
use engine_formats::golang::quote::quote;
use serde_json::Value;

use super::{
    Printer, apply,
    client::ApiClient,
    connect::ConnectFlags,
    dry_run::{DryRun, DryRunFlags},
    edit, editor,
    failure::Failure,
    manifests::{self, FileFlags, Manifest},
    output::{Outcome, OutputFlags},
    selection::SelectorFlags,
    validation::ValidateFlags,
};

/// Create objects from files or flags.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct CreateFlags {
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
    /// Name to record as the manager of the fields
    #[arg(long, value_name = "NAME", default_value = "kubectl-create")]
    field_manager: String,
    /// Save the configuration in an annotation, for later use of apply
    #[arg(long)]
    save_config: bool,
    /// Edit the objects before they are created
    #[arg(long)]
    edit: bool,
    /// Accepted for compatibility; line ends stay as they are
    #[arg(hide = true, long)]
    windows_line_endings: bool,
    /// Accepted for compatibility; nothing is recorded
    #[arg(long, hide = true)]
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
    /// Watch files
    #[command(alias = "fw")]
    Filewatch(typed::FileWatchFlags),
    /// Register an extension repository
    Repo(typed::RepoFlags),
}

/// Runs the command.
pub fn run(flags: &CreateFlags, printer: Printer) -> Result<(), Failure> {
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
    let labels = flags.selector.labels()?;
    let mut manifests = flags.files.read_complete()?;
    if flags.edit {
        let Some(edited) = edited(manifests)? else {
            printer.err("Edit cancelled, no changes made.\n");
            return Ok(());
        };
        manifests = edited;
    }
    for manifest in manifests {
        let created = match manifest {
            Ok(it) if !it.matches(&labels) => continue,
            Ok(it) => create(flags, &client, &it, dry_run, validation),
            Err(failure) => Err(failure),
        };
        is_empty = false;
        match created {
            Ok(object) => printer.out(&outcome.text(&object, &dry_run.annotate("created"))?),
            Err(failure) => failures.push(failure),
        }
    }
    if is_empty {
        return Err(Failure::Kubectl("no objects passed to create".to_owned()));
    }
    Failure::all(failures)
}

/// What somebody makes of objects in an editor; nothing if that is nothing else.
fn edited(
    manifests: Vec<Result<Manifest, Failure>>,
) -> Result<Option<Vec<Result<Manifest, Failure>>>, Failure> {
    let manifests: Vec<Manifest> = manifests.into_iter().collect::<Result<_, _>>()?;
    let failed = |it: &dyn std::fmt::Display| Failure::Kubectl(it.to_string());
    let documents = manifests.iter().map(|it| engine_formats::yaml::emit_v2(&it.object));
    let documents = documents.collect::<Result<Vec<_>, _>>().map_err(|it| failed(&it))?;
    let text = documents.join("---\n");
    let edited = editor::edit(edit::EDITORS, &text, ".yaml").map_err(|it| failed(&it))?;
    edited.remove();
    let source = manifests.first().map_or("", |it| it.source.as_str());
    let is_changed = edited.text != text && !edited.text.trim().is_empty();
    Ok(is_changed.then(|| manifests::parse(&edited.text, source)))
}

fn create(
    flags: &CreateFlags,
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
