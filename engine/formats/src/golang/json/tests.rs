//! Numbers, escapes and robustness of the JSON reader and writer.
//!
//! What Go says about broken texts is recorded beside the YAML tests.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn numbers_are_integers_unless_they_have_a_point() {
    let tilt =
        |text: &str| decode_single(text).and_then(Json::into_tilt_value).map_err(|e| e.to_string());
    let err = |text: &str| Err(text.to_owned());
    assert_eq!(tilt("[1, 1.0, -2]"), Ok(json!([1, 1.0, -2])));
    assert_eq!(tilt("1e3"), err("strconv.ParseInt: parsing \"1e3\": invalid syntax"));
    assert_eq!(
        tilt("9223372036854775808"),
        err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range")
    );
    assert_eq!(tilt("1.5e400"), err("strconv.ParseFloat: parsing \"1.5e400\": value out of range"));
    let kubernetes = decode("[1e3, 9223372036854775808, 7]").and_then(Json::into_kubernetes_value);
    assert_eq!(kubernetes, Ok(json!([1000.0, 9_223_372_036_854_775_808.0, 7])));
}

#[test]
fn bytes_that_are_no_utf8_are_replaced_one_by_one() {
    assert_eq!(valid_utf8(b"a\xe2\x82z\xff"), "a\u{fffd}\u{fffd}z\u{fffd}");
    assert_eq!(decode(b"\"\xff\""), Ok(Json::String("\u{fffd}".to_owned())));
}

#[test]
fn html_is_escaped_unless_asked_otherwise() {
    let value = json!({"b": "<&>\u{2028}\u{1}", "a": [[], {}]});
    assert_eq!(encode(&value), r#"{"a":[[],{}],"b":"\u003c\u0026\u003e\u2028\u0001"}"#);
    let plain = Encoder { indent: Some("\t"), escape_html: false };
    assert_eq!(
        plain.encode(&value),
        "{\n\t\"a\": [\n\t\t[],\n\t\t{}\n\t],\n\t\"b\": \"<&>\\u2028\\u0001\"\n}"
    );
}

#[test]
fn nesting_ends_at_ten_thousand() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let decoded = |depth| decode(nested(depth)).map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(decoded(10_000), Ok(()));
    assert_eq!(decoded(10_001), Err("invalid character '[' exceeded max depth".to_owned()));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
        let _ = decode(&bytes);
        let _ = decode_single(&bytes);
    }

    #[test]
    fn json_like_text_is_decoded_or_refused(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- ntr]{0,40}"#) {
        let ours = decode(&text).is_ok();
        prop_assert_eq!(ours, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn what_is_written_is_read_back(value in crate::yaml::tests::arbitrary_value()) {
        let read = decode(encode(&value)).and_then(Json::into_kubernetes_value);
        prop_assert_eq!(read, Ok(value));
    }
}

#[test]
fn keys_are_written_in_byte_order() {
    let value: Value = json!({"b": 1, "a10": 2, "a2": 3, "B": 4, "é": 5});
    assert_eq!(encode(&value), r#"{"B":4,"a10":2,"a2":3,"b":1,"é":5}"#);
}
