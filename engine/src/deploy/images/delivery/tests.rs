//! Which images are pushed, imported or left where they are.

use std::collections::HashMap;

use engine_formats::docker::registry::Registry;
use engine_model::LiveUpdateSpec;

use super::*;
use crate::deploy::images::Origin;

fn target(build_details: BuildDetails) -> ImageTarget {
    ImageTarget {
        selector: "web".into(),
        match_exact: false,
        match_in_env_vars: false,
        override_command: None,
        override_args: None,
        live_update_name: String::new(),
        live_update_spec: LiveUpdateSpec::default(),
        live_update_reconciler: false,
        docker_image_name: String::new(),
        cmd_image_name: String::new(),
        build_details,
        is_live_update_only: false,
        file_watch_ignores: None,
        image_map_name: "web".into(),
    }
}

fn docker() -> ImageTarget {
    target(BuildDetails::Docker(Box::default()))
}

fn custom(output_mode: &'static str) -> ImageTarget {
    let build = CustomBuild { output_mode, ..CustomBuild::default() };
    target(BuildDetails::Custom(Box::new(build)))
}

fn built(local: &str, deployed: &str) -> Built {
    Built {
        id: String::new(),
        tagged: local.to_owned(),
        local: local.to_owned(),
        deployed: deployed.to_owned(),
        started: SystemTime::UNIX_EPOCH,
        selector: "web".into(),
        is_exact: false,
        origin: Origin::ThisRun,
    }
}

fn cluster(product: Product) -> ClusterImages {
    ClusterImages { product, deployed: ["web".to_owned()].into(), ..ClusterImages::default() }
}

#[test]
fn what_speaks_against_a_push_is_looked_at_in_order() {
    let one = built("web:1", "web:1");
    let two = built("localhost:5000/web:1", "registry:5000/web:1");
    let registry = Some(Registry { host: "r.io".into(), ..Registry::default() });
    let kind = cluster(Product::Kind);
    let base = ClusterImages { deployed: std::collections::HashSet::new(), ..kind.clone() };
    let own = Way::Skip("custom_build() configured to handle push itself");
    for (image, built, cluster, want) in [
        (docker(), &one, kind.clone(), Way::Nodes(Flavor::Kind)),
        (docker(), &two, kind.clone(), Way::Push),
        (docker(), &one, ClusterImages { has_local_registry: true, ..kind.clone() }, Way::Push),
        // A registry of the Tiltfile does not keep kind from being loaded.
        (
            docker(),
            &one,
            ClusterImages { registry: registry.clone(), ..kind.clone() },
            Way::Nodes(Flavor::Kind),
        ),
        (docker(), &one, base.clone(), Way::Skip("base image does not need deploy")),
        (
            docker(),
            &one,
            ClusterImages { is_built_into: true, ..kind.clone() },
            Way::Skip("building on cluster's container runtime"),
        ),
        (
            docker(),
            &one,
            ClusterImages { is_built_into: true, ..base.clone() },
            Way::Skip("base image does not need deploy"),
        ),
        (custom("remote"), &one, base.clone(), own),
        (custom("local-docker-and-remote"), &one, kind.clone(), own),
        (custom("local-docker"), &one, kind.clone(), Way::Nodes(Flavor::Kind)),
        (docker(), &one, cluster(Product::K3d), Way::Nodes(Flavor::K3d)),
        (docker(), &one, ClusterImages { registry, ..cluster(Product::K3d) }, Way::Push),
        (docker(), &one, cluster(Product::Gke), Way::Push),
    ] {
        assert_eq!(way(&image, built, &cluster), want, "{image:?} {cluster:?}");
    }
}

#[test]
fn only_containers_that_run_pods_are_nodes() {
    let container = |label: &str, role: &str, state: &str| Listed {
        labels: HashMap::from([(label.to_owned(), role.to_owned())]),
        state: state.to_owned(),
        ..Listed::default()
    };
    let kind = "io.x-k8s.kind.role";
    for (flavor, container, want) in [
        (Flavor::Kind, container(kind, "control-plane", "running"), true),
        (Flavor::Kind, container(kind, "worker", "running"), true),
        (Flavor::Kind, container(kind, "worker", "exited"), false),
        (Flavor::Kind, container(kind, "external-load-balancer", "running"), false),
        (Flavor::K3d, container("k3d.role", "server", "running"), true),
        (Flavor::K3d, container("k3d.role", "agent", "running"), true),
        (Flavor::K3d, container("k3d.role", "registry", "running"), false),
    ] {
        assert_eq!(flavor.is_node(&container), want, "{container:?}");
    }
    assert_eq!(Flavor::Kind.cluster("kind-dev"), "dev");
    assert_eq!(Flavor::Kind.cluster("kind"), "kind");
    assert_eq!(Flavor::K3d.labels("dev"), ["app=k3d", "k3d.cluster=dev"]);
}

#[test]
fn a_cluster_that_takes_the_place_of_another_has_got_nothing_yet() {
    let first = cluster(Product::Kind);
    // Whoever builds for it knows it as the Tiltfile has it at that time.
    let as_of_an_update = first.clone();
    as_of_an_update.delivered.add("web:1");
    assert!(first.delivered.has("web:1"));
    assert!(!cluster(Product::Kind).delivered.has("web:1"));
}
