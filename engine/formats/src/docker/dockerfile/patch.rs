//! Decides whether changed files can be copied over an image that was built before, with the result of a whole build.
//!
//! That is so if all of them only end up in the last stage, copied by instructions after which nothing runs and nothing
//! is put in their place. Where that is not certain, it is not so.

use super::{Dockerfile, Instruction};
use crate::{docker::ignore::PathMatcher, golang::path};

/// Characters that mean something else in some places where a path is written.
const UNCERTAIN: [char; 6] = ['$', '\\', '"', '\'', '[', '!'];

/// Flags of `COPY` that decide how files are written, not which.
const HARMLESS_FLAGS: [&str; 3] = ["--chown=", "--chmod=", "--link"];

impl Dockerfile {
    /// A Dockerfile that puts changed files over the image `base`, which this one has made with other files.
    ///
    /// Paths are those in the context; `links` are all symbolic links there. The context of the new Dockerfile has the
    /// changed files and nothing else.
    pub fn patch(
        &self,
        target: &str,
        base: &str,
        changed: &[&str],
        links: &[&str],
    ) -> Option<String> {
        let stages = self.stages();
        let last = match target {
            "" => stages.len().checked_sub(1)?,
            name => stages.iter().position(|it| is_named(it, name))?,
        };
        let files = Files { changed, links };
        for node in stages[..last].iter().copied().flatten() {
            if files.reach(node)? {
                return None;
            }
        }
        let mut patch = Patch { files, workdir: None, copies: Vec::new(), written: Vec::new() };
        for node in stages[last].iter().skip(1) {
            patch.take(node)?;
        }
        if patch.copies.is_empty() {
            return None;
        }
        let mut text = String::new();
        for (name, value) in &self.directives {
            text.push_str(&format!("# {name} = {value}\n"));
        }
        text.push_str(&format!("FROM {base}\n{}\n", patch.copies.join("\n")));
        Some(text)
    }

    /// The instructions of each stage, which begin with its `FROM`.
    fn stages(&self) -> Vec<&[Instruction]> {
        let is_from = |it: &Instruction| it.command.eq_ignore_ascii_case("from");
        let starts = self.nodes.iter().enumerate().filter(|(_, it)| is_from(it)).map(|(at, _)| at);
        let starts: Vec<usize> = starts.collect();
        let ends = starts.iter().skip(1).copied().chain([self.nodes.len()]);
        starts.iter().zip(ends).map(|(&start, end)| &self.nodes[start..end]).collect()
    }
}

fn is_named(stage: &[Instruction], name: &str) -> bool {
    stage.first().and_then(|it| it.args.get(2)).is_some_and(|it| it.eq_ignore_ascii_case(name))
}

/// Files of a context.
struct Files<'a> {
    changed: &'a [&'a str],
    links: &'a [&'a str],
}

impl Files<'_> {
    /// Whether an instruction sees a changed file; `None` if that is not certain.
    fn reach(&self, node: &Instruction) -> Option<bool> {
        match node.command.to_lowercase().as_str() {
            "copy" | "add" if is_from_elsewhere(node) => Some(false),
            "copy" | "add" => {
                let (_, sources) = node.args.split_last()?;
                Some(!self.taken(sources)?.is_empty())
            }
            "run" => Some(node.flags.iter().any(|it| mounts_context(it))),
            "onbuild" => None,
            _ => Some(false),
        }
    }

    /// The changed files that sources stand for, with the number of leading names that a source covers.
    fn taken(&self, sources: &[String]) -> Option<Vec<(&str, usize)>> {
        let mut taken = Vec::new();
        for source in sources {
            let pattern = Pattern::new(source)?;
            if self.links.iter().any(|it| pattern.leads_through(it)) {
                return None;
            }
            let files = self.changed.iter().filter(|it| pattern.takes(it));
            taken.extend(files.map(|it| (*it, pattern.names.len())));
        }
        Some(taken)
    }
}

/// Whether files come from another image, another stage, the network or the Dockerfile itself.
fn is_from_elsewhere(node: &Instruction) -> bool {
    let is_remote = |it: &String| it.contains("://") || it.starts_with("git@");
    !node.heredocs.is_empty()
        || node.flags.iter().any(|it| it.starts_with("--from="))
        || node.args.iter().any(is_remote)
}

fn mounts_context(flag: &str) -> bool {
    let Some(mount) = flag.strip_prefix("--mount=") else { return false };
    let field = |name: &str| mount.split(',').find_map(|it| it.trim().strip_prefix(name));
    field("from=").is_none() && field("type=").is_none_or(|it| it == "bind")
}

/// The part of a context that a source stands for.
struct Pattern<'a> {
    names: Vec<&'a str>,
}

impl<'a> Pattern<'a> {
    fn new(source: &'a str) -> Option<Self> {
        let names: Vec<&str> =
            source.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
        let is_certain = !source.contains(UNCERTAIN) && !names.contains(&"..");
        is_certain.then_some(Self { names })
    }

