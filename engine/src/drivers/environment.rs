//! The environment of Tiltfiles and commands: variables, the kubeconfig of the cluster in use, and the audit log.

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::host::{Command, Launched, Launcher};
use engine_model::path::{to_path, to_text};

use crate::{
    audit::Audit,
    cluster_pin::ClusterPin,
    deploy::commands::Surroundings,
    drivers::kubernetes::KubeconfigPlaces,
    exec::Guarded,
    logs::{LogStore, LogWriter},
    runtime::Settings,
};

/// Variables of the environment; a Tiltfile may change them.
#[derive(Clone, Debug)]
pub(crate) struct Variables(Arc<Mutex<Vec<(String, String)>>>);

impl Variables {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let text = |it: std::ffi::OsString| to_text(&it).into_owned();
        let vars = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Self(Arc::new(Mutex::new(vars.collect())))
    }

    /// All of them.
    pub(crate) fn get(&self) -> Vec<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies what a Tiltfile has changed since it began, and keeps what others have changed in the meantime.
    pub(crate) fn apply(&self, before: &[(String, String)], after: Vec<(String, String)>) {
        let mut gone: HashMap<&str, &str> =
            before.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut vars = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in after {
            if gone.remove(name.as_str()) == Some(value.as_str()) {
                continue;
            }
            match vars.iter_mut().find(|it| it.0 == name) {
                Some(old) => old.1 = value,
                None => vars.push((name, value)),
            }
        }
        vars.retain(|(name, _)| !gone.contains_key(name.as_str()));
    }
}

/// What Tiltfiles and commands find around them.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The variables.
    pub(crate) variables: Variables,
    /// The kubeconfig that commands get, with only the context in use.
    pub(crate) kubeconfig: Option<String>,
    /// Where that is, until the engine ends.
    pin: Option<ClusterPin>,
    /// What was written to clusters, and which commands could have written.
    pub(crate) audit: Audit,
}

impl Environment {
    /// The environment of this process; secrets that the log knows are kept out of the audit log.
    pub(crate) fn of_process(logs: &LogStore) -> Self {
        // Without a place for files there would be no token, and no engine.
        let audit = Audit::new(crate::audit::path().unwrap_or_default()).scrubbed(logs.clone());
        Self { variables: Variables::of_process(), kubeconfig: None, pin: None, audit }
    }

    /// What all commands find around them.
    pub(crate) fn surroundings(&self, settings: &Settings) -> Surroundings {
        let mut base = self.variables.get();
        if let Some(kubeconfig) = &self.kubeconfig {
            base.retain(|(name, _)| name != "KUBECONFIG");
            base.push(("KUBECONFIG".to_owned(), kubeconfig.clone()));
        }
        Surroundings::new(base, &settings.host, settings.port, settings.colors)
    }

    /// The same for commands that run for a reason; the audit log names those that could write to the cluster of a
    /// context.
    pub(crate) fn surroundings_for(
        &self,
        settings: &Settings,
        context: &str,
        cause: &str,
    ) -> Surroundings {
        let surroundings = self.surroundings(settings);
        if self.kubeconfig.is_none() {
            return surroundings;
        }
        surroundings.noted(self.audit.about(context), cause)
    }

    /// Starts the commands of a Tiltfile, and names them in the audit log.
    pub(crate) fn launcher(&self, context: &str, cause: String) -> AuditedLauncher {
        AuditedLauncher { audit: self.audit.about(context), cause }
    }

    /// Where a kubeconfig is looked for.
    pub(crate) fn kubeconfig_places(&self) -> KubeconfigPlaces {
        let variables = self.variables.get();
        let get = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        KubeconfigPlaces::new(get("KUBECONFIG"), get("HOME").unwrap_or_default())
    }

    /// Keeps the kubeconfig that commands get at a place that outlives the run of the Tiltfile; says so if it cannot.
    pub(crate) fn pin_kubeconfig(&mut self, from: &str, port: u16, log: &LogWriter) {
        if let Err(error) = self.copy_kubeconfig(&to_path(from), port) {
            log.warn(&format!(
                "Cannot write a kubeconfig for commands, so they use your own: {error}"
            ));
        }
    }

    fn copy_kubeconfig(&mut self, from: &Path, port: u16) -> io::Result<()> {
        let mut instance = crate::server::config_file::instance_name(port);
        if port == 0 {
            // Instances without a page share a name, but need not share a cluster.
            instance += &format!("-{}", std::process::id());
        }
        let pin = match self.pin.take() {
            Some(pin) => pin,
            None => ClusterPin::new(&instance)?,
        };
        let path = self.pin.insert(pin).copy(from)?;
        self.kubeconfig = Some(to_text(&path).into_owned());
        Ok(())
    }
}

/// Names commands of a Tiltfile in the audit log before it starts them.
pub(crate) struct AuditedLauncher {
    audit: Audit,
    cause: String,
}

impl Launcher for AuditedLauncher {
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched> {
        if command.env.iter().any(|(name, _)| name == "KUBECONFIG") {
            self.audit.command(&command.argv, &self.cause);
        }
        Guarded.launch(program, command)
    }
}
