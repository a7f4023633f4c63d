//! The shape of a kubeconfig file. Fields are in the order in which they are written.

use std::{io, path::Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, json};

use super::{KubeConfig, read_file};
use crate::{Files, golang::os_error::PathError, yaml};

/// How deep fields of a kubeconfig nest, at most; what is deeper belongs to extensions.
const FIELD_DEPTH: usize = 8;

type Extra = serde_json::Map<String, Value>;

/// Reads bytes that are written in base64, possibly on several lines.
fn base64_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let mut text = String::deserialize(deserializer)?;
    text.retain(|c| !matches!(c, '\r' | '\n'));
    BASE64.decode(&text).map_err(D::Error::custom)?;
    Ok(text)
}

/// Where a cluster is, and how to trust it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Cluster {
    /// The file with the authority's certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub certificate_authority: String,
    /// The authority's certificate itself, in base64.
    #[serde(deserialize_with = "base64_text", skip_serializing_if = "String::is_empty")]
    pub certificate_authority_data: String,
    #[serde(skip_serializing_if = "is_false")]
    disable_compression: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Value>,
    #[serde(skip_serializing_if = "is_false")]
    insecure_skip_tls_verify: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) proxy_url: String,
    /// The address.
    pub server: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    tls_server_name: String,
    /// The file that says so.
    #[serde(skip)]
    pub origin: String,
}

/// Who accesses a cluster.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct User {
    #[serde(rename = "as", skip_serializing_if = "String::is_empty")]
    pub(super) impersonate: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) as_groups: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) as_uid: String,
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub(super) as_user_extra: IndexMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auth_provider: Option<Extra>,
    /// The file with the client's certificate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_certificate: String,
    /// The client's certificate itself, in base64.
    #[serde(deserialize_with = "base64_text", skip_serializing_if = "String::is_empty")]
    pub client_certificate_data: String,
    /// The file with the client's key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client_key: String,
    /// The client's key itself, in base64.
    #[serde(deserialize_with = "base64_text", skip_serializing_if = "String::is_empty")]
    pub client_key_data: String,
    /// The program that authenticates the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Value>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) password: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) token: String,
    /// The file with the token.
    #[serde(rename = "tokenFile", skip_serializing_if = "String::is_empty")]
    pub token_file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) username: String,
    /// The file that says so.
    #[serde(skip)]
    pub origin: String,
}

/// A program that authenticates a user.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Exec {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) api_version: String,
    args: Option<Vec<String>>,
    /// The program.
    pub command: String,
    pub(super) env: Option<Vec<ExecVariable>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    install_hint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) interactive_mode: String,
    provide_cluster_info: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ExecVariable {
    pub(super) name: String,
    value: String,
}

/// A cluster together with a user.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Context {
    /// The cluster's name.
    pub cluster: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Value>,
    /// The namespace that objects go to; empty for the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The user's name.
    pub user: String,
    /// The file that says so.
    #[serde(skip)]
    pub origin: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Preferences {
    #[serde(skip_serializing_if = "is_false")]
    colors: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<Value>,
}

impl Preferences {
    pub(super) fn merge(&mut self, other: Self) {
        self.colors |= other.colors;
        self.extensions.extend(other.extensions);
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct RawFile {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    current_context: String,
    preferences: Preferences,
    clusters: Vec<Named>,
    contexts: Vec<Named>,
    users: Vec<Named>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    cluster: Cluster,
    context: Context,
    user: User,
}

/// What one file says; `None` if it does not exist.
pub(super) fn read(path: &str, files: &impl Files) -> Result<Option<KubeConfig>, String> {
    let bytes = match files.read(Path::new(path)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let op = if error.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
            return Err(PathError::new(op, path, &error).to_string());
        }
    };
    let raw = if bytes.is_empty() {
        RawFile::default()
    } else {
        let mut value = yaml::decode_v2(&*String::from_utf8_lossy(&bytes))
            .map_err(|error| error.to_string())?;
        drop_nulls(&mut value, FIELD_DEPTH);
        serde_json::from_value(value).map_err(|error| error.to_string())?
    };
    raw.check_version()?;
    Ok(Some(KubeConfig {
        current_context: raw.current_context,
        preferences: raw.preferences,
        clusters: by_name(raw.clusters, |named| named.cluster)?,
        contexts: by_name(raw.contexts, |named| named.context)?,
        users: by_name(raw.users, |named| named.user.with_defaults())?,
    }))
}

impl RawFile {
    fn check_version(&self) -> Result<(), String> {
        let kind = if self.kind.is_empty() { "Config" } else { &self.kind };
        let version = if self.api_version.is_empty() { "v1" } else { &self.api_version };
        if (kind, version) == ("Config", "v1") {
            return Ok(());
        }
        Err(format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \
             \"pkg/api/legacyscheme/scheme.go:30\""
        ))
    }
}

fn by_name<T>(list: Vec<Named>, pick: impl Fn(Named) -> T) -> Result<IndexMap<String, T>, String> {
    let mut entries = IndexMap::new();
    for named in list {
        let name = named.name.clone();
        if entries.insert(name.clone(), pick(named)).is_some() {
            return Err(format!("duplicate name \"{name}\" in list"));
        }
    }
    Ok(entries)
}

/// Go leaves a field alone that is given as null.
fn drop_nulls(value: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(|value| drop_nulls(value, depth));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_nulls(item, depth)),
        _ => {}
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Replaces a file's path by its content.
fn include(path: &mut String, data: &mut String, files: &impl Files) -> Result<(), String> {
    if path.is_empty() {
        return Ok(());
    }
    if !data.is_empty() {
        return Err("cannot have values for both path and contents".to_owned());
    }
    *data = BASE64.encode(read_file(files, path).map_err(|error| error.to_string())?);
    path.clear();
    Ok(())
}

impl Cluster {
    pub(super) fn flattened(mut self, files: &impl Files) -> Result<Self, String> {
        include(&mut self.certificate_authority, &mut self.certificate_authority_data, files)?;
        Ok(self)
    }
}

impl User {
    fn with_defaults(mut self) -> Self {
        if let Some(exec) = &mut self.exec
            && exec.interactive_mode.is_empty()
            && matches!(
                exec.api_version.as_str(),
                "client.authentication.k8s.io/v1beta1" | "client.authentication.k8s.io/v1alpha1"
            )
        {
            "IfAvailable".clone_into(&mut exec.interactive_mode);
        }
        self
    }

    pub(super) fn flattened(mut self, files: &impl Files) -> Result<Self, String> {
        include(&mut self.client_certificate, &mut self.client_certificate_data, files)?;
        include(&mut self.client_key, &mut self.client_key_data, files)?;
        Ok(self)
    }
}

serde_json::derived_to_json!(Cluster, Context, Preferences, User);

/// A configuration with a single context.
pub(super) fn pinned(
    context: (&str, &Context),
    cluster: Option<(&str, &Cluster)>,
    user: Option<(&str, &User)>,
    preferences: &Preferences,
) -> Value {
    let cluster = cluster.map(|(name, it)| json!({"cluster": it, "name": name}));
    let user = user.map(|(name, it)| json!({"name": name, "user": it}));
    let mut pinned = json!({
        "apiVersion": "v1",
        "clusters": cluster.into_iter().collect::<Vec<_>>(),
        "contexts": [{"context": context.1, "name": context.0}],
        "current-context": context.0,
        "kind": "Config",
    });
    if *preferences != Preferences::default() {
        pinned["preferences"] = json!(preferences);
    }
    pinned["users"] = json!(user.into_iter().collect::<Vec<_>>());
    pinned
}
