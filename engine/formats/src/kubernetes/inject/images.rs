//! Decides where built images go in objects of built-in kinds: containers, image volumes and environment variables,
//! and which commands and arguments of containers are replaced with them.

use serde_json::{Map, Value};

use super::super::object::Object;
use super::super::walk::{Part, change_each};
use super::InjectError;
use crate::docker::reference::{Reference, ReferenceError};
use crate::docker::selector::RefSelector;

/// An image that was built here is taken from here, not from the registry that its name points to.
pub(super) const PULL_POLICY: &str = "IfNotPresent";

/// Ephemeral containers are of another type, and not touched.
const CONTAINER: Part = Part::every("v1.Container");
const IMAGE_VOLUME: Part = Part::every("v1.ImageVolumeSource");
const ENV_VAR: Part = Part::every("v1.EnvVar");

/// Keeps every container from pulling its image at each start.
pub(super) fn prefer_present(object: &mut Object) {
    change_each(object, CONTAINER, &mut |_, container| {
        container.insert("imagePullPolicy".to_owned(), Value::from(PULL_POLICY));
    });
}

/// A set that starts its pods in order would wait forever for one that crashes.
pub(super) fn start_in_parallel(object: &mut Object) {
    let versions = ["apps/v1", "apps/v1beta1", "apps/v1beta2"];
    if !versions.iter().any(|version| object.is_type(version, "StatefulSet")) {
        return;
    }
    if let Some(Value::Object(spec)) = object.value_mut().get_mut("spec") {
        spec.insert("podManagementPolicy".to_owned(), Value::from("Parallel"));
    }
}

/// Replaces an image in containers and image volumes; says whether it was there.
pub(super) fn replace(
    object: &mut Object,
    selector: &RefSelector,
    image: &Reference,
) -> Result<bool, ReferenceError> {
    let in_containers = replace_in(object, CONTAINER, ("image", "imagePullPolicy"), |it| {
        Reference::parse(it).map(|found| selector.matches(&found).then(|| image.familiar()))
    })?;
    let in_volumes = replace_in(object, IMAGE_VOLUME, ("reference", "pullPolicy"), |it| {
        if it.is_empty() {
            return Ok(None);
        }
        Reference::parse(it).map(|found| selector.matches(&found).then(|| image.familiar()))
    })?;
    Ok(in_containers || in_volumes)
}

fn replace_in(
    object: &mut Object,
    part: Part,
    (field, policy): (&str, &str),
    replacement: impl Fn(&str) -> Result<Option<String>, ReferenceError>,
) -> Result<bool, ReferenceError> {
    let mut outcome = Ok(false);
    change_each(object, part, &mut |_, entries| {
        let Ok(is_replaced) = &mut outcome else { return };
        match replacement(text(entries, field)) {
            Ok(None) => {}
            Ok(Some(image)) => {
                entries.insert(field.to_owned(), Value::String(image));
                entries.insert(policy.to_owned(), Value::from(PULL_POLICY));
                *is_replaced = true;
            }
            Err(error) => outcome = Err(error),
        }
    });
    outcome
}

/// Replaces an image in the values of environment variables; says whether it was there.
pub(super) fn replace_in_env(
    object: &mut Object,
    selector: &RefSelector,
    image: &Reference,
) -> bool {
    let mut is_replaced = false;
    change_each(object, ENV_VAR, &mut |_, variable| {
        let found = Reference::parse(text(variable, "value"));
        if found.is_ok_and(|found| selector.matches(&found)) {
            variable.insert("value".to_owned(), Value::String(image.familiar()));
            is_replaced = true;
        }
    });
    is_replaced
}

/// Replaces command and arguments of the containers that run an image.
pub(super) fn replace_command(
    object: &mut Object,
    image: &Reference,
    command: Option<&[String]>,
    args: Option<&[String]>,
) -> Result<(), InjectError> {
    let selector = RefSelector::new(image.clone());
    let mut outcome = Ok(false);
    change_each(object, CONTAINER, &mut |_, container| {
        let Ok(is_replaced) = &mut outcome else { return };
        match Reference::parse(text(container, "image")) {
            Ok(found) if selector.matches(&found) => {
                set_words(container, "command", command);
                set_words(container, "args", args);
                *is_replaced = true;
            }
            Ok(_) => {}
            Err(error) => outcome = Err(error),
        }
    });
    if outcome? {
        return Ok(());
    }
    Err(InjectError::NoContainer {
        command: command.unwrap_or_default().to_vec(),
        object: object.name().to_owned(),
        image: image.familiar(),
    })
}

fn set_words(container: &mut Map<String, Value>, field: &str, words: Option<&[String]>) {
    match words {
        None => {}
        Some([]) => {
            container.shift_remove(field);
        }
        Some(words) => {
            container.insert(field.to_owned(), Value::from(words.to_vec()));
        }
    }
}

fn text<'a>(entries: &'a Map<String, Value>, field: &str) -> &'a str {
    entries.get(field).and_then(Value::as_str).unwrap_or_default()
}
