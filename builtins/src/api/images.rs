//! Image builds: `docker_build`, `custom_build`, `default_registry`.

use std::fmt;

use builtins_language::{
    ApiValue, Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Outcome, RaisedError,
    Value, api_value, raise,
};
use engine_formats::{
    docker::{reference::Reference, registry::Registry, selector::RefSelector},
    golang::{path, quote::quote},
};
use engine_model::{Cmd, DockerBuild, OverrideArgs, RegistryHosting};

use super::{
    arguments::{Arguments as _, arguments},
    coerce::{
        AbsPath, AbsPaths, ImageRefs, Sequence, StrDict, StrOrList, Strish, command, go_type,
        one_or_sequence, plain_strings,
    },
    live_update,
};
use crate::{
    declarations::images::{CustomRecipe, DockerRecipe, DuplicateImage, ImageBuild, Recipe},
    diagnostic::{Advice, raise_advised},
    session::Session,
};

const CACHE_IS_OBSOLETE: &str = "docker_build(cache=...) is obsolete, and currently a no-op.\n\
    You should switch to live_update to optimize your builds.";

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("docker_build", docker_build);
    builder.function("custom_build", custom_build);
    builder.function("default_registry", default_registry);
}

arguments! {
    struct DockerArgs<'v> {
        reference: String = "ref",
        context: AbsPath = "context",
        build_args: StrDict = "build_args?",
        dockerfile: Option<AbsPath> = "dockerfile??",
        dockerfile_contents: Option<Value<'v>> = "dockerfile_contents?",
        cache: Option<Value<'v>> = "cache?",
        live_update: Option<Value<'v>> = "live_update?",
        match_in_env_vars: bool = "match_in_env_vars?",
        ignore: Option<Value<'v>> = "ignore?",
        only: Option<Value<'v>> = "only?",
        entrypoint: Option<Value<'v>> = "entrypoint?",
        container_args: Option<Sequence<'v>> = "container_args?",
        target: String = "target?",
        ssh: StrOrList = "ssh?",
        secret: StrOrList = "secret?",
        network: Strish = "network?",
        extra_tag: StrOrList = "extra_tag?",
        cache_from: StrOrList = "cache_from?",
        pull: bool = "pull?",
        platform: Strish = "platform?",
        extra_hosts: StrOrList = "extra_hosts?",
    }
}

/// Declares an image that a Docker engine builds.
fn docker_build<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = DockerArgs::unpack(eval, &args)?;
    let session = Session::of(eval);
    let selector = selector(&given.reference)?;
    let (dockerfile_path, dockerfile) = read_dockerfile(session, &given)?;
    if given.cache.is_some() {
        session.warn(CACHE_IS_OBSOLETE);
    }
    let live_update =
        live_update::from_steps(eval, given.live_update).map_err(|why| why.raise())?;
    let ignores = patterns(eval, given.ignore, "ignore")?;
    let onlys = only_paths(eval, given.only)?;
    let entrypoint = entrypoint(eval, given.entrypoint)?;
    let override_args = override_args(given.container_args)?;
    let extra_tags = given.extra_tag.0.unwrap_or_default();
    for tag in &extra_tags {
        Reference::parse(tag).map_err(|why| {
            raise(format!("Argument extra_tag={} not a valid image reference: {why}", quote(tag)))
        })?;
    }
    let mut platform = given.platform.0;
    if platform.is_empty() {
        platform = session.host.env("DOCKER_DEFAULT_PLATFORM").unwrap_or_default();
    }
    let build = DockerBuild {
        dockerfile_contents: dockerfile,
        context: given.context.0,
        args: build_args(&given.build_args),
        target: given.target,
        ssh_agent_configs: given.ssh.0.unwrap_or_default(),
        secrets: given.secret.0.unwrap_or_default(),
        network: given.network.0,
        extra_tags,
        cache_from: given.cache_from.0.unwrap_or_default(),
        pull: given.pull,
        platform,
        extra_hosts: given.extra_hosts.0.unwrap_or_default(),
        ..DockerBuild::default()
    };
    let recipe = DockerRecipe { dockerfile_path, build };
    let build = ImageBuild {
        match_in_env_vars: given.match_in_env_vars,
        entrypoint,
        override_args,
        live_update,
        tiltfile: Some(session.current_file()),
        ignores,
        onlys,
        ..ImageBuild::new(selector, Recipe::Docker(Box::new(recipe)))
    };
    session.declarations.borrow_mut().images.add(build).map_err(raise_duplicate)?;
    Ok(Value::new_none())
}

