//! Where a path below a root leads: down from the top, directory by directory, each held by its descriptor.
//!
//! Links are followed here and never by the system. Whatever somebody swaps on the way, the helper is in a directory
//! that it has looked at. One that runs as root could be led anywhere by those who may write less than it may, so it
//! follows only links that nobody but root can have made.

use std::{
    cell::OnceCell,
    ffi::{OsStr, OsString},
    fmt,
    fs::Metadata,
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Component, Path, PathBuf},
    rc::Rc,
};

use engine_helper::protocol::Refusal;

use crate::{
    dir::{self, Dir, For},
    place, remove,
};

/// As many links as the system follows.
const LINKS_MAX: usize = 40;

/// How many directories may be inside of each other. Each of them is open.
const DEPTH_MAX: usize = 256;

/// What the system says of a link that it may not follow.
const ELOOP: i32 = 40;

/// Why an entry has no place.
#[derive(Debug)]
pub(crate) enum Problem {
    /// An entry came before any root.
    NoRoot,
    /// A path is absolute, or has `..` or a zero byte in it.
    BadPath(PathBuf),
    /// A link leads out of the root.
    Escapes { link: PathBuf, root: PathBuf },
    /// Root would follow a link that may be somebody else's.
    Planted(PathBuf),
    /// The system does not want it.
    Io { path: PathBuf, error: io::Error },
}

impl Problem {
    /// What the system says about a path.
    pub(crate) fn at(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }

    /// The kind of problem, for the other side.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::NoRoot | Self::BadPath(_) => Refusal::BadPath,
            Self::Escapes { .. } | Self::Planted(_) => Refusal::Escapes,
            Self::Io { error, .. } if place::is_denied(error) => Refusal::Denied,
            Self::Io { error, .. }
                if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
            {
                Refusal::NoSpace
            }
            Self::Io { .. } => Refusal::Other,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoot => f.write_str("no root was given"),
            Self::BadPath(path) => write!(f, "{}: not a path below its root", path.display()),
            Self::Escapes { link, root } => {
                write!(f, "{}: leads out of {}", link.display(), root.display())
            }
            Self::Planted(link) => {
                let link = link.display();
                write!(f, "{link}: root does not follow a link that others than root can change")
            }
            Self::Io { path, error } if path.as_os_str().is_empty() => write!(f, "{error}"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl From<Problem> for io::Error {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Io { ref error, .. } => Self::new(error.kind(), problem.to_string()),
            problem => Self::other(problem.to_string()),
        }
    }
}

/// What the helper may do, and what it is careful about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    uid: u32,
    /// It leaves to somebody else what would not belong to whom it should.
    keeps_owners: bool,
}

impl Rights {
    /// Those of this process.
    pub(crate) fn own(keeps_owners: bool) -> Self {
        Self { uid: dir::own_uid(), keeps_owners }
    }

    /// Whether it may do everything, also to what is not meant.
    pub(crate) fn is_root(self) -> bool {
        self.uid == 0
    }

    /// Whether something new is to be made here that should belong to somebody.
    pub(crate) fn check_owner(self, uid: u32) -> io::Result<()> {
        if self.keeps_owners && !self.is_root() && self.uid != uid {
            let words = "it should belong to somebody else than the container's user";
            return Err(io::Error::new(ErrorKind::PermissionDenied, words));
        }
        Ok(())
    }
}

/// A directory, and the way to it from the top.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) dir: Dir,
    above: Option<(Rc<Node>, OsString)>,
    depth: usize,
    owner: OnceCell<(u32, u32)>,
}

impl Node {
    fn top() -> io::Result<Rc<Self>> {
        let (dir, owner) = (Dir::top()?, OnceCell::new());
        Ok(Rc::new(Self { dir, above: None, depth: 0, owner }))
    }

    fn below(above: &Rc<Self>, name: &OsStr, dir: Dir) -> io::Result<Rc<Self>> {
        if above.depth == DEPTH_MAX {
            return Err(io::Error::other("too many directories inside of each other"));
        }
        let (depth, owner) = (above.depth + 1, OnceCell::new());
        let above = Some((Rc::clone(above), name.to_owned()));
        Ok(Rc::new(Self { dir, above, depth, owner }))
    }

    /// Its path, without links.
    fn path(&self) -> PathBuf {
        match &self.above {
            Some((above, name)) => above.path().join(name),
            None => PathBuf::from("/"),
        }
    }

    /// Whom it belongs to.
    pub(crate) fn owner(&self) -> io::Result<(u32, u32)> {
        if let Some(owner) = self.owner.get() {
            return Ok(*owner);
        }
        let found = self.dir.metadata()?;
        Ok(*self.owner.get_or_init(|| (found.uid(), found.gid())))
    }
}

