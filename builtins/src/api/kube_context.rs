//! Which cluster the Tiltfile uses, and whether it is allowed to.

use std::collections::BTreeSet;

use builtins_language::{
    Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Outcome, Value, raise,
};
use engine_formats::{
    kube_config::{KubeConfig, KubeConfigError, Overrides, Product},
    yaml,
};

use super::coerce::{go_type, one_or_sequence};
use crate::{
    diagnostic::{Advice, raise_advised},
    session::Session,
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("k8s_context", k8s_context);
    builder.function("k8s_namespace", k8s_namespace);
    builder.function("allow_k8s_contexts", allow_k8s_contexts);
}

/// Which cluster a Tiltfile is about.
#[derive(Clone, Debug, Default)]
pub struct KubeCluster {
    /// The kubeconfig that children get: only the context in use. The file lives as long as the host.
    pub path: Option<String>,
    /// Why no kubeconfig can be used, if that is known.
    pub problem: Option<String>,
    /// The context in use; empty without a kubeconfig.
    pub context: String,
    /// Its namespace, if it names one.
    pub namespace: String,
    /// Its cluster.
    pub cluster: String,
    /// What kind of cluster that is.
    pub product: Product,
    /// Whether it is one for development.
    pub is_dev: bool,
}

/// The context of the kubeconfig, read once per evaluation.
#[derive(Clone, Debug, Default)]
pub struct KubeContext {
    /// Its name; empty without a kubeconfig.
    pub name: String,
    /// Its namespace; empty without a kubeconfig.
    pub namespace: String,
    /// Whether its cluster is one for development, or there is none.
    pub is_dev: bool,
    /// The cluster of the context.
    pub cluster: String,
    /// What kind of cluster that is.
    pub product: Product,
    /// The namespace as the kubeconfig has it.
    pub written_namespace: String,
    /// Why no configuration can be used, if that is so.
    pub problem: Option<String>,
    /// Contexts that the Tiltfile allows.
    pub allowed: BTreeSet<String>,
    /// The source of the kubeconfig for children, which is created lazily.
    config: Option<Box<KubeConfig>>,
    /// The kubeconfig that children get.
    pinned: Option<String>,
}

impl KubeContext {
    /// Reads the kubeconfig that the environment names.
    pub fn read(session: &Session) -> Self {
        let (paths, home) = (&session.kubeconfig_paths, &session.home);
        let overrides = Overrides {
            context: session.request.context.clone(),
            namespace: session.request.namespace.clone(),
        };
        let config = match KubeConfig::load(paths, &overrides, &session.host.current_dir(), session)
        {
            Ok(config) if config.current_context.is_empty() => return Self::without_config(None),
            Ok(config) => config,
            // A configuration that cannot be used is as good as none.
            Err(error) => return Self::without_config(Some(error.to_string())),
        };
        // Where a file was tells the product too, so what was found there counts.
        let (product, is_dev) = match &session.request.cluster {
            Some(known) => (known.product, known.is_dev),
            None => {
                let product = config.product(home);
                (product, product.is_dev_cluster())
            }
        };
        Self {
            name: config.current_context.clone(),
            namespace: config.namespace().to_owned(),
            is_dev,
            cluster: config.cluster_name().to_owned(),
            product,
            written_namespace: config.context().map_or_else(String::new, |it| it.namespace.clone()),
            problem: None,
            allowed: BTreeSet::new(),
            config: Some(Box::new(config)),
            pinned: None,
        }
    }

    fn without_config(problem: Option<String>) -> Self {
        Self { is_dev: true, problem, ..Self::default() }
    }

    /// Whether the Tiltfile may touch the cluster.
    pub fn is_allowed(&self, session: &Session) -> bool {
        session.request.is_extension
            || self.name.is_empty()
            || self.is_dev
            || self.allowed.contains(&self.name)
    }
}

