//! What the engine is started with, after flags and environment were read.

use engine_core::Time;
use engine_model::GoDuration;
use engine_view::{declare::DeclareSettings, dump::EngineInfo};

use crate::exec::env::Colors;

/// What the engine is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To stay and keep everything up to date.
    Up,
    /// To come to a verdict.
    Ci,
}

/// What the engine is started with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it is for.
    pub mode: Mode,
    /// The main Tiltfile: absolute, links resolved where that is possible.
    pub tiltfile: String,
    /// Arguments of the main Tiltfile.
    pub args: Vec<String>,
    /// Overrides the current context of the kubeconfig.
    pub context: Option<String>,
    /// Overrides the namespace of the context.
    pub namespace: Option<String>,
    /// The host that the web port listens on.
    pub host: String,
    /// The web port.
    pub port: u16,
    /// The `--timeout` flag of `ci`.
    pub ci_timeout: Option<GoDuration>,
    /// Whether the terminal shows colors.
    pub colors: Colors,
    /// When the process started.
    pub started: Time,
    /// Whether ports of pods are forwarded.
    pub forwards_ports: bool,
    /// Where to remember which images were built from what.
    pub image_memory: Option<std::path::PathBuf>,
}

impl Settings {
    /// What objects say about it.
    pub(super) fn declare(&self) -> DeclareSettings<'_> {
        DeclareSettings {
            is_ci: self.mode == Mode::Ci,
            tiltfile: &self.tiltfile,
            context: self.context.as_deref(),
            namespace: self.namespace.as_deref(),
        }
    }

    /// What the engine is, for those who ask.
    pub(super) fn info(&self) -> EngineInfo<'_> {
        let version = builtins::COMPATIBLE_VERSION;
        EngineInfo { version, started: self.started, tiltfile: &self.tiltfile }
    }
}