    fn takes(&self, path: &str) -> bool {
        let mut names = path.split('/');
        self.names.iter().all(|want| names.next().is_some_and(|it| is_like(want, it)))
    }

    /// Whether a link is the source itself, or above it.
    fn leads_through(&self, link: &str) -> bool {
        let names: Vec<&str> = link.split('/').collect();
        names.len() <= self.names.len()
            && self.names.iter().zip(names).all(|(want, it)| is_like(want, it))
    }
}

/// Whether a name is what a pattern without `/` stands for.
fn is_like(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    // What cannot be read as a pattern is an error in the whole build as well.
    PathMatcher::new("/", &[pattern]).is_ok_and(|it| it.matches(&format!("/{name}")))
}

/// The last stage, as far as it was read.
struct Patch<'a> {
    files: Files<'a>,
    /// Where relative destinations are, if that is known.
    workdir: Option<String>,
    /// What is to be done again.
    copies: Vec<String>,
    /// Everything that this may write.
    written: Vec<String>,
}

impl Patch<'_> {
    /// Reads an instruction; `None` if there is no patch with it.
    fn take(&mut self, node: &Instruction) -> Option<()> {
        match node.command.to_lowercase().as_str() {
            "copy" => self.copy(node),
            "workdir" => {
                self.workdir = self.absolute(node.args.first()?);
                Some(())
            }
            "arg" | "cmd" | "entrypoint" | "env" | "expose" | "healthcheck" | "label"
            | "maintainer" | "shell" | "stopsignal" | "user" | "volume" => Some(()),
            "add" if !self.files.reach(node)? => self.leaves_written(node.args.last()?),
            "run" if !self.files.reach(node)? && self.copies.is_empty() => Some(()),
            _ => None,
        }
    }

    fn copy(&mut self, node: &Instruction) -> Option<()> {
        let (destination, sources) = node.args.split_last()?;
        self.leaves_written(destination)?;
        if is_from_elsewhere(node) {
            return Some(());
        }
        let taken = self.files.taken(sources)?;
        if taken.is_empty() {
            return Some(());
        }
        let is_harmless = |flag: &String| {
            HARMLESS_FLAGS.iter().any(|it| flag.starts_with(it)) && !flag.contains(UNCERTAIN)
        };
        if !node.flags.iter().all(is_harmless) {
            return None;
        }
        let root = self.absolute(destination)?;
        for (file, n_covered) in &taken {
            self.written.extend(places(&root, file, *n_covered));
        }
        let mut words: Vec<&str> = Vec::new();
        for source in sources {
            let pattern = Pattern::new(source)?;
            // A source that is not there is an error.
            if taken.iter().any(|(file, _)| pattern.takes(file)) {
                words.push(source);
            }
        }
        let is_dir = destination == "." || destination.ends_with('/') || sources.len() > 1;
        let root = if is_dir && root != "/" { format!("{root}/") } else { root };
        words.push(&root);
        let words = serde_json::to_string(&words).ok()?;
        let parts: Vec<&str> = ["COPY"]
            .into_iter()
            .chain(node.flags.iter().map(String::as_str))
            .chain([words.as_str()])
            .collect();
        self.copies.push(parts.join(" "));
        Some(())
    }

    /// Makes sure that a destination is none of the places that were written before.
    fn leaves_written(&self, destination: &str) -> Option<()> {
        if self.written.is_empty() {
            return Some(());
        }
        let root = self.absolute(destination)?;
        let is_over = |it: &String| {
            root == "/"
                || *it == root
                || it.strip_prefix(&root).is_some_and(|it| it.starts_with('/'))
        };
        (!self.written.iter().any(is_over)).then_some(())
    }

    fn absolute(&self, destination: &str) -> Option<String> {
        if destination.contains(UNCERTAIN) {
            return None;
        }
        if path::is_abs(destination) {
            return Some(path::clean(destination));
        }
        Some(path::join(&[self.workdir.as_deref()?, destination]))
    }
}

