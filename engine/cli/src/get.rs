//! `get`: prints objects of a running instance.

mod sort;
mod states;
mod watch;

use clap::Args;
use engine_api::Kind;
use serde_json::Value;

use super::{
    Printer,
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    failure::Failure,
    is_tilt,
    output::{self, Format, Formats, OutputFlags},
    program, resource_type,
    selection::{self, Found, SelectorFlags, Target},
};
use states::States;

/// Display one or many objects.
///
/// TYPE is an object type, such as uiresource; `api-resources` lists them with their short names.
#[derive(Debug, Args)]
pub struct GetFlags {
    /// TYPE [NAME...], TYPE/NAME... or TYPE1,TYPE2
    #[arg(value_name = "TYPE [NAME]")]
    words: Vec<String>,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    selector: SelectorFlags,
    /// Field query; supports metadata.name
    #[arg(long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    field_selector: String,
    /// Labels to show as columns
    #[arg(short = 'L', long, value_delimiter = ',', value_name = "LABELS")]
    label_columns: Vec<String>,
    /// Show all labels in the last column
    #[arg(long)]
    show_labels: bool,
    /// Show the type of each object
    #[arg(long)]
    show_kind: bool,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// Field to sort by, such as '.status.order'
    #[arg(long, value_name = "JSONPATH", default_value = "", hide_default_value = true)]
    sort_by: String,
    /// Keep printing changes until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Print only changes, until Ctrl-C
    #[arg(long)]
    watch_only: bool,
    /// Do not fail if a name does not exist
    #[arg(long)]
    ignore_not_found: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command under the words that were typed, `get` or `alpha get`.
pub fn run(flags: &GetFlags, name: &str, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    check(flags, name, printer)?;
    let format = format(flags)?;
    let selection =
        Selection { labels: flags.selector.selector.clone(), fields: flags.field_selector.clone() };
    let targets = selection::targets(&flags.words, &selection, true)?;
    if flags.watch || flags.watch_only {
        return watch::run(flags, &client, &targets, &format, printer);
    }
    let (found, failures) = selection::find(&client, &targets, flags.ignore_not_found);
    if matches!(format, Format::Human) {
        return print_tables(flags, &found, failures, printer);
    }
    print_objects(flags, &targets, (found, failures), &format, printer)
}

fn check(flags: &GetFlags, name: &str, printer: Printer) -> Result<(), Failure> {
    if flags.words.is_empty() && !flags.watch && !flags.watch_only {
        let program = program();
        printer.err(&format!(
            "You must specify the type of resource to get. Use \"{program} api-resources\" for a \
             complete list of supported resources.\n\n",
        ));
        // Only where there is such a command beside it.
        let explain = match name {
            "get" => format!(
                "Use \"{program} explain <resource>\" for a detailed description of that resource (e.g. \
                 {program} explain pods).\n"
            ),
            _ => String::new(),
        };
        return Err(Failure::Kubectl(format!(
            "Required resource not specified.\n{explain}See '{program} {name} -h' for help and examples"
        )));
    }
    let output = flags.output.format();
    if flags.show_labels && !output.is_empty() && output != "wide" {
        let text = format!("--show-labels option cannot be used with {output} printer");
        return Err(Failure::Kubectl(text));
    }
    if !flags.sort_by.is_empty() && flags.watch {
        printer.err(
            "warning: --watch requested, --sort-by will be ignored for watch events received\n",
        );
    } else if !flags.sort_by.is_empty() && flags.watch_only {
        printer.err("warning: --watch-only requested, --sort-by will be ignored\n");
    }
    Ok(())
}

fn format(flags: &GetFlags) -> Result<Format, Failure> {
    let mut format = Format::read(&flags.output, Formats::WithTables)?;
    if let Format::Columns(columns) = &mut format {
        columns.no_headers = flags.no_headers;
    }
    Ok(format)
}

/// One object as itself, everything else as a list.
fn print_objects(
    flags: &GetFlags,
    targets: &[Target],
    (found, mut failures): (Vec<Found>, Vec<Failure>),
    format: &Format,
    printer: Printer,
) -> Result<(), Failure> {
    let is_single = matches!(targets, [Target::Named(..)]);
    if (is_single && !failures.is_empty()) || (found.is_empty() && flags.ignore_not_found) {
        return Failure::all(failures);
    }
    let mut objects: Vec<Value> = found.into_iter().map(|it| it.object).collect();
    let object = match objects.len() {
        1 if is_single => objects.remove(0),
        _ => {
            if !flags.sort_by.is_empty() && !objects.is_empty() {
                objects = sort::objects(objects, &flags.sort_by)?;
            }
            output::list(objects)
        }
    };
    match format.print(&object, &flags.output, 0) {
        Ok(text) => printer.out(&text),
        Err(failure) => failures.push(failure),
    }
    Failure::all(failures)
}

/// A table for each type, with a blank line between them.
fn print_tables(
    flags: &GetFlags,
    found: &[Found],
    failures: Vec<Failure>,
    printer: Printer,
) -> Result<(), Failure> {
    let with_kind = flags.show_kind
        || found.iter().any(|it| found.first().is_some_and(|first| first.kind != it.kind));
    let mut text = String::new();
    for group in found.chunk_by(|a, b| a.kind == b.kind) {
        let objects: Vec<Value> = group.iter().map(|it| it.object.clone()).collect();
        let objects = match flags.sort_by.as_str() {
            "" => objects,
            // A field that no object has leaves nothing to show.
            field if objects.len() > 1 => sort::objects(objects, field).unwrap_or_default(),
            _ => objects,
        };
        if objects.is_empty() {
            continue;
        }
        if !text.is_empty() && !flags.no_headers {
            text.push('\n');
        }
        text.push_str(&table(flags, group[0].kind, &objects, with_kind));
    }
    printer.out(&text);
    if text.is_empty() && !flags.ignore_not_found && failures.is_empty() {
        printer.err("No resources found\n");
    }
    Failure::all(failures)
}

/// The rows of objects of one type.
fn table(flags: &GetFlags, kind: Kind, objects: &[Value], with_kind: bool) -> String {
    let mut rows = Vec::new();
    // `-o wide` is the table of the server.
    let has_states = kind == Kind::UiResource && flags.output.format().is_empty() && !is_tilt();
    let states = has_states.then(|| States::read(&flags.connect)).flatten();
    if !flags.no_headers {
        rows.push(headers(flags, states.as_ref()));
    }
    rows.extend(objects.iter().map(|it| row(flags, kind, it, with_kind, states.as_ref())));
    output::align(&rows)
}

fn headers(flags: &GetFlags, states: Option<&States>) -> Vec<String> {
    let mut headers = vec!["NAME".to_owned(), "CREATED AT".to_owned()];
    headers.extend(states.iter().flat_map(|_| states::HEADERS).map(str::to_owned));
    headers.extend(flags.label_columns.iter().map(|label| {
        let name = label.rsplit('/').next().unwrap_or_default();
        name.to_uppercase()
    }));
    if flags.show_labels {
        headers.push("LABELS".to_owned());
    }
    headers
}

fn row(
    flags: &GetFlags,
    kind: Kind,
    object: &Value,
    with_kind: bool,
    states: Option<&States>,
) -> Vec<String> {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&metadata["name"]);
    let name =
        if with_kind { format!("{}/{name}", resource_type::full_singular(kind)) } else { name };
    let mut cells = vec![name, text(&metadata["creationTimestamp"])];
    cells.extend(states.iter().flat_map(|it| it.cells(object)));
    let labels = &metadata["labels"];
    cells.extend(flags.label_columns.iter().map(|label| text(&labels[label])));
    if flags.show_labels {
        cells.push(all_labels(labels));
    }
    cells
}

/// Labels as `key=value`, sorted.
pub(crate) fn all_labels(labels: &Value) -> String {
    let Some(labels) = labels.as_object().filter(|it| !it.is_empty()) else {
        return "<none>".to_owned();
    };
    let mut pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort();
    pairs.join(",")
}
