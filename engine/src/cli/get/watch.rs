//! `get --watch`: every change as a line of its own, at once.

use serde_json::Value;

use super::{Flags, headers, row};
use crate::{
    api::kind::Kind,
    cli::{
        Printer,
        client::{ApiClient, Selection},
        failure::Failure,
        output::{self, Format},
        selection::Target,
    },
};

/// Prints what exists and then what changes, until the instance ends.
pub(super) fn run(
    flags: &Flags,
    client: &ApiClient,
    targets: &[Target],
    format: &Format,
    printer: Printer,
) -> Result<(), Failure> {
    let [target] = targets else {
        return Err(Failure::Kubectl("you may only specify a single resource type".to_owned()));
    };
    let (kind, selection) = match target {
        Target::Matching(kind, selection) => (*kind, selection.clone()),
        Target::Named(kind, name) => {
            match client.get(kind, name) {
                Ok(_) => {}
                Err(failure) if flags.ignore_not_found && failure.is_not_found() => return Ok(()),
                Err(failure) => return Err(failure),
            }
            let fields = format!("metadata.name={name}");
            (*kind, Selection { fields, ..Selection::default() })
        }
    };
    let mut lines = Lines { flags, kind, format, printer, printed: 0, widths: Vec::new() };
    // The watch itself begins with what exists; how much of that is old, only a list tells.
    let mut old = if flags.watch_only { known_versions(client, target)? } else { Vec::new() };
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
            lines.print(&event.object)?;
        }
    }
    Ok(())
}

fn known_versions(client: &ApiClient, target: &Target) -> Result<Vec<(Value, Value)>, Failure> {
    let objects = match target {
        Target::Named(kind, name) => vec![client.get(kind, name)?],
        Target::Matching(kind, selection) => client.list(kind, selection)?,
    };
    let versions = objects.iter().map(|it| {
        let metadata = &it["metadata"];
        (metadata["uid"].clone(), metadata["resourceVersion"].clone())
    });
    Ok(versions.collect())
}

/// Prints one object after another; columns keep the width they once had.
struct Lines<'a> {
    flags: &'a Flags,
    kind: &'a Kind,
    format: &'a Format,
    printer: Printer,
    printed: usize,
    widths: Vec<usize>,
}

impl Lines<'_> {
    fn print(&mut self, object: &Value) -> Result<(), Failure> {
        let nth = self.printed;
        self.printed += 1;
        if !matches!(self.format, Format::Human) {
            self.printer.out(&self.format.print(object, &self.flags.output, nth)?);
            return Ok(());
        }
        let mut rows = Vec::new();
        if nth == 0 && !self.flags.no_headers {
            rows.push(headers(self.flags));
        }
        rows.push(row(self.flags, self.kind, object, self.flags.show_kind));
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
