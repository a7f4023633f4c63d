//! The kinds of objects: what they are called, and which parts they have.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use super::schema::{Type, docker, kubernetes, local, ui};

/// A kind of object.
pub struct Kind {
    /// As objects name it, such as `FileWatch`.
    pub kind: &'static str,
    /// As URLs name it, such as `filewatches`.
    pub plural: &'static str,
    /// As users may call it, such as `filewatch`.
    pub singular: &'static str,
    /// Shorter names, such as `fw`.
    pub short_names: &'static [&'static str],
    /// What its objects are.
    pub doc: &'static str,
    /// Whether objects have a status that is written apart from the rest.
    pub has_status: bool,
    /// The fields of the spec; config maps have data instead.
    pub spec: Option<&'static Type>,
    /// The fields of the status.
    pub status: Option<&'static Type>,
    /// Where it stands in [`KINDS`].
    index: u8,
}

/// A kind; there are no others than those in [`KINDS`].
pub type KindRef = &'static Kind;

/// How many kinds there are.
pub const COUNT: usize = KINDS.len();

impl Kind {
    /// Where it stands in [`KINDS`].
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    /// Under which key an object keeps what is asked for: `spec`, or `data` for config maps.
    #[must_use]
    pub fn body_key(&self) -> &'static str {
        if self.has_status { "spec" } else { "data" }
    }

    /// The kind that a user calls so: its kind, plural, singular or a short name, in any case, with or without the
    /// group.
    #[must_use]
    pub fn named(name: &str) -> Option<KindRef> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".tilt.dev").unwrap_or(&name);
        let name = name.strip_suffix(".v1alpha1").unwrap_or(name);
        KINDS
            .iter()
            .copied()
            .find(|it| it.singular == name || it.plural == name || it.short_names.contains(&name))
    }

    /// The kind whose objects have this plural in their URLs.
    #[must_use]
    pub fn of_plural(plural: &str) -> Option<KindRef> {
        KINDS.iter().copied().find(|it| it.plural == plural)
    }

    /// The kind that objects call so.
    #[must_use]
    pub fn of_kind(kind: &str) -> Option<KindRef> {
        KINDS.iter().copied().find(|it| it.kind == kind)
    }

    /// The status of an object of which nothing is known yet, as JSON; nothing for config maps.
    #[must_use]
    pub fn zero_status(&self) -> Option<String> {
        self.status.map(|it| it.zero().to_string())
    }

    /// The plural with the group, as messages about an object name it.
    #[must_use]
    pub fn qualified_plural(&self) -> String {
        format!("{}.{}", self.plural, super::GROUP)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.index.hash(state);
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)
    }
}

macro_rules! kinds {
    ($($doc:literal $id:ident = $index:literal $kind:literal $singular:literal $plural:literal [$($short:literal),*] $spec:expr, $status:expr;)*) => {
        $(
            #[doc = $doc]
            pub static $id: KindRef = &Kind {
                kind: $kind,
                plural: $plural,
                singular: $singular,
                short_names: &[$($short),*],
                has_status: $status.is_some(),
                doc: $doc,
                spec: $spec,
                status: $status,
                index: $index,
            };
        )*

        /// All kinds, by plural.
        pub static KINDS: &[KindRef] = &[$($id),*];
    };
}

/// Config maps have neither spec nor status.
const NONE: Option<&'static Type> = None;

