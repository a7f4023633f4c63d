//! `helm`: renders a local chart to objects.
//!
//! Helm does the rendering; this module decides how Helm is called, which documents are kept, and which files are
//! watched.

use builtins_language::{Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, RaisedError};
use engine_formats::{
    golang::{
        os_error::PathError,
        quote::{command_line, quote},
    },
    kubernetes::{self, ParseError},
    yaml,
};
use engine_model::Cmd;

use super::{
    arguments::{Arguments as _, arguments},
    blob::Blob,
    coerce::{AbsPath, StrOrList},
    kube_context,
    local::{self, CommandFailed, RunOptions},
};
use crate::{
    cache::{self, HelmInputs, ReleaseNamespace},
    diagnostic::{Advice, raise_advised},
    host::FileKind,
    session::{Session, Watch},
};

mod crds;
mod requirements;
mod tests_filter;
mod version;

use requirements::RequirementsError;
use version::{HelmVersion, VersionError};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("helm", helm);
}

arguments! {
    struct HelmArgs {
        chart: AbsPath = "paths",
        name: String = "name?",
        namespace: String = "namespace?",
        values: StrOrList = "values?",
        set: StrOrList = "set?",
        kube_version: String = "kube_version?",
        skip_crds: bool = "skip_crds?",
    }
}

impl HelmArgs {
    /// The name of the release; the default stays the same from one evaluation to the next.
    fn name(&self) -> &str {
        if self.name.is_empty() { "chart" } else { &self.name }
    }

    fn values(&self) -> &[String] {
        self.values.0.as_deref().unwrap_or_default()
    }

    fn argv(&self, version: HelmVersion) -> Vec<String> {
        let mut argv: Vec<String> =
            ["helm", "template", self.name(), &self.chart.0].map(str::to_owned).into();
        let mut option = |flag: &str, value: &str| argv.extend([flag.to_owned(), value.to_owned()]);
        if !self.namespace.is_empty() {
            option("--namespace", &self.namespace);
        }
        if !self.kube_version.is_empty() {
            option("--kube-version", &self.kube_version);
        }
        if !self.skip_crds && version == HelmVersion::V3_1AndAbove {
            argv.push("--include-crds".to_owned());
        }
        for file in self.values() {
            argv.extend(["--values".to_owned(), file.clone()]);
        }
        for pair in self.set.0.iter().flatten() {
            argv.extend(["--set".to_owned(), pair.clone()]);
        }
        argv
    }
}

/// Why a chart cannot be rendered.
#[derive(Debug, thiserror::Error)]
enum HelmError {
    #[error("helm() may only be called on directories with Chart.yaml: {}", quote(.0))]
    NoDirectory(String),
    #[error("Could not read Helm chart directory {}: does not exist", quote(.0))]
    NoChart(String),
    #[error("Could not read Helm chart directory {}: {why}", quote(&why.path))]
    Unreadable { why: PathError },
    #[error(transparent)]
    File(#[from] PathError),
    #[error("reading subchart deps: {0}")]
    Requirements(#[from] RequirementsError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(transparent)]
    Command(#[from] CommandFailed),
    /// What Helm printed is no list of objects.
    #[error(transparent)]
    Objects(#[from] ParseError),
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
}

impl HelmError {
    fn raise(&self) -> RaisedError {
        let advice = matches!(self, Self::Version(VersionError::NotInstalled));
        raise_advised(self.to_string(), advice.then_some(Advice::InstallHelm))
    }
}

/// The objects of a chart, as a blob.
fn helm<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = HelmArgs::unpack(eval, &args)?;
    let text = render(Session::of(eval), &given).map_err(|why| why.raise())?;
    Ok(eval.heap().alloc(Blob::new(text, format!("helm: {}", given.chart.0))))
}

fn render(session: &Session, given: &HelmArgs) -> Result<String, HelmError> {
    let chart = given.chart.0.as_str();
    check_directory(session, chart)?;
    session.watch(Watch::Recursive, chart)?;
    let subcharts = requirements::local_subcharts(session, chart)?;
    for subchart in &subcharts {
        session.watch(Watch::Recursive, &session.abs(subchart))?;
    }
    let version = version::detect(session)?;
    for file in given.values() {
        session.watch(Watch::FileOnly, &session.abs(file))?;
    }
    let mut text = tests_filter::without_tests(&template(session, given, version, &subcharts)?);
    if version == HelmVersion::V3_0 {
        // This version leaves out custom resource definitions and has no flag to include them.
        for definition in crds::definitions(session, chart)? {
            text.push_str("\n---\n");
            text.push_str(&definition);
        }
    }
    if given.namespace.is_empty() { Ok(text) } else { with_namespace(&text, &given.namespace) }
}

fn check_directory(session: &Session, chart: &str) -> Result<(), HelmError> {
    match session.host.stat(chart) {
        Ok(info) if info.kind == FileKind::Directory => Ok(()),
        Ok(_) => Err(HelmError::NoDirectory(chart.to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(HelmError::NoChart(chart.to_owned()))
        }
        Err(error) => Err(HelmError::Unreadable { why: PathError::new("stat", chart, &error) }),
    }
}

/// What `helm template` prints, from the cache if nothing that it reads has changed.
fn template(
    session: &Session,
    given: &HelmArgs,
    version: HelmVersion,
    subcharts: &[String],
) -> Result<String, CommandFailed> {
    let cmd = Cmd { argv: Some(given.argv(version)), dir: session.dir(), ..Cmd::default() };
    let argv = cmd.argv.as_deref().unwrap_or_default();
    session.info(&format!("Running: {}", command_line(argv)));
    let inputs = HelmInputs {
        argv,
        dir: &cmd.dir,
        release: given.name(),
        chart: &given.chart.0,
        subcharts,
        values: given.values(),
        // Only without a namespace of its own does a release take that of the current context.
        namespace: match given.namespace.as_str() {
            "" => ReleaseNamespace::OfContext(kube_context::pinned_kubeconfig(session)),
            _ => ReleaseNamespace::Given,
        },
    };
    cache::remember(session, &inputs, || local::run(session, &cmd, &RunOptions::default()))
}

/// Helm neither writes the namespace into objects nor checks them, so both happen here.
fn with_namespace(text: &str, namespace: &str) -> Result<String, HelmError> {
    let mut objects = kubernetes::parse(text)?;
    for object in &mut objects {
        object.default_namespace(namespace);
    }
    Ok(kubernetes::to_yaml(&objects)?)
}
