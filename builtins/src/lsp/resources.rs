//! The resources that a file declares with literal names.

use std::{collections::HashMap, ops::Range, path::Path};

use engine_formats::yaml;
use serde_json::Value;

use super::{Files, SymbolKind, calls::CallSite, document::Document};

/// A resource.
#[derive(Debug)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// The function that declares it.
    pub function: String,
    /// Where the name stands.
    pub name_range: Range<usize>,
    /// Where the whole call stands.
    pub range: Range<usize>,
    /// The function that declares it, by its place among the symbols.
    pub parent: Option<usize>,
}

/// Functions that make resources, with the parameters that name these: the first that is given counts.
const DECLARE: [(&str, &[&str]); 7] = [
    ("local_resource", &["name"]),
    ("test", &["name"]),
    ("k8s_custom_deploy", &["name"]),
    ("k8s_resource", &["new_name", "workload"]),
    ("dc_resource", &["new_name", "name"]),
    ("helm_resource", &["name"]),
    ("helm_repo", &["resource_name", "name"]),
];

/// Functions that only configure resources, so that one name may have several calls.
const CONFIGURE: [&str; 2] = ["k8s_resource", "dc_resource"];

/// Functions that run other Tiltfiles.
const LOADERS: [&str; 3] = ["load", "load_dynamic", "include"];

/// Kinds of Kubernetes objects that become resources.
const WORKLOADS: [&str; 7] =
    ["CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

/// The resources of a file, in the order of the text.
pub fn resources(document: &Document) -> Vec<Resource> {
    let symbols = &document.outline().symbols;
    let is_function = |it: &usize| matches!(symbols[*it].kind, SymbolKind::Function { .. });
    let mut functions = (0..symbols.len()).filter(is_function).peekable();
    // Functions around the place, the innermost one last.
    let mut open: Vec<usize> = Vec::new();
    let mut found: Vec<Resource> = Vec::new();
    for mut resource in document.calls.iter().filter_map(|it| resource(document, it)) {
        let start = resource.range.start;
        while let Some(function) = functions.next_if(|it| symbols[*it].range.start <= start) {
            open.push(function);
        }
        while open.pop_if(|it| symbols[*it].range.end < start).is_some() {}
        resource.parent = open.last().copied();
        found.push(resource);
    }
    found
}

fn resource(document: &Document, call: &CallSite) -> Option<Resource> {
    let (_, params) = DECLARE.iter().find(|(function, _)| *function == call.callee)?;
    let is_first = |it: &str| matches!(it, "name" | "workload").then_some(0);
    let argument = params.iter().find_map(|it| call.argument(document, it, is_first(it)))?;
    let name = argument.literal(document).filter(|it| !it.is_empty())?;
    let token = &document.tokens[*argument.literals(document).first()?];
    let end = document.tokens.get(call.end.unwrap_or(argument.value.start))?.range.end;
    Some(Resource {
        name: name.to_owned(),
        function: call.callee.clone(),
        name_range: token.content.clone(),
        range: document.tokens[call.name].range.start..end,
        parent: None,
    })
}

/// Resources that are certainly declared twice: the second one, and the first.
pub(super) fn duplicates(document: &Document) -> Vec<(Resource, Resource)> {
    let certain = document.calls.iter().filter(|it| it.is_certain);
    let declare = certain.filter(|it| !CONFIGURE.contains(&it.callee.as_str()));
    let mut first: HashMap<String, &CallSite> = HashMap::new();
    let mut found = Vec::new();
    for call in declare {
        let Some(second) = resource(document, call) else { continue };
        match first.get(&second.name) {
            Some(earlier) => {
                found.extend(resource(document, earlier).map(|earlier| (second, earlier)));
            }
            None => {
                first.insert(second.name, call);
            }
        }
    }
    found
}

/// The names of all resources that can be seen from a file, with where they come from: its own, those of files that it
/// loads, of Kubernetes objects and of Compose services.
pub(super) fn names(document: &Document, path: &Path, files: &dyn Files) -> Vec<(String, String)> {
    let own = |document: &Document| -> Vec<(String, String)> {
        resources(document).into_iter().map(|it| (it.name, it.function)).collect()
    };
    let mut found = own(document);
    for call in &document.calls {
        let function = call.callee.as_str();
        let texts = call.args.first().map(|it| it.literals(document)).unwrap_or_default();
        for name in texts.into_iter().map(|it| document.content(&document.tokens[it])) {
            if LOADERS.contains(&function) && !name.starts_with("ext://") {
                found.extend(files.module(path, name).iter().flat_map(|it| own(&it.document)));
            } else if ["k8s_yaml", "docker_compose"].contains(&function) {
                let text = files.read(&path.with_file_name(name)).unwrap_or_default();
                let objects = yaml::decode_stream(&text).unwrap_or_default();
                let names = objects.iter().flat_map(of_object);
                found.extend(names.map(|it| (it, name.to_owned())));
            }
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|(name, _)| seen.insert(name.clone()));
    found
}

/// The resources of a Kubernetes object or of a Compose file.
fn of_object(object: &Value) -> Vec<String> {
    if let Some(services) = object["services"].as_object() {
        return services.keys().cloned().collect();
    }
    let is_workload = object["kind"].as_str().is_some_and(|it| WORKLOADS.contains(&it));
    let name = object["metadata"]["name"].as_str().filter(|_| is_workload);
    name.map(str::to_owned).into_iter().collect()
}
