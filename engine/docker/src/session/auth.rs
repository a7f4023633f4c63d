//! Credentials for the registries that a build pulls from, looked up when the engine needs them.

use std::sync::Arc;

use bollard_buildkit_proto::moby::filesync::v1::{
    CredentialsRequest, CredentialsResponse, FetchTokenRequest, FetchTokenResponse,
    GetTokenAuthorityRequest, GetTokenAuthorityResponse, VerifyTokenAuthorityRequest,
    VerifyTokenAuthorityResponse, auth_server,
};
use tonic::{Request, Response, Status, async_trait};

use super::status;
use crate::credentials::Keyring;

/// Answers from Docker's configuration.
pub(crate) struct Auth(pub(crate) Arc<Keyring>);

/// The engine fetches tokens itself if we do not offer to.
fn not_offered<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("the engine fetches tokens with the credentials"))
}

#[async_trait]
impl auth_server::Auth for Auth {
    async fn credentials(
        &self,
        request: Request<CredentialsRequest>,
    ) -> Result<Response<CredentialsResponse>, Status> {
        let found = self.0.find(&request.get_ref().host).await.map_err(|error| status(&error))?;
        let response = if found.identitytoken.is_empty() {
            CredentialsResponse { username: found.username, secret: found.password }
        } else {
            CredentialsResponse { username: String::new(), secret: found.identitytoken }
        };
        Ok(Response::new(response))
    }

    async fn fetch_token(
        &self,
        _: Request<FetchTokenRequest>,
    ) -> Result<Response<FetchTokenResponse>, Status> {
        not_offered()
    }

    async fn get_token_authority(
        &self,
        _: Request<GetTokenAuthorityRequest>,
    ) -> Result<Response<GetTokenAuthorityResponse>, Status> {
        not_offered()
    }

    async fn verify_token_authority(
        &self,
        _: Request<VerifyTokenAuthorityRequest>,
    ) -> Result<Response<VerifyTokenAuthorityResponse>, Status> {
        not_offered()
    }
}
