//! The names of signals and of forms.

use super::*;

#[test]
fn signals_have_the_names_of_go() {
    for (number, text) in [(1, "hangup"), (9, "killed"), (15, "terminated")] {
        assert_eq!(signal_text(number), text);
    }
    for number in [0, -1, 64, i32::MAX, i32::MIN + 1] {
        assert_eq!(signal_text(number), format!("signal {number}"));
    }
}

#[test]
fn forms_are_found_by_their_names() {
    for form in [Form::NATIVE, Form::Posix] {
        assert_eq!(Form::parse(form.name()), Some(form));
    }
    assert_eq!(Form::parse("windows"), None);
}
