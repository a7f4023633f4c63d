//! `plan`: prints what `up` or a reload would do, without doing it.

use std::sync::Arc;

use clap::Args;
use engine_cli::{Failure, Printer, client::WebClient, connect::ConnectFlags};
use engine_core::{
    Loaded,
    hold::{Hold, WaitsOn},
    plan::{self, FirstRun},
    resource::EnableState,
};
use engine_formats::kubernetes;
use engine_model::{
    BuildDetails, DeployTarget, ImageTarget, KubernetesTarget, Manifest, ResourceName, names,
};
use serde_json::{Value, json};

use super::evaluated::Evaluated;
use crate::exec::shell_text;

/// Show what `up`, or a reload, would do.
///
/// Evaluates the Tiltfile, including the commands that it runs while it loads, and does nothing else.
/// If an instance is running, shows what a reload would change; otherwise, what `up` would start.
#[derive(Debug, Args)]
pub(super) struct PlanFlags {
    /// Tiltfile to plan the first run of, even if an instance is running
    #[arg(short, long, value_name = "PATH")]
    file: Option<String>,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
    /// Arguments for the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(flags: &PlanFlags, printer: Printer) -> Result<(), Failure> {
    let is_about_running = flags.file.is_none() && flags.args.is_empty();
    let (plan, text) = match is_about_running.then(|| reload(flags)).transpose()?.flatten() {
        Some(plan) => {
            if let Some(error) = plan["error"].as_str() {
                return Err(Failure::Command(error.to_owned()));
            }
            let text = reload_text(&plan);
            (plan, text)
        }
        None => first_run(flags, printer)?,
    };
    if flags.json {
        printer.out(&format!("{plan:#}\n"));
    } else {
        printer.out(&text);
    }
    Ok(())
}

/// What a reload would do; nothing if no engine is running.
fn reload(flags: &PlanFlags) -> Result<Option<Value>, Failure> {
    // Without a token there is nobody who would answer.
    let Ok(mut client) = WebClient::new(&flags.connect) else { return Ok(None) };
    client.work_out("plan", "plan").map_err(|failure| {
        let hint = "use `--file` to plan the first run of a Tiltfile";
        Failure::Command(format!("{}; {hint}", failure.message().trim_end()))
    })
}

fn first_run(flags: &PlanFlags, printer: Printer) -> Result<(Value, String), Failure> {
    let file = flags.file.as_deref().unwrap_or("Tiltfile");
    let evaluated = Evaluated::new(file, &flags.args, printer)?;
    let state = |it: &Manifest| {
        if evaluated.is_enabled(&it.name) { EnableState::Enabled } else { EnableState::Disabled }
    };
    let manifests = &evaluated.load.manifests;
    let loaded = Loaded {
        manifests: manifests.iter().cloned().map(Arc::new).collect(),
        enabled: manifests.iter().map(|it| (it.name.as_str().into(), state(it))).collect(),
        max_parallel: usize::try_from(evaluated.load.update_settings.max_parallel_updates).ok(),
    };
    let at_once = loaded.max_parallel.unwrap_or(1);
    let plan = plan::first_run(loaded);
    Ok((first_run_json(&plan, manifests), first_run_text(&plan, manifests, at_once)))
}

/// What an update of a resource does.
fn work(manifests: &[Manifest], name: &str) -> Vec<String> {
    let Some(manifest) = manifests.iter().find(|it| it.name == name) else { return Vec::new() };
    let images = manifest.image_targets.iter().flatten();
    let mut work: Vec<String> = images.map(image_work).collect();
    match &manifest.deploy_target {
        DeployTarget::Local(target) => {
            let update = target.update_cmd_spec.iter().map(|it| &it.args);
            work.extend(update.map(|it| format!("run {}", shell_text(it))));
            let serve = target.serve_cmd.argv.iter().filter(|it| !it.is_empty());
            work.extend(serve.map(|it| format!("serve {}", shell_text(it))));
        }
        DeployTarget::Kubernetes(target) => work.push(deploy_work(target)),
        DeployTarget::Compose(target) => {
            let (service, project) = (&target.spec.service, &target.spec.project.name);
            work.push(format!("start service {service} of Docker Compose project {project}"));
        }
    }
    work
}

