//! Docker's own configuration: `config.json` and the contexts beside it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use engine_formats::golang::hex;
use serde::{Deserialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::error::DockerError;

/// What `config.json` says about contexts and registries.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConfigFile {
    pub(crate) current_context: String,
    pub(crate) auths: BTreeMap<String, AuthEntry>,
    pub(crate) creds_store: String,
    pub(crate) cred_helpers: BTreeMap<String, String>,
}

/// How to log in to one registry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AuthEntry {
    /// `user:password` in base64.
    pub(crate) auth: String,
    pub(crate) username: String,
    pub(crate) password: String,
    pub(crate) identitytoken: String,
    pub(crate) registrytoken: String,
}

impl ConfigFile {
    /// Reads the file in this directory; without one, everything has its default.
    pub(crate) fn load(dir: Option<&Path>) -> Result<Self, DockerError> {
        let Some(dir) = dir else { return Ok(Self::default()) };
        Ok(read_json(&dir.join("config.json"))?.unwrap_or_default())
    }
}

/// Where a context's engine is.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) host: String,
    pub(crate) skip_tls_verify: bool,
    /// The directory of its certificates, if it has any.
    pub(crate) tls_dir: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Meta {
    endpoints: BTreeMap<String, MetaEndpoint>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct MetaEndpoint {
    #[serde(rename = "Host")]
    host: String,
    #[serde(rename = "SkipTLSVerify")]
    skip_tls_verify: bool,
}

impl Context {
    /// Reads a context by its name.
    pub(crate) fn load(dir: Option<&Path>, name: &str) -> Result<Self, DockerError> {
        let unknown = || DockerError::UnknownContext { name: name.to_owned() };
        let contexts = dir.ok_or_else(unknown)?.join("contexts");
        let id = hex::encode(&Sha256::digest(name));
        let file = contexts.join("meta").join(&id).join("meta.json");
        let meta: Meta = read_json(&file)?.ok_or_else(unknown)?;
        let endpoint = meta.endpoints.get("docker").cloned().ok_or_else(|| {
            DockerError::BadFile { path: file, why: "it has no Docker endpoint".into() }
        })?;
        let tls_dir = contexts.join("tls").join(&id).join("docker");
        Ok(Self {
            host: endpoint.host,
            skip_tls_verify: endpoint.skip_tls_verify,
            tls_dir: tls_dir.is_dir().then_some(tls_dir),
        })
    }
}

/// Reads a JSON file, if there is one.
fn read_json<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, DockerError> {
    let bad = |why: String| DockerError::BadFile { path: file.to_owned(), why };
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(error.to_string())),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| bad(error.to_string()))
}