/// The place of an entry: a name in a directory.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) node: Rc<Node>,
    pub(crate) name: OsString,
    /// What it is called by those who asked for it.
    pub(crate) path: PathBuf,
    pub(crate) rights: Rights,
}

impl Spot {
    /// The directory that it is in.
    pub(crate) fn dir(&self) -> &Dir {
        &self.node.dir
    }

    /// Whether there is a directory, or a link that leads to one.
    pub(crate) fn is_directory(&self) -> Result<bool, Problem> {
        Ok(Walk::new(self.rights).step(&self.node, &self.name)?.is_some())
    }
}

/// The place of a file by its path, if there is a directory for it.
pub(crate) fn find_file(path: &Path) -> io::Result<Spot> {
    let path = std::path::absolute(path)?;
    let inside: PathBuf = path.components().skip(1).collect();
    let found =
        Root::new(Path::new("/"), Rights::own(false)).find(inside.as_os_str().as_bytes())?;
    found.ok_or_else(|| ErrorKind::NotFound.into())
}

/// One way down, which follows only so many links.
struct Walk {
    rights: Rights,
    n_links: usize,
}

impl Walk {
    fn new(rights: Rights) -> Self {
        Self { rights, n_links: 0 }
    }

    /// The directory that a name in another one leads to, if any.
    fn step(&mut self, at: &Rc<Node>, name: &OsStr) -> Result<Option<Rc<Node>>, Problem> {
        let wrong = |error| Problem::at(&at.path().join(name), error);
        match at.dir.enter(name) {
            Ok(dir) => return Node::below(at, name, dir).map(Some).map_err(wrong),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if is_no_directory(&error) => {}
            Err(error) => return Err(wrong(error)),
        }
        let link = at.dir.open(name, For::Looking).map_err(wrong)?;
        let found = link.metadata().map_err(wrong)?;
        if !found.is_symlink() {
            return Ok(None);
        }
        if self.rights.is_root() && !is_roots(&found, &at.dir.metadata().map_err(wrong)?) {
            return Err(Problem::Planted(at.path().join(name)));
        }
        self.n_links += 1;
        if self.n_links > LINKS_MAX {
            return Err(wrong(io::Error::other("too many links")));
        }
        self.follow(at, &dir::read_link(&link).map_err(wrong)?)
    }

    fn follow(&mut self, at: &Rc<Node>, target: &Path) -> Result<Option<Rc<Node>>, Problem> {
        let mut at = Rc::clone(at);
        for component in target.components() {
            at = match component {
                Component::RootDir => Node::top().map_err(|it| Problem::at(Path::new("/"), it))?,
                Component::ParentDir => match &at.above {
                    Some((above, _)) => Rc::clone(above),
                    None => at,
                },
                Component::CurDir | Component::Prefix(_) => at,
                Component::Normal(name) => match self.step(&at, name)? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
        }
        Ok(Some(at))
    }
}

/// Whether nobody but root can have made a link. Whoever may write a directory may replace what is in it.
fn is_roots(link: &Metadata, dir: &Metadata) -> bool {
    link.uid() == 0 && dir.uid() == 0 && dir.mode() & 0o022 == 0
}

/// What the system says of a link or a file where a directory is wanted.
fn is_no_directory(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotADirectory || error.raw_os_error() == Some(ELOOP)
}

/// A directory that entries are below. Links on the way to it are the user's own, and followed.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    rights: Rights,
    /// The directory itself, once it was needed.
    node: Option<Rc<Node>>,
    /// The way to the directory of the last entry, which is that of most that follow.
    last: Vec<(OsString, Rc<Node>)>,
}

impl Root {
    pub(crate) fn new(path: &Path, rights: Rights) -> Self {
        Self { path: path.to_owned(), rights, node: None, last: Vec::new() }
    }

    /// The place for an entry. Directories on the way are made; files in the way are removed.
    pub(crate) fn locate(&mut self, path: &[u8]) -> Result<Spot, Problem> {
        let found = self.go(path, true)?;
        found.ok_or_else(|| Problem::at(&self.path, ErrorKind::NotFound.into()))
    }

    /// The place of an entry that is to go, if there can be one.
    pub(crate) fn find(&mut self, path: &[u8]) -> Result<Option<Spot>, Problem> {
        self.go(path, false)
    }

