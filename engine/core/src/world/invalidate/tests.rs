//! Which changes invalidate, as data.

use engine_model::{
    ApplyCmd, BuildDetails, CmdSpec, ComposeTarget, CustomBuild, DeployTarget, DockerBuild,
    GoDuration, IgnoreDef, ImageTarget, KubernetesTarget, Link, LiveUpdateSync, LocalTarget,
    Manifest, PodReadiness, Probe, TriggerMode, Url,
};

use super::invalidates;
use crate::world::fixture::manifest;

type Edit<T> = (&'static str, bool, fn(&mut T));

/// Checks each edit of a manifest, in both directions.
fn check<T>(notation: &str, part: fn(&mut Manifest) -> &mut T, edits: &[Edit<T>]) {
    let old = manifest(notation);
    assert!(!invalidates(&old, &old.clone()), "{notation}");
    for (what, expected, edit) in edits {
        let mut new = old.clone();
        edit(part(&mut new));
        assert_ne!(old, new, "{what} changes nothing");
        assert_eq!(invalidates(&old, &new), *expected, "{what}");
        assert_eq!(invalidates(&new, &old), *expected, "{what}, taken back");
    }
}

fn whole(manifest: &mut Manifest) -> &mut Manifest {
    manifest
}

fn local(manifest: &mut Manifest) -> &mut LocalTarget {
    let DeployTarget::Local(target) = &mut manifest.deploy_target else { panic!("not local") };
    target
}

fn kubernetes(manifest: &mut Manifest) -> &mut KubernetesTarget {
    let DeployTarget::Kubernetes(target) = &mut manifest.deploy_target else {
        panic!("not in a cluster")
    };
    target
}

fn compose(manifest: &mut Manifest) -> &mut ComposeTarget {
    let DeployTarget::Compose(target) = &mut manifest.deploy_target else { panic!("not Compose") };
    target
}

fn image(manifest: &mut Manifest) -> &mut ImageTarget {
    &mut manifest.image_targets.as_mut().unwrap()[0]
}

fn docker(image: &mut ImageTarget) -> &mut DockerBuild {
    let BuildDetails::Docker(build) = &mut image.build_details else { panic!("not Docker") };
    build
}

fn text() -> String {
    "other".to_owned()
}

fn texts() -> Vec<String> {
    vec![text()]
}

fn link() -> Link {
    Link { url: Url::default(), name: text() }
}

#[test]
fn what_only_decides_when_a_resource_updates_or_how_it_is_shown_does_not_invalidate() {
    check(
        "a/serve",
        whole,
        &[
            ("trigger mode", false, |it| it.trigger_mode = TriggerMode::Manual),
            ("labels", false, |it| drop(it.labels.insert(text(), text()))),
            ("dependencies", false, |it| it.resource_dependencies = Some(texts())),
            ("no images at all", false, |it| it.image_targets = Some(Vec::new())),
        ],
    );
}

#[test]
fn a_local_resource_is_what_it_runs_and_shows() {
    check(
        "a/serve",
        local,
        &[
            ("deps", false, |it| it.deps = Some(texts())),
            ("no links at all", false, |it| it.links = Some(Vec::new())),
            ("no ignores at all", false, |it| it.file_watch_ignores = Some(Vec::new())),
            ("no environment at all", false, |it| it.serve_cmd.env = Some(Vec::new())),
            ("links", true, |it| it.links = Some(vec![link()])),
            ("ignores", true, |it| it.file_watch_ignores = Some(vec![IgnoreDef::default()])),
            ("cmd", true, |it| {
                it.update_cmd_spec = Some(CmdSpec { args: texts(), ..CmdSpec::default() })
            }),
            ("no cmd", true, |it| it.update_cmd_spec = None),
            ("dir", true, |it| it.update_cmd_spec.as_mut().unwrap().dir = text()),
            ("env", true, |it| it.update_cmd_spec.as_mut().unwrap().env = texts()),
            ("serve_cmd", true, |it| it.serve_cmd.argv = Some(texts())),
            ("no serve_cmd", true, |it| it.serve_cmd.argv = None),
            ("serve_dir", true, |it| it.serve_cmd.dir = text()),
            ("serve_env", true, |it| it.serve_cmd.env = Some(texts())),
            ("allow_parallel", true, |it| it.allow_parallel = true),
            ("readiness_probe", true, |it| it.readiness_probe = Some(Probe::default())),
        ],
    );
}

#[test]
fn other_links_are_as_good_as_the_old_ones() {
    let mut old = manifest("a/serve");
    local(&mut old).links = Some(vec![link()]);
    let mut new = old.clone();
    local(&mut new).links = Some(vec![Link { name: "other".to_owned(), ..link() }, link()]);
    assert_ne!(old, new);
    assert!(!invalidates(&old, &new));
}

#[test]
fn a_deployment_is_everything_about_it() {
    check(
        "a/k8s",
        kubernetes,
        &[
            ("no links at all", false, |it| it.links = Some(Vec::new())),
            ("yaml", true, |it| it.yaml = text()),
            ("timeout", true, |it| it.timeout = GoDuration::from_secs(1)),
            ("pod readiness", true, |it| it.pod_readiness = PodReadiness::Ignore),
            ("discovery", true, |it| it.discovery_strategy = text()),
            ("apply command", true, |it| {
                it.apply_cmd = Some(ApplyCmd { args: texts(), dir: text(), env: None });
            }),
            ("what a custom deploy depends on", true, |it| it.path_dependencies = texts()),
        ],
    );
}

#[test]
fn a_compose_service_is_itself_and_not_its_project() {
    check(
        "a/compose",
        compose,
        &[
            ("project", false, |it| it.spec.project.name = text()),
            ("its files", false, |it| it.spec.project.config_paths = texts()),
            ("no links at all", false, |it| it.links = Some(Vec::new())),
            ("the service", true, |it| it.service_yaml = text()),
            ("images", true, |it| it.spec.image_maps = texts()),
        ],
    );
}

#[test]
fn an_image_is_what_it_is_built_from() {
    check(
        "a/k8s,image",
        image,
        &[
            ("cache", false, |it| docker(it).cache_from = texts()),
            ("selector", true, |it| it.selector = text()),
            ("Dockerfile", true, |it| docker(it).dockerfile_contents = text()),
            ("context", true, |it| docker(it).context = text()),
            ("build arguments", true, |it| docker(it).args = texts()),
            ("live update", true, |it| {
                it.live_update_spec.syncs =
                    vec![LiveUpdateSync { local_path: text(), container_path: text() }];
            }),
            ("ignores", true, |it| it.file_watch_ignores = Some(vec![IgnoreDef::default()])),
            ("how it is built", true, |it| it.build_details = BuildDetails::Custom(Box::default())),
        ],
    );
    check(
        "a/k8s,image",
        whole,
        &[
            ("one image less", true, |it| it.image_targets = None),
            ("one image more", true, |it| {
                let images = it.image_targets.as_mut().unwrap();
                images.extend_from_within(..);
            }),
        ],
    );
}

#[test]
fn the_inputs_of_a_custom_build_only_decide_when_it_runs() {
    let custom = |edit: fn(&mut CustomBuild)| {
        let mut manifest = manifest("a/k8s,image");
        let mut build = CustomBuild::default();
        edit(&mut build);
        image(&mut manifest).build_details = BuildDetails::Custom(Box::new(build));
        manifest
    };
    let plain = custom(|_| {});
    assert!(!invalidates(&plain, &custom(|it| it.deps = Some(texts()))));
    assert!(invalidates(&plain, &custom(|it| it.args = texts())));
}

#[test]
fn another_kind_always_invalidates() {
    for (old, new) in [("a", "a/k8s"), ("a/k8s", "a/compose"), ("a/compose", "a")] {
        assert!(invalidates(&manifest(old), &manifest(new)), "{old} to {new}");
    }
}
