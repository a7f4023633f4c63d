//! `get --watch`: prints one line per change, as it happens.

use engine_api::Kind;
use serde_json::Value;

use super::{GetFlags, headers, row, sort};
use crate::{
    Printer,
    client::{ApiClient, Selection},
    failure::Failure,
    output::{self, Format},
    selection::{self, Target},
};

/// Prints what exists and then what changes, until the instance ends.
pub(super) fn run(
    flags: &GetFlags,
    client: &ApiClient,
    targets: &[Target],
    format: &Format,
    printer: Printer,
) -> Result<(), Failure> {
    let Some(first) = targets.first() else { return Err(selection::nothing_named()) };
    if targets.iter().any(|it| it.kind() != first.kind()) {
        return Err(Failure::Kubectl("you may only specify a single resource type".to_owned()));
    }
    let (found, failures) = selection::find(client, targets, flags.ignore_not_found);
    Failure::all(failures)?;
    let mut known: Vec<Value> = found.into_iter().map(|it| it.object).collect();
    if known.is_empty() && matches!(first, Target::Named(..)) {
        return Ok(());
    }
    if !flags.sort_by.is_empty() && known.len() > 1 {
        known = sort::objects(known, &flags.sort_by)?;
    }
    let kind = first.kind();
    let mut lines = Lines { flags, kind, format, printer, printed: 0, widths: Vec::new() };
    if !flags.watch_only {
        lines.print_all(&known)?;
    }
    let selection = match targets {
        [Target::Matching(_, selection)] => selection.clone(),
        [Target::Named(_, name)] => {
            Selection { fields: format!("metadata.name={name}"), ..Selection::default() }
        }
        _ => {
            return Err(Failure::Kubectl(
                "you may only watch a single resource or type of resource at a time".to_owned(),
            ));
        }
    };
    // The watch itself begins with what exists, which is known by now.
    let mut old = versions(&known);
    let mut watch = client.watch(kind, &selection)?;
    while let Some(event) = watch.next(None)? {
        let version = &event.object["metadata"]["resourceVersion"];
        let uid = &event.object["metadata"]["uid"];
        let is_old = event.event == "ADDED"
            && old.iter().position(|it| (&it.0, &it.1) == (uid, version)).is_some_and(|at| {
                old.swap_remove(at);
                true
            });
        if !is_old {
            lines.print_all(std::slice::from_ref(&event.object))?;
        }
    }
    Ok(())
}

fn versions(objects: &[Value]) -> Vec<(Value, Value)> {
    let versions = objects.iter().map(|it| {
        let metadata = &it["metadata"];
        (metadata["uid"].clone(), metadata["resourceVersion"].clone())
    });
    versions.collect()
}

/// Prints one object after another; columns keep the width they once had.
struct Lines<'a> {
    flags: &'a GetFlags,
    kind: Kind,
    format: &'a Format,
    printer: Printer,
    printed: usize,
    widths: Vec<usize>,
}

impl Lines<'_> {
    fn print_all(&mut self, objects: &[Value]) -> Result<(), Failure> {
        let is_first = self.printed == 0 && !objects.is_empty();
        if !matches!(self.format, Format::Human) {
            for object in objects {
                let text = self.format.print(object, &self.flags.output, self.printed)?;
                self.printer.out(&text);
                self.printed += 1;
            }
            return Ok(());
        }
        self.printed += objects.len();
        let mut rows = Vec::new();
        if is_first && !self.flags.no_headers {
            rows.push(headers(self.flags, None));
        }
        let (flags, kind) = (self.flags, self.kind);
        rows.extend(objects.iter().map(|it| row(flags, kind, it, flags.show_kind, None)));
        for row in &rows {
            self.widths.resize(row.len(), 0);
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &mut rows {
            let last = row.len() - 1;
            for (cell, width) in row.iter_mut().zip(&self.widths).take(last) {
                let gap = width - cell.chars().count();
                cell.extend(std::iter::repeat_n(' ', gap));
            }
        }
        self.printer.out(&output::align(&rows));
        Ok(())
    }
}
