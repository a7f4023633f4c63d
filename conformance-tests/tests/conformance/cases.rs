//! Every case recorded from Tilt gives the same result, but for the listed gaps.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
};

use conformance_tests::{
    Case, Filter, Gaps, Runner, Verbosity, compare, default_jobs, find_cases, for_each_case,
    search_path, tools_dir,
};

#[test]
fn every_case_gives_the_recorded_result() {
    check_all("conformance", &Runner::binary(crate::engine()));
}

#[test]
fn every_case_gives_the_recorded_result_in_process() {
    check_all("conformance-in-process", &Runner::InProcess { stands_for: crate::engine() });
}

fn check_all(title: &str, engine: &Runner) {
    require_tools(&["helm", "kubectl"]);
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = find_cases(&package.join("cases"), &Filter::default()).unwrap();
    let gaps = Gaps::parse(&fs::read_to_string(package.join("gaps.txt")).unwrap()).unwrap();

    let mut report = Report::default();
    let difference = |case: &Case| difference(case, engine);
    for_each_case(&cases, default_jobs(), difference, |case, found| {
        report.add(&case.label, gaps.reason(&case.label), found);
    });
    let known = |label: &&str| !cases.iter().any(|case| case.label == *label);
    report.problems.extend(gaps.labels().filter(known).map(|it| format!("no such case: {it}")));

    // Written past the test harness, which shows what tests print only if they fail.
    let (passed, failed, listed) = (report.passed, report.problems.len(), report.listed);
    let summary = format!("{title}: {passed} passed, {failed} failed, {listed} known gaps\n");
    io::stdout().write_all(summary.as_bytes()).unwrap();
    assert!(report.problems.is_empty(), "{summary}{}", report.problems.join("\n"));
}

#[derive(Default)]
struct Report {
    passed: usize,
    listed: usize,
    problems: Vec<String>,
}

impl Report {
    fn add(&mut self, label: &str, gap: Option<&str>, difference: Option<String>) {
        match (gap, difference) {
            (None, None) => self.passed += 1,
            (Some(_), Some(_)) => self.listed += 1,
            (None, Some(difference)) => {
                self.problems.push(format!("differs  {label}: {difference}"));
            }
            (Some(_), None) => {
                self.problems.push(format!("fixed    {label}: take it off gaps.txt"));
            }
        }
    }
}

fn difference(case: &Case, engine: &Runner) -> Option<String> {
    let expected = case.expected().map_err(|error| error.to_string());
    let outcome = engine.run(case, Verbosity::Verbose).map_err(|error| error.to_string());
    match (expected, outcome) {
        (Ok(expected), Ok(outcome)) => {
            let found = compare::check(&expected, &outcome, compare::Emptiness::Exact);
            found.map(|it| it.text().to_owned())
        }
        (Err(error), _) | (_, Err(error)) => Some(error),
    }
}

fn require_tools(names: &[&str]) {
    let path = search_path();
    for name in names {
        let found = env::split_paths(&path).any(|dir| dir.join(name).is_file());
        assert!(
            found,
            "`{name}` is neither in `{}` nor on PATH: run `make tools`",
            tools_dir().display()
        );
    }
}
