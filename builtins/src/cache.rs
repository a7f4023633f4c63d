//! Caches the output of slow tools for as long as none of their inputs changes.
//!
//! The key of an entry covers everything the tool depends on: its own file, its command line, the variables it reads,
//! and the content of every input. A tool that may read more than that, or may print something else the next time,
//! runs each time. A hit starts no process and returns the same bytes as the cached run; failures are never cached.

use sha2::{Digest, Sha256};

use crate::{host::Host, session::Session};

mod archive;
mod compose;
mod helm;
mod impure;
mod key;
mod kustomize;
mod program;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use compose::{ComposeConfigInputs, ComposeVersionInputs};
pub(crate) use helm::{HelmInputs, HelmVersionInputs, ReleaseNamespace};
pub(crate) use kustomize::KustomizeInputs;

use key::{Key, KeyBuilder};
use program::Tool;
use store::Store;

/// Part of every key; counts up when the meaning of keys or entries changes.
const FORMAT: &str = "1";

/// Why a call cannot be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uncacheable(pub(crate) &'static str);

/// Everything that the output of a command depends on.
pub(crate) trait Inputs {
    /// The programs that run.
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable>;

    /// Adds everything else to the key.
    ///
    /// # Errors
    /// If the command may depend on more, or on chance or time.
    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable>;
}

/// What a command prints: from an earlier run with the same inputs, or else from `run`.
pub(crate) fn remember<E>(
    session: &Session,
    inputs: &dyn Inputs,
    run: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    let host = session.host.as_ref();
    let store = if session.request.use_cache { Store::open(host) } else { None };
    remember_in(store.as_ref(), host, inputs, run)
}

fn remember_in<E>(
    store: Option<&Store<'_>>,
    host: &dyn Host,
    inputs: &dyn Inputs,
    run: impl FnOnce() -> Result<String, E>,
) -> Result<String, E> {
    let Some((store, key)) = store.and_then(|it| Some((it, key_of(it, host, inputs).ok()?))) else {
        return run();
    };
    if let Some(text) = store.get(&key) {
        return Ok(text);
    }
    let text = run()?;
    // What has changed while the command ran may or may not be in its output.
    if key_of(store, host, inputs) == Ok(key) {
        store.put(&key, &text);
    }
    Ok(text)
}

/// The key of a command, if its output can be kept.
fn key_of(store: &Store<'_>, host: &dyn Host, inputs: &dyn Inputs) -> Result<Key, Uncacheable> {
    let mut key = KeyBuilder::new(host);
    for tool in inputs.tools(host)? {
        if !tool.is_genuine(store, host) {
            return Err(Uncacheable("a wrapper may read anything"));
        }
        key.part("tool", &tool.identity);
    }
    inputs.describe(&mut key)?;
    Ok(key.finish())
}

/// The digest of some bytes.
fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
