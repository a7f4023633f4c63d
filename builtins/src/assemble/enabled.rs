//! Decides which resources are enabled.

use std::collections::{HashMap, HashSet};

use engine_formats::golang::{quote::quote_joined, spell};
use engine_model::Manifest;

use crate::{
    declarations::config::{Config, Selection},
    diagnostic::{Advice, Problem},
};

/// The resource with all remaining objects; it is always enabled.
const UNCATEGORIZED: &str = "uncategorized";

/// The names of the enabled resources in the order of the manifests, with everything they depend on.
/// `None` if there are none.
///
/// # Errors
/// If one was asked for that does not exist.
pub(crate) fn enabled(
    config: &Config,
    request_args: &[String],
    manifests: &[Manifest],
) -> Result<Option<Vec<String>>, Problem> {
    let requested: &[String] = match &config.selection {
        Selection::Nothing => return Ok(None),
        Selection::Only(names) => names,
        Selection::Unsaid if config.parsed_from.is_none() => request_args,
        Selection::Unsaid => &[],
    };
    let names = if requested.is_empty() {
        manifests.iter().map(|it| it.name.clone()).collect()
    } else {
        select(requested, manifests)?
    };
    Ok((!names.is_empty()).then_some(names))
}

fn select(requested: &[String], manifests: &[Manifest]) -> Result<Vec<String>, Problem> {
    let by_name: HashMap<&str, &Manifest> =
        manifests.iter().map(|it| (it.name.as_str(), it)).collect();
    let unknown: Vec<&str> =
        requested.iter().map(String::as_str).filter(|it| !by_name.contains_key(it)).collect();
    if !unknown.is_empty() {
        return Err(not_found(&unknown, requested, manifests));
    }
    let mut selected = HashSet::new();
    let mut pending: Vec<&str> = requested.iter().map(String::as_str).collect();
    while let Some(name) = pending.pop() {
        if selected.insert(name)
            && let Some(manifest) = by_name.get(name)
        {
            pending.extend(manifest.resource_dependencies.iter().flatten().map(String::as_str));
        }
    }
    let is_enabled = |name: &str| selected.contains(name) || name == UNCATEGORIZED;
    Ok(manifests.iter().map(|it| it.name.clone()).filter(|it| is_enabled(it)).collect())
}

fn not_found(unknown: &[&str], requested: &[String], manifests: &[Manifest]) -> Problem {
    let requested: HashSet<&str> = requested.iter().map(String::as_str).collect();
    let others: Vec<&str> =
        manifests.iter().map(|it| it.name.as_str()).filter(|it| !requested.contains(it)).collect();
    Problem::new(
        "tiltfile::unknown-resource",
        format!(
            "You specified some resources that could not be found: {}\n\
             Is this a typo? Existing resources in Tiltfile: {}",
            quote_joined(unknown, ", "),
            quote_joined(&others, ", ")
        ),
    )
    .advise(Advice::ListResources)
    .suggest(unknown.iter().find_map(|it| spell::similar(it, others.iter().copied())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::deps::tests::manifest;

    fn check(selection: Selection, parsed: bool, args: &[&str], expected: Result<&[&str], &str>) {
        let config =
            Config { selection, parsed_from: parsed.then(|| "/d".to_owned()), ..Config::default() };
        let args: Vec<String> = args.iter().map(|it| (*it).to_owned()).collect();
        let manifests = [
            manifest("a", &["b"]),
            manifest("b", &["c"]),
            manifest("c", &[]),
            manifest("d", &[]),
            manifest("uncategorized", &[]),
        ];
        let actual = enabled(&config, &args, &manifests);
        let actual = actual.as_ref().map(|it| it.iter().flatten().map(String::as_str).collect());
        let actual: Result<Vec<&str>, &str> = actual.map_err(|it| it.message.as_str());
        assert_eq!(actual, expected.map(<[&str]>::to_vec));
    }

    fn only(names: &[&str]) -> Selection {
        Selection::Only(names.iter().map(|it| (*it).to_owned()).collect())
    }

    const ALL: &[&str] = &["a", "b", "c", "d", "uncategorized"];

    #[test]
    fn everything_is_enabled_unless_somebody_chooses() {
        check(Selection::Unsaid, false, &[], Ok(ALL));
        check(Selection::Unsaid, true, &["no-resource"], Ok(ALL));
        check(Selection::Nothing, false, &["a"], Ok(&[]));
    }

    #[test]
    fn a_choice_includes_dependencies_and_keeps_the_order_of_manifests() {
        check(only(&["d", "b"]), false, &["a"], Ok(&["b", "c", "d", "uncategorized"]));
        check(Selection::Unsaid, false, &["a"], Ok(&["a", "b", "c", "uncategorized"]));
    }

    #[test]
    fn unknown_names_are_reported_beside_those_that_were_not_asked_for() {
        check(
            Selection::Unsaid,
            false,
            &["a", "zip", "b", "zap"],
            Err("You specified some resources that could not be found: \"zip\", \"zap\"\n\
                 Is this a typo? Existing resources in Tiltfile: \"c\", \"d\", \"uncategorized\""),
        );
    }

    #[test]
    fn without_resources_nothing_is_enabled() {
        assert_eq!(enabled(&Config::default(), &[], &[]), Ok(None));
    }
}
