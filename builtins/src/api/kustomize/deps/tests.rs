//! The watched files of overlays.

use expect_test::{Expect, expect};

use super::*;
use crate::host::OsHost;

/// Lists what an overlay made of these files depends on, or why that cannot be told.
fn check(files: &[(&str, &str)], expected: &Expect) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    for (name, text) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let host = OsHost::new([], Box::new(|_, _| {}));
    let mut found = Vec::new();
    let text = match collect(&host, root, 0, &mut found) {
        Ok(()) => found.join("\n"),
        Err(why) => why.to_string(),
    };
    expected.assert_eq(&text.replace(root, "$DIR"));
}

fn check_root(text: &str, expected: &Expect) {
    check(&[("kustomization.yaml", text)], expected);
}

#[test]
fn files_of_all_kinds_are_found() {
    check_root("", &expect!["$DIR/kustomization.yaml"]);
    check_root(
        "resources: [a.yaml, https://example.com/b.yaml]\ncrds: [c.yaml]\n\
         patches: [{path: p.yaml}, {patch: 'inline'}]\n\
         patchesStrategicMerge: [s.yaml, 'kind: Pod']\n\
         patchesJson6902: [{path: j.yaml}, {patch: 'inline'}]\n\
         configMapGenerator: [{files: [f.txt, key=g.txt], envs: [e.env]}, {name: n}]\n\
         secretGenerator: [{files: [secret.txt]}]\n\
         configurations: [conf.yaml]\n",
        &expect![[r"
            $DIR/a.yaml
            $DIR/https:/example.com/b.yaml
            $DIR/kustomization.yaml
            $DIR/p.yaml
            $DIR/s.yaml
            $DIR/kind: Pod
            $DIR/c.yaml
            $DIR/j.yaml
            $DIR
            $DIR/f.txt
            $DIR/key=g.txt"]],
    );
    check_root("Resources: [a.yaml]\nunknown: {x: 1}", &expect!["$DIR/kustomization.yaml"]);
    check_root(
        "resources: [1, 0x10, true, 1.50]\n",
        &expect![[r"
        $DIR/1
        $DIR/0x10
        $DIR/true
        $DIR/1.50
        $DIR/kustomization.yaml"]],
    );
    check_root(
        "x: &x [a.yaml]\nresources: *x\n",
        &expect![[r"
        $DIR/a.yaml
        $DIR/kustomization.yaml"]],
    );
    check_root(
        "resources: [a.yaml]\n<<: {resources: [b.yaml]}\n",
        &expect![[r"
        $DIR/b.yaml
        $DIR/kustomization.yaml"]],
    );
}

#[test]
fn other_overlays_are_followed() {
    check(
        &[
            (
                "kustomization.yml",
                "bases: [dev]\ncomponents: [./comp]\nresources: [./prod/, x.yaml]\n",
            ),
            ("dev/Kustomization", "resources: [../base]"),
            ("prod/kustomization.yaml", "resources: [../base]"),
            (
                "comp/kustomization.yaml",
                "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1",
            ),
            ("base/kustomization.yaml", "resources: [pod.yaml]"),
        ],
        &expect![[r"
            $DIR/base/pod.yaml
            $DIR/base/kustomization.yaml
            $DIR/dev/Kustomization
            $DIR/comp/kustomization.yaml
            $DIR/base/pod.yaml
            $DIR/base/kustomization.yaml
            $DIR/prod/kustomization.yaml
            $DIR/x.yaml
            $DIR/kustomization.yml"]],
    );
}

#[test]
fn overlays_without_exactly_one_file_are_refused() {
    check(
        &[("a", "")],
        &expect![
            "unable to find one of [kustomization.yaml kustomization.yml Kustomization] in directory '$DIR'"
        ],
    );
    check(
        &[("kustomization.yaml", ""), ("Kustomization", "")],
        &expect![[r"
        Found multiple kustomization files under: $DIR
    "]],
    );
    check(
        &[("kustomization.yaml", "resources: [sub]"), ("sub/a", "")],
        &expect![
            "unable to find one of [kustomization.yaml kustomization.yml Kustomization] in directory '$DIR/sub'"
        ],
    );
}

#[test]
fn overlays_of_another_kind_are_refused() {
    check_root(
        "kind: Pod",
        &expect![[r"
        Failed to read kustomization file under $DIR:
        kind should be Kustomization or Component"]],
    );
    check_root(
        "kind: Pod\napiVersion: v1",
        &expect![[r"
        Failed to read kustomization file under $DIR:
        kind should be Kustomization or Component
        apiVersion for Pod should be kustomize.config.k8s.io/v1beta1"]],
    );
    check_root(
        "kind: Component\napiVersion: kustomize.config.k8s.io/v1beta1",
        &expect![[r"
        Failed to read kustomization file under $DIR:
        apiVersion for Component should be kustomize.config.k8s.io/v1alpha1"]],
    );
}

#[test]
fn values_of_another_type_are_refused() {
    check_root(
        "resources: a.yaml\npatches: [p.yaml, [x]]\nlabels: {a: b}\n",
        &expect![[r"
        yaml: unmarshal errors:
          line 1: cannot unmarshal !!str `a.yaml` into []string
          line 2: cannot unmarshal !!str `p.yaml` into types.Patch
          line 2: cannot unmarshal !!seq into types.Patch
          line 3: cannot unmarshal !!map into []types.Label"]],
    );
    check_root(
        "just a long text",
        &expect![[r"
        yaml: unmarshal errors:
          line 1: cannot unmarshal !!str `just a ...` into types.Kustomization"]],
    );
    check_root(
        "replicas: [{name: a, count: many}]\ngeneratorOptions: {immutable: 1}",
        &expect![[r"
        yaml: unmarshal errors:
          line 1: cannot unmarshal !!str `many` into int64
          line 2: cannot unmarshal !!int `1` into bool"]],
    );
    check_root(
        "metadata: {labels: {a: [1]}}",
        &expect![[r"
        yaml: unmarshal errors:
          line 1: cannot unmarshal !!seq into string"]],
    );
    check_root(
        "<<: [1]\nresources: [a]",
        &expect!["yaml: map merge requires map or sequence of maps as the value"],
    );
    check_root("x: &a [*a]\n", &expect!["$DIR/kustomization.yaml"]);
    check_root(
        "resources: &a [*a]\n",
        &expect![[r"
        yaml: unmarshal errors:
          line 1: cannot unmarshal !!seq into string"]],
    );
    check_root("metadata: &a {<<: *a}\n", &expect!["yaml: anchor 'a' value contains itself"]);
    check_root("a: [", &expect!["yaml: line 1: did not find expected node content"]);
}

#[test]
fn circles_end() {
    check(
        &[("kustomization.yaml", "resources: [a/..]"), ("a/x", "")],
        &expect!["overlays refer to each other more than 1000 levels deep: $DIR"],
    );
}
