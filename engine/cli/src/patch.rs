//! `patch`: changes fields of objects.

use std::fs;

use clap::Args;
use engine_formats::golang::{os_error::PathError, quote::quote};
use serde_json::Value;

use super::{
    Printer,
    client::{ApiClient, PatchType, Selection},
    connect::ConnectFlags,
    dry_run::{DryRun, DryRunFlags},
    failure::Failure,
    manifests::FileFlags,
    merge,
    output::{Outcome, OutputFlags},
    selection::{self, Found, Target},
};

/// Change fields of an object.
#[derive(Debug, Args)]
pub struct PatchFlags {
    /// TYPE NAME or TYPE/NAME
    #[arg(value_name = "TYPE NAME")]
    words: Vec<String>,
    /// Patch, as JSON or YAML
    #[arg(short, long, value_name = "PATCH", default_value = "", hide_default_value = true)]
    patch: String,
    /// File with the patch
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    patch_file: String,
    /// Type of the patch: json, merge or strategic
    #[arg(long = "type", value_name = "TYPE", default_value = "strategic")]
    patch_type: String,
    /// Patch the content of the file instead of the running object, and print it
    #[arg(long)]
    local: bool,
    /// Accepted for compatibility; nothing is recorded
    #[arg(long, hide = true)]
    record: bool,
    #[command(flatten)]
    dry_run: DryRunFlags,
    #[command(flatten)]
    files: FileFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &PatchFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let dry_run = flags.dry_run.read()?;
    Outcome::new(&flags.output)?;
    let patch_type = patch_type(flags)?;
    let patch = patch(flags)?;
    if flags.local {
        return patch_files(flags, patch_type, &patch, printer);
    }
    let targets = targets(flags)?;
    let mut failures = Vec::new();
    let (found, missing) = selection::find(&client, &targets, false);
    for found in &found {
        match apply(&client, found, (patch_type, &patch), dry_run) {
            Ok(object) => {
                let is_same = without_bookkeeping(&object) == without_bookkeeping(&found.object);
                let word = if is_same { "patched (no change)" } else { "patched" };
                // Every object is printed as if it were the only one.
                printer.out(&Outcome::new(&flags.output)?.text(&object, word)?);
            }
            Err(failure) => failures.push(failure),
        }
    }
    failures.extend(missing);
    Failure::all(failures)
}

fn patch_type(flags: &PatchFlags) -> Result<PatchType, Failure> {
    match flags.patch_type.to_lowercase().as_str() {
        "json" => Ok(PatchType::Json),
        "merge" => Ok(PatchType::Merge),
        "strategic" => Ok(PatchType::Strategic),
        _ => Err(Failure::Kubectl(format!(
            "--type must be one of [json merge strategic], not {}",
            quote(&flags.patch_type)
        ))),
    }
}

fn patch(flags: &PatchFlags) -> Result<Value, Failure> {
    let both = !flags.patch.is_empty() && !flags.patch_file.is_empty();
    if both || (flags.patch.is_empty() && flags.patch_file.is_empty()) {
        let text = if both {
            "cannot specify --patch and --patch-file together"
        } else {
            "must specify --patch or --patch-file containing the contents of the patch"
        };
        return Err(Failure::Kubectl(text.to_owned()));
    }
    let text = if flags.patch_file.is_empty() {
        flags.patch.clone().into_bytes()
    } else {
        fs::read(&flags.patch_file).map_err(|error| {
            let cause = PathError::reading(&flags.patch_file, &error);
            Failure::Kubectl(format!("unable to read patch file: {cause}"))
        })?
    };
    engine_formats::yaml::decode_v2(&text).map_err(|cause| {
        let text = quote(&String::from_utf8_lossy(&text));
        Failure::Kubectl(format!("unable to parse {text}: {cause}"))
    })
}

fn targets(flags: &PatchFlags) -> Result<Vec<Target>, Failure> {
    if !flags.files.is_empty() {
        return selection::in_files(&flags.files, &flags.words);
    }
    if flags.words.is_empty() {
        return Err(selection::nothing_named());
    }
    selection::targets(&flags.words, &Selection::default(), false)
}

fn apply(
    client: &ApiClient,
    found: &Found,
    (patch_type, patch): (PatchType, &Value),
    dry_run: DryRun,
) -> Result<Value, Failure> {
    if dry_run == DryRun::Client {
        return locally(&found.object, patch_type, patch);
    }
    client.patch(found.kind, &found.name, (patch_type, patch), dry_run.query())
}

fn patch_files(
    flags: &PatchFlags,
    patch_type: PatchType,
    patch: &Value,
    printer: Printer,
) -> Result<(), Failure> {
    if !flags.words.is_empty() {
        return Err(Failure::Kubectl("cannot specify --local and server resources".to_owned()));
    }
    if flags.files.is_empty() {
        return Err(selection::nothing_named());
    }
    let mut failures = Vec::new();
    for manifest in flags.files.read()? {
        match manifest.and_then(|it| locally(&it.object, patch_type, patch)) {
            Ok(object) => {
                printer.out(&Outcome::new(&flags.output)?.text(&object, "patched")?);
            }
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures)
}

fn locally(object: &Value, patch_type: PatchType, patch: &Value) -> Result<Value, Failure> {
    let mut object = object.clone();
    match patch_type {
        PatchType::Merge => merge::apply(&mut object, patch),
        PatchType::Json => {
            let operations: json_patch::Patch = serde_json::from_value(patch.clone())
                .map_err(|it| Failure::Kubectl(it.to_string()))?;
            json_patch::patch(&mut object, &operations)
                .map_err(|it| Failure::Kubectl(it.to_string()))?;
        }
        PatchType::Strategic | PatchType::Apply => {
            let kind = object["kind"].as_str().unwrap_or_default();
            let version = object["apiVersion"].as_str().unwrap_or_default();
            return Err(Failure::Kubectl(format!(
                "strategic merge patch is not supported for {version}, Kind={kind} locally, try \
                 --type merge"
            )));
        }
    }
    Ok(object)
}

/// What tells whether something changed.
fn without_bookkeeping(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.shift_remove("managedFields");
    }
    object
}
