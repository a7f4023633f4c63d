//! Manifests for tests, from a short notation: `name:dependency,dependency/flag,flag`.

use std::collections::BTreeMap;

use engine_model::{
    ApplyCmd, BuildDetails, Cmd, CmdSpec, ComposeProject, ComposeSpec, ComposeTarget, DeployTarget,
    DockerBuild, Forward, GoDuration, ImageTarget, KubernetesTarget, LiveUpdateSpec,
    LiveUpdateSync, LocalTarget, Manifest, PodReadiness, PortForwardTemplate, Present, Probe,
    TargetId, TriggerMode,
};

use crate::{
    image::ImageNames,
    time::Time,
    world::{Event, ImageEvent, Settings, World},
};

/// A world with clusters that can be used, seen from the directory whose files containers take.
pub(crate) fn world() -> World {
    with_clusters(Settings { cwd: "/src".into(), ..Settings::default() })
}

/// A world with clusters that can be used, and these settings.
pub(super) fn with_clusters(settings: Settings) -> World {
    let mut world = World::new(settings);
    for cluster in ["default", "docker"] {
        world.step(Time(0), Event::ClusterChanged { cluster, is_usable: true });
    }
    (world.docker.is_found, world.docker.is_followed) = (true, true);
    world
}

/// The image of all resources that have one.
const SHARED: &str = "shared";

/// What the image that all resources share watches.
pub(super) fn shared_target() -> TargetId {
    TargetId::Image(SHARED.into())
}

/// The image that all resources share was built.
pub(super) fn built(started: Time) -> Event {
    Event::Image(ImageEvent::Ended {
        resource: "".into(),
        image: SHARED.into(),
        started,
        result: Ok(image_names(started)),
        stages: Vec::new(),
    })
}

/// The image that all resources share is the one that was built at `started`.
pub(super) fn kept(started: Time, looked: Time) -> Event {
    let (image, names) = (SHARED.into(), image_names(started));
    Event::Image(ImageEvent::Kept { image, names, looked })
}

/// The names of the image that all resources share.
pub(super) fn image_names(started: Time) -> ImageNames {
    let name = |tag: &str| format!("shared:{tag}");
    ImageNames { tagged: name("1"), local: name("local"), deployed: name("deployed"), started }
}

/// The resource of such a notation. By default it is local, with a command that tolerates nothing beside it.
///
/// Flags: `manual`, `noinit`, `manual-noinit` say when it updates, `parallel`, `serve`, `probe`, `nocmd`
/// what it runs, `v2` that it runs something else, `k8s`, `job`, `ignore-pods`, `compose` and `image` that
/// it is deployed, `live` that its containers take changes of their image below `/src`, `first` that new ones
/// get all of them, and `other` that they get them elsewhere. `forward`, `yaml` and `delete-cmd` say that a resource in a
/// cluster has a port, objects and a command that deletes.
pub(crate) fn manifest(notation: &str) -> Manifest {
    let (head, flags) = notation.split_once('/').unwrap_or((notation, ""));
    let (name, deps) = head.split_once(':').unwrap_or((head, ""));
    let flags: Vec<&str> = flags.split(',').filter(|it| !it.is_empty()).collect();
    let deps: Vec<String> =
        deps.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let has = |flag: &str| flags.contains(&flag);
    Manifest {
        name: name.to_owned(),
        image_targets: has("image").then(|| vec![image(name, "shared", &flags)]),
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
        yaml: if flags.contains(&"yaml") { format!("YAML of {name}") } else { String::new() },
        image_maps: Vec::new(),
        image_locators: Vec::new(),
        timeout: GoDuration::from_secs(30),
        kubernetes_discovery_template_spec: None,
        port_forward_template_spec: flags.contains(&"forward").then(|| PortForwardTemplate {
            forwards: vec![Forward { local_port: 8000, container_port: 80, ..Forward::default() }],
        }),
        pod_log_stream_template_spec: None,
        discovery_strategy: String::new(),
        apply_cmd: None,
        restart_on: None,
        delete_cmd: flags.contains(&"delete-cmd").then(|| ApplyCmd {
            args: vec!["remove".to_owned(), name.to_owned()],
            dir: String::new(),
            env: None,
        }),
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

pub(super) fn image(resource: &str, selector: &str, flags: &[&str]) -> ImageTarget {
    let version = if flags.contains(&"v2") { "FROM b" } else { "FROM a" };
    let is_live = flags.contains(&"live");
    let build = DockerBuild { dockerfile_contents: version.to_owned(), ..DockerBuild::default() };
    ImageTarget {
        selector: selector.to_owned(),
        match_exact: false,
        match_in_env_vars: false,
        override_command: None,
        override_args: None,
        live_update_name: if is_live { format!("{resource}:{selector}") } else { String::new() },
        live_update_spec: if is_live { live_update(flags) } else { LiveUpdateSpec::default() },
        live_update_reconciler: is_live,
        docker_image_name: format!("{resource}:{selector}"),
        cmd_image_name: String::new(),
        build_details: BuildDetails::Docker(Box::new(build)),
        is_live_update_only: false,
        file_watch_ignores: None,
        image_map_name: selector.to_owned(),
    }
}

fn live_update(flags: &[&str]) -> LiveUpdateSpec {
    let to = if flags.contains(&"other") { "/other" } else { "/app" };
    LiveUpdateSpec {
        syncs: vec![LiveUpdateSync { local_path: "/src".into(), container_path: to.into() }],
        initial_sync: flags.contains(&"first").then_some(Present {}),
        ..LiveUpdateSpec::default()
    }
}
