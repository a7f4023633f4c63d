//! Records what Tilt does with a case.

use std::{fs, io};

use crate::{
    case::{Case, OUTPUT_FILES},
    outcome::Outcome,
    runner::{RunError, Runner, Verbosity},
};

/// Runs a case three times, writes down the result, and says what makes it unfit as a case.
pub fn record(case: &Case, tilt: &Runner) -> Result<Option<String>, RunError> {
    let first = tilt.run(case, Verbosity::Verbose)?;
    let second = tilt.run(case, Verbosity::Verbose)?;
    let quiet = tilt.run(case, Verbosity::Quiet)?;
    write(case, &first)?;
    Ok(problem(&first, &second, &quiet))
}

fn problem(first: &Outcome, second: &Outcome, quiet: &Outcome) -> Option<String> {
    if first.files() != second.files() {
        Some("unstable: two runs differ".to_owned())
    } else if quiet.exit_code != first.exit_code || quiet.value != first.value {
        Some("the result depends on -v".to_owned())
    } else if !first.succeeded() && quiet.error() != first.error() {
        Some("the error depends on -v".to_owned())
    } else if ![0, 5].contains(&first.exit_code) {
        Some(format!("exit code {} ({})", first.exit_code, first.last_words()))
    } else {
        None
    }
}

fn write(case: &Case, outcome: &Outcome) -> io::Result<()> {
    for name in OUTPUT_FILES {
        match fs::remove_file(case.dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for (name, text) in outcome.files() {
        fs::write(case.dir.join(name), text)?;
    }
    Ok(())
}
