//! Objects from files: `-f FILE`, a folder, a URL that is a file, or standard input.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use builtins::golang::{os_error::PathError, quote::quote};
use clap::{ArgAction, Args};
use serde_json::Value;

use super::{
    failure::Failure,
    output::{self, go_bool},
    resource_type::{self, GROUP, VERSION},
};
use crate::api::kind::Kind;

/// Flags that name files.
#[derive(Debug, Clone, Args)]
pub(super) struct FileFlags {
    /// File, folder, or - for standard input
    #[arg(short, long, value_delimiter = ',', value_name = "FILE")]
    pub(super) filename: Vec<String>,
    /// Folder with a kustomization
    #[arg(short, long, value_name = "DIR", default_value = "", hide_default_value = true)]
    pub(super) kustomize: String,
    /// Also read the folders inside of a folder
    #[arg(short = 'R', long)]
    pub(super) recursive: bool,
}

/// The same flags for commands that read folders inside of folders unless told otherwise.
#[derive(Debug, Clone, Args)]
pub(super) struct DeepFileFlags {
    /// File, folder, or - for standard input
    #[arg(short, long, value_delimiter = ',', value_name = "FILE")]
    pub(super) filename: Vec<String>,
    /// Also read the folders inside of a folder
    #[arg(short = 'R', long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        action = ArgAction::Set, default_value_t = true, default_missing_value = "true",
        value_parser = go_bool)]
    pub(super) recursive: bool,
}

impl From<&DeepFileFlags> for FileFlags {
    fn from(flags: &DeepFileFlags) -> Self {
        Self {
            filename: flags.filename.clone(),
            kustomize: String::new(),
            recursive: flags.recursive,
        }
    }
}

/// An object that a file describes.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// Its kind.
    pub(super) kind: &'static Kind,
    /// Its name.
    pub(super) name: String,
    /// Everything that the file says about it.
    pub(super) object: Value,
    /// The file, as messages name it.
    pub(super) source: String,
}

impl FileFlags {
    /// Whether no file is named.
    pub(super) fn is_empty(&self) -> bool {
        self.filename.is_empty() && self.kustomize.is_empty()
    }

    /// Reads all files for a command that checks them first: what is missing is named at once.
    pub(super) fn read_complete(&self) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        self.read_with(true)
    }

    /// Reads all files; a document that makes no sense is an error of its own.
    pub(super) fn read(&self) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        self.read_with(false)
    }

    fn read_with(&self, checks: bool) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        if !self.kustomize.is_empty() {
            let text = "-k is not supported; run 'kustomize build' and pass the result with -f -";
            return Err(Failure::Kubectl(text.to_owned()));
        }
        let mut manifests = Vec::new();
        for name in &self.filename {
            if name == "-" {
                let mut text = Vec::new();
                io::stdin().lock().read_to_end(&mut text).map_err(|it| kubectl(&it))?;
                Reader { source: "STDIN", checks }.documents(&text, &mut manifests);
                continue;
            }
            for path in self.files(name)? {
                let source = path.to_string_lossy().into_owned();
                let text = fs::read(&path)
                    .map_err(|it| Failure::Kubectl(PathError::reading(&source, &it).to_string()))?;
                Reader { source: &source, checks }.documents(&text, &mut manifests);
            }
        }
        Ok(manifests)
    }

    fn files(&self, name: &str) -> Result<Vec<PathBuf>, Failure> {
        let path = Path::new(name);
        match fs::metadata(path) {
            Ok(data) if data.is_dir() => {
                let mut files = Vec::new();
                collect(path, self.recursive, &mut files).map_err(|it| kubectl(&it))?;
                Ok(files)
            }
            Ok(_) => Ok(vec![path.to_owned()]),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::Kubectl(format!("the path {} does not exist", quote(name))))
            }
            Err(error) => {
                let cause = PathError::new("stat", name, &error);
                Err(Failure::Kubectl(format!(
                    "the path {} cannot be accessed: {cause}",
                    quote(name)
                )))
            }
        }
    }
}

fn kubectl(error: &io::Error) -> Failure {
    Failure::Kubectl(error.to_string())
}

