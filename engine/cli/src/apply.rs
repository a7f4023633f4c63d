//! `apply`: creates or updates objects to match files.

use clap::{ArgAction, Args};
use engine_api::{GROUP, Kind, VERSION};
use engine_formats::golang::{json, pflag::parse_bool, quote::quote};
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, PatchType, Selection},
    connect::ConnectFlags,
    delete,
    dry_run::{DryRun, DryRunFlags},
    failure::Failure,
    manifests::{FileFlags, Manifest},
    merge,
    output::{self, Outcome, OutputFlags},
    program,
    selection::SelectorFlags,
    validation::ValidateFlags,
    values,
};

/// The annotation that holds what was applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Create or update objects from files.
#[derive(Debug, Args)]
pub struct ApplyFlags {
    #[arg(value_name = "ARGS", hide = true)]
    words: Vec<String>,
    #[command(flatten)]
    files: FileFlags,
    #[command(flatten)]
    selector: SelectorFlags,
    #[command(flatten)]
    dry_run: DryRunFlags,
    #[command(flatten)]
    validate: ValidateFlags,
    /// Merge on the server
    #[arg(long)]
    server_side: bool,
    /// With --server-side, take over fields that others manage
    #[arg(long)]
    force_conflicts: bool,
    /// Name to record as the manager of the changed fields
    #[arg(long, value_name = "NAME", default_value = "kubectl-client-side-apply")]
    field_manager: String,
    /// Delete objects that were applied before but are no longer in the files
    #[arg(long)]
    prune: bool,
    /// With --prune, consider all objects
    #[arg(long)]
    all: bool,
    /// With --prune, consider only this type, as GROUP/VERSION/KIND
    #[arg(long, value_name = "KIND")]
    prune_allowlist: Vec<String>,
    /// Accepted for compatibility; changes of others in the same field are overwritten
    #[arg(hide = true, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, action = ArgAction::Set,
        default_value_t = true, default_missing_value = "true", value_parser = parse_bool)]
    overwrite: bool,
    /// Accepted for compatibility; lists are replaced as a whole
    #[arg(hide = true, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, action = ArgAction::Set,
        default_value_t = true, default_missing_value = "true", value_parser = parse_bool)]
    openapi_patch: bool,
    /// With --server-side, subresource to change
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    subresource: String,
    /// Delete and recreate an object that cannot be changed in place
    #[arg(long)]
    force: bool,
    /// Accepted for compatibility; nothing outlives its object
    #[arg(hide = true, long, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "background", default_value = "background")]
    cascade: String,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long, value_name = "SECONDS", default_value = "-1", value_parser = values::int, allow_negative_numbers = true)]
    grace_period: i64,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long, value_name = "DURATION", default_value = "0s", value_parser = values::duration)]
    timeout: values::GoDuration,
    /// Accepted for compatibility; objects end at once
    #[arg(hide = true, long)]
    wait: bool,
    /// Accepted for compatibility; nothing is recorded
    #[arg(long, hide = true)]
    record: bool,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &ApplyFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    check(flags)?;
    let mut apply = Apply {
        client: &client,
        flags,
        dry_run: flags.dry_run.read().map_err(Failure::native)?,
        validation: flags.validate.read().map_err(Failure::native)?,
        outcome: Outcome::new(&flags.output)?,
        done: Vec::new(),
        printer,
    };
    apply.all()
}

fn check(flags: &ApplyFlags) -> Result<(), Failure> {
    if !flags.words.is_empty() {
        return Err(Failure::Command(format!(
            "Unexpected args: [{}]\nSee '{} apply -h' for help and examples",
            flags.words.join(" "),
            program()
        )));
    }
    if flags.files.is_empty() {
        return Err(Failure::Command("must specify one of -f and -k".to_owned()));
    }
    delete::check_cascade(&flags.cascade)?;
    if flags.force_conflicts && !flags.server_side {
        return Err(kubectl("--force-conflicts only works with --server-side"));
    }
    if !flags.subresource.is_empty() && !flags.server_side {
        return Err(kubectl("--subresource can only be specified for --server-side"));
    }
    if flags.prune && !flags.all && flags.selector.selector.is_empty() {
        return Err(kubectl(
            "all resources selected for prune without explicitly passing --all. To prune all \
             resources, pass the --all flag. If you did not mean to prune all resources, specify a \
             label selector",
        ));
    }
    Ok(())
}

