//! Decides whether the current context of a configuration can be used.

use super::types::{Cluster, Exec, User};
use super::{KubeConfig, read_file};
use crate::{Files, golang::quote::quote};

/// What keeps the current context from being used; empty if nothing does.
pub(super) fn problems(config: &KubeConfig, files: &impl Files) -> Vec<String> {
    let mut problems = Vec::new();
    let name = &config.current_context;
    if !name.is_empty() && config.context().is_none() {
        problems.push(format!("context was not found for specified context: {name}"));
    }
    let context = config.context().cloned().unwrap_or_default();
    if let Some(user) = config.users.get(&context.user) {
        user_problems(&context.user, user, files, &mut problems);
    }
    let before = problems.len();
    let cluster = config.clusters.get(&context.cluster).cloned().unwrap_or_default();
    cluster_problems(&context.cluster, &cluster, files, &mut problems);
    if before == 0 && problems == ["cluster has no server defined"] {
        return vec![
            "no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
                .to_owned(),
        ];
    }
    problems
}

fn cluster_problems(name: &str, cluster: &Cluster, files: &impl Files, problems: &mut Vec<String>) {
    if *cluster == Cluster::default() {
        problems.push("cluster has no server defined".to_owned());
        return;
    }
    if cluster.server.is_empty() {
        problems.push(match name {
            "" => "default cluster has no server defined".to_owned(),
            name => format!("no server found for cluster {}", quote(name)),
        });
    }
    let (file, data) = (&cluster.certificate_authority, &cluster.certificate_authority_data);
    if !file.is_empty() && !data.is_empty() {
        problems.push(format!(
            "certificate-authority-data and certificate-authority are both specified for {name}. \
             certificate-authority-data will override."
        ));
    }
    check_file("certificate-authority", file, name, files, problems);
}

fn check_file(what: &str, file: &str, name: &str, files: &impl Files, problems: &mut Vec<String>) {
    if file.is_empty() {
        return;
    }
    // Only opening counts here, and a directory can be opened.
    if let Err(error) = read_file(files, file)
        && error.op == "open"
    {
        problems.push(format!("unable to read {what} {file} for {name} due to {error}"));
    }
}

fn user_problems(name: &str, user: &User, files: &impl Files, problems: &mut Vec<String>) {
    certificate_problems(name, user, files, problems);
    if let Some(exec) = &user.exec {
        if user.auth_provider.is_some() {
            problems.push(format!(
                "authProvider cannot be provided in combination with an exec plugin for {name}"
            ));
        }
        exec_problems(name, exec, problems);
    }
    if !user.token.is_empty() && (!user.username.is_empty() || !user.password.is_empty()) {
        problems.push(format!(
            "more than one authentication method found for {name}; found [token basicAuth], \
             only one is allowed"
        ));
    }
    let details =
        !user.as_uid.is_empty() || !user.as_groups.is_empty() || !user.as_user_extra.is_empty();
    if details && user.impersonate.is_empty() {
        problems.push(format!(
            "requesting uid, groups or user-extra for {name} without impersonating a user"
        ));
    }
}

fn certificate_problems(name: &str, user: &User, files: &impl Files, problems: &mut Vec<String>) {
    let (certificate, certificate_data) = (&user.client_certificate, &user.client_certificate_data);
    let (key, key_data) = (&user.client_key, &user.client_key_data);
    if certificate.is_empty() && certificate_data.is_empty() {
        return;
    }
    if !certificate.is_empty() && !certificate_data.is_empty() {
        problems.push(format!(
            "client-cert-data and client-cert are both specified for {name}. \
             client-cert-data will override."
        ));
    }
    if !key.is_empty() && !key_data.is_empty() {
        problems.push(format!(
            "client-key-data and client-key are both specified for {name}; \
             client-key-data will override"
        ));
    }
    if key.is_empty() && key_data.is_empty() {
        problems.push(format!(
            "client-key-data or client-key must be specified for {name} to use the clientCert \
             authentication method."
        ));
    }
    check_file("client-cert", certificate, name, files, problems);
    check_file("client-key", key, name, files, problems);
}

fn exec_problems(name: &str, exec: &Exec, problems: &mut Vec<String>) {
    let mut needs = |what: &str| {
        problems
            .push(format!("{what} must be specified for {name} to use exec authentication plugin"));
    };
    if exec.command.is_empty() {
        needs("command");
    }
    if exec.api_version.is_empty() {
        needs("apiVersion");
    }
    for _ in exec.env.iter().flatten().filter(|variable| variable.name.is_empty()) {
        needs("env variable name");
    }
    match exec.interactive_mode.as_str() {
        "" => needs("interactiveMode"),
        "Never" | "IfAvailable" | "Always" => {}
        mode => problems.push(format!("invalid interactiveMode for {name}: {}", quote(mode))),
    }
}