/// The files of a folder that look like manifests, in the order of their names.
fn collect(folder: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|it| it.map(|it| it.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if recursive {
                collect(&path, recursive, files)?;
            }
        } else if path.extension().is_some_and(|it| it == "json" || it == "yaml" || it == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads one file.
struct Reader<'a> {
    source: &'a str,
    /// Whether everything that is missing is named at once.
    checks: bool,
}

impl Reader<'_> {
    fn documents(&self, text: &[u8], out: &mut Vec<Result<Manifest, Failure>>) {
        let text = String::from_utf8_lossy(text);
        let parsing =
            |cause: String| Failure::Kubectl(format!("error parsing {}: {cause}", self.source));
        for document in builtins::yaml::documents(&text) {
            let document = document.map_err(|it| parsing(it.to_string()));
            let value = document.and_then(|it| {
                builtins::yaml::decode_v2(it.as_bytes())
                    .map_err(|it| parsing(format!("error converting YAML to JSON: {it}")))
            });
            match value {
                Ok(Value::Null) => {}
                Ok(value) => self.objects(value, out),
                Err(failure) => out.push(Err(failure)),
            }
        }
    }

    /// A list stands for what is in it.
    fn objects(&self, mut value: Value, out: &mut Vec<Result<Manifest, Failure>>) {
        if output::list_items(&value).is_none() {
            out.push(self.manifest(value));
            return;
        }
        let items = value["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for item in items {
            self.objects(item, out);
        }
    }

    fn manifest(&self, object: Value) -> Result<Manifest, Failure> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, version) = (text(&object["kind"]), text(&object["apiVersion"]));
        if kind.is_empty() || version.is_empty() {
            return Err(self.incomplete(&object, &kind, &version));
        }
        let name = text(&object["metadata"]["name"]);
        let known =
            resource_type::by_name(&kind).filter(|_| version == format!("{GROUP}/{VERSION}"));
        let Some(kind) = known else {
            let namespace = text(&object["metadata"]["namespace"]);
            return Err(Failure::Kubectl(format!(
                "resource mapping not found for name: {} namespace: {} from {}: no matches for kind \
                 {} in version {}\nensure CRDs are installed first",
                quote(&name),
                quote(&namespace),
                quote(self.source),
                quote(&kind),
                quote(&version)
            )));
        };
        Ok(Manifest { kind, name, object, source: self.source.to_owned() })
    }

    fn incomplete(&self, object: &Value, kind: &str, version: &str) -> Failure {
        let source = quote(self.source);
        if !self.checks {
            let what = if kind.is_empty() { "Kind" } else { "apiVersion" };
            let json = builtins::golang::json::encode(object);
            let text = format!("unable to decode {source}: Object '{what}' is missing in '{json}'");
            return Failure::Kubectl(text);
        }
        let what = match (version.is_empty(), kind.is_empty()) {
            (true, true) => "[apiVersion not set, kind not set]",
            (true, false) => "apiVersion not set",
            (false, _) => "kind not set",
        };
        Failure::Kubectl(format!(
            "error validating {source}: error validating data: {what}; if you choose to ignore these \
             errors, turn validation off with --validate=false"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut manifests = Vec::new();
        Reader { source: "f.yaml", checks: false }.documents(text.as_bytes(), &mut manifests);
        manifests
            .into_iter()
            .map(|it| match it {
                Ok(it) => format!("{} {}", it.kind.kind, it.name),
                Err(failure) => failure.to_string(),
            })
            .collect()
    }

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "\
apiVersion: tilt.dev/v1alpha1
kind: ConfigMap
metadata: {name: a}
---
# nothing
---
apiVersion: v1
kind: List
items:
- {apiVersion: tilt.dev/v1alpha1, kind: Cmd, metadata: {name: b}}
";
        assert_eq!(read(text), ["ConfigMap a", "Cmd b"]);
    }

    #[test]
    fn what_is_no_object_says_why() {
        assert_eq!(
            read("a: 1"),
            ["error: unable to decode \"f.yaml\": Object 'Kind' is missing in '{\"a\":1}'"]
        );
        assert_eq!(
            read("kind: Bogus\napiVersion: tilt.dev/v1alpha1\nmetadata: {name: x}"),
            [
                "error: resource mapping not found for name: \"x\" namespace: \"\" from \"f.yaml\": no matches \
              for kind \"Bogus\" in version \"tilt.dev/v1alpha1\"\nensure CRDs are installed first"
            ]
        );
    }
}
