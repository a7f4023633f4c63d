//! Images that go straight into the containerd of nodes, which are containers.

use std::{path::Path, process::Command};

use engine_docker::{DockerError, Imported, Listed, content_tag};
use engine_formats::docker::reference::Reference;

use crate::docker::support::{build, cli, context, docker, spec, unique};

/// A node of a cluster that image loaders take for one of kind; it goes with its owner.
struct Node {
    cluster: String,
}

impl Node {
    fn new() -> Self {
        let node = Self { cluster: unique("node") };
        node.script("up");
        node
    }

    fn script(&self, verb: &str) {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/cluster/kind_node.sh");
        let output = Command::new(script).args([verb, &self.cluster]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn name(&self) -> String {
        format!("{}-control-plane", self.cluster)
    }

    fn ctr(&self, args: &[&str]) -> String {
        cli(&[&["exec", &self.name(), "ctr", "-n", "k8s.io"], args].concat())
    }

    async fn listed(&self) -> Listed {
        let label = format!("io.x-k8s.kind.cluster={}", self.cluster);
        let found = docker().containers(&[label]).await.unwrap();
        found.into_iter().next().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.script("down");
    }
}

#[tokio::test]
async fn nodes_are_sent_only_the_layers_that_they_lack() {
    let docker = docker();
    let word = unique("imported");
    let dir = context(&[]);
    let mut references = Vec::new();
    let mut images = Vec::new();
    for version in 1..=2 {
        // The first layers are the same; the last is large enough to be told from small files.
        let dockerfile = format!(
            "FROM busybox\nRUN head -c 300000 /dev/urandom > /{word}\nRUN echo {version} > /version\n"
        );
        let (image, _) = build(&docker, &spec(dir.path(), &dockerfile)).await.unwrap();
        let name = format!("{word}:{}", content_tag(&image.0.id).unwrap());
        let reference = Reference::parse(&name).unwrap();
        docker.tag(&image.0.id, &reference).await.unwrap();
        references.push(reference);
        images.push(image);
    }
    let (first, second) = (Node::new(), Node::new());
    let one = [first.listed().await];
    let both = [first.listed().await, second.listed().await];

    let all = docker.import(&references[0], &one, true).await.unwrap();
    assert_eq!((all.n_layers, all.n_sent), (3, 3), "{all:?}");
    let name = references[0].to_string();
    assert_eq!(first.ctr(&["images", "ls", "-q", &format!("name=={name}")]), name);
    assert!(first.ctr(&["images", "check", &format!("name=={name}")]).contains(" complete ("));

    // A tag that says the content needs to be sent nowhere twice, unless somebody says that it does not.
    let again = docker.import(&references[0], &one, true).await.unwrap();
    assert_eq!(again, Imported::default());
    let named = docker.import(&references[0], &one, false).await.unwrap();
    assert_eq!((named.n_layers, named.n_sent), (3, 0), "{named:?}");
    assert!(named.n_bytes < 20_000, "{named:?}");

    // The second version shares all layers but the last, which the second node lacks as well as the others.
    let next = docker.import(&references[1], &both, true).await.unwrap();
    assert_eq!((next.n_layers, next.n_sent), (3, 3), "{next:?}");
    assert!(next.n_bytes < all.n_bytes + 40_000, "the first node is not sent everything: {next:?}");
    let name = references[1].to_string();
    for node in [&first, &second] {
        let check = node.ctr(&["images", "check", &format!("name=={name}")]);
        assert!(check.contains(" complete ("), "{check}");
    }
}

#[tokio::test]
async fn a_node_without_containerd_says_so() {
    let docker = docker();
    let name = unique("bare");
    cli(&["run", "--detach", "--name", &name, "--label", &name, "busybox", "sleep", "1000"]);
    let node = docker.containers(std::slice::from_ref(&name)).await.unwrap();
    let image = Reference::parse("busybox:latest").unwrap();
    let done = docker.import(&image, &node, true).await;
    cli(&["rm", "--force", &name]);
    let error = done.unwrap_err().to_string();
    assert!(error.contains("ctr"), "{error}");
}

#[tokio::test]
async fn an_image_that_does_not_exist_cannot_be_imported() {
    let node = Node::new();
    let absent = Reference::parse(&format!("{}:1", unique("absent"))).unwrap();
    let done = docker().import(&absent, &[node.listed().await], true).await;
    assert!(matches!(done, Err(DockerError::NotFound(_))), "{done:?}");
}
