//! The example projects that need Docker do what their texts say.

use std::{fs, path::Path};

use crate::docker::ground::{Project, docker, until};

/// Copies an example, so that nothing is written to the original.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("there is such an example").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("it can be copied");
        }
    }
}

#[test]
fn the_compose_example_starts_syncs_and_goes_down() {
    let Some(mut project) = Project::new("", "") else { return };
    let folder = project.path("");
    fs::remove_file(project.path("compose.yml")).expect("it is there");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/compose");
    copy(&example, &folder);
    // It is to run beside others: under a name and with an image and a port of its own.
    for (file, from, to) in [
        ("compose.yaml", "name: shop", format!("name: {}", project.name)),
        ("compose.yaml", "example/api", format!("{}-api", project.name)),
        ("Tiltfile", "example/api", format!("{}-api", project.name)),
        ("compose.dev.yaml", "5000:5000", "127.0.0.1::5000".to_owned()),
    ] {
        let text = fs::read_to_string(project.path(file)).expect("it can be read");
        assert!(text.contains(from), "{from} in {file}");
        project.write(file, &text.replace(from, &to));
    }
    let mut instance = project.up();
    for name in ["api", "database"] {
        until(&mut instance, name, "ok", "ok");
    }
    assert!(project.containers("mail").is_empty(), "it starts when somebody asks");
    let container = project.containers("api");
    let app = instance.dir.path().join("api/app.py");
    let text = fs::read_to_string(&app).expect("it can be read");
    fs::write(&app, text.replace("ok", "fine")).expect("it can be written");
    instance.until("it is synced", |_| {
        docker(&["exec", &container[0], "cat", "/app/app.py"]).contains("fine")
    });
    assert_eq!(project.containers("api"), container, "it was replaced:\n{}", instance.log());
    instance.trigger("mail");
    until(&mut instance, "mail", "ok", "ok");

    let down = project.engine(Some(&instance), &["down", "--delete-volumes"]);
    assert_eq!(down.status.code(), Some(0), "{down:?}");
    for service in ["api", "db", "mail"] {
        assert!(project.containers(service).is_empty(), "{service} is left");
    }
}
