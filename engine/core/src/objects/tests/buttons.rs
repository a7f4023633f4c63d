//! What clicks on buttons and toggles do.

use engine_model::spec::{
    BoolInput, ButtonInput, ButtonSpec, ChoiceInput, Click, Given, GivenInput,
};
use expect_test::expect;

use super::check;

#[test]
fn a_click_stops_the_update_that_was_running_then() {
    check(&expect![[r#"
        > load a
        > map a-disable isDisabled=false
          update a: Initial Build
        > +10
        > click a-stopbuild at=11000
          cancel a
        > click a-stopbuild at=11000
        > click ghost-stopbuild at=12000
    "#]]);
}

#[test]
fn a_toggle_is_on_if_its_config_map_says_so() {
    check(&expect![[r#"
        > toggle t
          publish ToggleButton t
        > status toggle t
          Some((false, "Spec.StateSource.ConfigMap is nil"))
        > toggle t m key
          publish ToggleButton t
        > status toggle t
          Some((false, "no such ConfigMap \"m\""))
        > map m other=x
          publish ToggleButton t
        > status toggle t
          Some((false, ""))
        > map m key=yes
          publish ToggleButton t
        > status toggle t
          Some((true, ""))
        > map m key=no
          publish ToggleButton t
        > status toggle t
          Some((false, ""))
        > map m key=perhaps
          publish ToggleButton t
        > status toggle t
          Some((false, "ConfigMap \"m\" key \"key\" has unknown value \"perhaps\". expected \"yes\" or \"no\""))
        > remove toggle t
          publish ToggleButton t
        > map m key=yes
    "#]]);
}

#[test]
fn a_click_on_a_toggle_writes_its_config_map() {
    check(&expect![[r#"
        > toggle t m key
          publish ToggleButton t
        > click toggle-t action=on at=1
        > map m key=no
          publish ToggleButton t
        > click toggle-t action=on at=2
          write m: key=yes
        > click toggle-t action=off at=3
          write m: key=no
        > click toggle-t action=sideways at=4
          publish ToggleButton t
        > status toggle t
          Some((false, "button \"toggle-t\" input \"action\" had unexpected value \"sideways\""))
        > click toggle-t x=1 at=5
          publish ToggleButton t
        > status toggle t
          Some((false, "UIButton \"toggle-t\" does not have an input named \"action\""))
        > map m key=yes
          publish ToggleButton t
        > status toggle t
          Some((true, ""))
        > click toggle-ghost action=on at=6
    "#]]);
}

#[test]
fn commands_get_what_was_typed_and_chosen_as_variables() {
    let input = |name: &str, choices: &[&str]| ButtonInput {
        name: name.to_owned(),
        bool: BoolInput { true_string: Some("yes".to_owned()), false_string: None },
        choice: ChoiceInput { choices: choices.iter().map(|it| (*it).to_owned()).collect() },
    };
    let given = |name: &str| GivenInput { name: name.to_owned(), ..GivenInput::default() };
    let text = |it: &str| Some(Given { value: it.to_owned() });
    let button = ButtonSpec {
        inputs: vec![
            input("text", &[]),
            input("on", &[]),
            input("off", &[]),
            input("hidden", &[]),
            input("chosen", &["a", "b"]),
            input("unknown", &["a", "b"]),
            input("none", &[]),
        ],
        click: Some(Click {
            at: crate::Time(1),
            inputs: vec![
                GivenInput { text: text("old"), ..given("text") },
                GivenInput { text: text("new"), ..given("text") },
                GivenInput { bool: Some(Given { value: true }), ..given("on") },
                GivenInput { bool: Some(Given { value: false }), ..given("off") },
                GivenInput { hidden: text("h"), ..given("hidden") },
                GivenInput { choice: text("b"), ..given("chosen") },
                GivenInput { choice: text("c"), ..given("unknown") },
            ],
        }),
    };
    assert_eq!(
        button.variables(),
        ["text=new", "on=yes", "off=false", "hidden=h", "chosen=b", "unknown=a", "none="]
    );
}
