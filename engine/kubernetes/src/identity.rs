//! Which cluster is meant, told by what a re-created cluster does not share with the old one.

use std::fmt;

use sha2::{Digest, Sha256};

/// What tells one cluster from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The UID of the namespace `kube-system`, which lives as long as its cluster.
    Uid(String),
    /// The server and what vouches for it, where that namespace may not be read.
    Server {
        /// Where the cluster is.
        server: String,
        /// A fingerprint of the certificates that are trusted to vouch for it.
        trust: String,
    },
}

impl Identity {
    /// The identity of a cluster that does not let itself be asked.
    pub(crate) fn of_server(server: &str, roots: Option<&[Vec<u8>]>) -> Self {
        let mut hash = Sha256::new();
        for root in roots.unwrap_or_default() {
            hash.update(root.len().to_be_bytes());
            hash.update(root);
        }
        let trust = engine_formats::golang::hex::encode(&hash.finalize());
        Self::Server { server: server.to_owned(), trust }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid(uid) => write!(f, "cluster {uid}"),
            Self::Server { server, trust } => {
                write!(f, "the server {server} (trust {})", trust.get(..12).unwrap_or(trust))
            }
        }
    }
}
