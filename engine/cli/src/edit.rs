//! `edit`: opens objects in an editor and applies the changes.

use clap::Args;
use engine_formats::golang::quote::quote;
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, PatchType, Selection},
    connect::ConnectFlags,
    editor,
    failure::Failure,
    manifests::FileFlags,
    merge,
    output::{Outcome, OutputFlags},
    selection::{self, Found},
    validation::ValidateFlags,
};

/// The variables that name an editor.
pub(crate) const EDITORS: &[&str] = &["KUBE_EDITOR", "EDITOR"];

/// Edit objects in your editor (`$KUBE_EDITOR`, `$EDITOR` or vi).
#[derive(Debug, Args)]
pub struct EditFlags {
    /// TYPE NAME... or TYPE/NAME...
    #[arg(value_name = "TYPE NAME")]
    words: Vec<String>,
    #[command(flatten)]
    files: FileFlags,
    /// Print the resulting patch
    #[arg(long)]
    output_patch: bool,
    /// Accepted for compatibility; line ends stay as they are
    #[arg(hide = true, long)]
    windows_line_endings: bool,
    /// Name to record as the manager of the changed fields
    #[arg(long, value_name = "NAME", default_value = "kubectl-edit")]
    field_manager: String,
    /// Save the configuration in an annotation, for later use of apply
    #[arg(long)]
    save_config: bool,
    /// Accepted for compatibility; nothing is recorded
    #[arg(long, hide = true)]
    record: bool,
    #[command(flatten)]
    validate: ValidateFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &EditFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let validation = flags.validate.read()?;
    // With this format the file is JSON too; everything else is YAML.
    let as_json = flags.output.format() == "json";
    if !matches!(flags.output.format(), "" | "json" | "kyaml" | "yaml") {
        return Err(Failure::Kubectl(format!(
            "unable to match a printer suitable for the output format {}, allowed formats are: \
             json,kyaml,yaml",
            quote(flags.output.format())
        )));
    }
    let outcome = Outcome::new(&flags.output)?;
    let targets = if flags.files.is_empty() {
        if flags.words.is_empty() {
            return Err(selection::nothing_named());
        }
        selection::targets(&flags.words, &Selection::default(), true)?
    } else {
        selection::in_files(&flags.files, &flags.words)?
    };
    let (found, failures) = selection::find(&client, &targets, false);
    Failure::all(failures)?;
    Edit { client: &client, flags, validation, outcome, as_json, printer }.all(&found)
}

struct Edit<'a> {
    client: &'a ApiClient,
    flags: &'a EditFlags,
    validation: &'static str,
    outcome: Outcome<'a>,
    as_json: bool,
    printer: Printer,
}

impl Edit<'_> {
    /// Opens the editor until everything is saved or nothing more is changed.
    fn all(&mut self, found: &[Found]) -> Result<(), Failure> {
        let original = self.text(found)?;
        let mut text = original.clone();
        let mut problems: Vec<String> = Vec::new();
        loop {
            let shown = format!("{}{text}", head(&problems));
            let suffix = if self.as_json { ".json" } else { ".yaml" };
            let edited = editor::edit(EDITORS, &shown, suffix)
                .map_err(|it| Failure::Kubectl(it.to_string()))?;
            let content = without_head(&edited.text);
            if content == text || content.trim().is_empty() {
                return self.cancel(&problems, &edited);
            }
            edited.remove();
            if content == original {
                self.printer.err("Edit cancelled, no changes made.\n");
                return Ok(());
            }
            match self.save(found, &content) {
                Ok(()) => return Ok(()),
                Err(failure) => problems = vec![failure.to_string()],
            }
            text = content;
        }
    }

    fn cancel(&self, problems: &[String], edited: &editor::Edited) -> Result<(), Failure> {
        if problems.is_empty() {
            edited.remove();
            self.printer.err("Edit cancelled, no changes made.\n");
            return Ok(());
        }
        for problem in problems {
            self.printer.err(&format!("{}\n", problem.trim_end()));
        }
        let path = edited.path.display();
        self.printer.out(&format!("A copy of your changes has been stored to \"{path}\"\n"));
        Err(Failure::Kubectl("Edit cancelled, no valid changes were saved.".to_owned()))
    }

    fn text(&self, found: &[Found]) -> Result<String, Failure> {
        let mut objects: Vec<Value> = found.iter().map(|it| editable(&it.object)).collect();
        let object = match objects.len() {
            1 => objects.remove(0),
            _ => json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {}}),
        };
        if self.as_json {
            let encoder =
                engine_formats::golang::json::Encoder { indent: Some("    "), escape_html: true };
            return Ok(format!("{}\n", encoder.encode(&object)));
        }
        engine_formats::yaml::emit_v2(&object).map_err(|it| Failure::Kubectl(it.to_string()))
    }

    fn save(&mut self, found: &[Found], content: &str) -> Result<(), Failure> {
        let value = engine_formats::yaml::decode_v2(content.as_bytes())
            .map_err(|it| Failure::Kubectl(format!("the edited file is not valid: {it}")))?;
        let edited = match value.get("items").and_then(Value::as_array) {
            Some(items) => items.clone(),
            None => vec![value],
        };
        for object in edited {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let before =
                found.iter().find(|it| it.name == name && object["kind"] == it.kind.name());
            let Some(before) = before else {
                let text = "At least one of apiVersion, kind and name was changed";
                return Err(Failure::Kubectl(text.to_owned()));
            };
            self.save_one(before, object)?;
        }
        Ok(())
    }

    fn save_one(&mut self, before: &Found, mut object: Value) -> Result<(), Failure> {
        if self.flags.save_config {
            object = super::apply::annotated(&object);
        }
        let patch = merge::between(&editable(&before.object), &object);
        if patch == json!({}) {
            let text = self.outcome.text(&before.object, "skipped")?;
            self.printer.out(&text);
            return Ok(());
        }
        if self.flags.output_patch {
            let text = engine_formats::golang::json::encode(&patch);
            self.printer.out(&format!("Patch: {text}\n"));
        }
        let query = [
            ("fieldManager", self.flags.field_manager.as_str()),
            ("fieldValidation", self.validation),
        ];
        let after =
            self.client.patch(before.kind, &before.name, (PatchType::Merge, &patch), &query)?;
        let text = self.outcome.text(&after, "edited")?;
        self.printer.out(&text);
        Ok(())
    }
}

/// An object without what nobody edits.
fn editable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.shift_remove("managedFields");
    }
    object
}

fn head(problems: &[String]) -> String {
    let mut head = "# Edit the object below and save. Lines that begin with '#' are ignored; an empty file\n\
                    # changes nothing. If it cannot be saved, the file opens again and says why.\n#\n"
        .to_owned();
    for line in problems.iter().flat_map(|it| it.lines()) {
        head.push_str(&format!("# {line}\n"));
    }
    head
}

fn without_head(text: &str) -> String {
    text.split_inclusive('\n').filter(|it| !it.starts_with('#')).collect()
}
