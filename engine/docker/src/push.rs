//! Pushes images, if their registry does not have them yet.

use engine_formats::docker::reference::Reference;
use http_body_util::BodyExt;
use hyper::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::{
    client::{Docker, empty},
    credentials::{self, Credentials, Keyring},
    error::DockerError,
    messages::{Message, Messages},
};

/// Why an image could not be pushed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pushing image {image:?}: {message}")]
pub struct PushError {
    /// The image's name.
    pub image: String,
    /// Which registry refused.
    pub registry: String,
    /// As whom we asked, if anybody is logged in.
    pub user: Option<String>,
    /// What it said.
    pub message: String,
}

impl PushError {
    /// Whether the registry wants somebody else, or anybody at all, to log in.
    pub fn is_denied(&self) -> bool {
        let lower = self.message.to_lowercase();
        ["denied", "unauthorized", "authentication required", "no basic auth credentials"]
            .iter()
            .any(|it| lower.contains(it))
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let Self { registry, user, .. } = self;
        if self.is_denied() {
            return Some(match user {
                Some(user) => format!(
                    "{user} is not allowed to push to {registry}: log in as another user with \
                     `docker login {registry}`"
                ),
                None => format!("not logged in to {registry}: run `docker login {registry}`"),
            });
        }
        let lower = self.message.to_lowercase();
        ["connection refused", "no such host", "i/o timeout"]
            .iter()
            .any(|it| lower.contains(it))
            .then(|| format!("Docker cannot reach the registry {registry}: is it running?"))
    }
}

/// How far one layer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushProgress {
    /// The layer's short digest.
    pub id: String,
    /// What happens to it.
    pub status: String,
    /// How many bytes are done.
    pub current: i64,
    /// Of how many, if that is known.
    pub total: i64,
}

impl Docker {
    /// The digest under which a registry knows an image; `None` if it does not, or does not say.
    pub async fn registry_digest(&self, image: &Reference) -> Result<Option<String>, DockerError> {
        let auth = auth(&self.credentials(image).await?);
        let path = format!("/distribution/{}/json", image.familiar());
        let asked = self.ask(Method::GET, &path, &[], auth, empty()).await;
        let answer = match asked {
            Ok(answer) => answer,
            Err(error) if error.is_unreachable() => return Err(error),
            // Whatever the reason is, a push will tell it better.
            Err(_) => return Ok(None),
        };
        let Ok(text) = answer.into_body().collect().await else { return Ok(None) };
        let found: Value = serde_json::from_slice(&text.to_bytes()).unwrap_or_default();
        Ok(found["Descriptor"]["digest"].as_str().map(str::to_owned))
    }

    /// Pushes an image, whatever the registry has.
    pub async fn push(
        &self,
        image: &Reference,
        progress: &mut (dyn FnMut(PushProgress) + Send),
    ) -> Result<(), DockerError> {
        let credentials = self.credentials(image).await?;
        let name = image.name_only().familiar();
        let failed = |message: &str| PushError {
            image: image.name(),
            registry: image.domain.clone(),
            user: Some(credentials.username.clone()).filter(|it| !it.is_empty()),
            message: message.to_owned(),
        };
        let tag = image.tag.clone().unwrap_or_else(|| "latest".to_owned());
        let path = format!("/images/{name}/push");
        let query = [("tag", tag)];
        let asked = self.ask(Method::POST, &path, &query, auth(&credentials), empty()).await;
        let answer = asked.map_err(|error| match error {
            DockerError::Refused { message, .. } | DockerError::NotFound(message) => {
                failed(&message).into()
            }
            other => other,
        })?;
        let mut messages = Messages::new(answer.into_body(), self.host());
        while let Some(message) = messages.next::<Message>().await? {
            if let Some(words) = message.failure() {
                return Err(failed(words).into());
            }
            if !message.id.is_empty() {
                let at = message.progress.unwrap_or_default();
                let (id, status) = (message.id, message.status);
                progress(PushProgress { id, status, current: at.current, total: at.total });
            }
        }
        Ok(())
    }

    async fn credentials(&self, image: &Reference) -> Result<Credentials, DockerError> {
        Ok(Keyring::load(self.environment())?.find(&image.domain).await?)
    }
}

fn auth(credentials: &Credentials) -> HeaderMap {
    credentials::header("x-registry-auth", &json!(credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_who_should_log_in_where() {
        let error = |message: &str, user: Option<&str>| PushError {
            image: "r.example/web".into(),
            registry: "r.example".into(),
            user: user.map(str::to_owned),
            message: message.into(),
        };
        for (error, want) in [
            (
                error("denied: requested access to the resource is denied", Some("me")),
                "me is not allowed to push to r.example: log in as another user with `docker login r.example`",
            ),
            (
                error("unauthorized: authentication required", None),
                "not logged in to r.example: run `docker login r.example`",
            ),
            (
                error("dial tcp: connect: connection refused", None),
                "Docker cannot reach the registry r.example: is it running?",
            ),
        ] {
            assert_eq!(error.hint().as_deref(), Some(want));
        }
        assert_eq!(error("received unexpected HTTP status: 500", None).hint(), None);
    }
}
