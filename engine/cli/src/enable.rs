//! `enable` and `disable`: enables and disables resources of a running instance.

use clap::Args;
use engine_api::Kind;
use engine_formats::golang::quote::quote;
use serde_json::{Value, json};

use super::{
    Printer,
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    failure::Failure,
    is_tilt,
    names::{self, labels_of, name_of},
    output,
};

/// More resources than this are told by their number.
const MAX_NAMES: usize = 20;

/// Enable resources.
#[derive(Debug, Args)]
pub struct EnableFlags {
    /// The resources
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// Enable all resources
    #[arg(long)]
    all: bool,
    /// Enable only these resources, and disable all others
    #[arg(long)]
    only: bool,
    /// Enable all resources with any of these labels
    #[arg(short, long, value_delimiter = ',', value_name = "LABELS")]
    labels: Vec<String>,
    /// Print the changed resources as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Disable resources.
#[derive(Debug, Args)]
pub struct DisableFlags {
    /// The resources
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// Disable all resources
    #[arg(long)]
    all: bool,
    /// Disable all resources with any of these labels
    #[arg(short, long, value_delimiter = ',', value_name = "LABELS")]
    labels: Vec<String>,
    /// Print the changed resources as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs `enable`.
pub fn enable(flags: &EnableFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    if flags.all && flags.only {
        return Err(error("cannot use --all with --only"));
    }
    let change = Change {
        names: &flags.resources,
        labels: &flags.labels,
        all: flags.all,
        only: flags.only,
        enable: true,
    };
    change.apply(&client, flags.json, printer)
}

/// Runs `disable`.
pub fn disable(flags: &DisableFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let change = Change {
        names: &flags.resources,
        labels: &flags.labels,
        all: flags.all,
        only: false,
        enable: false,
    };
    change.apply(&client, flags.json, printer)
}

fn error(text: &str) -> Failure {
    Failure::Command(text.to_owned())
}

/// Who is to be switched.
struct Change<'a> {
    names: &'a [String],
    labels: &'a [String],
    all: bool,
    only: bool,
    enable: bool,
}

impl Change<'_> {
    /// Switches, and tells what.
    fn apply(&self, client: &ApiClient, json: bool, printer: Printer) -> Result<(), Failure> {
        if self.all && !self.names.is_empty() {
            return Err(error("cannot use --all with resource names"));
        }
        if !self.all && self.names.is_empty() && self.labels.is_empty() {
            return Err(error("must specify at least one resource"));
        }
        let list = client.list(Kind::UiResource, &Selection::default());
        let switches = self.switches(&list.map_err(Failure::native)?)?;
        for switch in &switches {
            switch.write(client).map_err(Failure::native)?;
        }
        let names = |is_disabled: bool| -> Vec<&str> {
            let some = switches.iter().filter(|it| it.is_disabled == is_disabled);
            some.map(|it| it.resource.as_str()).collect()
        };
        if json {
            printer.json(&json!({"enabled": names(false), "disabled": names(true)}));
        } else if !is_tilt() {
            printer.out(&told("Enabled", &names(false)));
            printer.out(&told("Disabled", &names(true)));
        }
        Ok(())
    }

    /// Refuses names and labels that no resource has.
    fn check(&self, resources: &[Value]) -> Result<(), Failure> {
        for name in self.names {
            if resources.iter().any(|it| name_of(it) == name) {
                continue;
            }
            return Err(if is_tilt() {
                error(&format!("no such resource {}", quote(name)))
            } else {
                names::unknown_resource(name, resources.iter().map(name_of))
            });
        }
        let has = |it: &Value, label: &str| labels_of(it).any(|it| it == label);
        let unknown = self.labels.iter().find(|label| !resources.iter().any(|it| has(it, label)));
        match unknown.filter(|_| !is_tilt()) {
            Some(label) => Err(names::unknown_label(label, resources.iter().flat_map(labels_of))),
            None => Ok(()),
        }
    }

    /// Which switches get which value; nothing is written before all names are known.
    fn switches(&self, resources: &[Value]) -> Result<Vec<Switch>, Failure> {
        let sources = |resource: &Value| {
            resource["status"]["disableStatus"]["sources"].as_array().cloned().unwrap_or_default()
        };
        self.check(resources)?;
        let named = resources.iter().filter(|it| self.names.iter().any(|name| name == name_of(it)));
        for resource in named {
            if sources(resource).is_empty() {
                let name = name_of(resource);
                return Err(error(&format!("{name} cannot be enabled or disabled")));
            }
        }
        let mut switches = Vec::new();
        for resource in resources {
            let Some(enable) = self.decide(resource) else { continue };
            for source in sources(resource) {
                let text = |key: &str| source["configMap"][key].as_str().map(str::to_owned);
                let (Some(config_map), Some(key)) = (text("name"), text("key")) else {
                    let name = name_of(resource);
                    return Err(error(&format!(
                        "internal error: resource {name}'s DisableSource does not have a ConfigMap'"
                    )));
                };
                let resource = name_of(resource).to_owned();
                switches.push(Switch { resource, config_map, key, is_disabled: !enable });
            }
        }
        Ok(switches)
    }

