//! `trigger`: asks a running instance to update a resource.

use std::time::{Duration, Instant};

use builtins::golang::quote::quote;
use clap::Args;
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, Selection, WebClient},
    connect::ConnectFlags,
    failure::Failure,
    resource_type, values,
};

/// Tilt's number of the reason "asked for on the command line".
const TRIGGERED_BY_CLI: u32 = 32;

/// Update a resource now.
///
/// Pending changes of a resource that is updated by hand are applied; otherwise everything is
/// rebuilt. The command does not wait for the update, unless --wait is given.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// The resource
    #[arg(required = true, value_name = "RESOURCE")]
    resource: String,
    /// Also update manual dependencies that were never updated
    #[arg(long)]
    with_deps: bool,
    /// Wait until the update has ended; exit code 1 if it failed
    #[arg(long)]
    wait: bool,
    /// How long --wait waits, for example 5m; 0 is forever
    #[arg(long, value_name = "DURATION", default_value = "0", value_parser = values::duration)]
    timeout: values::GoDuration,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

pub(super) fn run(flags: &Flags, printer: Printer) -> Result<(), Failure> {
    let before = if flags.wait { Some(Before::read(flags)?) } else { None };
    let mut payload =
        json!({"manifest_names": [&flags.resource], "build_reason": TRIGGERED_BY_CLI});
    if flags.with_deps {
        payload["with_deps"] = true.into();
    }
    let (status, body) = WebClient::new(&flags.connect)?.post("trigger", &payload)?;
    if status != 200 {
        return Err(Failure::Command(format!("({status}): {body}")));
    }
    if !body.is_empty() {
        return Err(Failure::Command(body));
    }
    if flags.json {
        printer.json(&json!({"resource": flags.resource, "triggered": true}));
    } else {
        let name = quote(&flags.resource);
        printer.out(&format!("Successfully triggered update for resource: {name}\n"));
    }
    before.map_or(Ok(()), |it| it.wait(flags))
}

/// What was known about a resource before it was triggered.
struct Before {
    client: ApiClient,
    last_build: Value,
}

impl Before {
    fn read(flags: &Flags) -> Result<Self, Failure> {
        let client = ApiClient::new(&flags.connect)?;
        let last_build = match client.get(resource_type::ui_resource(), &flags.resource) {
            Ok(object) => object["status"]["buildHistory"][0]["startTime"].clone(),
            // The trigger will say what is wrong.
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error.native()),
        };
        Ok(Self { client, last_build })
    }

    /// Waits until a build that began later has ended and nothing more is queued.
    fn wait(self, flags: &Flags) -> Result<(), Failure> {
        let timeout = flags.timeout.not_negative().filter(|it| *it > Duration::ZERO);
        let deadline = timeout.map(|it| Instant::now() + it);
        let selection = Selection {
            fields: format!("metadata.name={}", flags.resource),
            ..Selection::default()
        };
        let kind = resource_type::ui_resource();
        let mut watch = self.client.watch(kind, &selection).map_err(Failure::native)?;
        while let Some(event) = watch.next(deadline).map_err(Failure::native)? {
            let status = &event.object["status"];
            if event.event == "DELETED" {
                return Err(Failure::Command(format!(
                    "resource {} is gone",
                    quote(&flags.resource)
                )));
            }
            let build = &status["buildHistory"][0];
            let is_idle = status["queued"] != true && status["currentBuild"].is_null();
            if !is_idle || build["startTime"] == self.last_build {
                continue;
            }
            return match build["error"].as_str() {
                None | Some("") => Ok(()),
                Some(error) => Err(Failure::Command(error.to_owned())),
            };
        }
        let name = quote(&flags.resource);
        Err(Failure::Command(format!("the update of resource {name} has not ended in time")))
    }
}
