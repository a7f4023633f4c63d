//! Detects the version of Helm.

use engine_formats::golang::quote::quote;
use engine_model::Cmd;

use super::super::local::{self, CommandFailed, RunOptions};
use crate::{
    cache::{self, HelmVersionInputs},
    session::Session,
};

/// What matters about the version of Helm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelmVersion {
    /// Cannot include custom resource definitions.
    V3_0,
    /// Includes them when asked to.
    V3_1AndAbove,
}

/// Why the version of Helm is unknown.
#[derive(Debug, thiserror::Error)]
pub(super) enum VersionError {
    #[error("Unable to find Helm installation. Make sure `helm` is on your $PATH.")]
    NotInstalled,
    #[error("could not parse Helm version from string: {}", quote(.0))]
    Unknown(String),
    #[error(transparent)]
    Command(#[from] CommandFailed),
}

/// The version of the Helm in `PATH`.
pub(super) fn detect(session: &Session) -> Result<HelmVersion, VersionError> {
    if session.host.find_program("helm").is_none() {
        return Err(VersionError::NotInstalled);
    }
    let argv = ["helm", "version", "--short"].map(str::to_owned);
    let cmd = Cmd { argv: Some(argv.into()), dir: session.dir(), ..Cmd::default() };
    parse(&cache::remember(session, &HelmVersionInputs, || {
        local::run(session, &cmd, &RunOptions::default())
    })?)
}

/// Reads what `helm version --short` prints; some versions print warnings before.
fn parse(output: &str) -> Result<HelmVersion, VersionError> {
    let version = match output.trim().rsplit_once('\n') {
        Some((_, last)) => last,
        None => output,
    };
    if version.starts_with("v3.0.") {
        Ok(HelmVersion::V3_0)
    } else if ["v3.", "3.", "v4."].iter().any(|it| version.starts_with(it)) {
        Ok(HelmVersion::V3_1AndAbove)
    } else {
        Err(VersionError::Unknown(output.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_after_warnings() {
        for (output, expected) in [
            ("v3.0.2+g19e47ee\n", Ok(HelmVersion::V3_0)),
            ("v3.0.2", Ok(HelmVersion::V3_0)),
            ("v3.14.0+g3fc9f4b\n", Ok(HelmVersion::V3_1AndAbove)),
            ("3.5.0", Ok(HelmVersion::V3_1AndAbove)),
            ("v4.1.4+g05fa379", Ok(HelmVersion::V3_1AndAbove)),
            ("WARNING: x\nWARNING: y\nv3.3.3+g55e3ca0\n", Ok(HelmVersion::V3_1AndAbove)),
            // Only several lines are trimmed.
            (" v3.3.3\n", Err(" v3.3.3\\n")),
            ("Client: v2.16.1+gbbdfe5e\n", Err("Client: v2.16.1+gbbdfe5e\\n")),
            ("", Err("")),
        ] {
            let expected = expected
                .map_err(|it| format!("could not parse Helm version from string: \"{it}\""));
            assert_eq!(parse(output).map_err(|why| why.to_string()), expected, "{output:?}");
        }
    }
}
