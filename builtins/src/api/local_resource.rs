//! Arguments and declarations of `local_resource` and its older name `test`.

use builtins_language::{
    Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Heap, Mismatch, Outcome, Value, raise,
};
use engine_formats::golang::{path, quote::quote};

use super::{
    arguments::{Arguments as _, arguments},
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
fn test<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    Session::of(eval).warn(
        "test() is deprecated and will be removed in a future release.\n\
         Change this call to use `local_resource(..., allow_parallel=True)`",
    );
    declare(eval, &args, true)
}

/// `local_resource(...)`.
fn local_resource<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    declare(eval, &args, false)
}

fn declare<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: &Args<'v>,
    parallel_by_default: bool,
) -> Outcome<'v> {
    let mut params =
        Params { allow_parallel: parallel_by_default, auto_init: true, ..Params::default() };
    params.bind(eval, args)?;
    let resource = params.into_resource(eval, args.function)?;
    let mut declarations = Session::of(eval).declarations.borrow_mut();
    declarations.check_name_is_free(&resource.name).map_err(|why| raise(why.to_string()))?;
    declarations.local.push(resource);
    Ok(Value::new_none())
}

arguments! {
    struct Params<'v> {
        name: Name = "name",
        cmd: Option<Value<'v>> = "cmd?",
        deps: AbsPaths = "deps?",
        trigger_mode: Option<TriggerModeArg> = "trigger_mode?",
        resource_deps: Sequence<'v> = "resource_deps?",
        ignore: Option<Value<'v>> = "ignore?",
        auto_init: bool = "auto_init?",
        serve_cmd: Option<Value<'v>> = "serve_cmd?",
        // Commands for Windows may be anything here.
        cmd_bat: Option<Value<'v>> = "cmd_bat?",
        serve_cmd_bat: Option<Value<'v>> = "serve_cmd_bat?",
        allow_parallel: bool = "allow_parallel?",
        links: Links = "links?",
        labels: Labels = "labels?",
        env: StrDict = "env?",
        serve_env: StrDict = "serve_env?",
        readiness_probe: ProbeArg = "readiness_probe?",
        dir: Option<Value<'v>> = "dir?",
        serve_dir: Option<Value<'v>> = "serve_dir?",
    }
}

impl<'v> Params<'v> {
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
