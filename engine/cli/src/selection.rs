//! Selects objects by the arguments of a command: `TYPE NAME…`, `TYPE/NAME…`, `TYPE1,TYPE2`, files.

use clap::Args;
use engine_api::{Kind, Selector};
use engine_formats::golang::quote::quote;
use serde_json::Value;

use super::{
    client::{ApiClient, Selection},
    failure::Failure,
    manifests::{FileFlags, Manifest},
    program, resource_type,
};

/// Flags that narrow a list down.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SelectorFlags {
    /// Label query, such as app=web,tier!=db or 'app in (web, api)'
    #[arg(short = 'l', long, value_name = "QUERY", default_value = "", hide_default_value = true)]
    pub(crate) selector: String,
}

impl SelectorFlags {
    /// The selector for objects from files, which the client filters itself.
    pub(crate) fn labels(&self) -> Result<Selector, Failure> {
        Selector::of_labels(&self.selector).map_err(|cause| {
            let query = quote(&self.selector);
            error(&format!("the provided selector {query} is not valid: {cause}"))
        })
    }
}

/// One target of a command.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// One object.
    Named(Kind, String),
    /// All objects of a kind that match.
    Matching(Kind, Selection),
}

impl Target {
    /// The kind of the target.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Named(kind, _) | Self::Matching(kind, _) => *kind,
        }
    }
}

/// An object that was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its name.
    pub(crate) name: String,
    /// Everything about it.
    pub(crate) object: Value,
}

/// The error for a command without a target.
pub(crate) fn nothing_named() -> Failure {
    Failure::Kubectl(
        "You must provide one or more resources by argument or filename.\nExample resource \
         specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> \
         <name>'\n   '<resource>'"
            .to_owned(),
    )
}

/// The error for `--all` together with a selector.
pub(crate) fn all_and_selector() -> Failure {
    error("setting 'all' parameter but found a non empty selector. ")
}

/// The error for names together with a selector.
pub(crate) fn names_and_selector() -> Failure {
    error("name cannot be provided when a selector is specified")
}

/// Parses the arguments of a command; `all` is a selector that matches everything.
pub(crate) fn targets(
    words: &[String],
    selection: &Selection,
    all: bool,
) -> Result<Vec<Target>, Failure> {
    let words = with_every_type(words);
    let slashes = words.iter().filter(|it| it.contains('/')).count();
    if slashes > 0 {
        return combined(&words, slashes);
    }
    let Some((types, names)) = words.split_first() else { return Ok(Vec::new()) };
    let is_selected = !selection.labels.is_empty() || !selection.fields.is_empty();
    if !names.is_empty() && is_selected {
        return Err(names_and_selector());
    }
    if names.iter().any(String::is_empty) {
        return Err(error("resource name may not be empty"));
    }
    let mut targets = Vec::new();
    for word in types.split(',') {
        let kind = resolve(word)?;
        if names.is_empty() {
            if !all && !is_selected {
                return Err(error("resource(s) were provided, but no name was specified"));
            }
            targets.push(Target::Matching(kind, selection.clone()));
        }
        targets.extend(names.iter().map(|name| Target::Named(kind, name.clone())));
    }
    Ok(targets)
}

fn error(text: &str) -> Failure {
    Failure::Kubectl(text.to_owned())
}

fn resolve(word: &str) -> Result<Kind, Failure> {
    resource_type::find(word)
        .ok_or_else(|| resource_type::unknown(word.split('.').next().unwrap_or_default()))
}

/// Several types and names are all their combinations.
fn with_every_type(words: &[String]) -> Vec<String> {
    let Some((types, names)) = words.split_first() else { return Vec::new() };
    if names.is_empty() || !types.contains(',') {
        return words.to_vec();
    }
    types
        .split(',')
        .flat_map(|kind| names.iter().map(move |name| format!("{kind}/{name}")))
        .collect()
}

