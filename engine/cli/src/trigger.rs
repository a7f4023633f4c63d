//! `trigger`: asks a running instance to update a resource.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant, SystemTime},
};

use clap::Args;
use engine_api::{Kind, log::micros};
use engine_formats::golang::quote::quote;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    Printer,
    client::{ApiClient, Selection, WebClient},
    connect::ConnectFlags,
    failure::Failure,
    is_tilt,
    logs::{self, OwnSpan},
    names, values, why,
};

/// Tilt's build reason for "triggered on the command line".
const TRIGGERED_BY_CLI: u32 = 32;

/// Update a resource now.
///
/// A manual resource with pending changes applies those; any other resource is rebuilt completely.
/// The command returns at once, unless --wait is given.
#[derive(Debug, Args)]
pub struct TriggerFlags {
    /// The resource
    #[arg(required = true, value_name = "RESOURCE")]
    resource: String,
    /// First update its dependencies that have not succeeded yet
    #[arg(long)]
    with_deps: bool,
    /// Wait for the update and print its log; exit code 1 if it failed
    #[arg(long)]
    wait: bool,
    /// How long --wait waits, such as 5m; 0 waits forever
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = values::duration)]
    timeout: values::GoDuration,
    /// Print the result as JSON instead of the log
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &TriggerFlags, printer: Printer) -> Result<(), Failure> {
    let wait = if flags.wait { Some(Wait::new(flags)?) } else { None };
    let triggered = trigger(flags)?;
    if !flags.json {
        for name in triggered.iter().map(|it| quote(it)) {
            printer.out(&format!("Successfully triggered update for resource: {name}\n"));
        }
    }
    let mut result = json!({"resource": flags.resource, "triggered": true});
    if flags.with_deps {
        result["with"] = triggered.iter().filter(|it| **it != flags.resource).cloned().collect();
    }
    let ended = match wait {
        None => Ok(()),
        Some(wait) if flags.json => wait.until_ended(&triggered, flags),
        Some(wait) => wait.with_log(&triggered, flags, printer),
    };
    if flags.json {
        if flags.wait {
            result["succeeded"] = ended.is_ok().into();
        }
        if let Err(failure) = &ended {
            result["error"] = failure.message().into();
            result["reason"] = why::read(&flags.resource, &flags.connect).unwrap_or_default();
        }
        printer.json(&result);
    }
    ended
}

/// Triggers the update; returns the names of the updated resources, the requested one last.
fn trigger(flags: &TriggerFlags) -> Result<Vec<String>, Failure> {
    let mut payload =
        json!({"manifest_names": [&flags.resource], "build_reason": TRIGGERED_BY_CLI});
    if flags.with_deps {
        payload["with_deps"] = true.into();
    }
    let (status, body) = WebClient::new(&flags.connect)?.post("trigger", &payload)?;
    if status == 404 && !is_tilt() {
        return Err(names::not_known(&flags.resource, &flags.connect));
    }
    if status != 200 {
        return Err(Failure::Command(format!("({status}): {body}")));
    }
    if body.is_empty() {
        return Ok(vec![flags.resource.clone()]);
    }
    let names = serde_json::from_str::<Value>(&body).ok().filter(|_| flags.with_deps);
    let names = names.as_ref().and_then(|it| it["triggered"].as_array());
    match names {
        Some(names) => Ok(names.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()),
        None => Err(Failure::Command(body)),
    }
}

/// The state before the trigger.
struct Wait {
    client: ApiClient,
    /// When the last update of each resource began.
    last_builds: HashMap<String, Value>,
    /// The part of the log that is about what was triggered.
    span: OwnSpan,
}