fn selector(reference: &str) -> EvalResult<RefSelector> {
    Reference::parse(reference)
        .map(RefSelector::new)
        .map_err(|why| raise(format!("Argument 1 (ref): can't parse {}: {why}", quote(reference))))
}

/// Where the Dockerfile is, and its text.
fn read_dockerfile(session: &Session, given: &DockerArgs<'_>) -> EvalResult<(String, String)> {
    let default_path = path::join(&[given.context.0.as_str(), "Dockerfile"]);
    match (&given.dockerfile_contents, &given.dockerfile) {
        (Some(_), Some(_)) => {
            Err(raise("Cannot specify both dockerfile and dockerfile_contents keyword arguments"))
        }
        (Some(contents), None) => match super::coerce::as_text(*contents) {
            Some(text) => Ok((default_path, text.to_owned())),
            None => Err(raise("Argument (dockerfile_contents): must be string or blob.")),
        },
        (None, given_path) => {
            let file = given_path.as_ref().map_or(default_path, |it| it.0.clone());
            let bytes = session
                .read_watched(&file)
                .map_err(|why| raise(format!("error reading dockerfile: {why}")))?;
            Ok((file, String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

fn build_args(given: &StrDict) -> Vec<String> {
    let mut list: Vec<String> = given
        .0
        .iter()
        .map(
            |(name, value)| if value.is_empty() { name.clone() } else { format!("{name}={value}") },
        )
        .collect();
    list.sort();
    list
}

/// One string or several, without line breaks.
fn patterns<'v>(
    eval: &Evaluator<'v, '_, '_>,
    value: Option<Value<'v>>,
    param: &str,
) -> EvalResult<Vec<String>> {
    let mut patterns = Vec::new();
    for item in value.map(|it| one_or_sequence(it, eval.heap())).unwrap_or_default() {
        let Some(text) = item.unpack_str() else {
            let found = go_type(item);
            return Err(raise(format!(
                "{param} must be a string or a sequence of strings; found a {found}"
            )));
        };
        if text.contains('\n') {
            return Err(raise(format!(
                "{param} cannot contain newlines; found {param}: {}",
                quote(text)
            )));
        }
        patterns.push(text.to_owned());
    }
    Ok(patterns)
}

fn only_paths<'v>(
    eval: &Evaluator<'v, '_, '_>,
    value: Option<Value<'v>>,
) -> EvalResult<Vec<String>> {
    let paths = patterns(eval, value, "only")?;
    match paths.iter().find(|it| it.contains('*')) {
        Some(path) => Err(raise(format!(
            "'only' does not support '*' file globs. Must be a real path: {path}"
        ))),
        None => Ok(paths),
    }
}

fn entrypoint<'v>(
    eval: &Evaluator<'v, '_, '_>,
    value: Option<Value<'v>>,
) -> EvalResult<Option<Vec<String>>> {
    Ok(command(value, None, &StrDict::default(), eval).map_err(raise)?.argv)
}

fn override_args(given: Option<Sequence<'_>>) -> EvalResult<Option<OverrideArgs>> {
    let Some(Sequence(items)) = given else { return Ok(None) };
    let args =
        plain_strings(&items).map_err(|why| raise(format!("Argument 'container_args': {why}")))?;
    Ok(Some(OverrideArgs { args: (!args.is_empty()).then_some(args) }))
}

arguments! {
    struct CustomArgs<'v> {
        reference: String = "ref",
        command: Option<Value<'v>> = "command",
        deps: AbsPaths = "deps",
        tag: String = "tag?",
        disable_push: bool = "disable_push?",
        skips_local_docker: bool = "skips_local_docker?",
        live_update: Option<Value<'v>> = "live_update?",
        match_in_env_vars: bool = "match_in_env_vars?",
        ignore: Option<Value<'v>> = "ignore?",
        entrypoint: Option<Value<'v>> = "entrypoint?",
        container_args: Option<Sequence<'v>> = "container_args?",
        command_bat_val: Option<Value<'v>> = "command_bat_val?",
        outputs_image_ref_to: AbsPath = "outputs_image_ref_to?",
        command_bat: Option<Value<'v>> = "command_bat?",
        image_deps: ImageRefs = "image_deps?",
        env: StrDict = "env?",
        dir: Option<Value<'v>> = "dir?",
    }
}

/// Declares an image that a command builds.
fn custom_build<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = CustomArgs::unpack(eval, &args)?;
    let session = Session::of(eval);
    let selector = selector(&given.reference)?;
    let live_update =
        live_update::from_steps(eval, given.live_update).map_err(|why| why.raise())?;
    let ignores = patterns(eval, given.ignore, "ignore")?;
    let entrypoint = entrypoint(eval, given.entrypoint)?;
    let override_args = override_args(given.container_args)?;
    let command = custom_command(eval, given.command, given.dir, &given.env)?;
    if !given.tag.is_empty() && !given.outputs_image_ref_to.0.is_empty() {
        return Err(raise("Cannot specify both tag= and outputs_image_ref_to="));
    }
    let recipe = CustomRecipe {
        command,
        deps: given.deps.0,
        tag: given.tag,
        image_deps: given.image_deps.0,
        disable_push: given.disable_push,
        skips_local_docker: given.skips_local_docker,
        outputs_image_ref_to: given.outputs_image_ref_to.0,
    };
    let text = selector.to_string();
    let build = ImageBuild {
        match_in_env_vars: given.match_in_env_vars,
        entrypoint,
        override_args,
        live_update,
        tiltfile: Some(session.current_file()),
        ignores,
        ..ImageBuild::new(selector, Recipe::Custom(Box::new(recipe)))
    };
    session.declarations.borrow_mut().images.add(build).map_err(raise_duplicate)?;
    Ok(eval.heap().alloc(CustomBuildValue { reference: text }))
}

