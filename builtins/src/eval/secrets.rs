//! Collects the values of Secrets, which logs must not show.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use engine_formats::kubernetes::{Object, secrets::secret_values};
use engine_model::Secret;

/// The values of all Secrets, by value. A value that several have is called by the last of them in the order of these
/// places.
pub(super) fn of(objects: &[Object], places: &[usize]) -> BTreeMap<String, Secret> {
    let mut secrets = BTreeMap::new();
    let last_named = places.iter().filter_map(|it| objects.get(*it));
    for found in objects.iter().chain(last_named).flat_map(secret_values) {
        let encoded = STANDARD.encode(&found.value);
        let replacement = format!("[redacted secret {}:{}]", found.name, found.key);
        let secret = Secret {
            name: found.name,
            key: found.key,
            value: encoded.clone(),
            value_encoded: STANDARD.encode(&encoded),
            replacement: STANDARD.encode(replacement),
        };
        secrets.insert(String::from_utf8_lossy(&found.value).into_owned(), secret);
    }
    secrets
}
