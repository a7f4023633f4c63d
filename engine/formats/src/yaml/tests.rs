//! The readers and writers against answers that were recorded from the Go libraries.
//!
//! Each line of `tests/recorded.jsonl` names an operation, its input, and what Go printed for it:
//! sigs.k8s.io/yaml and go-yaml v4 as readers, sigs.k8s.io/yaml and gopkg.in/yaml.v3 as writers,
//! and encoding/json.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::emit::{Tree, emit_v3};
use super::node::{Kind, NodeId, Stream};
use super::*;
use crate::golang::{json, quote::quote};

fn read_json(text: &str) -> Result<Value, String> {
    json::decode_single(text)
        .and_then(json::Json::into_kubernetes_value)
        .map_err(|error| error.to_string())
}

fn print_nodes(stream: &Stream<'_>, id: NodeId, out: &mut String) {
    let node = &stream[id];
    let (kind, children) = match &node.kind {
        Kind::Scalar { .. } => ("scalar", Vec::new()),
        Kind::Alias { .. } => ("alias", Vec::new()),
        Kind::Sequence { items, .. } => ("seq", items.clone()),
        Kind::Mapping { entries, .. } => {
            ("map", entries.iter().flat_map(|(key, value)| [*key, *value]).collect())
        }
    };
    let text = quote(node.text());
    write!(out, "({kind} {} {text} {}:{}", node.tag(), node.line, node.column).unwrap();
    for child in children {
        out.push(' ');
        print_nodes(stream, child, out);
    }
    out.push(')');
}

fn read_v4(text: &str) -> Result<String, String> {
    let (stream, failure) = node::parse_until_error(text);
    let mut out = String::new();
    for document in &stream.documents {
        let value = stream.to_value(*document).map_err(|error| error.to_string())?;
        out.push_str(&json::encode(&value));
        out.push('\n');
    }
    failure.map_or(Ok(out), |error| Err(error.to_string()))
}

fn nodes_v4(text: &str) -> Result<String, String> {
    let stream = node::parse(text).map_err(|error| error.to_string())?;
    let mut out = String::new();
    for document in &stream.documents {
        print_nodes(&stream, *document, &mut out);
        out.push('\n');
    }
    Ok(out)
}

fn split(text: &str) -> Result<String, String> {
    let documents: Result<Vec<_>, _> = documents(text).collect();
    let documents = documents.map_err(|error| error.to_string())?;
    Ok(if documents.is_empty() { "null".to_owned() } else { json::encode(&json!(documents)) })
}

/// Does what the recording did with the Go libraries.
fn perform(operation: &str, input: &str) -> Result<String, String> {
    match operation {
        "v2" => decode_v2(input).map(|v| json::encode(&v)).map_err(|e| e.while_unmarshaling()),
        "v4" => read_v4(input),
        "node4" => nodes_v4(input),
        "split" => split(input),
        "emit2" => emit_v2(&read_json(input)?).map_err(|error| error.to_string()),
        "emit3" => Ok(emit_v3(&Tree::from_value(&read_json(input)?))),
        "jsonindent" => {
            let encoder = json::Encoder { indent: Some("  "), escape_html: true };
            Ok(encoder.encode(&read_json(input)?) + "\n")
        }
        "json" => {
            let decoded = json::decode_single(input).map_err(|error| error.to_string())?;
            Ok(json::encode(&decoded.into_kubernetes_value().unwrap()))
        }
        "jsonunmarshal" => {
            json::decode(input).map(|_| "ok".to_owned()).map_err(|error| error.to_string())
        }
        _ => panic!("unknown operation {operation}"),
    }
}

