//! What may differ between Tilt's extensions and the engine's: paths inside them, how they call their helpers, and the
//! Dockerfile of `restart_process`.

use serde_json::Value;

/// Stands for the folder of all extensions.
pub(crate) const ROOT: &str = "$EXT";

/// Stands for the call of a helper.
const HELPER: &str = "$HELPER";

/// Whether a line of a traceback is inside an extension.
pub(crate) fn is_frame(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|it| it.starts_with(ROOT)) && line.contains(": in ")
}

/// Replaces all that may differ.
pub(crate) fn normalize(value: &mut Value) {
    let is_inside = |it: &Value| it.as_str().is_some_and(|it| it.starts_with(ROOT));
    if let Some(Value::Array(files)) = value.get_mut("ConfigFiles")
        && files.iter().any(is_inside)
    {
        // They are sorted by paths that differ.
        files.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    walk(value);
}

fn walk(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "dockerfileContents" && is_restart(text) => {
                        "$RESTART".clone_into(text);
                    }
                    other => walk(other),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(walk);
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            if let Some(words) = words.and_then(|it| without_helper(&it)) {
                *items = words.into_iter().map(Value::String).collect();
            }
        }
        _ => {}
    }
}

fn is_restart(dockerfile: &str) -> bool {
    dockerfile.starts_with("# engine:context=restart-helper")
        || dockerfile.contains("tiltdev/restart-helper")
}

/// A command without the helper it calls: flags for programs stay, scripts have their own.
fn without_helper(words: &[&str]) -> Option<Vec<String>> {
    let is_script = |word: &str| {
        let is_inside = word.starts_with(ROOT) || word.starts_with("./");
        is_inside && [".sh", ".py"].iter().any(|it| word.ends_with(it)) && !word.contains(' ')
    };
    let rest = match words {
        ["python3", script, rest @ ..] if is_script(script) => rest,
        ["$BIN", "ext-helper", _, rest @ ..] => rest,
        ["sh", "-c", script] if is_script(script) => &[],
        ["sh" | "bash", script, ..] if is_script(script) => &[],
        [script, ..] if is_script(script) => &[],
        _ => return None,
    };
    Some([HELPER].iter().chain(rest).map(|it| (*it).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_helpers_are_equal_whatever_they_are_written_in() {
        let mut tilt = json!({"args": ["python3", "$EXT/helm_resource/a.py", "--wait"]});
        let mut ours = json!({"args": ["$BIN", "ext-helper", "helm-apply", "--wait"]});
        normalize(&mut tilt);
        normalize(&mut ours);
        assert_eq!(tilt, ours);
        assert_eq!(tilt, json!({"args": ["$HELPER", "--wait"]}));
    }

    #[test]
    fn other_commands_stay() {
        let mut value = json!([["python3", "x.py"], ["$EXT/a/Tiltfile"], ["$BIN", "get"], []]);
        let before = value.clone();
        normalize(&mut value);
        assert_eq!(value, before);
    }

    #[test]
    fn frames_of_extensions_have_other_lines() {
        assert!(is_frame("  $EXT/secret/Tiltfile:60:15: in secret_yaml"));
        assert!(!is_frame("  $DIR/Tiltfile:60:15: in secret_yaml"));
        assert!(!is_frame("  $EXT/x"));
    }
}
