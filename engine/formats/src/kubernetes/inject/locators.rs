//! Decides what changes at the places that locators lead to: the string there, with the pull policy beside it, or the
//! fields of the object there.

use engine_model::ImageObject;
use serde_json::Value;

use super::super::jsonpath::Match;
use super::super::locator::{ImageLocator, LocatorError};
use super::super::object::Object;
use super::super::schema::{Shape, TypeId};
use super::images::PULL_POLICY;
use crate::docker::reference::{Reference, ReferenceError};
use crate::docker::selector::RefSelector;

/// A way from the object down to a part of it.
type Place = Vec<Step>;

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Replaces an image where a locator finds it; says whether it was there.
pub(super) fn replace(
    locator: &ImageLocator,
    object: &mut Object,
    selector: &RefSelector,
    image: &Reference,
) -> Result<bool, LocatorError<ReferenceError>> {
    let places = places(locator, object, selector)?;
    for place in &places {
        match locator.object() {
            None => put_text(object, place, image),
            Some(fields) => put_fields(object, place, fields, image),
        }
    }
    Ok(!places.is_empty())
}

/// Where the image is.
fn places(
    locator: &ImageLocator,
    object: &Object,
    selector: &RefSelector,
) -> Result<Vec<Place>, LocatorError<ReferenceError>> {
    let mut parts: Vec<&Value> = Vec::new();
    locator.visit(object, |found: &Match<'_>, text| {
        let reference = Reference::parse(text);
        // A string that is no image is passed over, an object that names none is a mistake.
        if locator.object().is_some()
            && let Err(error) = reference
        {
            return Err(LocatorError::ImageObject(error));
        }
        if reference.is_ok_and(|reference| selector.matches(&reference)) {
            parts.extend(found.part());
        }
        Ok(())
    })?;
    let mut places = Vec::new();
    if !parts.is_empty() {
        locate(object.value(), &parts, &mut Vec::new(), &mut places);
    }
    Ok(places)
}

/// Finds the ways to parts of a value; reading an object bounds how deep it is.
fn locate(value: &Value, parts: &[&Value], place: &mut Place, places: &mut Vec<Place>) {
    if parts.iter().any(|part| std::ptr::eq(*part, value)) {
        places.push(place.clone());
    }
    let mut enter = |step: Step, value: &Value| {
        place.push(step);
        locate(value, parts, place, places);
        place.pop();
    };
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                enter(Step::Key(key.clone()), value);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                enter(Step::Index(index), value);
            }
        }
        _ => {}
    }
}

fn part_at<'a>(object: &'a mut Object, place: &[Step]) -> Option<&'a mut Value> {
    place.iter().try_fold(object.value_mut(), |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

fn put_text(object: &mut Object, place: &Place, image: &Reference) {
    if let Some(text) = part_at(object, place) {
        *text = Value::String(image.familiar());
    }
    let Some((Step::Key(_), parent)) = place.split_last() else { return };
    if !is_mapping(object.ty, parent) {
        return;
    }
    if let Some(policy) = part_at(object, parent).and_then(|it| it.get_mut("imagePullPolicy")) {
        *policy = Value::from(PULL_POLICY);
    }
}

/// Whether a neighbor can be looked up at a place, which the fields of a Go struct do not allow.
fn is_mapping(ty: Option<TypeId>, place: &[Step]) -> bool {
    let inside = |ty: TypeId, step: &Step| match (&ty.behind_pointers().get().shape, step) {
        (Shape::Struct(structure), Step::Key(key)) => structure.field(key).map(|field| field.ty),
        (Shape::Map(item), Step::Key(_)) | (Shape::List(item), Step::Index(_)) => Some(*item),
        _ => None,
    };
    let reached = place.iter().try_fold(ty, |ty, step| Some(Some(inside(ty?, step)?))).flatten();
    reached.is_none_or(|ty| !matches!(ty.behind_pointers().get().shape, Shape::Struct(_)))
}

fn put_fields(object: &mut Object, place: &Place, fields: &ImageObject, image: &Reference) {
    let Some(Value::Object(entries)) = part_at(object, place) else { return };
    entries.insert(fields.repo_field.clone(), Value::String(image.familiar_name()));
    if let Some(tag) = &image.tag {
        entries.insert(fields.tag_field.clone(), Value::String(tag.clone()));
    }
}
