//! Snapshots: made here or by Tilt, shown anywhere, and only shown.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Stdio},
};

use crate::{
    page::browser::Page,
    support::{Instance, engine},
};

/// `snapshot view`; ends with the test.
struct View {
    child: Child,
    url: String,
}

impl View {
    /// Shows a file, or what it is given if that is `-`.
    fn of(dir: &Path, file: &str, input: &str) -> Self {
        let mut child = engine(dir)
            .args(["snapshot", "view", "--no-open", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("it is read");
        drop(stdin);
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it prints");
        let url = line.trim().strip_prefix("Serving snapshot at ").map(str::to_owned);
        Self { child, url: url.unwrap_or_else(|| panic!("{line}")) }
    }

    fn origin(&self) -> &str {
        self.url.strip_suffix("/snapshot/local").expect("the address of a snapshot")
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_snapshot_shows_what_was_there_and_does_nothing() {
    let running = Instance::start(
        "
local_resource('good', cmd='echo all is well', labels=['l'])
local_resource('bad', cmd='exit 9', labels=['l'])
",
    );
    let url = running.url("/r/bad/overview");
    let Some(mut page) = Page::open(&url) else { return };
    page.until("document.querySelector('#status').textContent === 'failed'");
    page.until("document.querySelector('#counts').innerText.includes('2 ok')");
    let file = running.dir.path().join("snapshot.json");
    let port = running.port.to_string();
    let args = ["snapshot", "create", "snapshot.json", "--port", &port];
    let output = engine(running.dir.path()).args(args).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&file).expect("it was written");
    drop(running);

    // Another machine knows nothing but the file.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let view = View::of(elsewhere.path(), "-", &text);
    let mut page = Page::open(&view.url).expect("there is a browser");
    page.until("document.querySelector('#connection').innerText.includes('read-only')");
    page.until("document.querySelector('#counts').innerText.includes('1 failed')");
    page.until("/^Snapshot: ✖ 1/.test(document.title)");
    let good = "[...document.querySelectorAll('#list .row')].find((it) => it.title === 'good: up to date')";
    page.until(good);
    page.evaluate(&format!("{good}.click()"));
    page.until("location.pathname === '/snapshot/local/r/good/overview'");
    page.until("document.querySelector('#log').innerText.includes('all is well')");
    assert_eq!(page.count("#actions button, #nav-actions button, #list .go:enabled"), 0);
    assert_eq!(page.count("#save:not([hidden])"), 0);
    // The address of a part of a snapshot can be opened, too.
    page.go(&format!("{}/r/bad/overview", view.url));
    page.until(
        "document.querySelector('#reason strong').textContent === '`exit 9` failed: exit status 9'",
    );
    let origin = view.origin().to_owned();
    page.finish(&origin);
}

/// What Tilt writes: managed fields, zero times and missing parts included.
const FROM_TILT: &str = r#"{
  "view": {
    "logList": {
      "spans": {"": {}, "build:1": {"manifestName": "api"}, "pod:api:api-1": {"manifestName": "api"}},
      "segments": [
        {"time": "2026-03-04T05:06:07.123456Z", "text": "Tilt started\n", "level": "INFO"},
        {"spanId": "build:1", "time": "2026-03-04T05:06:08.000001Z", "text": "\n", "level": "INFO", "fields": {"buildEvent": "init"}},
        {"spanId": "build:1", "time": "2026-03-04T05:06:08.000002Z", "text": "STEP 1/1 — Deploying\n", "level": "INFO"},
        {"spanId": "pod:api:api-1", "time": "2026-03-04T05:06:09.000000Z", "text": "half a ", "level": "INFO"},
        {"spanId": "pod:api:api-1", "time": "2026-03-04T05:06:09.000000Z", "text": "line\n", "level": "INFO"},
        {"spanId": "pod:api:api-1", "time": "2026-03-04T05:06:10.000000Z", "text": "crashed\n", "level": "ERROR", "anchor": true}
      ],
      "fromCheckpoint": 0,
      "toCheckpoint": 6
    },
    "isComplete": true,
    "tiltStartTime": "2026-03-04T05:06:07.000000Z",
    "uiSession": {
      "metadata": {"name": "Tiltfile", "creationTimestamp": "2026-03-04T05:06:07Z"},
      "spec": {},
      "status": {"tiltfileKey": "/home/dev/project/Tiltfile", "runningTiltBuild": {"version": "0.35.0"}, "versionSettings": {"checkUpdates": true}}
    },
    "uiResources": [
      {
        "metadata": {"name": "(Tiltfile)", "creationTimestamp": null},
        "spec": {},
        "status": {"updateStatus": "ok", "runtimeStatus": "not_applicable", "order": 1, "pendingBuildSince": null,
          "buildHistory": [{"startTime": "2026-03-04T05:06:07.000000Z", "finishTime": "2026-03-04T05:06:07.500000Z", "isCrashRebuild": false}]}
      },
      {
        "metadata": {"name": "api", "labels": {"backend": "backend"}, "managedFields": [{"manager": "tilt", "operation": "Update"}]},
        "spec": {},
        "status": {"updateStatus": "ok", "runtimeStatus": "error", "order": 2, "triggerMode": 2, "currentBuild": null, "waiting": null,
          "disableStatus": {"enabledCount": 1, "disabledCount": 0, "state": "Enabled", "sources": [{"configMap": {"name": "api-disable", "key": "isDisabled"}}]},
          "endpointLinks": [{"url": "http://localhost:8000/", "name": "home"}],
          "k8sResourceInfo": {"podName": "api-1", "podStatus": "CrashLoopBackOff", "podRestarts": 4, "spanID": "pod:api:api-1", "displayNames": ["api:deployment"]}}
      },
      {
        "metadata": {"name": "web"},
        "spec": {},
        "status": {"updateStatus": "pending", "runtimeStatus": "pending", "order": 3,
          "waiting": {"reason": "waiting-for-dep", "on": [{"group": "tilt.dev", "apiVersion": "v1alpha1", "kind": "UIResource", "name": "api"}]}}
      }
    ],
    "uiButtons": [
      {"metadata": {"name": "toggle-api-disable", "annotations": {"tilt.dev/uibutton-type": "DisableToggle"}},
       "spec": {"location": {"componentID": "api", "componentType": "Resource"}, "text": "Disable Resource"}, "status": {"lastClickedAt": null}}
    ],
    "clusters": [{"metadata": {"name": "default"}, "spec": {"connection": {"kubernetes": {}}}, "status": {"arch": "amd64"}}]
  },
  "createdAt": "2026-03-04T05:10:00.000000Z",
  "path": "/overview",
  "snapshotHighlight": null,
  "unknownField": [1]
}"#;

#[test]
fn a_snapshot_of_tilt_is_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("tilt.json"), FROM_TILT).expect("it can be written");
    let view = View::of(dir.path(), "tilt.json", "");
    let Some(mut page) = Page::open(&format!("{}/r/api/overview", view.url)) else { return };
    page.until("document.querySelector('#status').textContent === 'failed'");
    assert_eq!(page.text("#reason.error strong"), "pod api-1: CrashLoopBackOff");
    let facts = "updated only on request · pod api-1 · 4 restarts · api:deployment";
    assert_eq!(page.text("#facts"), facts);
    assert_eq!(page.text("#links"), "home");
    page.until("document.querySelector('#log').innerText.includes('half a line')");
    assert_eq!(page.text("#log .error"), "crashed");
    assert!(!page.text("#log").contains("Tilt started"));
    assert_eq!(page.count("#actions button"), 0);
    page.go(&format!("{}/r/web/overview", view.url));
    page.until(
        "document.querySelector('#reason strong').textContent === 'waiting for api: pod api-1: CrashLoopBackOff'",
    );
    let origin = view.origin().to_owned();
    page.finish(&origin);
}

#[test]
fn what_is_no_snapshot_is_said_to_be_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let view = View::of(dir.path(), "-", r#"{"something": "else"}"#);
    let Some(mut page) = Page::open(&view.url) else { return };
    page.until("document.querySelector('#connection').innerText === 'The snapshot cannot be shown: it has no view'");
    let origin = view.origin().to_owned();
    page.finish(&origin);
}
