//! What counts as a difference, as a table of recorded and answered results.

use serde_json::json;

use super::*;

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn success(value: &Value, stderr: &str) -> Outcome {
    Outcome { exit_code: 0, value: Some(value.clone()), stderr: lines(stderr) }
}

fn value_difference(want: &Value, got: &Value) -> Option<String> {
    let expected = Expected::Success { value: want.clone(), log: Vec::new() };
    let exact = check(&expected, &success(got, ""), Emptiness::Exact);
    exact.map(|it| it.text().to_owned())
}

fn error_difference(error: &str, exit_code: i32, stderr: &str) -> Option<Difference> {
    let expected = Expected::Failure { error: lines(error), log: Vec::new() };
    let got = Outcome { exit_code, value: None, stderr: lines(stderr) };
    check(&expected, &got, Emptiness::Exact)
}

#[test]
fn values_are_compared_one_by_one() {
    let same = |a, b| assert_eq!(value_difference(&a, &b), None);
    let differ = |a, b, text: &str| assert_eq!(value_difference(&a, &b).as_deref(), Some(text));
    same(json!({"a": 1, "b": [1.0]}), json!({"b": [1], "a": 1}));
    differ(json!({"a": null}), json!({}), "a: missing, want null");
    differ(json!({}), json!({"a": []}), "a: unexpected []");
    differ(json!({"a": [1, 2]}), json!({"a": [1]}), "a: 1 items, want 2");
    differ(json!({"a": [{"b": true}]}), json!({"a": [{"b": 1}]}), "a[0].b: 1, want true");
    differ(
        json!(9_007_199_254_740_993_u64),
        json!(9_007_199_254_740_992_u64),
        ": 9007199254740992, want 9007199254740993",
    );
}

#[test]
fn lenient_comparison_takes_all_empty_values_for_the_same() {
    let expected = Expected::Success { value: json!({"a": null, "b": []}), log: Vec::new() };
    let got = success(&json!({"b": {}, "c": []}), "");
    assert_eq!(check(&expected, &got, Emptiness::Lenient), None);
    assert!(check(&expected, &got, Emptiness::Exact).is_some());
}

#[test]
fn the_log_of_a_success_is_equal_line_by_line() {
    let expected = Expected::Success { value: json!(1), log: lines("a\nb") };
    let check = |stderr| check(&expected, &success(&json!(1), stderr), Emptiness::Exact);
    assert_eq!(check("a\nb"), None);
    assert_eq!(check("a").unwrap().text(), r#"log line 2: "<end>", want "b""#);
}

#[test]
fn a_failure_may_say_more_than_was_recorded() {
    let expected = Expected::Failure { error: lines("exit code 5\nError: no"), log: lines("a\nb") };
    let check = |stderr| {
        let got = Outcome { exit_code: 5, value: None, stderr: lines(stderr) };
        check(&expected, &got, Emptiness::Exact)
    };
    assert_eq!(check("a\nmore\nb\nno"), None);
    assert!(check("b\na\nno").unwrap().text().starts_with("log line 2"));
}

#[test]
fn an_error_is_found_by_its_place_and_its_words() {
    let recorded = "exit code 5\n  $DIR/Tiltfile:6:10: in f\nError in fail: got *starlark.List (did you mean x?)";
    let same = |stderr| assert_eq!(error_difference(recorded, 5, stderr), None);
    same("Tiltfile:6: Got   list");
    same("error: got List\n  --> $DIR/Tiltfile:6:99");
    let place = |stderr| {
        let found = error_difference(recorded, 5, stderr);
        assert!(
            matches!(found, Some(Difference::ErrorText(it)) if it.starts_with("error position"))
        );
    };
    place("Tiltfile:61: got list");
    place("other/Tiltfile:6: got list");
    let words = error_difference(recorded, 5, "Tiltfile:6: got dict");
    assert!(matches!(words, Some(Difference::ErrorText(it)) if it.starts_with("error message")));
    let code = error_difference(recorded, 1, "Tiltfile:6: got list");
    assert!(matches!(code, Some(Difference::Result(_))));
}

#[test]
fn a_syntax_error_has_its_place_in_the_message() {
    let recorded = "exit code 5\n$DIR/Tiltfile:3:7: got newline, want ')'";
    assert_eq!(error_difference(recorded, 5, "Tiltfile:3: got newline, want ')'"), None);
    assert!(error_difference(recorded, 5, "Tiltfile:4: got newline, want ')'").is_some());
}
