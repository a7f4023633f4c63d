//! `helm_resource`: releases that are upgraded only if there is something to do, and that no trigger removes.

use std::{fs, os::unix::fs::MetadataExt};

use crate::{cluster::ground::Project, support::Instance};

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

#[test]
fn nothing_of_a_secret_is_kept_of_a_release_but_a_change_of_it_is_noticed() {
    let Some(mut project) = Project::new(TILTFILE, "") else { return };
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: door}\nstringData: {word: sesame-open}\n";
    project.write("chart/Chart.yaml", "apiVersion: v2\nname: app\nversion: 0.1.0\n");
    project.write("chart/templates/door.yaml", secret);
    let mut instance = project.up();
    instance.until("the first update ended", |it| n_updates(it) == 1);
    let word = project.field("secret/door", ".data.word");

    let kept = instance.dir.path().join("home/.tilt-dev/helm-releases");
    assert_eq!(fs::metadata(&kept).expect("it is there").mode() & 0o777, 0o700);
    let files: Vec<_> = fs::read_dir(&kept).expect("it is there").flatten().collect();
    assert_eq!(files.len(), 1);
    let text = fs::read_to_string(files[0].path()).expect("it is there");
    assert!(
        text.contains("\"Secret\"") && !text.contains("sesame") && !text.contains(&word),
        "{text}"
    );
    assert_eq!(files[0].metadata().expect("it is there").mode() & 0o777, 0o600);

    instance.trigger("app");
    instance.until("the trigger is answered", |it| n_updates(it) == 2);
    assert_eq!(instance.log().matches(UP_TO_DATE).count(), 1, "{}", instance.log());

    project.kubectl(&["patch", "secret", "door", "-p", "{\"stringData\":{\"word\":\"other\"}}"]);
    instance.trigger("app");
    instance.until("the change is undone", |_| project.field("secret/door", ".data.word") == word);
    instance.until("the update ended", |it| n_updates(it) == 3);
    assert_eq!(instance.log().matches(UP_TO_DATE).count(), 1, "{}", instance.log());
}
