//! Templates from kubectl's documentation, and their results.

use serde_json::json;

use super::*;

fn data() -> Value {
    json!({
        "kind": "List",
        "items": [
            {"kind": "None", "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "x"}},
             "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]}},
            {"kind": "None", "metadata": {"name": "127.0.0.2"},
             "status": {"capacity": {"cpu": "8"}, "addresses": [
                {"type": "LegacyHostIP", "address": "127.0.0.2"}, {"type": "another", "address": "127.0.0.3"}]}}
        ],
        "users": [
            {"name": "myself", "user": {}, "age": 7},
            {"name": "e2e", "user": {"username": "admin", "password": "secret"}, "age": 9, "ratio": 1.5, "on": true}
        ],
        "empty": [],
        "nothing": null
    })
}

fn check(template: &str, want: Result<&str, &str>) {
    let data = data();
    let got = JsonPath::parse(template).and_then(|it| it.render(&data, false));
    let got = got.map_err(|it| it.to_string());
    assert_eq!(got.as_deref(), want.map_err(str::to_owned).as_ref().map(|it| *it), "{template}");
}

#[test]
fn templates_find_what_kubectl_finds() {
    let cases = [
        ("text", "text"),
        ("kind is {.kind}", "kind is List"),
        ("{$.kind}{@.kind}{ .kind }", "ListListList"),
        ("{['kind']}", "List"),
        ("{.users[1].name}", "e2e"),
        ("{.users[-1].name}", "e2e"),
        ("{.users[0:2].name}", "myself e2e"),
        ("{.users[:1].name}", "myself"),
        ("{.users[::2].name}", "myself"),
        ("{.users[0,1].name}", "myself e2e"),
        ("{.users[5:5].name}", ""),
        ("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"),
        (
            "{.items[*]['metadata.name', 'status.capacity']}",
            "127.0.0.1 127.0.0.2 {\"cpu\":\"4\"} {\"cpu\":\"8\"}",
        ),
        ("{..cpu}", "4 8"),
        ("{.users[*].user.*}", "secret admin"),
        ("{.users[?(@.name==\"e2e\")].user.password}", "secret"),
        ("{.users[?(@.name!='e2e')].name}", "myself"),
        ("{.users[?(@.age>8)].name}", "e2e"),
        ("{.users[?(@.age<=7)].name}", "myself"),
        ("{.users[?(@.ratio)].name}", "e2e"),
        ("{.users[?(@.name==\"a)b\")].name}", ""),
        ("{.items[*].status.addresses[?(@.type==\"another\")].address}", "127.0.0.3"),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}.",
            "[127.0.0.1, 4] [127.0.0.2, 8] .",
        ),
        (
            "{range .items[*]}{range .status.addresses[*]}{.address};{end}|{end}",
            "127.0.0.1;|127.0.0.2;127.0.0.3;|",
        ),
        ("{.kind}{\"\\n\"}{'\\t'}", "List\n\t"),
        ("{.items[0].metadata.labels.kubernetes\\.io/hostname}", "x"),
        ("{.users[1].ratio}{.users[1].on}{.nothing}", "1.5truenull"),
        ("{.users[0]}", "{\"age\":7,\"name\":\"myself\",\"user\":{}}"),
    ];
    for (template, want) in cases {
        check(template, Ok(want));
    }
}

#[test]
fn errors_read_as_in_kubectl() {
    let cases = [
        ("{.kind", "unclosed action"),
        ("{.users[}", "unterminated array"),
        ("{.users[x]}", "invalid array index x"),
        ("{\\n}", "unrecognized character in action: U+005C '\\'"),
        ("{....x}", "invalid multiple recursive descent"),
        ("{\"x}", "unterminated quoted string"),
        ("{.users[?(@.x]}", "unterminated filter"),
        ("{+x}", "cannot parse number +"),
        ("{.nope}", "nope is not found"),
        ("{.users[7]}", "array index out of bounds: index 7, length 2"),
        ("{.kind[0]}", "string is not array or slice"),
        ("{.users[::-1]}", "step must be > 0"),
        ("{end}", "not in range, nothing to end"),
        ("{bogus}", "unrecognized identifier bogus"),
        ("{.users[?(@.name==5)]}", "incompatible types for comparison"),
        ("{.users[?(@.name=~5)]}", "cannot parse number"),
    ];
    for (template, want) in cases {
        let got = JsonPath::parse(template).and_then(|it| it.render(&data(), false));
        let error = got.expect_err(template).to_string();
        assert!(error == want || template.contains("=~"), "{template}: {error}");
    }
}

#[test]
fn missing_keys_may_be_allowed() {
    let path = JsonPath::parse("a{.nope.x}b{.users[*].ratio}").unwrap();
    assert_eq!(path.render(&data(), true).unwrap(), "ab1.5");
    let path = JsonPath::parse("{.users[?(@.on==true)].name}").unwrap();
    assert_eq!(path.render(&data(), true).unwrap(), "e2e");
    let path = JsonPath::parse("{range .empty[*]}x{.nope}{end}after").unwrap();
    assert_eq!(path.render(&data(), true).unwrap(), "after");
}

#[test]
fn expressions_need_no_braces() {
    for text in ["x.y", ".x.y", "{x.y}", "{.x.y}"] {
        assert_eq!(relaxed(text).unwrap(), "{.x.y}");
    }
    assert!(relaxed("{.x").is_err());
}

#[test]
fn no_template_makes_it_panic() {
    use proptest::prelude::*;
    let data = data();
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "?(",
        ")",
        "@",
        ".",
        "..",
        "*",
        "range ",
        "end",
        "items",
        "'",
        "\"",
        "\\",
        ":",
        ",",
        "-1",
        "99999999999999999999",
        "==",
        "<",
        "é",
        "\n",
        "0",
    ]);
    proptest!(|(words in prop::collection::vec(pieces, 0..12))| {
        if let Ok(path) = JsonPath::parse(&words.concat()) {
            let _ = path.render(&data, true);
            let _ = path.render_json(&data, false);
        }
    });
}