    /// Whether a resource is to be on, if it is to be changed at all.
    fn decide(&self, resource: &Value) -> Option<bool> {
        let labels = &resource["metadata"]["labels"];
        if self.names.iter().any(|it| it == name_of(resource)) {
            Some(self.enable)
        } else if !self.labels.is_empty() {
            self.labels.iter().any(|it| labels.get(it).is_some()).then_some(self.enable)
        } else if self.all {
            Some(self.enable)
        } else {
            self.only.then_some(!self.enable)
        }
    }
}

/// What was done to resources, as a line; nothing if there are none.
fn told(what: &str, names: &[&str]) -> String {
    match names {
        [] => String::new(),
        names if names.len() <= MAX_NAMES => format!("{what} {}.\n", names.join(", ")),
        names => format!("{what} {} resources.\n", names.len()),
    }
}

/// A key of a config map that a resource looks at.
#[derive(Debug, PartialEq, Eq)]
struct Switch {
    resource: String,
    config_map: String,
    key: String,
    is_disabled: bool,
}

impl Switch {
    fn write(&self, client: &ApiClient) -> Result<(), Failure> {
        let kind = Kind::ConfigMap;
        let value = Value::from(self.is_disabled.to_string());
        match client.get(kind, &self.config_map) {
            Ok(object) if object["data"][&self.key] == value => Ok(()),
            Ok(mut object) => {
                if !object["data"].is_object() {
                    object["data"] = json!({});
                }
                object["data"][&self.key] = value;
                client.update(kind, &object).map(drop)
            }
            Err(failure) if failure.is_not_found() => {
                let object = json!({
                    "apiVersion": output::api_version(),
                    "kind": "ConfigMap",
                    "metadata": {"name": &self.config_map},
                    "data": {&self.key: value},
                });
                client.create(kind, &object, &[]).map(drop)
            }
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources() -> Vec<Value> {
        let resource = |name: &str, labels: &[&str]| {
            let labels: Value =
                labels.iter().map(|it| ((*it).to_owned(), Value::from(*it))).collect();
            json!({"metadata": {"name": name, "labels": labels}, "status": {"disableStatus": {
                "sources": [{"configMap": {"name": format!("{name}-disable"), "key": "isDisabled"}}]}}})
        };
        vec![
            json!({"metadata": {"name": "(Tiltfile)"}, "status": {}}),
            resource("a", &["x"]),
            resource("b", &["x", "y"]),
            resource("c", &[]),
        ]
    }

    fn check(names: &[&str], labels: &[&str], all: bool, only: bool, want: &str) {
        let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (names, labels) = (owned(names), owned(labels));
        let change = Change { names: &names, labels: &labels, all, only, enable: true };
        let got = match change.switches(&resources()) {
            Ok(switches) => switches
                .iter()
                .map(|it| format!("{}={}", it.config_map.replace("-disable", ""), !it.is_disabled))
                .collect::<Vec<_>>()
                .join(" "),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(got, want);
    }

    #[test]
    fn names_then_labels_then_all_then_only_decide() {
        check(&["a"], &[], false, false, "a=true");
        check(&["a"], &[], false, true, "a=true b=false c=false");
        check(&[], &["y"], false, false, "b=true");
        // As soon as there are labels, others are left alone.
        check(&["c"], &["y"], false, true, "b=true c=true");
        check(&[], &[], true, false, "a=true b=true c=true");
        check(
            &["(Tiltfile)"],
            &[],
            false,
            false,
            "Error: (Tiltfile) cannot be enabled or disabled",
        );
    }

    #[test]
    fn names_and_labels_that_nobody_has_switch_nothing() {
        let told = |it: &str| format!("Error: {it} (`{} status` lists all)", crate::program());
        check(&["a", "nope"], &[], false, false, &told("no resource \"nope\""));
        check(
            &["(Tiltfle)"],
            &[],
            true,
            false,
            &told("no resource \"(Tiltfle)\"; did you mean (Tiltfile)?"),
        );
        check(&["a"], &["y", "z"], false, false, &told("no resource has the label \"z\""));
    }

    #[test]
    fn what_was_switched_is_told() {
        assert_eq!(told("Enabled", &[]), "");
        assert_eq!(told("Enabled", &["a", "b"]), "Enabled a, b.\n");
        assert_eq!(told("Disabled", &["a"; 21]), "Disabled 21 resources.\n");
    }
}
