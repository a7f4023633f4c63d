//! What a container has written and writes, with the times at which it did.

use bollard::query_parameters::LogsOptions;
use futures_util::{StreamExt, future::ready};
use jiff::Timestamp;

use super::{Answers, Output};
use crate::{client::Docker, error::DockerError};

/// Something that a container wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// When; unknown in the middle of a line.
    pub at: Option<Timestamp>,
    /// What.
    pub output: Output,
}

impl Docker {
    /// Follows what a container writes, beginning with `since` if given.
    pub async fn logs(
        &self,
        id: &str,
        since: Option<Timestamp>,
    ) -> Result<Answers<Logged>, DockerError> {
        // Docker is asked for whole seconds only, and what is too old is left out here.
        let seconds = since.and_then(|it| i32::try_from(it.as_second()).ok()).unwrap_or_default();
        let options = LogsOptions {
            follow: true,
            stdout: true,
            stderr: true,
            timestamps: true,
            since: seconds,
            ..LogsOptions::default()
        };
        let client = self.client().await?;
        let outputs: Answers<Output> = self.answers(client.logs(id, Some(options)));
        let is_wanted = move |it: &Result<Logged, DockerError>| {
            let at = it.as_ref().ok().and_then(|it| it.at);
            ready(!(at.is_some() && at < since))
        };
        Ok(Box::pin(outputs.map(|it| it.map(dated)).filter(is_wanted)))
    }
}

/// Takes the time from the beginning of a line.
fn dated(mut output: Output) -> Logged {
    let time = output.bytes.iter().position(|it| *it == b' ').and_then(|end| {
        let time = std::str::from_utf8(&output.bytes[..end]).ok()?;
        Some((end, time.parse::<Timestamp>().ok()?))
    });
    let at = time.map(|(end, at)| {
        output.bytes = output.bytes.slice(end + 1..);
        at
    });
    Logged { at, output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_their_time_unless_they_are_the_rest_of_one() {
        for (line, at, text) in [
            ("2026-01-02T03:04:05.000000006Z a b\n", Some(6), "a b\n"),
            ("2026-01-02T03:04:05.000000006Z \n", Some(6), "\n"),
            ("rest of it\n", None, "rest of it\n"),
            ("rest\n", None, "rest\n"),
        ] {
            let logged = dated(Output { is_stderr: false, bytes: line.into() });
            assert_eq!(logged.at.map(Timestamp::subsec_nanosecond), at, "{line}");
            assert_eq!(logged.output.bytes, text, "{line}");
        }
    }
}