#[test]
fn every_answer_is_the_one_that_go_gives() {
    let mut wrong = String::new();
    for line in include_str!("tests/recorded.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| case[name].as_str();
        let (operation, input) = (field("op").unwrap(), field("in").unwrap());
        let expected = match field("err") {
            Some(error) => Err(error.to_owned()),
            None => Ok(field("out").unwrap_or_default().to_owned()),
        };
        let found = perform(operation, input);
        if found != expected {
            writeln!(wrong, "{operation} {input:?}\n  go:   {expected:?}\n  ours: {found:?}")
                .unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Runs a test with the stack that deep documents need.
fn with_deep_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test).unwrap();
    thread.join().unwrap();
}

#[test]
fn nesting_is_limited() {
    with_deep_stack(|| {
        let error = |text: &str| decode_v2(text).unwrap_err().while_unmarshaling();
        let flow = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(emit_v2(&decode_v2(flow(10_000)).unwrap()).is_ok());
        let too_deep = "error converting YAML to JSON: yaml: exceeded max depth of 10000";
        assert_eq!(error(&flow(10_001)), too_deep);
        assert_eq!(error(&"- ".repeat(10_001)), too_deep);
        // Two levels for each bracket: within the scanner's limit, beyond that of JSON.
        let pairs = "[a: ".repeat(9_000) + "1" + &"]".repeat(9_000);
        assert_eq!(
            error(&pairs),
            "error unmarshaling JSON: while decoding JSON: invalid character '[' exceeded max depth"
        );
    });
}

#[test]
fn aliases_cannot_blow_a_document_up() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, inner) in ('b'..='i').zip('a'..) {
        writeln!(bomb, "{name}: &{name} [{}]", vec![format!("*{inner}"); 9].join(",")).unwrap();
    }
    let refused = "yaml: document contains excessive aliasing";
    assert_eq!(decode_v2(&bomb).unwrap_err().to_string(), refused);
    let stream = node::parse(&bomb).unwrap();
    assert_eq!(stream.to_value(stream.documents[0]).unwrap_err().to_string(), refused);
}

#[test]
fn bytes_that_are_no_utf8_are_named() {
    let error = |bytes: &[u8]| decode_v2(bytes).unwrap_err().to_string();
    assert_eq!(error(b"a: \xff"), "yaml: invalid leading UTF-8 octet");
    assert_eq!(error(b"a: \xe2\x82"), "yaml: incomplete UTF-8 octet sequence");
    assert_eq!(error(b"a: \xe2\x28\xa1"), "yaml: invalid trailing UTF-8 octet");
    assert_eq!(error(b"a: \xc0\x80"), "yaml: invalid length of a UTF-8 sequence");
    assert_eq!(error(b"a: \xed\xa0\x80"), "yaml: invalid Unicode character");
    assert_eq!(decode_v2(b"\xff\xfea\0:\0 \0b\0").unwrap(), json!({"a": "b"}));
}

#[test]
fn null_documents_are_left_out_of_a_stream() {
    let stream = decode_stream("---\n# nothing\n---\na: 1\n---\n~\n---\n- b\n").unwrap();
    assert_eq!(stream, [json!({"a": 1}), json!(["b"])]);
    let error = decode_stream("a: 1\n--- b\n").unwrap_err();
    assert_eq!(error, Error::Separator("b".to_owned()));
}

#[test]
fn fields_keep_their_order_and_scalars_their_style() {
    let tree = Tree::Mapping(vec![
        ("z".into(), Tree::Plain("1".into())),
        ("a".into(), Tree::Styled("x".into(), node::Style::SingleQuoted)),
        ("l".into(), Tree::Sequence(vec![Tree::Text("80:22".into())])),
    ]);
    assert_eq!(emit_v3(&tree), "z: 1\na: 'x'\nl:\n    - \"80:22\"\n");
}

/// Makes values that YAML and JSON can both express without loss.
pub(crate) fn arbitrary_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(decode_v2::float_through_json),
    ];
    // Characters that JSON does not escape and YAML does not allow are left out.
    let text = "([ -~\n\t\u{a0}-\u{d7ff}\u{10000}-\u{1ffff}]|yes|[0-9]|: | #|- ){0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = decode_v2(&bytes);
    }

    #[test]
    fn yaml_like_text_is_read_or_refused(
        text in "([ \t\n\r:#?&*!|>%@'\"{},\\[\\]\\\\-]|a|<<|\\.\\.\\.|---|&a |\\*a|!!int |1|é|\u{2028}){0,40}"
    ) {
        let _ = decode_v2(&text);
        let (stream, _) = node::parse_until_error(&text);
        for document in &stream.documents {
            let _ = stream.to_value(*document);
        }
        documents(&text).for_each(drop);
    }

    #[test]
    fn what_is_written_is_read_back(value in arbitrary_value()) {
        let written = emit_v2(&value).unwrap();
        prop_assert_eq!(decode_v2(&written), Ok(value), "{}", written);
    }
}

#[test]
fn keys_in_messages_are_quoted_as_in_go() {
    let error = read_v4("\"\\u200b\": 1\n\"\\u200b\": 2\n").unwrap_err();
    assert!(error.contains(r#"mapping key "\u200b" already defined at line 1"#), "{error}");
}
