//! Where people see why a resource is in its state: all of them say the same.

use std::{fs, thread, time::Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::{Instance, TIMEOUT, process::LOOK_AGAIN};
use crate::page::browser::Page;

/// How many reasons the prompt shows.
const IN_PROMPT: usize = 5;

/// The states that the prompt shows, and that the page shows in a box.
const BOXED: [&str; 3] = ["failed", "waiting", "not_ready"];

/// A folder with these files.
pub(crate) fn with_files(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("it can be written");
    }
    dir
}

/// An engine on a terminal, and a browser that shows its page if there is one.
pub(crate) struct Surfaces {
    pub(crate) instance: Instance,
    page: Option<Page>,
}

impl Surfaces {
    pub(crate) fn of(instance: Instance) -> Self {
        let page = Page::open(&instance.url("/"));
        Self { instance, page }
    }

    /// Waits until all surfaces show a headline of this form for each of these resources: `*` stands for anything.
    pub(crate) fn show(&mut self, expected: &[(&str, &str)]) {
        let started = Instant::now();
        loop {
            let mut problems: Vec<String> =
                expected.iter().filter_map(|(name, form)| self.check(name, form).err()).collect();
            // A browser takes its time, so it is asked when all others agree.
            if problems.is_empty() {
                let pages = expected.iter().filter_map(|(name, _)| self.check_page(name).err());
                problems = pages.collect();
            }
            if problems.is_empty() {
                return;
            }
            let is_alive = self.instance.is_alive();
            let is_late = started.elapsed() > TIMEOUT;
            assert!(is_alive && !is_late, "{problems:#?}\n{}", self.instance.log());
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether each surface shows what the API does.
    fn check(&mut self, name: &str, form: &str) -> Result<(), String> {
        let wrong =
            |where_: &str, shown: &str| Err(format!("{where_}: {name}: {shown:?}, not {form:?}"));
        let all = self.reasons();
        let reason = all.iter().find(|it| it["resource"] == name).unwrap_or(&Value::Null);
        let headline = text(&reason["headline"]);
        if !is_of_form(&headline, form) {
            return wrong("/api/reasons", &headline);
        }
        let why = self.json(&["why", "--json", name])["reason"].take();
        if why != *reason {
            return wrong("why --json", &why.to_string());
        }
        let mut status = self.json(&["status", "--json", name]);
        if status["resources"][0]["reason"] != *reason {
            return wrong("status --json", &status["resources"][0]["reason"].take().to_string());
        }
        for command in ["why", "status"] {
            let shown = self.words(&[command, name]);
            if !shown.contains(&headline) {
                return wrong(command, &shown);
            }
        }
        let state = text(&reason["state"]);
        let n_open =
            all.iter().filter(|it| !["ok", "idle", "disabled"].contains(&&*text(&it["state"])));
        let is_open = BOXED.contains(&&*state);
        if is_open && n_open.count() <= IN_PROMPT {
            let screen = self.instance.log();
            let block = screen.rsplit("\x1b[J").next().unwrap_or_default();
            let mut lines = block.lines().filter_map(|it| it.split_once(' '));
            let is_line = |(_, it): (&str, &str)| {
                it.strip_prefix(name)
                    .is_some_and(|it| it.starts_with("  ") && it.trim() == headline)
            };
            if !lines.any(is_line) {
                return wrong("the prompt", block);
            }
        }
        Ok(())
    }

    /// Whether the page shows what the API does.
    fn check_page(&mut self, name: &str) -> Result<(), String> {
        let all = self.reasons();
        let reason = all.iter().find(|it| it["resource"] == name).unwrap_or(&Value::Null);
        let headline = text(&reason["headline"]);
        let is_open = BOXED.contains(&&*text(&reason["state"]));
        let url = self.instance.url(&format!("/r/{name}/overview"));
        let Some(page) = &mut self.page else { return Ok(()) };
        page.go(&url);
        page.until(&format!(
            "document.querySelector('#name')?.textContent === {name:?}
                && document.querySelector('#status').textContent
                && document.querySelector('.row[aria-selected=true]')"
        ));
        let shown = page.text(if is_open { "#reason:not([hidden]) strong" } else { "#status" });
        let row = page.evaluate("document.querySelector('.row[aria-selected=true]')?.title");
        if shown == headline && text(&row) == format!("{name}: {headline}") {
            return Ok(());
        }
        Err(format!("the page: {name}: {shown:?} and {row}, not {headline:?}"))
    }

    /// Nothing is wrong with the page.
    pub(crate) fn finish(self) {
        if let Some(page) = self.page {
            page.finish(&self.instance.url(""));
        }
    }

    fn reasons(&self) -> Vec<Value> {
        let answer = self.instance.get("/api/reasons");
        let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
        let reasons: Value = serde_json::from_str(body).expect("it is JSON");
        reasons["reasons"].as_array().expect("it is a list").clone()
    }

    /// What a command prints, however it ends.
    fn words(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.instance.ask(args).stdout).into_owned()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.words(args)).unwrap_or_default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Whether a text has all parts of a form, in their order.
fn is_of_form(text: &str, form: &str) -> bool {
    let mut parts = form.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
