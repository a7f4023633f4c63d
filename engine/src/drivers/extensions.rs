//! Looks for extensions and their repositories, on disk and elsewhere.

use builtins::{extension, host::OsHost};
use engine_core::objects::{Fetched, ObjectEvent, RepoError};
use engine_formats::golang::os_error::PathError;
use engine_model::path::to_path;

use crate::{clock, exec::Guarded, logs::LogWriter};

/// What fetches a git repository, on a thread that may block; the folder of `main` is the project's.
pub(crate) fn fetch(
    main: &str,
    (url, reference): (String, String),
    variables: Vec<(String, String)>,
    log: LogWriter,
) -> impl FnOnce() -> Result<String, String> + Send + use<> {
    let project = engine_formats::golang::path::dir(main);
    let host = OsHost::new(variables, Box::new(move |_, text| log.info(text)));
    let host = host.with_launcher(Box::new(Guarded));
    move || {
        let found = extension::repository_root(&host, &project, &url, &reference);
        found.map_err(|why| why.to_string())
    }
}

/// What became of a git repository.
pub(crate) fn fetched(repo: String, found: Result<String, String>) -> ObjectEvent {
    let result = found.map(|path| Fetched { path, at: Some(clock::now()) });
    let result = result.map_err(RepoError::Fetch);
    ObjectEvent::RepoFetched { repo, result }
}

/// Looks for a repository that is a folder; it is ready at once.
pub(crate) fn find_folder(repo: String, path: &str) -> ObjectEvent {
    let result = match std::fs::metadata(to_path(path)) {
        Err(error) => Err(RepoError::Folder(PathError::new("stat", path, &error).to_string())),
        Ok(found) if !found.is_dir() => Err(RepoError::Folder("not a directory".to_owned())),
        Ok(found) => {
            let at = found.modified().ok().map(clock::of_system);
            Ok(Fetched { path: path.to_owned(), at })
        }
    };
    ObjectEvent::RepoFetched { repo, result }
}

/// Looks whether the Tiltfile of an extension is there.
pub(crate) fn find_extension(name: String, path: String) -> ObjectEvent {
    let is_file = to_path(&path).is_file();
    ObjectEvent::ExtensionFound { name, path, is_file }
}
