//! Prints resource statuses and new image builds as Honeycomb events.

use engine_cli::Printer;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{HelperError, process};

/// Prints the events; of builds, only those that ended after `since`.
pub(super) fn print(since: Option<&str>, printer: Printer) -> Result<(), HelperError> {
    let since = since.and_then(|it| it.parse::<Timestamp>().ok());
    let session = get("uisession")?;
    let session = &session["items"][0]["status"];
    let who = json!({
        "tilt_version": session["runningTiltBuild"]["version"],
        "user": session["tiltCloudUsername"].as_str().unwrap_or_default(),
    });
    let now = Timestamp::now().to_string();
    let mut events: Vec<Value> =
        sorted(&get("uiresources")?).iter().map(|it| status_event(it, &who, &now)).collect();
    for kind in ["dockerimages", "cmdimages"] {
        let builds = sorted(&get(kind)?);
        events.extend(builds.iter().filter_map(|it| build_event(it, &who, since)));
    }
    printer.json(&Value::Array(events));
    Ok(())
}

/// All objects of a kind, asked of the running instance as people would.
fn get(kind: &str) -> Result<Value, HelperError> {
    let program = std::env::current_exe()?;
    let argv = [program.to_string_lossy().as_ref(), "get", kind, "-o", "json"].map(str::to_owned);
    Ok(serde_json::from_str(&process::output(&argv, None)?)?)
}

fn sorted(list: &Value) -> Vec<Value> {
    let mut items = list["items"].as_array().cloned().unwrap_or_default();
    items.sort_by(|a, b| a["metadata"]["name"].as_str().cmp(&b["metadata"]["name"].as_str()));
    items
}

fn status_event(resource: &Value, who: &Value, now: &str) -> Value {
    let status = |name: &str| resource["status"][name].as_str().unwrap_or_default();
    let data = json!({
        "name": resource["metadata"]["name"],
        "runtime_status": status("runtimeStatus"),
        "update_status": status("updateStatus"),
        "kind": "uiresource",
    });
    json!({"data": merged(who, data), "time": now})
}

fn build_event(image: &Value, who: &Value, since: Option<Timestamp>) -> Option<Value> {
    let completed = &image["status"]["completed"];
    let time = |name: &str| completed[name].as_str()?.parse::<Timestamp>().ok();
    let (started, finished) = (time("startedAt")?, time("finishedAt")?);
    if since.is_some_and(|it| finished <= it) {
        return None;
    }
    let data = json!({
        "image_name": image["spec"]["ref"],
        "duration_ms": finished.as_millisecond() - started.as_millisecond(),
        "kind": image["kind"].as_str().unwrap_or_default().to_lowercase(),
    });
    Some(json!({"data": merged(who, data), "time": completed["startedAt"]}))
}

fn merged(who: &Value, mut data: Value) -> Value {
    if let (Some(data), Some(who)) = (data.as_object_mut(), who.as_object()) {
        data.extend(who.clone());
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_told_once() {
        let image = json!({
            "kind": "DockerImage",
            "spec": {"ref": "web"},
            "status": {"completed": {
                "startedAt": "2026-01-01T00:00:00.000000Z", "finishedAt": "2026-01-01T00:00:01.500000Z"}},
        });
        let who = json!({"user": "u"});
        let event = build_event(&image, &who, None).unwrap();
        assert_eq!(
            event["data"],
            json!({"image_name": "web", "duration_ms": 1500, "kind": "dockerimage", "user": "u"})
        );
        let later = Some("2026-01-01T00:00:02Z".parse().unwrap());
        assert_eq!(build_event(&image, &who, later), None);
        assert_eq!(build_event(&json!({"status": {}}), &who, None), None);
    }
}
