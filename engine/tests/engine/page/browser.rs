//! A headless Chromium, spoken to over the pipe that it offers to its parent.

use std::{
    collections::VecDeque,
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::TIMEOUT;

/// What the browser says of requests that it gave up because of the machine.
const NETWORK_CHANGED: &str = "net::ERR_NETWORK_CHANGED";

/// The names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// One browser with one page; ends with the test.
pub(crate) struct Page {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    reader: Option<JoinHandle<()>>,
    session: String,
    last_id: u64,
    events: VecDeque<Value>,
    _profile: TempDir,
}

/// The browser's program. Where all tests have to run, its absence is a failure.
fn program() -> Option<&'static str> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let exists = |name: &&&str| env::split_paths(&paths).any(|it| it.join(name).is_file());
    let found = NAMES.iter().find(exists).copied();
    let is_needed = env::var_os("ENGINE_TESTS_NEED_ALL").is_some_and(|it| !it.is_empty());
    assert!(found.is_some() || !is_needed, "needs chromium, and there is none in the PATH");
    found
}

impl Page {
    /// Opens an address, unless there is no browser.
    #[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
    pub(crate) fn open(url: &str) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: needs chromium");
            return None;
        };
        let mut page = Self::start(program);
        page.go(url);
        Some(page)
    }

    fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        // The browser reads from descriptor 3 and writes to descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", program])
            .args(["--headless", "--remote-debugging-pipe", "--window-size=1200,800"])
            // Only our own page is opened, and containers often forbid what a sandbox needs.
            .args(["--no-sandbox", "--no-zygote", "--in-process-gpu", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-extensions", "about:blank"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (send, messages) = mpsc::channel();
        let reader = thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("messages are JSON");
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut page = Self {
            child,
            input,
            messages,
            reader: Some(reader),
            session: String::new(),
            last_id: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        page.attach();
        page
    }

    fn attach(&mut self) {
        let targets = self.call("Target.getTargets", &json!({}))["targetInfos"].take();
        let is_page = |it: &&Value| it["type"] == "page";
        let targets = targets.as_array().expect("a list").clone();
        let target = targets.iter().find(is_page).expect("there is a page")["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call("Target.attachToTarget", &attach);
        session["sessionId"].as_str().expect("a session").clone_into(&mut self.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Asks the browser for something; fails if it does not answer in time or says no.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|why| panic!("{method}: {why}"))
    }

    fn try_call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let input = self.input.as_mut().expect("it is open until the end");
        input.write_all(format!("{message}\0").as_bytes()).map_err(|it| it.to_string())?;
        loop {
            let mut answer =
                self.messages.recv_timeout(TIMEOUT).map_err(|_| "no answer in time".to_owned())?;
            if answer["id"] != json!(self.last_id) {
                self.events.push_back(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                return Err(answer["error"]["message"].as_str().unwrap_or_default().to_owned());
            }
        }
    }

    /// Opens another address.
    pub(crate) fn go(&mut self, url: &str) {
        let answer = self.call("Page.navigate", &json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
    }

    fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.try_call("Runtime.evaluate", &params)?;
        if answer["exceptionDetails"].is_null() {
            Ok(answer["result"]["value"].take())
        } else {
            Err(answer["exceptionDetails"].to_string())
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).unwrap_or_else(|why| panic!("{expression}: {why}"))
    }

    /// Waits until an expression is true; it is looked at whenever the page changes.
    pub(crate) fn until(&mut self, condition: &str) {
        let expression = format!(
            "new Promise((done) => {{
                const holds = () => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }};
                const observer = new MutationObserver(() => holds() && end());
                const end = () => {{ observer.disconnect(); done(true); }};
                const all = {{ subtree: true, childList: true, attributes: true, characterData: true }};
                if (holds()) end();
                else observer.observe(document, all);
            }})"
        );
        loop {
            match self.try_evaluate(&expression) {
                Ok(_) => return,
                // The page has been loaded again meanwhile.
                Err(why) if why.contains("navigated") || why.contains("context") => {}
                Err(why) => {
                    let shown = self.try_evaluate("document.documentElement.outerHTML");
                    let problems = self.problems();
                    panic!("{why}: not {condition}\n{shown:?}\n{problems:#?}");
                }
            }
        }
    }

    /// The text of the first element that a selector finds.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!("document.querySelector({selector:?})?.textContent"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// How many elements a selector finds.
    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        let count = self.evaluate(&format!("document.querySelectorAll({selector:?}).length"));
        count.as_u64().unwrap_or_default()
    }

    /// Clicks the middle of the first element that a selector finds, as a mouse would.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const at = document.querySelector({selector:?}).getBoundingClientRect();
                       return {{ x: at.x + at.width / 2, y: at.y + at.height / 2 }}; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let mut event = json!({ "type": kind, "button": "left", "clickCount": 1 });
            event["x"] = place["x"].clone();
            event["y"] = place["y"].clone();
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Presses one key.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types text where the focus is.
    pub(crate) fn enter(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// What went wrong in the page, by what the browser tells.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        // Whatever happened before this answer has been told by then.
        let _ = self.try_evaluate("0");
        let is_problem = |it: &&Value| match it["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => {
                let entry = &it["params"]["entry"];
                // A network of this machine came or went, and the page has asked again.
                let is_machine =
                    entry["text"].as_str().is_some_and(|it| it.contains(NETWORK_CHANGED));
                entry["level"] == "error" && !is_machine
            }
            Some("Runtime.consoleAPICalled") => it["params"]["type"] != "log",
            _ => false,
        };
        self.events.iter().filter(is_problem).map(|it| it["params"].to_string()).collect()
    }

    /// The addresses that the page has asked for.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let url = |it: &Value| match it["method"].as_str() {
            Some("Network.requestWillBeSent") => Some("/params/request/url"),
            Some("Network.webSocketCreated") => Some("/params/url"),
            _ => None,
        };
        let urls = self.events.iter().filter_map(|it| it.pointer(url(it)?)?.as_str());
        urls.filter(|it| !it.starts_with("data:")).collect()
    }

    /// Nothing went wrong, and nothing was asked of anybody but the engine.
    pub(crate) fn finish(mut self, origin: &str) {
        assert_eq!(self.problems(), Vec::<String>::new());
        let host = origin.trim_start_matches("http://");
        let requests = self.requests();
        assert!(!requests.is_empty());
        for url in requests {
            let rest = url.split_once("://").map_or("", |(_, rest)| rest);
            assert!(rest.starts_with(&format!("{host}/")), "{url} is not of {host}");
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It may be gone already; one that hangs is killed.
        if let Some(mut input) = self.input.take() {
            let close = json!({ "id": self.last_id + 1, "method": "Browser.close" });
            let _ = input.write_all(format!("{close}\0").as_bytes());
        }
        while self.messages.recv_timeout(TIMEOUT / 12).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
