//! Installs and uninstalls the release of a `helm_resource`.
//!
//! An upgrade is skipped if chart, values and images are unchanged and the release and its objects still exist in the
//! cluster. After a trigger, the objects must also be unmodified and the chart must have no hooks. While helm runs,
//! the state of the release's pods is printed; if helm fails, so is the reason why pods are not ready.

use std::{
    collections::BTreeMap,
    env,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use engine_cli::Printer;
use engine_formats::yaml;
use serde_json::{Value, json};

use super::{
    HelperError,
    process::{self, words},
    release::Release,
};

/// Set where a delete only prepares an apply, as a trigger asks for.
const FORCE_UPDATE: &str = "ENGINE_FORCE_UPDATE";
/// How often to poll pods while helm runs.
const POD_POLL: Duration = Duration::from_secs(3);
/// How often to poll whether helm has exited.
const TICK: Duration = Duration::from_millis(50);

/// The request of the extension, from the environment.
struct HelmRequest {
    release: Release,
    chart: String,
    /// All flags of `helm upgrade`, with those that name images.
    flags: Vec<String>,
}

/// Installs or upgrades the release, and prints its objects.
pub(super) fn apply(args: &[String], printer: Printer) -> Result<(), HelperError> {
    let mut flags = args.to_vec();
    flags.extend(image_flags(|name| env::var(name).ok())?);
    let request = HelmRequest { release: release(&flags)?, chart: variable("CHART")?, flags };
    update_dependencies(&request.chart, printer)?;
    let digest = super::digest::of(&request.chart, &request.flags, &request.release);
    if let Some(digest) = &digest
        && let Some(objects) = request.release.unchanged(digest, printer)
    {
        let name = &request.release.name;
        printer.err(&format!(
            "Release {name} is up to date: neither chart, values nor images changed\n"
        ));
        printer.out(&objects);
        return Ok(());
    }
    upgrade(&request, printer)?;
    let release = &request.release;
    thread::scope(|scope| {
        // Both take as long as it takes to start programs.
        let noted = digest.map(|digest| scope.spawn(move || release.note(digest)));
        let objects = objects(release, printer)?;
        if let Some(noted) = noted.and_then(|it| it.join().ok().flatten()) {
            release.remember(noted, &objects);
        }
        printer.out(&objects);
        Ok(())
    })
}

/// Updates the dependencies of a chart, if the Tiltfile asks for it.
fn update_dependencies(chart: &str, printer: Printer) -> Result<(), HelperError> {
    let is_wanted = |name: &str| env::var(name).is_ok_and(|it| it == "true");
    if is_wanted("TILT_HELM_RELEASE_DEPENDENCY_UPDATE") {
        process::run(&words(["helm", "dependency", "update", chart]), printer)?;
    }
    if is_wanted("TILT_HELM_RELEASE_DEPENDENCY_BUILD") {
        process::run(&words(["helm", "dependency", "build", chart, "--skip-refresh"]), printer)?;
    }
    Ok(())
}

/// Removes the release, if there is one. One that is about to be applied anew is not removed: helm upgrades it in
/// place, and what it keeps for its volumes stays.
pub(super) fn delete(args: &[String], printer: Printer) -> Result<(), HelperError> {
    let release = release(args)?;
    if env::var_os(FORCE_UPDATE).is_some() {
        release.doubt();
        printer.err(&format!("Release {} stays, and is upgraded in place\n", release.name));
        return Ok(());
    }
    release.forget();
    if process::quiet_output(&release.helm(&["status"], &release.scope)).is_none() {
        return Ok(());
    }
    process::run(&release.helm(&["uninstall"], args), printer)
}

fn release(flags: &[String]) -> Result<Release, HelperError> {
    let namespace = env::var("NAMESPACE").ok().filter(|it| !it.is_empty());
    Ok(Release { name: variable("RELEASE_NAME")?, namespace, scope: Release::scope_of(flags) })
}

fn variable(name: &str) -> Result<String, HelperError> {
    env::var(name).map_err(|_| HelperError::NotSet(name.to_owned()))
}

/// The flags that set the images of the chart.
fn image_flags(env: impl Fn(&str) -> Option<String>) -> Result<Vec<String>, HelperError> {
    let number = |name: &str| env(name).and_then(|it| it.parse::<usize>().ok());
    let count = number("TILT_IMAGE_COUNT").unwrap_or(0);
    let mut flags = Vec::new();
    for i in 0..count {
        let name = format!("TILT_IMAGE_{i}");
        let image = env(&name).ok_or(HelperError::NotSet(name))?;
        for j in 0..number(&format!("TILT_IMAGE_KEY_COUNT_{i}")).unwrap_or(0) {
            let key = |part: &str| {
                env(&format!("TILT_IMAGE_KEY_{part}{i}_{j}")).filter(|it| !it.is_empty())
            };
            for (key, value) in values(&image, &key) {
                flags.extend(["--set".to_owned(), format!("{key}={value}")]);
            }
        }
    }
    Ok(flags)
}

/// The values of a chart that name an image: one for all of it, or one for each part.
fn values(image: &str, key: &dyn Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    if let Some(key) = key("") {
        return vec![(key, image.to_owned())];
    }
    let (repository, tag) = image.rsplit_once(':').unwrap_or((image, ""));
    let has_registry =
        image.contains('.') || image.contains("localhost") || image.matches(':').count() > 1;
    let (registry, path) = match repository.split_once('/') {
        Some((registry, path)) if has_registry => (Some(registry), path),
        _ => (None, repository),
    };
    let mut values = Vec::new();
    match (key("REGISTRY_"), registry) {
        (Some(key_of_registry), Some(registry)) => {
            values.push((key_of_registry, registry.to_owned()));
            values.extend(key("REPO_").map(|it| (it, path.to_owned())));
        }
        _ => values.extend(key("REPO_").map(|it| (it, repository.to_owned()))),
    }
    values.extend(key("TAG_").map(|it| (it, tag.to_owned())));
    values
}

fn upgrade(request: &HelmRequest, printer: Printer) -> Result<(), HelperError> {
    let HelmRequest { release, chart, flags } = request;
    let mut argv = words(["helm", "upgrade", "--install"]);
    argv.extend(flags.iter().cloned());
    argv.extend(release.namespace_flag());
    argv.extend([release.name.clone(), chart.clone()]);
    process::announce(&argv, printer);
    let child = process::start_for_people(&argv)?;
    let is_done = watch(child, release, printer)?;
    if is_done {
        return Ok(());
    }
    let problems = problems(&pods(release));
    if !problems.is_empty() {
        printer.err(&format!("Not ready in release {}:\n", release.name));
        for it in &problems {
            printer.err(&format!("  {it}\n"));
        }
    }
    Err(HelperError::Upgrade(release.name.clone()))
}

/// Waits for helm, and prints state changes of the release's pods meanwhile.
fn watch(mut child: Child, release: &Release, printer: Printer) -> Result<bool, HelperError> {
    let mut reported = BTreeMap::new();
    let mut polled = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(TICK);
        if polled.elapsed() < POD_POLL {
            continue;
        }
        for (name, state) in pods(release).iter().map(pod_state) {
            if reported.get(&name) != Some(&state) {
                printer.err(&format!("  pod/{name}: {state}\n"));
                reported.insert(name, state);
            }
        }
        polled = Instant::now();
    }
}

