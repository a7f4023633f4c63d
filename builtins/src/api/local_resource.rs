//! Arguments and declarations of `local_resource` and its older name `test`.

use builtins_language::{
    Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Heap, Mismatch, Value, raise,
};
use engine_formats::golang::{path, quote::quote};

use super::{
    coerce::{self, AbsPaths, Labels, Name, Sequence, StrDict, go_type, one_or_sequence},
    link::Links,
    probe::ProbeArg,
    trigger_mode::TriggerModeArg,
};
use crate::{declarations::local::LocalResource, host::FileKind, session::Session};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("local_resource", local_resource);
    builder.function("test", test);
}

/// `test(...)`: a local resource that may update while others do.
fn test<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> EvalResult<Value<'v>> {
    Session::of(eval).warn(
        "test() is deprecated and will be removed in a future release.\n\
         Change this call to use `local_resource(..., allow_parallel=True)`",
    );
    declare(eval, &args, true)
}

/// `local_resource(...)`.
fn local_resource<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> EvalResult<Value<'v>> {
    declare(eval, &args, false)
}

fn declare<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: &Args<'v>,
    parallel_by_default: bool,
) -> EvalResult<Value<'v>> {
    let mut params = Params { allow_parallel: parallel_by_default, ..Params::default() };
    params.bind(eval, args)?;
    let resource = params.into_resource(eval, args.function)?;
    let mut declarations = Session::of(eval).declarations.borrow_mut();
    declarations.check_name_is_free(&resource.name).map_err(|why| raise(why.to_string()))?;
    declarations.local.push(resource);
    Ok(Value::new_none())
}

/// The arguments of a call, converted but not yet checked against each other.
struct Params<'v> {
    name: Name,
    cmd: Option<Value<'v>>,
    deps: AbsPaths,
    trigger_mode: Option<TriggerModeArg>,
    resource_deps: Sequence<'v>,
    ignore: Option<Value<'v>>,
    auto_init: bool,
    serve_cmd: Option<Value<'v>>,
    allow_parallel: bool,
    links: Links,
    labels: Labels,
    env: StrDict,
    serve_env: StrDict,
    readiness_probe: ProbeArg,
    dir: Option<Value<'v>>,
    serve_dir: Option<Value<'v>>,
}

impl Default for Params<'_> {
    fn default() -> Self {
        Self {
            name: Name::default(),
            cmd: None,
            deps: AbsPaths::default(),
            trigger_mode: None,
            resource_deps: Sequence::default(),
            ignore: None,
            auto_init: true,
            serve_cmd: None,
            allow_parallel: false,
            links: Links::default(),
            labels: Labels::default(),
            env: StrDict::default(),
            serve_env: StrDict::default(),
            readiness_probe: ProbeArg::default(),
            dir: None,
            serve_dir: None,
        }
    }
}

impl<'v> Params<'v> {
    fn bind(&mut self, eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>) -> EvalResult<()> {
        // Commands for Windows may be anything here.
        let [mut cmd_bat, mut serve_cmd_bat] = [None::<Value<'v>>; 2];
        args.unpack(
            eval,
            &mut [
                ("name", &mut self.name),
                ("cmd?", &mut self.cmd),
                ("deps?", &mut self.deps),
                ("trigger_mode?", &mut self.trigger_mode),
                ("resource_deps?", &mut self.resource_deps),
                ("ignore?", &mut self.ignore),
                ("auto_init?", &mut self.auto_init),
                ("serve_cmd?", &mut self.serve_cmd),
                ("cmd_bat?", &mut cmd_bat),
                ("serve_cmd_bat?", &mut serve_cmd_bat),
                ("allow_parallel?", &mut self.allow_parallel),
                ("links?", &mut self.links),
                ("labels?", &mut self.labels),
                ("env?", &mut self.env),
                ("serve_env?", &mut self.serve_env),
                ("readiness_probe?", &mut self.readiness_probe),
                ("dir?", &mut self.dir),
                ("serve_dir?", &mut self.serve_dir),
            ],
        )
    }

    fn into_resource(
        self,
        eval: &Evaluator<'v, '_, '_>,
        function: &str,
    ) -> EvalResult<LocalResource> {
        let session = Session::of(eval);
        let resource_deps = coerce::plain_strings(&self.resource_deps.0)
            .map_err(|why| raise(format!("{function}: resource_deps: {why}")))?;
        let ignores = ignore_patterns(self.ignore, eval.heap()).map_err(raise)?;
        let update_cmd = coerce::command(self.cmd, self.dir, &self.env, eval).map_err(raise)?;
        let serve_cmd = coerce::command(self.serve_cmd, self.serve_dir, &self.serve_env, eval)
            .map_err(raise)?;
        if self.dir.is_some() && update_cmd.is_empty() {
            return Err(raise(if serve_cmd.is_empty() {
                "local_resource: 'dir' specified but 'cmd' is empty"
            } else {
                "local_resource: 'dir' only affects 'cmd', not 'serve_cmd'. \
                 Did you mean to use 'serve_dir' instead?"
            }));
        }
        if self.serve_dir.is_some() && serve_cmd.is_empty() {
            return Err(raise("local_resource: 'serve_dir' specified but 'serve_cmd' is empty"));
        }
        if update_cmd.is_empty() && serve_cmd.is_empty() {
            return Err(raise(
                "local_resource must have a cmd and/or a serve_cmd, but both were empty",
            ));
        }
        let mut readiness_probe = self.readiness_probe.0;
        if readiness_probe.is_some() && serve_cmd.is_empty() {
            let name = quote(&self.name.0);
            session.warn(&format!(
                "Ignoring readiness probe for local resource {name} (no serve_cmd was defined)"
            ));
            readiness_probe = None;
        }
        let dir = session.dir();
        let inputs = self.deps.0.iter().flatten().chain([&dir]).map(String::as_str);
        Ok(LocalResource {
            repositories: repositories(session, inputs),
            name: self.name.0,
            update_cmd,
            serve_cmd,
            dir,
            deps: self.deps.0,
            trigger_mode: self.trigger_mode,
            auto_init: self.auto_init,
            resource_deps,
            ignores,
            allow_parallel: self.allow_parallel,
            links: self.links.into_option(),
            labels: self.labels.0,
            readiness_probe,
        })
    }
}

/// The patterns of an `ignore` parameter.
fn ignore_patterns<'v>(value: Option<Value<'v>>, heap: Heap<'v>) -> Result<Vec<String>, Mismatch> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let pattern = |item: Value<'v>| match item.unpack_str() {
        Some(text) if text.contains('\n') => {
            Err(format!("ignore cannot contain newlines; found ignore: {}", quote(text)).into())
        }
        Some(text) => Ok(text.to_owned()),
        None => {
            let found = go_type(item);
            Err(format!("ignore must be a string or a sequence of strings; found a {found}").into())
        }
    };
    one_or_sequence(value, heap).into_iter().map(pattern).collect()
}

/// The `.git` directories directly below these paths, each once.
fn repositories<'a>(session: &Session, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    paths
        .filter(|it| seen.insert(*it))
        .map(|it| path::join(&[it, ".git"]))
        .filter(|it| session.host.stat(it).is_ok_and(|info| info.kind == FileKind::Directory))
        .collect()
}
