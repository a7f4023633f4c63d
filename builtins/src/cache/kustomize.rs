//! The inputs of Kustomize.
//!
//! Every string in an overlay's file that might name a file is treated as a file name: new fields of Kustomize need no
//! change here, and a file that appears later changes the key as well.

use std::collections::HashSet;

use builtins_language::decode_utf8;
use engine_formats::{golang::path, yaml};
use serde_json::{Map, Value};

use super::{Inputs, Uncacheable, key::KeyBuilder, program::Tool};
use crate::host::{FileKind, Host};

const MARKER: &str = "sigs.k8s.io/kustomize/";
const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Fields that list files and other overlays, some of which may be elsewhere.
const OPERANDS: [&str; 3] = ["resources", "bases", "components"];
/// Fields that run other programs, or read files which name further files.
const PLUGINS: [&str; 6] = [
    "generators",
    "transformers",
    "validators",
    "helmCharts",
    "helmGlobals",
    "helmChartInflationGenerator",
];
/// Fields with files of variables.
const GENERATORS: [&str; 2] = ["configMapGenerator", "secretGenerator"];
/// Flags that change the output, but not what is read or run.
const KNOWN_FLAGS: [&str; 4] =
    ["--load-restrictor", "--load_restrictor", "--reorder", "--enable-managedby-label"];

/// Everything that building an overlay depends on.
pub(crate) struct KustomizeInputs<'a> {
    /// The command line: the program, its subcommand, flags, the overlay.
    pub(crate) argv: &'a [String],
    /// How many words the program and its subcommand are.
    pub(crate) program_words: usize,
    /// Where it runs.
    pub(crate) dir: &'a str,
    /// The directory of the overlay.
    pub(crate) overlay: &'a str,
}

impl Inputs for KustomizeInputs<'_> {
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable> {
        let program = self.argv.first().map_or("", String::as_str);
        Ok(vec![Tool::find(host, program, MARKER)?])
    }

    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable> {
        let end = self.argv.len().saturating_sub(1);
        check_flags(self.argv.get(self.program_words..end).unwrap_or_default())?;
        if self.argv.last().is_none_or(|it| it.starts_with('-') || is_remote(it)) {
            return Err(Uncacheable("the overlay is not simply a directory"));
        }
        key.texts("kustomize", self.argv);
        key.texts("dir", [self.dir]);
        let places = ["HOME", "XDG_CONFIG_HOME", "KUBERC", "GODEBUG"];
        key.variables(|it| {
            it.starts_with("KUSTOMIZE_") || it.starts_with("KUBECTL_") || places.contains(&it)
        });
        if let Some(home) = key.host.env("HOME") {
            // People may give the subcommands of kubectl other defaults.
            key.file(&path::join(&[home.as_str(), ".kube/kuberc"]))?;
        }
        overlays(key, self.overlay)
    }
}

fn check_flags(flags: &[String]) -> Result<(), Uncacheable> {
    let mut takes_value = false;
    for flag in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        let is_known = KNOWN_FLAGS.contains(&name);
        if !is_known && (!takes_value || flag.starts_with('-')) {
            return Err(Uncacheable("a flag may make it read or run anything"));
        }
        takes_value = is_known && name == flag && name != "--enable-managedby-label";
    }
    Ok(())
}

/// Adds an overlay and those it is made of.
fn overlays(key: &mut KeyBuilder<'_>, root: &str) -> Result<(), Uncacheable> {
    let mut seen = HashSet::new();
    let mut pending = vec![path::clean(root)];
    while let Some(dir) = pending.pop() {
        if !seen.insert(dir.clone()) {
            continue;
        }
        let mut contents = Vec::new();
        for name in FILE_NAMES {
            contents.extend(key.file(&path::join(&[dir.as_str(), name]))?);
        }
        let [content] = contents.as_slice() else {
            return Err(Uncacheable("a directory is not an overlay"));
        };
        let content =
            yaml::decode_v2(content).map_err(|_| Uncacheable("an overlay cannot be read"))?;
        if let Value::Object(fields) = &content {
            pending.extend(operands(key, &dir, fields)?);
            variables(key, &dir, fields)?;
        }
        mentioned_files(key, &dir, &content)?;
    }
    Ok(())
}

/// A field by its name; Kustomize does not look at case.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    fields.iter().filter(move |it| it.0.eq_ignore_ascii_case(name)).map(|it| it.1)
}

