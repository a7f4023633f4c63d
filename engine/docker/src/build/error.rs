//! Why an image could not be built, in the words that people know from Tilt, and what to do.

use std::sync::LazyLock;

use regex::Regex;

use crate::error::DockerError;

/// Why an image could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// What the builder said, without its noise.
    pub message: String,
    /// What kind of problem it is.
    pub problem: BuildProblem,
    /// The step that failed, if one did.
    pub step: Option<String>,
}

/// What kind of problem made a build fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildProblem {
    /// The Dockerfile is malformed.
    Dockerfile {
        /// In this line.
        line: usize,
    },
    /// An image that the Dockerfile starts from cannot be had.
    BaseImage,
    /// The engine's disk is full.
    NoSpace,
    /// An option makes no sense, or does not work with the builder at hand.
    Setting,
    /// Anything else, mostly a step that failed.
    Other,
}

/// Beginnings that tell nothing.
const NOISE: [&str; 4] = [
    "failed to solve with frontend dockerfile.v0: ",
    "failed to solve with frontend gateway.v0: ",
    "rpc error: code = Unknown desc = ",
    "failed to build LLB: ",
];

static SHORTENED: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        r"(executor failed running.*): runc did not terminate sucessfully",
        r"failed to compute cache key: (.* not found): not found",
        r"failed to compute cache key: (?:failed to walk [^ ]+): lstat (?:/.*buildkit-[^/]*/)?(.*: no such file or directory)",
    ]
    .map(|it| Regex::new(it).expect("the pattern is well formed"))
});

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)dockerfile parse error (?:on )?line (\d+)")
        .expect("the pattern is well formed")
});

/// The name of an image, which always has a slash by then, before the words that it does not exist.
static MISSING_IMAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:^|: )[a-z0-9][^\s"/]*/[^\s"]+: not found$"#)
        .expect("the pattern is well formed")
});

impl BuildError {
    /// Makes sense of what a builder said.
    pub(super) fn new(words: &str, step: Option<String>) -> Self {
        let message = clean(words);
        let problem = problem(&message);
        Self { message, problem, step }
    }

    pub(super) fn setting(message: String) -> Self {
        Self { message, problem: BuildProblem::Setting, step: None }
    }

    pub(super) fn needs_buildkit() -> Self {
        let message = "Docker SSH secrets only work on Buildkit, but Buildkit has been disabled";
        Self::setting(message.to_owned())
    }

    /// Takes an engine's refusal of the whole build for a failed build.
    pub(super) fn wrap(error: DockerError) -> DockerError {
        match error {
            DockerError::Refused { message, .. } | DockerError::NotFound(message) => {
                Self::new(&message, None).into()
            }
            other => other,
        }
    }

    /// Whether BuildKit's store is broken in a way that the classic builder does not mind.
    pub(super) fn is_corruption(&self) -> bool {
        self.message.contains("failed precondition")
            && self.message.contains("failed commit on ref")
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self.problem {
            BuildProblem::NoSpace => Some("Docker is out of disk space: try `docker system prune`"),
            BuildProblem::BaseImage => {
                Some("check the image's name and tag, and log in to its registry if it is private")
            }
            _ => None,
        }
    }
}

fn clean(words: &str) -> String {
    let mut rest = words;
    for noise in NOISE {
        rest = rest.strip_prefix(noise).unwrap_or(rest);
    }
    let mut message = rest.to_owned();
    for pattern in SHORTENED.iter() {
        message = pattern.replace_all(&message, "$1").into_owned();
    }
    message
}

fn problem(message: &str) -> BuildProblem {
    let line = LINE.captures(message).and_then(|it| it[1].parse().ok());
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|it| lower.contains(it));
    if let Some(line) = line {
        BuildProblem::Dockerfile { line }
    } else if has(&["no space left on device"]) {
        BuildProblem::NoSpace
    } else if has(&[
        "pull access denied",
        "manifest unknown",
        "failed to resolve source metadata",
        "failed to do request",
        "repository does not exist",
        "failed to authorize",
    ]) || MISSING_IMAGE.is_match(message)
        || (lower.starts_with("manifest for") && lower.contains("not found"))
        // How the classic builder says that it cannot reach a registry.
        || (lower.starts_with("get \"http") && lower.contains("/v2/"))
    {
        BuildProblem::BaseImage
    } else {
        BuildProblem::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_removed_as_in_tilt() {
        for (words, want) in [
            (
                "failed to solve with frontend dockerfile.v0: rpc error: code = Unknown desc = x",
                "x",
            ),
            ("failed to compute cache key: foo.txt not found: not found", "foo.txt not found"),
            (
                "executor failed running [/bin/sh -c false]: runc did not terminate sucessfully",
                "executor failed running [/bin/sh -c false]",
            ),
            (
                "failed to compute cache key: failed to walk /var/x: lstat /var/lib/buildkit-mount1/src: no such file or directory",
                "src: no such file or directory",
            ),
        ] {
            assert_eq!(BuildError::new(words, None).message, want);
        }
    }

    #[test]
    fn problems_are_told_apart() {
        use BuildProblem::{BaseImage, Dockerfile, NoSpace, Other};
        for (words, want) in [
            ("dockerfile parse error line 3: unknown instruction: RUNN", Dockerfile { line: 3 }),
            ("dockerfile parse error on line 12: x", Dockerfile { line: 12 }),
            ("write /x: no space left on device", NoSpace),
            ("docker.io/library/nope:1: not found", BaseImage),
            ("failed to create LLB definition: localhost:5000/a/b:1: not found", BaseImage),
            ("failed to calculate checksum of ref x: \"/a/b\": not found", Other),
            ("Get \"http://localhost:1/v2/\": dial tcp 127.0.0.1:1: connection refused", BaseImage),
            ("pull access denied for nope, repository does not exist", BaseImage),
            ("executor failed running [/bin/sh -c false]: exit code: 1", Other),
        ] {
            assert_eq!(BuildError::new(words, None).problem, want, "{words}");
        }
    }
}