fn kubectl(text: &str) -> Failure {
    Failure::Kubectl(text.to_owned())
}

struct Apply<'a> {
    client: &'a ApiClient,
    flags: &'a ApplyFlags,
    dry_run: DryRun,
    validation: &'static str,
    outcome: Outcome<'a>,
    /// Everything that was applied.
    done: Vec<(Kind, Value)>,
    printer: Printer,
}

impl Apply<'_> {
    fn all(&mut self) -> Result<(), Failure> {
        let labels = self.flags.selector.labels()?;
        let manifests = self.flags.files.read_complete()?;
        let mut failures = Vec::new();
        let mut is_empty = true;
        for manifest in manifests {
            let result = manifest.and_then(|it| {
                if !it.matches(&labels) {
                    return Ok(());
                }
                is_empty = false;
                self.one(&it)
            });
            failures.extend(result.err());
        }
        if is_empty && failures.is_empty() {
            return Err(kubectl("no objects passed to apply"));
        }
        self.print_objects()?;
        if self.flags.prune && failures.is_empty() {
            self.prune()?;
        }
        Failure::all(failures)
    }

    fn one(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        let (object, operation) = if self.flags.server_side {
            (self.server_side(manifest)?, "serverside-applied")
        } else {
            self.client_side(manifest)?
        };
        if self.outcome.is_human() {
            let text = self.outcome.text(&object, &self.dry_run.annotate(operation))?;
            self.printer.out(&text);
        }
        self.done.push((manifest.kind, object));
        Ok(())
    }

    fn server_side(&self, manifest: &Manifest) -> Result<Value, Failure> {
        let manager = match self.flags.field_manager.as_str() {
            "kubectl-client-side-apply" => "kubectl",
            other => other,
        };
        let mut query = vec![("fieldManager", manager), ("fieldValidation", self.validation)];
        if self.flags.force_conflicts {
            query.push(("force", "true"));
        }
        query.extend(self.dry_run.query());
        let patch = (PatchType::Apply, &manifest.object);
        let part = (manifest.name.as_str(), self.flags.subresource.as_str());
        self.client.patch_part(manifest.kind, part, patch, &query)
    }

    fn client_side(&self, manifest: &Manifest) -> Result<(Value, &'static str), Failure> {
        let wanted = annotated(&manifest.object);
        let current = match self.client.get(manifest.kind, &manifest.name) {
            Ok(current) => current,
            Err(failure) if failure.is_not_found() => {
                let created = self.create(manifest, &wanted)?;
                return Ok((created, "created"));
            }
            Err(failure) => return Err(failure),
        };
        let last = current["metadata"]["annotations"][LAST_APPLIED].as_str();
        if last.is_none() {
            let subject = format!("{}/{}", manifest.kind.plural(), manifest.name);
            let program = program();
            self.printer.err(&format!(
                "Warning: resource {subject} is missing the {LAST_APPLIED} annotation which is \
                 required by {program} apply. {program} apply should only be used on resources created \
                 declaratively by either {program} create --save-config or {program} apply. The missing \
                 annotation will be patched automatically.\n"
            ));
        }
        let original: Value =
            last.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_else(|| json!({}));
        let patch = merge::three_way(&original, &wanted, &current);
        if patch == json!({}) {
            return Ok((current, "unchanged"));
        }
        if self.dry_run == DryRun::Client {
            let mut object = current;
            merge::apply(&mut object, &patch);
            return Ok((object, "configured"));
        }
        let mut query = vec![
            ("fieldManager", self.flags.field_manager.as_str()),
            ("fieldValidation", self.validation),
        ];
        query.extend(self.dry_run.query());
        let patched =
            self.client.patch(manifest.kind, &manifest.name, (PatchType::Merge, &patch), &query);
        match patched {
            Ok(object) => Ok((object, "configured")),
            Err(_) if self.flags.force => Ok((self.replace(manifest, &wanted)?, "configured")),
            Err(failure) => Err(failure.in_context(&context(manifest, &patch))),
        }
    }

    fn create(&self, manifest: &Manifest, wanted: &Value) -> Result<Value, Failure> {
        if self.dry_run == DryRun::Client {
            return Ok(wanted.clone());
        }
        let mut query = vec![
            ("fieldManager", self.flags.field_manager.as_str()),
            ("fieldValidation", self.validation),
        ];
        query.extend(self.dry_run.query());
        let created = self.client.create(manifest.kind, wanted, &query);
        created.map_err(|it| {
            it.in_context(&format!("error when creating {}", quote(&manifest.source)))
        })
    }

    fn replace(&self, manifest: &Manifest, wanted: &Value) -> Result<Value, Failure> {
        self.client.delete(manifest.kind, &manifest.name, &json!({}))?;
        self.create(manifest, wanted)
    }

    /// Formats other than sentences show everything at once.
    fn print_objects(&mut self) -> Result<(), Failure> {
        if self.outcome.is_human() || self.done.is_empty() {
            return Ok(());
        }
        let objects: Vec<Value> = self.done.iter().map(|it| it.1.clone()).collect();
        let object = match objects.as_slice() {
            [object] => object.clone(),
            _ => {
                let mut list = output::list(objects);
                list["metadata"] = json!({});
                list
            }
        };
        let text = self.outcome.text(&object, "")?;
        self.printer.out(&text);
        Ok(())
    }

    /// Removes what was applied by somebody before, and was not now.
    fn prune(&mut self) -> Result<(), Failure> {
        for name in &self.flags.prune_allowlist {
            let kind = name
                .strip_prefix(&format!("{GROUP}/{VERSION}/"))
                .and_then(Kind::of_kind)
                .ok_or_else(|| kubectl(&format!("invalid GroupVersionKind format: {name}, please follow <group/version/kind>")))?;
            let selection =
                Selection { labels: self.flags.selector.selector.clone(), ..Selection::default() };
            for object in self.client.list(kind, &selection)? {
                let uid = &object["metadata"]["uid"];
                let was_applied = object["metadata"]["annotations"].get(LAST_APPLIED).is_some();
                let is_wanted = self.done.iter().any(|(_, done)| done["metadata"]["uid"] == *uid);
                if !was_applied || is_wanted {
                    continue;
                }
                if self.dry_run == DryRun::None {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    self.client.delete(kind, name, &json!({}))?;
                }
                let text = self.outcome.text(&object, &self.dry_run.annotate("pruned"))?;
                self.printer.out(&text);
            }
        }
        Ok(())
    }
}

