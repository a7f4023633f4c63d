//! `k8s_resource`: name, dependencies, links and readiness of a resource.

use std::collections::BTreeMap;

use builtins_language::{
    Args, DictRef, Evaluator, FromArg, ListRef, Mismatch, Outcome, Value, raise, repr, type_name,
};
use engine_formats::golang::quote::quote;
use engine_model::PodReadiness;

use super::{
    super::{
        arguments::{Arguments as _, arguments},
        coerce::{Labels, Name, OrNone, Sequence, as_text, go_type, plain_strings},
        link::Links,
        trigger_mode::TriggerModeArg,
    },
    port_forward,
};
use crate::{declarations::kubernetes::ResourceOptions, session::Session};

/// What counts as ready, as a parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadinessArg(pub(super) PodReadiness);

impl<'v> FromArg<'v> for ReadinessArg {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let Some(text) = as_text(value) else {
            return Err(format!("Must be a string. Got: {}", type_name(value)).into());
        };
        [PodReadiness::Ignore, PodReadiness::Wait, PodReadiness::Succeeded, PodReadiness::None]
            .into_iter()
            .find(|it| it.as_str() == text)
            .map(Self)
            .ok_or_else(|| {
                Mismatch(format!("Invalid value. Allowed: {{ignore, wait}}. Got: {text}"))
            })
    }
}

/// How pods are found, as a parameter.
#[derive(Clone, Debug, Default)]
struct DiscoveryArg(String);

impl<'v> FromArg<'v> for DiscoveryArg {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match as_text(value) {
            None => Err(format!("Must be a string. Got: {}", type_name(value)).into()),
            Some(text @ ("" | "default" | "selectors-only")) => Ok(Self(text.to_owned())),
            Some(_) => Err(r#"Invalid. Must be one of: "default", "selectors-only""#.into()),
        }
    }
}

arguments! {
    struct K8sResourceArgs<'v> {
        workload: Name = "workload?",
        new_name: Name = "new_name?",
        port_forwards: Option<Value<'v>> = "port_forwards?",
        extra_pod_selectors: Option<Value<'v>> = "extra_pod_selectors?",
        trigger_mode: Option<TriggerModeArg> = "trigger_mode?",
        resource_deps: Sequence<'v> = "resource_deps?",
        objects: Sequence<'v> = "objects?",
        auto_init: OrNone<bool> = "auto_init?",
        pod_readiness: ReadinessArg = "pod_readiness?",
        links: Links = "links?",
        labels: Labels = "labels?",
        discovery_strategy: DiscoveryArg = "discovery_strategy?",
    }
}

/// Says something about a resource, or makes one of objects.
pub(super) fn k8s_resource<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = K8sResourceArgs::unpack(eval, &args)?;
    let is_group = given.workload.0.is_empty();
    let workload = if is_group { given.new_name.0.clone() } else { given.workload.0 };
    if workload.is_empty() {
        return Err(raise(
            "Resource name missing. Must give a name for an existing resource or a new_name to create a new resource.",
        ));
    }
    let port_forwards = match given.port_forwards {
        None => Vec::new(),
        Some(value) => port_forward::forwards(value, eval.heap())
            .map_err(|why| raise(format!("{} {}: {why}", args.function, quote(&workload))))?,
    };
    let extra_pod_selectors =
        given.extra_pod_selectors.map_or(Ok(Vec::new()), pod_labels).map_err(raise)?;
    // The reference calls both parameters by the same name.
    let strings = |items: &[Value<'v>]| {
        plain_strings(items).map_err(|why| args.error(format!("resource_deps: {why}")))
    };
    let resource_deps = strings(&given.resource_deps.0)?;
    let objects = strings(&given.objects.0)?;
    if is_group && objects.is_empty() {
        return Err(raise(
            "k8s_resource doesn't specify a workload or any objects. \
             All non-workload resources must specify 1 or more objects",
        ));
    }
    let session = Session::of(eval);
    let options = ResourceOptions {
        workload,
        new_name: given.new_name.0,
        is_group,
        port_forwards,
        extra_pod_selectors,
        trigger_mode: given.trigger_mode,
        auto_init: given.auto_init.0,
        resource_deps,
        objects,
        readiness: given.pod_readiness.0,
        discovery_strategy: given.discovery_strategy.0,
        links: given.links.0,
        labels: given.labels.0,
        position: session.call_position(eval),
    };
    session.declarations.borrow_mut().kubernetes.options.push(options);
    Ok(Value::new_none())
}

/// One set of labels, or a list of them.
fn pod_labels(value: Value<'_>) -> Result<Vec<BTreeMap<String, String>>, Mismatch> {
    let sets = if let Some(labels) = label_set(value) {
        vec![labels?]
    } else if let Some(list) = ListRef::from_value(value) {
        let set = |it: Value<'_>| {
            label_set(it).unwrap_or_else(|| {
                Err(format!("pod labels elements must be dicts; got {}", go_type(it)).into())
            })
        };
        list.iter().map(set).collect::<Result<_, _>>()?
    } else {
        return Err(format!("pod labels must be a dict or a list; got {}", go_type(value)).into());
    };
    Ok(sets.into_iter().filter(|it: &BTreeMap<_, _>| !it.is_empty()).collect())
}

fn label_set(value: Value<'_>) -> Option<Result<BTreeMap<String, String>, Mismatch>> {
    let dict = DictRef::from_value(value)?;
    let text = |it: Value<'_>, what: &str| match it.unpack_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Mismatch(format!(
            "pod label {what} must be strings; got '{}' of type {}",
            repr(it),
            go_type(it)
        ))),
    };
    Some(dict.iter().map(|(key, value)| Ok((text(key, "keys")?, text(value, "values")?))).collect())
}
