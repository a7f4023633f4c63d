//! In which forms a secret may appear in text: as it is, escaped, encoded, or line by line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};

use super::MIN_SECRET;

/// How many bytes all forms may have together that Tilt does not know; each costs about 60 bytes of memory.
const MAX_BYTES: usize = 512 << 10;
/// Shorter lines of a value are not secret by themselves.
const MIN_LINE: usize = 16;
/// Lines with fewer different characters are rulers and the like.
const MIN_VARIETY: usize = 6;
/// Who puts longer values into a URL?
const MAX_IN_URL: usize = 4096;
/// Where programs break lines of base64.
const WIDTHS: [usize; 2] = [76, 64];

/// What programs leave as it is in URLs, apart from letters and digits: most of them; browsers; paths; users and
/// passwords; segments of paths.
const SAFE_IN_URLS: [&str; 5] = ["-_.~", "-_.~!*'()", "-_.~/", "-_.~$&+,;=", "-_.~$&+=:@"];

/// All forms of some values, each with what it is replaced by.
pub(super) fn of(values: &BTreeMap<Vec<u8>, String>) -> BTreeMap<String, String> {
    let mut forms = BTreeMap::new();
    for (value, replacement) in values {
        for form in exact(value) {
            forms.insert(form, replacement.clone());
        }
    }
    // If there is not room for all, long values must do without.
    let mut by_length: Vec<_> = values.iter().collect();
    by_length.sort_by_key(|(value, _)| value.len());
    let mut bytes = 0;
    for (value, replacement) in by_length {
        for form in derived(value) {
            if bytes + form.len() <= MAX_BYTES && !forms.contains_key(&form) {
                bytes += form.len();
                forms.insert(form, replacement.clone());
            }
        }
    }
    forms
}

/// The text of a value, without white space at its end unless it would be too short.
fn text(value: &[u8]) -> Option<&str> {
    // Logs are text, so that a value that is none can only appear encoded.
    let text = std::str::from_utf8(value).ok()?;
    let trimmed = text.trim_end();
    Some(if trimmed.len() < MIN_SECRET { text } else { trimmed })
}

/// The forms that Tilt knows: the value, and its base64 form.
fn exact(value: &[u8]) -> Vec<String> {
    let mut forms = vec![BASE64_STANDARD.encode(value)];
    forms.extend(text(value).filter(|it| !it.trim().is_empty()).map(str::to_owned));
    forms
}

/// All other forms of a value.
fn derived(value: &[u8]) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    add_base64(value, &mut forms);
    let Some(text) = text(value).filter(|it| !it.trim().is_empty()) else { return forms };
    add_base64(text.as_bytes(), &mut forms);
    add_json(text, &mut forms);
    if text.len() <= MAX_IN_URL {
        add_urls(text.as_bytes(), &mut forms);
    }
    if text.contains('\n') {
        let unix = text.replace("\r\n", "\n");
        forms.insert(unix.replace('\n', "\r\n"));
        forms.insert(unix);
        forms.extend(text.lines().map(str::trim).filter(|it| is_telling(it)).map(str::to_owned));
    }
    forms.remove(text);
    forms
}

/// Whether a line may be a secret of its own.
fn is_telling(line: &str) -> bool {
    let is_armour = line.starts_with("-----BEGIN ") || line.starts_with("-----END ");
    let variety = line.chars().collect::<BTreeSet<_>>().len();
    line.len() >= MIN_LINE && !is_armour && !line.starts_with("#!") && variety >= MIN_VARIETY
}

/// Base64 as it is inside other data, which may begin zero to two bytes before the value, and with line breaks.
fn add_base64(value: &[u8], forms: &mut BTreeSet<String>) {
    for alphabet in [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD] {
        for (n_before, n_mixed) in [(0, 0), (1, 2), (2, 3)] {
            let data = [&[0; 2][..n_before], value].concat();
            let encoded = alphabet.encode(&data);
            // The first and the last character may depend on what is around the value.
            let own = &encoded[n_mixed..data.len() * 8 / 6];
            let with_last = &encoded[n_mixed..];
            forms.insert(own.to_owned());
            forms.insert(with_last.to_owned());
            forms.insert(format!("{with_last}{}", &"=="[..(3 - data.len() % 3) % 3]));
        }
    }
    let encoded = BASE64_STANDARD.encode(value);
    for width in WIDTHS.into_iter().filter(|it| encoded.len() > *it) {
        let lines = encoded.as_bytes().chunks(width).filter_map(|it| std::str::from_utf8(it).ok());
        forms.extend(lines.filter(|it| is_telling(it)).map(str::to_owned));
    }
}

/// A string in JSON, as most programs write it; as Go does; and as Python does, in ASCII.
fn add_json(text: &str, forms: &mut BTreeSet<String>) {
    let quoted = serde_json::Value::from(text).to_string();
    let plain = &quoted[1..quoted.len() - 1];
    let is_for_go = |it: char| matches!(it, '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    forms.insert(plain.to_owned());
    forms.insert(escaped(plain, is_for_go));
    forms.insert(escaped(plain, |it| !it.is_ascii()));
}

fn escaped(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if !is_special(char) {
            out.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// A value in a URL or a form, with digits of either case, and either form of a space.
fn add_urls(value: &[u8], forms: &mut BTreeSet<String>) {
    for safe in SAFE_IN_URLS {
        for space in ["%20", "+"] {
            let mut upper = String::with_capacity(value.len());
            let mut lower = String::with_capacity(value.len());
            for &byte in value {
                if byte.is_ascii_alphanumeric() || safe.as_bytes().contains(&byte) {
                    upper.push(char::from(byte));
                    lower.push(char::from(byte));
                } else if byte == b' ' {
                    upper.push_str(space);
                    lower.push_str(space);
                } else {
                    let _ = write!(upper, "%{byte:02X}");
                    let _ = write!(lower, "%{byte:02x}");
                }
            }
            forms.extend([upper, lower]);
        }
    }
}
