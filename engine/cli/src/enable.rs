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
    output,
};

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
    change.apply(&client, flags.json.then_some(printer))
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
    change.apply(&client, flags.json.then_some(printer))
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
    /// Switches; a printer tells what.
    fn apply(&self, client: &ApiClient, printer: Option<Printer>) -> Result<(), Failure> {
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
        if let Some(printer) = printer {
            let names = |is_disabled: bool| -> Vec<&str> {
                let some = switches.iter().filter(|it| it.is_disabled == is_disabled);
                some.map(|it| it.resource.as_str()).collect()
            };
            printer.json(&json!({"enabled": names(false), "disabled": names(true)}));
        }
        Ok(())
    }

    /// Which switches get which value; nothing is written before all names are known.
    fn switches(&self, resources: &[Value]) -> Result<Vec<Switch>, Failure> {
        let sources = |resource: &Value| {
            resource["status"]["disableStatus"]["sources"].as_array().cloned().unwrap_or_default()
        };
        for name in self.names {
            let resource = resources.iter().find(|it| name_of(it) == name);
            let resource =
                resource.ok_or_else(|| error(&format!("no such resource {}", quote(name))))?;
            if sources(resource).is_empty() {
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

fn name_of(resource: &Value) -> &str {
    resource["metadata"]["name"].as_str().unwrap_or_default()
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
        check(&[], &["y", "z"], false, false, "b=true");
        // As soon as there are labels, others are left alone.
        check(&["c"], &["y"], false, true, "b=true c=true");
        check(&[], &[], true, false, "a=true b=true c=true");
        check(&["a", "nope"], &[], false, false, "Error: no such resource \"nope\"");
        check(
            &["(Tiltfile)"],
            &[],
            false,
            false,
            "Error: (Tiltfile) cannot be enabled or disabled",
        );
    }
}
