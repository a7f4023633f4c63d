//! Specs as the engine reads them: typed, each with the version of its object.

use std::collections::BTreeMap;

use engine_formats::golang::duration::Duration;
use engine_model::{
    GoDuration, Kind, ObjectId, Spec, SpecChange,
    annotation::{BUTTON_TYPE, MANAGED_BY, OWNER_KIND, RESOURCE, SPAN, TARGET},
    spec::{CiLimits, Click, CmdDriver, CmdObject},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{Object, Store, log};

/// The kinds whose specs the engine acts on.
const KINDS: [Kind; 11] = [
    Kind::ConfigMap,
    Kind::UiButton,
    Kind::ToggleButton,
    Kind::Tiltfile,
    Kind::FileWatch,
    Kind::Cmd,
    Kind::ExtensionRepo,
    Kind::Extension,
    Kind::KubernetesApply,
    Kind::DockerComposeService,
    Kind::Session,
];

impl Store {
    /// What an object asks for now; nothing for kinds that the engine does not act on.
    pub fn spec_change(&self, kind: Kind, name: &str) -> Option<SpecChange> {
        if !KINDS.contains(&kind) {
            return None;
        }
        let id = ObjectId::new(kind, name);
        // Whatever is written after this has a higher version.
        let version = self.version();
        Some(match self.get(kind, name) {
            Some(object) => {
                let spec = Some(typed(kind, &object));
                SpecChange { id, version: object.resource_version(), spec }
            }
            None => SpecChange { id, version, spec: None },
        })
    }

    /// What all objects ask for now.
    pub fn spec_changes(&self) -> Vec<SpecChange> {
        let all = KINDS.into_iter().flat_map(|it| self.list(it));
        all.filter_map(|it| self.spec_change(it.kind(), it.name())).collect()
    }
}

fn typed(kind: Kind, object: &Object) -> Spec {
    let spec = object.spec();
    match kind {
        Kind::Cmd => Spec::Cmd(Box::new(cmd(spec, &object.annotations()))),
        Kind::ConfigMap => {
            let data = spec.as_object().into_iter().flatten();
            let text = |it: &Value| it.as_str().map(str::to_owned);
            Spec::ConfigMap(data.map(|(key, value)| (key.clone(), text(value))).collect())
        }
        Kind::FileWatch => {
            let mut spec: engine_model::spec::FileWatchSpec = read(spec);
            spec.is_target = object.annotations().contains_key(TARGET);
            Spec::FileWatch(spec)
        }
        Kind::UiButton => {
            let mut spec: engine_model::spec::ButtonSpec = read(spec);
            let mut status = object.status();
            read_time(&mut status, "/lastClickedAt");
            spec.click = Some(read::<Click>(status));
            Spec::UiButton(spec)
        }
        Kind::ToggleButton => {
            let mut spec: Box<engine_model::spec::ToggleSpec> = read(spec);
            spec.button_type = object.annotations().remove(BUTTON_TYPE).unwrap_or_default();
            Spec::ToggleButton(spec)
        }
        Kind::Session => Spec::Session(ci_limits(&spec)),
        Kind::Tiltfile => {
            let mut spec: engine_model::spec::TiltfileSpec = read(spec);
            let owner = object.owner();
            spec.is_extension = owner
                .is_some_and(|(it, name)| it == Kind::Extension.name() && name == object.name());
            Spec::Tiltfile(spec)
        }
        Kind::Extension => {
            let mut spec: engine_model::spec::ExtensionSpec = read(spec);
            let by = object.annotations().remove(MANAGED_BY);
            spec.is_loaded = by.is_some_and(|it| !it.is_empty());
            Spec::Extension(spec)
        }
        Kind::ExtensionRepo => Spec::ExtensionRepo(read(spec)),
        _ => Spec::Switched(read(spec)),
    }
}

fn cmd(mut spec: Value, annotations: &BTreeMap<String, String>) -> CmdObject {
    read_time(&mut spec, "/startOn/startAfter");
    let managed_by = annotations.get(MANAGED_BY).map(String::as_str);
    let driver = if annotations.contains_key(OWNER_KIND) {
        CmdDriver::Server
    } else if matches!(managed_by, Some("local_resource" | "cmd_image")) {
        CmdDriver::Update
    } else {
        CmdDriver::Object
    };
    CmdObject {
        driver,
        resource: annotations.get(RESOURCE).cloned().unwrap_or_default(),
        span: annotations.get(SPAN).cloned(),
        ..read(spec)
    }
}

/// How long `ci` waits; what cannot be read limits nothing.
fn ci_limits(spec: &Value) -> CiLimits {
    let limit = |key: &str| {
        let text = spec.pointer(&format!("/ci/{key}"))?.as_str()?;
        Some(GoDuration(Duration::parse(text).ok()?.0))
    };
    CiLimits {
        timeout: limit("timeout").unwrap_or_default(),
        readiness_timeout: limit("readinessTimeout").unwrap_or_default(),
        grace_period: limit("k8sGracePeriod").unwrap_or_default(),
    }
}

/// Reads a spec or status; the store has checked its fields when the object was written.
fn read<T: DeserializeOwned + Default>(value: Value) -> T {
    serde_json::from_value(value).unwrap_or_default()
}

/// Replaces a time by its microseconds; zero if it names none.
fn read_time(value: &mut Value, pointer: &str) {
    if let Some(time) = value.pointer_mut(pointer) {
        *time = json!(time.as_str().and_then(log::parse_micros).unwrap_or(0));
    }
}
