//! What switches say about resources and objects.

use expect_test::expect;

use super::check;

#[test]
fn the_switch_of_a_resource_decides_whether_it_takes_part() {
    check(&expect![[r#"
        > load a
        > map a-disable isDisabled=false
          update a: Initial Build
        > map a-disable isDisabled=true
          Info [a] Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
        > map a-disable isDisabled=maybe
        > map a-disable isDisabled=false
        > map a-disable isDisabled=1
          Info [a] Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
        > map a-disable isDisabled=f
          Info [a] Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
        > remove map a-disable
        > map other-disable isDisabled=true
    "#]]);
}

#[test]
fn a_load_says_itself_which_of_its_resources_take_part() {
    check(&expect![[r#"
        > load a
        > map a-disable isDisabled=false
          update a: Initial Build
        > load-map a-disable isDisabled=true
        > load-map m off=true
    "#]]);
}

#[test]
fn an_object_shows_what_its_switches_say_and_since_when() {
    check(&expect![[r#"
        > apply a
          publish KubernetesApply a
        > status apply a
          Enabled since 0: Unspecified
        > apply a switched
          publish KubernetesApply a
        > status apply a
          Error since 0: NoSource
        > apply a off=m
          publish KubernetesApply a
        > status apply a
          Pending since 0: NoConfigMap { map: "m" }
        > +1
        > map m off=true
          publish KubernetesApply a
        > status apply a
          Disabled since 1000: Says { map: "m", key: "off", is_disabled: true }
        > +1
        > map m off=true x=1
        > status apply a
          Disabled since 1000: Says { map: "m", key: "off", is_disabled: true }
        > map m x=1
          publish KubernetesApply a
        > status apply a
          Error since 2000: NoKey { map: "m", key: "off" }
        > map m off=perhaps
          publish KubernetesApply a
        > status apply a
          Error since 2000: Unreadable { map: "m", key: "off", text: "perhaps" }
        > map m off=F
          publish KubernetesApply a
        > status apply a
          Enabled since 2000: Says { map: "m", key: "off", is_disabled: false }
        > remove map m
          publish KubernetesApply a
        > status apply a
          Pending since 2000: NoConfigMap { map: "m" }
        > remove apply a
        > status apply a
    "#]]);
}

#[test]
fn of_many_switches_all_must_be_off() {
    check(&expect![[r#"
        > apply a every=m every=n
          publish KubernetesApply a
        > map m off=true
          publish KubernetesApply a
        > status apply a
          Pending since 0: NoConfigMap { map: "n" }
        > map n off=true
          publish KubernetesApply a
        > status apply a
          Disabled since 0: EveryDisabled
        > map m off=false
          publish KubernetesApply a
        > status apply a
          Enabled since 0: Says { map: "m", key: "off", is_disabled: false }
    "#]]);
}

#[test]
fn an_object_that_follows_another_map_does_not_follow_the_old_one() {
    check(&expect![[r#"
        > map m off=false
        > map n off=false
        > apply a off=m
          publish KubernetesApply a
        > apply a off=n
          publish KubernetesApply a
        > map m off=true
        > status apply a
          Enabled since 0: Says { map: "n", key: "off", is_disabled: false }
        > map n off=true
          publish KubernetesApply a
        > status apply a
          Disabled since 0: Says { map: "n", key: "off", is_disabled: true }
    "#]]);
}

#[test]
fn what_arrives_late_is_ignored() {
    check(&expect![[r#"
        > cmd c serve
          run c #1: serve [ Cmd-c]
          publish Cmd c
        > stale cmd c
        > remove cmd c
          stop c #1
    "#]]);
}
