//! `api-resources`: lists the kinds of objects.

use clap::{ArgAction, Args};
use engine_api::{GROUP, Kind};
use engine_formats::golang::pflag::parse_bool;
use serde_json::{Value, json};

use super::{Printer, client::ApiClient, connect::ConnectFlags, failure::Failure, output, program};

/// What can be done with every kind.
const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// List the object types of the API.
#[derive(Debug, Args)]
pub struct ApiResourcesFlags {
    #[arg(value_name = "ARGS", hide = true)]
    words: Vec<String>,
    /// Only types of this API group
    #[arg(long, value_name = "GROUP")]
    api_group: Option<String>,
    /// Only types that are (true) or are not (false) namespaced
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, action = ArgAction::Set,
        default_missing_value = "true", value_parser = parse_bool)]
    namespaced: Option<bool>,
    /// Only types that support all of these verbs
    #[arg(long, value_delimiter = ',', value_name = "VERBS")]
    verbs: Vec<String>,
    /// Field to sort by: name or kind
    #[arg(long, value_name = "FIELD", default_value = "", hide_default_value = true)]
    sort_by: String,
    /// Accepted for compatibility; nothing is cached
    #[arg(hide = true, long)]
    cached: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &ApiResourcesFlags, printer: Printer) -> Result<(), Failure> {
    // The answer is known, but only a running instance has these kinds.
    ApiClient::new(&flags.connect)?;
    if !flags.words.is_empty() {
        return Err(Failure::Kubectl(format!(
            "unexpected arguments: [{}]\nSee '{} api-resources -h' for help and examples",
            flags.words.join(" "),
            program()
        )));
    }
    if !matches!(flags.sort_by.as_str(), "" | "name" | "kind") {
        return Err(Failure::Kubectl("--sort-by accepts only name or kind".to_owned()));
    }
    let kinds = selected(flags);
    if flags.json {
        let kinds: Vec<Value> = kinds.iter().map(|it| described(*it)).collect();
        let encoder =
            engine_formats::golang::json::Encoder { indent: Some("  "), escape_html: true };
        printer.out(&format!("{}\n", encoder.encode(&Value::Array(kinds))));
        return Ok(());
    }
    let header = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(kinds.iter().map(|kind| {
        vec![
            kind.plural().to_owned(),
            kind.short_names().join(","),
            output::api_version(),
            "false".to_owned(),
            kind.name().to_owned(),
        ]
    }));
    printer.out(&output::align(&rows));
    Ok(())
}

fn selected(flags: &ApiResourcesFlags) -> Vec<Kind> {
    let is_wanted = flags.api_group.as_deref().is_none_or(|it| it == GROUP)
        && flags.namespaced != Some(true)
        && flags.verbs.iter().all(|it| VERBS.contains(&it.as_str()));
    let mut kinds: Vec<Kind> = if is_wanted { Kind::ALL.to_vec() } else { Vec::new() };
    if flags.sort_by == "kind" {
        kinds.sort_by_key(|it| it.name());
    } else {
        kinds.sort_by_key(|it| it.plural());
    }
    kinds
}

fn described(kind: Kind) -> Value {
    json!({
        "name": kind.plural(),
        "singularName": kind.singular(),
        "shortNames": kind.short_names(),
        "apiVersion": output::api_version(),
        "namespaced": false,
        "kind": kind.name(),
        "verbs": VERBS,
    })
}