fn context(manifest: &Manifest, patch: &Value) -> String {
    format!(
        "error when applying patch:\n{}\nto:\nResource: \"{GROUP}/{VERSION}, Resource={}\", \
         GroupVersionKind: \"{GROUP}/{VERSION}, Kind={}\"\nName: {}, Namespace: \"\"\nfor: {}",
        json::encode(patch),
        manifest.kind.plural(),
        manifest.kind.name(),
        quote(&manifest.name),
        quote(&manifest.source)
    )
}

/// The object, with a copy of itself in an annotation.
pub(crate) fn annotated(object: &Value) -> Value {
    let mut plain = object.clone();
    if !plain["metadata"].is_object() {
        plain["metadata"] = json!({});
    }
    if !plain["metadata"]["annotations"].is_object() {
        plain["metadata"]["annotations"] = json!({});
    }
    if let Some(annotations) = plain["metadata"]["annotations"].as_object_mut() {
        annotations.shift_remove(LAST_APPLIED);
    }
    let text = format!("{}\n", json::encode(&plain));
    plain["metadata"]["annotations"][LAST_APPLIED] = text.into();
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_applied_is_kept_without_itself() {
        let once = annotated(&json!({"kind": "ConfigMap"}));
        assert_eq!(
            once["metadata"]["annotations"][LAST_APPLIED],
            "{\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{}}}\n"
        );
        assert_eq!(annotated(&once), once);
    }
}
