//! The package on a real Docker engine.
#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod docker;
