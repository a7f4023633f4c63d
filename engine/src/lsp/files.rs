//! The files that are open in the editor, and those around them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use builtins::{
    extension,
    host::OsHost,
    lsp::{self, Declared, Document, Files, Module, NoModule},
};

use super::Shared;

/// Files that are larger are not read for the names in them.
const LARGEST: u64 = 1 << 20;

/// The files that are open, and what was read of others.
#[derive(Default)]
pub(super) struct OpenFiles {
    open: BTreeMap<PathBuf, Shared>,
    /// Files that others load, as long as they stay as they are.
    read: RefCell<HashMap<PathBuf, (Option<SystemTime>, Shared)>>,
    /// Where extensions are; nothing has to be asked twice.
    extensions: RefCell<HashMap<String, Result<String, NoModule>>>,
}

impl OpenFiles {
    pub(super) fn open(&mut self, path: PathBuf, text: String) {
        self.open.insert(path, Arc::new(Document::new(text)));
    }

    pub(super) fn close(&mut self, path: &Path) {
        self.open.remove(path);
    }

    pub(super) fn get(&self, path: &Path) -> Option<Shared> {
        self.open.get(path).cloned()
    }

    pub(super) fn all(&self) -> Vec<(PathBuf, Shared)> {
        self.open.iter().map(|(path, it)| (path.clone(), Arc::clone(it))).collect()
    }

    fn document(&self, path: &Path) -> Result<Shared, NoModule> {
        if let Some(open) = self.open.get(path) {
            return Ok(Arc::clone(open));
        }
        let problem = |error: std::io::Error| NoModule(format!("{}: {error}", path.display()));
        let changed = fs::metadata(path).map_err(problem)?.modified().ok();
        if let Some((since, known)) = self.read.borrow().get(path)
            && *since == changed
        {
            return Ok(Arc::clone(known));
        }
        let text = String::from_utf8_lossy(&fs::read(path).map_err(problem)?).into_owned();
        let document = Arc::new(Document::new(text));
        self.read.borrow_mut().insert(path.to_owned(), (changed, Arc::clone(&document)));
        Ok(document)
    }

    /// The Tiltfile of an extension, where the file that loads it says it is.
    fn extension(&self, from: &Path, name: &str) -> Result<String, NoModule> {
        let document = self.document(from).ok();
        match document.and_then(|it| lsp::declared(&it, name)) {
            Some(Declared::In { url, subpath, path }) => {
                let host = OsHost::from_process(Box::new(|_, _| {}));
                let project = from.parent().unwrap_or(Path::new("/")).to_string_lossy();
                extension::declared_tiltfile(&host, &project, &url, &subpath, &path)
                    .map_err(|why| NoModule(why.to_string()))
            }
            Some(Declared::Default(path)) => self.standard_extension(&path),
            Some(Declared::Open) | None => self.standard_extension(name),
        }
    }

    fn standard_extension(&self, name: &str) -> Result<String, NoModule> {
        if let Some(known) = self.extensions.borrow().get(name) {
            return known.clone();
        }
        let host = OsHost::from_process(Box::new(|_, _| {}));
        let found =
            extension::extension_tiltfile(&host, name).map_err(|why| NoModule(why.to_string()));
        if found.is_ok() {
            self.extensions.borrow_mut().insert(name.to_owned(), found.clone());
        }
        found
    }
}

impl Files for OpenFiles {
    fn module(&self, from: &Path, name: &str) -> Result<Module, NoModule> {
        let path = match name.strip_prefix("ext://") {
            Some(extension) => PathBuf::from(self.extension(from, extension)?),
            None => clean(&from.parent().unwrap_or(Path::new("/")).join(name)),
        };
        let document = self.document(&path)?;
        Ok(Module { path: path.to_string_lossy().into_owned(), document })
    }

    fn list(&self, dir: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .map(|it| {
                let name = it.file_name().to_string_lossy().into_owned();
                if it.path().is_dir() { format!("{name}/") } else { name }
            })
            .collect();
        names.sort_unstable();
        names
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn read(&self, path: &Path) -> Option<String> {
        let is_small = fs::metadata(path).ok()?.len() <= LARGEST;
        if is_small { fs::read_to_string(path).ok() } else { None }
    }
}

/// A path without dots in it, as editors write it.
fn clean(path: &Path) -> PathBuf {
    PathBuf::from(engine_formats::golang::path::clean(&path.to_string_lossy()))
}
