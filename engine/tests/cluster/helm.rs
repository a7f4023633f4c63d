//! `helm_resource`: releases that are upgraded only if there is something to do, and that no trigger removes.

use crate::{ground::Project, instance::Instance};

const TILTFILE: &str = "load('ext://helm_resource', 'helm_resource')\n\
                        helm_resource('app', './chart', namespace='NAMESPACE', deps=['chart'])\n";
const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\n\
                      data: {word: {{ .Values.word }}}\n";
const UP_TO_DATE: &str = "Release app is up to date";

/// How many updates ended.
fn n_updates(instance: &Instance) -> usize {
    instance.log().matches("DONE IN").count()
}

#[test]
fn a_release_is_upgraded_only_if_there_is_something_to_do() {
    let Some(mut project) = Project::new(TILTFILE, "") else { return };
    project.write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n");
    project.write("chart/values.yaml", "word: one\n");
    project.write("chart/templates/words.yaml", OBJECT);
    let mut instance = project.up();
    instance.until("the first update ended", |it| n_updates(it) == 1);
    let uid = project.field("configmap/words", ".metadata.uid");
    assert!(!instance.log().contains(UP_TO_DATE), "{}", instance.log());

    instance.trigger("app");
    instance.until("the trigger is answered", |it| n_updates(it) == 2);
    assert!(instance.log().contains(UP_TO_DATE), "{}", instance.log());

    instance.write("chart/values.yaml", "word: two\n");
    instance
        .until("the value is there", |_| project.field("configmap/words", ".data.word") == "two");
    instance.until("the update ended", |it| n_updates(it) == 3);
    assert_eq!(project.field("configmap/words", ".metadata.uid"), uid, "it was made anew");

    project.kubectl(&["delete", "configmap", "words"]);
    instance.trigger("app");
    instance.until("what is missing is there again", |_| {
        project.names("configmap").contains(&"words".to_owned())
    });
    instance.until("the update ended", |it| n_updates(it) == 4);
    let down = project.engine(Some(&instance), &["down"]);
    assert!(down.status.success(), "{down:?}");
    assert!(!project.names("configmap").contains(&"words".to_owned()), "{down:?}");
}