kinds! {
    "A cluster or a Docker daemon."
    CLUSTER = 0 "Cluster" "cluster" "clusters" [] Some(&kubernetes::CLUSTER_SPEC), Some(&kubernetes::CLUSTER_STATUS);
    "An image built by a command."
    CMD_IMAGE = 1 "CmdImage" "cmdimage" "cmdimages" [] Some(&docker::CMD_IMAGE_SPEC), Some(&docker::CMD_IMAGE_STATUS);
    "A local process."
    CMD = 2 "Cmd" "cmd" "cmds" [] Some(&local::CMD_SPEC), Some(&local::CMD_STATUS);
    "A map of texts."
    CONFIG_MAP = 3 "ConfigMap" "configmap" "configmaps" ["cm"] NONE, NONE;
    "The log of a Compose service."
    DOCKER_COMPOSE_LOG_STREAM = 4 "DockerComposeLogStream" "dockercomposelogstream" "dockercomposelogstreams" ["dclog", "dcls"] Some(&docker::DOCKER_COMPOSE_LOG_STREAM_SPEC), Some(&docker::DOCKER_COMPOSE_LOG_STREAM_STATUS);
    "A Compose service."
    DOCKER_COMPOSE_SERVICE = 5 "DockerComposeService" "dockercomposeservice" "dockercomposeservices" ["dc"] Some(&docker::DOCKER_COMPOSE_SERVICE_SPEC), Some(&docker::DOCKER_COMPOSE_SERVICE_STATUS);
    "An image built from a Dockerfile."
    DOCKER_IMAGE = 6 "DockerImage" "dockerimage" "dockerimages" [] Some(&docker::DOCKER_IMAGE_SPEC), Some(&docker::DOCKER_IMAGE_STATUS);
    "A place where extensions are found."
    EXTENSION_REPO = 7 "ExtensionRepo" "extensionrepo" "extensionrepos" ["repo", "extrepo"] Some(&local::EXTENSION_REPO_SPEC), Some(&local::EXTENSION_REPO_STATUS);
    "A Tiltfile of a repository of extensions."
    EXTENSION = 8 "Extension" "extension" "extensions" ["ext"] Some(&local::EXTENSION_SPEC), Some(&local::EXTENSION_STATUS);
    "Watched files."
    FILE_WATCH = 9 "FileWatch" "filewatch" "filewatches" ["fw"] Some(&local::FILE_WATCH_SPEC), Some(&local::FILE_WATCH_STATUS);
    "The name under which an image was built."
    IMAGE_MAP = 10 "ImageMap" "imagemap" "imagemaps" ["im"] Some(&docker::IMAGE_MAP_SPEC), Some(&docker::IMAGE_MAP_STATUS);
    "Objects that are applied to a cluster."
    KUBERNETES_APPLY = 11 "KubernetesApply" "kubernetesapply" "kubernetesapplys" ["ka", "kapp"] Some(&kubernetes::KUBERNETES_APPLY_SPEC), Some(&kubernetes::KUBERNETES_APPLY_STATUS);
    "Pods that are looked for in a cluster."
    KUBERNETES_DISCOVERY = 12 "KubernetesDiscovery" "kubernetesdiscovery" "kubernetesdiscoveries" ["kd", "kdisco"] Some(&kubernetes::KUBERNETES_DISCOVERY_SPEC), Some(&kubernetes::KUBERNETES_DISCOVERY_STATUS);
    "Files that are copied into running containers."
    LIVE_UPDATE = 13 "LiveUpdate" "liveupdate" "liveupdates" [] Some(&docker::LIVE_UPDATE_SPEC), Some(&docker::LIVE_UPDATE_STATUS);
    "The log of a pod."
    POD_LOG_STREAM = 14 "PodLogStream" "podlogstream" "podlogstreams" ["pls"] Some(&kubernetes::POD_LOG_STREAM_SPEC), Some(&kubernetes::POD_LOG_STREAM_STATUS);
    "Ports of a pod that are reachable here."
    PORT_FORWARD = 15 "PortForward" "portforward" "portforwards" ["pf"] Some(&kubernetes::PORT_FORWARD_SPEC), Some(&kubernetes::PORT_FORWARD_STATUS);
    "One run of the engine, as scripts see it."
    SESSION = 16 "Session" "session" "sessions" [] Some(&local::SESSION_SPEC), Some(&local::SESSION_STATUS);
    "A Tiltfile that is loaded."
    TILTFILE = 17 "Tiltfile" "tiltfile" "tiltfiles" [] Some(&local::TILTFILE_SPEC), Some(&local::TILTFILE_STATUS);
    "A button with two states."
    TOGGLE_BUTTON = 18 "ToggleButton" "togglebutton" "togglebuttons" [] Some(&ui::TOGGLE_BUTTON_SPEC), Some(&ui::TOGGLE_BUTTON_STATUS);
    "A button."
    UI_BUTTON = 19 "UIButton" "uibutton" "uibuttons" [] Some(&ui::UI_BUTTON_SPEC), Some(&ui::UI_BUTTON_STATUS);
    "A resource, as people see it."
    UI_RESOURCE = 20 "UIResource" "uiresource" "uiresources" [] Some(&ui::UI_RESOURCE_SPEC), Some(&ui::UI_RESOURCE_STATUS);
    "One run of the engine, as people see it."
    UI_SESSION = 21 "UISession" "uisession" "uisessions" [] Some(&ui::UI_SESSION_SPEC), Some(&ui::UI_SESSION_STATUS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_knows_its_place() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert_eq!(kind.index(), index, "{kind:?}");
            assert_eq!(kind.singular, kind.kind.to_ascii_lowercase());
        }
    }

    #[test]
    fn users_may_call_a_kind_by_any_of_its_names() {
        for name in ["FileWatch", "filewatch", "filewatches", "fw", "filewatches.tilt.dev", "FW"] {
            assert_eq!(Kind::named(name), Some(FILE_WATCH), "{name}");
        }
        assert_eq!(Kind::named("filewatches.v1alpha1.tilt.dev"), Some(FILE_WATCH));
        assert_eq!(Kind::named("pods"), None);
    }
}
