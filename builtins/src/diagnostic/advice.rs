//! The way out of common problems, known by Tilt's words for them.

/// What part of a message tells, and what to do about it.
const ADVICE: &[(&str, &str)] = &[
    (
        "Unable to find Helm installation",
        "install helm, or put the directory that has it first in PATH",
    ),
    (
        "might be production",
        "add `allow_k8s_contexts(...)`, or pass `--context` with a local cluster's context",
    ),
    (
        "might be a production kube context",
        "move `allow_k8s_contexts(...)` above this call, or pass `--context` with a local cluster's context",
    ),
    ("invalid escape sequence", "write the backslash twice, or put an `r` in front of the string"),
    (
        "unexpected keyword argument",
        "see the parameters of this function in the Tiltfile API reference",
    ),
    ("global variable", "move the statement that assigns it above this line"),
    (
        "referenced before assignment",
        "a function that assigns a name owns it: pass the value in, or return it",
    ),
    (
        "cannot append to frozen list",
        "values of a loaded file cannot change: copy the list first, `list(x)`",
    ),
    (
        "cannot insert into frozen hash table",
        "values of a loaded file cannot change: copy the dict first, `dict(x)`",
    ),
    ("Circular load", "move what both files need into a third one"),
    ("Duplicate YAML", "remove one of the two, or pass `allow_duplicates=True`"),
    (
        "string value is not iterable",
        "use `.elems()` to go through its characters, or put it into a list",
    ),
    (
        "live_update steps that were created but not used",
        "pass each step to the `live_update` argument of an image build",
    ),
    (
        "has already been defined",
        "give each image one build, and use the same name in the deployment",
    ),
    ("could not find any deployment instructions", "add `k8s_yaml(...)` or `docker_compose(...)`"),
    (
        "cycle detected in resource dependency graph",
        "remove one of the `resource_deps` of the cycle",
    ),
    (
        "You specified some resources that could not be found",
        "`engine get uiresources` lists the names",
    ),
    ("unknown flag", "flags of the Tiltfile come after `--`, and need a `config.define_*` call"),
    (
        "is not a child of any watched filepaths",
        "sync from inside the build context or the deps of the image",
    ),
    (
        "fall_back_on steps must appear at the start",
        "order the steps: initial_sync, fall_back_on, sync, run, restart_container",
    ),
];

/// The way out of a problem with this message.
pub(super) fn help(message: &str) -> Option<String> {
    if let Some(suggestion) = suggestion(message) {
        return Some(format!("did you mean `{suggestion}`?"));
    }
    ADVICE.iter().find(|(part, _)| message.contains(part)).map(|(_, advice)| (*advice).to_owned())
}

/// The name that a message suggests itself.
fn suggestion(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("(did you mean ")?;
    let (name, _) = rest.split_once("?)")?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_of_the_message_becomes_its_help() {
        let message =
            r#"docker_build: unexpected keyword argument "contxt" (did you mean context?)"#;
        assert_eq!(help(message).as_deref(), Some("did you mean `context`?"));
    }

    #[test]
    fn known_words_have_a_way_out_and_others_none() {
        assert!(help("Circular load: /x").is_some());
        assert_eq!(help("check failed"), None);
    }
}
