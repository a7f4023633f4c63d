//! What holds of the three-way merge whatever the three sides are.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    Drift,
    equal::covers,
    merge::{merge, without_nulls},
    patch::patch,
    shape,
};

/// A value with few names and few plain values, so that sides often agree.
fn value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[ab]?".prop_map(Value::from),
    ];
    plain.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            3 => fields(inner.clone()),
            1 => proptest::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let entry = ("[abc]", inner);
    proptest::collection::vec(entry, 0..4)
        .prop_map(|it| it.into_iter().collect::<Map<_, _>>().into())
}

/// An object, as the server has it or as somebody wants it.
fn object() -> impl Strategy<Value = Value> {
    let containers = proptest::collection::btree_map("[xyz]", "[ab]", 0..3).prop_map(|all| {
        let one = |(name, image)| json!({"name": name, "image": image});
        Value::Array(all.into_iter().map(one).collect())
    });
    (fields(value()), containers).prop_map(
        |(fields, containers)| json!({"spec": {"containers": containers, "more": fields}}),
    )
}

fn merged(original: Option<&Value>, wanted: &Value, live: &Value, drift: Drift) -> Value {
    merge(original, wanted, live, shape::of_kind("", "Pod"), drift).object
}

proptest! {
    #[test]
    fn what_is_wanted_as_before_writes_nothing(wanted in object(), live in object()) {
        let live = without_nulls(&live);
        let result = merged(Some(&wanted), &wanted, &live, Drift::Keep);
        prop_assert_eq!(patch(&live, &result), Vec::<Value>::new());
    }

    #[test]
    fn what_was_applied_is_not_written_again(
        original in proptest::option::of(object()),
        wanted in object(),
        live in object(),
        is_overwritten in any::<bool>(),
    ) {
        let drift = if is_overwritten { Drift::Overwrite } else { Drift::Keep };
        let first = merged(original.as_ref(), &wanted, &without_nulls(&live), drift);
        let second = merged(Some(&wanted), &wanted, &first, drift);
        prop_assert_eq!(patch(&first, &second), Vec::<Value>::new());
    }

    #[test]
    fn overwriting_gives_all_that_is_wanted(
        original in proptest::option::of(object()),
        wanted in object(),
        live in object(),
    ) {
        let live = without_nulls(&live);
        let result = merged(original.as_ref(), &wanted, &live, Drift::Overwrite);
        let more = &without_nulls(&wanted)["spec"]["more"];
        prop_assert!(covers(&result["spec"]["more"], more, ""), "{} is not {}", result, wanted);
    }

    #[test]
    fn what_nobody_asked_for_stays(
        original in proptest::option::of(object()),
        wanted in object(),
        mut live in object(),
    ) {
        live["spec"]["theirs"] = json!({"a": 1});
        let sidecar = json!({"name": "sidecar", "image": "theirs"});
        live["spec"]["containers"].as_array_mut().unwrap().push(sidecar.clone());
        let result = merged(original.as_ref(), &wanted, &without_nulls(&live), Drift::Overwrite);
        prop_assert_eq!(&result["spec"]["theirs"], &live["spec"]["theirs"]);
        prop_assert!(result["spec"]["containers"].as_array().unwrap().contains(&sidecar));
    }
}
