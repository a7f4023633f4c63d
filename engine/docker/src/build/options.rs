//! What the engine is told about a build.

use engine_model::DockerBuild;
use hyper::HeaderMap;
use serde_json::{Map, Value, json};

use super::BuildError;
use crate::{
    credentials::{self, Keyring},
    error::DockerError,
};

/// Labels of every image that is built here; pruning goes by them.
const BUILT_LABEL: &str = "dev.tilt.built";
pub(crate) const GC_LABEL: &str = "dev.tilt.gc";

/// The parameters that both builders have.
pub(super) fn query(spec: &DockerBuild) -> Result<Vec<(&'static str, String)>, DockerError> {
    let mut query = vec![
        ("dockerfile", "Dockerfile".to_owned()),
        ("rm", "1".to_owned()),
        ("labels", json!({BUILT_LABEL: "true", GC_LABEL: "true"}).to_string()),
        ("buildargs", build_args(&spec.args).to_string()),
        ("cachefrom", json!(spec.cache_from).to_string()),
    ];
    query.extend(spec.extra_tags.iter().map(|tag| ("t", tag.clone())));
    query.extend(spec.extra_hosts.iter().map(|host| ("extrahosts", host.clone())));
    for (key, value) in [("target", &spec.target), ("networkmode", &spec.network)] {
        if !value.is_empty() {
            query.push((key, value.clone()));
        }
    }
    if spec.pull {
        query.push(("pull", "1".to_owned()));
    }
    if !spec.platform.is_empty() {
        query.push(("platform", platform(&spec.platform)?));
    }
    Ok(query)
}

/// Arguments by name; one without a value is null, so that the Dockerfile's default applies.
fn build_args(args: &[String]) -> Value {
    let parse = |arg: &String| match arg.split_once('=') {
        Some((key, value)) => (key.to_owned(), Value::from(value)),
        None => (arg.clone(), Value::Null),
    };
    Value::Object(args.iter().map(parse).collect::<Map<_, _>>())
}

/// A platform as `os/arch` or `os/arch/variant`.
fn platform(text: &str) -> Result<String, DockerError> {
    let parts: Vec<&str> = text.split('/').collect();
    let is_word = |it: &&str| {
        !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    if parts.len() > 3 || !parts.iter().all(is_word) {
        return Err(BuildError::setting(format!("invalid platform {text:?}")).into());
    }
    Ok(text.to_lowercase())
}

/// All credentials, for the builder that cannot ask for them.
pub(super) async fn registry_headers(keyring: &Keyring) -> HeaderMap {
    let all: Map<String, Value> =
        keyring.all().await.into_iter().map(|(key, it)| (key, json!(it))).collect();
    credentials::header("x-registry-config", &Value::Object(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_tiltfile_reaches_the_engine() {
        let words = |it: &[&str]| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        let spec = DockerBuild {
            args: words(&["A=1=2", "B"]),
            target: "stage".into(),
            network: "host".into(),
            pull: true,
            cache_from: words(&["web:cache"]),
            platform: "Linux/ARM64".into(),
            extra_tags: words(&["web:one", "web:two"]),
            extra_hosts: words(&["db:10.0.0.1"]),
            ..DockerBuild::default()
        };
        let query = query(&spec).unwrap();
        for want in [
            ("buildargs", r#"{"A":"1=2","B":null}"#),
            ("target", "stage"),
            ("networkmode", "host"),
            ("pull", "1"),
            ("cachefrom", r#"["web:cache"]"#),
            ("platform", "linux/arm64"),
            ("t", "web:one"),
            ("t", "web:two"),
            ("extrahosts", "db:10.0.0.1"),
            ("labels", r#"{"dev.tilt.built":"true","dev.tilt.gc":"true"}"#),
        ] {
            assert!(query.contains(&(want.0, want.1.to_owned())), "{want:?} in {query:?}");
        }
    }

    #[test]
    fn a_platform_that_makes_no_sense_is_refused_before_anything_is_sent() {
        let spec = DockerBuild { platform: "linux//x".into(), ..DockerBuild::default() };
        let error = query(&spec).unwrap_err().to_string();
        assert_eq!(error, "invalid platform \"linux//x\"");
    }
}