/// Why children get no kubeconfig of their own.
#[derive(Debug, thiserror::Error)]
enum PinError {
    #[error(transparent)]
    Config(#[from] KubeConfigError),
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

fn write_pinned(session: &Session, config: &KubeConfig) -> Result<String, PinError> {
    let text = yaml::emit_v2(&config.pinned(session)?)?;
    Ok(session.host.write_scratch("kubeconfig", text.as_bytes())?)
}

/// Runs `use_it` with the context, which is read on first use.
fn with_context<T>(session: &Session, use_it: impl FnOnce(&mut KubeContext) -> T) -> T {
    if session.declarations.borrow().kubernetes.context.is_none() {
        let context = KubeContext::read(session);
        session.declarations.borrow_mut().kubernetes.context = Some(context);
    }
    let mut declarations = session.declarations.borrow_mut();
    use_it(declarations.kubernetes.context.get_or_insert_default())
}

/// Refuses to run a builtin that could reach a production cluster.
pub(super) fn check_allowed_for(eval: &Evaluator<'_, '_, '_>, builtin: &str) -> EvalResult<()> {
    let session = Session::of(eval);
    let refused = with_context(session, |it| (!it.is_allowed(session)).then(|| it.name.clone()));
    match refused {
        None => Ok(()),
        Some(context) => Err(raise_advised(
            format!(
                "Refusing to run '{builtin}' because {context} might be a production kube context.\n\
             If you're sure you want to continue add:\n\
             \tallow_k8s_contexts('{context}')\n\
             before this function call in your Tiltfile. Otherwise, switch k8s contexts and restart Tilt."
            ),
            Some(Advice::AllowContextAbove),
        )),
    }
}

/// The complaint about a cluster that the Tiltfile does not allow.
pub(crate) fn refusal(session: &Session, known: Option<&KubeContext>) -> Option<String> {
    let read;
    let context = match known {
        Some(context) => context,
        None => {
            read = KubeContext::read(session);
            &read
        }
    };
    if context.is_allowed(session) {
        return None;
    }
    let context = &context.name;
    Some(format!(
        "Stop! {context} might be production.\n\
         If you're sure you want to deploy there, add:\n\
         \tallow_k8s_contexts('{context}')\n\
         to your Tiltfile. Otherwise, switch k8s contexts and restart Tilt."
    ))
}

/// Which cluster this is about.
pub(crate) fn kube_cluster(session: &Session) -> KubeCluster {
    let path = pinned_kubeconfig(session);
    with_context(session, |it| KubeCluster {
        path,
        problem: it.problem.clone(),
        context: it.name.clone(),
        namespace: it.written_namespace.clone(),
        cluster: it.cluster.clone(),
        product: it.product,
        is_dev: it.is_dev,
    })
}

/// The kubeconfig that children get: only the context in use.
pub(crate) fn pinned_kubeconfig(session: &Session) -> Option<String> {
    let Some(config) = with_context(session, |it| it.config.take()) else {
        return with_context(session, |it| it.pinned.clone());
    };
    let written = write_pinned(session, &config);
    // An evaluation that was stopped may write nothing more, and needs nothing either.
    if let Err(why) = &written
        && !session.host.canceled()
    {
        session.warn(&why.to_string());
    }
    let pinned = written.ok();
    with_context(session, |it| it.pinned.clone_from(&pinned));
    pinned
}

/// The name of the current context.
fn k8s_context<'v>(eval: &mut Evaluator<'v, '_, '_>, _: Args<'v>) -> Outcome<'v> {
    let name = with_context(Session::of(eval), |it| it.name.clone());
    Ok(eval.heap().alloc(name))
}

/// The namespace of the current context.
fn k8s_namespace<'v>(eval: &mut Evaluator<'v, '_, '_>, _: Args<'v>) -> Outcome<'v> {
    let namespace = with_context(Session::of(eval), |it| it.namespace.clone());
    Ok(eval.heap().alloc(namespace))
}

/// Allows contexts that are not known to be for development.
fn allow_k8s_contexts<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let contexts: Value = args.only(eval, "contexts")?;
    let session = Session::of(eval);
    for item in one_or_sequence(contexts, eval.heap()) {
        let Some(name) = item.unpack_str() else {
            return Err(raise(format!(
                "allow_k8s_contexts contexts must be a string or a sequence of strings; found a {}",
                go_type(item)
            )));
        };
        with_context(session, |it| it.allowed.insert(name.to_owned()));
    }
    Ok(Value::new_none())
}
