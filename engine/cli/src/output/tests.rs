//! Formats as data: an object in, the printed text out.

use serde_json::json;

use super::*;

fn flags(output: &str) -> OutputFlags {
    OutputFlags {
        output: output.to_owned(),
        allow_missing_template_keys: true,
        ..OutputFlags::default()
    }
}

fn object() -> Value {
    json!({
        "kind": "ConfigMap",
        "apiVersion": "tilt.dev/v1alpha1",
        "metadata": {"name": "cm", "managedFields": [{"manager": "x"}], "labels": {"l": "m"}},
        "data": {"multi": "a\n b\n", "one": "1", "on": "yes"},
        "list": [{"a": 1}, {"b": [true, null, 1.5]}],
    })
}

fn printed(output: &str) -> String {
    let flags = flags(output);
    match Format::read(&flags, Formats::WithTables).and_then(|it| it.print(&object(), &flags, 0)) {
        Ok(text) => text,
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn every_format_prints_as_in_kubectl() {
    let cases = [
        ("name", "configmap.tilt.dev/cm\n"),
        ("NAME", "configmap.tilt.dev/cm\n"),
        ("jsonpath={.data.one}", "1"),
        ("jsonpath-as-json={.data.one}", "[\n    \"1\"\n]\n"),
        ("go-template={{.metadata.name}}:{{.nope}}", "cm:<no value>"),
        ("go-template={{range $k, $v := .data}}{{$k}} {{end}}", "multi on one "),
        ("go-template={{if exists . \"data\" \"one\"}}y{{end}}{{base64decode \"aGk=\"}}", "yhi"),
        (
            "custom-columns=NAME:.metadata.name,X:.nope,L:.list,D:metadata.labels",
            "NAME   X        L                                 D\n\
             cm     <none>   [map[a:1] map[b:[true <nil> 1.5]]]   map[l:m]\n",
        ),
        ("jsonpath={.data", "error: error parsing jsonpath {.data, unclosed action"),
        ("jsonpath=", "error: template format specified but no template given"),
        (
            "custom-columns=A",
            "error: unexpected custom-columns spec: A, expected <header>:<json-path-expr>",
        ),
        (
            "bogus",
            "error: unable to match a printer suitable for the output format \"bogus\", allowed formats are: \
             custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
             jsonpath-file,kyaml,name,template,templatefile,wide,yaml",
        ),
    ];
    for (output, want) in cases {
        let squeeze =
            |text: &str| text.split(' ').filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
        let got = printed(output);
        if output.starts_with("custom-columns=N") {
            assert_eq!(squeeze(&got), squeeze(want), "{output}");
        } else {
            assert_eq!(got, want, "{output}");
        }
    }
}

#[test]
fn kyaml_folds_texts_and_quotes_what_is_ambiguous() {
    expect_test::expect![[r#"
        ---
        {
          apiVersion: "tilt.dev/v1alpha1",
          data: {
            multi: "\
               a\n\
              \ b\n\
              ",
            "on": "yes",
            one: "1",
          },
          kind: "ConfigMap",
          list: [{
            a: 1,
          }, {
            b: [
              true,
              null,
              1.5,
            ],
          }],
          metadata: {
            labels: {
              l: "m",
            },
            name: "cm",
          },
        }
    "#]]
    .assert_eq(&printed("kyaml"));
}

#[test]
fn managed_fields_are_shown_only_on_demand() {
    assert!(!printed("json").contains("managedFields"));
    let flags = OutputFlags { show_managed_fields: true, ..flags("yaml") };
    let format = Format::read(&flags, Formats::WithTables).unwrap();
    assert!(format.print(&object(), &flags, 0).unwrap().contains("managedFields"));
    assert!(format.print(&object(), &flags, 1).unwrap().starts_with("---\n"));
}

#[test]
fn columns_line_up() {
    let rows =
        [vec!["NAME".to_owned(), "CREATED AT".to_owned()], vec!["é".to_owned(), "x".to_owned()]];
    assert_eq!(align(&rows), "NAME   CREATED AT\né      x\n");
    assert_eq!(align(&[vec!["a".to_owned(), "b".to_owned()]]), "a     b\n");
}
