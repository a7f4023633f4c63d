//! The kinds of API objects, and names of objects.

use std::fmt;

/// The group of all API objects.
pub const GROUP: &str = "tilt.dev";

/// A row of the table of kinds.
struct Row {
    name: &'static str,
    singular: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    doc: &'static str,
}

macro_rules! kinds {
    ($($doc:literal $kind:ident $name:literal $singular:literal $plural:literal [$($short:literal),*];)*) => {
        /// A kind of object.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = $doc] $kind),*
        }

        impl Kind {
            /// All kinds, by plural.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];
        }

        /// What is known of each kind, in the order of [`Kind::ALL`].
        static TABLE: [Row; Kind::ALL.len()] = [$(Row {
            name: $name,
            singular: $singular,
            plural: $plural,
            short_names: &[$($short),*],
            doc: $doc,
        }),*];
    };
}

kinds! {
    "A cluster or a Docker daemon."
    Cluster "Cluster" "cluster" "clusters" [];
    "An image that a command builds."
    CmdImage "CmdImage" "cmdimage" "cmdimages" [];
    "A local process."
    Cmd "Cmd" "cmd" "cmds" [];
    "Key-value pairs."
    ConfigMap "ConfigMap" "configmap" "configmaps" ["cm"];
    "The log of a Compose service."
    DockerComposeLogStream "DockerComposeLogStream" "dockercomposelogstream" "dockercomposelogstreams" ["dclog", "dcls"];
    "A Compose service."
    DockerComposeService "DockerComposeService" "dockercomposeservice" "dockercomposeservices" ["dc"];
    "An image built from a Dockerfile."
    DockerImage "DockerImage" "dockerimage" "dockerimages" [];
    "A repository of extensions."
    ExtensionRepo "ExtensionRepo" "extensionrepo" "extensionrepos" ["repo", "extrepo"];
    "An extension that runs as a Tiltfile of its own."
    Extension "Extension" "extension" "extensions" ["ext"];
    "Files to watch."
    FileWatch "FileWatch" "filewatch" "filewatches" ["fw"];
    "The name that an image was built with."
    ImageMap "ImageMap" "imagemap" "imagemaps" ["im"];
    "Objects to apply to a cluster."
    KubernetesApply "KubernetesApply" "kubernetesapply" "kubernetesapplys" ["ka", "kapp"];
    "Pods to find in a cluster."
    KubernetesDiscovery "KubernetesDiscovery" "kubernetesdiscovery" "kubernetesdiscoveries" ["kd", "kdisco"];
    "Files to copy into running containers."
    LiveUpdate "LiveUpdate" "liveupdate" "liveupdates" [];
    "The log of a pod."
    PodLogStream "PodLogStream" "podlogstream" "podlogstreams" ["pls"];
    "Ports of a pod that are forwarded to this machine."
    PortForward "PortForward" "portforward" "portforwards" ["pf"];
    "The state of a run, for scripts."
    Session "Session" "session" "sessions" [];
    "A Tiltfile to load."
    Tiltfile "Tiltfile" "tiltfile" "tiltfiles" [];
    "A button with two states."
    ToggleButton "ToggleButton" "togglebutton" "togglebuttons" [];
    "A button."
    UiButton "UIButton" "uibutton" "uibuttons" [];
    "A resource, as the web page shows it."
    UiResource "UIResource" "uiresource" "uiresources" [];
    "The state of a run, as the web page shows it."
    UiSession "UISession" "uisession" "uisessions" [];
}

impl Kind {
    fn row(self) -> &'static Row {
        &TABLE[self.index()]
    }

    /// Where it stands in [`Kind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// As objects name it, such as `FileWatch`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// As URLs name it, such as `filewatches`.
    pub fn plural(self) -> &'static str {
        self.row().plural
    }

    /// As users may call it, such as `filewatch`.
    pub fn singular(self) -> &'static str {
        self.row().singular
    }

    /// Shorter names, such as `fw`.
    pub fn short_names(self) -> &'static [&'static str] {
        self.row().short_names
    }

    /// What its objects are.
    pub fn doc(self) -> &'static str {
        self.row().doc
    }

    /// Whether objects have a spec, and a status that is written apart from it; config maps have data.
    pub fn has_status(self) -> bool {
        self != Self::ConfigMap
    }

    /// Under which key an object keeps what is asked for: `spec`, or `data` for config maps.
    pub fn body_key(self) -> &'static str {
        if self.has_status() { "spec" } else { "data" }
    }

    /// The kind that a user calls so: its kind, plural, singular or a short name, in any case, with or without the
    /// group.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".tilt.dev").unwrap_or(&name);
        let name = name.strip_suffix(".v1alpha1").unwrap_or(name);
        Self::find(|it| it.singular == name || it.plural == name || it.short_names.contains(&name))
    }

    /// The kind whose objects have this plural in their URLs.
    pub fn of_plural(plural: &str) -> Option<Self> {
        Self::find(|it| it.plural == plural)
    }

    /// The kind that objects call so.
    pub fn of_kind(kind: &str) -> Option<Self> {
        Self::find(|it| it.name == kind)
    }

    fn find(is_meant: impl Fn(&Row) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|it| is_meant(it.row()))
    }

    /// The plural with the group, as messages about an object name it.
    pub fn qualified_plural(self) -> String {
        format!("{}.{}", self.plural(), GROUP)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which API object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

impl ObjectId {
    /// The object of a kind that has this name.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_knows_its_place() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index, "{kind:?}");
            assert_eq!(kind.singular(), kind.name().to_ascii_lowercase());
        }
    }

    #[test]
    fn users_may_call_a_kind_by_any_of_its_names() {
        for name in ["FileWatch", "filewatch", "filewatches", "fw", "filewatches.tilt.dev", "FW"] {
            assert_eq!(Kind::named(name), Some(Kind::FileWatch), "{name}");
        }
        assert_eq!(Kind::named("filewatches.v1alpha1.tilt.dev"), Some(Kind::FileWatch));
        assert_eq!(Kind::named("pods"), None);
    }
}
