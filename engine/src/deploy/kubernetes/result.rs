//! What came of an apply, as API objects show it.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE as BASE64};
use engine_kubernetes::Kept;
use engine_model::KubernetesTarget;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::deploy::images::Built;

/// Changes with everything that is applied: the spec, and the images in it.
pub(super) fn input_hash(target: &KubernetesTarget, built: &HashMap<String, Built>) -> String {
    let mut digest = Sha256::new();
    digest.update(serde_json::to_vec(target).unwrap_or_default());
    for name in &target.image_maps {
        digest.update(name.as_bytes());
        digest.update(built.get(name).map_or("", |it| it.deployed.as_str()).as_bytes());
    }
    BASE64.encode(&digest.finalize()[..20])
}

/// A field that somebody else changed, in words.
pub fn kept_text(kept: &Kept) -> String {
    let Kept { object, path, theirs, ours, by } = kept;
    // What is in a secret is nobody's business.
    let is_secret = object.kind == "Secret";
    let shown = |it: &Value| if is_secret { "…".to_owned() } else { short(it) };
    let theirs = theirs.as_ref().map_or("removed".to_owned(), |it| format!("is {}", shown(it)));
    let by = by.as_ref().map_or(String::new(), |it| format!(" by {it}"));
    format!("{object} {path}: {theirs}{by}, the Tiltfile says {}", shown(ours))
}

/// A value, unless it is long.
fn short(value: &Value) -> String {
    const MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
