//! Manifests for tests, from a short notation: `name:dependency,dependency/flag,flag`.

use std::collections::BTreeMap;

use engine_model::{
    BuildDetails, Cmd, CmdSpec, ComposeProject, ComposeSpec, ComposeTarget, DeployTarget,
    DockerBuild, GoDuration, ImageTarget, KubernetesTarget, LiveUpdateSpec, LocalTarget, Manifest,
    PodReadiness, Probe, TriggerMode,
};

use crate::{
    scheduler::{Event, Scheduler},
    time::Time,
};

/// A scheduler with clusters that can be used.
pub(super) fn scheduler() -> Scheduler {
    let mut scheduler = Scheduler::default();
    for cluster in ["default", "docker"] {
        scheduler.step(Time(0), Event::ClusterChanged { cluster, is_usable: true });
    }
    scheduler
}

/// The resource of such a notation. By default it is local, with a command that tolerates nothing beside it.
///
/// Flags: `manual`, `noinit`, `manual-noinit` say when it updates, `parallel`, `serve`, `probe`, `nocmd`
/// what it runs, `v2` that it runs something else, `k8s`, `job`, `ignore-pods`, `compose` and `image` that
/// it is deployed, and `live` that its containers take changes of their image.
pub(super) fn manifest(notation: &str) -> Manifest {
    let (head, flags) = notation.split_once('/').unwrap_or((notation, ""));
    let (name, deps) = head.split_once(':').unwrap_or((head, ""));
    let flags: Vec<&str> = flags.split(',').filter(|it| !it.is_empty()).collect();
    let deps: Vec<String> =
        deps.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let has = |flag: &str| flags.contains(&flag);
    Manifest {
        name: name.to_owned(),
        image_targets: has("image").then(|| vec![image("shared", &flags)]),
        deploy_target: if has("k8s") || has("job") || has("ignore-pods") {
            DeployTarget::Kubernetes(Box::new(kubernetes(name, &flags)))
        } else if has("compose") {
            DeployTarget::Compose(Box::new(compose(name)))
        } else {
            DeployTarget::Local(Box::new(local(name, &flags)))
        },
        trigger_mode: if has("manual") {
            TriggerMode::ManualWithAutoInit
        } else if has("manual-noinit") {
            TriggerMode::Manual
        } else if has("noinit") {
            TriggerMode::AutoWithManualInit
        } else {
            TriggerMode::Auto
        },
        resource_dependencies: Some(deps),
        source_tiltfile: String::new(),
        labels: BTreeMap::new(),
    }
}

pub(super) fn local(name: &str, flags: &[&str]) -> LocalTarget {
    let version = if flags.contains(&"v2") { "2" } else { "1" };
    let words = |program: &str| vec![program.to_owned(), version.to_owned()];
    let has_cmd = !flags.contains(&"nocmd");
    let serves = flags.contains(&"serve") || flags.contains(&"probe");
    LocalTarget {
        update_cmd_spec: has_cmd.then(|| CmdSpec { args: words("build"), ..CmdSpec::default() }),
        name: name.to_owned(),
        serve_cmd: Cmd { argv: serves.then(|| words("serve")), ..Cmd::default() },
        links: None,
        deps: None,
        file_watch_ignores: None,
        allow_parallel: !has_cmd || flags.contains(&"parallel"),
        readiness_probe: flags.contains(&"probe").then(Probe::default),
        serve_cmd_disable_source: None,
    }
}

pub(super) fn kubernetes(name: &str, flags: &[&str]) -> KubernetesTarget {
    KubernetesTarget {
        yaml: String::new(),
        image_maps: Vec::new(),
        image_locators: Vec::new(),
        timeout: GoDuration::from_secs(30),
        kubernetes_discovery_template_spec: None,
        port_forward_template_spec: None,
        pod_log_stream_template_spec: None,
        discovery_strategy: String::new(),
        apply_cmd: None,
        restart_on: None,
        delete_cmd: None,
        cluster: "default",
        server_side_apply: false,
        name: name.to_owned(),
        pod_readiness: if flags.contains(&"job") {
            PodReadiness::Succeeded
        } else if flags.contains(&"ignore-pods") {
            PodReadiness::Ignore
        } else {
            PodReadiness::Wait
        },
        links: None,
        file_watch_ignores: None,
        path_dependencies: Vec::new(),
    }
}

pub(super) fn compose(name: &str) -> ComposeTarget {
    let spec = ComposeSpec {
        service: name.to_owned(),
        project: ComposeProject::default(),
        image_maps: Vec::new(),
    };
    ComposeTarget {
        spec,
        name: name.to_owned(),
        service_yaml: String::new(),
        links: None,
        published_ports: Vec::new(),
        infer_links: None,
    }
}

pub(super) fn image(selector: &str, flags: &[&str]) -> ImageTarget {
    let version = if flags.contains(&"v2") { "FROM b" } else { "FROM a" };
    let build = DockerBuild { dockerfile_contents: version.to_owned(), ..DockerBuild::default() };
    ImageTarget {
        selector: selector.to_owned(),
        match_exact: false,
        match_in_env_vars: false,
        override_command: None,
        override_args: None,
        live_update_name: String::new(),
        live_update_spec: LiveUpdateSpec::default(),
        live_update_reconciler: flags.contains(&"live"),
        docker_image_name: String::new(),
        cmd_image_name: String::new(),
        build_details: BuildDetails::Docker(Box::new(build)),
        is_live_update_only: false,
        file_watch_ignores: None,
        image_map_name: selector.to_owned(),
    }
}
