//! TLS as the kubeconfig wants it.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use kube::{Config, client::ConfigExt as _};
use rustls::{
    ClientConfig,
    crypto::ring::sign::any_supported_type,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};
use serde_json::Value;

use crate::KubernetesError;

/// Speaks TLS over what a connector opens, or plain HTTP where the server does.
pub(super) fn connector<C>(
    config: &Config,
    connector: C,
) -> Result<HttpsConnector<C>, KubernetesError> {
    let mut builder =
        HttpsConnectorBuilder::new().with_tls_config(client_config(config)?).https_or_http();
    if let Some(name) = config.tls_server_name.clone() {
        let name = ServerName::try_from(name).map_err(|it| problem(&it))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_http1().wrap_connector(connector))
}

fn problem(error: &dyn std::error::Error) -> KubernetesError {
    KubernetesError::Config(error.to_string())
}

fn client_config(config: &Config) -> Result<ClientConfig, KubernetesError> {
    config.rustls_client_config().or_else(|error| {
        // A client certificate of the first version is unusual, but it is for the server to judge.
        let Some(own) = own_certificate(config)? else { return Err(problem(&error)) };
        let mut config = config.clone();
        config.auth_info.client_certificate = None;
        config.auth_info.client_certificate_data = None;
        config.auth_info.client_key = None;
        config.auth_info.client_key_data = None;
        let mut tls = config.rustls_client_config().map_err(|it| problem(&it))?;
        tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(own));
        Ok(tls)
    })
}

/// The certificate of the user, and its key, which are not looked into.
fn own_certificate(config: &Config) -> Result<Option<CertifiedKey>, KubernetesError> {
    let user = serde_json::to_value(&config.auth_info).map_err(|it| problem(&it))?;
    let (Some(chain), Some(key)) = (pem(&user, "client-certificate")?, pem(&user, "client-key")?)
    else {
        return Ok(None);
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|it| problem(&it))?;
    let key = any_supported_type(&key).map_err(|it| problem(&it))?;
    Ok(Some(CertifiedKey::new(chain.map_err(|it| problem(&it))?, key)))
}

/// What a user's entry holds under a name, or in the file that it names.
fn pem(user: &Value, name: &str) -> Result<Option<Vec<u8>>, KubernetesError> {
    if let Some(data) = user[format!("{name}-data")].as_str() {
        return BASE64_STANDARD.decode(data).map(Some).map_err(|it| problem(&it));
    }
    let Some(path) = user[name].as_str() else { return Ok(None) };
    std::fs::read(path).map(Some).map_err(|it| problem(&it))
}
