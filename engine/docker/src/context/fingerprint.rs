//! Whether a context still has the content it had: a digest over names, kinds, modes and contents.
//! Times do not count, as they do not count to Docker.
//!
//! A file is read only if its size, times or inode differ from when it was read last, so an
//! unchanged context costs a walk and nothing else.

use std::{
    collections::HashMap,
    fmt,
    fs::{File, Metadata},
    io::{self, Read},
    ops::ControlFlow,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    },
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use engine_formats::golang::hex;
use engine_model::path::to_text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    BuildContext,
    listing::Listing,
    walk::{self, All, Entry, Kind},
};
use crate::error::DockerError;

/// File systems write down times in steps; a file as new as this may change once more within one.
const STEP: Duration = Duration::from_millis(50);

/// Of so many contexts the files are remembered.
const CONTEXTS_MAX: usize = 200;

/// The digest of a context's content.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Contents that were read already. It can be kept on disk, so that a restart costs no reading.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// By context, then by path.
    contexts: HashMap<String, HashMap<String, Known>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    seen: Seen,
    #[serde(with = "digest_text")]
    digest: [u8; 32],
}

/// What tells that a file was not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
    device: u64,
}

impl Seen {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Makes it differ from what the file really is, in nothing that the engine sees.
    pub(crate) fn without_change(self) -> Self {
        Self { changed: (0, 0), ..self }
    }

    /// Whether the engine, which knows neither inodes nor change times, sees no difference.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        self.size == other.size && self.modified == other.modified
    }

    /// Whether the file is so old that any later change shows in its times.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.changed;
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanos);
        now.duration_since(changed).is_ok_and(|age| age > STEP)
    }
}

impl Fingerprints {
    /// Looks at what a context has. It reads the disk, and therefore blocks.
    pub fn of(&mut self, context: &BuildContext) -> Result<Listing, DockerError> {
        let key = key(context);
        let before = self.contexts.remove(&key).unwrap_or_default();
        let (after, digest) = (HashMap::new(), Sha256::new());
        let mut listing = Listing::default();
        if let Some(metadata) = context.root().and_then(|it| it.metadata().ok()) {
            listing.saw(&metadata);
        }
        let mut pass = Pass { before, after, digest, listing, error: None };
        let mut visit = |entry: Entry| match pass.add(&entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                pass.error = Some(error);
                ControlFlow::Break(())
            }
        };
        let walked = context.walk(&All, &mut visit);
        let failed = walked.err().or(pass.error);
        self.contexts.insert(key, pass.after);
        match failed {
            None => {
                pass.listing.fingerprint = Fingerprint(pass.digest.finalize().into());
                Ok(pass.listing)
            }
            Some(source) => {
                let path = context.dir().to_owned();
                Err(DockerError::File { doing: "reading build context:", path, source })
            }
        }
    }
}

impl Fingerprints {
    /// What is known of one context, to be looked at while others are, too.
    #[must_use]
    pub fn only(&self, context: &BuildContext) -> Self {
        let key = key(context);
        let known = self.contexts.get(&key).cloned();
        Self { contexts: known.into_iter().map(|it| (key.clone(), it)).collect() }
    }

    /// Takes over what has become known elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.contexts.extend(other.contexts);
        // Contexts of earlier Tiltfiles are of no use, and are read again should they come back.
        while self.contexts.len() > CONTEXTS_MAX {
            let Some(any) = self.contexts.keys().next().cloned() else { break };
            self.contexts.remove(&any);
        }
    }
}

/// What a context is remembered by: its directory and what is left out of it.
pub(crate) fn key(context: &BuildContext) -> String {
    let mut digest = Sha256::new();
    // Copies of some files are not to take the place of a copy of all.
    digest.update([u8::from(context.is_partial())]);
    digest.update(context.dir.as_os_str().as_bytes());
    for def in &context.filter.defs {
        digest.update([0]);
        digest.update(&def.base_path);
        for pattern in &def.patterns {
            digest.update([1]);
            digest.update(pattern);
        }
    }
    hex::encode(&digest.finalize())
}

/// One walk over a context.
struct Pass {
    before: HashMap<String, Known>,
    after: HashMap<String, Known>,
    digest: Sha256,
    listing: Listing,
    error: Option<io::Error>,
}

impl Pass {
    fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mode = entry.metadata.permissions().mode();
        let content = match &entry.kind {
            Kind::File => match self.content(entry)? {
                Some(digest) => digest.to_vec(),
                // It is gone by now.
                None => return Ok(()),
            },
            Kind::Symlink(target) => target.as_os_str().as_bytes().to_vec(),
            Kind::Directory => Vec::new(),
            Kind::Special => entry.metadata.rdev().to_be_bytes().to_vec(),
        };
        let mode = if matches!(entry.kind, Kind::Symlink(_)) { mode & 0o170_000 } else { mode };
        let path = entry.path.as_os_str().as_bytes();
        // Lengths first, so that no two contexts give the same bytes.
        self.digest.update((path.len() as u64).to_be_bytes());
        self.digest.update(path);
        self.digest.update(mode.to_be_bytes());
        self.digest.update((content.len() as u64).to_be_bytes());
        self.digest.update(&content);
        self.listing.add(entry, mode, &content);
        Ok(())
    }

    /// The digest of a file, from memory if it was not touched.
    fn content(&mut self, entry: &Entry) -> io::Result<Option<[u8; 32]>> {
        let name = to_text(&entry.path).into_owned();
        let seen = Seen::new(&entry.metadata);
        if let Some(known) = self.before.remove(&name)
            && known.seen == seen
        {
            let digest = known.digest;
            self.after.insert(name, known);
            return Ok(Some(digest));
        }
        let now = SystemTime::now();
        let Some(digest) =
            walk::found(digest_of(&entry.full)).map_err(|it| walk::at(&entry.full, &it))?
        else {
            return Ok(None);
        };
        if seen.is_settled(now) {
            self.after.insert(name, Known { seen, digest });
        }
        Ok(Some(digest))
    }
}