/// The pods that belong to the release by the label that charts give them.
fn pods(release: &Release) -> Vec<Value> {
    let label = format!("app.kubernetes.io/instance={}", release.name);
    let argv = release.kubectl(&["get", "pods", "-o", "json", "-l", &label]);
    let text = process::quiet_output(&argv).unwrap_or_default();
    let list: Value = serde_json::from_str(&text).unwrap_or_default();
    list["items"].as_array().cloned().unwrap_or_default()
}

fn pod_state(pod: &Value) -> (String, String) {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let status = &pod["status"];
    let none = Vec::new();
    let containers = ["initContainerStatuses", "containerStatuses"]
        .into_iter()
        .flat_map(|it| status[it].as_array().unwrap_or(&none));
    let mut reasons = containers.filter_map(|it| {
        let state = &it["state"];
        let found =
            [&state["waiting"], &state["terminated"]].into_iter().find(|it| it.is_object())?;
        let reason = found["reason"].as_str().filter(|it| *it != "Completed")?;
        Some(match found["message"].as_str() {
            Some(message) => format!("{reason}: {message}"),
            None => reason.to_owned(),
        })
    });
    let phase = status["phase"].as_str().unwrap_or("Unknown");
    let state = reasons.next().unwrap_or_else(|| {
        let is_ready = conditions(pod).any(|it| it["type"] == "Ready" && it["status"] == "True");
        if is_ready { "Ready".to_owned() } else { unscheduled(pod).unwrap_or(phase.to_owned()) }
    });
    (name, state)
}

fn conditions(pod: &Value) -> impl Iterator<Item = &Value> {
    pod["status"]["conditions"].as_array().into_iter().flatten()
}

/// Why a pod cannot be scheduled.
fn unscheduled(pod: &Value) -> Option<String> {
    let found =
        conditions(pod).find(|it| it["type"] == "PodScheduled" && it["status"] == "False")?;
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    Some(format!("{}: {}", text("reason"), text("message")))
}

