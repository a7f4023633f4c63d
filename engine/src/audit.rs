//! The audit log: what was written to clusters, and which commands could have written, with why, when and by whom.
//!
//! One file for all instances of a user, to which lines of JSON are only ever added. When it grows too large, the
//! older half moves to a file beside it.

use std::{
    fs,
    io::{self, BufRead, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use engine_kubernetes::{Sink, Write, WriteOutcome};
use serde::{Deserialize, Serialize};

use crate::logs::LogStore;

/// The file is put aside when it is larger than this.
const SIZE_MAX: u64 = 16 << 20;

/// One line of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry {
    /// When.
    pub time: String,
    /// The process of the engine.
    pub pid: u32,
    /// The context of the cluster.
    pub context: String,
    /// What was done to an object: create, patch, apply, update or delete; `run` for a command.
    pub verb: String,
    /// The object, as `Kind/name`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// The version of the object's API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The namespace of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The command line, of a command that could write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Why, and by whom.
    pub cause: String,
    /// How it ended: empty if well, and for commands, which are noted when they start.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// Writes the audit log; cheap to clone.
#[derive(Clone, Debug)]
pub struct Audit {
    file: Arc<Mutex<Option<fs::File>>>,
    path: Arc<Path>,
    /// The context that entries are about.
    context: Arc<str>,
    /// Knows the secrets that must not be read here.
    logs: Option<LogStore>,
}

/// Where the audit log of this user is.
#[must_use]
pub fn path() -> PathBuf {
    crate::dev_dir::path().join("audit.jsonl")
}

impl Audit {
    /// An audit log in this file, which is made with the first entry.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { file: Arc::default(), path: path.into(), context: Arc::default(), logs: None }
    }

    /// The same, for the cluster of this context.
    #[must_use]
    pub fn about(&self, context: &str) -> Self {
        Self { context: context.into(), ..self.clone() }
    }

    /// The same, without the values of the secrets that a log leaves out.
    #[must_use]
    pub fn scrubbed(self, logs: LogStore) -> Self {
        Self { logs: Some(logs), ..self }
    }

    /// Notes every write to a cluster.
    #[must_use]
    pub fn sink(&self) -> Sink {
        let audit = self.clone();
        Arc::new(move |write: Write| {
            let error = match write.outcome {
                WriteOutcome::Done => String::new(),
                WriteOutcome::Failed(error) => error,
                WriteOutcome::Unknown => "given up before there was an answer".to_owned(),
            };
            audit.add(Entry {
                context: audit.context.to_string(),
                verb: write.verb.name().to_owned(),
                object: format!("{}/{}", write.object.kind, write.object.name),
                api_version: write.object.api_version,
                namespace: write.object.namespace,
                cause: write.cause,
                error,
                ..Entry::default()
            });
        })
    }

    /// Notes a command that has the means to write to a cluster.
    pub fn command(&self, argv: &[String], cause: &str) {
        self.add(Entry {
            context: self.context.to_string(),
            verb: "run".to_owned(),
            command: argv.to_vec(),
            cause: cause.to_owned(),
            ..Entry::default()
        });
    }

    fn add(&self, entry: Entry) {
        let time = crate::logs::micro_time(std::time::SystemTime::now());
        let mut entry = Entry { time, pid: std::process::id(), ..entry };
        if let Some(logs) = &self.logs {
            let scrubber = logs.scrubber();
            for text in entry.command.iter_mut().chain([&mut entry.cause, &mut entry.error]) {
                *text = scrubber.scrub(text).into_owned();
            }
        }
        let Ok(mut line) = serde_json::to_vec(&entry) else { return };
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Work does not stop when nobody can note it; that would be worse.
        let _ = self.append(&mut file, &line);
    }

    fn append(&self, file: &mut Option<fs::File>, line: &[u8]) -> io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|it| it.len() > SIZE_MAX) {
            *file = None;
            fs::rename(&self.path, older(&self.path))?;
        }
        if file.is_none() || !self.path.exists() {
            if let Some(dir) = self.path.parent() {
                fs::create_dir_all(dir)?;
            }
            let mut options = fs::OpenOptions::new();
            *file = Some(options.create(true).append(true).mode(0o600).open(&self.path)?);
        }
        match file {
            // One write, so that lines of two engines do not mix.
            Some(file) => file.write_all(line),
            None => Ok(()),
        }
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("old.jsonl")
}

/// All entries of a log, oldest first. Lines that make no sense are passed over.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in [older(path), path.to_owned()] {
        let file = match fs::File::open(file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in io::BufReader::new(file).lines() {
            entries.extend(serde_json::from_str::<Entry>(&line?).ok());
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use engine_kubernetes::{ObjectKey, Verb};

    use super::*;

    #[test]
    fn writes_and_commands_can_be_read_again_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let audit = Audit::new(path.clone()).about("kind");
        let object = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: "shop".to_owned(),
            name: "db".to_owned(),
        };
        let outcome = WriteOutcome::Failed("no".to_owned());
        let cause = "CLI Trigger".to_owned();
        audit.sink()(Write { verb: Verb::Patch, object, cause, outcome });
        audit.command(&["kubectl".to_owned(), "delete".to_owned()], "Initial Build");
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{torn\n").unwrap();

        let read: Vec<String> = read(&path)
            .unwrap()
            .iter()
            .map(|it| {
                let Entry { verb, object, namespace, command, cause, error, .. } = it;
                format!("{verb} {namespace}:{object}{} [{cause}] {error}", command.join(" "))
            })
            .collect();
        assert_eq!(
            read,
            ["patch shop:Secret/db [CLI Trigger] no", "run :kubectl delete [Initial Build] "]
        );
    }
}