fn digest_of(file: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(file)?;
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 256 * 1024];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(digest.finalize().into()),
            len => digest.update(&chunk[..len]),
        }
    }
}

impl Fingerprints {
    /// Reads what an earlier run has kept of a context; a damaged or missing file counts as nothing.
    pub fn load(dir: &Path, context: &BuildContext) -> Self {
        let key = key(context);
        let text = std::fs::read(dir.join(file_name(&key))).unwrap_or_default();
        let files: HashMap<String, Known> = serde_json::from_slice(&text).unwrap_or_default();
        Self { contexts: HashMap::from([(key, files)]) }
    }

    /// Keeps what is known of a context for a later run, whole or not at all.
    pub fn save(&self, dir: &Path, context: &BuildContext) -> io::Result<()> {
        let key = key(context);
        let text = serde_json::to_vec(&self.contexts.get(&key)).map_err(io::Error::other)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut temporary = tempfile::NamedTempFile::new_in(dir)?;
        io::Write::write_all(&mut temporary, &text)?;
        temporary.persist(dir.join(file_name(&key))).map(|_| ()).map_err(|error| error.error)?;
        forget_oldest(dir)
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.contexts.values().all(HashMap::is_empty)
    }
}

/// The file for a context. Versions of the program that write another format have files of their own.
fn file_name(key: &str) -> String {
    format!("{key}.1")
}

/// Removes what was not used for the longest time, if there is too much of it.
fn forget_oldest(dir: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if let Ok(time) = entry.metadata().and_then(|it| it.modified()) {
            files.push((time, entry.path()));
        }
    }
    files.sort();
    let n_over = files.len().saturating_sub(CONTEXTS_MAX);
    files.iter().take(n_over).try_for_each(|(_, path)| std::fs::remove_file(path))
}

/// Digests as text, which is shorter than a list of numbers.
mod digest_text {
    use engine_formats::golang::hex;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(digest: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex::encode(digest))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(from)?;
        let digest = hex::decode(&text).and_then(|it| it.try_into().ok());
        digest.ok_or_else(|| D::Error::custom("no digest"))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn of(fingerprints: &mut Fingerprints, dir: &tempfile::TempDir) -> Fingerprint {
        let context = BuildContext::new(dir.path().to_str().unwrap(), &[]).unwrap();
        fingerprints.of(&context).unwrap().fingerprint()
    }

    #[test]
    fn everything_that_matters_to_an_image_changes_the_digest_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        let mut all = Fingerprints::default();
        let mut seen = vec![of(&mut all, &dir)];
        let mut differs = |what: &str, change: &dyn Fn()| {
            change();
            let now = of(&mut all, &dir);
            assert!(!seen.contains(&now), "{what}");
            assert_eq!(of(&mut Fingerprints::default(), &dir), now, "{what}");
            seen.push(now);
        };
        differs("a new file", &|| fs::write(&file, "1").unwrap());
        differs("a content of the same length", &|| fs::write(&file, "2").unwrap());
        differs("a mode", &|| {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        });
        differs("a name", &|| fs::rename(&file, dir.path().join("b")).unwrap());
        let odd = |bytes: &'static [u8]| dir.path().join(std::ffi::OsStr::from_bytes(bytes));
        differs("a name that is not UTF-8", &|| fs::write(odd(b"x\xff"), "1").unwrap());
        differs("another one", &|| fs::rename(odd(b"x\xff"), odd(b"x\xfe")).unwrap());
        differs("an empty directory", &|| fs::create_dir(dir.path().join("d")).unwrap());
        differs("a link", &|| symlink("b", dir.path().join("l")).unwrap());
        differs("the link's target", &|| {
            fs::remove_file(dir.path().join("l")).unwrap();
            symlink("c", dir.path().join("l")).unwrap();
        });
        let before = of(&mut all, &dir);
        let b = File::options().write(true).open(dir.path().join("b")).unwrap();
        b.set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(of(&mut all, &dir), before, "times do not count");
    }

    #[test]
    fn a_file_that_was_not_touched_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "1").unwrap();
        let context = BuildContext::new(dir.path().to_str().unwrap(), &[]).unwrap();
        let mut all = Fingerprints::default();
        // A file this new is not remembered; pretend that it was.
        all.of(&context).unwrap();
        let seen = Seen::new(&fs::metadata(dir.path().join("a")).unwrap());
        let known = Known { seen, digest: [7; 32] };
        all.contexts.get_mut(&key(&context)).unwrap().insert("a".into(), known);
        let kept = tempfile::tempdir().unwrap();
        all.save(kept.path(), &context).unwrap();
        let mut restarted = Fingerprints::load(kept.path(), &context);
        let known = of(&mut all, &dir);
        assert_ne!(known, of(&mut Fingerprints::default(), &dir));
        assert_eq!(known, of(&mut restarted, &dir));
    }

    #[test]
    fn times_settle_only_after_a_moment() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let seen = Seen::new(&file.as_file().metadata().unwrap());
        let (seconds, nanos) = (seen.changed.0.unsigned_abs(), seen.changed.1.unsigned_abs());
        let changed = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos);
        assert!(!seen.is_settled(changed + STEP / 2));
        assert!(seen.is_settled(changed + 2 * STEP));
    }
}
