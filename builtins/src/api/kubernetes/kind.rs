//! `k8s_kind` and `k8s_image_json_path`: where objects of custom kinds name their images.

use builtins_language::{
    Args, DictRef, EvalResult, Evaluator, FromArg, Mismatch, Outcome, Value, raise, repr, type_name,
};
use engine_formats::{
    golang::quote::quote,
    kubernetes::{locator::ImageLocator, selector::ObjectSelector},
};

use super::{super::coerce::one_or_sequence, resource::ReadinessArg};
use crate::{declarations::kubernetes::KindInfo, session::Session};
use engine_model::{ImageObject, ObjectSelectorSpec};

/// JSON paths that lead to strings.
#[derive(Clone, Debug, Default)]
struct PathsArg(Vec<String>);

impl<'v> FromArg<'v> for PathsArg {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        one_or_sequence(value, eval.heap())
            .into_iter()
            .map(|it| match it.unpack_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(Mismatch(format!("Expected string, got: {}", repr(it)))),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A JSON path that leads to an object with two fields.
#[derive(Clone, Debug, Default)]
struct ImageObjectArg(Option<(String, ImageObject)>);

const IMAGE_OBJECT_FORM: &str =
    "Expected dict of the form {'json_path': str, 'repo_field': str, 'tag_field': str}";

impl<'v> FromArg<'v> for ImageObjectArg {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let Some(dict) = DictRef::from_value(value) else {
            return Err(format!("{IMAGE_OBJECT_FORM}. Actual: {}", repr(value)).into());
        };
        let mut fields = [
            ("json_path", String::new()),
            ("repo_field", String::new()),
            ("tag_field", String::new()),
        ];
        for (key, item) in dict.iter() {
            let field = fields.iter_mut().find(|(name, _)| key.unpack_str() == Some(name));
            let Some((_, field)) = field else {
                return Err(format!("{IMAGE_OBJECT_FORM}: Unexpected key: {}", repr(key)).into());
            };
            let Some(text) = item.unpack_str() else {
                let (key, found) = (quote(&repr(key)), type_name(item));
                return Err(format!(
                    "{IMAGE_OBJECT_FORM}: Expected string at key {key}. Got: {found}"
                )
                .into());
            };
            text.clone_into(field);
        }
        if dict.iter().count() != fields.len() {
            let keys: Vec<String> = dict.iter().map(|(key, _)| repr(key)).collect();
            return Err(format!(
                "{IMAGE_OBJECT_FORM}: Missing keys. Actual keys: [{}]",
                keys.join(" ")
            )
            .into());
        }
        let [(_, path), (_, repo_field), (_, tag_field)] = fields;
        let is_empty = path.is_empty() && repo_field.is_empty() && tag_field.is_empty();
        Ok(Self((!is_empty).then_some((path, ImageObject { repo_field, tag_field }))))
    }
}

/// Says where objects of a kind keep their images, and that they are workloads.
pub(super) fn k8s_kind<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    if args.positional.len() > 1 {
        return Err(args.error(format!("got {} arguments, want at most 1", args.positional.len())));
    }
    let mut spec = ObjectSelectorSpec::default();
    let (mut paths, mut object, mut readiness) =
        (PathsArg::default(), ImageObjectArg::default(), ReadinessArg::default());
    args.unpack(
        eval,
        &mut [
            ("kind", &mut spec.kind_regexp),
            ("image_json_path?", &mut paths),
            ("api_version?", &mut spec.api_version_regexp),
            ("image_object?", &mut object),
            ("pod_readiness?", &mut readiness),
        ],
    )?;
    let selector = ObjectSelector::partial(&spec).map_err(|why| raise(why.to_string()))?;
    if !paths.0.is_empty() && object.0.is_some() {
        return Err(raise("Cannot specify both image_json_path and image_object"));
    }
    let locators = match object.0 {
        Some((path, object)) => vec![locator(&selector, &path, Some(object))?],
        None => locators(&selector, &paths)?,
    };
    let info = KindInfo { selector, locators, readiness: readiness.0 };
    Session::of(eval).declarations.borrow_mut().kubernetes.kinds.push(info);
    Ok(Value::new_none())
}

/// Says where objects that match keep their images.
pub(super) fn k8s_image_json_path<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> Outcome<'v> {
    let (mut paths, mut spec) = (PathsArg::default(), ObjectSelectorSpec::default());
    args.unpack(
        eval,
        &mut [
            ("paths", &mut paths),
            ("api_version?", &mut spec.api_version_regexp),
            ("kind?", &mut spec.kind_regexp),
            ("name?", &mut spec.name_regexp),
            ("namespace?", &mut spec.namespace_regexp),
        ],
    )?;
    if spec.kind_regexp.is_empty()
        && spec.name_regexp.is_empty()
        && spec.namespace_regexp.is_empty()
    {
        return Err(raise("at least one of kind, name, or namespace must be specified"));
    }
    let selector = ObjectSelector::partial(&spec).map_err(|why| raise(why.to_string()))?;
    let locators = locators(&selector, &paths)?;
    let info = KindInfo { selector, locators, readiness: engine_model::PodReadiness::None };
    Session::of(eval).declarations.borrow_mut().kubernetes.kinds.push(info);
    Ok(Value::new_none())
}

fn locators(selector: &ObjectSelector, paths: &PathsArg) -> EvalResult<Vec<ImageLocator>> {
    paths.0.iter().map(|path| locator(selector, path, None)).collect()
}

fn locator(
    selector: &ObjectSelector,
    path: &str,
    object: Option<ImageObject>,
) -> EvalResult<ImageLocator> {
    ImageLocator::new(selector.clone(), path, object).map_err(|why| raise(why.to_string()))
}
