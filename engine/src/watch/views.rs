//! Decides which targets a path concerns, and by which name they know it.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::ignore::Ignores;

/// Tells views apart.
pub(super) type ViewId = u32;

/// Tells targets apart.
pub(super) type RowId = u32;

/// A watched path with what is ignored below it; targets that agree on both share a view.
#[derive(Debug)]
pub(super) struct View {
    /// The path as the targets named it.
    pub(super) named: PathBuf,
    /// The path with the links on the way resolved.
    pub(super) real: PathBuf,
    pub(super) ignores: Rc<Ignores>,
    pub(super) rows: Vec<RowId>,
    /// The directory that is watched for a path that is not a directory.
    pub(super) anchor: Option<PathBuf>,
}

impl View {
    /// The targets' name of a real path at or below this view.
    pub(super) fn name_of(&self, real: &Path) -> PathBuf {
        match real.strip_prefix(&self.real) {
            Ok(rest) if rest.as_os_str().is_empty() => self.named.clone(),
            Ok(rest) => self.named.join(rest),
            Err(_) => real.to_owned(),
        }
    }

    /// Whether nothing in a real directory counts for this view.
    pub(super) fn skips(&self, dir: &Path) -> bool {
        dir != self.real && self.ignores.matches_entire_dir(&self.name_of(dir))
    }
}

/// All views.
#[derive(Debug, Default)]
pub(super) struct Views {
    views: HashMap<ViewId, View>,
    /// By name and identity of the ignores, which the view keeps alive.
    by_key: HashMap<(PathBuf, *const Ignores), ViewId>,
    /// By real path. Paths are ordered by their parts, so what is below a path follows it.
    roots: BTreeMap<PathBuf, Vec<ViewId>>,
    n_views: ViewId,
}

impl Views {
    pub(super) fn get(&self, id: ViewId) -> Option<&View> {
        self.views.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ViewId) -> Option<&mut View> {
        self.views.get_mut(&id)
    }

    /// Adds a target to the view of a path; tells whether the view is new.
    pub(super) fn join(
        &mut self,
        named: &Path,
        ignores: &Rc<Ignores>,
        row: RowId,
    ) -> (ViewId, bool) {
        let key = (named.to_owned(), Rc::as_ptr(ignores));
        if let Some(&id) = self.by_key.get(&key) {
            let view = self.views.get_mut(&id).expect("every key names a view");
            if !view.rows.contains(&row) {
                view.rows.push(row);
            }
            return (id, false);
        }
        self.n_views += 1;
        let view = View {
            named: named.to_owned(),
            real: named.to_owned(),
            ignores: Rc::clone(ignores),
            rows: vec![row],
            anchor: None,
        };
        self.roots.entry(view.real.clone()).or_default().push(self.n_views);
        self.views.insert(self.n_views, view);
        self.by_key.insert(key, self.n_views);
        (self.n_views, true)
    }

    /// Takes a target out of a view; tells whether the view is gone.
    pub(super) fn leave(&mut self, id: ViewId, row: RowId) -> bool {
        let Some(view) = self.views.get_mut(&id) else { return false };
        view.rows.retain(|&it| it != row);
        if !view.rows.is_empty() {
            return false;
        }
        let key = (view.named.clone(), Rc::as_ptr(&view.ignores));
        let real = view.real.clone();
        self.by_key.remove(&key);
        self.uproot(&real, id);
        self.views.remove(&id);
        true
    }

    /// Tells where a view really is.
    pub(super) fn relocate(&mut self, id: ViewId, real: &Path) {
        let Some(view) = self.views.get_mut(&id) else { return };
        if view.real == real {
            return;
        }
        let old = std::mem::replace(&mut view.real, real.to_owned());
        self.uproot(&old, id);
        self.roots.entry(real.to_owned()).or_default().push(id);
    }

    fn uproot(&mut self, real: &Path, id: ViewId) {
        if let Some(ids) = self.roots.get_mut(real) {
            ids.retain(|&it| it != id);
            if ids.is_empty() {
                self.roots.remove(real);
            }
        }
    }

    /// The views that contain a real path.
    pub(super) fn covering<'a>(
        &'a self,
        real: &'a Path,
    ) -> impl Iterator<Item = (ViewId, &'a View)> {
        real.ancestors()
            .filter_map(|root| self.roots.get(root))
            .flatten()
            .filter_map(|&id| Some((id, self.views.get(&id)?)))
    }

    /// The views at or below a real path.
    pub(super) fn within<'a>(&'a self, real: &'a Path) -> impl Iterator<Item = ViewId> + 'a {
        self.roots
            .range::<Path, _>((Bound::Included(real), Bound::Unbounded))
            .take_while(move |(root, _)| root.starts_with(real))
            .flat_map(|(_, ids)| ids.iter().copied())
    }
}