impl Wait {
    fn new(flags: &TriggerFlags) -> Result<Self, Failure> {
        let client = ApiClient::new(&flags.connect)?;
        let kind = Kind::UiResource;
        let resources = client.list(kind, &Selection::default()).map_err(Failure::native)?;
        let last_builds = resources.iter().map(|it| {
            let name = it["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            (name, it["status"]["buildHistory"][0]["startTime"].clone())
        });
        let last_builds = last_builds.collect();
        let older = resources.iter().map(|it| &it["status"]).flat_map(|status| {
            let history = status["buildHistory"].as_array().into_iter().flatten();
            history.chain([&status["currentBuild"]]).filter_map(|it| it["spanID"].as_str())
        });
        let span = OwnSpan::new(micros(SystemTime::now()), older.map(str::to_owned));
        Ok(Self { client, last_builds, span })
    }

    /// Shows the log until the updates have ended.
    fn with_log(
        self,
        triggered: &[String],
        flags: &TriggerFlags,
        printer: Printer,
    ) -> Result<(), Failure> {
        let (ended, end) = oneshot::channel();
        let span = self.span.clone();
        thread::scope(|scope| {
            // Whoever shows the log waits for this, and for nothing else.
            scope.spawn(move || drop(ended.send(self.until_ended(triggered, flags))));
            logs::until(&flags.connect, triggered, span, end, printer)
        })
    }

    /// Waits until a build of the resource that began later has ended and nothing more is queued, or
    /// until it cannot come to that.
    fn until_ended(self, triggered: &[String], flags: &TriggerFlags) -> Result<(), Failure> {
        let timeout = flags.timeout.not_negative().filter(|it| *it > Duration::ZERO);
        let deadline = timeout.map(|it| Instant::now() + it);
        let kind = Kind::UiResource;
        let watch = self.client.watch(kind, &Selection::default());
        let mut watch = watch.map_err(Failure::native)?;
        while let Some(event) = watch.next(deadline).map_err(Failure::native)? {
            let name = event.object["metadata"]["name"].as_str().unwrap_or_default();
            if !triggered.iter().any(|it| it == name) {
                continue;
            }
            let end = match event.event.as_str() {
                "DELETED" => Some(Err(UpdateError::Deleted(name.to_owned()))),
                _ => end(&self.last_builds, &event.object),
            };
            match end {
                Some(Ok(())) if name == flags.resource => return Ok(()),
                Some(Err(error)) => return Err(failed(&error, name, flags)),
                Some(Ok(())) | None => {}
            }
        }
        let text =
            format!("the update of resource {} has not ended in time", quote(&flags.resource));
        let reason = why::read(&flags.resource, &flags.connect);
        Err(Failure::Command(reason.map_or_else(|| text.clone(), |it| with_reason(&text, &it))))
    }
}

/// The failure of an update: its reason in the words of `why`, or as long as that is not known, its error.
fn failed(error: &UpdateError, name: &str, flags: &TriggerFlags) -> Failure {
    let reason = why::read(name, &flags.connect).filter(|it| it["state"] == "failed");
    let mut text = match (error, reason) {
        (UpdateError::Failed(_), Some(reason)) => {
            with_reason(&format!("the update of resource {} failed", quote(name)), &reason)
        }
        _ => error.to_string(),
    };
    if name != flags.resource {
        let (name, waiting) = (quote(name), quote(&flags.resource));
        text.push_str(&format!("\nresource {waiting} waits for resource {name}"));
    }
    Failure::Command(text)
}

fn with_reason(text: &str, reason: &Value) -> String {
    let words = why::reason_text(&reason["resource"], reason, std::iter::empty());
    format!("{text}\n{}", words.trim_end())
}

/// Why a triggered update did not succeed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum UpdateError {
    #[error("resource {} is gone", quote(.0))]
    Deleted(String),
    #[error("resource {} is currently disabled", quote(.0))]
    Disabled(String),
    #[error("{0}")]
    Failed(String),
}

/// How the update of a resource ended, if it has.
fn end(last_builds: &HashMap<String, Value>, resource: &Value) -> Option<Result<(), UpdateError>> {
    let status = &resource["status"];
    let name = resource["metadata"]["name"].as_str().unwrap_or_default();
    if status["disableStatus"]["state"] == "Disabled" {
        return Some(Err(UpdateError::Disabled(name.to_owned())));
    }
    let build = &status["buildHistory"][0];
    let is_idle = status["queued"] != true && status["currentBuild"].is_null();
    let is_old = last_builds.get(name).unwrap_or(&Value::Null) == &build["startTime"];
    if !is_idle || is_old {
        return None;
    }
    Some(match build["error"].as_str() {
        None | Some("") => Ok(()),
        Some(error) => Err(UpdateError::Failed(error.to_owned())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_has_ended_when_a_later_one_is_over_and_none_waits() {
        let ended = |status: Value| {
            let last_builds = HashMap::from([("web".to_owned(), json!("1"))]);
            end(&last_builds, &json!({"metadata": {"name": "web"}, "status": status}))
        };
        assert_eq!(ended(json!({"buildHistory": [{"startTime": "1"}]})), None);
        assert_eq!(ended(json!({"buildHistory": [{"startTime": "2"}]})), Some(Ok(())));
        assert_eq!(ended(json!({"buildHistory": [{"startTime": "2"}], "queued": true})), None);
        assert_eq!(
            ended(
                json!({"buildHistory": [{"startTime": "2"}], "currentBuild": {"startTime": "3"}})
            ),
            None
        );
        assert_eq!(
            ended(json!({"buildHistory": [{"startTime": "2", "error": "boom"}]})),
            Some(Err(UpdateError::Failed("boom".to_owned())))
        );
        assert_eq!(
            ended(json!({"disableStatus": {"state": "Disabled"}})),
            Some(Err(UpdateError::Disabled("web".to_owned())))
        );
    }
}
