//! The Compose command line: how to ask it for a project, and which versions of it will do.

use std::sync::LazyLock;

use regex::Regex;

use super::{ComposeError, ProjectRequest};
use crate::golang::quote::quote;

/// The oldest version that works.
const MINIMUM: &str = "v1.28.3";

/// The arguments that name a project; a subcommand such as `config` follows.
pub fn project_args(request: &ProjectRequest) -> Vec<String> {
    let mut args = Vec::new();
    let mut option = |flag: &str, value: &str| {
        if !value.is_empty() {
            args.extend([flag.to_owned(), value.to_owned()]);
        }
    };
    option("--project-name", &request.name);
    option("--project-directory", &request.project_dir.to_string_lossy());
    if let Some(file) = &request.env_file {
        option("--env-file", &file.to_string_lossy());
    }
    for path in &request.config_paths {
        option("-f", &path.to_string_lossy());
    }
    for profile in &request.profiles {
        args.extend(["--profile".to_owned(), profile.clone()]);
    }
    args
}

/// The commands that may be Compose, in the order they are tried; the first whose `version`
/// succeeds is used, else the last. `chosen` is `$TILT_DOCKER_COMPOSE_CMD`.
pub fn candidates(chosen: Option<&str>) -> Vec<Vec<String>> {
    match chosen.filter(|command| !command.is_empty()) {
        Some(command) => vec![vec![command.to_owned()]],
        None => {
            vec![vec!["docker".to_owned(), "compose".to_owned()], vec!["docker-compose".to_owned()]]
        }
    }
}

/// What is reported when asking the command line failed. `error` is the outcome, such as
/// `exit status 14`; `stderr` is none when the command could not be started.
pub fn failure(argv: &[String], error: &str, stdout: &str, stderr: Option<&str>) -> ComposeError {
    let argv: Vec<_> = argv.iter().map(|arg| quote(arg)).collect();
    let mut message =
        format!("command [{}] failed.\nerror: {error}\nstdout: {}", argv.join(" "), quote(stdout));
    if let Some(stderr) = stderr {
        message.extend(["\nstderr: '", stderr, "'"]);
    }
    ComposeError::new(message)
}

/// Reads the output of `version`: the version as `v2.24.5`, and the build, often empty.
pub fn parse_version(output: &str) -> Result<(String, String), ComposeError> {
    static VERSION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?mi)^docker[ -]compose(?: version)?:? v?([^\s,]+),?(?: build ([a-z0-9-]+))?")
            .expect("the pattern is a constant")
    });
    let Some(found) = VERSION.captures(output.trim()) else {
        let output = quote(output);
        return Err(ComposeError::new(format!("could not parse version from output: {output}")));
    };
    let raw = format!("v{}", &found[1]);
    let Some(version) = SemVer::parse(&raw) else {
        return Err(ComposeError::new(format!("invalid version: {}", quote(&raw))));
    };
    let build = match version.build.as_str() {
        "" => found.get(2).map_or(String::new(), |build| build.as_str().to_owned()),
        build => build.to_owned(),
    };
    Ok((version.canonical(), build))
}

/// What to say about a version of Compose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionVerdict {
    /// Nothing.
    Fine,
    /// A warning.
    Warning(String),
    /// Tilt refuses to work with it.
    Error(String),
}

/// Judges a canonical version.
pub fn judge_version(version: &str) -> VersionVerdict {
    let order = |other: &str| SemVer::parse(version).cmp(&SemVer::parse(other));
    if order(MINIMUM).is_lt() {
        return VersionVerdict::Error(format!(
            "Tilt requires Docker Compose {MINIMUM}+ (you have {version}). \
             Please upgrade and re-launch Tilt."
        ));
    }
    if version.starts_with("v2.") && order("v2.2").is_lt() {
        return VersionVerdict::Warning(format!(
            "Using Docker Compose {version} (version < 2.2) may result in errors or broken \
             functionality.\nFor best results, we recommend upgrading to Docker Compose >= v2.2.0."
        ));
    }
    VersionVerdict::Fine
}

/// A semantic version, ordered by precedence: fields first, then the pre-release.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SemVer {
    numbers: [u64; 3],
    prerelease: Prerelease,
    build: String,
}

/// Parts of a pre-release; none at all comes after any.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prerelease {
    Parts(Vec<Identifier>),
    None,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl SemVer {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v')?;
        let (text, build) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, prerelease) = match text.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (text, None),
        };
        let parts: Vec<&str> = numbers.split('.').collect();
        let complete = parts.len() == 3;
        if parts.len() > 3 || (!complete && (prerelease.is_some() || !build.is_empty())) {
            return None;
        }
        let mut fields = [0; 3];
        for (field, part) in fields.iter_mut().zip(&parts) {
            *field = number(part)?;
        }
        let prerelease = match prerelease {
            None => Prerelease::None,
            Some(text) => {
                Prerelease::Parts(text.split('.').map(identifier).collect::<Option<_>>()?)
            }
        };
        Some(Self { numbers: fields, prerelease, build: build.to_owned() })
    }

    fn canonical(&self) -> String {
        let [major, minor, patch] = self.numbers;
        let mut text = format!("v{major}.{minor}.{patch}");
        if let Prerelease::Parts(parts) = &self.prerelease {
            let parts = parts.iter().map(|part| match part {
                Identifier::Number(number) => number.to_string(),
                Identifier::Text(text) => text.clone(),
            });
            text.push('-');
            text.push_str(&parts.collect::<Vec<_>>().join("."));
        }
        text
    }
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || !plain || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}

fn identifier(text: &str) -> Option<Identifier> {
    let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if text.is_empty() || !valid {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Identifier::Number);
    }
    Some(Identifier::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_compose_prints() {
        for (output, expected) in [
            ("Docker Compose version v2.24.5\n", Ok(("v2.24.5", ""))),
            ("docker-compose version 1.25.0, build 0a186604", Ok(("v1.25.0", "0a186604"))),
            ("docker-compose version: 1.4", Ok(("v1.4.0", ""))),
            ("x\nDocker Compose version v2.0.0-rc.3", Ok(("v2.0.0-rc.3", ""))),
            ("Docker Compose version 2.1.0+b1", Ok(("v2.1.0", "b1"))),
            ("hello", Err("could not parse version from output: \"hello\"")),
            ("Docker Compose version dev", Err("invalid version: \"vdev\"")),
        ] {
            let expected = expected
                .map(|(version, build)| (version.to_owned(), build.to_owned()))
                .map_err(str::to_owned);
            assert_eq!(parse_version(output).map_err(|e| e.to_string()), expected, "{output}");
        }
    }

    #[test]
    fn old_versions_are_refused_or_warned_about() {
        assert!(matches!(judge_version("v1.25.0"), VersionVerdict::Error(_)));
        assert!(matches!(judge_version("v1.28.3-rc1"), VersionVerdict::Error(_)));
        assert!(matches!(judge_version("v2.1.9"), VersionVerdict::Warning(_)));
        assert!(matches!(judge_version("v2.2.0-rc.1"), VersionVerdict::Warning(_)));
        assert_eq!(judge_version("v1.28.3"), VersionVerdict::Fine);
        assert_eq!(judge_version("v2.24.5"), VersionVerdict::Fine);
    }
}
