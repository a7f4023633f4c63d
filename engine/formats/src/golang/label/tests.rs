//! Which labels and names are accepted.

use super::*;

#[test]
fn labels_are_checked_in_the_validators_words() {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
        with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
        for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let value_rule = "a valid label must be an empty string or consist of alphanumeric characters, \
        '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  \
        or 'my_value',  or '12345', regex used for validation is \
        '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let long = "a".repeat(64);
    for (label, expected) in [
        ("a", String::new()),
        ("A.b_c-1", String::new()),
        ("a b", format!("Invalid label \"a b\": name part {rule}")),
        ("-a", format!("Invalid label \"-a\": name part {rule}")),
        ("", format!("Invalid label \"\": name part must be non-empty, name part {rule}")),
        ("a/b", format!("Invalid label \"a/b\": {value_rule}")),
        ("/b", "Invalid label \"/b\": prefix part must be non-empty".to_owned()),
        (
            "a/b/c",
            format!(
                "Invalid label \"a/b/c\": a valid label key {rule} with an optional DNS subdomain \
                 prefix and '/' (e.g. 'example.com/MyName')"
            ),
        ),
        (&long, format!("Invalid label \"{long}\": name part must be no more than 63 bytes")),
    ] {
        let found = check_label(label).err().map_or(String::new(), |error| error.to_string());
        assert_eq!(found, expected, "{label}");
    }
}

#[test]
fn names_have_to_be_path_segments() {
    for (name, expected) in [
        ("", ""),
        ("a b:C", ""),
        ("a/b", "invalid value \"a/b\": may not contain '/'"),
        ("a%/b", "invalid value \"a%/b\": may not contain '/'"),
        ("%", "invalid value \"%\": may not contain '%'"),
        (".", "invalid value \".\": may not be '.'"),
        ("..", "invalid value \"..\": may not be '..'"),
    ] {
        let found = check_name(name).err().map_or(String::new(), |error| error.to_string());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn names_are_made_usable() {
    let long = "abc123".repeat(50);
    assert_eq!(sanitize_name("$/./a%b"), "$_._a_b");
    assert_eq!((sanitize_name("."), sanitize_name("..")), ("_".to_owned(), "__".to_owned()));
    assert_eq!(sanitize_name(&long), format!("{}-3c8e47c5", &long[..244]));
}
