//! A case on disk: where its inputs are and what was recorded for it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use fancy_regex::Regex;
use serde_json::Value;

/// Files of a case that steer the run and are not copied into the working directory.
pub(crate) const INPUT_FILES: [&str; 3] = ["args", "env", "mask"];

/// Files of a case that hold the recorded result.
pub(crate) const OUTPUT_FILES: [&str; 3] = ["expected.json", "expected.log", "expected.error"];

/// One folder with a Tiltfile, its fixtures and its recorded result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The area and the name of the case, as in `helm/defaults`.
    pub label: String,
    /// The folder of the case.
    pub dir: PathBuf,
}

/// Which of the cases to take.
#[derive(Debug, Default)]
pub struct Filter {
    /// Areas to take; all of them if empty.
    pub areas: Vec<String>,
    /// A pattern that the label must match.
    pub label: Option<Regex>,
}

/// What Tilt did with a case.
#[derive(Debug)]
pub enum Expected {
    /// Evaluation succeeded with this value, and printed these lines.
    Success {
        /// The normalized result.
        value: Value,
        /// What the Tiltfile printed.
        log: Vec<String>,
    },
    /// Evaluation failed with this error, after printing these lines.
    Failure {
        /// The exit code, the last frames of the traceback and the message.
        error: Vec<String>,
        /// What the Tiltfile printed before.
        log: Vec<String>,
    },
    /// The case has no recorded result yet.
    Missing,
}

/// The area of cases that load extensions: Tilt's own when they are recorded, the engine's when they are compared.
const EXTENSIONS_AREA: &str = "stdlib/";

impl Case {
    /// Whether the case loads extensions by their public names.
    pub(crate) fn uses_extensions(&self) -> bool {
        self.label.starts_with(EXTENSIONS_AREA)
    }

    /// The arguments after `--`, or `None` if not even `--` is passed.
    pub(crate) fn args(&self) -> io::Result<Option<Vec<String>>> {
        read_optional(&self.dir.join("args")).map(|text| text.map(|text| lines(&text)))
    }

    /// The variables that the case adds to the environment.
    pub(crate) fn env(&self) -> io::Result<Vec<(String, String)>> {
        let text = read_optional(&self.dir.join("env"))?.unwrap_or_default();
        Ok(lines(&text)
            .iter()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect())
    }

    /// The lines of the `mask` file, as a pattern and its replacement.
    pub(crate) fn masks(&self) -> io::Result<Vec<(String, String)>> {
        let text = read_optional(&self.dir.join("mask"))?.unwrap_or_default();
        Ok(lines(&text)
            .iter()
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.split_once(" => ").unwrap_or((line, "")))
            .map(|(pattern, replacement)| (pattern.to_owned(), replacement.to_owned()))
            .collect())
    }

    /// The recorded result.
    pub fn expected(&self) -> io::Result<Expected> {
        let log = self.recorded_lines("expected.log")?.unwrap_or_default();
        if let Some(error) = self.recorded_lines("expected.error")? {
            return Ok(Expected::Failure { error, log });
        }
        let Some(text) = read_optional(&self.dir.join("expected.json"))? else {
            return Ok(Expected::Missing);
        };
        Ok(Expected::Success { value: serde_json::from_str(&text)?, log })
    }

    /// Only `\n` ends a line here, as recorded lines may hold a carriage return.
    fn recorded_lines(&self, name: &str) -> io::Result<Option<Vec<String>>> {
        let text = read_optional(&self.dir.join(name))?;
        Ok(text.map(|text| {
            let text = text.strip_suffix('\n').unwrap_or(&text);
            text.split('\n').map(str::to_owned).collect()
        }))
    }
}

/// The cases of a tree of `area/name` folders that pass the filter, sorted by label.
pub fn find_cases(tree: &Path, filter: &Filter) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for area in subfolders(tree)? {
        if !filter.areas.is_empty() && !filter.areas.contains(&area) {
            continue;
        }
        let area_dir = tree.join(&area);
        for name in subfolders(&area_dir)? {
            let label = format!("{area}/{name}");
            let wanted = |pattern: &Regex| pattern.is_match(&label).unwrap_or(false);
            if filter.label.as_ref().is_none_or(wanted) {
                cases.push(Case { dir: area_dir.join(&name), label });
            }
        }
    }
    Ok(cases)
}

fn subfolders(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn read_optional(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
