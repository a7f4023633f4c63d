//! Which engine is meant, case by case.

use std::{fs, path::Path};

use super::*;

fn resolve(vars: &[(&str, &str)]) -> Result<Endpoint, String> {
    let vars = vars.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
    Endpoint::resolve(&Environment::new(vars)).map_err(|error| error.to_string())
}

#[test]
fn hosts_are_read_as_docker_does() {
    for (given, want) in [
        ("", "unix:///var/run/docker.sock"),
        ("unix://", "unix:///var/run/docker.sock"),
        ("unix:///tmp/d.sock", "unix:///tmp/d.sock"),
        ("tcp://box", "tcp://box:2375"),
        ("tcp://box:99", "tcp://box:99"),
        ("box:99", "tcp://box:99"),
        ("tcp://[::1]:99", "tcp://[::1]:99"),
        ("tcp://[::1]", "tcp://[::1]:2375"),
        ("ssh://me@box:22", "ssh://me@box:22"),
    ] {
        let found = resolve(&[("DOCKER_HOST", given)]).unwrap();
        assert_eq!(found.host(), want, "{given}");
    }
}

#[test]
fn hosts_that_make_no_sense_say_why() {
    for (given, want) in [
        ("ftp://box", "only unix, tcp and ssh are supported"),
        ("tcp://box:port", "it should look like tcp://host:port"),
        ("ssh://me:secret@box", "plain-text password is not supported"),
        ("ssh://-oProxyCommand=x", "hostname is empty or malformed"),
        ("ssh://", "hostname is empty or malformed"),
    ] {
        let error = resolve(&[("DOCKER_HOST", given)]).unwrap_err();
        assert!(error.contains(want), "{given}: {error}");
    }
}

#[test]
fn an_ssh_host_becomes_a_command_line() {
    let target = SshTarget::parse("me@box:2222/run/docker.sock").unwrap();
    assert_eq!(
        target.arguments().join(" "),
        "-l me -p 2222 -o ConnectTimeout=30 -T -- box docker '--host=unix:///run/docker.sock' system dial-stdio"
    );
    let plain = SshTarget::parse("box").unwrap();
    assert_eq!(
        plain.arguments().join(" "),
        "-o ConnectTimeout=30 -T -- box docker system dial-stdio"
    );
}

fn write_context(dir: &Path, name: &str, host: &str) {
    let id = engine_formats::golang::hex::encode(&<sha2::Sha256 as sha2::Digest>::digest(name));
    let meta = dir.join("contexts/meta").join(&id);
    fs::create_dir_all(&meta).unwrap();
    let text = format!(r#"{{"Name":"{name}","Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
    fs::write(meta.join("meta.json"), text).unwrap();
    fs::create_dir_all(dir.join("contexts/tls").join(&id).join("docker")).unwrap();
}

#[test]
fn contexts_are_chosen_by_variable_then_by_configuration() {
    let dir = tempfile::tempdir().unwrap();
    write_context(dir.path(), "far", "tcp://far:2376");
    write_context(dir.path(), "near", "unix:///near.sock");
    fs::write(dir.path().join("config.json"), r#"{"currentContext": "far"}"#).unwrap();
    let config = ("DOCKER_CONFIG", dir.path().to_str().unwrap());
    let far = resolve(&[config]).unwrap();
    assert_eq!(far.host(), "tcp://far:2376");
    assert!(matches!(&far.way, Way::Tcp { tls: Some(Tls { verifies: true, .. }), .. }));
    assert_eq!(resolve(&[config, ("DOCKER_CONTEXT", "near")]).unwrap().host(), "unix:///near.sock");
    assert_eq!(
        resolve(&[config, ("DOCKER_CONTEXT", "default")]).unwrap().host(),
        "unix:///var/run/docker.sock"
    );
    let both = [config, ("DOCKER_CONTEXT", "near"), ("DOCKER_HOST", "tcp://here:1")];
    assert_eq!(resolve(&both).unwrap().host(), "tcp://here:1");
    let error = resolve(&[config, ("DOCKER_CONTEXT", "gone")]).unwrap_err();
    assert_eq!(error, "Docker context \"gone\" does not exist: see `docker context ls`");
}

#[test]
fn certificates_are_where_the_variables_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let vars =
        [("DOCKER_HOST", "tcp://box"), ("DOCKER_TLS_VERIFY", "1"), ("DOCKER_CERT_PATH", path)];
    let missing =
        format!("unable to resolve docker endpoint: open {path}/ca.pem: no such file or directory");
    assert_eq!(resolve(&vars).unwrap_err(), missing);
    // Even where none is needed.
    assert_eq!(resolve(&vars[1..]).unwrap_err(), missing);
    fs::write(folder.path().join("ca.pem"), "").unwrap();
    let Endpoint { host, way: Way::Tcp { tls: Some(tls), .. } } = resolve(&vars).unwrap() else {
        panic!("no TLS");
    };
    assert_eq!((host.as_str(), tls.dir.as_path()), ("tcp://box:2376", folder.path()));
}
