//! The first line of an update or a load: why it runs.

use engine_model::FilePath;

use crate::{live_update::below, reason::Reason, world::World};

/// So many changed files are named.
const MAX_FILES: usize = 5;

impl World {
    /// The first line of an update or a load: why it runs. Files are named as seen from where the engine was started.
    pub fn entry_line(&self, reason: Reason, files: &[FilePath]) -> String {
        if reason.has(Reason::INITIAL) {
            return "Initial Build".to_owned();
        }
        if files.is_empty() {
            return reason.to_string();
        }
        let cwd = &self.settings.cwd;
        let mut names: Vec<String> = files.iter().take(MAX_FILES).map(|it| near(it, cwd)).collect();
        if files.len() > MAX_FILES {
            names.push("...".to_owned());
        }
        let noun = if files.len() == 1 { "File" } else { "Files" };
        format!("{} {noun} Changed: [{}]", files.len(), names.join(" "))
    }

    /// Why an update happens, and who wants it.
    pub fn cause_line(&self, reason: Reason, files: &[FilePath]) -> String {
        let triggers = reason.triggers();
        let line = self.entry_line(reason, files);
        if triggers.is_empty() || line == triggers.to_string() {
            return line;
        }
        format!("{triggers}, {line}")
    }
}

/// A path as seen from a directory, if it is below.
fn near(path: &FilePath, cwd: &FilePath) -> String {
    match below(cwd.as_bytes(), path.as_bytes()) {
        Some(rest) if !rest.is_empty() && !cwd.as_bytes().is_empty() => {
            FilePath::from(rest).to_string()
        }
        _ => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Settings;

    #[test]
    fn a_few_files_are_named_as_seen_from_here() {
        let world = World::new(Settings { cwd: "/src".into(), ..Settings::default() });
        let line = |names: &[&str]| {
            let files: Vec<FilePath> = names.iter().map(|it| (*it).into()).collect();
            world.entry_line(Reason::FILES, &files)
        };
        assert_eq!(line(&["/src/a/b"]), "1 File Changed: [a/b]");
        assert_eq!(line(&["/src", "/srcs"]), "2 Files Changed: [/src /srcs]");
        assert_eq!(line(&["1", "2", "3", "4", "5", "6"]), "6 Files Changed: [1 2 3 4 5 ...]");
        assert_eq!(line(&[]), Reason::FILES.to_string());
        assert_eq!(world.entry_line(Reason::INITIAL.with(Reason::FILES), &[]), "Initial Build");
    }
}
