//! Waits for what the cluster does in its own time.

use std::time::Duration;

use crate::{Cluster, KubernetesError, object::uid};

/// How long to wait between two looks, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

impl Cluster {
    /// Waits until an object is gone, or another one has taken its name.
    pub(crate) async fn wait_until_gone(
        &self,
        path: &str,
        name: &str,
        patience: Duration,
    ) -> Result<(), KubernetesError> {
        let waiting = async {
            let Some(first) = self.read(path).await? else { return Ok(()) };
            let mut pause = LOOKS.0;
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 3 / 2).min(LOOKS.1);
                match self.read(path).await {
                    Ok(Some(object)) if uid(&object) == uid(&first) => {}
                    Ok(_) => return Ok(()),
                    // It may come back; the patience ends anyway.
                    Err(KubernetesError::Unreachable(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        tokio::time::timeout(patience, waiting).await.unwrap_or_else(|_| {
            Err(KubernetesError::Request(format!("timeout waiting for delete: {name}")))
        })
    }
}
