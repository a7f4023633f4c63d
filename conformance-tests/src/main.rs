//! The command line of the suite, for people: checks an engine, or records Tilt again.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program reports to people")]

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use conformance_tests::{
    Case, Filter, RunError, Runner, Verbosity,
    compare::{self, Difference, Emptiness},
    default_jobs, engine_binary, find_cases, for_each_case, record,
};

/// Checks that an engine gives the results that were recorded from Tilt.
#[derive(Debug, Parser)]
struct Cli {
    /// The engine to check (default: `ENGINE_BIN`, or the one built beside this program).
    #[arg(long, value_name = "BIN", conflicts_with = "record")]
    check: Option<PathBuf>,

    /// Record the results of this Tilt instead of checking.
    #[arg(long, value_name = "TILT_BIN")]
    record: Option<PathBuf>,

    /// Folder of areas; may be repeated (default: `cases/` of this package).
    #[arg(long, value_name = "DIR")]
    tree: Vec<PathBuf>,

    /// Only this area; may be repeated.
    #[arg(long, value_name = "AREA")]
    area: Vec<String>,

    /// Only cases whose `area/name` matches.
    #[arg(long, value_name = "REGEX")]
    case: Option<fancy_regex::Regex>,

    /// How many cases run at a time.
    #[arg(long, short, value_name = "N", default_value_t = default_jobs())]
    jobs: usize,

    /// Treat `null`, `[]`, `{}` and a missing key as the same value.
    #[arg(long)]
    lenient_empty: bool,

    /// Print only the cases that differ.
    #[arg(long, short)]
    quiet: bool,
}

/// Why nothing could be checked or recorded.
#[derive(Debug, thiserror::Error)]
enum CliError {
    #[error("cannot read `{}`: {source}", tree.display())]
    Tree { tree: PathBuf, source: io::Error },
    #[error("no cases found")]
    NoCases,
    #[error("cannot run `{}`: {source}", path.display())]
    Binary { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Engine(#[from] RunError),
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<bool, CliError> {
    let default_tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let trees = if cli.tree.is_empty() { vec![default_tree] } else { cli.tree };
    let filter = Filter { areas: cli.area, label: cli.case };
    let mut cases = Vec::new();
    for tree in trees {
        let found = find_cases(&tree, &filter);
        cases.extend(found.map_err(|source| CliError::Tree { tree, source })?);
    }
    if cases.is_empty() {
        return Err(CliError::NoCases);
    }
    if let Some(tilt) = cli.record {
        let tilt = Runner::binary(absolute(&tilt)?);
        let work = |case: &Case| {
            record(case, &tilt)
                .unwrap_or_else(|error| Some(error.to_string()))
                .map(Difference::Result)
        };
        return Ok(report(&cases, cli.jobs, cli.quiet, ["recorded", "problem"], work));
    }
    let engine = match cli.check {
        Some(path) => absolute(&path)?,
        None => engine_binary()?,
    };
    let engine = Runner::binary(engine);
    let emptiness = if cli.lenient_empty { Emptiness::Lenient } else { Emptiness::Exact };
    let work = |case: &Case| check(case, &engine, emptiness);
    Ok(report(&cases, cli.jobs, cli.quiet, ["same", "differs"], work))
}

fn check(case: &Case, engine: &Runner, emptiness: Emptiness) -> Option<Difference> {
    let expected = match case.expected() {
        Ok(expected) => expected,
        Err(error) => return Some(Difference::Result(format!("cannot read the case: {error}"))),
    };
    match engine.run(case, Verbosity::Verbose) {
        Ok(outcome) => compare::check(&expected, &outcome, emptiness),
        Err(error) => Some(Difference::Result(error.to_string())),
    }
}

/// Prints one line for each case and a summary; returns whether all went well.
fn report(
    cases: &[Case],
    jobs: usize,
    quiet: bool,
    [good, bad]: [&str; 2],
    work: impl Fn(&Case) -> Option<Difference> + Sync,
) -> bool {
    let (mut passed, mut failed, mut wording) = (0, 0, 0);
    for_each_case(cases, jobs, work, |case, found| match found {
        None => {
            passed += 1;
            if !quiet {
                println!("{good:8} {}", case.label);
            }
        }
        Some(difference) => {
            failed += 1;
            wording += usize::from(matches!(difference, Difference::ErrorText(_)));
            println!("{bad:8} {}: {}", case.label, difference.text());
        }
    });
    let note = match wording {
        0 => String::new(),
        n => format!(" ({n} only in the text of the error)"),
    };
    println!("{passed} passed, {failed} failed{note}");
    failed == 0
}

fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    path.canonicalize().map_err(|source| CliError::Binary { path: path.to_owned(), source })
}
