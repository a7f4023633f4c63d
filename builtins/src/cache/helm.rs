//! The inputs of Helm.

use engine_formats::golang::path;

use super::{Inputs, Uncacheable, archive, impure, key::KeyBuilder, program::Tool};
use crate::host::Host;

const MARKER: &str = "helm.sh/helm/";

/// Everything that `helm template` depends on.
pub(crate) struct HelmInputs<'a> {
    /// The command line.
    pub(crate) argv: &'a [String],
    /// Where it runs.
    pub(crate) dir: &'a str,
    /// The name of the release.
    pub(crate) release: &'a str,
    /// The directory of the chart.
    pub(crate) chart: &'a str,
    /// Other charts on this machine that the chart is made of.
    pub(crate) subcharts: &'a [String],
    /// Values files as they are written.
    pub(crate) values: &'a [String],
    /// Where the namespace of the release comes from.
    pub(crate) namespace: ReleaseNamespace,
}

/// Where the namespace of a release comes from.
pub(crate) enum ReleaseNamespace {
    /// From the command line.
    Given,
    /// From the current context of the kubeconfig that is passed to Helm, or else of Helm's own.
    OfContext(Option<String>),
}

impl Inputs for HelmInputs<'_> {
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable> {
        Ok(vec![Tool::find(host, "helm", MARKER)?])
    }

    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable> {
        if self.release.starts_with('-') {
            return Err(Uncacheable("the name of the release is a flag"));
        }
        key.texts("helm template", self.argv);
        key.texts("dir", [self.dir]);
        environment(key);
        for argument in self.argv {
            impure::check(argument.as_bytes())?;
        }
        for file in self.values {
            self.values_file(key, file)?;
        }
        key.tree(self.chart, &archive::check)?;
        for subchart in self.subcharts {
            // Helm reads only what has been copied into the chart; a change here announces one there.
            let dir = path::abs(self.chart, subchart);
            if key.host.stat(&dir).is_ok() {
                key.tree(&dir, &archive::check)?;
            } else {
                key.texts("no subchart", [dir]);
            }
        }
        match &self.namespace {
            ReleaseNamespace::Given => Ok(()),
            ReleaseNamespace::OfContext(kubeconfig) => {
                current_namespace(key, kubeconfig.as_deref())
            }
        }
    }
}

impl HelmInputs<'_> {
    fn values_file(&self, key: &mut KeyBuilder<'_>, file: &str) -> Result<(), Uncacheable> {
        // Helm takes this for a list in the syntax of CSV, for standard input, or for an address.
        if file.contains([',', '"', '\n', '\r']) || file == "-" || file.contains("://") {
            return Err(Uncacheable("a values file is not simply a file"));
        }
        let bytes =
            key.file(&path::abs(self.dir, file))?.ok_or(Uncacheable("a values file is missing"))?;
        impure::check(&bytes)
    }
}

/// What `helm version` depends on.
pub(crate) struct HelmVersionInputs;

impl Inputs for HelmVersionInputs {
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable> {
        Ok(vec![Tool::find(host, "helm", MARKER)?])
    }

    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable> {
        key.texts("helm version", ["--short"]);
        environment(key);
        Ok(())
    }
}

/// The variables that configure Helm. Repositories, registries and plug-ins do not matter for a local chart, but
/// where they are might.
fn environment(key: &mut KeyBuilder<'_>) {
    let places = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "GODEBUG"];
    key.variables(|it| it.starts_with("HELM_") || places.contains(&it));
}

/// All that the namespace of the current context depends on.
fn current_namespace(
    key: &mut KeyBuilder<'_>,
    kubeconfig: Option<&str>,
) -> Result<(), Uncacheable> {
    let files = match kubeconfig {
        Some(pinned) => vec![pinned.to_owned()],
        None => match key.host.env("KUBECONFIG").filter(|it| !it.is_empty()) {
            Some(list) => list.split(':').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            None => key
                .host
                .env("HOME")
                .map(|it| path::join(&[it.as_str(), ".kube/config"]))
                .into_iter()
                .collect(),
        },
    };
    for file in files {
        if !path::is_abs(&file) {
            return Err(Uncacheable("a kubeconfig depends on the directory"));
        }
        // Not the path: a kubeconfig that was made for this run has another one each time.
        let content = key.host.read(&file).unwrap_or_default();
        key.part("kubeconfig", &content);
    }
    for name in ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE"] {
        key.variable(name);
    }
    key.file("/var/run/secrets/kubernetes.io/serviceaccount/namespace")?;
    Ok(())
}
