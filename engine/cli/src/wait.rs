//! `wait`: waits until objects of a running instance meet a condition.

mod condition;

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use super::{
    Printer,
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    failure::Failure,
    manifests::{DeepFileFlags, FileFlags},
    output::{Outcome, OutputFlags},
    resource_type,
    selection::{self, Found, SelectorFlags, Target},
    values::{self, GoDuration},
};
use condition::Condition;

/// The duration of a negative timeout.
const WEEK: Duration = Duration::from_hours(7 * 24);
/// How often to poll for a missing object.
const POLL: Duration = Duration::from_millis(100);

/// Wait until objects meet a condition.
///
/// The command selects the objects when it starts, then waits for each in turn.
#[derive(Debug, Args)]
pub struct WaitFlags {
    /// TYPE NAME..., TYPE/NAME..., or TYPE with --all or -l
    #[arg(value_name = "TYPE [NAME]")]
    words: Vec<String>,
    /// Condition to wait for: create, delete, condition=NAME[=VALUE] or jsonpath='{EXPRESSION}'[=VALUE]
    #[arg(long = "for", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// How long to wait for each object; 0 checks once, negative waits for a week
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::duration)]
    timeout: GoDuration,
    /// Select all objects of the given types
    #[arg(long)]
    all: bool,
    /// Accepted for compatibility; nothing is in a namespace
    #[arg(hide = true, short = 'A', long)]
    all_namespaces: bool,
    /// Allow only -f to select objects
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    selector: SelectorFlags,
    /// Field query; supports metadata.name
    #[arg(long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    field_selector: String,
    #[command(flatten)]
    files: DeepFileFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &WaitFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let outcome = Outcome::new(&flags.output)?;
    let conditions = Condition::read_all(&flags.conditions).map_err(Failure::kubectl)?;
    let timeout = flags.timeout.not_negative().unwrap_or(WEEK);
    let targets = targets(flags)?;
    let mut wait = Wait {
        client: &client,
        conditions: &conditions,
        checks_once: timeout.is_zero(),
        deadline: Instant::now() + timeout,
        outcome,
        printer,
    };
    if conditions.contains(&Condition::Create) {
        wait.until_created(&targets)?;
    }
    wait.until_met(&targets)
}

fn targets(flags: &WaitFlags) -> Result<Vec<Target>, Failure> {
    let files = FileFlags::from(&flags.files);
    if !files.is_empty() {
        return selection::in_files(&files, &flags.words);
    }
    if flags.local {
        return Err(Failure::Kubectl(
            "you must specify resources by --filename when --local is set.\nExample resource \
             specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'"
                .to_owned(),
        ));
    }
    if flags.words.is_empty() {
        return Err(selection::nothing_named());
    }
    let selection =
        Selection { labels: flags.selector.selector.clone(), fields: flags.field_selector.clone() };
    selection::targets(&flags.words, &selection, flags.all)
}

struct Wait<'a> {
    client: &'a ApiClient,
    conditions: &'a [Condition],
    checks_once: bool,
    deadline: Instant,
    outcome: Outcome<'a>,
    printer: Printer,
}

impl Wait<'_> {
    fn until_created(&self, targets: &[Target]) -> Result<(), Failure> {
        loop {
            let (found, failures) = selection::find(self.client, targets, false);
            match failures.into_iter().find(|it| !it.is_not_found()) {
                Some(failure) => return Err(failure),
                None if !found.is_empty() => return Ok(()),
                None if Instant::now() >= self.deadline => {
                    return Err(Failure::Kubectl("timed out waiting for the condition".to_owned()));
                }
                None => std::thread::sleep(POLL),
            }
        }
    }

    fn until_met(&mut self, targets: &[Target]) -> Result<(), Failure> {
        let waits_for_end = self.conditions.contains(&Condition::Delete);
        let (found, mut failures) = selection::find(self.client, targets, waits_for_end);
        if found.is_empty() && failures.is_empty() && !waits_for_end {
            return Err(Failure::Kubectl("no matching resources found".to_owned()));
        }
        let conditions = self.conditions;
        for object in &found {
            let met = conditions.iter().try_for_each(|condition| {
                let last = self.one(object, condition)?;
                let text = self.outcome.text(&last, "condition met")?;
                self.printer.out(&text);
                Ok(())
            });
            failures.extend(met.err());
        }
        Failure::all(failures)
    }

    /// Waits until one object meets one condition, and gives the object.
    fn one(&self, found: &Found, condition: &Condition) -> Result<Value, Failure> {
        let subject = format!("{}/{}", found.kind.plural(), found.name);
        if self.checks_once {
            return self.check(found, condition, &subject);
        }
        if *condition == Condition::Create {
            return Ok(found.object.clone());
        }
        let timed_out =
            || Failure::Kubectl(format!("timed out waiting for the condition on {subject}"));
        if Instant::now() >= self.deadline {
            return Err(timed_out());
        }
        if *condition == Condition::Delete && self.is_gone(found)? {
            return Ok(found.object.clone());
        }
        let fields = format!("metadata.name={}", found.name);
        let selection = Selection { fields, ..Selection::default() };
        let mut watch = self.client.watch(found.kind, &selection)?;
        while let Some(event) = watch.next(Some(self.deadline))? {
            let is_deleted = event.event == "DELETED";
            let is_met = match condition {
                Condition::Delete => is_deleted,
                _ => !is_deleted && condition.is_met(&event.object).map_err(Failure::kubectl)?,
            };
            if is_met {
                return Ok(event.object);
            }
        }
        if Instant::now() < self.deadline {
            let text = format!("the instance ended while waiting for the condition on {subject}");
            return Err(Failure::Kubectl(text));
        }
        Err(timed_out())
    }

    fn check(&self, found: &Found, condition: &Condition, subject: &str) -> Result<Value, Failure> {
        let is_met = match condition {
            Condition::Create => true,
            Condition::Delete => self.is_gone(found)?,
            _ => condition.is_met(&found.object).map_err(Failure::kubectl)?,
        };
        if is_met {
            return Ok(found.object.clone());
        }
        Err(Failure::Kubectl(format!("condition not met for {subject}")))
    }

    fn is_gone(&self, found: &Found) -> Result<bool, Failure> {
        match self.client.get(found.kind, &found.name) {
            Ok(now) => Ok(now["metadata"]["uid"] != found.object["metadata"]["uid"]),
            Err(failure) if failure.is_not_found() => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

/// Waits until a deleted object no longer exists.
pub(crate) fn until_deleted(
    client: &ApiClient,
    found: &Found,
    deadline: Option<Instant>,
) -> Result<(), Failure> {
    let fields = format!("metadata.name={}", found.name);
    let selection = Selection { fields, ..Selection::default() };
    loop {
        match client.get(found.kind, &found.name) {
            Err(failure) if failure.is_not_found() => return Ok(()),
            Err(failure) => return Err(failure),
            Ok(now) if now["metadata"]["uid"] != found.object["metadata"]["uid"] => return Ok(()),
            Ok(_) => {}
        }
        if deadline.is_some_and(|it| Instant::now() >= it) {
            let subject = format!("{}/{}", resource_type::full_plural(found.kind), found.name);
            let text = format!("timed out waiting for the condition on {subject}");
            return Err(Failure::Kubectl(text));
        }
        let mut watch = client.watch(found.kind, &selection)?;
        while let Some(event) = watch.next(deadline)? {
            if event.event == "DELETED" {
                break;
            }
        }
    }
}
