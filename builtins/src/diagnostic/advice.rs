//! Help for common errors.

use std::fmt;

use builtins_language::{EvalError, Mistake};
use engine_formats::golang::{quote::quote, spell};

/// An extension that is neither in the bundled library nor, as far as it could be reached, in the public repository.
/// Errors carry it as their payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingExtension {
    /// Its name.
    pub(crate) name: String,
    /// Whether the public repository could not be reached.
    pub(crate) is_offline: bool,
}

impl MissingExtension {
    /// The one that was probably meant.
    fn meant(&self) -> Option<&'static str> {
        spell::similar(&self.name, stdlib::all().map(|it| it.name))
    }

    fn help(&self) -> Option<String> {
        let meant = self.meant().map(did_you_mean);
        let offline = "The public repository could not be reached to look there";
        match (meant, self.is_offline) {
            (Some(meant), true) => Some(format!("{meant} {offline}")),
            (None, true) => Some(offline.to_owned()),
            (meant, false) => meant,
        }
    }
}

impl fmt::Display for MissingExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_public = if self.is_offline { "" } else { " or the public repository" };
        write!(f, "There is no extension {} in the bundled library{or_public}", quote(&self.name))
    }
}

/// The way out of a problem of the API. Errors of builtins carry it as their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Helm is missing.
    InstallHelm,
    /// The cluster may not be touched.
    AllowContext,
    /// The cluster may not be touched yet.
    AllowContextAbove,
    /// Files load each other.
    SplitFile,
    /// An object is declared twice.
    DropDuplicate,
    /// Steps that nothing uses.
    UseSteps,
    /// An image has two builds.
    BuildOnce,
    /// Resources wait for each other.
    BreakCycle,
    /// A resource that does not exist.
    ListResources,
    /// A flag that the Tiltfile does not know.
    DefineFlag,
    /// Files are copied that are not watched.
    SyncFromInside,
    /// Steps in the wrong order.
    OrderSteps,
}

impl Advice {
    /// What to do.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::InstallHelm => "install helm, or put the directory that has it first in PATH",
            Self::AllowContext => {
                "add `allow_k8s_contexts(...)`, or pass `--context` with a local cluster's context"
            }
            Self::AllowContextAbove => {
                "move `allow_k8s_contexts(...)` above this call, or pass `--context` with a local cluster's context"
            }
            Self::SplitFile => "move what both files need into a third one",
            Self::DropDuplicate => "remove one of the two, or pass `allow_duplicates=True`",
            Self::UseSteps => "pass each step to the `live_update` argument of an image build",
            Self::BuildOnce => "give each image one build, and use the same name in the deployment",
            Self::BreakCycle => "remove one of the `resource_deps` of the cycle",
            Self::ListResources => "`engine get uiresources` lists the names",
            Self::DefineFlag => {
                "flags of the Tiltfile come after `--`, and need a `config.define_*` call"
            }
            Self::SyncFromInside => "sync from inside the build context or the deps of the image",
            Self::OrderSteps => {
                "order the steps: initial_sync, fall_back_on, sync, run, restart_container"
            }
        }
    }
}

/// The question after a misspelled name.
pub(super) fn did_you_mean(meant: &str) -> String {
    format!("did you mean `{meant}`?")
}

/// The name that was probably meant where there is an error of execution.
pub(super) fn meant(error: &EvalError) -> Option<String> {
    if let Some(missing) = error.payload::<MissingExtension>() {
        return missing.meant().map(str::to_owned);
    }
    match error.payload::<Mistake>()? {
        Mistake::Misspelled(meant) | Mistake::Undefined { meant: Some(meant), .. } => {
            Some(meant.clone())
        }
        _ => None,
    }
}

/// The way out of an error of execution.
pub(super) fn help(error: &EvalError) -> Option<String> {
    if let Some(missing) = error.payload::<MissingExtension>() {
        return missing.help();
    }
    if let Some(meant) = meant(error) {
        return Some(did_you_mean(&meant));
    }
    if let Some(advice) = error.payload::<Advice>() {
        return Some(advice.text().to_owned());
    }
    let text = match error.payload::<Mistake>()? {
        Mistake::Misspelled(_) | Mistake::Undefined { .. } => return None,
        Mistake::UnexpectedKeyword => {
            "see the parameters of this function in the Tiltfile API reference"
        }
        Mistake::InvalidEscape => "write the backslash twice, or put an `r` in front of the string",
        Mistake::UnassignedGlobal => "move the statement that assigns it above this line",
        Mistake::UnassignedLocal => {
            "a function that assigns a name owns it: pass the value in, or return it"
        }
        Mistake::FrozenList => {
            "values of a loaded file cannot change: copy the list first, `list(x)`"
        }
        Mistake::FrozenDict => {
            "values of a loaded file cannot change: copy the dict first, `dict(x)`"
        }
        Mistake::IteratedString => {
            "use `.elems()` to go through its characters, or put it into a list"
        }
    };
    Some(text.to_owned())
}
