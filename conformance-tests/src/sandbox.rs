//! A fresh folder for one run of a case, with the environment that was used for recording.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    case::{Case, INPUT_FILES, OUTPUT_FILES},
    tools,
};

/// Two contexts, of a local and a remote cluster, where nobody answers.
const KUBECONFIG: &str = include_str!("kubeconfig.yaml");

/// Names a checkout of Tilt's own extensions, with which cases of the standard library are recorded.
const EXTENSIONS: &str = "TILT_EXTENSIONS";

/// Where Tilt looks for it, below the home folder.
pub(crate) const PUBLIC_EXTENSIONS: &str =
    ".local/share/tilt-dev/tilt_modules/github.com/tilt-dev/tilt-extensions";

/// A copy of a case, ready to be run, which is removed when dropped.
#[derive(Debug)]
pub struct Sandbox {
    /// The working directory, `$DIR` in recorded text.
    pub work: PathBuf,
    /// The home folder, `$HOME` in recorded text.
    pub home: PathBuf,
    /// The kubeconfig, `$KUBECONFIG` in recorded text.
    pub kubeconfig: PathBuf,
    /// The folder of all these, `$TMP` in recorded text.
    pub root: PathBuf,
    /// The whole environment of the run.
    pub env: BTreeMap<String, String>,
    /// The arguments after `--`, or `None` if not even `--` is passed.
    pub args: Option<Vec<String>>,
    _guard: TempDir,
}

impl Sandbox {
    /// Copies a case to a fresh folder.
    pub fn new(case: &Case) -> io::Result<Self> {
        let guard = tempfile::Builder::new().prefix("tfconf-").tempdir()?;
        // Engines report resolved paths, so the names to replace must be resolved as well.
        let root = guard.path().canonicalize()?;
        let (work, home, kube) = (root.join("work"), root.join("home"), root.join("kube"));
        copy_tree(&case.dir, &work)?;
        for name in INPUT_FILES {
            let path = work.join(name);
            if path.is_file() {
                fs::remove_file(path)?;
            }
        }
        fs::create_dir(&home)?;
        fs::create_dir(&kube)?;
        let kubeconfig = kube.join("config");
        fs::write(&kubeconfig, KUBECONFIG)?;

        if let Some(checkout) = env::var_os(EXTENSIONS).filter(|_| case.uses_extensions()) {
            let target = home.join(PUBLIC_EXTENSIONS);
            fs::create_dir_all(target.parent().unwrap_or(&home))?;
            copy_tree(Path::new(&checkout), &target)?;
        }

        let path = tools::search_path();
        let expand = |text: &str| {
            let text = text.replace("$DIR", &work.to_string_lossy());
            text.replace("$HOME", &home.to_string_lossy()).replace("$PATH", &path)
        };
        let mut env = base_env(&home, &kubeconfig);
        env.extend(case.env()?.into_iter().map(|(key, value)| (key, expand(&value))));
        let args = case.args()?.map(|args| args.iter().map(|it| expand(it)).collect());
        Ok(Self { work, home, kubeconfig, root, env, args, _guard: guard })
    }
}

fn base_env(home: &Path, kubeconfig: &Path) -> BTreeMap<String, String> {
    [
        ("PATH", tools::search_path()),
        ("HOME", home.to_string_lossy().into_owned()),
        ("KUBECONFIG", kubeconfig.to_string_lossy().into_owned()),
        ("DO_NOT_TRACK", "1".to_owned()),
        ("TILT_DISABLE_ANALYTICS", "1".to_owned()),
        ("LC_ALL", "C".to_owned()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// Copies files with their modes and symbolic links as links, but no recorded result.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if OUTPUT_FILES.iter().any(|it| name == *it) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(source)?, target)?;
        } else if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else {
            fs::copy(source, target)?;
        }
    }
    Ok(())
}
