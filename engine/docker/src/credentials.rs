//! Finds the credentials for a registry: those in Docker's configuration, or what a helper
//! (`docker-credential-…`) knows.

use std::{collections::BTreeMap, io};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use hyper::{HeaderMap, header::HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    config::{AuthEntry, ConfigFile},
    environment::Environment,
    error::DockerError,
    program,
};

/// The name under which Docker Hub is known in configurations.
const HUB_KEY: &str = "https://index.docker.io/v1/";
/// The user of helpers for secrets that are tokens.
const TOKEN_USER: &str = "<token>";
const NOT_FOUND: &str = "credentials not found in native keychain";

/// Why a helper could not tell.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The helper is not there, or cannot be started.
    #[error(
        "cannot run docker-credential-{helper}, which Docker's configuration names for {registry}: {source}"
    )]
    NotStarted {
        /// Which helper.
        helper: String,
        /// For which registry.
        registry: String,
        /// Why.
        source: io::Error,
    },
    /// The helper failed.
    #[error("docker-credential-{helper} has no credentials for {registry}: {message}")]
    Failed {
        /// Which helper.
        helper: String,
        /// For which registry.
        registry: String,
        /// Its words.
        message: String,
    },
    /// An entry of the configuration is malformed.
    #[error("Docker's configuration has a malformed entry for {registry}: log in again")]
    Malformed {
        /// For which registry.
        registry: String,
    },
}

/// How to log in to a registry, in the form that Docker's API takes.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) struct Credentials {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) password: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) serveraddress: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) identitytoken: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) registrytoken: String,
}

serde_json::derived_to_json!(Credentials);

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Docker's configuration, as read once for one build or push.
#[derive(Debug)]
pub(crate) struct Keyring {
    config: ConfigFile,
    environment: Environment,
}

impl Keyring {
    pub(crate) fn load(environment: &Environment) -> Result<Self, DockerError> {
        let config = ConfigFile::load(environment.config_dir().as_deref())?;
        Ok(Self { config, environment: environment.clone() })
    }

    /// The credentials for a registry by its host; none at all if nobody knows any.
    pub(crate) async fn find(&self, host: &str) -> Result<Credentials, CredentialsError> {
        let key = config_key(host);
        let helper = self.config.cred_helpers.get(key).unwrap_or(&self.config.creds_store);
        if helper.is_empty() { self.in_file(key) } else { self.ask_helper(helper, key).await }
    }

    /// The credentials for all registries that the configuration mentions, for builders that want
    /// them up front. Those that cannot be had are left out, as Docker does.
    pub(crate) async fn all(&self) -> Vec<(String, Credentials)> {
        let mut keys: Vec<String> =
            self.config.auths.keys().chain(self.config.cred_helpers.keys()).cloned().collect();
        let store = &self.config.creds_store;
        if !store.is_empty()
            && let Ok(Some(list)) = self.run_helper(store, "list", "").await
        {
            let known: BTreeMap<String, String> = serde_json::from_str(&list).unwrap_or_default();
            keys.extend(known.into_keys());
        }
        keys.sort();
        keys.dedup();
        let mut found = Vec::new();
        for key in keys {
            if let Ok(credentials) = self.find(&key).await
                && credentials != Credentials::default()
            {
                found.push((key, credentials));
            }
        }
        found
    }

    fn in_file(&self, key: &str) -> Result<Credentials, CredentialsError> {
        let auths = &self.config.auths;
        let entry = auths.get(key).or_else(|| {
            auths.iter().find(|(it, _)| hostname(it) == hostname(key)).map(|(_, entry)| entry)
        });
        match entry {
            Some(entry) => decode(entry, key),
            None => Ok(Credentials::default()),
        }
    }

    async fn ask_helper(&self, helper: &str, key: &str) -> Result<Credentials, CredentialsError> {
        let Some(text) = self.run_helper(helper, "get", key).await? else {
            return Ok(Credentials::default());
        };
        let answer: Answer =
            serde_json::from_str(&text).map_err(|error| CredentialsError::Failed {
                helper: helper.to_owned(),
                registry: key.to_owned(),
                message: error.to_string(),
            })?;
        let serveraddress = key.to_owned();
        Ok(if answer.username == TOKEN_USER {
            Credentials { identitytoken: answer.secret, serveraddress, ..Credentials::default() }
        } else {
            let (username, password) = (answer.username, answer.secret);
            Credentials { username, password, serveraddress, ..Credentials::default() }
        })
    }

    /// Asks a helper for something; `None` if it does not know the registry.
    async fn run_helper(
        &self,
        helper: &str,
        verb: &str,
        registry: &str,
    ) -> Result<Option<String>, CredentialsError> {
        let owned = || (helper.to_owned(), registry.to_owned());
        let not_started = |source| {
            let (helper, registry) = owned();
            CredentialsError::NotStarted { helper, registry, source }
        };
        let mut command = self.environment.command(&format!("docker-credential-{helper}"));
        command.arg(verb);
        let ended = program::run(command, registry).await.map_err(not_started)?;
        let text = ended.stdout;
        if ended.status.success() {
            return Ok(Some(text));
        }
        if text.contains(NOT_FOUND) {
            return Ok(None);
        }
        let words = if text.trim().is_empty() { ended.stderr.trim() } else { text.trim() };
        let (helper, registry) = owned();
        Err(CredentialsError::Failed { helper, registry, message: words.to_owned() })
    }
}

