//! The Tiltfile API: every builtin, grouped by topic.
//!
//! A builtin reads through the session's host, then appends a declaration. It does not resolve or check anything that
//! depends on other declarations. What Tilt rejects at the call is rejected at the call.

#![allow(
    clippy::needless_pass_by_value,
    reason = "every builtin has the same signature, whether it needs to own its arguments or not"
)]

use builtins_language::{Globals, GlobalsBuilder};

use crate::session::Session;

pub mod blob;
pub mod coerce;
pub mod git;

mod arguments;
mod compose;
mod config;
mod control;
mod data;
mod environ;
mod files;
mod helm;
mod images;
mod include;
mod kube_context;
mod kubernetes;
mod kustomize;
pub(crate) mod link;
mod live_update;
mod local;
mod local_resource;
mod os;
pub(crate) mod probe;
mod settings;
pub(crate) mod trigger_mode;
mod v1alpha1;

pub(crate) use compose::compose_command;
pub(crate) use control::Exit;
pub use kube_context::KubeCluster;
pub(crate) use kube_context::{KubeContext, kube_cluster, refusal};
pub(crate) use kubernetes::ask_for_names;

/// All names that a Tiltfile can use without defining them.
pub(crate) fn globals(session: &Session) -> Globals {
    let mut builder = builtins_language::globals();
    let register: &[fn(&mut GlobalsBuilder)] = &[
        compose::register,
        control::register,
        data::register,
        files::register,
        git::register,
        helm::register,
        images::register,
        include::register,
        kube_context::register,
        kubernetes::register,
        kustomize::register,
        link::register,
        live_update::register,
        local::register,
        local_resource::register,
        probe::register,
        settings::register,
        trigger_mode::register,
        v1alpha1::register,
    ];
    for register in register {
        register(&mut builder);
    }
    config::register(&mut builder, session);
    os::register(&mut builder, session);
    builder.build()
}