fn custom_command<'v>(
    eval: &Evaluator<'v, '_, '_>,
    value: Option<Value<'v>>,
    dir: Option<Value<'v>>,
    env: &StrDict,
) -> EvalResult<Cmd> {
    let command = command(value, dir, env, eval)
        .map_err(|why| raise(format!("Argument 2 (command): {why}")))?;
    if command.is_empty() {
        return Err(raise("Argument 2 (command) can't be empty"));
    }
    Ok(command)
}

/// Raises that an image has two builds.
pub(super) fn raise_duplicate(why: DuplicateImage) -> RaisedError {
    raise_advised(why.to_string(), Some(Advice::BuildOnce))
}

/// What `custom_build` returns; it has no attributes.
#[derive(Debug)]
struct CustomBuildValue {
    reference: String,
}

api_value!(CustomBuildValue);

impl fmt::Display for CustomBuildValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom_build({})", quote(&self.reference))
    }
}

impl ApiValue for CustomBuildValue {
    const TYPE: &'static str = "custom_build";
}

arguments! {
    struct RegistryArgs {
        host: String = "host",
        host_from_cluster: String = "host_from_cluster?",
        single_name: String = "single_name?",
    }
}

/// Sends all images to one registry.
fn default_registry<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let session = Session::of(eval);
    if session.declarations.borrow().images.registry.is_some() {
        return Err(raise("default registry already defined"));
    }
    let RegistryArgs { host, host_from_cluster, single_name } = RegistryArgs::unpack(eval, &args)?;
    let hosting =
        RegistryHosting { host, host_from_container_runtime: host_from_cluster, single_name };
    Registry::from(&hosting)
        .validate()
        .map_err(|why| raise(format!("validating defaultRegistry: {why}")))?;
    session.declarations.borrow_mut().images.registry = Some(hosting);
    Ok(Value::new_none())
}
