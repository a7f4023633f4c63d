//! Walks a directory in the order that archives and file sync need: names sorted by their bytes,
//! a directory right before what is in it.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs::{self, Metadata},
    io,
    ops::ControlFlow,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use super::{BuildContext, Filter};

/// A file, directory or link that belongs to the context.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Relative to the context.
    pub(crate) path: PathBuf,
    /// Where it is.
    pub(crate) full: PathBuf,
    pub(crate) metadata: Metadata,
    pub(crate) kind: Kind,
    /// A directory that is left out itself, but not all that is in it.
    pub(crate) is_matched: bool,
}

/// What something on this machine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file with content.
    File,
    /// A directory.
    Directory,
    /// With its target, as written.
    Symlink(PathBuf),
    /// Pipes, sockets and devices.
    Special,
}

/// What a reader wants to see of a context.
pub(crate) trait Select {
    /// What it wants of a directory, by its path relative to the context.
    fn directory(&self, path: &Path) -> Wanted;
    /// Whether it wants a file.
    fn file(&self, path: &Path) -> bool;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Yes,
    /// Only if something in it is wanted.
    Perhaps,
    No,
}

/// Everything.
pub(crate) struct All;

impl Select for All {
    fn directory(&self, _: &Path) -> Wanted {
        Wanted::Yes
    }

    fn file(&self, _: &Path) -> bool {
        true
    }
}

/// Some files, with the directories above them.
#[derive(Debug)]
pub(crate) struct Only {
    files: HashSet<PathBuf>,
    directories: HashSet<PathBuf>,
}

impl Only {
    /// These files, relative to the context.
    pub(crate) fn new(files: &[String]) -> Self {
        let files: HashSet<PathBuf> = files.iter().map(PathBuf::from).collect();
        let above = files.iter().flat_map(|it| it.ancestors().skip(1));
        let directories = above.map(Path::to_owned).collect();
        Self { files, directories }
    }
}

/// What both a reader and a list of files want.
struct Both<'a>(&'a dyn Select, &'a Only);

impl Select for Both<'_> {
    fn directory(&self, path: &Path) -> Wanted {
        let Self(select, only) = self;
        match select.directory(path) {
            Wanted::Yes | Wanted::Perhaps if only.directories.contains(path) => Wanted::Perhaps,
            _ => Wanted::No,
        }
    }

    fn file(&self, path: &Path) -> bool {
        let Self(select, only) = self;
        only.files.contains(path) && select.file(path)
    }
}

impl BuildContext {
    /// Shows all wanted entries to `visit`, until it has seen enough.
    pub(crate) fn walk(
        &self,
        select: &dyn Select,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        match &self.only {
            Some(only) => walk(root, &self.dir, &self.filter, &Both(select, only), visit),
            None => walk(root, &self.dir, &self.filter, select, visit),
        }
    }
}

/// Walks the directory `root`, whose patterns know it as `shown_as`.
pub(crate) fn walk(
    root: &Path,
    shown_as: &Path,
    filter: &Filter,
    select: &dyn Select,
    visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut walk = Walk { shown_as, filter, select, visit, pending: Vec::new() };
    walk.directory(root, Path::new("")).map(|_| ())
}

impl Filter {
    /// All files below a path that are not left out, sorted; the path itself if it is a file. What is not there has
    /// none.
    pub fn files_below(&self, root: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(metadata) = found(fs::metadata(root))? else { return Ok(Vec::new()) };
        if !metadata.is_dir() {
            return Ok(if self.matches(root) { Vec::new() } else { vec![root.to_owned()] });
        }
        let mut files = Vec::new();
        let mut visit = |entry: Entry| {
            if entry.kind != Kind::Directory {
                files.push(root.join(entry.path));
            }
            ControlFlow::Continue(())
        };
        walk(&fs::canonicalize(root)?, root, self, &All, &mut visit)?;
        Ok(files)
    }
}

struct Walk<'a> {
    shown_as: &'a Path,
    filter: &'a Filter,
    select: &'a dyn Select,
    visit: &'a mut dyn FnMut(Entry) -> ControlFlow<()>,
    /// Directories above the current one that are shown as soon as something in them is.
    pending: Vec<Entry>,
}

