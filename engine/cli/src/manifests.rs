//! Loads objects from files: `-f FILE`, a folder, a URL, standard input, or a kustomization.

mod remote;

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{ArgAction, Args};
use engine_api::{GROUP, Kind, Selector, VERSION};
use engine_formats::golang::{os_error::PathError, pflag::parse_bool, quote::quote};
use engine_model::path::to_path;
use serde_json::Value;

use super::{failure::Failure, output};

/// Flags that name files.
#[derive(Debug, Clone, Args)]
pub struct FileFlags {
    /// File, folder or URL to read; - reads standard input
    #[arg(short, long, value_delimiter = ',', value_name = "FILE")]
    pub filename: Vec<String>,
    /// Folder with a kustomization to read
    #[arg(short, long, value_name = "DIR", default_value = "", hide_default_value = true)]
    pub kustomize: String,
    /// Read folders recursively
    #[arg(short = 'R', long)]
    pub recursive: bool,
}

/// The same flags for commands that read folders inside of folders unless told otherwise.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeepFileFlags {
    /// File or folder to read; - reads standard input
    #[arg(short, long, value_delimiter = ',', value_name = "FILE")]
    pub(crate) filename: Vec<String>,
    /// Read folders recursively
    #[arg(short = 'R', long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        action = ArgAction::Set, default_value_t = true, default_missing_value = "true",
        value_parser = parse_bool)]
    pub(crate) recursive: bool,
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
pub struct Manifest {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Everything that the file says about it.
    pub object: Value,
    /// The file, as messages name it.
    pub source: String,
}

impl Manifest {
    /// Whether its labels are selected.
    pub(crate) fn matches(&self, labels: &Selector) -> bool {
        let own = self.object["metadata"]["labels"].as_object();
        let own = own.into_iter().flatten();
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        labels.matches_labels(&own.map(|(key, value)| (key.clone(), text(value))).collect())
    }
}

/// Reads a text as if it were a file of this name.
pub(crate) fn parse(text: &str, source: &str) -> Vec<Result<Manifest, Failure>> {
    let mut manifests = Vec::new();
    Reader { source, checks: true }.documents(text.as_bytes(), &mut manifests);
    manifests
}

impl FileFlags {
    /// Whether no file is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.filename.is_empty() && self.kustomize.is_empty()
    }

    /// Reads all files for a command that checks them first: what is missing is named at once.
    pub fn read_complete(&self) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        self.read_with(true)
    }

    /// Reads all files; a document that makes no sense is an error of its own.
    pub(crate) fn read(&self) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        self.read_with(false)
    }

    fn read_with(&self, checks: bool) -> Result<Vec<Result<Manifest, Failure>>, Failure> {
        let mut manifests = Vec::new();
        if !self.kustomize.is_empty() {
            if !self.filename.is_empty() {
                let text = "only one of -f or -k can be specified";
                return Err(Failure::Kubectl(text.to_owned()));
            }
            let text = remote::kustomized(&to_path(&self.kustomize))?;
            Reader { source: &self.kustomize, checks }.documents(&text, &mut manifests);
        }
        for name in &self.filename {
            if name == "-" {
                let mut text = Vec::new();
                io::stdin().lock().read_to_end(&mut text).map_err(|it| kubectl(&it))?;
                Reader { source: "STDIN", checks }.documents(&text, &mut manifests);
                continue;
            }
            if name.starts_with("http://") || name.starts_with("https://") {
                let text = remote::downloaded(name)?;
                Reader { source: name, checks }.documents(&text, &mut manifests);
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
        let path = &*to_path(name);
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
        for document in engine_formats::yaml::documents(&text) {
            let document = document.map_err(|it| parsing(it.to_string()));
            let value = document.and_then(|it| {
                engine_formats::yaml::decode_v2(it.as_bytes())
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
        let known = Kind::of_kind(&kind).filter(|_| version == format!("{GROUP}/{VERSION}"));
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
            let json = engine_formats::golang::json::encode(object);
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
                Ok(it) => format!("{} {}", it.kind.name(), it.name),
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
    fn labels_of_files_are_matched_like_those_of_the_server() {
        let text = "{apiVersion: tilt.dev/v1alpha1, kind: Cmd, metadata: {name: x, labels: {a: '1', b: '2'}}}";
        let manifest = parse(text, "f.yaml").remove(0).unwrap();
        for (query, want) in
            [("", true), ("a", true), ("c", false), ("a=1,!c", true), ("a in (2, 3)", false)]
        {
            let labels = Selector::of_labels(query).unwrap();
            assert_eq!(manifest.matches(&labels), want, "{query}");
        }
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