/// The directories among the operands; files are found with everything else that is mentioned.
fn operands(
    key: &KeyBuilder<'_>,
    dir: &str,
    fields: &Map<String, Value>,
) -> Result<Vec<String>, Uncacheable> {
    let is_used =
        |it: &&Value| !matches!(it, Value::Null) && it.as_array().is_none_or(|it| !it.is_empty());
    if PLUGINS.iter().any(|name| field(fields, name).any(|it| is_used(&it))) {
        return Err(Uncacheable("an overlay uses plug-ins"));
    }
    let mut dirs = Vec::new();
    let entries =
        OPERANDS.iter().flat_map(|name| field(fields, name)).filter_map(Value::as_array).flatten();
    for entry in entries {
        let entry = entry.as_str().ok_or(Uncacheable("an overlay cannot be read"))?;
        if is_remote(entry) {
            return Err(Uncacheable("a part of the overlay is elsewhere"));
        }
        let file = path::abs(dir, entry);
        match key.host.stat(&file) {
            Ok(info) if info.kind == FileKind::Directory => dirs.push(file),
            Ok(_) => {}
            Err(_) => return Err(Uncacheable("a part of the overlay is missing")),
        }
    }
    Ok(dirs)
}

/// Whether Kustomize may take a path for the address of a repository or a file elsewhere.
fn is_remote(entry: &str) -> bool {
    let signs = [
        "://",
        "git@",
        "git::",
        "gh:",
        "github.com",
        "bitbucket.org",
        "gitlab.com",
        "_git/",
        ".git",
        "?",
    ];
    signs.iter().any(|it| entry.contains(it)) || entry.trim_start_matches('/').contains("//")
}

/// Adds the variables that config maps and secrets take from the environment.
fn variables(
    key: &mut KeyBuilder<'_>,
    dir: &str,
    fields: &Map<String, Value>,
) -> Result<(), Uncacheable> {
    let generators = GENERATORS
        .iter()
        .flat_map(|name| field(fields, name))
        .filter_map(Value::as_array)
        .flatten();
    for generator in generators.filter_map(Value::as_object) {
        let mut files = Vec::new();
        for value in field(generator, "env").chain(field(generator, "envs")) {
            collect_texts(value, &mut files, 0)?;
        }
        for file in files {
            let content = key.file(&path::abs(dir, file))?.unwrap_or_default();
            // A line without a value stands for the variable of that name.
            for line in decode_utf8(&content).lines().map(str::trim).filter(|it| !it.contains('='))
            {
                key.variable(line);
            }
        }
    }
    Ok(())
}

/// Adds every file that the texts of an overlay may name, alone or after a key.
fn mentioned_files(
    key: &mut KeyBuilder<'_>,
    dir: &str,
    content: &Value,
) -> Result<(), Uncacheable> {
    let mut texts = Vec::new();
    collect_texts(content, &mut texts, 0)?;
    let mut seen = HashSet::new();
    for text in texts {
        // Inline patches are no paths.
        if text.is_empty() || text.len() > 4_096 || text.contains('\n') {
            continue;
        }
        let after_key = text.split_once('=').map(|it| it.1).filter(|it| !it.is_empty());
        for file in std::iter::once(text).chain(after_key) {
            let file = path::abs(dir, file);
            if !seen.insert(file.clone()) {
                continue;
            }
            match key.host.stat(&file) {
                Ok(info) if info.kind == FileKind::Directory => key.texts("directory", [&file]),
                Ok(_) => drop(key.file(&file)?),
                Err(_) => key.texts("no file", [&file]),
            }
        }
    }
    Ok(())
}

/// All texts of some data.
fn collect_texts<'a>(
    data: &'a Value,
    texts: &mut Vec<&'a str>,
    depth: usize,
) -> Result<(), Uncacheable> {
    if depth > 100 {
        return Err(Uncacheable("an overlay nests too deep"));
    }
    match data {
        Value::String(text) => texts.push(text),
        Value::Array(items) => {
            return items.iter().try_for_each(|it| collect_texts(it, texts, depth + 1));
        }
        Value::Object(fields) => {
            return fields.values().try_for_each(|it| collect_texts(it, texts, depth + 1));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_flags_are_known() {
        let check = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|it| (*it).to_owned()).collect();
            check_flags(&flags).is_ok()
        };
        assert!(check(&[]));
        assert!(check(&["--load-restrictor=LoadRestrictionsNone"]));
        assert!(check(&["--load-restrictor", "LoadRestrictionsNone", "--reorder", "none"]));
        assert!(check(&["--enable-managedby-label"]));
        assert!(!check(&["--enable-helm"]));
        assert!(!check(&["--enable-alpha-plugins"]));
        assert!(!check(&["-o", "out.yaml"]));
        assert!(!check(&["--enable-managedby-label", "elsewhere"]));
        assert!(!check(&["--load-restrictor", "--enable-exec"]));
        assert!(!check(&["--reorder=none", "none"]));
    }

    #[test]
    fn addresses_are_told_from_paths() {
        for entry in [
            "https://example.com/x.yaml",
            "github.com/org/repo?ref=v1",
            "git@example.com:org/repo",
            "ssh://x/y",
            "org/repo//path",
            "repo.git",
        ] {
            assert!(is_remote(entry), "{entry}");
        }
        for entry in ["base", "../base", "/abs/base", "./a/b.yaml", "a=b"] {
            assert!(!is_remote(entry), "{entry}");
        }
    }
}
