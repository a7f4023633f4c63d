//! `k8s_custom_deploy`: a resource that the user's commands apply and delete.

use builtins_language::{Args, EvalResult, Evaluator, Outcome, Value, raise};
use engine_formats::{
    docker::{reference::Reference, selector::RefSelector},
    golang::quote::quote,
};
use engine_model::{Cmd, ContainerNameSelector, IgnoreDef, LiveUpdateSpec};

use super::super::{
    arguments::{Arguments as _, arguments},
    coerce::{AbsPaths, ImageRefs, StrDict, command, shell},
    images::raise_duplicate,
    live_update,
};
use crate::{
    declarations::{
        images::{CustomRecipe, ImageBuild, Recipe},
        kubernetes::CustomDeploy,
    },
    session::Session,
};

arguments! {
    struct DeployArgs<'v> {
        name: String = "name",
        apply_cmd: Option<Value<'v>> = "apply_cmd",
        delete_cmd: Option<Value<'v>> = "delete_cmd",
        deps: AbsPaths = "deps",
        image_selector: String = "image_selector?",
        live_update: Option<Value<'v>> = "live_update?",
        apply_dir: Option<Value<'v>> = "apply_dir?",
        apply_env: StrDict = "apply_env?",
        apply_cmd_bat: Option<Value<'v>> = "apply_cmd_bat?",
        delete_dir: Option<Value<'v>> = "delete_dir?",
        delete_env: StrDict = "delete_env?",
        delete_cmd_bat: Option<Value<'v>> = "delete_cmd_bat?",
        container_selector: String = "container_selector?",
        image_deps: ImageRefs = "image_deps?",
    }
}

/// Declares a resource that commands apply and delete.
pub(super) fn k8s_custom_deploy<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> Outcome<'v> {
    let given = DeployArgs::unpack(eval, &args)?;
    let apply =
        required_command(eval, "apply_cmd", given.apply_cmd, given.apply_dir, &given.apply_env)?;
    let delete = required_command(
        eval,
        "delete_cmd",
        given.delete_cmd,
        given.delete_dir,
        &given.delete_env,
    )?;
    let live_update =
        live_update::from_steps(eval, given.live_update).map_err(|why| why.raise())?;
    let session = Session::of(eval);
    let mut declarations = session.declarations.borrow_mut();
    declarations
        .check_name_is_free(&given.name)
        .map_err(|why| raise(format!("error making resource for {}: {why}", given.name)))?;

    let ignores = live_update.iter().filter_map(ignores).collect();
    let image = match &live_update {
        None => None,
        Some(_) => Some(selected_image(&given)?),
    };
    declarations.kubernetes.add_custom_deploy(CustomDeploy {
        name: given.name.clone(),
        apply,
        delete,
        deps: given.deps.0.clone().unwrap_or_default(),
        ignores,
        required_images: given.image_deps.0,
        live_update_image: image.clone(),
    });
    if let (Some(mut live_update), Some(image)) = (live_update, image) {
        if !given.container_selector.is_empty() {
            live_update.selector.kubernetes = Some(ContainerNameSelector {
                discovery_name: String::new(),
                container_name: given.container_selector,
            });
        }
        let recipe = CustomRecipe {
            command: Cmd { argv: shell(":"), ..Cmd::default() },
            deps: given.deps.0,
            disable_push: true,
            skips_local_docker: true,
            ..CustomRecipe::default()
        };
        let build = ImageBuild {
            live_update: Some(live_update),
            tiltfile: Some(session.current_file()),
            ..ImageBuild::new(RefSelector::new(image), Recipe::Custom(Box::new(recipe)))
        };
        declarations.images.add(build).map_err(raise_duplicate)?;
    }
    Ok(Value::new_none())
}

fn required_command<'v>(
    eval: &Evaluator<'v, '_, '_>,
    param: &str,
    value: Option<Value<'v>>,
    dir: Option<Value<'v>>,
    env: &StrDict,
) -> EvalResult<Cmd> {
    let cmd = command(value, dir, env, eval).map_err(|why| raise(format!("{param}: {why}")))?;
    if cmd.is_empty() {
        return Err(raise(format!("k8s_custom_deploy: {param} cannot be empty")));
    }
    Ok(cmd)
}

/// Changes that the live update takes care of do not cause an apply.
fn ignores(spec: &LiveUpdateSpec) -> Option<IgnoreDef> {
    let patterns: Vec<String> = spec
        .syncs
        .iter()
        .map(|it| it.local_path.clone())
        .chain(spec.stop_paths.iter().cloned())
        .collect();
    (!patterns.is_empty()).then(|| IgnoreDef { base_path: spec.base_path.clone(), patterns })
}

/// The image that is live-updated: the one selected, or one that stands for the container.
fn selected_image(given: &DeployArgs<'_>) -> EvalResult<Reference> {
    let parse = |name: &str| {
        Reference::parse(name).map_err(|why| raise(format!("can't parse {}: {why}", quote(name))))
    };
    match (given.image_selector.as_str(), given.container_selector.as_str()) {
        ("", "") => Err(raise("k8s_custom_deploy: no Live Update selector specified")),
        (image, "") => parse(image),
        ("", _) => parse(&format!("k8s_custom_deploy:{}", given.name)),
        (image, _) => {
            parse(image)?;
            Err(raise("k8s_custom_deploy: cannot specify more than one Live Update selector"))
        }
    }
}
