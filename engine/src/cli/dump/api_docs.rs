//! `dump api-docs`: the functions of Tiltfiles as Python files, which editors can read.

use std::{
    fmt::Write,
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{
    api::{
        Kind,
        schema::{Ty, Type},
    },
    cli::{Printer, failure::Failure},
};

/// The files that people write, in the order in which they are written out.
const FILES: [(&str, &str); 6] = [
    ("api/__init__.py", include_str!("api/__init__.py")),
    ("api/config/__init__.py", include_str!("api/config/__init__.py")),
    ("api/os/__init__.py", include_str!("api/os/__init__.py")),
    ("api/os/path.py", include_str!("api/os/path.py")),
    ("api/shlex/__init__.py", include_str!("api/shlex/__init__.py")),
    ("api/sys/__init__.py", include_str!("api/sys/__init__.py")),
];

/// The kinds of objects that Tiltfiles can make.
const KINDS: [&str; 8] = [
    "Cmd",
    "ConfigMap",
    "Extension",
    "ExtensionRepo",
    "FileWatch",
    "KubernetesApply",
    "KubernetesDiscovery",
    "UIButton",
];

/// Writes all files below a folder, and says which.
pub(super) fn write(dir: &str, printer: Printer) -> Result<(), Failure> {
    // What is written is named without the dots of the folder.
    let folder: &Path =
        &Path::new(dir).components().filter(|it| *it != Component::CurDir).collect::<PathBuf>();
    if !Path::new(dir).is_dir() {
        return Err(Failure::Plain(format!(
            "Provided name {dir} doesn't exist or isn't a directory"
        )));
    }
    let objects = objects();
    let files = FILES.into_iter().chain([("api/v1alpha1/__init__.py", objects.as_str())]);
    for (name, text) in files {
        write_file(folder, name, text, printer)
            .map_err(|it| Failure::Plain(format!("dump api-docs: {it}")))?;
    }
    Ok(())
}

fn write_file(folder: &Path, name: &str, text: &str, printer: Printer) -> io::Result<()> {
    let file = folder.join(name);
    let inner = file.parent().unwrap_or(folder);
    if !inner.is_dir() {
        fs::create_dir_all(inner)?;
        printer.out(&format!("wrote {}\n", inner.display()));
    }
    fs::write(&file, text)?;
    printer.out(&format!("wrote {}\n", file.display()));
    Ok(())
}

/// The functions that make objects, from the table of their fields.
fn objects() -> String {
    let mut out = "\"\"\"Objects of the API, made by the Tiltfile.\"\"\"\n\n\
         from typing import Any, Dict, List, Optional\n"
        .to_owned();
    let mut structs: Vec<&Type> = Vec::new();
    for name in KINDS {
        let Some(kind) = Kind::named(name) else { continue };
        let mut fields = Vec::new();
        match kind.spec {
            Some(spec) => fields.extend(spec.fields.iter().map(|it| (it.name, it.ty, it.doc))),
            None => fields.push(("data", Ty::Map, "Texts by key.")),
        }
        let common = [
            "name: str",
            "labels: Optional[Dict[str, str]] = None",
            "annotations: Optional[Dict[str, str]] = None",
        ];
        function(&mut out, &snake(kind.kind), kind.doc, &common, &fields);
        structs.extend(kind.spec.into_iter().flat_map(inner));
    }
    structs.sort_by_key(|it| it.name);
    structs.dedup_by_key(|it| it.name);
    for it in structs {
        let fields: Vec<_> = it.fields.iter().map(|it| (it.name, it.ty, it.doc)).collect();
        function(&mut out, &snake(it.name.trim_end_matches("Spec")), it.doc, &[], &fields);
    }
    out
}

/// The structures inside of a structure, however deep.
fn inner(ty: &'static Type) -> Vec<&'static Type> {
    let mut found = Vec::new();
    for field in ty.fields {
        if let Ty::Struct(it) | Ty::Ptr(it) | Ty::List(it) = field.ty {
            found.push(it);
            found.extend(inner(it));
        }
    }
    found
}

fn function(out: &mut String, name: &str, doc: &str, common: &[&str], fields: &[(&str, Ty, &str)]) {
    let mut parameters: Vec<String> = common.iter().map(|it| (*it).to_owned()).collect();
    parameters.extend(
        fields
            .iter()
            .map(|(name, ty, _)| format!("{}: Optional[{}] = None", snake(name), python(*ty))),
    );
    // Writing to a text does not fail.
    let _ =
        write!(out, "\n\ndef {name}(\n    {},\n):\n    \"\"\"{doc}\n", parameters.join(",\n    "));
    if !fields.is_empty() {
        out.push_str("\n    Args:\n");
    }
    for (name, _, doc) in fields {
        let _ = writeln!(out, "      {}: {}", snake(name), doc.replace('\n', " "));
    }
    out.push_str("    \"\"\"\n");
}

fn python(ty: Ty) -> &'static str {
    match ty {
        Ty::Str
        | Ty::StrPtr
        | Ty::Time
        | Ty::TimePtr
        | Ty::MicroTime
        | Ty::MicroTimePtr
        | Ty::Duration
        | Ty::DurationPtr => "str",
        Ty::Bool => "bool",
        Ty::Int32 | Ty::Int64 => "int",
        Ty::Strings => "List[str]",
        Ty::Ints => "List[int]",
        Ty::Map => "Dict[str, str]",
        Ty::List(_) => "List[Any]",
        Ty::Struct(_) | Ty::Ptr(_) | Ty::Any => "Any",
    }
}

/// A name as functions and their parameters are written: `UIButton` is `ui_button`.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_lower = at > 0 && !letters[at - 1].is_uppercase();
        let before_lower = at > 0 && letters.get(at + 1).is_some_and(|it| it.is_lowercase());
        if letter.is_uppercase() && (after_lower || before_lower) {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_python() {
        for (name, want) in [
            ("UIButton", "ui_button"),
            ("FileWatch", "file_watch"),
            ("KubernetesApply", "kubernetes_apply"),
            ("applyYAML", "apply_yaml"),
            ("iconSVG", "icon_svg"),
            ("componentID", "component_id"),
            ("args", "args"),
        ] {
            assert_eq!(snake(name), want);
        }
    }

    #[test]
    fn every_kind_that_tiltfiles_make_has_a_function() {
        let text = objects();
        for kind in KINDS {
            assert!(text.contains(&format!("\ndef {}(\n    name: str,", snake(kind))), "{kind}");
        }
        assert!(text.contains("    watched_paths: Optional[List[str]] = None,"));
    }

    #[test]
    fn the_files_are_python() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().to_str().unwrap(), Printer).unwrap();
        let checked = std::process::Command::new("python3")
            .args(["-m", "compileall", "-q"])
            .arg(dir.path())
            .env("PYTHONPYCACHEPREFIX", dir.path().join("cache"))
            .status();
        // Who has no Python cannot check it.
        assert!(checked.is_err() || checked.is_ok_and(|it| it.success()));
    }
}
