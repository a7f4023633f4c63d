//! The environment of commands.

use engine_cli::connect::AUTO;

/// Whether those who read a command's output see colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// They do.
    On,
    /// They do not.
    Off,
}

/// The environment of a command: the engine's, what a command may rely on unless it is set
/// already, and the command's own `NAME=VALUE` pairs; of several values, the last counts.
pub fn child_env(
    base: &[(String, String)],
    web_host: &str,
    web_port: u16,
    colors: Colors,
    extra: &[String],
) -> Vec<(String, String)> {
    let port = web_port.to_string();
    let defaults = [
        ("LINES", "24"),
        ("COLUMNS", "80"),
        ("FORCE_COLOR", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("TILT_PORT", &port),
        ("TILT_HOST", web_host),
        ("TILT_DISABLE_ANALYTICS", "1"),
    ];
    let mut env: Vec<(String, String)> = Vec::with_capacity(base.len() + defaults.len());
    for (name, value) in base.iter().filter(|(name, value)| name != "TILT_PORT" || value != AUTO) {
        set(&mut env, name, value);
    }
    for (name, value) in defaults {
        let is_wanted = name != "FORCE_COLOR" || colors == Colors::On;
        if is_wanted && !env.iter().any(|(it, _)| it == name) {
            env.push((name.to_owned(), value.to_owned()));
        }
    }
    for (name, value) in extra.iter().filter_map(|it| it.split_once('=')) {
        set(&mut env, name, value);
    }
    env
}

fn set(env: &mut Vec<(String, String)>, name: &str, value: &str) {
    match env.iter_mut().find(|(it, _)| it == name) {
        Some((_, old)) => value.clone_into(old),
        None => env.push((name.to_owned(), value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(base: &[(&str, &str)], colors: Colors, extra: &[&str], expected: &Expect) {
        let base: Vec<_> = base.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let extra: Vec<_> = extra.iter().map(|it| (*it).to_owned()).collect();
        let env = child_env(&base, "localhost", 10350, colors, &extra);
        let lines: Vec<_> = env.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        expected.assert_eq(&lines.concat());
    }

    #[test]
    fn defaults_are_added() {
        check(
            &[("HOME", "/h"), ("TILT_PORT", "auto")],
            Colors::On,
            &[],
            &expect![[r#"
                HOME=/h
                LINES=24
                COLUMNS=80
                FORCE_COLOR=1
                PYTHONUNBUFFERED=1
                TILT_PORT=10350
                TILT_HOST=localhost
                TILT_DISABLE_ANALYTICS=1
            "#]],
        );
    }

    #[test]
    fn what_is_set_stays_and_the_last_value_counts() {
        check(
            &[("LINES", "3"), ("TILT_HOST", ""), ("A", "1"), ("A", "2"), ("FORCE_COLOR", "0")],
            Colors::Off,
            &["A=3=4", "B=", "COLUMNS=5", "nothing", "B=6"],
            &expect![[r#"
                LINES=3
                TILT_HOST=
                A=3=4
                FORCE_COLOR=0
                COLUMNS=5
                PYTHONUNBUFFERED=1
                TILT_PORT=10350
                TILT_DISABLE_ANALYTICS=1
                B=6
            "#]],
        );
    }
}