impl Walk<'_> {
    fn directory(&mut self, full: &Path, path: &Path) -> io::Result<ControlFlow<()>> {
        let Some(entries) = found(fs::read_dir(full)).map_err(|it| at(full, &it))? else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut children: Vec<(OsString, fs::DirEntry)> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|it| at(full, &it))?;
            children.push((entry.file_name(), entry));
        }
        children.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, child) in children {
            let child_path = path.join(name);
            if self.child(&child, child_path)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn child(&mut self, child: &fs::DirEntry, path: PathBuf) -> io::Result<ControlFlow<()>> {
        let full = child.path();
        let shown = self.shown_as.join(&path);
        let Some(metadata) = found(child.metadata()).map_err(|it| at(&full, &it))? else {
            return Ok(ControlFlow::Continue(()));
        };
        if !metadata.is_dir() {
            if self.filter.matches(&shown) || !self.select.file(&path) {
                return Ok(ControlFlow::Continue(()));
            }
            let Some(kind) = kind_of(&full, &metadata)? else {
                return Ok(ControlFlow::Continue(()));
            };
            return Ok(self.show(Entry { path, full, metadata, kind, is_matched: false }));
        }
        if self.filter.matches_entire_dir(&shown) {
            return Ok(ControlFlow::Continue(()));
        }
        let wanted = self.select.directory(&path);
        if wanted == Wanted::No {
            return Ok(ControlFlow::Continue(()));
        }
        let is_matched = self.filter.matches(&shown);
        let entry = Entry {
            path: path.clone(),
            full: full.clone(),
            metadata,
            kind: Kind::Directory,
            is_matched,
        };
        if wanted == Wanted::Yes && self.show_pending().is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let above = self.pending.len();
        match wanted {
            Wanted::Yes => {
                if (self.visit)(entry).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            _ => self.pending.push(entry),
        }
        let flow = self.directory(&full, &path)?;
        self.pending.truncate(above);
        Ok(flow)
    }

    fn show(&mut self, entry: Entry) -> ControlFlow<()> {
        self.show_pending()?;
        (self.visit)(entry)
    }

    fn show_pending(&mut self) -> ControlFlow<()> {
        for entry in self.pending.drain(..) {
            (self.visit)(entry)?;
        }
        ControlFlow::Continue(())
    }
}

/// Tells what an entry is; `None` if it is gone by now.
pub(crate) fn kind_of(full: &Path, metadata: &Metadata) -> io::Result<Option<Kind>> {
    let of = metadata.file_type();
    Ok(Some(if of.is_file() {
        Kind::File
    } else if of.is_dir() {
        Kind::Directory
    } else if of.is_symlink() {
        match found(fs::read_link(full)).map_err(|it| at(full, &it))? {
            Some(target) => Kind::Symlink(target),
            None => return Ok(None),
        }
    } else {
        Kind::Special
    }))
}

impl Entry {
    /// Whether it is a socket, which nobody can copy.
    pub(crate) fn is_socket(&self) -> bool {
        self.metadata.file_type().is_socket()
    }
}

/// What is gone by the time it is looked at was never there.
pub(crate) fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Names the file in an error.
pub(crate) fn at(file: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use engine_model::IgnoreDef;

    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let full = dir.path().join(file);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, file).unwrap();
        }
        dir
    }

    fn shown(context: &BuildContext, select: &dyn Select) -> Vec<String> {
        let mut found = Vec::new();
        let mut visit = |entry: Entry| {
            let mark = if entry.is_matched { "?" } else { "" };
            found.push(format!("{}{mark}", entry.path.display()));
            ControlFlow::Continue(())
        };
        context.walk(select, &mut visit).unwrap();
        found
    }

    fn context(dir: &tempfile::TempDir, patterns: &[&str]) -> BuildContext {
        let base = dir.path().to_str().unwrap();
        let patterns: Vec<String> = patterns.iter().map(|&it| it.to_owned()).collect();
        let defs: Vec<_> = (!patterns.is_empty())
            .then(|| IgnoreDef { base_path: base.to_owned(), patterns })
            .into_iter()
            .collect();
        BuildContext::new(base, &defs).unwrap()
    }

    #[test]
    fn directories_come_right_before_what_is_in_them() {
        let dir = tree(&["a-b", "a/x", "a/y/z", "a.txt"]);
        assert_eq!(shown(&context(&dir, &[]), &All), ["a", "a/x", "a/y", "a/y/z", "a-b", "a.txt"]);
    }

    #[test]
    fn what_patterns_leave_out_is_not_entered_unless_something_in_it_is_kept() {
        let dir = tree(&["build/keep", "build/drop", "node_modules/x/y", "src/main"]);
        let patterns = ["node_modules", "build", "!build/keep"];
        assert_eq!(
            shown(&context(&dir, &patterns), &All),
            ["build?", "build/keep", "src", "src/main"]
        );
        assert_eq!(shown(&context(&dir, &["**", "!src"]), &All), ["src", "src/main"]);
    }

    struct Just(&'static str);

    impl Select for Just {
        fn directory(&self, _: &Path) -> Wanted {
            Wanted::Perhaps
        }

        fn file(&self, path: &Path) -> bool {
            path == Path::new(self.0)
        }
    }

    #[test]
    fn directories_show_only_if_something_in_them_is_wanted() {
        let dir = tree(&["a/b/c", "a/d/e", "f"]);
        assert_eq!(shown(&context(&dir, &[]), &Just("a/d/e")), ["a", "a/d", "a/d/e"]);
        assert_eq!(shown(&context(&dir, &[]), &Just("f")), ["f"]);
    }

    #[test]
    fn a_context_may_be_some_files_of_a_directory() {
        let dir = tree(&["a/b/c", "a/b/d", "e/f", "g"]);
        let files = ["a/b/c".to_owned(), "g".to_owned(), "gone".to_owned()];
        let context = context(&dir, &[]).with_only(&files);
        assert_eq!(shown(&context, &All), ["a", "a/b", "a/b/c", "g"]);
        assert_eq!(shown(&context, &Just("a/b/d")), [""; 0]);
    }

    #[test]
    fn a_walk_ends_when_the_visitor_has_seen_enough() {
        let dir = tree(&["a", "b"]);
        let mut count = 0;
        let mut visit = |_| {
            count += 1;
            ControlFlow::Break(())
        };
        context(&dir, &[]).walk(&All, &mut visit).unwrap();
        assert_eq!(count, 1);
    }
}
