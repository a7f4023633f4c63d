//! `explain`: documents the fields of a kind, as the running instance describes them.

mod text;

use clap::Args;
use engine_api::{GROUP, Kind, VERSION};
use engine_formats::golang::quote::quote;
use serde_json::Value;

use super::{
    Printer, client::ApiClient, connect::ConnectFlags, failure::Failure, program, resource_type,
};

/// Where the documentation is.
const DOCUMENT: &str = "/openapi/v3/apis/tilt.dev/v1alpha1";

/// Describe an object type and its fields.
#[derive(Debug, Args)]
pub struct ExplainFlags {
    /// TYPE or TYPE.FIELD.FIELD
    #[arg(value_name = "TYPE[.FIELD]")]
    words: Vec<String>,
    /// Include nested fields
    #[arg(long)]
    recursive: bool,
    /// API version to describe
    #[arg(long, value_name = "GROUP/VERSION", default_value = "", hide_default_value = true)]
    api_version: String,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &ExplainFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let word = match flags.words.as_slice() {
        [word] => word,
        [] => {
            return Err(Failure::Kubectl(format!(
                "You must specify the type of resource to explain. Use \"{} api-resources\" for a \
                 complete list of supported resources.",
                program()
            )));
        }
        _ => {
            let text = "We accept only this format: explain RESOURCE";
            return Err(Failure::Kubectl(text.to_owned()));
        }
    };
    let (kind, path) = split(word)?;
    if !flags.api_version.is_empty() && flags.api_version != format!("{GROUP}/{VERSION}") {
        // The core group has no name.
        let core = if flags.api_version.contains('/') { "" } else { "/" };
        return Err(Failure::Kubectl(format!(
            "couldn't find resource for \"{core}{}, Resource={}\"",
            flags.api_version,
            kind.plural()
        )));
    }
    let document = client.raw(DOCUMENT)?;
    let mut out =
        format!("GROUP:      {GROUP}\nKIND:       {}\nVERSION:    {VERSION}\n\n", kind.name());
    let schema = schema(&document, kind).ok_or_else(|| {
        Failure::Kubectl(format!(
            "GVK {GROUP}/{VERSION}, Kind={} not found in OpenAPI schema",
            kind.name()
        ))
    })?;
    let explanation = text::Explain { document: &document, recursive: flags.recursive };
    match explanation.output(schema, &path) {
        Some(text) => {
            out.push_str(&text);
            out.push('\n');
            printer.out(&out);
            Ok(())
        }
        None => {
            printer.out(&out);
            let field = quote(path.last().copied().unwrap_or_default());
            Err(Failure::Kubectl(format!("field {field} does not exist")))
        }
    }
}

/// The kind and the path of a field.
fn split(word: &str) -> Result<(Kind, Vec<&str>), Failure> {
    let full = format!(".{GROUP}");
    let (name, rest) = match word.split_once(&full) {
        Some((name, rest)) if !name.contains('.') => (name, rest),
        _ => word.split_once('.').unwrap_or((word, "")),
    };
    let kind = resource_type::find(name).ok_or_else(|| {
        Failure::Plain(format!("the server doesn't have a resource type {}", quote(name)))
    })?;
    Ok((kind, rest.split('.').filter(|it| !it.is_empty()).collect()))
}

fn schema(document: &Value, kind: Kind) -> Option<&Value> {
    let schemas = document["components"]["schemas"].as_object()?;
    schemas.values().find(|schema| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds
            .is_some_and(|it| it.iter().any(|it| it["kind"] == kind.name() && it["group"] == GROUP))
    })
}