    fn go(&mut self, path: &[u8], makes_way: bool) -> Result<Option<Spot>, Problem> {
        let relative = self.check(path)?;
        let Some(name) = relative.file_name() else { return self.go_to_root(makes_way) };
        let parent = relative.parent().unwrap_or(Path::new(""));
        let Some(node) = self.walk(parent, makes_way)? else { return Ok(None) };
        let spot = Spot {
            node,
            name: name.to_owned(),
            path: self.path.join(&relative),
            rights: self.rights,
        };
        Ok(Some(spot))
    }

    /// The place of the root itself: whatever is above it is the user's.
    fn go_to_root(&mut self, makes_way: bool) -> Result<Option<Spot>, Problem> {
        self.node = None;
        self.last.clear();
        let top = Node::top().map_err(|it| Problem::at(&self.path, it))?;
        let (node, name) = match (self.path.parent(), self.path.file_name()) {
            (Some(above), Some(name)) => match self.walk_to(top, above, makes_way)? {
                Some(node) => (node, name.to_owned()),
                None => return Ok(None),
            },
            _ => (top, OsString::from(".")),
        };
        Ok(Some(Spot { node, name, path: self.path.clone(), rights: self.rights }))
    }

    /// A path without anything that the system would follow: a slash or a dot at the end of a link.
    fn check(&self, path: &[u8]) -> Result<PathBuf, Problem> {
        let relative = Path::new(OsStr::from_bytes(path));
        let is_plain = relative.components().all(|it| matches!(it, Component::Normal(_)));
        let is_above = |it| matches!(it, Component::ParentDir);
        let is_rooted = self.path.is_absolute() && !self.path.components().any(is_above);
        if is_plain && is_rooted && !path.contains(&0) {
            Ok(relative.components().collect())
        } else {
            Err(Problem::BadPath(self.path.join(relative)))
        }
    }

    /// Goes down from the root, unless some of the way is missing.
    fn walk(&mut self, relative: &Path, makes_way: bool) -> Result<Option<Rc<Node>>, Problem> {
        let Some(root) = self.root(makes_way)? else { return Ok(None) };
        let n_same = self.n_same(relative);
        self.last.truncate(n_same);
        let mut at = self.last.last().map_or_else(|| Rc::clone(&root), |(_, it)| Rc::clone(it));
        for component in relative.components().skip(n_same) {
            let name = component.as_os_str();
            let next = match Walk::new(self.rights).step(&at, name)? {
                Some(next) => next,
                None if makes_way => self.make(&at, name, true)?,
                None => return Ok(None),
            };
            // Only a link can have led anywhere else than down.
            if next.above.as_ref().is_none_or(|(above, _)| !Rc::ptr_eq(above, &at))
                && !next.path().starts_with(root.path())
            {
                let link: PathBuf = self.last.iter().map(|(name, _)| name.as_os_str()).collect();
                let link = self.path.join(link).join(name);
                return Err(Problem::Escapes { link, root: self.path.clone() });
            }
            self.last.push((name.to_owned(), Rc::clone(&next)));
            at = next;
        }
        Ok(Some(at))
    }

    /// How much of the way to a directory was gone the last time.
    fn n_same(&self, relative: &Path) -> usize {
        let pairs = self.last.iter().zip(relative.components());
        pairs.take_while(|((name, _), component)| name == component.as_os_str()).count()
    }

    fn root(&mut self, makes_way: bool) -> Result<Option<Rc<Node>>, Problem> {
        if self.node.is_none() {
            let top = Node::top().map_err(|it| Problem::at(&self.path, it))?;
            let path = self.path.clone();
            self.node = self.walk_to(top, &path, makes_way)?;
        }
        Ok(self.node.clone())
    }

    /// Goes to an absolute path. Directories on the way are made, but nothing has to go for them.
    fn walk_to(
        &self,
        top: Rc<Node>,
        path: &Path,
        makes_way: bool,
    ) -> Result<Option<Rc<Node>>, Problem> {
        let mut at = top;
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            at = match Walk::new(self.rights).step(&at, name)? {
                Some(next) => next,
                None if makes_way => self.make(&at, name, false)?,
                None => return Ok(None),
            };
        }
        Ok(Some(at))
    }

    fn make(&self, at: &Rc<Node>, name: &OsStr, replaces: bool) -> Result<Rc<Node>, Problem> {
        let path = at.path().join(name);
        let spot = Spot { node: Rc::clone(at), name: name.to_owned(), path, rights: self.rights };
        let make = || {
            if replaces {
                remove::remove(&at.dir, name)?;
            }
            Node::below(at, name, place::new_directory(&spot)?.into())
        };
        make().map_err(|error| Problem::at(&spot.path, error))
    }
}
