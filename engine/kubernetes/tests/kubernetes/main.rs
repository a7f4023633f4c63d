//! The package on a real cluster.
#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod cluster;