/// Why pods are not ready.
fn problems(pods: &[Value]) -> Vec<String> {
    let states = pods.iter().map(pod_state);
    let bad = states.filter(|(_, state)| state != "Ready" && state != "Succeeded");
    bad.map(|(name, state)| format!("pod/{name}: {state}")).collect()
}

/// The objects of the release as they are in the cluster.
fn objects(release: &Release, printer: Printer) -> Result<String, HelperError> {
    let get = release.helm(&["get", "manifest"], &release.scope);
    process::announce(&get, printer);
    let manifest = with_namespace(&process::output(&get, None)?, release.namespace().as_deref())?;
    if manifest.is_empty() {
        return Ok(format!("{}\n", json!({"apiVersion": "v1", "kind": "List", "items": []})));
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": manifest});
    // The objects have their namespaces.
    let get = release.kubectl_anywhere(&["get", "-ojson", "-f", "-"]);
    process::announce(&get, printer);
    process::output(&get, Some(&list.to_string()))
}

/// The objects of a manifest, with their namespace, which kubectl would otherwise take from its context.
fn with_namespace(manifest: &str, namespace: Option<&str>) -> Result<Vec<Value>, HelperError> {
    let documents = yaml::decode_stream(manifest)?;
    let mut objects = Vec::new();
    for document in documents {
        match document["items"].as_array() {
            Some(items) if document["kind"] == "List" => objects.extend(items.iter().cloned()),
            _ => objects.push(document),
        }
    }
    let Some(namespace) = namespace else { return Ok(objects) };
    for object in &mut objects {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            let is_named = metadata.get("namespace").is_some_and(|it| !it.is_null() && it != "");
            if !is_named {
                metadata.insert("namespace".to_owned(), json!(namespace));
            }
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(env: &[(&str, &str)]) -> Vec<String> {
        let find = |name: &str| {
            env.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        image_flags(find).unwrap()
    }

    #[test]
    fn a_key_takes_the_whole_image() {
        let env = [
            ("TILT_IMAGE_COUNT", "1"),
            ("TILT_IMAGE_0", "localhost:5000/a/b:tag"),
            ("TILT_IMAGE_KEY_COUNT_0", "1"),
            ("TILT_IMAGE_KEY_0_0", "image"),
        ];
        assert_eq!(flags(&env), ["--set", "image=localhost:5000/a/b:tag"]);
    }

    #[test]
    fn parts_of_an_image_go_to_keys_of_their_own() {
        let parts = |image| {
            let env = [
                ("TILT_IMAGE_COUNT", "1"),
                ("TILT_IMAGE_0", image),
                ("TILT_IMAGE_KEY_COUNT_0", "2"),
                ("TILT_IMAGE_KEY_REPO_0_0", "repo"),
                ("TILT_IMAGE_KEY_TAG_0_0", "tag"),
                ("TILT_IMAGE_KEY_REGISTRY_0_1", "g.registry"),
                ("TILT_IMAGE_KEY_REPO_0_1", "g.repo"),
                ("TILT_IMAGE_KEY_TAG_0_1", "g.tag"),
            ];
            flags(&env).into_iter().filter(|it| it != "--set").collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            parts("localhost:5000/a/b:t"),
            "repo=localhost:5000/a/b tag=t g.registry=localhost:5000 g.repo=a/b g.tag=t"
        );
        assert_eq!(parts("gcr.io/a:t"), "repo=gcr.io/a tag=t g.registry=gcr.io g.repo=a g.tag=t");
        assert_eq!(parts("a/b:t"), "repo=a/b tag=t g.repo=a/b g.tag=t");
    }

    #[test]
    fn objects_without_a_namespace_get_that_of_the_release() {
        let manifest = "kind: A\nmetadata:\n  name: a\n---\nkind: B\nmetadata:\n  name: b\n  namespace: x\n---\n\
                        kind: List\nitems:\n- kind: C\n  metadata:\n    name: c\n    namespace:\n";
        let objects = with_namespace(manifest, Some("ns")).unwrap();
        let namespaces: Vec<_> =
            objects.iter().map(|it| it["metadata"]["namespace"].as_str().unwrap()).collect();
        assert_eq!(namespaces, ["ns", "x", "ns"]);
        assert_eq!(with_namespace("", Some("ns")).unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn a_pod_that_is_not_ready_says_why() {
        let ready = json!({"metadata": {"name": "a"}, "status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let image = json!({"metadata": {"name": "b"}, "status": {
            "phase": "Pending", "containerStatuses": [{"state": {"waiting": {
                "reason": "ErrImagePull", "message": "no such image"}}}]}});
        let node = json!({"metadata": {"name": "c"}, "status": {
            "phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "no node"}]}});
        assert_eq!(
            problems(&[ready, image, node]),
            ["pod/b: ErrImagePull: no such image", "pod/c: Unschedulable: no node"]
        );
    }
}