/// Where a file may end up, as far as the Dockerfile tells.
fn places(root: &str, file: &str, n_covered: usize) -> Vec<String> {
    let below: Vec<&str> = file.split('/').skip(n_covered).collect();
    if below.is_empty() {
        vec![root.to_owned(), path::join(&[root, &path::base(file)])]
    } else {
        vec![path::join(&[root, &below.join("/")])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(text: &str, target: &str, changed: &[&str], links: &[&str]) -> Option<String> {
        Dockerfile::parse(text).unwrap().patch(target, "base", changed, links)
    }

    /// The copies of a patch for one changed file, or `-` if there is none.
    fn check(text: &str, changed: &str, expected: &str) {
        let found = patch(text, "", &[changed], &[]);
        let found = found.as_deref().map_or("-", |it| it.strip_prefix("FROM base\n").unwrap());
        assert_eq!(found.trim_end(), expected, "{text:?} {changed}");
    }

    #[test]
    fn files_that_are_only_copied_at_the_end_are_copied_over() {
        for (text, changed, expected) in [
            ("FROM a\nCOPY . /app\nCMD run\n", "d/f", r#"COPY [".","/app"]"#),
            ("FROM a\nCOPY . /app/\n", "f", r#"COPY [".","/app/"]"#),
            ("FROM a\nCOPY . /\n", "f", r#"COPY [".","/"]"#),
            ("FROM a\nWORKDIR /w\nCOPY . .\nUSER 1\n", "f", r#"COPY [".","/w/"]"#),
            ("FROM a\nWORKDIR /w\nWORKDIR x\nCOPY . y\n", "f", r#"COPY [".","/w/x/y"]"#),
            ("FROM a\nCOPY [\"a b\", \"/x/\"]\n", "a b/c", r#"COPY ["a b","/x/"]"#),
            ("FROM a\nCOPY --chown=1:2 src /app\n", "src/x", r#"COPY --chown=1:2 ["src","/app"]"#),
            ("FROM a\nCOPY a b c /d/\n", "b", r#"COPY ["b","/d/"]"#),
            ("FROM a\nCOPY package*.json /w/\nRUN x\nCOPY . /w\n", "i.js", r#"COPY [".","/w"]"#),
            (
                "FROM a AS b\nRUN make\nFROM c\nCOPY . /w\nCOPY --from=b /o /w/o\n",
                "src/x",
                r#"COPY [".","/w"]"#,
            ),
            (
                "FROM a\nCOPY src /a\nCOPY src /b\n",
                "src/x",
                "COPY [\"src\",\"/a\"]\nCOPY [\"src\",\"/b\"]",
            ),
        ] {
            check(text, changed, expected);
        }
    }

    #[test]
    fn files_that_something_looks_at_need_a_whole_build() {
        for (text, changed) in [
            ("FROM a\nCOPY . /app\nRUN make\n", "f"),
            ("FROM a\nCOPY package*.json /w/\nRUN x\nCOPY . /w\n", "package-lock.json"),
            ("FROM a\nRUN --mount=type=bind,target=/x make\nCOPY . /app\n", "f"),
            ("FROM a\nRUN --mount=target=/x make\nCOPY . /app\n", "f"),
            ("FROM a\nADD . /app\n", "f"),
            ("FROM a\nONBUILD RUN x\nCOPY . /app\n", "f"),
            ("FROM a\nCOPY . .\n", "f"),
            ("FROM a\nWORKDIR $X\nCOPY . .\n", "f"),
            ("FROM a\nCOPY . $X\n", "f"),
            ("FROM a\nCOPY $X /x\n", "f"),
            ("FROM a\nCOPY --parents . /x\n", "f"),
            ("FROM a AS b\nCOPY . /x\nRUN make\nFROM c\nCOPY . /y\nCOPY --from=b /o /o\n", "f"),
            ("FROM a\nCOPY src /app\n", "other"),
        ] {
            check(text, changed, "-");
        }
    }

    #[test]
    fn files_that_something_else_takes_the_place_of_need_a_whole_build() {
        for (text, changed) in [
            ("FROM a\nCOPY . /w\nCOPY --from=b /o /w\n", "f"),
            ("FROM a\nCOPY . /w\nCOPY --from=b /o /w/d/\n", "d/f"),
            ("FROM a\nCOPY f /w/\nCOPY g /w/f\n", "f"),
            ("FROM a\nCOPY f /w/g\nADD x.tar /\n", "f"),
            ("FROM a\nCOPY . /w\nCOPY --from=b /o $X\n", "f"),
        ] {
            check(text, changed, "-");
        }
        check("FROM a\nCOPY . /w\nCOPY --from=b /o /w/d/\n", "e/f", r#"COPY [".","/w"]"#);
    }

    #[test]
    fn sources_that_lead_through_links_need_a_whole_build() {
        let text = "FROM a\nCOPY lib* /lib\nCOPY src/main /app\n";
        assert!(patch(text, "", &["src/main/x"], &["other", "src/main/link", "a/lib"]).is_some());
        for link in ["lib64", "src", "src/main"] {
            assert!(patch(text, "", &["src/main/x"], &[link]).is_none(), "{link}");
        }
    }

    #[test]
    fn the_stage_is_the_one_that_is_built() {
        let text = "# syntax = x\nFROM a AS dev\nCOPY . /d\nFROM b\nCOPY . /p\nRUN make\n";
        let want = "# syntax = x\nFROM base\nCOPY [\".\",\"/d\"]\n";
        assert_eq!(patch(text, "DEV", &["f"], &[]).as_deref(), Some(want));
        assert_eq!(patch(text, "", &["f"], &[]), None);
        assert_eq!(patch(text, "unknown", &["f"], &[]), None);
    }
}
