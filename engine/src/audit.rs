//! The audit log: what was written to clusters, and which commands could have written, with why, when and by whom.
//!
//! One file for all instances of a user, to which lines of JSON are only ever added. When it grows too large, the
//! older half moves to a file beside it.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use engine_files::private;
use engine_kubernetes::{Sink, Write, WriteOutcome};
use serde::{Deserialize, Serialize};

use crate::logs::LogStore;

/// The file is put aside when it is larger than this.
const SIZE_MAX: u64 = 16 << 20;

/// How often to look for the file.
const ATTEMPTS: usize = 10;

/// Counts up when entries mean something else than before.
const VERSION: u32 = 1;

/// One line of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry {
    /// Of the format; earlier entries have none.
    pub version: u32,
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
///
/// # Errors
/// If the user has no place for files.
pub fn path() -> io::Result<PathBuf> {
    Ok(engine_files::dev_dir::path()?.join("audit.jsonl"))
}

impl Audit {
    /// An audit log in this file, which is made with the first entry.
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
    pub fn sink(&self) -> Sink {
        let audit = self.clone();
        Arc::new(move |write: Write| {
            let error = match write.outcome {
                WriteOutcome::Done => String::new(),
                WriteOutcome::Failed(error) => error,
                WriteOutcome::Unknown => "canceled before an answer came".to_owned(),
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
        let mut entry = Entry { version: VERSION, time, pid: std::process::id(), ..entry };
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
        // Another engine may put the file aside at any time, but not again and again.
        for _ in 0..ATTEMPTS {
            let open = match file.take() {
                Some(open) => open,
                None => self.open()?,
            };
            // Lines of two engines do not mix, and the file is put aside once.
            open.lock()?;
            let metadata = open.metadata()?;
            if !fs::metadata(&self.path).is_ok_and(|it| it.ino() == metadata.ino()) {
                continue;
            }
            if metadata.len() > SIZE_MAX {
                fs::rename(&self.path, older(&self.path))?;
                continue;
            }
            let written = (&open).write_all(line);
            if written.is_err() {
                // Half a line would spoil the next one.
                let _ = open.set_len(metadata.len());
            }
            open.unlock()?;
            *file = Some(open);
            return written;
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn open(&self) -> io::Result<fs::File> {
        private::create_dir(self.path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        private::append(&self.path)
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("old.jsonl")
}

/// What a log says.
#[derive(Debug, Default)]
pub struct Contents {
    /// All entries that can be read, oldest first.
    pub entries: Vec<Entry>,
    /// How many lines make no sense.
    pub n_damaged: usize,
    /// How many entries a newer version has written, whose meaning is not known here.
    pub n_newer: usize,
}

/// Reads a log; damage costs no more than the lines that have it.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Contents> {
    let mut contents = Contents::default();
    for file in [older(path), path.to_owned()] {
        let bytes = match fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in bytes.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            match serde_json::from_str::<Entry>(&String::from_utf8_lossy(line)) {
                Ok(entry) if entry.version > VERSION => contents.n_newer += 1,
                Ok(entry) => contents.entries.push(entry),
                Err(_) if version_of(line) > VERSION => contents.n_newer += 1,
                Err(_) => contents.n_damaged += 1,
            }
        }
    }
    Ok(contents)
}

/// The version of an entry that is not understood.
fn version_of(line: &[u8]) -> u32 {
    let entry = serde_json::from_slice::<serde_json::Value>(line).unwrap_or_default();
    entry["version"].as_u64().map_or(0, |it| u32::try_from(it).unwrap_or(u32::MAX))
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

        let read: Vec<String> = read(&path)
            .unwrap()
            .entries
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
    #[test]
    fn damage_costs_only_the_lines_that_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let audit = Audit::new(path.clone());
        audit.command(&["a".to_owned()], "first");
        let damage =
            b"{torn\n\n\xff\xfe\n{\"cause\":\"a b\xffd byte\"}\n{\"version\":99,\"cause\":[]}\n\
                       {\"version\":99}\n";
        private::append(&path).unwrap().write_all(damage).unwrap();
        audit.command(&["b".to_owned()], "last");

        let read = read(&path).unwrap();
        let causes: Vec<&str> = read.entries.iter().map(|it| it.cause.as_str()).collect();
        assert_eq!(causes, ["first", "a b\u{fffd}d byte", "last"]);
        assert_eq!((read.n_damaged, read.n_newer), (2, 2));
    }

    #[test]
    fn engines_that_write_at_the_same_time_put_a_large_file_aside_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        fs::write(&path, "x".repeat(usize::try_from(SIZE_MAX).unwrap()) + "\n").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let audit = Audit::new(path.clone());
                scope.spawn(move || audit.command(&["a".to_owned()], "cause"));
            }
        });
        let read = read(&path).unwrap();
        assert_eq!((read.entries.len(), read.n_damaged), (8, 1));
        assert!(fs::metadata(older(&path)).unwrap().len() > SIZE_MAX);
    }
}