fn decode(entry: &AuthEntry, key: &str) -> Result<Credentials, CredentialsError> {
    let malformed = || CredentialsError::Malformed { registry: key.to_owned() };
    let (mut username, mut password) = (entry.username.clone(), entry.password.clone());
    if !entry.auth.is_empty() {
        let decoded = STANDARD.decode(entry.auth.trim()).map_err(|_| malformed())?;
        let decoded = String::from_utf8(decoded).map_err(|_| malformed())?;
        let (user, secret) = decoded.split_once(':').ok_or_else(malformed)?;
        (username, password) = (user.to_owned(), secret.trim_matches('\0').to_owned());
    }
    Ok(Credentials {
        username,
        password,
        serveraddress: key.to_owned(),
        identitytoken: entry.identitytoken.clone(),
        registrytoken: entry.registrytoken.clone(),
    })
}

/// A header with credentials, which nobody is to show.
pub(crate) fn header(name: &'static str, credentials: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(mut value) = HeaderValue::try_from(URL_SAFE.encode(credentials.to_string())) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

/// The name under which a registry is in the configuration.
pub(crate) fn config_key(host: &str) -> &str {
    match host {
        "docker.io" | "index.docker.io" | "registry-1.docker.io" => HUB_KEY,
        host => host,
    }
}

/// The host in an address that may be a URL.
fn hostname(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn keyring(dir: &tempfile::TempDir, config: &str, helper: &str) -> Keyring {
        fs::write(dir.path().join("config.json"), config).unwrap();
        let program = dir.path().join("docker-credential-test");
        fs::write(&program, helper).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let dir = dir.path().to_str().unwrap().to_owned();
        let path = format!("{dir}:/usr/bin:/bin");
        let vars = [("DOCKER_CONFIG".to_owned(), dir.clone()), ("PATH".to_owned(), path)];
        let environment = Environment::new(vars).starting_with(move |program| {
            let own = std::path::Path::new(&dir).join(program);
            tokio::process::Command::new(if own.exists() { own } else { program.into() })
        });
        Keyring::load(&environment).unwrap()
    }

    #[tokio::test]
    async fn entries_of_the_file_are_found_by_host_and_by_url() {
        let dir = tempfile::tempdir().unwrap();
        // `bWU6c2VjcmV0` is `me:secret`.
        let config = r#"{"auths": {"https://old.example/v1/": {"auth": "bWU6c2VjcmV0"},
            "https://index.docker.io/v1/": {"username": "hub", "password": "p"},
            "bad.example": {"auth": "???"}}}"#;
        let keyring = keyring(&dir, config, "");
        let old = keyring.find("old.example").await.unwrap();
        assert_eq!((old.username.as_str(), old.password.as_str()), ("me", "secret"));
        assert_eq!(keyring.find("docker.io").await.unwrap().username, "hub");
        assert!(keyring.find("other.example").await.unwrap() == Credentials::default());
        let error = keyring.find("bad.example").await.err().unwrap().to_string();
        assert!(error.contains("malformed entry for bad.example"), "{error}");
    }

    #[tokio::test]
    async fn helpers_are_asked_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let config = r#"{"credHelpers": {"r.example": "test", "gone.example": "nowhere"}}"#;
        let helper = "#!/bin/sh\nread -r host || true\n\
            [ \"$1 $host\" = 'get r.example' ] || exit 3\n\
            echo '{\"ServerURL\":\"x\",\"Username\":\"<token>\",\"Secret\":\"t\"}'\n";
        let keyring = keyring(&dir, config, helper);
        let found = keyring.find("r.example").await.unwrap();
        assert_eq!((found.identitytoken.as_str(), found.username.as_str()), ("t", ""));
        let error = keyring.find("gone.example").await.err().unwrap().to_string();
        assert!(error.starts_with("cannot run docker-credential-nowhere"), "{error}");
        assert_eq!(keyring.all().await.len(), 1);
    }

    #[tokio::test]
    async fn a_helper_without_an_answer_is_no_failure_but_a_broken_one_is() {
        let dir = tempfile::tempdir().unwrap();
        let config = r#"{"credsStore": "test"}"#;
        let absent = "#!/bin/sh\necho 'credentials not found in native keychain'; exit 1\n";
        let absent = keyring(&dir, config, absent);
        assert!(absent.find("r.example").await.unwrap() == Credentials::default());
        let broken = keyring(&dir, config, "#!/bin/sh\necho 'vault is sealed' >&2; exit 1\n");
        let error = broken.find("r.example").await.err().unwrap().to_string();
        assert!(error.ends_with("for r.example: vault is sealed"), "{error}");
    }
}
