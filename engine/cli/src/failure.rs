//! Why a command fails, worded as Tilt or kubectl words it.

use std::process::ExitCode;

use engine_formats::golang::quote::quote;
use serde_json::Value;

use super::{FAILURE, Printer};

/// A failure, worded as the family of the command words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Of Tilt's own commands.
    #[error("Error: {0}")]
    Command(String),
    /// Of commands that come from kubectl.
    #[error("error: {0}")]
    Kubectl(String),
    /// A text that says everything.
    #[error("{0}")]
    Plain(String),
    /// Of the API server.
    #[error("{}", .0.for_kubectl())]
    Server(Status),
    /// The API server cannot be reached.
    #[error("{}", .0.for_kubectl())]
    Unreachable(Unreachable),
    /// Nothing answers where the command looks.
    #[error("Error: {0}")]
    NotRunning(String),
    /// Several, one per line.
    #[error("{}", lines(.0))]
    Several(Vec<Failure>),
}

impl Failure {
    /// An error of one of Tilt's own commands.
    pub fn command(error: impl std::fmt::Display) -> Self {
        Self::Command(error.to_string())
    }

    /// An error of a command that comes from kubectl.
    pub fn kubectl(error: impl std::fmt::Display) -> Self {
        Self::Kubectl(error.to_string())
    }

    /// Prints the failure and gives the exit code.
    pub fn report(&self, printer: Printer) -> ExitCode {
        let text = self.to_string();
        // Tilt's own commands end the line even where the text has done so.
        let is_ended = text.ends_with('\n') && !matches!(self, Self::Command(_));
        let end = if is_ended { "" } else { "\n" };
        printer.err(&format!("{text}{end}"));
        ExitCode::from(FAILURE)
    }

    /// The same in the words of Tilt's own commands.
    #[must_use]
    pub fn native(self) -> Self {
        match self {
            Self::Server(status) => Self::Command(status.message),
            Self::Kubectl(text) => Self::Command(text),
            Self::Unreachable(cause) => Self::Command(cause.to_string()),
            other => other,
        }
    }

    /// What went wrong, without the word that says so.
    pub fn message(&self) -> String {
        match self {
            Self::Command(text) | Self::Kubectl(text) | Self::NotRunning(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// One failure for all, or none.
    pub(crate) fn all(mut failures: Vec<Self>) -> Result<(), Self> {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    /// Whether the object does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Server(status) if status.reason == "NotFound")
    }

    /// Whether nobody answers.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::NotRunning(_))
    }

    /// The same, with words before the server's message.
    pub(crate) fn in_context(self, context: &str) -> Self {
        match self {
            // An invalid object is named by its details instead.
            Self::Server(status) if status.reason == "Invalid" => Self::Server(status),
            Self::Server(mut status) => {
                status.message = format!("{context}: {}", status.message);
                Self::Server(status)
            }
            other => other,
        }
    }
}

fn lines(failures: &[Failure]) -> String {
    failures
        .iter()
        .map(|failure| match failure {
            // One of many has no prefix of its own.
            Failure::Kubectl(text) => format!("{text}\n"),
            other => format!("{}\n", other.to_string().trim_end_matches('\n')),
        })
        .collect()
}

/// A server that does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} {}: {cause}", quote(.url))]
pub struct Unreachable {
    /// The verb as Go's client words it, such as `Get`.
    pub method: String,
    /// A parsed command line.
    pub url: String,
    /// Host and port.
    pub address: String,
    /// What the system says.
    pub cause: String,
}

impl Unreachable {
    fn for_kubectl(&self) -> String {
        if self.cause.contains("connection refused") {
            return format!(
                "The connection to the server {} was refused - did you specify the right host or port?",
                self.address
            );
        }
        format!("Unable to connect to the server: {}", self.cause)
    }
}

/// An error of the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The word for it, such as `NotFound`.
    pub reason: String,
    /// The text.
    pub message: String,
    kind: String,
    name: String,
    causes: Vec<(String, String)>,
}

impl Status {
    /// Reads the answer of a server to a request that failed.
    pub(crate) fn read(code: u16, body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body).trim().to_owned();
            return Self { reason: reason(code).to_owned(), message: text, ..Self::default() };
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let details = &value["details"];
        let causes = details["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            reason: text(&value["reason"]),
            message: text(&value["message"]),
            kind: text(&details["kind"]),
            name: text(&details["name"]),
            causes: causes.iter().map(|it| (text(&it["field"]), text(&it["message"]))).collect(),
        }
    }

    fn for_kubectl(&self) -> String {
        match self.reason.as_str() {
            "Invalid" => self.invalid(),
            "Unauthorized" => {
                format!("error: You must be logged in to the server ({})", self.message)
            }
            "" => format!("Error from server: {}", self.message),
            reason => format!("Error from server ({reason}): {}", self.message),
        }
    }

    fn invalid(&self) -> String {
        let subject = if self.kind.is_empty() && self.name.is_empty() {
            if self.causes.is_empty() && !self.message.is_empty() {
                return format!("The request is invalid: {}", self.message);
            }
            "The request is invalid".to_owned()
        } else {
            format!("The {} {} is invalid", self.kind, quote(&self.name))
        };
        let mut causes: Vec<String> = Vec::new();
        for (field, message) in &self.causes {
            let cause = format!("{field}: {message}");
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        match causes.as_slice() {
            [] => subject,
            [cause] => format!("{subject}: {cause}\n"),
            causes => {
                format!("{subject}: \n* {}\n", causes.join("\n* "))
            }
        }
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        422 => "Invalid",
        500 => "InternalError",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_of_the_server_read_as_in_kubectl() {
        let cases = [
            (
                json!({"reason": "NotFound", "message": "cmds.tilt.dev \"x\" not found"}),
                "Error from server (NotFound): cmds.tilt.dev \"x\" not found",
            ),
            (
                json!({"reason": "Invalid", "message": "long", "details": {
                    "kind": "FileWatch", "name": "bad",
                    "causes": [{"field": "spec.a", "message": "Required"}, {"field": "spec.a", "message": "Required"}]}}),
                "The FileWatch \"bad\" is invalid: spec.a: Required\n",
            ),
            (
                json!({"reason": "Invalid", "details": {"kind": "Cmd", "name": "c", "causes": [
                    {"field": "a", "message": "x"}, {"field": "b", "message": "y"}]}}),
                "The Cmd \"c\" is invalid: \n* a: x\n* b: y\n",
            ),
            (json!({"message": "boom"}), "Error from server: boom"),
        ];
        for (body, want) in cases {
            let status = Status::read(400, body.to_string().as_bytes());
            assert_eq!(Failure::Server(status).to_string(), want);
        }
    }
}