fn combined(words: &[String], slashes: usize) -> Result<Vec<Target>, Failure> {
    if slashes != words.len() {
        let program = program();
        return Err(error(&format!(
            "there is no need to specify a resource type as a separate argument when passing \
             arguments in resource/name form (e.g. '{program} get resource/<resource_name>' instead of \
             '{program} get resource resource/<resource_name>'",
        )));
    }
    let mut targets = Vec::new();
    for word in words {
        let parts: Vec<&str> = word.split('/').collect();
        let &[kind, name] = parts.as_slice() else {
            return Err(error("arguments in resource/name form may not have more than one slash"));
        };
        if kind.is_empty() || name.is_empty() || kind.contains(',') {
            return Err(error(
                "arguments in resource/name form must have a single resource and name",
            ));
        }
        targets.push(Target::Named(resolve(kind)?, name.to_owned()));
    }
    Ok(targets)
}

/// Finds the objects; returns those that exist even if others are missing.
pub(crate) fn find(
    client: &ApiClient,
    targets: &[Target],
    ignore_not_found: bool,
) -> (Vec<Found>, Vec<Failure>) {
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for target in targets {
        let result = match target {
            Target::Named(kind, name) => client.get(*kind, name).map(|object| vec![object]),
            Target::Matching(kind, selection) => client.list(*kind, selection),
        };
        match result {
            Ok(objects) => {
                found.extend(objects.into_iter().map(|it| Found::new(target.kind(), it)))
            }
            Err(failure) if ignore_not_found && failure.is_not_found() => {}
            Err(failure) => {
                let is_fatal = failure.is_unreachable();
                failures.push(failure);
                if is_fatal {
                    break;
                }
            }
        }
    }
    (found, failures)
}

impl Found {
    /// An object of a kind.
    pub(crate) fn new(kind: Kind, object: Value) -> Self {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Self { kind, name, object }
    }
}

/// The objects that files name.
pub(crate) fn in_files(files: &FileFlags, words: &[String]) -> Result<Vec<Target>, Failure> {
    if !words.is_empty() {
        return Err(error(
            "when paths, URLs, or stdin is provided as input, you may not specify resource arguments \
             as well",
        ));
    }
    let mut targets = Vec::new();
    for manifest in files.read()? {
        let Manifest { kind, name, .. } = manifest?;
        targets.push(Target::Named(kind, name));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], want: &str) {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let got = match targets(&words, &Selection::default(), true) {
            Ok(targets) => targets
                .iter()
                .map(|it| match it {
                    Target::Named(kind, name) => format!("{}/{name}", kind.name()),
                    Target::Matching(kind, _) => kind.name().to_owned(),
                })
                .collect::<Vec<_>>()
                .join(" "),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(got, want, "{words:?}");
    }

    #[test]
    fn words_mean_objects_as_in_kubectl() {
        check(&[], "");
        check(&["uiresource"], "UIResource");
        check(&["uiresource,cm"], "UIResource ConfigMap");
        check(&["uiresource", "a", "b"], "UIResource/a UIResource/b");
        check(&["uiresource/a", "cm/b"], "UIResource/a ConfigMap/b");
        check(&["uiresource,cm", "a"], "UIResource/a ConfigMap/a");
        check(&["bogus"], "error: the server doesn't have a resource type \"bogus\"");
        check(&["bogus.v1.apps"], "error: the server doesn't have a resource type \"bogus\"");
        check(&["Cm"], "error: the server doesn't have a resource type \"Cm\"");
        check(&["uiresource", ""], "error: resource name may not be empty");
        check(
            &["a/b/c"],
            "error: arguments in resource/name form may not have more than one slash",
        );
        check(
            &["uiresource/"],
            "error: arguments in resource/name form must have a single resource and name",
        );
    }

    #[test]
    fn a_name_and_a_selector_exclude_each_other() {
        let words = ["uiresource".to_owned(), "a".to_owned()];
        let selection = Selection { labels: "x".to_owned(), ..Selection::default() };
        let failure = targets(&words, &selection, true).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "error: name cannot be provided when a selector is specified"
        );
    }
}