fn image_work(image: &ImageTarget) -> String {
    let name = &image.selector;
    match &image.build_details {
        BuildDetails::Docker(build) if build.context.is_empty() => format!("build {name}"),
        BuildDetails::Docker(build) => {
            format!("build {name} from {} if anything in it has changed", build.context)
        }
        BuildDetails::Custom(build) => format!("build {name} with {}", shell_text(&build.args)),
        BuildDetails::Compose(build) => {
            format!("let Docker Compose build the image from {}", build.context)
        }
    }
}

/// What is applied to the cluster, or with which command.
fn deploy_work(target: &KubernetesTarget) -> String {
    if let Some(cmd) = &target.apply_cmd {
        return format!("deploy to Kubernetes with {}", shell_text(&cmd.args));
    }
    let objects = kubernetes::parse(&target.yaml).unwrap_or_default();
    let names = kubernetes::names::deployed_names(objects.iter().map(kubernetes::Object::value));
    format!("apply to Kubernetes: {}", names.join(", "))
}

fn first_run_json(plan: &FirstRun, manifests: &[Manifest]) -> Value {
    let updates =
        plan.updates.iter().map(|it| json!({"resource": it, "work": work(manifests, it)}));
    let waiting = plan.waiting.iter().map(|(name, hold)| {
        let on = hold.on().into_iter().map(|it| match it {
            WaitsOn::Resource(name) => name.to_string(),
            WaitsOn::Image(name) => name.to_string(),
            WaitsOn::Cluster(name) => name.to_owned(),
        });
        json!({"resource": name, "reason": hold.reason(), "on": on.collect::<Vec<_>>()})
    });
    json!({
        "run": updates.collect::<Vec<_>>(),
        "wait": waiting.collect::<Vec<_>>(),
        "idle": plan.idle,
        "disabled": plan.disabled,
    })
}

fn first_run_text(plan: &FirstRun, manifests: &[Manifest], at_once: usize) -> String {
    let mut out = String::new();
    if !plan.updates.is_empty() {
        out.push_str(&format!("Would run, in this order, up to {at_once} at once:\n"));
        for name in &plan.updates {
            out.push_str(&format!("  {name}\n"));
            for it in work(manifests, name) {
                out.push_str(&format!("    {}\n", it.replace('\n', "\n      ")));
            }
        }
    }
    if !plan.waiting.is_empty() {
        out.push_str("Would wait:\n");
        for (name, hold) in &plan.waiting {
            out.push_str(&format!("  {name}: {}\n", hold_text(hold)));
        }
    }
    let is_auto = |name: &ResourceName| {
        manifests.iter().any(|it| it.name == **name && it.trigger_mode.is_auto_on_change())
    };
    let (auto, manual): (Vec<_>, Vec<_>) = plan.idle.iter().cloned().partition(is_auto);
    out.push_str(&list("Would not run until triggered:", &manual));
    out.push_str(&list("Would not run until triggered, or until one of its files changes:", &auto));
    out.push_str(&list("Disabled:", &plan.disabled));
    out
}

/// What a resource would wait for.
fn hold_text(hold: &Hold) -> String {
    let on = hold.on().into_iter().map(|it| match it {
        WaitsOn::Resource(name) => name.to_string(),
        WaitsOn::Image(name) => format!("image {name}"),
        WaitsOn::Cluster(names::DOCKER) => "Docker".to_owned(),
        WaitsOn::Cluster(_) => "Kubernetes".to_owned(),
    });
    match on.collect::<Vec<_>>().as_slice() {
        [] => "waiting for other updates".to_owned(),
        on => format!("waiting for {}", on.join(", ")),
    }
}

fn list(title: &str, names: &[ResourceName]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = names.iter().map(|it| &**it).collect();
    format!("{title}\n  {}\n", names.join("\n  "))
}

fn reload_text(plan: &Value) -> String {
    let groups = [
        ("start", "Would start:"),
        ("update", "Would update:"),
        ("pending", "Would wait for a trigger to update:"),
        ("remove", "Would stop and remove:"),
    ];
    let mut out = String::new();
    for (key, title) in groups {
        let names = plan[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names: Vec<ResourceName> = names.map(Into::into).collect();
        out.push_str(&list(title, &names));
    }
    let n_kept = plan["keep"].as_array().map_or(0, Vec::len);
    let kept = if n_kept == 1 { "1 resource".to_owned() } else { format!("{n_kept} resources") };
    if out.is_empty() {
        return format!("Nothing would change: {kept} would stay as they are.\n");
    }
    out.push_str(&format!("{kept} would stay as they are.\n"));
    out
}
